"""Arguments and results of strategies: `ReduceOp`, `PerReplica`, the contexts of input functions, options."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import optree

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TypeSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.values.creators import VariableAggregation


class ReduceOp(enum.Enum):
    """The reduction of replicas' values: `SUM` or `MEAN`. Functions also accept its name, in any case.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> strategy.reduce(tf.distribute.ReduceOp.MEAN, tf.constant([1.0, 2.0, 6.0]), axis=0).numpy()
    np.float32(3.0)
    """

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    @public
    def from_variable_aggregation(aggregation: VariableAggregation) -> ReduceOp:
        """Return the member of the same name; ValueError for an aggregation that is neither a sum nor a mean."""
        try:
            return ReduceOp[aggregation.name]
        except KeyError:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {aggregation} to `tf.distribute.ReduceOp` type"
            ) from None


def as_reduce_op(given: Any) -> ReduceOp:
    """Convert a user's argument to a ReduceOp; ValueError for another value."""
    return given if isinstance(given, ReduceOp) else ReduceOp(str(given).upper())


def as_tensor(value: Any) -> Any:
    """Convert a value to a tensor; IndexedSlices and SparseTensors are unchanged."""
    return value if hasattr(value, "dense_shape") else tensor(value)


class DistributedValues:
    """Base of containers with a value for each replica; `values` is their tuple.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> made = strategy.experimental_distribute_values_from_function(lambda context: tf.constant(2.0))
    >>> isinstance(made, tf.distribute.DistributedValues), made.values[0].numpy()
    (True, np.float32(2.0))
    """

    @public
    def __init__(self, values: Any) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The value of each replica."""
        return self._values


class PerReplica(DistributedValues):
    """Values that may differ between replicas: results of `run`, elements of distributed datasets.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> values = strategy.experimental_distribute_values_from_function(lambda context: 1.0)
    >>> print(isinstance(values, tf.types.experimental.distributed.PerReplica), strategy.experimental_local_results(values))
    True (1.0,)
    """

    def __repr__(self) -> str:
        return self._text(repr)

    def __str__(self) -> str:
        return self._text(str)

    def _text(self, text: Callable[[Any], str]) -> str:
        if all(isinstance(value, TypeSpec) for value in self._values):
            return f"PerReplicaSpec({', '.join(map(repr, self._values))})"
        return listed(type(self).__name__, map(text, self._values))

    @public
    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        """Raise ValueError, as an op needs the value of one replica."""
        raise ValueError(
            "It looks like you are using a PerReplica object while not inside a replica context, which is not supported. Try "
            "running your op or function inside a replica context by using `strategy.run`. Its values are "
            "`strategy.experimental_local_results(x)`, and `strategy.reduce` adds them up."
        )


class Mirrored(PerReplica):
    """A value that is the same in all replicas, and acts as its tensor across replicas."""

    @classmethod
    def of(cls, value: Any, count: int) -> Mirrored:
        """Create a Mirrored value from a tensor, for `count` replicas."""
        return cls([EagerTensor(value.node) if isinstance(value, EagerTensor) else value for _ in range(count)])

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return self._values[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._values[0], name)


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: Mirrored, *others: Any) -> Any:
        return getattr(self._values[0], name)(*others)

    return method


for _name in "add radd sub rsub mul rmul truediv rtruediv pow neg matmul getitem float int".split():
    setattr(Mirrored, f"__{_name}__", _delegated(f"__{_name}__"))


def _values_of(held: Any) -> tuple[list[Any], Any]:
    return list(held.values), type(held)


def _made_of(kind: Any, values: Iterable[Any]) -> Any:
    return kind(values)


# As arguments and results of functions they are flattened to their values.
for _kind in (PerReplica, Mirrored):
    optree.register_pytree_node(_kind, _values_of, _made_of, namespace=nest.EXPANDED)  # type: ignore[arg-type]


def listed(kind: str, texts: Iterable[str]) -> str:
    """Format a container of replicas' values, a line each."""
    return "\n".join([f"{kind}:{{", ",\n".join(f"  {number}: {text}" for number, text in enumerate(texts)), "}"])


def of_each(value: Any, count: int) -> tuple[Any, ...]:
    """Return the values of `count` replicas: those of a DistributedValues, or one value repeated."""
    return value.values if isinstance(value, DistributedValues) else (value,) * count


def unwrapped(structure: Any, number: int = 0) -> Any:
    """Replace the DistributedValues in a nest by the values of one replica."""
    if not any(isinstance(item, DistributedValues) for item in nest.flatten(structure)):
        return structure
    return nest.map_structure(lambda item: item.values[number] if isinstance(item, DistributedValues) else item, structure)


def joined(results: Sequence[Any]) -> Any:
    """Combine the results of all replicas to one nest: PerReplica leaves, or the object itself if it is the same in all."""
    first, *others = results
    if not others:
        return first
    leaves, spec = nest.flatten_with_spec(first)
    columns = [leaves]
    for other in others:
        nest.assert_same_structure(first, other)
        columns.append(nest.flatten(other))
    return nest.unflatten(spec, [_one(values) for values in zip(*columns, strict=True)])


def _one(values: tuple[Any, ...]) -> Any:
    first = values[0]
    return first if all(value is first for value in values) else PerReplica(values)


