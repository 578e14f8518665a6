"""What a function takes from an iterator is a parameter of it: Python runs once. The expected values are TensorFlow's."""

import gc
import threading
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.control.concrete import Compiled, OffTape, OpByOp
from tests.control.test_dataset_loops import kind

COMPILED, ON_HOST, EAGER = [Compiled], [OffTape], [OpByOp]
SPEC = tf.data.IteratorSpec(tf.TensorSpec((), tf.float32))


def floats(count=6):
    return tf.data.Dataset.range(1, count + 1, output_type=tf.float32)


def values(results):
    return tf.nest.map_structure(lambda x: np.asarray(x).tolist(), results)


def once(it, n):
    return next(it) + n


def unrolled(it, n):
    return [it.get_next() for _ in range(3)], n


def sums(it, n):
    total = tf.constant(0.0)
    for _ in tf.range(n):
        total += next(it)
    return total


def known_trips(it, n):
    total = tf.constant(0.0)
    for i in tf.range(3.0):
        total += next(it) * i
    return total


def last(it, n):
    for _ in tf.range(n):
        found = next(it) * 3.0
    return found


def until(it, n):
    total = tf.constant(0.0)
    while total < 5.0:
        total += next(it)
    return total


def broken_off(it, n):
    total, x = tf.constant(0.0), tf.constant(0.0)
    for _ in tf.range(5):
        x = next(it)
        if x > 2.0:
            break
        total += x
    return total, x, next(it)


def loops_in_loops(it, n):
    total = tf.constant(0.0)
    for i in tf.range(n):
        for _ in tf.range(i + 1):
            total += next(it) * tf.cast(i + 1, tf.float32)
    return total


def in_branches(it, n):
    total = tf.constant(0.0)
    for i in tf.range(4):
        if i % 2 == 0:
            x = next(it)
            y = x * 10.0
        else:
            y = tf.constant(1.0)
        total += y
    return total, next(it)


def in_one_branch(it, n):
    x = tf.constant(0.0)
    if n > 2:
        x = next(it)
    return x, next(it)


def taking_condition(it, n):
    count = tf.constant(0)
    while next(it) < 4.0:
        count += 1
    return count, next(it)


def to_the_end(it, n):
    total = next(it)
    for x in it:
        total += 10.0 * x
    return total


def optional(it, n):
    total, goes_on = tf.constant(0.0), tf.constant(True)
    while goes_on:
        element = it.get_next_as_optional()
        if element.has_value():
            total += element.get_value()
        else:
            goes_on = tf.constant(False)
    return total


@tf.function
def doubled(it):
    return 2.0 * next(it)


@tf.function
def sum_of(it, n):
    return sums(it, n)


def nested(it, n):
    return doubled(it) + 10.0 * doubled(it)


def nested_loop(it, n):
    return sum_of(it, n - 1) + 10.0 * sum_of(it, n)


def gradients_inside(it, n):
    y = tf.constant(0.0)
    for _ in tf.range(n):
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = (y + 1.0) ** 2 * next(it)
        y += tape.gradient(z, y)
    return y


@pytest.mark.parametrize(
    ("python", "expected", "way"),
    [
        (once, 4.0, COMPILED),
        (unrolled, ([1.0, 2.0, 3.0], 3), COMPILED),
        (nested, 42.0, COMPILED),
        (sums, 6.0, ON_HOST),
        (known_trips, 8.0, ON_HOST),
        (last, 9.0, ON_HOST),
        (until, 6.0, ON_HOST),
        (broken_off, (3.0, 3.0, 4.0), ON_HOST),
        (loops_in_loops, 56.0, ON_HOST),
        (in_branches, (32.0, 3.0), ON_HOST),
        (in_one_branch, (1.0, 2.0), ON_HOST),
        (taking_condition, (3, 5.0), ON_HOST),
        (to_the_end, 201.0, ON_HOST),
        (optional, 21.0, ON_HOST),
        (nested_loop, 123.0, ON_HOST),
        (gradients_inside, 104.0, ON_HOST),
    ],
)
def test_elements(python, expected, way):
    """One trace for all iterators of such elements."""
    runs = []

    @tf.function
    def function(it, n):
        runs.append(n)
        return python(it, n)

    n = tf.constant(3.0 if python is once else 3)
    for _ in range(2):
        assert values(function(iter(floats()), n)) == expected
    assert len(runs) == function.experimental_get_tracing_count() == 1
    assert kind(function) == way


