"""Connectionist temporal classification: how improbable a label sequence is, over all its alignments with the frames.

Graves, Fernández, Gomez and Schmidhuber, "Connectionist temporal classification", 2006. A frame says a class or blank;
an alignment stands for the labels that are left when repetitions are merged and blanks taken out. Its states are the
labels with a blank before, between and behind them; the recursions over them are in logarithms.
"""

import numpy as np
from jax import nn

from gradtape._src.core import dtypes, engine
from gradtape._src.core.arrays import at, jnp, lax
from gradtape._src.core.aval import aval, provisional
from gradtape._src.core.convert import is_tensor, static, tensor
from gradtape._src.core.define import gradient, not_differentiable, op
from gradtape._src.core.errors import invalid, public
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import changing, expand_dims, transpose
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.ops.shapes import FLOATING, require
from gradtape._src.ops.sparse.tensor import SparseTensor, to_dense

INTEGERS = ("int32", "int64")
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _states(labels, blank, merge):
    """Return the class of each state [batch, states], whether it may follow the state two before it, and whether itself.

    Unless repetitions `merge`, a label is said in one frame, and any other may be said in the next.
    """
    batch, count = labels.shape
    classes = at(jnp.full((batch, 2 * count + 1), blank, jnp.int32))[:, 1::2].set(labels.astype(jnp.int32))
    before = jnp.pad(classes, ((0, 0), (2, 0)), constant_values=blank)[:, :-2]
    is_label = lax.broadcasted_iota(jnp.int32, classes.shape, 1) % 2 == 1  # even one of the class that is the blank
    return classes, is_label & (classes != before) if merge else is_label, True if merge else ~is_label


def _later(x, by):
    """Return `x` [batch, states] moved `by` states on; what comes in is impossible."""
    return jnp.pad(x, ((0, 0), (by, 0)), constant_values=-jnp.inf)[:, : x.shape[1]]


def _moved(x, may_skip, may_stay):
    """Return log Σ eˣ over the states from which each state is reached: itself, the one before it, and the one before that."""
    stayed = x if may_stay is True else jnp.where(may_stay, x, -jnp.inf)
    return jnp.logaddexp(jnp.logaddexp(stayed, _later(x, 1)), jnp.where(may_skip, _later(x, 2), -jnp.inf))


def _final(label_length, states):
    """Return 0 for the states that an alignment may end in, the last label and the blank behind it; else -inf."""
    last = 2 * label_length.astype(jnp.int32)[:, None]
    state = lax.broadcasted_iota(jnp.int32, (label_length.shape[0], states), 1)
    return jnp.where((state == last) | (state == last - 1), 0.0, -jnp.inf)


def _emitted(logits, classes):
    """Return the logarithms of the probabilities of the states' classes: [frames, batch, states]."""
    return jnp.take_along_axis(nn.log_softmax(logits), classes[None], axis=2, mode="promise_in_bounds")


def _check(labels, logits, label_length, logit_length):
    """Raise InvalidArgumentError unless dtypes and shapes, given as avals, go together."""
    require(logits, FLOATING)
    for x in (labels, label_length, logit_length):
        require(x, INTEGERS, "Tlabels")
    if logits.ndim != 3 or labels.ndim != 2:
        raise invalid(
            "ctc_loss takes logits of 3 axes (frames, batch, classes) and labels of 2 (batch, labels), received shapes "
            f"{list(logits.shape)} and {list(labels.shape)}."
        )
    batch = logits.shape[1]
    if (labels.shape[0], label_length.shape, logit_length.shape) != (batch, (batch,), (batch,)):
        raise invalid(
            f"ctc_loss takes labels, label_length and logit_length of one batch of {batch}, received shapes "
            f"{list(labels.shape)}, {list(label_length.shape)} and {list(logit_length.shape)}."
        )


def _loss_avals(labels, logits, label_length, logit_length, **attributes):
    alphas = aval((*logits.shape[:2], 2 * labels.shape[1] + 1), np.promote_types(logits.dtype, np.float32))
    return aval(logits.shape[1:2], logits.dtype), alphas


