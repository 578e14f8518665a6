"""Comparisons, logic, tests of floats, and operations on bits."""

import numpy as np

from gradtape._src.core.base.errors import DtypeError, DtypeInFunctionError
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.engine.engine import tracing
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.shapes import BOOL, FLOATING, INTEGER, REAL, broadcast, compare, only, predicate, same, spoken

# ---------------------------------------------------------------------------------------------------------------------
# Comparisons


def _equality(x, y, incompatible_shape_error):
    if not incompatible_shape_error and not _compatible(x.shape, y.shape):
        return aval((), BOOL)
    return compare(x, y)


def _compatible(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


@op(
    "Equal", infer=_equality, broadcasting=True, strings=True, flops=1,
    instead="try a soft comparison, tf.exp(-(x - y) ** 2)", folds=True,
)  # fmt: skip
def _equal(x, y, *, incompatible_shape_error=True):
    return x == y if _compatible(x.shape, y.shape) else np.zeros((), bool)


@op(
    "NotEqual", infer=_equality, broadcasting=True, strings=True, flops=1,
    instead="try a soft comparison, 1 - tf.exp(-(x - y) ** 2)", folds=True,
)  # fmt: skip
def _not_equal(x, y, *, incompatible_shape_error=True):
    return x != y if _compatible(x.shape, y.shape) else np.ones((), bool)


EQUAL, NOT_EQUAL = _equal.op, _not_equal.op


@public
def equal(x, y, name=None) -> Tensor:
    """Return `x == y`, element-wise, with broadcasting. Any dtype.

    >>> tf.equal([1, 2], [1, 3]).numpy()
    array([ True, False])
    """
    return _equal(x, y)


@public
def not_equal(x, y, name=None) -> Tensor:
    """Return `x != y`, element-wise, with broadcasting. Any dtype.

    >>> tf.not_equal([1, 2], [1, 3]).numpy()
    array([False,  True])
    """
    return _not_equal(x, y)


def equal_or_false(x, y):
    """Return `x == y`; a scalar False if the shapes cannot be broadcast."""
    return _equal(x, y, incompatible_shape_error=False)


def not_equal_or_true(x, y):
    """Return `x != y`; a scalar True if the shapes cannot be broadcast."""
    return _not_equal(x, y, incompatible_shape_error=False)


# The explainer's advice for replacing a comparison.
ABOVE, BELOW = "try a soft step, tf.sigmoid(x - y)", "try a soft step, tf.sigmoid(y - x)"


@op("Less", infer=only(REAL, compare), broadcasting=True, flops=1, instead=BELOW, folds=True)
def less(x, y):
    """Return `x < y`, element-wise, with broadcasting. Real dtypes.

    >>> tf.less([1.0, 2.0], 2.0).numpy()
    array([ True, False])
    """
    return x < y


@op("LessEqual", infer=only(REAL, compare), broadcasting=True, flops=1, instead=BELOW, folds=True)
def less_equal(x, y):
    """Return `x <= y`, element-wise, with broadcasting. Real dtypes.

    >>> tf.less_equal([1.0, 2.0, 3.0], 2.0).numpy()
    array([ True,  True, False])
    """
    return x <= y


@op("Greater", infer=only(REAL, compare), broadcasting=True, flops=1, instead=ABOVE, folds=True)
def greater(x, y):
    """Return `x > y`, element-wise, with broadcasting. Real dtypes.

    >>> tf.greater([1.0, 2.0], 1.0).numpy()
    array([False,  True])
    """
    return x > y


@op("GreaterEqual", infer=only(REAL, compare), broadcasting=True, flops=1, instead=ABOVE, folds=True)
def greater_equal(x, y):
    """Return `x >= y`, element-wise, with broadcasting. Real dtypes.

    >>> tf.greater_equal([1.0, 2.0], 2.0).numpy()
    array([False,  True])
    """
    return x >= y


not_differentiable(
    _equal, _not_equal, less, less_equal, greater, greater_equal,
    because="a comparison gives a bool, and a derivative would be 0 nearly everywhere",
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# Tests of floats


@op("IsNan", infer=only(FLOATING, predicate), flops=0)
def is_nan(x):
    """Return whether each element is NaN. Float.

    >>> tf.math.is_nan([1.0, float("inf"), float("nan")]).numpy()
    array([False, False,  True])
    """
    return jnp.isnan(x)


@op("IsInf", infer=only(FLOATING, predicate), flops=0)
def is_inf(x):
    """Return whether each element is infinite. Float.

    >>> tf.math.is_inf([1.0, float("inf"), float("nan")]).numpy()
    array([False,  True, False])
    """
    return jnp.isinf(x)


@op("IsFinite", infer=only(FLOATING, predicate), flops=0)
def is_finite(x):
    """Return whether each element is neither infinite nor NaN. Float.

    >>> tf.math.is_finite([1.0, float("inf"), float("nan")]).numpy()
    array([ True, False, False])
    """
    return jnp.isfinite(x)


not_differentiable(is_nan, is_inf, is_finite, because="the result is a bool", unregistered=True)

# ---------------------------------------------------------------------------------------------------------------------
# Logic


def _truth(type, rule):
    """Wrap the aval rule `rule` so that it requires bool inputs."""

    def infer(x, *others):
        if x.dtype is not BOOL:
            raise (DtypeInFunctionError if tracing() else DtypeError)(
                None,
                None,
                f"cannot compute {type} as input #0(zero-based) was expected to be a bool tensor but is a "
                f"{spoken(x.type.name)} tensor (compare it with something, or use tf.cast)",
            )
        return rule(x, *others)

    return infer


@op("LogicalAnd", infer=_truth("LogicalAnd", broadcast), broadcasting=True, folds=True)
def logical_and(x, y):
    """Return `x and y`, element-wise, with broadcasting. bool.

    >>> tf.logical_and([True, True], [True, False]).numpy()
    array([ True, False])
    """
    return x & y


@op("LogicalOr", infer=_truth("LogicalOr", broadcast), broadcasting=True, folds=True)
def logical_or(x, y):
    """Return `x or y`, element-wise, with broadcasting. bool.

    >>> tf.logical_or([False, True], [False, False]).numpy()
    array([False,  True])
    """
    return x | y


@op("LogicalNot", infer=_truth("LogicalNot", same), folds=True)
def logical_not(x):
    """Return `not x`, element-wise. bool.

    >>> tf.logical_not([True, False]).numpy()
    array([False,  True])
    """
    return ~x


@public
def logical_xor(x, y, name="LogicalXor") -> Tensor:
    """Return whether one of `x` and `y` holds and not the other, element-wise, with broadcasting. bool.

    >>> tf.math.logical_xor([True, True], [True, False]).numpy()
    array([False,  True])
    """
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)))


