"""The tape and Keras together: numbers as on TensorFlow, Keras's variables wherever a Variable can stand, weights left whole."""

import json

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution
from tests.keras.programs import NUMBERS, PROGRAMS, X, Y, digest, mlp, one_layer

keras = tf.keras
RECORDED = json.loads(NUMBERS.read_text())


@pytest.mark.filterwarnings("ignore:`model.compiled_:DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_those_of_keras_on_tensorflow(name):
    np.testing.assert_allclose(numbers(digest(PROGRAMS[name](tf))), numbers(RECORDED[name]), atol=1e-5)


def numbers(value):
    """The numbers of a nest, in order; NaN where it has None."""
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [np.nan if value is None else value]


def test_every_program_is_recorded():
    assert list(RECORDED) == list(PROGRAMS)


class TestVariables:
    """A Keras variable is taken for the Variable that holds it."""

    @pytest.fixture
    def layer(self):
        layer = keras.layers.Dense(2)
        layer.build([None, 3])
        return layer

    def test_sources_watched_by_hand(self, layer):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(layer.bias)
            y = tf.reduce_sum(layer(X) ** 2)
        kernel, bias = tape.gradient(y, [layer.kernel, layer.bias])
        assert kernel is None
        np.testing.assert_allclose(bias, 2 * tf.reduce_sum(layer(X), 0), rtol=1e-5)

    def test_names_and_a_nest_of_sources(self, layer):
        assert [v.name for v in layer.trainable_variables] == ["kernel", "bias"]
        free = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            y = free * tf.reduce_sum(layer(X))
        gradients = tape.gradient(y, {"layer": (layer.kernel, [layer.bias]), "free": free})
        assert gradients["layer"][0].shape == (3, 2)
        np.testing.assert_allclose(gradients["layer"][1][0], [2.0 * len(X)] * 2, rtol=1e-6)
        np.testing.assert_allclose(gradients["free"], tf.reduce_sum(layer(X)), rtol=1e-6)

    def test_zeros_for_the_unconnected(self, layer):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer.bias)
        zeros = tape.gradient(y, layer.kernel, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        assert zeros.numpy().tolist() == np.zeros([3, 2]).tolist()

    def test_ops_and_lists(self, layer):
        kernel = layer.kernel
        value = kernel.numpy()
        np.testing.assert_array_equal(tf.stack([kernel, kernel]), np.stack([value, value]))
        np.testing.assert_array_equal(tf.concat([kernel, layer.bias[None]], 0), np.concatenate([value, [[0, 0]]]))
        np.testing.assert_allclose(tf.nn.l2_loss(kernel), (value**2).sum() / 2, rtol=1e-6)
        np.testing.assert_array_equal(tf.add_n([kernel, kernel]), 2 * value)
        np.testing.assert_allclose(tf.linalg.global_norm(layer.trainable_variables), np.sqrt((value**2).sum()), rtol=1e-6)
        np.testing.assert_array_equal(tf.ones([3, 2]) * kernel, value)
        mask = keras.Variable([True, False], dtype="bool")
        assert (mask & tf.constant([True, True])).numpy().tolist() == [True, False]
        assert [row.shape for row in kernel] == [(2,)] * 3
        with pytest.raises(ValueError, match="requested dtype float64 for Tensor with dtype float32"):
            tf.convert_to_tensor(kernel, tf.float64)

    def test_forward_mode(self, layer):
        along = tf.ones([3, 2])
        with tf.autodiff.ForwardAccumulator(layer.kernel, along) as accumulator:
            y = layer(X)
        np.testing.assert_allclose(accumulator.jvp(y), X @ np.ones([3, 2]), rtol=1e-6)

    def test_derivatives_of_functions(self, layer):
        def loss():
            return tf.reduce_sum(layer(X) ** 2)

        hessian = tf.autodiff.hessian(loss, [], sources=layer.bias)
        np.testing.assert_allclose(hessian, 2 * len(X) * np.eye(2), atol=1e-4)

    def test_an_assigned_variable_is_another_value(self, layer):
        with tf.GradientTape() as tape:
            before = tf.reduce_sum(layer.bias * 3.0)
            layer.bias.assign([1.0, 2.0])
            after = tf.reduce_sum(layer.bias**2)
            y = before + after
        np.testing.assert_allclose(tape.gradient(y, layer.bias), [3 + 2, 3 + 4])


def test_per_example_gradients_sum_to_the_gradient():
    model = mlp(keras)

    def loss(x, y):
        return tf.reduce_sum(tf.square(model(x) - y))

    each = tf.autodiff.per_example_gradients(loss, model.trainable_variables, (tf.constant(X), tf.constant(Y)))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.square(model(X) - Y))
    for rows, gradient in zip(each, tape.gradient(total, model.trainable_variables), strict=True):
        assert rows.shape == (len(X), *gradient.shape)
        np.testing.assert_allclose(tf.reduce_sum(rows, 0), gradient, atol=1e-5)


