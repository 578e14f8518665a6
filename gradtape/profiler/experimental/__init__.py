"""Traces of what the host and the devices do, for TensorBoard."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.platform.profiler import (
    Profile as Profile,
    ProfilerOptions as ProfilerOptions,
    Trace as Trace,
    start as start,
    stop as stop,
)
from gradtape.profiler.experimental import server as server

__getattr__ = _missing(__name__)
