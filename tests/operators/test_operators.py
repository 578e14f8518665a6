"""Linear operators: every kind computes what its dense matrix does, takes part in functions and nests, and is trained."""

import numpy as np
import pytest

import gradtape as tf

RNG = np.random.RandomState(0)
SQUARE = RNG.randn(2, 3, 3) + 3.0 * np.eye(3)
VECTOR = np.abs(RNG.randn(2, 3)) + 1.0
LOW = RNG.randn(3, 2)
COMPLEX = RNG.randn(2, 3) + 1j * RNG.randn(2, 3)
D, F, T = tf.linalg.LinearOperatorDiag, tf.linalg.LinearOperatorFullMatrix, tf.linalg.LinearOperatorLowerTriangular

KINDS = {
    "diagonal": lambda: D(VECTOR),
    "full": lambda: F(SQUARE),
    "definite": lambda: F(SQUARE @ SQUARE.transpose(0, 2, 1), is_self_adjoint=True, is_positive_definite=True),
    "triangular": lambda: T(SQUARE),
    "identity": lambda: tf.linalg.LinearOperatorIdentity(3, [2], tf.float64),
    "scaled identity": lambda: tf.linalg.LinearOperatorScaledIdentity(3, tf.constant([2.0, -3.0], tf.float64)),
    "product": lambda: tf.linalg.LinearOperatorComposition([D(VECTOR[0]), T(SQUARE)]),
    "adjoint": lambda: tf.linalg.LinearOperatorAdjoint(F(SQUARE)),
    "inverse": lambda: tf.linalg.LinearOperatorInversion(F(SQUARE, is_non_singular=True)),
    "blocks": lambda: tf.linalg.LinearOperatorBlockDiag([D(VECTOR[0]), F(SQUARE)]),
    "blocks below": lambda: tf.linalg.LinearOperatorBlockLowerTriangular([[D(VECTOR[0, :2])], [F(LOW), F(SQUARE)]]),
    "kronecker": lambda: tf.linalg.LinearOperatorKronecker([F(SQUARE[0, :2, :2]), F(SQUARE)]),
    "reflection": lambda: tf.linalg.LinearOperatorHouseholder(VECTOR),
    "permutation": lambda: tf.linalg.LinearOperatorPermutation([2, 0, 1], tf.float64),
    "toeplitz": lambda: tf.linalg.LinearOperatorToeplitz([3.0, 1.0, 2.0], [3.0, 0.5, 0.25]),
    "three diagonals": lambda: tf.linalg.LinearOperatorTridiag(SQUARE),
    "update": lambda: tf.linalg.LinearOperatorLowRankUpdate(D(VECTOR, is_positive_definite=True), LOW, VECTOR[:, :2]),
    "circulant": lambda: tf.linalg.LinearOperatorCirculant(COMPLEX, input_output_dtype=tf.complex128),
    "circulant 2": lambda: tf.linalg.LinearOperatorCirculant2D(COMPLEX, input_output_dtype=tf.complex128),
}


def matrix_of(operator):
    """The matrix by products with the columns of the identity."""
    return operator.matmul(np.eye(operator.domain_dimension, dtype=operator.dtype.as_numpy_dtype)).numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_kind_computes_what_its_matrix_does(kind):
    operator = KINDS[kind]()
    dense = operator.to_dense().numpy()
    rows = dense.shape[-1]
    x = np.arange(2.0 * rows).reshape(rows, 2).astype(dense.dtype)
    turned = np.conj(np.swapaxes(dense, -1, -2))
    near = {"rtol": 1e-5, "atol": 1e-5}
    assert operator.shape.as_list() == operator.shape_tensor().numpy().tolist() == list(dense.shape)
    np.testing.assert_allclose(np.broadcast_to(matrix_of(operator), dense.shape), dense, **near)
    np.testing.assert_allclose(operator.matmul(x, adjoint=True), turned @ x, **near)
    np.testing.assert_allclose(operator.matvec(x[:, 1]), (dense @ x)[..., 1], **near)
    np.testing.assert_allclose(operator.solve(x), np.linalg.inv(dense) @ x, **near)
    np.testing.assert_allclose(operator.solvevec(x[:, 1], adjoint=True), (np.linalg.inv(turned) @ x)[..., 1], **near)
    np.testing.assert_allclose(operator.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1), **near)
    np.testing.assert_allclose(operator.trace(), np.trace(dense, axis1=-2, axis2=-1), **near)
    np.testing.assert_allclose(operator.determinant(), np.linalg.det(dense), **near)
    np.testing.assert_allclose(operator.log_abs_determinant(), np.log(np.abs(np.linalg.det(dense))), **near)
    np.testing.assert_allclose(operator.H.to_dense(), turned, **near)
    np.testing.assert_allclose(operator.inverse().to_dense(), np.linalg.inv(dense), **near)
    np.testing.assert_allclose(operator.add_to_tensor(dense), 2 * dense, **near)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("permutation", "toeplitz", "identity")])