class TestModules:
    """A Keras layer is no tf.Module, as in TensorFlow: a module does not look into it, nor the other way round."""

    class Scaled(tf.Module):
        def __init__(self):
            super().__init__()
            self.layer = keras.layers.Dense(2)
            self.scale = tf.Variable(2.0, name="scale")

        def __call__(self, x):
            return self.scale * self.layer(x)

    def test_what_a_module_counts(self):
        module = self.Scaled()
        module(X)
        assert [v.name for v in module.trainable_variables] == ["scale:0"]
        assert module.submodules == ()

    def test_both_kinds_of_variables_in_one_gradient_and_one_update(self):
        module = self.Scaled()
        module(X)  # which builds the layer
        variables = [module.scale, *module.layer.trainable_variables]
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(module(X))
        gradients = tape.gradient(y, variables)
        np.testing.assert_allclose(gradients[0], tf.reduce_sum(module.layer(X)), rtol=1e-5)
        np.testing.assert_allclose(gradients[2], [2.0 * len(X)] * 2, rtol=1e-6)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(0.1 * gradient)
        np.testing.assert_allclose(module.layer.bias, [-0.2 * len(X)] * 2, rtol=1e-6)


class TestApplyGradients:
    def test_none_is_left_out_with_a_warning(self):
        model = mlp(keras)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(model.layers[0](X))
        gradients = tape.gradient(y, model.trainable_variables)
        before = model.get_weights()
        with pytest.warns(UserWarning, match="Gradients do not exist for variables"):
            keras.optimizers.SGD(0.1).apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        changed = [(now != old).any() for now, old in zip(model.get_weights(), before, strict=True)]
        assert changed == [True, True, False, False]

    def test_none_alone_is_an_error(self):
        model = mlp(keras)
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            keras.optimizers.SGD(0.1).apply_gradients([(None, v) for v in model.trainable_variables])

    def test_gradients_in_the_place_of_variables(self):
        w = tf.Variable([1.0, 2.0])
        for pairs in ([tf.ones(2), w], zip(tf.ones(2), w, strict=True)):
            with pytest.raises(AttributeError, match=r"updates variables, and was given .* pairs, `opt\.apply_gradients\(zip"):
                keras.optimizers.SGD(0.1).apply_gradients(pairs)

    def test_labels_of_another_shape_are_named(self):
        model = keras.Sequential([keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        with pytest.raises(ValueError, match="Incompatible shapes") as caught:
            model.fit(np.ones([4, 3]), np.ones([4, 3]), verbose=0)
        (note,) = caught.value.__notes__
        assert note.endswith("the labels have the shape (4, 3), what the model gives has (4, 2).")

    def test_a_misspelt_loss_says_nothing_of_shapes(self):
        model = keras.Sequential([keras.layers.Dense(3)])
        model.compile("sgd", "sparse_crossentropy")
        with pytest.raises(ValueError, match="Could not interpret loss identifier") as caught:
            model.fit(np.ones([4, 3]), np.ones([4]), verbose=0)
        assert caught.value.__notes__ == ["Did you mean 'sparse_categorical_crossentropy' for 'sparse_crossentropy'?"]

    def test_repeated_rows_of_an_embedding_are_squared_one_by_one(self):  # as on TensorFlow, not on JAX
        layer = keras.layers.Embedding(3, 1)
        layer.build()
        layer.set_weights([np.zeros([3, 1])])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(np.int32([0, 0, 1])))
        optimizer = keras.optimizers.Adagrad(1.0, initial_accumulator_value=0.0, epsilon=0.0)
        optimizer.apply_gradients(zip(tape.gradient(y, [layer.embeddings]), [layer.embeddings], strict=True))
        state = next(v for v in optimizer.variables if "accumulator" in v.path)
        assert state.numpy().ravel().tolist() == [2.0, 1.0, 0.0]

    @pytest.mark.parametrize(("clip", "each"), [({"clipvalue": 0.25}, 0.25), ({"clipnorm": 1.0}, 3**-0.5), ({}, 1.0)])
    def test_repeated_rows_are_clipped_one_by_one_and_added(self, clip, each):
        table = keras.Variable(np.zeros([3, 1], "float32"))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, [0, 0, 1]))
        keras.optimizers.SGD(1.0, **clip).apply_gradients([(tape.gradient(y, table), table)])
        np.testing.assert_allclose(table, [[-2 * each], [-each], [0.0]], rtol=1e-6)


