"""`model.export`, `keras.export.ExportArchive` and `TFSMLayer`: what is exported computes and trains as the model does."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras

layers = keras.layers


@pytest.fixture(autouse=True)
def without_stablehlo(monkeypatch):
    """It takes most of the time of a save, and has tests of its own."""
    monkeypatch.setattr("gradtape._src.train.saved_model.save._stablehlo", lambda *_: {"reason": "a test"})


def convolutional():
    return [(12, 12, 3)], [
        layers.Conv2D(4, 3, strides=2, padding="same"),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Dropout(0.3),
        layers.Flatten(),
        layers.Dense(3),
    ]


def recurrent():
    return [(None, 4)], [layers.LSTM(5, return_sequences=True), layers.GRU(3), layers.Dense(2)]


def model_of(make):
    keras.utils.set_random_seed(1)
    shapes, stack = make()
    return keras.Sequential([keras.Input(shapes[0]), *stack])


def transformer():
    tokens = keras.Input((None,), dtype="int32")
    x = layers.Embedding(20, 8)(tokens)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    x = layers.LayerNormalization()(x + layers.Dense(8)(layers.Dense(16, activation="gelu")(x)))
    return keras.Model(tokens, layers.Dense(2)(layers.GlobalAveragePooling1D()(x)))


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(4), layers.Dense(2)

    def call(self, x):
        return self.second(tf.nn.relu(self.first(x)))


def subclassed():
    model = Subclassed()
    model(tf.ones([2, 5]))
    return model


INPUTS = np.random.default_rng(0)
CASES = {
    "convolutional": (lambda: model_of(convolutional), lambda n: INPUTS.normal(size=(n, 12, 12, 3))),
    "recurrent": (lambda: model_of(recurrent), lambda n: INPUTS.normal(size=(n, 6 + n, 4))),
    "transformer": (transformer, lambda n: INPUTS.integers(0, 20, (n, 4 + n))),
    "subclassed": (subclassed, lambda n: INPUTS.normal(size=(n, 5))),
}


@pytest.mark.parametrize("name", CASES)
def test_an_export_computes_as_the_model(tmp_path, name):
    make, inputs = CASES[name]
    model = make()
    model.export(tmp_path / "m", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "m")
    assert list(loaded.signatures) == ["serve", "serving_default"]
    for rows in (1, 3):
        x = tf.constant(inputs(rows), "int32" if name == "transformer" else "float32")
        np.testing.assert_allclose(loaded.serve(x), model(x, training=False), rtol=1e-5, atol=1e-6)
    with tf.GradientTape() as mine, tf.GradientTape() as theirs:
        pairs = loaded.serve(x), model(x, training=False)
    found = mine.gradient(pairs[0], loaded.trainable_variables)
    wanted = theirs.gradient(pairs[1], model.trainable_variables)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(a), tf.convert_to_tensor(b), rtol=1e-4, atol=1e-5)


def test_several_inputs_and_outputs(tmp_path):
    a, b = keras.Input((4,), name="a"), keras.Input((6,), name="b")
    model = keras.Model({"a": a, "b": b}, {"y": layers.Dense(2)(layers.Concatenate()([a, b])), "z": layers.Dense(1)(a)})
    model.export(tmp_path / "m", verbose=False)
    signature = tf.saved_model.load(tmp_path / "m").signatures["serving_default"]
    given = {"a": tf.ones([3, 4]), "b": tf.ones([3, 6])}
    for name, value in model(given).items():
        np.testing.assert_allclose(signature(**given)[name], value, rtol=1e-6)


def test_training_goes_on_with_the_same_numbers(tmp_path, capsys):
    model = keras.Sequential([keras.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(1)])
    model.export(tmp_path / "m")
    assert "The following endpoints are available:\n\n* Endpoint 'serve'" in capsys.readouterr().out
    layer = layers.TFSMLayer(tmp_path / "m")
    x, y = tf.constant(INPUTS.normal(size=(8, 3)), "float32"), tf.ones([8, 1])
    histories = []
    for kind in (model, keras.Sequential([keras.Input((3,)), layer])):
        kind.compile(keras.optimizers.Adam(0.05), "mse")
        histories.append(kind.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(*histories, rtol=1e-5)
    assert histories[0][-1] < histories[0][0]


def test_endpoints(tmp_path):
    model = keras.Sequential([keras.Input((3,)), layers.BatchNormalization(), layers.Dropout(0.5)])
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [keras.InputSpec(shape=(None, 3), dtype="float32")]
    archive.add_endpoint("inference", lambda x: model(x, training=False), spec)
    archive.add_endpoint("training", lambda x: model(x, training=True), spec)
    archive.add_variable_collection("moving", model.non_trainable_variables[:2])
    archive.write_out(tmp_path / "m", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "m")
    x = tf.constant([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    loaded.training(x)
    np.testing.assert_allclose(loaded.moving[0], [0.02, 0.03, 0.04], rtol=1e-5)
    np.testing.assert_allclose(loaded.inference(x), loaded.signatures["serving_default"](x)["output_0"])


def test_bad_endpoints(tmp_path):
    archive = keras.export.ExportArchive()
    with pytest.raises(ValueError, match="No endpoints have been set yet"):
        archive.write_out(tmp_path / "m")
    with pytest.raises(ValueError, match="you must provide an `input_signature` argument"):
        archive.add_endpoint("f", lambda x: x)
    with pytest.raises(ValueError, match="has never been called"):
        archive.add_endpoint("f", tf.function(lambda x: x))
    with pytest.raises(ValueError, match="Invalid resource type"):
        archive.track(3)
    with pytest.raises(ValueError, match="The layer provided has not yet been built"):
        archive.track(layers.Dense(2))
    called = tf.function(lambda x: x + 1.0)
    called(tf.ones([2]))
    archive.add_endpoint("f", called)
    with pytest.raises(ValueError, match="Endpoint name 'f' is already taken"):
        archive.add_endpoint("f", called)
    archive.write_out(tmp_path / "m", verbose=False)
    assert tf.saved_model.load(tmp_path / "m").f(tf.ones([2])).numpy().tolist() == [2.0, 2.0]


def _wide():
    first, second = keras.Input((3,), name="first"), keras.Input((2,), name="second")
    outputs = {"right": layers.Dense(1)(second), "left": layers.Dense(2)(first)}
    return keras.Model({"first": first, "second": second}, outputs)


def _not_built():
    model = Subclassed()
    with pytest.warns(UserWarning, match="does not have a `build.*` method"):
        model.build([None, 5])
    return model


# What TensorFlow 2.21 gives: the shapes of what the signature takes and gives, by name.
@pytest.mark.parametrize(
    "make, inputs, outputs",
    [
        (lambda: model_of(recurrent), {"inputs": (None, None, 4)}, {"output_0": (None, 2)}),
        (_wide, {"inputs": (None, 3), "inputs_1": (None, 2)}, {"right": (None, 1), "left": (None, 2)}),
        (subclassed, {"inputs": (2, 5)}, {"output_0": (2, 2)}),
        (_not_built, {"inputs": (None, 5)}, {"output_0": (None, 2)}),
    ],
)
def test_a_saved_model_has_a_signature(tmp_path, make, inputs, outputs):
    model = make()
    tf.saved_model.save(model, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    signature = loaded.signatures["serving_default"]
    taken = signature.structured_input_signature[1]
    assert {name: tuple(spec.shape) for name, spec in taken.items()} == inputs
    assert {name: tuple(spec.shape) for name, spec in signature.structured_outputs.items()} == outputs
    assert all(spec.name == name for name, spec in [*taken.items(), *signature.structured_outputs.items()])
    given = {name: tf.random.stateless_normal([n or 2 for n in shape], (1, 2)) for name, shape in inputs.items()}
    results = model(dict(zip(("first", "second"), given.values(), strict=True)) if len(given) > 1 else given["inputs"])
    results = results if isinstance(results, dict) else {"output_0": results}
    for name, result in signature(**given).items():
        np.testing.assert_allclose(result, results[name], rtol=1e-5, atol=1e-6)


def test_a_layer_and_a_model_that_was_not_called_have_no_signature(tmp_path):
    layer = layers.Dense(2)
    layer(tf.ones([1, 3]))
    for number, made in enumerate([layer, Subclassed()]):
        tf.saved_model.save(made, tmp_path / str(number))
        assert dict(tf.saved_model.load(tmp_path / str(number)).signatures) == {}
