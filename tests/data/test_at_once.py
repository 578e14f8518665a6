"""`map` computes many elements at once where its function is plain, and nobody sees a difference but in time."""

import itertools
import random

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.data import at_once
from gradtape._src.data.calls import ElementCall

D = tf.data.Dataset
COUNT = 150
FLOATS = np.linspace(-2, 2, COUNT, dtype=np.float32)
SCALE, SHIFT = 3, np.array([1.0, 2.0], np.float32)
TABLE = tf.constant([1.5, 2.5, 3.5, 4.5])
seen: list[int] = []


def scaled(x, factor=SCALE):
    return x * tf.cast(factor, x.dtype)


@pytest.fixture
def alone(monkeypatch):
    """How often a function of a dataset was called for one element."""
    calls, by_itself = [], ElementCall.__call__

    def counted(self, index, given):
        calls.append(index)
        return by_itself(self, index, given)

    monkeypatch.setattr(ElementCall, "__call__", counted)
    return calls


def listed(dataset):
    return list(dataset.as_numpy_iterator())


def images():
    return D.from_tensor_slices((np.arange(COUNT * 48, dtype=np.uint8).reshape(COUNT, 4, 4, 3), np.arange(COUNT)))


PLAIN = {
    "scalars": lambda: D.range(COUNT).map(lambda x: x * x + 1),
    "functions, globals, arrays": lambda: D.from_tensor_slices(FLOATS).map(lambda x: scaled(x) + SHIFT),
    "a nest": lambda: D.from_tensor_slices({"a": FLOATS, "b": FLOATS}).map(lambda d: ({"s": d["a"] + d["b"]}, d["a"])),
    "a nest that is changed": lambda: D.from_tensor_slices({"a": FLOATS}).map(lambda d: d.update(b=-d["a"]) or d),
    "images": lambda: images().map(lambda x, y: (tf.image.resize(tf.cast(x, tf.float32) / 255.0, [2, 2]), tf.one_hot(y % 4, 4))),
    "a table": lambda: D.range(COUNT).map(lambda x: tf.gather(TABLE, x % 4)),
    "branches and loops": lambda: D.from_tensor_slices(FLOATS).map(lambda x: tf.cond(x > 0, lambda: tf.sqrt(x), lambda: x)),
    "constants": lambda: D.range(COUNT).map(lambda x: (x, 1, 2.5, [1, 2])),
    "a function of the library's": lambda: D.from_tensor_slices(FLOATS).map(tf.math.square),
    "a tf.function": lambda: D.from_tensor_slices(FLOATS).map(tf.function(lambda x: tf.reduce_sum(x) + 1.0)),
    "two": lambda: D.range(COUNT).shuffle(50, seed=3).map(lambda x: x + 1).map(lambda x: x * 2),
    "shuffled again and again": lambda: D.range(10).shuffle(5, seed=3).repeat(COUNT // 10).map(lambda x: x + 1),
    "a cache": lambda: D.range(COUNT).map(lambda x: x + 1).cache().map(lambda x: x * 2),
    "batches": lambda: D.range(COUNT * 3).batch(3).map(lambda x: tf.reduce_sum(x)),
    "draws": lambda: D.range(COUNT).map(lambda x: (tf.random.normal([2]), tf.random.uniform([], 0, 9, tf.int32, seed=4), x)),
    "augments images": lambda: images().map(
        lambda x, y: (tf.image.random_contrast(tf.image.random_flip_left_right(tf.cast(x, tf.float32)), 0.5, 2.0), y)
    ),
    "seeds that are given": lambda: D.range(COUNT).map(lambda x: tf.random.stateless_uniform([2], tf.stack([x, x]))),
}


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_elements_are_those_of_single_calls(make, alone, monkeypatch):
    tf.random.set_seed(1)
    dataset = make()
    found, calls = [listed(dataset) for _ in range(2)], len(alone)
    monkeypatch.setattr(at_once, "debugged", True)
    tf.random.set_seed(1)
    dataset = make()
    expected = [listed(dataset) for _ in range(2)]
    for some, others in zip(found, expected, strict=True):
        for x, y in zip(some, others, strict=True):
            tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), x, y)
            tf.nest.map_structure(lambda a, b: (a.dtype, a.shape) == (b.dtype, b.shape) or pytest.fail(f"{a!r}, {b!r}"), x, y)
    assert calls < len(alone) / 2 or make is PLAIN["shuffled again and again"]  # whose elements are not taken early


def printed(x):
    print(int(x.shape.rank), end="")
    return x


class Counter:
    def __init__(self):
        self.count = 0

    def __call__(self, x):
        self.count += 1
        return x + self.count


def numbered():
    count = 0

    def function(x):
        nonlocal count
        count += 1
        return x

    return function


def reading(variable):
    return lambda x: x + variable


