"""What sees each op that runs by itself, and compares NumPy's result with the kernel's."""

import jax
import numpy as np
import pytest

from gradtape._src.core.platform import arrays
from gradtape._src.core.programs.op import ops

# Relative to the largest finite value of a result.
ROUNDED = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-11, "complex128": 1e-11}


def agree(received, expected, inputs, tolerance=0.0):
    """Return whether floats agree to rounding, or the tolerance, with NaN and infinities at the same places."""
    tolerance = max(ROUNDED[expected.dtype.name], tolerance)
    largest = max([scale(x) for x in (*inputs, expected) if x.dtype.name in ROUNDED])
    return np.allclose(wide(received), wide(expected), tolerance, tolerance * largest, equal_nan=True)


def wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def scale(array):
    """Return the largest finite magnitude in an array."""
    magnitudes = np.abs(wide(array))
    return magnitudes[np.isfinite(magnitudes)].max(initial=1e-300)


NO_TWIN, LOOPS = "NumPy has no twin of it", "it loops"  # reasons not to be hosted, which are tried
PYTHON = "it runs in Python"

# Computed in float32 whatever the dtype is.
SINGLE = frozenset(("ResizeBilinearGrad", "ResizeBicubicGrad", "ScaleAndTranslateGrad", "CropAndResizeGradImage"))


class Compared:
    """Compares each hosted op that runs by itself with NumPy's result, without a call of JAX."""

    def __init__(self):
        self.types = set()

    def __call__(self, program, index, inputs, value):
        op, attrs = program.keys[index][:2]
        inputs = [np.asarray(x) for x in inputs]
        if not op.hosted:
            self.look_at_reason(op, attrs, inputs, program.avals[index])
            return
        with jax.transfer_guard("disallow"):  # a kernel that is left to JAX would compile
            found = arrays.run(op, attrs, inputs, program.avals[index])
        for received, expected in zip(_several(found), _several(value), strict=True):
            expected = np.asarray(expected)
            assert received.dtype == expected.dtype and received.shape == expected.shape, op.type
            same = (
                agree(received, expected, inputs, ROUNDED["float32"] if op.type in SINGLE else 0.0)
                if expected.dtype.name in ROUNDED
                else np.array_equal(received, expected)
            )
            assert same, f"{op.type}{attrs}: {received} on the host, {expected} compiled"
        self.types.add(op.type)

    def missing(self, row):
        """The hosted ops that a row covers and that were not seen."""
        return {type for type in row.ops if ops[type].hosted} - self.types

    def look_at_reason(self, op, attrs, inputs, avals):
        """Check that a kernel that is said not to run on NumPy arrays does not: it asks for a name, or for JAX."""
        if op.unhosted not in (LOOPS, NO_TWIN) or not all(x.size for x in inputs):
            return
        with jax.transfer_guard("disallow"), pytest.raises(Exception, match=r"has no attribute|Disallowed"):
            arrays.run(op, attrs, inputs, avals)
        self.types.add(op.type)


def _several(value):
    return value if isinstance(value, tuple) else (value,)
