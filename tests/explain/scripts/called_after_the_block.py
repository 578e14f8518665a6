"""A function that is called where the gradient is asked for."""

import gradtape as tf


def f(x):
    return x**2


def slope(x):
    with tf.GradientTape() as t:
        t.watch(x)
    return t.gradient(f(x), x)  # <- outside_tape


slope(tf.convert_to_tensor(9.0))
