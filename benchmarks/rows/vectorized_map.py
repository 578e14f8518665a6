"""Row (l) for all rows at once: `vectorized_map`, compared with `jax.vmap`."""

from benchmarks.rows.row_maps import jax_step, tensorflow_step

KEY = "l2"
TITLE = "vectorized_map over 1,000 rows: value and gradient"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 1.0}
WITH_RECORDING_IN_PYTHON = True


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf, lambda tf: tf.vectorized_map)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf, lambda tf: tf.vectorized_map)


def jax_jit():
    return jax_step(lambda jax: lambda function, rows: jax.vmap(function)(rows))
