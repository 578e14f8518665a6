"""Random programs give the same values and gradients recorded, op by op, and on JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from tests.fuzz.programs import draw

CHUNK, CHUNKS, LONG = 25, 6, 160  # programs in a test, such tests, and those of a long run


def on_gradtape(program, seed):
    """Value, gradients, and (for every eighth seed) the gradients of the gradients' sum of squares."""
    random = np.random.default_rng(seed)
    inputs = [tf.Variable(x) if random.integers(2) else tf.constant(x) for x in program.inputs]
    persistent, look = bool(random.integers(2)), random.integers(4) == 0
    second = seed % 8 == 0
    with tf.GradientTape() as outer:
        if second:
            outer.watch(inputs)
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(inputs)
            value, values = program.run(inputs, 0)
            if look:  # a value that is read before the gradient is asked for
                values[len(inputs)].numpy()
        grads = tape.gradient(value, inputs, unconnected_gradients="zero")
        if second:
            squares = tf.add_n([tf.reduce_sum(tf.square(tf.convert_to_tensor(g))) for g in grads])
    again = outer.gradient(squares, inputs, unconnected_gradients="zero") if second else []
    return [value.numpy(), *[np.asarray(tf.convert_to_tensor(g)) for g in [*grads, *again]]]


def on_jax(programs):
    """The same results of all of `programs` (by seed), in a list each: one JAX program, as each takes long to compile."""

    def results(seed, inputs):
        def value(inputs):
            return programs[seed].run(inputs, 1)[0]

        def squares(inputs):
            first = jax.value_and_grad(value)(inputs)
            return sum(jnp.sum(g * g) for g in first[1]), first

        if seed % 8:
            result, grads = jax.value_and_grad(value)(inputs)
            return [result, *grads]
        again, (result, grads) = jax.grad(squares, has_aux=True)(inputs)
        return [result, *grads, *again]

    inputs = {seed: program.inputs for seed, program in programs.items()}
    return jax.jit(lambda inputs: {seed: results(seed, inputs[seed]) for seed in programs})(inputs)


@pytest.mark.parametrize("chunk", [*range(CHUNKS), *[pytest.param(i, marks=pytest.mark.long) for i in range(CHUNKS, LONG)]])
def test_recorded_eager_and_jax_agree(chunk, count):
    programs = {seed: draw(seed) for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK)}
    expected = on_jax(programs)
    for seed, program in programs.items():
        recorded = on_gradtape(program, seed)
        tf.config.run_eagerly(True)
        try:
            eager = on_gradtape(program, seed)
        finally:
            tf.config.run_eagerly(False)
        for name, got in (("recorded", recorded), ("eager", eager)):
            assert len(got) == len(expected[seed])
            for index, (a, b) in enumerate(zip(got, expected[seed], strict=True)):
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=f"seed {seed}, {name}, result {index}:\n{program}")
        count("random programs compared (recorded, op by op, JAX)")
