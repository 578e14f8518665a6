"""`Tensor`: the user's handle of a node, which may not have run yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import ref

import jax
import numpy as np

from gradtape._src.core.base import hooks, naming
from gradtape._src.core.base.errors import OperatorNotAllowedInGraphError, SymbolicNumberError
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.other_libraries import METHODS, NoArray
from gradtape._src.core.base.public import public, unnamed
from gradtape._src.core.engine import engine, execution, slices
from gradtape._src.core.native import twins
from gradtape._src.core.platform import devices, memory
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.function_names import in_function, name_in_function
from gradtape._src.core.settings import device_config
from gradtape._src.core.values.aval import changes
from gradtape._src.core.values.dim import shown
from gradtape._src.core.values.shape import TensorShape

if TYPE_CHECKING:
    from gradtape._src.core.programs.op import Attributes, Op
    from gradtape._src.core.programs.program import Node
    from gradtape._src.core.values.dtypes import DType

    class Operators(NoArray):
        """Methods that `ops/operators.py` and `ops/indexing.py` attach to tensors and variables."""

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __divmod__(self, other: Any) -> Any: ...
        def __rdivmod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rlshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __rrshift__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Any: ...
        def __ne__(self, other: Any) -> Any: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __round__(self, digits: int | None = None) -> Tensor: ...

        __getitem__: Callable[..., Tensor]
else:
    Operators = NoArray


@hides("node")
class Tensor(Operators):
    """An immutable array of one dtype. Use `isinstance(x, tf.Tensor)` to test for it.

    Arithmetic and indexing operators are NumPy's, with TensorFlow's rules for dtypes: two tensors must have the same dtype; a
    Python number or NumPy array is converted to that of the tensor.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype
    (TensorShape([2, 2]), tf.float32)
    >>> (x[:, 1] * 2.0).numpy()
    array([4., 8.], dtype=float32)
    """

    __slots__ = ("__dict__", "__weakref__", "node")
    node: Node
    __array_priority__ = 100

    def __init__(self, node: Node) -> None:
        self.node = node
        node.handle = ref(self)

    @property
    def shape(self) -> TensorShape:
        """The shape, a `TensorShape`."""
        aval = self.node.aval
        if aval.open or naming.open_graphs:
            return stated_shape(self.node)
        return aval.tensor_shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements, a `DType`."""
        return self.node.aval.type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.node.aval.ndim

    @property
    def device(self) -> str:
        """The name of the device that holds the values, in TensorFlow's form; empty if there are none yet."""
        place = "" if unvalued(self.node) else devices.first_of(self.node.value)
        return place and f"/job:localhost/replica:0/task:0/device:{place}"

    @property
    def backing_device(self) -> str:
        """The name of the device that holds the values."""
        return self.device

    @public
    def cpu(self) -> Tensor:
        """Return this tensor, as gradtape computes independently of where a value lies."""
        if unvalued(self.node):
            raise AttributeError("'SymbolicTensor' object has no attribute 'cpu': it has no value yet.")
        return self

    @public
    def gpu(self, gpu_index: int = 0) -> Tensor:
        """Return this tensor if there is a GPU `gpu_index`; else raise RuntimeError."""
        if unvalued(self.node):
            raise AttributeError("'SymbolicTensor' object has no attribute 'gpu': it has no value yet.")
        if gpu_index >= len(device_config.list_logical_devices("GPU")):
            raise RuntimeError(f"GPU:{gpu_index} unknown device: tf.config.list_physical_devices('GPU') says which there are.")
        return self

    def get_shape(self) -> TensorShape:
        """Return the shape, a `TensorShape`."""
        return self.shape

    @public
    def set_shape(self, shape: Any) -> None:
        """Check that the shape is compatible with `shape`; ValueError if not. In a graph this sets unknown extents."""
        graph = graph_of(self.node)
        if graph is not None:
            graph.set_shape(self.node, TensorShape(shape))
            return
        stated = TensorShape(shape)
        if not self.node.aval.tensor_shape.is_compatible_with(stated):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {stated}.")
        if self.node.aval.open and stated.rank is not None:  # users see the stated extents from now on
            self.node = hooks.core.stated(self.node, self.node.aval.stated(stated))

    @public
    def numpy(self) -> Any:
        """Return the value as a NumPy array, or a NumPy scalar for rank 0. Runs pending ops."""
        if unvalued(self.node):
            raise AttributeError(
                "'SymbolicTensor' object has no attribute 'numpy'\nIn a function or graph a tensor has no value yet. Return it "
                "and take its value outside, or use tf.py_function."
            )
        array = to_numpy(self.node)
        journal.left("numpy", self.node, engine.local.trace)
        return array.copy() if array.ndim else array[()]

    _numpy = numpy  # libraries use this private name of TensorFlow's

    @public
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if unvalued(self.node):
            raise NotImplementedError(
                "Cannot convert a symbolic tf.Tensor to a numpy array: in a function or graph it has no value yet. This error "
                "may indicate that you're trying to pass a Tensor to a NumPy call, which is not supported: use the tf.* "
                "function, take the value outside of the function, or use tf.py_function."
            )
        array = to_numpy(self.node)
        journal.left("__array__", self.node, engine.local.trace)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        if copy:
            return array.copy()
        view = array.view()  # a read-only view of the tensor's memory, as in TensorFlow
        if view.flags.writeable:
            view.flags.writeable = False
        return view

    __array__ = twins.of(__array__, "array")

    @public
    def __bool__(self) -> bool:
        array = self._scalar_or("bool")
        return bool(array)

    def _scalar_or(self, kind: str) -> Any:
        known = engine.integers(self.node) if unvalued(self.node) and engine.graph_around() is None else None
        if known is not None and known.size == 1:  # it follows from extents, which the call tells
            return known.item()
        if kind == "bool" and unvalued(self.node):
            raise OperatorNotAllowedInGraphError(
                "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: in a function or graph it has no value yet. "
                "Use tf.cond or tf.where, or let tf.function transform the `if` (its source must be at hand, and autograph on)."
            )
        if unvalued(self.node):
            raise SymbolicNumberError(
                f"A symbolic tf.Tensor cannot be a Python {kind}: in a function or graph it has no value yet. Use tf.cast, or "
                "take the value outside of the function."
            )
        array = to_numpy(self.node)
        journal.left(kind, self.node, engine.local.trace)
        if not array.size and kind == "bool":
            return False
        if array.size != 1 and kind == "bool":
            raise ValueError(
                f"The truth value of an array with more than one element is ambiguous: a tensor of shape {self.shape} was "
                "used as a Python bool. Use tf.reduce_any(x) or tf.reduce_all(x)."
            )
        if array.size != 1:
            raise TypeError(f"only length-1 arrays can be converted to Python scalars: this tensor has shape {self.shape}.")
        return array.reshape(())[()]

    @public
    def __float__(self) -> float:
        return float(self._scalar_or("float"))

    @public
    def __int__(self) -> int:
        return int(self._scalar_or("int"))

    @public
    def __complex__(self) -> complex:
        return complex(self._scalar_or("complex"))

    @public
    def __index__(self) -> int:
        if self.node.aval.dtype.kind not in "iub" or self.node.aval.shape:
            raise TypeError(
                f"only integer scalar tensors can be converted to a Python index, not dtype {self.dtype.name}, shape "
                f"{self.shape}."
            )
        return int(self._scalar_or("index"))

    @unnamed
    def __len__(self) -> int:
        if _counted_later(self.node):
            raise TypeError(
                f"len is not well defined for a symbolic Tensor ({name_of(self)}): in a graph use x.shape[0] or tf.shape(x)[0]."
            )
        if not self.node.aval.shape:
            raise TypeError("Scalar tensor has no `len()`")
        return self.node.aval.shape[0]

    @public
    def __iter__(self) -> Iterator[Tensor]:
        if _counted_later(self.node) or (not self.node.aval.shape and unvalued(self.node)):
            raise OperatorNotAllowedInGraphError(
                "Iterating over a symbolic `tf.Tensor` is not allowed, if it is a scalar or a graph's: use tf.unstack, tf.map_fn."
            )
        if not self.node.aval.shape:
            raise TypeError("Cannot iterate over a scalar tensor. To count to its value write `range(int(n))`, or `tf.range(n)`.")
        return iter([self[i] for i in range(self.node.aval.shape[0])])

    @unnamed
    def __hash__(self) -> int:  # `==` compares elements in eager code, identities in a graph
        if of_plain_graph(self.node):
            return id(self.node)
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    @public
    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Evaluate the tensor in a graph's default session. NotImplementedError for an eager tensor: use `numpy`."""
        graph = graph_of(self.node)
        if graph is not None:
            return graph.evaluate(self, feed_dict, session)
        if engine.symbolic(self.node):
            raise ValueError(
                "Cannot evaluate tensor using `eval()`: No default session is registered, and a tensor of a function has no "
                "value yet. Return it, and take its value outside."
            )
        raise NotImplementedError("eval is not supported when eager execution is enabled; use .numpy() for the value.")

    def __repr__(self) -> str:
        if unvalued(self.node):
            return f"<tf.Tensor {name_of(self)!r} shape={stated_shape(self.node)} dtype={self.dtype.name}>"
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, {text(self.node)}>"

    def __str__(self) -> str:
        if unvalued(self.node):
            stated = f"shape={shape}, " if (shape := stated_shape(self.node)).rank is not None else ""
            return f'Tensor("{name_of(self)}", {stated}dtype={self.dtype.name})'
        laid_out = _laid_out(self.node)
        value = _formatted(self.node, str) if laid_out is None else f'{laid_out[0]}, layout="{laid_out[1]}"'
        return f"tf.Tensor({value}, shape={self.shape}, dtype={self.dtype.name})"

    @public
    def __format__(self, spec: str) -> str:
        if unvalued(self.node):
            if spec:
                raise TypeError(
                    f"unsupported format string passed to SymbolicTensor.__format__: {spec!r} is for a number, and in a function "
                    "or graph a tensor has no value yet. Use tf.print."
                )
            return str(self)
        return format(to_numpy(self.node)[()], spec)

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self

    @unnamed
    def ref(self) -> Reference:
        """Return a hashable reference to this tensor, for use as a key; `.deref()` returns the tensor."""
        return Reference(self)

    def experimental_ref(self) -> Reference:
        """Return a hashable reference to this tensor."""
        return Reference(self)

    @public
    def __dlpack__(self, **options: Any) -> Any:
        journal.left("dlpack", self.node, engine.local.trace)
        return jax_value(self.node).__dlpack__(**options)

    @public
    def __dlpack_device__(self) -> Any:
        return jax_value(self.node).__dlpack_device__()

    @public
    def __jax_array__(self) -> Any:
        journal.left("jax", self.node, engine.local.trace)
        return jax_value(self.node)