def test_run_eagerly_runs_python_in_each_step_and_a_compiled_step_once():
    calls = []

    class Model(keras.Model):
        def train_step(self, data):
            calls.append(type(data))
            return super().train_step(data)

    for eagerly, expected in ((True, 6), (False, 1)):
        model = one_layer(tf, Model)
        model.compile("sgd", "mse", run_eagerly=eagerly)
        calls.clear()
        model.fit(X, Y, batch_size=4, epochs=2, verbose=0)
        assert len(calls) == expected


class Stop(Exception):
    """Raised by a test in the middle of training."""


class TestWeightsStayWhole:
    """After whatever ends `fit`, each weight has the value of the last finished step, and training goes on from there."""

    def after(self, steps):
        model = one_layer(tf)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        for step in range(steps):
            model.train_on_batch(X[4 * step : 4 * step + 4], Y[4 * step : 4 * step + 4])
        return model.get_weights()

    def same(self, weights, steps):
        for mine, expected in zip(weights, self.after(steps), strict=True):
            np.testing.assert_allclose(mine, expected, atol=1e-6)

    @pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
    @pytest.mark.parametrize("eagerly", [False, True])
    def test_a_callback_that_raises_and_an_interrupt(self, error, eagerly):
        class Raises(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch == 1:
                    raise error

        model = one_layer(tf)
        model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=eagerly)
        with pytest.raises(error):
            model.fit(X, Y, batch_size=4, shuffle=False, verbose=0, callbacks=[Raises()])
        self.same(model.get_weights(), 2)
        model.train_on_batch(X[8:], Y[8:])
        self.same(model.get_weights(), 3)

    @pytest.mark.parametrize("eagerly", [False, True])
    def test_a_step_that_raises_between_gradient_and_update(self, eagerly):
        class Model(keras.Model):
            fail = True

            def train_step(self, data):
                logs = super().train_step(data)
                if self.fail:
                    self.layers[-1].bias.assign_add([5.0, 5.0])
                    raise Stop("in the step")
                return logs

        model = one_layer(tf, Model)
        model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=eagerly)
        with pytest.raises(Stop, match="in the step"):
            model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
        weights = model.get_weights()
        if eagerly:  # what ran before the error stands
            weights[-1] -= 5.0
        self.same(weights, 1 if eagerly else 0)  # tracing assigns symbols, of which nothing is left
        model.fail = False
        model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
        if not eagerly:
            self.same(model.get_weights(), 3)

    def test_data_that_raise(self):
        def batches():
            for first in (0, 4):  # Keras looks at the first two before it begins
                yield X[first : first + 4], Y[first : first + 4]
            raise Stop("in the data")

        model = one_layer(tf)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        with pytest.raises(Stop, match="in the data"):
            model.fit(batches(), shuffle=False, verbose=0)
        self.same(model.get_weights(), 2)

    def test_a_generator_that_ends_early(self):
        def batches():
            yield X[:4], Y[:4]
            yield X[4:8], Y[4:8]

        model = one_layer(tf)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        with pytest.warns(UserWarning, match="ran out of data"):
            model.fit(batches(), steps_per_epoch=3, shuffle=False, verbose=0)
        self.same(model.get_weights(), 2)

    def test_a_loss_that_is_nan_ends_training_if_asked(self):
        model = one_layer(tf)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        y = Y.copy()
        y[5] = np.nan
        stop = keras.callbacks.TerminateOnNaN()
        history = model.fit(X, y, batch_size=4, epochs=5, shuffle=False, verbose=0, callbacks=[stop]).history
        assert len(history["loss"]) == 1
        assert np.isnan(history["loss"][0])

    def test_a_scaled_loss_leaves_out_the_step_that_is_not_finite(self):
        model = one_layer(tf)
        optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=8.0)
        model.compile(optimizer, "mse")
        y = Y.copy()
        y[5] = np.nan
        model.fit(X[:8], y[:8], batch_size=4, shuffle=False, verbose=0)
        self.same(model.get_weights(), 1)
        assert float(optimizer.dynamic_scale) == 4.0


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda m: m(np.zeros([2, 5], "float32")), ValueError, "expected axis -1 of input shape to have value 3, but received"),
        (
            lambda m: m(np.zeros([3], "float32")),
            ValueError,
            r"Expected shape \(None, 3\), but input has incompatible shape \(3,\)",
        ),
        (lambda m: m("text"), (ValueError, TypeError), "tensor"),
        (lambda m: m.fit(X, Y[:5], verbose=0), ValueError, "Make sure all arrays contain the same number of samples"),
        (
            lambda m: m.fit(X, np.zeros([12, 3]), verbose=0),
            ValueError,
            "Incompatible shapes: .12,3. vs. .12,2.",
        ),
        (lambda m: m.set_weights([np.zeros([3, 2])]), ValueError, "weight"),
    ],
)
def test_bad_input_is_an_error_of_keras_s(call, error, says):
    model = keras.Sequential([keras.layers.Dense(2)])
    model.build([None, 3])
    model.compile("sgd", "mse")
    with pytest.raises(error, match=says):
        call(model)


