"""`tf.summary.trace_on` and related functions: the graphs of functions that run, and device activity, for TensorBoard."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.core.base import hooks, locks
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import profiler as device_profiler
from gradtape._src.summary import messages
from gradtape._src.summary.summary import local, write

logger = logging.getLogger("gradtape")


@dataclass
class Noted:
    """A trace: the functions that ran, in order, and whether it has started the profiler."""

    graph: bool
    profiler: bool
    profiling: bool
    functions: dict[ConcreteFunction, None] = field(default_factory=dict)

    def note(self, function: ConcreteFunction) -> None:
        """Add a function that ran."""
        self.functions[function] = None


class Tracing:
    """The trace in progress, if any."""

    def __init__(self) -> None:
        self.lock = locks.Lock()
        self.current: Noted | None = None


tracing = Tracing()


@public
def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: str | None = None) -> None:
    """Start noting the functions that run in all threads; `trace_export` writes their graphs.

    With `profiler`, device activity is traced, too, and saved in the folder `profiler_outdir`. Inside of a function, and if a
    trace is in progress, it warns and does nothing.

    >>> tf.summary.trace_on()
    >>> print(tf.function(tf.square)(tf.constant(3.0)).numpy())
    9.0
    >>> with tf.summary.create_file_writer("graphs").as_default(step=0):
    ...     tf.summary.trace_export("square")
    """
    if _inside("enable trace"):
        return
    with tracing.lock:
        if tracing.current is not None:
            logger.warning("Trace already enabled")
            return
        profiling = profiler and profiler_outdir is not None
        if profiler and not profiling:
            logger.warning("No `profiler_outdir` passed to trace_on(). Profiler won't be enabled.")
        if profiling:
            device_profiler.start(profiler_outdir)
        tracing.current = Noted(graph, profiler, profiling)
        hooks.watch.called = tracing.current.note if graph else None


@public
def trace_export(name: str, step: Any = None, profiler_outdir: str | None = None) -> None:
    """End the trace; write the graphs of the functions that ran by the default writer, and save the profiler's trace.

    `step` is an integer; by default that of the writer's context, ValueError if there is none. ValueError if no trace is in
    progress. `profiler_outdir` is that of `trace_on`; here it has no effect.

    >>> tf.summary.trace_on()
    >>> tf.function(tf.square)(tf.constant(2.0)).numpy()
    np.float32(4.0)
    >>> tf.summary.trace_export("square", step=0)
    """
    if _inside("export trace"):
        return
    traced = tracing.current
    if traced is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    if local.writer is not None and not local.writer.writes_nothing:
        kind = b"graph_run_metadata_graph" if traced.graph and not traced.profiler else b"graph_run_metadata"
        metadata = messages.tensorboard().Metadata()
        metadata.plugin_data.plugin_name = kind.decode()
        metadata.plugin_data.content = b"1"
        write(name, messages.run_metadata([f.graph for f in traced.functions]).SerializeToString(), step, metadata)
    if profiler_outdir is not None and traced.profiler:
        logger.warning("Ignoring `profiler_outdir` passed to trace_export(). Please pass it to trace_on() instead.")
    _end(save=True)


@public
def trace_off() -> None:
    """End the trace and drop its contents. Without a trace in progress nothing happens.

    >>> tf.summary.trace_on()
    >>> tf.summary.trace_off()
    """
    _end(save=False)


def _end(save: bool) -> None:
    with tracing.lock:
        traced, tracing.current, hooks.watch.called = tracing.current, None, None
    if traced is not None and traced.profiling:
        device_profiler.stop(save)


def _inside(what: str) -> bool:
    if engine.local.trace.scope is None:
        return False
    logger.warning("Cannot %s inside a tf.function.", what)
    return True
