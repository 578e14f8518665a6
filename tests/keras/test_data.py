"""What Keras does with data, where TensorFlow is not installed: the answers and errors of Keras on TensorFlow 2.21."""

import sys

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras
X = np.arange(12, dtype="float32").reshape(6, 2)


@pytest.mark.parametrize("states", [True, False], ids=["states the shape", "does not"])
def test_a_model_is_built_for_the_batches_of_a_dataset_with_open_extents(states):
    """Images that a Python function reads: their extents are not known before the first is there."""

    def read(name):
        image = tf.py_function(lambda _: np.ones((4, 4, 3), "float32"), [name], tf.float32)
        if states:
            image.set_shape([4, 4, 3])
        return image, 1.0

    batches = tf.data.Dataset.from_tensor_slices(["a", "b", "c"]).map(read).batch(2)
    model = keras.Sequential([keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(batches, epochs=2, verbose=0).history["loss"]) == 2
    assert model.layers[-1].kernel.shape == (8, 1)


@pytest.mark.parametrize(
    "data",
    [
        lambda: X,
        lambda: tf.data.Dataset.from_tensor_slices(X).batch(4),
        lambda: tf.data.Dataset.from_tensor_slices(X),  # which it takes in batches
        lambda: tf.data.Dataset.from_tensor_slices((X, X[:, 0])).batch(4),
        lambda: [X[:4], X[4:]],
    ],
)
def test_normalization_adapts_to(data):
    layer = keras.layers.Normalization()
    layer.adapt(data())
    np.testing.assert_allclose(layer.mean, [[5.0, 6.0]], rtol=1e-6)
    np.testing.assert_allclose(layer.variance, [[35 / 3, 35 / 3]], rtol=1e-6)


def test_discretization_adapts_to_a_dataset():
    layer = keras.layers.Discretization(num_bins=3)
    layer.adapt(tf.data.Dataset.from_tensor_slices(X.ravel()).batch(12))
    assert layer(X).numpy().tolist() == [[0, 0], [0, 1], [1, 1], [1, 2], [2, 2], [2, 2]]


def test_windows_of_a_series():
    windows = keras.utils.timeseries_dataset_from_array(
        np.arange(10), np.arange(10) * 2, 3, sequence_stride=2, sampling_rate=2, batch_size=2
    )
    x, y = zip(*windows.as_numpy_iterator(), strict=True)
    assert [part.tolist() for part in x] == [[[0, 2, 4], [2, 4, 6]], [[4, 6, 8]]]
    assert [part.tolist() for part in y] == [[0, 4], [8]]


def test_a_seed_for_all_random_numbers():
    def drawn():
        keras.utils.set_random_seed(3)
        return [tf.random.normal([2]).numpy(), keras.random.normal([2]).numpy(), np.random.rand(2)]

    for first, second in zip(drawn(), drawn(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_layer_in_a_map_where_gradtape_has_tensorflows_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", tf)
    crop = keras.layers.CenterCrop(1, 2)
    crops = tf.data.Dataset.from_tensors(X[..., None]).map(lambda x: crop(x))
    assert next(iter(crops)).numpy().tolist() == [[[4.0], [5.0]]]


def test_a_picture_is_made_smaller_by_means_over_areas():
    small = keras.layers.Resizing(2, 1, interpolation="area")(X[..., None])
    assert small.numpy().ravel().tolist() == [2.5, 8.5]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: keras.ops.expand_dims(X, 5), ValueError),
        (lambda: keras.ops.linspace(0, 1, -1), ValueError),
        (lambda: keras.ops.arange(0, 5, 0), tf.errors.InvalidArgumentError),
        (lambda: keras.ops.erfinv(np.array([True])), tf.errors.InvalidArgumentError),
    ],
)
def test_errors_of_functions_have_the_class_that_they_have_on_tensorflow(wrong, error):
    with pytest.raises(error):
        wrong()