@pytest.mark.parametrize("depth", [0, 1])
def test_an_op_s_error_in_a_layer_keeps_its_class(depth):
    layer = keras.layers.Embedding(3, 2)
    for _ in range(depth):
        layer = keras.Sequential([layer])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Exception encountered when calling Embedding.call\(\)") as caught:
        layer(np.array([5]))
    assert caught.value.error_code == 3
    dtype = "float32" if depth else "int64"
    assert f"Arguments received by Embedding.call():\n  • inputs=tf.Tensor(shape=(1,), dtype={dtype})" in str(caught.value)


class TestCrossentropiesOfLogits:
    """A crossentropy of what a softmax or sigmoid made is one of their logits, which TensorFlow finds, too: it is not cut off."""

    LOGITS = np.array([[40.0, -40.0]], "float32")
    LABELS = np.array([[0.0, 1.0]], "float32")

    @pytest.mark.parametrize("softmax", [keras.activations.softmax, keras.ops.softmax, keras.layers.Softmax()])
    def test_softmax(self, softmax):
        x = tf.constant(self.LOGITS)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = keras.losses.CategoricalCrossentropy()(self.LABELS, softmax(x))
        assert float(loss) == 80.0
        assert tape.gradient(loss, x).numpy().tolist() == [[1.0, -1.0]]
        assert keras.losses.sparse_categorical_crossentropy(np.array([1]), softmax(x)).numpy().tolist() == [80.0]

    @pytest.mark.parametrize("sigmoid", [keras.activations.sigmoid, keras.ops.sigmoid])
    def test_sigmoid(self, sigmoid):
        assert keras.losses.binary_crossentropy(self.LABELS, sigmoid(tf.constant(self.LOGITS))).numpy().tolist() == [40.0]

    def test_probabilities_of_an_op_are_looked_through_in_a_function_alone(self):
        def loss(x):
            return keras.losses.categorical_crossentropy(self.LABELS, tf.nn.softmax(x))

        x = tf.constant(self.LOGITS)
        assert tf.function(loss)(x).numpy().tolist() == [80.0]
        np.testing.assert_allclose(loss(x), [-np.log(1e-7)], rtol=1e-5)

    def test_in_fit(self):
        model = keras.Sequential([keras.Input([2]), keras.layers.Activation(tf.nn.softmax)])
        model.compile("sgd", "categorical_crossentropy")
        assert model.evaluate(self.LOGITS, self.LABELS, verbose=0) == 80.0

    def test_labels_out_of_range_in_fit(self):
        model = keras.Sequential([keras.Input([2]), keras.layers.Activation(tf.nn.softmax)])
        model.compile("sgd", "sparse_categorical_crossentropy")
        assert model.evaluate(self.LOGITS, np.array([1]), verbose=0) == 80.0
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"label value of 2 which is outside the valid range of \[0, 2\)"
        ):
            model.evaluate(self.LOGITS, np.array([2]), verbose=0)

    def test_a_warning_where_they_are_said_to_be_logits(self):
        with pytest.warns(UserWarning, match="made by a Softmax and thus does not represent logits"):
            keras.losses.categorical_crossentropy(self.LABELS, keras.ops.softmax(tf.constant(self.LOGITS)), from_logits=True)


@pytest.mark.parametrize("eagerly", [True, False])
def test_a_step_that_runs_out_of_memory_is_an_error_of_fit(eagerly, monkeypatch):
    """Keras reads the logs in a way that drops errors; the step is run before that."""
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=eagerly)
    x, y = np.ones([4, 3], "float32"), np.ones([4, 1], "float32")
    model.fit(x, y, verbose=0)
    before, run = model.get_weights(), execution.execute

    def full(program, *arguments):
        if program.size < 10:
            return run(program, *arguments)
        monkeypatch.setattr(execution, "execute", run)
        raise tf.errors.ResourceExhaustedError(None, None, "Out of memory, says the test")

    monkeypatch.setattr(execution, "execute", full)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="says the test"):
        model.fit(x, y, verbose=0)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"]).all()
