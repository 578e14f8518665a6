"""Programs on several devices: `tf.distribute`. Replicas span them, and XLA divides their work."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.distribute.context import (
    ReplicaContext as ReplicaContext,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from gradtape._src.distribute.datasets import (
    DistributedDataset as DistributedDataset,
    DistributedIterator as DistributedIterator,
)
from gradtape._src.distribute.strategy import (
    MirroredStrategy as MirroredStrategy,
    FullyShardedStrategy as FullyShardedStrategy,
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
    OneDeviceStrategy as OneDeviceStrategy,
    Strategy as Strategy,
    StrategyExtended as StrategyExtended,
    experimental_set_strategy as experimental_set_strategy,
)
from gradtape._src.distribute.values import (
    CrossDeviceOps as CrossDeviceOps,
    DistributedValues as DistributedValues,
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
    InputContext as InputContext,
    InputOptions as InputOptions,
    InputReplicationMode as InputReplicationMode,
    NcclAllReduce as NcclAllReduce,
    ReduceOp as ReduceOp,
    ReductionToOneDevice as ReductionToOneDevice,
    RunOptions as RunOptions,
)
from gradtape.distribute import cluster_resolver as cluster_resolver, experimental as experimental

__getattr__ = _missing(__name__)
