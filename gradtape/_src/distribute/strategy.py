"""`Strategy` and its kinds: one logical replica that spans the devices."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import NoneType, TracebackType
from typing import Any

import jax

from gradtape._src.core import creators, engine, nest
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.core.variable import Variable
from gradtape._src.distribute import context, group
from gradtape._src.distribute.cluster import ClusterResolver, TFConfigClusterResolver
from gradtape._src.distribute.context import Entry, ReplicaContext
from gradtape._src.distribute.datasets import DistributedDataset
from gradtape._src.distribute.sharding import Layout, found
from gradtape._src.distribute.values import (
    DistributedValues,
    InputContext,
    PerReplica,
    ReduceOp,
    ValueContext,
    as_reduce_op,
    as_tensor,
    unwrapped,
)
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.math.arithmetic import truediv
from gradtape._src.ops.math.reduction import reduce_sum

logger = logging.getLogger("gradtape")


class Scope:
    """The context of `Strategy.scope()`, in which its variables are made."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._open: list[ExitStack] = []

    @public
    def __enter__(self) -> Strategy:
        opened = ExitStack()
        for entered in self._strategy._contexts():
            opened.enter_context(entered)
        self._open.append(opened)
        self._strategy._scopes.append(self)  # which stays open where only `__enter__` is called, as in notebooks
        return self._strategy

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._strategy._scopes.remove(self)
        self._open.pop().close()


class Strategy:
    """A way to spread a program over devices. `MirroredStrategy` and `OneDeviceStrategy` are its kinds.

    One replica spans all devices, and `num_replicas_in_sync` is 1: a program computes on a whole batch, the rows of which lie
    split over the devices, and XLA divides the work. So it gives what it gives on one device, to rounding. TensorFlow's
    replicas each see their part of a batch. The one replica of gradtape sees all of it, and a batch is as large as the dataset
    makes it: `64 * strategy.num_replicas_in_sync` is 64.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(4))
    >>> for batch in dataset:
    ...     total = strategy.run(lambda x: v * tf.cast(x, tf.float32), args=(batch,))
    ...     print(strategy.reduce("SUM", total, axis=0).numpy())
    6.0
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self._scopes: list[Scope] = []  # those that are open

    @property
    def extended(self) -> StrategyExtended:
        """More of it, a StrategyExtended."""
        return self._extended

    @property
    def cluster_resolver(self) -> ClusterResolver | None:
        """The resolver of the cluster; None for the devices of one process."""
        return None

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas: 1, on however many devices."""
        return 1

    @public
    def scope(self) -> AbstractContextManager[Strategy]:
        """Open a context in which variables are made that have a copy on each device."""
        return Scope(self)

    def _contexts(self) -> list[AbstractContextManager[Any]]:
        entry = context.current()
        if entry.strategy is self:
            if entry.replica is not None:
                context.crossing()
            return []
        if entry.strategy is not context.default.strategy:
            raise RuntimeError(
                f"Mixing different tf.distribute.Strategy objects: {entry.strategy!r} is not {self!r}. Leave the scope of "
                "the one before using the other."
            )
        return [context.entered(Entry(self, None)), creators.variable_creator_scope(self._extended._created)]

    @public
    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Run `fn(*args, **kwargs)` in the replica. Values that lie split over the devices are computed by all of them.

        RuntimeError if it is called in a function that `run` runs.
        """
        if not isinstance(args, (list, tuple)):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}")
        if engine.local.trace.scope is not None:
            from gradtape._src.control.autograph import converted  # loads what transforms source, in functions and graphs only

            fn = converted(fn)
        args, kwargs = unwrapped(tuple(args)), unwrapped(kwargs or {})
        with self.scope(), context.entered(Entry(self, ReplicaContext(self, 0))):
            return fn(*args, **kwargs)

    def _require_crossing(self) -> None:
        entry = context.current()
        if entry.strategy is self and entry.replica is not None and self is not context.default.strategy:
            context.crossing()

    @public
    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | None) -> Any:
        """Reduce the results of `run` to their sum or mean over replicas and, if `axis` is given, over that axis of the
        tensor.

        There is one replica, so without an axis it is the value itself.

        >>> strategy = tf.distribute.MirroredStrategy()
        >>> strategy.reduce("MEAN", tf.constant([1.0, 2.0, 6.0]), axis=0).numpy()
        np.float32(3.0)
        """
        self._require_crossing()
        wanted, value = as_reduce_op(reduce_op), unwrapped(value)
        if axis is None:
            return nest.map_structure(as_tensor, value) if wanted is ReduceOp.SUM else value
        x = tensor(value)
        if not isinstance(axis, int):
            raise TypeError(f"`axis` must be an int or None, received {axis!r}.")
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"Invalid reduction dimension {axis} for input with {x.ndim} dimensions.")
        total = reduce_sum(x, axis)
        return total if wanted is ReduceOp.SUM else truediv(total, cast(x.shape[axis], total.dtype))

    @public
    def gather(self, value: Any, axis: int) -> Any:
        """Return the results of `run` in all replicas, one after the other along `axis`: with one replica, its own."""
        entry = context.current()
        if entry.strategy is self and entry.replica is not None:
            raise RuntimeError(
                "tf.distribute.Strategy.gather method requires cross-replica context, use "
                "get_replica_context().all_gather() instead"
            )
        return unwrapped(value)

    @public
    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the value of each replica, a tuple: of one, the value."""
        return value.values if isinstance(value, DistributedValues) else (value,)

    @public
    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Return the replicas' values like `experimental_local_results`, its later name."""
        return self.experimental_local_results(value)

    @public
    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return a dataset of batches as one whose batches lie split along their first axis over the devices.

        A batch whose rows cannot be divided evenly is copied to all devices.
        """
        if not hasattr(dataset, "element_spec"):
            raise AttributeError(
                f"a tf.data.Dataset can be distributed, received {dataset!r}: Dataset.from_tensor_slices makes one."
            )
        return self._extended._distributed(dataset)

    @public
    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """Return the dataset that `dataset_fn(input_context)` makes, its batches split along their first axis over the
        devices.

        >>> strategy = tf.distribute.MirroredStrategy()
        >>> def made(context):
        ...     return tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))
        >>> [x.numpy().tolist() for x in strategy.distribute_datasets_from_function(made)]
        [[0, 1], [2, 3]]
        """
        return self.experimental_distribute_dataset(dataset_fn(InputContext()))

    @public
    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Return `value_fn(value_context)` for the replica, as DistributedValues that `run` takes; in a nest, each leaf of it."""
        return nest.map_structure(lambda value: PerReplica([value]), value_fn(ValueContext()))


