"""`Variable`: a name, a `trainable` flag, and the Tensor that is its present value."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self
from weakref import ref

import numpy as np

from gradtape._src.core.base.errors import OperatorNotAllowedInGraphError
from gradtape._src.core.base.public import public, unnamed
from gradtape._src.core.base.tracebacks import cut
from gradtape._src.core.engine import engine, execution, slices, tracing
from gradtape._src.core.native import twins
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import NUMBER, leaf
from gradtape._src.core.tensors.convert import node_of, tensor
from gradtape._src.core.tensors.scopes import scoped
from gradtape._src.core.tensors.tensor import (
    EagerTensor,
    GraphOnlyAttribute,
    Reference,
    Stored,
    Tensor,
    graph_of,
    handle,
    text,
    unvalued,
)
from gradtape._src.core.tensors.variable_ops import ASSIGN, ASSIGN_ADD, ASSIGN_SUB, READ, invalid_shapes
from gradtape._src.core.values import creators, dtypes
from gradtape._src.core.values.aval import Aval
from gradtape._src.core.values.shape import TensorShape

if TYPE_CHECKING:
    from gradtape._src.core.programs.program import Node, Trace
    from gradtape._src.core.values.dtypes import DType

new = EagerTensor.__new__
_uid = itertools.count()


def hold_all(variables: Sequence[Variable], nodes: Sequence[Node], noted: bool = False) -> None:
    """Assign the new values of a function's variables in one step; `noted`: the tapes have them already."""
    state = engine.local
    trace = state.trace
    if trace.scope is not None:
        for variable, node in zip(variables, nodes, strict=True):
            variable._hold(node)
        return
    for variable in variables:
        if state.tapes and not noted:
            trace.reads.append((len(trace.nodes), variable, variable.held()))
        variable._keep_for_undo(trace)
    _swap(variables, list(map(EagerTensor, nodes)))
    if execution.eager:
        engine.flush_if_outermost()


@twins.in_c
def still_hold(variables: Sequence[Variable], tensors: Sequence[EagerTensor], positions: Sequence[int]) -> bool:
    """Return whether the variables at these positions still hold the given tensors."""
    return all(variables[i]._tensor is tensors[i] for i in positions)


@twins.in_c
def put_all(variables: Sequence[Variable], nodes: Sequence[Node]) -> None:
    """Assign computed values in one step, without recording."""
    made = []
    for node in nodes:  # inlined, since a training step does it for each variable
        held = new(EagerTensor)
        held.node = node
        made.append(held)
    _swap(variables, made)


def _swap(variables: Sequence[Variable], tensors: Sequence[EagerTensor]) -> None:
    """Assign in one C call without Python code, so that an interrupt finds all variables changed, or none."""
    deque(map(setattr, variables, itertools.repeat("_tensor"), tensors), maxlen=0)


