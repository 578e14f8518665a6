"""Loops over Datasets in functions: the body is traced once. The expected values are TensorFlow's, where nothing else is said."""

import gc
import os
import signal
import sys
import threading
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.control.concrete import Compiled, OffTape, OpByOp
from gradtape._src.core.base.errors import InaccessibleTensorError
from gradtape._src.core.values.dim import exploring


def numbers(count, dtype=tf.int32):
    return tf.data.Dataset.range(count, output_type=dtype)


def floats(count):
    return tf.data.Dataset.from_tensor_slices(np.arange(count, dtype=np.float32))


def kind(function):
    """Return the strategy of each trace of a function."""
    return [type(concrete.strategy) for concrete in function._traced.values()]


TRACED, EAGER = [OffTape], [OpByOp]


def test_the_body_runs_once_in_python():
    seen = []

    @tf.function
    def train(dataset):
        loss, step = tf.constant(0), 0
        for x, y in dataset:
            seen.append(x)
            loss += tf.abs(y - x)
            step += 1
        return loss, step

    pairs = tf.data.Dataset.zip(numbers(4), numbers(4).map(lambda x: 3 * x))
    assert [result.numpy() for result in train(pairs)] == [12, 4]
    assert [result.numpy() for result in train(pairs)] == [12, 4]
    assert len(seen) == 1
    assert train.experimental_get_tracing_count() == 1
    assert kind(train) == TRACED
    assert [result.numpy() for result in train(pairs.take(0))] == [0, 0]


@pytest.mark.parametrize("drop", [True, False])
def test_the_body_is_traced_once_for_batches_of_any_extent(drop):
    shapes = []

    @tf.function
    def train(dataset, scale):
        double, total = scale * 2.0, tf.constant(0.0)
        for x in dataset:
            shapes.append(x.shape[0])
            total += tf.reduce_sum(x) * double * tf.cast(tf.shape(x)[0], tf.float32)
        return total

    batches = floats(7).map(lambda x: x + 1.0).batch(3, drop_remainder=drop).prefetch(2)
    expected = np.array([6.0 * 3 + 15.0 * 3, 7.0][: 1 if drop else 2]).sum()
    for scale in (1.0, 2.0):
        assert train(batches, tf.constant(scale)).numpy() == expected * 2 * scale
    assert shapes == [3 if drop else None]
    assert kind(train) == TRACED


def ragged_numbers():
    yield from [np.arange(n, dtype=np.float32) for n in (3, 2, 6, 1)]


def test_an_extent_that_the_dataset_does_not_state_is_none():
    """The numbers are TensorFlow's. An iterator of a call's own has open extents, too."""
    dataset = tf.data.Dataset.from_generator(ragged_numbers, output_signature=tf.TensorSpec([None], tf.float32))
    shapes = []

    def known(x):
        shapes.append(x.shape.as_list())
        return 1.0 if x.shape[0] is None else 1000.0

    @tf.function
    def total(elements):
        result = tf.constant(0.0)
        for x in elements:
            result += tf.reduce_sum(x) * known(x)
        return result

    @tf.function
    def two(iterator):
        a, b = next(iterator), next(iterator)
        return tf.reduce_sum(a) * known(a) + tf.reduce_max(b), tf.concat([a, b], 0), a * tf.ones([3])

    assert total(dataset).numpy() == total(dataset).numpy() == 19.0
    assert total(iter(dataset)).numpy() == 19.0
    assert shapes == [[None], [None]]
    sizes = [3, 3, 1, 2, 3, 5]
    iterator = iter(
        tf.data.Dataset.from_generator(
            lambda: (np.arange(n, dtype=np.float32) for n in sizes), output_signature=tf.TensorSpec([None], tf.float32)
        )
    )
    found = [two(iterator) for _ in range(3)]
    assert [float(a) for a, _, _ in found] == [5.0, 1.0, 7.0]
    assert [b.numpy().tolist() for _, b, _ in found] == [[0, 1, 2, 0, 1, 2], [0, 0, 1], [0, 1, 2, 0, 1, 2, 3, 4]]
    assert [c.numpy().tolist() for _, _, c in found] == [[0, 1, 2], [0, 0, 0], [0, 1, 2]]
    assert kind(total) == 2 * TRACED
    assert [type(c.strategy) for c in two._traced.values()] == [Compiled]
    assert all(shape == [None] for shape in shapes)


