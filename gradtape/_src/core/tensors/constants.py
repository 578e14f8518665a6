"""Conversion of Python and NumPy values to arrays, with TensorFlow's choice of dtype and TensorFlow's errors.

In eager code the type of the first value determines the dtype. In a function or graph TensorFlow uses NumPy's rules, which
consider all values.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from gradtape._src.core.engine import engine
from gradtape._src.core.platform import xla
from gradtape._src.core.tensors.tensor import Tensor, graph_of, unvalued
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.dim import exploring, in_numbers
from gradtape._src.core.values.dtypes import spoken_name

NUMBERS = (int, float, bool, complex)
PLAIN = frozenset(NUMBERS)
LARGEST = float(np.finfo(np.float32).max)

# The dtypes to which TensorFlow converts a bool.
_TAKE_BOOLS = frozenset(map(np.dtype, ("bool", "int32", "int64", "uint64", "float16", "float32", "float64", "complex128")))
_WIDTHS = {"i": 1, "u": 1, "f": 2, "V": 2, "c": 3}


def _takers(kind: str) -> frozenset[np.dtype]:
    if kind == "b":
        return _TAKE_BOOLS
    return frozenset([dtype for dtype in dtypes.BY_NUMPY if _WIDTHS.get(dtype.kind, 0) >= _WIDTHS[kind]])


# For a Python type, or the kind of a NumPy dtype: the dtypes that can represent its values. 1 may become 1.0, but not 1.5 1.
TAKERS: dict[Any, frozenset[np.dtype]] = {kind: _takers(kind) for kind in ("b", *_WIDTHS)}
TAKERS |= {bool: TAKERS["b"], int: TAKERS["i"], float: TAKERS["f"], complex: TAKERS["c"]}


def to_array(value: Any, dtype: np.dtype | None = None) -> Any:
    """Return `value` as an array that nobody else can modify: a JAX array as it is, else a NumPy copy.

    NumPy arrays are cast to `dtype` (NumPy's). Python values must be representable in it.
    """
    kind = type(value)
    if kind is not list and kind is not tuple:
        if isinstance(value, jax.core.Tracer):
            raise TypeError(
                f"Received {value}, a value that JAX traces: gradtape's ops cannot be a part of jax.jit or jax.vmap. "
                "Call gradtape outside of it, or put the JAX function on the tape by tf.jax_function."
            )
        if isinstance(value, jax.Array):
            if dtype is None or value.dtype == dtype:
                return value
            with xla.outside():
                return value.astype(dtype)
        # PyTorch refuses to convert a tensor that requires a gradient.
        if hasattr(value, "detach") and hasattr(value, "requires_grad"):
            value = value.detach()
        if not isinstance(value, (list, tuple)) and hasattr(value, "__array__"):
            array = np.array(value)
            return _own(in_numbers(array) if array.dtype.hasobject and exploring() else array, dtype)
    return of_values(value, kinds_in(value), dtype)


def of_values(value: Any, kinds: dict[type, None], dtype: np.dtype | None) -> np.ndarray:
    """Return a Python value, or a nest of lists of values, as an array; `kinds` are the types of its leaves."""
    try:
        array = np.array(value)
    except UnicodeDecodeError:  # text beside bytes
        array = np.array(value, object)
    except ValueError:
        raise _no_tensor(value, kinds) from None
    if array.dtype == object or array.dtype.kind in "USMm":
        if kinds and all(issubclass(k, (str, bytes)) for k in kinds):
            return _strings(np.array(value, object), dtype)  # NumPy's string dtypes drop trailing NULs
        if array.dtype != object or dtype is None or not all(issubclass(k, int) for k in kinds):
            raise _no_tensor(value, kinds)
    if dtype is not None:
        return _fitted(array, dtype, value)
    return _traced(array) if engine.tracing() else _default(array, kinds)


def _own(array: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    """Return a copied NumPy array in native byte order, cast to `dtype` if given."""
    kind = array.dtype.kind
    if kind in "US" or (kind == "O" and all(isinstance(item, (str, bytes)) for item in array.ravel())):
        return _strings(array, dtype)
    if kind in "mM" and dtype is not None and dtype.kind != "O":
        return array.astype(dtype)  # dates and spans of time count their units
    if kind == "O" or array.dtype not in dtypes.BY_NUMPY:
        native = array.dtype.newbyteorder("=")
        if kind == "O" or native not in dtypes.BY_NUMPY:
            raise _no_array(array)
        array = array.astype(native)
    if dtype is None or array.dtype is dtype:
        return array
    if kind == "c" and dtype.kind not in "cb":
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(dtype, copy=False)


def _strings(array: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    if dtype is not None and dtype.kind != "O":
        raise TypeError(
            f"Cannot convert {array.ravel().tolist()[0]!r} to EagerTensor of dtype {spoken_name(dtype)}: a string is no number. "
            "tf.strings.to_number makes one of it."
        )
    result = np.empty(array.size, object)
    result[:] = [item.encode() if isinstance(item, str) else item for item in array.ravel().tolist()]
    return result.reshape(array.shape)


def kinds_in(value: Any) -> dict[type, None]:
    """Return the types of the leaves of a nest of lists, in order of first appearance: a dict used as an ordered set."""
    kinds: dict[type, None] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is list or kind is tuple or issubclass(kind, (list, tuple)):
            stack.extend(reversed(item))
        else:
            kinds[item.dtype.type if kind is np.ndarray else kind] = None
    return kinds


# ---------------------------------------------------------------------------------------------------------------------
# The dtype of Python values


_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
_BY_KIND = {
    int: np.dtype(np.int32),
    float: np.dtype(np.float32),
    bool: np.dtype(bool),
    complex: np.dtype(np.complex128),
}


def number(value: Any, kind: type) -> np.dtype:
    """Return the default dtype of a Python number: float32, int32, or int64 where int32 overflows."""
    if kind is int and not -(2**31) <= value < 2**31:
        if engine.tracing() and not -(2**63) <= value < 2**63:
            if not 0 <= value < 2**64:
                raise no_constant(value)
            return _UINT64
        return _INT64
    if kind is float and not -LARGEST <= value <= LARGEST and abs(value) < float("inf") and not engine.tracing():
        raise _out_of_range(value)
    return _BY_KIND[kind]


def _default(array: np.ndarray, kinds: dict[type, None]) -> np.ndarray:
    """Convert Python values for eager code to float32, int32, or int64 if int32 overflows; a leading NumPy float stays."""
    if len(kinds) > 1:
        _check_mixture(kinds)
    first = next(iter(kinds), float)
    integers = issubclass(first, int) and all(issubclass(k, int) for k in kinds)
    if array.dtype == np.uint64 or (array.dtype.kind == "f" and integers):
        raise ValueError(f"Can't convert Python sequence with out-of-range integer to Tensor: {str(array)[:80]}.")
    if array.dtype.kind == "f":
        if issubclass(first, np.floating):
            return array.astype(np.dtype(first))
        large = np.abs(array) > LARGEST
        if large.any() and np.isfinite(array[large]).any():
            raise _out_of_range(array[large][0])
        return array.astype(np.float32)
    if array.dtype.kind in "iu" and (array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)):
        return array.astype(np.int32)
    return array


def _check_mixture(kinds: dict[type, None]) -> None:
    """Raise ValueError unless Python values may be mixed.

    As in TensorFlow the first one decides: bools do not mix with numbers, and complex numbers must come first.
    """
    letters = [np.dtype(k).kind for k in kinds if issubclass(k, (*NUMBERS, np.generic))]
    if letters and len(set(letters)) > 1 and (letters[0] == "b" or ("c" in letters and letters[0] != "c")):
        raise ValueError("Can't convert Python sequence with mixed types to Tensor. Give dtype=, or values of one type.")


def _traced(array: np.ndarray) -> np.ndarray:
    """Convert Python values for a function or graph: NumPy's 64 bits become float32 and int32, or int64 if int32 overflows."""
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def _fitted(array: np.ndarray, dtype: np.dtype, value: Any) -> np.ndarray:
    """Convert Python values to a given dtype; raise if the conversion loses information."""
    if array.size and array.dtype != object and dtype not in TAKERS[array.dtype.kind]:
        raise TypeError(
            f"Cannot convert {str(value)[:80]} to EagerTensor of dtype {spoken_name(dtype)}. Use tf.cast, or give values of "
            "that type."
        )
    if dtype.kind in "iu" and array.size and array.dtype.kind != "b":
        limits = np.iinfo(dtype)
        if array.min() < limits.min or array.max() > limits.max:
            raise ValueError(
                f"Can't convert Python sequence with out-of-range integer to Tensor: {str(value)[:80]} does not fit "
                f"{dtype.name}, which holds {limits.min} to {limits.max}."
            )
    try:
        with np.errstate(all="ignore"):
            return array.astype(dtype, copy=False)
    except OverflowError:  # Python integers may be too large
        raise ValueError(f"Can't convert Python sequence with out-of-range integer to Tensor: {str(value)[:80]}.") from None


# ---------------------------------------------------------------------------------------------------------------------
# Values that are not tensors


def _no_tensor(value: Any, kinds: dict[type, None]) -> Exception:
    """Return the error for a value that cannot be a tensor."""
    strange = [k for k in kinds if not issubclass(k, (*NUMBERS, np.generic, str, bytes))]
    mixed = len({issubclass(k, (str, bytes)) for k in kinds}) > 1
    if engine.tracing() and value is not None and (strange or mixed or not isinstance(value, (list, tuple))):
        return no_constant(value)
    if strange:
        item = None if strange[0] is type(None) else value
        return ValueError(f"Attempt to convert a value ({str(item)[:80]}) with an unsupported type ({strange[0]}) to a Tensor.")
    if mixed:
        return ValueError("Can't convert Python sequence with mixed types to Tensor. Give values of one type.")
    if any(issubclass(k, (np.datetime64, np.timedelta64)) for k in kinds):
        return ValueError("Failed to convert a NumPy array to a Tensor (Unsupported numpy type: datetime64).")
    if _shape(value) is not None:
        return ValueError(f"Can't convert Python sequence with out-of-range integer to Tensor: {str(value)[:80]}.")
    return ValueError(
        f"Can't convert non-rectangular Python sequence to Tensor.\nAll rows must have the same length: {str(value)[:80]}"
    )


def _no_array(array: np.ndarray) -> Exception:
    """Return the error for a NumPy array that cannot be a tensor."""
    if engine.tracing():
        return no_constant(array)
    if array.dtype.kind == "O":
        kind = type(array.ravel()[0]).__name__ if array.size else "object"
        return ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type {kind}).")
    return ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported numpy type: {array.dtype}).")


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of nested lists and arrays; None if they are not rectangular."""
    if not isinstance(value, (list, tuple)):
        return np.shape(value)
    shapes = set(map(_shape, value))
    if len(shapes) > 1 or None in shapes:
        return None
    return (len(value), *(shapes.pop() or () if shapes else ()))


def _out_of_range(value: Any) -> ValueError:
    return ValueError(
        f"Can't convert Python sequence with a value out of range for a double-precision float: {value!r} does not fit "
        "float32. Give dtype=tf.float64, or a smaller number."
    )


def no_constant(value: Any) -> TypeError:
    """Return the error for a value that cannot be a constant of a function or graph."""
    return TypeError(f"Failed to convert elements of {str(value)[:80]} to Tensor. Consider casting elements to a supported type.")


def refuse_tensors(value: Any) -> None:
    """Raise TypeError if `tf.constant` is given a symbolic tensor, or a nest with one. Eager tensors have values."""
    if engine.tracing() and any(map(_of_function, value if isinstance(value, (list, tuple)) else [value])):
        raise TypeError(
            f"Expected any non-tensor type, but got a tensor instead: {str(value)[:80]}. A constant is made of numbers: use "
            "tf.convert_to_tensor, or tf.identity."
        )


def _of_function(value: Any) -> bool:
    return isinstance(value, Tensor) and (graph_of(value.node) is not None or unvalued(value.node))