def test_from_outside():
    """A closure, an attribute, a global; the trace keeps the iterator that it saw."""

    class Steps:
        def __init__(self):
            self.it, self.v = iter(floats()), tf.Variable(1.0)

        @tf.function
        def step(self):
            self.v.assign_add(next(self.it))
            return self.v.read_value()

    steps = Steps()
    assert values([steps.step() for _ in range(3)]) == [2.0, 4.0, 7.0]
    it = iter(floats())
    function = tf.function(lambda other: (next(it), next(other)))
    assert values(function(it)) == (1.0, 2.0)
    assert values(function(iter(floats()))) == (3.0, 1.0)
    assert kind(function) == COMPILED


@pytest.mark.parametrize("python", [lambda it: tf.reduce_sum(next(it)), lambda it: sums_of_rows(it, tf.constant(1))])
def test_another_trace_for_a_batch_of_another_size(python):
    shapes = []

    @tf.function
    def function(it):
        shapes.append(1)
        return python(it)

    it = iter(floats(7).batch(3))
    assert values([function(it) for _ in range(3)]) == [6.0, 15.0, 7.0]
    assert values(function(iter(floats(7).batch(3)))) == 6.0
    assert function.experimental_get_tracing_count() == 1


def sums_of_rows(it, n):
    total = tf.constant(0.0)
    for _ in tf.range(n):
        total += tf.reduce_sum(next(it))
    return total


def taken(n):
    it = iter(floats())
    return next(it) + 10.0 * next(it)


def taken_in_a_loop(n):
    it = iter(floats())
    return sums(it, n) + 15.0


def gone_through(n):
    total = tf.constant(0.0)
    for x in iter(floats()):
        total += x
    return total


@pytest.mark.parametrize("python", [taken, taken_in_a_loop, gone_through])
def test_an_iterator_that_the_function_makes_begins_anew_in_each_call(python):
    function = tf.function(python)
    assert [function(tf.constant(3)).numpy() for _ in range(2)] == [21.0, 21.0]
    assert kind(function) == EAGER


@pytest.mark.parametrize(("drop", "way"), [(True, ON_HOST), (False, EAGER)])
def test_an_element_behind_a_loop_that_takes_some(drop, way):
    """As in the training of a GAN. One of an open shape is drawn by eager code."""
    function = tf.function(lambda it: (sums_of_rows(it, tf.constant(2)), tf.reduce_sum(next(it))))
    it = iter(floats(8).batch(2, drop_remainder=drop))
    assert values(function(it)) == (10.0, 11.0)
    assert kind(function) == way


def test_nests_strings_and_what_is_no_dense_tensor():
    parts = tf.data.Dataset.range(4).map(lambda x: {"a": x, "b": (x + 1, tf.strings.as_string(x))})
    function = tf.function(lambda it: next(it))
    assert values(function(iter(parts))) == {"a": 0, "b": (1, b"0")}
    assert kind(function) == COMPILED
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], [4, 5, 6]]).with_row_splits_dtype(tf.int64))
    function = tf.function(lambda it: tf.reduce_sum(next(it)))
    it = iter(ragged.batch(2))
    assert values([function(it), function(it)]) == [6, 15]
    assert kind(function) == EAGER


