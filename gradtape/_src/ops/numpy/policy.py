"""Policies of NumPy's functions: how a library makes tensors of values, promotes their dtypes, and refuses an axis.

Each function is written once and takes its policy by keyword. `tf.experimental.numpy` has them under `TENSORFLOW`,
Keras's backend under a policy of its own.
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
    """The conventions of `tf.experimental.numpy`: NumPy's own dtypes, int64 for places, TensorFlow's errors."""

    COUNTED: Any = "int8"  # what bools become in arithmetic that has none for them
    PLACES: Any = "int64"
    RELU = True  # whether the maximum with the number 0 is `relu`, whose gradient at 0 is 0

    def refused(self, message):
        """Return the error of a number that a function cannot take."""
        return ValueError(message)

    def array(self, value, dtype=None):
        """Return a value as a tensor of `dtype`, or of the dtype that NumPy gives it. A tensor keeps its own."""
        if is_tensor(value):
            x = tensor(value)
            return x if dtype is None or x.dtype == dtype else cast(x, dtype)
        dtype = of_value(value, dtype)
        return cast(convert_to_tensor(value, dtype_hint=dtype), dtype)

    def dtype(self, dtype):
        """Return an argument `dtype` as a DType; None is the default float."""
        return result_type(dtype) if dtype else default_float()

    def result_type(self, *values):
        """Return the DType in which values meet."""
        return result_type(*values)

    def promoted(self, *values):
        """Return values as tensors of their common dtype."""
        dtype = result_type(*values)
        return [self.array(value, dtype) for value in values]

    def operands(self, x1, x2):
        """Return `(x1, x2, dtype)`: two operands as an op takes them, and the dtype in which they meet."""
        x1, x2 = self.promoted(x1, x2)
        return x1, x2, x1.dtype

    def counted(self, x1, x2):
        """Return `operands`, of which bools are integers."""
        x1, x2, dtype = self.operands(x1, x2)
        return (cast(x1, self.COUNTED), cast(x2, self.COUNTED), dtype) if dtype.is_bool else (x1, x2, dtype)

    def fraction(self, x1, x2):
        """Return the operands of a quotient. Integers stay, as a division makes them floats."""
        x1, x2, dtype = self.operands(x1, x2)
        return (cast(x1, default_float()), cast(x2, default_float())) if dtype.is_bool else (x1, x2)

    def floating(self, value):
        """Return a value as a tensor of floats or complex numbers; integers become the default float."""
        x = self.array(value)
        return x if x.dtype.is_floating or x.dtype.is_complex else cast(x, default_float())

    def angular(self, value):
        """Return angles, that are to be scaled, as floats."""
        return self.floating(value)

    def floats(self, x1, x2):
        """Return two values as floats, or complex numbers, of their common dtype."""
        return [self.floating(x) for x in self.promoted(x1, x2)]

    def averaged(self, value):
        """Return a value in the dtype in which its mean is computed."""
        return self.floating(value)

    def numeric(self, value):
        """Return a value as a tensor, bools as numbers where the library counts them so."""
        return self.array(value)

    def truth(self, value):
        """Return a value as a tensor of bools: whether it is not zero."""
        return self.array(value, result_type(bool))

    def nowhere(self, x):
        """Return a predicate of floats that no element of `x` fulfils: a plain False, as in TensorFlow."""
        return False

    def summed(self, value):
        """Return a value in the dtype of its sum: of integers with fewer than 64 bits, and bools, one with 64."""
        x = self.array(value)
        if x.dtype.is_bool or (x.dtype.is_integer and x.dtype.size < 8):
            return cast(x, "uint64" if x.dtype.is_unsigned else "int64")
        return x

    def running(self, value):
        """Return a value in the dtype of its running sums. Bools, of which there are none, stay."""
        x = self.array(value)
        return x if x.dtype.is_bool else self.summed(x)

    def product(self, function, *values):
        """Return `function` of values in their common dtype, sums of whose products it can compute."""
        return function(*self.promoted(*values))

    def check_extremum(self, x, axis):
        """Refuse the extremum of nothing, or let it be the least or greatest number, as TensorFlow does."""

    def ordered(self, value):
        """Return a value as a tensor whose elements are compared as the library does."""
        return self.array(value)

    def axis(self, axis, rank, what="axis"):
        """Return an axis as an int ≥ 0; an error outside of [-rank, rank)."""
        return axis_of(axis, rank, what)

    def axes(self, axis, rank, what="axis"):
        """Return an axis, a sequence of axes, or None for all, as a list of ints ≥ 0."""
        if axis is None:
            return list(range(rank))
        return [self.axis(a, rank, what) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]


TENSORFLOW = Policy()
as_array, promoted, floating = TENSORFLOW.array, TENSORFLOW.promoted, TENSORFLOW.floating


def numpy_function(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function with a keyword `policy` as a public one, which shows what precedes it."""
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
    """Return a function of `numpy_function` under another policy."""
    return functools.partial(function.__wrapped__, policy=policy)
