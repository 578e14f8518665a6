"""Functions that implement one API for different devices: inside of a function, a call is replaced by that for the device.

TensorFlow replaces such calls in the finished graph. TensorFlow Probability calls the generic implementation first, and traces
the one for CPUs afterwards. So gradtape repeats a call with another implementation as long as nothing uses its results.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from gradtape._src.control.arguments import Arguments
from gradtape._src.control.scope import Scope
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, Trace, effectful
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.shape import identity

if TYPE_CHECKING:
    from gradtape._src.control.concrete import ConcreteFunction
    from gradtape._src.control.function import Function

API, DEVICE = "api_implements", "api_preferred_device"
ATTRIBUTES = frozenset((
    API, DEVICE, "_OutputsOnOpDevice", "_disable_acd", "_implements", "_noinline", "_tf_data_function",
    "disable_summaries_at_runtime", "experimental_ints_on_device", "function_runs_at_most_once", "go_backwards",
    "runtime_constant_optimization", "time_major",
))  # fmt: skip


def checked(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the attributes of a function with bytes as strings; ValueError for attributes that TensorFlow does not have."""
    given = dict(attributes or {})
    for name, value in given.items():
        if name not in ATTRIBUTES:
            raise ValueError(f"{name} is not supported by tf.function as an attribute. Those are {sorted(ATTRIBUTES)}.")
        if not isinstance(value, (bool, int, float, str, bytes, list)):
            raise ValueError(f"Attribute {name} must be bool, int, float, string, or list. Got {type(value)}.")
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in given.items()}


class Implemented:
    """An API with its traced implementations for this device."""

    def __init__(self) -> None:
        self._traced: weakref.WeakValueDictionary[int, ConcreteFunction] = weakref.WeakValueDictionary()

    def add(self, function: Function, traced: ConcreteFunction) -> None:
        """Add a traced implementation, and repeat pending calls with it if nothing has used their results."""
        if function.attributes.get(DEVICE) == jax.default_backend().upper():
            self._traced.setdefault(id(traced), traced)
            for call in calls_under_way() or ():
                if call.function.api is self:
                    call.replace([traced])

    def call(self, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function inside of another one; return the results of the implementation for the device."""
        calls = calls_under_way()
        assert calls is not None
        before = _State.now()
        results = nest.map_structure(_own, function.called(args, kwargs), expand_composites=True)
        given = Arguments(function._signature.bind(args, kwargs))
        call = _Call(function, given.nodes, tensors_of(results), before, _State.now())
        if not given.passed and not call.replace(self._traced.values()):
            calls.append(call)
        return results


_apis: weakref.WeakValueDictionary[Any, Implemented] = weakref.WeakValueDictionary()


def api(name: Any) -> Implemented:
    """Return the API of a name."""
    return _apis.setdefault(name, Implemented())


def _own(value: Any) -> Any:
    """Return a copy of a tensor, since a function may return an argument or an outside tensor."""
    return identity(value) if isinstance(value, Tensor) else value


def tensors_of(values: Any) -> list[Tensor]:
    """Return the tensors in a nest."""
    return [x for x in nest.flatten(values, expand_composites=True) if isinstance(x, Tensor)]


class _State(NamedTuple):
    """The state of a trace: its number of nodes, and the values of variables."""

    trace: Trace
    length: int
    assigned: Any

    @classmethod
    def now(cls) -> _State:
        """Return the present state."""
        trace = engine.local.trace
        assigned = dict(trace.scope.after) if isinstance(trace.scope, Scope) else len(trace.assigned)
        return cls(trace, len(trace.nodes), assigned)


class _Call(NamedTuple):
    """A call in a function: its arguments' nodes, its results, and the state of the trace before and after it."""

    function: Function
    given: list[Node]
    results: list[Tensor]
    before: _State
    after: _State

    def replace(self, others: Iterable[ConcreteFunction]) -> bool:
        """Repeat the call with the first of these functions that fits, unless something depends on it."""
        for other in list(others):
            function, arguments = other._traced_from(), other._arguments
            alike = [n.aval.dtype for n in arguments.nodes] == [n.aval.dtype for n in self.given] and not arguments.passed
            if function in (None, self.function) or not alike or self._used():
                continue
            assert function is not None
            args, kwargs = arguments.pack(self.given)
            found = tensors_of(function.called(args, kwargs))
            if [x.dtype for x in found] == [x.dtype for x in self.results]:
                for mine, instead in zip(self.results, found, strict=True):
                    mine.__init__(instead.node)  # type: ignore[misc]
                return True
        return False

    def _used(self) -> bool:
        """Return whether the call had effects, or its results were used."""
        now, mine = _State.now(), {x.node for x in self.results}
        if now.trace is not self.after.trace or self.before.assigned != self.after.assigned:
            return True
        nodes, since = now.trace.nodes, self.before.length if self.before.trace is now.trace else 0
        if any(effectful(node.key) for node in nodes[since : self.after.length]):
            return True
        return any(not mine.isdisjoint(node.inputs or ()) for node in nodes[self.after.length :])


class _Fields:
    """The calls of implementations of an API, in a function without a Scope: one that runs as eager code, or a graph."""

    implementations: list[_Call] | None = field(None, per_replica=True)


_local = declare(_Fields)


def in_function() -> setting:
    """Open a context for the code of a function without a Scope. In a graph calls are not replaced, as in TensorFlow."""
    graph = engine.graph_around()
    return setting(implementations=[] if graph is None or graph.building_function else None)


def calls_under_way() -> list[_Call] | None:
    """Return the calls that may be replaced; None outside of functions."""
    scope: Any = engine.local.trace.scope
    if type(scope) is not Scope:
        return _local.implementations
    graph = engine.graph_around()
    return scope.calls if graph is None or graph.building_function else None