def test_an_input_signature():
    function = tf.function(lambda it: next(it), input_signature=[SPEC])
    assert function(iter(floats())).numpy() == 1.0
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"takes what is a IteratorSpec\(TensorSpec\(shape=\(\), dtype=tf.fl"
    ):
        function(iter(tf.data.Dataset.range(3)))
    with pytest.raises(TypeError, match=r"Can not cast .* to IteratorSpec"):
        function(tf.constant(1.0))
    concrete = tf.function(lambda it: next(it)).get_concrete_function(SPEC)
    assert concrete(iter(floats())).numpy() == 1.0
    assert str(concrete.function_type).startswith("(it: IteratorSpec(TensorSpec(shape=(), dtype=tf.float32, name=None),)) -> ")
    assert iter(floats())._type_spec == SPEC
    assert SPEC.value_type is type(iter(floats()))


def steps(v):
    @tf.function
    def many(it, n):
        for _ in tf.range(n):
            v.assign_add(next(it))

    return many


def two_in_a_trip(v):
    @tf.function
    def many(it, n):
        for _ in tf.range(n):
            v.assign_add(next(it))
            v.assign_add(10.0 * next(it))

    return many


def five_steps(v):
    @tf.function
    def many(it, n):
        for _ in range(5):
            v.assign_add(next(it))

    return many


def failing(x):
    return tf.debugging.check_numerics(1.0 / (3.0 - x), "bad")


@pytest.mark.parametrize(
    ("make", "dataset", "error", "assigned", "afterwards"),
    [
        (steps, floats(3), tf.errors.OutOfRangeError, 6.0, None),
        (two_in_a_trip, floats(3), tf.errors.OutOfRangeError, 24.0, None),
        (five_steps, floats(3), tf.errors.OutOfRangeError, 6.0, None),
        (steps, floats(9).map(failing), tf.errors.InvalidArgumentError, 1.5, -1.0),
        (five_steps, floats(9).map(failing), tf.errors.InvalidArgumentError, 1.5, -1.0),
    ],
)
def test_the_end_and_errors(make, dataset, error, assigned, afterwards):
    """The variables have what the steps before have made; after an error the iterator goes on behind it."""
    v = tf.Variable(0.0)
    many, it = make(v), iter(dataset)
    with pytest.raises(error, match=r"(?s)End of sequence|bad"):
        many(it, tf.constant(5))
    assert v.numpy() == assigned
    assert next(it, None) == afterwards


def test_the_end_of_the_first_element_commits_nothing():
    v = tf.Variable(0.0)

    @tf.function
    def step(it, default):
        v.assign_add(1.0)
        return next(it, default)

    it = iter(floats(1))
    assert step(it, tf.constant(-1.0)).numpy() == 1.0
    for _ in range(2):
        with pytest.raises(tf.errors.OutOfRangeError, match=r"End of sequence.*\nDetected at .*test_iterators.py:\d+, in step"):
            step(it, tf.constant(-1.0))
    assert v.numpy() == 1.0


def test_an_optional_that_nobody_asked():
    function = tf.function(lambda it: it.get_next_as_optional().get_value())
    it = iter(floats(1))
    assert function(it).numpy() == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="The given optional does not have a value"):
        function(it)


