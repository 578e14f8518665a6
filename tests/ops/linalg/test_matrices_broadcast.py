"""Right-hand sides beside batches of factors, and real eigenvalues of complex matrices. Numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape as tf


def test_lu_solve_takes_one_right_hand_side_for_all_matrices():
    factors, order = tf.linalg.lu([[[1.0, 2.0], [3.0, 4.0]], [[7.0, 8.0], [3.0, 4.0]]])
    x = tf.linalg.lu_solve(factors, order, tf.ones([2, 1]))
    np.testing.assert_allclose(x, [[[-1.0], [1.0]], [[-1.0], [1.0]]], rtol=1e-5)
    with pytest.raises(ValueError, match="must equal `perm"):
        tf.linalg.lu_solve(factors[0], [0], tf.ones([2, 1]))


def test_eigenvalues_of_a_complex_tridiagonal_matrix_are_real():
    values = tf.linalg.eigh_tridiagonal(np.complex64([1, 2, 3]), np.complex64([1j, 2]))
    assert values.dtype == tf.float32
    np.testing.assert_allclose(values, [-0.14510271, 1.4760234, 4.669079], rtol=1e-5)


def test_the_tolerance_of_a_rank_broadcasts_with_the_singular_values():
    assert tf.linalg.matrix_rank(tf.linalg.diag([0.1, 0.2, 0.3]), [[0.09], [0.19], [0.29], [0.31]]).numpy().tolist() == [
        3,
        2,
        1,
        0,
    ]


def test_eigenvectors_of_a_hermitian_tridiagonal_matrix_whose_superdiagonal_is_given():
    alpha, beta = np.array([1.0, 2.0, 3.0, -1.0]), np.array([1 + 1j, 2 - 1j, 0.5j])
    matrix = np.diag(alpha) + np.diag(beta, 1) + np.diag(beta.conj(), -1)
    values, vectors = tf.linalg.eigh_tridiagonal(tf.constant(alpha, tf.complex128), beta, eigvals_only=False)
    np.testing.assert_allclose(values, [-1.134472, -0.533255, 1.645768, 5.021958], atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-12)


@pytest.mark.parametrize(
    "ends, expected",
    [((1.0, 3.0), [1, 2, 3]), ((2.0, 3.0), [2, 3]), ((1.5, 2.5), [2]), ((0.0, 1.0), [1]), ((4.0, 9.0), [4]), ((5.0, 9.0), [])],
)
def test_eigenvalues_in_an_interval_count_at_both_its_ends(ends, expected):
    values = tf.linalg.eigh_tridiagonal([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0], select="v", select_range=ends)
    np.testing.assert_allclose(values, expected, rtol=1e-6)
