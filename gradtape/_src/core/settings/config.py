"""gradtape's own switches and counters, the public `gradtape.config`, and its logger."""

from __future__ import annotations

import gc
import logging

import jax

from gradtape._src.core.base.folding import Folding
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import compilations, engine, execution, tiers
from gradtape._src.core.engine.execution import BOUND, pool
from gradtape._src.core.native import twins
from gradtape._src.core.platform.allocator import give_back
from gradtape._src.core.programs import transcript
from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.program import caches


def get_logger() -> logging.Logger:
    """Return the logger of gradtape's messages, named "gradtape".

    >>> tf.get_logger().setLevel("ERROR")
    """
    return logging.getLogger("gradtape")


get_logger().addFilter(Folding())


@public
def run_eagerly(run: bool = True) -> None:
    """Run each op at once instead of recording it; for debugging. Results agree up to rounding.

    >>> tf.config.run_eagerly()
    >>> print((tf.constant(2.0) * 3.0).numpy())
    6.0
    >>> tf.config.run_eagerly(False)
    """
    if run:
        engine.flush_if_outermost()
    execution.run_each(bool(run))


@public
def compile_early(early: bool = True) -> None:
    """Compile each program when it is first run, instead of running its ops on the host for some time.

    Results agree up to rounding. See docs/performance.md for when a program is compiled by default.

    >>> tf.config.compile_early()
    >>> tf.config.compile_early(False)
    """
    engine.flush_if_outermost()
    tiers.compile_early(bool(early))


@public
def log_compiles(log: bool = True) -> None:
    """Log each compilation: the user's line, shapes, seconds, and how often the program was seen; or stop doing so.

    Compilations of more than two seconds are always logged. See docs/performance.md for when a program is compiled.

    >>> tf.config.log_compiles()
    >>> tf.config.log_compiles(False)
    """
    compilations.tell_each(bool(log))


@public
def cache_info() -> dict[str, int]:
    """Return the engine's counters in this process as a dict.

    `runs` counts runs of programs, `hits` those found as recorded; `programs` and `kernels` count compilations of whole programs
    and of single ops. `node_by_node` runs executed op by op; `went_over` of them changed to a compiled program in the middle of a
    loop. `not_on_host` ops failed on NumPy and were compiled. `plans` gradients were planned. `most_pending` is the maximum
    number of pending nodes. `programs_held` of at most `programs_bound` programs are kept, with about `bytes_held` of compiled
    code. Beyond `bytes_bound`, code that ran only once or not recently is dropped. `in_c` is 1 if ops are recorded in C, 0 if in
    Python.

    >>> before = tf.config.cache_info()["runs"]
    >>> total = (tf.constant([1.0, 2.0]) * 2.0 + 1.0).numpy()  # two ops, in one run
    >>> tf.config.cache_info()["runs"] - before
    1
    """
    counted = dict(vars(execution.counters))
    counted["plans"] = sum([cache.entered for cache in caches if cache.of == "plans"])
    counted["in_c"] = int(twins.which() == "C")
    held = {"programs_held": len(execution.programs), "programs_bound": execution.programs.bound}
    return counted | held | {"bytes_held": pool.bytes, "bytes_bound": BOUND}


@public
def clear_cache() -> None:
    """Drop all compiled programs and gradient plans of this process, and reset the counters to 0.

    JAX's caches are cleared, too. With glibc the memory is returned to the system.

    >>> tf.config.clear_cache()
    >>> tf.config.cache_info()["programs_held"]
    0
    """
    engine.flush_if_outermost()
    for cache in caches:
        cache.clear()
        cache.entered = 0
    for op in ops.values():
        op.avals.clear()
    pool.clear()
    transcript.forget()
    jax.clear_caches()
    execution.counters.reset()
    gc.collect()
    give_back()
