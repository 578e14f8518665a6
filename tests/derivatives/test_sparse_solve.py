"""Sparse systems solved: values, derivatives to third order in both modes, patterns in files."""

import numpy as np
import pytest

import gradtape as tf

own = tf.autodiff
N = 7
X, R = tf.constant(np.linspace(1.0, 2.0, N)), tf.constant(np.arange(1.0, N + 1))
ALONG = tf.constant(np.cos(np.arange(N)))


def f(x):
    return 2.0 * x**3 + tf.roll(x, 1, 0) * x - tf.roll(x, -1, 0)


def dense(x, r):
    return tf.linalg.solve(own.jacrev(f, x), r[:, None])[:, 0]


def derivative(function, modes):
    for mode in reversed(modes):
        function = reverse(function) if mode == "r" else forward(function)
    return function


def reverse(function):
    def slope(t):
        with tf.GradientTape() as tape:
            tape.watch(t)
            y = function(t)
        return tape.gradient(y, t)

    return slope


def forward(function):
    def slope(t):
        with own.ForwardAccumulator(t, tf.ones_like(t)) as accumulator:
            y = function(t)
        return accumulator.jvp(y)

    return slope


def matrix_at(x):
    """A linear function with the Jacobian of `f` at `x` as its matrix."""
    return lambda p: (6.0 * x**2 + tf.roll(x, 1, 0)) * p + tf.roll(p, 1, 0) * x - tf.roll(p, -1, 0)


PATTERN = own.jacobian_sparsity(f, X)
SOLVERS = {
    "sparse_solve": lambda x, r: own.sparse_solve(f, x, r),
    "linear_solve": lambda x, r: own.linear_solve(matrix_at(x), r, PATTERN),
}


@pytest.mark.parametrize("modes", ["", "r", "f", "rr", "fr", "rf", "ff", "rrr"])
@pytest.mark.parametrize("name", SOLVERS)
def test_orders(name, modes):
    """Along a line through x and r at once, against the dense matrix."""

    def along(solve):
        return derivative(lambda t: tf.reduce_sum(tf.sin(solve(X + t * ALONG, R * (1.0 + t)))), modes)

    t = tf.constant(0.1, tf.float64)
    expected = along(dense)(t)
    np.testing.assert_allclose(along(SOLVERS[name])(t), expected, 1e-9)
    np.testing.assert_allclose(tf.function(along(SOLVERS[name]))(t), expected, 1e-9)


def test_in_a_loop_a_map_and_float32():
    @tf.function
    def newton(x):
        for _ in tf.range(12):
            x += own.sparse_solve(lambda x: f(x) - R, x, R - f(x), PATTERN)
        return x

    np.testing.assert_allclose(f(newton(X)), R, 1e-12)
    mapped = tf.vectorized_map(lambda scale: own.sparse_solve(f, scale * X, R), tf.constant([1.0, 2.0], tf.float64))
    np.testing.assert_allclose(mapped[1], dense(2.0 * X, R), 1e-12)
    np.testing.assert_allclose(own.sparse_solve(f, tf.cast(X, tf.float32), tf.cast(R, tf.float32)), dense(X, R), 1e-4)


def test_a_root_by_sparse_factors_has_the_derivatives_of_the_dense_one():
    def found(pattern):
        def of(a):
            return tf.reduce_sum(own.root(lambda z: f(z) - a * R, X, pattern=pattern) ** 2)

        return of

    a = tf.constant(2.0, tf.float64)
    for modes in ("", "r", "rr", "fr"):
        expected = derivative(found(None), modes)(a)
        np.testing.assert_allclose(derivative(found(PATTERN), modes)(a), expected, 1e-9)


def test_a_large_system_has_gradients_to_what_the_function_uses():
    n = 20_000
    w = tf.Variable(3.0, dtype=tf.float64)
    x = tf.constant(np.linspace(1.0, 2.0, n))
    with tf.GradientTape() as tape:
        p = own.sparse_solve(lambda x: w * x + tf.roll(x, 1, 0), x, tf.ones_like(x))
        total = tf.reduce_sum(p)
    np.testing.assert_allclose(p, np.full(n, 0.25))
    np.testing.assert_allclose(tape.gradient(total, w), -n / 16.0)


