"""Sparse Jacobians: patterns, colours, and the same numbers as the dense ones."""

import numpy as np
import pytest
import scipy.sparse

import gradtape as tf
from gradtape import autodiff
from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.derivatives import ahead

random = np.random.default_rng(0)
X = tf.constant(random.normal(size=10))
A = random.normal(size=(10, 10)) * (random.uniform(size=(10, 10)) < 0.2)
PAIRS, BLOCK = np.arange(10) // 2, tf.constant(random.normal(size=(1, 1, 2, 1, 1)))
LINE, PLANE = tf.constant(random.normal(size=(3, 1, 2))), tf.constant(random.normal(size=(3, 2, 2, 2)))


def square(x):
    return tf.reshape(x, [2, 5])


@tf.function
def branch(x):
    return x * 2.0 if tf.reduce_sum(x) > 0.0 else x * x[::-1]


@tf.custom_gradient
def mixed(x):
    return x * 2.0, lambda dy: dy + tf.reduce_sum(dy)


def matrices(x):
    """Two of them, regular."""
    return tf.reshape(x[:8], [2, 2, 2]) + 3.0 * tf.eye(2, dtype=tf.float64)


def scaled(scale, x):
    return autodiff.eigenvalue_sum(lambda w: tf.exp(w * scale), x)


