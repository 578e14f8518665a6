"""Functions of matrices by their spectra have exact derivatives, at equal and near eigenvalues too, in any mode and order."""

import numpy as np
import pytest

import gradtape as tf

own = tf.autodiff
RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
ALONG = tf.constant((lambda e: e + e.T)(RNG.standard_normal((4, 4))))
PHASES = np.exp(1j * np.arange(4.0))
SWAP = tf.constant([[0.0, 1.0], [1.0, 0.0]], tf.float64)
TURN = tf.constant([[0.0, 1.0], [-1.0, 0.0]], tf.float64)
ONE = tf.eye(2, dtype=tf.float64)


def fifth(a):
    squared = tf.matmul(a, a)
    return tf.matmul(tf.matmul(squared, squared), a)


# Functions of numbers, beside what computes the same function of a matrix without eigenvalues.
PAIRS = {
    "exp": (tf.exp, tf.linalg.expm),
    "reciprocal": (tf.math.reciprocal, tf.linalg.inv),
    "fifth power": (lambda w: w**5, fifth),
    "sqrt": (tf.sqrt, tf.linalg.sqrtm),
}


def matrix(gap):
    """A matrix with two pairs of eigenvalues that are so near."""
    values = np.array([1.0, 1.0 + gap, 2.0, 2.0 + 3.0 * gap])
    return tf.constant((lambda a: (a + a.T) / 2.0)((BASIS * values) @ BASIS.T))


def nth(f, modes, x=0.0):
    """The derivative of a function of a number by nested tapes (r) and accumulators (f)."""

    def derivative(x, modes):
        if not modes:
            return f(x)
        if modes[0] == "r":
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = derivative(x, modes[1:])
            return tape.gradient(y, x)
        with own.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = derivative(x, modes[1:])
        return accumulator.jvp(y)

    return float(derivative(tf.constant(x, tf.float64), modes))


@pytest.mark.parametrize("gap", [0.0, 1e-13, 1e-9, 1e-4, 1e-2, 0.1, 0.7])
@pytest.mark.parametrize("name", PAIRS)
def test_three_orders_at_any_gap(name, gap):
    f, of_matrix = PAIRS[name]
    a = matrix(gap)
    for modes in ["", "r", "fr", "rrr"] if gap in (0.0, 0.1) else ["f", "rr"]:
        found = nth(lambda t: own.eigenvalue_function(f, a + t * ALONG)[0, 1], modes)
        np.testing.assert_allclose(found, nth(lambda t: of_matrix(a + t * ALONG)[0, 1], modes), 1e-9, err_msg=modes)


@pytest.mark.parametrize("modes", ["r", "f", "rrr", "fff", "frf"])
def test_the_logarithm_at_the_identity(modes):
    """(log(1 + t) − log(1 − t)) / 2. By `eigh` the first is NaN or 0, as in TensorFlow."""
    found = nth(lambda t: own.eigenvalue_function(tf.math.log, ONE + t * SWAP)[0, 1], modes)
    np.testing.assert_allclose(found, {1: 1.0, 3: 2.0}[len(modes)], 1e-13)


