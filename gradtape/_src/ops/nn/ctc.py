"""Connectionist temporal classification: the negative log-likelihood of a label sequence over all alignments with the frames.

Graves, Fernández, Gomez and Schmidhuber, "Connectionist temporal classification", 2006. A frame emits a class or a blank. An
alignment yields the labels that are left after repetitions are merged and blanks are removed. Its states are the labels with a
blank before, between and behind them; the recursions over them are in logarithms.
"""

import functools
import logging
import math

import numpy as np
from jax import nn

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.platform.lowerings import HOST, lowered, lowering
from gradtape._src.core.tensors.convert import is_tensor, static, tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval, changes
from gradtape._src.core.values.dim import exploring, is_unknown
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, transpose
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.ops.shapes import FLOATING, require
from gradtape._src.ops.sparse.tensor import SparseTensor, to_dense

INTEGERS = ("int32", "int64")
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


# TensorFlow's penalty for an alignment that begins or ends in an invalid state: labels that do not fit have no other.
LOG_0 = math.log(1e-307)
logger = logging.getLogger("gradtape")


def _states(labels, blank, merge):
    """Return for each state [batch, states] its class, whether it may follow the state two before it, and whether it may
    follow itself.

    Unless repetitions `merge`, a label is emitted in exactly one frame, and any other label may follow it directly.
    """
    batch, count = labels.shape
    classes = at(jnp.full((batch, 2 * count + 1), blank, jnp.int32))[:, 1::2].set(labels.astype(jnp.int32))
    before = jnp.pad(classes, ((0, 0), (2, 0)), constant_values=blank)[:, :-2]
    # Odd states are labels, even if the class of a label is the blank.
    is_label = lax.broadcasted_iota(jnp.int32, classes.shape, 1) % 2 == 1
    return classes, is_label & (classes != before) if merge else is_label, True if merge else ~is_label


def _later(x, by, nothing):
    """Shift `x` [..., states] by `by` states, and fill up with `nothing`."""
    return jnp.pad(x, (*[(0, 0)] * (x.ndim - 1), (by, 0)), constant_values=nothing)[..., : x.shape[-1]]


def _total(*logarithms):
    """Return log Σ eˣ, element-wise; -inf if all are -inf."""
    most = functools.reduce(jnp.maximum, logarithms)
    shift = jnp.where(most == -jnp.inf, 0.0, most)
    return shift + jnp.log(sum([jnp.exp(x - shift) for x in logarithms]))


def _is_final(label_length, states):
    """Return whether an alignment may end in a state [batch, states]: the last label, or the blank behind it."""
    last = 2 * label_length.astype(jnp.int32)[:, None]
    state = lax.broadcasted_iota(jnp.int32, (label_length.shape[0], states), 1)
    return (state == last) | (state == last - 1)


def _frames_needed(labels, label_length, merge):
    """Return the number of frames for each row's labels: one each, and one more between equal neighbours if they `merge`."""
    count = label_length.astype(np.int32)
    repeated = (labels[:, 1:] == labels[:, :-1]) & (np.arange(1, labels.shape[1], dtype=np.int32) < count[:, None])
    return count + repeated.sum(axis=1, dtype=np.int32) if merge else count


def _emitted(logits, classes):
    return jnp.take_along_axis(nn.log_softmax(logits), classes[None], axis=2, mode="promise_in_bounds")


def _both(forwards, backwards):
    """Stack values of states for both time directions, the second with reversed states: [..., 2, batch, states]."""
    return jnp.stack([forwards, backwards[..., ::-1]], axis=-3)


