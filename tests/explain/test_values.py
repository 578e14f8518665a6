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
