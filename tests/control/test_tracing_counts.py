"""How often a function is traced: `experimental_get_tracing_count`. The numbers are TensorFlow's 2.21."""

import collections
import enum

import numpy as np
import pytest

import gradtape as tf

Pair = collections.namedtuple("Pair", "a b")
Color = enum.Enum("Color", "red blue")
a, b, vector = tf.Variable(1.0), tf.Variable(2.0), tf.Variable([1.0, 2.0])

# The single argument of each call, and the number of traces: all, and with `reduce_retracing`.
ARGUMENTS = {
    "numbers that are equal": ([1, 1.0, True, 1 + 0j], 1, 1),
    "zeros": ([0.0, False, -0.0], 1, 1),
    "other numbers": ([1, 2, 1], 2, 2),
    "NaN": ([float("nan"), float("nan")], 1, 1),
    "NumPy's numbers": ([np.int32(1), np.int32(2), np.int64(2)], 2, 2),
    "NumPy's number and Python's": ([1, np.int32(1)], 2, 2),
    "NumPy's number and a tensor": ([np.float32(1.0), tf.constant(2.0)], 1, 1),
    "NumPy's booleans": ([np.bool_(True), np.bool_(False), True], 2, 2),
    "an array, a tensor, a list": ([np.ones(2, np.float32), tf.ones(2), [1.0, 1.0]], 2, 2),
    "None": ([None, None, 0, False], 2, 2),
    "strings": (["a", "a", "b", b"a"], 3, 3),
    "NumPy's strings": ([np.str_("a"), "a"], 1, 1),
    "a tuple and a list": ([(1, 2), [1, 2], (1.0, 2)], 2, 2),
    "a tuple and a namedtuple": ([(1, 2), Pair(1, 2), Pair(1, 2)], 2, 2),
    "nothing": ([(), [], {}], 3, 3),
    "the order of a dict": ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], 1, 1),
    "a nested dict": ([{"a": {"b": tf.constant(1.0)}}, {"a": {"b": tf.constant(2.0)}}, {"a": {"c": tf.constant(2.0)}}], 2, 2),
    "values of a dict": ([{"a": 1}, {"a": 1.0}, {"a": 2}], 2, 2),
    "a nest": ([[1, (2, {"a": 3})], [1, (2, {"a": 3})], [1, (2, {"a": 4})]], 2, 2),
    "a range": ([range(3), range(3)], 1, 1),
    "an ellipsis": ([..., ...], 1, 1),
    "an enumeration": ([Color.red, Color.red, Color.blue], 2, 2),
    "dtypes": ([tf.float32, tf.float32, tf.float64], 2, 2),
    "functions": ([len, len, max], 2, 2),
    "shapes of tensors": ([tf.ones(1), tf.ones(2), tf.ones(3), tf.ones(4), tf.ones([1, 1])], 5, 3),
    "dtypes of tensors": ([tf.constant(1), tf.constant(1.0), tf.constant(True), 1], 4, 4),
    "variables": ([a, b, vector], 2, 2),
    "a variable and a tensor": ([a, tf.constant(1.0)], 2, 2),
    "sparse tensors": ([tf.sparse.from_dense(x) for x in ([[1.0]], [[2.0]], [[2.0, 1.0]])], 2, 2),
    "ragged tensors": ([tf.ragged.constant(x) for x in ([[1.0]], [[2.0, 3.0]], [[2.0], [1.0]])], 2, 2),
    "slices": ([tf.IndexedSlices(tf.ones([len(i), 2]), tf.constant(i)) for i in ([0], [1], [0, 1])], 2, 2),
    "datasets": ([tf.data.Dataset.range(3), tf.data.Dataset.range(4)], 1, 1),
}


def traces(function, calls, **options):
    traced = tf.function(function, **options)
    for args, kwargs in calls:
        traced(*args, **kwargs)
    return traced.experimental_get_tracing_count()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    values, count, relaxed = ARGUMENTS[name]
    calls = [((value,), {}) for value in values]
    assert traces(lambda x: tf.constant(0), calls) == count
    assert traces(lambda x: tf.constant(0), calls, reduce_retracing=True) == relaxed


def with_defaults(x, y=2, *, z=3):
    return tf.constant(0)


@pytest.mark.parametrize(
    "calls, count",
    [
        ([((1,), {}), ((1, 2), {}), ((1, 2), {"z": 3}), ((), {"x": 1}), ((1,), {"y": 2.0})], 1),
        ([((1,), {}), ((1, 3), {}), ((1,), {"z": 4})], 3),
        ([((1,), {"z": tf.constant(3)}), ((1,), {"z": tf.constant(4)}), ((1,), {"z": 3})], 2),
        ([((), {"x": a, "y": b}), ((), {"y": b, "x": a}), ((b, a), {})], 1),
        ([((a, a), {}), ((a, b), {}), ((b, a), {}), ((b, b), {})], 2),
    ],
    ids=["defaults", "others than the defaults", "of a keyword", "order of keywords", "one variable twice"],
)
def test_parameters(calls, count):
    assert traces(with_defaults, calls) == count


def test_a_trace_that_fails_does_not_count():
    def function(x):
        if x == 1:
            raise ValueError("one")
        return tf.constant(0)

    traced, counts = tf.function(function), []
    for x in (1, 1, 2, 1, 2, 3):
        try:
            traced(x)
        except ValueError:
            pass
        counts.append(traced.experimental_get_tracing_count())
    assert counts == [0, 0, 1, 1, 1, 2]
