"""The first step of row (a) in a new process, after the import: tracing and compiling included."""

from benchmarks.rows.mlp import (
    gradtape as gradtape,
    jax_jit as jax_jit,
    tensorflow_eager as tensorflow_eager,
    tensorflow_function as tensorflow_function,
    torch_compile as torch_compile,
    torch_eager as torch_eager,
)

KEY = "ha"
TITLE = "cold: first step of (a)"
MEASURE = "first step"
TARGETS = {}
