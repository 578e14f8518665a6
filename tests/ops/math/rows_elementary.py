"""Exponentials, logarithms, powers, trigonometric and hyperbolic functions."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, complexes, integers, positive, real, unit

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError

FLOATS = ("float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex64")

x, row, z = real(2, 3), real(3), complexes(2, 3)

# name: (function, reference, op type, domain, points, values there, gradients there); the numbers are TensorFlow's.
POINTS = [-INF, -1.0, 0.0, 0.5, 1.0, INF, NAN]
FUNCTIONS = {
    "exp": (
        tf.exp, jnp.exp, "Exp", x, POINTS,
        [0.0, 0.36787944, 1.0, 1.6487213, 2.7182818, INF, NAN],
        [0.0, 0.36787944, 1.0, 1.6487213, 2.7182818, INF, NAN],
    ),
    "expm1": (
        tf.math.expm1, jnp.expm1, "Expm1", x, [*POINTS, 1e-9],
        [-1.0, -0.63212056, 0.0, 0.64872127, 1.7182818, INF, NAN, 1e-9],
        [0.0, 0.36787944, 1.0, 1.6487213, 2.7182818, INF, NAN, 1.0],
    ),
    "log": (
        tf.math.log, jnp.log, "Log", positive(2, 3), POINTS,
        [NAN, NAN, -INF, -0.69314718, 0.0, INF, NAN],
        [0.0, -1.0, INF, 2.0, 1.0, 0.0, NAN],
    ),
    "log1p": (
        tf.math.log1p, jnp.log1p, "Log1p", positive(2, 3), [*POINTS, 1e-9],
        [NAN, -INF, 0.0, 0.40546511, 0.69314718, INF, NAN, 1e-9],
        [0.0, INF, 1.0, 0.66666667, 0.5, 0.0, NAN, 1.0],
    ),
    "sin": (
        tf.sin, jnp.sin, "Sin", x, [0.0, 1.0, INF, NAN], [0.0, 0.84147098, NAN, NAN], [1.0, 0.54030231, NAN, NAN],
    ),
    "cos": (
        tf.cos, jnp.cos, "Cos", x, [0.0, 1.0, INF, NAN], [1.0, 0.54030231, NAN, NAN], [0.0, -0.84147098, NAN, NAN],
    ),
    "tan": (
        tf.tan, jnp.tan, "Tan", x, POINTS,
        [NAN, -1.5574077, 0.0, 0.54630249, 1.5574077, NAN, NAN],
        [NAN, 3.4255188, 1.0, 1.2984464, 3.4255188, NAN, NAN],
    ),
    "asin": (
        tf.asin, jnp.arcsin, "Asin", unit(2, 3), [*POINTS, 2.0],
        [NAN, -1.5707963, 0.0, 0.52359878, 1.5707963, NAN, NAN, NAN],
        [NAN, INF, 1.0, 1.1547005, INF, NAN, NAN, NAN],
    ),
    "acos": (
        tf.acos, jnp.arccos, "Acos", unit(2, 3), [*POINTS, 2.0],
        [NAN, 3.1415927, 1.5707963, 1.0471976, 0.0, NAN, NAN, NAN],
        [NAN, -INF, -1.0, -1.1547005, -INF, NAN, NAN, NAN],
    ),
    "atan": (
        tf.atan, jnp.arctan, "Atan", x, POINTS,
        [-1.5707963, -0.78539816, 0.0, 0.46364761, 0.78539816, 1.5707963, NAN],
        [0.0, 0.5, 1.0, 0.8, 0.5, 0.0, NAN],
    ),
    "sinh": (
        tf.sinh, jnp.sinh, "Sinh", x, POINTS,
        [-INF, -1.1752012, 0.0, 0.52109531, 1.1752012, INF, NAN],
        [INF, 1.5430806, 1.0, 1.127626, 1.5430806, INF, NAN],
    ),
    "cosh": (
        tf.cosh, jnp.cosh, "Cosh", x, POINTS,
        [INF, 1.5430806, 1.0, 1.127626, 1.5430806, INF, NAN],
        [-INF, -1.1752012, 0.0, 0.52109531, 1.1752012, INF, NAN],
    ),
    "tanh": (
        tf.tanh, jnp.tanh, "Tanh", x, POINTS,
        [-1.0, -0.76159416, 0.0, 0.46211716, 0.76159416, 1.0, NAN],
        [0.0, 0.41997434, 1.0, 0.78644773, 0.41997434, 0.0, NAN],
    ),
    "asinh": (
        tf.asinh, jnp.arcsinh, "Asinh", x, [*POINTS, 1e10],
        [-INF, -0.88137359, 0.0, 0.48121183, 0.88137359, INF, NAN, 23.718998],
        [0.0, 0.70710678, 1.0, 0.89442719, 0.70710678, 0.0, NAN, 0.0],
    ),
    "acosh": (
        tf.acosh, jnp.arccosh, "Acosh", 1.0 + positive(2, 3), [0.5, 1.0, 2.0, INF, NAN],
        [NAN, 0.0, 1.3169579, INF, NAN], [NAN, INF, 0.57735027, 0.0, NAN],
    ),
    "atanh": (
        tf.atanh, jnp.arctanh, "Atanh", unit(2, 3), [*POINTS[1:], -2.0],
        [-INF, 0.0, 0.54930614, INF, NAN, NAN, NAN], [INF, 1.0, 1.3333333, INF, 0.0, NAN, -0.33333333],
    ),
}  # fmt: skip


def not_for_integers(name, function, op_type):
    match = rf"attr 'T' of int32 is not in the list of allowed values: bfloat16, half, float, double.*\[Op:{op_type}\]"
    return ((lambda: function(tf.constant([1])), Invalid, match),)


def steps(x):
    """A tower of powers whose exponents are structure."""
    return x**0 + 2.0 * x**1 + x**2 + x**3 + x**-1 + x**-2 + x**16


ROWS = (
    *[
        Row(
            name,
            function,
            (domain,),
            reference,
            ops=(op_type,),
            dtypes=FLOATS,
            special=((points, values, gradients),),
            errors=not_for_integers(name, function, op_type),
        )
        for name, (function, reference, op_type, domain, points, values, gradients) in FUNCTIONS.items()
    ],
    # JAX's gradient of arccosh has the wrong sign in the left half plane.
    *[
        Row(f"{name} complex", function, (z,), reference, ops=(op_type,), dtypes=COMPLEX, oracle=name != "acosh")
        for name, (function, reference, op_type, *_) in FUNCTIONS.items()
    ],
    Row(
        "atan2",
        tf.atan2,
        (x, row),
        jnp.arctan2,
        ops=("Atan2",),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 1.0, 0.0, 1.0], [0.0, 0.0, -1.0, 2.0]),
                [0.0, 1.5707963, 3.1415927, 0.46364761],
                ([NAN, 0.0, -1.0, 0.4], [NAN, -1.0, 0.0, -0.2]),
            ),
        ),
    ),
    Row(
        "pow",
        tf.pow,
        (positive(2, 3), row),
        jnp.power,
        ops=("Pow",),
        dtypes=FLOATS,
        special=(
            (
                (
                    [0.0, 0.0, 0.0, -2.0, -2.0, 2.0, INF, 1.0, NAN, 0.0],
                    [0.0, 2.0, -1.0, 2.0, 0.5, 0.0, 0.0, NAN, 0.0, 1.0],
                ),
                [1.0, 0.0, INF, 4.0, NAN, 1.0, 1.0, 1.0, 1.0, 0.0],
                (
                    [NAN, 0.0, -INF, -4.0, NAN, 0.0, 0.0, NAN, NAN, 1.0],
                    [0.0, 0.0, NAN, 0.0, NAN, 0.69314718, INF, 0.0, 0.0, 0.0],
                ),
            ),
        ),
        errors=(
            (
                lambda: tf.pow([2, 3], [1, -1]),
                Invalid,
                r"Integers to negative integer powers are not allowed.*\[Op:Pow\]",
            ),
            (
                lambda: tf.constant([2, 3]) ** -1,
                Invalid,
                r"Integers to negative integer powers are not allowed.*\[Op:Pow\]",
            ),
            (lambda: tf.pow(tf.constant([2], tf.uint8), 2), Invalid, "attr 'T' of uint8 is not in the list"),
            (lambda: tf.pow(tf.constant([2]), 1.5), TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        ),
    ),
    Row("pow complex", tf.pow, (z, complexes(3, seed=1)), jnp.power, ops=("Pow",), dtypes=COMPLEX),
    Row(
        "pow ints",
        tf.pow,
        (integers(-3, 3, 2, 3), integers(0, 4, 3)),
        np.power,
        ops=("Pow",),
        dtypes=("int8", "int16", "int32", "int64"),
    ),
    Row(
        "pow whole",
        steps,
        (x,),
        lambda x: 1 + 2.0 * x + x**2 + x**3 + 1 / x + 1 / x**2 + x**16,
        ops=("Pow",),
        dtypes=("float64", "float32"),
        tolerance=1e-5,
        special=(([2.0, -1.0], [65553.75, 0.0], [524305.5, -12.0]),),
    ),
    Row(
        "pow whole complex",
        steps,
        (z / 2,),
        lambda x: 1 + 2.0 * x + x**2 + x**3 + 1 / x + 1 / x**2 + x**16,
        ops=("Pow",),
        dtypes=("complex128",),
    ),
    Row(
        "pow halves",
        lambda x: x**0.5 + x**-0.5 + x**2.5,
        (positive(2, 3),),
        lambda x: x**0.5 + x**-0.5 + x**2.5,
        ops=("Pow",),
    ),
    Row(
        "pow of ints",
        lambda x: x**3 + x**0,
        (integers(-4, 4, 3),),
        lambda x: x**3 + x**0,
        ops=("Pow",),
        dtypes=("int8", "int32", "int64"),
    ),
    Row("pow third", lambda x: x**0.3, (positive(2, 3),), lambda x: x**0.3, ops=("Pow",)),
    Row("pow of a number", lambda x: 2.0**x, (x,), lambda x: 2.0**x, ops=("Pow",)),
    Row(
        "pow 2",
        lambda x: x**2,
        (x,),
        lambda x: x**2,
        ops=("Pow",),
        special=(([0.0, -2.0, 2.0, INF], [0.0, 4.0, 4.0, INF], [0.0, -4.0, 4.0, INF]),),
    ),
    Row(
        "pow 0",
        lambda x: x**0,
        (x,),
        lambda x: x**0,
        ops=("Pow",),
        special=(([0.0, -2.0, INF, NAN], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]),),
    ),
    Row(
        "pow 1/2",
        lambda x: x**0.5,
        (positive(2, 3),),
        lambda x: x**0.5,
        ops=("Pow",),
        special=(([0.0, -2.0, 4.0, INF], [0.0, NAN, 2.0, INF], [INF, NAN, 0.25, 0.0]),),
    ),
    Row(
        "pow -1",
        lambda x: x**-1,
        (x,),
        lambda x: x**-1.0,
        ops=("Pow",),
        special=(([0.0, -2.0, 2.0, INF], [INF, -0.5, 0.5, 0.0], [-INF, -0.25, -0.25, 0.0]),),
    ),
)
