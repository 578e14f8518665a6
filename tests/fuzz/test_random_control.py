"""Random programs with control flow give the same values, gradients and variables in every way to run them, and on JAX."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from tests.fuzz import unrolled
from tests.fuzz.control_programs import draw

CHUNK, CHUNKS, LONG = 4, 1, 10  # programs in a test, such tests, and those of a long run
SECOND = 12  # every so many programs are compared to second order


def results(program, second, wrapped=lambda made: made):
    """Value, gradients to inputs and variables, the variables afterwards; gradients of the gradients' squares if `second`."""
    inputs = [tf.constant(x) for x in program.inputs]
    variables = [tf.Variable(x) for x in program.variables]
    sources = [*inputs, *variables]
    made = wrapped(program.made(tf, variables))
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = made(*inputs)
        first = [tf.convert_to_tensor(d) for d in tape.gradient(value, sources, unconnected_gradients="zero")]
        squares = tf.add_n([tf.reduce_sum(tf.square(d)) for d in first])
    after = outer.gradient(squares, sources, unconnected_gradients="zero") if second else []
    return [np.asarray(tf.convert_to_tensor(t)) for t in (value, *first, *variables, *after)]


def on_jax(program, second):
    kept = []

    def value(arrays):
        variables = [unrolled.Variable(p) for p in arrays[2:]]
        result = program.made(unrolled, variables)(*arrays[:2])
        kept[:] = [v.held for v in variables]
        return result, kept

    def squares(arrays):
        return sum(jnp.sum(d * d) for d in jax.grad(value, has_aux=True)(arrays)[0])

    arrays = [jnp.asarray(x) for x in (*program.inputs, *program.variables)]
    (result, variables), first = jax.value_and_grad(value, has_aux=True)(arrays)
    after = jax.grad(squares)(arrays) if second else []
    return [np.asarray(t) for t in (result, *first, *variables, *after)]


@contextlib.contextmanager
def op_by_op():
    """Nothing is compiled as a whole: loops and branches of functions run on the host."""
    tf.config.run_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_eagerly(False)


@contextlib.contextmanager
def functions_eagerly():
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def eager(program, second):
    with op_by_op(), functions_eagerly():
        return results(program, second, tf.function)


def as_written(program, second):
    with op_by_op():
        return results(program, second)


def on_host(program, second):
    with op_by_op():
        return results(program, second, tf.function)


def compiled(program, second):
    functions = []

    def wrapped(made):
        functions.append(tf.function(made))
        return functions[0]

    tf.config.compile_early()
    try:
        got = results(program, second, wrapped)
    finally:
        tf.config.compile_early(False)
    assert [type(traced).__name__ for traced in functions[0]._traced.values()] == [
        "ConcreteFunction"
    ]  # no fallback to eager code
    return got


def tiers(program, second):
    """A function whose programs run on the host at first."""
    return results(program, second, tf.function)


def in_graph(program, second):
    """The function called in a graph, whose gradients a session computes."""
    v1 = tf.compat.v1
    with v1.Graph().as_default():
        inputs = [v1.placeholder(tf.float64, x.shape) for x in program.inputs]
        variables = [v1.get_variable(f"v{i}", initializer=x, use_resource=True) for i, x in enumerate(program.variables)]
        sources = [*inputs, *variables]
        value = tf.function(program.made(tf, variables))(*inputs)
        first = [tf.convert_to_tensor(d) for d in v1.gradients(value, sources, unconnected_gradients="zero")]
        squares = tf.add_n([tf.reduce_sum(tf.square(d)) for d in first])
        after = v1.gradients(squares, sources, unconnected_gradients="zero") if second else []
        after = [tf.convert_to_tensor(d) for d in after]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            value, first, after = session.run([value, first, after], dict(zip(inputs, program.inputs, strict=True)))
            return [value, *first, *session.run(variables), *after]


EVERY = {"eager": eager, "function": compiled}
IN_TURN = {"as written": as_written, "function at first": tiers, "function on the host": on_host, "graph": in_graph}


def ways(seed, every):
    """The ways in which a program is run: all of them, or those that always count and, every third time, another one."""
    if every:
        return EVERY | IN_TURN
    name = list(IN_TURN)[seed // 3 % len(IN_TURN)]
    return EVERY | ({name: IN_TURN[name]} if seed % 3 == 0 else {})


def compare(seed, every=True):
    """Run the program of a seed, and compare with JAX; `every`: in all ways."""
    program, second = draw(seed), seed % SECOND == 0
    expected = on_jax(program, second)
    for name, way in ways(seed, every).items():
        try:
            got = way(program, second)
        except Exception as error:
            error.add_note(f"seed {seed}, {name}:\n{program.source}")
            raise
        for index, (a, b) in enumerate(zip(got, expected, strict=True)):
            np.testing.assert_allclose(
                a, b, rtol=1e-7, atol=1e-9, err_msg=f"seed {seed}, {name}, result {index}:\n{program.source}"
            )


@pytest.mark.parametrize("chunk", [*range(CHUNKS), *[pytest.param(i, marks=pytest.mark.long) for i in range(CHUNKS, LONG)]])
def test_every_way_to_run_it_and_jax_agree(chunk, fuzz_factor, count):
    for seed in range(chunk * CHUNK * fuzz_factor, (chunk + 1) * CHUNK * fuzz_factor):
        compare(seed, every=fuzz_factor > 1)
        count("random programs with control flow compared (eager, function, graph, JAX)")
