"""Moving arrays from different devices and processes together, for a program or a reader."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from gradtape._src.core.base import hooks
from gradtape._src.core.platform import xla

SAMPLE = 4096  # the number of elements of an array in a checksum


def brought_together(arguments: Sequence[Any], error: Exception) -> list[Any]:
    """Copy `arguments` on different devices to the device that holds most of them, as TensorFlow does.

    `error` is JAX's error; it is raised again if it has another cause.
    """
    placed = [a.sharding for a in arguments if isinstance(a, jax.Array)]
    if "incompatible devices" in str(error):
        most: Sharding = max(placed, key=lambda sharding: len(sharding.device_set))
        elsewhere = [s for s in placed if s.device_set != most.device_set]
        if elsewhere and isinstance(most, (NamedSharding, SingleDeviceSharding)):
            there = NamedSharding(most.mesh, PartitionSpec()) if isinstance(most, NamedSharding) else most
            return [
                xla.put(a, there) if isinstance(a, jax.Array) and a.sharding.device_set != most.device_set else a
                for a in arguments
            ]
    raise error


def elsewhere(arguments: Sequence[Any]) -> bool:
    """Return whether parts of these arrays are on other processes."""
    return any(isinstance(a, jax.Array) and not a.is_fully_addressable for a in arguments)


def checksum(arguments: Sequence[Any]) -> int:
    """Return a checksum of the integer arrays that each process has for itself: seeds, counts, indices.

    They must be equal in all processes, since XLA takes them for replicas of one array. Floats are left out, as their last bits
    may depend on the machine. Of a large array only some elements are used.
    """
    found = 0
    for array in arguments:
        if array.dtype.kind in "iub" and not (isinstance(array, jax.Array) and not array.is_fully_addressable):
            elements = np.asarray(array).reshape(-1)
            found = zlib.crc32(elements[:: elements.size // SAMPLE + 1].tobytes(), found)
    return found


def in_parts(arrays: Sequence[Any]) -> bool:
    """Return whether no process holds all of these arrays, so that all have to read them together."""
    return any(isinstance(a, jax.Array) and not a.is_fully_addressable and not a.is_fully_replicated for a in arrays)


def whole(value: jax.Array) -> np.ndarray:
    """Return an array as NumPy's. Parts on other processes are gathered, which all processes have to do together."""
    if not in_parts([value]):
        return np.asarray(value)
    assert hooks.clients.together is not None
    copies = NamedSharding(value.sharding.mesh, PartitionSpec()) if isinstance(value.sharding, NamedSharding) else None
    if copies is None:
        raise ValueError("A value that lies on other processes cannot be read here. Lay it out over a mesh, or reduce it first.")
    return np.asarray(hooks.clients.together(f"a read of {value.dtype}{list(value.shape)}", _copied, value, copies))


def _copied(value: jax.Array, copies: NamedSharding) -> jax.Array:
    made: jax.Array = xla.jit(lambda x: x, out_shardings=copies)(value)
    return made.block_until_ready()


def first_of(value: Any) -> str:
    """Return the first device that holds a value, such as "CPU:0"."""
    if not isinstance(value, jax.Array):
        return "CPU:0"
    here = value.sharding.addressable_devices or value.devices()
    first = min(here, key=lambda device: device.id)
    return f"{first.platform.upper()}:{jax.local_devices(first.process_index, first.platform).index(first)}"
