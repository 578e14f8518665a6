"""Row (k) with 10 trips."""

from functools import partial

from benchmarks.rows import loop_gradient

KEY = "k10"
TITLE = "gradient of a loop of 10 trips"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-3
TARGETS = {"jax_jit": 1.0}
WITH_RECORDING_IN_PYTHON = True

gradtape = partial(loop_gradient.gradtape, 10)
jax_jit = partial(loop_gradient.jax_jit, 10)
tensorflow_function = partial(loop_gradient.tensorflow_function, 10)
torch_eager = partial(loop_gradient.torch_eager, 10)
