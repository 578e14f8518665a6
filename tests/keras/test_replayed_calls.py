"""A call of Keras's own layers in eager code records what their Python code would; that of users runs in each call."""

import copy
import gc
import weakref
from unittest import mock

import numpy as np
import pytest

import gradtape as tf
import gradtape.keras as keras
from gradtape._src.control.replayed import Record
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.programs import guards
from gradtape._src.core.tensors import scopes
from keras_gradtape.src.replayed import known

layers = keras.layers
IMAGES = np.linspace(-1, 1, 2 * 6 * 6, dtype="float32").reshape(2, 6, 6, 1)
WORDS = np.array([[1, 2, 0], [3, 0, 0]], "int32")
FLOATS = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


@pytest.fixture
def ran(monkeypatch):
    """The records that were made, one for each run of the Python code."""
    found, make = [], Record.__init__
    monkeypatch.setattr(Record, "__init__", lambda self, *args: found.append(self) or make(self, *args))
    return found


def sequential(x, *made):
    return keras.Sequential([keras.Input(x.shape[1:], dtype=x.dtype.name), *made]), x


def dense(**options):
    return sequential(FLOATS, layers.Dense(3, activation="relu", **options), layers.Dense(2))


def convolution():
    made = [layers.Conv2D(2, 3), layers.BatchNormalization(), layers.Dropout(0.5), layers.MaxPooling2D(), layers.Flatten()]
    return sequential(IMAGES, *made, layers.Dense(2))


def embeddings():
    x = keras.Input((3,), dtype="int32")
    columns = [layers.Embedding(5, 2, name=f"rows_{k}")(x[:, k]) for k in range(3)]
    return keras.Model(x, layers.Dense(2)(layers.Concatenate()(columns))), WORDS


def recurrent():
    return sequential(WORDS, layers.Embedding(5, 2, mask_zero=True), layers.LSTM(3, return_sequences=True, dropout=0.1))


def attention():
    x = keras.Input((3,), dtype="int32")
    y = layers.Embedding(5, 4)(x)
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(2, 2, dropout=0.1)(y, y))
    return keras.Model(x, [layers.GlobalAveragePooling1D()(y), y * 2.0]), WORDS


def by_name():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    model = keras.Model({"a": a, "b": b}, {"sum": layers.Add()([a, b]), "first": layers.Dense(2)(a)})
    return model, {"a": tf.constant(FLOATS), "b": tf.constant(2 * FLOATS)}


def one_layer_twice():
    x, dropout = keras.Input((4,)), layers.Dropout(0.5)
    return keras.Model(x, dropout(layers.Dense(4)(dropout(x)))), FLOATS


def half():
    return sequential(FLOATS, layers.Dense(2, dtype="mixed_float16"), layers.Dense(2, dtype="float16"))


MODELS = [dense, convolution, embeddings, recurrent, attention, by_name, one_layer_twice, half]


def recorded(first):
    """Return what stands in the pending trace from its node `first` on, without the nodes."""
    trace = engine.local.trace
    nodes = trace.nodes[first:]
    reads = [(at, variable._uid, trace.reference(node)) for at, variable, node in trace.reads]
    names = [(at, name, [trace.reference(node) for node in named]) for at, name, named in trace.names]
    marks = [(at, to) for serial, at, to in scopes.marks() if serial == trace.serial]
    assigned = [variable._uid for variable, _ in trace.assigned]
    return {
        "keys": [node.key for node in nodes],
        "avals": [node.aval for node in nodes],
        "leaves": [leaf.aval for leaf in trace.leaves],
        "lines": {(node.code, node.offset) for node in nodes},
        "inputs": all(trace.reference(x) == r for n in nodes for x, r in zip(n.inputs, n.key[2:], strict=True) if x.index != -2),
        "reads": reads,
        "names": names,
        "marks": [(at, to) for at, to in marks if at > first],
        "assigned": assigned,
    }


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("made", MODELS)
def test_the_record_is_that_of_the_python_code(ran, made, training):
    model, x = made()
    steps = []
    for _ in range(5):
        with tf.GradientTape():
            first = len(engine.local.trace.nodes)
            y = model(x, training=training)
            steps.append(recorded(first))
            held = [v.value._tensor for v in model.variables]
        assert [v.value._tensor for v in model.variables] == held
        del y
    assert 2 <= len(ran) <= 3
    assert steps[-1] == steps[1]
    assert steps[-1]["inputs"]