def test_nests():
    found = own.sparse_solve(lambda d: {"a": d["a"] ** 2 + d["b"], "b": 3.0 * d["b"]}, {"a": X, "b": R}, {"a": X, "b": R})
    np.testing.assert_allclose(found["b"], R / 3.0)
    np.testing.assert_allclose(found["a"], (X - R / 3.0) / (2.0 * X), 1e-12, 1e-12)


none = tf.errors.InvalidArgumentError, "sparse_solve found no solution: the Jacobian is singular"


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: own.sparse_solve(lambda x: x[:1] + 0.0 * x, X, R), *none),
        (lambda: own.sparse_solve(lambda x: 0.0 * x, X, R), *none),
        (lambda: own.sparse_solve(tf.stop_gradient, X, R), *none),
        (lambda: own.sparse_solve(f, X * np.nan, R), *none),
        (lambda: own.sparse_solve(f, X, R, own.jacobian_sparsity(tf.sin, X)), *none),
        (lambda: tf.function(own.sparse_solve)(f, X, R, own.jacobian_sparsity(tf.sin, X)), *none),
        (lambda: own.sparse_solve(f, X, R, own.jacobian_sparsity(tf.sin, X[1:])), ValueError, r"of shape \(6, 6\)"),
        (lambda: own.root(f, X, pattern=own.jacobian_sparsity(tf.sin, X[1:])), ValueError, r"of shape \(6, 6\)"),
        (lambda: own.linear_solve(tf.identity, R, 3), TypeError, "pattern must come from tf.autodiff.jacobian_sparsity"),
        (lambda: own.sparse_solve(f, X, R[1:]), ValueError, "an r like x: x has 7 elements of float64, r 6 of float64"),
        (lambda: own.sparse_solve(f, X, tf.cast(R, tf.float32)), ValueError, "r 7 of float32"),
        (lambda: own.sparse_solve(tf.reduce_sum, X, R), ValueError, "its result: leaf 0 has shape"),
        (lambda: own.sparse_solve(3, X, R), TypeError, "takes a function, received 3"),
        (lambda: own.sparse_solve(lambda x: x * float(x[0]), X, R), NotImplementedError, "looks at values"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def energy(x):
    return tf.reduce_sum(x[0] * x**2)


PATTERNS = {
    "forward": lambda: PATTERN,
    "reverse": lambda: own.jacobian_sparsity(lambda x: x[1:] * x[0], X, "reverse"),
    "symmetric": lambda: own.hessian_sparsity(energy, X),
}


@pytest.mark.parametrize("find", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_in_a_file(find, tmp_path):
    pattern, path = find(), tmp_path / "pattern.npz"
    pattern.save(path)
    loaded = own.Sparsity.load(path)
    assert repr(loaded) == repr(pattern)
    for name in ("rows", "columns", "colours", "places"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(pattern, name))
    if pattern.mode == "symmetric":
        np.testing.assert_array_equal(
            own.sparse_hessian(energy, X, loaded, "dense"), own.sparse_hessian(energy, X, format="dense")
        )


def changed(**parts):
    def write(path):
        PATTERN.save(path)
        with np.load(path) as kept:
            np.savez(path, **{**kept, **parts})

    return write


@pytest.mark.parametrize(
    "write, message",
    [
        (lambda path: path.write_bytes(b"no file of this kind"), "holds no sparsity pattern"),
        (lambda path: path.write_bytes(b""), "holds no sparsity pattern"),
        (lambda path: np.savez(path, rows=[1]), "shape is not a file"),
        (lambda path: np.savez(path, shape=np.array([{}], object)), "allow_pickle=False"),
        (changed(rows=np.arange(3)), "do not belong together"),
        (changed(mode="sideways"), "do not belong together"),
        (changed(shape=np.array([N, N - 1])), "outside of its shape"),
        (changed(colours=np.zeros(N, int)), "do not tell its entries apart"),
        (changed(colours=np.full(N, -1)), "outside of its shape"),
        (changed(colours=np.zeros(N)), "no integers"),
        (changed(columns=PATTERN.columns[::-1].copy()), "not sorted"),
        (changed(mode="symmetric", rows=np.array([0]), columns=np.array([1])), "not symmetric"),
    ],
)
def test_a_file_that_holds_none(write, message, tmp_path):
    path = tmp_path / "pattern.npz"
    write(path)
    with pytest.raises(ValueError, match=message):
        own.Sparsity.load(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="pattern"):
        own.Sparsity.load(tmp_path / "pattern.npz")