class _Lattice:
    """The states of a batch of labels over time, in both directions, and their possible transitions.

    `start`: log-probabilities before the first frame. `ends`: log-penalty of ending in a state. `fits`: rows that fit.
    """

    def __init__(self, labels, label_length, logit_length, frames, blank, strict, merge, dtype):
        states, may_skip, may_stay = _states(labels, blank, merge)
        final = _is_final(label_length, states.shape[1])
        position = lax.broadcasted_iota(jnp.int32, states.shape, 1)
        lengths = logit_length.astype(jnp.int32)[:, None]
        self.fits = _frames_needed(labels, label_length, merge)[:, None] <= lengths
        price = jnp.where(self.fits | strict, -jnp.inf, LOG_0)
        # The first frame is reached from the first blank, from which the first label is possible, too
        began = jnp.where(position < 2, 0.0, price + jnp.log(jnp.where(may_skip, 3.0, 2.0)))
        self._first_prior = _both(began, jnp.where(final, 0.0, price)).astype(dtype)
        start = jnp.where(position == 0, 0.0, -jnp.inf)
        self.start = _both(start, start).astype(dtype)
        self.ends = jnp.where(final, jnp.where(self.fits | strict, 0.0, -jnp.inf), price)
        may_skip_back = jnp.pad(may_skip, ((0, 0), (0, 2)))[:, 2:][:, ::-1]
        self._may_skip, self._may_stay = (
            jnp.stack([may_skip, may_skip_back]),
            may_stay,
        )  # every second state is a label, also in reverse
        self._last = jnp.stack([lengths, jnp.full_like(lengths, frames)])
        self._first = jnp.stack([jnp.zeros_like(lengths), frames - lengths])

    def holds(self, index):
        """Return which rows have the frame `index`."""
        return (index >= self._first) & (index < self._last)

    def prior(self, index, state):
        """Return log P(frames before `index`, then each state), from `state`, the log-probabilities of the last frame."""
        return jnp.where(index == self._first, self._first_prior, _total(*self._sources(state, -jnp.inf)))

    def change(self, index, state, change):
        """Return the tangent of `prior` for the tangent `change` of `state`."""
        sources = self._sources(state, -jnp.inf)
        total = _total(*sources)
        shift = jnp.where(total == -jnp.inf, 0.0, total)
        parts = [jnp.exp(x - shift) * dx for x, dx in zip(sources, self._sources(change, 0.0), strict=True)]
        return jnp.where(index == self._first, 0.0, sum(parts))

    def _sources(self, x, nothing):
        """Return the values of the predecessors of each state: itself, the one before it, and the one before that."""
        stayed = x if self._may_stay is True else jnp.where(self._may_stay, x, nothing)
        return stayed, _later(x, 1, nothing), jnp.where(self._may_skip, _later(x, 2, nothing), nothing)


def _check(labels, logits, label_length, logit_length):
    """Raise InvalidArgumentError unless dtypes and shapes, given as avals, are consistent."""
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
    frames, batch, _ = logits.shape
    wide = np.promote_types(logits.dtype, np.float32)
    return aval((batch,), logits.dtype), aval((frames, 2, batch, 2 * labels.shape[1] + 1), wide)


def _used(labels, label_length):
    return np.arange(labels.shape[1], dtype=label_length.dtype) < label_length[:, None]


def _too_late(label_length, logit_length, advice=""):
    """Refuse rows with more labels than frames."""
    late = label_length.astype(np.int64) > logit_length.astype(np.int64)
    said = "Not enough time for target transition sequence (required: {}, available: {}) in row {}: each label needs a frame."
    yield late, lambda: said.format(label_length[late][0], logit_length[late][0], np.flatnonzero(late)[0]) + advice


def _no_lengths(name, lengths, extent):
    wrong = (lengths < 0) | (lengths > extent)
    return wrong, lambda: f"{name} must be in [0, {extent}], what there is of them; received {lengths.tolist()}."


def _impossible(labels, label_length, logit_length, classes, frames, strict, merge):
    """Refuse invalid labels and lengths; with `strict`, also fewer frames than labels."""
    yield _no_lengths("label_length", label_length, labels.shape[1])
    yield _no_lengths("logit_length", logit_length, frames)
    outside = _used(labels, label_length) & ((labels < 0) | (labels >= classes))
    yield outside, lambda: f"Labels must be in [0, {classes}); received {labels[outside][0]}."
    if strict:
        yield from _too_late(label_length, logit_length)
    else:
        _tell_of_labels_that_do_not_fit(labels, label_length, logit_length, merge=merge)


@lowered("the warning about labels that do not fit")
def _tell_of_labels_that_do_not_fit(labels, label_length, logit_length, *, merge):
    """Do nothing: the host has the values."""


