"""Loops over Datasets that are no op of a function: it runs as eager code, with gradients and values."""

import pytest

import gradtape as tf
from tests.control.test_dataset_loops import EAGER, TRACED, floats, kind


def a_tape_around(dataset, v):
    with tf.GradientTape() as tape:
        total = tf.constant(0.0)
        for x in dataset:
            total += v * x
    return tape.gradient(total, v)


def growing(dataset, v):
    total = tf.zeros([1])
    for x in dataset:
        total = tf.concat([total, [x]], 0)
    return tf.reduce_sum(total)


def looking_at_values(dataset, v):
    total = tf.constant(0.0)
    for x in dataset:
        total += x.numpy()
    return total


def returning(dataset, v):
    for x in dataset:
        if x > 2.0:
            return x + 3.0
    return tf.constant(-1.0)


def of_a_map_inside(dataset, v):
    total = tf.constant(0.0)
    for x in dataset.map(lambda x: x * (v / 2.0)):
        total += x
    return total


def of_a_zip_of_a_map_inside(dataset, v):
    total = tf.constant(0.0)
    for x, y in tf.data.Dataset.zip(dataset, dataset.map(lambda x: x * (v / 2.0))):
        total += (x + y) / 2.0
    return total


def checked_behind_it(dataset, v):
    total = tf.constant(0)
    for x in dataset:
        total += tf.cast(x, tf.int32)
    return tf.gather(tf.range(10.0), total)


def with_gradients(dataset, v):
    y = v * v
    for _ in dataset:
        y += v
    return tf.gradients(y, v)[0] - 2.0


@pytest.mark.parametrize(
    "python",
    [
        a_tape_around,
        growing,
        looking_at_values,
        returning,
        of_a_map_inside,
        of_a_zip_of_a_map_inside,
        with_gradients,
    ],
)
def test_what_runs_as_eager_code(python):
    """The first, the second and the fourth have no value or raise on TensorFlow."""
    v = tf.Variable(2.0)
    function = tf.function(lambda dataset: python(dataset, v))
    assert function(floats(4)).numpy() == 6.0
    assert kind(function) == EAGER


def test_a_check_behind_a_loop_is_compiled_with_it():
    function = tf.function(lambda dataset: checked_behind_it(dataset, None))
    assert function(floats(4)).numpy() == 6.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="10 is not in"):
        function(floats(5))
    assert kind(function) == TRACED


def test_a_tape_outside_differentiates_the_loop():
    """On TensorFlow there is no gradient."""
    v = tf.Variable(2.0)

    @tf.function
    def total(dataset):
        result = tf.constant(0.0)
        for x in dataset:
            result += v * x
        return result

    dataset = floats(4)
    for _ in range(2):
        assert total(dataset).numpy() == 12.0
        with tf.GradientTape() as tape:
            result = total(dataset)
        assert tape.gradient(result, v).numpy() == 6.0
    assert kind(total) == TRACED


def test_a_batch_that_cannot_be_traced_runs_as_eager_code():
    traced = []

    @tf.function
    def total(dataset):
        result = tf.constant(0.0)
        for x in dataset:
            traced.append(x.shape[0])
            result += tf.reduce_sum(x) if x.shape[0] > 1 else 10.0 * x.numpy()[0]
        return result

    dataset = floats(7).batch(3)
    assert [total(dataset).numpy() for _ in range(2)] == [75.0, 75.0]
    assert traced[0] is None  # with which the code cannot go on: it sees a symbol then
    assert traced[-2:] == [1, 1]
    assert kind(total) == TRACED
