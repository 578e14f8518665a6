"""Ctrl-C in the middle of training: a real SIGINT, sent by another process."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import gradtape as tf
from tests.light import LIGHT

CHILD = '''
import gc, signal, sys

import gradtape as tf

keras = tf.keras
import numpy as np

signal.signal(signal.SIGINT, signal.default_int_handler)  # what started this may have it ignored
tf.config.compile_early()  # so that both trainings compute in one way
gc.disable()  # an interrupt that comes while garbage is collected is dropped, by Python and JAX
x = np.random.RandomState(0).rand(8, 16).astype("float32")
y = x.sum(1, keepdims=True)
many = np.tile(x, (4000, 1)), np.tile(y, (4000, 1))


class Training:
    """A model of some 20 weights, and steps that are compiled; the batch is always the same."""

    def __init__(self):
        keras.utils.set_random_seed(1)
        layers = [keras.layers.Dense(16, "relu") for _ in range(8)]
        self.model = keras.Sequential([keras.Input([16]), *layers, keras.layers.BatchNormalization(), keras.layers.Dense(1)])
        self.model.compile(keras.optimizers.Adam(1e-3), "mse")
        self.step = tf.function(self._step)
        self.train = {"fit": self.fit, "loop": self.loop}[sys.argv[1]]
        self.train(2)

    def _step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x, training=True) - y) ** 2)
        weights = self.model.trainable_weights
        self.model.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

    def fit(self, steps):
        self.model.fit(many[0][: 8 * steps], many[1][: 8 * steps], batch_size=8, verbose=0, shuffle=False)

    def loop(self, steps):
        batch = tf.constant(x), tf.constant(y)
        for _ in range(steps):
            self.step(*batch)

    @property
    def finished(self):
        return int(self.model.optimizer.iterations)

    def state(self):
        return [(v.path, v.numpy()) for v in (*self.model.weights, *self.model.optimizer.variables)]


interrupted, reference = Training(), Training()
for _ in range(int(sys.argv[2])):
    before = interrupted.finished
    try:
        print("training", flush=True)
        interrupted.train(4000)
        print("not interrupted", flush=True)
    except KeyboardInterrupt:
        pass
    finished = interrupted.finished
    if finished > reference.finished:
        reference.train(finished - reference.finished)
    pairs = zip(interrupted.state(), reference.state(), strict=True)
    torn = [name for (name, value), (_, expected) in pairs if not np.allclose(value, expected, rtol=1e-3, atol=1e-5)]
    print("torn", torn, flush=True) if torn else print("whole", finished - before, flush=True)
interrupted.train(1)
print("and on", interrupted.finished - finished)
'''


@pytest.mark.parametrize("how", ["fit", "loop"])
def test_every_weight_and_slot_is_that_of_the_last_finished_step(how, tmp_path):
    """Values of a step that did not finish are nowhere, and training goes on."""
    moments = [0.02, 0.05, 0.031, 0.11, 0.043, 0.0701, 0.0333, 0.0917]
    command = [sys.executable, "-c", LIGHT + CHILD, how, str(len(moments))]
    said = tmp_path / "errors"
    with said.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        steps = 0
        for moment in moments:
            assert process.stdout.readline() == "training\n"
            time.sleep(moment)
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline().split(maxsplit=1)
            assert answer[0] == "whole", answer
            steps += int(answer[1])
        output = process.stdout.read()  # what `readline` has read ahead too, which `communicate` would lose
    assert output.split() == ["and", "on", "1"] and process.returncode == 0, (process.returncode, said.read_text()[-3000:])
    assert steps > len(moments), "the interrupts came in the midst of training"


@pytest.mark.parametrize("variable", [2, 9], ids=["weight", "slot"])
def test_an_interrupt_while_variables_are_made(monkeypatch, variable):
    """The model and its optimizer are built when `fit` is called again."""
    keras = tf.keras
    Variable = keras.Variable
    x, y = np.ones([4, 3], np.float32), np.ones([4, 1], np.float32)

    def model():
        keras.utils.set_random_seed(0)
        made = keras.Sequential([keras.layers.Dense(2, "tanh"), keras.layers.Dense(1)])
        made.compile(keras.optimizers.Adam(0.1), "mse")
        return made

    interrupted, reference = model(), model()
    reference.fit(x, y, verbose=0)
    keras.utils.set_random_seed(0)
    initialize, made = Variable._initialize_with_initializer, []

    def until_then(self, initializer):
        made.append(self)
        if len(made) == variable:
            raise KeyboardInterrupt("by the user")
        initialize(self, initializer)

    with monkeypatch.context() as patch:
        patch.setattr(Variable, "_initialize_with_initializer", until_then)
        with pytest.raises(KeyboardInterrupt, match="by the user"):
            interrupted.fit(x, y, verbose=0)
    interrupted.fit(x, y, verbose=0)
    for mine, expected in zip(interrupted.optimizer.variables, reference.optimizer.variables, strict=True):
        assert mine.shape == expected.shape
    assert int(interrupted.optimizer.iterations) == 1
    assert [w.shape for w in interrupted.weights] == [w.shape for w in reference.weights]


def test_an_interrupt_while_the_values_of_logs_are_read():
    """Keras drops any error there; what cannot be read stays as it is."""

    class Value:
        def __init__(self, error):
            self.error = error

        def __float__(self):
            raise self.error

    unread = Value(TypeError("not a number"))
    seen = {}
    record = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.update(logs))
    callbacks = tf.keras.callbacks.CallbackList([record])
    callbacks.on_epoch_end(0, {"loss": tf.constant(1.5), "inner": {"a": np.float32(2.0)}, "unread": unread})
    assert seen == {"loss": 1.5, "a": 2.0, "unread": unread}
    callbacks.on_epoch_end(1, {"f1_score": tf.constant([0.5, 1.0])})
    assert type(seen["f1_score"]) is np.ndarray
    with pytest.raises(KeyboardInterrupt, match="by the user"):
        callbacks.on_epoch_end(0, {"loss": Value(KeyboardInterrupt("by the user"))})
