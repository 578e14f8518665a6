"""Every op that holds Programs says so itself: explanations open it, the profile counts it, sessions and the host run it."""

import inspect

import numpy as np
import pytest

import gradtape as tf
import gradtape.compat.v1 as tf1
from gradtape import profiler
from gradtape._src.core.engine import execution, tracing
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.program import leaf
from gradtape._src.core.programs.structured import GRADIENT, VALUE, StructuredOp
from gradtape._src.core.tensors.tensor import EagerTensor

STRUCTURED = sorted(name for name, op in ops.items() if isinstance(op, StructuredOp))
X = np.array([0.5, 1.5, 1.0], np.float32)


def smooth(x):
    return tf.exp(x) * 0.5


def broken(x):
    return tf.exp(tf.round(x))


BREAK = inspect.getsourcelines(broken)[1] + 1


def called(inside):
    def call(x):
        if not isinstance(x, EagerTensor) or x.node.aval.open:
            return inside(x)
        with tracing.inner() as inner:
            parameter = leaf(x.node.aval, None)
            program = tracing.close(inner, [inside(EagerTensor(parameter)).node], [parameter])
        return EagerTensor(tracing.call(execution.intern(program), (x.node,))[0])

    return call


def custom(inside):
    @tf.custom_gradient
    def doubled(x):
        return inside(x), lambda dy: 2.0 * dy * inside(x)

    return tf.function(doubled)


def repeated(inside):
    return tf.function(lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + inside(x)), (0, tf.zeros_like(x)))[1])


def with_cotangents(inside):
    """Both a function and the gradient of one to what it uses: Σ wᵢ inside(w)ᵢ."""

    def call(x):
        factor = tf.ones([])
        with tf.GradientTape() as tape:
            tape.watch(factor)
            y = tf.autodiff.eigenvalue_sum(lambda w: factor * inside(w), tf.linalg.diag(x))
        return tape.gradient(y, factor) + 0.0 * x

    return call


# For each op a function of `inside` that makes one of `x`, which records the op with a Program that `inside` is in.
SAMPLES = {
    "Case": lambda inside: tf.function(lambda x: tf.switch_case(tf.size(x) - 2, [lambda: tf.zeros_like(x), lambda: inside(x)])),
    "CustomGradientProgram": custom,
    "If": lambda inside: tf.function(lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: inside(x), lambda: tf.zeros_like(x))),
    "ImplicitSolution": lambda inside: lambda x: tf.autodiff.root(lambda z: z - 0.1 * inside(z) - x, x),
    "LinearSolve": lambda inside: lambda x: tf.autodiff.linear_solve(lambda v: v * (2.0 + tf.square(inside(x))), x),
    "OdeStep": lambda inside: lambda x: tf.autodiff.odeint(lambda t, y: inside(y), x, [0.0, 0.1])[-1],
    "PartitionedCall": called,
    "Recomputed": lambda inside: tf.autodiff.recompute_grad(inside, policy="everything"),
    "Scan": lambda inside: tf.function(lambda x: tf.scan(lambda total, row: total + inside(row), x, 0.0)),
    "SpectralCotangents": with_cotangents,
    "SpectralDerivative": lambda inside: (
        lambda x: tf.linalg.diag_part(tf.autodiff.eigenvalue_function(inside, tf.linalg.diag(x)))
    ),
    "StatefulPartitionedCall": tf.function,
    "VectorizedCall": lambda inside: lambda x: tf.vectorized_map(inside, x),
    "While": repeated,
}

SOLVERS = ["ImplicitSolution", "LinearSolve", "OdeStep"]


def holding(type):
    """A Program that was made and holds an op of this type, with the index of its node."""
    waiting = list(execution.programs.values())[::-1]
    for program in waiting:
        for index, (op, attrs, *_) in enumerate(program.keys):
            if op.type == type:
                return program, index
            waiting.extend(op.programs(attrs))
    raise AssertionError(f"no Program holds {type}")


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=5e-6, atol=1e-6)


