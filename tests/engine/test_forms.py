"""Programs that differ in extents only share their form, and what is derived from it."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import engine, slices, tiers
from gradtape._src.core.programs.program import Program, verify


def sliced(rows, wide=True):
    """Return the Program for the pending trace of a few ops, and the value that it gives."""
    engine.flush()
    x = tf.constant(np.arange(3 * rows, dtype=np.float32).reshape(rows, 3) / rows)
    w = tf.constant(np.ones((3, 2) if wide else (2, 3), np.float32))
    unused = tf.exp(x)
    y = tf.reduce_sum(tf.tanh(tf.matmul(x, w, transpose_b=not wide)) * 2.0, 1)
    z = y + tf.reshape(tf.zeros([rows]), [-1])
    del unused
    _, variant = slices.of(engine.local.trace)
    return variant.program, z.numpy(), 2 * 2 * np.tanh(np.arange(3 * rows, dtype=np.float32).reshape(rows, 3).sum(1) / rows)


def test_new_extents_take_the_slice_of_the_form():
    first, *_ = sliced(5)
    for rows in (6, 7, 400):
        program, value, expected = sliced(rows)
        assert program is not first and program.form is first.form and program.ends is first.ends
        assert program.lines == first.lines and program.outputs == first.outputs
        verify(program)
        np.testing.assert_allclose(value, expected, rtol=1e-6)
    other, value, expected = sliced(6, wide=False)
    assert other.form is not first.form, "an attribute that is no number differs"
    np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize("rows", [3, 5000, 1_000_000])
def test_costs_are_those_of_a_program_by_itself(rows):
    first, *_ = sliced(5)
    tiers.costs(first, "cpu")
    program, *_ = sliced(rows)
    alone = Program(program.keys, program.avals, program.parameters, program.outputs, (), program.lines)
    assert alone.form is not program.form is first.form
    shared, own = tiers.costs(program, "cpu"), tiers.costs(alone, "cpu")
    assert (shared.hosted, shared.kernels) == (own.hosted, own.kernels)
    assert (shared.own, shared.least) == pytest.approx((own.own, own.least))
    assert all(own.hosted) is (rows < 1_000_000), "large values are left to compiled kernels"


def test_whether_a_loop_may_run_for_ever_is_not_of_the_form():
    def looped(most):
        f = tf.function(lambda x: tf.while_loop(lambda x: x < 3.0, lambda x: [x * 2.0], [x], maximum_iterations=most)[0])
        return f.get_concrete_function(tf.TensorSpec([])).program

    first, other = looped(5), looped(1 << 40)
    same = Program(other.keys, other.avals, other.parameters, other.outputs, like=first)
    assert same.form is first.form and (first.endless, same.endless) == (False, True)
