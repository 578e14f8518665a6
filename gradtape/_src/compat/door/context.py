"""TensorFlow's context of eager code, which tells libraries whether code runs eagerly, and on which device."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.settings.device_config import list_logical_devices, list_physical_devices
from gradtape._src.core.tensors.scopes import executing_eagerly as executing_eagerly, get_current_name_scope
from gradtape._src.core.values.device_spec import DeviceSpec
from gradtape._src.ops.random import seeds


class Context:
    """The state of the running code. Device scopes are ignored, so that no device is initialized."""

    device_name = ""
    device_spec = DeviceSpec()

    @property
    def scope_name(self) -> str:
        """The open name scopes."""
        return get_current_name_scope()

    def executing_eagerly(self) -> bool:
        """Return whether code runs eagerly, not in a function or graph."""
        return executing_eagerly()

    def num_gpus(self) -> int:
        """Return the number of GPUs."""
        return len(list_logical_devices("GPU"))

    def list_physical_devices(self, device_type: str | None = None) -> list[Any]:
        """Return the devices of a type, all by default, as `tf.config.list_physical_devices` does."""
        return list_physical_devices(device_type)

    def list_logical_devices(self, device_type: str | None = None) -> list[Any]:
        """Return the devices of a type, all by default, as `tf.config.list_logical_devices` does."""
        return list_logical_devices(device_type)

    @public
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"gradtape's context() has no {name!r}. Use tf.executing_eagerly() and tf.config.")


CONTEXT = Context()


def context() -> Context:
    """Return the context."""
    return CONTEXT


def num_gpus() -> int:
    """Return the number of GPUs."""
    return CONTEXT.num_gpus()


def in_eager_mode() -> bool:
    """Return whether code runs eagerly, not in a function or graph."""
    return executing_eagerly()


def global_seed() -> Any:
    """Return the seed of the last `tf.random.set_seed` in eager code; None before."""
    return seeds.global_seed()


def async_wait() -> None:
    """Wait until all pending ops have run, and raise their errors."""
    engine.flush_if_outermost()


def eager_mode() -> AbstractContextManager[None]:
    """Open a context of eager code, also in a function or graph."""
    return tracing.outside()


def graph_mode() -> AbstractContextManager[Any]:
    """Open a context for building a graph: a new one in eager code, else the current one."""
    from gradtape._src.v1.graphs.graph import Graph

    return Graph().as_default() if executing_eagerly() else contextlib.nullcontext()


def ensure_initialized() -> None:
    """Do nothing, because JAX is initialized on first use."""
