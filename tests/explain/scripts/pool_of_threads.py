"""Losses of parts that are computed in a pool of threads."""

from concurrent.futures import ThreadPoolExecutor

import gradtape as tf

w = tf.Variable([1.0, 2.0])


def part(x):
    return tf.reduce_sum((w * x) ** 2)  # <- other_thread


with ThreadPoolExecutor(2) as pool, tf.GradientTape() as tape:
    losses = list(pool.map(part, [tf.constant(1.0), tf.constant(2.0)]))
    loss = tf.add_n(losses)
tape.gradient(loss, w)
# Advice: in the thread of the tape
