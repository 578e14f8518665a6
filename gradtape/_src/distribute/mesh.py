"""`Mesh` and `Layout` of DTensor: a JAX mesh with TensorFlow's names, and a `NamedSharding` over it."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from gradtape._src.core.base.errors import UnknownError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.settings import device_config
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.device_spec import DeviceSpec

UNSHARDED = "unsharded"
MATCH = "match"

_known: dict[jax.sharding.Mesh, Mesh] = {}  # the Mesh of each JAX mesh that was used in a layout


class MeshDimension(NamedTuple):
    """One dimension of a mesh: its name and its extent.

    >>> tf.experimental.dtensor.create_mesh({"batch": -1}, devices=["CPU:0"])["batch"].size
    1
    """

    name: str
    size: int


def devices_of(kind: str, client: int) -> list[jax.Device]:
    """Return JAX's devices of a kind ("CPU", "GPU", "TPU") in one of the processes."""
    try:
        found = jax.devices(kind.lower())
    except RuntimeError:  # JAX has no devices of this kind
        return []
    return [device for device in found if device.process_index == client]


class Mesh:
    """A grid of devices with named dimensions, created by `tf.experimental.dtensor.create_mesh`.

    Its devices are looked up when a value is laid out on it, so a Mesh may name remote devices. `jax_mesh` is the equivalent
    JAX mesh.

    >>> mesh = tf.experimental.dtensor.create_mesh([("batch", 1), ("model", 1)], devices=["CPU:0"])
    >>> mesh.shape(), mesh.dim_names, mesh.local_device_locations()
    ([1, 1], ['batch', 'model'], [{'batch': 0, 'model': 0}])
    """

    @public
    def __init__(
        self,
        dim_names: Sequence[str],
        global_device_ids: np.ndarray,
        local_device_ids: list[int],
        local_devices: list[Any],
        mesh_name: str = "",
        global_devices: list[Any] | None = None,
        use_xla_spmd: bool = False,
    ) -> None:
        _check_ids(dim_names, global_device_ids)
        _check_devices(local_device_ids, local_devices, global_devices, global_device_ids.size)
        specs = [_spec(device) for device in local_devices or global_devices or []]
        self._type = _one_type(specs)
        if use_xla_spmd and self._type != "TPU":
            raise ValueError(f"XLA SPMD is not currently not supported for {self._type} mesh: leave `use_xla_spmd` out.")
        self._names, self._shape, self._name = tuple(dim_names), global_device_ids.shape, mesh_name
        self._ids, self._local_ids = global_device_ids.flatten().tolist(), list(local_device_ids)
        self._local_devices = [_text(device) for device in local_devices]
        self._global_devices = [_text(device) for device in global_devices or []]
        self._use_xla_spmd = use_xla_spmd

    @functools.cached_property
    def jax_mesh(self) -> jax.sharding.Mesh:
        """The equivalent JAX mesh; InvalidArgumentError for a missing device."""
        names = self._global_devices or self._names_of_all()
        devices = [_device(name) for name in names]
        if len(set(devices)) < len(devices):
            raise invalid(f"A mesh has each device once, received {names}.")
        made = jax.sharding.Mesh(np.array(devices).reshape(self._shape), tuple(map(self.axis, self._names)))
        _known[made] = self
        return made

    def axis(self, dim_name: str) -> str:
        """Return the name of a dimension in `jax_mesh`, with the name of the mesh as a prefix."""
        return f"{self._name}/{dim_name}" if self._name else dim_name

    def _names_of_all(self) -> list[str]:
        """Return the names of the devices of all clients, assuming equal local names."""
        mine, count = self._local_devices, len(self._local_devices)
        if count == len(self._ids):
            return mine
        return [DeviceSpec.from_string(mine[i % count]).replace(task=i // count).to_string() for i in range(len(self._ids))]

    # -- properties

    @property
    def name(self) -> str:
        """The name, by default ""."""
        return self._name

    @property
    def dim_names(self) -> list[str]:
        """The names of the dimensions."""
        return list(self._names)

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self._shape)

    @property
    def strides(self) -> list[int]:
        """The strides of the dimensions in the flat list of devices."""
        return [math.prod(self._shape[axis + 1 :]) for axis in range(len(self._shape))]

    def shape(self) -> list[int]:
        """Return the extents of the dimensions, a list."""
        return list(self._shape)

    def device_type(self) -> str:
        """Return the kind of the devices: "CPU", "GPU" or "TPU"."""
        return self._type

    def use_xla_spmd(self) -> bool:
        """Return the argument of the constructor, which has no effect: XLA always partitions programs."""
        return self._use_xla_spmd

    @public
    def dim_size(self, dim_name: str) -> int:
        """Return the extent of a dimension; ValueError for an unknown name."""
        if dim_name not in self._names:
            raise ValueError(f"Dimension {dim_name} does not exist in mesh.Available dimensions: {','.join(self._names)}")
        return self._shape[self._names.index(dim_name)]

    @public
    def __getitem__(self, dim_name: str) -> MeshDimension:
        return MeshDimension(dim_name, self.dim_size(dim_name))

    def contains_dim(self, dim_name: str) -> bool:
        """Return whether there is a dimension of this name."""
        return dim_name in self._names

    __contains__ = contains_dim

    # -- devices

    def global_device_ids(self) -> np.ndarray:
        """Return the numbers of all devices, an array of the mesh's shape."""
        return np.array(self._ids, np.int64).reshape(self._shape)

    def min_global_device_id(self) -> int:
        """Return the smallest device number."""
        return self._ids[0]

    def local_device_ids(self) -> list[int]:
        """Return the numbers of the devices of this process."""
        return list(self._local_ids)

    def local_devices(self) -> list[str]:
        """Return the names of the devices of this process."""
        return list(self._local_devices)

    def global_devices(self) -> list[str]:
        """Return the names of all devices, if they were given to the constructor."""
        return list(self._global_devices)

    def num_local_devices(self) -> int:
        """Return the number of devices of this process."""
        return len(self._local_devices)

    def is_remote(self) -> bool:
        """Return whether all devices belong to other processes."""
        return not self._local_devices

    def unravel_index(self) -> dict[int, dict[str, int]]:
        """Return the position of each device: a dict from its number to a dict from dimensions to indices."""
        places = itertools.product(*map(range, self._shape))
        return {number: dict(zip(self._names, place, strict=True)) for number, place in enumerate(places)}

    def local_device_locations(self) -> list[dict[str, int]]:
        """Return the position of each device of this process, a dict from dimensions to indices."""
        places = self.unravel_index()
        return [places[number] for number in self._local_ids]

    @public
    def device_location(self, device_id: int) -> list[int]:
        """Return the position of a device, an index for each dimension."""
        return list(self.unravel_index()[device_id].values())

    @public
    def coords(self, device_idx: Any) -> Tensor:
        """Return the position of a device as a tensor, an index for each dimension."""
        found: Tensor = (tensor(device_idx) // tensor(self.strides)) % tensor(self.shape())
        return found

    def host_mesh(self) -> Mesh:
        """Return a mesh of CPUs with the same shape: itself, if it consists of CPUs."""
        if self._type == "CPU":
            return self
        cpus = [[_spec(d).replace(device_type="CPU") for d in devices] for devices in (self._local_devices, self._global_devices)]
        return Mesh(self._names, self.global_device_ids(), self._local_ids, cpus[0], self._name, cpus[1])

    # -- text form

    def to_string(self) -> str:
        """Return the mesh as text, for `from_string`."""
        dims = [f"{name}={size}" for name, size in zip(self._names, self._shape, strict=True)]
        parts: list[list[Any]] = [dims, self._ids, self._local_ids, self._local_devices]
        parts += [self._global_devices] if self._global_devices else []
        return "|".join([self._name, *[",".join(map(str, part)) for part in parts]])

    @classmethod
    @public
    def from_string(cls, mesh_str: str) -> Mesh:
        """Parse the text of `to_string`; ValueError if it is invalid."""
        try:
            name, dims, ids, local_ids, devices, *rest = [part.split(",") for part in mesh_str.split("|")]
            names, sizes = zip(*[dim.split("=") for dim in dims], strict=True)
            found = np.array(list(map(int, ids))).reshape(list(map(int, sizes)))
            local = [int(number) for number in local_ids if number]
        except ValueError:
            raise ValueError(f"Failed to parse mesh config. Input string is invalid: {mesh_str}") from None
        return cls(names, found, local, list(filter(None, devices)), name[0], rest[0] if rest else None)

    def __repr__(self) -> str:
        return f"Mesh.from_string({self.to_string()})"

    def __reduce__(self) -> Any:
        return Mesh.from_string, (self.to_string(),)

    def _key(self) -> Any:
        return self._name, self._names, self._shape, self._local_ids, self._local_devices, self._global_devices

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self._names, self._shape, *self._local_devices))


