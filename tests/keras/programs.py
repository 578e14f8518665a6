"""Programs with tapes and Keras that run on gradtape as on TensorFlow, whose numbers are in tensorflow.json.

Where TensorFlow is installed, from the root of the repository: `python -m tests.keras.programs` writes them.
"""

import json
import pathlib

import numpy as np

NUMBERS = pathlib.Path(__file__).with_name("tensorflow.json")


def data(*shape):
    return np.cos(np.arange(np.prod(shape)) * 0.37).reshape(shape).astype("float32")


def filled(model):
    """The model with weights that both sides have."""
    model.set_weights([0.5 * np.sin(np.arange(1, 1 + w.size) * 0.7).reshape(w.shape) for w in model.get_weights()])
    return model


def mlp(keras):
    layers = [keras.Input([3]), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(2)]
    return filled(keras.Sequential(layers))


def lstm(keras):
    return filled(keras.Sequential([keras.Input([4, 2]), keras.layers.LSTM(3), keras.layers.Dense(1)]))


def three_heads(keras):
    inputs = keras.Input([3])
    hidden = keras.layers.Dense(4, activation="tanh")(inputs)
    return filled(keras.Model(inputs, [keras.layers.Dense(size)(hidden) for size in (1, 2, 3)]))


X, Y = data(12, 3), data(12, 2)


def gradients(tf):
    model = mlp(tf.keras)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(X) - Y))
    return tape.gradient(loss, model.trainable_variables)


def persistent_tape_over_three_heads(tf):
    model = three_heads(tf.keras)
    with tf.GradientTape(persistent=True) as tape:
        losses = [tf.reduce_sum(tf.square(y)) for y in model(X)]
    return [tape.gradient(loss, model.trainable_variables) for loss in losses]


def saliency_in_the_loss(tf):
    model, x = lstm(tf.keras), tf.constant(data(2, 4, 2))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            scores = model(x)
        saliency = inner.gradient(scores, x)
        loss = tf.reduce_sum(tf.abs(saliency)) + tf.reduce_sum(tf.square(scores))
    return [saliency, outer.gradient(loss, model.trainable_variables)]


def jacobians(tf):
    model, x = mlp(tf.keras), tf.constant(data(5, 3))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = model(x)
    return [tape.batch_jacobian(y, x), tape.jacobian(y, model.trainable_variables)]


def per_example(tf):
    model = mlp(tf.keras)
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum(tf.square(model(X) - Y), axis=1)
    return tape.jacobian(losses, model.trainable_variables)


def model_in_a_function(tf):
    model, optimizer = mlp(tf.keras), tf.keras.optimizers.Adam(0.05)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # noqa: B905
        return loss

    losses = [step(tf.constant(X), tf.constant(Y)) for _ in range(4)]
    return [losses, model.get_weights()]


def fitted(tf, optimizer, model=None, y=Y, compiled=None, **options):
    """Losses and weights of two epochs."""
    model = mlp(tf.keras) if model is None else model
    model.compile(optimizer, **{"loss": "mse", **(compiled or {})})
    history = model.fit(X, y, batch_size=4, epochs=2, shuffle=False, verbose=0, **options).history
    return [history["loss"], model.get_weights()]


def one_layer(tf, base=None, units=2, **options):
    inputs = tf.keras.Input([3])
    return filled((base or tf.keras.Model)(inputs, tf.keras.layers.Dense(units, **options)(inputs)))


def fit_sgd(tf):
    return fitted(tf, tf.keras.optimizers.SGD(0.1, momentum=0.9))


def fit_adam(tf):
    return fitted(tf, tf.keras.optimizers.Adam(0.05))


def fit_eagerly(tf):
    return fitted(tf, tf.keras.optimizers.Adam(0.05), compiled={"run_eagerly": True})


def fit_several_steps_at_once(tf):
    return fitted(tf, tf.keras.optimizers.Adam(0.05), compiled={"steps_per_execution": 2})


def fit_with_sample_weight(tf):
    return fitted(tf, tf.keras.optimizers.Adam(0.05), sample_weight=np.arange(12) / 12)


def fit_with_class_weight(tf):
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = one_layer(tf, units=3)
    weights = {0: 1.0, 1: 2.0, 2: 0.5}
    return fitted(tf, tf.keras.optimizers.SGD(0.1), model, np.arange(12) % 3, {"loss": loss}, class_weight=weights)


def fit_accumulating(tf):
    return fitted(tf, tf.keras.optimizers.Adam(0.05, gradient_accumulation_steps=3))


def fit_clipping(tf):
    return fitted(tf, tf.keras.optimizers.Adam(0.05, global_clipnorm=0.1))


def fit_averaging(tf):
    return fitted(tf, tf.keras.optimizers.SGD(0.05, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2))


