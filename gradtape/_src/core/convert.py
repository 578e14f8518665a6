"""Python and NumPy values as tensors: which dtype they take, and what cannot be converted."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gradtape._src.core import constants, conversions, dtypes, engine, journal, memory
from gradtape._src.core.aval import LARGE
from gradtape._src.core.errors import DtypeError, invalid, invalid_dtype, public, tracing
from gradtape._src.core.indexed_slices import IndexedSlices
from gradtape._src.core.program import NUMBER
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.tensor import EagerTensor, Stored, Tensor, handle, to_numpy

if TYPE_CHECKING:
    from gradtape._src.core.errors import OpError
    from gradtape._src.core.op import Op
    from gradtape._src.core.program import Node

NUMBERS = (int, float, bool, complex)
_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3, "O": 4}
LARGEST = float(np.finfo(np.float32).max)
_default = {
    int: np.dtype(np.int32),
    float: np.dtype(np.float32),
    bool: np.dtype(bool),
    complex: np.dtype(np.complex128),
}

_EXTENTS = frozenset(map(np.dtype, ("int32", "int64")))
# The dtypes in which TensorFlow takes a bool for a number.
_TAKE_BOOLS = frozenset(map(np.dtype, ("bool", "int32", "int64", "uint64", "float16", "float32", "float64", "complex128")))


def _fits(number: np.dtype, dtype: np.dtype) -> bool:
    """Whether Python numbers that NumPy takes for `number` can be of `dtype`: 1 may become 1.0, but 1.5 not 1."""
    if number.kind == "b":
        return dtype in _TAKE_BOOLS
    return dtype.kind != "O" and _KINDS[number.kind] <= _KINDS[dtype.kind]


def node_of(value: Any, dtype: np.dtype | None = None) -> Node:
    """The node of anything that can be a tensor. `dtype` (NumPy's) is what a value without a dtype of its own takes.

    Tensors, variables and NumPy arrays keep their dtype; see `operands` for how operands are matched.
    """
    kind = type(value)
    if kind is EagerTensor:
        return value.node
    if kind in _default:
        return _number(value, dtype)
    if isinstance(value, Stored):
        return value.read()
    if isinstance(value, Tensor):
        return value.node
    if isinstance(value, IndexedSlices):
        return node_of(value.to_dense())
    return _converted(value, dtype)


def _number(value: Any, dtype: np.dtype | None) -> Node:
    if dtype is None:
        dtype = _default[type(value)]
        if type(value) is int and not -(2**31) <= value < 2**31:
            if tracing():
                return engine.number(value, constants.integer(value))
            dtype = np.dtype(np.int64)
        elif type(value) is float and LARGEST < abs(value) < math.inf and not tracing():
            raise _out_of_range(value)
    elif not _fits(_default[type(value)], dtype):
        raise TypeError(
            f"Cannot convert {value!r} to EagerTensor of dtype {spoken_name(dtype)}. Cast the tensor, or give a number "
            f"that {dtypes.as_dtype(dtype).name} can hold."
        )
    try:
        return engine.number(value, dtype)
    except OverflowError:
        raise ValueError(
            f"Can't convert Python sequence with out-of-range integer to Tensor: {value!r} does not fit "
            f"{dtypes.as_dtype(dtype).name}. Give dtype=tf.int64 or tf.float64, or a smaller number."
        ) from None


def _converted(value: Any, dtype: np.dtype | None = None) -> Node:
    """A leaf for a value that is no Tensor: a list, an array of any library, a scalar, a string."""
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.")
    convert = getattr(value, "__tf_tensor__", None)
    if convert is not None:
        made = convert(None if dtype is None else dtypes.as_dtype(dtype))
        if made is not value:  # TensorFlow's own tensors give themselves; they are arrays of another library here
            return node_of(made)
    registered = conversions.converted(value, dtype)
    if registered is not NotImplemented:
        return node_of(registered)
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        return pack(value, dtype)
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        if dtype is not None and dtype not in _EXTENTS:
            raise TypeError(f"Cannot convert a TensorShape to dtype {dtypes.as_dtype(dtype).name}. Give value.as_list().")
    return _made(to_array(value, dtype))


def _made(array: Any) -> Node:
    """A leaf for an array that the user gave, with the line at which they did."""
    node = engine.constant(array)
    if node.trace is None:
        journal.made(node)
    return node


def pack(values: Sequence[Any], dtype: np.dtype | None) -> Node:
    """The node of a nest of lists that holds tensors; set by the ops that stack."""
    raise NotImplementedError


def _holds_tensor(values: Iterable[Any]) -> bool:
    stack = list(values)
    while stack:
        item = stack.pop()
        if isinstance(item, (Tensor, Stored, IndexedSlices)):
            return True
        if isinstance(item, (list, tuple)):
            stack.extend(item)
    return False


def to_array(value: Any, dtype: np.dtype | None = None) -> Any:
    """`value` as an array that nobody else can change: a JAX array as it is, else the library's own NumPy copy.

    `dtype` (NumPy's) is what it takes: NumPy arrays are cast, Python values must be able to take it.
    """
    if isinstance(value, jax.Array):
        return value if dtype is None or value.dtype == dtype else value.astype(dtype)
    if hasattr(value, "detach") and hasattr(value, "requires_grad"):  # PyTorch's arrays refuse otherwise
        value = value.detach()
    if not isinstance(value, (list, tuple)) and hasattr(value, "__array__"):
        return _own(np.array(value), dtype)
    kinds = _kinds(value)
    try:
        array = np.array(value)
    except ValueError:
        raise _no_tensor(value, kinds) from None
    if array.dtype == object or array.dtype.kind in "USMm":
        if kinds and all(issubclass(k, (str, bytes)) for k in kinds):
            return _strings(np.array(value, object), dtype)  # NumPy's own strings lose the NULs at their end
        if array.dtype != object or dtype is None or not all(issubclass(k, int) for k in kinds):
            raise _no_tensor(value, kinds)
    if dtype is None:
        if tracing():
            return constants.default_type(array)
        _check_mixture(kinds)
        return _default_type(array, kinds)
    return _fitted(array, dtype, value)


def _own(array: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    """A NumPy array of the user's, copied already: native byte order, in `dtype` if one is asked for."""
    if array.dtype.kind in "US":
        return _strings(array, dtype)
    if array.dtype == object:
        if all(isinstance(item, (str, bytes)) for item in array.ravel()):
            return _strings(array, dtype)
        if tracing():
            raise constants.no_tensor(array)
        kind = type(array.ravel()[0]).__name__ if array.size else "object"
        raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type {kind}).")
    if array.dtype.newbyteorder("=") not in dtypes.BY_NUMPY:
        if tracing():
            raise constants.no_tensor(array)
        raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported numpy type: {array.dtype}).")
    if dtype is None:
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
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


