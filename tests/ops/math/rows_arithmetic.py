"""Sums, products, quotients, remainders, roots, signs."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, complexes, integers, positive, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError

FLOATS = ("float64", "float32", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
COMPLEX = ("complex128", "complex64")

x, y, row = real(2, 3), real(2, 3, seed=1), real(3)
z, w = complexes(2, 3), complexes(3, seed=1)


def wide(name):
    """The dtype of a quotient of integers."""
    return "float32" if name in ("int8", "uint8", "int16", "uint16") else "float64"


def slopes(points, values, gradients):
    """Special values of a function of one argument, point by point."""
    return ((points, values, gradients),)


def gradient(function, x):
    """The gradient of `function` as a function of its own."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


ROWS = (
    Row(
        "add",
        tf.add,
        (x, row),
        lambda x, y: x + y,
        ops=("AddV2",),
        dtypes=FLOATS + INTS,
        special=(
            (([1.0, INF], [NAN, -INF]), [NAN, NAN], ([1.0, 1.0], [1.0, 1.0])),
            ((2.0, [1.0, 2.0]), [3.0, 4.0], (2.0, [1.0, 1.0])),
            ((np.zeros((0, 3), "f4"), [1.0, 2.0, 3.0]), np.zeros((0, 3)), (np.zeros((0, 3)), [0.0, 0.0, 0.0])),
            (([127], [1]), [128]),
        ),
        errors=(
            (
                lambda: tf.add([1.0, 2.0], [1.0, 2.0, 3.0]),
                Invalid,
                r"Incompatible shapes: \[2\] vs\. \[3\].*\[Op:AddV2\]",
            ),
            (
                lambda: tf.add([True], [True]),
                Invalid,
                "Value for attr 'T' of bool is not in the list of allowed values: bfloat16, half",
            ),
            (
                lambda: tf.add(tf.constant(1.0), tf.constant(1)),
                Invalid,
                r"cannot compute AddV2 as input #1\(zero-based\) was expected to be a float .*but is a int32 tensor",
            ),
        ),
    ),
    Row("add complex", tf.add, (z, w), lambda x, y: x + y, ops=("AddV2",), dtypes=COMPLEX),
    Row("subtract", tf.subtract, (x, row), lambda x, y: x - y, ops=("Sub",), dtypes=FLOATS + INTS),
    Row("subtract complex", tf.subtract, (z, w), lambda x, y: x - y, ops=("Sub",), dtypes=COMPLEX),
    Row(
        "subtract mean",
        lambda x: tf.reduce_mean(x - 2.0 * (1.0 - x) / 4.0),
        (x,),
        lambda x: jnp.mean(x - 2.0 * (1.0 - x) / 4.0),
        ops=("Sub", "Mul", "RealDiv"),
    ),
    Row(
        "negative",
        tf.negative,
        (x,),
        lambda x: -x,
        ops=("Neg",),
        dtypes=FLOATS + SIGNED,
        errors=((lambda: tf.negative(tf.constant([1], tf.uint8)), Invalid, "attr 'T' of uint8 is not in the list"),),
    ),
    Row("negative complex", tf.negative, (z,), lambda x: -x, ops=("Neg",), dtypes=COMPLEX),
    Row(
        "negative mean",
        lambda x: tf.reduce_mean(tf.negative(tf.negative(x * x))),
        (x,),
        lambda x: jnp.mean(x * x),
        ops=("Neg",),
    ),
    Row("multiply", tf.multiply, (x, row), lambda x, y: x * y, ops=("Mul",), dtypes=FLOATS + INTS),
    Row("multiply complex", tf.multiply, (z, w), lambda x, y: x * y, ops=("Mul",), dtypes=COMPLEX),
    Row("multiply by a scalar", tf.multiply, (x, np.array(1.5)), lambda x, y: x * y, ops=("Mul",)),
    Row(
        "scalar_mul",
        lambda x: tf.scalar_mul(2, x),
        (x,),
        lambda x: 2.0 * x,
        ops=("Mul",),
        errors=(
            (
                lambda: tf.scalar_mul(tf.constant([2.0]), [1.0]),
                ValueError,
                r"must be a 0-D value. Received shape \(1,\)",
            ),
        ),
    ),
    Row(
        "multiply_no_nan",
        tf.math.multiply_no_nan,
        (x, row),
        lambda x, y: x * y,
        ops=("MulNoNan",),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 0.0, 1.0, 2.0, 0.0, INF, NAN], [0.0, NAN, 0.0, 3.0, -1.0, 0.0, 0.0]),
                [0.0, NAN, 0.0, 6.0, 0.0, 0.0, 0.0],
                ([0.0, NAN, 0.0, 3.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0, 0.0, INF, NAN]),
            ),
        ),
    ),
    Row(
        "multiply_no_nan complex",
        tf.math.multiply_no_nan,
        (z, w),
        lambda x, y: x * y,
        ops=("MulNoNan",),
        dtypes=COMPLEX,
    ),
    Row(
        "divide",
        tf.divide,
        (x, positive(3)),
        lambda x, y: x / y,
        ops=("RealDiv",),
        dtypes=FLOATS,
        special=(
            (
                ([1.0, -1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 4.0]),
                [INF, -INF, NAN, 0.5],
                ([INF, INF, INF, 0.25], [-INF, INF, NAN, -0.125]),
            ),
            (([1, 2], [2, 4]), np.array([0.5, 0.5]), (None, None)),
            ((3, 2), np.array(1.5)),
        ),
        errors=(
            (
                lambda: tf.divide(tf.constant([1.0]), tf.constant([1])),
                TypeError,
                "must have the same dtype, got tf.float32 != tf.int32",
            ),
            (
                lambda: tf.divide(tf.constant([1]), 1.5),
                TypeError,
                "must have the same dtype, got tf.int32 != tf.float32",
            ),
            (lambda: tf.divide(1.5, tf.constant([1])), TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
            (lambda: tf.divide([True], [True]), TypeError, "Invalid dtype tf.bool in __truediv__"),
        ),
    ),
    Row("divide complex", tf.math.divide, (z, w), lambda x, y: x / y, ops=("RealDiv",), dtypes=COMPLEX),
    Row(
        "divide ints",
        tf.truediv,
        (integers(-9, 9, 2, 3), integers(1, 9, 3)),
        lambda x, y: np.divide(x, y, dtype="f8"),
        ops=("Cast", "RealDiv"),
        dtypes=INTS,
        result=wide,
    ),
    Row("realdiv", tf.realdiv, (x, np.array(1.5)), lambda x, y: x / y, ops=("RealDiv",)),
    Row(
        "divide_no_nan",
        tf.math.divide_no_nan,
        (x, row),
        lambda x, y: x / y,
        ops=("DivNoNan",),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 0.0, 1.0, 2.0, 0.0, INF, NAN], [0.0, NAN, 0.0, 3.0, -1.0, 0.0, 0.0]),
                [0.0, NAN, 0.0, 2 / 3, 0.0, 0.0, 0.0],
                ([0.0, NAN, 0.0, 1 / 3, -1.0, 0.0, 0.0], [0.0, NAN, 0.0, -2 / 9, 0.0, 0.0, 0.0]),
            ),
            (([1, 2], [0, 1]), np.array([0.0, 2.0])),
        ),
    ),
    Row("divide_no_nan complex", tf.math.divide_no_nan, (z, w), lambda x, y: x / y, ops=("DivNoNan",), dtypes=COMPLEX),
    Row(
        "reciprocal",
        tf.math.reciprocal,
        (x,),
        lambda x: 1 / x,
        ops=("Reciprocal",),
        dtypes=FLOATS,
        special=slopes([-INF, -2.0, 0.0, 0.5, INF, NAN], [0.0, -0.5, INF, 2.0, 0.0, NAN], [0.0, -0.25, -INF, -4.0, 0.0, NAN]),
        errors=((lambda: tf.math.reciprocal([1]), Invalid, "attr 'T' of int32 is not in the list"),),
    ),
    Row("reciprocal complex", tf.math.reciprocal, (z,), lambda x: 1 / x, ops=("Reciprocal",), dtypes=COMPLEX),
    Row(
        "reciprocal gradient",
        lambda x: gradient(tf.math.reciprocal, x),
        (x,),
        lambda x: -1 / x**2,
        ops=("ReciprocalGrad",),
    ),
    Row(
        "reciprocal_no_nan",
        tf.math.reciprocal_no_nan,
        (x,),
        lambda x: 1 / x,
        ops=("DivNoNan",),
        special=slopes([0.0, 0.5, INF], [0.0, 2.0, 0.0], [0.0, -4.0, 0.0]),
    ),
    Row(
        "add_n",
        lambda *xs: tf.add_n(xs),
        (x, y, real(2, 3, seed=2)),
        lambda x, y, z: x + y + z,
        ops=("AddN",),
        dtypes=FLOATS + INTS,
        errors=(
            (
                lambda: tf.add_n([tf.constant(1.0), tf.constant([2.0])]),
                Invalid,
                r"must have the same size and shape.  Input 0: \[\] != input 1: \[1\]",
            ),
            (
                lambda: tf.add_n([tf.constant(1.0), tf.constant(2)]),
                Invalid,
                r"cannot compute AddN as input #1\(zero-based\)",
            ),
            (lambda: tf.add_n([]), ValueError, "Inputs must be an iterable of at least one Tensor/IndexedSlices"),
        ),
    ),
    Row(
        "accumulate_n",
        lambda *xs: tf.math.accumulate_n(xs, shape=[2, 3], tensor_dtype=xs[0].dtype),
        (x, y),
        lambda x, y: x + y,
        ops=("AddN",),
        errors=(
            (lambda: tf.math.accumulate_n([]), ValueError, "inputs must be a list of at least one Tensor"),
            (
                lambda: tf.math.accumulate_n([[1.0], [1.0, 2.0]]),
                ValueError,
                r"Shapes \(1,\) and \(2,\) are not compatible",
            ),
            (lambda: tf.math.accumulate_n([[1.0], [1]]), ValueError, "one dtype, received float32 and int32"),
        ),
    ),
    Row(
        "squared_difference",
        tf.math.squared_difference,
        (x, row),
        lambda x, y: (x - y) ** 2,
        ops=("SquaredDifference",),
        dtypes=(*FLOATS, "int32", "int64"),
        special=((([1.0, 3.0], [2.0, -1.0]), [1.0, 16.0], ([-2.0, 8.0], [2.0, -8.0])),),
    ),
    Row(
        "squared_difference complex",
        tf.math.squared_difference,
        (z, w),
        lambda x, y: (x - y) * jnp.conj(x - y),
        ops=("SquaredDifference",),
        dtypes=COMPLEX,
    ),
    # -- floors and remainders
    Row(
        "floordiv",
        tf.math.floordiv,
        (x, row),
        lambda x, y: jnp.floor(x / y),
        ops=("FloorDiv",),
        order=0,
        special=((([7.0, -7.0, 1.0, -1.0, 0.0], [2.0, 2.0, 0.0, 0.0, 0.0]), [3.0, -4.0, INF, -INF, NAN]),),
    ),
    Row(
        "floordiv ints",
        tf.math.floordiv,
        (integers(-9, 9, 2, 3), integers(1, 9, 3)),
        lambda x, y: x // y,
        ops=("FloorDiv",),
        dtypes=INTS,
        special=((([7, -7, 7, -7], [2, 2, -2, -2]), [3, -4, -4, 3]),),
        errors=((lambda: tf.math.floordiv([7, 1], [1, 0]), Invalid, r"Integer division by zero.*\[Op:FloorDiv\]"),),
    ),
    Row(
        "floormod",
        tf.math.floormod,
        (x, row),
        lambda x, y: x - jnp.floor(x / y) * y,
        ops=("FloorMod",),
        dtypes=FLOATS[:3],
        special=(
            (
                ([7.0, -7.0, 7.0, -7.0, 1.0, 0.0, 5.5], [2.0, 2.0, -2.0, -2.0, 0.0, 0.0, INF]),
                [1.0, 1.0, -1.0, -1.0, NAN, NAN, 5.5],
                ([1.0] * 7, [-3.0, 4.0, 4.0, -3.0, -INF, NAN, 0.0]),
            ),
        ),
    ),
    Row(
        "floormod ints",
        tf.math.mod,
        (integers(-9, 9, 2, 3), integers(1, 9, 3)),
        lambda x, y: x % y,
        ops=("FloorMod",),
        dtypes=INTS,
        special=((([7, -7, 7, -7], [2, 2, -2, -2]), [1, 1, -1, -1]),),
        errors=((lambda: tf.math.floormod([7, 1], [1, 0]), Invalid, r"Integer division by zero.*\[Op:FloorMod\]"),),
    ),
    Row("truncatediv", tf.truncatediv, (x, row), lambda x, y: jnp.trunc(x / y), ops=("TruncateDiv",), order=0),
    Row(
        "truncatediv ints",
        tf.truncatediv,
        (integers(-9, 9, 2, 3), integers(1, 9, 3)),
        lambda x, y: np.trunc(x / y).astype(x.dtype),
        ops=("TruncateDiv",),
        dtypes=INTS,
        special=((([7, -7, 7, -7], [2, 2, -2, -2]), [3, -3, -3, 3]),),
        errors=((lambda: tf.truncatediv([7], [0]), Invalid, "Integer division by zero"),),
    ),
    Row(
        "truncatemod",
        tf.truncatemod,
        (x, row),
        lambda x, y: x - jnp.trunc(x / y) * y,
        ops=("TruncateMod",),
        order=-1,
        special=((([7.0, -7.0, 7.0, -7.0], [2.0, 2.0, -2.0, -2.0]), [1.0, -1.0, 1.0, -1.0]),),
    ),
    Row(
        "truncatemod ints",
        tf.truncatemod,
        (integers(-9, 9, 2, 3), integers(1, 9, 3)),
        lambda x, y: np.fmod(x, y),
        ops=("TruncateMod",),
        dtypes=("int32", "int64"),
        errors=((lambda: tf.truncatemod([7], [0]), Invalid, "Integer division by zero"),),
    ),
    # -- squares and roots
    Row("square", tf.square, (x,), lambda x: x * x, ops=("Square",), dtypes=FLOATS + INTS),
    Row("square complex", tf.square, (z,), lambda x: x * x, ops=("Square",), dtypes=COMPLEX),
    Row(
        "sqrt",
        tf.sqrt,
        (positive(2, 3),),
        jnp.sqrt,
        ops=("Sqrt",),
        dtypes=FLOATS,
        special=slopes([-1.0, 0.0, 4.0, INF, NAN], [NAN, 0.0, 2.0, INF, NAN], [NAN, INF, 0.25, 0.0, NAN]),
        errors=((lambda: tf.sqrt([1]), Invalid, r"attr 'T' of int32 is not in the list.*\[Op:Sqrt\]"),),
    ),
    Row("sqrt complex", tf.sqrt, (z,), jnp.sqrt, ops=("Sqrt",), dtypes=COMPLEX),
    Row(
        "sqrt gradient",
        lambda x: gradient(tf.sqrt, x),
        (positive(2, 3),),
        lambda x: 0.5 / jnp.sqrt(x),
        ops=("SqrtGrad",),
        special=slopes([0.0, 4.0], [INF, 0.25], [-INF, -1 / 32]),
    ),
    Row(
        "rsqrt",
        tf.math.rsqrt,
        (positive(2, 3),),
        lambda x: 1 / jnp.sqrt(x),
        ops=("Rsqrt",),
        dtypes=FLOATS,
        special=slopes([-1.0, 0.0, 4.0, INF, NAN], [NAN, INF, 0.5, 0.0, NAN], [NAN, -INF, -0.0625, 0.0, NAN]),
    ),
    Row("rsqrt complex", tf.math.rsqrt, (z,), lambda x: 1 / jnp.sqrt(x), ops=("Rsqrt",), dtypes=COMPLEX),
    Row(
        "rsqrt gradient",
        lambda x: gradient(tf.math.rsqrt, x),
        (positive(2, 3),),
        lambda x: -0.5 * x**-1.5,
        ops=("RsqrtGrad",),
    ),
    # -- size and sign
    Row(
        "abs",
        tf.abs,
        (x,),
        jnp.abs,
        ops=("Abs",),
        dtypes=FLOATS + SIGNED,
        special=slopes([-INF, -0.5, 0.0, 0.5, NAN], [INF, 0.5, 0.0, 0.5, NAN], [-1.0, -1.0, 0.0, 1.0, NAN]),
        errors=((lambda: tf.abs(tf.constant([1], tf.uint8)), Invalid, "attr 'T' of uint8 is not in the list"),),
    ),
    Row(
        "abs complex",
        tf.abs,
        (z,),
        jnp.abs,
        ops=("ComplexAbs",),
        dtypes=COMPLEX,
        special=slopes(np.array([3 + 4j, 0]), [5.0, 0.0], [0.6 + 0.8j, 0.0]),
    ),
    Row(
        "sign",
        tf.sign,
        (x,),
        jnp.sign,
        ops=("Sign",),
        dtypes=FLOATS + SIGNED,
        special=slopes([-2.0, 0.0, 3.0, NAN], [-1.0, 0.0, 1.0, NAN], [0.0, 0.0, 0.0, 0.0]),
        errors=((lambda: tf.sign([True]), Invalid, "attr 'T' of bool is not in the list"),),
    ),
    Row(
        "sign complex",
        tf.sign,
        (z,),
        lambda x: x / jnp.abs(x),
        ops=("Sign",),
        dtypes=COMPLEX,
        special=slopes(np.array([3 + 4j, 0]), [0.6 + 0.8j, 0.0], [0.128 - 0.096j, 0.0]),
    ),
    Row(
        "maximum",
        tf.maximum,
        (x, row),
        jnp.maximum,
        ops=("Maximum",),
        dtypes=FLOATS + INTS,
        special=(
            (
                ([1.0, NAN, 2.0, 1.0], [1.0, 1.0, NAN, 3.0]),
                [1.0, NAN, NAN, 3.0],
                ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]),
            ),
        ),
        errors=((lambda: tf.maximum([True], [False]), Invalid, "attr 'T' of bool is not in the list"),),
    ),
    Row(
        "minimum",
        tf.minimum,
        (x, row),
        jnp.minimum,
        ops=("Minimum",),
        dtypes=FLOATS + INTS,
        special=(
            (
                ([1.0, NAN, 2.0, 1.0], [1.0, 1.0, NAN, 3.0]),
                [1.0, NAN, NAN, 1.0],
                ([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]),
            ),
        ),
    ),
    Row(
        "nextafter",
        tf.math.nextafter,
        (x, row),
        np.nextafter,
        ops=("NextAfter",),
        order=1,
        oracle=False,
        special=(
            (
                (np.array([1.0, 1.0, 0.0]), np.array([2.0, 0.0, NAN])),
                np.array([1.0000000000000002, 0.9999999999999999, NAN]),
                ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
            ),
        ),
    ),
    Row(
        "polyval",
        lambda a, b, x: tf.math.polyval([a, b, tf.constant(1.5, x.dtype)], x),
        (np.array(0.7), real(3), x),
        lambda a, b, x: (a * x + b) * x + 1.5,
        ops=("Mul", "AddV2"),
        special=((([1.0], [2.0], [3.0]), [16.5], ([9.0], [3.0], [8.0])),),
        errors=((lambda: tf.math.polyval(1.0, 2.0), ValueError, "Argument coeffs must be list type"),),
    ),
    Row("polyval of nothing", lambda x: tf.math.polyval([], x), (x,), np.zeros_like, order=0),
)
