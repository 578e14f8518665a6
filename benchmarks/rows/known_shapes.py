"""Row (g) for known shapes: every step has another of 16 shapes than the one before."""

from functools import partial

from benchmarks.rows import new_shapes

KEY = "g2"
TITLE = "another of 16 shapes in every step, seen before"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 3 * 16
STEPS = 10 * 16
TOLERANCE = 1e-4
TARGETS = {"torch_eager": 3.0}
WITH_RECORDING_IN_PYTHON = True

gradtape = partial(new_shapes.gradtape, 16)
tensorflow_eager = partial(new_shapes.tensorflow_eager, 16)
tensorflow_function = partial(new_shapes.tensorflow_function, 16)
torch_eager = partial(new_shapes.torch_eager, 16)
torch_compile = partial(new_shapes.torch_compile, 16)
jax_jit = partial(new_shapes.jax_jit, 16)
