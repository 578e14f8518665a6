"""`recompute_grad` with a budget of memory: the same gradients, within so many bytes as XLA counts them, or what is possible."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff
from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.core.engine import stages
from gradtape._src.core.platform import memory
from gradtape._src.core.programs.structured import arity
from gradtape._src.derivatives.budget import Chain, within
from tests.derivatives.cases import compiled_of

random = np.random.default_rng(0)
LAYERS, WIDTH = 8, 32
X = random.normal(size=(256, WIDTH))
WEIGHTS = [random.normal(size=(WIDTH, WIDTH)) / 6 for _ in range(LAYERS)]


def chain(x, weights):
    for w in weights:
        x = tf.sin(tf.tanh(x @ w) * 2.0)
    return x


def residual(x, weights):
    scale = tf.reduce_mean(x, 0, keepdims=True)
    for w in weights:
        x = x + tf.tanh(x @ w) * scale
    return x


def looped(x, weights):
    for w in weights:
        y = x @ w
        if tf.reduce_sum(y) > 0.0:
            x = tf.sin(y)
        else:
            x = tf.cos(y)
        for _ in tf.range(2):
            x = tf.tanh(x) * 1.5
    return x


def skipped(x, weights):
    down = []
    for w in weights[: LAYERS // 2]:
        x = tf.tanh(x @ w)
        down.append(x)
    for w in weights[LAYERS // 2 :]:
        x = tf.tanh(x @ w) + down.pop()
    return x


def gradients(f, x, weights):
    with tf.GradientTape() as tape:
        tape.watch([x, *weights])
        loss = tf.reduce_sum(f(x, weights) ** 2)
    return tape.gradient(loss, [x, *weights])


LEAST = 2_000_000


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("f", [chain, residual, looped, skipped])
def test_the_same_gradients(f, traced, dtype):
    x, weights = tf.constant(X, dtype), [tf.constant(w, dtype) for w in WEIGHTS]
    f = tf.function(f) if f is looped else f
    expected = gradients(f, x, weights)
    call = tf.function(gradients) if traced else gradients
    for budget in ("1GB", LEAST):
        found = call(autodiff.recompute_grad(f, memory=budget), x, weights)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, *((1e-9, 1e-9) if dtype == tf.float64 else (1e-3, 1e-2)))


def test_second_order_and_forward_mode():
    x, weights = tf.constant(X[:4]), [tf.constant(w) for w in WEIGHTS]
    v = tf.constant(random.normal(size=x.shape))
    of = [lambda x, f=f: tf.reduce_sum(f(x, weights) ** 2) for f in (chain, autodiff.recompute_grad(chain, memory=150_000))]
    for derivative in (autodiff.hvp, lambda f, x, v: autodiff.jvp(f, x, v)[1], lambda f, x, v: autodiff.jacrev(f, x)):
        np.testing.assert_allclose(derivative(of[1], x, v), derivative(of[0], x, v), 1e-9, 1e-12)


BATCH, LENGTH, HEADS, DEPTH, BLOCKS = 5, 64, 4, 64, 4


def normalized(x):
    x = x - tf.reduce_mean(x, -1, keepdims=True)
    return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-5)


def attention(x, taken, given):
    parts = [tf.reshape(part, [BATCH, LENGTH, HEADS, DEPTH // HEADS]) for part in tf.split(x @ taken, 3, -1)]
    scores = tf.einsum("bqhd,bkhd->bhqk", parts[0], parts[1]) / 4.0
    return tf.reshape(tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), parts[2]), [BATCH, LENGTH, DEPTH]) @ given


def transformer(x, weights):
    for taken, given, up, down in weights:
        x = x + attention(normalized(x), taken, given)
        x = x + tf.nn.gelu(normalized(x) @ up) @ down
    return x


def sizes():
    shapes = [(DEPTH, 3 * DEPTH), (DEPTH, DEPTH), (DEPTH, 4 * DEPTH), (4 * DEPTH, DEPTH)]
    weights = [[tf.constant(random.normal(size=s) / 8, tf.float32) for s in shapes] for _ in range(BLOCKS)]
    return tf.constant(random.normal(size=(BATCH, LENGTH, DEPTH)), tf.float32), weights


def gradient_of(f):
    """The compiled gradient of a transformer to all that it takes, and its Program."""
    program = tf.function(f).get_concrete_function(*sizes()).program
    return compiled_of(vjp_program(program, (0,), tuple(range(arity(program))))[0]), program


def test_what_is_predicted_is_measured():
    plain, program = gradient_of(transformer)
    made = Chain(stages.written_out(program), None)
    for budget in (0.5 * memory.needed(plain), 1.2 * made.least()):
        predicted = made.peak(made.plan(budget))
        measured = memory.needed(gradient_of(autodiff.recompute_grad(transformer, memory=int(budget)))[0])
        assert predicted <= budget
        assert abs(predicted / measured - 1) <= 0.1


@pytest.mark.parametrize("f", [chain, residual, skipped])
def test_the_whole_of_small_networks_is_what_xla_says(f):
    """Their values are element-wise, so XLA fuses more than is estimated for each stage: the whole is measured."""
    x, weights = tf.constant(X, tf.float32), [tf.constant(w, tf.float32) for w in WEIGHTS]

    def needed(f):
        program = tf.function(f).get_concrete_function(x, weights).program
        return memory.needed(compiled_of(vjp_program(program, (0,), tuple(range(arity(program))))[0]))

    plain = needed(f)
    program = tf.function(f).get_concrete_function(x, weights).program
    for budget in (int(0.85 * plain), int(1.1 * plain)):
        assert within(program, budget)[1] == needed(autodiff.recompute_grad(f, memory=budget)) <= budget


def test_the_least_that_is_possible():
    x, weights = tf.constant(X), [tf.constant(w) for w in WEIGHTS]
    with pytest.raises(ValueError, match=r"fit into memory=100 KB: the least possible is about .* KB") as error:
        autodiff.recompute_grad(chain, memory="100KB")(x, weights)
    least = str(error.value).split("about ")[1].split(". ")[0]
    assert gradients(autodiff.recompute_grad(chain, memory=least), x, weights)[0].shape == x.shape


def test_variables_are_read_and_assigned_once():
    calls, w = tf.Variable(0), tf.Variable(WEIGHTS[0])

    @autodiff.recompute_grad
    def by_policy(x):
        calls.assign_add(1)
        return tf.sin(x @ w)

    def by_budget(x):
        calls.assign_add(1)
        return tf.sin(x @ w)

    for f in (by_policy, autodiff.recompute_grad(by_budget, memory="100 MiB")):
        for call in (f, tf.function(f)):
            calls.assign(0)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(call(tf.constant(X)))
            np.testing.assert_allclose(tape.gradient(loss, w), X.T @ np.cos(X @ WEIGHTS[0]), 1e-9)
            assert int(calls) == 1


def test_nothing_to_differentiate():
    f = autodiff.recompute_grad(lambda x, n: (x, n + 1), memory="1KB")
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y, n = f(x * 1.0, tf.constant(1))
    assert int(n) == 2
    np.testing.assert_array_equal(tape.gradient(y, x), [1.0, 1.0])


def test_extents_that_are_open():
    w = tf.Variable(tf.ones([WIDTH, WIDTH]))
    f = autodiff.recompute_grad(lambda x: tf.sin(x @ w) @ w, memory="10MB")

    @tf.function(input_signature=[tf.TensorSpec([None, WIDTH])])
    def gradient(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(f(x))
        return tape.gradient(y, w)

    for rows in (2, 5):
        x = tf.constant(X[:rows], tf.float32)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.sin(x @ w) @ w)
        np.testing.assert_allclose(gradient(x), tape.gradient(y, w), 1e-4, 1e-4)


@pytest.mark.parametrize("size", ["lots", "12", "-1MB", "5 XB", "", -1, 0, True, 1.5, [1], "0.0001B"], ids=repr)
def test_what_is_no_size(size):
    with pytest.raises(ValueError, match="memory must be a number of bytes above 0, or a text such as '512MB'"):
        autodiff.recompute_grad(tf.sin, memory=size)


def test_bad_calls():
    with pytest.raises(ValueError, match="takes a policy or memory=, not both"):
        autodiff.recompute_grad(tf.sin, "nothing", memory="1MB")
    with pytest.raises(ValueError, match="memory= plans from the ops of a function before it runs, and this one looks at values"):
        autodiff.recompute_grad(lambda x: x * x if float(x) > 0 else -x, memory="1MB")(tf.constant(3.0))
