"""TensorFlow 1's argument order and words, in eager code. The results are those of TensorFlow 2.21."""

import contextlib

import numpy as np
import pytest

import gradtape as tf
from gradtape.compat import v1

SQUARE = np.arange(4.0, dtype=np.float32).reshape(1, 2, 2, 1)

# the call → its result; `"n"` is the `name` that TensorFlow 1 has before the later arguments
CALLS = {
    "shape": (lambda: v1.shape([1, 2], "n", tf.int64), [2]),
    "size": (lambda: v1.size([1, 2], "n", tf.int64), 2),
    "transpose": (lambda: v1.transpose([[1, 2]], [1, 0], "n", False), [[1], [2]]),
    "gather": (lambda: v1.gather([[1, 2]], [1], None, "n", 1), [[2]]),
    "gather_nd": (lambda: v1.gather_nd([1, 2], [[1]], "n", 0), [2]),
    "batch_gather": (lambda: v1.batch_gather([[1, 2], [3, 4]], [[0], [1]]), [[1], [4]]),
    "boolean_mask": (lambda: v1.boolean_mask([1, 2], [True, False], "n", 0), [1]),
    "pad": (lambda: v1.pad([1, 2], [[1, 1]], "CONSTANT", None, 5), [5, 1, 2, 5]),
    "norm": (lambda: v1.norm([3.0, 4.0], keep_dims=True), [5.0]),
    "linalg.norm": (lambda: v1.linalg.norm([3.0, 4.0], keep_dims=True), [5.0]),
    "zeros_like": (lambda: v1.zeros_like(tensor=[1, 2], optimize=False), [0, 0]),
    "ones_like": (lambda: v1.ones_like(tensor=[1, 2], dtype=tf.float32), [1.0, 1.0]),
    "constant": (lambda: v1.constant([1, 2], None, [2], "n", True), [1, 2]),
    "confusion_matrix": (lambda: v1.confusion_matrix([0, 1], [1, 1], 2, tf.int64), [[0, 1], [0, 1]]),
    "reverse_sequence": (
        lambda: v1.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_dim=1, batch_dim=0),
        [[2, 1, 3], [6, 5, 4]],
    ),
    "space_to_depth": (lambda: v1.space_to_depth(SQUARE, 2, "n", "NHWC"), [[[[0.0, 1.0, 2.0, 3.0]]]]),
    "depth_to_space": (lambda: v1.depth_to_space(SQUARE.reshape(1, 1, 1, 4), 2, "n"), SQUARE),
    "space_to_batch": (lambda: v1.space_to_batch(SQUARE, [[0, 0], [0, 0]], 2), SQUARE.reshape(4, 1, 1, 1)),
    "batch_to_space": (lambda: v1.batch_to_space(SQUARE.reshape(4, 1, 1, 1), [[0, 0], [0, 0]], 2), SQUARE),
    "div_no_nan": (lambda: v1.div_no_nan(1.0, 0.0), 0.0),
    "clip_by_average_norm": (lambda: v1.clip_by_average_norm(tf.constant([3.0, 4.0]), 1.0), [1.2, 1.6]),
    "tensor_scatter_add": (lambda: v1.tensor_scatter_add([1, 2], [[0]], [5]), [6, 2]),
    "tensor_scatter_update": (lambda: v1.tensor_scatter_update([1, 2], [[0]], [5]), [5, 2]),
    "verify_tensor_all_finite": (lambda: v1.verify_tensor_all_finite(tf.constant([1.0]), "finite"), [1.0]),
}


@pytest.mark.parametrize("call, result", CALLS.values(), ids=CALLS)
def test_result(call, result):
    np.testing.assert_allclose(call().numpy(), result, rtol=1e-6)


def test_the_old_word_and_the_new_one():
    with pytest.raises(ValueError, match="Cannot specify both 'seq_dim' and 'seq_axis'"):
        v1.reverse_sequence([[1, 2]], [1], seq_axis=1, seq_dim=1)
    with pytest.raises(ValueError, match="Cannot specify both 'keep_dims' and 'keepdims'"):
        v1.norm([1.0], keepdims=True, keep_dims=True)