def _possible(labels, label_length, logit_length, blank, classes, frames, strict, merge):
    """Return the message for invalid labels or lengths, or None. `strict`: fewer frames than labels are wrong, too. `strict`:
    fewer frames than labels are wrong, too.
    """
    for name, lengths, extent in (
        ("label_length", label_length, labels.shape[1]),
        ("logit_length", logit_length, frames),
    ):
        if (lengths < 0).any() or (lengths > extent).any():
            return f"{name} must be in [0, {extent}], what there is of them; received {lengths.tolist()}."
    used = labels[np.arange(labels.shape[1]) < label_length[:, None]]
    wrong = used[(used < 0) | (used >= classes)]
    if wrong.size:
        return f"Labels must be in [0, {classes}); received {wrong[0]}."
    if strict:
        for row in np.flatnonzero(label_length > logit_length):
            return (
                f"Not enough time for target transition sequence (required: {label_length[row]}, available: "
                f"{logit_length[row]}) in row {row}: each label needs a frame."
            )
    return None


@op(
    "CTCLossDense",
    unhosted="it loops",
    infer=_loss_avals,
    mixed=True,
    saves="labels logits label_length logit_length y1",
    status=_possible,
    checked="labels label_length logit_length",
)
def _ctc_loss(labels, logits, label_length, logit_length, *, blank, classes, frames, strict=False, merge=True):
    """Return the loss, and log P(the first frames, then in this state) for each frame and state."""
    states, may_skip, may_stay = _states(labels, blank, merge)
    emitted = _emitted(wide(logits), states)
    position = lax.broadcasted_iota(jnp.int32, states.shape, 1)
    start = jnp.where(position == 0, 0.0, -jnp.inf).astype(emitted.dtype)

    def step(alpha, frame):
        index, emission = frame
        # Before the first frame all stand at the first blank, which it may say, or go on from
        moved = _moved(alpha, may_skip & (index > 0), may_stay)
        alpha = jnp.where(index < logit_length[:, None], moved + emission, alpha)
        return alpha, alpha

    index = lax.iota(logit_length.dtype, frames)
    last, alphas = lax.scan(step, start, (index, emitted))
    final = _final(label_length, states.shape[1]).astype(last.dtype)
    return -nn.logsumexp(last + final, axis=1).astype(logits.dtype), alphas


@gradient(_ctc_loss)
def _(op, dloss, dalphas):  # the alphas do not leave this file
    dlogits = _ctc_loss_gradient(*op.inputs, op.outputs[1], blank=op.get_attr("blank"), merge=op.get_attr("merge"))
    return None, expand_dims(expand_dims(dloss, 0), 2) * dlogits, None, None


@op("CTCLossDenseGrad", unhosted="it loops", infer=lambda labels, logits, *others, **attributes: logits, mixed=True)
def _ctc_loss_gradient(labels, logits, label_length, logit_length, alphas, *, blank, merge=True):
    """Return softmax(logits) less the probability that a frame says a class, given the labels; 0 where they are impossible."""
    states, may_skip, may_stay = _states(labels, blank, merge)
    z = wide(logits)
    emitted = _emitted(z, states)
    final = _final(label_length, states.shape[1]).astype(z.dtype)
    lengths = logit_length[:, None]
    # The same recursion backwards in time and, with the states in reverse, from the last label to the first
    may_skip_back = jnp.pad(may_skip, ((0, 0), (0, 2)))[:, 2:][:, ::-1]

    def step(beta, frame):
        index, following = frame
        onward = (beta + following)[:, ::-1]
        moved = _moved(onward, may_skip_back, may_stay)[:, ::-1]  # each second state is a label, in reverse too
        beta = jnp.where(index == lengths - 1, final, jnp.where(index < lengths - 1, moved, -jnp.inf))
        return beta, beta

    index = lax.iota(logit_length.dtype, z.shape[0])
    following = jnp.concatenate([emitted[1:], jnp.zeros_like(emitted[:1])])
    _, betas = lax.scan(step, jnp.full_like(final, -jnp.inf), (index, following), reverse=True)
    likelihood = nn.logsumexp(alphas[-1] + final, axis=1)[None, :, None]
    possible = jnp.isfinite(likelihood)
    occupied = jnp.exp(alphas + betas - jnp.where(possible, likelihood, 0.0))
    frame, row = [lax.broadcasted_iota(jnp.int32, occupied.shape, axis) for axis in (0, 1)]
    said = at(jnp.zeros_like(z))[frame, row, states[None]].add(occupied)
    here = (index[:, None, None] < lengths[None]) & possible
    return jnp.where(here, nn.softmax(z) - said, 0.0).astype(logits.dtype)


