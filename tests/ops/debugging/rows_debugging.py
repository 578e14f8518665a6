"""Rows of checks and of printing."""

import numpy as np

import gradtape as tf
from gradtape._src.core.engine import tracing
from gradtape._src.ops.debugging.checks import Elements, _assert
from tests.ops.table import Row, boolean, real

Invalid = tf.errors.InvalidArgumentError
check = tf.debugging.check_numerics


def printed_in_a_function(x):
    """Recorded, as a function is traced, and not run."""
    with tracing.inner():
        tf.print(x)
    return x


def stamped_in_a_function(x):
    """Recorded, as a function is traced, and not run."""
    with tracing.inner():
        tf.timestamp()
    return x


def slope_of_checked(x):
    """The gradient of x², which passes a check."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = check(x, "here") ** 2
    return tape.gradient(y, x)


ROWS = (
    Row("gradient_of_check_numerics", slope_of_checked, (real(2, 3),), lambda x: 2.0 * x, ops=("CheckNumericsGradient",)),
    Row("timestamp", stamped_in_a_function, (real(2),), lambda x: x, ops=("Timestamp",)),
    Row(
        "check-numerics",
        lambda x: check(x, "here"),
        (real(2, 3),),
        lambda x: x,
        ops=("CheckNumerics",),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        special=(
            (np.zeros((0, 2), "float32"), np.zeros((0, 2)), np.ones((0, 2))),
            ([1.0, 2.0], [1.0, 2.0], [1.0, 1.0]),
        ),
        errors=(
            (lambda: check([1.0, np.nan], "here"), Invalid, "here : Tensor had NaN values"),
            (lambda: check([1.0, -np.inf], "here"), Invalid, "here : Tensor had Inf values"),
            (lambda: check([np.nan, np.inf], "here"), Invalid, "here : Tensor had Inf and NaN values"),
            (lambda: check([1], "here"), Invalid, "Value for attr 'T' of int32 is not in the list of allowed values"),
            (lambda: tf.debugging.assert_all_finite([np.nan], "here"), Invalid, "here : Tensor had NaN values"),
        ),
    ),
    Row("all-finite", lambda x: tf.debugging.assert_all_finite(x, "here"), (real(3),), lambda x: x),
    Row(
        "assert",
        lambda x: _assert(x, explain=Elements("broken", "", None)),
        (boolean(1),),
        lambda x: x,
        ops=("Assert",),
        dtypes=("float64",),
        errors=((lambda: _assert([True, False], explain=Elements("broken", "", None)), Invalid, r"broken \[Op:Assert\]"),),
    ),
    Row("print", printed_in_a_function, (real(2),), lambda x: x, ops=("PrintV2",)),
)
