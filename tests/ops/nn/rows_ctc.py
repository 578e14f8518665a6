"""Rows of connectionist temporal classification, against a sum over all alignments."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.nn.ctc import _ctc_loss, _ctc_loss_gradient, _ctc_loss_hessian_product
from tests.ops.table import Row, real

INF = np.inf
Invalid = tf.errors.InvalidArgumentError
LABELS, LABEL_LENGTH, FRAMES = np.array([[1, 2], [2, 2], [2, 0]]), np.array([2, 2, 1]), np.array([4, 4, 3])
ALONG = real(4, 3, 3, seed=5)


def collapsed(path, blank):
    merged = [k for i, k in enumerate(path) if i == 0 or k != path[i - 1]]
    return [k for k in merged if k != blank]


def over_all_alignments(logits, labels, frames, blank=0):
    """The loss of one row, logits [frames, classes]."""
    log_p = jax.nn.log_softmax(logits[:frames])
    paths = [p for p in itertools.product(range(logits.shape[1]), repeat=frames) if collapsed(p, blank) == labels]
    scores = [sum(log_p[t, k] for t, k in enumerate(path)) for path in paths]
    return -jax.nn.logsumexp(jnp.stack(scores))


def reference(logits, frames=(4, 4, 3), blank=0, labels=LABELS, label_length=LABEL_LENGTH):
    rows = zip(labels.tolist(), label_length, frames, strict=True)
    return jnp.stack([over_all_alignments(logits[:, i], row[:n], t, blank) for i, (row, n, t) in enumerate(rows)])


def over_all_frames(logits, labels=LABELS, label_length=LABEL_LENGTH):
    """The loss of TensorFlow 1, where equal neighbours are two labels; the last class is the blank."""
    losses = []
    for i, (row, n, t) in enumerate(zip(labels.tolist(), label_length, FRAMES, strict=True)):
        log_p = jax.nn.log_softmax(logits[:t, i])
        paths = [p for p in itertools.product(range(4), repeat=int(t)) if [k for k in p if k != 3] == row[:n]]
        losses.append(-jax.nn.logsumexp(jnp.stack([sum(log_p[s, k] for s, k in enumerate(path)) for path in paths])))
    return jnp.stack(losses)


def loss_1(logits, labels=LABELS, frames=FRAMES, **options):
    sparse = tf.sparse.from_dense(np.array(labels, "int32"))
    return tf.compat.v1.nn.ctc_loss(sparse, logits, np.array(frames, "int32"), **options)


def by_states(logits, labels, blank=0):
    """The recursion state by state, in which a label of the blank's class is a label like others, as in TensorFlow."""
    states = [blank, *itertools.chain.from_iterable([(label, blank) for label in labels])]
    said = jax.nn.log_softmax(logits)
    alpha = [said[0, state] if place < 2 else jnp.full_like(said[0, 0], -INF) for place, state in enumerate(states)]
    for frame in said[1:]:
        skips = [place % 2 == 1 and place > 1 and states[place] != states[place - 2] for place in range(len(states))]
        sources = [alpha[max(place - 1 - skip, 0) : place + 1] for place, skip in enumerate(skips)]
        alpha = [jax.nn.logsumexp(jnp.stack(a)) + frame[state] for a, state in zip(sources, states, strict=True)]
    return -jnp.logaddexp(alpha[-1], alpha[-2])


def loss(logits, **options):
    return tf.nn.ctc_loss(LABELS, logits, LABEL_LENGTH, FRAMES, **options)


def alphas(logits):
    return _ctc_loss(LABELS, logits, LABEL_LENGTH, FRAMES, blank=0, classes=3, frames=4)[1]


def of_ones(labels=((1, 2),), label_length=(2,), logit_length=(2,), shape=(2, 1, 3)):
    return tf.nn.ctc_loss(np.array(labels), tf.ones(shape), np.array(label_length), np.array(logit_length))


