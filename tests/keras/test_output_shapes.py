"""The shapes that Keras asks of a layer whose inputs have open extents."""

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras


class InHalves(keras.layers.Layer):
    def call(self, x):
        extent = x.shape[1] or tf.shape(x)[1]
        return tf.reshape(x, [-1, extent // 2, 2, x.shape[2]])


class InFours(keras.layers.Layer):
    def call(self, x):
        if x.shape[1] is not None and x.shape[1] % 4:
            raise ValueError("not a multiple of 4")
        return x


def test_an_extent_that_is_split_may_be_open():
    x = keras.Input([None, 3])
    assert InHalves()(x).shape == (None, None, 2, 3) and InFours()(x).shape == (None, None, 3)
    model = keras.Model(x, InHalves()(x))
    assert model(tf.ones([2, 6, 3])).shape == (2, 3, 2, 3)


def test_a_call_that_fails_for_every_extent_says_why():
    class Fails(keras.layers.Layer):
        def call(self, x):
            raise ValueError(f"not {x.shape[1]}")

    with pytest.raises(ValueError, match="not 83"):
        Fails()(keras.Input([None, 3]))


class Positive(keras.layers.Layer):
    """Rows chosen by a mask: how many there are depends on values."""

    def __init__(self):
        super().__init__()
        self.dense, self.drop = keras.layers.Dense(2), keras.layers.Dropout(0.5)

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 3))
        super().build(shape)

    def call(self, x, training=False):
        h = self.drop(self.dense(tf.matmul(x, self.w)), training=training)
        return tf.boolean_mask(h, h[:, 0] > 0)


@pytest.mark.parametrize("rows", [None, 4])
def test_an_extent_that_depends_on_values_is_open(rows):
    x = keras.Input(batch_shape=[rows, 2])
    layer = Positive()
    assert layer(x).shape == (None, 2)
    assert [tuple(weight.shape) for weight in layer.weights] == [(2, 3), (3, 2), (2,)]
    values = np.float32([[1, 2], [-1, -2], [3, 1], [-3, -1]])
    assert keras.Model(x, layer(x))(values).shape == (2, 2)  # one of each two opposite rows


class Ctc(keras.layers.Layer):
    def call(self, y, p):
        rows, frames, labels = (tf.cast(n, "int64") for n in (tf.shape(y)[0], tf.shape(p)[1], tf.shape(y)[1]))
        lengths = frames * tf.ones((rows, 1), "int64"), labels * tf.ones((rows, 1), "int64")
        self.add_loss(keras.backend.ctc_batch_cost(y, p, *lengths))
        return p


def test_the_ctc_loss_of_keras_2_is_taken_in_a_layer():
    """As the example of Keras that reads captchas does. The losses are TensorFlow's."""
    keras.utils.set_random_seed(0)
    y, frames = keras.Input([None], dtype="float32"), keras.Input([6, 3])
    model = keras.Model([y, frames], Ctc()(y, keras.layers.Dense(4, activation="softmax")(frames)))
    model.compile("adam")
    rng = np.random.default_rng(0)
    data = [rng.integers(0, 3, (8, 2)).astype("float32"), rng.standard_normal((8, 6, 3)).astype("float32")]
    losses = model.fit(data, batch_size=4, epochs=2, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, [20.382061, 20.336258], 1e-4)


def masked(layer):
    """The states of an LSTM layer that leaves out the last step of its input, and of the same backwards."""
    backwards = keras.layers.Bidirectional(layer)
    return lambda x: backwards(
        x, mask=tf.range(tf.shape(x)[1])[None, :] < tf.shape(x)[1:2] - tf.zeros_like(x[:, :1, 0], tf.int32) - 1
    )


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (keras.layers.Conv2DTranspose(2, 3, strides=2, padding="same"), [2, 4, 4, 3]),
        (keras.layers.UpSampling2D(interpolation="bilinear"), [2, 4, 4, 3]),
        (lambda x: keras.ops.image.affine_transform(x, tf.constant([[1.0, 0.2, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0]])), [2, 4, 4, 3]),
        (masked(keras.layers.LSTM(2)), [2, 4, 3]),
        (lambda x: keras.losses.Circle()(tf.range(tf.shape(x)[0]) % 2, x), [3, 2]),
        (lambda x: keras.ops.sparsemax(x, 0), [3, 2]),
        (lambda x: x / keras.ops.cast(keras.ops.size(x), "float32"), [3, 2]),
        (lambda x: keras.ops.softmax(x, axis=None), [3, 2]),
        (lambda x: keras.ops.take_along_axis(x, keras.ops.argsort(x), 1) + keras.ops.full_like(x, 2.0), [3, 2]),
        (lambda x: keras.ops.logaddexp(x, keras.ops.average(x, 0, keras.ops.abs(x))), [3, 2]),
        (lambda x: keras.ops.associative_scan(tf.add, x, axis=1), [3, 5]),
    ],
    ids=[
        "transposed convolution", "bilinear upsampling", "affine transform", "masked LSTM", "circle loss", "sparsemax", "size",
        "softmax of all", "take along an axis", "average", "associative scan",
    ],
)  # fmt: skip
def test_open_extents_are_traced_once(function, shape):
    if isinstance(function, keras.layers.Layer):
        function.build([None] * (len(shape) - 1) + shape[-1:])
    function(tf.zeros(shape))  # which builds what is inside
    runs = []

    def called(x):
        runs.append(x.shape)
        return function(x)

    traced = tf.function(called, input_signature=[tf.TensorSpec([None] * (len(shape) - 1) + shape[-1:])])
    for more in range(3):
        x = np.cos(np.arange(np.prod(shape) * (1 + more), dtype="float32")).reshape([shape[0] * (1 + more), *shape[1:]])
        np.testing.assert_allclose(traced(x), function(tf.constant(x)), rtol=1e-4, atol=1e-5)
    assert len(runs) == 1
