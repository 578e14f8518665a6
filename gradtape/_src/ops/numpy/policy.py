"""Policies of the NumPy functions: how a library converts values, promotes dtypes, and rejects an axis.

Each function is written once and takes its policy by keyword. `tf.experimental.numpy` uses `TENSORFLOW`, Keras's backend a
policy of its own.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import DeferredSignature
from gradtape._src.core.tensors.convert import convert_to_tensor, is_tensor, tensor
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.numpy.dtypes import default_float, of_value, result_type
from gradtape._src.ops.shapes import axis_of

P = ParamSpec("P")
R = TypeVar("R")


class Policy:
    """The conventions of `tf.experimental.numpy`: NumPy's own dtypes, int64 for indices, TensorFlow's errors."""

    COUNTED: Any = "int8"  # the dtype of bools in arithmetic that is not defined for them
    PLACES: Any = "int64"
    RELU = True  # whether the maximum with the number 0 is `relu`, whose gradient at 0 is 0

    def refused(self, message):
        """Return the error for an invalid number."""
        return ValueError(message)

    def array(self, value, dtype=None):
        """Convert a value to a tensor of `dtype`, or of NumPy's dtype for it. A tensor keeps its own."""
        if is_tensor(value):
            x = tensor(value)
            return x if dtype is None or x.dtype == dtype else cast(x, dtype)
        dtype = of_value(value, dtype)
        return cast(convert_to_tensor(value, dtype_hint=dtype), dtype)

    def dtype(self, dtype):
        """Convert an argument `dtype` to a DType; None is the default float."""
        return result_type(dtype) if dtype else default_float()

    def result_type(self, *values):
        """Return the DType to which values are promoted."""
        return result_type(*values)

    def promoted(self, *values):
        """Convert values to tensors of their common dtype."""
        dtype = result_type(*values)
        return [self.array(value, dtype) for value in values]

    def operands(self, x1, x2):
        """Return `(x1, x2, dtype)`: two operands in the dtype for an op, and the dtype to which they are promoted."""
        x1, x2 = self.promoted(x1, x2)
        return x1, x2, x1.dtype

    def counted(self, x1, x2):
        """Return `operands`, with bools as integers."""
        x1, x2, dtype = self.operands(x1, x2)
        return (cast(x1, self.COUNTED), cast(x2, self.COUNTED), dtype) if dtype.is_bool else (x1, x2, dtype)

    def fraction(self, x1, x2):
        """Return the operands of a quotient. Integers are kept, as the division converts them to floats."""
        x1, x2, dtype = self.operands(x1, x2)
        return (cast(x1, default_float()), cast(x2, default_float())) if dtype.is_bool else (x1, x2)

    def floating(self, value):
        """Convert a value to a floating or complex tensor; integers become the default float."""
        x = self.array(value)
        return x if x.dtype.is_floating or x.dtype.is_complex else cast(x, default_float())

    def angular(self, value):
        """Convert angles to floats."""
        return self.floating(value)

    def floats(self, x1, x2):
        """Convert two values to floats, or complex numbers, of their common dtype."""
        return [self.floating(x) for x in self.promoted(x1, x2)]

    def averaged(self, value):
        """Convert a value to the dtype in which its mean is computed."""
        return self.floating(value)

    def numeric(self, value):
        """Convert a value to a tensor, with bools as numbers if the library does so."""
        return self.array(value)

    def truth(self, value):
        """Convert a value to a tensor of bools: whether it is not zero."""
        return self.array(value, result_type(bool))

    def nowhere(self, x):
        """Return the result of a predicate of floats that is false for all of `x`: a plain False, as in TensorFlow."""
        return False

    def summed(self, value):
        """Convert a value to the dtype of its sum: a 64-bit type for smaller integers and bools."""
        x = self.array(value)
        if x.dtype.is_bool or (x.dtype.is_integer and x.dtype.size < 8):
            return cast(x, "uint64" if x.dtype.is_unsigned else "int64")
        return x

    def running(self, value):
        """Convert a value to the dtype of its running sums: int64 for smaller integers. Bools have none, and are kept."""
        x = self.array(value)
        return cast(x, "int64") if x.dtype.is_integer and x.dtype.size < 8 else x

    def product(self, function, *values):
        """Apply `function` to values in their common dtype, which must support sums of products."""
        return function(*self.promoted(*values))

    def check_extremum(self, x, axis):
        """Raise for the extremum of an empty array; TensorFlow's is the least or greatest number."""

    def ordered(self, value):
        """Convert a value to a tensor whose elements compare in the library's order."""
        return self.array(value)

    def axis(self, axis, rank, what="axis"):
        """Convert an axis to an int ≥ 0; an error outside of [-rank, rank)."""
        return axis_of(axis, rank, what)

    def axes(self, axis, rank, what="axis"):
        """Convert an axis, a sequence of axes, or None for all, to a list of ints ≥ 0."""
        if axis is None:
            return list(range(rank))
        return [self.axis(a, rank, what) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]


TENSORFLOW = Policy()
as_array, promoted, floating = TENSORFLOW.array, TENSORFLOW.promoted, TENSORFLOW.floating


def numpy_function(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function with a keyword `policy` public; its signature is shown without that keyword."""
    shown = public(function)
    shown.__signature__ = _Shown(function)  # type: ignore[attr-defined]
    return shown


class _Shown(DeferredSignature):
    """The signature of a function without its policy."""

    __slots__ = ()

    def _found(self):
        found = inspect.signature(self._function)
        return found.replace(parameters=[p for p in found.parameters.values() if p.name != "policy"])


def under(policy, function):
    """Bind a function of `numpy_function` to another policy."""
    return functools.partial(function.__wrapped__, policy=policy)