@dataclass(frozen=True, eq=False)
class InputContext:
    """The argument of a `dataset_fn`: the number of its input pipeline, and the numbers of pipelines and of replicas.

    There is one input pipeline for each process.

    >>> tf.distribute.InputContext(num_replicas_in_sync=2).get_per_replica_batch_size(8)
    4
    """

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    @public
    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the number of examples for one replica; ValueError if they cannot be divided evenly."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync}."
            )
        return global_batch_size // self.num_replicas_in_sync

    def __str__(self) -> str:
        return f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"


@dataclass(eq=False)
class ValueContext:
    """The argument of a `value_fn`: `replica_id_in_sync_group` and `num_replicas_in_sync`.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> made = strategy.experimental_distribute_values_from_function(lambda context: context.num_replicas_in_sync)
    >>> strategy.experimental_local_results(made)
    (1,)
    """

    replica_id_in_sync_group: int = 0
    num_replicas_in_sync: int = 1

    def __str__(self) -> str:
        total = self.num_replicas_in_sync
        return f"tf.distribute.ValueContext(replica id {self.replica_id_in_sync_group},  total replicas in sync: {total})"


class InputReplicationMode(enum.Enum):
    """The ways to call an input function: per worker or per replica. They have no effect: it is called once.

    >>> tf.distribute.InputOptions().experimental_replication_mode is tf.distribute.InputReplicationMode.PER_WORKER
    True
    """

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions(NamedTuple):
    """Options of distributed datasets. They have no effect: batches are always moved to the devices.

    >>> options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    >>> strategy = tf.distribute.MirroredStrategy()
    >>> [x.numpy().tolist() for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(2).batch(2), options)]
    [[0, 1]]
    """

    experimental_fetch_to_device: bool = True
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


class RunOptions(NamedTuple):
    """Options of `Strategy.run`. They have no effect.

    >>> options = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)
    >>> tf.distribute.MirroredStrategy().run(tf.square, args=(tf.constant(3.0),), options=options).numpy()
    np.float32(9.0)
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


class CommunicationImplementation(enum.Enum):
    """The implementations of collectives. They have no effect, as XLA chooses: NCCL on GPUs.

    >>> [way.name for way in tf.distribute.experimental.CommunicationImplementation]
    ['AUTO', 'RING', 'NCCL']
    """

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CommunicationOptions(
    NamedTuple("CommunicationOptions", [("bytes_per_pack", int), ("timeout_seconds", float | None), ("implementation", Any)])
):
    """Options of collectives, checked as in TensorFlow, but without effect.

    `implementation` is a CommunicationImplementation or its name. ValueError for another, and for a negative number of bytes.

    >>> tf.distribute.experimental.CommunicationOptions(implementation="NCCL").implementation.name
    'NCCL'
    """

    @public
    def __new__(
        cls,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: CommunicationImplementation | str = CommunicationImplementation.AUTO,
    ) -> Self:
        if bytes_per_pack < 0:
            raise ValueError(f"`bytes_per_pack` must be >= 0, received {bytes_per_pack}: 0 leaves the choice to XLA.")
        if isinstance(implementation, str):
            implementation = CommunicationImplementation.__members__.get(implementation.upper(), implementation)
        if not isinstance(implementation, CommunicationImplementation):
            raise ValueError(
                "`implementation` must be a tf.distribute.experimental.CommunicationImplementation or its name, received "
                f"{implementation!r}: give one of {', '.join(CommunicationImplementation.__members__)}."
            )
        return super().__new__(cls, bytes_per_pack, timeout_seconds, implementation)


class CollectiveHints:
    """The older name of CommunicationOptions; the constructor returns one.

    >>> tf.distribute.experimental.CollectiveHints(bytes_per_pack=1024).bytes_per_pack
    1024
    """

    @public
    def __new__(cls, bytes_per_pack: int = 0, timeout_seconds: float | None = None) -> Any:
        return CommunicationOptions(bytes_per_pack, timeout_seconds)


class CrossDeviceOps:
    """Base of the reductions across devices. A strategy accepts one, but XLA chooses.

    >>> isinstance(tf.distribute.NcclAllReduce(), tf.distribute.CrossDeviceOps)
    True
    """

    def __init__(self) -> None:
        pass


class ReductionToOneDevice(CrossDeviceOps):
    """A reduction on one device, whose result is copied back. A strategy accepts it, but XLA chooses.

    >>> strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.ReductionToOneDevice())
    >>> strategy.run(tf.square, args=(tf.constant(3.0),)).numpy()
    np.float32(9.0)
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None) -> None:
        super().__init__()


class NcclAllReduce(CrossDeviceOps):
    """NCCL's all-reduce. A strategy accepts it, but XLA chooses, and uses NCCL on several GPUs.

    >>> strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce(num_packs=2))
    >>> strategy.num_replicas_in_sync
    1
    """

    @public
    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified")
        super().__init__()


class HierarchicalCopyAllReduce(NcclAllReduce):
    """A hierarchical all-reduce. A strategy accepts it, but XLA chooses.

    >>> strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.HierarchicalCopyAllReduce())
    >>> strategy.num_replicas_in_sync
    1
    """

    @public
    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"HierarchicalCopy requires num_packs >= 0, but {num_packs} is specified")
        super().__init__(num_packs)
