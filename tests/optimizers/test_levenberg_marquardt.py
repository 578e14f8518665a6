"""Levenberg-Marquardt: the model it makes, bounds, many parameters, several variables, float32, and what it refuses."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution
from gradtape._src.core.platform import memory
from gradtape._src.optimizers.least_squares import levenberg_marquardt
from gradtape._src.optimizers.least_squares.models import Dense
from gradtape._src.optimizers.least_squares.residuals import Residuals
from gradtape._src.optimizers.least_squares.search import gram_of

LM = tf.optimizers.LevenbergMarquardt


def rosenbrock(x):
    return lambda: [10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]]


def test_rosenbrock_from_the_usual_start():
    x = tf.Variable([-1.2, 1.0], dtype=tf.float64)
    found = LM().minimize(rosenbrock(x), x)
    assert found.converged and found.sum_of_squares < 1e-20
    np.testing.assert_allclose(x.numpy(), [1.0, 1.0], rtol=1e-9)
    assert found.history[0] == pytest.approx(24.2) and found.history[-1] == found.sum_of_squares
    assert all(a >= b for a, b in zip(found.history, found.history[1:], strict=False))
    assert found.covariance is None  # no degree of freedom


def test_a_linear_problem_takes_one_step_and_has_the_covariance_of_statistics():
    random = np.random.default_rng(0)
    a, y = random.standard_normal((20, 3)), random.standard_normal(20)
    w = tf.Variable(tf.zeros([3], tf.float64))
    found = LM(initial=100.0).minimize(lambda: tf.linalg.matvec(tf.constant(a), w) - y, w)
    best, squares, *_ = np.linalg.lstsq(a, y)
    np.testing.assert_allclose(w.numpy(), best, rtol=1e-10)
    assert found.sum_of_squares == pytest.approx(squares[0]) and found.evaluations <= 4
    np.testing.assert_allclose(found.covariance, squares[0] / 17 * np.linalg.inv(a.T @ a), rtol=1e-10)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(found.covariance)))


def test_programs_of_residuals_agree_with_the_tape():
    w, v = tf.Variable([[0.3, -0.2], [0.5, 0.1]]), tf.Variable(0.7, dtype=tf.float64)
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def function():
        return {"a": tf.cast(tf.sin(x @ w), tf.float64) * v, "b": v**3 + tf.zeros([1], tf.float64)}

    residuals = Residuals(function, [w, v])
    assert (residuals.size, residuals.results, residuals.dtype) == (5, 7, np.float64)
    at = residuals.start()
    r, jacobian = residuals.evaluate(at)
    with tf.GradientTape(persistent=True) as tape:
        parts = function()
        flat = tf.concat([tf.reshape(parts["a"], [-1]), parts["b"]], 0)
    dw, dv = tape.jacobian(flat, [w, v], unconnected_gradients="zero")
    expected = np.concatenate([np.reshape(dw, (7, 4)), np.reshape(dv, (7, 1))], 1)
    np.testing.assert_allclose(r, flat, rtol=1e-6)
    np.testing.assert_allclose(jacobian.T, expected, rtol=1e-5, atol=1e-7)
    tangent, cotangent = np.arange(1.0, 6.0), np.arange(1.0, 8.0)

    def run(program, *more):
        return np.asarray(execution.execute(program, [at, *residuals.others, *more])[0])

    np.testing.assert_allclose(run(residuals.alone), r, rtol=1e-6)
    np.testing.assert_allclose(residuals.push(at, tangent), expected @ tangent, rtol=1e-5)
    np.testing.assert_allclose(run(residuals.pulling, cotangent), expected.T @ cotangent, rtol=1e-5)
    np.testing.assert_allclose(run(residuals.table(1), tangent[None])[0], expected @ tangent, rtol=1e-5)
    step = 1e-3 * tangent
    bend = residuals.push(at + step, tangent) - residuals.push(at - step, tangent)
    np.testing.assert_allclose(run(residuals.curving, tangent), bend / 2e-3, rtol=2e-2, atol=1e-2)
    assert [residuals.where(i) for i in (0, 3, 4)] == [f"{w.name}[0, 0]", f"{w.name}[1, 1]", v.name]


def linear_model(jacobian, r):
    one, table = tf.ones([jacobian.shape[1]], tf.float64), tf.constant(np.vstack([jacobian.T, r]))
    model = Dense(table[-1], table[:-1], gram_of(table))
    model.scaled(one, one > 0.0)
    return model


def test_cholesky_and_qr_give_one_step_and_qr_takes_over_where_the_normal_equations_fail():
    random = np.random.default_rng(1)
    jacobian, r = random.standard_normal((12, 4)), random.standard_normal(12)
    model = linear_model(jacobian, r)
    for damping in (0.0, 0.3):
        given = tf.constant(damping, tf.float64)
        cholesky, qr = model.solved(given), model.by_qr(given, model.scale, model.r)
        step = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(4), -jacobian.T @ r)
        again = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(4), step)
        for p, product, regular in (cholesky, qr):
            np.testing.assert_allclose(p, step, rtol=1e-9)
            np.testing.assert_allclose(product, step @ again, rtol=1e-9)
            assert regular
    nearly = jacobian.copy()  # its normal equations are singular to 16 digits, itself it is not
    nearly[:, 3] = nearly[:, 0] + 1e-7 * random.standard_normal(12)
    none = tf.constant(0.0, tf.float64)
    np.testing.assert_allclose(linear_model(nearly, r).step(none), -np.linalg.lstsq(nearly, r)[0], rtol=1e-6)
    nearly[:, 3] = nearly[:, 0]
    assert not linear_model(nearly, r).solved(none)[2]


def test_the_step_of_the_trust_region_has_its_length():
    random = np.random.default_rng(2)
    model = linear_model(random.standard_normal((9, 3)), random.standard_normal(9))
    none = tf.constant(0.0, tf.float64)
    whole = np.linalg.norm(model.step(none))
    for share in (0.9, 0.5, 1e-3):
        step, damping = model.within(share * whole, none)
        assert np.linalg.norm(step) == pytest.approx(share * whole, rel=0.1)
        np.testing.assert_allclose(step, model.step(damping))


@pytest.mark.parametrize("solver", ["dense", "matrix_free"])
def test_bounds_hold_and_their_parameters_are_left_where_they_bind(solver):
    x = tf.Variable([-1.2, 1.0], dtype=tf.float64)
    found = LM(solver=solver, cg_tolerance=1e-8).minimize(rosenbrock(x), x, bounds=[([-2.0, -2.0], [0.5, 2.0])])
    assert found.converged
    np.testing.assert_allclose(x.numpy(), [0.5, 0.25], rtol=1e-6)  # least on the edge x₀ = ½
    assert found.sum_of_squares == pytest.approx(0.25)


def test_a_start_outside_of_its_bounds_is_moved_to_them():
    x = tf.Variable([5.0], dtype=tf.float64)
    LM().minimize(lambda: x - 3.0, x, bounds=[(0.0, 2.0)])
    assert x.numpy() == [2.0]


def test_many_parameters_are_solved_without_a_jacobian():
    random = np.random.default_rng(3)
    wanted = tf.constant(random.standard_normal(3_000))
    x = tf.Variable(tf.zeros([3_000], tf.float64))

    def residuals():
        off = x - wanted
        return tf.concat([tf.sinh(x) - tf.sinh(wanted), 0.1 * (off[1:] - off[:-1])], 0)

    found = LM().minimize(residuals, x)
    assert found.converged and found.covariance is None
    np.testing.assert_allclose(x.numpy(), wanted.numpy(), atol=1e-4)


def test_float32_variables_converge_to_their_precision():
    x = tf.Variable([-1.2, 1.0])
    found = LM().minimize(rosenbrock(x), x)
    assert found.converged and x.dtype == tf.float32
    np.testing.assert_allclose(x.numpy(), [1.0, 1.0], rtol=1e-4)


def test_a_nest_of_variables_and_what_else_the_function_uses():
    network = {"w": tf.Variable(tf.random.stateless_normal([1, 6], [1, 2])), "b": tf.Variable(tf.zeros([6])),
               "v": tf.Variable(tf.random.stateless_normal([6, 1], [3, 4]))}  # fmt: skip
    offset = tf.Variable(0.5, trainable=False)
    x = tf.reshape(tf.linspace(-2.0, 2.0, 40), [-1, 1])

    def residuals():
        return tf.tanh(x @ network["w"] + network["b"]) @ network["v"] + offset - tf.sin(2.0 * x)

    found = LM(max_iterations=60).minimize(residuals, network)
    assert found.sum_of_squares < 1e-3
    assert offset.numpy() == 0.5
    assert float(tf.reduce_sum(residuals() ** 2)) == pytest.approx(found.sum_of_squares, rel=1e-2, abs=1e-6)


def test_a_loop_in_the_residuals():
    rate = tf.Variable(0.1, dtype=tf.float64)
    seen = tf.constant(3.0 * 0.8 ** np.arange(10))

    @tf.function
    def residuals():
        value, values = tf.constant(3.0, tf.float64), tf.TensorArray(tf.float64, 10)
        for i in tf.range(10):
            values = values.write(i, value)
            value = value * (1.0 - rate)
        return values.stack() - seen

    LM().minimize(residuals, rate)
    assert float(rate) == pytest.approx(0.2, rel=1e-9)


def test_a_gradient_of_the_user_that_is_not_linear():
    """The Jacobian is that of the function's ops then, as in forward mode elsewhere: a sign has the derivative 0."""

    @tf.custom_gradient
    def square(x):
        return x * x, lambda dy: tf.sign(dy) * 2.0 * x

    v = tf.Variable([3.0, 1.0])
    assert LM().minimize(lambda: square(v) - [4.0, 9.0], [v]).converged
    np.testing.assert_allclose(v, [2.0, 3.0], rtol=1e-5)


