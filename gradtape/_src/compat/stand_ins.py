"""Stand-ins for names out of scope that libraries access at import.

A class is available for `isinstance`, for annotations and as a base, a module for naming its classes. Instantiating a class is
an error with the reason of `reasons`. A function out of scope does not exist, so `hasattr` is correct.
"""

from __future__ import annotations

import abc
import functools
import pkgutil
from types import ModuleType
from typing import Any

from gradtape._src.compat.reasons import reason
from gradtape._src.core.base.errors import UnimplementedError
from gradtape._src.core.base.public import public

# The classes of each namespace, dotted under `tf`, with base classes in brackets. A namespace that gradtape does not have
# otherwise becomes a module.
NAMES = {
    "config.experimental": "ClusterDeviceFilters",
    "data.experimental": "DatasetInitializer Reducer ServiceOptions SqlDataset",
    "data.experimental.service": "CrossTrainerCache DispatchServer DispatcherConfig ShardingPolicy WorkerConfig WorkerServer",
    "distribute": """
        ParameterServerStrategy(distribute.Strategy) Server TPUStrategy(distribute.Strategy)
    """,
    "distribute.cluster_resolver": """
        KubernetesExecutableLocation
        GCEClusterResolver(distribute.cluster_resolver.ClusterResolver)
        KubernetesClusterResolver(distribute.cluster_resolver.ClusterResolver)
        SlurmClusterResolver(distribute.cluster_resolver.ClusterResolver)
        TPUClusterResolver(distribute.cluster_resolver.ClusterResolver)
        UnionResolver(distribute.cluster_resolver.ClusterResolver)
    """,
    "distribute.coordinator": "ClusterCoordinator PerWorkerValue RemoteValue",
    "distribute.experimental": """
        CentralStorageStrategy(distribute.Strategy) PreemptionCheckpointHandler PreemptionWatcher TerminationConfig
        TPUStrategy(distribute.Strategy)
        ParameterServerStrategy(distribute.ParameterServerStrategy)
    """,
    "distribute.experimental.coordinator": "ClusterCoordinator PerWorkerValues RemoteValue",
    "distribute.experimental.partitioners": "Partitioner FixedShardsPartitioner MaxSizePartitioner MinSizePartitioner",
    "distribute.experimental.rpc": "Client Server",
    "dtensor": "",
    "experimental": """
        ExtensionType BatchableExtensionType(experimental.ExtensionType) StructuredTensor(experimental.BatchableExtensionType)
        ExtensionTypeSpec(TypeSpec) ExtensionTypeBatchEncoder DynamicRaggedShape RowPartition
    """,
    "experimental.dtensor": "DTensorCheckpoint",
    "experimental.extension_type": "",
    "experimental.tensorrt": "ConversionParams Converter",
    "feature_column": "",
    "graph_util": "",
    "lite": "Interpreter OpsSet Optimize RepresentativeDataset TFLiteConverter TargetSpec",
    "lite.experimental": "Analyzer OpResolverType QuantizationDebugOptions QuantizationDebugger",
    "mlir": "",
    "mlir.experimental": "",
    "nn": "RNNCellDeviceWrapper RNNCellDropoutWrapper RNNCellResidualWrapper",
    "tpu": "XLAOptions",
    "tpu.experimental": "DeviceAssignment DeviceOrderMode HardwareFeature TPUSystemMetadata Topology",
    "tpu.experimental.embedding": """
        Adagrad AdagradMomentum Adam CustomCombiner CustomOptimizer FTRL FeatureConfig QuantizationConfig RowIdInitializer SGD
        SparseCoreEmbeddingConfig TPUEmbedding TPUEmbeddingForServing TPUEmbeddingV0 TPUEmbeddingV2 TableConfig
    """,
    "test": "Benchmark",
    "train": "CheckpointView ClusterDef Coordinator JobDef ServerDef TrackableView",
    "train.experimental": "MaxShardSizePolicy ShardableTensor",
    "types.experimental.distributed": "Mirrored",
}
# The error that TensorFlow raises without a TPU, which scripts catch.
RAISED = {"distribute.cluster_resolver.TPUClusterResolver": ValueError}

_BASES = {
    f"{namespace}.{name}".lstrip("."): base.rstrip(")")
    for namespace, names in NAMES.items()
    for name, _, base in (entry.partition("(") for entry in names.split())
}


class StandInClass(abc.ABCMeta):
    """The metaclass of stand-ins for classes, and of classes derived from them. They cannot be instantiated."""

    stands_for: str

    @public
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        message = f"tf.{cls.stands_for} is a name only, for isinstance and annotations. {reason(cls.stands_for)}"
        kind = RAISED.get(cls.stands_for)
        raise kind(message) if kind else UnimplementedError.saying(message)

    @public
    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(f"gradtape has no tf.{cls.stands_for}.{name}. {reason(cls.stands_for)}")


class StandInModule(ModuleType):
    """A namespace that is out of scope: its classes are stand-ins, its functions do not exist."""

    def __init__(self, stands_for: str) -> None:
        super().__init__(f"gradtape.{stands_for}", f"A name only. {reason(stands_for)}")
        self.stands_for = stands_for

    @public
    def __getattr__(self, name: str) -> Any:
        dotted = f"{self.stands_for}.{name}"
        value = found(dotted)
        if value is None:
            raise AttributeError(f"gradtape has no tf.{dotted}. {reason(dotted)}".rstrip())
        return value

    def __dir__(self) -> list[str]:
        inside = [
            name.removeprefix(f"{self.stands_for}.") for name in (*NAMES, *_BASES) if name.startswith(f"{self.stands_for}.")
        ]
        return sorted(name for name in inside if "." not in name)


@functools.cache
def found(dotted: str) -> Any:
    """Return the stand-in for a name, dotted under `tf`, or None."""
    if dotted in NAMES:
        return StandInModule(dotted)
    base = _BASES.get(dotted)
    if base is None:
        return None
    namespace, _, name = f"gradtape.{dotted}".rpartition(".")
    bases = (pkgutil.resolve_name(f"gradtape:{base}"),) if base else ()
    body = {"__doc__": f"A name only. {reason(dotted)}", "__module__": namespace, "stands_for": dotted}
    return StandInClass(name, bases, body)


def is_stand_in(value: Any) -> bool:
    return isinstance(value, (StandInClass, StandInModule))
