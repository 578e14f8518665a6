"""Tapes inside of functions that are asked from outside: Keras's `fit`, what is kept of a call, and for how long."""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.programs import transcript
from gradtape._src.explain.report import LOOKS, watching
from tests.explain.programs import inside, inside_nans
from tests.explain.table import MARK


class Model(tf.keras.Model):
    """A model with a training step of its own, which is broken in one way."""

    def __init__(self, broken):
        super().__init__()
        self.first, self.last, self.broken = tf.keras.layers.Dense(2), tf.keras.layers.Dense(1), broken

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            hidden = self.first(x)
            if self.broken == "stopped":
                hidden = tf.stop_gradient(hidden)  # <- stopped
            prediction = self.last(hidden)
            if self.broken == "not_differentiable":
                prediction = tf.round(prediction)  # <- not_differentiable
            if self.broken == "nan_origin":
                prediction = tf.sqrt(prediction * 0.0)  # <- nan_origin
            loss = tf.reduce_mean((prediction - y) ** 2)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
        return {"loss": loss}


def line_of(code):
    with open(__file__, encoding="utf-8") as source:
        return next(number for number, line in enumerate(source, 1) if (found := MARK.search(line)) and found[1] == code)


def fitted(broken, eagerly):
    model = Model(broken)
    model.compile(optimizer="sgd", run_eagerly=eagerly)
    model.fit(np.ones([4, 2], np.float32), np.ones([4, 1], np.float32), batch_size=2, verbose=0)
    return model


@pytest.mark.parametrize("eagerly", [False, True])
def test_a_training_step_of_keras_without_gradients(eagerly):
    with pytest.raises(ValueError, match=f"test_inside.py:{line_of('not_differentiable')}: not_differentiable"):
        fitted("not_differentiable", eagerly)


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
def test_a_training_step_of_keras_with_some_gradients(eagerly):
    model = fitted("stopped", eagerly)
    codes = [(d.code, d.line) for d in tf.autodiff.explain(None, model.trainable_variables)]
    assert codes == [("stopped", line_of("stopped"))] * 2 + [("connected", None)] * 2


def test_a_training_step_of_keras_with_nan():
    """The second step begins with weights of NaN: the first one is blamed."""
    model = fitted("nan_origin", False)
    assert np.isnan(model.trainable_variables[0].numpy()).all()
    codes = [(d.code, d.line) for d in tf.autodiff.explain_nan(None, model.trainable_variables)]
    assert codes == [("nan_origin", line_of("nan_origin"))] * 4


def test_a_function_that_raised_while_it_was_traced():
    w = tf.Variable(2.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.floor(w)
        tf.keras.optimizers.SGD().apply_gradients([(tape.gradient(loss, w), w)])

    with pytest.raises(ValueError, match="not_differentiable"):
        step()
    assert tf.autodiff.explain(None, w).code == "not_differentiable"


def root(w):
    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(w * x))
        return loss, tape.gradient(loss, w)

    return step


def test_values_are_kept_of_the_last_four_small_calls():
    w = tf.Variable([0.0])
    step = root(w)
    losses = [step(tf.constant(float(k)))[0] for k in range(1, 6)]
    with pytest.raises(RuntimeError, match="no record is left"):
        tf.autodiff.explain_nan(losses[0], w)
    assert tf.autodiff.explain(losses[0], w).connected
    assert [tf.autodiff.explain_nan(loss, w).code for loss in losses[1:]] == ["inf_origin"] * 4


def test_after_many_calls_of_a_function_values_of_its_last_one_are_kept():
    """A call of another function does not change that."""
    w = tf.Variable([0.0])
    step, other = root(w), root(w)
    other(tf.constant(1.0))
    losses = [step(tf.constant(1.0))[0] for _ in range(transcript.MANY + 2)]
    with pytest.raises(RuntimeError, match="no record is left"):
        tf.autodiff.explain_nan(losses[-2], w)
    second, _ = other(tf.constant(1.0))
    third, _ = other(tf.constant(1.0))
    assert [tf.autodiff.explain_nan(loss, w).code for loss in (losses[-1], second, third)] == ["inf_origin"] * 3


