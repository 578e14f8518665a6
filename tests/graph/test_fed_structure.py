"""Shapes, orders and sizes that are fed: placeholders of two, some, unknown rank. Numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from tests.graph.values import same

A = np.arange(6, dtype=np.float32).reshape(2, 3) / 4

# What is made of [2, 3], or of [1, 0] where that is an order of axes.
USES = {
    "zeros": (tf.zeros, [2, 3], np.zeros((2, 3))),
    "ones": (lambda n: tf.ones(n, tf.int32), [2, 3], np.ones((2, 3))),
    "fill": (lambda n: tf.fill(n, 2.5), [2, 3], np.full((2, 3), 2.5)),
    "an initializer": (lambda n: tf.zeros_initializer()(n), [2, 3], np.zeros((2, 3))),
    "random numbers": (lambda n: tf.shape(tf.random_uniform(n)), [2, 3], [2, 3]),
    "reshape": (lambda n: tf.reshape(tf.range(6), n), [2, 3], [[0, 1, 2], [3, 4, 5]]),
    "broadcast_to": (lambda n: tf.broadcast_to(tf.range(3), n), [2, 3], [[0, 1, 2]] * 2),
    "tile": (lambda n: tf.tile([[1.0]], n), [2, 3], np.ones((2, 3))),
    "scatter_nd": (lambda n: tf.scatter_nd([[0, 1]], [5.0], n), [2, 3], [[0, 5, 0], [0, 0, 0]]),
    "slice": (lambda n: tf.slice(tf.ones([5, 5]), [0, 0], n), [2, 3], np.ones((2, 3))),
    "a place": (lambda n: tf.slice(tf.reshape(tf.range(25), [5, 5]), n, [1, 1]), [2, 3], [[13]]),
    "entries": (lambda n: tf.range(n[0], n[1]), [2, 3], [2]),
    "axes": (lambda n: tf.reduce_sum(tf.ones([1, 2, 3, 4]), n), [2, 3], [[12.0, 12.0]]),
    "transpose": (lambda n: tf.transpose(A, n) * A.T, [1, 0], A.T**2),
    "split": (lambda n: tf.split(tf.range(5), n, num=2)[1], [2, 3], [2, 3, 4]),
}


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("shape", [[2], [None], None], ids=["two", "some", "unknown"])
def test_structure_that_is_fed(session, name, shape):
    use, fed, expected = USES[name]
    n = tf.placeholder(tf.int32, shape)
    same(session.run(use(n), {n: fed}), expected)


def test_the_gradients_of_what_is_cut_and_turned(session):
    sizes, order = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32, [None, 3])
    first, rest = tf.split(x, sizes, 1)
    gradients = tf.gradients([first * 2.0, rest], x) + tf.gradients(tf.transpose(x, order) * A.T, x)
    same(session.run([rest, *gradients], {x: A, sizes: [1, 2], order: [1, 0]}), [A[:, 1:], [[2, 1, 1]] * 2, A])
    assert [part.shape.as_list() for part in (first, rest)] == [[None, None]] * 2
    with pytest.raises(ValueError, match="Cannot infer argument `num` from shape"):
        tf.split(x, order, 1)


def test_parts_of_what_is_open(session):
    x = tf.placeholder(tf.float32, [None, None])
    same(session.run(tf.split(x, [1, -1], 1), {x: A}), [A[:, :1], A[:, 1:]])
    with pytest.raises(ValueError, match="Cannot infer argument `num` from shape"):
        tf.unstack(x)


def test_frames_of_a_signal_of_unknown_length(session):
    x, w = tf.placeholder(tf.float32, [None, None]), np.ones((5, 2), np.float32)
    spectrum = tf.abs(tf.signal.stft(x, 8, 4))
    ended = tf.signal.frame(x, 8, 16, pad_end=True)
    fed = {x: np.sin(np.arange(40.0)).reshape(2, 20)}
    mixed = tf.tensordot(spectrum, w, 1)
    assert spectrum.shape.as_list() == [None, None, 5]
    shapes = [part.shape for part in session.run([spectrum, mixed, ended, tf.gradients(mixed, x)[0]], fed)]
    assert shapes == [(2, 4, 5), (2, 4, 2), (2, 2, 8), (2, 20)]
    same(session.run(spectrum[0, 0], fed), [0.9204572, 1.8993007, 1.4072132, 0.1397788, 0.0367341], 1e-5)


def test_rows_of_what_is_made_flat(session):
    x, n = tf.placeholder(tf.float32, [None, None, 2]), tf.placeholder(tf.int32, [None])
    batch, length = tf.shape(x)[0], tf.shape(x)[1]
    last = tf.gather(tf.reshape(x, [-1, 2]), tf.range(batch) * length + n - 1)
    results = session.run([last, *tf.gradients(last, x)], {x: np.arange(12.0).reshape(2, 3, 2), n: [1, 3]})
    same(results, [[[0, 1], [10, 11]], [[[1, 1], [0, 0], [0, 0]], [[0, 0], [0, 0], [1, 1]]]])


def test_an_array_split_from_what_is_fed(session):
    x, lengths = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    part = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, lengths).read(1)
    same(session.run([part, *tf.gradients(part * 2.0, x)], {x: [1.0, 2.0, 3.0], lengths: [1, 2]}), [[2.0, 3.0], [0.0, 2.0, 2.0]])


def test_the_decoder_of_a_batch_of_unknown_size(session):
    x, n = tf.placeholder(tf.float32, [None, None, 4]), tf.placeholder(tf.int32, [None])
    (decoded,), certain = tf.nn.ctc_greedy_decoder(x, n)
    fed = {x: np.linspace(-1, 1, 24).reshape(3, 2, 4) * [1, -1, 2, 0.5], n: [3, 2]}
    same(session.run([tf.sparse.to_dense(decoded, default_value=-1), certain], fed), [[[1, 2], [1, 2]], [[-2.2608695], [-1.0]]])
    assert decoded.shape.as_list() == [None, None]


def test_the_beam_search_of_a_batch_of_unknown_size(session):
    x, n = tf.placeholder(tf.float32, [None, None, 4]), tf.placeholder(tf.int32, [None])
    (decoded, _), scores = tf.nn.ctc_beam_search_decoder(x, n, beam_width=4, top_paths=2)
    fed = {x: np.linspace(-1, 1, 24).reshape(3, 2, 4) * [1, -1, 2, 0.5], n: [3, 2]}
    result = session.run([tf.sparse.to_dense(decoded, default_value=-1), scores], fed)
    same(result, [[[1, 2], [1, -1]], [[-1.173529, -1.8309], [-1.31972, -1.781922]]])
    assert (decoded.shape.as_list(), scores.shape.as_list()) == ([None, None], [None, 2])


def test_a_constant_of_too_few_values(session):
    start = tf.constant_initializer(list(range(8)))
    v = tf.get_variable("v", [3, 4], initializer=start)
    session.run(v.initializer)
    same(session.run(v), [[0, 1, 2, 3], [4, 5, 6, 7], [7, 7, 7, 7]])
    with pytest.raises(ValueError, match=r"Too many elements provided\. Takes at most 4, but got 8"):
        start([2, 2])
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.constant_initializer(list(range(8)), verify_shape=True)([3, 4])


def test_a_default_of_unknown_rank(session):
    x = tf.placeholder_with_default([[1.0, 2.0]], None)
    total = tf.reduce_sum(x, -1)
    assert x.shape.rank is None
    same(session.run(total), [3.0])
    same(session.run(total, {x: [5.0, 6.0, 7.0]}), 18.0)


def test_what_flows_into_a_gradient_has_the_shape_of_its_target(session):
    x = tf.constant(A)
    same(session.run(tf.gradients(x * x, x, grad_ys=tf.ones([1, 3]))), [2 * A])
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        tf.gradients(x * 2.0, x, grad_ys=tf.ones([3, 2]))


def test_the_alignment_loss_of_a_batch_of_unknown_size(session):
    x, n, y = tf.placeholder(tf.float32, [None, None, 4]), tf.placeholder(tf.int32, [None]), tf.sparse_placeholder(tf.int32)
    loss = tf.nn.ctc_loss(y, x, n)
    assert loss.shape.as_list() == [None]
    labels = (np.array([[0, 0], [1, 0]]), np.array([1, 2]), np.array([2, 1]))
    fed = {x: np.linspace(-1, 1, 24).reshape(3, 2, 4) * [1, -1, 2, 0.5], n: [3, 2], y: labels}
    value, dx = session.run([loss, tf.gradients(loss, x)[0]], fed)
    same([value, dx[1, 0]], [[2.058001, 1.9442366], [0.1977857, -0.343012, 0.2065747, -0.0613481]], 1e-5)