@pytest.mark.parametrize(
    "f, modes, expected",
    [
        (lambda t: own.eigenvalue_sum(tf.square, ONE + t * SWAP), "rr", 4.0),
        (lambda t: own.eigenvalue_sum(lambda w: w**3, ONE + t * SWAP), "fr", 12.0),
        (lambda t: own.eigenvalue_sum(lambda w: w**4, ONE + t * SWAP + t**2 * TURN), "rrr", -144.0),
        (lambda t: own.singular_value_sum(tf.square, ONE + t * SWAP), "rf", 4.0),
        (lambda t: own.singular_value_sum(tf.identity, (ONE + t * TURN)), "rr", 2.0),
        (lambda t: own.singular_value_sum(tf.square, tf.concat([ONE + t * SWAP, t * ONE], 0)), "rr", 8.0),
        (lambda t: own.singular_value_function(tf.ones_like, ONE + t * TURN)[0, 1], "r", 1.0),
        (lambda t: own.singular_value_function(tf.ones_like, ONE + t * TURN)[0, 1], "rfr", -3.0),
        (lambda t: own.singular_value_function(lambda s: s**3, tf.concat([ONE + t * TURN, 0.0 * ONE], 1))[0, 1], "r", 1.0),
    ],
    ids=["Σw²", "Σw³", "Σw⁴", "Σs²", "Σs", "Σs², tall", "polar", "polar, third", "cube, wide"],
)
def test_closed_forms_at_equal_values(f, modes, expected):
    """Polar: t / √(1 + t²). U s³ Vᴴ = A Aᴴ A. Σw⁴ = 2 + 12 u² + 2 u⁴ with u = t − t², as the lower triangle is read."""
    np.testing.assert_allclose(nth(f, modes), expected, 1e-12, 1e-12)


def test_fermi_levels_keep_their_digits_beside_a_gap():
    """A steep function, of which the derivatives lose digits, at eigenvalues that differ by rounding; numbers of mpmath."""

    def f(t):
        return own.eigenvalue_function(lambda w: tf.sigmoid((1.5 - w) / 0.05), matrix_2(1e-14) + t * SWAP)[0, 0]

    np.testing.assert_allclose(nth(f, "rr"), 2.0 * -0.00907833719802, 1e-9)


def matrix_2(gap):
    return tf.constant([[1.0, 0.0], [0.0, 1.0 + gap]], tf.float64)


@pytest.mark.parametrize("gap", [1e-12, 1e-3, 1.0])
def test_a_step_between_eigenvalues_is_seen(gap):
    """The projector on the lower eigenvector: its derivative is a quotient by the gap."""
    a = matrix_2(gap)

    def step(w):
        return tf.cast(w < 1.0 + 0.5 * gap, w.dtype)

    np.testing.assert_allclose(nth(lambda t: own.eigenvalue_function(step, a + t * SWAP)[0, 1], "r"), -1.0 / (a[1, 1] - 1.0))


def test_complex_matrices_and_batches():
    a = tf.cast(tf.stack([matrix(0.0), matrix(1e-3)]), tf.complex128) * (PHASES[:, None] * PHASES.conj())
    along = tf.cast(ALONG, tf.complex128) * (PHASES[:, None] * PHASES.conj())
    for modes in ("r", "rr"):
        found, expected = (
            nth(lambda t, f=f: tf.reduce_sum(tf.abs(f(a + tf.cast(t, a.dtype) * along)[:, 0, 1:])), modes)
            for f in (lambda a: own.eigenvalue_function(tf.exp, a), tf.linalg.expm)
        )
        np.testing.assert_allclose(found, expected, 1e-10)


def test_float32():
    a = tf.cast(matrix(1e-3), tf.float32)
    found, expected = (
        own.hessian(lambda t, f=f: f(a + t * tf.cast(ALONG, tf.float32))[0, 1], tf.constant(0.0))
        for f in (lambda a: own.eigenvalue_function(tf.exp, a), tf.linalg.expm)
    )
    np.testing.assert_allclose(found, expected, 1e-4)


def test_only_the_lower_triangle_is_read():
    a = tf.Variable([[1.0, 7.0], [0.5, 1.0]])
    with tf.GradientTape() as tape:
        y = own.eigenvalue_function(tf.square, a)
    np.testing.assert_allclose(y, [[1.25, 1.0], [1.0, 1.25]], 1e-6)
    np.testing.assert_allclose(tape.gradient(y, a), [[3.0, 0.0], [6.0, 3.0]], 1e-6)