# ---------------------------------------------------------------------------------------------------------------------
# Bits


@op("BitwiseAnd", infer=only(INTEGER, broadcast), broadcasting=True)
def bitwise_and(x, y):
    """Return the bits that are set in both `x` and `y`, element-wise, with broadcasting. Integer dtypes.

    >>> tf.bitwise.bitwise_and([6, 5], [3, 4]).numpy()
    array([2, 4], dtype=int32)
    """
    return x & y


@op("BitwiseOr", infer=only(INTEGER, broadcast), broadcasting=True)
def bitwise_or(x, y):
    """Return the bits that are set in `x` or in `y`, element-wise, with broadcasting. Integer dtypes.

    >>> tf.bitwise.bitwise_or([6, 5], [3, 4]).numpy()
    array([7, 5], dtype=int32)
    """
    return x | y


@op("BitwiseXor", infer=only(INTEGER, broadcast), broadcasting=True)
def bitwise_xor(x, y):
    """Return the bits that are set in one of `x` and `y` only, element-wise, with broadcasting. Integer dtypes.

    >>> tf.bitwise.bitwise_xor([6, 5], [3, 4]).numpy()
    array([5, 1], dtype=int32)
    """
    return x ^ y


@op("Invert", infer=only(INTEGER, same))
def invert(x):
    """Flip every bit, element-wise. Integer dtypes.

    >>> tf.bitwise.invert([0, 5]).numpy()
    array([-1, -6], dtype=int32)
    """
    return ~x


def _distance(x, y):
    """Return the distance of a shift of `x`: `y` clipped to [0, bits of x), beyond which processors disagree."""
    return jnp.clip(y, 0, 8 * x.dtype.itemsize - 1)


@op("LeftShift", infer=only(INTEGER, broadcast), broadcasting=True)
def left_shift(x, y):
    """Return `x` shifted left by `y` bits, within the width of the dtype, element-wise, with broadcasting. Integers.

    >>> tf.bitwise.left_shift([1, 3], [2, 1]).numpy()
    array([4, 6], dtype=int32)
    """
    return jnp.left_shift(x, _distance(x, y))


@op("RightShift", infer=only(INTEGER, broadcast), broadcasting=True)
def right_shift(x, y):
    """Return `x` shifted right by `y` bits, with the sign preserved, element-wise, with broadcasting. Integers.

    >>> tf.bitwise.right_shift([4, 6], [2, 1]).numpy()
    array([1, 3], dtype=int32)
    """
    return jnp.right_shift(x, _distance(x, y))


not_differentiable(
    logical_and, logical_or, logical_not, bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift,
    because="it works on bools or integers, which have no gradient",
)  # fmt: skip
