"""DTensor's clients, their devices, and the meshes over them. The environment variable `DTENSOR_JOBS` lists the processes."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.settings import device_config
from gradtape._src.core.values.device_spec import DeviceSpec
from gradtape._src.distribute import group
from gradtape._src.distribute.mesh import Mesh, devices_of

KINDS = ("CPU", "GPU", "TPU")


class _System:
    """The kind of devices passed to `initialize_accelerator_system`; "" before."""

    initialized = ""


def jobs() -> list[str]:
    """Return the addresses of all clients, from the comma-separated environment variable `DTENSOR_JOBS`.

    >>> tf.experimental.dtensor.jobs()
    []
    """
    listed = os.environ.get("DTENSOR_JOBS")
    return listed.split(",") if listed else []


def num_clients() -> int:
    """Return the number of clients: 1 without `DTENSOR_JOBS`.

    >>> tf.experimental.dtensor.num_clients()
    1
    """
    return len(jobs()) or 1


@public
def client_id() -> int:
    """Return the number of this client, from the environment variable `DTENSOR_CLIENT_ID`; ValueError if it is out of range.

    >>> tf.experimental.dtensor.client_id()
    0
    """
    number = int(os.environ.get("DTENSOR_CLIENT_ID", "0"))
    if number < 0:
        raise ValueError(f"Environment variable DTENSOR_CLIENT_ID must be >= 0, got {number}. ")
    if number >= num_clients():
        raise ValueError(f"Environment variable DTENSOR_CLIENT_ID must be < {num_clients()}, got {number}")
    return number


def job_name() -> str:
    """Return the name of the clients' job: the environment variable `DTENSOR_JOB_NAME`, or "localhost", or "worker" for
    several.

    >>> tf.experimental.dtensor.job_name()
    'localhost'
    """
    return os.environ.get("DTENSOR_JOB_NAME", "localhost" if num_clients() == 1 else "worker")


@public
def full_job_name(task_id: int | None = None) -> str:
    """Return the name of a client (by default this one), the prefix of its devices' names.

    >>> tf.experimental.dtensor.full_job_name()
    'localhost/replica:0/task:0'
    """
    task = client_id() if task_id is None else task_id
    if num_clients() == 1 and task != 0:
        raise ValueError(f"Unexpected task ID {task} in local runs: with one client it is 0.")
    return f"{job_name()}/replica:0/task:{task}"


def heartbeat_enabled() -> bool:
    """Return whether the environment variable `DTENSOR_ENABLE_HEARTBEAT` enables heartbeats. Joined processes always send
    them.

    >>> tf.experimental.dtensor.heartbeat_enabled()
    True
    """
    return os.environ.get("DTENSOR_ENABLE_HEARTBEAT", "true").lower() in ("true", "1")


def preferred_device_type() -> str:
    """Return the preferred kind of the existing devices: "TPU", else "GPU", else "CPU".

    >>> tf.experimental.dtensor.preferred_device_type() in ("CPU", "GPU", "TPU")
    True
    """
    return next((kind for kind in ("TPU", "GPU") if device_config.list_logical_devices(kind)), "CPU")


@public
def num_local_devices(device_type: str) -> int:
    """Return the number of devices of a kind in this process.

    >>> tf.experimental.dtensor.num_local_devices("CPU")
    1
    """
    return len(devices_of(device_type, client_id())) if device_type.upper() in KINDS else 0


@public
def num_global_devices(device_type: str) -> int:
    """Return the number of devices of a kind in all clients, assuming that each has the same number.

    >>> tf.experimental.dtensor.num_global_devices("CPU")
    1
    """
    return num_local_devices(device_type) * num_clients()


@public
def local_devices(device_type: str, for_client_id: int | None = None) -> list[DeviceSpec]:
    """Return a DeviceSpec for each device of a kind in this process; ValueError for an unknown kind.

    >>> tf.experimental.dtensor.local_devices("CPU")[0].to_string()
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    if device_type.upper() not in KINDS:
        raise ValueError(f"Device type {device_type} is not CPU, GPU, or TPU.")
    task = client_id() if for_client_id is None else for_client_id
    count = num_local_devices(device_type)
    return [DeviceSpec(job_name(), 0, task, device_type.upper(), index) for index in range(count)]


def _specs(devices: list[Any] | None, device_type: str | None) -> list[DeviceSpec]:
    if devices is None:
        return local_devices(device_type or "CPU")
    specs = [DeviceSpec.from_string(device) if isinstance(device, str) else device for device in devices]
    kind = device_type or (specs[0].device_type if specs else None) or "CPU"
    if specs and kind.upper() != specs[0].device_type:
        raise ValueError(f"Conflicting devices {specs} and device_type {device_type}")
    whole = DeviceSpec(job=job_name(), replica=0, task=client_id())
    return [whole.make_merged_spec(spec) for spec in specs]