def test_what_the_function_uses_is_differentiated():
    """F = exp(θ(1 + tE)): derivatives to θ, to t and mixed, with the variable found by itself."""
    theta = tf.Variable(0.7, dtype=tf.float64)
    t = tf.constant(0.3, tf.float64)

    def f(t):
        return own.eigenvalue_function(lambda w: tf.exp(theta * w), ONE + t * SWAP)[0, 1]

    def closed(t):
        return tf.exp(theta) * tf.sinh(theta * t)

    for function in (f, tf.function(f)):
        for at in (t, 0.0 * t):
            with tf.GradientTape(persistent=True) as outer:
                outer.watch(at)
                with tf.GradientTape(persistent=True) as inner:
                    inner.watch(at)
                    ours, right = function(at), closed(at)
                first = [[inner.gradient(y, x) for x in (at, theta)] for y in (ours, right)]
            np.testing.assert_allclose(*[[float(d) for d in row] for row in first], 1e-12, 1e-14)
            second = [[outer.gradient(d, x) for d in row for x in (at, theta)] for row in first]
            np.testing.assert_allclose(*[[float(d) for d in row] for row in second], 1e-12, 1e-14)


def test_in_functions_loops_branches_and_maps():
    @tf.function
    def grown(t):
        a = ONE + t * SWAP
        i = tf.constant(0)
        while i < 2:
            a = own.eigenvalue_function(tf.math.log, tf.linalg.expm(a)) * 2.0
            i += 1
        return a[0, 1] if t < 5.0 else a[0, 0]

    np.testing.assert_allclose([nth(grown, modes) for modes in ("r", "f", "rr")], [4.0, 4.0, 0.0], 1e-10, 1e-10)
    rows = tf.constant([0.0, 0.25], tf.float64)
    found = own.jacfwd(lambda rows: tf.vectorized_map(lambda t: own.eigenvalue_sum(tf.exp, ONE + t * SWAP), rows), rows)
    np.testing.assert_allclose(found, np.diag(2.0 * np.e * np.sinh([0.0, 0.25])), 1e-12, 1e-12)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: own.eigenvalue_function(3, ONE), TypeError, "must be a function of numbers, received 3"),
        (
            lambda: own.eigenvalue_function(lambda w: [w, w], ONE),
            ValueError,
            r"f must return one number .* returned shape \(2,\)",
        ),
        (lambda: own.eigenvalue_function(lambda w: w if w > 0 else -w, ONE), NotImplementedError, r"Choose by tf\.where"),
        (
            lambda: own.eigenvalue_function(lambda w: w * tf.random.normal([], dtype=w.dtype), ONE),
            ValueError,
            "f must be pure: it assigns variables, draws random numbers or has effects",
        ),
        (lambda: own.eigenvalue_function(tf.exp, tf.ones([2, 3])), tf.errors.InvalidArgumentError, "must be square"),
        (lambda: own.eigenvalue_function(tf.exp, tf.ones([2, 2], tf.float16)), tf.errors.InvalidArgumentError, "cast to float32"),
        (lambda: own.singular_value_sum(tf.exp, tf.ones([2])), tf.errors.InvalidArgumentError, "rank >= 2"),
        (lambda: own.eigenvalue_sum(tf.exp, tf.constant([[1]])), tf.errors.InvalidArgumentError, "int32"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_function_of_open_extents_and_a_saved_one(tmp_path):
    module = tf.Module()
    module.theta = tf.Variable(0.7, dtype=tf.float64)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def f(x):
        return own.eigenvalue_function(lambda w: tf.exp(module.theta * w), x)

    module.f = f
    tf.saved_model.save(module, str(tmp_path))
    for function in (f, tf.saved_model.load(str(tmp_path)).f):
        for size in (2, 3):
            x = tf.eye(size, dtype=tf.float64)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)[1, 0]
            np.testing.assert_allclose(tape.gradient(y, x)[1, 0], 0.7 * np.exp(0.7), 1e-12)


def test_empty_matrices():
    assert own.eigenvalue_function(tf.exp, tf.zeros([0, 0])).shape == (0, 0)
    assert own.eigenvalue_sum(tf.exp, tf.zeros([2, 0, 0])).numpy().tolist() == [0.0, 0.0]
