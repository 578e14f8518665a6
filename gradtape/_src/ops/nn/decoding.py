"""Decoding of connectionist temporal classification, from frames to labels, and merging of repeated labels."""

import jax
import numpy as np

from gradtape._src.core.base.errors import FailedPreconditionError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import AT_ONCE, not_differentiable, op, ran
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import is_unknown, unknown
from gradtape._src.ops.array.shape import transpose
from gradtape._src.ops.shapes import require
from gradtape._src.ops.sparse.tensor import SparseTensor


def _merged(labels, lengths, blank):
    """Merge repeated labels of each row up to its length, and remove `blank` (None: no label is removed)."""
    rows = []
    for row, length in zip(labels, lengths, strict=True):
        row = row[:length]
        kept = np.append(True, row[1:] != row[:-1]) if len(row) else np.zeros(0, bool)
        rows.append(row[kept if blank is None else kept & (row != blank)])
    return rows


def _checked(inputs, sequence_length):
    """Convert logits and lengths to tensors; InvalidArgumentError or FailedPreconditionError unless their shapes match."""
    x, lengths = tensor(inputs), tensor(sequence_length)
    require(x.node.aval, ("float32", "float64"))
    if x.ndim != 3:
        raise invalid(f"inputs is not a 3-Tensor: it must be [max_time, batch, classes], received shape {x.shape}.")
    batch = x.node.aval.shape[1]
    count = lengths.node.aval.size
    if lengths.ndim != 1 or (count != batch and not is_unknown(count) and not is_unknown(batch)):
        raise FailedPreconditionError.saying(
            f"len(sequence_length) != batch_size. sequence_length has shape {lengths.shape}, batch_size: {batch}"
        )
    return x, lengths


def _sparse(rows):
    """Return `(indices, values, dense_shape)` of the SparseTensor with the given rows."""
    places = [(i, time) for i, row in enumerate(rows) for time in range(len(row))]
    return (
        np.array(places, np.int64).reshape(-1, 2),
        np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
    )


def _sparse_avals():
    count, whole = unknown(), np.dtype(np.int64)
    return aval((count, 2), whole), aval((count,), whole), aval((2,), whole)


DECODED = "train on tf.nn.ctc_loss, which takes the logits"


@op(
    "CTCGreedyDecoder", infer=lambda inputs, sequence_length, **_: (*_sparse_avals(), aval((inputs.shape[1], 1), inputs.dtype)),
    unhosted=AT_ONCE, instead=DECODED, traits="holds_for_all",
)  # fmt: skip
def _greedy(inputs, sequence_length, *, merge_repeated, blank_index):
    frames = len(inputs)
    for i, length in enumerate(sequence_length):
        if not 0 <= length <= frames:
            raise FailedPreconditionError.saying(f"sequence_length({i}) <= {frames} and >= 0 is needed, received {length}")
    best = inputs.argmax(axis=2).T
    if merge_repeated:
        rows = _merged(best, sequence_length, blank_index)
    else:
        rows = [row[:n][row[:n] != blank_index] for row, n in zip(best, sequence_length, strict=True)]
    top = inputs.max(axis=2)
    certain = [-top[:n, i].sum(dtype=inputs.dtype) for i, n in enumerate(sequence_length)]
    return *_sparse(rows), np.array(certain, inputs.dtype).reshape(-1, 1)


not_differentiable(_greedy, because="it takes the best class of each frame, and how good it is belongs to decoding")


@public
def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """Decode the best class of each frame: `([SparseTensor], neg_sum_logits)`.

    `inputs` are logits [max_time, batch, classes], float32 or float64, `sequence_length` int32 [batch]. The SparseTensor of
    int64 holds the labels of each sequence without blanks, with equal neighbours merged if `merge_repeated`. The blank is
    class `blank_index`, the last one by default; a negative one counts from the end. `neg_sum_logits` [batch, 1] is minus the
    sum of the largest logits.

    >>> logits = tf.constant([[[0.0, 5.0, 0.0]], [[0.0, 5.0, 0.0]], [[0.0, 0.0, 5.0]]])
    >>> decoded, _ = tf.nn.ctc_greedy_decoder(logits, [3], merge_repeated=True)
    >>> print(decoded[0].values.numpy())
    [1]
    """
    x, lengths = _checked(inputs, sequence_length)
    classes = x.node.aval.shape[2]
    blank = classes - 1 if blank_index is None else blank_index
    if not -classes <= blank < classes:
        raise invalid(f"blank_index expected to be between {-classes} and {classes - 1} but was {blank}")
    places, values, shape, certain = ran(_greedy, x, lengths, attrs=(bool(merge_repeated), blank % classes))
    return [SparseTensor(places, values, shape)], certain