def _told_on_host(labels, label_length, logit_length, *, merge):
    """Warn once in the log that the loss of labels that do not fit is no likelihood."""
    for row in np.flatnonzero(_frames_needed(labels, label_length, merge) > logit_length)[: not _told]:
        _told.append(row)
        logger.warning(
            "ctc_loss: the %d labels of row %d do not fit into %d frames (each label needs one, and one more between equal "
            "neighbours). The loss of such a row is 707 or more, as in TensorFlow, and its gradient that of labels cut off. "
            "Leave such rows out. This is said once.", label_length[row], row, logit_length[row],
        )  # fmt: skip


lowering(
    _tell_of_labels_that_do_not_fit, platform=HOST, rule=_told_on_host,
    because="the log has a line about the first labels that do not fit",
)  # fmt: skip
_told: list[int] = []


@op(
    "CTCLossDense", unhosted="it loops", infer=_loss_avals, mixed=True, saves="labels logits label_length logit_length y1",
    refuses=_impossible, traits="own",
)  # fmt: skip
def _ctc_loss(labels, logits, label_length, logit_length, *, blank, classes, frames, strict=False, merge=True):
    """Return the loss, and for each frame and state the log-probabilities of the frames before it, and of those behind it.

    One loop computes both: for the frames behind, the same recursion runs backwards in time, with reversed states. Labels that
    do not fit may begin and end in any state, with the penalty `LOG_0`.
    """
    states, *_ = _states(labels, blank, merge)
    emitted = _emitted(wide(logits), states)
    lattice = _Lattice(labels, label_length, logit_length, frames, blank, strict, merge, emitted.dtype)

    def step(state, frame):
        index, emission = frame
        prior = lattice.prior(index, state)
        return jnp.where(lattice.holds(index), prior + emission, state), prior

    (reached, _), priors = lax.scan(step, lattice.start, (lax.iota(jnp.int32, frames), _both(emitted, emitted[::-1])))
    # Labels that do not fit end in a state in which no alignment may end
    likelihood = nn.logsumexp(reached + lattice.ends, axis=1)
    return -likelihood.astype(logits.dtype), priors


@gradient(_ctc_loss)
def _(
    dloss, dpriors, labels, logits, label_length, logit_length, priors, *, classes, frames, **form
):  # the priors are used in this file only
    dlogits = _ctc_loss_gradient(labels, logits, label_length, logit_length, priors, **form)
    return None, expand_dims(expand_dims(dloss, 0), 2) * dlogits, None, None


@op(
    "CTCLossDenseGrad", unhosted="it scatters", infer=lambda labels, logits, *others, **attributes: logits, mixed=True,
    saves="labels logits label_length logit_length", traits="own",
)  # fmt: skip
def _ctc_loss_gradient(labels, logits, label_length, logit_length, priors, *, blank, strict=False, merge=True):
    """Return softmax(logits) minus the posterior probability of each class in a frame. That is 0 if the labels are impossible."""
    states, *_ = _states(labels, blank, True)
    z = wide(logits)
    joint = priors[:, 0] + _emitted(z, states) + priors[::-1, 1, :, ::-1]
    occupied = _occupied(joint)
    said = _by_class(occupied, states, z)
    return jnp.where(_has_frames(logit_length, z), nn.softmax(z) - said, 0.0).astype(logits.dtype)


def _occupied(joint):
    """Return the posterior probabilities of the states in each frame; 0 if the labels are impossible."""
    likelihood = nn.logsumexp(joint, axis=2, keepdims=True)
    return jnp.exp(joint - jnp.where(likelihood == -jnp.inf, 0.0, likelihood))


def _by_class(values, states, like):
    frame, row = [lax.broadcasted_iota(jnp.int32, values.shape, axis) for axis in (0, 1)]
    return at(jnp.zeros_like(like))[frame, row, states[None]].add(values)


def _has_frames(logit_length, like):
    return lax.broadcasted_iota(jnp.int32, (*like.shape[:2], 1), 0) < logit_length.astype(jnp.int32)[:, None]


@gradient(_ctc_loss_gradient)
def _(dy, labels, logits, label_length, logit_length, **form):
    """Return a product with the Hessian, which is symmetric. The priors are functions of the logits."""
    return None, _ctc_loss_hessian_product(labels, logits, label_length, logit_length, dy, **form), None, None, None