def test_values_of_a_large_call_are_kept_if_that_was_asked_for():
    w = tf.Variable(tf.zeros([transcript.SMALL // 4 + 1]))
    step = root(w)
    argument = tf.constant(1.0)
    loss, _ = step(argument)
    with pytest.raises(RuntimeError, match="keep_last_step"):
        tf.autodiff.explain_nan(loss, w)
    tf.config.keep_last_step(True)
    loss, _ = step(argument)
    assert tf.autodiff.explain_nan(loss, w).code == "inf_origin"
    tf.config.keep_last_step(False)
    with pytest.raises(RuntimeError, match="keep_last_step"):
        tf.autodiff.explain_nan(loss, w)


def test_what_is_kept_of_calls_holds_no_variable_and_no_function():
    w = tf.Variable(tf.zeros([3]))
    step = root(w)
    step(tf.constant(1.0))
    gone = weakref.ref(w), weakref.ref(step)
    del w, step
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_clearing_the_cache_lets_go_of_values():
    w = tf.Variable([0.0])
    loss, _ = root(w)(tf.constant(1.0))
    tf.config.clear_cache()
    with pytest.raises(RuntimeError, match="no record is left"):
        tf.autodiff.explain_nan(loss, w)


def test_a_gradient_that_is_none_is_asked_about_as_the_target():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = tf.floor(w)
    dw = tape.gradient(loss, w)
    assert tf.autodiff.explain(dw, w).code == "not_differentiable"


def test_the_report_of_a_script_has_the_gradients_inside_of_functions():
    w, dead = tf.Variable([1.0]), tf.Variable([-1.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(w * x) + tf.nn.relu(dead))
        tape.gradient(loss, [w, dead])
        return loss / x

    with watching() as report:
        for _ in range(LOOKS + 2):
            step(tf.constant(1.0))
        step(tf.constant(0.0))  # 0 / 0: the result says that this call is to be looked into
    assert [(f.source, f.what, f.diagnosis.code, f.times) for f in report.findings] == [
        ("w", "NaN", "nan_origin", 1),
        ("dead", "zeros", "dead_relu", LOOKS + 1),
    ]
    assert all(f.call == "tape.gradient(loss, [w, dead])" for f in report.findings)


def test_a_tape_in_a_loop_over_a_dataset():
    w, dead = tf.Variable([1.0]), tf.Variable([-1.0])

    @tf.function
    def train(dataset):
        loss, total = tf.constant(0.0), tf.constant(0.0)
        for x in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.round(w) * x + tf.nn.relu(dead))  # <- unconnected
            dw, dz = tape.gradient(loss, [w, dead])
            total += loss if dw is None else tf.reduce_sum(dz)
        return loss, total / 2.0

    line = line_of("unconnected")
    with watching() as report:
        loss, total = train(tf.data.Dataset.from_tensor_slices([1.0, 2.0]))
    assert len(train._traced) == 1
    assert [(f.source, f.what, f.diagnosis.code, f.diagnosis.line) for f in report.findings] == [
        ("w", "None", "not_differentiable", line),
        ("dead", "zeros", "dead_relu", line),
    ]
    diagnosis = tf.autodiff.explain(loss, w)
    assert (diagnosis.code, diagnosis.line) == ("not_differentiable", line)
    assert tf.autodiff.explain(total, w).code == "not_differentiable"


class Parts(tf.Module):
    def __init__(self):
        self.used, self.idle = tf.Variable(1.0), tf.Variable(2.0)


PARTS = Parts()


def test_a_variable_is_named_by_the_users_code():
    """And not by a list of the function's variables that gradtape keeps."""

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = PARTS.used * x
        tape.gradient(loss, PARTS.trainable_variables)
        return loss

    with watching() as report:
        step(tf.constant(2.0))
    assert [f.source.startswith("scope") for f in report.findings] == [False]


def test_equal_gradients_in_two_functions_have_their_own_lines():
    inside_nans.a_branch()  # has a tape around w * x, too
    _, diagnosis = inside.a_second_derivative_of_a_line()
    assert diagnosis.code == "unused" and diagnosis.file.endswith("inside.py")
