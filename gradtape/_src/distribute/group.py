"""The group of processes that train together: joining by addresses or by TF_CONFIG, and leaving."""

from __future__ import annotations

import atexit
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import UnavailableError, invalid
from gradtape._src.distribute.watch import Watch, free_address, meet, waiting
from gradtape._src.ops.random import seeds

PATIENCE = 300.0  # seconds to wait for the other processes at the start
LEAVING = 10  # seconds to wait for the other processes at the end
# Environment variables by which JAX detects launchers; the first one is the number of processes.
LAUNCHERS = [
    ("SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri"),
]

_watch: Watch | None = None


def joined() -> Watch | None:
    """Return the watch of the group that this process has joined, or None."""
    return _watch


def of_config(text: str | None) -> tuple[list[str], int]:
    """Parse TF_CONFIG: return the addresses of a group, and the number of this process in it.

    The chief comes first, then the workers, as in TensorFlow. ValueError for an invalid text.
    """
    if not text:
        return [], 0
    try:
        config = json.loads(text)
        cluster, task = config.get("cluster", {}), config.get("task", {})
        kinds = {kind: list(cluster.get(kind, [])) for kind in ("chief", "worker")}
        kind, index = task.get("type", "worker"), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"TF_CONFIG is no cluster: {error}. It looks like "
            '{"cluster": {"worker": ["host:port", "host:port"]}, "task": {"type": "worker", "index": 0}}.'
        ) from None
    if others := {*cluster} - {*kinds} - {"evaluator"}:
        raise ValueError(f"TF_CONFIG has tasks of types {sorted(others)}: there are the chief and workers here.")
    addresses = [*kinds["chief"], *kinds["worker"]]
    if not addresses:
        return [], 0
    if kind not in kinds or not 0 <= index < len(kinds[kind]):
        raise ValueError(f"The task of TF_CONFIG, {task}, is not in its cluster, {cluster}.")
    return addresses, index + (len(kinds["chief"]) if kind == "worker" else 0)


def join(address: str, number: int, count: int, seconds: float = PATIENCE) -> None:
    """Join a group of `count` processes as its process `number`, once. Process 0 listens at `address`.

    Collectives use JAX's runtime. UnavailableError names the processes that did not connect within `seconds`. Without a seed
    of its own, a process takes the seed of process 0, since all must draw the same numbers.
    """
    if _watch is not None or count < 2:
        return
    watch, meeting = meet(address, number, count, seconds)
    _start_runtime(meeting, count, number)
    _begin(watch)


def join_started() -> bool:
    """Join the processes that Slurm or Open MPI has started; return whether this process is one of them.

    JAX finds their address.
    """
    if _watch is not None or not any(_started(*names) for names in LAUNCHERS):
        return _watch is not None
    _start_runtime()
    number, count = jax.process_index(), jax.process_count()
    address = free_address() if number == 0 else ""
    told = multihost_utils.broadcast_one_to_all(np.frombuffer(address.ljust(64).encode(), np.uint8))
    watch, _ = meet(bytes(np.asarray(told)).decode().strip(), number, count, PATIENCE)
    _begin(watch)
    return True


def _started(processes: str, *others: str) -> bool:
    return os.environ.get(processes, "1").isdecimal() and int(os.environ.get(processes, "1")) > 1 and {*others} <= {*os.environ}


def _start_runtime(address: str | None = None, count: int | None = None, number: int | None = None) -> None:
    jax.config.update("jax_enable_recoverability", True)  # else JAX's runtime ends this process when another one has ended
    jax.config.update("jax_enable_preemption_service", False)  # SIGTERM must end the process
    jax.distributed.initialize(address, count, number, shutdown_timeout_seconds=LEAVING)


def _begin(watch: Watch) -> None:
    """Set up the watch of the other processes, the reporting of errors, and common random numbers."""
    global _watch
    _watch = watch
    hooks.clients.together, hooks.clients.once = _together, _once
    hooks.clients.process = lambda: f"process {watch.number} of {watch.count}"
    show = sys.excepthook

    def told(kind: Any, error: BaseException, traceback: Any) -> None:
        watch.raised(error)
        watch.left.add(watch.number)
        error.add_note(f"This is process {watch.number} of {watch.count}.")
        show(kind, error, traceback)

    sys.excepthook = told
    atexit.register(_leave)
    seeds.share(int(same_for_all(np.array(secrets.randbits(31)))))


def _leave() -> None:
    """Leave the group when Python exits. Otherwise a thread of XLA's that waits for others could end the process by SIGABRT."""
    watch = _watch
    assert watch is not None
    if watch.number not in watch.left:
        watch.leave()
    if watch.number == 0:  # JAX's service runs here, and other processes tell it that they leave
        watch.stay()
    until = time.monotonic() + LEAVING
    for thread in watch.collectives:
        thread.join(max(until - time.monotonic(), 0.0))
    if any(thread.is_alive() for thread in watch.collectives):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _together(what: str, function: Any, *arguments: Any) -> Any:
    watch = _watch
    assert watch is not None
    if threading.current_thread() is not threading.main_thread():  # the order of threads differs between processes
        raise invalid(
            f"{what[0].upper()}{what[1:]} needs all processes, and thread {threading.current_thread().name!r} of process "
            f"{watch.number} asked for it. Do it in the main thread, in the same order in all processes."
        )
    watch.agree(what)
    return waiting(watch, function, arguments)


def _once(path: str, write: Callable[[], None]) -> None:
    """Write a file in process 0, and wait for it in the others. These write a file that they cannot get from process 0."""
    watch, path = _watch, os.path.abspath(path)
    assert watch is not None
    if watch.number:
        told = watch.written(path)
        if told is not None and told["error"] is not None:
            why = f"Process 0 of {watch.count} could not write {path}: {told['error']}. This is process {watch.number}."
            raise UnavailableError.saying(why)
        if told is None or told["stamp"] != _stamp(path):
            write()
        return
    try:
        write()
    except BaseException as error:
        watch.wrote(path, None, f"{type(error).__name__}: {error}"[:1_000])
        raise
    watch.wrote(path, _stamp(path))


def _stamp(path: str) -> list[int] | None:
    """Return the size and time of a file, by which processes decide whether they see the same file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def same_for_all(value: np.ndarray) -> np.ndarray:
    """Return process 0's value in all processes."""
    if _watch is None:
        return value
    what = f"a broadcast of {value.dtype}{list(value.shape)}"
    return np.asarray(_together(what, multihost_utils.broadcast_one_to_all, value))


def fewest(number: int, what: str) -> int:
    """Return the minimum of a number over all processes; `what` describes it for errors."""
    if _watch is None:
        return number
    return int(np.min(_together(f"an agreement on {what}", multihost_utils.process_allgather, np.int64(number))))


def join_by_environment() -> None:
    """Join the group in the environment's TF_CONFIG, or of a launcher, if there is one."""
    addresses, number = of_config(os.environ.get("TF_CONFIG"))
    if addresses:
        join(addresses[0], number, len(addresses))
    else:
        join_started()
