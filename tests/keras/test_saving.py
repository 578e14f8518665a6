"""Files of Keras's: written by other backends and read here, written here, and hostile ones."""

import io
import json
import pathlib
import zipfile

import h5py
import numpy as np
import pytest

import gradtape as tf
from tests.keras.small_files import EXPECTED, X, model_of

keras = tf.keras
FILES = pathlib.Path(__file__).with_name("files")


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_file_that_keras_wrote_on_another_backend_gives_the_same_numbers(backend):
    model = keras.models.load_model(FILES / f"{backend}.keras")
    np.testing.assert_allclose(model(X), EXPECTED, atol=1e-6)
    np.testing.assert_allclose(model.predict(X, verbose=0), EXPECTED, atol=1e-6)


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_what_is_written_here_has_the_layout_of_theirs(backend, tmp_path):
    model_of(keras).save(tmp_path / "mine.keras")
    mine, theirs = layout(tmp_path / "mine.keras"), layout(FILES / f"{backend}.keras")
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_allclose(array, theirs[name], atol=1e-7)


def layout(path):
    """The arrays in the weights of a `.keras` file, by their names there."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["config.json", "metadata.json", "model.weights.h5"]
        with h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as file:
            file.visititems(lambda name, item: arrays.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return arrays


def trained(path=None):
    model = model_of(keras) if path is None else keras.models.load_model(path)
    if path is None:
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    model.train_on_batch(X, np.ones([2, 2], "float32"))
    return model


def test_training_goes_on_from_a_file(tmp_path):
    model = trained()
    model.save(tmp_path / "model.keras")
    again = trained(tmp_path / "model.keras")
    model.train_on_batch(X, np.ones([2, 2], "float32"))
    assert int(again.optimizer.iterations) == 2
    for mine, theirs in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_weights_alone(tmp_path):
    model = model_of(keras)
    model.save_weights(tmp_path / "model.weights.h5")
    other = keras.models.clone_model(model)
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_allclose(other(X), EXPECTED, atol=1e-6)


def test_checkpoints_of_a_model_and_its_optimizer(tmp_path):
    model = trained()
    path = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(str(tmp_path / "checkpoint"))
    expected = model(X).numpy()
    trained_on = int(model.optimizer.iterations)
    model.train_on_batch(X, np.zeros([2, 2], "float32"))
    tf.train.Checkpoint(model=model, optimizer=model.optimizer).restore(path)
    np.testing.assert_array_equal(model(X), expected)
    assert int(model.optimizer.iterations) == trained_on


def test_a_file_of_keras_on_pytorch_names_optimizers_that_only_it_has(tmp_path):
    model = trained()
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as source, zipfile.ZipFile(tmp_path / "torch.keras", "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "config.json":
                config = json.loads(data)
                config["compile_config"]["optimizer"]["module"] = "keras.src.backend.torch.optimizers.torch_adam"
                data = json.dumps(config)
            target.writestr(name, data)
    again = keras.models.load_model(tmp_path / "torch.keras")
    assert type(again.optimizer) is keras.optimizers.Adam
    assert int(again.optimizer.iterations) == 1


class TestHostileFiles:
    """What a file names is not run, nothing is written beside it, and a model that was there keeps its weights."""

    def rewritten(self, tmp_path, **changes):
        """The file of TensorFlow's with members replaced by what a function makes of them."""
        path = tmp_path / "hostile.keras"
        with zipfile.ZipFile(FILES / "tensorflow.keras") as source, zipfile.ZipFile(path, "w") as target:
            for name in source.namelist():
                change = changes.get(name.partition(".")[0], lambda data: data)
                target.writestr(name, change(source.read(name)))
        return path

    def test_a_lambda_is_not_loaded_in_safe_mode(self, tmp_path):
        model = keras.Sequential([keras.Input([2]), keras.layers.Lambda(lambda x: x + 1)])
        model.save(tmp_path / "lambda.keras")
        with pytest.raises(ValueError, match="arbitrary code execution"):
            keras.models.load_model(tmp_path / "lambda.keras")

    @pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "eval"), ("subprocess", "Popen")])
    def test_a_class_from_elsewhere_is_not_loaded(self, tmp_path, module, name):
        def change(data):
            config = json.loads(data)
            config["config"]["layers"][1] |= {"module": module, "class_name": name, "config": {}}
            return json.dumps(config)

        with pytest.raises((TypeError, ValueError), match=r"[Cc]ould not"):
            keras.models.load_model(self.rewritten(tmp_path, config=change))

    def test_a_member_outside_of_the_archive_is_not_written(self, tmp_path):
        path = self.rewritten(tmp_path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("../outside.txt", "x")
            archive.writestr(str(tmp_path / "absolute.txt"), "x")
        with pytest.warns(UserWarning, match="Skipping invalid path during archive extraction"):
            model = keras.models.load_model(path)
        np.testing.assert_allclose(model(X), EXPECTED, atol=1e-6)
        assert sorted(p.name for p in tmp_path.rglob("*")) == ["hostile.keras"]

    def test_absurd_shapes(self, tmp_path):
        def change(data):
            config = json.loads(data)
            config["config"]["layers"][2]["config"]["units"] = 10**15
            return json.dumps(config)

        with pytest.raises((ValueError, MemoryError, tf.errors.OpError)):
            keras.models.load_model(self.rewritten(tmp_path, config=change))

    def test_weights_of_other_shapes_leave_the_model_as_it_was(self, tmp_path):
        model = model_of(keras)
        other = keras.Sequential([keras.Input([4, 3]), keras.layers.GRU(2), keras.layers.Dense(3)])
        other.save_weights(tmp_path / "other.weights.h5")
        with pytest.raises(ValueError, match="shape"):
            model.load_weights(tmp_path / "other.weights.h5")
        assert model.layers[1].kernel.shape == (2, 2)
        np.testing.assert_allclose(model.layers[1].kernel, model_of(keras).layers[1].kernel)

    @pytest.mark.parametrize("size", [0, 100, 5_000])
    def test_a_file_that_is_cut_off(self, tmp_path, size):
        path = tmp_path / "cut.keras"
        path.write_bytes((FILES / "tensorflow.keras").read_bytes()[:size])
        with pytest.raises((ValueError, OSError, zipfile.BadZipFile)):
            keras.models.load_model(path)


def test_functions_of_tensors_as_activations(tmp_path):
    """A layer with `tf.nn.relu` is saved by the function's name, and read again."""
    functions = [tf.nn.relu, tf.nn.softmax, tf.tanh, tf.nn.gelu]
    layers = [keras.layers.Dense(2, activation=function) for function in functions]
    model = keras.Sequential([keras.Input((3,)), *layers, keras.layers.Activation(tf.nn.elu)])
    model.save(tmp_path / "model.keras")
    found = [layer.activation.__name__ for layer in keras.models.load_model(tmp_path / "model.keras").layers]
    assert found == ["relu", "softmax", "tanh", "gelu", "elu"]
    assert keras.layers.Dense.from_config(layers[0].get_config()).activation is keras.activations.relu
