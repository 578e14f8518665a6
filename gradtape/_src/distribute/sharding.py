"""Placement of values: devices by TensorFlow's names, tensors and variables with shardings over several devices.

This is all that computation on many devices needs: XLA partitions a program over arrays on a mesh.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.settings.device_config import local_devices
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of, graph_of
from gradtape._src.core.tensors.variable import ResourceVariable, Variable

WORTH_A_PROGRAM = 1 << 20  # size of an initial value, in bytes, from which it is computed by its own program
AXIS = "batch"  # the axis of a strategy's mesh along which rows are split
_NAME = re.compile(r"(?:.*/)?(?:device:)?(CPU|GPU|TPU)(?::(\d+|\*))?", re.IGNORECASE)


@op(
    "ShardingConstraint", infer=lambda input, sharding: input, cheap=True, unhosted="it lays values out on devices",
    traits="own places", flops=0,
)  # fmt: skip
def _constrained(input, *, sharding):
    laid_out = jax.lax.with_sharding_constraint(input, sharding)
    if sharding.is_fully_replicated:
        return laid_out
    # Without the barrier, XLA (JAX 0.10.2) computes wrong numbers for a scatter into a value that was replicated before in the
    # same program.
    return jax.lax.optimization_barrier(laid_out)


@gradient(_constrained)
def _(dy):
    return dy


def relayout(value: Any, sharding: Sharding) -> Tensor:
    """Change the sharding of a value by an op, through which gradients pass."""
    return _constrained(tensor(value), sharding=sharding)


def place(value: Any, sharding: Sharding) -> Tensor:
    """Change the sharding of an external batch by transferring its parts, without recording an op."""
    x = tensor(value)
    if x.node.value is None:
        return relayout(x, sharding)
    if x.node.aval.dtype == object:
        return x
    return EagerTensor(leaf(x.node.aval, put(x.node.value, sharding)))


def put(value: Any, sharding: Sharding) -> jax.Array:
    """Shard an array. Each of several processes transfers its parts of a value that all of them have."""
    if sharding.is_fully_addressable or (isinstance(value, jax.Array) and not value.is_fully_addressable):
        return xla.put(value, sharding)
    held = np.asarray(value)
    with xla.wide():
        return jax.make_array_from_callback(held.shape, sharding, lambda index: held[index])


class DistributedVariable(ResourceVariable):
    """A variable on several devices, with a fixed sharding, which assigned values get, too."""

    _sharding: Sharding

    def _hold(self, node: Node) -> Any:
        return super()._hold(engine.record(_constrained.op, (node,), (self._sharding,)))


def lay_out(variable: Variable, sharding: Sharding) -> Variable:
    """Shard a variable that was just created; return it, now a DistributedVariable."""
    if graph_of(variable._tensor.node) is None and variable.aval.dtype != object:
        node = variable._tensor.node
        node.value = put(engine.value(node), sharding)
        if type(variable) is ResourceVariable:
            variable.__class__ = DistributedVariable
            cast(DistributedVariable, variable)._sharding = sharding
    return variable


def begun(value: Any, sharding: Sharding | None) -> Any:
    """Return the initial value of a variable with a sharding. A large pending value is computed in parts on the devices."""
    if sharding is None or sharding.is_fully_replicated or not sharding.is_fully_addressable or engine.tracing():
        return value
    x = tensor(value)
    return relayout(x, sharding) if x.node.value is None and _bytes(x.node.aval) >= WORTH_A_PROGRAM else x


def _bytes(aval: Any) -> int:
    return int(aval.size * aval.dtype.itemsize)


class VariableLayout:
    """The shardings of a strategy: variables are replicated by `copies`, batches are split by `rows`.

    A variable of `split_from` bytes or more is split, too, along its longest axis that divides evenly. On JAX's default device
    alone both shardings are None, as nothing needs to be moved.
    """

    copies: Sharding | None
    rows: Sharding | None

    def __init__(self, devices: Sequence[Any], split_from: float = math.inf) -> None:
        self.devices, self._split_from = list(devices), split_from
        if len(self.devices) > 1:
            mesh = Mesh(np.array(self.devices), (AXIS,))
            self.copies, self.rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec(AXIS))
        else:
            alone = self.devices[0]
            self.copies = self.rows = None if alone == local_devices()[0] else SingleDeviceSharding(alone)

    def of(self, aval: Any) -> Sharding | None:
        """Return the sharding of a variable with this Aval; None if none is needed."""
        if isinstance(self.copies, NamedSharding) and _bytes(aval) >= self._split_from:
            count = len(self.devices)
            longest = max([(extent, -axis) for axis, extent in enumerate(aval.shape) if extent % count == 0], default=None)
            if longest is not None:
                return NamedSharding(self.copies.mesh, PartitionSpec(*[None] * -longest[1], AXIS))
        return self.copies

    def variable(self, create: Callable[..., Variable], initial_value: Any = None, **options: Any) -> Variable:
        """Create a variable by `create(initial_value=…, …)`, and shard it."""
        if callable(initial_value):
            made = create(initial_value=lambda: self._begun(initial_value()), **options)
        else:
            made = create(initial_value=initial_value, **options)
        sharding = self.of(made.aval) if made.aval.dtype != object else None
        return made if sharding is None else lay_out(made, sharding)

    def _begun(self, value: Any) -> Any:
        return begun(value, self.of(value.node.aval)) if isinstance(value, EagerTensor) else value

    def batch(self, value: Any) -> Any:
        """Split the rows of a batch among the devices; replicate it if they do not divide evenly."""
        if self.rows is None or not isinstance(value, Tensor):
            return value
        divides = value.ndim and extents_of(value)[0] % len(self.devices) == 0
        return place(value, cast(Sharding, self.rows if divides else self.copies))


def found(names: Sequence[Any] | None) -> list[Any]:
    """Return the devices of these names, or all of this process. Missing ones are skipped, as in TensorFlow's soft placement."""
    if names is None:
        return local_devices()
    devices = [device for name in names for device in _named(name)]
    return devices or local_devices()[:1]


def _named(name: Any) -> list[Any]:
    if not isinstance(name, str):
        if isinstance(name, jax.Device):
            return [name]
        raise TypeError(f"A device is named by a string such as 'GPU:0', received {name!r}.")
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"Unknown attribute {name!r} is encountered while parsing the device spec: give 'GPU:0' or 'CPU:0'.")
    try:
        devices = jax.devices(match[1].lower())
    except RuntimeError:  # JAX has no devices of this kind
        return []
    return devices if match[2] == "*" else [d for d in devices if d.id == int(match[2] or 0)]
