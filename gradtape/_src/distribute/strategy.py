"""`Strategy` and its subclasses: replicas, and the placement of variables and batches on devices."""

from __future__ import annotations

import functools
import logging
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import NoneType, TracebackType
from typing import Any

import jax

from gradtape._src.control.function import Function
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import creators
from gradtape._src.core.values.creators import VariableSynchronization
from gradtape._src.distribute import context, group
from gradtape._src.distribute.cluster import ClusterResolver, TFConfigClusterResolver
from gradtape._src.distribute.context import EnteredStrategy, ReplicaContext, reduced
from gradtape._src.distribute.datasets import DistributedDataset, Division
from gradtape._src.distribute.sharding import VariableLayout, found
from gradtape._src.distribute.values import (
    DistributedValues,
    InputContext,
    Mirrored,
    PerReplica,
    ReduceOp,
    ValueContext,
    as_reduce_op,
    as_tensor,
    joined,
    of_each,
    unwrapped,
)
from gradtape._src.distribute.variables import ReplicatedVariable, replicated
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.math.arithmetic import truediv
from gradtape._src.ops.math.reduction import reduce_sum

logger = logging.getLogger("gradtape")


class StrategyScope:
    """The context of `Strategy.scope()`, for creating its variables."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._open: list[ExitStack] = []

    @public
    def __enter__(self) -> Strategy:
        opened = ExitStack()
        for entered in self._strategy._contexts():
            opened.enter_context(entered)
        self._open.append(opened)
        self._strategy._scopes.append(self)  # keeps the scope open after `__enter__` alone, as in notebooks
        return self._strategy

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._strategy._scopes.remove(self)
        self._open.pop().close()


class Strategy:
    """A policy of distributing a program over devices. `MirroredStrategy` and `OneDeviceStrategy` are subclasses.

    `run` calls a function once for each replica, with the replica's part of a batch. The rows are split over all devices, and
    XLA divides the work. As in TensorFlow, a MirroredStrategy has a replica for each device. Other strategies have one
    replica, which sees whole batches.

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
        self._scopes: list[StrategyScope] = []  # the open ones
        self._functions: weakref.WeakKeyDictionary[Function, Function] = weakref.WeakKeyDictionary()

    @property
    def extended(self) -> StrategyExtended:
        """The StrategyExtended, with more methods."""
        return self._extended

    @property
    def cluster_resolver(self) -> ClusterResolver | None:
        """The resolver of the cluster; None for the devices of one process."""
        return None

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas; 1 in a replica that sees whole batches, as in a step of Keras's `fit`."""
        entry = context.current()
        within = entry.strategy is self and entry.replica is not None
        return entry.replica.num_replicas_in_sync if within else self._extended._count  # type: ignore[union-attr]

    @public
    def scope(self) -> AbstractContextManager[Strategy]:
        """Open a context in which created variables are placed on all devices."""
        return StrategyScope(self)

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
        return [context.entered(EnteredStrategy(self, None)), creators.variable_creator_scope(self._extended._created)]

    @public
    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Run `fn(*args, **kwargs)` in each replica, with its own values of PerReplica arguments.

        Results are PerReplica, except an object that is the same in all replicas; with one replica they are returned
        unchanged. The replicas run in turn, each up to its next `merge_call`. `all_reduce`, assignments with an aggregation
        and steps of Keras's optimizers are such calls. RuntimeError if `run` is called in a replica, or if only some replicas
        reach a `merge_call`.
        """
        if not isinstance(args, (list, tuple)):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}")
        if self._extended._count > 1 and isinstance(fn, Function):
            return self._in_function(fn)(tuple(args), kwargs or {})
        if engine.local.trace.scope is not None:
            # This import loads the source transformation, which only functions and graphs need.
            from gradtape._src.control.autograph import converted

            fn = converted(fn)
        return self._run(fn, tuple(args), kwargs or {})

    def _run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._extended._count == 1:
            return self._run_whole(fn, unwrapped(args), unwrapped(kwargs))
        with self.scope():
            # This import loads greenlet, which only several replicas need.
            from gradtape._src.distribute.replicas import in_each

            return joined(in_each(self, lambda number: fn(*unwrapped(args, number), **unwrapped(kwargs, number))))

    def _run_whole(self, fn: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Run a function in one replica that sees whole batches."""
        with self.scope(), context.entered(EnteredStrategy(self, ReplicaContext(self, 0))):
            return fn(*args, **(kwargs or {}))

    def _in_function(self, fn: Function) -> Callable[..., Any]:
        """Return a function under trace in which all replicas run `fn`, so that it may contain a `merge_call`."""
        found = self._functions.get(fn)
        if found is None:
            of: Any = weakref.ref(fn)
            found = Function(lambda args, kwargs: self._run(of().transformed(), args, kwargs), autograph=False, name=fn._name)
            self._functions[fn] = found
        return found

    def _require_crossing(self) -> None:
        entry = context.current()
        if entry.strategy is self and entry.replica is not None and self is not context.default.strategy:
            context.crossing()

    @public
    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | None) -> Any:
        """Reduce the results of `run` to their sum or mean over replicas, and over `axis` of the tensors if it is given.

        With several replicas, ValueError for the sum of a value that is not PerReplica.

        >>> strategy = tf.distribute.MirroredStrategy()
        >>> strategy.reduce("MEAN", tf.constant([1.0, 2.0, 6.0]), axis=0).numpy()
        np.float32(3.0)
        """
        self._require_crossing()
        wanted = as_reduce_op(reduce_op)
        if axis is None:
            return nest.map_structure(lambda leaf: self._extended._joined(wanted, leaf), value)
        if not isinstance(axis, int):
            raise TypeError(f"`axis` must be an int or None, received {axis!r}.")
        values = list(map(tensor, of_each(value, self._extended._count)))
        for x in values:
            if not -x.ndim <= axis < x.ndim:
                raise ValueError(f"Invalid reduction dimension {axis} for input with {x.ndim} dimensions.")
        total = reduced(ReduceOp.SUM, [reduce_sum(x, axis) for x in values])
        return total if wanted is ReduceOp.SUM else truediv(total, cast(sum(extents_of(x)[axis] for x in values), total.dtype))

    @public
    def gather(self, value: Any, axis: int) -> Any:
        """Concatenate the results of `run` in all replicas along `axis`, in which their extents may differ."""
        entry = context.current()
        if entry.strategy is self and entry.replica is not None:
            raise RuntimeError(
                "tf.distribute.Strategy.gather method requires cross-replica context, use "
                "get_replica_context().all_gather() instead"
            )
        values = self.experimental_local_results(value)
        return concat(values, axis) if len(values) > 1 else unwrapped(value)

    @public
    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return a tuple of the replicas' values; a nest gives one nest for each replica, any other value a tuple of one."""
        if isinstance(value, DistributedValues) or self._extended._count == 1 or not nest.is_nested(value):
            return value.values if isinstance(value, DistributedValues) else (value,)
        return tuple([unwrapped(value, number) for number in range(self._extended._count)])

    @public
    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Return the replicas' values like `experimental_local_results`, its later name."""
        return self.experimental_local_results(value)

    @public
    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Divide the batches of a dataset along their first axis among the replicas.

        As in TensorFlow, the first replicas get more rows if they do not divide evenly. The rows of a replica are split over
        its devices; rows that do not divide evenly are replicated.
        """
        if not hasattr(dataset, "element_spec"):
            raise AttributeError(
                f"a tf.data.Dataset can be distributed, received {dataset!r}: Dataset.from_tensor_slices makes one."
            )
        return self._extended._distributed(dataset, self._extended._count)

    @public
    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """Share the dataset `dataset_fn(input_context)` among replicas: each gets one of its batches in turn.

        >>> strategy = tf.distribute.MirroredStrategy()
        >>> def made(context):
        ...     return tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))
        >>> [x.numpy().tolist() for x in strategy.distribute_datasets_from_function(made)]
        [[0, 1], [2, 3]]
        """
        made = dataset_fn(InputContext(num_replicas_in_sync=self._extended._count))
        return self._extended._distributed(made, 1)

    @public
    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Return `value_fn(value_context)` for each replica, as PerReplica for `run`, leaf by leaf in a nest."""
        count = self._extended._count
        first, *others = [value_fn(ValueContext(number, count)) for number in range(count)]
        return nest.map_structure(lambda *values: PerReplica(values), first, *others)


