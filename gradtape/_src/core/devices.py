"""Arrays that lie on different devices, brought together so that a program can take them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding


def brought_together(arguments: Sequence[Any], error: Exception) -> list[Any]:
    """Copy `arguments` that lie on different devices to the device that most of them lie on.

    As TensorFlow does it. `error` is what JAX said; it is raised if it was not about that.
    """
    placed = [a.sharding for a in arguments if isinstance(a, jax.Array)]
    if "incompatible devices" in str(error):
        most: Sharding = max(placed, key=lambda sharding: len(sharding.device_set))
        elsewhere = [s for s in placed if s.device_set != most.device_set]
        if elsewhere and isinstance(most, (NamedSharding, SingleDeviceSharding)):
            there = NamedSharding(most.mesh, PartitionSpec()) if isinstance(most, NamedSharding) else most
            return [
                jax.device_put(a, there) if isinstance(a, jax.Array) and a.sharding.device_set != most.device_set else a
                for a in arguments
            ]
    raise error
