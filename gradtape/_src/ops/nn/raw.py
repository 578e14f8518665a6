"""Raw ops that libraries call by type, where the op has results or attributes that the public function lacks."""

from __future__ import annotations

from typing import NamedTuple

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.ops.array.creation import one_hot
from gradtape._src.ops.math.arithmetic import abs as abs_, add, divide, multiply, square, subtract
from gradtape._src.ops.math.special import sigmoid
from gradtape._src.ops.nn.losses import softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
from gradtape._src.ops.nn.normalization import batch_norm_op
from gradtape._src.ops.nn.pooling import MAXIMA, MEANS
from gradtape._src.ops.nn.softmax import softmax
from gradtape._src.ops.nn.window import geometry


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

    The results are y, the running mean and variance, and the mean and variance used. `mean` and `variance` have one entry per
    channel. They are empty where they are not read: in training with an `exponential_avg_factor` of 1. Dtypes and errors are
    those of `tf.compat.v1.nn.fused_batch_norm`.

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
    """Normalise images `x` per channel as `tf.raw_ops.FusedBatchNormV2`, with one more result, which is reserved.

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


@public
def MaxPoolGrad(*, orig_input, orig_output, grad, ksize, strides, padding, explicit_paddings=(), data_format="NHWC", name=None):
    """Return the gradient of `tf.nn.max_pool2d` at `orig_input`, whose result is `orig_output`.

    >>> x = tf.reshape([1.0, 4.0, 2.0, 3.0], [1, 2, 2, 1])
    >>> y = tf.nn.max_pool2d(x, 2, 2, "VALID")
    >>> window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    >>> tf.raw_ops.MaxPoolGrad(orig_input=x, orig_output=y, grad=tf.fill(y.shape, 5.0), **window).numpy().ravel()
    array([0., 5., 0., 0.], dtype=float32)
    """
    attributes = geometry(2, strides, _explicit(padding, explicit_paddings), data_format, ksize=ksize)
    return MAXIMA[2][1](tensor(orig_input), tensor(orig_output), tensor(grad), **attributes)


@public
def MaxPoolGradGrad(*, orig_input, orig_output, grad, ksize, strides, padding, data_format="NHWC", name=None):
    """Return the gradient of `tf.raw_ops.MaxPoolGrad` with respect to its `grad`; this `grad` has the shape of `orig_input`.

    >>> x = tf.reshape([1.0, 4.0, 2.0, 3.0], [1, 2, 2, 1])
    >>> y = tf.nn.max_pool2d(x, 2, 2, "VALID")
    >>> window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    >>> tf.raw_ops.MaxPoolGradGrad(orig_input=x, orig_output=y, grad=x * 10.0, **window).numpy().ravel()
    array([40.], dtype=float32)
    """
    attributes = geometry(2, strides, padding, data_format, ksize=ksize)
    return MAXIMA[2][2](tensor(orig_input), tensor(orig_output), tensor(grad), **attributes)


@public
def AvgPoolGrad(*, orig_input_shape, grad, ksize, strides, padding, data_format="NHWC", name=None):
    """Return the gradient of `tf.nn.avg_pool2d`, in the shape `orig_input_shape`.

    >>> window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    >>> grad = tf.ones([1, 1, 1, 1])
    >>> tf.raw_ops.AvgPoolGrad(orig_input_shape=[1, 2, 2, 1], grad=grad, **window).numpy().ravel()
    array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    shape = static_list(orig_input_shape, "orig_input_shape")
    return MEANS[2][1](tensor(grad), input_sizes=tuple(shape), **geometry(2, strides, padding, data_format, ksize=ksize))


def _explicit(padding, numbers):
    """Convert a padding to the form of `tf.nn`: pairs for each axis, or a word."""
    return [numbers[i : i + 2] for i in range(0, len(numbers), 2)] if padding == "EXPLICIT" else padding


@public
def SoftplusGrad(*, gradients, features, name=None):
    """Return the gradient of `tf.nn.softplus`: `gradients * sigmoid(features)`.

    >>> tf.raw_ops.SoftplusGrad(gradients=[2.0], features=[0.0]).numpy()
    array([1.], dtype=float32)
    """
    features = tensor(features)
    return multiply(tensor(gradients, features.dtype), sigmoid(features))


@public
def SoftsignGrad(*, gradients, features, name=None):
    """Return the gradient of `tf.nn.softsign`: `gradients / (1 + |features|)²`.

    >>> tf.raw_ops.SoftsignGrad(gradients=[2.0], features=[-1.0]).numpy()
    array([0.5], dtype=float32)
    """
    features = tensor(features)
    return divide(tensor(gradients, features.dtype), square(add(abs_(features), 1)))


class CrossEntropy(NamedTuple):
    """The cross-entropy of each row, and its gradient to the logits."""

    loss: Tensor
    backprop: Tensor


@public
def SoftmaxCrossEntropyWithLogits(*, features, labels, name=None):
    """Return the cross-entropy of each row of logits, `features`, and its gradient to them: `(loss, backprop)`.

    >>> tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=[[0.0, 0.0]], labels=[[1.0, 0.0]]).backprop.numpy()
    array([[-0.5,  0.5]], dtype=float32)
    """
    features = tensor(features)
    labels = tensor(labels, features.dtype)
    loss = softmax_cross_entropy_with_logits(labels, features)
    return CrossEntropy(loss, subtract(softmax(features), labels))


@public
def SparseSoftmaxCrossEntropyWithLogits(*, features, labels, name=None):
    """Return the cross-entropy of each row of logits, `features`, and its gradient to them; labels are the classes.

    >>> tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=[[0.0, 0.0]], labels=[1]).backprop.numpy()
    array([[ 0.5, -0.5]], dtype=float32)
    """
    features = tensor(features)
    loss = sparse_softmax_cross_entropy_with_logits(labels, features)
    return CrossEntropy(loss, subtract(softmax(features), one_hot(labels, extents_of(features)[-1], dtype=features.dtype)))
