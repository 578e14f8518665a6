"""Element-wise sums, products, quotients and roots, with their gradients."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.engine import engine
from gradtape._src.core.native import twins
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, emit, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import identity, under_broadcast, zeros_as
from gradtape._src.ops.math.compare import greater_equal, less_equal, logical_not
from gradtape._src.ops.math.complex import complex as to_complex, conj, elementwise, real
from gradtape._src.ops.shapes import COMPLEX, FLOATING, INTEGER, NUMERIC, REAL, SIGNED, broadcast, only, plain, same

INEXACT = FLOATING + COMPLEX


def masked(dy, mask):
    """Return `dy` where the bool tensor `mask` holds, else 0, whatever `dy` is there."""
    return multiply_no_nan(dy, cast(mask, dy.dtype))


def times(dy, x):
    """Return `dy · conj(x)` for `x` of dy's shape or a scalar. For a scalar, a broadcast `dy` remains a broadcast."""
    x = conj(x)
    return dy * x if x.node.aval.shape else under_broadcast(lambda dy: dy * x, dy)


def over(dy, x):
    """Return `dy / conj(x)` for `x` of dy's shape or a scalar. For a scalar, a broadcast `dy` remains a broadcast."""
    x = conj(x)
    return dy / x if x.node.aval.shape else under_broadcast(lambda dy: dy / x, dy)


def negated(dy):
    """Return `-dy`. A broadcast remains a broadcast."""
    return under_broadcast(negative, dy)


# ---------------------------------------------------------------------------------------------------------------------
# Sums


@op(
    "AddV2", infer=only((*NUMERIC, "string"), broadcast), broadcasting=True, strings=True, flops=1, operator="add",
    default_name="Add", traits="adds linear arithmetic", folds=True,
)  # fmt: skip
def sum_of_two(x, y):
    return x + y


@gradient(sum_of_two)
def _(dy):
    return dy, dy


@public
def add(x, y, name=None):
    """Return `x + y`, element-wise, with broadcasting. Any numeric dtype.

    `y` is converted to the dtype of `x` if it is no tensor. InvalidArgumentError, which is a TypeError, too, if the dtypes
    differ.

    >>> tf.add([1.0, 2.0], [3.0, 4.0]).numpy()
    array([4., 6.], dtype=float32)
    """
    return emit(sum_of_two.op, convert.operands(sum_of_two.op, (x, y), one_by_one=True))


add = twins.of(add, "public", sum_of_two.op, ())


@op("Sub", infer=only(NUMERIC, broadcast), broadcasting=True, flops=1, operator="sub", traits="linear arithmetic", folds=True)
def subtract(x, y):
    """Return `x - y`, element-wise, with broadcasting. Any numeric dtype.

    >>> tf.subtract([1.0, 2.0], [3.0, 5.0]).numpy()
    array([-2., -3.], dtype=float32)
    """
    return x - y


@gradient(subtract)
def _(dy, needs_y):
    return dy, negated(dy) if needs_y else None


@op("Neg", infer=only(FLOATING + SIGNED + COMPLEX, same), flops=1, traits="linear arithmetic keeps_norm", folds=True)
def negative(x):
    """Return `-x`, element-wise. Float, complex or signed integer.

    >>> tf.negative([1.0, -2.0]).numpy()
    array([-1.,  2.], dtype=float32)
    """
    return -x


@gradient(negative)
def _(dy):
    return negated(dy)


def _equal_avals(*avals):
    first = avals[0]
    for index, other in enumerate(avals):
        if other.shape != first.shape:
            raise invalid(
                "Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: "
                f"{plain(first.shape)} != input {index}: {plain(other.shape)}. Use tf.add to broadcast."
            )
    return first


@op(
    "AddN", infer=only(NUMERIC, _equal_avals), joins="AddN", flops=lambda attrs, inputs, result: (len(inputs) - 1) * result.size,
    traits="adds linear",
)  # fmt: skip
def _add_n(*inputs):
    return sum(inputs[1:], inputs[0])


@gradient(_add_n)
def _(dy, inputs):
    return [dy] * len(inputs)


