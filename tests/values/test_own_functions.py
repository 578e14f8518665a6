"""A variable of any kind gives what its tensor gives in `tf.autodiff`, as an argument, and what a variable gives as a source."""

import pytest

import gradtape as tf
from tests.values.cells import agree, told
from tests.values.kinds import GRAPH_ONLY, KINDS, NUMBERS, VARIABLES

own = tf.autodiff
V = tf.constant([1.0, 0.5])
ROWS = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def cube(x):
    return tf.reduce_sum(x**3)


def on_tape(f):
    def derived(x):
        with tf.GradientTape() as tape:
            if not hasattr(x, "assign"):
                tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    return derived


OF_ARGUMENTS = {
    "argmin": on_tape(lambda x: own.argmin(lambda z: tf.reduce_sum((z - x) ** 2), x)),
    "check_gradients": lambda x: own.check_gradients(tf.math.square, [x], order=1),
    "derivatives": lambda x: own.derivatives(cube, x, 2, V),
    "eigenvalue_function": on_tape(lambda x: own.eigenvalue_function(tf.exp, tf.linalg.diag(x))),
    "eigenvalue_sum": on_tape(lambda x: own.eigenvalue_sum(tf.exp, [[x[0], 0.0], [x[1], x[0]]])),
    "fixed_point": on_tape(lambda x: own.fixed_point(lambda z: 0.1 * z + x, x)),
    "gauss_newton_vp": lambda x: own.gauss_newton_vp(lambda a: a * a, x, V),
    "gradient_factors": on_tape(lambda x: own.gradient_factors(x, [1.0, 0.5])),
    "hessian": lambda x: own.hessian(cube, x),
    "hessian_diagonal": lambda x: own.hessian_diagonal(cube, x),
    "hessian_norm": lambda x: own.hessian_norm(cube, x, samples=2, seed=1),
    "hessian_trace": lambda x: own.hessian_trace(cube, x, samples=2, seed=1),
    "hvp": lambda x: own.hvp(cube, x, V),
    "jacfwd": lambda x: own.jacfwd(lambda a: a * a, x),
    "jacrev": lambda x: own.jacrev(lambda a: a * a, x),
    "jacobian_sparsity": lambda x: repr(own.jacobian_sparsity(lambda a: a[1:] * a[:-1], x)),
    "hessian_sparsity": lambda x: repr(own.hessian_sparsity(cube, x)),
    "sparse_hessian": lambda x: own.sparse_hessian(cube, x).toarray(),
    "sparse_jacobian": lambda x: own.sparse_jacobian(lambda a: a[1:] * a[:-1], x).toarray(),
    "jvp": lambda x: own.jvp(lambda a: a * a, x, V),
    "laplacian": lambda x: own.laplacian(cube, x),
    "linear_solve": on_tape(lambda x: own.linear_solve(lambda z: z * x, x)),
    "linearize": lambda x: own.linearize(lambda a: a * a, x)[1](V),
    "vjp": lambda x: own.vjp(lambda a: a * a, x)[1](V),
    "odeint": on_tape(lambda x: own.odeint(lambda t, y: 0.1 * y - x, x, [0.0, 1.0])),
    "odeint_event": on_tape(lambda x: own.odeint_event(lambda t, y: y, x, [0.0, 1.0], lambda t, y: t - 0.5)),
    "operator_trace": lambda x: own.operator_trace(lambda v: v * x, x),
    "spectral_density": lambda x: own.spectral_density(lambda v: v * x, x, samples=1),
    "root": on_tape(lambda x: own.root(lambda z: z + 0.1 * z**3 - x, x)),
    "singular_value_function": on_tape(lambda x: own.singular_value_function(tf.exp, tf.linalg.diag(x))),
    "singular_value_sum": on_tape(lambda x: own.singular_value_sum(tf.exp, [x])),
    "recompute_grad": on_tape(lambda x: own.recompute_grad(lambda a: tf.sin(tf.exp(a)))(x)),
    "reverse_gradient": on_tape(lambda x: own.reverse_gradient(x, 0.5)),
    "sparse_solve": on_tape(lambda x: own.sparse_solve(lambda z: z**3, x, V)),
    "straight_through": on_tape(lambda x: own.straight_through(tf.round(x), x)),
}
OF_SOURCES = {
    "clipped_gradients": lambda v: own.clipped_gradients(lambda x: tf.reduce_sum(x * v), v, tf.constant(ROWS), 1.2),
    "fisher_diagonal": lambda v: own.fisher_diagonal(lambda x: tf.reduce_sum(x * v), v, tf.constant(ROWS)),
    "ggn_diagonal": lambda v: own.ggn_diagonal(lambda x: x * v * v, v, tf.constant(ROWS)),
    "kfac_factors": lambda v: own.kfac_factors(lambda x: tf.reduce_sum(x * v), v, tf.constant(ROWS)),
    "per_example_gradients": lambda v: own.per_example_gradients(lambda x: tf.reduce_sum(x * v) ** 2, v, tf.constant(ROWS)),
    "per_example_norms": lambda v: own.per_example_norms(lambda x: tf.reduce_sum(x * v), v, tf.constant(ROWS)),
    "hessian": lambda v: own.hessian(lambda: cube(v), sources=v),
    "hvp": lambda v: own.hvp(lambda: cube(v), (), V, sources=v),
    "jacfwd": lambda v: own.jacfwd(lambda: v * v, sources=v),
    "jacrev": lambda v: own.jacrev(lambda: v * v, sources=v),
    "jvp": lambda v: own.jvp(lambda: v * v, (), V, sources=v),
    "vjp": lambda v: own.vjp(lambda: v * v, sources=v)[1](V),
    "sparse_hessian": lambda v: own.sparse_hessian(lambda: cube(v), (), sources=v).toarray(),
    "sparse_jacobian": lambda v: own.sparse_jacobian(lambda: v * v, (), sources=v).toarray(),
}
OF_EAGER_CODE = [kind for kind in VARIABLES if kind not in GRAPH_ONLY]


@pytest.mark.parametrize("name", OF_ARGUMENTS)
def test_an_argument_of_any_kind_is_as_its_tensor(name):
    expected = told(tf, OF_ARGUMENTS[name](tf.constant(NUMBERS)))
    for kind in [*OF_EAGER_CODE, *(["array"] if name.startswith(("j", "h", "v", "linearize")) else [])]:
        assert agree(expected, told(tf, OF_ARGUMENTS[name](KINDS[kind](tf)))), kind


@pytest.mark.parametrize("name", OF_SOURCES)
def test_a_source_of_any_kind_is_as_a_variable(name):
    expected = told(tf, OF_SOURCES[name](tf.Variable(NUMBERS)))
    for kind in OF_EAGER_CODE:
        assert agree(expected, told(tf, OF_SOURCES[name](KINDS[kind](tf)))), kind


def test_every_function_of_its_own_is_in_a_table():
    """Those that are not take a tape or a record: `test_variables.py` has `explain`."""
    functions = {name for name in dir(own) if callable(getattr(own, name)) and name[0].islower()}
    assert functions - {*OF_ARGUMENTS, *OF_SOURCES} == {"explain", "explain_nan"}