def test_steps_to_where_residuals_are_not_finite_are_not_taken():
    x = tf.Variable(1e-3, dtype=tf.float64)
    found = LM(initial=1e4).minimize(lambda: tf.math.log(x) * tf.ones([2], tf.float64) - 1.0, x)
    assert found.converged
    assert float(x) == pytest.approx(np.e, rel=1e-7)


def test_iterations_can_be_limited():
    x = tf.Variable([-1.2, 1.0], dtype=tf.float64)
    found = LM(max_iterations=3).minimize(rosenbrock(x), x)
    assert (found.converged, found.iterations, len(found.history)) == (False, 3, 4)
    assert "max_iterations, 3" in found.message
    assert found.sum_of_squares == pytest.approx(sum(float(r) ** 2 for r in rosenbrock(x)()))


def test_a_singular_normal_matrix_is_no_obstacle():
    x = tf.Variable([1.0, 2.0, 3.0], dtype=tf.float64)
    found = LM().minimize(lambda: (x[0] + x[1]) * tf.ones([4], tf.float64) - 1.0 + 0.0 * x[2], x)
    assert found.converged and found.sum_of_squares < 1e-16
    assert found.covariance is None
    assert x.numpy()[2] == 3.0


@pytest.mark.parametrize("dtype", [tf.float64, tf.float32], ids=lambda dtype: dtype.name)
def test_parameters_that_the_data_do_not_tell_apart_have_no_standard_errors(dtype):
    t = tf.constant(np.random.default_rng(1).normal(size=30), dtype)
    a, b, c = [tf.Variable(v, dtype=dtype) for v in (1.0, 2.0, 3.0)]
    found = LM().minimize(lambda: a * t + b * (t * 0.3 + c) - tf.sin(t), [a, b, c])
    assert found.converged and np.linalg.matrix_rank(np.stack([t, t * 0.3 + c, tf.fill([30], b)])) == 2
    assert found.covariance is None and found.standard_errors is None