@op(
    "CTCLossDenseHessianProduct", unhosted="it loops", infer=lambda labels, logits, *others, **attributes: logits, mixed=True,
    saves="labels logits label_length logit_length", traits="own",
)  # fmt: skip
def _ctc_loss_hessian_product(labels, logits, label_length, logit_length, along, *, blank, strict, merge):
    """Return the product of each row's Hessian with a vector: the tangent of the gradient for the tangent `along` of the
    logits.

    The recursion is that of the loss, on pairs of a logarithm and its tangent. NaN where labels do not fit.
    """
    z, moving = wide(logits), wide(along)
    states, *_ = _states(labels, blank, merge)
    said = nn.softmax(z)
    moves = moving - jnp.sum(said * moving, axis=2, keepdims=True)  # tangents of the log-probabilities
    emitted, emits = _emitted(z, states), jnp.take_along_axis(moves, states[None], axis=2, mode="promise_in_bounds")
    lattice = _Lattice(labels, label_length, logit_length, len(z), blank, strict, merge, z.dtype)

    def step(pair, frame):
        (state, change), (index, emission, emission_change) = pair, frame
        prior, prior_change = lattice.prior(index, state), lattice.change(index, state, change)
        after = prior + emission, prior_change + emission_change
        here = lattice.holds(index)
        return tuple([jnp.where(here, new, old) for new, old in zip(after, pair, strict=True)]), (prior, prior_change)

    frames = lax.iota(jnp.int32, len(z)), _both(emitted, emitted[::-1]), _both(emits, emits[::-1])
    _, found = lax.scan(step, (lattice.start, jnp.zeros_like(lattice.start)), frames)
    joint, change = [p[:, 0] + e + p[::-1, 1, :, ::-1] for p, e in zip(found, (emitted, emits), strict=True)]
    occupied = _occupied(joint)
    change = occupied * (change - jnp.sum(occupied * change, axis=2, keepdims=True))
    product = jnp.where(_has_frames(logit_length, z), said * moves - _by_class(change, states, z), 0.0)
    return jnp.where(lattice.fits[None] | strict, product, jnp.nan).astype(logits.dtype)


@gradient(_ctc_loss_hessian_product)
def _(dy, labels, logits, label_length, logit_length, needs_logits, **form):
    if needs_logits:
        raise LookupError(
            "gradient registry has no entry for: CTCLossDenseHessianProduct. tf.nn.ctc_loss has no third derivative. Take "
            "differences of its Hessian's products: tf.autodiff.hvp "
            "at logits + h * u and at logits - h * u, by 2 * h."
        )
    return None, None, None, None, _ctc_loss_hessian_product(labels, logits, label_length, logit_length, dy, **form)


def _require_extents(labels, logits):
    """Raise NeedsValues in a graph that does not know the extents of rows, labels and frames, so that the call is deferred."""
    whole = labels.dense_shape if isinstance(labels, SparseTensor) else labels
    if not exploring() and (
        any(map(is_unknown, logits.node.aval.shape))
        or changes(whole.node.aval)
        or (isinstance(labels, SparseTensor) and None in labels.shape)
    ):
        raise engine.NeedsValues("how many rows, labels and frames there are is not known before the graph runs")


def _dense(labels):
    """Convert the labels of a SparseTensor to a matrix and the number of labels per row."""
    rows = labels.indices[:, 0]
    return to_dense(labels), unsorted_segment_sum(ones_like(rows), rows, labels._extents[0])


