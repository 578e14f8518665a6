"""Ops by the names of their types: `tf.raw_ops`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.array.raw import BroadcastGradientArgs as BroadcastGradientArgs, UniqueWithCountsV2 as UniqueWithCountsV2
from gradtape._src.ops.linalg.raw import MatrixDiagPartV2 as MatrixDiagPartV2
from gradtape._src.ops.math.raw import IgammaGradA as IgammaGradA
from gradtape._src.ops.nn.raw import FusedBatchNormV2 as FusedBatchNormV2, FusedBatchNormV3 as FusedBatchNormV3
from gradtape._src.ops.random.raw import RandomGammaGrad as RandomGammaGrad

__getattr__ = _missing(__name__)
