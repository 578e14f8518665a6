"""`tf.raw_ops`, with TensorFlow's answers."""

import functools
import inspect

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.compat import raw_ops
from gradtape._src.core.programs.op import ops


@pytest.mark.parametrize("op, results", [("FusedBatchNormV2", 5), ("FusedBatchNormV3", 6)])
def test_batch_norm_in_training_returns_the_moments_of_the_batch(op, results):
    x = tf.reshape(tf.range(12.0), [2, 1, 2, 3])
    result = getattr(tf.raw_ops, op)(x=x, mean=tf.zeros([0]), variance=tf.zeros([0]), scale=tf.ones([3]), offset=tf.zeros([3]))
    assert len(result) == results and result._fields[:3] == ("y", "batch_mean", "batch_variance")
    np.testing.assert_allclose(result.y[:, 0, :, 0], [[-1.3416348, -0.44721159], [0.44721159, 1.3416348]], rtol=1e-6)
    np.testing.assert_array_equal(result.batch_mean, [4.5, 5.5, 6.5])
    np.testing.assert_array_equal(result.batch_variance, [15, 15, 15])
    np.testing.assert_array_equal(result.reserve_space_2, [11.25, 11.25, 11.25])


def test_batch_norm_with_given_moments():
    x = tf.constant([1.0, 3.0], shape=[1, 1, 2, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = tf.raw_ops.FusedBatchNormV2(
            x=x, mean=[1.0], variance=[3.0], scale=[2.0], offset=[0.5], epsilon=1.0, is_training=False
        )
    np.testing.assert_array_equal(result.y[0, 0, :, 0], [0.5, 2.5])
    np.testing.assert_array_equal(tape.gradient(result.y, x)[0, 0, :, 0], [1, 1])


@pytest.mark.parametrize(
    ("s0", "s1", "r0", "r1"),
    [
        ([1, 3], [1, 1], [0], [0, 1]),
        ([2, 3], [3], [], [0]),
        ([], [2, 1], [0, 1], [1]),
        ([2, 1, 3], [2, 1, 1], [1], [1, 2]),
        ([1], [1], [], []),
        ([0, 1], [1, 4], [1], [0]),
    ],
)
def test_axes_of_broadcasting(s0, s1, r0, r1):
    result = tf.raw_ops.BroadcastGradientArgs(s0=tf.constant(s0, tf.int32), s1=tf.constant(s1, tf.int32))
    assert (result.r0.numpy().tolist(), result.r1.numpy().tolist()) == (r0, r1)


def test_shapes_that_do_not_broadcast():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\]"):
        tf.raw_ops.BroadcastGradientArgs(s0=[2], s1=[3])


def test_derivatives_of_gamma_functions():
    assert abs(tf.raw_ops.IgammaGradA(a=2.0, x=3.0).numpy() + 0.19742544) < 1e-6
    assert abs(tf.raw_ops.RandomGammaGrad(alpha=2.0, sample=3.0).numpy() - 1.3217986) < 1e-5


def test_each_row_of_the_table_fits_its_function():
    for row in raw_ops.table().values():
        if row.function == "=":
            known = {*ops[row.type].parameters, *ops[row.type].attributes}
        else:
            known = {*inspect.signature(functools.reduce(getattr, row.function.split("."), tf)).parameters}
        given = {target for target in row.parameters.values() if target not in ("", raw_ops.REFUSED)} | set(row.fixed)
        assert given <= known, row
        refused = [name for name, target in row.parameters.items() if target == raw_ops.REFUSED]
        assert set(row.defaults) <= set(row.parameters) and set(refused) <= set(row.defaults), row


# What TensorFlow 2.21 gives.
X = np.array([[1.0, 4.0, 2.0], [3.0, 0.0, 5.0]], np.float32)
IMAGE = np.arange(16.0, dtype=np.float32).reshape(1, 4, 4, 1)
WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
MAXIMA = [[[[5.0], [7.0]], [[13.0], [15.0]]]]


@pytest.mark.parametrize(
    ("op", "arguments", "expected"),
    [
        ("Sum", {"input": X, "axis": [1]}, [7, 8]),
        ("Squeeze", {"input": X[None]}, X),
        ("Transpose", {"x": X, "perm": [1, 0]}, X.T),
        ("ConcatV2", {"values": [X, X], "axis": 1}, np.concatenate([X, X], 1)),
        ("Cast", {"x": X, "DstT": tf.int32}, X.astype(np.int32)),
        ("MatMul", {"a": X, "b": X, "transpose_b": True}, [[21, 13], [13, 34]]),
        ("Einsum", {"inputs": [X, X], "equation": "ij,kj->ik"}, [[21, 13], [13, 34]]),
        ("SelectV2", {"condition": X > 2, "t": X, "e": 0.0}, [[0, 4, 0], [3, 0, 5]]),
        ("ReluGrad", {"gradients": X, "features": X - 2}, [[0, 4, 0], [3, 0, 5]]),
        ("Relu6Grad", {"gradients": X, "features": X + 2}, [[1, 0, 2], [3, 0, 0]]),
        ("LeakyReluGrad", {"gradients": X, "features": X - 2, "alpha": 0.5}, [[0.5, 4, 1], [3, 0, 5]]),
        ("SigmoidGrad", {"y": X, "dy": X}, [[0, -48, -4], [-18, 0, -100]]),
        ("TanhGrad", {"y": X, "dy": X}, [[0, -60, -6], [-24, 0, -120]]),
        ("SqrtGrad", {"y": X[:, :1], "dy": X[:, :1]}, [[0.5], [0.5]]),
        ("SoftsignGrad", {"gradients": X, "features": X - 1}, [[1, 0.25, 0.5], [3 / 9, 0, 0.2]]),
        ("BiasAddGrad", {"out_backprop": X}, [4, 4, 7]),
        ("Conv2D", {"input": IMAGE, "filter": np.ones([2, 2, 1, 1], np.float32), "strides": [1, 2, 2, 1], "padding": "VALID"},
         [[[[10], [18]], [[42], [50]]]]),
        ("MaxPool", {"input": IMAGE, **WINDOW}, MAXIMA),
        ("AvgPoolGrad", {"orig_input_shape": [1, 2, 2, 1], "grad": [[[[4.0]]]], **WINDOW}, np.ones([1, 2, 2, 1])),
        ("ClipByValue", {"t": X, "clip_value_min": 1.0, "clip_value_max": 3.0}, [[1, 3, 2], [3, 1, 3]]),
        ("MatrixDiag", {"diagonal": [1.0, 2.0]}, [[1, 0], [0, 2]]),
        ("Concat", {"concat_dim": 0, "values": [X, X]}, np.concatenate([X, X])),
        ("UnsortedSegmentSum", {"data": [1.0, 2.0, 3.0], "segment_ids": [0, 2, 0], "num_segments": 3}, [4, 0, 2]),
    ],
)  # fmt: skip
def test_values(op, arguments, expected):
    np.testing.assert_allclose(getattr(tf.raw_ops, op)(**arguments), expected, rtol=1e-6)


def test_explicit_paddings():
    image, kernel = np.ones([1, 3, 3, 1], np.float32), np.ones([2, 2, 1, 1], np.float32)
    given = {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0]}
    found = tf.raw_ops.Conv2D(input=image, filter=kernel, **given)
    np.testing.assert_array_equal(found[0, ..., 0], [[2, 2, 1], [4, 4, 2], [4, 4, 2]])


