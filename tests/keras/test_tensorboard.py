"""`keras.callbacks.TensorBoard` with all its options: TensorBoard reads from its files what it reads from TensorFlow's."""

import sys

import numpy as np
import pytest
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.context import RequestContext

import gradtape as tf
from tests import forked

keras = tf.keras

KINDS = {
    "scalars": ("list_scalars", "read_scalars"),
    "histograms": ("list_tensors", "read_tensors"),
    "images": ("list_blob_sequences", "read_blob_sequences"),
    "graph_keras_model": ("list_blob_sequences", "read_blob_sequences"),
    "graph_run_metadata_graph": ("list_blob_sequences", "read_blob_sequences"),
}


def shown(folder):
    """What TensorBoard's data provider finds in a folder: {run: {plugin: {tag: steps}}}."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    provider, found = MultiplexerDataProvider(multiplexer, str(folder)), {}
    for plugin, (listing, reading) in KINDS.items():
        options = {"experiment_id": "", "plugin_name": plugin}
        getattr(provider, listing)(RequestContext(), **options)
        for run, tags in getattr(provider, reading)(RequestContext(), downsample=100, **options).items():
            for tag, points in tags.items():
                found.setdefault(run, {}).setdefault(plugin, {})[tag] = [point.step for point in points]
    return found


def graph(folder, run, tag):
    """The types of the ops in the graph of a trace."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    (event,) = multiplexer.Tensors(run, tag)
    metadata = RunMetadata.FromString(event.tensor_proto.string_val[0])
    return {node.op for function in metadata.function_graphs for node in function.pre_optimization_graph.node}


def fitted(folder, **options):
    keras.utils.set_random_seed(0)
    layers = [keras.Input((4,)), keras.layers.Embedding(5, 3, name="e"), keras.layers.Flatten(), keras.layers.Dense(2, name="d")]
    model = keras.Sequential(layers, name="model")
    model.compile("sgd", "mse", metrics=["mae"])
    x, y = np.arange(24).reshape(6, 4) % 5, np.ones((6, 2))
    callback = keras.callbacks.TensorBoard(folder, **options)
    history = model.fit(x, y, batch_size=2, epochs=2, validation_data=(x, y), callbacks=[callback], verbose=0)
    return model, history


# As read from the files that the same script writes on TensorFlow 2.21.
EPOCHS, BATCHES = [0, 1], [1, 2, 3, 4, 5, 6]
WEIGHTS = ("model/e/embeddings", "model/d/kernel", "model/d/bias")
LOGGED = {f"epoch_{name}": EPOCHS for name in ("loss", "mae")}
VALIDATION = {"scalars": LOGGED | {f"evaluation_{name}_vs_iterations": [3, 6] for name in ("loss", "mae")}}
TRAINED = {"scalars": LOGGED | {"epoch_learning_rate": EPOCHS}, "graph_keras_model": {"keras": [0]}}
EVERYTHING = {
    "train": TRAINED
    | {
        "scalars": TRAINED["scalars"]
        | {"epoch_steps_per_second": EPOCHS}
        | {f"batch_{name}": BATCHES for name in ("steps_per_second", "loss", "mae")},
        "histograms": {f"{name}/histogram": EPOCHS for name in WEIGHTS},
        "images": {f"{name}/image": EPOCHS for name in WEIGHTS},
        "graph_run_metadata_graph": {"batch_2": [2]},
    },
    "validation": VALIDATION,
}
EVERY_OPTION = {
    "histogram_freq": 1,
    "write_images": True,
    "write_steps_per_second": True,
    "update_freq": "batch",
    "profile_batch": 2,
    "embeddings_freq": 1,
    "embeddings_metadata": {"e": "names.tsv"},
}


def test_every_option(tmp_path):
    model, _history = fitted(tmp_path, **EVERY_OPTION)
    assert shown(tmp_path) == EVERYTHING
    assert {"GatherV2", "MatMul"} <= graph(tmp_path, "train", "batch_2")
    assert [path.name for path in (tmp_path / "train").glob("plugins/profile/*/*.xplane.pb")]
    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'embeddings {\n  tensor_name: "layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE"\n'
        '  metadata_path: "names.tsv"\n}\n'
    )
    before = [weight.numpy() for weight in model.weights]
    model.load_weights(tmp_path / "train" / "keras_embedding.ckpt-1.weights.h5")
    assert all(np.array_equal(*pair) for pair in zip(before, [weight.numpy() for weight in model.weights], strict=True))


def test_every_second_batch_and_a_range_of_batches(tmp_path):
    fitted(tmp_path, update_freq=2, profile_batch=(2, 4), histogram_freq=2)
    # What is written at the end of an epoch counts as of its last batch, so that of the first epoch, 3, is left out.
    scalars = {key: [1] for key in ("epoch_loss", "epoch_mae", "epoch_learning_rate")}
    assert shown(tmp_path)["train"] == {
        "scalars": scalars | {"batch_loss": [2, 4, 6], "batch_mae": [2, 4, 6]},
        "graph_keras_model": {"keras": [0]},
        "graph_run_metadata_graph": {"batch_4": [4]},
    }


def test_the_numbers_are_those_of_the_history(tmp_path):
    _, history = fitted(tmp_path)
    assert shown(tmp_path) == {"train": TRAINED, "validation": VALIDATION}
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    for run, prefix in (("train", ""), ("validation", "val_")):
        read = [float(np.frombuffer(e.tensor_proto.tensor_content, np.float32)[0]) for e in multiplexer.Tensors(run, "epoch_mae")]
        assert read == history.history[prefix + "mae"]


def test_bad_options(tmp_path):
    with pytest.raises(ValueError, match="profile_batch must be a non-negative integer or 2-tuple"):
        keras.callbacks.TensorBoard(tmp_path, profile_batch=(3, 1))
    with pytest.raises(ValueError, match="Unrecognized `Embedding` layer names"):
        fitted(tmp_path, embeddings_freq=1, embeddings_metadata={"other": "names.tsv"})


SCRIPT = """
import sys
import numpy as np
import tensorflow as tf


class Model(tf.keras.Model):
    def call(self, x):
        tf.summary.scalar("mean", tf.reduce_mean(x))
        return self.dense(x)

    def build(self, shape):
        self.dense = tf.keras.layers.Dense(1)


model = Model()
model.compile("sgd", "mse", run_eagerly=True)
callback = tf.keras.callbacks.TensorBoard(sys.argv[1], update_freq=2, profile_batch=0)
model.fit(np.ones((8, 3)), np.ones((8, 1)), batch_size=2, verbose=0, callbacks=[callback])
"""


def test_with_gradtape_under_tensorflows_name(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "gradtape", "run", str(tmp_path / "script.py"), str(tmp_path / "logs")]
    done = forked.run(command)
    assert done.returncode == 0, done.stderr
    scalars = {"batch_loss": [2, 4], "epoch_loss": [0], "epoch_learning_rate": [0], "model/mean": [2, 4]}
    assert shown(tmp_path / "logs") == {"train": {"scalars": scalars}}
