"""Functions of `compat.v1.nn` with other arguments than in TensorFlow 2; convolutions are in `convolutions.py`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.ops.array import sort
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.array.shape import squeeze
from gradtape._src.ops.linalg import matmul
from gradtape._src.ops.nn import (
    activation,
    candidates,
    ctc,
    decoding,
    dropout as dropouts,
    embedding,
    embedding_sparse,
    losses,
    normalization,
    softmax as softmaxes,
)
from gradtape._src.ops.sparse.tensor import SparseTensor
from gradtape._src.v1.ops.respelled import arguments, extended, respelled, signed


@public
def dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None, name: str | None = None, rate: Any = None
) -> Any:
    """Return `x` with each element set to 0 with probability `rate` = 1 − `keep_prob`, and the others divided by 1 − rate."""
    if keep_prob is not None and rate is not None:
        raise ValueError("Cannot specify both 'keep_prob' and 'rate'. Give rate only.")
    if keep_prob is None and rate is None:
        raise ValueError("`rate` must be provided: the probability that an element is dropped.")
    if rate is None:
        rate = 1 - (tensor(keep_prob, tensor(x).dtype) if hasattr(keep_prob, "dtype") else keep_prob)
    return dropouts.dropout(x, rate, noise_shape, seed)


softmax = respelled(softmaxes.softmax, "logits axis name dim", dim="axis")
log_softmax = respelled(softmaxes.log_softmax, "logits axis name dim", dim="axis")
crelu = respelled(activation.crelu, "features name axis")
softmax_cross_entropy_with_logits_v2 = respelled(
    losses.softmax_cross_entropy_with_logits, "labels logits axis name dim", dim="axis"
)
weighted_cross_entropy_with_logits = respelled(
    losses.weighted_cross_entropy_with_logits, "labels logits pos_weight name targets", targets="labels"
)
moments = respelled(normalization.moments, "x axes shift name keep_dims keepdims", keep_dims="keepdims")
weighted_moments = respelled(
    normalization.weighted_moments, "x axes frequency_weights name keep_dims keepdims", keep_dims="keepdims"
)
sufficient_statistics = respelled(
    normalization.sufficient_statistics, "x axes shift keep_dims name keepdims", keep_dims="keepdims"
)
batch_norm_with_global_normalization = respelled(
    normalization.batch_norm_with_global_normalization,
    "t m v beta gamma variance_epsilon scale_after_normalization name input mean variance",
    t="input",
    m="mean",
    v="variance",
)
in_top_k = respelled(sort.in_top_k, "predictions targets k name")


@public
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Return x·weights + biases, for matrices `x` and `weights`."""
    return activation.bias_add(matmul.matmul(x, weights), biases)


@public
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Return relu(x·weights + biases)."""
    return activation.relu(xw_plus_b(x, weights, biases))


@public
def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Any:
    """Return `gradtape.nn.ctc_loss` for a SparseTensor of labels; the last class is the blank.

    `preprocess_collapse_repeated` merges equal neighbouring labels. Without `ctc_merge_repeated`, each frame that is not blank is
    a label. `ignore_longer_outputs_than_inputs` gives loss 0 to rows with more labels than frames.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError(f"Expected labels (first argument) to be a SparseTensor, received {type(labels).__name__}.")
    inputs = logits if inputs is None else inputs
    options = preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs
    return ctc.ctc_loss_v1(labels, inputs, sequence_length, *options, time_major)


ctc_loss_v2 = ctc.ctc_loss
ctc_beam_search_decoder = decoding.ctc_beam_search_decoder_v1
ctc_beam_search_decoder_v2 = decoding.ctc_beam_search_decoder

# ---------------------------------------------------------------------------------------------------------------------
# Partitioned tables


def _whole(tables: Any, strategy: str) -> Any:
    """Return the table with the parts `tables`, if there are several."""
    if is_tensor(tables) or not isinstance(tables, (list, tuple)) or len(tables) < 2:
        return tables
    return embedding.PartitionedParameters(tables, strategy)


@public
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Any:
    """Return the rows `ids` of the table `params`, or of one partitioned by `partition_strategy`."""
    if isinstance(ids, RaggedTensor):
        return ids.with_flat_values(embedding_lookup(params, ids.flat_values, partition_strategy, max_norm=max_norm))
    return embedding.embedding_lookup(_whole(params, partition_strategy), ids, max_norm)


def _of_parts(function: Callable[..., Any], tables: str, parameters: str, strategy: str = "mod") -> Callable[..., Any]:
    """Return `function` with these parameters in this order; any of the `tables` may be a list of parts.

    They are parted by the argument `partition_strategy`, whose default is `strategy`.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = arguments(call, args, kwargs)
        parted = given.pop("partition_strategy", strategy)
        return function(**{name: _whole(value, parted) if name in tables.split() else value for name, value in given.items()})

    return public(signed(call, extended(function, {"partition_strategy": strategy}, parameters)))


embedding_lookup_sparse = _of_parts(
    embedding_sparse.embedding_lookup_sparse,
    "params",
    "params sp_ids sp_weights partition_strategy name combiner max_norm allow_fast_lookup",
)
safe_embedding_lookup_sparse = _of_parts(
    embedding_sparse.safe_embedding_lookup_sparse,
    "embedding_weights",
    "embedding_weights sparse_ids sparse_weights combiner default_id name partition_strategy max_norm allow_fast_lookup",
    "div",
)
_SAMPLED = (
    "weights biases labels inputs num_sampled num_classes num_true sampled_values remove_accidental_hits partition_strategy"
)
nce_loss = _of_parts(candidates.nce_loss, "weights biases", f"{_SAMPLED} name")
sampled_softmax_loss = _of_parts(candidates.sampled_softmax_loss, "weights biases", f"{_SAMPLED} name seed")


@public
def without_last_axis(labels: Tensor, logits: Tensor) -> Tensor:
    """Return labels without a last axis of extent 1 if they have the rank of logits."""
    return squeeze(labels, -1) if labels.ndim == logits.ndim and extents_of(labels)[-1] == 1 else labels


@public
def with_axes_of(weights: Tensor, labels: Tensor) -> Tensor:
    """Return weights with a last axis of extent 1 added or removed, if that gives the rank of labels."""
    if weights.ndim == labels.ndim + 1 and extents_of(weights)[-1] == 1:
        return squeeze(weights, -1)
    return weights[..., None] if weights.ndim and weights.ndim == labels.ndim - 1 else weights


@public
def that_fit(weights: Tensor, values: Tensor) -> Tensor:
    """Return weights unchanged; ValueError unless they are a scalar, or have the axes of the values, with their extents or 1."""
    extents = zip(extents_of(weights), extents_of(values), strict=False)
    if weights.ndim and (weights.ndim != values.ndim or any(w not in (1, n) for w, n in extents)):
        raise ValueError(
            f"weights can not be broadcast to values. values.shape={values.shape}. weights.shape={weights.shape}. Give a "
            "scalar, or the axes of the values, each with their extent or 1."
        )
    return weights