@pytest.mark.parametrize("made", [convolution, recurrent, attention])
def test_values_and_gradients_are_those_of_the_python_code(ran, monkeypatch, made):
    def run(steps):
        keras.utils.set_random_seed(0)
        model, x = made()
        found = []
        for _ in range(steps):
            with tf.GradientTape() as tape:
                y = model(x, training=True)
                loss = sum(tf.reduce_sum(part**2) for part in (y if isinstance(y, list) else [y]))
            found += [loss, *tape.gradient(loss, model.trainable_variables)]
        mask = getattr(y, "_keras_mask", None)
        return [tf.convert_to_tensor(x).numpy() for x in (*found, *model.variables, *([] if mask is None else [mask]))]

    values = run(4)
    assert len(ran) < 4
    monkeypatch.setattr(Record, "equals", lambda *_: False)
    ran.clear()
    expected = run(4)
    assert len(ran) == 3  # the first call changed the model
    for value, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


def calls(model, x, count=3, **options):
    for _ in range(count):
        with tf.GradientTape():
            y = model(x, **options)
    return y


@pytest.mark.parametrize(
    "change",
    [
        lambda model: setattr(model.layers[1], "rate", 0.0),
        lambda model: setattr(model.layers[2], "trainable", False),
        lambda model: setattr(model.layers[0], "activation", keras.activations.tanh),
        lambda model: setattr(model.layers[0], "activation", lambda x: x - 3.0),
        lambda model: setattr(model.layers[0], "call", lambda x, training=None: x - 3.0),
        lambda model: model.pop(),
        lambda model: model.add(layers.Rescaling(5.0)),
        lambda model: model.layers[0].kernel.assign(tf.ones([4, 4])),
    ],
)
def test_a_change_of_the_model_counts_in_the_next_call(change):
    made = layers.Dense(4), layers.Dropout(0.5, seed=1), layers.BatchNormalization(), layers.Dense(4, "relu")
    model, x = sequential(FLOATS, *made)
    calls(model, x, training=True)
    change(model)
    states, y = [v.numpy() for v in model.variables], x
    for layer in model.layers:
        y = layer(y, training=True) if layer._call_has_training_arg else layer(y)
    for variable, state in zip(model.variables, states, strict=True):
        variable.assign(state)
    np.testing.assert_allclose(model(x, training=True), y, rtol=1e-5, atol=1e-6)