def fit_with_a_scaled_loss(tf):
    return fitted(tf, tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.05)))


def fit_regularized(tf):
    return fitted(tf, tf.keras.optimizers.SGD(0.05), one_layer(tf, kernel_regularizer="l2", activity_regularizer="l1"))


def fit_with_batch_norm(tf):
    keras = tf.keras
    layers = [keras.Input([3]), keras.layers.Dense(4), keras.layers.BatchNormalization(momentum=0.7), keras.layers.Dense(2)]
    return fitted(tf, keras.optimizers.SGD(0.05), filled(keras.Sequential(layers)))


def fit_with_a_train_step(tf):
    class Model(tf.keras.Model):
        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
                loss += 0.1 * tf.add_n([tf.reduce_sum(tf.abs(v)) for v in self.trainable_variables])
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))  # noqa: B905
            return {"loss": loss}

    return fitted(tf, tf.keras.optimizers.SGD(0.05), one_layer(tf, Model))


def fit_with_a_compute_loss(tf):
    class Model(tf.keras.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return tf.reduce_mean(tf.abs(y_pred - y) ** 3) + tf.reduce_mean(x) * tf.reduce_mean(y_pred)

    return fitted(tf, tf.keras.optimizers.SGD(0.05), one_layer(tf, Model))


def fit_with_a_train_step_of_older_keras(tf):
    class Model(tf.keras.Model):
        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))  # noqa: B905
            self.compiled_metrics.update_state(y, y_pred)
            return {metric.name: metric.result() for metric in self.metrics if metric.name != "loss"} | {"loss": loss}

    model = one_layer(tf, Model, kernel_regularizer="l2")
    return fitted(tf, tf.keras.optimizers.SGD(0.05), model, compiled={"metrics": ["mae"]})


def fit_an_embedding(tf):
    keras = tf.keras
    layers = [keras.Input([3]), keras.layers.Embedding(4, 2), keras.layers.Flatten(), keras.layers.Dense(1, activation="sigmoid")]
    model = filled(keras.Sequential(layers))
    model.compile(keras.optimizers.Adam(0.05, clipnorm=0.5), "binary_crossentropy")
    x, y = np.arange(36).reshape(12, 3) % 5 % 4, np.arange(12) % 2  # indices repeat in a batch
    history = model.fit(x, y[:, None], batch_size=4, epochs=2, shuffle=False, verbose=0).history
    return [history["loss"], model.get_weights()]


def sparse_crossentropy_of_what_are_no_probabilities(tf):
    x = tf.constant([[0.2, 0.9, 0.4], [2.0, 0.5, -1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.keras.losses.sparse_categorical_crossentropy(np.array([1, 1]), x)
    return [loss, tape.gradient(loss, x)]


def fit_on_a_shuffled_dataset(tf):
    """The last batch is a smaller one; the steps draw numbers, and build what the model has not built."""

    class Noisy(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")

        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                noise = tf.random.normal(tf.shape(x))
                loss = tf.reduce_mean(tf.square(self.dense(x + noise) - y))
            weights = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return {"loss": loss, "noise": noise[0, 0]}

    tf.random.set_seed(5)
    model = Noisy()
    model.compile("sgd")
    batches = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(12).batch(5)
    history = model.fit(batches, epochs=3, verbose=0).history
    return [*history.values(), *model.get_weights()]


PROGRAMS = {
    function.__name__: function
    for function in (
        gradients,
        persistent_tape_over_three_heads,
        saliency_in_the_loss,
        jacobians,
        per_example,
        model_in_a_function,
        fit_sgd,
        fit_adam,
        fit_eagerly,
        fit_several_steps_at_once,
        fit_with_sample_weight,
        fit_with_class_weight,
        fit_accumulating,
        fit_clipping,
        fit_averaging,
        fit_with_a_scaled_loss,
        fit_regularized,
        fit_with_batch_norm,
        fit_with_a_train_step,
        fit_with_a_compute_loss,
        fit_with_a_train_step_of_older_keras,
        fit_an_embedding,
        fit_on_a_shuffled_dataset,
        sparse_crossentropy_of_what_are_no_probabilities,
    )
}


def digest(value):
    """A nest of tensors as numbers: of each tensor the sum of its elements, weighed by sines; None stays."""
    if isinstance(value, (list, tuple)):
        return [digest(item) for item in value]
    if value is None:
        return None
    array = np.asarray(value, "float64")
    return round(float(np.sum(np.sin(np.arange(1, 1 + array.size)) * array.ravel())), 8)


if __name__ == "__main__":
    import tensorflow

    lines = [f"{json.dumps(name)}: {json.dumps(digest(program(tensorflow)))}" for name, program in PROGRAMS.items()]
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