X = tf.Variable([1.0, 2.0])


@pytest.mark.parametrize(
    "residuals, variables, error, match",
    [
        (lambda: tf.reduce_sum(X**2), X, ValueError, r"returned a scalar. Return the residuals themselves"),
        (lambda: tf.cast(X, tf.int32), X, TypeError, r"returned dtype int32; residuals are real and floating-point"),
        (lambda: tf.cast(X, tf.complex64), X, TypeError, r"return the real and the imaginary parts"),
        (lambda: None, X, TypeError, r"returned nothing"),
        (lambda: tf.ones([3]), X, ValueError, r"do not depend on Variable"),
        (lambda: X * tf.random.normal([2]), X, ValueError, r"draws random numbers"),
        (lambda: X.assign_add([1.0, 1.0]) * 1.0, X, ValueError, r"residuals must not change variables"),
        (lambda: tf.math.log(X - 2.0), X, ValueError, r"2 of 2 residuals are not finite, the first is number 0: nan"),
        (lambda: tf.sqrt(X - 1.0), X, ValueError, r"derivative of the residuals with respect to Variable.* is not finite"),
        (lambda: tf.cast(X, tf.float64) * 1e200, X, ValueError, r"sum of the squares of the residuals, or of their derivatives"),
        (lambda: X * 1.0, [X, X], ValueError, r"stands twice"),
        (lambda: X * 1.0, [], ValueError, r"needs variables to change, received none"),
        (lambda: X * 1.0, [tf.constant(1.0)], TypeError, r"variables are tf.Variables, received"),
        (lambda: X * 1.0, [tf.Variable(1)], TypeError, r"dtype int32: it must be real and floating-point"),
        (lambda x: x * 1.0, X, TypeError, r"residual_fn is called without arguments, .*: missing a required argument: 'x'"),
        (X, X, TypeError, r"residual_fn must be a function of no arguments, received <tf.Variable"),
        (lambda: X[:0], X, ValueError, r"returned no residuals: shape \(0,\)"),
        (lambda: X * 1.0, [X, tf.Variable(1.0)], ValueError, r"do not depend on .* \(number 1 of `variables`\)"),
        (lambda: tf.boolean_mask(X, X > 0.0), X, NotImplementedError, r"cannot be compiled, as a shape"),
    ],
)  # fmt: skip
def test_what_it_refuses(residuals, variables, error, match):
    before = X.numpy().copy()
    with pytest.raises(error, match=match):
        LM().minimize(residuals, variables)
    np.testing.assert_array_equal(X.numpy(), before)


