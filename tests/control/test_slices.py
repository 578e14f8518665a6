"""`tf.slice` in functions, loops and graphs, whose `begin` is a tensor. The numbers are TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf

ROW = tf.range(10.0)
TWO = tf.reshape(ROW, [2, 5])


@pytest.mark.parametrize(
    "x, begin, size, starts, expected",
    [
        (ROW, lambda i: tf.stack([i]), [-1], (7, 8), [[7.0, 8.0, 9.0], [8.0, 9.0]]),
        (ROW, lambda i: tf.stack([i]), [2], (3, 7), [[3.0, 4.0], [7.0, 8.0]]),
        (TWO, lambda i: tf.stack([0, i]), [-1, 2], (3, 1), [[[3.0, 4.0], [8.0, 9.0]], [[1.0, 2.0], [6.0, 7.0]]]),
        (TWO, lambda i: [0, i], [1, -1], (3, 4), [[[3.0, 4.0]], [[4.0]]]),
        (TWO, lambda i: tf.stack([1, i]), [-1, -1], (3, 4), [[[8.0, 9.0]], [[9.0]]]),
    ],
)
def test_in_a_function(x, begin, size, starts, expected):
    part = tf.function(lambda x, i: tf.slice(x, begin(i), size))
    assert [part(x, tf.constant(i)).numpy().tolist() for i in starts] == expected
    if -1 not in size[1:] and len(size) == 2:  # its shape is known, so the function is compiled
        assert part.get_concrete_function(x, tf.constant(0)).outputs[0].shape == [2, 2]


def test_its_gradient_and_in_a_loop():
    v = tf.Variable(ROW)

    @tf.function
    def gradient(i):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.slice(v, tf.stack([i]), [-1]) ** 2)
        return tape.gradient(y, v)

    assert gradient(tf.constant(7)).numpy().tolist() == [0.0] * 7 + [14.0, 16.0, 18.0]

    @tf.function
    def sums(x, size):
        total = 0.0
        for i in tf.range(4):
            total += tf.reduce_sum(tf.slice(x, tf.stack([i]), [size]))
        return total

    assert [float(sums(ROW, size)) for size in (3, -1)] == [30.0, 176.0]


def test_in_a_graph():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x, i = v1.placeholder(tf.float32, [None]), v1.placeholder(tf.int32, [])
        rest = tf.slice(x, tf.stack([i]), [-1])
        assert rest.shape.as_list() == [None]
        assert [session.run(rest, {x: np.arange(5.0), i: k}).tolist() for k in (3, 4)] == [[3.0, 4.0], [4.0]]


@pytest.mark.parametrize(
    "size, start, message",
    [
        (4, 3, r"Expected size\[0\] in \[0, 2\], but got 4"),
        (2, 6, r"Expected begin\[0\] in \[0, 5\], but got 6"),
        (-1, 7, r"Expected begin\[0\] in \[0, 5\], but got 7"),
        (-1, -1, r"Expected begin\[0\] in \[0, 5\], but got -1"),
    ],
)
def test_beyond_the_axis(size, start, message):
    part = tf.function(lambda x, i: tf.slice(x, tf.stack([i]), [size]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        part(tf.range(5.0), tf.constant(start))


@pytest.mark.parametrize("begin", [lambda i: [i, 0], lambda i: (0, tf.Variable(1)), lambda i: [tf.cast(i, tf.int64), 1]])
def test_a_list_of_numbers_and_tensors_is_compiled(begin):
    variable = begin(tf.constant(1))
    begins = (lambda i: variable) if isinstance(variable, tuple) else begin
    tf.config.require_compiled_functions()
    try:
        part = tf.function(lambda x, i: tf.slice(x, begins(i), [1, 2]))(TWO, tf.constant(1))
    finally:
        tf.config.require_compiled_functions(False)
    row, column = (int(x) for x in begin(tf.constant(1)))
    assert part.numpy().tolist() == TWO[row : row + 1, column : column + 2].numpy().tolist()
