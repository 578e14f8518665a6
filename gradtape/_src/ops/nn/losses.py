"""Cross-entropies and other losses, and their average over examples and replicas."""

from math import pi

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of, stated_shape
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import one_hot
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import broadcast_to, expand_dims, reshape, squeeze, stop_gradient
from gradtape._src.ops.floats import is_zeros, wide
from gradtape._src.ops.math.arithmetic import abs as abs_
from gradtape._src.ops.math.compare import logical_and
from gradtape._src.ops.math.complex import elementwise
from gradtape._src.ops.math.elementary import exp, log, log1p
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.math.special import sigmoid
from gradtape._src.ops.nn.activation import relu
from gradtape._src.ops.nn.softmax import _log_softmax, _softmax, class_axis, exponentials
from gradtape._src.ops.shapes import FLOATING, broadcast_shapes, only, plain, require

# ---------------------------------------------------------------------------------------------------------------------
# Softmax cross-entropies. Their second result, the gradient of the loss to the logits, is TensorFlow's. The gradient rules
# compute it anew: XLA reuses the exponentials of the forward pass, so nothing else is saved.


def _beside_labels(logits, labels):
    """Raise InvalidArgumentError unless labels and logits have one shape. In a graph this may be checked at session time."""
    if not logits.tensor_shape.is_compatible_with(labels.tensor_shape):
        raise invalid(
            f"logits and labels must be broadcastable: logits_size={plain(logits.shape)} labels_size={plain(labels.shape)}. "
            "Feed as many labels as logits."
        )
    return logits


def _cross_entropy_avals(features, labels, axis):
    require(_beside_labels(features, labels), FLOATING)
    shape = features.shape
    return aval(shape[:axis] + shape[axis + 1 :], features.dtype), features


@op(
    "SoftmaxCrossEntropyWithLogits", infer=_cross_entropy_avals, saves="features labels",
    flops=lambda attrs, inputs, result: 7 * inputs[0].size - 2 * result[0].size,
)  # fmt: skip
def _softmax_cross_entropy(features, labels, *, axis):
    p = wide(labels)
    _, z, e, s = exponentials(wide(features), axis)
    loss = jnp.sum(p * (jnp.log(s) - z), axis=axis)
    return loss.astype(features.dtype), (e / s - p).astype(features.dtype)


@gradient(_softmax_cross_entropy)
def _(dloss, dbackprop, features, labels, needs_features, needs_labels, *, axis):
    """With q = softmax(z): dz = c·(q − p), dp = −c·log q, as in TensorFlow. dz is exact if the labels p sum to 1."""
    c = expand_dims(dloss, axis)
    dfeatures = dlabels = None
    q = _softmax(features, axis)
    if needs_features:
        dfeatures = c * (q - labels)
    if needs_labels:
        dlabels = -c * _log_softmax(features, axis)
    if not is_zeros(dbackprop):
        if needs_features:
            dfeatures += (dbackprop - reduce_sum(dbackprop * q, axis, keepdims=True)) * q
        if needs_labels:
            dlabels -= dbackprop
    return dfeatures, dlabels


def _label_avals(features, labels, classes):
    require(features, FLOATING)
    require(labels, ("int32", "int64"), "Tlabels")
    return aval(labels.shape, features.dtype), features


def _labels_outside(labels, classes):
    def message():
        low, high = labels.min(), labels.max()
        values = " ".join(map(str, labels.ravel()[:32]))
        return (
            f"Received a label value of {low if low < 0 else high} which is outside the valid range of [0, {classes}).  "
            f"Label values: {values}\nLabels count the classes from 0: give the logits a class more, or mask these."
        )

    yield (labels < 0) | (labels >= classes), message


@op(
    "SparseSoftmaxCrossEntropyWithLogits", infer=_label_avals, mixed=True, saves="features labels",
    refuses=_labels_outside, flops=flops.of_input(4),
)  # fmt: skip
def _sparse_softmax_cross_entropy(features, labels, *, classes):
    top, z, e, s = exponentials(wide(features), -1)
    # A gather takes half the time of a sum over a one-hot mask. It reads the logits, which are in memory already.
    chosen = wide(jnp.take_along_axis(features, labels[..., None], axis=-1, mode="promise_in_bounds"))
    loss = jnp.log(s) - (chosen - top)
    backprop = e / s - (labels[..., None] == jnp.arange(classes, dtype=labels.dtype)).astype(z.dtype)
    return loss[..., 0].astype(features.dtype), backprop.astype(features.dtype)


