"""Levenberg-Marquardt in a Keras model's `fit`: each batch is one damped step."""

import numpy as np
import pytest

import gradtape as tf

X = np.linspace(-1.0, 1.0, 40, dtype="float32")[:, None]
Y = np.sin(4.0 * X) * np.exp(-X)


def network(optimizer, loss="mse", **layer):
    tf.keras.utils.set_random_seed(0)
    layers = [tf.keras.layers.Input([1]), tf.keras.layers.Dense(6, "tanh", **layer), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    model.compile(optimizer=optimizer, loss=loss, metrics=["mae"])
    return model


def marquardt(**settings):
    assert tf.keras.backend.backend() == "gradtape"  # Keras is loaded when it is first named
    return tf.optimizers.LevenbergMarquardt(**settings).for_keras()


@pytest.mark.parametrize("settings", [{}, {"damping": "marquardt"}], ids=str)
def test_a_curve_is_fitted_far_closer_than_by_adam(settings):
    fitted = network(marquardt(**settings))
    history = fitted.fit(X, Y, batch_size=40, epochs=40, shuffle=False, verbose=0).history
    adam = network(tf.keras.optimizers.Adam(0.01)).fit(X, Y, batch_size=40, epochs=40, verbose=0).history
    assert history["loss"][0] == pytest.approx(adam["loss"][0], rel=1e-5)
    assert all(after <= before * (1 + 1e-6) for before, after in zip(history["loss"], history["loss"][1:], strict=False))
    assert history["loss"][-1] < 1e-3 < 0.1 < adam["loss"][-1]
    assert history["mae"][-1] < 0.05
    assert int(fitted.optimizer.iterations) == 40


def test_one_step_is_the_damped_step_of_the_formula():
    model = network(marquardt(initial=10.0))
    weights = model.trainable_weights
    start = [np.array(w.value) for w in weights]
    with tf.GradientTape() as tape:
        errors = tf.reshape(model(X) - Y, [-1])
    parts = tape.jacobian(errors, weights)
    jacobian = np.concatenate([np.reshape(part, (40, -1)) for part in parts], 1).astype(float)
    scale = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / scale
    step = -np.linalg.solve(scaled.T @ scaled + 10.0 * np.eye(len(scale)), scaled.T @ np.asarray(errors, float)) / scale
    model.train_on_batch(X, Y)
    moved = np.concatenate([np.reshape(np.array(w.value) - b, -1) for w, b in zip(weights, start, strict=True)])
    np.testing.assert_allclose(moved, step, rtol=2e-2, atol=1e-4)
    assert float(model.optimizer.damping.value) != pytest.approx(10.0)


def test_weights_of_examples_count():
    weight = np.where(X[:, 0] < 0.0, 1.0, 0.0).astype("float32")
    model = network(marquardt())
    model.fit(X, Y, batch_size=40, epochs=60, shuffle=False, sample_weight=weight, verbose=0)
    error = np.abs(model.predict(X, verbose=0) - Y)[:, 0]
    assert error[weight == 1.0].max() < 0.05 < error[weight == 0.0].max()


def test_what_it_refuses():
    with pytest.raises(ValueError, match=r"compile with loss='mse', received loss='mae'"):
        network(marquardt(), loss="mae").fit(X, Y, verbose=0)
    with pytest.raises(ValueError, match=r"the model has further losses"):
        network(marquardt(), kernel_regularizer="l2").fit(X, Y, verbose=0)
    wide = tf.keras.Sequential([tf.keras.layers.Input([1]), tf.keras.layers.Dense(3_000), tf.keras.layers.Dense(1)])
    wide.compile(optimizer=marquardt(), loss="mse")
    with pytest.raises(ValueError, match=r"9,001 are more than 2,000.*without the Jacobian, which would be \[32, 9,001\]"):
        wide.fit(X, Y, batch_size=32, verbose=0)


def test_a_models_weights_are_variables_to_minimize_over():
    model = network("sgd")
    found = tf.optimizers.LevenbergMarquardt(max_iterations=60).minimize(lambda: model(X) - Y, model.trainable_weights)
    assert found.sum_of_squares / 40 < 1e-3
    assert np.mean((model.predict(X, verbose=0) - Y) ** 2) == pytest.approx(found.sum_of_squares / 40, rel=0.1)
