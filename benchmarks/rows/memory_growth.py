"""10,000 steps of row (a): the memory held after 10,000 steps, compared with that after 1,000."""

from benchmarks.rows.mlp import gradtape as gradtape, jax_jit as jax_jit, torch_eager as torch_eager

KEY = "i"
TITLE = "10,000 steps of (a), growth after the first 1,000:"
MEASURE = "memory growth"
STEPS = 1_000, 10_000
MEMORY_LIMIT, OBJECTS_LIMIT = 4 * 2**20, 50  # the heap settles within some 4,000 steps
