"""The devices of `tf.config`, which are JAX's: the list of all, the visible ones, and their details."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from gradtape._src.core.base.errors import InvalidArgumentError, UnimplementedError
from gradtape._src.core.base.public import public
from gradtape._src.core.settings import config
from gradtape._src.core.values.device_spec import DeviceSpec

KINDS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}
_NAME = re.compile(r"(?:.*/)?(?:device:)?([A-Z_]+):(\d+)", re.IGNORECASE)


class PhysicalDevice(NamedTuple):
    """A device found by JAX: `name` and `device_type`.

    >>> tf.config.list_physical_devices("CPU")[0].device_type
    'CPU'
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device for computations: `name`, as for `tf.device`, and `device_type`.

    >>> tf.config.list_logical_devices("CPU")[0].name
    '/device:CPU:0'
    """

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """The settings of a logical device. They are accepted without effect, as JAX has none.

    >>> tf.config.LogicalDeviceConfiguration(memory_limit=1024).memory_limit
    1024
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class _Chosen:
    """The user's choices: visible devices of each type, logical devices and memory growth of each physical one.

    With `soft_placement`, the default device stands for one that does not exist.
    """

    soft_placement = True
    visible: dict[str, list[PhysicalDevice]] = {}
    logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
    growth: dict[PhysicalDevice, bool] = {}


def _kind(device: Any) -> str:
    return KINDS.get(device.platform, device.platform)


def _physical_of(device: Any) -> PhysicalDevice:
    kind = _kind(device)
    return PhysicalDevice(f"/physical_device:{kind}:{0 if kind == 'CPU' else device.id}", kind)


def _found() -> list[jax.Device]:
    devices = jax.devices()
    return devices if any(d.platform == "cpu" for d in devices) else [*jax.devices("cpu"), *devices]


@public
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices for computations, as a list of PhysicalDevice; only of one type ("CPU", "GPU") if given.

    The host is one CPU, whatever its number of logical devices.

    >>> tf.config.list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    found = list(dict.fromkeys(map(_physical_of, _found())))
    return [d for d in found if device_type is None or d.device_type == device_type]