def test_pictures_of_a_directory_become_a_dataset(tmp_path):
    """`keras.utils.image_dataset_from_directory` reads, decodes and resizes without TensorFlow."""
    for name in ("cats", "dogs"):
        (tmp_path / name).mkdir()
        for number in range(3):
            picture = np.full((9, 12, 3), 80 * number, np.uint8)
            tf.io.write_file(str(tmp_path / name / f"{number}.png"), tf.io.encode_png(picture))
    options = {"image_size": (8, 8), "batch_size": 4, "shuffle": False, "verbose": False}
    for more in ({}, {"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True}):
        dataset = keras.utils.image_dataset_from_directory(str(tmp_path), **options, **more)
        assert dataset.class_names == ["cats", "dogs"]
        assert dataset.element_spec == (tf.TensorSpec([None, 8, 8, 3]), tf.TensorSpec([None], tf.int32))
        pictures, labels = next(iter(dataset))
        assert pictures[:, 4, 4, 0].numpy().tolist() == [0.0, 80.0, 160.0, 0.0] and labels.numpy().tolist() == [0, 0, 0, 1]


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_predictions_of_different_extents_are_rows_of_different_lengths():
    def batches():
        yield (np.arange(6, dtype="float32").reshape(2, 3, 1),)
        yield (np.arange(2, dtype="float32").reshape(1, 2, 1),)

    found = keras.Sequential([keras.layers.Rescaling(2.0)]).predict(batches(), verbose=0)
    assert found.to_list() == [[[0.0], [2.0], [4.0]], [[6.0], [8.0], [10.0]], [[0.0], [2.0]]]
    assert found.shape.as_list() == [3, None, 1]


@pytest.mark.parametrize(("size", "expected"), [(6, 66.0), (4, [28.0, 38.0]), (2, [6.0, 22.0, 38.0])])
def test_a_number_for_each_batch_is_predicted(size, expected):
    class Summed(keras.Model):
        def call(self, x):
            return x, tf.reduce_sum(x)

    rows, sums = Summed().predict(X, batch_size=size, verbose=0)
    np.testing.assert_array_equal(rows, X)
    assert sums.tolist() == expected


def test_datasets_are_split():
    first, second = keras.utils.split_dataset(tf.data.Dataset.range(4), 0.5)
    assert ([int(x) for x in first], [int(x) for x in second]) == ([0, 1], [2, 3])


def test_the_loss_of_an_evaluation_counts_rows():
    """A smaller last batch counts as many rows as it has, also once the step is traced for batches of any size."""
    x = np.arange(22, dtype=np.float32).reshape(11, 2) / 10
    y = np.sin(x[:, :1])
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones", trainable=False)])
    model.compile(loss="mse", metrics=["mse"])
    expected = float(np.mean((x.sum(1, keepdims=True) - y) ** 2))
    for size in (4, 5, 11):
        assert model.evaluate(x, y, batch_size=size, verbose=0) == pytest.approx([expected, expected], rel=1e-5)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
    assert model.evaluate(dataset, verbose=0) == pytest.approx([expected, expected], rel=1e-5)


def test_the_losses_of_several_outputs_count_batches():
    """The numbers are TensorFlow's: the last batch, of one row, counts as much as the others."""
    a = keras.Input((2,))
    outputs = {name: keras.layers.Dense(1, kernel_initializer="ones", name=name)(a) for name in "pq"}
    model = keras.Model(a, outputs)
    model.compile(keras.optimizers.SGD(0.001), {"p": "mse", "q": "mae"})
    y = {"p": X[:5, :1], "q": X[:5, 1:]}
    found = model.evaluate(X[:5], y, batch_size=2, verbose=0, return_dict=True)
    assert found == pytest.approx({"loss": 37.0, "p_loss": 41.0, "q_loss": 14 / 3})
    found = model.fit(X[:5], y, batch_size=2, verbose=0, shuffle=False).history
    assert {name: loss for name, (loss,) in found.items()} == pytest.approx(
        {"loss": 32.17585, "p_loss": 33.392044, "q_loss": 4.6228337}
    )


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_arrays_without_rows():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
    assert list(model.fit(x, y, validation_data=(x[:0], y[:0]), verbose=0).history) == ["loss"]
    assert model.fit(x[:0], y[:0], verbose=0).history == {}


class Numbered(keras.utils.PyDataset):
    """Batches that say which of them were made, and where an epoch ends."""

    def __init__(self, count=4):
        super().__init__()
        self.count, self.seen = count, []

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.seen.append(index)
        return np.full((2, 3), index, "float32"), np.full((2, 1), index, "float32")

    def on_epoch_end(self):
        self.seen.append("end")


@pytest.mark.parametrize("built", [True, False])
def test_a_py_dataset_gives_its_batches_in_the_order_of_tensorflow(built):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    if built:
        model.build((None, 3))
    calls = [
        (lambda data: model.fit(data, epochs=2, verbose=0), [0, 1, "end", 2, 0, 1, 3, "end", 0, 1, 3, 2, "end"]),
        (lambda data: model.fit(data, shuffle=False, verbose=0), [0, 1, "end", 0, 1, 2, 3, "end"]),
        (lambda data: model.fit(data, epochs=2, steps_per_epoch=2, verbose=0), [0, 1, "end", 0, 2, "end", 1, 3, "end"]),
        (lambda data: model.evaluate(data, verbose=0), [0, 1, "end", 0, 1, 2, 3, "end"]),
        (lambda data: model.predict(data, verbose=0), [0, 1, 0, 1, 2, 3, "end"]),
    ]
    for call, seen in calls:
        data = Numbered()
        call(data)
        assert data.seen == seen


def test_a_py_dataset_without_batches_is_an_error():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="The PyDataset has length 0"):
        model.fit(Numbered(0), verbose=0)
