"""Conversion of operands to nodes by `node_of`; static arguments; the public functions `convert_to_tensor` and `constant`.

| value | becomes |
|---|---|
| Tensor | its node; it keeps its dtype |
| Variable, Keras variable | the node of its present value, which is a read; it keeps its dtype |
| Python number | a leaf shared by all uses of the number, in the requested dtype if that can represent it |
| NumPy array, array of another library | a leaf with a copy, cast to the requested dtype |
| list, string, TensorShape | a leaf in the requested dtype if that can represent it, by the rules of `constants` |
| list that holds tensors | one op that stacks them |
| IndexedSlices | the node of the dense tensor |
| object with `__tf_tensor__` or a conversion function | the node of the converted object |
| None, anything else | an error, of TensorFlow's class |

In a function or graph Python values get other dtypes (`constants`), and variables are read from the scope.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import DtypeError, invalid, invalid_dtype
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.engine.constant_folding import EXTENT
from gradtape._src.core.platform import memory
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import INSIDE, NUMBER
from gradtape._src.core.tensors import constants, conversions
from gradtape._src.core.tensors.constants import NUMBERS as NUMBERS
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, handle, index_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.dim import Dim, exploring, is_unknown
from gradtape._src.core.values.dtypes import spoken_name
from gradtape._src.core.values.shape import TensorShape

if TYPE_CHECKING:
    from gradtape._src.core.base.errors import OpError
    from gradtape._src.core.programs.op import Op
    from gradtape._src.core.programs.program import Node

_INT = frozenset([int])
_EXTENTS = frozenset(map(np.dtype, ("int32", "int64")))


# ---------------------------------------------------------------------------------------------------------------------
# One value


def node_of(value: Any, dtype: np.dtype | None = None) -> Node:
    """Return the node of any value that can be a tensor; `dtype` (NumPy's) applies to values without a dtype of their own."""
    kind = type(value)
    if kind is EagerTensor:
        node: Node = value.node
        return node
    if kind in constants.PLAIN:
        return number(value, dtype)
    if isinstance(value, Stored):
        return value.read()
    if isinstance(value, Tensor):
        return value.node
    if isinstance(value, IndexedSlices):
        return node_of(value.to_dense())
    if value is None:
        raise ValueError(no_value())
    if (kind is list or kind is tuple) and not conversions.registered:
        kinds = constants.kinds_in(value)
        if kinds.keys() <= constants.PLAIN:
            return _made(constants.of_values(value, kinds, dtype))
    if kind is not np.ndarray:
        made = _by_class(value, dtype)
        if made is not None:
            return made
    return _made(constants.to_array(value, dtype))


def number(value: Any, dtype: np.dtype | None) -> Node:
    """Return the leaf of a Python number, shared by all its uses; TypeError or ValueError if `dtype` cannot represent it."""
    kind = type(value)
    if dtype is None:
        dtype = constants.number(value, kind)
    elif dtype not in constants.TAKERS[kind]:
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


def _by_class(value: Any, dtype: np.dtype | None) -> Node | None:
    """Return the node of an object that converts itself, of a registered class, or of a list of tensors; else None."""
    convert = getattr(value, "__tf_tensor__", None)
    if convert is not None:
        try:
            made = convert(None if dtype is None else dtypes.as_dtype(dtype))
        except ValueError:
            if not hasattr(value, "__array__"):
                raise
            made = convert()  # TensorFlow's own tensors reject our dtypes; they convert as arrays
        if made is not value:  # TensorFlow's own tensors return themselves
            return node_of(made, dtype)
    if type(value) is Dim:
        return engine.record(EXTENT, (), (value, dtype or np.dtype(np.int32)))
    registered = conversions.converted(value, dtype)
    if registered is not NotImplemented:
        return node_of(registered)
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        return hooks.core.pack(value, dtype)
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        if dtype is not None and dtype not in _EXTENTS:
            raise TypeError(f"Cannot convert a TensorShape to dtype {dtypes.as_dtype(dtype).name}. Give value.as_list().")
        if dtype is None and value.rank == 0:
            return _made(np.zeros(0, np.int32))
    return None


def _made(array: Any) -> Node:
    """Return a leaf for a user's array, with the user's line."""
    node = engine.constant(array)
    if node.trace is None:
        journal.made(node)
    return node


def holds_tensor(values: Iterable[Any]) -> bool:
    """Return whether a nest of lists holds a tensor."""
    stack = list(values)
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(item)
        elif isinstance(item, (Tensor, Stored, IndexedSlices, Dim)):
            return True
    return False


def is_tensor(x: object) -> bool:
    """Return whether `x` is a Tensor, Variable or IndexedSlices."""
    return isinstance(x, (Tensor, Stored, IndexedSlices))


def is_composed(value: object) -> bool:
    """Return whether a value is made of tensors: a ragged or sparse tensor, a dataset, an iterator, an optional."""
    kind = type(value)
    return (hasattr(kind, "_type_spec") or hasattr(kind, "element_spec")) and not is_tensor(value)


def variable_of(value: Any) -> Any:
    """Return the Variable behind a Keras variable or the result of `assign`; any other value unchanged."""
    return value.variable if isinstance(value, Stored) else value


def dtype_of(value: Any) -> np.dtype:
    """Return the NumPy dtype of a tensor or variable; Keras's variables state theirs as a string."""
    dtype = value.dtype
    return (dtypes.as_dtype(dtype) if isinstance(dtype, str) else dtype).numpy


# ---------------------------------------------------------------------------------------------------------------------
# The operands of an op


def operands(op: Op, values: Sequence[Any], position: int = 0, one_by_one: bool = False) -> tuple[Node, ...]:
    """Return the nodes of operands that must have one dtype: that of the first tensor, or that which the op prefers.

    With `one_by_one` it is the dtype of the first value, tensor or not; TensorFlow converts the others with it as a hint.
    `position` is the first operand's index among the op's inputs, for errors.
    """
    if len(values) == 2:  # the fast path for most calls
        x, y = values
        kind = type(y)
        of_tensor = type(x) is EagerTensor
        if (of_tensor or isinstance(x, Stored)) and (kind is EagerTensor or kind is float or isinstance(y, Stored)):
            first: Node = x.node if of_tensor else x.read()
            dtype = first.aval.dtype
            second: Node
            if kind is EagerTensor:
                second = y.node
            elif kind is not float:
                second = y.read()
            elif first.aval.inexact:
                second = engine.number(y, dtype)
            else:
                second = _operand(op, y, dtype, position + 1, one_by_one)
            if second.aval.dtype is dtype:
                return first, second
            raise mismatch(op, position + 1, dtype, second.aval.dtype)
    wanted = None if one_by_one else _common(values)
    nodes: list[Node] = []
    for index, value in enumerate(values, position):
        if wanted is None:
            node = node_of(value) if op.prefers is None or one_by_one else _preferring(value, op.prefers)
            wanted = node.aval.dtype
        else:
            node = value.node if type(value) is EagerTensor else _operand(op, value, wanted, index, one_by_one)
        if node.aval.dtype is not wanted:
            raise mismatch(op, index, wanted, node.aval.dtype)
        nodes.append(node)
    return tuple(nodes)


def _common(values: Sequence[Any]) -> np.dtype | None:
    """Return the dtype of the first tensor among operands, or None."""
    for value in values:
        if type(value) is EagerTensor:
            dtype: np.dtype = value.node.aval.dtype
            return dtype
        if isinstance(value, (Tensor, Stored)):
            return dtype_of(value)
    return None


def _operand(op: Op, value: Any, dtype: np.dtype, index: int, one_by_one: bool) -> Node:
    """Return the node of an operand in a given dtype."""
    if not one_by_one:
        return node_of(value, dtype)
    try:
        return node_of(value, dtype)
    except TypeError:
        raise mismatch(op, index, dtype, node_of(value).aval.dtype, None if engine.tracing() else DtypeError) from None


def _preferring(value: Any, dtype: np.dtype) -> Node:
    """Return the node of a value in `dtype`, if that can represent it, else in its own dtype."""
    try:
        return node_of(value, dtype)
    except TypeError:
        return node_of(value)


def mismatch(op: Op, index: int, expected: Any, received: Any, kind: type[OpError] | None = None) -> OpError:
    """Return the error for two tensors of different dtypes: InvalidArgumentError, unless another `kind` is given."""
    expected, received = spoken_name(expected), spoken_name(received)
    _, behind = hooks.door.kernel(op.type)
    mend = (
        "Use tf.strings.to_number or tf.strings.as_string to bring both to one dtype."
        if "string" in (expected, received)
        else "Use tf.cast to bring both to one dtype."
    )
    message = (
        f"cannot compute {op.type} as input #{index}(zero-based) was expected to be a {expected} tensor but is a {received} "
        f"tensor [Op:{op.type}]{behind}\n{mend}"
    )
    return invalid_dtype(message) if kind is None else kind.saying(message)


# ---------------------------------------------------------------------------------------------------------------------
# One value as a Tensor


def tensor(value: Any, dtype: Any = None, hint: Any = None) -> Tensor:
    """Convert `value` to a Tensor. A tensor of another dtype than `dtype` is a ValueError."""
    if type(value) is EagerTensor and dtype is None:
        return value
    wanted = dtypes.as_dtype(dtype).numpy if dtype is not None else None
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
    if node.index == NUMBER:  # number leaves are shared, but a Tensor needs its own
        node = _made(node.value)
    return handle(node)


@public
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """Convert `value` (number, list, array, variable, tensor) to a Tensor of `dtype`, or of the dtype that its values imply.

    ValueError for a tensor of another dtype, and for a list that is not rectangular. A tensor is returned as it is. In a function
    an eager tensor becomes a tensor of the function, always the same one.

    >>> tf.convert_to_tensor([1, 2], tf.float32)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
    """
    made = tensor(value, dtype, dtype_hint)
    return made if engine.local.trace.scope is None else captured(made)


def captured(value: Tensor) -> Tensor:
    """Return the Tensor that represents an eager value in the function or graph under trace, as in TensorFlow.

    It is another handle of the same node. So a library that caches results by tensor does not return in the function a result
    from outside, through which no gradient passes.
    """
    node, trace = value.node, engine.local.trace
    if node.trace is not None:
        eager = node.trace.parent is None and node.trace.scope is None
    else:
        eager = node.value is not None and node.index != INSIDE
    if not eager:
        return value
    while trace.parent is not None and trace.parent.scope is trace.scope:  # a gradient in the function has a trace of its own
        trace = trace.parent
    own = trace.captured.get(node)
    if own is None:
        own = trace.captured[node] = EagerTensor.__new__(EagerTensor)  # the node's first handle stays the user's
        own.node = node
    return own


@public
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """Create a constant Tensor, a copy of `value`, in `dtype` if given (else NumPy's; float32 and int32 for Python numbers).

    `shape` reshapes the values; a single value fills it. TypeError if the values do not fit the shape.

    >>> tf.constant([1.0, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
    >>> tf.constant(0, shape=[2, 2]).numpy().tolist()
    [[0, 0], [0, 0]]
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
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        constants.refuse_tensors(value)
        return EagerTensor(hooks.core.pack(value, wanted))
    array = constants.to_array(value, wanted)
    if shape is not None:
        array = _shaped(array, tuple([int(extent) for extent in shape]), value)
    return EagerTensor(_made(array))


def _shaped(array: Any, shape: tuple[int, ...], value: Any) -> np.ndarray:
    size = int(np.prod(shape, dtype=np.int64))
    if array.size == size:
        return np.asarray(array).reshape(shape)
    if array.size == 1:
        memory.check_array(size, array.dtype)
        return np.full(shape, np.asarray(array).reshape(()), array.dtype)
    raise TypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {str(array)[:80]} (converted from {value!r:.80}) has "
        f"{array.size} elements, but got `shape` {shape} with {size} elements)."
    )


def _rebuild(array: Any) -> Tensor:
    return constant(array)


def _reduce(self: Tensor) -> tuple[Any, ...]:
    return _rebuild, (self.numpy(),)


hooks.attach(Tensor, __reduce__=_reduce)


# ---------------------------------------------------------------------------------------------------------------------
# Static arguments


AXES = ("axis", "perm")  # numbers that are needed before anything is recorded
# Attributes of ops in TensorFlow, where floats with integral values become integers.
ATTRIBUTES = frozenset("block_size dilations ksize ksizes rates strides".split())


def static(value: Any, what: str, kinds: Any = (builtins.int, np.integer)) -> Any:
    """Return the Python value of a static argument (an axis, a size), given as a number or as a tensor with a known value."""
    if type(value) is builtins.int:
        return value
    if type(value) is Dim:
        return value
    if isinstance(value, kinds):
        return int(value)
    if isinstance(value, (Tensor, Stored, np.ndarray)):
        array: Any = value
        if not isinstance(value, np.ndarray):
            node = node_of(value)
            if (found := _structural(node)) is not None:
                return _settled(found[0], what) if what in AXES else found[0]
            array = index_of(node)
        if array.ndim == 0 and array.dtype.kind in "iu":
            return int(array)
    if what in ATTRIBUTES and isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    raise not_an_integer(value, what)


def settled(value: Any, what: str) -> int:
    """Return a static argument like `static`; raise NeedsValues if a graph does not know its value yet."""
    return _settled(static(value, what), what)


def _settled(number: Any, what: str) -> int:
    if is_unknown(number) and not exploring():
        raise engine.NeedsValues(f"{what} is not known before the graph runs")
    return int(number)


def no_value() -> str:
    """Return the message for None in place of a tensor, which TensorFlow words differently in graphs and functions."""
    if engine.tracing():
        return "None values not supported. A tensor is wanted here."
    return "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor."


def not_an_integer(value: Any, what: str) -> Exception:
    """Return the error for a static argument (shape, axis) that is not an integer."""
    if value is None and engine.tracing():
        return ValueError(f"{no_value()[:-1]}: {what} must be an integer.")
    if value is None or not isinstance(value, (Tensor, Stored, np.ndarray, np.generic, list, tuple, str, bytes, *NUMBERS)):
        return ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor: {what} must be an "
            "integer."
        )
    received = f"{what} must be an integer, received {value!r} of type {type(value).__name__}"
    if isinstance(value, (list, tuple)) or getattr(value, "ndim", None):
        return invalid(f"{received}: its rank must be 0.")
    return DtypeError.saying(f"{received}: Cannot convert {value!r} to EagerTensor of dtype int32.")


def _structural(node: Node) -> tuple[Any, ...] | None:
    """Return the elements of an integer tensor that holds a shape or axis, with Dims for unknown extents; None if not known."""
    if node.value is not None or node.aval.dtype.kind not in "iu":
        return None
    graph = engine.graph_around()
    if graph is not None:
        of_graph: tuple[Any, ...] = graph.structural(node)
        return of_graph
    found = engine.integers(node)
    return None if found is None else tuple([v if type(v) is Dim else int(v) for v in found.ravel()])


def static_list(value: Any, what: str) -> tuple[int, ...]:
    """Return a tuple of ints from a list, a shape, an array or a tensor's value; an int gives a tuple of one."""
    kind = type(value)
    if kind is int:
        return (value,)
    if (kind is list or kind is tuple) and set(map(type, value)) == _INT:
        return tuple(value)
    if isinstance(value, (Tensor, Stored)):
        node = node_of(value)
        if (found := _structural(node)) is not None:
            return tuple([_settled(v, what) for v in found]) if what in AXES else found
        value = index_of(node)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iu" and value.size:
            raise DtypeError.saying(f"{what} must be integers, received dtype {value.dtype}.")
        return tuple([int(v) for v in value.ravel()])
    if isinstance(value, (int, np.integer)):
        return (int(value),)
    if isinstance(value, dict):  # iterating would take its keys
        raise not_an_integer(value, what)
    try:
        items = list(value)
    except TypeError:
        items = [value]
    try:
        return tuple([static(item, what) for item in items])
    except DtypeError:
        if len({isinstance(item, (str, bytes)) for item in items}) > 1:
            raise ValueError(
                f"Can't convert Python sequence with mixed types to Tensor: {what} is {value!r}. Give integers."
            ) from None
        return tuple([static(_truncated(item), what) for item in items])


def _truncated(item: Any) -> Any:
    """Truncate a scalar tensor of real numbers in a list of sizes, as in TensorFlow; return any other `item` unchanged."""
    if not isinstance(item, (Tensor, Stored)):
        return item
    array = index_of(node_of(item))
    real = array.ndim == 0 and (array.dtype.kind == "b" or dtypes.is_floating(array.dtype)) and bool(np.isfinite(array))
    return int(array) if real else item


def static_vector(value: Any, what: str) -> tuple[int, ...]:
    """Return a static vector like `static_list`; InvalidArgumentError for a single number."""
    rank = value.ndim if isinstance(value, (Tensor, Stored, np.ndarray)) else int(not isinstance(value, (int, np.integer)))
    if rank != 1:
        raise invalid(f"{what} must be 1-D, received rank {rank}: {value!r}. Give a list, with an integer for each axis.")
    return static_list(value, what)
