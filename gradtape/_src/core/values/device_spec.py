"""`DeviceSpec`: a device name in parts."""

from __future__ import annotations

import re
from typing import Any

from gradtape._src.core.base.public import public

_PARTS = ("job", "replica", "task", "device_type", "device_index")
_PLACE = re.compile("(job|replica|task):([^:]*)")
_DEVICE = re.compile(r"(?:device:([^:]+)(?=:)|(cpu|gpu|tpu))(?::([^:]*))?", re.IGNORECASE)


class DeviceSpec:
    """A device name in parts, each of which may be None: job, replica, task, type and index.

    >>> tf.DeviceSpec.from_string("/job:worker/gpu:1").to_string()
    '/job:worker/device:GPU:1'
    """

    __slots__ = tuple([f"_{part}" for part in _PARTS])
    _job: str | None
    _replica: int | None
    _task: int | None
    _device_type: str | None
    _device_index: int | None

    @public
    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._job = None if job is None else str(job)
        self._replica = None if replica is None else int(replica)
        self._task = None if task is None else int(task)
        self._device_type = device_type.upper() if device_type in ("cpu", "gpu") else device_type
        self._device_index = None if device_index is None else int(device_index)

    @property
    def job(self) -> str | None:
        """The name of the job."""
        return self._job

    @property
    def replica(self) -> int | None:
        """The number of the replica."""
        return self._replica

    @property
    def task(self) -> int | None:
        """The number of the task."""
        return self._task

    @property
    def device_type(self) -> str | None:
        """The type, "CPU", "GPU" or another."""
        return self._device_type

    @property
    def device_index(self) -> int | None:
        """The number among the devices of the type."""
        return self._device_index

    @classmethod
    @public
    def from_string(cls, spec: str) -> DeviceSpec:
        """Return the DeviceSpec of a name such as "/job:worker/replica:0/task:1/device:GPU:0"; ValueError for an invalid name."""
        parts: dict[str, Any] = {}
        for given in filter(None, spec.split("/")):
            if (place := _PLACE.fullmatch(given)) is not None:
                parts[place[1]] = place[2]
            elif (device := _DEVICE.fullmatch(given)) is not None:
                if "device_type" in parts:
                    raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
                parts["device_type"] = device[1] or device[2].upper()
                if device[3] not in (None, "*"):
                    parts["device_index"] = device[3]
            else:
                name = given.partition(":")[0]
                raise ValueError(f"Unknown attribute '{name}' is encountered while parsing the device spec: '{spec}'.")
        return cls(**parts)

    @public
    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Return the DeviceSpec of another name, like `from_string`."""
        return self.from_string(spec)

    @public
    def to_string(self) -> str:
        """Return the name, without parts that are None."""
        text = "".join([f"/{part}:{value}" for part in _PARTS[:3] if (value := getattr(self, part)) is not None])
        if self._device_type is None:
            return text
        return f"{text}/device:{self._device_type}:{'*' if self._device_index is None else self._device_index}"

    @public
    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return a DeviceSpec with the parts of `dev`; where they are None, with these."""
        return self.replace(**{part: value for part in _PARTS if (value := getattr(dev, part)) is not None})

    @public
    def replace(self, **kwargs: Any) -> DeviceSpec:
        """Return a DeviceSpec with some parts replaced."""
        return DeviceSpec(**{part: getattr(self, part) for part in _PARTS} | kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and all(getattr(self, part) == getattr(other, part) for part in _PARTS)

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"<DeviceSpec({', '.join([f'{part}={getattr(self, part)}' for part in _PARTS])})>"