GRAPH_ATTRIBUTES = frozenset(["name", "op", "graph", "consumers", "value_index", "read_value", "_operation"])
# In a graph, `v.assign(x)` returns a tensor that also offers the variable's assignment methods; they run after it.
UPDATES = frozenset(
    ["assign", "assign_add", "assign_sub", "scatter_add", "scatter_sub", "scatter_update", "scatter_mul", "scatter_div",
     "scatter_max", "scatter_min", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "batch_scatter_update"]
)  # fmt: skip


def graph_of(node: Node) -> Any:
    """Return the graph of a node, also inside of its branches and loops; None in eager code."""
    trace = node.trace
    if trace is None:
        return None
    while trace is not None:
        graph = getattr(trace.scope, "graph", None)
        if graph is not None:
            return graph
        trace = trace.parent
    return None


def of_plain_graph(node: Node) -> bool:
    """Return whether a node belongs to a graph of TensorFlow 1, and not to the graph of a function."""
    graph = graph_of(node)
    return graph is not None and not graph.building_function


def _counted_later(node: Node) -> bool:
    """Return whether the number of a tensor's rows is unknown until a graph runs."""
    graph = graph_of(node)
    return graph is not None and (not graph.building_function or changes(node.aval))


def unvalued(node: Node) -> bool:
    """Return whether a tensor has no value to read: it belongs to a graph, or to a function during or after its trace."""
    return engine.symbolic(node) or graph_of(node) is not None


