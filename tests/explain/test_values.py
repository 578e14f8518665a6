"""Gradients of zeros, NaN and infinity: the op at which they became that."""

import numpy as np
import pytest

import gradtape as tf
from tests.explain.programs import inside_nans, inside_zeros, nans, zeros
from tests.explain.table import answers, check, programs_of


def dense(gradient):
    return np.asarray(tf.convert_to_tensor(gradient), np.float64)


@pytest.mark.parametrize("program", programs_of(zeros, inside_zeros))
def test_a_gradient_of_zeros(program, count):
    ((gradient, diagnosis),) = answers(program)
    assert not dense(gradient).any()
    check(program, diagnosis)
    count("gradients of zeros explained")


@pytest.mark.parametrize("program", programs_of(nans, inside_nans))
def test_a_gradient_that_is_not_finite(program, count):
    found = answers(program)
    for gradient, diagnosis in found:
        assert np.isfinite(dense(gradient)).all() == diagnosis.connected
    check(program, next(diagnosis for _, diagnosis in found if not diagnosis.connected))
    count("gradients of NaN or infinity explained")


PROBES = {  # an op that no list names is asked itself what makes the zeros
    "scattered elsewhere": ("not_selected", lambda x: tf.scatter_nd([[0], [1], [2]], x, [5])[4]),
    "written over": ("not_selected", lambda x: tf.reduce_sum(tf.tensor_scatter_nd_update(x, [[0], [1], [2]], [5.0, 6.0, 7.0]))),
    "off the diagonal": ("not_selected", lambda x: tf.linalg.set_diag(tf.zeros([3, 3]), x)[0, 1]),
    "another segment": ("not_selected", lambda x: tf.math.unsorted_segment_sum(x, [0, 0, 1], 4)[3]),
    "no segment": ("not_selected", lambda x: tf.reduce_sum(tf.math.unsorted_segment_sum(x, [-1, -1, -1], 4))),
    "rolled away": ("not_selected", lambda x: tf.roll(tf.concat([x, [4.0]], 0), 1, 0)[0]),
    "a filter of zeros": (
        "zero_factor",
        lambda x: tf.reduce_sum(tf.nn.conv1d(tf.reshape(x, [1, 3, 1]), tf.zeros([2, 1, 1]), 1, "VALID")),
    ),
    "flat on both sides": ("saturated", lambda x: tf.reduce_sum(tf.math.erfc(x * 100.0))),
    "an exponential": ("underflow", lambda x: tf.reduce_sum(tf.exp(-x * 200.0))),
    "a hidden layer that is off": ("dead_relu", lambda x: tf.reduce_sum(tf.nn.relu(-x) * [-1.0, 1.0, 1.0])),
}


@pytest.mark.parametrize("code, compute", PROBES.values(), ids=PROBES)
def test_the_op_is_asked_and_not_its_name(code, compute):
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        y = compute(x)
    assert not dense(tape.gradient(y, x)).any()
    assert tf.autodiff.explain(y, x).code == code
