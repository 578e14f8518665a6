"""The table that the programs of this folder are entered in, and what they share."""

import numpy as np

PROGRAMS = {}


def program(function):
    """Enter a program into the table."""
    PROGRAMS[function.__name__] = function
    return function


def data(*shape):
    """The same numbers each time."""
    return np.random.default_rng(sum(shape) + 7).normal(size=shape)


def gradients(tf, fn, *arguments, order=1):
    """The value of `fn` of float64 constants, and gradients of its sum up to an order."""
    xs = [tf.constant(a, tf.float64) for a in arguments]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = fn(*xs)
        first = tape.gradient(y, xs)
        total = tf.add_n([tf.reduce_sum(d * d) for d in first if d is not None]) if order > 1 else None
    second = outer.gradient(total, xs) if order > 1 else []
    return y, first, second
