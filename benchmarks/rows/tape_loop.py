"""A custom training step on thirteen Keras models, with `float(loss)` in each step: eager code, compared with a `tf.function`.

The target for gradtape's own `fit` of the same batch holds for models with a step under 10 ms. Above, both wait for the same
kernels.
"""

from functools import partial
from types import SimpleNamespace

from benchmarks.keras_fit import compiled
from benchmarks.models import MODELS

QUICK = "mlp", "cnn", "lstm", "signals", "embeddings"


def of(which):
    """Return the row of one model."""
    model, number = MODELS[which], 1 + list(MODELS).index(which)
    return SimpleNamespace(
        KEY=f"tl{number}" if number > 1 else "tl",
        TITLE=f"tape loop on a Keras model: {model.title}",
        MEASURE="time per step",
        STEPS_DEPEND=True,
        CHECKED_STEPS=2,
        TOLERANCE=1e-2,
        TARGETS={"tensorflow_function": 1.0} | ({"gradtape_fit": 2.0} if which in QUICK else {}),
        gradtape=partial(gradtape, model),
        gradtape_fit=partial(gradtape_fit, model),
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


def gradtape_fit(model):
    made, batch = compiled("gradtape", model.build), model.data()

    def many(count):
        history = made.fit((batch for _ in range(count)), steps_per_epoch=count, epochs=1, verbose=0, shuffle=False)
        return [history.history["loss"][0]]

    def step():
        return many(1)

    step.many = many
    return step


def tensorflow_function(model):
    import tensorflow as tf

    return loop(tf, "tensorflow", model, tf.function)
