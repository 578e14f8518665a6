"""`tf.profiler.experimental`: traces of host and devices, recorded by JAX's profiler for TensorBoard."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, NamedTuple

import jax

from gradtape._src.core.base import locks
from gradtape._src.core.base.errors import AlreadyExistsError, UnavailableError
from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as


class ProfilerOptions(NamedTuple):
    """The levels of tracing: on the host (1 to 3), of Python calls (0 or 1), on devices (0 or 1). `delay_ms` has no effect.

    >>> with tf.profiler.experimental.Profile("host", tf.profiler.experimental.ProfilerOptions(device_tracer_level=0)):
    ...     x = tf.square(2.0)
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


_lock = locks.Lock()
_running: list[tuple[str, str]] = []  # the trace in progress, if any: its final folder, and the one it is written to first


@public
def start(logdir: Any, options: ProfilerOptions | None = None) -> None:
    """Start tracing host and devices; `stop` saves the trace in the folder `logdir`, for TensorBoard.

    AlreadyExistsError if a trace is in progress.

    >>> tf.profiler.experimental.start("traced")
    >>> print(tf.square(3.0).numpy())
    9.0
    >>> tf.profiler.experimental.stop()
    >>> tf.io.gfile.listdir("traced")
    ['plugins']
    """
    with _lock:
        if _running:
            raise AlreadyExistsError(
                None, None, "Another profiler is running. End it with tf.profiler.experimental.stop() first."
            )
        wanted = ProfilerOptions() if options is None else options
        settings = jax.profiler.ProfileOptions()
        settings.host_tracer_level = wanted.host_tracer_level
        settings.python_tracer_level = wanted.python_tracer_level
        settings.advanced_configuration = {} if wanted.device_tracer_level else {"tpu_trace_mode": "TRACE_ONLY_HOST"}
        folder = tempfile.mkdtemp(prefix="gradtape-profile-")
        try:
            jax.profiler.start_trace(folder, profiler_options=settings)
        except RuntimeError:  # a trace started by jax.profiler itself
            shutil.rmtree(folder)
            raise AlreadyExistsError(
                None, None, "Another profiler is running: end it with jax.profiler.stop_trace() first."
            ) from None
        _running.append((os.fspath(logdir), folder))


@public
def stop(save: bool = True) -> None:
    """End the trace, and save it unless `save` is False. UnavailableError if none is in progress.

    >>> tf.profiler.experimental.start("discarded")
    >>> tf.profiler.experimental.stop(save=False)
    >>> tf.io.gfile.exists("discarded")
    False
    """
    with _lock:
        if not _running:
            raise UnavailableError.saying(
                "Cannot export profiling results. No profiler is running: begin with tf.profiler.experimental.start(logdir)."
            )
        logdir, folder = _running.pop()
        try:
            jax.profiler.stop_trace()
            if save:
                shutil.copytree(folder, logdir, dirs_exist_ok=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Profile:
    """A context that records a trace, like `start` and `stop`, and saves it in `logdir`.

    >>> with tf.profiler.experimental.Profile("logs"):
    ...     print(tf.square(3.0).numpy())
    9.0
    """

    def __init__(self, logdir: Any, options: ProfilerOptions | None = None) -> None:
        self._logdir, self._options = logdir, options

    @public
    def __enter__(self) -> None:
        start(self._logdir, self._options)

    @public
    def __exit__(self, typ: Any, value: Any, tb: Any) -> None:
        stop()


class Trace:
    """A context that appears as `name` in a trace's timeline, with keywords as its details: `step_num=3` marks a step.

    >>> with tf.profiler.experimental.Trace("train", step_num=1):
    ...     x = tf.square(2.0)
    """

    @public
    def __init__(self, name: str, **kwargs: Any) -> None:
        marks_step = {"_r": 1} if "step_num" in kwargs else {}
        self._event = jax.profiler.TraceAnnotation(name, **marks_step | kwargs)

    def __enter__(self) -> Trace:
        self._event.__enter__()
        return self

    def set_metadata(self, **kwargs: Any) -> None:
        """Add details to the event."""
        self._event.set_metadata(**kwargs)

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self._event.__exit__(exc_type, exc_val, exc_tb)


@public
@known_as("start")
def start_server(port: int) -> None:
    """Start a server at `port`, from which TensorBoard can request a trace. ValueError if one is running.

    >>> tf.profiler.experimental.server.start(0)  # 0: any free port
    """
    jax.profiler.start_server(port)