def test_kind_is_made_once_more_of_its_tensors_and_sliced(kind):
    operator = KINDS[kind]()
    parts = tf.nest.flatten(operator, expand_composites=True)
    again = tf.nest.pack_sequence_as(operator, parts, expand_composites=True)
    assert type(again) is type(operator) and all(tf.is_tensor(part) for part in parts)
    np.testing.assert_array_equal(again.to_dense(), operator.to_dense())
    if operator.batch_shape.rank:
        np.testing.assert_allclose(operator[1:].to_dense(), operator.to_dense()[1:])
        np.testing.assert_allclose(operator[0].to_dense(), operator.to_dense()[0])


def test_functions_and_loops_take_and_return_operators():
    @tf.function
    def doubled(operator):
        _, result = tf.while_loop(lambda i, o: i < 2, lambda i, o: (i + 1, D(2.0 * o.diag)), (0, operator))
        return result

    assert doubled(D([1.0, 3.0])).diag.numpy().tolist() == [4.0, 12.0]


def test_a_variable_in_an_operator_is_trained():
    v = tf.Variable([1.0, 2.0])
    operator = D(v)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(operator.matvec([3.0, 4.0]))
    assert tape.gradient(y, operator.trainable_variables)[0].numpy().tolist() == [3.0, 4.0]
    v.assign([5.0, 6.0])
    assert operator.determinant().numpy() == 30.0


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (D([1.0, 2.0]), D([3.0, 4.0]), "Diag"),
        (tf.linalg.LinearOperatorIdentity(2), T([[1.0, 0.0], [2.0, 3.0]]), "LowerTriangular"),
        (D([1.0, 2.0]), T([[1.0, 0.0], [2.0, 3.0]]), "LowerTriangular"),
        (F([[1.0, 2.0], [3.0, 4.0]]), tf.linalg.LinearOperatorZeros(2), "Zeros"),
        (F([[1.0, 2.0], [3.0, 4.0]]), D([1.0, 2.0]), "Composition"),
    ],
)
def test_product_of_operators_has_the_simplest_kind(left, right, kind):
    product = left @ right
    assert type(product).__name__ == f"LinearOperator{kind}"
    np.testing.assert_allclose(product.to_dense(), left.to_dense() @ right.to_dense())


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: D(1.0), ValueError, "at least 1 dimension"),
        (lambda: F([[1.0, 2.0]]).determinant(), NotImplementedError, "expected to not be square"),
        (lambda: F([[1.0, 2.0]]).inverse(), ValueError, "non square matrix"),
        (lambda: F([[1.0, 2.0], [3.0, 4.0]]).cholesky(), ValueError, "Not a positive definite self adjoint matrix"),
        (lambda: F([[1.0, 2.0]]).matmul(F([[1.0, 2.0]])), ValueError, "Operators are incompatible"),
        (lambda: F([[1.0, 2.0]]).matvec([1.0]), ValueError, "Dimensions are not compatible"),
        (lambda: D([1.0]).matvec(np.ones(1)), TypeError, "Expected argument to have dtype"),
        (lambda: tf.linalg.LinearOperatorZeros(3).solvevec([1.0, 1.0, 1.0]), NotImplementedError, "expected to be singular"),
        (lambda: D([0.0, 1.0]).assert_non_singular(), tf.errors.InvalidArgumentError, "Diagonal contained zero values"),
        (
            lambda: F([[1.0, 2.0]], is_self_adjoint=True, is_square=False),
            ValueError,
            "self-adjoint or positive definite operator is",
        ),
        (lambda: tf.linalg.LinearOperatorZeros(2, 3), ValueError, "is_square=True, but got num_rows"),
        (lambda: tf.linalg.LinearOperatorZeros(2, batch_shape=[-2]), ValueError, "batch_shape must be non-negative"),
        (lambda: tf.linalg.LinearOperatorBlockLowerTriangular([[F([[1.0, 2.0]])]]), ValueError, "must be square"),
        (
            lambda: tf.linalg.LinearOperatorBlockLowerTriangular([[D([1.0])], [D([1.0]), D([1.0, 2.0])]]),
            ValueError,
            r"s\[1\]\[0\]",
        ),
        (lambda: tf.linalg.LinearOperatorComposition([F(LOW), F(LOW)]), ValueError, "Operators are incompatible"),
        (lambda: tf.linalg.LinearOperatorComposition([D([1.0])], is_self_adjoint=False), ValueError, "always self-adjoint"),
    ],
)
def test_error(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(
    ("product", "hints"),
    [
        (lambda: F(LOW) @ F(LOW.T), (None, None, None, True)),
        (lambda: (lambda low: low @ low.adjoint())(F(LOW)), (None, True, None, True)),
        (lambda: (lambda one: one.adjoint() @ one)(F(SQUARE[0], is_non_singular=True)), (True, True, True, True)),
        (lambda: (lambda one: one @ one)(F(SQUARE[0], is_self_adjoint=True)), (None, True, None, True)),
        (lambda: tf.linalg.LinearOperatorComposition([F(SQUARE[0], is_self_adjoint=True)]), (None, True, None, True)),
        (lambda: F(SQUARE[0]) @ F(LOW), (False, False, False, False)),
    ],
)
def test_hints_of_a_product(product, hints):
    found = product()
    assert (found.is_non_singular, found.is_self_adjoint, found.is_positive_definite, found.is_square) == hints


@pytest.mark.parametrize("kind", ["zeros", "diag", "identity"])
@pytest.mark.parametrize(
    ("slices", "batch"),
    [([slice(1, None), ..., slice(0, 1)], [2, 1]), (0, [2]), ((..., 0), [3]), ((None, 0), [1, 2]), ([slice(1, -1)], [1, 2])],
)
def test_a_slice_of_the_batch(kind, slices, batch):
    kinds = {
        "zeros": lambda: tf.linalg.LinearOperatorZeros(4, batch_shape=[3, 2]),
        "identity": lambda: tf.linalg.LinearOperatorIdentity(4, batch_shape=[3, 2]),
        "diag": lambda: D(tf.ones([3, 2, 4])),
    }
    operator = kinds[kind]()
    chosen = operator[slices]
    assert type(chosen) is type(operator) and chosen.shape == chosen.to_dense().shape == [*batch, 4, 4]


def test_an_inverse_of_unknown_size_in_a_function():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def inverse(matrix):
        operator = F(matrix, is_non_singular=True).inverse()
        assert operator.shape.as_list() == [None, None]
        return operator.to_dense(), operator.trace()

    dense, trace = inverse([[2.0, 1.0], [1.0, 5.0]])
    np.testing.assert_allclose(dense, [[5 / 9, -1 / 9], [-1 / 9, 2 / 9]], rtol=1e-6)
    np.testing.assert_allclose(trace, 7 / 9, rtol=1e-6)


@pytest.mark.parametrize("shape", [None, [None, None]])
def test_an_inverse_of_unknown_size_in_a_graph(shape):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        matrix = tf.compat.v1.placeholder(tf.float32, shape)
        dense = F(matrix, is_non_singular=True).inverse().to_dense()
        np.testing.assert_allclose(
            session.run(dense, {matrix: [[2.0, 1.0], [1.0, 5.0]]}), [[5 / 9, -1 / 9], [-1 / 9, 2 / 9]], rtol=1e-6
        )


def test_operators_are_added():
    from gradtape._src.operators.solvers import add_operators

    (total,) = add_operators([D([1.0, 2.0]), tf.linalg.LinearOperatorIdentity(2)])
    assert type(total) is D and total.diag.numpy().tolist() == [2.0, 3.0]
    (total,) = add_operators([D([1.0, 2.0]), F([[1.0, 2.0], [3.0, 4.0]])])
    assert total.to_dense().numpy().tolist() == [[2.0, 2.0], [3.0, 6.0]]


class Doubled(tf.linalg.LinearOperator):
    """An operator of a user's, in TensorFlow's form."""

    def _shape(self):
        return tf.TensorShape([2, 2])

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        assert not adjoint_arg
        return 2.0 * x


def test_an_operator_of_ones_own_is_given_adjoints():
    operator, x = Doubled(tf.complex64), np.array([[1j, 2.0]], np.complex64)
    np.testing.assert_array_equal(operator.matmul(x, adjoint_arg=True), 2 * x.conj().T)
    np.testing.assert_allclose(operator.solve(x, adjoint_arg=True), x.conj().T / 2)
    np.testing.assert_array_equal(operator.to_dense(), 2 * np.eye(2))


def test_blocks_that_are_not_square_make_a_singular_matrix():
    blocks = tf.linalg.LinearOperatorBlockDiag([F(LOW), F(LOW.T)])
    assert blocks.determinant().numpy() == 0.0 and blocks.log_abs_determinant().numpy() == -np.inf
    for operator in (blocks, tf.linalg.LinearOperatorKronecker([F(LOW), F(LOW.T)])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Singular matrix"):
            operator.assert_non_singular()


def test_the_gradient_of_a_permutation_is_dense():
    x = tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.linalg.LinearOperatorPermutation([2, 0, 1]).matmul(x) * [[1.0], [2.0], [3.0]])
    assert tape.gradient(y, x).numpy().ravel().tolist() == [2.0, 3.0, 1.0]


@pytest.mark.parametrize("kind", ["definite", "identity"])
def test_functions_of_matrices_take_operators(kind):
    operator = KINDS[kind]()
    dense, x = operator.to_dense(), tf.constant(SQUARE)

    def array(value):
        return (value.to_dense() if isinstance(value, tf.linalg.LinearOperator) else value).numpy()

    linalg = tf.linalg
    for function in (linalg.adjoint, linalg.cholesky, linalg.diag_part, linalg.trace, linalg.det, linalg.logdet, linalg.inv):
        np.testing.assert_allclose(array(function(operator)), array(function(dense)), rtol=1e-6, err_msg=function.__name__)
    for function in (
        lambda a: tf.matmul(a, x),
        lambda a: tf.matmul(x, a, adjoint_a=True),
        lambda a: tf.matmul(a, a, adjoint_b=True),
        lambda a: linalg.matvec(a, x[..., 0]),
        lambda a: linalg.solve(a, x),
        tf.function(lambda a: linalg.matmul(a, x) + linalg.inv(x, adjoint=True)),
    ):
        np.testing.assert_allclose(array(function(operator)), array(function(dense)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(linalg.det(input=operator), linalg.det(dense), rtol=1e-6)
    with pytest.raises(ValueError, match="Transposing not supported at this time"):
        tf.matmul(operator, x, transpose_a=True)
    with pytest.raises(ValueError, match="Transposing not supported at this time"):
        linalg.matvec(operator, x[..., 0], transpose_a=True)
    with pytest.raises(ValueError, match="`rhs` as a LinearOperator is not supported"):
        linalg.solve(x, operator)
