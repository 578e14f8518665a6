"""The other rules of the engine: what is computed, what is kept, what counts as the same program."""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.engine.slices import slice_trace
from gradtape._src.core.programs.program import verify


@pytest.fixture(autouse=True)
def fresh():
    tf.config.clear_cache()


def compiled(step, times):
    """How many programs and kernels were compiled for `step(0) … step(times - 1)`."""
    for i in range(times):
        step(i)
    info = tf.config.cache_info()
    return info["programs"] + info["kernels"]


def test_what_nobody_holds_is_not_computed():
    x = tf.constant([1.0, 2.0])
    tf.exp(x)
    y = tf.sin(x)
    trace = engine.local.trace
    program, _ = slice_trace(trace, [y.node.index])
    assert [key[0].type for key in program.keys] == ["Sin"]
    verify(program)
    assert "Sin" in str(program)
    np.testing.assert_allclose(y.numpy(), np.sin([1.0, 2.0]), rtol=1e-6)


def test_nothing_pending_that_is_held_compiles_nothing():
    tf.exp(tf.constant([1.0, 2.0]))
    engine.flush()
    assert tf.config.cache_info()["programs"] == 0


def test_equal_numbers_of_a_line_are_one_parameter_until_they_differ(monkeypatch):
    ran = []
    execute = execution.execute
    monkeypatch.setattr(execution, "execute", lambda program, *rest: ran.append(program) or execute(program, *rest))

    def step(rates, last=2.0):
        y = tf.constant([1.0, 2.0])
        for rate in rates:
            y = y * rate
        expected = np.float32([1.0, 2.0]) * np.prod(np.float32(rates)) - np.float32(last)
        np.testing.assert_allclose((y - last).numpy(), expected, rtol=1e-6)
        return ran[-1]

    together = step([3.0, 3.0, 3.0])
    assert len(together.parameters) == 3  # y, the rates, what another line subtracts
    assert step([2.0, 2.0, 2.0]) is together
    apart = step([2.0, 3.0, 2.0])
    assert len(apart.parameters) == 5
    assert {step(rates) for rates in ([3.0, 3.0, 3.0], [2.0, 2.0, 1.0], [1.0, 2.0, 3.0])} == {apart}


@pytest.mark.parametrize(
    "step",
    [
        lambda i: (tf.constant([1.0, 2.0]) * float(i)).numpy(),
        lambda i: (tf.constant([1.0, 2.0]) + i).numpy(),
        lambda i: (tf.constant([1, 2]) - i).numpy(),
        lambda i: tf.fill([3], float(i)).numpy(),
        lambda i: tf.constant(np.arange(100.0))[i : i + 10].numpy(),
        lambda i: tf.constant(np.arange(100.0))[i].numpy(),
        lambda i: tf.slice(tf.constant(np.arange(100.0)), [i], [5]).numpy(),
        lambda i: tf.gather(tf.constant(np.arange(100.0)), i).numpy(),
        lambda i: tf.roll(tf.constant(np.arange(10.0)), i, 0).numpy(),
        lambda i: tf.clip_by_value(tf.constant(np.arange(10.0)), 0.0, 1.0 + i).numpy(),
        lambda i: tf.random.normal([3]).numpy(),
        lambda i: tf.random.stateless_uniform([3], seed=[i, 1]).numpy(),
        lambda i: tf.nn.dropout(tf.constant(np.ones(10, np.float32)), rate=0.1 + 0.01 * i).numpy(),
    ],
    ids="times plus int_minus fill slice index tf.slice gather roll clip normal stateless dropout".split(),
)
def test_numbers_and_offsets_are_no_part_of_the_program(step):
    first = compiled(step, 2)
    assert compiled(step, 12) == first


def test_a_value_whose_tensor_was_dropped_is_freed():
    x = tf.Variable(np.ones(1000, np.float32))
    alive = []
    for _ in range(5):
        y = tf.exp(x)
        y.numpy()
        alive.append(weakref.ref(y))
        x.assign(y * 0.1)
    x.numpy()
    del y
    gc.collect()
    assert [a() for a in alive] == [None] * 5


def test_a_long_loop_of_assignments_keeps_no_past():
    x = tf.Variable(1.0)
    for _ in range(500):
        x.assign(x * 0.99 + 0.01)
    x.numpy()
    node = x._tensor.node
    assert node.inputs is None
    assert node.trace is None


def test_tiers_give_the_same_numbers():
    def step():
        x = tf.Variable(np.linspace(0.1, 1.0, 7))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.sin(x) * tf.exp(x) / (1.0 + x))
        return tape.gradient(y, x).numpy()

    first, second = step(), step()
    tf.config.run_eagerly(True)
    try:
        eager = step()
    finally:
        tf.config.run_eagerly(False)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, eager, rtol=1e-12)


def test_a_long_unrolled_chain_is_neither_recursive_nor_slow_to_find_again():
    x = tf.constant(0.5)

    def chain():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(1500):  # more than Python's limit of recursion
                y = tf.sin(y)
        return tape.gradient(y, x).numpy()

    assert chain() == chain()
    programs = tf.config.cache_info()["programs"]
    chain()
    assert tf.config.cache_info()["programs"] == programs


def test_residuals_leave_the_program_when_a_value_is_read_under_a_tape():
    w = [tf.Variable(np.full((100, 100), 0.01 * (i + 1), np.float32)) for i in range(3)]
    with tf.GradientTape() as tape:
        h = tf.constant(np.ones((100, 100), np.float32))
        for v in w:
            h = tf.tanh(h @ v)
        loss = tf.reduce_mean(h)
        nodes = list(engine.local.trace.nodes)
        float(loss)
    kept = [n.op.type for n in nodes if n.value is not None]
    assert kept.count("Tanh") == 3
    assert "MatMul" not in kept
    assert all(g is not None for g in tape.gradient(loss, w))


def test_one_program_gives_whatever_some_runs_wanted(compiled_early):
    """After two programs of the same ops one is made that gives the results of all: not each choice of them has its own."""

    def run(wanted):
        x = tf.constant([1.0, 2.0])
        results = {"a": tf.sin(x), "b": tf.cos(x), "c": tf.exp(x), "d": tf.tanh(x)}
        held = [results[name] for name in wanted]
        results.clear()
        return [result.numpy() for result in held]

    for wanted in "abcd":
        run(wanted)
    programs = tf.config.cache_info()["programs"]
    for wanted in ("ab", "bc", "cd", "abcd"):
        run(wanted)
    assert tf.config.cache_info()["programs"] == programs


def test_cache_is_bounded():
    bound = execution.programs.bound
    execution.programs.bound = 5
    try:
        for i in range(12):
            tf.reshape(tf.constant(np.arange(float(i + 1))), [-1, 1]).numpy()
        assert tf.config.cache_info()["programs_held"] <= 5
    finally:
        execution.programs.bound = bound


def test_a_check_in_mid_step_runs_only_what_it_looks_at():
    labels = tf.constant(np.array([[0, 1], [2, 1]]))
    x = tf.Variable(np.ones((2, 3), np.float32))
    with tf.GradientTape() as tape:
        logits = tf.tanh(x * 2.0)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[1], logits=logits)
    assert logits.node.value is None  # the forward pass pends still
    grad = tape.gradient(losses, x)
    assert tape._segments == []
    expected = np.full((2, 3), 1 / 3) - np.eye(3)[[2, 1]]
    np.testing.assert_allclose(grad.numpy(), expected * 2 * (1 - np.tanh(2.0) ** 2), rtol=1e-4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="label value of 5"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[1] + 3, logits=logits)