def test_a_word_that_no_parameter_has():
    for call, function in ((v1.nn.softmax, "softmax"), (v1.losses.log_loss, "log_loss"), (v1.metrics.mean, "mean")):
        with pytest.raises(TypeError, match=rf"^{function}\(\) got an unexpected keyword argument 'sise'"):
            call([1.0], sise=2)
    with pytest.raises(TypeError, match=r"argument 'filtres'\. Did you mean 'filters'"):
        v1.nn.conv2d(SQUARE, filtres=2)


def test_a_shape_that_is_verified():
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(4,\), got \(2,\)"):
        v1.constant([1, 2], shape=[4], verify_shape=True)


def test_points_of_a_variable_are_assigned():
    v = tf.Variable([1.0, 2.0, 3.0])
    v1.scatter_nd_update(v, [[0]], [7.0])
    v1.scatter_nd_add(v, [[1]], [1.0])
    v1.scatter_nd_sub(v, [[2]], [1.0])
    np.testing.assert_array_equal(v.numpy(), [7.0, 3.0, 2.0])


def test_counts_have_the_expectation_first():
    assert v1.random_poisson([1.0, 2.0], [3]).shape == v1.random.poisson([1.0, 2.0], [3]).shape == [3, 2]


def test_one_loop_variable_comes_back_without_its_list():
    def below_three(i):
        return i < 3

    with tf.Graph().as_default(), v1.Session() as session:
        start = [tf.constant(0)]
        alone = v1.while_loop(below_three, lambda i: [i + 1], start, None, 10, True, False, "loop", 2)
        same = v1.while_loop(below_three, lambda i: i + 1, start, return_same_structure=True)
        two = v1.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j), [0, 5])
        assert session.run([alone, same, two]) == [2, [3], [3, 5]]
    assert int(v1.while_loop(below_three, lambda i: i + 1, [0])) == 3
    assert [int(i) for i in v1.while_loop(below_three, lambda i: [i + 1], [0])] == [3]


def test_one_loop_variable_comes_back_without_its_list_where_a_function_runs_as_eager_code():
    @tf.function
    def doubled():
        shapes = [tf.TensorShape([None])]
        x = v1.while_loop(lambda x: tf.size(x) < 3, lambda x: tf.concat([x, x], 0), [tf.constant([1.0])], shapes)
        return tf.reduce_sum(x) + float(isinstance(x, tf.Tensor))

    assert doubled().numpy() == 5


@pytest.mark.parametrize("graph", [False, True])
def test_one_result_of_a_branch_comes_back_without_its_list_in_eager_code(graph):
    def one():
        return [tf.constant(1.0)]

    with tf.Graph().as_default() if graph else contextlib.nullcontext():
        pairs = [(tf.constant(True), one)]
        loose = [v1.cond(pairs[0][0], one, one), v1.case(pairs, default=one), tf.case(pairs, default=one)]
        strict = [
            v1.cond(pairs[0][0], one, one, strict=True), v1.case(pairs, default=one, strict=True), tf.cond(pairs[0][0], one, one)
        ]  # fmt: skip
    assert [type(result) is list for result in loose + strict] == [graph] * 3 + [True] * 3


def test_assertions_take_data_before_their_message():
    data, pair = [tf.constant(5)], [1.0, 2.0]
    v1.assert_equal(pair, pair, data, 3, "not equal", "name")
    v1.debugging.assert_rank(pair, 1, data, message="no vector")
    v1.assert_scalar(1.0, "name", "no scalar")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not less"):
        v1.debugging.assert_less(pair, 2.0, data=data, message="not less")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
        v1.assert_positive([-1.0], data, 1, "not positive")
    with pytest.raises(ValueError, match="no matrix"):
        v1.assert_rank_at_least(pair, 2, data, message="no matrix")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        v1.verify_tensor_all_finite(t=tf.constant(np.inf), msg="not finite")


def test_labels_and_logits_by_position():
    labels, logits = [[0.0, 1.0]], [[0.2, 0.9]]
    np.testing.assert_allclose(v1.nn.sigmoid_cross_entropy_with_logits(labels, logits), [[0.798139, 0.341154]], rtol=1e-5)
    np.testing.assert_allclose(v1.nn.softmax_cross_entropy_with_logits(labels, logits), [0.403186], rtol=1e-5)
    np.testing.assert_allclose(v1.nn.sparse_softmax_cross_entropy_with_logits([1], logits), [0.403186], rtol=1e-5)