@gradient(_sparse_softmax_cross_entropy)
def _(dloss, dbackprop, features, labels, *, classes):  # dz = c·(softmax(z) − onehot)
    q = _softmax(features, features.ndim - 1)
    dfeatures = expand_dims(dloss, -1) * (q - one_hot(labels, classes, dtype=features.dtype))
    if not is_zeros(dbackprop):
        dfeatures += (dbackprop - reduce_sum(dbackprop * q, -1, keepdims=True)) * q
    return dfeatures, None


@public
def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None) -> Tensor:
    """Return Σ −labels·log softmax(logits) along `axis`, the axis of the classes, which is removed.

    `labels` are probabilities that sum to 1 along `axis`, in the shape of `logits` (or one that broadcasts with it). They are
    cast to the dtype of `logits`, which is floating. Gradients flow to both. Logits are unscaled: do not apply softmax.

    >>> tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], [[0.0, 0.0]]).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    labels, logits = _both(labels, logits, "softmax_cross_entropy_with_logits")
    if logits.ndim == 0:
        raise invalid("`logits` cannot be a scalar: they need an axis of classes.")
    axis = class_axis(axis, logits.ndim)
    precise = _precise(logits)
    wide, labels = _broadcast(precise, cast(labels, precise.dtype))
    loss, _ = _softmax_cross_entropy(wide, labels, axis - logits.ndim + wide.ndim)
    if logits.node.aval.tensor_shape.is_fully_defined() and extents_of(wide) != extents_of(logits):
        loss = reshape(
            loss, [extent for a, extent in enumerate(extents_of(logits)) if a != axis]
        )  # an error if labels have more rows than logits
    return cast(loss, logits.dtype)


@public
def softmax_cross_entropy_with_logits_v1(labels=None, logits=None, dim=-1, name=None, axis=None):
    """Compute `softmax_cross_entropy_with_logits` without a gradient to the labels."""
    labels, logits = _both(labels, logits, "softmax_cross_entropy_with_logits")
    return softmax_cross_entropy_with_logits(stop_gradient(labels), logits, dim if axis is None else axis)


@public
def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None) -> Tensor:
    """Return −log softmax(logits)[label]: the cross-entropy for labels that are class numbers.

    `logits` [..., classes] is floating and unscaled; `labels` [...] is int32 or int64, each in [0, classes), else an
    InvalidArgumentError. The result has the shape of `labels` and the dtype of `logits`.

    >>> tf.nn.sparse_softmax_cross_entropy_with_logits([1], [[0.0, 0.0]]).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    labels, logits = _both(labels, logits, "sparse_softmax_cross_entropy_with_logits")
    if logits.ndim == 0:
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
    if labels.ndim != logits.ndim - 1:
        raise ValueError(
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. "
            f"Received: labels.shape={labels.shape} of rank {labels.ndim} and logits.shape={logits.shape} of rank "
            f"{logits.ndim}. Labels are class numbers, without an axis of classes: take tf.argmax of one-hot labels, "
            "or tf.squeeze an axis of extent 1."
        )
    if not stated_shape(labels.node).is_compatible_with(stated_shape(logits.node)[:-1]):
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. "
            f"Received: labels.shape={labels.shape} and logits.shape={logits.shape}"
        )
    loss, _ = _sparse_softmax_cross_entropy(_precise(logits), labels, extents_of(logits)[-1])
    return cast(loss, logits.dtype)


def _broadcast(logits, labels):
    if logits.node.aval.tensor_shape.is_compatible_with(extents_of(labels)):
        return logits, labels
    try:
        shape = broadcast_shapes(extents_of(logits), extents_of(labels))
    except InvalidArgumentError:
        raise invalid(
            f"logits and labels must be broadcastable: logits_size={plain(logits.shape)} "
            f"labels_size={plain(labels.shape)}\nFor labels that are class numbers use "
            "tf.nn.sparse_softmax_cross_entropy_with_logits."
        ) from None
    return broadcast_to(logits, shape), broadcast_to(labels, shape)


def _precise(logits):
    return cast(logits, dtypes.float32) if logits.dtype == dtypes.float16 else logits


def _both(labels, logits, what):
    """Convert labels and logits to tensors; ValueError if one is missing."""
    if labels is None or logits is None:
        raise ValueError(f"Both `labels` and `logits` must be provided for {what}. Received: {labels=} and {logits=}")
    logits = tensor(logits)
    return tensor(labels), logits


# ---------------------------------------------------------------------------------------------------------------------
# Sigmoid cross-entropies and other losses