@public
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the visible devices with names for `tf.device`, as a list of LogicalDevice; only of one type if given.

    >>> tf.config.list_logical_devices("CPU")
    [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    names = [LogicalDevice(f"/device:{_kind(d)}:{d.id}", _kind(d)) for d in _found() if _is_visible(d)]
    return [d for d in names if device_type is None or d.device_type == device_type]


def _is_visible(device: jax.Device) -> bool:
    physical = _physical_of(device)
    return physical in _Chosen.visible.get(physical.device_type, [physical])


def get_soft_device_placement() -> bool:
    """Return the value set by `set_soft_device_placement`; True by default.

    >>> print(tf.config.get_soft_device_placement())
    True
    """
    return _Chosen.soft_placement


@public
def set_soft_device_placement(enabled: bool) -> None:
    """Use the default device in place of one that does not exist (the default), or have `tf.device` raise an error.

    >>> tf.config.set_soft_device_placement(False)
    >>> print(tf.config.get_soft_device_placement())
    False
    >>> tf.config.set_soft_device_placement(True)
    """
    _Chosen.soft_placement = bool(enabled)


def check_device(name: str) -> None:
    """Raise ValueError for an invalid device name, InvalidArgumentError for a missing device that must exist."""
    spec = DeviceSpec.from_string(name)
    if _Chosen.soft_placement:
        return
    there = list_logical_devices()
    found = [DeviceSpec.from_string(d.name) for d in there]
    if not any(spec.device_type in (None, d.device_type) and spec.device_index in (None, d.device_index) for d in found):
        raise InvalidArgumentError.saying(
            f"Could not satisfy device specification '{spec.to_string()}'. enable_soft_placement=0. All available devices "
            f"{[d.name for d in there]}. Name one of these, or call tf.config.set_soft_device_placement(True)."
        )


@public
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the visible devices, as a list of PhysicalDevice; only of one type ("CPU", "GPU") if given.

    >>> print(tf.config.experimental.get_visible_devices("CPU")[0].device_type)
    CPU
    """
    return [d for d in list_physical_devices(device_type) if d in _Chosen.visible.get(d.device_type, [d])]


@public
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Use these devices only, a PhysicalDevice or a list; with `device_type`, the visible devices of other types stay.

    Computations then run on the first visible device that is not a CPU, and strategies span them. So `set_visible_devices([],
    "GPU")` leaves the CPU. JAX still starts on all devices; the environment variable `CUDA_VISIBLE_DEVICES` keeps it from using a
    GPU. ValueError for a device of another type.

    >>> tf.config.set_visible_devices([], "GPU")
    >>> tf.config.get_visible_devices("GPU")
    []
    """
    wanted: list[Any] = [devices] if isinstance(devices, (PhysicalDevice, str)) else list(devices)
    there = list_physical_devices(device_type)
    for device in wanted:
        if device not in there:
            raise ValueError(f"Unrecognized device: {device!r}. tf.config.list_physical_devices() says which there are.")
    kinds = [device_type] if device_type is not None else sorted({d.device_type for d in there})
    visible = _Chosen.visible | {kind: [d for d in wanted if d.device_type == kind] for kind in kinds}
    if not any(d in visible.get(d.device_type, [d]) for d in list_physical_devices()):
        raise ValueError("No device would be visible: leave the CPU, tf.config.list_physical_devices('CPU').")
    _Chosen.visible = visible
    first = local_devices()[0]
    jax.config.update("jax_default_device", None if first == jax.local_devices()[0] else first)


def local_devices() -> list[jax.Device]:
    """Return this process's visible devices for computing: JAX's preferred ones, or CPUs if none of these is visible."""
    visible = [d for d in jax.local_devices() if _is_visible(d)]
    return visible or [d for d in _found() if _is_visible(d)]


def _physical(device: Any) -> PhysicalDevice:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")
    found: PhysicalDevice = device
    return found


@public
def get_logical_device_configuration(device: Any) -> list[LogicalDeviceConfiguration] | None:
    """Return the value set by `set_logical_device_configuration` for a PhysicalDevice; None by default.

    >>> cpu = tf.config.list_physical_devices("CPU")[0]
    >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()])
    >>> len(tf.config.get_logical_device_configuration(cpu))
    1
    """
    return _Chosen.logical.get(_physical(device))


@public
def set_logical_device_configuration(device: Any, logical_devices: Sequence[LogicalDeviceConfiguration]) -> None:
    """Split a PhysicalDevice into logical ones, one for each item of the list.

    The CPU becomes that many devices of JAX, on which a strategy can be tried. RuntimeError after the first computation. Any
    other device remains one logical device, so that its list must have one item. Its `memory_limit` has no effect; the
    environment variable `XLA_PYTHON_CLIENT_MEM_FRACTION` limits JAX's memory.

    >>> cpu = tf.config.list_physical_devices("CPU")[0]
    >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()])
    >>> len(tf.config.list_logical_devices("CPU"))
    1
    """
    physical, count = _physical(device), len(logical_devices)
    if physical.device_type != "CPU":
        if count != 1:
            raise ValueError(f"{physical.name} is one logical device in JAX, received {count} configurations: give one.")
    elif any(configuration.memory_limit is not None for configuration in logical_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    elif count != len(jax.devices("cpu")):
        if jax.live_arrays() or not count:
            raise RuntimeError(
                "Virtual devices cannot be modified after being initialized: call this before anything is computed, with one "
                "configuration or more."
            )
        from jax.extend.backend import clear_backends

        config.clear_cache()
        clear_backends()
        jax.config.update("jax_num_cpu_devices", count)
    _Chosen.logical[physical] = list(logical_devices)


@public
def get_memory_growth(device: Any) -> bool | None:
    """Return the value set by `set_memory_growth` for a PhysicalDevice; None by default. ValueError for a CPU.

    >>> for gpu in tf.config.list_physical_devices("GPU"):
    ...     tf.config.experimental.set_memory_growth(gpu, True)
    ...     assert tf.config.experimental.get_memory_growth(gpu)
    """
    if _physical(device).device_type == "CPU":
        raise ValueError(f"{device.name}: memory growth is an option of GPUs. A CPU's memory grows in any case.")
    return _Chosen.growth.get(device)


@public
def set_memory_growth(device: Any, enable: bool) -> None:
    """Accept the option for a GPU without effect, because JAX chooses its allocator when it starts.

    The environment variable `XLA_PYTHON_CLIENT_PREALLOCATE=false` makes its memory grow. ValueError for a CPU.

    >>> for gpu in tf.config.list_physical_devices("GPU"):
    ...     tf.config.experimental.set_memory_growth(gpu, True)
    """
    if _physical(device).device_type == "CPU":
        raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    _Chosen.growth[device] = bool(enable)


def _named(device: str) -> Any:
    match = _NAME.fullmatch(device) if isinstance(device, str) else None
    if match is None:
        raise ValueError(
            f"Failed parsing device name: {device!r}. Note a valid device string should at least contain a device type and a "
            'device index, like "GPU:0".'
        )
    for found in _found():
        if (_kind(found), found.id) == (match[1].upper(), int(match[2])):
            return found
    raise ValueError(f"No matching devices found for {device!r}")


@public
def get_memory_info(device: str) -> dict[str, int]:
    """Return a dict of the bytes in use on a device, "current" and "peak". They are 0 for a CPU, as in TensorFlow.

    >>> tf.config.experimental.get_memory_info("CPU:0")
    {'current': 0, 'peak': 0}
    """
    stats = _named(device).memory_stats() or {}
    return {"current": stats.get("bytes_in_use", 0), "peak": stats.get("peak_bytes_in_use", 0)}


@public
def get_memory_usage(device: str) -> int:
    """Return the bytes in use on a device: `get_memory_info(device)["current"]`.

    >>> tf.config.experimental.get_memory_usage("CPU:0")
    0
    """
    return get_memory_info(device)["current"]


@public
def reset_memory_stats(device: str) -> None:
    """Do nothing for a CPU; UnimplementedError for another device, because JAX cannot reset its peak.

    >>> tf.config.experimental.reset_memory_stats("CPU:0")
    >>> tf.config.experimental.get_memory_info("CPU:0")["peak"]
    0
    """
    if _named(device).memory_stats():
        raise UnimplementedError.saying(f"JAX cannot reset the peak of {device}: take differences of its get_memory_info.")


@public
def get_device_details(device: Any) -> dict[str, Any]:
    """Return a dict of a PhysicalDevice's details: a GPU's `device_name` and `compute_capability`, none for a CPU.

    ValueError for any other object.

    >>> tf.config.experimental.get_device_details(tf.config.list_physical_devices("CPU")[0])
    {}
    """
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
    if _physical(device).device_type == "CPU":
        return {}
    found = _named(device.name.replace("physical_", ""))
    capability = getattr(found, "compute_capability", None)
    version = {} if capability is None else {"compute_capability": tuple(int(part) for part in str(capability).split("."))}
    return {"device_name": found.device_kind, **version}
