"""`tf.data.experimental`: names that are in `tf.data` by now."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.data.dataset import cardinality as cardinality
from gradtape._src.data.iterators import get_next_as_optional as get_next_as_optional
from gradtape._src.data.optional import Optional as Optional
from gradtape._src.data.options import (
    AUTOTUNE as AUTOTUNE,
    INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
    AutoShardPolicy as AutoShardPolicy,
    AutotuneAlgorithm as AutotuneAlgorithm,
    AutotuneOptions as AutotuneOptions,
    DistributeOptions as DistributeOptions,
    ExternalStatePolicy as ExternalStatePolicy,
    OptimizationOptions as OptimizationOptions,
    ThreadingOptions as ThreadingOptions,
)

__getattr__ = _missing(__name__)
