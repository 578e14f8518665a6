"""Comparisons, logic, bits, casts, complex parts."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, boolean, complexes, integers, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex128", "complex64")

x, row, z = real(2, 3), real(3), complexes(2, 3)
equal_in_places = np.where(boolean(2, 3), x, real(2, 3, seed=1))
m, n = integers(-9, 9, 2, 3), integers(-9, 9, 3)

COMPARISONS = {
    "equal": (tf.equal, np.equal, "Equal", [False, True, False, False]),
    "not_equal": (tf.not_equal, np.not_equal, "NotEqual", [True, False, True, True]),
    "less": (tf.less, np.less, "Less", [True, False, False, False]),
    "less_equal": (tf.less_equal, np.less_equal, "LessEqual", [True, True, False, False]),
    "greater": (tf.greater, np.greater, "Greater", [False, False, True, False]),
    "greater_equal": (tf.greater_equal, np.greater_equal, "GreaterEqual", [False, True, True, False]),
}
BITS = {
    "bitwise_and": (tf.bitwise.bitwise_and, np.bitwise_and, "BitwiseAnd"),
    "bitwise_or": (tf.bitwise.bitwise_or, np.bitwise_or, "BitwiseOr"),
    "bitwise_xor": (tf.bitwise.bitwise_xor, np.bitwise_xor, "BitwiseXor"),
}
LOGIC = {
    "logical_and": (tf.logical_and, np.logical_and, "LogicalAnd"),
    "logical_or": (tf.logical_or, np.logical_or, "LogicalOr"),
    "logical_xor": (tf.math.logical_xor, np.logical_xor, "LogicalNot"),
}


def through(dtype):
    """There and back again: what a cast to `dtype` leaves of its argument."""
    return lambda x: tf.cast(tf.cast(x, dtype), tf.float64)


def saturated(dtype):
    return lambda x: tf.saturate_cast(x, dtype)


ROWS = (
    *[
        Row(
            name,
            function,
            (x, equal_in_places),
            reference,
            ops=(op_type,),
            order=0,
            dtypes=FLOATS + INTS,
            special=((([1.0, 2.0, 3.0, NAN], [2.0, 2.0, 2.0, NAN]), expected),),
            errors=(
                (
                    lambda function=function: function([1.0, 2.0], [1.0, 2.0, 3.0]),
                    Invalid,
                    r"Incompatible shapes: \[2\] vs\. \[3\]",
                ),
            ),
        )
        for name, (function, reference, op_type, expected) in COMPARISONS.items()
    ],
    Row("equal complex", tf.equal, (z, complexes(3)), np.equal, ops=("Equal",), order=0, dtypes=COMPLEX),
    Row("equal bools", tf.equal, (boolean(3), boolean(2, 3)), np.equal, ops=("Equal",), dtypes=("bool",)),
    Row(
        "less not for bools",
        tf.less,
        (x, row),
        np.less,
        ops=("Less",),
        order=0,
        errors=(
            (lambda: tf.less([True], [False]), Invalid, "attr 'T' of bool is not in the list"),
            (lambda: tf.less([1j], [2j]), Invalid, "attr 'T' of complex128 is not in the list"),
        ),
    ),
    *[
        Row(
            name,
            function,
            (x,),
            reference,
            ops=(op_type,),
            order=-1,
            dtypes=FLOATS,
            special=((([0.0, INF, -INF, NAN],), expected),),
            errors=((lambda function=function: function([1]), Invalid, "attr 'T' of int32 is not in the list"),),
        )
        for name, function, reference, op_type, expected in [
            ("is_nan", tf.math.is_nan, np.isnan, "IsNan", [False, False, False, True]),
            ("is_inf", tf.math.is_inf, np.isinf, "IsInf", [False, True, True, False]),
            ("is_finite", tf.math.is_finite, np.isfinite, "IsFinite", [True, False, False, False]),
        ]
    ],
    *[
        Row(
            name,
            function,
            (boolean(2, 3), boolean(3)),
            reference,
            ops=(op_type,),
            dtypes=("bool",),
            errors=(
                (
                    lambda function=function: function(tf.constant([True]), tf.constant([1])),
                    Invalid,
                    "input #1.* expected to be a bool tensor but is a int32 tensor",
                ),
                (
                    lambda function=function: function(tf.constant([1]), tf.constant([1])),
                    Invalid,
                    r"input #0\(zero-based\) was expected to be a bool tensor but is a int32 tensor",
                ),
            ),
        )
        for name, (function, reference, op_type) in LOGIC.items()
    ],
    Row("logical_not", tf.logical_not, (boolean(2, 3),), np.logical_not, ops=("LogicalNot",), dtypes=("bool",)),
    *[
        Row(
            name,
            function,
            (m, n),
            reference,
            ops=(op_type,),
            dtypes=INTS,
            errors=(
                (
                    lambda function=function: function([1.0], [1.0]),
                    Invalid,
                    "attr 'T' of float is not in the list of allowed values: int8",
                ),
            ),
        )
        for name, (function, reference, op_type) in BITS.items()
    ],
    Row("invert", tf.bitwise.invert, (m,), np.invert, ops=("Invert",), dtypes=INTS),
    Row(
        "left_shift",
        tf.bitwise.left_shift,
        (m, integers(0, 7, 3)),
        np.left_shift,
        ops=("LeftShift",),
        dtypes=INTS,
        special=((([1, 2], [40, -1]), [-2147483648, 2]),),
    ),
    Row(
        "right_shift",
        tf.bitwise.right_shift,
        (m, integers(0, 7, 3)),
        np.right_shift,
        ops=("RightShift",),
        dtypes=INTS,
        special=((([-8, 2], [1, 40]), [-4, 0]),),
    ),
    # -- dtypes
    Row(
        "cast",
        through("float32"),
        (x,),
        lambda x: x,
        ops=("Cast",),
        tolerance=1e-2,
        oracle=False,
        result=lambda dtype: "float64",
    ),
    Row(
        "cast complex",
        lambda x: tf.cast(x, "float64"),
        (z,),
        jnp.real,
        ops=("Cast",),
        dtypes=("complex128",),
        oracle=False,
    ),
    Row(
        "cast to complex",
        lambda x: tf.cast(x, "complex128"),
        (x,),
        lambda x: x + 0j,
        ops=("Cast",),
        dtypes=("float64",),
    ),
    Row(
        "cast through ints",
        through("int32"),
        (x * 10,),
        np.trunc,
        ops=("Cast",),
        order=0,
        dtypes=FLOATS,
        result=lambda dtype: "float64",
    ),
    Row(
        "cast to bool",
        lambda x: tf.cast(x, tf.bool),
        (integers(0, 2, 3),),
        lambda x: x != 0,
        ops=("Cast",),
        dtypes=INTS,
        special=((([0.0, 2.0, NAN],), [False, True, True]),),
    ),
    Row(
        "cast to uint8",
        lambda x: tf.cast(x, tf.uint8),
        (x,),
        lambda x: np.trunc(x).astype("i4").astype("u1"),
        ops=("Cast",),
        order=0,
        special=((([1.9, -1.9, 300.0, NAN],), [1, 255, 44, 0]), (([300, -1],), [44, 255])),
        errors=(
            (lambda: tf.cast(["1"], tf.float32), tf.errors.UnimplementedError, "Cast string to float is not supported"),
            (lambda: tf.cast([1.0], tf.string), tf.errors.UnimplementedError, "Cast float to string is not supported"),
        ),
    ),
    Row(
        "cast to int32",
        lambda x: tf.cast(x, tf.int32),
        (x,),
        lambda x: np.trunc(x).astype("i4"),
        ops=("Cast",),
        order=0,
        special=(
            (([NAN, INF, -INF, 1e20, -2147483648.0],), [-2147483648] * 5),
            ((np.array([2147483647.9, -2147483648.9]),), [2147483647, -2147483648]),
        ),
    ),
    Row(
        "cast to int64",
        lambda x: tf.cast(x, tf.int64),
        (x,),
        lambda x: np.trunc(x).astype("i8"),
        ops=("Cast",),
        order=0,
        dtypes=FLOATS,
        special=((([NAN, INF, 1e30],), np.array([-9223372036854775808] * 3)),),
    ),
    Row(
        "cast to uint32",
        lambda x: tf.cast(x, tf.uint32),
        (np.abs(x),),
        lambda x: np.trunc(x).astype("u4"),
        ops=("Cast",),
        order=0,
        special=((([NAN, -1.0, -1.5, 1e30, 4e9],), np.array([0, 4294967295, 4294967295, 0, 4000000000])),),
    ),
    Row(
        "cast to uint64",
        lambda x: tf.cast(x, tf.uint64),
        (np.abs(x),),
        lambda x: np.trunc(x).astype("u8"),
        ops=("Cast",),
        order=0,
        special=((([-1.0, 1e19],), np.array([18446744073709551615, 9999999980506447872], "u8")),),
    ),
    Row(
        "saturate_cast",
        saturated("float32"),
        (x,),
        lambda x: x,
        ops=("Cast",),
        tolerance=1e-2,
        oracle=False,
        dtypes=("float64",),
        result=lambda dtype: "float32",
        special=((np.array([1e300, -1e300, 0.5]), [3.4028234663852886e38, -3.4028234663852886e38, 0.5], [0.0, 0.0, 1.0]),),
    ),
    Row(
        "saturate_cast to uint8",
        saturated("uint8"),
        (x * 200,),
        lambda x: np.clip(np.trunc(x), 0, 255).astype("u1"),
        order=0,
        ops=("Minimum", "Maximum", "Cast"),
        dtypes=FLOATS[:3],
        special=((([300.0, -5.0],), [255, 0]), (([300, -5],), [255, 0])),
    ),
    Row(
        "saturate_cast to int32",
        saturated("int32"),
        (x,),
        lambda x: np.trunc(x).astype("i4"),
        order=0,
        special=((([1e20, -1e20],), [2147483520, -2147483648]),),
    ),
    Row(
        "saturate_cast complex",
        saturated("complex64"),
        (z,),
        lambda x: x,
        dtypes=("complex128",),
        result=lambda dtype: "complex64",
        tolerance=1e-2,
        oracle=False,
    ),
    Row(
        "saturate_cast bfloat16",
        saturated("uint64"),
        (np.abs(x),),
        lambda x: np.trunc(x).astype("u8"),
        order=0,
        ops=("Cast",),
        dtypes=("bfloat16",),
        errors=((lambda: tf.saturate_cast([1.0], tf.bool), TypeError, "only numbers have limits"),),
    ),
    Row("saturate_cast to complex", saturated("complex128"), (x,), lambda x: x + 0j, dtypes=("float64",)),
    Row("saturate_cast of complex", saturated("float64"), (z,), jnp.real, dtypes=("complex128",), oracle=False),
    Row(
        "bitcast",
        lambda x: tf.bitcast(x, "int64"),
        (x,),
        lambda x: x.view("i8"),
        ops=("Bitcast",),
        dtypes=("float64",),
        order=-1,
        special=((np.array([1.0, -2.0]), np.array([4607182418800017408, -4611686018427387904])),),
    ),
    Row(
        "bitcast to float",
        lambda x: tf.bitcast(x, "float32"),
        (integers(0, 9, 3),),
        lambda x: x.view("f4"),
        ops=("Bitcast",),
        dtypes=("int32",),
        result=lambda dtype: "float32",
    ),
    Row(
        "bitcast floats to floats",
        lambda x: tf.bitcast(x, "float32"),
        (x,),
        lambda x: x.view("f4").reshape(2, 3, 2),
        ops=("Bitcast",),
        order=-1,
        dtypes=("float64",),
        result=lambda dtype: "float32",
    ),
    Row(
        "bitcast to bytes",
        lambda x: tf.bitcast(x, tf.uint8),
        (integers(0, 999, 2),),
        lambda x: x.view("u1").reshape(2, 4),
        ops=("Bitcast",),
        special=(
            (([1.0, 2.0],), [[0, 0, 128, 63], [0, 0, 0, 64]]),
            ((np.array([1 + 2j], "c8"),), [[0, 0, 128, 63, 0, 0, 0, 64]]),
        ),
        dtypes=("int32",),
    ),
    Row(
        "bitcast to wider",
        lambda x: tf.bitcast(x, tf.int64),
        (integers(0, 999, 3, 2),),
        lambda x: x.view("i8")[:, 0],
        ops=("Bitcast",),
        dtypes=("int32",),
        special=((([[1, 2], [3, 4]],), np.array([8589934593, 17179869187])),),
        errors=(
            (
                lambda: tf.bitcast([1, 2, 3], tf.int64),
                Invalid,
                r"Cannot bitcast from 3 to 9 \(int32 to int64\).*received shape \[3\]",
            ),
            (lambda: tf.bitcast(1, tf.int64), Invalid, "Cannot bitcast from 3 to 9"),
            (lambda: tf.bitcast([1.0], tf.bool), Invalid, "attr 'type' of bool is not in the list"),
        ),
    ),
    Row(
        "bitcast complex",
        lambda x: tf.bitcast(x, "float64"),
        (z,),
        lambda x: x.view("f8").reshape(2, 3, 2),
        ops=("Bitcast",),
        order=-1,
        dtypes=("complex128",),
        special=((np.array([1 + 2j]), np.array([[1.0, 2.0]])),),
    ),
    Row(
        "bitcast to complex",
        lambda x: tf.bitcast(x, "complex64"),
        (real(3, 2),),
        lambda x: x.astype("f4").view("c8")[:, 0],
        ops=("Bitcast",),
        order=-1,
        dtypes=("float32",),
        result=lambda dtype: "complex64",
        special=((([[1.0, 2.0]],), [1 + 2j]), (np.array([1.0]), np.array([1.0]).view("c8"))),
    ),
    # -- complex parts
    Row(
        "complex",
        tf.complex,
        (x, row),
        lambda x, y: x + 1j * y,
        ops=("Complex",),
        special=((([1.0], 2.0), np.array([1 + 2j], "c8"), ([1.0], 0.0)),),
        errors=(
            (
                lambda: tf.complex(tf.constant([1.0], tf.float64), tf.constant([2.0])),
                TypeError,
                "incorrect types: float64 float32",
            ),
            (lambda: tf.complex(1, 2), TypeError, "incorrect types: int32 int32"),
        ),
    ),
    Row(
        "real",
        tf.math.real,
        (z,),
        jnp.real,
        ops=("Real",),
        dtypes=COMPLEX,
        errors=(
            (
                lambda: tf.math.real([True]),
                TypeError,
                "input must be a numeric tensor, but got tensor with dtype tf.bool",
            ),
        ),
        special=((np.array([3 + 4j]), [3.0], [1.0]), ([1.0], [1.0], [1.0])),
    ),
    Row(
        "imag",
        tf.math.imag,
        (z,),
        jnp.imag,
        ops=("Imag",),
        dtypes=COMPLEX,
        special=((np.array([3 + 4j]), [4.0], [1j]), (([1.0],), [0.0])),
    ),
    Row(
        "conj",
        tf.math.conj,
        (z,),
        jnp.conj,
        ops=("Conj",),
        dtypes=COMPLEX,
        special=((np.array([3 + 4j]), [3 - 4j], [1.0]), ([1.0], [1.0], [1.0])),
        errors=((lambda: tf.math.conj([True]), TypeError, "Expected numeric or variant tensor, got dtype tf.bool"),),
    ),
    Row(
        "angle",
        tf.math.angle,
        (z,),
        jnp.angle,
        ops=("Angle",),
        dtypes=COMPLEX,
        special=(
            (np.array([3 + 4j, 0]), [0.9272952180016122, 0.0], [-0.16 + 0.12j, complex(NAN, NAN)]),
            (([1.0, -1.0, 0.0],), [0.0, np.pi, 0.0]),
        ),
        errors=((lambda: tf.math.angle([1]), TypeError, "Cannot convert 3.14159"),),
    ),
)
