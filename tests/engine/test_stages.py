"""Programs with many parameters and results run in stages, with the values and gradients of the whole."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution, stages
from gradtape._src.core.programs import program

pytestmark = pytest.mark.usefixtures("compiled_early")

COUNT = 80


@pytest.fixture
def widths(monkeypatch):
    """Programs are wide from 64 parameters and outputs on; gives the numbers of parameters of what is compiled since."""
    tf.config.clear_cache()
    monkeypatch.setattr(program, "WIDE", 64)
    monkeypatch.setattr(stages, "PART", 32)
    compile, found = execution.Pool.compile, []

    def noting(pool, owner, function, arguments, options=None):
        found.append(len(arguments))
        return compile(pool, owner, function, arguments, options)

    monkeypatch.setattr(execution.Pool, "compile", noting)
    yield found
    tf.config.clear_cache()


def variables():
    return [tf.Variable(np.full(2, i % 7, np.float32)) for i in range(COUNT)]


def added(vs):
    return tf.reduce_sum(tf.add_n([v * v for v in vs]))


def stacked(vs):
    return tf.reduce_sum(tf.stack([v * v for v in vs], -1))


def joined(vs):
    return tf.reduce_sum(tf.square(tf.concat([tf.split(v, 2)[0] for v in vs] + [v[1:] for v in vs], 0)))


def summed(vs):
    total = tf.constant(0.0)
    for v in vs:
        total += tf.reduce_sum(v * v)
    return total


@pytest.mark.parametrize("of, as_function", [(added, False), (stacked, True), (joined, True), (summed, False), (summed, True)])
def test_values_gradients_and_updates_are_those_of_the_whole(of, as_function, widths):
    vs = variables()

    def step():
        with tf.GradientTape() as tape:
            loss = of(vs)
        gradients = tape.gradient(loss, vs)
        for v, d in zip(vs, gradients, strict=True):
            v.assign_sub(0.25 * d)
        return loss, gradients

    for _ in range(2):
        before = [v.numpy() for v in vs]
        loss, gradients = (tf.function(step) if as_function else step)()
        np.testing.assert_allclose(loss, sum([(b * b).sum() for b in before]), rtol=1e-5)
        for b, d, v in zip(before, gradients, vs, strict=True):
            np.testing.assert_allclose(d, 2 * b, rtol=1e-6)
            np.testing.assert_allclose(v, b / 2, rtol=1e-6)
    assert max(widths) < program.WIDE


def test_stages_that_are_equal_are_compiled_once(widths):
    vs = variables()
    loss = tf.function(lambda: summed(vs))
    assert float(loss()) == sum([2.0 * (i % 7) ** 2 for i in range(COUNT)])
    assert len(widths) <= 4  # the first, those between, the last, and what reads the variables


def test_effects_and_constants_of_a_wide_program(widths, capsys):
    vs = variables()
    table = tf.constant(np.arange(COUNT, dtype=np.float32))

    @tf.function
    def shown():
        total = tf.add_n([v * table[i] for i, v in enumerate(vs)])
        tf.print("total", total[0])
        return tf.add_n([v + total for v in vs])

    expected = sum([(i % 7) * i for i in range(COUNT)])
    np.testing.assert_allclose(shown(), np.full(2, sum([i % 7 for i in range(COUNT)]) + COUNT * expected), rtol=1e-6)
    assert f"total {expected}" in capsys.readouterr().err


def test_an_op_of_many_results_stays_with_them(widths):
    x = tf.Variable(np.arange(COUNT, dtype=np.float32))
    with tf.GradientTape() as tape:
        rows = tf.unstack(x)
        loss = tf.add_n([row * row for row in rows])
    np.testing.assert_allclose(tape.gradient(loss, x), 2 * x.numpy())
