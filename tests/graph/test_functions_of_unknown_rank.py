"""Functions, branches, loops and TensorArrays of placeholders without a shape, for two ranks. Numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from tests.graph.values import same

FED = (np.array([1, 2], np.float32), np.array([[1, 2], [3, 0.5]], np.float32))


def array_of(x, size, count):
    array = tf.TensorArray(tf.float32, size=size, dynamic_size=size == 0)
    return tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a.write(i, x * tf.cast(i + 1, tf.float32))), [0, array])[1]


def until(rows):
    total = tf.constant(0.0)
    for row in rows:
        if tf.reduce_sum(row) > 2.5:
            break
        total += tf.reduce_sum(row * row)
    return total


def slope(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x * x)
    return tape.gradient(y, x)


@tf.custom_gradient
def seven(x):
    return x * 2, lambda dy: dy * 7


CASES = {
    "an array in a loop": lambda x: array_of(x, 3, 3).stack(),
    "an array that grows": lambda x: array_of(x, 0, 2).stack(),
    "an array read in part": lambda x: array_of(x, 3, 3).gather([0, 2]),
    "an array written by number": lambda x: tf.TensorArray(tf.float32, size=2).write(0, x).write(1, x + 1).stack(),
    "entries one after the other": lambda x: (
        tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, x).write(1, x * 2).concat()
    ),
    "rows in an array": lambda x: tf.TensorArray(tf.float32, size=2).unstack(x).read(1),
    "the carry of a loop": lambda x: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, x])[1],
    "a carry that grows": lambda x: tf.while_loop(
        lambda i, a: i < 2, lambda i, a: (i + 1, tf.stack([a, a * 2.0])), [0, x], [tf.TensorShape([]), tf.TensorShape(None)]
    )[1],
    "sums of rows": lambda x: tf.scan(lambda total, row: total + row, x),
    "products of rows": lambda x: tf.scan(lambda total, row: total * row, x, tf.ones_like(x[0])),
    "the last sum": lambda x: tf.foldl(lambda total, row: total + 2 * row, x),
    "the first sum": lambda x: tf.foldr(lambda total, row: total + 2 * row, x),
    "a map to each number": lambda x: tf.map_fn(
        lambda i: x * tf.cast(i, tf.float32), tf.range(2), fn_output_signature=tf.float32
    ),
    "a loop over rows that ends early": lambda x: tf.function(until)(x),
    "a map in a function": lambda x: tf.function(lambda a: tf.map_fn(lambda row: tf.reduce_sum(row) * row, a))(x),
    "a slope": slope,
    "a slope in a function": lambda x: tf.function(slope)(x),
    "a gradient of one's own": seven,
    "a function run again": lambda x: tf.recompute_grad(lambda a: tf.sin(a) * a)(x),
}

# For each: the value and its slope, flat, for both.
EXPECTED = {
    "an array in a loop": (([1, 2, 2, 4, 3, 6], [28, 56]), ([1, 2, 3, 0.5, 2, 4, 6, 1, 3, 6, 9, 1.5], [28, 56, 84, 14])),
    "an array that grows": (([1, 2, 2, 4], [10, 20]), ([1, 2, 3, 0.5, 2, 4, 6, 1], [10, 20, 30, 5])),
    "an array read in part": (([1, 2, 3, 6], [20, 40]), ([1, 2, 3, 0.5, 3, 6, 9, 1.5], [20, 40, 60, 10])),
    "an array written by number": (([1, 2, 2, 3], [6, 10]), ([1, 2, 3, 0.5, 2, 3, 4, 1.5], [6, 10, 14, 4])),
    "entries one after the other": (([1, 2, 2, 4], [10, 20]), ([1, 2, 3, 0.5, 2, 4, 6, 1], [10, 20, 30, 5])),
    "rows in an array": (([2], [0, 4]), ([3, 0.5], [0, 0, 6, 1])),
    "the carry of a loop": (([1, 8], [6, 192]), ([1, 8, 27, 0.125], [6, 192, 1458, 0.1875])),
    "a carry that grows": (
        ([1, 2, 2, 4, 2, 4, 4, 8], [50, 100]),
        ([1, 2, 3, 0.5, 2, 4, 6, 1, 2, 4, 6, 1, 4, 8, 12, 2], [50, 100, 150, 25]),
    ),
    "sums of rows": (([1, 3], [8, 6]), ([1, 2, 4, 2.5], [10, 9, 8, 5])),
    "products of rows": (([1, 2], [10, 4]), ([1, 2, 3, 1], [20, 5, 6, 4])),
    "the last sum": (([5], [10, 20]), ([7, 3], [14, 6, 28, 12])),
    "the first sum": (([4], [16, 8]), ([5, 4.5], [20, 18, 10, 9])),
    "a map to each number": (([0, 0, 1, 2], [2, 4]), ([0, 0, 0, 0, 1, 2, 3, 0.5], [2, 4, 6, 1])),
    "a loop over rows that ends early": (([5], [20, 40]), ([0], [0, 0, 0, 0])),
    "a map in a function": (([1, 4], [4, 32]), ([3, 6, 10.5, 1.75], [48, 66, 138.25, 77])),
    "a slope": (([3, 12], [36, 288]), ([3, 12, 27, 0.75], [36, 288, 972, 4.5])),
    "a slope in a function": (([3, 12], [36, 288]), ([3, 12, 27, 0.75], [36, 288, 972, 4.5])),
    "a gradient of one's own": (([2, 4], [28, 56]), ([2, 4, 6, 1], [28, 56, 84, 14])),
    "a function run again": (
        ([0.841471, 1.81859], [2.32544, 0.280077]),
        ([0.841471, 1.81859, 0.42336, 0.239713], [2.32544, 0.280077, -2.39525, 0.440217]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_with_functions_waits_for_the_rank(session, name):
    x = tf.placeholder(tf.float32)
    y = CASES[name](x)
    assert y.shape.rank in (None, 0)
    dx = tf.gradients(tf.reduce_sum(y * y), x)[0]
    for rows, (value, slopes) in zip(FED, EXPECTED[name], strict=True):
        found, gradient = session.run([y, dx], {x: rows})
        same(np.ravel(found), value)
        same(np.ravel(gradient), slopes)
        assert gradient.shape == rows.shape