@public
def ctc_loss(labels, logits, label_length, logit_length, logits_time_major=True, unique=None, blank_index=None, name=None):
    """Return −log P(labels | logits), summed over all alignments, for each row of a batch: shape [batch].

    `labels` [batch, labels] are class numbers, the first `label_length` [batch] of each row valid. `logits` are [frames,
    batch, classes] (batch first unless `logits_time_major`), the first `logit_length` [batch] frames valid. `blank_index` is
    the class of blanks (0; a negative one counts from the end). Labels that do not fit into their frames have TensorFlow's
    loss, 707 or more, and its gradient; the log says so once. `unique` has no effect. Derivatives go to the second order.

    `labels` may be a SparseTensor, whose rows hold the labels from their first entries on. Then `label_length` has no effect,
    and `blank_index` must be given. Fewer frames than labels are an InvalidArgumentError. Where repeated labels do not fit,
    the loss is inf, and the gradient softmax(logits).

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


def _invalid_in_1(labels, label_length, logit_length, null, longer):
    """Refuse labels behind a `null`, which ends a row in TensorFlow 1's loss; and, unless `longer`, more labels than frames."""
    used = _used(labels, label_length)
    ended = jnp.cumsum(used & (labels >= null), axis=1) > 0
    rows = (used & ended & (labels < null)).any(axis=1)
    said = "Saw a non-null label (index >= num_classes - 1) following a null label, batch:"
    yield rows, lambda: f"{said} {np.flatnonzero(rows)[0]}"
    if not longer:
        yield from _too_late(label_length, logit_length, " ignore_longer_outputs_than_inputs=True leaves such rows out.")


@op(
    "CTCTrimLabels", infer=lambda labels, label_length, logit_length, **attributes: (labels, label_length), mixed=True,
    refuses=_invalid_in_1, traits="own",
)  # fmt: skip
def _trimmed(labels, label_length, logit_length, *, null, collapse, longer):
    """Return the labels below `null`, with equal neighbours merged if they `collapse`, and the number left in each row."""
    kept = (lax.broadcasted_iota(label_length.dtype, labels.shape, 1) < label_length[:, None]) & (labels < null)
    if collapse:
        kept = kept & jnp.pad(labels[:, 1:] != labels[:, :-1], ((0, 0), (1, 0)), constant_values=True)
    order = jnp.argsort(~kept, axis=1, stable=True)
    return jnp.take_along_axis(labels, order, 1), jnp.sum(kept, 1, dtype=label_length.dtype)


not_differentiable(_trimmed, because="it moves labels, which are integers")


@public
def ctc_loss_v1(labels, logits, logit_length, collapse, merge, longer, time_major):
    """Return the loss of TensorFlow 1 for a SparseTensor of labels: the last class is the blank, and ends a row of labels.

    `collapse` merges equal neighbours among the labels first, `merge` repetitions among the frames. Rows with more labels than
    frames have the loss 0 if `longer`, else they are an InvalidArgumentError.
    """
    logits, lengths = tensor(logits), tensor(logit_length, None if is_tensor(logit_length) else dtypes.int32)
    require(lengths.node.aval, ("int32",), "sequence_length")
    _require_extents(labels, logits)
    if logits.ndim == 3 and not time_major:
        logits = transpose(logits, (1, 0, 2))
    labels, label_length = _dense(labels)
    _check(*[x.node.aval for x in (labels, logits, label_length, lengths)])
    frames, _, classes = logits.node.aval.shape
    options = {"null": classes - 1, "collapse": bool(collapse), "longer": bool(longer)}
    known, count = _trimmed(labels, label_length, lengths, **options)
    left_out = label_length > cast(lengths, label_length.dtype)
    if longer:
        count = where(left_out, 0, count)
    options = {"blank": classes - 1, "classes": classes, "frames": frames}
    loss, _ = _ctc_loss(known, logits, count, lengths, **options, strict=True, merge=bool(merge))
    return where(left_out, 0.0, loss) if longer else loss


@op("CTCUniqueLabels", infer=lambda labels: (aval(labels.shape, INT64), aval(labels.shape, INT32)), traits="own")
def _unique_labels(labels):
    if not labels.shape[1]:
        return jnp.zeros(labels.shape, jnp.int64), jnp.zeros(labels.shape, jnp.int32)
    same = labels[:, :, None] == labels[:, None, :]
    first = jnp.argmax(same, axis=2)  # index of each label's first occurrence
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
    """Return the distinct labels of each row [batch, labels], padded with 0 (int64), and the index of each label among them.

    >>> unique, index = tf.nn.ctc_unique_labels([[1, 2, 1]])
    >>> unique.numpy().tolist()
    [[1, 2, 0]]
    """
    return list(_unique_labels(tensor(labels)))