def of_sparse(logits, logit_length, **options):
    return tf.nn.ctc_loss(tf.sparse.from_dense(LABELS), logits, None, logit_length, **options)


TENSORFLOWS = np.array(
    [
        [0.12573, -0.132105, 0.640423, 0.1049],
        [-2.325031, -0.218792, -1.245911, -0.732267],
        [0.90347, 0.094012, -0.743499, -0.921725],
        [-0.653829, -0.129614, 0.783976, 1.493431],
        [1.801635, 1.315104, 0.35738, -1.208319],
    ],
    "float32",
)[:, None]
GRADIENT = np.array(
    [
        [-0.308317, -0.291089, 0.378087, 0.221318],
        [0.003526, -0.429965, 0.138485, 0.287955],
        [-0.027488, -0.026609, -0.035505, 0.089602],
        [-0.009284, 0.087844, -0.632266, 0.553706],
        [-0.244009, 0.32356, -0.105496, 0.025945],
    ]
)[:, None]
ROWS = (
    Row(
        "loss",
        loss,
        (real(4, 3, 3),),
        reference,
        ops=("CTCLossDense",),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        errors=(
            (lambda: of_ones(labels=[[1, 3]]), Invalid, r"Labels must be in \[0, 3\); received 3"),
            (lambda: of_ones(labels=[[-1, 1]]), Invalid, "received -1"),
            (lambda: of_ones(label_length=[3]), Invalid, r"label_length must be in \[0, 2\], .* received \[3\]"),
            (lambda: of_ones(logit_length=[3]), Invalid, r"logit_length must be in \[0, 2\], .* received \[3\]"),
            (
                lambda: of_ones(logit_length=[2, 2]),
                Invalid,
                r"one batch of 1, received shapes \[1, 2\], \[1\] and \[2\]",
            ),
            (lambda: of_ones(shape=(2, 3)), Invalid, r"logits of 3 axes .* received shapes \[2, 3\] and \[1, 2\]"),
            (lambda: of_ones(labels=[[1.0, 2.0]]), Invalid, "Value for attr 'Tlabels' of double is not in the list"),
        ),
    ),
    Row(
        "loss-batch-major",
        lambda x: loss(tf.transpose(x, (1, 0, 2)), logits_time_major=False, unique=tf.nn.ctc_unique_labels(LABELS)),
        (real(4, 3, 3),),
        reference,
    ),
    Row(
        "loss-last-blank",
        lambda x: tf.nn.ctc_loss(np.array([[1, 0], [0, 0]]), x, np.array([2, 2]), np.array([4, 3]), blank_index=-1),
        (real(4, 2, 3),),
        lambda x: reference(x, (4, 3), 2, np.array([[1, 0], [0, 0]]), (2, 2)),
    ),
    Row(
        "loss-of-nothing",
        lambda x: tf.nn.ctc_loss(np.array([[1], [1]]), x, np.array([0, 0]), np.array([3, 0])),
        (real(3, 2, 3),),
        lambda x: jnp.stack([-jnp.sum(jax.nn.log_softmax(x[:, 0])[:, 0]), 0.0]),
    ),
    Row(
        "loss-tensorflow",
        lambda x: tf.nn.ctc_loss(np.array([[1, 2]]), x, np.array([2]), np.array([5])),
        (real(5, 1, 4),),
        lambda x: reference(x, (5,), 0, np.array([[1, 2]]), (2,)),
        dtypes=("float32",),
        special=((TENSORFLOWS, [3.297616], GRADIENT),),
    ),
    Row(
        "loss-label-of-the-blank",
        lambda x: tf.nn.ctc_loss(np.array([[1, 0]]), x, np.array([2]), np.array([4])),
        (real(4, 1, 3),),
        lambda x: by_states(x[:, 0], [1, 0])[None],
    ),
    Row(
        "loss-repeated",
        lambda x: tf.nn.ctc_loss(np.array([[1, 1]]), x, np.array([2]), np.array([x.shape[0]])),
        (real(3, 1, 3),),
        lambda x: reference(x, (3,), 0, np.array([[1, 1]]), (2,)),
        # Impossible in two frames, and in one; gradients stand in test_ctc.py
        special=((np.ones((2, 1, 3), "float32"), [707.704529]), (np.ones((1, 1, 3), "float32"), [707.299072])),
    ),
    Row(
        "loss-sparse-labels",
        lambda x: of_sparse(x, [4, 4, 3], blank_index=0),
        (real(4, 3, 3),),
        reference,
        errors=(
            (
                lambda: of_sparse(tf.ones([4, 3, 3]), [4, 1, 3], blank_index=0),
                Invalid,
                r"Not enough time .*required: 2, available: 1",
            ),
            (lambda: of_sparse(tf.ones([4, 3, 3]), [4, 4, 3]), ValueError, "`blank_index` must be provided"),
        ),
    ),
    Row(
        "loss-1",
        loss_1,
        (real(4, 3, 4),),
        lambda x: reference(x, blank=3),
        ops=("CTCTrimLabels",),
        errors=(
            (lambda: loss_1(tf.ones([4, 1, 4]), [[1, 3, 2]], [4]), Invalid, "non-null label .* following a null label, batch: 0"),
            (lambda: loss_1(tf.ones([4, 1, 4]), [[1, 1, 1]], [2], preprocess_collapse_repeated=True), Invalid, "Not enough time"),
            (
                lambda: tf.compat.v1.nn.ctc_loss(tf.sparse.from_dense([[1]]), tf.ones([4, 1, 4]), tf.constant([4], "int64")),
                Invalid,
                "int64 is not in the list",
            ),
        ),
    ),
    Row("loss-1-unmerged", lambda x: loss_1(x, ctc_merge_repeated=False), (real(4, 3, 4),), over_all_frames),
    Row(
        "loss-1-collapsed",
        lambda x: loss_1(x, preprocess_collapse_repeated=True),
        (real(4, 3, 4),),
        lambda x: reference(x, blank=3, label_length=(2, 1, 1)),
    ),
    Row(
        "loss-1-longer-labels",
        lambda x: loss_1(x, [[1, 3], [1, 2]], [3, 1], ignore_longer_outputs_than_inputs=True),
        (real(3, 2, 4),),
        lambda x: jnp.stack([over_all_alignments(x[:, 0], [1], 3, 3), 0.0]),  # a label of the last class ends a row
    ),
    Row(
        "gradient",
        lambda x: _ctc_loss_gradient(LABELS, x, LABEL_LENGTH, FRAMES, alphas(x), blank=0),
        (real(4, 3, 3),),
        jax.grad(lambda x: jnp.sum(reference(x))),
        ops=("CTCLossDenseGrad",),
        order=1,
    ),
    Row(
        "hessian product",
        lambda x: _ctc_loss_hessian_product(LABELS, x, LABEL_LENGTH, FRAMES, ALONG, blank=0, strict=False, merge=True),
        (real(4, 3, 3),),
        lambda x: jax.jvp(jax.grad(lambda x: jnp.sum(reference(x))), (x,), (jnp.asarray(ALONG, x.dtype),))[1],
        ops=("CTCLossDenseHessianProduct",),
        order=-1,
        dtypes=("float64",),
    ),
    Row(
        "unique",
        tf.nn.ctc_unique_labels,
        (np.array([[3, 4, 4, 3], [1, 2, 3, 0]], "int32"),),
        lambda x: (np.array([[3, 4, 0, 0], [1, 2, 3, 0]]), np.array([[0, 1, 1, 0], [0, 1, 2, 3]], "int32")),
        ops=("CTCUniqueLabels",),
        dtypes=("int32", "int64"),
        special=((np.zeros((2, 0), "int32"), (np.zeros((2, 0), "int64"), np.zeros((2, 0), "int32"))),),
    ),
)
