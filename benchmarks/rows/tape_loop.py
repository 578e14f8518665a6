"""A custom training step on a Keras model, with `float(loss)` in each step: eager code, compared with a `tf.function`."""

from functools import partial
from types import SimpleNamespace

from benchmarks.keras_fit import compiled
from benchmarks.models import MODELS

WHICH = "mlp", "cnn", "transformer", "grus", "embeddings"


def of(which):
    """Return the row of one model."""
    model, number = MODELS[which], 1 + WHICH.index(which)
    return SimpleNamespace(
        KEY=f"tl{number}" if number > 1 else "tl",
        TITLE=f"tape loop on a Keras model: {model.title}",
        MEASURE="time per step",
        STEPS_DEPEND=True,
        CHECKED_STEPS=2,
        TOLERANCE=1e-2,
        TARGETS={"tensorflow_function": 1.0},
        gradtape=partial(gradtape, model),
        tensorflow_function=partial(tensorflow_function, model),
    )


def loop(tf, backend, model, wrapped):
    """Return the step, whose update is `wrapped`; it returns the loss."""
    made = compiled(backend, model.build)
    x, y = map(tf.constant, model.data())

    @wrapped
    def update():
        with tf.GradientTape() as tape:
            loss = made.loss(y, made(x, training=True))
        gradients = tape.gradient(loss, made.trainable_variables)
        made.optimizer.apply_gradients(zip(gradients, made.trainable_variables, strict=True))
        return loss

    return lambda: [float(update())]


def gradtape(model):
    import gradtape as tf

    return loop(tf, "gradtape", model, lambda function: function)


def tensorflow_function(model):
    import tensorflow as tf

    return loop(tf, "tensorflow", model, tf.function)
