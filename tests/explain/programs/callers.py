"""Ops in functions, methods and layers of their own, which were called outside of the tape: the call is at fault."""

import numpy as np

import gradtape as tf
from gradtape import keras


class TwoLayers(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.last = keras.layers.Dense(3), keras.layers.Dense(1)

    def call(self, x):
        hidden = tf.nn.relu(self.first(x))
        return self.last(hidden)


class Scale(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([2.0, 3.0])

    def __call__(self, x):
        scaled = x * self.w
        return tf.nn.sigmoid(scaled)


def squared_error(a, b):
    difference = a - b
    return tf.reduce_mean(difference * difference)


def a_model_of_a_class_called_before():
    model = TwoLayers()
    prediction = model(tf.ones((2, 2)))  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((prediction - 1.0) ** 2)
    sources = model.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_model_called_before_the_tape_of_train_step():
    class Trained(TwoLayers):
        def train_step(self, data):
            x, y = data
            prediction = self(x, training=True)  # <- outside_tape
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((y - prediction) ** 2)
            tape.gradient(loss, self.trainable_variables)
            return {"loss": loss}

    model = Trained()
    model.compile("sgd")
    model.fit(np.ones((4, 2), "float32"), np.ones((4, 1), "float32"), verbose=0)
    sources = model.trainable_variables
    return [None] * len(sources), tf.autodiff.explain(None, sources)


def a_loss_function_called_after():
    scale = Scale()
    with tf.GradientTape() as tape:
        prediction = scale(tf.ones(2))
    loss = squared_error(prediction, tf.zeros(2))  # <- outside_tape
    return tape.gradient(loss, scale.w), tf.autodiff.explain(loss, scale.w)


def a_loss_function_called_after_in_a_function():
    scale = Scale()

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            prediction = scale(x)
        loss = squared_error(prediction, tf.zeros(2))  # <- outside_tape
        return loss, tape.gradient(loss, scale.w)

    loss, gradient = step(tf.ones(2))
    return gradient, tf.autodiff.explain(loss, scale.w)


def a_module_called_while_recording_paused():
    scale = Scale()
    with tf.GradientTape() as tape:
        with tape.stop_recording():
            prediction = scale(tf.ones(2))  # <- recording_paused
        loss = tf.reduce_sum(prediction)
    return tape.gradient(loss, scale.w), tf.autodiff.explain(loss, scale.w)


def outputs_collected_before():
    scale = Scale()
    outputs = []
    for k in range(3):
        x = tf.ones(2) * float(k)
        outputs.append(scale(x))  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.add_n(outputs))
    return tape.gradient(loss, scale.w), tf.autodiff.explain(loss, scale.w)


def a_lambda_called_after():
    w = tf.Variable([1.0, 2.0])
    loss_of = lambda a: tf.reduce_mean(a * a)  # noqa: E731
    with tf.GradientTape() as tape:
        outputs = w * 2.0
    loss = loss_of(outputs)  # <- outside_tape
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_property_read_before():
    class Positive:
        def __init__(self):
            self.raw = tf.Variable([1.0])

        @property
        def scale(self):
            return tf.nn.softplus(self.raw)

    positive = Positive()
    scale = positive.scale  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(scale * 2.0)
    return tape.gradient(loss, positive.raw), tf.autodiff.explain(loss, positive.raw)


def computed_when_the_object_was_made():
    class Positive:
        def __init__(self):
            self.raw = tf.Variable([1.0])
            self.scale = tf.nn.softplus(self.raw)  # <- outside_tape

    positive = Positive()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(positive.scale * 2.0)
    return tape.gradient(loss, positive.raw), tf.autodiff.explain(loss, positive.raw)


def actions_kept_before_the_step():
    actor = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    kept = []
    for k in range(2):
        x = tf.ones((1, 2)) * float(k)
        kept.append(actor(x))  # <- outside_tape

    def sample():
        return tf.concat(kept, 0)

    def step():
        actions = sample()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(actions**2)
        return loss, tape.gradient(loss, actor.trainable_variables)

    loss, gradients = step()
    return gradients, tf.autodiff.explain(loss, actor.trainable_variables)


def log_probabilities_kept_before_the_step():
    model = TwoLayers()
    kept = []

    def log_probability(x):
        return tf.nn.log_softmax(model(x))

    def everything():
        return tf.stack(kept)

    for k in range(2):
        x = tf.ones((1, 2)) * float(k)
        kept.append(log_probability(x)[0])  # <- outside_tape

    def step():
        values = everything()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(values * 3.0)
        return loss, tape.gradient(loss, model.trainable_variables)

    loss, gradients = step()
    return gradients, tf.autodiff.explain(loss, model.trainable_variables)