def test_a_result_that_grows_with_what_is_open():
    dataset = tf.data.Dataset.from_generator(ragged_numbers, output_signature=tf.TensorSpec([None], tf.float32))

    @tf.function
    def joined(elements):
        result = tf.zeros([1])
        for x in elements:
            result = tf.concat([result, x], 0)
        return result

    assert joined(dataset).numpy().tolist() == [0, 0, 1, 2, 0, 1, 0, 1, 2, 3, 4, 5, 0]
    operations = joined.get_concrete_function(dataset).graph.get_operations()
    assert "ReduceDataset" in [operation.type for operation in operations]
    assert not exploring()  # what is looked at leaves no way that later code would follow


def test_an_attribute_keeps_its_value_when_the_graph_is_looked_at():
    class Model:
        total = tf.constant(0.0)

        @tf.function
        def add(self):
            for x in dataset:
                self.total += tf.reduce_sum(x)
            return self.total

    dataset = tf.data.Dataset.from_generator(lambda: iter([1.0, 2.0]), output_types=tf.float32)  # of unknown rank
    model = Model()
    operations = model.add.get_concrete_function().graph.get_operations()
    assert "ReduceDataset" in [operation.type for operation in operations]
    assert kind(model.add) == EAGER
    assert model.total.numpy() == 0.0


def test_a_carry_of_some_rank_is_no_obstacle_if_its_shape_stays():
    @tf.function
    def train(dataset):
        total = tf.zeros([2, 2])
        for x in dataset:
            total += tf.reduce_mean(x) * tf.eye(2)
        return total

    np.testing.assert_array_equal(train(floats(7).batch(3)), 11 * np.eye(2))
    assert kind(train) == TRACED


def in_another_loop(dataset):
    total = tf.constant(0.0)
    for x in dataset:
        for y in dataset:
            total += x * y
    return total / 6.0


def in_epochs(dataset):
    total = tf.constant(0.0)
    for _ in tf.range(2):
        for x in dataset:
            total += x
    return total / 2.0


def in_a_branch(dataset):
    total = tf.constant(0.0)
    if total < 1.0:
        for x in dataset:
            total += x
    return total


@pytest.mark.parametrize("python", [in_another_loop, in_epochs, in_a_branch])
def test_loops_in_loops_and_branches(python):
    function = tf.function(python)
    assert function(floats(4)).numpy() == 6.0
    assert kind(function) == TRACED


def test_training():
    """The same numbers as in a loop of eager code."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(20, 3)).astype(np.float32), rng.normal(size=20).astype(np.float32)
    w = tf.Variable(np.zeros(3, np.float32))

    def train(dataset):
        total = tf.constant(0.0)
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.linalg.matvec(x, w) - y) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            total += loss
        return total

    dataset = tf.data.Dataset.from_tensor_slices((rows, labels)).batch(8)
    expected = train(dataset).numpy(), w.numpy()
    w.assign(np.zeros(3, np.float32))
    traced = tf.function(train)
    assert traced(dataset).numpy() == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(w, expected[1], rtol=1e-6)
    assert kind(traced) == TRACED
    assert traced.variables == (w,)


def test_an_optimizer_and_a_metric_of_keras():
    """TensorFlow's numbers."""
    model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    optimizer, mean = tf.keras.optimizers.Adam(0.1), tf.keras.metrics.Mean()

    @tf.function
    def train(dataset):
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            mean.update_state(loss)

    rows = np.arange(10, dtype=np.float32).reshape(5, 2) / 10
    dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(2)
    train(dataset)
    train(dataset)
    assert kind(train) == TRACED
    assert optimizer.iterations.numpy() == 6
    np.testing.assert_allclose(model.trainable_variables[0].numpy().ravel(), KERNEL, rtol=1e-5)
    assert mean.result().numpy() == pytest.approx(MEAN, rel=1e-5)


KERNEL, MEAN = [0.5842846632003784, 0.581702470779419], 0.07317252


def test_a_loop_that_is_left_early():
    @tf.function
    def some(dataset, limit):
        total = tf.constant(0)
        for x in dataset:
            if x % 2 == 0:
                continue
            if x > limit:
                break
            total += x
        return total

    dataset = numbers(10)
    assert [some(dataset, tf.constant(limit)).numpy() for limit in (4, 0, 100)] == [4, 0, 25]
    assert kind(some) == TRACED


@pytest.mark.parametrize(("stop", "expected"), [(False, 3), (True, 0)])
def test_a_function_that_returns_before_the_loop(stop, expected):
    @tf.function
    def total_of(dataset, stop):
        total = tf.constant(0, tf.int64)
        if stop:
            return total
        for x in dataset:
            total += x
        return total

    assert total_of(tf.data.Dataset.range(3), tf.constant(stop)).numpy() == expected
    assert kind(total_of) == TRACED