class StrategyExtended:
    """The interface of a strategy for libraries: devices, and updates of variables.

    >>> tf.distribute.OneDeviceStrategy("CPU:0").extended.worker_devices
    ('/job:localhost/replica:0/task:0/device:CPU:0',)
    """

    def __init__(self, container_strategy: Any) -> None:
        self._strategy = container_strategy

    _count = 1  # of replicas

    @functools.cached_property
    def _layout(self) -> VariableLayout:
        return VariableLayout(found(None)[:1])

    def _created(self, next_creator: Callable[..., Variable], **kwargs: Any) -> Variable:
        return self._layout.variable(next_creator, **kwargs)

    def _batch(self, value: Any) -> Any:
        return self._layout.batch(value)

    def _distributed(self, dataset: Any, parts: int) -> Any:
        return DistributedDataset(dataset, Division(self._batch, self._count, parts))

    def _joined(self, wanted: ReduceOp, value: Any) -> Any:
        """Return the sum or mean over replicas."""
        if isinstance(value, DistributedValues):
            return reduced(wanted, list(map(as_tensor, value.values)))
        if wanted is ReduceOp.MEAN:
            return value
        if self._count > 1:
            raise ValueError(
                f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {wanted}. Return a tensor "
                "from the function that strategy.run runs: a number, or one and the same tensor, is no sum of several."
            )
        return as_tensor(value)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The names of the computing devices."""
        kinds = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}
        return tuple(
            [f"/job:localhost/replica:0/task:0/device:{kinds.get(d.platform, d.platform)}:{d.id}" for d in self._layout.devices]
        )

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The names of the devices of variables, which are the computing ones."""
        return self.worker_devices

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether shapes must be known when a function is traced: False, as a function is traced for each shape."""
        return False

    @public
    def variable_created_in_scope(self, v: Variable) -> bool:
        """Return whether a variable was created in the scope; True if this is unknown."""
        return not isinstance(v, ReplicatedVariable) or v._strategy is self._strategy

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process writes checkpoints: True. Of several processes that write one, a single one does it."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """Whether this process writes summaries: True."""
        return True

    def _in_multi_worker_mode(self) -> bool:
        """Return whether several processes compute, for libraries that ask."""
        return False

    @public
    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call `fn(*args, **kwargs)` in each replica, as `Strategy.run`."""
        return self._strategy._run(fn, tuple(args), kwargs or {})

    @public
    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Return a value, which all replicas share."""
        return as_tensor(tensor)

    @public
    def read_var(self, v: Variable) -> Any:
        """Return the value of a variable across replicas."""
        return v.read_value()

    @public
    def non_slot_devices(self, var_list: Sequence[Variable]) -> tuple[str, ...]:
        """Return the names of the devices for variables that belong to no other variable: all of them."""
        return self.worker_devices

    @public
    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Variable) -> Iterator[None]:
        """Open a context for colocated variables. It has no effect, as variables are on all devices anyway."""
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
        args, kwargs = tuple(args), kwargs or {}
        others = any(type(item) is PerReplica for item in nest.flatten((args, kwargs)))
        if not others or not isinstance(var, ReplicatedVariable):
            result = fn(var, *unwrapped(args), **unwrapped(kwargs))
            return result if group else (result,) * self._count
        var.copied()  # each replica assigns another value
        results = [
            fn(held, *unwrapped(args, number), **unwrapped(kwargs, number)) for number, held in enumerate((var, *var._copies))
        ]
        return joined(results) if group else tuple(results)

    @public
    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        """Return the sum or mean of a value over replicas, the same in all replicas."""
        total = self._joined(as_reduce_op(reduce_op), value)
        return total if self._count == 1 else Mirrored.of(total, self._count)

    @public
    def batch_reduce_to(self, reduce_op: ReduceOp | str, value_destination_pairs: Any, options: Any = None) -> list[Any]:
        """Apply `reduce_to` to each pair of a list."""
        return [self.reduce_to(reduce_op, value, where) for value, where in value_destination_pairs]


class _Devices(StrategyExtended):
    def __init__(self, strategy: Strategy, devices: Sequence[Any], split_from: float = math.inf) -> None:
        super().__init__(strategy)
        self._layout = VariableLayout(devices, split_from)


class _Replicas(_Devices):
    """A strategy with a replica for each device."""

    def __init__(self, strategy: Strategy, devices: Sequence[Any]) -> None:
        super().__init__(strategy, devices)
        self._count = len(devices)

    def _created(self, next_creator: Callable[..., Variable], **kwargs: Any) -> Variable:
        def create() -> Variable:
            return replicated(super(_Replicas, self)._created(next_creator, **kwargs), self._strategy)

        if self._count > 1 and kwargs.get("synchronization") is VariableSynchronization.NONE:
            raise ValueError(
                "`NONE` variable synchronization mode is not supported with tf.distribute strategy. Please change the "
                f"`synchronization` for variable: {kwargs.get('name')}"
            )
        replica = context.current().replica
        return create() if replica is None or replica.running is None else replica.running.made(create)


class MirroredStrategy(Strategy):
    """Data parallelism: variables created in its `scope()` are replicated on the devices, batches are split over them.

    `devices` are names (`"GPU:0"`), by default all of JAX's. `cross_device_ops` has no effect, as XLA chooses. There are as
    many replicas as devices: see `Strategy`. Keras's `fit` uses one replica, which sees whole batches.

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
        chosen = found(devices or None)
        if len(set(chosen)) < len(chosen):
            raise AssertionError(f"No duplicates allowed in `devices` argument: {devices}. Name each device once.")
        super().__init__(_Replicas(self, chosen))
        if len(chosen) > 1:
            logger.info("Using MirroredStrategy with devices %s", self.extended.worker_devices)


