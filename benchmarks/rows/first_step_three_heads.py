"""The first step of row (c) in a new process, after the import: tracing and compiling included."""

from benchmarks.rows.three_heads import (
    gradtape as gradtape,
    jax_jit as jax_jit,
    tensorflow_eager as tensorflow_eager,
    tensorflow_function as tensorflow_function,
    torch_compile as torch_compile,
    torch_eager as torch_eager,
)

KEY = "hc"
TITLE = "cold: first step of (c)"
MEASURE = "first step"
TARGETS = {}
