"""Ops by the names of their types: `tf.raw_ops`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.nn.raw import FusedBatchNormV2 as FusedBatchNormV2, FusedBatchNormV3 as FusedBatchNormV3

__getattr__ = _missing(__name__)
