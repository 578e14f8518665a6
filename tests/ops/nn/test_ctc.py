"""Labels that do not fit into their frames have TensorFlow's loss and gradient, and the log says so once."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.ops.nn import ctc

X = np.linspace(-1, 1, 24).reshape(3, 2, 4).astype("float32")
INF = np.inf
# Frames, then rows; the first row of labels, [1, 1], does not fit into two frames, [1, 2] does into three
DENSE = [
    [[-0.25991, -0.28349, 0.25988, 0.28349], [0.02903, -0.5724, 0.25988, 0.28349]],
    [[-0.25988, -0.28348, 0.25988, 0.28349], [0.02903, -0.1577, -0.15482, 0.28349]],
    [[0.0, 0.0, 0.0, 0.0], [0.02903, 0.23824, -0.55076, 0.28349]],
]
SPARSE = [
    [[1 / 3, -2 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 3], [0.0, 1 / 3, -1 / 3]],
    [[1 / 3, 1 / 3, -2 / 3], [1 / 3, 1 / 3, 1 / 3], [0.0, 1 / 3, -1 / 3]],
]


def sparse(*rows):
    return tf.sparse.from_dense(np.array(rows, "int32"))


def of_keras(x):
    return tf.keras.losses.CTC(reduction="none")(np.array([[1, 1], [1, 2]]), tf.transpose(x, (1, 0, 2)))


@pytest.mark.parametrize(
    ("loss", "x", "expected", "gradient"),
    [
        pytest.param(lambda x: tf.nn.ctc_loss([[1, 1], [1, 2]], x, [2, 2], [2, 3]), X, [708.46136, 2.639402], DENSE, id="dense"),
        pytest.param(
            of_keras,
            X[:2],
            [708.46136, 2.782031],
            [
                [[-0.25991, -0.28349, 0.25988, 0.28349], [0.21839, -0.76176, 0.25988, 0.28349]],
                [[-0.25988, -0.28348, 0.25988, 0.28349], [0.21839, 0.23824, -0.74012, 0.28349]],
            ],
            id="Keras",
        ),
        pytest.param(
            lambda x: tf.nn.ctc_loss(sparse([1, 2], [2, 2], [2, 0]), x, None, [2, 2, 2], blank_index=0),
            np.ones((2, 3, 3), "float32"),
            [2.197225, INF, 1.098612],
            SPARSE,
            id="sparse",
        ),
        pytest.param(
            lambda x: tf.compat.v1.nn.ctc_loss(sparse([1, 1]), x, np.array([2], "int32")),
            np.ones((2, 1, 4), "float32"),
            [INF],
            np.full((2, 1, 4), 0.25),
            id="TensorFlow 1",
        ),
    ],
)
def test_labels_that_do_not_fit_have_tensorflows_numbers(loss, x, expected, gradient):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        losses = loss(x)
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(losses, x), gradient, atol=6e-5)


def test_the_log_says_once_that_labels_do_not_fit(monkeypatch, caplog):
    monkeypatch.setattr(ctc, "_told", [])
    for _ in range(2):
        tf.nn.ctc_loss([[1, 2], [1, 1]], tf.constant(X[:2]), [2, 2], [2, 2]).numpy()
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("ctc_loss: the 2 labels of row 1 do not fit into 2 frames")