def value_of(aval, length):
    if aval.dtype.kind == "f":
        return np.linspace(0.5, 1.5, aval.size, dtype=aval.dtype).reshape(aval.shape)
    return np.full(aval.shape, length if aval.dtype.kind == "i" else 1, aval.dtype)


def test_each_op_that_may_hold_a_program_is_structured_and_has_a_sample():
    holds = [name for name, op in ops.items() if "Program" in str(inspect.signature(op.kernel))]
    assert set(holds) <= set(STRUCTURED)
    assert set(SAMPLES) == set(STRUCTURED)


@pytest.mark.parametrize("type", STRUCTURED)
def test_its_meaning_in_python_is_its_kernel(type):
    tf.function(lambda x: SAMPLES[type](smooth)(x))(tf.constant(X))
    program, index = holding(type)
    op, attrs, *references = program.keys[index]
    attrs = op.form(*attrs)
    inputs = [value_of(program.aval_of(r), getattr(attrs, "length", 1)) for r in references]
    with xla.wide():
        expected = op.run(inputs, attrs)
    results = op.interpret(execution.ON_HOST, attrs, inputs)
    assert len(results) == len(expected) == len(program.avals[index])
    for result, wanted, aval in zip(results, expected, program.avals[index], strict=True):
        close(result, wanted)
        assert (np.shape(result), np.asarray(result).dtype) == (aval.shape, aval.dtype)


@pytest.mark.parametrize("type", STRUCTURED)
def test_its_bodies_say_where_their_values_come_from(type):
    tf.function(lambda x: SAMPLES[type](smooth)(x))(tf.constant(X))
    program, index = holding(type)
    op, attrs, *references = program.keys[index]
    for body in op.bodies(attrs):
        for position, taken in enumerate(body.takes):
            given, own = program.aval_of(references[taken]), body.program.parameters[position]
            assert own.shape == (given.shape[1:] if position in body.rows else given.shape)
        assert len(body.takes) + len(body.program.constants) == len(body.program.parameters)


@pytest.mark.parametrize("type", [name for name in STRUCTURED if ops[name].kind not in (GRADIENT, VALUE)])
def test_a_break_in_it_is_explained_by_its_line(type):
    x = tf.Variable(X)
    with tf.GradientTape() as tape:
        y = SAMPLES[type](broken)(x * 1.0)
    diagnosis = tf.autodiff.explain(y, x, tape)
    assert (diagnosis.code, diagnosis.line, diagnosis.op) == ("not_differentiable", BREAK, "Round")


@pytest.mark.parametrize("type", STRUCTURED)
def test_the_profile_counts_what_is_in_it(type):
    cost = profiler.profile(SAMPLES[type](smooth), tf.constant(X))
    times = {"While": 3, "ImplicitSolution": 10, "LinearSolve": 3, "OdeStep": 14}.get(type, 1)  # solvers have products and steps
    assert cost.forward.by_op["Exp"]["flops"] == pytest.approx(
        times * profiler.profile(smooth, tf.constant(X)).forward.by_op["Exp"]["flops"]
    )


@pytest.mark.parametrize("type", SOLVERS)
def test_a_solver_in_a_graph_asks_for_known_extents(type):
    with tf1.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="state the shape"):
        SAMPLES[type](smooth)(tf1.placeholder(tf.float32, [None]))


@pytest.mark.parametrize("type", sorted({*STRUCTURED} - {*SOLVERS}))
def test_a_session_runs_it_where_shapes_depend_on_values(type):
    expected = SAMPLES[type](smooth)(tf.constant(X))
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None])
        y = SAMPLES[type](smooth)(tf1.boolean_mask(x, x > 0.0))
        gradient = tf1.gradients(y, x)
        got, slope = session.run([y, gradient[0]], {x: [*X, -1.0]})
    close(got, expected)
    with tf.GradientTape() as tape:
        source = tf.Variable(X)
        target = SAMPLES[type](smooth)(source * 1.0)
    close(slope[:3], tape.gradient(target, source))
    assert slope[3] == 0.0
