"""Gradients of the functions of `keras.ops.numpy`, against `jax.grad` of JAX's functions of the same names.

Many rows share one program on each side: a chunk's rows are summed, each with weights, and differentiated together.
"""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape.keras import ops
from tests.keras.gradients import numbers, weighted

CHUNK = 20  # rows in one program


def positive(*shape, seed=0):
    return numbers(*shape, low=0.3, high=3.0, seed=seed)


def inside(*shape, seed=0):
    """Numbers within (-1, 1)."""
    return numbers(*shape, low=-0.9, high=0.9, seed=seed)


def with_nan(*shape, seed=0):
    x = numbers(*shape, seed=seed)
    x.flat[:: x.size // 3] = np.nan
    return x


def turned(x):
    """Complex numbers on a line."""
    return tf.complex(x, 2.0 * x) if isinstance(x, tf.Tensor) else jax.lax.complex(x, 2.0 * x)


def quotient_or_zero(x, y):
    return jnp.where(y == 0, 0.0, x / jnp.where(y == 0, 1.0, y))


@dataclass
class Row:
    """A call: the function's name, the arrays to differentiate by, and what else it takes."""

    name: str
    arrays: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    listed: bool = False  # it takes one list of tensors
    call: Any = None  # (function, *arrays) → result, where it is no plain call
    oracle: Any = None  # in place of JAX's function of the name
    tolerance: float = 1e-9  # the inputs are float64

    def result(self, function, arrays):
        if self.call is not None:
            return self.call(function, *arrays)
        return function(list(arrays), **self.options) if self.listed else function(*arrays, **self.options)

    def ours(self, tensors):
        return self.result(getattr(ops, self.name), tensors)

    def expected(self, arrays):
        return self.result(self.oracle or getattr(jnp, self.name), arrays)


def row(name, *arrays, listed=False, call=None, oracle=None, tolerance=1e-9, **options):
    return Row(name, arrays, options, listed, call, oracle, tolerance)


x, y, v = numbers(2, 3), numbers(2, 3, seed=1), numbers(4)

ELEMENTWISE = [
    *[row(name, x) for name in "absolute abs fabs negative square sign real conj conjugate copy array".split()],
    *[row(name, positive(2, 3), call=lambda f, x: f(turned(x))) for name in "absolute real imag angle".split()],
    *[row(name, x) for name in "arcsinh arctan cos cosh deg2rad exp exp2 expm1 rad2deg".split()],
    *[row(name, x) for name in "reciprocal sin sinc sinh tan tanh".split()],
    *[row(name, inside(2, 3)) for name in "arccos arcsin arctanh".split()],
    *[row(name, positive(2, 3)) for name in "cbrt log log10 log1p log2 sqrt".split()],
    row("cbrt", np.array([-8.0, 0.0])),
    row("arccosh", 1.0 + positive(3)),
    row("i0", x),
    row("sinc", np.zeros(2)),
    row("nan_to_num", np.array([1.0, np.nan, -2.0])),
]
BINARY = [
    *[row(name, x, y) for name in "add subtract multiply divide true_divide hypot arctan2 logaddexp logaddexp2".split()],
    *[row(name, x, numbers(3, seed=2)) for name in "maximum minimum fmax fmin mod fmod".split()],
    row("add", x, call=lambda f, x: f(2, x)),
    row("subtract", x, call=lambda f, x: f(2, x)),
    row("multiply", numbers(2, 1), numbers(3)),
    row("divide", x, call=lambda f, x: f(x, 3)),
    row("power", positive(2, 3), y),
    row("power", x, call=lambda f, x: f(x, 3)),
    row("power", y, call=lambda f, y: f(2.0, y)),
    row("divide_no_nan", x, np.array([2.0, 0.0, -1.5]), oracle=quotient_or_zero),
    row("logaddexp", np.array([0.5, -np.inf]), np.array([0.5, 1.0])),
    row("hypot", np.array([0.0, -3.0]), np.array([2.0, 0.0])),
    row("ldexp", x, call=lambda f, x: f(x, np.array([1, -2, 3], "int32"))),
    row("fmax", with_nan(3), numbers(3, seed=3)),
    row("fmin", numbers(3, seed=3), with_nan(3)),
    row("nextafter", x, call=lambda f, x: f(x, 9.0), oracle=lambda x, there: x),
    row("heaviside", numbers(3), call=lambda f, x: f(np.array([-1.0, 0.0, 2.0]), x)),
    row("clip", x, call=lambda f, x: f(x, -1.0, 1.0)),
]
PRODUCTS = [
    *[row(name, v, numbers(4, seed=1)) for name in "dot inner vdot outer matmul correlate kron".split()],
    row("matmul", x, y.T.copy()),
    row("matmul", numbers(2, 2, 3), numbers(3, 2)),
    row("matmul", numbers(2, 1, 2, 3), numbers(4, 3, 2)),
    row("matmul", v, numbers(2, 4, 3)),
    row("matmul", numbers(2, 3, 4), v),
    row("dot", numbers(2, 3), numbers(2, 3, 2)),
    row("dot", np.array(1.5), v),
    row("inner", x, numbers(4, 3)),
    row("tensordot", numbers(2, 3, 4), numbers(3, 4, 2), axes=2),
    row("tensordot", numbers(2, 3, 4), numbers(4, 2, 3), axes=((0, 1), (1, 2))),
    row("kron", x, numbers(2)),
    row("cross", numbers(2, 3), numbers(3)),
    row("cross", numbers(3, 4), numbers(3, 4, seed=1), axis=0),
    row("einsum", x, y, call=lambda f, x, y: f("ij,kj->ik", x, y)),
    row("einsum", numbers(2, 3, 3), call=lambda f, x: f("...ii->...i", x)),
    row("diag", v, k=1),
    row("diag", numbers(3, 4), k=-1),
    row("diagflat", x, k=-2),
    row("diagonal", numbers(2, 3, 4), offset=1, axis1=2, axis2=0),
    row("trace", numbers(3, 4), offset=1),
    row("slogdet", numbers(3, 3), call=lambda f, x: f(x)[1], oracle=jnp.linalg.slogdet),
    row("corrcoef", numbers(3, 5)),
    row("correlate", numbers(5), numbers(3), mode="same"),
    row("correlate", numbers(3), numbers(5), mode="full"),
    row("vectorize", x, numbers(3), call=lambda f, x, y: f(lambda a, b: a * b * b)(x, y)),
]
SHAPES = [
    row("reshape", x, call=lambda f, x: f(x, (3, -1))),
    row("ravel", x),
    row("broadcast_to", numbers(3), shape=(2, 3)),
    row("expand_dims", x, axis=(0, 2)),
    row("squeeze", numbers(2, 1, 3), axis=1),
    row("transpose", numbers(2, 3, 4), axes=(2, 0, 1)),
    row("swapaxes", numbers(2, 3, 4), axis1=0, axis2=-1),
    row("moveaxis", numbers(2, 3, 4), source=(0, 1), destination=(-1, 0)),
    row("flip", x, axis=1),
    row("fliplr", x),
    row("flipud", x),
    row("roll", x, shift=2),
    row("roll", x, shift=(1, 2), axis=(0, 1)),
    *[row("rot90", numbers(2, 3, 4), k=k, axes=(1, 2)) for k in (1, 2, 3)],
    *[row(name, x, y, listed=True) for name in "concatenate stack hstack vstack dstack".split()],
    row("append", x, y, axis=1),
    row("split", numbers(4, 3), call=lambda f, x: f(x, 2)[1]),
    row("split", numbers(4, 3), call=lambda f, x: f(x, [1, 3])),
    row("array_split", numbers(5), call=lambda f, x: f(x, 2)),
    row("hsplit", numbers(2, 4), call=lambda f, x: f(x, 2)[0]),
    row("vsplit", numbers(4, 2), call=lambda f, x: f(x, 2)[0]),
    row("dsplit", numbers(2, 2, 4), call=lambda f, x: f(x, 2)[0]),
    row("repeat", x, repeats=2, axis=1),
    row("repeat", x, repeats=np.array([1, 3]), axis=0),
    row("tile", x, repeats=(2, 1, 2), oracle=lambda x, repeats: jnp.tile(x, repeats)),
    row("pad", x, pad_width=((1, 0), (2, 1)), constant_values=2.0),
    *[row("pad", numbers(3, 3), pad_width=((1, 2), (0, 1)), mode=mode) for mode in "reflect symmetric edge wrap".split()],
    row("tril", numbers(2, 3, 4), k=1),
    row("triu", numbers(3, 4), k=-1),
]
REDUCTIONS = [
    *[row(name, x) for name in "sum prod mean average max min amax amin ptp var std cumsum cumprod".split()],
    *[row(name, numbers(2, 3, 2), axis=1) for name in "sum prod mean average max min ptp var std cumsum cumprod".split()],
    *[row(name, numbers(2, 3, 2), axis=(0, 2), keepdims=True) for name in "sum mean max var std".split()],
    row("prod", np.array([2.0, 0.0, 3.0])),
    row("max", x, initial=0.5),
    row("average", x, positive(2, 3), call=lambda f, x, w: f(x, 1, w)),
    row("average", x, positive(3), call=lambda f, x, w: f(x, -1, w)),
    row("diff", numbers(2, 5), n=2),
    row("trapezoid", numbers(2, 4), positive(4)),
    row("trapezoid", numbers(2, 4), dx=0.5, axis=0),
]
STATISTICS = [
    *[row(name, numbers(3, 4)) for name in "median nanmedian nansum nanmean nanvar nanstd nanmax nanmin".split()],
    *[row(name, with_nan(3, 4), axis=1) for name in "nansum nanmean nanvar nanstd nanmax nanmin nanprod nanmedian".split()],
    *[row(name, with_nan(6)) for name in "nancumsum nancumprod".split()],
    row("median", numbers(2, 3, 5), axis=(0, 2), keepdims=True),
    row("quantile", numbers(2, 5), call=lambda f, x: f(x, np.array([0.3, 0.8]), 1)),
    *[row("quantile", numbers(5), q=0.4, method=method) for method in "lower higher midpoint nearest".split()],
    row("percentile", numbers(2, 5), call=lambda f, x: f(x, np.array([30.0, 80.0]))),
    row("nanquantile", with_nan(3, 4), call=lambda f, x: f(x, np.array([0.3, 0.8]), 0)),
    row("nanpercentile", with_nan(3, 4), call=lambda f, x: f(x, 30.0, 0)),
    row("histogram", numbers(6), call=lambda f, x: f(x, bins=3)[1]),
]
SELECTION = [
    row("where", x, y, call=lambda f, x, y: f(np.array([[True, False, True]]), x, y)),
    row("select", x, y, call=lambda f, x, y: f([np.array([True, False, True]), np.array([True, True, False])], [x, y])),
    row("take", x, call=lambda f, x: f(x, np.array([1, 0, -1, 1]), axis=1)),
    row("take", x, call=lambda f, x: f(x, np.array([[5, 0], [1, 1]]))),
    row("take", x, call=lambda f, x: f(x, np.array([1, 1, 0]), axis=0)),
    row("take_along_axis", x, call=lambda f, x: f(x, np.array([[2, 0, -1, 2], [1, 1, 0, 2]]), axis=1)),
    row("take_along_axis", x, call=lambda f, x: f(x, np.array([[1, 0, 0]]), axis=0)),
    row("unique", x, oracle=lambda x: jnp.sort(x, None)),
    row("sort", x),
    row("sort", x, axis=0),
]
CREATION = [
    row("full", np.array(1.5), call=lambda f, c: f((2, 3), c, dtype="float64")),
    row("full_like", np.array(1.5), call=lambda f, c: f(np.zeros((2, 3)), c)),
    row("linspace", np.array(1.5), numbers(2), num=5),
    row("linspace", numbers(2), numbers(2, seed=1), num=4, endpoint=False, axis=-1),
    row("logspace", np.array(0.5), np.array(2.0), num=4),
    row("geomspace", np.array(0.5), np.array(2.0), num=4),
    row("meshgrid", numbers(2), numbers(3), indexing="ij"),
    row("vander", numbers(3), N=4),
    row("kaiser", np.array(2.5), call=lambda f, beta: f(5, beta), tolerance=1e-6),  # in floatx
]
ROWS = ELEMENTWISE + BINARY + PRODUCTS + SHAPES + REDUCTIONS + STATISTICS + SELECTION + CREATION

# Functions without a derivative, on TensorFlow's backend, too.
CONSTANT = """
    arange bartlett blackman empty empty_like eye hamming hanning identity ndim ones ones_like size tri zeros zeros_like
"""
INTEGERS_AND_BOOLS = """
    all allclose any argmax argmin argpartition argsort bincount bitwise_and bitwise_invert bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor count_nonzero digitize equal gcd greater greater_equal isclose isfinite isin isinf
    isnan isneginf isposinf isreal lcm left_shift less less_equal logical_and logical_not logical_or logical_xor nanargmax
    nanargmin nonzero not_equal right_shift searchsorted signbit unravel_index
"""
STEPS = "ceil floor floor_divide round trunc view"
"""Piecewise constant, or bits."""


def chunks():
    return [ROWS[i : i + CHUNK] for i in range(0, len(ROWS), CHUNK)]


@pytest.mark.parametrize("number", range(len(chunks())))
def test_gradients_are_those_of_jax(number):
    rows = chunks()[number]
    inputs = [[tf.constant(np.asarray(array, np.float64)) for array in r.arrays] for r in rows]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        total = tf.add_n([tf.cast(weighted(r.ours(xs), tf.reduce_sum), tf.float64) for r, xs in zip(rows, inputs, strict=True)])
    found = tape.gradient(total, inputs, unconnected_gradients=tf.UnconnectedGradients.NONE)

    def expected_total(arrays):
        return sum(weighted(r.expected(a), jnp.sum) for r, a in zip(rows, arrays, strict=True))

    expected = jax.jit(jax.grad(expected_total))([[jnp.asarray(a, jnp.float64) for a in r.arrays] for r in rows])
    wrong = []
    for r, mine, theirs in zip(rows, found, expected, strict=True):
        for position, (dx, reference) in enumerate(zip(mine, theirs, strict=True)):
            if dx is None or not np.allclose(tf.convert_to_tensor(dx), reference, r.tolerance, r.tolerance, True):
                wrong.append(f"{r.name} {r.options}, argument {position}: {dx}, expected {reference}")
    assert not wrong, "\n".join(wrong)


def test_every_function_has_a_row_or_no_derivative():
    from keras_gradtape.src.ops import numpy

    without = set(CONSTANT.split() + INTEGERS_AND_BOOLS.split() + STEPS.split())
    rows = {r.name for r in ROWS}
    functions = {name for name in dir(numpy) if callable(getattr(numpy, name)) and not name.startswith("_")}
    assert functions == rows | without


def test_no_function_needs_values():
    """Every row is traced on symbols, and gives the shape and dtype that JAX gives."""
    from keras.src.backend import KerasTensor, compute_output_spec

    wrong = []
    for r in ROWS:
        if r.name == "unique":  # how many there are is known from values
            continue
        arrays = [np.asarray(array, np.float64) for array in r.arrays]
        found = compute_output_spec(lambda *xs, r=r: r.ours(xs), *[KerasTensor(a.shape, "float64") for a in arrays])
        expected = jax.eval_shape(lambda *xs, r=r: r.expected(xs), *arrays)
        for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            if tuple(mine.shape) != theirs.shape or (mine.dtype != theirs.dtype and r.name != "kaiser"):
                wrong.append(f"{r.name} {r.options}: {mine.shape} {mine.dtype}, expected {theirs}")
    assert not wrong, "\n".join(wrong)


def test_a_step_has_no_slope_and_a_ramp_none_at_its_edges():
    x = tf.constant([-1.0, 0.5, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        step, ramp = ops.heaviside(x, 1.0), ops.sparse_sigmoid(x)
    assert tape.gradient(step, x) is None
    assert tape.gradient(ramp, x).numpy().tolist() == [0.0, 0.5, 0.0]