def test_a_callback_changes_the_model_in_a_loop():
    class Freeze(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                self.model.layers[1].rate = 0.0
                self.model.layers[0].trainable = False

    model, x = sequential(FLOATS, layers.Dense(4), layers.Dropout(0.5, seed=1), layers.Dense(1))
    callbacks, optimizer = keras.callbacks.CallbackList([Freeze()], model=model), keras.optimizers.SGD(0.1)
    kernels = []
    for step in range(8):
        with tf.GradientTape() as tape:
            y = model(x, training=True)
            loss = tf.reduce_mean(y**2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        callbacks.on_train_batch_end(step)
        kernels.append(model.layers[0].kernel.numpy())
    assert np.abs(kernels[3] - kernels[0]).max() > 0
    for kernel in kernels[4:]:
        np.testing.assert_array_equal(kernel, kernels[3])
    np.testing.assert_allclose(model(x, training=True), model(x), rtol=1e-6)


def test_a_method_of_a_class_that_is_patched(monkeypatch):
    model, x = sequential(FLOATS, layers.Dense(4), layers.Dense(4))
    calls(model, x)
    monkeypatch.setattr(layers.Dense, "call", lambda self, x, training=None: x + 7.0)
    np.testing.assert_allclose(model(x), FLOATS + 14.0, rtol=1e-6)
    np.testing.assert_allclose(calls(model, x), FLOATS + 14.0, rtol=1e-6)


def test_a_method_that_is_spied_on(monkeypatch):
    model, x = dense()
    calls(model, x)
    spy = mock.Mock(return_value=None)
    monkeypatch.setattr(layers.Dense, "compute_mask", spy)
    calls(model, x, 5)
    assert spy.call_count == 2 * 5


def test_what_users_wrote_runs_in_each_call():
    ran = []

    class Own(layers.Dense):
        def call(self, x):
            ran.append(1)
            return super().call(x)

    class Whole(keras.Model):
        def call(self, x):
            ran.append(1)
            return x

    def activation(x):
        ran.append(1)
        return x

    for layer in (Own(3), layers.Lambda(activation), layers.Dense(3, activation=activation), Whole()):
        model, x = sequential(FLOATS, layers.Dense(4), layer)
        ran.clear()
        calls(model, x, 5)
        assert len(ran) == 5


def test_layers_of_keras_in_a_model_of_the_user_s(ran):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = keras.Sequential([layers.Dense(4), layers.Dropout(0.5, seed=1)])
            self.outer = layers.Dense(2)

        def call(self, x):
            own.append(1)
            return self.outer(self.inner(x) + self.inner(x, training=False))

    own, expected = [], []
    model = Own()
    model(FLOATS)
    own.clear()
    for training in (None, True) * 4:
        ran.clear()
        with tf.GradientTape() as tape:
            y = model(FLOATS, training=training)
            expected.append(model.outer(model.inner.layers[0](FLOATS) * 2.0))
        assert not any(g is None for g in tape.gradient(y, model.trainable_variables))
        if training is None:
            np.testing.assert_allclose(y, expected[-1], rtol=1e-5)
        else:
            assert np.abs(y - expected[-1]).max() > 1e-3
    assert not ran
    assert len(own) == 8


def test_copies_of_a_layer():
    layer = layers.Dense(2)
    for _ in range(4):
        layer(FLOATS)
    again = copy.deepcopy(layer)
    again.kernel.assign(tf.zeros([4, 2]))
    np.testing.assert_array_equal(again(FLOATS), np.zeros([2, 2]))
    assert np.abs(layer(FLOATS)).max() > 0


def test_explanations_are_those_of_the_python_code():
    model, _ = dense()
    texts = []
    for _ in range(5):
        x = tf.constant(FLOATS)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.argmax(model(x), 1)
        tape.gradient(y, model.trainable_variables)
        texts.append(str(tf.autodiff.explain(y, x, tape)))
    assert texts[-1] == texts[0]
    assert "tf.argmax" in texts[0]


def test_losses_of_activities_are_added_in_each_call():
    model, x = dense(activity_regularizer="l2")
    for _ in range(5):
        with tf.GradientTape():
            model(x)
        assert len(model.losses) == 1
        assert float(model.losses[0]) > 0
        model._clear_losses()


def test_values_of_the_tape_inside_of_a_call():
    model, x = dense(name="first")
    for _ in range(4):
        x = tf.constant(FLOATS)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = model(x)
            inside = tape.get_tensor_by_name("first")
        gradient, from_inside = tape.gradient(y, [x, inside])
        expected = from_inside * tf.cast(inside > 0, "float32") @ tf.transpose(model.layers[0].kernel)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5)
        np.testing.assert_allclose(inside, tf.nn.relu(FLOATS @ model.layers[0].kernel.numpy()), rtol=1e-5)


def test_models_on_one_another_with_forward_and_second_derivatives():
    first, x = dense()
    second, _ = sequential(np.zeros((2, 2), "float32"), layers.Dense(1, activation="tanh"))
    found = []
    for _ in range(4):
        x = tf.constant(FLOATS)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator, tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = second(first(x))
            slope = inner.gradient(y, x)
        found.append([y, slope, outer.gradient(slope, x), accumulator.jvp(y)])
    for value, other in zip(found[0], found[-1], strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-7)


def test_functions_and_eager_functions_run_the_python_code(ran):
    model, x = dense()
    calls(model, x)
    ran.clear()
    tf.config.run_functions_eagerly(True)
    try:
        calls(model, x)
    finally:
        tf.config.run_functions_eagerly(False)
    assert not ran
    expected = model(x)
    np.testing.assert_allclose(tf.function(model)(x), expected, rtol=1e-6)
    model.run_eagerly = True
    ran.clear()
    calls(model, x)
    assert not ran


def test_an_index_that_the_third_of_the_embeddings_has_not(ran):
    model, x = embeddings()
    calls(model, x)
    assert ran
    ran.clear()
    model(x)
    before = model.get_weights()
    wrong = x.copy()
    wrong[1, 2] = 5
    for _ in range(2):
        with tf.GradientTape(), pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 5 is not in"):
            model(wrong)
    for now, value in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(now, value)
    assert calls(model, x, 1).shape == (2, 2)


def test_a_check_runs_nothing_but_what_it_looks_at(monkeypatch):
    values, indices = keras.Input((3, 2)), keras.Input((3, 1), dtype="int32")
    model = keras.Model([values, indices], keras.ops.take_along_axis(values, indices, axis=-1))
    x, rows, programs = tf.constant(np.ones([2, 3, 2], "float32")), tf.constant(WORDS[:, :, None] % 2), []
    run = execution.execute
    monkeypatch.setattr(execution, "execute", lambda *args: programs.append(1) or run(*args))
    for _ in range(5):
        with tf.GradientTape():
            pending = x * 2.0
            programs.clear()
            y = model([pending, rows])
            assert not programs
    np.testing.assert_array_equal(y, np.full([2, 3, 1], 2.0))


def test_the_checks_of_a_replayed_call_are_one_run(ran, monkeypatch):
    model, x = embeddings()
    calls(model, x, 4)
    ran.clear()
    runs, held, run, refused = [], [], execution._on_host, guards.refused
    monkeypatch.setattr(execution, "_on_host", lambda *args: runs.append(1) or run(*args))
    monkeypatch.setattr(guards, "refused", lambda *args: held.append(1) or refused(*args))
    calls(model, x, 1)
    assert not ran
    assert (len(runs), len(held)) == (1, 3)


def test_other_shapes_and_a_wrong_one():
    model, x = dense()
    calls(model, x)
    assert calls(model, FLOATS[:1]).shape == (1, 2)
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
        model(FLOATS[:, :3])
    assert model(tf.constant(x)).shape == (2, 2)


def test_a_warning_of_a_mask_comes_in_each_call():
    given, _ = sequential(np.ones((2, 3, 2), "float32"), layers.Dense(3))
    masked = tf.ones([2, 3, 2])
    masked._keras_mask = tf.ones([2, 3], "bool")
    with pytest.warns(UserWarning, match="does not support masking"):
        inside, _ = sequential(WORDS, layers.Embedding(5, 2, mask_zero=True), layers.Conv1D(2, 1))
    calls(given, tf.ones([2, 3, 2]))
    for model, x in ((given, masked), (inside, WORDS)):
        for _ in range(4):
            with pytest.warns(UserWarning, match="does not support masking"):
                model(x)


def test_the_records_go_with_their_model():
    model, x = convolution()
    calls(model, x, training=True)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_layer_that_changes_in_each_step_is_left_alone_for_some_time():
    model, x = sequential(FLOATS, layers.Dropout(0.5))
    for step in range(12):
        model.layers[0].rate = step / 20
        calls(model, x, 1, training=True)
    assert known(model) is None
    states = [known(model) for _ in range(2**10)]
    assert states[0] is None
    assert states[-1] is not None
