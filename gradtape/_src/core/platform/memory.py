"""The check that a program fits into memory before it runs, since the system may kill the process afterwards."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from gradtape._src.core.base.errors import ResourceExhaustedError
from gradtape._src.core.platform import xla

CHECKED = 1 << 28  # programs with at least this many bytes of values are checked, and waited for
PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
# The files with a container's limit, its usage, and the part of that which is reclaimable file cache.
FILES = {
    "v1": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    "v2": ("memory.max", "memory.current", "inactive_file"),
}


def limit() -> int:
    """Return the memory of the default device in bytes; for the host, a container's limit counts."""
    return _of_device().get("bytes_limit") or _of_host()


def available() -> int:
    """Return the free memory of the default device in bytes."""
    stats = _of_device()
    return stats["bytes_limit"] - stats.get("bytes_in_use", 0) if stats else _free_on_host()


def _of_device() -> dict[str, int]:
    """Return the default device's memory statistics; empty for the host, which has none."""
    device = jax.config.jax_default_device or jax.local_devices()[0]  # type: ignore[attr-defined]
    stats: dict[str, int] = getattr(device, "memory_stats", dict)() or {}
    return stats if "bytes_limit" in stats else {}


def _of_host() -> int:
    return min([_of_machine(), *[total for total, _ in _containers()]])


def _free_on_host() -> int:
    free = _entries(PROC / "meminfo").get("MemAvailable:")
    machine = _of_machine() if free is None else free << 10
    return max(0, min([machine, *[total - used for total, used in _containers()]]))


def needed(compiled: Any) -> int:
    """Return the bytes that a program needs in addition to its arguments, by XLA's analysis."""
    needs = compiled.memory_analysis()
    return 0 if needs is None else needs.temp_size_in_bytes + needs.output_size_in_bytes


def check(needs: int) -> bool:
    """Raise ResourceExhaustedError unless this many bytes are available on the default device.

    Return whether to wait for the program. A GPU runs programs one after the other, so the next one can be recorded meanwhile if
    both fit. A CPU runs them concurrently, and each allocates its memory when it starts.
    """
    free = available()
    if needs > free / 2 and _of_device():
        xla.put(np.zeros((), np.float32)).block_until_ready()  # wait for running programs, which hold memory
        free = available()
    if needs > free:
        raise _lacking(needs, free, limit(), "device")
    return needs > free / 2 or not _of_device()


def check_array(count: float, dtype: Any) -> None:
    """Raise ResourceExhaustedError if the host has no room for an array of this many elements, before it is allocated."""
    needs = count * np.dtype(dtype).itemsize
    if CHECKED < needs < math.inf and needs > (free := _free_on_host()):
        raise _lacking(int(needs), free, _of_host(), "host")


def _lacking(needs: int, free: int, total: int, where: str) -> Exception:
    return ResourceExhaustedError.saying(
        f"Out of memory: this needs {needs / 2**30:,.1f} GiB, and {free / 2**30:,.1f} of the {where}'s {total / 2**30:,.1f} "
        "GiB are available. No variable was changed. Use smaller batches, or look for a broadcast or product that makes a "
        "tensor larger than meant."
    )


# Errors of CUDA's libraries that find no memory left when they start.
NOT_STARTED = re.compile(
    "DNN library initialization failed|CUBLAS_STATUS_(NOT_INITIALIZED|ALLOC_FAILED)|CUDNN_STATUS_NOT_INITIALIZED"
)


def translated(error: Exception) -> Exception:
    """Convert an error of XLA's runtime to the user's."""
    text = str(error)
    if "RESOURCE_EXHAUSTED" not in text and "ut of memory" not in text and not NOT_STARTED.search(text):
        return error
    device = (
        ""
        if not _of_device()
        else (
            " Another process may hold the device's memory (nvidia-smi names it): end it, or let this one take less of it with "
            "XLA_PYTHON_CLIENT_MEM_FRACTION or XLA_PYTHON_CLIENT_PREALLOCATE=false in the environment."
        )
    )
    return ResourceExhaustedError.saying(f"Out of memory: {text}. No variable was changed.{device}")


def _of_machine() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _containers() -> Iterator[tuple[int, int]]:
    """Yield `(limit, bytes in use)` of each control group of the process that has a limit."""
    for line in _text(PROC / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            version, root = "v2", CGROUPS
        elif "memory" in controllers.split(","):
            version, root = "v1", CGROUPS / "memory"
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                yield from _limit_of(folder, *FILES[version])


def _limit_of(folder: Path, most: str, usage: str, cache: str) -> Iterator[tuple[int, int]]:
    total, used = _text(folder / most).strip(), _text(folder / usage).strip()
    if total.isdigit() and used.isdigit():  # "max" means no limit
        yield int(total), int(used) - _entries(folder / "memory.stat").get(cache, 0)


def _entries(path: Path) -> dict[str, int]:
    lines = [line.split() for line in _text(path).splitlines()]
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # another operating system, or another version of control groups
        return ""