@pytest.mark.parametrize(
    ("op", "option", "first"), [("Svd", "compute_uv", [3.0, 2.0]), ("SelfAdjointEigV2", "compute_v", [2.0, 3.0])]
)
def test_vectors_that_are_not_wanted_are_empty(op, option, first):
    found = getattr(tf.raw_ops, op)(input=[[3.0, 0.0], [0.0, 2.0]], **{option: False})
    np.testing.assert_allclose(found[0], first, rtol=1e-6)
    assert [part.shape.as_list() for part in found[1:]] == [[0]] * (len(found) - 1)


def test_several_results_have_names():
    found = tf.raw_ops.TopKV2(input=X, k=1)
    assert found._fields == ("values", "indices") and found.indices.numpy().tolist() == [[1], [2]]
    assert tf.raw_ops.UniqueV2(x=[3, 1, 3], axis=[]).y.numpy().tolist() == [3, 1]


@pytest.mark.parametrize(
    ("op", "labels"), [("SoftmaxCrossEntropyWithLogits", [[0.25, 0.75]]), ("SparseSoftmaxCrossEntropyWithLogits", [1])]
)
def test_cross_entropy_with_its_gradient(op, labels):
    features = tf.constant([[0.0, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(features)
        found = getattr(tf.raw_ops, op)(features=features, labels=labels)
    np.testing.assert_allclose(found.backprop, tape.gradient(found.loss, features), rtol=1e-6)
    np.testing.assert_allclose(found.loss, [0.5632617 if op[1] == "o" else 0.3132617], rtol=1e-6)


def test_a_gradient_goes_through_a_pool_and_its_gradient():
    image = tf.constant(IMAGE)
    with tf.GradientTape() as tape:
        tape.watch(image)
        pooled = tf.raw_ops.MaxPool(input=image, **WINDOW)
        found = tf.raw_ops.MaxPoolGrad(orig_input=image, orig_output=pooled, grad=pooled, **WINDOW)
    expected = np.where(np.isin(IMAGE, MAXIMA), IMAGE, 0)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(tape.gradient(found, image), expected > 0)


def test_arguments_are_given_by_name():
    with pytest.raises(TypeError, match=r"Sum.* takes 0 positional arguments"):
        tf.raw_ops.Sum(X, [1])
    with pytest.raises(TypeError, match=r"Sum has the parameters input, axis, keep_dims, name: missing .* 'axis'"):
        tf.raw_ops.Sum(input=X)
    with pytest.raises(tf.errors.UnimplementedError, match="takes no bad_indices_policy but '', received 'IGNORE'"):
        tf.raw_ops.TensorScatterUpdate(tensor=X, indices=[[0]], updates=X[:1], bad_indices_policy="IGNORE")


def test_signatures_are_tensorflows():
    assert str(inspect.signature(tf.raw_ops.LeakyRelu)) == "(*, features, alpha=0.2, name=None)"
    assert {"Sum", "MaxPoolGrad", "ReluGrad"} <= set(dir(tf.raw_ops))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("CONSTANT", [[9.0, 5.25, 4.125], [9.0, 9.0, 9.0]]),
        ("NEAREST", [[0.5, 1.5, 2.5], [2.0, 2.0, 2.5]]),
        ("REFLECT", [[1.0, 1.5, 2.5], [2.5, 1.5, 1.0]]),
        ("WRAP", [[1.5, 2.5, 0.5], [1.0, 1.0, 0.5]]),
    ],
)
def test_projective_transforms_fill_the_outside_of_an_image(mode, expected):
    given = {"output_shape": [2, 3], "fill_value": 9.0, "interpolation": "BILINEAR", "fill_mode": mode}
    transforms = [[1.0, 0.0, -1.5, 0.5, 1.5, 0.25, 0.0, 0.0]]
    found = tf.raw_ops.ImageProjectiveTransformV3(images=tf.reshape(tf.range(4.0), [1, 2, 2, 1]), transforms=transforms, **given)
    np.testing.assert_allclose(found[0, :, :, 0], expected, rtol=1e-6)


def test_projective_transforms_of_integers_and_of_what_is_infinitely_far():
    x = tf.reshape(tf.constant([0, 10, 20, 30], tf.uint8), [1, 2, 2, 1])
    given = {"images": x, "output_shape": [2, 3], "interpolation": "BILINEAR"}
    far = [[0.5, 0.0, 0.3, 0.0, 1.0, 0.0, -1.0, 0.0]]  # x = 1 has no image
    found = tf.raw_ops.ImageProjectiveTransformV3(**given, transforms=far, fill_value=7.9)
    assert found.dtype == tf.uint8 and found[0, :, :, 0].numpy().tolist() == [[3, 7, 7], [23, 7, 7]]
    far = [[0.5, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0]]
    found = tf.raw_ops.ImageProjectiveTransformV2(**given, transforms=far)
    assert found[0, :, :, 0].numpy().tolist() == [[0, 0, 0], [20, 0, 0]]


def test_a_projective_transform_has_the_gradients_of_its_interpolation():
    def seen(images, transforms):
        return tf.raw_ops.ImageProjectiveTransformV3(
            images=images, transforms=transforms, output_shape=[2, 2], fill_value=0.0, interpolation="BILINEAR"
        )

    x = tf.random.stateless_normal([2, 3, 3, 1], [1, 2])
    turned = tf.constant([[0.8, -0.3, 0.4, 0.3, 0.8, 0.2, 0.02, 0.01]])
    theoretical, numerical = tf.test.compute_gradient(seen, [x, turned], delta=1e-2)
    for one, other in zip(theoretical, numerical, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"images": tf.ones([2, 2, 1])}, "4-dimensional"),
        ({"transforms": tf.ones([2, 8])}, "\\[1, 8\\]"),
        ({"output_shape": [0, 3]}, "must be positive"),
        ({"interpolation": "CUBIC"}, "NEAREST, BILINEAR"),
        ({"fill_mode": "EDGE"}, "CONSTANT, REFLECT, WRAP, NEAREST"),
    ],
)
def test_projective_transforms_refuse_other_shapes_and_modes(wrong, words):
    given = {"images": tf.ones([1, 2, 2, 1]), "transforms": tf.ones([1, 8]), "output_shape": [2, 3], "fill_value": 0.0}
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.raw_ops.ImageProjectiveTransformV3(**({"interpolation": "NEAREST"} | given | wrong))