def _check_ids(dim_names: Any, ids: Any) -> None:
    if not isinstance(ids, np.ndarray):
        raise ValueError(f"Variable global_device_ids must be an ndarray. Received {ids!r}: give np.arange(n).reshape(shape).")
    if not ids.size:
        raise ValueError("Variable global_device_ids must be non-empty. There are no devices of this kind, or none were named.")
    flat = ids.flatten()
    if any(number - flat[0] != i for i, number in enumerate(flat)):
        raise ValueError(f"global_device_ids must sequentially increase: {ids}")
    if len(dim_names) != ids.ndim:
        raise ValueError(
            f"Number of mesh dimensions does not match number of dimension names. Received {ids.ndim} dimensions, and the "
            f"names {list(dim_names)}."
        )
    if len(set(dim_names)) < len(dim_names):
        raise ValueError(f"Each dimension of a mesh needs a name of its own, received {list(dim_names)}.")


def _check_devices(local_ids: Any, local: Any, everywhere: Any, count: int) -> None:
    if not isinstance(local_ids, list):
        raise ValueError(f"Variable local_device_ids must be a list of integers. Received {local_ids!r}.")
    if not isinstance(local, list):
        raise ValueError(f"Variable local_devices must be a list of DeviceSpecs. Received {local!r}.")
    if everywhere and not isinstance(everywhere, list):
        raise ValueError(f"Variable global_devices must be a list of DeviceSpecs. Received {everywhere!r}.")
    if not local and not everywhere:
        raise ValueError("Empty list of devices not allowed.")
    specs = list(map(_spec, local))
    if len({*specs}) < len(specs) and not (len({*specs}) == 1 and specs[0].device_type == "CPU"):
        raise ValueError(f"Duplicate devices found in mesh specification {[d for d in local if local.count(d) > 1]}.")
    if len(local_ids) != len(local):
        raise ValueError(
            f"Variable local_device_ids does not have same size as local_devices. Received {local_ids} for {len(local)} devices."
        )
    if len(local_ids) > count:
        raise ValueError(f"Cannot have more local than gobal device IDs. Received {len(local_ids)}, and {count} in all.")