@pytest.mark.parametrize(
    "settings, match",
    [
        ({"damping": "fletcher"}, r"damping must be one of 'trust_region', 'nielsen', 'marquardt', received 'fletcher'"),
        ({"solver": "sparse"}, r"solver must be one of 'auto', 'dense', 'matrix_free'"),
        ({"initial": 0.0}, r"initial must be positive"),
        ({"step_tolerance": -1.0}, r"step_tolerance must be at least 0 and below 1"),
    ],
)
def test_bad_settings(settings, match):
    with pytest.raises(ValueError, match=match):
        LM(**settings)


def test_bad_bounds():
    with pytest.raises(ValueError, match=r"2 entries for 1 variables"):
        LM().minimize(lambda: X * 1.0, X, bounds=[None, None])
    with pytest.raises(ValueError, match=r"lower bound of .* is above its upper bound"):
        LM().minimize(lambda: X * 1.0, X, bounds=[(1.0, 0.0)])
    with pytest.raises(ValueError, match=r"must be numbers, or arrays of its shape \(2,\)"):
        LM().minimize(lambda: X * 1.0, X, bounds=[(np.zeros(3), 1.0)])
    with pytest.raises(ValueError, match=r"A bound of .* is NaN"):
        LM().minimize(lambda: X * 1.0, X, bounds=[(np.nan, 1.0)])


def test_a_jacobian_beyond_memory_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(memory, "limit", lambda: 1 << 10)
    monkeypatch.setattr(memory, "CHECKED", 0)
    x = tf.Variable(tf.ones([100]))
    with pytest.raises(
        tf.errors.ResourceExhaustedError, match=r"1,000 residuals with respect to 100 parameters takes .*matrix_free"
    ):
        LM(solver="dense").minimize(lambda: tf.tile(x, [10]), x)
    assert LM().minimize(lambda: tf.tile(x, [10]) - 2.0, x).converged  # "auto" goes without it
    np.testing.assert_allclose(x.numpy(), 2.0, rtol=1e-4)


def test_an_interrupt_leaves_the_best_point_so_far(monkeypatch):
    x = tf.Variable([-1.2, 1.0], dtype=tf.float64)
    execute, calls = execution.execute, []

    def interrupted(program, arguments):
        calls.append(program)
        if len(calls) == 4:
            raise KeyboardInterrupt("by the user")
        return execute(program, arguments)

    monkeypatch.setattr(levenberg_marquardt, "NUMBERS", 8)  # one trip in a call
    monkeypatch.setattr(levenberg_marquardt, "PATIENCE", 0.0)
    monkeypatch.setattr(levenberg_marquardt.execution, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt, match="by the user"):
        LM().minimize(rosenbrock(x), x)
    monkeypatch.undo()
    assert 0 < sum(float(r) ** 2 for r in rosenbrock(x)()) < 24.2


def test_calls_of_few_trips_go_the_same_way(monkeypatch):
    whole, parts = (tf.Variable([-1.2, 1.0], dtype=tf.float64) for _ in range(2))
    expected = LM().minimize(rosenbrock(whole), whole)
    monkeypatch.setattr(levenberg_marquardt, "HISTORY", 3)
    found = LM().minimize(rosenbrock(parts), parts)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-9, atol=1e-20)
    assert found.evaluations == expected.evaluations


# ---------------------------------------------------------------------------------------------------------------------
# A sparse Jacobian


