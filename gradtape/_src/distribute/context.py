"""The current strategy and replica of a thread."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from gradtape._src.autodiff.custom import CustomGradient
from gradtape._src.core.base import hooks
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.distribute.values import ReduceOp, as_reduce_op, as_tensor, of_each
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import concat, split
from gradtape._src.ops.math.arithmetic import add_n, truediv

if TYPE_CHECKING:
    from gradtape._src.core.tensors.tensor import Tensor
    from gradtape._src.distribute.strategy import Strategy


class EnteredStrategy(NamedTuple):
    """An open context: a strategy and its replica, or None across replicas."""

    strategy: Strategy
    replica: ReplicaContext | None


class _Fields:
    """The innermost open context of a strategy in this thread; None outside of all."""

    entry: EnteredStrategy | None = field(None, per_replica=True)


_local = declare(_Fields)
default: Any = None  # an EnteredStrategy for code outside of all strategies, set by `strategy`


def current() -> EnteredStrategy:
    """Return the innermost context of this thread."""
    entry: EnteredStrategy = _local.entry or default
    return entry


def entered(entry: EnteredStrategy) -> setting:
    """Open a context in which `entry` is the current one."""
    replica = entry.replica
    number = None if replica is None or replica.num_replicas_in_sync == 1 else replica.number
    return setting(entry=entry, replica=number)


def require_replica(what: str) -> int:
    """Return the number of replicas; RuntimeError in a cross-replica context."""
    replica = current().replica
    if replica is None:
        raise RuntimeError(
            f"You are calling `{what}` in cross replica context, while it was expected to be called in replica context: call it "
            "in a function that strategy.run runs."
        )
    return replica.num_replicas_in_sync


def replica_number() -> int | None:
    """Return the number of the replica that runs in this thread; None across replicas, and without a strategy."""
    entry = current()
    return None if entry.replica is None or entry is default else entry.replica.number


hooks.clients.require_replica, hooks.clients.replica = require_replica, replica_number


def crossing() -> NoReturn:
    """Raise the error for a cross-replica call in a replica."""
    raise RuntimeError("Method requires being in cross-replica context, use get_replica_context().merge_call()")


def get_strategy() -> Strategy:
    """Return the strategy of the open scope or `run`; outside of all the default one, which does nothing.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> with strategy.scope():
    ...     print(tf.distribute.get_strategy() is strategy)
    True
    """
    return current().strategy


def has_strategy() -> bool:
    """Return whether another strategy than the default one is active.

    >>> print(tf.distribute.has_strategy())
    False
    """
    return current().strategy is not default.strategy


hooks.clients.has_strategy = has_strategy


def in_cross_replica_context() -> bool:
    """Return whether the code is in a cross-replica context: in a strategy's `scope()`, but not inside of its `run`.

    >>> with tf.distribute.MirroredStrategy().scope():
    ...     print(tf.distribute.in_cross_replica_context())
    True
    """
    return current().replica is None


def get_replica_context() -> ReplicaContext | None:
    """Return the current replica, a ReplicaContext; None across replicas.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> strategy.run(lambda: tf.distribute.get_replica_context().num_replicas_in_sync)
    1
    """
    return current().replica


class ReplicaContext:
    """The interface of the current replica for code that runs in it.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> def step(x):
    ...     return tf.distribute.get_replica_context().all_reduce("SUM", x)
    >>> strategy.run(step, args=(tf.constant(2.0),)).numpy()
    np.float32(2.0)
    """

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: int, count: int = 1, running: Any = None) -> None:
        self._strategy, self.number, self._count, self.running = strategy, replica_id_in_sync_group, count, running

    @property
    def strategy(self) -> Strategy:
        """The strategy of the replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._count

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """The number of the replica, a scalar int32 tensor."""
        return constant(self.number)

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the replica's devices."""
        return self._strategy.extended.worker_devices

    @public
    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call `merge_fn(strategy, *args, **kwargs)` once, when all replicas have reached this call, and return its result.

        Its arguments are PerReplica. Each replica gets its own value of a PerReplica result. RuntimeError if a replica has
        returned before, or inside of a function, branch or loop that is traced in the replica.
        """
        if self.running is not None:
            return self.running.merge(merge_fn, args, kwargs or {})
        with entered(EnteredStrategy(self._strategy, None)):
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    @public
    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Return the sum or mean of `value`, a tensor or a nest of them, over all replicas.

        Its gradient is the same reduction of all replicas' gradients, so every replica must compute it.
        """
        wanted = as_reduce_op(reduce_op)
        return self._together(value, functools.partial(reduced, wanted), lambda dy, _: self.all_reduce(wanted, dy))

    @public
    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Concatenate the values of all replicas along `axis`, in which their extents may differ.

        Its gradient is this replica's part of the sum of all replicas' gradients, so every replica must compute it.
        """

        def own_part(dy: Any, values: Sequence[Any]) -> Any:
            return split(self.all_reduce("SUM", dy), [extents_of(value)[axis] for value in values], axis)[self.number]

        return self._together(value, lambda values: concat(values, axis), own_part)

    def _together(self, value: Any, join: Callable[[Sequence[Any]], Any], back: Callable[[Any, Sequence[Any]], Any]) -> Any:
        """Apply `join` to the values of all replicas, for each tensor of a nest.

        `back(gradient, values)` is its gradient.
        """
        leaves, spec = nest.flatten_with_spec(nest.map_structure(as_tensor, value))
        if self.running is None:
            return nest.unflatten(spec, leaves)

        def merged(strategy: Strategy, *columns: Any) -> tuple[list[Any], list[Any]]:
            values = [of_each(column, self._count) for column in columns]
            return list(map(join, values)), values

        joined, columns = self.merge_call(merged, leaves)
        if not any(isinstance(leaf, IndexedSlices) for leaf in leaves):  # custom gradients take dense tensors only

            def passing(*mine: Any) -> tuple[list[Any], Callable[..., list[Any]]]:
                return joined, lambda *grads: [back(dy, values) for dy, values in zip(grads, columns, strict=True)]

            joined = CustomGradient(passing, traced=False)(*leaves)
        return nest.unflatten(spec, joined)


def reduced(wanted: ReduceOp, values: Sequence[Any]) -> Any:
    """Return the sum or mean of the values of replicas: tensors or IndexedSlices."""
    if isinstance(values[0], IndexedSlices):
        rows, indices = (concat([getattr(value, name) for value in values], 0) for name in ("values", "indices"))
        return IndexedSlices(_shared(wanted, rows, len(values)), indices, values[0].dense_shape)
    return _shared(wanted, add_n(values), len(values))


def _shared(wanted: ReduceOp, total: Any, count: int) -> Any:
    return total if wanted is ReduceOp.SUM else truediv(total, cast(count, total.dtype))