def _require_extents(labels, logits):
    """Raise NeedsValues in a graph that does not know its rows, labels and frames, so that the call is deferred."""
    whole = labels.dense_shape if isinstance(labels, SparseTensor) else labels
    if (
        any(map(provisional, logits.node.aval.shape))
        or changing(whole)
        or (isinstance(labels, SparseTensor) and None in labels.shape)
    ):
        raise engine.NeedsValues("how many rows, labels and frames there are is not known before the graph runs")


def _dense(labels):
    """Return the labels of a SparseTensor as a matrix, and how many each row has."""
    rows = labels.indices[:, 0]
    return to_dense(labels), unsorted_segment_sum(ones_like(rows), rows, labels.shape[0])


@public
def ctc_loss(labels, logits, label_length, logit_length, logits_time_major=True, unique=None, blank_index=None, name=None):
    """Return −log P(labels | logits), summed over all alignments, for each row of a batch: shape [batch].

    `labels` [batch, labels] are class numbers, of which `label_length` [batch] count; `logits` [frames, batch, classes]
    (batch first unless `logits_time_major`), of which `logit_length` [batch] frames count. `blank_index` is the class
    that says nothing (0; negative ones count from the last). inf where the frames are too few for the labels; the
    gradient there is 0. `unique` has no effect. Gradients of first order only.

    `labels` may be a SparseTensor: the entries of a row from the first on are its labels, and `label_length` has no effect.
    `blank_index` must be given. Fewer frames than labels are an InvalidArgumentError.

    >>> logits = tf.math.log([[[0.6, 0.4]], [[0.5, 0.5]]])  # 2 frames, 1 example, the blank and one more class
    >>> print(tf.nn.ctc_loss([[1]], logits, [1], [2], blank_index=0).numpy().round(4), -np.log(1 - 0.6 * 0.5).round(4))
    [0.3567] 0.3567
    """
    is_sparse = isinstance(labels, SparseTensor)
    _require_extents(labels if is_sparse else tensor(labels), tensor(logits))
    if is_sparse:
        if blank_index is None:
            raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor. Give the class, or -1.")
        labels, label_length = _dense(labels)
    labels, logits, label_length, logit_length = map(tensor, (labels, logits, label_length, logit_length))
    if logits.ndim == 3 and not logits_time_major:
        logits = transpose(logits, (1, 0, 2))
    inputs = labels, logits, label_length, logit_length
    _check(*[x.node.aval for x in inputs])
    frames, _, classes = logits.node.aval.shape
    blank = 0 if blank_index is None else static(blank_index, "blank_index")
    if not -classes <= blank < classes:
        raise ValueError(f"`blank_index` must be in range [{-classes}, {classes}). Received: {blank}")
    blank %= classes
    loss, _ = _ctc_loss(*inputs, blank=blank, classes=classes, frames=frames, strict=is_sparse)
    return loss


