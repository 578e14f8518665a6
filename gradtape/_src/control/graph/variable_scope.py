"""`get_variable` and `variable_scope`: variables by name, made once and shared."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable, Iterator
from typing import Any

from gradtape._src.control.graph.graph import Graph, in_graph
from gradtape._src.control.graph.names import NameScope
from gradtape._src.core import dtypes, scopes
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.tensor import Tensor
from gradtape._src.core.variable import Variable
from gradtape._src.ops.array import zeros
from gradtape._src.ops.weights import GlorotUniform


class _Reuse(enum.Enum):
    """Whether `get_variable` makes a variable or takes the one that there is: what of both is possible."""

    AUTO_REUSE = 1


AUTO_REUSE = _Reuse.AUTO_REUSE


class Store:
    """The variables that `get_variable` made in a graph, by name, and the scope that is open."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.scope = VariableScope("", None)
        self.counts: dict[str, int] = {}


class VariableScope:
    """What holds for `get_variable` in a `variable_scope`: the name to put in front, `reuse`, defaults."""

    def __init__(
        self,
        name: str,
        reuse: Any,
        initializer: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
        custom_getter: Any = None,
        dtype: Any = dtypes.float32,
        original_name_scope: str = "",
    ) -> None:
        self._name, self._reuse = name, reuse
        self.initializer, self.regularizer, self.constraint = initializer, regularizer, constraint
        self.custom_getter, self.dtype, self.original_name_scope = custom_getter, dtype, original_name_scope

    @property
    def name(self) -> str:
        """The name that is put in front of those of variables."""
        return self._name

    @property
    def reuse(self) -> Any:
        """True, False (None) or AUTO_REUSE."""
        return self._reuse

    def reuse_variables(self) -> None:
        """Take variables that there are from here on, instead of making them."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the initializer of variables that are given none."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the regularizer of variables that are given none."""
        self.regularizer = regularizer

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set the function that is called in the place of `get_variable`."""
        self.custom_getter = custom_getter

    def trainable_variables(self) -> list[Variable]:
        """The trainable variables with names in this scope."""
        return [v for v in self.global_variables() if v.trainable]

    def global_variables(self) -> list[Variable]:
        """The variables with names in this scope."""
        prefix = f"{self._name}/" if self._name else ""
        return [v for name, v in _store().variables.items() if name.startswith(prefix)]

    def get_collection(self, name: Any) -> list[Any]:
        """What is in a collection of the graph under a name in this scope."""
        graph = in_graph()
        return [] if graph is None else graph.get_collection(name, f"{self._name}/" if self._name else None)


class _Eager(threading.local):
    """The store of eager code, where nothing is shared."""

    def __init__(self) -> None:
        self.store = Store()


_eager = _Eager()


def _store() -> Store:
    graph = in_graph()
    if graph is None:
        return _eager.store
    store: Store = graph.variable_scopes.setdefault("store", Store())
    return store


def get_variable_scope() -> VariableScope:
    """The variable scope that is open."""
    return _store().scope


@contextlib.contextmanager
def _opened(
    name_or_scope: Any,
    default_name: str | None,
    initializer: Any,
    regularizer: Any,
    custom_getter: Any,
    reuse: Any,
    dtype: Any,
    constraint: Any,
    auxiliary: bool,
) -> Iterator[VariableScope]:
    store = _store()
    outer = store.scope
    if isinstance(name_or_scope, VariableScope):
        base, name, last = name_or_scope, name_or_scope.name, name_or_scope.name.rpartition("/")[2]
    else:
        base = outer
        last = name_or_scope
        if last is None:
            if reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            last = _unused(store, outer.name, str(default_name))
        name = f"{outer.name}/{last}" if outer.name else last
    store.counts[name] = store.counts.get(name, 0) + 1
    getter = base.custom_getter
    if custom_getter is not None:
        getter = custom_getter if getter is None else _chained(custom_getter, getter)
    graph = in_graph()
    with contextlib.ExitStack() as stack:
        prefix = scopes.prefix()
        if auxiliary and graph is not None and last:
            prefix = stack.enter_context(graph.name_scope(last))
        elif auxiliary and last:
            prefix = stack.enter_context(NameScope(f"{prefix}{last}/"))
        scope = VariableScope(
            name,
            reuse or base.reuse,
            base.initializer if initializer is None else initializer,
            base.regularizer if regularizer is None else regularizer,
            base.constraint if constraint is None else constraint,
            getter,
            base.dtype if dtype is None else dtype,
            prefix,
        )
        store.scope = scope
        try:
            yield scope
        finally:
            store.scope = outer


def _unused(store: Store, outer: str, name: str) -> str:
    full = f"{outer}/{name}" if outer else name
    count = 0
    candidate = name
    while store.counts.get(full):
        count += 1
        candidate = f"{name}_{count}"
        full = f"{outer}/{candidate}" if outer else candidate
    return candidate


def _chained(inner: Callable[..., Any], outer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda getter, *args, **kwargs: inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)


def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: Any = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> contextlib.AbstractContextManager[VariableScope]:
    """A context in which `get_variable` puts `name_or_scope/` before names; a `VariableScope` goes back to that one.

    `reuse=True` takes variables that there are, `AUTO_REUSE` makes those that there are not. `initializer`,
    `regularizer`, `constraint`, `dtype` hold for variables that are given none.
    """
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if reuse not in (None, True, False, AUTO_REUSE):
        raise ValueError(f"The reuse parameter must be True or False or None or tf.AUTO_REUSE, received {reuse!r}.")
    if isinstance(name_or_scope, str) and not name_or_scope and default_name is None:
        auxiliary_name_scope = False
    return _opened(
        name_or_scope, default_name, initializer, regularizer, custom_getter, reuse, dtype, constraint, auxiliary_name_scope
    )


@public
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """The variable called `name` in the open variable scope: made, or the one made before, as the scope's `reuse` says.

    `initializer` is a function of shape and dtype, or a tensor; by default Glorot's uniform one, zeros for integers.
    ValueError if the variable exists and is not to be reused, or the other way round, or has another shape or dtype.
    """
    scope = get_variable_scope()
    getter = custom_getter or scope.custom_getter

    def make(
        name: str,
        shape: Any = shape,
        dtype: Any = dtype,
        initializer: Any = initializer,
        regularizer: Any = regularizer,
        trainable: Any = trainable,
        collections: Any = collections,
        constraint: Any = constraint,
        **ignored: Any,
    ) -> Any:
        return _get(scope, name, shape, dtype, initializer, regularizer, trainable, collections, constraint)

    full = f"{scope.name}/{name}" if scope.name else name
    if getter is None:
        return make(full)
    return getter(
        make, full, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
        collections=collections, constraint=constraint, reuse=scope.reuse,
    )  # fmt: skip


def _get(
    scope: VariableScope,
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    regularizer: Any,
    trainable: Any,
    collections: Any,
    constraint: Any,
) -> Variable:
    store, graph = _store(), in_graph()
    wanted = dtypes.as_dtype(dtype if dtype is not None else scope.dtype)
    found = store.variables.get(name) if graph is not None or scope.reuse else None
    if found is not None:
        if not scope.reuse:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
        if shape is not None and not TensorShape(shape).is_compatible_with(found.shape):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and found shape {found.shape}."
            )
        if dtype is not None and wanted != found.dtype:
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {wanted.name} and found dtype {found.dtype.name}."
            )
        return found
    if scope.reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE "
            "in VarScope?"
        )
    initial = _initial(name, shape, wanted, initializer if initializer is not None else scope.initializer)
    with NameScope(""), _collected(graph, collections, trainable):
        variable: Variable = Variable(
            initial,
            trainable=trainable,
            name=name,
            dtype=None if isinstance(initial, Tensor) else wanted,
            constraint=constraint if constraint is not None else scope.constraint,
        )
    store.variables[name] = variable
    penalty = regularizer if regularizer is not None else scope.regularizer
    if penalty is not None and graph is not None:
        with NameScope(f"{name}/Regularizer/"):
            loss = penalty(variable)
        if loss is not None:
            graph.add_to_collection("regularization_losses", loss)
    return variable


@contextlib.contextmanager
def _collected(graph: Graph | None, collections: Any, trainable: Any) -> Iterator[None]:
    """Enter the variable that is made in these collections, and in the trainable ones if it is trainable."""
    if graph is None or collections is None:
        yield
        return
    also = ["trainable_variables"] if trainable is not False else []
    before, graph.next_collections = graph.next_collections, list(dict.fromkeys([*collections, *also]))
    try:
        yield
    finally:
        graph.next_collections = before


def _initial(name: str, shape: Any, dtype: Any, initializer: Any) -> Any:
    """The initial value of a variable, or a function that makes it."""
    if initializer is not None and not callable(initializer):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return tensor(initializer, None if hasattr(initializer, "dtype") else dtype)
    stated = TensorShape(shape)
    if shape is None or not stated.is_fully_defined():
        if initializer is not None and shape is None:
            try:
                return initializer()
            except TypeError:
                pass
        if shape is None:
            raise ValueError(
                f"Variable {name} did not get an initializer, so its `shape` argument must be specified. Give shape=[…], or an "
                "initializer that is a tensor."
            )
        raise ValueError(
            f"Shape of a new variable ({name}) must be fully defined, but instead was {stated}. Give shape=[…], or an "
            "initializer that is a tensor."
        )
    if initializer is None:
        initializer = GlorotUniform() if dtype.is_floating else _zeros
    if isinstance(initializer, type):
        initializer = initializer()
    return lambda: initializer(stated.as_list(), dtype=dtype)


def _zeros(shape: Any, dtype: Any) -> Tensor:
    return zeros(shape, dtype)


class _Kind(type):
    """`isinstance(x, compat.v1.Variable)` holds for each variable, and calling it makes one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Variable)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _made(*args, **kwargs)


def _made(
    initial_value: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    expected_shape: Any = None,
    import_scope: Any = None,
    constraint: Any = None,
    use_resource: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
    shape: Any = None,
) -> Any:
    with _collected(in_graph(), collections, trainable):
        return Variable(initial_value, trainable=trainable, name=name, dtype=dtype, constraint=constraint, shape=shape)


class VariableV1(metaclass=_Kind):
    """A variable, made as TensorFlow 1 made it: with `collections` as its third argument."""
