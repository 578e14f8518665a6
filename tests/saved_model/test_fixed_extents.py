"""Extents and ranks that a signature leaves open and the function fixes, as in the programs of TensorFlow's guide."""

import numpy as np
import pytest

import gradtape as tf


def again(module, path):
    tf.saved_model.save(module, path)
    return tf.saved_model.load(path)


class Export(tf.Module):
    def __init__(self, call, *shape):
        super().__init__()
        self.w = tf.Variable(tf.reshape(tf.range(float(np.prod(shape))), shape))
        self.call = call

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def __call__(self, x):
        return self.call(self.w, x)


def product(w, x):
    return tf.squeeze(tf.add(tf.matmul(x, w), 1.0), axis=1)


def one_hot_product(w, x):
    return product(w, tf.concat([x[:, :-1], tf.one_hot(tf.cast(x[:, -1], tf.int32), 3)], 1))


def test_columns_that_a_matrix_fixes(tmp_path):
    loaded = again(Export(product, 30, 1), tmp_path / "m")
    for rows in (1, 2, 30):
        assert loaded(tf.ones([rows, 30])).numpy().tolist() == [436.0] * rows
    signature = loaded.signatures["serving_default"]
    assert str(signature.structured_input_signature) == "((), {'x': TensorSpec(shape=(None, None), dtype=tf.float32, name='x')})"
    assert signature(x=tf.ones([2, 30]))["output_0"].numpy().tolist() == [436.0] * 2
    assert signature.output_shapes["output_0"].as_list() == [None]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"saved for a tensor of shape \[None, 30\]. It got one of shape \[2, 5\]"
    ):
        loaded(tf.ones([2, 5]))
    with tf.GradientTape() as tape:
        y = loaded(tf.ones([2, 30]))
    assert tape.gradient(y, loaded.w).numpy().tolist() == [[2.0]] * 30
    loaded = again(loaded, tmp_path / "again")  # what was loaded has no code to trace
    assert loaded(tf.ones([2, 30])).numpy().tolist() == [436.0] * 2
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[None, 30\]"):
        loaded(tf.ones([2, 5]))


def test_columns_that_are_no_extent_of_a_variable(tmp_path):
    loaded = again(Export(one_hot_product, 5, 1), tmp_path / "m")
    assert loaded([[1.0, 1.0, 2.0], [1.0, 1.0, 0.0]]).numpy().tolist() == [6.0, 4.0]


def test_a_call_says_what_is_fixed(tmp_path):
    x = np.ones([2, 47], np.float32)  # no variable's extent, and none that is tried
    module = Export(lambda w, x: x * tf.ones([47]) + w, 1)
    module(x)
    loaded = again(module, tmp_path / "m")
    assert loaded(x[:1]).shape == [1, 47]
    assert loaded(x[:, :1]).shape == [2, 47]  # which is broadcast
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[None, 47\]"):
        loaded(x[:, :5])


def test_what_is_not_fixed_stays_open(tmp_path):
    module = tf.Module()
    module.w = tf.Variable(tf.ones([6, 1]))
    specs = [tf.TensorSpec([None, None])] * 2
    module.f = tf.function(lambda x, y: tf.matmul(x, module.w) + tf.reduce_sum(y, 1, keepdims=True), input_signature=specs)
    loaded = again(module, tmp_path / "m")
    for rows, columns in ((2, 3), (3, 8)):
        assert loaded.f(tf.ones([rows, 6]), tf.ones([rows, columns])).numpy().tolist() == [[6.0 + columns]] * rows


def test_images_as_rows(tmp_path):
    module = tf.Module()
    module.w = tf.Variable(tf.ones([784, 2]))
    specs = [tf.TensorSpec([None, None, None, None], tf.uint8)]
    module.f = tf.function(lambda x: tf.matmul(tf.reshape(x, [-1, 784]) / 255, module.w), input_signature=specs)
    loaded = again(module, tmp_path / "m")
    for shape in ([3, 28, 28, 1], [3, 784, 1, 1], [1, 56, 14, 3]):
        np.testing.assert_allclose(loaded.f(tf.fill(shape, tf.constant(255, tf.uint8))), np.full([3, 2], 784.0), rtol=1e-6)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"a \* b \* c \* d - 784 .* is 0\. It got one of shape \[2, 28, 27, 1\]"
    ):
        loaded.f(tf.zeros([2, 28, 27, 1], tf.uint8))


