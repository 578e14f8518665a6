"""`variable_scope`: settings for variables created by `get_variable`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import scopes
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.v1.graphs.graph import in_graph
from gradtape._src.v1.graphs.names import NameScope


class _ReuseMode(enum.Enum):
    """The values of `reuse`: create a variable, reuse an existing one, or either."""

    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE


class VariableScope:
    """The settings of a `variable_scope` for `get_variable`: name prefix, `reuse`, defaults."""

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: Any = None,
        constraint: Any = None,
    ) -> None:
        self._name, self._reuse = name, AUTO_REUSE if in_graph() is None else reuse
        self.initializer, self.regularizer, self.constraint = initializer, regularizer, constraint
        self.caching_device, self.partitioner, self.use_resource = caching_device, partitioner, use_resource
        self.custom_getter, self.dtype, self.original_name_scope = custom_getter, dtype, name_scope

    @property
    def name(self) -> str:
        """The prefix of variable names."""
        return self._name

    @property
    def reuse(self) -> Any:
        """True, False or AUTO_REUSE."""
        return self._reuse

    def reuse_variables(self) -> None:
        """Set `reuse`, so that existing variables are used from now on."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set a function to call in place of `get_variable`."""
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        """Set the default dtype."""
        self.dtype = dtypes.as_dtype(dtype)

    def set_use_resource(self, use_resource: Any) -> None:
        """Note whether variables are resources, which they always are."""
        self.use_resource = use_resource

    def set_caching_device(self, caching_device: Any) -> None:
        """Note a device; without effect."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Set a function that returns the number of parts of a variable."""
        self.partitioner = partitioner

    def get_collection(self, name: Any) -> list[Any]:
        """Return the items of a graph's collection whose names are in this scope."""
        graph = in_graph()
        return [] if graph is None else graph.get_collection(name, f"{self._name}/" if self._name else None)

    def trainable_variables(self) -> list[Variable]:
        """Return the trainable variables with names in this scope."""
        return self.get_collection("trainable_variables")

    def global_variables(self) -> list[Variable]:
        """Return the variables with names in this scope."""
        return self.get_collection("variables")

    def local_variables(self) -> list[Variable]:
        """Return the local variables with names in this scope."""
        return self.get_collection("local_variables")


class OpenedScope(NamedTuple):
    """A thread's open variable scope of a graph, and the number of scopes opened by name."""

    scope: VariableScope
    counts: dict[str, int]


class _Fields:
    """This thread's open scopes, by the Store of a graph, held only as long as the graph exists."""

    variable_scopes: WeakKeyDictionary[Store, OpenedScope] = field(WeakKeyDictionary, per_replica=True)


_local = declare(_Fields)