def _kinds(value: Any) -> dict[type, None]:
    """The types of the leaves of a nest of lists, in order of their first appearance: a dict used as a set."""
    kinds: dict[type, None] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is list or kind is tuple:
            stack.extend(reversed(item))
        else:
            kinds[item.dtype.type if kind is np.ndarray else kind] = None
    return kinds


def _check_mixture(kinds: dict[type, None]) -> None:
    """TensorFlow's rule: what the first one is decides. No numbers among bools, a complex number only among complex ones."""
    letters = [np.dtype(k).kind for k in kinds if issubclass(k, (*NUMBERS, np.generic))]
    if letters and len(set(letters)) > 1 and (letters[0] == "b" or ("c" in letters and letters[0] != "c")):
        raise ValueError("Can't convert Python sequence with mixed types to Tensor. Give dtype=, or values of one type.")


def _no_tensor(value: Any, kinds: dict[type, None]) -> Exception:
    """The error for a value that cannot be a tensor."""
    strange = [k for k in kinds if not issubclass(k, (*NUMBERS, np.generic, str, bytes))]
    mixed = len({issubclass(k, (str, bytes)) for k in kinds}) > 1
    if tracing() and value is not None and (strange or mixed or not isinstance(value, (list, tuple))):
        return constants.no_tensor(value)
    if strange:
        item = None if strange[0] is type(None) else value
        return ValueError(f"Attempt to convert a value ({str(item)[:80]}) with an unsupported type ({strange[0]}) to a Tensor.")
    if mixed:
        return ValueError("Can't convert Python sequence with mixed types to Tensor. Give values of one type.")
    if any(issubclass(k, (np.datetime64, np.timedelta64)) for k in kinds):
        return ValueError("Failed to convert a NumPy array to a Tensor (Unsupported numpy type: datetime64).")
    if _is_rectangular(value):
        return ValueError(f"Can't convert Python sequence with out-of-range integer to Tensor: {str(value)[:80]}.")
    return ValueError(
        f"Can't convert non-rectangular Python sequence to Tensor.\nAll rows must have the same length: {str(value)[:80]}"
    )


