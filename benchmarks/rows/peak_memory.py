"""The memory of steps of row (c), in addition to the inputs."""

from benchmarks.rows.three_heads import (
    gradtape as gradtape,
    jax_jit as jax_jit,
    tensorflow_eager as tensorflow_eager,
    tensorflow_function as tensorflow_function,
    torch_compile as torch_compile,
    torch_eager as torch_eager,
)

KEY = "f"
TITLE = "peak memory of (c), above what the process held before"
MEASURE = "peak memory"
STEPS = 5
TARGETS = {}
WITH_TUNED_ALLOCATOR = True