class _Workers(_Devices):
    def _created(self, next_creator: Callable[..., Variable], **kwargs: Any) -> Variable:
        def same(**kwargs: Any) -> Variable:
            made = next_creator(**kwargs)
            if group.joined() is not None and made.aval.dtype != object:
                made.assign(group.same_for_all(made.numpy()))
            return made

        return self._layout.variable(same, **kwargs)

    def _in_multi_worker_mode(self) -> bool:
        return group.joined() is not None


class MultiWorkerMirroredStrategy(Strategy):
    """Data parallelism over the devices of the processes in TF_CONFIG: the chief, if there is one, and the workers.

    Each process runs the same program on the same data, and holds its part of the rows of each batch. So all processes have
    the same number of batches. Variables start with the values of process 0. Without TF_CONFIG, or with one process, it is a
    MirroredStrategy. UnavailableError, here or in a later step, names the process that is missing, has ended, has raised, or
    is silent.

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
        self._devices, self._counted = len(everywhere), False

    @property
    def num_replicas_in_sync(self) -> int:
        """1, as the replica sees the whole batch of all processes. TensorFlow counts their devices; the log notes this once."""
        if self._devices > 1 and not self._counted:
            self._counted = True
            logger.warning(
                "strategy.num_replicas_in_sync is 1: one replica sees whole batches, whose rows the %d devices of all processes "
                "share. On TensorFlow it is %d. A batch of `64 * strategy.num_replicas_in_sync` has 64 rows here: write the size "
                "of the whole batch.",
                self._devices,
                self._devices,
            )
        return super().num_replicas_in_sync

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """The resolver of the cluster, and of the task of this process."""
        return self._resolver


class FullyShardedStrategy(Strategy):
    """Data parallelism for a model that does not fit on one device: variables and batches are split over all devices.

    A variable of `min_bytes` or more created in `scope()`, and its optimizer's slots, are split along their longest axis that
    divides evenly. Smaller variables, and those without such an axis, are replicated; None replicates all. XLA gathers the
    parts where a step needs them, and keeps on each device the part of a gradient that it updates (Rajbhandari et al. 2020,
    "ZeRO", section 5, stage 3). There is one replica, which sees whole batches: see `Strategy`. `devices` are names
    (`"GPU:0"`), by default all of JAX's; with TF_CONFIG those of all processes, as in MultiWorkerMirroredStrategy.

    >>> strategy = tf.distribute.FullyShardedStrategy(min_bytes=1024)
    >>> with strategy.scope():
    ...     w = tf.Variable(lambda: tf.zeros([256, 256]))
    >>> w.shape
    TensorShape([256, 256])
    """

    @public
    def __init__(self, devices: Sequence[str] | None = None, min_bytes: int | None = 1 << 16) -> None:
        if min_bytes is not None and (isinstance(min_bytes, bool) or not isinstance(min_bytes, int) or min_bytes < 0):
            raise ValueError(f"`min_bytes` is a number of bytes, 0 or more, or None for copies of all, received {min_bytes!r}.")
        group.join_by_environment()
        chosen = jax.devices() if group.joined() is not None and devices is None else found(devices)
        super().__init__(_Workers(self, chosen, math.inf if min_bytes is None else min_bytes))


class OneDeviceStrategy(Strategy):
    """A strategy that places variables of its `scope()`, and batches of its datasets, on one device, given by name.

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
    def _distributed(self, dataset: Any, parts: int) -> Any:
        return dataset


_default = DefaultStrategy()
context.default = EnteredStrategy(_default, ReplicaContext(_default, 0))


_around_all = ExitStack()


@public
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Make `strategy` the current one for all further code of this thread; None restores the default.

    >>> tf.distribute.experimental_set_strategy(tf.distribute.MirroredStrategy())
    >>> tf.distribute.has_strategy()
    True
    >>> tf.distribute.experimental_set_strategy(None)
    """
    _around_all.close()
    if strategy is not None and strategy is not _default:
        _around_all.enter_context(strategy.scope())