@public
def add_n(inputs, name=None):
    """Return the sum of a list of tensors of one shape and dtype. IndexedSlices are converted to dense tensors.

    >>> tf.add_n([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).numpy()
    array([ 9., 12.], dtype=float32)
    """
    inputs = list(inputs)
    if not inputs:
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    if len(inputs) > 1:
        return _add_n(*[tensor(x) for x in inputs])
    return tensor(inputs[0]) if name is None or engine.current_graph() is None else identity(inputs[0])


@public
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """Return the sum of a list of tensors of one shape and dtype, which must be `shape` and `tensor_dtype` if these are given.

    >>> print(tf.math.accumulate_n([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy())
    [4. 6.]
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    inputs = [tensor(x) for x in inputs]
    first = inputs[0]
    for x in inputs:
        if not x.node.aval.tensor_shape.is_compatible_with(extents_of(first) if shape is None else shape):
            raise ValueError(f"Shapes {first.shape if shape is None else shape} and {x.shape} are not compatible")
        if x.dtype != first.dtype:
            raise ValueError(f"inputs must have one dtype, received {first.dtype.name} and {x.dtype.name}. Use tf.cast.")
    if tensor_dtype is not None and first.dtype != tensor_dtype:
        raise TypeError(f"tensor_dtype is {dtypes.as_dtype(tensor_dtype).name}, but the inputs are {first.dtype.name}.")
    return add_n(inputs) if len(inputs) > 1 else identity(first)


@op("SquaredDifference", infer=only(FLOATING + ("int32", "int64") + COMPLEX, broadcast), broadcasting=True, saves="x y", flops=2)
def squared_difference(x, y):
    """Return `(x - y)·conj(x - y)`, element-wise, with broadcasting. Float, complex, int32 or int64.

    >>> print(tf.math.squared_difference([1.0, 5.0], 3.0).numpy())
    [4. 4.]
    """
    difference = x - y
    return difference * jnp.conj(difference)


@gradient(squared_difference)
def _(dy, x, y):
    dx = (2.0 * dy if not dy.dtype.is_complex else dy + conj(dy)) * (x - y)
    return dx, -dx


# ---------------------------------------------------------------------------------------------------------------------
# Products and quotients


@op(
    "Mul", infer=only(NUMERIC, broadcast), broadcasting=True, saves="x y", flops=1, operator="mul", traits="product arithmetic",
    folds=True,
)  # fmt: skip
def multiply(x, y):
    """Return `x · y`, element-wise, with broadcasting. Any numeric dtype.

    >>> tf.multiply([1.0, 2.0], [3.0, 4.0]).numpy()
    array([3., 8.], dtype=float32)
    """
    return x * y


@gradient(multiply)
def _(dy, x, y, needs_x, needs_y):
    return times(dy, y) if needs_x else None, times(dy, x) if needs_y else None


@public
def scalar_mul(scalar, x, name=None):
    """Return `scalar · x` for a number or a scalar tensor (else a ValueError). IndexedSlices stay slices.

    >>> print(tf.math.scalar_mul(2.0, tf.constant([1.0, 3.0])).numpy())
    [2. 6.]
    """
    sliced = isinstance(x, IndexedSlices)
    values = x.values if sliced else tensor(x)
    scalar = tensor(scalar, values.dtype)
    if scalar.ndim:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {scalar.shape}.")
    result = multiply(scalar, values)
    return IndexedSlices(result, x.indices, x.dense_shape) if sliced else result


@op("MulNoNan", infer=only(INEXACT, broadcast), broadcasting=True, saves="x y", flops=1)
def multiply_no_nan(x, y):
    """Return `x · y`, element-wise, with broadcasting; 0 where `y` is 0, even if `x` is infinite or NaN. Float or complex.

    >>> print(tf.math.multiply_no_nan([np.inf, 2.0], [0.0, 3.0]).numpy())
    [0. 6.]
    """
    return jnp.where(y == 0, jnp.zeros((), x.dtype), x * y)


@gradient(multiply_no_nan)
def _(dy, x, y):
    return multiply_no_nan(dy, conj(y)), multiply_no_nan(conj(x), dy)


@op(
    "RealDiv", infer=only(INEXACT, broadcast), broadcasting=True, saves="x y", flops=1, operator="truediv",
    at_edge="keep the denominator away from 0, or use `tf.math.divide_no_nan(x, y)`", traits="linear_in_first inverts",
)  # fmt: skip
def realdiv(x, y):
    """Return `x / y`, element-wise, with broadcasting. Float or complex.

    >>> print(tf.realdiv([1.0, 3.0], 2.0).numpy())
    [0.5 1.5]
    """
    return x / y


@gradient(realdiv)
def _(dy, x, y, needs_x, needs_y):  # d(x/y) = dx/y − x/y²·dy
    return over(dy, y) if needs_x else None, dy * conj(negative(x) / y / y) if needs_y else None


# The dtype of a quotient of integers: float32 is precise enough for the small types.
QUOTIENT = dict.fromkeys(INTEGER, "float64") | dict.fromkeys(("int8", "uint8", "int16", "uint16"), "float32")


def _quotient_operands(x, y, what):
    """Convert `x` and `y` to Tensors of one floating or complex dtype; TypeError if their dtypes differ or are not numeric."""
    x = tensor(x)
    y = tensor(y, hint=x.dtype)
    if x.dtype != y.dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}. Bring both to one with tf.cast.")
    if x.dtype.name not in NUMERIC:
        raise TypeError(f"Invalid dtype {x.dtype!r} in {what}. Expected one of {', '.join(NUMERIC)}. Use tf.cast.")
    quotient = QUOTIENT.get(x.dtype.name)
    return (x, y) if quotient is None else (cast(x, quotient), cast(y, quotient))


def _beside(tensor_or_value, x):
    """Return `x`, converted to the dtype of the other operand if that is a tensor and `x` is not."""
    return tensor(x, tensor_or_value.dtype) if is_tensor(tensor_or_value) and not is_tensor(x) else x


@public
def truediv(x, y, name=None) -> Tensor:
    """Return `x / y`, element-wise, with broadcasting. Integers give float64, those of 8 and 16 bits float32.

    `y` takes the dtype of `x` if it is no tensor. TypeError if the dtypes of two tensors differ.

    >>> tf.truediv([1, 3], [2, 2]).numpy()
    array([0.5, 1.5])
    """
    return realdiv(*_quotient_operands(x, y, "__truediv__"))


@public
def divide(x, y, name=None) -> Tensor:
    """Return `x / y`, element-wise, with broadcasting, as Python's `/`. Integers give float64, those of 8 and 16 bits float32.

    >>> tf.divide([1.0, 3.0], 2.0).numpy()
    array([0.5, 1.5], dtype=float32)
    """
    return truediv(_beside(y, x), y)


@op("DivNoNan", infer=only(INEXACT, broadcast), broadcasting=True, saves="x y", flops=1)
def _div_no_nan(x, y):
    zero = y == 0
    quotient = x / jnp.where(zero, jnp.ones((), y.dtype), y)
    return jnp.where(zero, jnp.zeros((), y.dtype), quotient)


@gradient(_div_no_nan)
def _(dy, x, y, needs_x, needs_y):
    x, y = conj(x), conj(y)
    return (
        _div_no_nan(dy, y) if needs_x else None,
        dy * _div_no_nan(_div_no_nan(-x, y), y) if needs_y else None,
    )


@public
def divide_no_nan(x, y, name=None) -> Tensor:
    """Return `x / y`, element-wise, with broadcasting, and 0 where `y` is 0. Integers give float64, those of 8 and 16 bits
    float32.

    >>> print(tf.math.divide_no_nan([1.0, 3.0], [0.0, 2.0]).numpy())
    [0.  1.5]
    """
    return _div_no_nan(*_quotient_operands(_beside(y, x), y, "divide_no_nan"))


@op("Reciprocal", infer=only(INEXACT, same), saves="y", flops=1, traits="inverts")
def reciprocal(x):
    """Return `1 / x`, element-wise. Float or complex. A gradient of 0 stays 0, even at x = 0.

    >>> print(tf.math.reciprocal([2.0, 0.0]).numpy())
    [0.5 inf]
    """
    return 1 / x


@gradient(reciprocal)
def _(dy, y):
    return _reciprocal_grad(y, dy)


@op("ReciprocalGrad", infer=only(INEXACT, same), saves="y dy", flops=3)
def _reciprocal_grad(y, dy):
    """Return −dy · conj(y)², and 0 where dy is 0."""
    slope = jnp.conj(y)
    return jnp.where(dy == 0, jnp.zeros((), y.dtype), -slope * dy * slope)


@gradient(_reciprocal_grad)
def _(dz, y, dy):
    return conj(dz) * -2.0 * dy * conj(y), _reciprocal_grad(conj(y), dz)


@public
def reciprocal_no_nan(x, name=None):
    """Return `1 / x`, element-wise, and 0 where `x` is 0. Float or complex.

    >>> print(tf.math.reciprocal_no_nan([2.0, 0.0]).numpy())
    [0.5 0. ]
    """
    x = tensor(x)
    return _div_no_nan(tensor(1, x.dtype), x)


# ---------------------------------------------------------------------------------------------------------------------
# Squares and roots


@elementwise("Square", slope=lambda x: 2.0 * x, infer=only(NUMERIC, same), flops=1, traits="arithmetic")
def square(x):
    """Return `x²`, element-wise. Any numeric dtype.

    >>> tf.square([2.0, -3.0]).numpy()
    array([4., 9.], dtype=float32)
    """
    return x * x


@op("Sqrt", infer=only(INEXACT, same), saves="y", flops=1)
def sqrt(x):
    """Return √x, element-wise. Float or complex. A gradient of 0 stays 0, even at x = 0.

    >>> tf.sqrt([4.0, 9.0]).numpy()
    array([2., 3.], dtype=float32)
    """
    return jnp.sqrt(x)


@gradient(sqrt)
def _(dy, y):
    return _sqrt_grad(y, dy)


@op("SqrtGrad", infer=only(INEXACT, same), saves="y z", flops=2)
def _sqrt_grad(y, dy):
    """Return dy / (2 · conj(y)), and 0 where dy is 0."""
    return jnp.where(dy == 0, jnp.zeros((), y.dtype), 0.5 * dy / jnp.conj(y))


@gradient(_sqrt_grad)
def _(dz, y, z):
    quotient = dz / y
    return -conj(quotient) * z, 0.5 * quotient


@op("Rsqrt", infer=only(INEXACT, same), saves="y", flops=1, traits="inverts")
def rsqrt(x):
    """Return 1/√x, element-wise. Float or complex. A gradient of 0 stays 0, even at x = 0.

    >>> tf.math.rsqrt([4.0, 0.25]).numpy()
    array([0.5, 2. ], dtype=float32)
    """
    return lax.rsqrt(x)


@gradient(rsqrt)
def _(dy, y):
    return _rsqrt_grad(y, dy)


@op("RsqrtGrad", infer=only(INEXACT, same), saves="y dy", flops=4)
def _rsqrt_grad(y, dy):
    """Return −dy · conj(y)³ / 2, and 0 where dy is 0."""
    slope = jnp.conj(y)
    return jnp.where(dy == 0, jnp.zeros((), y.dtype), -0.5 * (dy * slope) * (slope * slope))


@gradient(_rsqrt_grad)
def _(dz, y, dy):
    slope = conj(y)
    return -1.5 * conj(dz) * dy * square(slope), _rsqrt_grad(slope, dz)


# ---------------------------------------------------------------------------------------------------------------------
# Size and sign


@elementwise("Abs", slope=lambda x: sign(x), infer=only(FLOATING + SIGNED, same), flops=1)
def _abs(x):
    return jnp.abs(x)


@op("ComplexAbs", infer=lambda x: aval(x.shape, x.type.real_dtype.numpy), saves="x y", flops=3)
def _complex_abs(x):
    return jnp.abs(x)


@gradient(_complex_abs)
def _(dy, x, y):  # 0 where x is 0, whatever comes back to it
    return _div_no_nan(to_complex(dy, zeros_as(dy)) * x, to_complex(y, zeros_as(y)))


@public
def abs(x, name=None):
    """Return the absolute value of `x`, element-wise. Float, signed integer, or complex, whose absolute value is real.

    >>> tf.abs([-2.0, 3.0]).numpy()
    array([2., 3.], dtype=float32)
    """
    x = tensor(x)
    return _complex_abs(x) if x.dtype.is_complex else _abs(x)


@op("Sign", infer=only(FLOATING + SIGNED + COMPLEX, same), saves="x", flops=1, traits="steps")
def sign(x):
    """Return -1, 0 or 1 as `x` is negative, 0 or positive, element-wise; NaN for NaN; `x / |x|` for complex `x`.

    The gradient is 0 for real dtypes.

    >>> tf.sign([-2.0, 0.0, 5.0]).numpy()
    array([-1.,  0.,  1.], dtype=float32)
    """
    return jnp.sign(x)


@gradient(sign)
def _(dy, x):
    if not x.dtype.is_complex:
        return zeros_as(x)
    direction, size = sign(x), _complex_abs(x)
    along = real(conj(direction) * dy)  # a step in the direction of x changes only the absolute value
    return _div_no_nan(dy - to_complex(along, zeros_as(along)) * direction, to_complex(size, zeros_as(size)))


@op("Maximum", infer=only(REAL, broadcast), broadcasting=True, saves="x y", flops=1, traits="hands_on", folds=np.maximum)
def maximum(x, y):
    """Return the larger of `x` and `y`, element-wise, with broadcasting; NaN if one is NaN. Real dtypes.

    Where both are equal the gradient goes to `x`.

    >>> tf.maximum([1.0, -2.0], 0.0).numpy()
    array([1., 0.], dtype=float32)
    """
    return jnp.maximum(x, y)


@gradient(maximum)
def _(dy, x, y, needs_x, needs_y):
    return _routed(dy, greater_equal(x, y), needs_x, needs_y)


@op("Minimum", infer=only(REAL, broadcast), broadcasting=True, saves="x y", flops=1, traits="hands_on", folds=np.minimum)
def minimum(x, y):
    """Return the smaller of `x` and `y`, element-wise, with broadcasting; NaN if one is NaN. Real dtypes.

    Where both are equal the gradient goes to `x`.

    >>> tf.minimum([1.0, -2.0], 0.0).numpy()
    array([ 0., -2.], dtype=float32)
    """
    return jnp.minimum(x, y)


@gradient(minimum)
def _(dy, x, y, needs_x, needs_y):
    return _routed(dy, less_equal(x, y), needs_x, needs_y)


def _routed(dy, first, needs_x, needs_y):
    """Send `dy` to the input that was taken: to the first where `first` is true, else to the second."""
    return masked(dy, first) if needs_x else None, masked(dy, logical_not(first)) if needs_y else None


@op("NextAfter", infer=only(("float64", "float32"), broadcast), broadcasting=True, prefers="float32", flops=1)
def nextafter(x1, x2):
    """Return the number next to `x1` in the direction of `x2`, element-wise, with broadcasting. float32 or float64.

    >>> print(tf.math.nextafter(1.0, 2.0).numpy() - 1 == np.finfo(np.float32).eps)
    True
    """
    return jnp.nextafter(x1, x2)


@gradient(nextafter)
def _(dy, x2):
    return dy, zeros_as(x2)


@public
def polyval(coeffs, x, name=None):
    """Return the polynomial of `x` with the coefficients `coeffs`, a list of numbers and tensors, the highest first.

    >>> float(tf.math.polyval([2.0, 0.0, 1.0], 3.0))
    19.0
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = tensor(x)
    if not coeffs:
        return zeros_as(x)
    result = tensor(coeffs[0])
    for coefficient in coeffs[1:]:
        result = tensor(coefficient) + result * x
    return result