def _check_arguments(initial_value: Any, name: Any, constraint: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise ValueError(f"The name of a variable must be a string, received {name!r}.")
    if initial_value is None:
        raise ValueError("The `initial_value` arg to `tf.Variable` must be specified: a tensor, array, number or function.")
    if constraint is not None and not callable(constraint):
        raise ValueError(f"The `constraint` argument must be a callable, received {constraint!r}.")


class Variable(Stored, metaclass=creators.Created):
    """A mutable tensor: `assign`, `assign_add`, `assign_sub`. Each use reads its present value.

    `initial_value` is a tensor, an array, a number, or a function that returns one; it is evaluated at once. A GradientTape
    watches `trainable` variables when they are read. An assignment does not change values read before.

    >>> v = tf.Variable([1.0, 2.0])
    >>> v.assign_add([1.0, 1.0]).numpy()
    array([2., 3.], dtype=float32)
    >>> (v * 2.0).numpy()
    array([4., 6.], dtype=float32)
    """

    _made_by_creators = True
    _declared: TensorShape | None
    _tensor: EagerTensor
    _name: str
    _trainable: bool
    _constraint: Callable[..., Any] | None
    _synchronization: creators.VariableSynchronization
    _aggregation: creators.VariableAggregation
    _uid: int
    _assigned_in: int | None
    _made: journal.Line = (None, 0)  # the user's line that created it
    _born: journal.Moment = (0, 0)
    _path: str | None = None  # the path of a Keras variable

    # Attached by `ops/scatter.py` and `ops/operators.py`.
    scatter_update: Callable[..., Any]
    scatter_add: Callable[..., Any]
    scatter_sub: Callable[..., Any]
    scatter_mul: Callable[..., Any]
    scatter_div: Callable[..., Any]
    scatter_max: Callable[..., Any]
    scatter_min: Callable[..., Any]
    batch_scatter_update: Callable[..., Any]
    scatter_nd_update: Callable[..., Any]
    scatter_nd_add: Callable[..., Any]
    scatter_nd_sub: Callable[..., Any]
    scatter_nd_max: Callable[..., Any]
    scatter_nd_min: Callable[..., Any]
    sparse_read: Callable[..., Any]
    count_up_to: Callable[..., Any]
    gather_nd: Callable[..., Any]
    __iadd__: Callable[..., NoReturn]
    __isub__: Callable[..., NoReturn]
    __imul__: Callable[..., NoReturn]
    __itruediv__: Callable[..., NoReturn]
    __ipow__: Callable[..., NoReturn]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made: Any = object.__new__(ResourceVariable if cls is Variable else cls)
        return made

    @public
    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        _check_arguments(initial_value, name, constraint)
        if callable(initial_value):
            with initial_scope(name):
                initial_value = initial_value()
        wanted = dtypes.as_dtype(dtype).numpy if dtype is not None else None
        node = node_of(initial_value, wanted)
        if wanted is not None and node.aval.dtype is not wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                f"{node.aval.type.name}: use tf.cast."
            )
        declared = None if shape is None else TensorShape(shape)
        if declared is not None and not declared.is_compatible_with(node.aval.tensor_shape):
            raise ValueError(
                f"In this `tf.Variable` creation, the initial value's shape ({node.aval.tensor_shape}) is not compatible "
                f"with the explicitly supplied `shape` argument ({declared})."
            )
        # A declared shape with unknown extents accepts values of different extents.
        self._declared = None if declared is None or declared.is_fully_defined() else declared
        self._constraint = constraint
        self._synchronization, self._aggregation, self._trainable = creators.checked(synchronization, aggregation, trainable)
        self._uid, self._assigned_in = next(_uid), None
        if self._declared_in_graph(node, name):
            return
        tracing.made(self)
        scope = engine.local.trace.scope
        if scope is not None:
            scope.made(self)
        value = engine.value(node) if scope is None or node.value is not None else scope.initial(node)
        if scope is not None:  # the variable belongs to the graph that calls the function
            with tracing.outside(graph=True):
                if self._declared_in_graph(leaf(node.aval, value), name):
                    return
        held = leaf(node.aval, value if node.aval.dtype == object else slices.placed(value))
        self._tensor = EagerTensor(held)
        journal.variables[self._uid] = self
        journal.made(held)
        self._made, self._born = (held.code, held.offset), journal.moment(engine.local.trace)
        journal.linked("variable", node, held, engine.local.trace)
        self._name = scoped(name or "Variable") + ":0"

    def _declared_in_graph(self, node: Node, name: str | None) -> bool:
        graph = engine.current_graph()
        if graph is None or graph.building_function:
            return False
        with graph.control_dependencies(None):  # the initial value must not wait for other ops
            self._tensor, self._name = graph.declare(self, node, name)
        journal.variables[self._uid] = self
        return True

    # -- properties

    @property
    def name(self) -> str:
        """The name, with TensorFlow's ":0"."""
        return self._name

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it automatically."""
        return self._trainable

    @property
    def synchronization(self) -> creators.VariableSynchronization:
        """The time to synchronize copies on several devices, as given at creation."""
        return self._synchronization

    @property
    def aggregation(self) -> creators.VariableAggregation:
        """The way to aggregate copies on several devices, as given at creation."""
        return self._aggregation

    @property
    def constraint(self) -> Callable[..., Any] | None:
        """The projection to apply after an update, or None."""
        return self._constraint

    @property
    def aval(self) -> Aval:
        """Its shape and dtype; in a function, after the assignments so far."""
        return self._tensor.node.aval if self._declared is None else self.held().aval

    @property
    def shape(self) -> TensorShape:
        """The shape, a `TensorShape`; if it was declared with unknown extents, the declared shape."""
        return self._tensor.node.aval.tensor_shape if self._declared is None else self._declared

    @property
    def dtype(self) -> DType:
        """The dtype of the elements, a `DType`."""
        return self._tensor.node.aval.type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._tensor.node.aval.ndim

    @property
    def device(self) -> str:
        """The name of the device that holds the values."""
        return self._tensor.device

    def get_shape(self) -> TensorShape:
        """Return the shape, a `TensorShape`."""
        return self.shape

    @public
    def set_shape(self, shape: Any) -> None:
        """Check that the shape is compatible with `shape`; ValueError if not."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Shapes {self.shape} and {TensorShape(shape)} are not compatible")

    @public
    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return True, as a variable has a value from the start."""
        return tensor(True)

    @property
    def variable(self) -> Variable:
        """The variable itself."""
        return self

    # -- reading

    def read(self) -> Node:
        """Read the variable: return the node of its present value, and note the read on open tapes.

        While a tape is stopped, it is a node of its own: the stopped tape may watch the value, but not this read.
        """
        state = engine.local
        trace = state.trace
        node = self._tensor.node if trace.scope is None else trace.scope.read(self)
        if state.tapes:
            trace.reads.append((len(trace.nodes), self, node))
        return engine.record(READ, (node,)) if state.pauses else node

    def held(self) -> Node:
        """Return the node of the present value, without a read."""
        trace = engine.local.trace
        node = self._tensor.node
        return node if trace.scope is None or node.trace is trace else trace.scope.read(self)

    @public
    def read_value(self) -> Tensor:
        """Return the present value as a new Tensor."""
        graph = graph_of(self._tensor.node)
        node = self.read() if graph is not None else engine.record(READ, (self.read(),))
        return EagerTensor(node)

    def value(self) -> Tensor:
        """Return the present value, a Tensor."""
        return self.read_value()

    @public
    def numpy(self) -> Any:
        """Return the value as a NumPy array."""
        return self._valued().numpy()

    @public
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._valued().__array__(dtype, copy)

    def _valued(self) -> Tensor:
        if not self._has_value():
            raise NotImplementedError("numpy() is only available when eager execution is enabled. In a graph use session.run(v).")
        return handle(self.held())

    def _has_value(self) -> bool:
        return not (engine.tracing() or unvalued(self._tensor.node) or unvalued(self.held()))

    def __bool__(self) -> bool:
        return bool(handle(self.held()))

    def __float__(self) -> float:
        return float(handle(self.held()))

    def __int__(self) -> int:
        return int(handle(self.held()))

    def __complex__(self) -> complex:
        return complex(handle(self.held()))

    @public
    def __index__(self) -> int:
        return handle(self.held()).__index__()

    @unnamed
    def __len__(self) -> int:
        return len(self._tensor)

    @public
    def __iter__(self) -> Iterator[Tensor]:
        if graph_of(self._tensor.node) is not None:
            why = "Iterating over a symbolic `tf.Tensor` is not allowed: in a graph a variable has no value yet. Use tf.unstack."
            raise OperatorNotAllowedInGraphError(why)
        return iter(self.read_value())

    @unnamed
    def __hash__(self) -> int:  # `==` compares elements in eager code, identities in a graph
        if graph_of(self._tensor.node) is not None:
            return id(self)
        raise TypeError(f"Variable is unhashable. Instead, use variable.ref() as the key. (Variable: {self!r})")

    __array_priority__ = 100

    def ref(self) -> Reference:
        """Return a hashable reference to this variable, for use as a key."""
        return Reference(self)

    def experimental_ref(self) -> Reference:
        """Return a hashable reference to this variable."""
        return Reference(self)

    # -- assigning

    @public
    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Assign a new value of the same shape and dtype. Returns the variable if `read_value`."""
        node = self._checked(value, "assign")
        if node.index == NUMBER:  # number leaves are shared, but a variable needs its own
            node = engine.constant(node.value)
        recorded = engine.current_graph() is not None or node.trace is not None or isinstance(value, (EagerTensor, Stored))
        if node.value is None or node.handle is not None or recorded:
            node = engine.record(ASSIGN, (node,))
        # The old value is an input of the ops of `assign_add` and `assign_sub`; here it would be lost.
        journal.assigned.append((self._uid, engine.local.trace.serial, journal.origin_of(self._tensor.node)))
        updated = self._hold(node)
        return updated if read_value else getattr(updated, "_operation", None)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Add `delta` to the value. Returns the variable, if `read_value`."""
        updated = (
            self._update(ASSIGN_ADD, delta, "assign_add")
            if name is None
            else self._update_named(ASSIGN_ADD, delta, "assign_add", name)
        )
        return updated if read_value else getattr(updated, "_operation", None)

    assign_add = twins.of(assign_add, "update", ASSIGN_ADD)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Subtract `delta` from the value. Returns the variable, if `read_value`."""
        updated = (
            self._update(ASSIGN_SUB, delta, "assign_sub")
            if name is None
            else self._update_named(ASSIGN_SUB, delta, "assign_sub", name)
        )
        return updated if read_value else getattr(updated, "_operation", None)

    assign_sub = twins.of(assign_sub, "update", ASSIGN_SUB)

    def _update(self, op: Op, delta: Any, how: str) -> Any:
        try:
            if delta.__class__ is EagerTensor and delta.node.aval is self._tensor.node.aval:
                node = delta.node
            else:
                node = self._checked(delta, how)
            with engine.shared:
                return self._hold(engine.record(op, (self.held(), node)))
        except BaseException as error:
            cut(error)
            raise

    @public
    def _update_named(self, op: Op, delta: Any, how: str, name: str) -> Any:
        return self._update(op, delta, how)

    def _checked(self, value: Any, how: str) -> Node:
        mine = self._tensor.node.aval if how == "assign" else self.aval
        node = value.node if type(value) is EagerTensor else node_of(value, mine.dtype)
        if node.aval is mine:
            return node
        if node.aval.dtype is not mine.dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {mine.type.name} for Tensor with dtype {node.aval.type.name}: {how} on "
                f"variable '{self._name}' takes its dtype. Use tf.cast."
            )
        if how == "assign":
            if (mine.tensor_shape if self._declared is None else self._declared).is_compatible_with(node.aval.tensor_shape):
                return node
            raise ValueError(
                f"Cannot assign value to variable ' {self._name}': Shape mismatch.The variable shape {self.shape}, and the "
                f"assigned value shape {node.aval.tensor_shape} are incompatible. Reshape it; `tf.TensorShape(None)` takes any."
            )
        raise invalid_shapes(self._name, how, mine, node.aval)

    def _hold(self, node: Node) -> Any:
        """Assign the tensor of `node`. Returns the result of an assignment; in a graph, which assigns later, its tensor."""
        state = engine.local
        trace = state.trace
        if state.tapes:
            trace.reads.append((len(trace.nodes), self, self.held()))
        if trace.scope is not None:
            scope: Any = trace.scope
            held = scope.hold(self, node)
            return unread(self) if held is None else held
        self._keep_for_undo(trace)
        latest = new(EagerTensor)  # inlined, since a training step does it for each variable
        latest.node = node
        node.handle = ref(latest)
        self._tensor = latest
        if execution.eager:
            engine.flush_if_outermost()
        return unread(self)

    def _keep_for_undo(self, trace: Trace) -> None:
        if self._assigned_in != trace.serial:
            self._assigned_in = trace.serial
            trace.assigned.append((self, self._tensor))

    def _restore(self, tensor: EagerTensor) -> None:
        self._tensor = tensor
        self._assigned_in = None

    # -- printing and copying

    def __repr__(self) -> str:
        value = f", {text(self.held())}" if self._has_value() else ""
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}{value}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self._tensor, spec) if spec else str(self)

    def __copy__(self) -> Variable:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, without the creation line and identity, which are valid in this process only."""
        return {name: value for name, value in vars(self).items() if name not in ("_made", "_born", "_uid")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._uid = next(_uid)
        journal.variables[self._uid] = self

    @public
    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        if graph_of(self._tensor.node) is not None:
            raise NotImplementedError("__deepcopy__() is only available when eager execution is enabled.")
        copy = Variable(
            self._tensor,
            trainable=self._trainable,
            name=self._name[:-2],
            constraint=self._constraint,
            synchronization=self._synchronization,
            aggregation=self._aggregation,
            shape=self._declared,
        )
        memo[id(self)] = copy
        return copy


# Attributes for graphs only.
VARIABLE_ATTRIBUTES = frozenset(["eval", "graph", "handle", "initial_value", "initialized_value", "initializer", "load", "op"])


@public
def _attribute(variable: Variable, name: str) -> Any:
    """Return one of VARIABLE_ATTRIBUTES; in eager code most raise an error with the reason."""
    variable = variable.variable
    tensor = variable.__dict__.get("_tensor")
    if tensor is None:
        raise AttributeError(f"{type(variable).__name__!r} object has no attribute {name!r}.")
    if (graph := graph_of(tensor.node)) is not None:
        return graph.variable_attribute(variable, name)
    if name == "initializer":
        return None
    if name == "handle":
        return variable._tensor
    if name == "load":
        return lambda value, session=None: variable.assign(value, read_value=False)
    if name == "initialized_value":
        return variable.read_value
    if name == "eval":
        return lambda session=None: _not_eager("eval()", "numpy()")
    if name == "initial_value":
        _not_eager("initial_value", "numpy() before the first assignment")
    raise AttributeError(f"Variable.{name} is undefined when eager execution is enabled.")


for _name in VARIABLE_ATTRIBUTES:
    setattr(Variable, _name, GraphOnlyAttribute(_name, _attribute))


def _not_eager(what: str, instead: str) -> NoReturn:
    raise RuntimeError(f"Variable.{what} is not supported when eager execution is enabled: use {instead}.")


@contextlib.contextmanager
def initial_scope(name: str | None) -> Iterator[None]:
    """Open a context for computing an initial value: in a graph its ops get the variable's name, and no control dependencies."""
    if (graph := engine.current_graph()) is None or graph.building_function:
        yield
        return
    with graph.control_dependencies(None), graph.initial_scope(name):
        yield


class ResourceVariable(Variable):
    """The class of `tf.Variable(…)`, under TensorFlow's name."""


class UnreadVariable(Variable):
    """The result of an assignment: another object for the same variable, named "UnreadVariable" as in TensorFlow."""

    __slots__ = ("_of",)
    _of: Variable

    @property
    def name(self) -> str:
        """TensorFlow's name for the result of an assignment."""
        return "UnreadVariable"

    @property
    def variable(self) -> Variable:
        """The variable itself."""
        return self._of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._of, name, value)

    def read(self) -> Node:
        """Read the variable."""
        return self._of.read()

    def held(self) -> Node:
        """Return the node of the present value, without a read."""
        return self._of.held()

    def _hold(self, node: Node) -> Any:
        return self._of._hold(node)

    def __reduce__(self) -> tuple[Any, ...]:
        return unread, (self._of,)


set_of: Callable[[UnreadVariable, Variable], None] = UnreadVariable.__dict__["_of"].__set__


def unread(variable: Variable) -> UnreadVariable:
    """Return the result of an assignment to `variable`."""
    made = object.__new__(UnreadVariable)
    set_of(made, variable)
    return made
