"""Rows of isotonic regression, of decoding, and of operations on phases of space."""

import itertools

import numpy as np

import gradtape as tf
from tests.ops.table import Row, integers, real

Invalid = tf.errors.InvalidArgumentError
Precondition = tf.errors.FailedPreconditionError
isotonic = tf.nn.isotonic_regression
INF = np.inf


def descending(x):
    """min over j ≤ i of max over k ≥ i of the means of x[j … k] (Barlow et al., 1972), along the last axis."""
    if x.ndim > 1:
        return np.stack([descending(row) for row in x])
    size = len(x)
    means = [[x[j : k + 1].mean() if k >= j else 0 for k in range(size)] for j in range(size)]
    return np.array([min(max(means[j][k] for k in range(i, size)) for j in range(i + 1)) for i in range(size)])


def transposed(function):
    return lambda x: function(x.T).T


LOGITS = np.array(
    [
        [[0.0, -INF, -INF], [-2.3, -INF, -0.1]],
        [[-INF, -0.5, -INF], [-INF, -INF, -0.1]],
        [[-INF, -INF, -INF], [-0.1, -INF, -2.3]],
    ]
)


def decoding_row(suffix, indices, values, shape, *arguments, **options):
    def call(x):
        (decoded,), certain = tf.nn.ctc_greedy_decoder(x, tf.constant([2, 3]), **options)
        return decoded.indices, decoded.values, decoded.dense_shape, certain

    return Row(
        f"ctc_greedy_decoder{suffix}",
        call,
        (LOGITS,),
        lambda x: (np.array(indices), np.array(values), np.array(shape), np.array([[0.5], [0.3]])),
        ops=("CTCGreedyDecoder",),
        order=0,
        errors=DECODING_ERRORS if not options else (),
    )


def decode(logits=LOGITS, lengths=(2, 3), **options):
    return lambda: tf.nn.ctc_greedy_decoder(tf.constant(logits), list(lengths), **options)


DECODING_ERRORS = (
    (decode(lengths=(2, 4)), Precondition, r"sequence_length\(1\) <= 3"),
    (decode(lengths=(2,)), Precondition, r"len\(sequence_length\) != batch_size.*batch_size: 2"),
    (decode(LOGITS[0]), Invalid, "inputs is not a 3-Tensor"),
    (decode(blank_index=5), Invalid, "blank_index expected to be between -3 and 2 but was 5"),
    (decode(LOGITS.astype("float16")), Invalid, "'T' of half is not in the list"),
)


def spelled(path, blank):
    """The labels that an alignment spells."""
    return tuple(k for i, k in enumerate(path) if k != blank and (i == 0 or k != path[i - 1]))


def likeliest(x, lengths, top_paths, merge=False):
    """`(indices, values, dense_shape)` of each of the likeliest paths, and log P, by a sum over all alignments."""
    found = []
    for row, length in zip(np.moveaxis(np.asarray(x), 1, 0), lengths, strict=True):
        emitted = row - np.logaddexp.reduce(row, axis=1, keepdims=True)
        sums = {}
        for path in itertools.product(range(row.shape[1]), repeat=length):
            labels = spelled(path, row.shape[1] - 1)
            sums[labels] = np.logaddexp(sums.get(labels, -np.inf), sum(emitted[t, k] for t, k in enumerate(path)))
        found.append(sorted(sums.items(), key=lambda item: -item[1])[:top_paths])
    results = []
    for rank in range(top_paths):
        rows = [spelled(row[rank][0], -1) if merge else row[rank][0] for row in found]
        places = [(i, t) for i, row in enumerate(rows) for t in range(len(row))]
        results += [np.array(places), np.array([k for row in rows for k in row]), np.array([len(rows), max(map(len, rows))])]
    return *results, np.array([[score for _, score in row] for row in found])


def searched(search, x, lengths=(4, 3), **options):
    decoded, scores = search(x, tf.constant(lengths), **options)
    return *[part for one in decoded for part in (one.indices, one.values, one.dense_shape)], scores


def search(logits=LOGITS, lengths=(2, 3), **options):
    return lambda: tf.nn.ctc_beam_search_decoder(tf.constant(logits), list(lengths), **options)


SAID = 2 * real(4, 2, 3)