def test_elements_are_not_drawn_beyond_the_end_of_the_loop():
    drawn = []

    def generator():
        for k in range(10):
            drawn.append(k)
            yield k

    @tf.function
    def some(dataset):
        for x in dataset:
            if x == 3:
                break

    some(tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int32)))
    assert drawn == [0, 1, 2, 3]


def test_nests_strings_loops_and_branches():
    @tf.function
    def nested(dataset):
        text, total = tf.constant(""), tf.constant(0)
        for element in dataset:
            text = tf.strings.join([text, element["name"]], "-")
            first, second = element["parts"]
            i = 0
            while i < first:
                total += i if second > 4 else 10 * i
                i += 1
        return text, total

    elements = {"name": ["a", "b"], "parts": ([3, 4], [4, 5])}
    text, total = nested(tf.data.Dataset.from_tensor_slices(elements))
    assert (text.numpy(), total.numpy()) == (b"-a-b", 36)
    assert kind(nested) == TRACED


def test_several_loops_and_variables_around_them():
    v, w = tf.Variable(1.0), tf.Variable(0.0)

    @tf.function
    def train(dataset):
        v.assign(2.0)
        for x in dataset:
            v.assign_add(x)
            w.assign(v)
        v.assign(v * 10.0)
        between = v + 0.0
        for _ in dataset:
            w.assign_add(v)
            v.assign_add(1.0)
        return between, v + 0.0, w

    assert [result.numpy() for result in train(floats(4))] == [80.0, 84.0, 334.0]
    assert (v.numpy(), w.numpy()) == (84.0, 334.0)
    assert kind(train) == TRACED


def test_the_functions_of_a_dataset_see_the_variables_of_each_trip():
    v, seen = tf.Variable(0), []

    def generator():
        for _ in range(4):
            seen.append(int(v.numpy()))
            yield 1

    @tf.function
    def count(dataset):
        v.assign(10)
        total = tf.constant(0)
        for x in dataset:
            v.assign_add(x)
            total = total * 100 + v
        return total

    signature = tf.TensorSpec([], tf.int32)
    assert count(tf.data.Dataset.from_generator(generator, output_signature=signature)).numpy() == 11121314
    assert seen == [10, 11, 12, 13]
    v.assign(0)
    assert count(numbers(3).map(lambda x: 0 * x + v)).numpy() == 204080
    assert kind(count) == TRACED


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def fail():
    raise ValueError("no more")


@pytest.mark.parametrize(
    ("act", "expected", "message"),
    [
        (fail, tf.errors.InvalidArgumentError, r"no more\nDetected at .*test_dataset_loops.py:\d+, in count"),
        (interrupt, KeyboardInterrupt, None),
    ],
)
def test_an_exception_between_two_trips_leaves_what_was_assigned(act, expected, message):
    v = tf.Variable(0)

    def generator():
        yield 1
        yield 2
        act()
        yield 3

    @tf.function
    def count(dataset):
        for x in dataset:
            v.assign_add(x)
        return v

    dataset = tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int32))
    with pytest.raises(expected, match=message):
        count(dataset)
    assert v.numpy() == 3
    assert kind(count) == TRACED


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda x: tf.gather([1, 2], x), r"indices = 2 is not in \[0, 2\)"),
        (lambda x: tf.debugging.assert_less(x, 2, message="too large"), "too large"),
    ],
)
def test_checks_are_made_in_each_trip(step, message):
    v = tf.Variable(0)

    @tf.function
    def count(dataset):
        for x in dataset:
            step(x)
            v.assign_add(1)
            v.assign_sub(0 * tf.reduce_sum(tf.gather([1, 2], x)))

    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"(?s){message}.*Detected at .*test_dataset_loops.py:\d+"):
        count(numbers(4))
    assert v.numpy() == 2
    assert kind(count) == TRACED


def test_effects_come_in_order(capfd):
    noted = []

    @tf.function
    def speak(dataset):
        tf.print("begin")
        for x in dataset:
            tf.print("at", x)
            tf.py_function(lambda x: noted.append(int(x)), [x], [])
            if x > 0:
                tf.print("positive")
        tf.print("end")

    speak(numbers(2))
    speak(numbers(0))
    assert capfd.readouterr().err.split("\n")[:-1] == ["begin", "at 0", "at 1", "positive", "end", "begin", "end"]
    assert noted == [0, 1]
    assert kind(speak) == TRACED