class Chain:
    """A parameter for each point, which its neighbours pull at; the residuals are a list of two tensors."""

    def __init__(self, count, dtype="float64"):
        self.x = tf.Variable(np.linspace(1.0, 2.0, count), dtype=dtype)
        self.along = tf.constant(np.sin(np.arange(count) / 5.0), dtype)

    def residuals(self):
        return [self.x**2 - self.along * self.x - 1.0, 0.5 * (self.x[1:] - self.x[:-1])]

    def pattern(self):
        return tf.autodiff.jacobian_sparsity(self.residuals, (), sources=[self.x])

    def fitted(self, pattern=None, bounds=None, **options):
        options = {"function_tolerance": 1e-14, "step_tolerance": 1e-14, **options}
        result = tf.optimizers.LevenbergMarquardt(**options).minimize(self.residuals, [self.x], bounds, pattern)
        return result, self.x.numpy()


@pytest.mark.parametrize("bounds", [None, [(0.9, 1.1)]])
@pytest.mark.parametrize(
    "options",
    [{"damping": "trust_region"}, {"damping": "nielsen"}, {"damping": "marquardt"}, {"geodesic_acceleration": True}],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_sparse_steps_are_the_dense_ones(options, bounds):
    (dense, expected), chain = Chain(30).fitted(bounds=bounds, **options), Chain(30)
    sparse, found = chain.fitted(chain.pattern(), bounds, **options)
    np.testing.assert_allclose(found, expected, 1e-10)
    assert (sparse.converged, sparse.iterations, sparse.covariance) == (dense.converged, dense.iterations, None)
    np.testing.assert_allclose(sparse.optimality, dense.optimality, 1e-3, 1e-9)


def test_many_parameters_from_a_file(tmp_path):
    chain = Chain(5_000)
    chain.pattern().save(tmp_path / "chain.npz")
    result, found = chain.fitted(tf.autodiff.Sparsity.load(tmp_path / "chain.npz"))
    assert result.converged and result.iterations < 10
    inner = found[1:-1]
    slope = (inner**2 - chain.along[1:-1] * inner - 1.0) * (2.0 * inner - chain.along[1:-1])
    np.testing.assert_allclose(slope + 0.25 * (2.0 * inner - found[:-2] - found[2:]), 0.0, atol=1e-7)


def test_sparse_float32():
    chain, wide = Chain(30, "float32"), Chain(30)
    np.testing.assert_allclose(chain.fitted(chain.pattern())[1], wide.fitted()[1], 1e-3)


def test_a_flat_direction_of_a_sparse_model():
    x = tf.Variable(tf.ones([4], tf.float64))

    def apart():
        return [x[1:] - x[:-1] - 1.0, 0.0 * x]

    pattern = tf.autodiff.jacobian_sparsity(apart, (), sources=[x])
    assert tf.optimizers.LevenbergMarquardt().minimize(apart, [x], pattern=pattern).sum_of_squares < 1e-10


@pytest.mark.parametrize(
    "pattern, options, error, message",
    [
        (lambda chain: np.eye(3), {}, TypeError, "pattern must come from tf.autodiff.jacobian_sparsity"),
        (lambda chain: Chain(5).pattern(), {}, ValueError, r"of shape \(9, 5\), and this one has shape \(11, 6\)"),
        (lambda chain: chain.pattern(), {"solver": "matrix_free"}, ValueError, "solver must be 'auto' with a pattern"),
        (
            lambda chain: tf.autodiff.jacobian_sparsity(lambda: [chain.x, chain.x[1:]], (), sources=[chain.x]),
            {},
            ValueError,
            "pattern misses entries of this Jacobian: in 5 of 11 rows, the first of them row 6",
        ),
    ],
)
def test_patterns_that_do_not_fit(pattern, options, error, message):
    chain = Chain(6)
    before = chain.x.numpy()
    with pytest.raises(error, match=message):
        chain.fitted(pattern(chain), **options)
    np.testing.assert_array_equal(chain.x, before)


def test_a_sparse_derivative_that_is_not_finite():
    x = tf.Variable([1.0, 0.0, 2.0], dtype=tf.float64)

    def roots():
        return [tf.sqrt(x), x]

    pattern = tf.autodiff.jacobian_sparsity(roots, (), sources=[x])
    with pytest.raises(ValueError, match=r"with respect to Variable.*\[1\] is not finite"):
        tf.optimizers.LevenbergMarquardt().minimize(roots, [x], pattern=pattern)
