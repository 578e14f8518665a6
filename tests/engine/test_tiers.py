"""When a Program is compiled: after runs that cost an eighth of what compiling costs, once, and never sooner."""

import numpy as np
import pytest

import gradtape as tf

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
