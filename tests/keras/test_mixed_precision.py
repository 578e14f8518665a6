"""Mixed precision as users write it: `fit` and a loop of one's own, with TensorFlow 2.21's numbers on a CPU."""

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
CLOSE = {"mixed_bfloat16": 2e-3, "mixed_float16": 2e-4}

FIT = {"mixed_bfloat16": [1.72284, 1.56411], "mixed_float16": [1.7225, 1.56419]}
LOOP = {
    "mixed_bfloat16": [1.91451, 1.71708, 1.6464, 1.61336, 1.68608, 1.6126, 1.48083, 1.47692],
    # At a scale of 2²⁴ six steps overflow, and leave the weights as they are.
    "mixed_float16": [1.91254, 1.71924, 1.69939, 1.69513, 1.91254, 1.71924, 1.69939, 1.66202, 1.84108, 1.68559, 1.53094, 1.53897],
}


@pytest.fixture(params=["mixed_bfloat16", "mixed_float16"])
def policy(request):
    before = keras.config.dtype_policy()
    keras.mixed_precision.set_global_policy(request.param)
    yield request.param
    keras.mixed_precision.set_global_policy(before)


@pytest.fixture
def float16():
    before = keras.config.dtype_policy()
    keras.mixed_precision.set_global_policy("mixed_float16")
    yield
    keras.mixed_precision.set_global_policy(before)


def drawn():
    """A network, examples and labels."""
    random = np.random.default_rng(0)
    layers = keras.layers
    model = keras.Sequential([layers.Input((8,)), layers.Dense(16, activation="tanh"), layers.Dense(4, dtype="float32")])
    model.set_weights([(0.4 * random.standard_normal(w.shape)).astype("float32") for w in model.get_weights()])
    return model, random.standard_normal((64, 8)).astype("float32"), random.integers(0, 4, 64)


def test_fit(policy):
    model, x, y = drawn()
    model.compile(keras.optimizers.SGD(0.1), LOSS)
    history = model.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(history.history["loss"], FIT[policy], rtol=CLOSE[policy])
    assert model.layers[0].compute_dtype == policy.removeprefix("mixed_")
    assert model.layers[0].kernel.dtype == "float32"
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer) == (policy == "mixed_float16")


@pytest.mark.parametrize("compiled", [True, False], ids=["function", "eager"])
def test_a_loop_of_ones_own(policy, compiled):
    model, x, y = drawn()
    optimizer = keras.optimizers.SGD(0.1)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**24, dynamic_growth_steps=3)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(x, training=True))
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = tf.function(step) if compiled else step
    losses = []
    for i in range(len(LOOP[policy])):
        part = slice(i % 4 * 16, i % 4 * 16 + 16)
        losses.append(float(step(tf.constant(x[part]), tf.constant(y[part]))))
    np.testing.assert_allclose(losses, LOOP[policy], rtol=CLOSE[policy])
    if policy == "mixed_float16":
        assert (optimizer.dynamic_scale, optimizer.step_counter, optimizer.iterations) == (2.0**18, 0, 5)


def test_fit_with_a_scale_that_is_too_large(float16):
    model, x, y = drawn()
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.02), initial_scale=2.0**24, dynamic_growth_steps=3)
    model.compile(optimizer, LOSS)
    history = model.fit(x, y, batch_size=16, epochs=3, verbose=0, shuffle=False)
    np.testing.assert_allclose(history.history["loss"], [1.75658, 1.74994, 1.53721], rtol=2e-4)
    assert (optimizer.dynamic_scale, optimizer.step_counter, optimizer.iterations) == (2.0**18, 0, 5)


def test_the_loss_is_scaled_by_the_variable_in_a_function(float16):
    """The optimizer is built in the function's first trace, in which its scale is a number: it is traced again."""
    model, _, _ = drawn()
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=8.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            scaled = optimizer.scale_loss(tf.constant(1.0) * model.trainable_variables[0][0, 0])
        optimizer.apply_gradients([(tape.gradient(scaled, model.trainable_variables[0]), model.trainable_variables[0])])
        return optimizer.scale_loss(tf.constant(1.0))

    assert step() == 8.0
    optimizer.dynamic_scale.assign(2.0)
    assert step() == 2.0