def test_python_functions_see_the_variables_as_they_are():
    v, seen = tf.Variable(0), []

    @tf.function
    def count(dataset):
        for _ in dataset:
            v.assign_add(1)
            tf.py_function(lambda: seen.append(int(v.numpy())), [], [])

    count(numbers(3))
    assert seen == [1, 2, 3]
    assert kind(count) == EAGER

    @tf.function
    def around(dataset):
        v.assign(7)
        tf.py_function(lambda: seen.append(int(v.numpy())), [], [])
        for _ in dataset:
            v.assign_add(1)

    around(numbers(3))
    assert seen[3:] == [7]
    assert kind(around) == EAGER


def test_random_numbers():
    """Each trip draws new numbers, and each pass the same."""
    tf.random.set_seed(3)

    @tf.function
    def draw(dataset):
        digits, first = tf.constant(0.0), tf.random.uniform([])
        for _ in dataset:
            digits = digits * 10.0 + tf.round(tf.random.uniform([]) * 9.0)
            digits = digits * 10.0 + tf.round(tf.random.normal([]))
        return first, digits

    dataset = numbers(3)
    found = [[x.numpy() for x in draw(dataset)] for _ in range(2)]
    np.testing.assert_allclose(found, [[0.12736404, 107979.0], [0.8580158, 107979.0]])
    assert kind(draw) == TRACED


def test_random_numbers_without_a_seed_are_new_ones_in_each_pass():
    tf.random.set_seed(None)

    @tf.function
    def draw(dataset):
        total = tf.constant(0.0)
        for _ in dataset:
            total += tf.random.uniform([])
        return total

    dataset = numbers(2)
    assert len({float(draw(dataset)) for _ in range(3)}) == 3


def test_a_function_in_a_function():
    count = []

    @tf.function
    def total(dataset):
        result = tf.constant(0)
        for x in dataset:
            count.append(x)
            result += x
        return result

    @tf.function
    def outer(dataset, factor):
        return total(dataset) * factor

    assert outer(numbers(4), tf.constant(2)).numpy() == 12
    assert len(count) == 1


def test_a_method():
    class Counter:
        def __init__(self):
            self.total, self.trips = tf.Variable(0), 0

        @tf.function
        def count(self, dataset):
            for x in dataset:
                self.total.assign_add(x)
                self.trips += 1
            return self.total

    counter = Counter()
    assert counter.count(numbers(4)).numpy() == 6


def test_a_tape_behind_the_loop():
    v = tf.Variable(2.0)

    @tf.function
    def slope(dataset):
        total = tf.constant(0.0)
        for x in dataset:
            total += v * x
        with tf.GradientTape() as tape:
            y = total * v
        return tape.gradient(y, v)

    assert slope(floats(4)).numpy() == 12.0
    assert kind(slope) == TRACED


def test_threads():
    """Each goes through the same function, whose body is traced again for the last batch."""
    gathered = []

    @tf.function
    def total(dataset):
        result = tf.constant(0.0)
        for x in dataset:
            result += tf.reduce_sum(x * x)
        return result

    dataset = floats(11).batch(4)
    run = [threading.Thread(target=lambda: gathered.append(float(total(dataset)))) for _ in range(4)]
    for thread in run:
        thread.start()
    for thread in run:
        thread.join()
    assert gathered == [385.0] * 4


def test_no_update_of_another_thread_is_lost():
    v = tf.Variable(0.0)

    @tf.function
    def count(dataset):
        for x in dataset:
            v.assign_add(x)

    dataset = tf.data.Dataset.from_tensors(1.0).repeat(5)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run = [threading.Thread(target=lambda: [count(dataset) for _ in range(30)]) for _ in range(4)]
        for thread in run:
            thread.start()
        for thread in run:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert v.numpy() == 600.0


