"""TensorFlow's private list of devices, which many programs use to look for a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradtape._src.core.settings.device_config import list_logical_devices, local_devices

CPU_LIMIT = 268435456  # TensorFlow's value for a CPU


@dataclass(frozen=True)
class DeviceAttributes:
    """The description of a device in `list_local_devices`, printed like TensorFlow's message."""

    name: str
    device_type: str
    memory_limit: int
    physical_device_desc: str = ""
    incarnation: int = 1
    xla_global_id: int = -1

    def __repr__(self) -> str:
        described = f'physical_device_desc: "{self.physical_device_desc}"\n' if self.physical_device_desc else ""
        return (
            f'name: "{self.name}"\ndevice_type: "{self.device_type}"\nmemory_limit: {self.memory_limit}\nlocality {{\n}}\n'
            f"incarnation: {self.incarnation}\n{described}xla_global_id: {self.xla_global_id}\n"
        )


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """Return the CPU and the GPUs of this process: names, kinds and descriptions."""
    accelerators = [device for device in local_devices() if device.platform != "cpu"]
    found = []
    for device in list_logical_devices():
        kind, number = device.device_type, int(device.name.rpartition(":")[2])
        limit, described = CPU_LIMIT, ""
        if kind != "CPU":
            limit = (accelerators[number].memory_stats() or {}).get("bytes_limit", 0)
            described = f"device: {number}, name: {accelerators[number].device_kind}"
        found.append(DeviceAttributes(f"/device:{kind}:{number}", kind, limit, described))
    return found
