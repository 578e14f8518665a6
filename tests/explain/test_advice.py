"""The fix says what to write, in a program's own names."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.explain.diagnosis import by_cause
from tests.explain.programs import advice, fixes
from tests.explain.table import answers, check, programs_of


@pytest.mark.parametrize("program", [*programs_of(advice), *programs_of(fixes)])
def test_the_advice(program, count):
    ((gradient, diagnosis),) = answers(program)
    assert gradient is None or not np.any(gradient)
    check(program, diagnosis)
    assert (advice.ADVICE | fixes.ADVICE)[program.__name__] in f"{diagnosis.cause} {diagnosis.mend}", str(diagnosis)
    count("broken programs explained")


def test_a_root_that_another_function_takes():
    x = tf.Variable([0.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        norm = tf.norm(x)
        spread = tf.math.reduce_std(x)
    assert np.isnan(tape.gradient(norm, x)).all() and np.isnan(tape.gradient(spread, x)).all()
    assert "`tf.sqrt(tf.reduce_sum(tf.square(x)) + 1e-12)`" in tf.autodiff.explain_nan(norm, x).mend
    assert "`tf.sqrt(tf.math.reduce_variance(x) + 1e-12)`" in tf.autodiff.explain_nan(spread, x).mend


def test_one_cause_is_told_once_whichever_op_it_is_at():
    layer = tf.keras.layers.Dense(2)
    layer.build((None, 2))
    hidden = layer(tf.ones([3, 2]))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(hidden)
    tape.gradient(loss, layer.trainable_variables)
    found = tf.autodiff.explain(loss, layer.trainable_variables)
    assert [d.code for d in found] == ["outside_tape"] * 2 and found[0].op != found[1].op
    assert len(by_cause([(i, d) for i, d in enumerate(found)])) == 1


def test_a_variable_that_only_a_model_holds_has_its_path():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, name="first")])
    model.compile("sgd", lambda labels, scores: tf.reduce_mean(labels))
    with pytest.raises(ValueError, match=r"/first/kernel, \w+/first/bias: .* does not depend on \w+/first/kernel"):
        model.fit(np.ones([2, 3]), np.ones([2, 1]), verbose=0)