def _is_rectangular(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return True
    nested = [isinstance(item, (list, tuple)) for item in value]
    if any(nested):
        return all(nested) and len({len(item) for item in value}) == 1 and all(map(_is_rectangular, value))
    return True


def _default_type(array: np.ndarray, kinds: dict[type, None]) -> np.ndarray:
    """What Python numbers become: float32 and int32 (int64 where they need it). A NumPy float that comes first stays."""
    first = next(iter(kinds), float)
    if array.dtype == np.uint64 or (array.dtype.kind == "f" and kinds and all(issubclass(k, int) for k in kinds)):
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


def _out_of_range(value: Any) -> ValueError:
    return ValueError(
        f"Can't convert Python sequence with a value out of range for a double-precision float: {value!r} does not fit "
        "float32. Give dtype=tf.float64, or a smaller number."
    )


def _fitted(array: np.ndarray, dtype: np.dtype, value: Any) -> np.ndarray:
    """Python values in `dtype`, if nothing is lost: 1 may become 1.0, but 1.5 not 1, and no number a bool."""
    if array.size and array.dtype != object and not _fits(array.dtype, dtype):
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
    with np.errstate(all="ignore"):
        return array.astype(dtype, copy=False)


SPOKEN = {"float32": "float", "float64": "double", "float16": "half"}


def spoken_name(dtype: Any) -> str:
    """The name by which TensorFlow's messages call a dtype."""
    name = dtypes.as_dtype(dtype).name
    return SPOKEN.get(name, name)


def dtype_of(value: Any) -> np.dtype:
    """NumPy's dtype of a tensor or variable; Keras's variables say theirs as a string."""
    dtype = value.dtype
    return (dtypes.as_dtype(dtype) if isinstance(dtype, str) else dtype).numpy


def operands(op: Op, values: Sequence[Any], position: int = 0) -> tuple[Node, ...]:
    """The nodes of operands that must have one dtype: the first tensor's, or what the op prefers; numbers and arrays take it."""
    if len(values) == 2:  # what most calls are, without detours
        x, y = values
        if type(x) is EagerTensor:
            first = x.node
            kind = type(y)
            if kind is EagerTensor:
                second = y.node
                if first.aval.dtype is second.aval.dtype:
                    return first, second
            elif kind is float and first.aval.inexact:
                return first, engine.number(y, first.aval.dtype)
            elif isinstance(y, Stored):
                second = y.read()
                if first.aval.dtype is second.aval.dtype:
                    return first, second
    elif len(values) == 1 and type(values[0]) is EagerTensor:
        return (values[0].node,)
    dtype = None
    for value in values:
        if isinstance(value, (Tensor, Stored)):
            dtype = dtype_of(value)
            break
    else:
        if op.prefers is not None:
            dtype = _preferred(op.prefers, values[0])
    nodes = []
    for index, value in enumerate(values):
        if isinstance(value, (Tensor, Stored)):
            node = node_of(value)
            if node.aval.dtype is not dtype:
                raise mismatch(op, position + index, dtype, node.aval.dtype)
        else:
            node = node_of(value, dtype)
            if dtype is None:
                dtype = node.aval.dtype
        nodes.append(node)
    return tuple(nodes)


def _preferred(dtype: np.dtype, value: Any) -> np.dtype | None:
    """`dtype`, if `value` can take it."""
    try:
        node_of(value, dtype)
    except TypeError:
        return None
    return dtype


def hinted_operands(op: Op, values: Sequence[Any]) -> tuple[Node, ...]:
    """The nodes of operands that must have one dtype: the first one's own; another takes it if it can."""
    if len(values) == 2 and type(values[0]) is EagerTensor and isinstance(values[1], (EagerTensor, Stored)):
        return operands(op, values)
    first = node_of(values[0])
    dtype = first.aval.dtype
    nodes = [first]
    for index, value in enumerate(values[1:], 1):
        try:
            node = node_of(value, dtype)
        except TypeError:
            raise mismatch(op, index, dtype, node_of(value).aval.dtype, DtypeError) from None
        if node.aval.dtype is not dtype:
            raise mismatch(op, index, dtype, node.aval.dtype)
        nodes.append(node)
    return tuple(nodes)


def mismatch(op: Op, index: int, expected: Any, received: Any, kind: type[OpError] | None = None) -> OpError:
    """The error for two tensors of different dtypes; of a `kind` that is not InvalidArgumentError, if given."""
    expected, received = spoken_name(expected), spoken_name(received)
    message = (
        f"cannot compute {op.type} as input #{index}(zero-based) was expected to be a {expected} tensor but is a {received} "
        f"tensor [Op:{op.type}] (use tf.cast to bring both to one dtype)"
    )
    return invalid_dtype(message) if kind is None else kind(None, None, message)


def tensor(value: Any, dtype: Any = None, hint: Any = None) -> Tensor:
    """`value` as a Tensor. A tensor of another dtype than `dtype` is a ValueError."""
    wanted = dtypes.as_dtype(dtype).numpy if dtype is not None else None
    if type(value) is EagerTensor and wanted is None:
        return value
    if isinstance(value, (Tensor, Stored)):
        if wanted is not None and dtype_of(value) is not wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                f"{dtypes.as_dtype(value.dtype).name}: "
                f"{value!r}. Use tf.cast."
            )
        return value.read_value() if isinstance(value, Stored) else value
    if isinstance(value, IndexedSlices):
        return tensor(value.to_dense(), dtype)
    if wanted is None and hint is not None:
        try:
            return tensor(value, hint)
        except (TypeError, ValueError):
            pass
    node = node_of(value, wanted)
    if node.index == NUMBER:  # shared by all tensors of this number: a Tensor gets a leaf of its own
        node = _made(node.value)
    return handle(node)


