"""From frames to labels: greedy decoding of connectionist temporal classification, and merging of repeated labels."""

import numpy as np

from gradtape._src.core.aval import provisional
from gradtape._src.core.convert import tensor
from gradtape._src.core.define import AT_ONCE, not_differentiable, op, ran
from gradtape._src.core.errors import FailedPreconditionError, invalid, public
from gradtape._src.ops.shapes import require
from gradtape._src.ops.sparse.tensor import SparseTensor


def _merged(labels, lengths, blank):
    """Merge each row of `labels` up to its length: one of repeated labels, without `blank` (None: all labels stay)."""
    rows = []
    for row, length in zip(labels, lengths, strict=True):
        row = row[:length]
        kept = np.append(True, row[1:] != row[:-1]) if len(row) else np.zeros(0, bool)
        rows.append(row[kept if blank is None else kept & (row != blank)])
    return rows


@op("CTCGreedyDecoder", unhosted=AT_ONCE)
def _greedy(inputs, sequence_length, *, merge_repeated, blank_index):
    frames = len(inputs)
    for i, length in enumerate(sequence_length):
        if not 0 <= length <= frames:
            raise FailedPreconditionError(None, None, f"sequence_length({i}) <= {frames} and >= 0 is needed, received {length}")
    best = inputs.argmax(axis=2).T
    if merge_repeated:
        rows = _merged(best, sequence_length, blank_index)
    else:
        rows = [row[:n][row[:n] != blank_index] for row, n in zip(best, sequence_length, strict=True)]
    places = [(i, time) for i, row in enumerate(rows) for time in range(len(row))]
    top = inputs.max(axis=2)
    certain = [-top[:n, i].sum(dtype=inputs.dtype) for i, n in enumerate(sequence_length)]
    return (
        np.array(places, np.int64).reshape(-1, 2),
        np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
        np.array(certain, inputs.dtype).reshape(-1, 1),
    )


not_differentiable(_greedy, because="it takes the best class of each frame, and how good it is belongs to decoding")


@public
def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """Return the labels that the best class of each frame spells: `([SparseTensor], neg_sum_logits)`.

    `inputs` are logits [max_time, batch, classes], float32 or float64, `sequence_length` int32 [batch]. The SparseTensor
    of int64 holds the labels of each sequence, without blanks (class `blank_index`, the last one by default; counted from
    the end if negative), of equal neighbours one only if `merge_repeated`. `neg_sum_logits` [batch, 1] is minus the sum of
    the largest logits.

    >>> logits = tf.constant([[[0.0, 5.0, 0.0]], [[0.0, 5.0, 0.0]], [[0.0, 0.0, 5.0]]])
    >>> decoded, _ = tf.nn.ctc_greedy_decoder(logits, [3], merge_repeated=True)
    >>> print(decoded[0].values.numpy())
    [1]
    """
    x, lengths = tensor(inputs), tensor(sequence_length)
    require(x.node.aval, ("float32", "float64"))
    if x.ndim != 3:
        raise invalid(f"inputs is not a 3-Tensor: it must be [max_time, batch, classes], received shape {x.shape}.")
    _, batch, classes = x.node.aval.shape
    count = lengths.node.aval.size
    if lengths.ndim != 1 or (count != batch and not provisional(count) and not provisional(batch)):
        raise FailedPreconditionError(
            None, None, f"len(sequence_length) != batch_size. sequence_length has shape {lengths.shape}, batch_size: {batch}"
        )
    blank = classes - 1 if blank_index is None else blank_index
    if not -classes <= blank < classes:
        raise invalid(f"blank_index expected to be between {-classes} and {classes - 1} but was {blank}")
    places, values, shape, certain = ran(_greedy, x, lengths, attrs=(bool(merge_repeated), blank % classes))
    return [SparseTensor(places, values, shape)], certain


@op("CollapseRepeated", unhosted=AT_ONCE)
def _collapse(labels, seq_length):
    rows = _merged(labels, seq_length, None)
    collapsed = np.zeros((len(rows), max(map(len, rows), default=0)), labels.dtype)
    for i, row in enumerate(rows):
        collapsed[i, : len(row)] = row
    return collapsed, np.array([len(row) for row in rows], seq_length.dtype)


not_differentiable(_collapse, because="it moves labels, and which ones depends on their values")


@public
def collapse_repeated(labels, seq_length, name=None):
    """Return `labels` [batch, time] with one label for each run of equal ones, and the new lengths [batch], in the dtype of
    the old.

    Only the first `seq_length` labels of a row count; shorter rows are filled up with 0.

    >>> values, lengths = tf.nn.collapse_repeated([[1, 1, 2]], [3])
    >>> values.numpy().tolist(), lengths.numpy().tolist()
    ([[1, 2]], [2])
    """
    labels, seq_length = tensor(labels), tensor(seq_length)
    if labels.ndim != 2 or seq_length.shape != labels.shape[:1]:
        raise invalid(
            f"labels must be [batch, time] and seq_length [batch], received shapes {labels.shape} and {seq_length.shape}."
        )
    return ran(_collapse, labels, seq_length)
