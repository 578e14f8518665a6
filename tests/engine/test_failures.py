"""Rule 10 of the engine: a run that fails or is interrupted leaves variables whole, and what was recorded can run again."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution


def test_a_run_that_fails_leaves_variables_unchanged_and_can_be_repeated(monkeypatch):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    v.assign_add([1.0, 1.0])
    w.assign(w * 2.0)
    real = execution.execute

    def fail(program, arguments, again=False):
        raise tf.errors.ResourceExhaustedError(None, None, "Out of memory, says the test")

    monkeypatch.setattr(execution, "execute", fail)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory"):
        v.numpy()
    monkeypatch.setattr(execution, "execute", real)
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])
    assert w.numpy() == 3.0
    v.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(v.numpy(), [2.0, 3.0])


def test_a_tensor_of_a_run_that_failed_is_computed_when_it_is_asked_for_again(monkeypatch):
    x = tf.constant([1.0, 2.0])
    y = tf.tanh(x) * 2.0
    real = execution.execute

    def interrupt(program, arguments, again=False):
        raise KeyboardInterrupt("between two ops")

    monkeypatch.setattr(execution, "execute", interrupt)
    with pytest.raises(KeyboardInterrupt, match="between two ops"):
        y.numpy()
    monkeypatch.setattr(execution, "execute", real)
    np.testing.assert_allclose(y.numpy(), 2 * np.tanh([1.0, 2.0]), rtol=1e-6)


def test_more_memory_than_there_is_gives_an_error_and_leaves_variables_unchanged():
    v = tf.Variable([1.0, 2.0])
    v.assign_add([1.0, 1.0])
    v.numpy()
    column = tf.constant(np.arange(1 << 21, dtype=np.float32)[:, None])
    product = tf.matmul(column, column, transpose_b=True)  # 16 TiB
    v.assign(v * product[0, 0])
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory"):
        v.numpy()
    np.testing.assert_array_equal(v.numpy(), [2.0, 3.0])


def test_an_interrupt_in_mid_step_leaves_variables_before_or_after_the_step():
    """A real SIGINT, many times, at moments that the loop does not choose."""
    program = textwrap.dedent(
        """
        import gradtape as tf, gc, numpy as np, signal, threading, os
        tf.config.compile_early()  # while it is first used the compiler cannot be interrupted
        gc.disable()  # an interrupt that comes while garbage is collected is dropped, by Python and JAX
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what started this may have it ignored
        a, b = tf.Variable(np.zeros(4, np.float32)), tf.Variable(np.zeros(4, np.float32))
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(a * 1.0) + tf.reduce_sum(b * 1.0)
            ga, gb = tape.gradient(loss, [a, b])
            a.assign_sub(-ga)
            b.assign_sub(-gb)
        for _ in range(3):
            step()
        caught = 0
        for attempt in range(20):
            timer = threading.Timer(0.002 + 0.0007 * attempt, os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                for _ in range(400):   # Python drops an interrupt that comes in the middle of its garbage collection
                    step()
                timer.join()
            except KeyboardInterrupt:
                caught += 1
            timer.join()
            va, vb = a.numpy(), b.numpy()
            assert (va == va[0]).all() and (vb == vb[0]).all(), (va, vb)
            assert 0 <= va[0] - vb[0] <= 20, (va, vb)   # a step behind for each interrupt between the two updates
            step()
            assert a.numpy()[0] == va[0] + 1 and b.numpy()[0] == vb[0] + 1
        print("caught enough" if caught >= 15 else caught)
        """
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "caught enough", result.stdout + result.stderr


def test_an_op_after_a_fork_says_to_spawn():
    program = textwrap.dedent(
        """
        import os, warnings
        warnings.simplefilter("ignore")
        import gradtape as tf
        x = tf.constant(1.0) + 1.0
        x.numpy()
        pid = os.fork()
        if pid == 0:
            try:
                x + 1.0
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        """
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "spawn" in result.stdout, result.stderr


def test_a_tensor_that_crosses_threads_has_its_value_there():
    x = tf.constant([1.0, 2.0])
    y = tf.tanh(x)  # pending here
    results = {}

    def work():
        z = y * 2.0
        results["z"] = z.numpy()
        results["y"] = y.numpy()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    np.testing.assert_allclose(results["z"], 2 * np.tanh([1.0, 2.0]), rtol=1e-6)
    np.testing.assert_array_equal(results["y"], y.numpy())


def test_threads_that_share_pending_tensors_and_variables():
    x = tf.Variable(np.arange(4, dtype=np.float32))
    shared = [tf.sin(x * float(i)) for i in range(8)]
    errors = []

    def work(number):
        try:
            for i, s in enumerate(shared):
                expected = np.sin(np.arange(4, dtype=np.float32) * i) + number
                np.testing.assert_allclose((s + float(number)).numpy(), expected, rtol=1e-5, atol=1e-6)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