def slices(x):
    """The gradient of an energy whose elements are gathered."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.gather(x, [0, 1, 1, 2]) ** 4)
    return tf.convert_to_tensor(tape.gradient(y, x))


def trips(count):
    def step(i, y):
        return i + 1, tf.concat([y[:1], y[1:] * y[:-1]], 0)

    return tf.function(lambda x: tf.while_loop(lambda i, y: i < count, step, (0, x), maximum_iterations=count)[1])


@tf.function
def bounded(x):
    for _ in tf.range(2):
        x = tf.concat([x[:1], x[1:] * x[:-1]], 0)
    return x


# function, entries of the pattern, products
CASES = {
    "tridiagonal": (lambda x: x[2:] - 2.0 * x[1:-1] ** 2 + x[:-2] ** 2, 24, 3),
    "diagonal": (lambda x: tf.exp(x) * tf.sin(x), 10, 1),
    "gather": (lambda x: tf.gather(x, [0, 3, 2]) * tf.concat([x[:1], x[-2:]], 0) + tf.pad(x[:2], [[0, 1]]), 6, 1),
    "roll": (lambda x: tf.roll(x, 1, 0) * tf.reverse(x, [0]), 18, 2),
    "strides": (lambda x: x[::3] * tf.transpose(tf.reshape(x[:4], [2, 2]))[0, 1], 8, 2),
    "matvec": (lambda x: tf.linalg.matvec(A, tf.sin(x)), np.count_nonzero(A), None),
    "transposed matvec": (lambda x: tf.linalg.matvec(A, x, transpose_a=True), np.count_nonzero(A), None),
    "matrix from the right": (lambda x: square(x) @ tf.constant(np.eye(5)), 10, 1),
    "einsum": (lambda x: tf.einsum("ij,jk->ik", square(x), tf.constant(np.eye(5)[:, :3])), 6, 1),
    "product of both": (lambda x: square(x) @ tf.reshape(x, [5, 2]), 30, None),
    "sum": (lambda x: tf.reduce_sum(square(x) ** 2, 1), 10, 1),
    "cumulative": (lambda x: tf.cumsum(square(x), 1, reverse=True), 30, 5),
    "softmax": (lambda x: tf.nn.softmax(square(x)), 50, 5),
    "sort": (lambda x: tf.sort(square(x)), 50, 5),
    "maximum": (lambda x: tf.reduce_max(square(x), 1), 10, 1),
    "relu": (lambda x: tf.nn.relu(x) + tf.where(x > 0.1, x**2, x), 10, 1),
    "convolution": (lambda x: tf.nn.conv1d(tf.reshape(x, [1, 10, 1]), LINE, 1, "SAME"), 56, 3),
    "planes": (lambda x: tf.nn.conv2d(tf.tile(tf.reshape(x, [1, 10, 1, 1]), [1, 1, 3, 2]), PLANE, 2, "SAME"), 56, 3),
    "stack": (lambda x: tf.stack([x[:5], x[5:] ** 2], 1), 10, 1),
    "update": (lambda x: tf.tensor_scatter_nd_update(x, [[1]], [x[4]]), 10, 2),
    "unsorted sums": (lambda x: tf.math.unsorted_segment_sum(x[:9] ** 2, [0, 2, 2, -1, 0, 1, 1, 4, 4], 5), 8, 1),
    "segments": (lambda x: [tf.math.segment_mean(x, PAIRS), tf.math.segment_max(x * x, PAIRS)], 20, 2),
    "scatter": (lambda x: tf.scatter_nd([[1], [1], [0]], tf.reshape(x[:6], [3, 2]), [4, 2]), 6, 1),
    "scatter add": (lambda x: tf.tensor_scatter_nd_add(x, [[1], [4], [1]], tf.sin(x[:3])), 13, 3),
    "scatter by largest": (lambda x: tf.tensor_scatter_nd_max(x, [[1], [4], [1]], tf.sin(x[:3])), 13, 3),
    "gradient of a gather": (slices, 3, 1),
    "cholesky": (lambda x: tf.linalg.cholesky(tf.matmul(matrices(x), matrices(x), transpose_b=True)), 32, 4),
    "solve": (lambda x: tf.linalg.solve(matrices(x), tf.reshape(x[-4:], [2, 2, 1])), 24, None),
    "triangular solve": (lambda x: tf.linalg.triangular_solve(tf.reshape(x[:4], [2, 2]) + 3.0, matrices(x)), 48, None),
    "inverse": (lambda x: tf.linalg.inv(matrices(x)), 32, 4),
    "eigenvalues": (lambda x: tf.linalg.eigvalsh(matrices(x)), 16, None),
    "function of matrices": (lambda x: scaled(x[9], matrices(x)), 10, None),
    "batches and zeros": (lambda x: tf.matmul(matrices(x), tf.constant([[[1.0, 0.0], [0.0, 0.0]]] * 2, tf.float64)), 4, 1),
    "pools": (
        lambda x: [tf.nn.avg_pool1d(x[None, :, None], 3, 2, "SAME"), tf.nn.max_pool1d(x[None, :, None], 2, 2, "VALID")],
        24,
        4,
    ),
    "transposed convolution": (
        lambda x: tf.nn.conv1d_transpose(x[None, :, None], LINE[:2, :, :1], [1, 20, 1], 2, "VALID"),
        20,
        1,
    ),
    "volumes": (lambda x: tf.nn.conv3d(tf.reshape(x, [1, 1, 2, 5, 1]), BLOCK, [1] * 5, "VALID"), 16, 2),
    "stop_gradient": (lambda x: x * tf.reduce_sum(tf.stop_gradient(x) + tf.floor(x)), 10, 1),
    "recomputed": (lambda x: tf.recompute_grad(lambda y: y[1:] * y[:-1])(x), 18, 2),
    "custom gradient of elements": (lambda x: tf.custom_gradient(lambda y: (tf.exp(y), lambda dy: dy * tf.exp(y)))(x), 10, 1),
    "straight through": (lambda x: autodiff.straight_through(tf.round(x) * tf.reduce_sum(x), x[::-1]), 10, 1),
    "custom gradient": (mixed, 100, 10),
    "branch": (branch, 20, 2),
    "while": (trips(2), 27, 3),
    "scan": (bounded, 27, 3),
    "through integers": (lambda x: x * tf.cast(tf.cast(tf.reduce_sum(x), tf.int32), tf.float64), 10, 1),
    "nothing": (lambda x: tf.ones([3], tf.float64), 0, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_dense_jacobian(name):
    f, entries, products = CASES[name]
    dense = np.concatenate([np.reshape(d, [-1, 10]) for d in tf.nest.flatten(autodiff.jacrev(f, X))])
    found = autodiff.jacobian_sparsity(f, X)
    assert len(found.rows) == entries
    assert products is None or found.products <= products
    for mode in ("forward", "reverse"):
        pattern = autodiff.jacobian_sparsity(f, X, mode=mode)
        matrix = autodiff.sparse_jacobian(f, X, pattern)
        assert isinstance(matrix, scipy.sparse.csr_matrix)
        np.testing.assert_allclose(matrix.toarray(), dense, 1e-9, 1e-12)


def stencil(x):
    left, right = tf.pad(x[:-1], [[1, 0]]), tf.pad(x[1:], [[0, 1]])
    return left - 2.0 * x + right + tf.exp(x)


def test_formats():
    dense = autodiff.jacrev(stencil, X).numpy()
    coo = autodiff.sparse_jacobian(stencil, X, format="coo")
    assert isinstance(coo, scipy.sparse.coo_matrix) and coo.nnz == 28
    np.testing.assert_allclose(coo.toarray(), dense)
    np.testing.assert_allclose(autodiff.sparse_jacobian(lambda x: square(stencil(x)), X, format="dense"), dense.reshape(2, 5, 10))
    np.testing.assert_allclose(tf.sparse.to_dense(autodiff.sparse_jacobian(stencil, X, format="tensor")), dense)
    np.testing.assert_allclose(autodiff.sparse_jacobian(stencil, X, chunk_size=2).toarray(), dense)


def test_nests_and_variables():
    x, y, w = tf.constant(random.normal(size=4)), tf.constant(np.float32([0.5, 2.0])), tf.Variable(random.normal(size=[2, 3]))
    unused = tf.Variable([1.0])

    def f(pair, n):
        return {
            "a": w[0] * pair["x"][:3] * n,
            "b": [pair["x"] ** 2, tf.cast(pair["y"], tf.float64) * tf.reduce_sum(pair["x"][:1])],
        }

    args = ({"x": x, "y": y}, 3)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        result = f(*args)
    rows = [result["a"], *result["b"]]

    def dense(sources):
        blocks = [tape.jacobian(row, sources, unconnected_gradients="zero") for row in rows]
        return np.concatenate(
            [np.concatenate([np.reshape(b, [r.shape[0], -1]) for b in bs], 1) for r, bs in zip(rows, blocks, strict=True)]
        )

    for mode in ("forward", "reverse"):
        pattern = autodiff.jacobian_sparsity(f, args, mode)
        assert (pattern.shape, len(pattern.rows)) == ((9, 6), 3 + 4 + 2 + 2)
        np.testing.assert_allclose(autodiff.sparse_jacobian(f, args, pattern).toarray(), dense([x, y]), 1e-6)
        sources = [y, w, unused]
        pattern = autodiff.jacobian_sparsity(f, args, mode, sources)
        assert (pattern.shape, len(pattern.rows)) == ((9, 9), 3 + 2)
        found = autodiff.sparse_jacobian(f, args, pattern, "dense", sources=sources)
        np.testing.assert_allclose(found, dense(sources), 1e-6)


def test_a_pattern_used_again_in_a_function_and_differentiated():
    pattern = autodiff.jacobian_sparsity(stencil, X)

    @tf.function
    def matrix(x):
        return autodiff.sparse_jacobian(stencil, x, pattern, "dense")

    np.testing.assert_allclose(matrix(X), autodiff.jacrev(stencil, X), 1e-12)
    with tf.GradientTape() as tape:
        tape.watch(X)
        total = tf.reduce_sum(matrix(X))
    np.testing.assert_allclose(tape.gradient(total, X), np.exp(X.numpy()), 1e-12)


def bordered(x):
    """Return differences, a term that is not linear, and one element whose derivative is a constant."""
    u = tf.pad(x, [[1, 1]])
    return tf.concat([u[2:] - 2.0 * u[1:-1] + u[:-2] + tf.exp(x), 3.0 * x[:1]], 0)


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("f", [bordered, lambda x: 2.0 * x[1:] - x[:-1]], ids=["bordered", "linear"])
def test_what_only_depends_on_the_vectors_is_computed_as_a_function_is_traced(f, chunk_size, monkeypatch):
    programs = []
    monkeypatch.setattr(ahead, "call_vectorized", lambda *given: programs.append(given[0]) or call_vectorized(*given))
    taken = tf.function(lambda x: autodiff.sparse_jacobian(f, x, format="dense", chunk_size=chunk_size))
    for x in (X, 2.0 * X):
        np.testing.assert_allclose(taken(x), autodiff.jacrev(f, x), 1e-12, 1e-12)
    first, rest = [{key[0].type for key in program.keys} for program in programs]
    assert "StridedSlice" in first and not rest & {"StridedSliceGrad", "StridedSlice", "Pad"}
    assert ("Mul" in rest) is (f is bordered)


def test_a_gradient_that_is_indexed_slices():
    """The Hessian of an energy with a gather, whose gradient is IndexedSlices: dense for the matrix, slices for `jvp`."""

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.gather(x, [0, 1, 1, 2]) ** 4)
        return tape.gradient(y, x)

    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    np.testing.assert_allclose(autodiff.sparse_jacobian(gradient, x).toarray(), np.diag([12.0, 96.0, 108.0]))
    assert autodiff.sparse_jacobian(lambda x: [x, gradient(x)], x).shape == (6, 3)
    with autodiff.ForwardAccumulator(x, tf.constant([1.0, 1.0, 0.0], tf.float64)) as accumulator:
        slices = gradient(x)
    tangent = accumulator.jvp(slices)
    assert isinstance(tangent, tf.IndexedSlices)
    np.testing.assert_allclose(tf.convert_to_tensor(tangent), [12.0, 96.0, 0.0])


def test_large_and_never_dense():
    count = 10_000  # dense it would take 800 MB
    x = tf.constant(np.linspace(0.0, 1.0, count))
    pattern = autodiff.jacobian_sparsity(stencil, x)
    assert (pattern.shape, len(pattern.rows), pattern.products) == ((count, count), 3 * count - 2, 3)
    matrix = autodiff.sparse_jacobian(stencil, x)
    np.testing.assert_allclose(matrix.diagonal(), np.exp(x.numpy()) - 2.0)
    assert (matrix.diagonal(1) == 1.0).all() and (matrix.diagonal(-1) == 1.0).all() and matrix.nnz == 3 * count - 2


def test_columns_of_one_colour_share_no_row():
    def rows(x):
        return tf.linalg.matvec(A, x)

    for mode in ("forward", "reverse"):
        found = autodiff.jacobian_sparsity(rows, X, mode=mode)
        across, along = (found.columns, found.rows) if mode == "forward" else (found.rows, found.columns)
        met = set(zip(found.colours[across].tolist(), along.tolist(), strict=True))
        assert len(met) == len(found.rows)


def test_a_pattern_follows_the_values_of_constants():
    matrix = tf.Variable(A)

    def f(x):
        return tf.linalg.matvec(matrix, x)

    first = autodiff.sparse_jacobian(f, X)
    matrix.assign(np.roll(A, 3, 1))
    np.testing.assert_allclose(first.toarray(), A)
    np.testing.assert_allclose(autodiff.sparse_jacobian(f, X).toarray(), np.roll(A, 3, 1))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: autodiff.sparse_jacobian(3, X), TypeError, "first argument must be a function, received 3"),
        (
            lambda: autodiff.sparse_jacobian(tf.sin, tf.constant(1)),
            ValueError,
            "with respect to floating numbers, received int32",
        ),
        (lambda: autodiff.sparse_jacobian(tf.sin, tf.constant([1j])), ValueError, "floating numbers, received complex128"),
        (lambda: autodiff.sparse_jacobian(lambda x: [x, 1], X), ValueError, "f must return floating tensors; it returned"),
        (lambda: autodiff.sparse_jacobian(lambda: X, (), sources=[3]), TypeError, "sources are variables and tensors"),
        (lambda: autodiff.sparse_jacobian(lambda: X, ()), ValueError, "floating numbers, received nothing"),
        (lambda: autodiff.sparse_jacobian(tf.sin, X, format="csc"), ValueError, "format must be one of 'csr', .* received 'csc'"),
        (lambda: autodiff.sparse_jacobian(tf.sin, X, pattern=A), TypeError, "pattern must come from"),
        (
            lambda: autodiff.sparse_jacobian(tf.sin, X, autodiff.jacobian_sparsity(tf.sin, X[1:])),
            ValueError,
            r"pattern is for a Jacobian of shape \(9, 9\), and this one has shape \(10, 10\)",
        ),
        (
            lambda: autodiff.sparse_jacobian(stencil, X, autodiff.jacobian_sparsity(tf.sin, X)),
            tf.errors.InvalidArgumentError,
            "pattern misses entries of this Jacobian: in .* of 10 rows, the first of them row 0",
        ),
        (
            lambda: autodiff.sparse_jacobian(tf.sin, X, autodiff.jacobian_sparsity(tf.zeros_like, X)),
            tf.errors.InvalidArgumentError,
            "pattern misses entries of this Jacobian: in 10 of 10",
        ),
        (
            lambda: autodiff.jacobian_sparsity(tf.sin, X, mode="up"),
            ValueError,
            "mode must be one of 'forward', 'reverse', .* received 'up'",
        ),
        (
            lambda: autodiff.jacobian_sparsity(lambda x: x if float(x[0]) > 0 else -x, X),
            NotImplementedError,
            "f cannot be traced: .* Take tf.autodiff.jacrev",
        ),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("format", ["dense", "tensor"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_stated_pattern_is_checked_in_a_function(format, mode):
    good, bad = [autodiff.jacobian_sparsity(f, X, mode) for f in (stencil, tf.sin)]

    def values(x, pattern):
        matrix = autodiff.sparse_jacobian(stencil, x, pattern, format)
        return matrix if format == "dense" else matrix.values

    inside = tf.function(values)
    assert inside(X, good).shape == values(X, good).shape
    np.testing.assert_allclose(inside(X, good), values(X, good))
    with pytest.raises(tf.errors.InvalidArgumentError, match="pattern misses entries of this Jacobian: in "):
        inside(X, bad)

    @tf.function
    def looped(x):
        total = tf.constant(0.0, x.dtype)
        for _ in tf.range(2):
            total += tf.reduce_sum(values(x, bad))
        return total

    with pytest.raises(tf.errors.InvalidArgumentError, match="pattern misses entries of this Jacobian"):
        looped(X)