@pytest.mark.parametrize("batch", [4, 3])
def test_names_that_are_bound_anew_after_a_loop(batch):
    """Another trace of a body, for the last batch, sees what the names held when the loop began."""

    @tf.function
    def total(dataset, scale):
        factor = scale * 2.0

        def scaled(x):
            return tf.reduce_sum(x) * factor

        result = tf.constant(0.0)
        for x in dataset:
            result += scaled(x) + factor
        factor = 100.0 * scale
        for x in dataset:
            result += scaled(x)
        factor, scaled = None, None
        return result

    dataset = floats(8).batch(batch)
    trips = -(-8 // batch)
    for _ in range(2):
        assert total(dataset, tf.constant(1.0)).numpy() == 28 * 2 + 2 * trips + 2800
    assert kind(total) == TRACED


def test_an_object_with_such_a_method_is_freed():
    class Counter:
        def __init__(self):
            self.total, self.factor = tf.Variable(0.0), 2.0

        @tf.function
        def count(self, dataset):
            for x in dataset:
                self.total.assign_add(tf.reduce_sum(x) * self.factor)
            return self.total

    def made():
        counter = Counter()
        assert counter.count(floats(7).batch(3)).numpy() == 42.0
        assert kind(counter.count) == TRACED
        return weakref.ref(counter)

    reference = made()
    gc.collect()
    assert reference() is None


def test_names_keep_the_rules_of_a_loop():
    @tf.function
    def unbound(dataset):
        for x in dataset:
            y = x
        return y

    with pytest.raises(ValueError, match="'y' must be defined before the loop"):
        unbound(numbers(2))

    @tf.function
    def another_dtype(dataset):
        total = 0
        for x in dataset:
            total = total + tf.cast(x, tf.float32)
        return total

    with pytest.raises(TypeError, match="'total' has dtype int32 before the loop, but dtype float32"):
        another_dtype(numbers(2))

    @tf.function
    def listed(dataset):
        found = []
        for x in dataset:
            found.append(x + 1)  # noqa: PERF401
        return tf.stack(found)

    with pytest.raises(InaccessibleTensorError, match="out of scope"):
        listed(numbers(2))


def test_a_variable_that_is_passed():
    @tf.function
    def add(dataset, v):
        for x in dataset:
            v.assign_add(x)

    v, w = tf.Variable(2.0), tf.Variable(0.0)
    add(floats(4), v)
    add(floats(4), w)
    assert (v.numpy(), w.numpy()) == (8.0, 6.0)


def test_a_dataset_that_is_made_in_the_function():
    """What draws is made anew in each call, and what does not is one for all calls."""

    @tf.function
    def shuffled():
        digits = tf.constant(0)
        for x in numbers(6).shuffle(6, seed=2):
            digits = digits * 10 + x
        return digits

    assert shuffled().numpy() == shuffled().numpy()
    assert kind(shuffled) == EAGER

    @tf.function
    def numbered(dataset):
        total = tf.constant(0)
        for i, x in dataset.take(6).batch(2).enumerate():
            total += tf.reduce_sum(x) * tf.cast(i, tf.int32)
        return total

    assert numbered(numbers(10)).numpy() == 23
    assert kind(numbered) == TRACED


def test_attributes_that_a_loop_binds_hold_no_tensor_of_the_trace():
    class Sums:
        def __init__(self):
            self.total, self.steps = tf.constant(0.0), 0

        @tf.function
        def over(self, dataset):
            for x in dataset:
                self.total += x
                self.steps += 1
            return self.total, self.steps

    sums = Sums()
    for _ in range(3):  # TensorFlow traces once, and begins with what the attributes held then
        total, steps = sums.over(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]))
        assert (total.numpy(), steps.numpy()) == (6.0, 3)
    assert (sums.total.numpy(), sums.steps) == (0.0, 0)


def test_elements_of_unknown_rank_are_traced_with_the_rank_of_the_first():
    def through_python(x):
        return tf.py_function(lambda a: tf.cast(tf.fill([3], a), tf.float32), [x], tf.float32)

    dataset = tf.data.Dataset.range(4).map(through_python)
    assert dataset.element_spec.shape.rank is None

    @tf.function
    def total(elements):
        found = tf.constant(0.0)
        for x in elements:
            found += tf.reduce_sum(x)
        return found

    assert total(dataset).numpy() == total(dataset.batch(2)).numpy() == 18.0
    assert kind(total) == 2 * TRACED


def test_a_generator_that_yields_its_elements_once_is_not_looked_at():
    elements = iter([1.0, 2.0, 3.0])
    dataset = tf.data.Dataset.from_generator(lambda: elements, tf.float32).map(lambda x: x * 2.0)
    total = tf.function(lambda given: given.reduce(0.0, lambda s, x: s + x))
    assert total(dataset).numpy() == 12.0

    @tf.function
    def summed(given):
        found = tf.constant(0.0)
        for x in given:
            found += x
        return found

    elements = iter([1.0, 2.0, 3.0])
    assert summed(tf.data.Dataset.from_generator(lambda: elements, tf.float32)).numpy() == 6.0
