"""Variables of a strategy with several replicas, with the rules of reading and assigning them in a replica."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.control.function import forget
from gradtape._src.core.base import ambient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.core.tensors.variable import UnreadVariable, Variable, set_of
from gradtape._src.core.values.creators import VariableAggregation, VariableSynchronization
from gradtape._src.distribute import context
from gradtape._src.distribute.context import reduced
from gradtape._src.distribute.sharding import DistributedVariable
from gradtape._src.distribute.values import DistributedValues, PerReplica, ReduceOp, listed, of_each
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import zeros_like
from gradtape._src.ops.math.arithmetic import truediv

NONE, SUM = VariableAggregation.NONE, VariableAggregation.SUM
FIRST = VariableAggregation.ONLY_FIRST_REPLICA


class Component(UnreadVariable):
    """A strategy's variable as one replica sees it: in `v.values`, under its name there, and as the result of an assignment."""

    __slots__ = ("_called",)
    _called: str | None

    @property
    def name(self) -> str:
        """The name, with the number of the replica for all but the first."""
        return self._called or super().name

    def read(self) -> Node:
        """Read the variable of this replica."""
        return Variable.read(self._of)

    def held(self) -> Node:
        """Return the node that the variable of this replica holds now, without a read."""
        return Variable.held(self._of)


class Copy(DistributedVariable):
    """The variable of a replica other than the first."""

    is_copy = True


def component(variable: Variable, called: str | None = None) -> Component:
    """Return a replica's variable as an object with the name `called`."""
    made: Any = object.__new__(Component)
    set_of(made, variable)
    Component.__dict__["_called"].__set__(made, called)
    return made


def numbered(name: str, number: int) -> str:
    """Return the name of a variable in a replica other than the first."""
    return f"{name.removesuffix(':0')}/replica_{number}:0"


class ReplicatedVariable(DistributedVariable, DistributedValues):
    """A variable that was created in the scope of a strategy with several replicas.

    It holds the value of the first replica, or of all of them. The others get their own `_copies` once their values may
    differ.
    """

    _strategy: Any
    _copies: tuple[Variable, ...]

    @property
    def values(self) -> tuple[Variable, ...]:
        """The variable of each replica."""
        numbers = range(1, self._strategy.extended._count)
        return component(self, self.name), *[
            component(self._copies[number - 1] if self._copies else self, numbered(self.name, number)) for number in numbers
        ]

    def _number(self) -> int | None:
        """Return the number of the replica that runs in this thread; None across replicas."""
        number = ambient.local.replica
        return None if number in (None, ambient.ALONE) or context.current().strategy is not self._strategy else number

    def _mine(self) -> Variable | None:
        """Return the copy of the replica that runs in this thread; None if this object holds its value."""
        if not self._copies:
            return None
        number = self._number()
        return self._copies[number - 1] if number else None

    def _others(self) -> tuple[Variable, ...]:
        """Return the copies of the other replicas; none while a single replica runs."""
        return () if ambient.local.replica == ambient.ALONE else self._copies

    @property
    def variable(self) -> Variable:
        """The variable with the value of this replica, for tapes."""
        mine = self._mine()
        return self if mine is None else mine

    def read(self) -> Node:
        """Read the variable in this replica."""
        mine = self._mine()
        return super().read() if mine is None else mine.read()

    def held(self) -> Node:
        """Return the node that the variable holds now in this replica, without a read."""
        mine = self._mine()
        return super().held() if mine is None else mine.held()

    def copied(self) -> None:
        """Create a copy for each replica but the first. Functions with the variable are traced again."""
        if self._copies:
            return
        with tracing.outside(), tracing.creation_in_function(None):
            options: dict[str, Any] = {"trainable": self.trainable, "shape": self._declared}
            options |= {"synchronization": self.synchronization, "aggregation": self.aggregation}
            made = []
            for number in range(1, self._strategy.extended._count):
                name = numbered(self.name, number).removesuffix(":0")
                copy = Copy(EagerTensor(self._tensor.node), name=name, **options)
                copy._sharding = self._sharding
                made.append(copy)
            self._copies = tuple(made)
        tracing.trace_again(self)
        forget(self)

    def _hold(self, node: Node) -> Any:
        number = self._number()
        if number is None:
            for copy in self._others():
                copy._hold(node)
        elif number:
            return self._copies[number - 1]._hold(node)
        updated = super()._hold(node)
        return updated if number is None else component(self)

    def _update(self, op: Op, delta: Any, how: str) -> Any:
        if self._number() is not None or not self._others():
            return super()._update(op, delta, how)
        for copy in self._others():  # across replicas each copy is updated from its own value
            copy._update(op, delta, how)
        with engine.shared:
            return super()._hold(engine.record(op, (super().held(), self._checked(delta, how))))

    def _assign_each(self, how: str, value: PerReplica) -> Any:
        """Assign, across replicas, each replica's value to its copy."""
        self.copied()
        first, *others = value.values
        for copy, one in zip(self._copies, others, strict=True):
            getattr(copy, how)(one)
        with ambient.setting(replica=ambient.ALONE):
            return getattr(super(), how)(first)

    def __repr__(self) -> str:
        return listed(type(self).__name__, map(repr, self.values))

    __str__ = __repr__


