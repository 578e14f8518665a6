"""Ops that libraries call by their types, where the function for everyday use gives less than the op."""

from __future__ import annotations

from typing import NamedTuple

from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.core.tensor import Tensor
from gradtape._src.ops.nn.normalization import batch_norm_op


class _V2(NamedTuple):
    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor


class _V3(NamedTuple):
    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor
    reserve_space_3: Tensor


@public
def FusedBatchNormV2(
    x, scale, offset, mean, variance, epsilon=0.0001, exponential_avg_factor=1, data_format="NHWC", is_training=True, name=None
):
    """Normalise images `x` per channel, and return the moments too.

    The results are y, the running mean and variance, and the mean and variance that y was made with. `mean` and `variance`
    have the number of channels, or none where they are not read: in training with an `exponential_avg_factor` of 1. Dtypes
    and errors are those of `tf.compat.v1.nn.fused_batch_norm`.

    Example:
      >>> import gradtape as tf
      >>> result = tf.raw_ops.FusedBatchNormV2(x=tf.ones([1, 1, 2, 1]), scale=[1.0], offset=[0.5], mean=[], variance=[])
      >>> result.y.numpy().ravel().tolist()
      [0.5, 0.5]
    """
    return _V2(*_batch_norm(x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training))


@public
def FusedBatchNormV3(
    x, scale, offset, mean, variance, epsilon=0.0001, exponential_avg_factor=1, data_format="NHWC", is_training=True, name=None
):
    """Normalise images `x` per channel as `tf.raw_ops.FusedBatchNormV2`, with one result more that has no meaning.

    Example:
      >>> import gradtape as tf
      >>> tf.raw_ops.FusedBatchNormV3(x=tf.ones([1, 1, 2, 1]), scale=[1.0], offset=[0.5], mean=[], variance=[])._fields[:3]
      ('y', 'batch_mean', 'batch_variance')
    """
    results = _batch_norm(x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training)
    return _V3._make([*results, results[3]])


def _batch_norm(x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training):
    return batch_norm_op(
        tensor(x),
        tensor(scale),
        tensor(offset),
        tensor(mean),
        tensor(variance),
        float(epsilon),
        float(exponential_avg_factor),
        data_format,
        bool(is_training),
    )
