"""How datasets run: in threads, beside tapes and pending programs, in training steps."""

import gc
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base import ambient

D = tf.data.Dataset


def elements(dataset):
    return [int(element) for element in dataset.as_numpy_iterator()]


def threads():
    """All but the one that closes streams, which stays."""
    return {thread for thread in threading.enumerate() if thread.name != "gradtape-close"}


class TestThreads:
    @pytest.fixture(autouse=True)
    def no_thread_is_left(self):
        before = threads()
        yield
        gc.collect()
        assert threads() <= before

    PIPELINES = {
        "prefetch": lambda function: D.range(100).map(function).prefetch(3),
        "prefetch twice": lambda function: D.range(100).prefetch(2).map(function).prefetch(2),
        "inside of interleave": lambda function: D.range(4).interleave(lambda x: D.range(50).map(function).prefetch(2), 4),
        "map in threads": lambda function: D.range(100).map(function, num_parallel_calls=3),
        "map in threads, any order": lambda f: D.range(100).map(f, num_parallel_calls=3, deterministic=False).prefetch(1),
    }

    @pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
    def test_end_with_an_iterator_that_is_dropped(self, make):
        iterator = iter(make(lambda x: x))
        next(iterator)
        assert any("gradtape" in t.name for t in threading.enumerate())
        del iterator

    @pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
    def test_end_with_a_loop_that_is_left(self, make):
        for element in make(lambda x: x):
            if int(element) >= 0:
                break

    @pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
    def test_end_with_an_error(self, make):
        def fail(x):
            raise ValueError("no")

        with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: no"):
            next(iter(make(lambda x: tf.py_function(fail, [x], tf.int64))))

    @pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
    def test_end_with_the_elements(self, make):
        dataset = make(lambda x: x + 1)
        assert len(elements(dataset)) in (100, 200)
        assert len(elements(dataset)) in (100, 200)

    @pytest.mark.parametrize("name", ["prefetch", "map in threads"])
    def test_have_what_the_reader_hands_to_them(self, name):
        """The call's arguments and the place of the iterator; nothing else that is open where elements are asked for."""
        found, reader = [], threading.get_ident()

        def note(x):
            found.append((threading.get_ident(), {field.name: field.get() for field in ambient.fields}))
            return x

        with ambient.setting(call_arguments={1: "given"}, custom_gradients=("open",), loops=("open",)):
            next(iter(self.PIPELINES[name](lambda x: tf.py_function(note, [x], tf.int64))))
        there = next(state for thread, state in found if thread != reader)
        assert there["call_arguments"] == {1: "given"} and there["place"] is not None
        assert there["custom_gradients"] == there["loops"] == ()

    def test_an_exit_in_a_function_does_not_leave_its_reader_waiting(self):
        def leave(x):
            raise SystemExit(3)

        with pytest.raises(RuntimeError, match="SystemExit in a function of a dataset that is being prefetched"):
            next(iter(D.range(3).map(lambda x: leave(x.numpy())).prefetch(1)))


@pytest.mark.parametrize(
    "make",
    [
        lambda function: D.range(9).map(function).prefetch(8),
        lambda function: D.range(9).map(function, num_parallel_calls=2),
        lambda function: D.range(9).map(function, num_parallel_calls=4).prefetch(8),
    ],
)
def test_an_iterator_may_be_collected_by_the_thread_that_works_for_it(make):
    ready, collected = threading.Event(), threading.Event()

    def function(x):
        if x.numpy() == 1:  # which cannot be traced
            assert ready.wait(timeout=30)
            gc.collect()  # finds the cycle below
            collected.set()
        return x

    class Cycle:
        def __init__(self):
            self.itself, self.iterator = self, iter(make(function))

    before = threads()
    gc.disable()
    try:
        next(Cycle().iterator)
        ready.set()
        assert collected.wait(timeout=30)
    finally:
        gc.enable()
    end = time.monotonic() + 30
    while threads() - before:  # one that is only about to start cannot be joined
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    "ahead",
    [
        lambda dataset: dataset.prefetch(2),
        lambda dataset: dataset.map(lambda x: x + 1.0, num_parallel_calls=2).prefetch(2),
    ],
)
def test_a_loop_is_left_although_the_next_element_never_comes(ahead):
    """It is made in another thread, which ends with it."""
    asked, enough = threading.Event(), threading.Event()

    def generator():
        yield 0.0
        yield 1.0
        asked.set()
        enough.wait(timeout=60)

    begun = time.monotonic()
    for _ in ahead(D.from_generator(generator, output_signature=tf.TensorSpec((), tf.float32))):
        assert asked.wait(timeout=30)
        break
    assert time.monotonic() - begun < 30
    enough.set()


def test_prefetch_runs_ahead_in_another_thread():
    made, enough = [], threading.Event()

    def generator():
        for i in range(10):
            made.append((i, threading.current_thread()))
            if i == 3:
                enough.set()
            yield i

    iterator = iter(D.from_generator(generator, output_signature=tf.TensorSpec((), tf.int32)).prefetch(3))
    assert int(next(iterator)) == 0
    assert enough.wait(timeout=30)  # 1, 2 and 3 are made although nobody asked
    assert threading.main_thread() not in {thread for _, thread in made}
    assert len(made) <= 6  # but not many more: what is read, 3 in the buffer, one in hand