class MirroredVariable(ReplicatedVariable):
    """A variable with the same value in all replicas.

    An assignment across replicas applies to all of them. Values assigned in the replicas are aggregated by the variable's
    `aggregation`: their sum, their mean or the first one. Without an aggregation each replica assigns to its own copy.
    """

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Assign a new value to the variable."""
        return self._joined(super().assign, value, use_locking, name, read_value)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Add `delta` to the value."""
        return self._joined(super().assign_add, delta, use_locking, name, read_value)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Subtract `delta` from the value."""
        return self._joined(super().assign_sub, delta, use_locking, name, read_value)

    def _joined(self, assign: Callable[..., Any], value: Any, use_locking: bool, name: str | None, read_value: bool) -> Any:
        if self._number() is None and type(value) is PerReplica:
            return self._assign_each(assign.__name__, value)
        if self._number() is None or self.aggregation is NONE:
            return assign(value, use_locking, name, read_value)
        replica: Any = context.get_replica_context()
        value = tensor(value, self.dtype if not isinstance(value, Tensor) else None)
        replica.merge_call(lambda _, all_of_them: assign(self._one_of(all_of_them)), (value,))
        return self.read_value() if read_value else None

    def _one_of(self, values: Any) -> Any:
        found = of_each(values, self._strategy.extended._count)
        if self.aggregation is FIRST:
            return found[0]
        return reduced(ReduceOp.from_variable_aggregation(self.aggregation), found)

    def _hold(self, node: Node) -> Any:
        if self._number() is not None and self.aggregation is not NONE:
            raise NotImplementedError(
                f"Variable '{self.name}' with aggregation {self.aggregation.name} is updated in a replica by other means than "
                "assign, assign_add and assign_sub: do it across replicas, in get_replica_context().merge_call()."
            )
        if self._number() is not None:
            self.copied()
        return super()._hold(node)


class SyncOnReadVariable(ReplicatedVariable):
    """A variable with a separate value in each replica. A read across replicas aggregates these by its `aggregation`."""

    def read(self) -> Node:
        """Read the variable: in a replica its own value, across replicas the aggregate."""
        if self._number() is not None:
            return super().read()
        return self._whole([super(ReplicatedVariable, self).read(), *[copy.read() for copy in self._others()]])

    def held(self) -> Node:
        """Return the node that the variable holds now, without a read."""
        if self._number() is not None:
            return super().held()
        return self._whole([super(ReplicatedVariable, self).held(), *[copy.held() for copy in self._others()]])

    def _whole(self, nodes: list[Node]) -> Node:
        if self.aggregation is FIRST:
            return nodes[0]
        node: Node = reduced(ReduceOp.from_variable_aggregation(self.aggregation), [EagerTensor(node) for node in nodes]).node
        return node

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Assign a new value: in a replica its own, across replicas one that is distributed so that they aggregate to it."""
        if self._number() is None and type(value) is PerReplica:
            return self._assign_each("assign", value)
        if self._number() is None and self._others() and self.aggregation is SUM:
            given = tensor(value, self.dtype if not isinstance(value, Tensor) else None)
            if self._in_whole():
                return self._in_first(given)
            value = cast(truediv(given, cast(1 + len(self._others()), given.dtype)), self.dtype)
        return super().assign(value, use_locking, name, read_value)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Add `delta` to the value of this replica, or across replicas to that of each."""
        if self._sums("assign_add"):
            return self._in_first(self + delta)
        return super().assign_add(delta, use_locking, name, read_value)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Subtract `delta` from the value of this replica, or across replicas from that of each."""
        if self._sums("assign_sub"):
            return self._in_first(self - delta)
        return super().assign_sub(delta, use_locking, name, read_value)

    def _sums(self, what: str) -> bool:
        """Return whether a single replica that sees whole batches changes a sum; ValueError across replicas."""
        if self._number() is not None or not self._others() or self.aggregation is not SUM:
            return False
        if self._in_whole():
            return True
        raise ValueError(
            f"SyncOnReadVariable does not support `{what}` in cross-replica context when aggregation is set to "
            "`tf.VariableAggregation.SUM`. Call it in a function that strategy.run runs."
        )

    def _in_whole(self) -> bool:
        return context.get_replica_context() is not None and context.current().strategy is self._strategy

    def _in_first(self, value: Any) -> Any:
        """Assign the whole sum to the first replica, which needs no division."""
        for copy in self._others():
            copy.assign(zeros_like(value))
        return DistributedVariable._hold(self, tensor(value).node)


def replicated(variable: Variable, strategy: Any) -> Variable:
    """Convert a variable that was just created and sharded to one of a strategy with several replicas."""
    if type(variable) is not DistributedVariable:
        return variable
    made: Any = variable
    on_read = variable.synchronization is VariableSynchronization.ON_READ
    made.__class__ = SyncOnReadVariable if on_read else MirroredVariable
    made._strategy, made._copies = strategy, ()
    if on_read:
        made.copied()
    return variable