@elementwise(
    "SigmoidCrossEntropyWithLogits", slope=(lambda logits: -logits, lambda labels, logits: sigmoid(logits) - labels),
    infer=only(FLOATING, lambda labels, logits: _beside_labels(logits, labels)), flops=4, traits="own",
)  # fmt: skip
def _sigmoid_cross_entropy(labels, logits):
    p, z = wide(labels), wide(logits)
    loss = jnp.maximum(z, 0) - z * p + jnp.log1p(jnp.exp(-jnp.abs(z)))
    return loss.astype(logits.dtype)


def _alike(labels, logits, what):
    """Convert labels and logits to tensors of one shape, or raise ValueError."""
    labels, logits = _both(labels, logits, what)
    if not labels.node.aval.tensor_shape.is_compatible_with(extents_of(logits)):
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({logits.shape} vs {labels.shape}).")
    return labels, logits


@public
def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None) -> Tensor:
    """Return −p·log sigmoid(z) − (1 − p)·log(1 − sigmoid(z)), element-wise, for labels p in [0, 1] and unscaled logits z.

    Both have the same shape and floating dtype, as has the result; computed so that nothing overflows.

    >>> tf.nn.sigmoid_cross_entropy_with_logits([1.0, 0.0], [0.0, 0.0]).numpy().round(4)
    array([0.6931, 0.6931], dtype=float32)
    """
    return _sigmoid_cross_entropy(*_alike(labels, logits, "sigmoid_cross_entropy_with_logits"))


@public
def weighted_cross_entropy_with_logits(labels, logits, pos_weight, name=None) -> Tensor:
    """Return −w·p·log sigmoid(z) − (1 − p)·log(1 − sigmoid(z)), element-wise; `pos_weight` w broadcasts.

    w > 1 costs a false negative more, w < 1 a false positive.

    >>> tf.nn.weighted_cross_entropy_with_logits([1.0], [0.0], pos_weight=2.0).numpy().round(4)
    array([1.3863], dtype=float32)
    """
    labels, logits = _alike(labels, logits, "weighted_cross_entropy_with_logits")
    weight = 1 + (pos_weight - 1) * labels
    # TensorFlow's form of softplus(−z), whose derivative at 0 is 0
    return (1 - labels) * logits + weight * (log1p(exp(-abs_(logits))) + relu(-logits))


@public
def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """Return the Poisson loss exp(c) − c·z, element-wise, for targets z and log-rates c = `log_input`. With
    `compute_full_loss` the term log z! is added, where z > 1, by Stirling's formula.

    >>> tf.nn.log_poisson_loss([1.0], [0.0]).numpy()
    array([1.], dtype=float32)
    """
    log_input, targets = tensor(log_input), tensor(targets)
    if not targets.node.aval.tensor_shape.is_compatible_with(extents_of(log_input)):
        raise ValueError(f"`log_input` and `targets` must have the same shape, received ({log_input.shape} vs {targets.shape}).")
    loss = exp(log_input) - log_input * targets
    if compute_full_loss:
        small = logical_and(targets >= 0, targets <= 1)
        safe = where(small, 1.0, targets)  # avoids NaN from the unused gradient of log at 0
        loss += where(small, 0.0, safe * log(safe) - safe + 0.5 * log(2 * pi * safe))
    return loss


@public
def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """Return Σ loss / `global_batch_size`, a scalar. The default is the number of losses times the number of replicas.

    `sample_weight` multiplies the losses first, along their first axes.

    >>> float(tf.nn.compute_average_loss(tf.constant([1.0, 3.0]), global_batch_size=2))
    2.0
    """
    loss = tensor(per_example_loss)
    if loss.ndim == 0:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1. "
            f"Received per_example_loss={per_example_loss} with rank 0"
        )
    if sample_weight is not None:
        weight = cast(sample_weight, loss.dtype)
        if weight.ndim == loss.ndim + 1 and extents_of(weight)[-1] == 1:
            weight = squeeze(weight, -1)
        while weight.ndim < loss.ndim:
            weight = expand_dims(weight, -1)
        loss = loss * weight
    if global_batch_size is None:
        global_batch_size = extents_of(loss)[0] * hooks.clients.require_replica("compute_average_loss")
    else:
        global_batch_size = static(global_batch_size, "global_batch_size")
        if global_batch_size < 0:
            raise ValueError(f"global_batch_size must be non-negative, received {global_batch_size}.")
    total = reduce_sum(loss)
    return total / global_batch_size if global_batch_size else total * 0


@public
def scale_regularization_loss(regularization_loss):
    """Return the sum of the losses divided by the number of replicas, because gradients are summed over replicas.

    >>> print(tf.nn.scale_regularization_loss([0.5, 0.25]).numpy())
    0.75
    """
    count = hooks.clients.require_replica("scale_regularization_loss")
    return reduce_sum(regularization_loss) / count