@public
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """`value` (number, list, array, variable, tensor) as a Tensor of `dtype`, or of the dtype that it suggests.

    A tensor of another dtype is a ValueError; a list that is not rectangular too.
    """
    return tensor(value, dtype, dtype_hint)


@public
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A constant Tensor: `value` copied, in `dtype` if given (else NumPy's own, float32 and int32 for Python numbers).

    `shape` reshapes the values; a single value fills it. TypeError if the values do not fit the shape.
    """
    if isinstance(value, (Tensor, Stored)):
        constants.refuse_tensors(value)
        result = tensor(value)
        if dtype is not None and result.dtype != dtypes.as_dtype(dtype):
            raise TypeError(
                f"Expected tensor {result} with dtype {dtypes.as_dtype(dtype)!r}, but got dtype {result.dtype!r}. Use tf.cast."
            )
        if shape is None:
            return result
        value, dtype = result.numpy(), result.dtype
    wanted = dtypes.as_dtype(dtype).numpy if dtype is not None else None
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        constants.refuse_tensors(value)
        return EagerTensor(pack(value, wanted))
    array = to_array(value, wanted)
    if shape is not None:
        array = _shaped(array, tuple([int(extent) for extent in shape]))
    return EagerTensor(_made(array))


def _shaped(array: Any, shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape, dtype=np.int64))
    if array.size == size:
        return np.asarray(array).reshape(shape)
    if array.size == 1:
        memory.check_array(size, array.dtype)
        return np.full(shape, np.asarray(array).reshape(()), array.dtype)
    raise TypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {str(array)[:80]} (converted from the value) has "
        f"{array.size} elements, but got `shape` {shape} with {size} elements)."
    )


def _rebuild(array: Any) -> Tensor:
    return constant(array)


def _reduce(self: Tensor) -> tuple[Any, ...]:
    return _rebuild, (self.numpy(),)


Tensor.__reduce__ = _reduce  # type: ignore[assignment, method-assign]  # it needs `constant`, which stands on tensor.py


@public
def is_tensor(x: object) -> bool:
    """Whether `x` is a Tensor, Variable or IndexedSlices."""
    return isinstance(x, (Tensor, Stored, IndexedSlices))


def static(value: Any, what: str, kinds: Any = (builtins.int, np.integer)) -> int:
    """The Python value of an argument that is structure (an axis, a size): a number, or a tensor whose value is taken."""
    if isinstance(value, kinds):
        if isinstance(value, bool) or not isinstance(value, builtins.int):
            return int(value)
        return value  # in a graph an int may know where it comes from
    if isinstance(value, (Tensor, Stored, np.ndarray)):
        array: Any = value
        if not isinstance(value, np.ndarray):
            node = node_of(value)
            if (found := _structural(node)) is not None:
                _refuse_fed_axes(found, what)
                return found[0]
            array = to_numpy(node)
        if array.ndim == 0 and array.dtype.kind in "iu":
            return int(array)
    raise not_an_integer(value, what)


def _refuse_fed_axes(found: tuple[int, ...], what: str) -> None:
    """An axis that a graph does not know yet is none of a tensor's: the graph makes the call when it runs."""
    if what in ("axis", "perm") and any(abs(axis) >= LARGE for axis in found):
        raise engine.NeedsValues(f"{what} is not known before the graph runs")


def settled(value: Any, what: str) -> int:
    """As `static`, for a number from which extents and places follow by a formula: a graph that does not know it yet makes the
    call when it runs."""
    number = static(value, what)
    if type(number) is not builtins.int:
        raise engine.NeedsValues(f"{what} is not known before the graph runs")
    return number


def not_an_integer(value: Any, what: str) -> Exception:
    """The error for an argument that is structure, and not an integer: ValueError for what is no tensor at all, such as None."""
    if value is None or not isinstance(value, (Tensor, Stored, np.ndarray, np.generic, list, tuple, str, bytes, *NUMBERS)):
        return ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor: {what} must be an "
            "integer."
        )
    received = f"{what} must be an integer, received {value!r} of type {type(value).__name__}"
    if isinstance(value, (list, tuple)) or getattr(value, "ndim", None):
        return invalid(f"{received}: its rank must be 0.")
    return DtypeError(None, None, f"{received}: Cannot convert {value!r} to EagerTensor of dtype int32.")


