"""A Dataset is an argument by its type: one trace for one spec, and each call goes through its own. As in TensorFlow."""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf

Dataset = tf.data.Dataset


def rows(*values):
    return Dataset.from_tensor_slices(list(values))


def values(nest):
    return tf.nest.map_structure(lambda x: x.numpy().tolist(), nest)


def total(dataset):
    found = tf.constant(0.0)
    for x in dataset:
        found += tf.reduce_sum(x)
    return found


@pytest.fixture
def traced():
    """A decorator: `tf.function`, with the list `traced.runs` of the runs of its Python code."""

    def decorate(function):
        def counted(*args):
            decorate.runs.append(args)
            return function(*args)

        return tf.function(counted)

    decorate.runs = []
    return decorate


def test_one_trace_for_one_spec(traced):
    epoch = traced(total)
    sizes = [(8, 4), (8, 4), (6, 4), (5, 2), (3, 7)]
    assert [epoch(rows(*[float(n)] * n).batch(b)).numpy() for n, b in sizes] == [64.0, 64.0, 36.0, 25.0, 9.0]
    assert len(traced.runs) == epoch.experimental_get_tracing_count() == 1
    epoch(rows(1.0))
    assert len(traced.runs) == epoch.experimental_get_tracing_count() == 2


def test_no_dataset_is_kept(traced):
    epoch, dataset = traced(total), rows(1.0)
    kept = weakref.ref(dataset)
    epoch(dataset)
    traced.runs.clear()
    del dataset
    gc.collect()
    assert kept() is None


def test_an_input_signature():
    spec = tf.data.DatasetSpec(tf.TensorSpec([None, 2]))
    function = tf.function(total, input_signature=[spec])
    ones = Dataset.from_tensor_slices(tf.ones([8, 2]))
    assert values([function(ones.batch(4)), function(ones.batch(4, drop_remainder=True))]) == [16.0, 16.0]
    concrete = function.get_concrete_function()
    assert concrete(ones.batch(3)).numpy() == 16.0
    assert concrete.structured_input_signature == ((spec,), {})
    assert function.experimental_get_tracing_count() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"takes what is a DatasetSpec.*and got a DatasetSpec"):
        function(Dataset.range(3))
    with pytest.raises(TypeError, match="Can not cast 3 to DatasetSpec"):
        function(3)


def test_a_concrete_function(traced):
    function = traced(lambda dataset, x: total(dataset) * x)
    concrete = function.get_concrete_function(tf.type_spec_from_value(rows(1.0)), tf.TensorSpec([]))
    two = tf.constant(2.0)
    assert values([concrete(rows(1.0, 2.0), two), concrete(rows(5.0), two), function(rows(4.0), two)]) == [6.0, 10.0, 8.0]
    assert len(traced.runs) == 1
    with pytest.raises(TypeError, match="missing a required argument: 'args_1'"):
        concrete(two)


NEST = tf.function(lambda nest: total(nest["a"][0]) * 10.0 + total(nest["b"]))
DERIVED = tf.function(lambda x, y: total(x.take(1).repeat(2).prefetch(2)) * 10.0 + total(y.batch(2)))
MAPPED = tf.function(lambda x, y: total(x.map(lambda e: e * 10.0)) + total(y))
ZIPPED = tf.function(lambda x, y: tf.cast(len(x), tf.float32) + Dataset.zip((x, y)).reduce(0.0, lambda s, e: s + e[0] * e[1]))
ITERATED = tf.function(lambda x, y: next(iter(x)) * 10.0 + total(y))
INNER = tf.function(total)
NESTED = tf.function(lambda x, y: INNER(x) * 10.0 + INNER(y.take(1)))


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, y: NEST({"a": [x], "b": y}), [37.0, 73.0, 33.0]),
        (DERIVED, [27.0, 143.0, 23.0]),
        (MAPPED, [37.0, 73.0, 33.0]),
        (ZIPPED, [9.0, 8.0, 7.0]),
        (ITERATED, [17.0, 73.0, 13.0]),
        (NESTED, [37.0, 71.0, 31.0]),
    ],
    ids=["in nests", "derived", "mapped", "zipped", "iterated", "in functions"],
)
def test_each_call_goes_through_its_own(function, expected):
    x, y = rows(1.0, 2.0), rows(7.0)
    assert values([function(x, y), function(y, x), function(x, x)]) == expected


def test_beside_one_from_outside():
    outside = rows(1.0, 2.0)

    @tf.function
    def products(dataset):
        found = tf.constant(0.0)
        for x in outside:
            found += x
        for y in dataset:
            found *= y
        return found

    assert values([products(rows(2.0)), products(rows(2.0, 3.0))]) == [6.0, 18.0]


def test_training_methods_and_errors():
    class Model(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0)

        @tf.function
        def train(self, dataset):
            for x in dataset:
                with tf.GradientTape() as tape:
                    loss = (self.v * x - 1.0) ** 2
                self.v.assign_sub(0.1 * tape.gradient(loss, self.v))
            return self.v.read_value()

    model = Model()
    failing = rows(1.0).map(lambda x: tf.debugging.check_numerics(x / 0.0, "not finite"))
    assert model.train(rows(1.0, 2.0)).numpy() == np.float32(0.6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        model.train(failing)
    assert model.train(rows(0.5, 2.0)).numpy() == pytest.approx(0.534)


def test_under_a_tape(traced):
    v, function = tf.Variable(2.0), traced(lambda dataset: total(dataset) * v)
    found = []
    for dataset in (rows(1.0, 2.0), rows(5.0)):
        with tf.GradientTape() as tape:
            y = function(dataset)
        found.append((y, tape.gradient(y, v)))
    assert values(found) == [(6.0, 3.0), (10.0, 5.0)]
    assert function.experimental_get_tracing_count() == 1


def test_an_optional(traced):
    double = traced(lambda optional: optional.get_value() * 2.0)
    assert [double(tf.experimental.Optional.from_value(float(i))).numpy() for i in range(3)] == [0.0, 2.0, 4.0]
    assert len(traced.runs) == 1