def test_what_no_extent_fits_is_an_error(tmp_path):
    module = Export(lambda w, x: tf.matmul(x, tf.ones([47, 53])) + w, 5, 7)
    with pytest.raises(ValueError, match=r"cannot be traced for the open extents of.*47"):
        tf.saved_model.save(module, tmp_path / "m")


@tf.custom_gradient
def clip_gradients(y):
    return y, lambda dy: tf.clip_by_norm(dy, 0.5)


class Clip(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def call_custom_grad(self, x):
        return clip_gradients(x)


def test_a_rank_that_is_open(tmp_path):
    loaded = again(Clip(), tmp_path / "m")
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        output = loaded.call_custom_grad(v * v)
    assert float(tape.gradient(output, v)) == 2.0
    assert loaded.call_custom_grad(tf.ones([2, 1, 3, 1])).shape == [2, 1, 3, 1]
    with pytest.raises(ValueError, match=r"(?s)Could not find matching.*shape=\(\), .*shape=\(None, None, None, None\)"):
        loaded.call_custom_grad(tf.ones([1] * 5))


def test_ranks_that_were_called_or_fit(tmp_path):
    module = Clip()
    module.call_custom_grad(tf.ones([2, 3]))
    loaded = again(module, tmp_path / "called")
    assert loaded.call_custom_grad(tf.ones([4, 1])).shape == [4, 1]
    with pytest.raises(ValueError, match=r"1 option\(s\):(?s:.*)shape=\(None, None\)"):
        loaded.call_custom_grad(2.0)
    module = tf.Module()
    module.w = tf.Variable(tf.ones([3, 1]))
    module.f = tf.function(lambda x: tf.matmul(x, module.w), input_signature=[tf.TensorSpec(None)])
    loaded = again(module, tmp_path / "fit")
    assert loaded.f(tf.ones([2, 3])).numpy().tolist() == [[3.0]] * 2
    with pytest.raises(ValueError, match=r"(?s)3 option\(s\)"):
        loaded.f(2.0)
    module.f = tf.function(lambda x: tf.nn.conv3d(x, x, [1] * 5, "SAME"), input_signature=[tf.TensorSpec(None)])
    with pytest.raises(ValueError, match=r"whose rank is open, with any rank from 0 to 4\. State the shape"):
        tf.saved_model.save(module, tmp_path / "none")


def test_several_extents_that_a_call_tells(tmp_path):
    module = tf.Module()
    specs = [tf.TensorSpec([None, None, None, None])]
    module.f = tf.function(lambda x: tf.reduce_sum(tf.reshape(x, [tf.shape(x)[0], 784]), 1), input_signature=specs)
    module.f(tf.ones([2, 28, 28, 1]))
    loaded = again(module, tmp_path / "m")
    for function in (loaded.f, lambda x: loaded.signatures["serving_default"](x=x)["output_0"]):
        for shape in ([3, 28, 28, 1], [3, 14, 56, 1]):
            assert function(tf.ones(shape)).numpy().tolist() == [784.0] * 3
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[a, b, c, d\], where .* is 0\. It got one of shape"):
            function(tf.ones([3, 14, 55, 1]))


@pytest.mark.parametrize("shape", [[None], [None, None], None])
def test_a_function_that_calls_another_stays_open(tmp_path, shape):
    module, inner = tf.Module(), tf.function(lambda x: x + 1.0)
    module.f = tf.function(lambda x: 2.0 * inner(x), input_signature=[tf.TensorSpec(shape, tf.float32)])
    loaded = again(module, tmp_path)
    for rows in (2, 3):
        x = np.ones([rows] * len(shape or [None]), np.float32)
        np.testing.assert_array_equal(loaded.f(x), 4.0 * x)