# TensorFlow's paths of a search that is narrower than what there is
NARROW = 3 * np.sin(np.arange(120.0) ** 2).reshape(10, 2, 6)
NARROWLY = np.array([1, 2, 1, 0, 1, 3, 2, 1, 3, 1, 0]), np.array([2, 8]), np.array([[-4.9953243458], [-5.1994425738815]])


def pool(x, spatial, padding):
    return tf.nn.max_pool2d(x, 2, 1, padding)


def dilated_pool(x, rate, padding):
    before, after = {"SAME": (rate // 2, rate - rate // 2), "VALID": (0, 0)}[padding]
    x = np.pad(np.asarray(x), [(0, 0), (before, after), (before, after), (0, 0)], constant_values=0.0)
    rows, columns = x.shape[1] - rate, x.shape[2] - rate
    windows = [x[:, i : i + rows, j : j + columns] for i in (0, rate) for j in (0, rate)]
    return np.max(windows, axis=0)


def phases(x, *arguments, **options):
    return tf.nn.with_space_to_batch(x, *arguments, **options)


IMAGE = np.ones((1, 4, 4, 1))

ROWS = (
    Row(
        "isotonic_regression",
        lambda x: isotonic(x)[0],
        (real(3, 5),),
        descending,
        ops=("IsotonicRegression",),
        oracle=False,
        dtypes=("float64", "float32", "float16", "bfloat16"),
        special=(
            ([[3.0, 1.0, 2.0], [1.0, 3.0, 4.0]], [[3.0, 1.5, 1.5], [2.6666667, 2.6666667, 2.6666667]], np.ones((2, 3))),
            (np.zeros((2, 0), "float32"), np.zeros((2, 0)), np.zeros((2, 0))),
            (2.0, 2.0, 1.0),
        ),
        errors=((lambda: isotonic([1j]), Invalid, "is not in the list of allowed values"),),
    ),
    Row(
        "ctc_beam_search_decoder",
        lambda x: searched(tf.nn.ctc_beam_search_decoder, x, top_paths=3),
        (SAID,),
        lambda x: likeliest(x, (4, 3), 3),
        ops=("CTCBeamSearchDecoder", "CTCSparsePaths"),
        order=0,
        errors=(
            (search(lengths=(2, 4)), Precondition, r"sequence_length\(1\) <= 3 is needed, received 4"),
            (search(lengths=(2,)), Precondition, r"len\(sequence_length\) != batch_size.*batch_size: 2"),
            (search(LOGITS[0]), Invalid, "inputs is not a 3-Tensor"),
            (search(np.zeros((0, 2, 3))), Invalid, "inputs must not be empty"),
            (search(beam_width=1, top_paths=2), Invalid, "requested more paths than the beam width: top_paths is 2"),
            (search(beam_width=0), Invalid, "Value for attr 'beam_width' of 0 must be at least minimum 1"),
            (search(top_paths=0), Invalid, "Value for attr 'top_paths' of 0 must be at least minimum 1"),
            (search(SAID, (4, 0), top_paths=2), Invalid, "Less leaves in the beam search than requested"),
        ),
    ),
    Row(
        "ctc_beam_search_decoder-merged",
        lambda x: searched(tf.compat.v1.nn.ctc_beam_search_decoder, x, top_paths=8),
        (SAID,),
        lambda x: likeliest(x, (4, 3), 8, merge=True),
        order=0,
    ),
    Row(
        "ctc_beam_search_decoder-narrow",
        lambda x: searched(tf.compat.v1.nn.ctc_beam_search_decoder_v2, x, (10, 7), beam_width=3)[1:],
        (NARROW,),
        lambda x: NARROWLY,
        order=0,
    ),
    Row(
        "isotonic_regression-ascending",
        lambda x: isotonic(x, decreasing=False, axis=0)[0],
        (real(4, 2),),
        lambda x: -transposed(descending)(-x),
        ops=("IsotonicRegression",),
        oracle=False,
    ),
    Row(
        "isotonic_regression-segments",
        isotonic,
        (np.array([[1, 1, 2, 2, 1], [1, 1, 1, 1, 1]]),),
        lambda x: (np.array([[1.5, 1.5, 1.5, 1.5, 1], [1, 1, 1, 1, 1]]), np.array([[0, 0, 0, 0, 1], [0, 1, 2, 3, 4]])),
        order=0,
        dtypes=("int32", "int8", "int16", "uint8", "int64"),
        result=lambda dtype: ("float32" if dtype in ("int8", "int16") else "float64", "int32"),
        ops=("IsotonicRegression",),
    ),
    Row(
        "isotonic_regression-weighted",
        lambda x: isotonic(x)[0] * [[1.0, 2.0, 4.0], [3.0, 4.0, 8.0]],
        (np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 4.0]]),),
        lambda x: descending(x) * [[1.0, 2.0, 4.0], [3.0, 4.0, 8.0]],
        oracle=False,
        special=(
            (
                [[3.0, 1.0, 2.0], [1.0, 3.0, 4.0]],
                [[3.0, 3.0, 6.0], [8.0, 10.666667, 21.333334]],
                [[1.0, 3.0, 3.0], [5.0, 5.0, 5.0]],
            ),
        ),
    ),
    decoding_row("", [[0, 0], [0, 1], [1, 0]], [0, 1, 0], [2, 2]),
    decoding_row("-blank", [[0, 0], [1, 0], [1, 1]], [0, 2, 0], [2, 2], blank_index=-2),
    decoding_row("-unmerged", [[0, 0], [1, 0], [1, 1], [1, 2]], [0, 2, 2, 0], [2, 3], blank_index=1, merge_repeated=False),
    Row(
        "collapse_repeated",
        lambda x: tf.nn.collapse_repeated(x, [5, 3]),
        (np.array([[1, 1, 2, 2, 1], [1, 2, 3, 4, 5]]),),
        lambda x: (np.array([[1, 2, 1], [1, 2, 3]]), np.array([3, 3])),
        ops=("CollapseRepeated",),
        order=0,
        dtypes=("int32", "int64"),
        result=lambda dtype: (dtype, "int32"),
        errors=((lambda: tf.nn.collapse_repeated([1], [1]), Invalid, r"must be \[batch, time\] and seq_length \[batch\]"),),
    ),
    Row(
        "collapse_repeated-short",
        lambda x: tf.nn.collapse_repeated(x, [2, 0]),
        (integers(1, 2, 2, 5),),
        lambda x: (np.array([[1], [0]]), np.array([1, 0])),
        order=0,
        dtypes=("int32",),
        result=lambda dtype: (dtype, "int32"),
    ),
    Row(
        "with_space_to_batch",
        lambda x: phases(x, [2, 2], "VALID", pool),
        (real(2, 4, 5, 1) + 3,),
        lambda x: dilated_pool(x, 2, "VALID"),
        oracle=False,
        errors=(
            (lambda: phases(IMAGE, [2, 2], "SAME", pool), ValueError, "filter_shape must be specified for `padding='SAME'`"),
            (lambda: phases(IMAGE, [2, 2], "FULL", pool), ValueError, "Invalid padding method 'FULL'"),
            (lambda: phases(IMAGE, [0, 2], "VALID", pool), ValueError, r"dilation_rate must be positive, received \[0, 2\]"),
            (lambda: phases(IMAGE, [2], "VALID", pool, spatial_dims=[0]), ValueError, r"spatial_dims .* received \[0\]"),
        ),
    ),
    Row(
        "with_space_to_batch-same",
        lambda x: phases(x, [2, 2], "SAME", pool, filter_shape=[2, 2]),
        (real(1, 4, 4, 1, seed=1) + 3,),
        lambda x: dilated_pool(x, 2, "SAME"),
        oracle=False,
        special=((np.ones((1, 2, 2, 1), "float32"), np.ones((1, 2, 2, 1))),),
    ),
    Row(
        "with_space_to_batch-axis",
        lambda x: phases(x, [3], "VALID", lambda x, spatial, padding: x * (spatial + len(padding)), spatial_dims=[2]),
        (real(2, 2, 4, 1),),
        lambda x: 6 * x,
        oracle=False,
    ),
    Row(
        "with_space_to_batch-rate-1",
        lambda x: phases(x, [1, 1], "VALID", pool),
        (real(1, 3, 3, 1),),
        lambda x: dilated_pool(x, 1, "VALID"),
        oracle=False,
    ),
)