class Store:
    """The variables of a graph by name, and its open scope in this thread."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables

    def _open(self) -> OpenedScope:
        known = _local.variable_scopes
        if self not in known:
            known[self] = OpenedScope(VariableScope(False), {})
        return known[self]

    @property
    def scope(self) -> VariableScope:
        """The open scope."""
        return self._open().scope

    @scope.setter
    def scope(self, scope: VariableScope) -> None:
        _local.variable_scopes[self] = self._open()._replace(scope=scope)

    @property
    def counts(self) -> dict[str, int]:
        """The number of scopes opened, by name."""
        return self._open().counts

    @counts.setter
    def counts(self, counts: dict[str, int]) -> None:
        _local.variable_scopes[self] = self._open()._replace(counts=counts)

    def opened(self, name: str) -> None:
        """Count a scope with this name."""
        self.counts = {**self.counts, name: self.counts.get(name, 0) + 1}

    def closed(self, name: str) -> None:
        """Reset the counts of scopes inside of this one."""
        self.counts = {known: 0 if known.startswith(f"{name}/") else count for known, count in self.counts.items()}

    def unused(self, name: str) -> str:
        """Return an unused name for a scope in the open one: `name` or `name_1`, …"""
        outer = f"{self.scope.name}/" if self.scope.name else ""
        count, candidate = 0, name
        while self.counts.get(outer + candidate):
            count += 1
            candidate = f"{name}_{count}"
        return candidate


_eager = Store({})  # eager code shares no variables


def store() -> Store:
    """Return the store of the current graph, also inside of its branches, loops and functions."""
    graph = engine.graph_around()
    if graph is None:
        return _eager
    found: Store = graph.variable_scopes.setdefault("store", Store({}))
    return found


def get_variable_scope() -> VariableScope:
    """Return the open variable scope."""
    return store().scope


def no_regularizer(_: Any) -> None:
    """Add no penalty; overrides the regularizer of a scope."""


class variable_scope:
    """A context in which `get_variable` prefixes names by `name_or_scope/`; a `VariableScope` is entered again.

    `reuse=True` reuses existing variables, `AUTO_REUSE` creates missing ones. `initializer`, `regularizer`, `constraint`,
    `dtype`, `custom_getter` and `partitioner` are defaults for variables. If `name_or_scope` is None, `default_name` is used,
    made unique.
    """

    @public
    def __init__(
        self,
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
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError(f"VariableScope: name_or_scope must be a string or VariableScope, received {name_or_scope!r}.")
        if reuse not in (None, True, False, AUTO_REUSE):
            raise ValueError(f"The reuse parameter must be True or False or None or tf.AUTO_REUSE, received {reuse!r}.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"custom_getter {custom_getter!r} is not callable: it takes get_variable and its arguments.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self._given, self._default, self._reuse, self._getter = name_or_scope, default_name, reuse, custom_getter
        self._auxiliary = auxiliary_name_scope
        self._own = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "dtype": None if dtype is None else dtypes.as_dtype(dtype),
            "use_resource": use_resource,
            "constraint": constraint,
        }

    @public
    def __enter__(self) -> VariableScope:
        held = self._store = store()
        self._outer = outer = held.scope
        if isinstance(self._given, VariableScope):
            base, name = self._given, self._given.name
            last = name.rpartition("/")[2]
        else:
            base, last = outer, self._given if self._given is not None else held.unused(str(self._default))
            name = f"{outer.name}/{last}" if outer.name else last
        self._names = self._name_scope(str(self._default) if self._given is None else last)
        original = self._names.__enter__()
        held.opened(name)
        self._name, self._counts = name, dict(held.counts)
        settings = {key: getattr(base, key) if value is None else value for key, value in self._own.items()}
        getter = base.custom_getter if self._getter is None else _chained(self._getter, base.custom_getter)
        original = base.original_name_scope if isinstance(self._given, VariableScope) else original
        self._made = VariableScope(self._reuse or base.reuse, name, custom_getter=getter, name_scope=original, **settings)
        held.scope = self._made
        return self._made

    def _name_scope(self, last: str) -> AbstractContextManager[str]:
        prefix, graph = scopes.prefix(), in_graph()
        if not self._auxiliary or not last:
            return NameScope(prefix)
        named: AbstractContextManager[str] = NameScope(f"{prefix}{last}/") if graph is None else graph.name_scope(last)
        return named

    @public
    def __exit__(self, *reason: Any) -> None:
        held = self._store
        if held.scope is not self._made:
            raise RuntimeError("Improper nesting of variable_scope.")
        if isinstance(self._given, VariableScope):
            held.counts = self._counts
        else:
            held.closed(self._name)
        held.scope = self._outer
        self._names.__exit__(*reason)


@public
def variable_op_scope(
    values: Any, name_or_scope: Any, default_name: str | None = None, *settings: Any, **named: Any
) -> variable_scope:
    """Return `variable_scope` with the values first, an older signature of TensorFlow."""
    return variable_scope(name_or_scope, default_name, values, *settings, **named)


def _chained(inner: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    if outer is None:
        return inner
    return lambda getter, *args, **kwargs: inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)
