"""When a Program is compiled: after runs that cost an eighth of what compiling costs, once, and never sooner."""

import functools
import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution, tiers
from gradtape._src.core.host import arrays
from gradtape._src.core.platform import xla

W = np.full((16, 16), 0.1, np.float32)


def training(wrap):
    """Make a step of training, in eager code or as a function."""
    weight = tf.Variable(W)

    @wrap
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(x @ weight) ** 2)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    return step


def conditional(wrap):
    return wrap(lambda x: tf.cond(x[0, 0] > 0.0, lambda: tf.sin(x), lambda: x))


@pytest.fixture(autouse=True)
def fresh():
    tf.config.clear_cache()
    yield
    tf.config.clear_cache()


@pytest.mark.parametrize("make, wrap", [(training, lambda f: f), (training, tf.function), (conditional, tf.function)])
def test_a_step_that_comes_again_is_compiled_once(make, wrap):
    step, x = make(wrap), tf.ones([8, 16])
    programs = []
    for _ in range(600):
        np.asarray(step(x))
        programs.append(tf.config.cache_info()["programs"])
    assert programs[4] == 0 and programs[-1] == programs[400] >= 1
    runs = tf.config.cache_info()["node_by_node"]
    np.asarray(step(x))
    assert tf.config.cache_info()["node_by_node"] == runs


def test_ops_that_numpy_does_not_have_are_compiled_together_at_once():
    """To compile each by itself would take longer, and counts as spent."""
    x = tf.constant([0.25, 0.5])
    np.asarray(tf.math.ndtri(x) + tf.math.special.dawsn(x) + tf.math.special.spence(x))
    info = tf.config.cache_info()
    assert (info["programs"], info["kernels"]) == (1, 0)


@pytest.mark.parametrize("ops, compiled", [(3, False), (30, True)])
def test_what_a_dataset_computes_for_each_element_is_compiled_where_that_is_less_than_a_call(ops, compiled):
    def scaled(x):
        for _ in range(ops):
            x = x * 0.5
        return x

    numbers = tf.data.Dataset.from_generator(lambda: iter(range(1500)), output_signature=tf.TensorSpec([], tf.int64))
    elements = numbers.map(lambda i: scaled(tf.cast(i, tf.float32)))  # one by one, as a generator shows what is taken early
    np.testing.assert_array_equal(list(elements.as_numpy_iterator()), np.arange(1500, dtype=np.float32) * 0.5**ops)
    assert (tf.config.cache_info()["programs"] > 0) is compiled


def test_a_large_matrix_is_decomposed_on_the_host_whatever_its_size(monkeypatch):
    monkeypatch.setattr(tiers, "HOSTED_BYTES", 1000)
    x = np.random.default_rng(0).normal(size=(200, 100)).astype(np.float32)
    for _ in range(400):
        q, r = tf.linalg.qr(x)
        np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), x, 0, 1e-4)
    info = tf.config.cache_info()
    assert (info["programs"], info["kernels"]) == (0, 0)


TWICE = textwrap.dedent(
    """
    import hashlib
    import gradtape as tf

    tf.random.set_seed(1)
    weights = [tf.Variable(tf.random.normal([16, 16])) for _ in range(3)]
    found = hashlib.sha256()

    @tf.function
    def noise(x):
        return tf.while_loop(lambda x: tf.reduce_sum(tf.abs(x)) > 1.0, lambda x: [x * 0.7], [x])[0]

    for step in range(80):
        with tf.GradientTape() as tape:
            x = tf.random.normal([8 - step % 20 // 19, 16])  # the last batch is smaller
            for weight in weights:
                x = tf.nn.dropout(tf.nn.softmax(x @ weight), 0.25)
            loss = tf.reduce_mean(x**2) + tf.reduce_sum(noise(weights[0]))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.1 * gradient)
        found.update(loss.numpy().tobytes())
    print(found.hexdigest(), tf.config.cache_info()["programs"], tf.config.cache_info()["node_by_node"])
    """
)


def test_two_processes_give_the_same_bits():
    """Steps that run on the host at first and compiled later: what is compiled when depends on no clock and no hash."""
    command = [sys.executable, "-c", TWICE]
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in "12"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for environment in environments]
    one, other = [run.communicate(timeout=120)[0] for run in runs]
    assert one == other
    _, programs, node_by_node = one.split()
    assert int(programs) >= 1 and int(node_by_node) >= 10


def test_an_op_that_fails_on_numpy_is_compiled(monkeypatch, caplog):
    monkeypatch.delattr(arrays.Numbers, "arctan2")
    np.testing.assert_allclose(tf.atan2(tf.constant([1.0, 2.0]), [1.0, 1.0]) + 1.0, np.arctan2([1, 2], 1) + 1, rtol=1e-6)
    assert tf.config.cache_info()["not_on_host"] == 1
    assert "Atan2 does not run on NumPy (AttributeError: " in caplog.text and "please report" in caplog.text
    execution.counters.not_on_host = 0


def test_residuals_of_the_host_are_not_put_on_the_device(monkeypatch):
    """A compiled gradient of a chain that runs on the host takes its values as they are: each is taken once."""
    x, put = tf.Variable(0.5), []
    copied = xla.put
    monkeypatch.setattr(xla, "put", lambda *arguments: put.append(1) or copied(*arguments))
    for _ in range(60):
        put.clear()
        with tf.GradientTape() as tape:
            y = tf.identity(x)
            for _ in range(400):
                y = tf.sin(y)
        gradient = float(tape.gradient(y, x))
    assert execution.counters.programs and len(put) < 10
    np.testing.assert_allclose(
        gradient, jax.grad(lambda x: functools.reduce(lambda y, _: jnp.sin(y), range(400), x))(0.5), rtol=1e-5
    )