def _structural(node: Node) -> tuple[int, ...] | None:
    """In a graph the value of a tensor that is structure: ints that are computed anew, from true shapes, when the graph runs."""
    graph = engine.graph_around()
    if graph is None or node.value is not None or node.aval.dtype.kind not in "iu":
        return None
    found: tuple[int, ...] | None = graph.structural(node)
    return found


def known_shape(node: Node) -> tuple[int, ...]:
    """The extents of a node for use as another's; in a graph those not known now are those of its run."""
    graph = engine.current_graph() if node.aval.large else None
    shape: tuple[int, ...] = node.aval.shape if graph is None else graph.extents(node)
    return shape


def static_list(value: Any, what: str) -> tuple[int, ...]:
    """A tuple of ints from a list, a shape, an array or a tensor whose value is taken; an int gives a tuple of one."""
    if isinstance(value, (Tensor, Stored)):
        node = node_of(value)
        if (found := _structural(node)) is not None:
            _refuse_fed_axes(found, what)
            return found
        value = to_numpy(node)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iu" and value.size:
            raise DtypeError(None, None, f"{what} must be integers, received dtype {value.dtype}.")
        return tuple([int(v) for v in value.ravel()])
    if isinstance(value, (int, np.integer)):
        return (int(value),)
    try:
        items = list(value)
    except TypeError:
        raise not_an_integer(value, what) from None
    try:
        return tuple([static(item, what) for item in items])
    except DtypeError:
        return tuple([static(_truncated(item), what) for item in items])


def _truncated(item: Any) -> Any:
    """A scalar tensor of real numbers as a whole number, which TensorFlow makes of it in a list of sizes; else `item`."""
    if not isinstance(item, (Tensor, Stored)):
        return item
    array = to_numpy(node_of(item))
    real = array.ndim == 0 and (array.dtype.kind == "b" or dtypes.is_floating(array.dtype)) and bool(np.isfinite(array))
    return int(array) if real else item


def static_vector(value: Any, what: str) -> tuple[int, ...]:
    """As `static_list`, of a vector only: one number by itself is an InvalidArgumentError."""
    rank = value.ndim if isinstance(value, (Tensor, Stored, np.ndarray)) else int(not isinstance(value, (int, np.integer)))
    if rank != 1:
        raise invalid(f"{what} must be 1-D, received rank {rank}: {value!r}. Give a list, with an integer for each axis.")
    return static_list(value, what)
