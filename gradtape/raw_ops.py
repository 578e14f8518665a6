"""Ops by the names of their types: `tf.raw_ops`. Most are made by a table when they are asked for (`compat/raw_ops`)."""

from gradtape._src.compat.raw_ops import listed as __dir__, named as __getattr__  # noqa: F401
from gradtape._src.ops.array.raw import (
    BroadcastGradientArgs as BroadcastGradientArgs,
    UniqueWithCountsV2 as UniqueWithCountsV2,
)
from gradtape._src.ops.image.projective import ImageProjectiveTransformV3 as ImageProjectiveTransformV3
from gradtape._src.ops.linalg.raw import Einsum as Einsum, MatrixDiagPartV2 as MatrixDiagPartV2
from gradtape._src.ops.math.raw import SigmoidGrad as SigmoidGrad, TanhGrad as TanhGrad
from gradtape._src.ops.nn.raw import (
    AvgPoolGrad as AvgPoolGrad,
    FusedBatchNormV2 as FusedBatchNormV2,
    FusedBatchNormV3 as FusedBatchNormV3,
    MaxPoolGrad as MaxPoolGrad,
    MaxPoolGradGrad as MaxPoolGradGrad,
    SoftmaxCrossEntropyWithLogits as SoftmaxCrossEntropyWithLogits,
    SoftplusGrad as SoftplusGrad,
    SoftsignGrad as SoftsignGrad,
    SparseSoftmaxCrossEntropyWithLogits as SparseSoftmaxCrossEntropyWithLogits,
)