class StrategyExtended:
    """The part of a strategy that libraries use: where it computes, and updates of variables.

    >>> tf.distribute.OneDeviceStrategy("CPU:0").extended.worker_devices
    ('/job:localhost/replica:0/task:0/device:CPU:0',)
    """

    def __init__(self, container_strategy: Any) -> None:
        self._strategy = container_strategy

    @functools.cached_property
    def _layout(self) -> Layout:
        return Layout(found(None)[:1])

    def _created(self, next_creator: Callable[..., Variable], **kwargs: Any) -> Variable:
        return self._layout.variable(next_creator, **kwargs)

    def _batch(self, value: Any) -> Any:
        return self._layout.batch(value)

    def _distributed(self, dataset: Any) -> Any:
        return DistributedDataset(dataset, self._batch)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The names of the devices that compute."""
        kinds = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}
        return tuple(
            [f"/job:localhost/replica:0/task:0/device:{kinds.get(d.platform, d.platform)}:{d.id}" for d in self._layout.devices]
        )

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The names of the devices that hold variables: the same."""
        return self.worker_devices

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether shapes must be known when a function is traced: False, as one is traced for each."""
        return False

    @public
    def variable_created_in_scope(self, v: Variable) -> bool:
        """Return whether a variable may be used with the strategy: any may."""
        return True

    @public
    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Variable) -> Iterator[None]:
        """Open a context for variables that are to lie where another lies: they lie on all devices as it is."""
        yield

    @public
    def value_container(self, value: Any) -> Any:
        """Return the container of a value: the value itself."""
        return value

    @public
    def update(self, var: Variable, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True) -> Any:
        """Call `fn(var, *args, **kwargs)`; return a tuple, one for each device, if not `group`.

        >>> strategy, v = tf.distribute.MirroredStrategy(), tf.Variable(1.0)
        >>> with strategy.scope():
        ...     _ = strategy.extended.update(v, lambda v, x: v.assign_add(x), args=(2.0,))
        >>> v.numpy()
        np.float32(3.0)
        """
        result = fn(var, *unwrapped(tuple(args)), **unwrapped(kwargs or {}))
        return result if group else (result,)

    @public
    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        """Return the sum or mean of a value over replicas, where `destinations` lie: with one replica, the value."""
        as_reduce_op(reduce_op)
        return unwrapped(value)

    @public
    def batch_reduce_to(self, reduce_op: ReduceOp | str, value_destination_pairs: Any, options: Any = None) -> list[Any]:
        """Apply `reduce_to` to each pair of a list."""
        return [self.reduce_to(reduce_op, value, where) for value, where in value_destination_pairs]


class _Devices(StrategyExtended):
    def __init__(self, strategy: Strategy, devices: Sequence[Any], split_from: float = math.inf) -> None:
        super().__init__(strategy)
        self._layout = Layout(devices, split_from)


class MirroredStrategy(Strategy):
    """Data parallelism: variables made in its `scope()` have a copy on each device, batches lie split over them.

    `devices` are names (`"GPU:0"`), by default all that JAX has. `cross_device_ops` is taken, and XLA chooses. There is one
    replica, that spans the devices: see `Strategy`.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> with strategy.scope():
    ...     w = tf.Variable([1.0, 2.0])
    >>> def step(x):
    ...     with tf.GradientTape() as tape:
    ...         loss = tf.reduce_sum(w * x)
    ...     w.assign_sub(tape.gradient(loss, w))
    ...     return loss
    >>> strategy.run(step, args=(tf.constant([3.0, 1.0]),)).numpy()
    np.float32(5.0)
    >>> w.numpy()
    array([-2.,  1.], dtype=float32)
    """

    @public
    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None) -> None:
        chosen = found(devices)
        if len(set(chosen)) < len(chosen):
            raise AssertionError(f"No duplicates allowed in `devices` argument: {devices}. Name each device once.")
        super().__init__(_Devices(self, chosen))
        if len(chosen) > 1:
            logger.info("MirroredStrategy: one replica that spans %d devices; batches are split over them.", len(chosen))


class _Workers(_Devices):
    def _created(self, next_creator: Callable[..., Variable], **kwargs: Any) -> Variable:
        def same(**kwargs: Any) -> Variable:
            made = next_creator(**kwargs)
            if group.joined() is not None and made.aval.dtype != object:
                made.assign(group.same_for_all(made.numpy()))
            return made

        return self._layout.variable(same, **kwargs)


class MultiWorkerMirroredStrategy(Strategy):
    """Data parallelism over the devices of several processes, which TF_CONFIG names: the chief, if there is one, and workers.

    Each process runs the same program on the same data, and holds its part of the rows of each batch: a dataset is shared by
    rows, and no process has more batches than another. Variables begin with the values of process 0. Without TF_CONFIG, or with
    one process in it, it is a MirroredStrategy. UnavailableError, here or in a later step, says which process did not come,
    has ended, has raised, or gives no sign of life.

    >>> strategy = tf.distribute.MultiWorkerMirroredStrategy()
    >>> strategy.num_replicas_in_sync
    1
    """

    @public
    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None) -> None:
        if not isinstance(cluster_resolver, (TFConfigClusterResolver, NoneType)):
            raise TypeError(f"A cluster is given by the environment variable TF_CONFIG, received {cluster_resolver!r}.")
        self._resolver = cluster_resolver or TFConfigClusterResolver()
        group.join_by_environment()
        everywhere = jax.devices() if group.joined() is not None else found(None)
        super().__init__(_Workers(self, everywhere))

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """The resolver of the cluster, which also says which of its tasks this process is."""
        return self._resolver


class FullyShardedStrategy(Strategy):
    """Data parallelism for a model that does not fit on one device: its variables lie split over all devices, as do batches.

    A variable of `min_bytes` or more that is made in `scope()` has a part on each device, and so have its optimizer's slots. It
    is split along its longest axis that divides evenly. Smaller ones, and those without such an axis, have copies. XLA
    brings the parts together where a step needs them, and keeps the part of each gradient that its device updates (Rajbhandari
    et al. 2020, "ZeRO", section 5, stage 3). `devices` are names (`"GPU:0"`), by default all that JAX has; with TF_CONFIG those
    of all its processes, as in MultiWorkerMirroredStrategy.

    >>> strategy = tf.distribute.FullyShardedStrategy(min_bytes=1024)
    >>> with strategy.scope():
    ...     w = tf.Variable(lambda: tf.zeros([256, 256]))
    >>> w.shape
    TensorShape([256, 256])
    """

    @public
    def __init__(self, devices: Sequence[str] | None = None, min_bytes: int = 1 << 16) -> None:
        if isinstance(min_bytes, bool) or not isinstance(min_bytes, int) or min_bytes < 0:
            raise ValueError(f"`min_bytes` is a number of bytes, 0 or more, received {min_bytes!r}.")
        group.join_by_environment()
        chosen = jax.devices() if group.joined() is not None and devices is None else found(devices)
        super().__init__(_Workers(self, chosen, min_bytes))


class OneDeviceStrategy(Strategy):
    """Everything on one device, that of this name: variables of its `scope()`, and batches of its datasets.

    >>> strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    >>> strategy.run(lambda x: x * 2, args=(tf.constant(2.0),)).numpy()
    np.float32(4.0)
    """

    @public
    def __init__(self, device: str) -> None:
        super().__init__(_Devices(self, found([device])[:1]))


class DefaultStrategy(Strategy):
    """The strategy outside of all scopes, which changes nothing."""

    def __init__(self) -> None:
        super().__init__(_Default(self))

    def _contexts(self) -> list[AbstractContextManager[Any]]:
        if context.has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        return []


class _Default(StrategyExtended):
    def _distributed(self, dataset: Any) -> Any:
        return dataset


_default = DefaultStrategy()
context.default = Entry(_default, ReplicaContext(_default, 0))


_around_all = ExitStack()


@public
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Have `strategy` be the one around all code of this thread from now on; None: none.

    >>> tf.distribute.experimental_set_strategy(tf.distribute.MirroredStrategy())
    >>> tf.distribute.has_strategy()
    True
    >>> tf.distribute.experimental_set_strategy(None)
    """
    _around_all.close()
    if strategy is not None and strategy is not _default:
        _around_all.enter_context(strategy.scope())