@public
def create_mesh(
    mesh_dims: Any = None,
    mesh_name: str = "",
    devices: list[Any] | None = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """Create a mesh over devices of this process, by default with one dimension "x" over all CPUs.

    `mesh_dims` is a dict from names to extents, or a list of pairs; -1 for a single one means all devices. `devices` are names
    such as "CPU:0", by default all of `device_type`. ValueError if their number is not the size of the mesh.

    >>> tf.experimental.dtensor.create_mesh({"batch": 1, "model": 1}, devices=["CPU:0"]).shape()
    [1, 1]
    """
    specs = _specs(devices, device_type)
    dims = [("x", len(specs))] if mesh_dims is None else _dims(mesh_dims)
    if len(dims) == 1 and dims[0][1] == -1:
        dims = [(dims[0][0], len(specs))]
    shape = [size for _, size in dims]
    if math.prod(shape) != len(specs) or not dims:
        raise ValueError(
            f"length of devices ({len(specs)}) must be equal to total size of the mesh of shape {shape}. Name as "
            "many `devices` as the mesh has places."
        )
    ids = np.arange(len(specs)).reshape(shape)
    return Mesh([name for name, _ in dims], ids, ids.flatten().tolist(), list(specs), mesh_name, use_xla_spmd=use_xla_spmd)


def _dims(given: Any) -> list[tuple[str, int]]:
    return list(given.items()) if isinstance(given, dict) else list(given)


@public
def create_distributed_mesh(
    mesh_dims: Any,
    mesh_name: str = "",
    local_devices: list[Any] | None = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """Create a mesh over the devices of all clients, which must have equally many. Call `initialize_accelerator_system` first.

    `local_devices` are names of devices of this process, by default all of `device_type`. With one client it is `create_mesh`.
    ValueError if the number of devices is not the size of the mesh.

    >>> dtensor = tf.experimental.dtensor
    >>> dtensor.initialize_accelerator_system("CPU")
    'CPU'
    >>> dtensor.create_distributed_mesh({"batch": 1}, local_devices=["CPU:0"]).dim_names
    ['batch']
    >>> dtensor.shutdown_accelerator_system()
    """
    if not _System.initialized:
        raise ValueError("Accelerators are uninitialized, please run dtensor.initialize_accelerator_system() first.")
    specs = _specs(local_devices, device_type)
    dims, clients = _dims(mesh_dims), num_clients()
    shape, count = [size for _, size in dims], len(specs) * clients
    if math.prod(shape) != count:
        raise ValueError(
            f"Global number of devices ({len(specs)} per client * {clients} clients = {count}) must be equal to total size of "
            f"the mesh of shape {tuple(shape)}"
        )
    first = len(specs) * client_id()
    mine = list(range(first, first + len(specs)))
    ids = np.arange(count).reshape(shape)
    return Mesh([name for name, _ in dims], ids, mine, list(specs), mesh_name, use_xla_spmd=use_xla_spmd)


@public
def initialize_accelerator_system(
    device_type: str | None = None,
    enable_coordination_service: bool | None = True,
    num_logical_cpu_devices: int | None = None,
    experimental_reset_context: bool | None = False,
    experimental_enable_megcore: bool | None = False,
) -> str:
    """Join the processes listed in `DTENSOR_JOBS`, if it is set, and return the kind of devices, by default the preferred one.

    Call it first, as JAX must not have started when processes join. `num_logical_cpu_devices` splits the CPU into that many
    devices. ValueError for an unknown kind, or a second call. The other arguments have no effect.

    >>> tf.experimental.dtensor.initialize_accelerator_system("CPU")
    'CPU'
    >>> tf.experimental.dtensor.shutdown_accelerator_system()
    """
    if _System.initialized:
        raise ValueError(
            "Accelerator system has already been initialized. Call tf.experimental.dtensor.shutdown_accelerator_system() first."
        )
    if device_type is not None and device_type.upper() not in KINDS:
        raise ValueError(f"Unknown device_type {device_type.upper()}. Allowed values are CPU, GPU, or TPU")
    if jobs():
        group.join(jobs()[0], client_id(), num_clients())
    kind = (device_type or preferred_device_type()).upper()
    if num_logical_cpu_devices is not None:
        if kind != "CPU" and num_logical_cpu_devices < num_local_devices(kind):
            raise ValueError(
                f"If set, `num_logical_cpu_devices` (={num_logical_cpu_devices}) must be greater than or equal to the number "
                f"of local {kind} devices (={num_local_devices(kind)})"
            )
        cpu = device_config.list_physical_devices("CPU")[0]
        configurations = [device_config.LogicalDeviceConfiguration()] * num_logical_cpu_devices
        device_config.set_logical_device_configuration(cpu, configurations)
    _System.initialized = kind
    return kind


@public
def shutdown_accelerator_system() -> None:
    """Undo `initialize_accelerator_system`; ValueError if it was not called, or if it joined processes.

    >>> tf.experimental.dtensor.initialize_accelerator_system("CPU")
    'CPU'
    >>> tf.experimental.dtensor.shutdown_accelerator_system()
    """
    if not _System.initialized:
        raise ValueError(
            "Accelerator system is not initialized. Call tf.experimental.dtensor.initialize_accelerator_system first."
        )
    if jobs():
        raise ValueError("Shutting down accelerator system under multi-client mode is not supported.")
    _System.initialized = ""