def _one_type(specs: Sequence[DeviceSpec]) -> str:
    kinds = {spec.device_type for spec in specs}
    if len(kinds) > 1:
        raise ValueError(f"Devices containing multiple device_types : {kinds}")
    (kind,) = kinds
    if kind is None:
        raise ValueError("device_type is required: name devices as 'CPU:0'.")
    return kind


def _spec(device: Any) -> DeviceSpec:
    return device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device)


def _text(device: Any) -> str:
    return device.to_string() if isinstance(device, DeviceSpec) else device


def _device(name: str) -> jax.Device:
    """Return the JAX device of a name; InvalidArgumentError with TensorFlow's text for a missing one."""
    spec = DeviceSpec.from_string(name)
    there = devices_of(spec.device_type or "CPU", spec.task or 0)
    index = spec.device_index or 0
    if index >= len(there):
        names = [device.name.removeprefix("/device:") for device in device_config.list_logical_devices()]
        raise invalid(
            f"{name} unknown device.\nThere are {names}: name these. tf.config.set_logical_device_configuration makes several "
            "devices of one CPU, before anything is computed."
        )
    return there[index]


class Layout:
    """The layout of a tensor on a mesh: for each axis the mesh dimension along which it is split, or `UNSHARDED`.

    `sharding` is the equivalent `NamedSharding` of JAX. `MATCH` in `relayout` keeps the layout of an axis.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("batch", 1)], devices=["CPU:0"])
    >>> layout = dtensor.Layout(["batch", dtensor.UNSHARDED], mesh)
    >>> layout.rank, layout.delete([1]).sharding_specs, layout == dtensor.Layout.batch_sharded(mesh, "batch", rank=2)
    (2, ['batch'], True)
    """

    @public
    def __init__(self, sharding_specs: Sequence[str], mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise ValueError(
                f"mesh is not a valid Mesh object. Received {mesh!r}: tf.experimental.dtensor.create_mesh makes one."
            )
        if isinstance(sharding_specs, str):
            raise TypeError(f"`sharding_specs` is a list of names, one for each axis, received {sharding_specs!r}.")
        specs = list(sharding_specs)
        for spec in specs:
            if spec in (UNSHARDED, MATCH):
                continue
            if specs.count(spec) > 1:
                raise ValueError(
                    f"Mesh dimension {spec} was repeated in sharding specification {specs}. Mesh dimensions must be unique in a "
                    "layout."
                )
            if spec not in mesh:
                raise ValueError(
                    f"{spec}: A dimension sharding must either be a valid mesh dimension or UNSHARDED. The mesh has "
                    f"{mesh.dim_names}."
                )
        self._specs, self._mesh = tuple(specs), mesh

    @functools.cached_property
    def sharding(self) -> NamedSharding:
        """The equivalent sharding of JAX. For `MATCH`, XLA keeps the sharding of the value."""
        entries: dict[str, Any] = {name: self._mesh.axis(name) for name in self._mesh.dim_names}
        entries |= {UNSHARDED: None, MATCH: PartitionSpec.UNCONSTRAINED}
        return NamedSharding(self._mesh.jax_mesh, PartitionSpec(*[entries[spec] for spec in self._specs]))

    @classmethod
    @public
    def replicated(cls, mesh: Mesh, rank: int) -> Layout:
        """Return the layout of a tensor that is replicated on all devices."""
        return cls([UNSHARDED] * rank, mesh)

    @classmethod
    @public
    def batch_sharded(cls, mesh: Mesh, batch_dim: str, rank: int, axis: int = 0) -> Layout:
        """Return the layout of a tensor that is split along one axis, the first by default."""
        return cls([batch_dim if i == axis else UNSHARDED for i in range(rank)], mesh)

    @classmethod
    @public
    def inner_sharded(cls, mesh: Mesh, inner_dim: str, rank: int) -> Layout:
        """Return the layout of a tensor that is split along its last axis."""
        return cls.batch_sharded(mesh, inner_dim, rank, axis=rank - 1)

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self._mesh

    @property
    def sharding_specs(self) -> list[str]:
        """The dimension of the mesh for each axis, or `UNSHARDED`."""
        return list(self._specs)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._specs)

    @property
    def shape(self) -> list[int]:
        """The shape of the mesh."""
        return self._mesh.shape()

    @public
    def num_shards(self, idx: int) -> int:
        """Return the number of parts along an axis."""
        spec = self._specs[idx]
        return 1 if spec in (UNSHARDED, MATCH) else self._mesh.dim_size(spec)

    def is_fully_replicated(self) -> bool:
        """Return whether the tensor is replicated on all devices."""
        return all(spec == UNSHARDED for spec in self._specs)

    def is_batch_parallel(self) -> bool:
        """Return whether only the first axis is split."""
        return bool(self._specs) and self._specs[0] != UNSHARDED and all(spec == UNSHARDED for spec in self._specs[1:])

    @public
    def delete(self, dims: int | list[int]) -> Layout:
        """Return the layout of a tensor without some axes, given by number."""
        gone = dims if isinstance(dims, list) else [dims]
        return Layout([spec for i, spec in enumerate(self._specs) if i not in gone], self._mesh)

    @public
    def global_shape_from_local_shape(self, local_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the whole tensor from that of a part."""
        return tuple([extent * self.num_shards(i) for i, extent in enumerate(local_shape)])

    @public
    def local_shape_from_global_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a part from that of the whole tensor."""
        return tuple([extent // self.num_shards(i) for i, extent in enumerate(global_shape)])

    def offset_to_shard(self) -> list[tuple[int, ...]]:
        """Return the part of each device, an index for each axis."""
        places = self._mesh.unravel_index().values()
        return [tuple([0 if spec == UNSHARDED else place[spec] for spec in self._specs]) for place in places]

    @public
    def offset_tuple_to_global_index(self, offset_tuple: Sequence[int]) -> int:
        """Return the number of a part in a flat list of the parts, given its index for each axis."""
        return sum(offset * math.prod(map(self.num_shards, range(i + 1, self.rank))) for i, offset in enumerate(offset_tuple))

    def to_string(self) -> str:
        """Return the layout as text, for `from_string`."""
        return f"sharding_specs:{''.join([f'{spec},' for spec in self._specs])} mesh:{self._mesh.to_string()}"

    @classmethod
    @public
    def from_string(cls, layout_str: str) -> Layout:
        """Parse the text of `to_string`; ValueError if it is invalid."""
        specs, found, mesh = layout_str.removeprefix("sharding_specs:").partition(" mesh:")
        if not found or not layout_str.startswith("sharding_specs:"):
            raise ValueError(f"Failed to parse layout. Input string is invalid: {layout_str}")
        return cls([spec for spec in specs.split(",") if spec], Mesh.from_string(mesh))

    def __repr__(self) -> str:
        return f"Layout.from_string({self.to_string()})"

    def __reduce__(self) -> Any:
        return Layout.from_string, (self.to_string(),)

    def _split(self) -> tuple[str, ...]:
        """Return the specs with `UNSHARDED` for dimensions of one device, along which nothing is split."""
        return tuple([UNSHARDED if s in self._mesh and self._mesh.dim_size(s) == 1 else s for s in self._specs])

    def __eq__(self, other: object) -> bool:
        """Return whether both describe the same layout of values."""
        return isinstance(other, Layout) and self._mesh == other._mesh and self._split() == other._split()

    def __hash__(self) -> int:
        return hash((self._split(), self._mesh))


def is_layout(layout: Any, match: bool = False) -> Layout:
    """Check that `layout` is a Layout, and has no `MATCH` unless `match` allows it; return it."""
    if not isinstance(layout, Layout):
        raise TypeError(f"`layout` must be a tf.experimental.dtensor.Layout, received {layout!r}.")
    if not match and MATCH in layout.sharding_specs:
        raise ValueError(f"dtensor.MATCH is for dtensor.relayout only, received {layout.sharding_specs}: say how each axis lies.")
    return layout


def checked(layout: Any, shape: Sequence[int], match: bool = False) -> Layout:
    """Check a layout for a value of this shape, with errors in TensorFlow's words; return it."""
    layout = is_layout(layout, match)
    if layout.is_fully_replicated() and layout.rank != len(shape):
        return Layout.replicated(layout.mesh, len(shape))
    if layout.rank != len(shape):
        raise UnknownError.saying(
            f"'tf.DTensorLayout' op requires matching rank for layout and input, but got {layout.rank} as suggested rank from "
            f"layout but {len(shape)} from shape.\nGive a sharding spec for each axis: received {layout.sharding_specs} for a "
            f"value of shape {tuple(shape)}."
        )
    for axis, extent in enumerate(shape):
        if extent % layout.num_shards(axis):
            raise UnknownError.saying(
                f"'tf.DTensorLayout' op requires dimension {axis} to be divisible by sharding specified in DTensorLayout, but "
                f"got dimension size={extent} is not divisible by number of shards in layout for this dimension="
                f"{layout.num_shards(axis)}.\nPad the value, split another axis, or leave this one dtensor.UNSHARDED."
            )
    return layout


def layout_of(value: Any) -> Layout | None:
    """Return the layout of an array; None for one on no Mesh, or with a sharding that no Layout describes."""
    if not is_on_a_mesh(value):
        return None
    sharding = value.sharding
    entries = [entry[0] if isinstance(entry, tuple) and len(entry) == 1 else entry for entry in sharding.spec]
    if any(entry is not None and not isinstance(entry, str) for entry in entries):
        return None  # one axis is split along two dimensions
    mesh = _known[sharding.mesh]
    names = {mesh.axis(name): name for name in mesh.dim_names} | {None: UNSHARDED}
    return Layout([names[entry] for entry in entries] + [UNSHARDED] * (value.ndim - len(entries)), mesh)


def is_on_a_mesh(value: Any) -> bool:
    """Return whether an array is on a Mesh."""
    sharding = value.sharding if isinstance(value, jax.Array) else None
    return isinstance(sharding, NamedSharding) and sharding.mesh in _known
