"""In a branch or loop, a function inside may have a parameter of the name of a global that is read there."""

import pytest

import gradtape as tf

x, z = tf.constant(3.0), tf.constant(1.0)
TWO = tf.constant(2)


def a_lambda(n):
    s = tf.constant(0.0)
    for _ in tf.range(n):
        s += (lambda x: x * 2.0)(x)
    return s


def a_function(n):
    s = tf.constant(0.0)
    while s < 10.0:

        def double(x, times=z):
            return x * 2.0 * times

        s += double(x=x)
    return s


def in_a_branch(n):
    s = tf.constant(0.0)
    if n > 1:
        s += (lambda x: (lambda x, z: x * z)(x, z) * 2.0)(x)
    return s


def mapped(n):
    s = tf.constant(0.0)
    for _ in tf.range(n):
        s += tf.map_fn(lambda x: x * 2.0, tf.stack([x, x]))[0]
    return s


def of_a_class(n):
    s = tf.constant(0.0)
    if n > 1:

        class Doubles:
            def __call__(self, x):
                return x * 2.0

        s += Doubles()(x)
    return s


@pytest.mark.parametrize(
    ("function", "expected"), [(a_lambda, 12.0), (a_function, 12.0), (in_a_branch, 6.0), (mapped, 12.0), (of_a_class, 6.0)]
)
def test_it_is_the_global(function, expected):
    assert tf.function(function)(TWO).numpy() == expected


def test_the_line_of_an_error_in_it():
    def fails(n):
        s = tf.constant(0.0)
        while s < 10.0:

            def wrong(x):
                return x + tf.constant("a")

            s += wrong(x)
        return s

    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)) as raised:
        tf.function(fails)(TWO)
    entries = [entry for entry in raised.traceback if str(entry.path) == __file__]
    assert entries[-1].statement.lines[0].strip() == 'return x + tf.constant("a")'