@unnamed
def is_symbolic_tensor(tensor: Any) -> bool:
    """Return whether a tensor has no value because it belongs to a function or graph. False for variables and other objects.

    >>> print(tf.is_symbolic_tensor(tf.constant(1.0)))
    False
    """
    return isinstance(tensor, Tensor) and (unvalued(tensor.node) or in_function(tensor.node))


def name_of(tensor: Tensor) -> str:
    """Return the name of a tensor in a graph or function; inside of a branch or loop, that of its op's type."""
    return str(getattr(tensor, "name", None) or name_in_function(tensor.node))


def stated_shape(node: Node) -> TensorShape:
    """Return the shape for the user, with None for an unknown extent or rank in a graph."""
    graph = graph_of(node)
    if graph is not None and not node.aval.ranked:
        return TensorShape(None)
    is_open = node.aval.open and (graph is not None or not shown())
    return node.aval.open_shape if is_open else node.aval.tensor_shape


class GraphOnlyAttribute:
    """An attribute that `find(object, name)` returns or refuses.

    With `__getattr__` instead, CPython would look up every other attribute the slow way. NumPy would ask it for two protocols in
    each conversion.
    """

    def __init__(self, name: str, find: Callable[[Any, str], Any]) -> None:
        self.name, self.find = name, find

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}.")
        return self.find(instance, self.name)


@public
def _attribute(of: Any, name: str) -> Any:
    """Return an attribute of tensors in a graph or function; else AttributeError, with advice for names of other libraries."""
    if name not in METHODS:
        if (graph := graph_of(of.node)) is not None:
            return graph.attribute(of, name)
        if name in ("name", "op", "graph") and (engine.symbolic(of.node) or in_function(of.node)):
            return name_in_function(of.node) if name == "name" else hooks.core.traced(of, name)
        if name in ("name", "op", "graph"):
            raise AttributeError(f"Tensor.{name} is undefined when eager execution is enabled.")
    instead = f" Use {METHODS[name]}." if name in METHODS else ""
    raise AttributeError(f"{type(of).__name__!r} object has no attribute {name!r}.{instead}")