def _null_fault(labels, label_length, logit_length, null, collapse, longer):
    """Return the message for invalid labels of TensorFlow 1's loss, or None: `null` and those behind it end a row."""
    used = np.arange(labels.shape[1]) < label_length[:, None]
    ended = np.cumsum(used & (labels >= null), axis=1) > 0  # host-side: checked values
    for row in np.flatnonzero((used & ended & (labels < null)).any(axis=1)):
        return f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: {row}"
    for row in np.flatnonzero(label_length > logit_length) if not longer else ():
        return (
            f"Not enough time for target transition sequence (required: {label_length[row]}, available: {logit_length[row]}) "
            f"in row {row}: each label needs a frame. ignore_longer_outputs_than_inputs=True leaves such rows out."
        )
    return None


@op(
    "CTCTrimLabels",
    infer=lambda labels, label_length, logit_length, **attributes: (labels, label_length),
    mixed=True,
    status=_null_fault,
    checked="labels label_length logit_length",
)
def _trimmed(labels, label_length, logit_length, *, null, collapse, longer):
    """Return the labels below `null`, of equal neighbours one only if they `collapse`, and how many each row has."""
    kept = (lax.broadcasted_iota(label_length.dtype, labels.shape, 1) < label_length[:, None]) & (labels < null)
    if collapse:
        kept = kept & jnp.pad(labels[:, 1:] != labels[:, :-1], ((0, 0), (1, 0)), constant_values=True)
    order = jnp.argsort(~kept, axis=1, stable=True)
    return jnp.take_along_axis(labels, order, 1), jnp.sum(kept, 1, dtype=label_length.dtype)


not_differentiable(_trimmed, because="it moves labels, which are integers")


@public
def ctc_loss_v1(labels, logits, logit_length, collapse, merge, longer, time_major):
    """Return the loss of TensorFlow 1, of a SparseTensor of labels: the last class says nothing, and ends a row of labels.

    Equal neighbours among the labels `collapse` to one first; repetitions among the frames `merge`; rows with `longer`
    labels than frames have the loss 0, else they are an InvalidArgumentError.
    """
    logits, lengths = tensor(logits), tensor(logit_length, None if is_tensor(logit_length) else dtypes.int32)
    require(lengths.node.aval, ("int32",), "sequence_length")
    _require_extents(labels, logits)
    if logits.ndim == 3 and not time_major:
        logits = transpose(logits, (1, 0, 2))
    labels, label_length = _dense(labels)
    _check(*[x.node.aval for x in (labels, logits, label_length, lengths)])
    frames, _, classes = logits.node.aval.shape
    known, count = _trimmed(labels, label_length, lengths, null=classes - 1, collapse=bool(collapse), longer=bool(longer))
    loss, _ = _ctc_loss(known, logits, count, lengths, blank=classes - 1, classes=classes, frames=frames, merge=bool(merge))
    return where(label_length > cast(lengths, label_length.dtype), 0.0, loss) if longer else loss


@op("CTCUniqueLabels", infer=lambda labels: (aval(labels.shape, INT64), aval(labels.shape, INT32)))
def _unique_labels(labels):
    if not labels.shape[1]:
        return jnp.zeros(labels.shape, jnp.int64), jnp.zeros(labels.shape, jnp.int32)
    same = labels[:, :, None] == labels[:, None, :]
    first = jnp.argmax(same, axis=2)  # where each label stands for the first time
    is_new = first == lax.broadcasted_iota(first.dtype, labels.shape, 1)
    rank = jnp.cumsum(is_new, axis=1) - 1
    index = jnp.take_along_axis(rank, first, axis=1)
    row = lax.broadcasted_iota(jnp.int32, labels.shape, 0)
    place = jnp.where(is_new, rank, labels.shape[1])
    unique = at(jnp.zeros(labels.shape, jnp.int64))[row, place].set(labels.astype(jnp.int64), mode="drop")
    return unique, index.astype(jnp.int32)


not_differentiable(_unique_labels, because="it gives integers")


@public
def ctc_unique_labels(labels, name=None):
    """Return the different labels of each row [batch, labels], padded with 0 (int64), and the place of each label among them.

    >>> unique, index = tf.nn.ctc_unique_labels([[1, 2, 1]])
    >>> unique.numpy().tolist()
    [[1, 2, 0]]
    """
    return list(_unique_labels(tensor(labels)))
