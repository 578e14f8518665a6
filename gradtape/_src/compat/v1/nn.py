"""`compat.v1.nn`: what TensorFlow 1 calls with other arguments than TensorFlow 2."""

from __future__ import annotations

from typing import Any

from gradtape._src.compat.v1.maths import _either
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.ops import (
    convolution as convolutions,
    dropout as dropouts,
    embedding,
    losses,
    normalization,
    pooling,
    softmax as softmaxes,
    sort,
)
from gradtape._src.ops.elementary import tanh as tanh


@public
def dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None, name: str | None = None, rate: Any = None
) -> Any:
    """`x` with elements set to 0, each with probability `rate` = 1 − `keep_prob`, and the others divided by 1 − rate."""
    if keep_prob is None and rate is None:
        raise ValueError("`rate` must be provided: the probability that an element is dropped.")
    if rate is None:
        rate = 1 - (tensor(keep_prob, tensor(x).dtype) if hasattr(keep_prob, "dtype") else keep_prob)
    return dropouts.dropout(x, rate, noise_shape, seed)


@public
def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Convolution over two axes: `input` [batch, height, width, channels], `filter` [height, width, channels, outputs]."""
    return convolutions.conv2d(
        input, _either(filter, filters, ("filter", "filters")), strides, padding, data_format, list(dilations)
    )


@public
def convolution(
    input: Any,
    filter: Any = None,
    padding: Any = "VALID",
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Convolution over one to three axes: `input` [batch, …, channels], `filter` […, channels, outputs]."""
    filter = _either(filter, filters, ("filter", "filters"))
    dilation_rate = _either(dilation_rate, dilations, ("dilation_rate", "dilations"))
    return convolutions.convolution(input, filter, strides, padding, data_format, dilation_rate)


@public
def max_pool(
    value: Any = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """The maximum over a window moving over two axes of `value` [batch, height, width, channels]."""
    return pooling.max_pool2d(_either(value, input, ("value", "input")), ksize, strides, padding, data_format)


@public
def avg_pool(
    value: Any = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """The mean over a window moving over two axes of `value` [batch, height, width, channels]."""
    return pooling.avg_pool2d(_either(value, input, ("value", "input")), ksize, strides, padding, data_format)


@public
def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """exp(logits) / Σ exp(logits) along `axis`, the last by default."""
    axis = _either(axis, dim, ("axis", "dim"))
    return softmaxes.softmax(logits, -1 if axis is None else axis)


@public
def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """logits − log Σ exp(logits) along `axis`, the last by default."""
    axis = _either(axis, dim, ("axis", "dim"))
    return softmaxes.log_softmax(logits, -1 if axis is None else axis)


def _no_positions(sentinel: Any, what: str) -> None:
    if sentinel is not None:
        raise ValueError(f"Only call `{what}` with named arguments (labels=..., logits=..., ...).")


@public
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """−log softmax(logits)[label], for labels that are class numbers. Both are given by name."""
    _no_positions(_sentinel, "sparse_softmax_cross_entropy_with_logits")
    return losses.sparse_softmax_cross_entropy_with_logits(labels, logits)


@public
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, dim: Any = -1, name: str | None = None, axis: Any = None
) -> Any:
    """Σ −labels·log softmax(logits); no gradient flows to the labels. Both are given by name."""
    _no_positions(_sentinel, "softmax_cross_entropy_with_logits")
    return losses.softmax_cross_entropy_with_logits_v1(labels, logits, dim, axis=axis)


@public
def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Any:
    """Σ −labels·log softmax(logits); a gradient flows to the labels, too."""
    axis = _either(axis, dim, ("axis", "dim"))
    return losses.softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis)


@public
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """The cross-entropy of independent classes, for labels in [0, 1]. Both are given by name."""
    _no_positions(_sentinel, "sigmoid_cross_entropy_with_logits")
    return losses.sigmoid_cross_entropy_with_logits(labels, logits)


@public
def moments(x: Any, axes: Any, shift: Any = None, name: str | None = None, keep_dims: Any = None, keepdims: Any = None) -> Any:
    """`(mean, variance)` of `x` over `axes`."""
    return normalization.moments(x, axes, shift, bool(_either(keepdims, keep_dims, ("keepdims", "keep_dims"))))


@public
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Any:
    """For each row of `predictions` whether the class `targets` is among the `k` greatest."""
    return sort.in_top_k(targets, predictions, k)


@public
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Any:
    """The rows `ids` of the table `params`."""
    return embedding.embedding_lookup(params, ids, max_norm)