for _name in (*GRAPH_ATTRIBUTES, *UPDATES):
    setattr(Tensor, _name, GraphOnlyAttribute(_name, _attribute))


class EagerTensor(Tensor):
    """A tensor with a value, computed or pending."""

    __slots__ = ()


@hides("aval held read variable")
class Stored(Operators):
    """An object that is read as a tensor: a Variable, or a wrapper of one.

    `read()` returns the node, `variable` the Variable.
    """

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def shape(self) -> TensorShape: ...
        @property
        def dtype(self) -> DType: ...
        @property
        def ndim(self) -> int: ...
        def numpy(self) -> Any: ...
        @property
        def variable(self) -> Any: ...
        def read(self) -> Node: ...
        def read_value(self) -> Tensor: ...


for _kind in (Tensor, Stored):
    for _name in METHODS:
        setattr(_kind, _name, GraphOnlyAttribute(_name, _attribute))


class Reference:
    """A hashable reference to a tensor or variable; references to the same object are equal."""

    __slots__ = ("__weakref__", "_object")

    def __init__(self, target: Any) -> None:
        self._object = target

    def deref(self) -> Any:
        """Return the tensor or variable."""
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._object!r}>"


def handle(node: Node) -> Tensor:
    """Return the Tensor of a node: the existing handle if there is one, so that a node has one handle only."""
    held = node.handle
    if held is engine.wanted:  # another thread computes its value and holds its handle meanwhile
        unregistered = EagerTensor.__new__(EagerTensor)
        unregistered.node = node
        return unregistered
    if held is not None:
        tensor = held()
        if tensor is not None and tensor.node is node:
            return tensor
    return EagerTensor(node)


new = EagerTensor.__new__


@twins.in_c
def tensors(nodes: list[Node]) -> list[EagerTensor]:
    """Return the Tensors of new nodes."""
    return [EagerTensor(n) for n in nodes]


@twins.in_c
def emit(op: Op, inputs: tuple[Node, ...], attrs: Attributes = ()) -> Any:
    """Record an op on nodes; return its Tensor, or a tuple of Tensors."""
    result: Any
    node = engine.record(op, inputs, attrs)
    if type(node.aval) is tuple:
        result = tuple(tensors(engine.elements(node)))
    else:
        result = new(EagerTensor)  # inlined: calling the class would take a tenth of the time
        result.node = node
        node.handle = ref(result)
    if execution.eager:
        engine.flush_if_outermost()
    return result


def to_numpy(node: Node) -> np.ndarray:
    """Return the value of a node as a NumPy array, if possible without a copy."""
    value = node.value
    if value is None:
        value = engine.value(node)
    try:
        if hooks.clients.together is not None and not isinstance(value, (np.ndarray, np.generic)):
            return devices.whole(value)
        return np.asarray(value)  # waits for the value
    except jax.errors.JaxRuntimeError as error:
        raise memory.translated(error) from None


def index_of(node: Node) -> np.ndarray:
    """Return a value used as a shape, an index or a bound, as an array. Gradients do not pass through it."""
    array = to_numpy(node)
    journal.left("index", node, engine.local.trace)
    return array


def jax_value(node: Node) -> Any:
    """Return the value of a node as a JAX array."""
    value = engine.value(node)
    if isinstance(value, np.ndarray):
        value = node.value = slices.to_device(value)
    return value


def _formatted(node: Node, how: Callable[[Any], str]) -> str:
    """Format a node's value by `how`, with an explanation if it has none."""
    if node.trace is not None and node.trace.parent is not None:
        return "<not run yet>"
    try:
        array = to_numpy(node)
    except Exception as error:
        return f"<{type(error).__name__}: {error}>"
    value = array if array.ndim else array[()]
    if how is repr and isinstance(value, np.generic):
        value = value.item()
    lines = how(value)
    return f"\n{lines}" if "\n" in lines else lines


def text(node: Node) -> str:
    """Format a node's value for `repr`: "numpy=…", or with the layout of a DTensor."""
    laid_out = _laid_out(node)
    return f"numpy={_formatted(node, repr)}" if laid_out is None else f'value={laid_out[0]}, layout="{laid_out[1]}"'


def _laid_out(node: Node) -> tuple[str, str] | None:
    if node.trace is not None and node.trace.parent is not None:
        return None
    try:
        return hooks.clients.laid_out(engine.value(node))
    except Exception:  # `_formatted` gives the reason
        return None


def extents_of(value: Any) -> tuple[int, ...]:
    """Return the extents of a Tensor, Variable or array as a tuple, with a Dim for an unknown one, where users see None."""
    node = getattr(value, "node", None)
    return node.aval.shape if node is not None else np.shape(value)
