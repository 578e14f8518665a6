"""`tf.gradients`, in a function or graph, has its reasons; so has a loss that is NaN while its gradients are finite."""

import logging

import numpy as np

import gradtape as tf
from gradtape._src.explain.report import watching


def test_gradients_in_a_function(caplog):
    w, b = tf.Variable(2.0), tf.Variable(1.0)

    @tf.function
    def step(x):
        held = tf.stop_gradient(w * x)
        return held, tf.gradients(held * held, [w, b])

    with caplog.at_level(logging.WARNING, "gradtape"):
        _, gradients = step(tf.constant(3.0))
    assert gradients == [None, None]
    assert "stopped: tf.stop_gradient in `held = tf.stop_gradient(w * x)`" in caplog.text
    assert tf.autodiff.explain(None, w).mend == "leave out `tf.stop_gradient`: `held = w * x`"
    assert tf.autodiff.explain(None, b).code == "unused"


def test_gradients_in_a_graph_are_in_the_report():
    with watching() as report, tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2])
        w = tf.compat.v1.get_variable("w", initializer=tf.ones([2]))
        loss = tf.reduce_sum(tf.round(w * x))
        assert tf.compat.v1.gradients(loss, [w]) == [None]
    (finding,) = report.findings
    assert (report.calls, finding.source, finding.diagnosis.code) == (1, "w", "not_differentiable")


def test_no_branch_behind_the_question_is_to_blame():
    with tf.Graph().as_default():
        w, v = tf.Variable(2.0), tf.Variable(3.0)
        loss = v * 2.0
        (gradient,) = tf.compat.v1.gradients(loss, [w])
        found = tf.autodiff.explain(loss, w)
        text = "" if gradient is None else w.name
    assert not text and found.code == "unused"


def test_a_loss_that_is_nan_while_the_gradients_are_finite():
    w, labels = tf.Variable([1.0, 2.0]), tf.constant([0, 0])
    with watching() as report:
        with tf.GradientTape() as tape:
            positive = tf.boolean_mask(w, labels == 1)
            loss = tf.reduce_mean(positive) + tf.reduce_sum(w**2)
        assert np.isfinite(tape.gradient(loss, w)).all() and np.isnan(loss)
    (finding,) = report.findings
    assert (finding.of, finding.what, finding.source, finding.diagnosis.code) == ("value", "NaN", "loss", "nan_origin")
    assert "`loss = tf.reduce_mean(positive) + tf.reduce_sum(w**2)`" in finding.diagnosis.cause
    assert "loss: the value is NaN" in str(report)


def test_an_infinite_mask_is_not_to_blame():
    w, mask = tf.Variable([[1.0, 2.0]]), tf.constant([[False, False]])
    with watching() as report:
        with tf.GradientTape() as tape:
            scores = tf.where(mask, w, -np.inf)
            shares = tf.nn.softmax(scores)
            loss = tf.reduce_sum(shares)
        tape.gradient(loss, w)
    assert "tf.nn.softmax in `shares = tf.nn.softmax(scores)`" in str(report)