def test_shared_by_functions_and_threads():
    it = iter(floats(400))
    one, two = tf.function(lambda: next(it)), tf.function(lambda other: sums(other, tf.constant(3)))
    assert (one().numpy(), two(it).numpy(), next(it).numpy()) == (1.0, 9.0, 5.0)
    found = []

    def work():
        for _ in range(30):
            found.append(float(one()))
            found.append(float(two(it)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == sum(range(6, 6 + 3 * 30 * 4))


def test_a_tape_outside():
    """TensorFlow has no gradient of the first."""
    v = tf.Variable(3.0)
    for function in (tf.function(lambda it: v * next(it)), tf.function(lambda it: v * sums(it, tf.constant(2)))):
        it = iter(floats())
        with tf.GradientTape() as tape:
            y = function(it)
        assert tape.gradient(y, v).numpy() * 3.0 == y.numpy()
        assert next(it).numpy() == y.numpy() / 3.0 + (1.0 if y.numpy() == 3.0 else 0.0)


def test_random_numbers():
    """They go on from trip to trip and from call to call."""
    tf.random.set_seed(3)

    @tf.function
    def many(it, n):
        total = tf.zeros([3])
        for _ in tf.range(n):
            total += next(it) * tf.random.uniform([3])
        return total

    found = [many(iter(floats()), tf.constant(2)) for _ in range(2)]
    np.testing.assert_allclose(found, [[1.1544960, 0.8169785, 1.2050254], [1.5980604, 1.4345635, 0.8370252]], rtol=1e-6)


@pytest.mark.parametrize("strategy", [tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["/cpu:0"])])
def test_steps_of_a_strategy(strategy):
    with strategy.scope():
        w = tf.Variable(0.0)
    batches = strategy.experimental_distribute_dataset(floats(12).batch(2))

    def step(x):
        w.assign_add(tf.reduce_sum(x))
        return tf.reduce_sum(x)

    @tf.function
    def train(it, n):
        total = tf.constant(0.0)
        for _ in tf.range(n):
            total += strategy.reduce("SUM", strategy.run(step, args=(next(it),)), axis=None)
        return total

    @tf.function
    def over(it):
        total = tf.constant(0.0)
        for x in it:
            total += strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None)
        return total

    it = iter(batches)
    assert (train(it, tf.constant(2)).numpy(), w.numpy()) == (10.0, 10.0)
    assert (train(it, tf.constant(1)).numpy(), w.numpy()) == (11.0, 21.0)
    assert (over(it).numpy(), w.numpy()) == (57.0, 78.0)
    assert kind(train) == kind(over) == ON_HOST


def test_a_model_of_keras_in_steps_per_call():
    """TensorFlow's numbers."""
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    optimizer, runs = tf.keras.optimizers.Adam(0.1), []
    optimizer.build(model.trainable_variables)

    @tf.function
    def train(it, n):
        runs.append(n)
        for _ in tf.range(n):
            x, y = next(it)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))
        return loss

    rows = np.arange(24, dtype=np.float32).reshape(8, 3) / 10.0
    it = iter(tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).repeat().batch(4))
    losses = [train(it, tf.constant(n)).numpy() for n in (2, 3)]
    np.testing.assert_allclose(losses, [9.175781, 0.18740332], rtol=1e-5)
    assert len(runs) == 1


def test_a_checkpoint_and_what_is_saved():
    it, v = iter(floats()), tf.Variable(0.0)
    steps(v)(it, tf.constant(2))
    state = it.saved_state()
    assert next(it).numpy() == 3.0
    it.restored(state)()
    assert next(it).numpy() == 3.0
    module = tf.Module()
    module.call = tf.function(lambda: next(it), input_signature=[])
    with pytest.raises(NotImplementedError, match="takes elements from an iterator"):
        tf.saved_model.save(module, "ram://iterators")


def test_a_gradient_that_would_take_another_element_is_refused():
    """TensorFlow takes it, and gives the gradient at that one."""
    it, x = iter(floats()), tf.constant(3.0)
    function = tf.function(tf.recompute_grad(lambda x: x * next(it)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    with pytest.raises(NotImplementedError, match=r"would take another element .* pass the element as an argument") as error:
        tape.gradient(y, x)
    assert error.type is NotImplementedError

    @tf.function
    def outside(x):
        return tf.recompute_grad(lambda x, element: x * element)(x, next(it))

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outside(x)
    assert tape.gradient(y, x) == y / x


def test_a_trace_keeps_no_iterator_that_was_passed():
    function = tf.function(lambda it: next(it))
    it = iter(floats())
    function(it)
    alive = weakref.ref(it)
    del it
    gc.collect()
    assert alive() is None
    assert function(iter(floats())).numpy() == 1.0
