"""gradtape's switches and counters, the public `gradtape.config`."""

from __future__ import annotations

import logging
from typing import NamedTuple

import jax

from gradtape._src.core import engine, execution
from gradtape._src.core.errors import public


def get_logger() -> logging.Logger:
    """Return the logger of gradtape's messages, which is called "gradtape".

    >>> tf.get_logger().setLevel("ERROR")
    """
    return logging.getLogger("gradtape")


@public
def run_eagerly(run: bool = True) -> None:
    """Run each op at once, by itself, instead of recording it; for debugging. Results agree to rounding, not to the bit."""
    if run:
        engine.flush_if_outermost()
    execution.run_each(bool(run))


@public
def cache_info() -> dict[str, int]:
    """What the engine did in this process so far, as a dict.

    `runs` programs were run, of which `hits` were found as recorded; `programs` and `kernels` were compiled (whole
    programs, single ops); `node_by_node` runs went op by op; `plans` gradients were planned; `most_pending` nodes were
    pending at the most; `programs_held` compiled programs are kept, of at most `programs_bound`.
    """
    counted = dict(vars(execution.counters))
    return counted | {"programs_held": len(execution.programs), "programs_bound": execution.programs.bound}


@public
def clear_cache() -> None:
    """Forget all compiled programs and gradient plans of this process, and set the counters back to 0."""
    engine.flush_if_outermost()
    for cache in execution.caches:
        cache.clear()
    execution.built.clear()
    execution.counters.reset()


class PhysicalDevice(NamedTuple):
    """A device that JAX found: `name` and `device_type`."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as computations are placed on it, here the same as a physical one: `name` and `device_type`."""

    name: str
    device_type: str


@public
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that computations can run on, as a list of PhysicalDevice; of one type ("CPU", "GPU") if given."""
    devices = jax.devices()
    if all(d.platform != "cpu" for d in devices):
        devices = [*jax.devices("cpu"), *devices]
    found = []
    for device in devices:
        kind = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}.get(device.platform, device.platform)
        found.append(PhysicalDevice(f"/physical_device:{kind}:{device.id}", kind))
    return [d for d in found if device_type is None or d.device_type == device_type]


@public
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices by the names that `tf.device` takes, as a list of LogicalDevice; of one type ("CPU", "GPU") if given."""
    return [LogicalDevice(d.name.replace("physical_", ""), d.device_type) for d in list_physical_devices(device_type)]