OTHERS = {
    "prints": lambda: printed,
    "prints by an op": lambda: lambda x: tf.print("", end="") or x,
    "appends": lambda: lambda x: (seen.append(1), x)[1],
    "sets an item": lambda: lambda x: (seen.__setitem__(slice(0, 0), []), x)[1],
    "counts": numbered,
    "holds a state": Counter,
    "draws in a branch": lambda: lambda x: tf.cond(x > 3, lambda: x + tf.random.uniform([], 0, 9, tf.int64), lambda: x),
    "draws in a loop": lambda: lambda x: tf.map_fn(lambda y: y + tf.random.uniform([], 0, 9, tf.int64), x + [1, 2]),
    "draws by NumPy": lambda: lambda x: x + np.random.randint(1, 2),
    "draws by Python": lambda: lambda x: x + random.randint(1, 1),
    "Python in the middle": lambda: lambda x: tf.py_function(lambda y: y + 1, [x], tf.int64),
    "reads a variable": lambda: reading(tf.Variable(1, dtype=tf.int64)),
    "looks at values": lambda: lambda x: x + 1 if x > 3 else x,
    "gives strings": lambda: lambda x: tf.strings.as_string(x),
    "shapes by values": lambda: lambda x: tf.ones([x % 3]),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_functions_are_called_for_each_element(make, alone):
    assert len(listed(D.range(COUNT).map(make()))) == COUNT == len(alone)


def failing_at(number):
    for i in range(COUNT):
        if i == number:
            raise ValueError("no")
        yield np.int64(i)


INDICES = D.from_tensor_slices(np.where(np.arange(COUNT) % 50 == 49, 9, 1))
BAD = {
    "a check": (lambda: INDICES.map(lambda x: tf.gather(TABLE, x)), 49),
    "an assertion": (lambda: D.range(COUNT).map(lambda x: tf.debugging.assert_less(x % 50, tf.constant(49, tf.int64)) or x), 49),
    "two of them": (lambda: INDICES.map(lambda x: tf.gather(TABLE, x)).map(lambda x: x * 2.0), 49),
    "in a batch": (lambda: INDICES.map(lambda x: tf.gather(TABLE, x)).batch(10), 4),
}


@pytest.mark.parametrize("make, place", BAD.values(), ids=BAD)
def test_an_error_comes_at_its_element_and_the_others_are_given(make, place):
    iterator = make().as_numpy_iterator()
    for _ in range(place):
        next(iterator)
    with pytest.raises(tf.errors.InvalidArgumentError, match="on element 49"):
        next(iterator)
    left = 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="on element 99"):
        for _ in iterator:
            left += 1
    assert left == (50 if place == 49 else 5) - 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="on element 149"):
        list(iterator)
    assert not list(iterator)


def test_an_error_leaves_the_numbers_that_are_drawn(monkeypatch):
    def drawn():
        tf.random.set_seed(2)
        iterator = INDICES.map(lambda x: tf.gather(TABLE, x) + tf.random.uniform([])).as_numpy_iterator()
        found = []
        while len(found) < COUNT - 3:
            try:
                found.append(next(iterator))
            except tf.errors.InvalidArgumentError:
                pass
        tf.random.set_seed(None)
        return np.array(found)

    found = drawn()
    monkeypatch.setattr(at_once, "debugged", True)
    np.testing.assert_allclose(found, drawn(), rtol=1e-6)


def test_elements_draw_numbers_of_their_own_without_a_seed():
    dataset = D.range(COUNT).map(lambda x: tf.random.uniform([]))
    assert len({float(x) for x in [*listed(dataset), *listed(dataset)]}) == 2 * COUNT


def test_elements_are_taken_when_they_are_needed():
    taken = []

    def numbers():
        for i in itertools.count():
            taken.append(i)
            yield np.int64(i)

    generated = D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64)).map(lambda x: x + 1)
    for element in generated:
        assert len(taken) == int(element)
        if element == 100:
            break
    taken.clear()
    assert listed(generated.batch(50).take(3))[-1][-1] == 150 == len(taken)
    assert listed(D.range(10**12).map(lambda x: x + 1).take(100))[-1] == 100


def test_the_source_may_fail_in_the_midst():
    dataset = D.from_generator(lambda: failing_at(120), output_signature=tf.TensorSpec([], tf.int64))
    iterator = iter(dataset.map(lambda x: x + 1).batch(40))
    assert [int(next(iterator)[-1]) for _ in range(3)] == [40, 80, 120]
    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: no"):
        next(iterator)


def test_what_a_function_uses_may_change_between_passes(alone):
    offset = np.array([1.0], np.float32)
    dataset = D.from_tensor_slices(FLOATS).map(lambda x: x + offset)
    np.testing.assert_array_equal(np.ravel(listed(dataset)), FLOATS + 1)
    offset[0] = 2
    np.testing.assert_array_equal(np.ravel(listed(dataset)), FLOATS + 2)


def test_elements_of_several_shapes():
    dataset = D.range(COUNT).map(lambda x: tf.ones([2 + x % 2]))
    expected = [np.ones(2 + i % 2, np.float32) * 2 for i in range(COUNT)]
    for x, y in zip(listed(dataset.map(lambda x: x * 2.0)), expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_debug_mode_calls_the_function_for_each_element(alone, monkeypatch):
    monkeypatch.setattr(at_once, "debugged", False)
    tf.data.experimental.enable_debug_mode()
    assert len(listed(D.range(COUNT).map(lambda x: x + 1))) == COUNT == len(alone)
