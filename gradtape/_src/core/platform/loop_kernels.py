"""`tune_loops`: XLA's choice to compile a small loop as one function."""

from __future__ import annotations

import os
import re

import jax
import numpy as np

from gradtape._src.core.base.public import public

OPTION = "xla_cpu_small_while_loop_byte_threshold"
FLAG = "--xla_backend_extra_options="
MARK = "xla_cpu_small_call"  # XLA's name for such a loop


@public
def tune_loops(largest: int = 1 << 20) -> bool:
    """Have XLA compile each loop whose values, with stacked ones, take less than `largest` bytes as one function.

    By default XLA's CPU compiler does so for loops of less than a kilobyte. In other loops each op is a kernel with a cost per
    call, which rises by half or more once a trip has about ten. In measurements, loops over small vectors ran 2 to 3 times as
    fast as one function. A loop over convolutions, or over arrays of more than about ten thousand elements, may become slower,
    since one function runs in one thread: measure.

    The setting applies to the whole process, including JAX's own programs, so importing gradtape never changes it. Call this
    before the first op. Returns whether XLA uses the setting: False if it had started before, or on another device.

    >>> in_force = tf.config.tune_loops()  # at the top of a program: True on a CPU
    """
    before = os.environ.get("XLA_FLAGS", "")
    kept = re.findall(re.escape(FLAG) + r"(\S+)", before)  # one flag holds all extra options
    others = re.sub(re.escape(FLAG) + r"\S+", "", before)
    extra = ",".join([*kept, f"{OPTION}={int(largest)}"])
    os.environ["XLA_FLAGS"] = f"{others} {FLAG}{extra}".strip()
    try:
        return _in_force(int(largest))
    finally:  # XLA has read it; child processes must not inherit it
        if before:
            os.environ["XLA_FLAGS"] = before
        else:
            del os.environ["XLA_FLAGS"]


def _in_force(largest: int) -> bool:
    """Return whether XLA compiles a loop over a vector of about a third of `largest` bytes as one function."""

    def loop(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 3, lambda _, value: value * value, x)

    vector = jax.ShapeDtypeStruct((max(largest // 12, 1),), np.float32)
    return MARK in str(jax.jit(loop).lower(vector).compile().as_text())
