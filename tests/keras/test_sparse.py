"""Models with sparse inputs train and predict as on TensorFlow; layers and ops give sparse results where they are asked to."""

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras
X = np.where(np.sin(np.arange(160.0) ** 2).reshape(16, 10) > 0.4, np.cos(np.arange(160.0)).reshape(16, 10), 0).astype("float32")
Y = np.sin(np.arange(16.0)).astype("float32")[:, None]
SPARSE = tf.sparse.from_dense(X)


def model(sparse=True, **options):
    inputs = keras.Input((10,), sparse=sparse)
    weights = {"kernel_initializer": keras.initializers.Constant(0.1)}
    outputs = keras.layers.Dense(1, **weights)(keras.layers.Dense(4, activation="relu", **weights)(inputs))
    made = keras.Model(inputs, outputs)
    made.compile("adam", "mse", **options)
    return made


def dataset():
    return tf.data.Dataset.from_tensor_slices((SPARSE, Y)).batch(4)


def test_an_input_is_sparse_and_stays_so_when_it_is_saved(tmp_path):
    assert keras.Input((10,), sparse=True).sparse
    made = model()
    made.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras", compile=False)
    assert loaded.inputs[0].sparse
    np.testing.assert_allclose(loaded(SPARSE), made(X), rtol=1e-6)


@pytest.mark.parametrize("eagerly", [False, True])
def test_losses_are_those_of_dense_inputs(eagerly):
    expected = model(False).fit(X, Y, batch_size=4, epochs=2, verbose=0, shuffle=False).history["loss"]
    np.testing.assert_allclose(expected, [0.495412, 0.494333], rtol=1e-5)  # TensorFlow's
    for arguments in ((dataset(),), (SPARSE, Y, 4)):
        losses = model(run_eagerly=eagerly).fit(*arguments, epochs=2, verbose=0, shuffle=False).history["loss"]
        np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_arrays_are_shuffled_as_dense_ones():
    histories = []
    for x in (X, SPARSE):
        keras.utils.set_random_seed(1)
        histories.append(model(x is SPARSE).fit(x, Y, batch_size=4, epochs=2, verbose=0).history["loss"])
    np.testing.assert_allclose(*histories, rtol=1e-5)


def test_predict_evaluate_and_single_batches():
    made = model()
    dense = made(X).numpy()
    np.testing.assert_allclose(made.predict(SPARSE, batch_size=5, verbose=0), dense, rtol=1e-6)
    np.testing.assert_allclose(made.predict(dataset(), verbose=0), dense, rtol=1e-6)
    loss = np.mean((dense - Y) ** 2)
    np.testing.assert_allclose([made.evaluate(SPARSE, Y, verbose=0), made.test_on_batch(SPARSE, Y)], loss, rtol=1e-5)
    np.testing.assert_allclose(made.train_on_batch(SPARSE, Y), loss, rtol=1e-5)


def test_gradients_through_a_layer_of_a_sparse_input():
    made = model()

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(made(x) ** 2)
        return tape.gradient(loss, made.trainable_variables)

    for sparse, dense in zip(step(SPARSE), step(tf.constant(X)), strict=True):
        np.testing.assert_allclose(sparse, dense, rtol=1e-5, atol=1e-7)


NUMBERS = np.array([[0, 2], [1, -1]])


@pytest.mark.parametrize(
    "make, indices, values, shape",
    [
        (
            lambda: keras.ops.one_hot(NUMBERS, 3, axis=1, dtype="int32", sparse=True),
            [[0, 0, 0], [0, 2, 1], [1, 1, 0], [1, 0, 1]],
            [1, 1, 1, 0],
            [2, 3, 2],
        ),
        (
            lambda: keras.ops.multi_hot(np.array([[0, 2, 2], [1, 1, 0]]), 3, sparse=True),
            [[0, 0], [0, 2], [1, 0], [1, 1]],
            [1, 1, 1, 1],
            [2, 3],
        ),
        (lambda: keras.ops.bincount(np.array([[0, 2], [1, 1]]), sparse=True), [[0, 0], [0, 2], [1, 1]], [1, 1, 2], [2, 3]),
        (
            lambda: keras.layers.CategoryEncoding(4, sparse=True, output_mode="count")(np.array([[1, 2], [0, 0]])),
            [[0, 1], [0, 2], [1, 0]],
            [1, 1, 2],
            [2, 4],
        ),
        (
            lambda: keras.layers.Hashing(4, sparse=True, output_mode="one_hot")(np.array([[1], [0]])),
            [[0, 1], [1, 3]],
            [1, 1],
            [2, 4],
        ),
        (lambda: keras.layers.Flatten()(tf.sparse.reshape(SPARSE, [16, 2, 5])), None, None, [16, 10]),
    ],
)
def test_sparse_results(make, indices, values, shape):
    found = make()
    assert isinstance(found, tf.SparseTensor)
    assert found.shape.as_list() == shape
    if indices is not None:
        assert found.indices.numpy().tolist() == indices
        assert found.values.numpy().tolist() == values


@pytest.mark.parametrize("factor", [np.float32([2, 3]), 2 * np.ones((3, 2), np.float32), 2.0], ids=["vector", "matrix", "number"])
def test_rows_are_multiplied_by_what_broadcasts_with_them(factor):
    rows = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([2, 0]), tf.constant([3, 2]))
    dense = tf.convert_to_tensor(rows).numpy()
    for function, expected in ((keras.ops.multiply, dense * factor), (keras.ops.divide, dense / factor)):
        result = function(rows, factor)
        assert isinstance(result, tf.IndexedSlices)
        np.testing.assert_allclose(tf.convert_to_tensor(result), expected)
    np.testing.assert_allclose(tf.convert_to_tensor(keras.ops.multiply(factor, rows)), dense * factor)