def _search(logits, length, width, top_paths, blank):
    """Return the best paths for logits [frames, classes]: [top_paths, frames], padded with -1, and log P [top_paths].

    Prefix beam search (Hannun et al., "First-pass large vocabulary continuous speech recognition using bi-directional
    recurrent DNNs", 2014, algorithm 1): each prefix has the probabilities of ending with a blank, and of not ending with one.
    """
    frames, classes = logits.shape
    places = lax.iota(jnp.int32, frames)
    never = jnp.full((width,), -jnp.inf, logits.dtype)

    def step(state, frame):
        index, emitted = frame
        paths, sizes, blanks, labels = state
        total = jnp.logaddexp(blanks, labels)
        last = jnp.where(sizes > 0, jnp.take_along_axis(paths, jnp.maximum(sizes - 1, 0)[:, None], 1)[:, 0], blank)
        # A prefix is extended; by its last class only after a blank
        onward = jnp.where(lax.iota(jnp.int32, classes) == last[:, None], blanks[:, None], total[:, None]) + emitted
        onward = at(onward)[:, blank].set(-jnp.inf)
        # A prefix stays the same
        stay_blank = total + emitted[blank]
        stay_label = jnp.where(sizes > 0, labels + emitted[last], -jnp.inf)
        # Merges an extended prefix with an equal one that is in the beam already
        parents = jnp.where(places == (sizes - 1)[:, None], -1, paths)
        alive = (sizes > 0) & (total > -jnp.inf)
        becomes = (paths[:, None] == parents[None]).all(-1) & alive  # [from, to]
        joined = jnp.where(becomes, onward[:, last], -jnp.inf)
        stay_label = jnp.logaddexp(stay_label, jax.nn.logsumexp(joined, axis=0))
        taken = at(jnp.zeros((width, classes), dtype=bool))[:, last].max(becomes)
        onward = jnp.where(taken, -jnp.inf, onward)

        scores = jnp.concatenate([jnp.logaddexp(stay_blank, stay_label), onward.ravel()])
        chosen = lax.top_k(scores, width)[1]
        goes_on = chosen >= width
        source = jnp.where(goes_on, (chosen - width) // classes, chosen)
        label = ((chosen - width) % classes).astype(paths.dtype)
        paths, sizes = paths[source], sizes[source]
        paths = jnp.where(goes_on[:, None] & (places == sizes[:, None]), label[:, None], paths)
        after = (
            paths,
            sizes + goes_on.astype(sizes.dtype),
            jnp.where(goes_on, -jnp.inf, stay_blank[source]),
            jnp.where(goes_on, scores[chosen], stay_label[source]),
        )
        return jax.tree.map(lambda new, old: jnp.where(index < length, new, old), after, state), None

    start = (
        jnp.full((width, frames), -1, jnp.int32),
        jnp.zeros((width,), dtype=jnp.int32),
        jnp.where(lax.iota(jnp.int32, width) == 0, jnp.zeros_like(never), never),
        never,
    )
    start = lax.optimization_barrier(start)  # else the compiler would fold the whole search of a single frame, which is slow
    (paths, _, blanks, labels), _ = lax.scan(step, start, (places, jax.nn.log_softmax(logits)))
    scores, best = lax.top_k(jnp.logaddexp(blanks, labels), top_paths)
    return paths[best], scores


def _search_avals(inputs, sequence_length, beam_width, top_paths, blank):
    batch, frames, _ = inputs.shape
    return aval((top_paths, batch, frames), np.dtype(np.int32)), aval((batch, top_paths), inputs.dtype)


@op("CTCBeamSearchDecoder", unhosted="it loops", infer=_search_avals, mixed=True, instead=DECODED, traits="holds_for_all")
def beam_search(inputs, sequence_length, *, beam_width, top_paths, blank):
    """Search the paths of logits [batch, frames, classes]: int32 [top_paths, batch, frames], and log P [batch, top_paths]."""
    paths, scores = jax.vmap(lambda x, n: _search(x, n, beam_width, top_paths, blank))(inputs, sequence_length)
    return jnp.swapaxes(paths, 0, 1), scores


not_differentiable(beam_search, because="it searches for labels, and how likely they are belongs to decoding")


def _paths_avals(paths, scores, sequence_length, **_):
    return tuple([part for _ in range(paths.shape[0]) for part in _sparse_avals()])


@op("CTCSparsePaths", infer=_paths_avals, unhosted=AT_ONCE, traits="own")
def _sparse_paths(paths, scores, sequence_length, *, merge_repeated):
    """Convert paths to `(indices, values, dense_shape)`, one path after the other."""
    frames = paths.shape[2]
    for i in np.flatnonzero(sequence_length > frames)[:1]:
        raise FailedPreconditionError.saying(f"sequence_length({i}) <= {frames} is needed, received {sequence_length[i]}")
    if (scores == -np.inf).any():
        raise invalid("Less leaves in the beam search than requested. Fewer top_paths are possible.")
    parts = []
    for path in paths:
        lengths = (path >= 0).sum(axis=1)  # host-side: the op runs at once
        rows = [row[:n] for row, n in zip(path, lengths, strict=True)]
        parts += _sparse(_merged(rows, lengths, None) if merge_repeated else rows)
    return tuple(parts)


not_differentiable(_sparse_paths, because="it moves labels, which are integers")


@public
def ctc_beam_search_decoder_v1(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    """Decode like `ctc_beam_search_decoder`; if `merge_repeated`, equal neighbours in the result are merged."""
    x, lengths = _checked(inputs, sequence_length)
    width, count = static(beam_width, "beam_width"), static(top_paths, "top_paths")
    for name, value in (("beam_width", width), ("top_paths", count)):
        if value < 1:
            raise invalid(f"Value for attr '{name}' of {value} must be at least minimum 1")
    if count > width:
        raise invalid(f"requested more paths than the beam width: top_paths is {count}, beam_width {width}.")
    if not all(x.node.aval.shape):
        raise invalid(f"inputs must not be empty: received shape {x.shape}.")
    blank = x.node.aval.shape[2] - 1
    paths, scores = beam_search(transpose(x, (1, 0, 2)), lengths, beam_width=width, top_paths=count, blank=blank)
    parts = ran(_sparse_paths, paths, scores, lengths, attrs=(bool(merge_repeated),))
    return [SparseTensor(*parts[i : i + 3]) for i in range(0, 3 * count, 3)], scores


@public
def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1):
    """Return the likeliest label sequences that a beam search finds: `([SparseTensor, …], log_probabilities)`.

    `inputs` are logits [max_time, batch, classes], float32 or float64, whose last class is the blank; `sequence_length` is
    int32 [batch]. The search keeps `beam_width` prefixes, and returns the best `top_paths` of them, the best first. Each is an
    int64 SparseTensor with the labels of all sequences. The log-probabilities are [batch, top_paths].

    FailedPreconditionError if a length is beyond the frames; InvalidArgumentError if fewer than `top_paths` paths are found.

    >>> logits = tf.constant([[[0.0, 5.0, 0.0]], [[0.0, 0.0, 5.0]], [[0.0, 5.0, 0.0]]])
    >>> decoded, log_probabilities = tf.nn.ctc_beam_search_decoder(logits, [3], top_paths=2)
    >>> print(decoded[0].values.numpy(), log_probabilities.numpy().round(2))
    [1 1] [[-0.04 -3.94]]
    """
    return ctc_beam_search_decoder_v1(inputs, sequence_length, beam_width, top_paths, False)


def _collapsed(labels, seq_length):
    return aval((labels.shape[0], unknown()), labels.dtype), aval(labels.shape[:1], seq_length.dtype)


@op("CollapseRepeated", infer=_collapsed, unhosted=AT_ONCE, traits="own")
def _collapse(labels, seq_length):
    rows = _merged(labels, seq_length, None)
    collapsed = np.zeros((len(rows), max(map(len, rows), default=0)), labels.dtype)
    for i, row in enumerate(rows):
        collapsed[i, : len(row)] = row
    return collapsed, np.array([len(row) for row in rows], seq_length.dtype)


not_differentiable(_collapse, because="it moves labels, and which ones depends on their values")


@public
def collapse_repeated(labels, seq_length, name=None):
    """Replace each run of equal labels in `labels` [batch, time] by one label; return the new lengths [batch], too.

    Only the first `seq_length` labels of a row count; rows are padded with 0. The dtypes are kept.

    >>> values, lengths = tf.nn.collapse_repeated([[1, 1, 2]], [3])
    >>> values.numpy().tolist(), lengths.numpy().tolist()
    ([[1, 2]], [2])
    """
    labels, seq_length = tensor(labels), tensor(seq_length)
    if labels.ndim != 2 or extents_of(seq_length) != extents_of(labels)[:1]:
        raise invalid(
            f"labels must be [batch, time] and seq_length [batch], received shapes {labels.shape} and {seq_length.shape}."
        )
    return ran(_collapse, labels, seq_length)
