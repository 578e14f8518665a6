"""Errors in the user's own code, and the end of Python while work is going on: nothing hangs, and nothing odd is printed."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import gradtape as tf

ENDS = {
    "pending tensors are read at exit": (
        """
        import atexit
        late = tf.constant([1.0]) * 2.0
        atexit.register(lambda: print("late", late.numpy()))
        sys.exit(3)
        """,
        3,
        "late [2.]",
    ),
    "a dataset is being read": (
        """
        elements = tf.data.Dataset.range(10**6).map(lambda x: x + 1, num_parallel_calls=2).batch(2).prefetch(3)
        iterators = [iter(elements) for _ in range(3)]
        print(*[int(x) for iterator in iterators for x in next(iterator)])
        """,
        0,
        "1 2 1 2 1 2",
    ),
    "threads compute": (
        """
        import threading
        v = tf.Variable(0.0)
        step = tf.function(lambda: v.assign_add(1.0))
        step()
        begun = threading.Event()
        def forever():
            while True:
                step()
                (v * 2.0).numpy()
                begun.set()
        def leaves():
            step()
            sys.exit(5)  # ends the thread alone
        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        leaving = threading.Thread(target=leaves)
        leaving.start()
        leaving.join()
        begun.wait()
        print(v.numpy() >= 2.0)
        """,
        0,
        "True",
    ),
}


def end(*programs):
    """The status with which the programs end, one after the other in one process, and what they print."""
    program = "\n".join(["import sys", "import gradtape as tf", *map(textwrap.dedent, programs)])
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    return result.returncode, sorted(result.stdout.splitlines()), result.stderr


@pytest.mark.long
@pytest.mark.parametrize("program, status, said", ENDS.values(), ids=ENDS)
def test_the_end_of_python(program, status, said):
    assert end(program) == (status, [said], "")


def test_the_end_of_python_amid_all_of_that():
    programs, statuses, said = zip(*reversed(ENDS.values()), strict=True)
    assert end(*programs) == (statuses[-1], sorted(said), "")


class Mine(Exception):
    """An error of the user's own."""


@pytest.mark.parametrize("decorate", [lambda f: f, tf.function], ids=["eager", "function"])
def test_an_error_in_the_midst_of_a_step(decorate):
    v, raising = tf.Variable([1.0, 2.0]), [True]

    def step(x):
        with tf.GradientTape() as tape:
            y = v * x
            v.assign_add([1.0, 1.0])
            if raising[0]:
                raise Mine("in the step")
        return tape.gradient(y, v)

    step = decorate(step)
    x = tf.constant([3.0, 4.0])
    with pytest.raises(Mine, match="in the step"):
        step(x)
    raising[0] = False
    before = v.numpy()
    np.testing.assert_array_equal(step(x), [3.0, 4.0])
    np.testing.assert_array_equal(v, before + 1)
    assert before.tolist() == ([2.0, 3.0] if decorate is not tf.function else [1.0, 2.0])


def test_an_error_in_a_generator_of_elements():
    def elements():
        yield 1
        raise Mine("no more")

    dataset = tf.data.Dataset.from_generator(elements, output_signature=tf.TensorSpec([], tf.int32)).prefetch(2)
    for _ in range(2):
        read = []
        with pytest.raises(tf.errors.OpError, match="no more"):
            read.extend(int(element) for element in dataset)
        assert read == [1]


@pytest.mark.parametrize("where", ["call", "callback", "loss"])
def test_an_error_in_the_midst_of_fit(where):
    keras = tf.keras
    raising = [False]

    def maybe(place):
        if raising[0] and place == where:
            raise Mine(place)

    class Layer(keras.layers.Layer):
        def call(self, x):
            maybe("call")
            return x * 2.0

    class Callback(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            maybe("callback")

    def loss(y, p):
        maybe("loss")
        return keras.ops.mean((y - p) ** 2)

    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1), Layer()])
    model.compile("sgd", loss, run_eagerly=True)
    x, y = np.ones([8, 2], np.float32), np.ones([8, 1], np.float32)
    model.fit(x, y, batch_size=4, verbose=0, callbacks=[Callback()])
    raising[0] = True
    with pytest.raises(Mine, match=where):
        model.fit(x, y, batch_size=4, verbose=0, callbacks=[Callback()])
    raising[0] = False
    assert int(model.optimizer.iterations) == (3 if where == "callback" else 2)
    model.fit(x, y, batch_size=4, verbose=0, callbacks=[Callback()])
    assert int(model.optimizer.iterations) == (5 if where == "callback" else 4)
