"""What JAX makes of the references of rows: values and gradients. Rows that are computed together share a program."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from tests.ops.spy import several


def compute(rows, traced):
    """JAX's results of each of `rows`, or the exception of one that it cannot trace; `traced(row)` is `(function, arguments)`."""
    calls, found = {}, {}
    for i, row in enumerate(rows):
        try:
            calls[i] = traced(row)
        except Exception as error:
            found[i] = error

    def every(arguments):
        results = {}
        for i, (function, _) in calls.items():
            try:
                results[i] = function(*arguments[i])
            except Exception as error:
                found[i] = error
        return results

    with jax.numpy_dtype_promotion("standard"), np.errstate(all="ignore"):
        found |= jax.jit(every)({i: arguments for i, (_, arguments) in calls.items()})
    return {row: found[i] for i, row in enumerate(rows)}


def values(row):
    """`(function, arguments)` of the reference's results for each dtype, at full precision."""

    def results(arguments):
        return {dtype: list(several(row.reference(*arrays))) for dtype, arrays in arguments.items()}

    return results, ({dtype: [full_precision(array) for array in row.arguments(dtype)] for dtype in row.dtypes},)


def full_precision(array):
    """float64 or complex128 in place of a narrower type."""
    if array.dtype.kind == "c":
        return array.astype("complex128")
    return array.astype("float64") if array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16 else array


def gradients(it):
    """`(function, arguments)` of the gradients that `Differentiated` has, of second order where it has those.

    JAX's complex gradients are the conjugates of TensorFlow's.
    """

    def conj(arrays):
        return [jnp.conj(a) for a in arrays]

    def call(x):
        arguments = list(it.row.args)
        for position, value in zip(it.positions, x, strict=True):
            arguments[position] = value
        results = several(it.row.reference(*arguments))
        return [r for r in results if jnp.issubdtype(r.dtype, jnp.inexact)]

    def gradient(x, c):
        return conj(jax.vjp(call, x)[1](conj(c))[0])

    def both(x, c):
        if it.order < 2:
            return [gradient(x, c)]
        dx, pull = jax.vjp(gradient, x, c)
        return [dx, *[conj(part) for part in pull(conj(it.u))]]

    return both, (it.x, it.c)
