"""In which strategy, and in or across its replica, code of this thread runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from gradtape._src.core import hooks, nest
from gradtape._src.core.convert import constant
from gradtape._src.core.errors import public
from gradtape._src.distribute.values import as_reduce_op, as_tensor

if TYPE_CHECKING:
    from gradtape._src.core.tensor import Tensor
    from gradtape._src.distribute.strategy import Strategy


class Entry(NamedTuple):
    """A context that is open: of a strategy, in its replica, or across replicas (None)."""

    strategy: Strategy
    replica: ReplicaContext | None


class _Open(threading.local):
    def __init__(self) -> None:
        self.entries: list[Entry] = []


_open = _Open()
default: Any = None  # an Entry: outside of all strategies; `strategy` says it


def current() -> Entry:
    """Return the innermost context of this thread."""
    entry: Entry = _open.entries[-1] if _open.entries else default
    return entry


@contextlib.contextmanager
def entered(entry: Entry) -> Iterator[None]:
    """Open a context in which `entry` is the current one."""
    entries = _open.entries
    _open.entries = [*entries, entry]
    try:
        yield
    finally:
        _open.entries = entries


def require_replica(what: str) -> None:
    """Raise RuntimeError in a cross-replica context."""
    if in_cross_replica_context():
        raise RuntimeError(
            f"You are calling `{what}` in cross replica context, while it was expected to be called in replica context: call it "
            "in a function that strategy.run runs."
        )


hooks.clients.require_replica = require_replica


def crossing() -> NoReturn:
    """Raise the error for a cross-replica call in a replica."""
    raise RuntimeError("Method requires being in cross-replica context, use get_replica_context().merge_call()")


def get_strategy() -> Strategy:
    """Return the strategy of the open scope or `run`; the default one, which does nothing, outside of all.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> with strategy.scope():
    ...     print(tf.distribute.get_strategy() is strategy)
    True
    """
    return current().strategy


def has_strategy() -> bool:
    """Return whether there is a strategy around the code, other than the one that does nothing.

    >>> print(tf.distribute.has_strategy())
    False
    """
    return current().strategy is not default.strategy


def in_cross_replica_context() -> bool:
    """Return whether the code is across replicas: in a strategy's `scope()`, and not in a function that its `run` runs.

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
    """A replica, as code in it sees it. There is one, which spans all devices of its strategy.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> def step(x):
    ...     return tf.distribute.get_replica_context().all_reduce("SUM", x)
    >>> strategy.run(step, args=(tf.constant(2.0),)).numpy()
    np.float32(2.0)
    """

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: Any) -> None:
        self._strategy, self._id = strategy, replica_id_in_sync_group

    @property
    def strategy(self) -> Strategy:
        """The strategy that it is a replica of."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas: 1."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """Its number, a scalar int32 tensor: 0."""
        return constant(self._id)

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices that it spans."""
        return self._strategy.extended.worker_devices

    @public
    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call `merge_fn(strategy, *args, **kwargs)` across replicas, and return its result."""
        with entered(Entry(self._strategy, None)):
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    @public
    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Return the sum or mean of `value`, a tensor or a nest of them, over all replicas: with one replica, its own values."""
        as_reduce_op(reduce_op)
        return nest.map_structure(as_tensor, value)

    @public
    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Return the values of all replicas, one after the other along `axis`: with one replica, its own values."""
        return nest.map_structure(as_tensor, value)