def test_parallel_calls_run_at_the_same_time():
    both = threading.Barrier(2, timeout=30)

    def meet(x):
        both.wait()  # BrokenBarrierError unless two calls run at once
        return x

    assert elements(D.range(4).map(lambda x: tf.py_function(meet, [x], tf.int64), num_parallel_calls=2)) == [0, 1, 2, 3]


def test_parallel_calls_in_any_order_need_not_wait_for_the_slowest():
    others = threading.Semaphore(0)

    def function(x):
        if x.numpy() == 0:  # which cannot be traced
            for _ in range(3):
                assert others.acquire(timeout=30)
        others.release()
        return x

    order = elements(D.range(4).map(function, num_parallel_calls=2, deterministic=False))
    assert sorted(order) == [0, 1, 2, 3]
    assert order[:2] == [1, 2]


def test_threads_share_an_iterator():
    iterator = iter(D.range(200).map(lambda x: x * 2))
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [int(x) for x in iterator], range(4)))
    assert sorted(itertools.chain(*parts)) == list(range(0, 400, 2))


def test_threads_share_a_dataset():
    dataset = D.range(20).shuffle(20, seed=1).map(lambda x: x + 1).batch(5)
    with ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(lambda _: sum(int(tf.reduce_sum(batch)) for batch in dataset), range(4)))
    assert sums == [210] * 4


class TestFunctionsRunApart:
    def test_tapes_do_not_see_them(self):
        weight = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            loss = 0.0
            for x in D.range(3).map(lambda i: tf.cast(i, tf.float32) * weight):
                loss += x * weight
        assert loss.numpy() == 12.0
        assert tape.gradient(loss, weight).numpy() == 6.0  # through `x * weight` only, as in TensorFlow
        assert tape.watched_variables() == (weight,)

    def test_tensors_made_outside_can_be_used(self):
        scale = tf.constant(2.0) * 3.0  # not run yet
        for dataset in (D.range(3).map(lambda i: scale), D.range(3).map(lambda i: scale).prefetch(1)):
            assert elements(dataset) == [6, 6, 6]

    def test_variables_can_be_assigned(self):
        count = tf.Variable(0)
        assert elements(D.range(3).map(lambda x: tf.identity(count.assign_add(1)))) == [1, 2, 3]
        for _ in D.range(2).map(lambda x: (count.assign_add(1), x)[1]):
            pass
        assert count.numpy() == 5

    def test_asking_for_the_spec_assigns_nothing(self):
        count = tf.Variable(0)
        dataset = D.range(3).map(lambda x: tf.identity(count.assign_add(1)))
        assert dataset.element_spec == tf.TensorSpec((), tf.int32)
        assert count.numpy() == 0

    def test_what_is_pending_goes_on_pending(self):
        arrays = np.ones((8, 3), np.float32)
        datasets = [D.from_tensor_slices(arrays), D.from_tensor_slices(arrays).map(lambda x: x * 1.0).filter(lambda x: True)]
        for dataset in datasets:
            pending = tf.constant(2.0) * 3.0
            for row in dataset:
                pending = pending + row[0]
            assert pending.node.value is None
            assert pending.numpy() == 14.0


class TestCache:
    def test_calls_functions_once(self):
        calls = []
        dataset = D.range(3).map(lambda x: (calls.append(1), x)[1]).cache()
        calls.clear()
        assert [elements(dataset) for _ in range(3)] == [[0, 1, 2]] * 3
        assert len(calls) == 3

    def test_a_pass_that_was_left_is_not_taken_for_the_whole(self):
        dataset = D.range(3).cache()
        next(iter(dataset))
        assert elements(dataset) == [0, 1, 2]

    def test_keeps_a_shuffled_order(self):
        dataset = D.range(20).shuffle(20).cache()
        assert elements(dataset) == elements(dataset)

    def test_is_whole_with_the_last_element_where_their_number_is_known(self):
        dataset = D.range(20).shuffle(20).cache()
        first = iter(dataset)  # Keras takes the steps of an epoch and does not look for an end
        assert [next(first).numpy() for _ in range(20)] == elements(dataset)


def test_a_generator_is_closed_when_its_iterator_is_dropped():
    closed = []

    def generator():
        try:
            yield from range(10)
        finally:
            closed.append(True)

    iterator = iter(D.from_generator(generator, output_signature=tf.TensorSpec((), tf.int32)).batch(2))
    next(iterator)
    assert not closed
    del iterator
    assert closed == [True]


def test_training_reaches_what_least_squares_gives():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(64, 3)).astype(np.float32)
    y = (x @ np.array([1.0, -2.0, 0.5]) + 3.0).astype(np.float32)
    dataset = D.from_tensor_slices((x, y)).shuffle(64, seed=0).batch(16).prefetch(tf.data.AUTOTUNE)
    weight, bias = tf.Variable(tf.zeros([3])), tf.Variable(0.0)
    for _ in range(25):
        for rows, labels in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.linalg.matvec(rows, weight) + bias - labels) ** 2)
            for variable, gradient in zip((weight, bias), tape.gradient(loss, (weight, bias)), strict=True):
                variable.assign_sub(0.2 * gradient)
    np.testing.assert_allclose(weight.numpy(), [1.0, -2.0, 0.5], atol=1e-3)
    assert abs(bias.numpy() - 3.0) < 1e-3
