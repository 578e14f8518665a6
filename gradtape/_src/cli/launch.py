"""`gradtape launch`: several processes of one program on this machine, started, monitored and ended together."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO

GRACE = 20.0  # seconds for the other processes to report the failure of one, before they are ended
KILL = 5.0  # seconds between SIGTERM and SIGKILL
# Messages of JAX's runtime when processes connect, at all log levels; they are of no use to users.
RUNTIME = re.compile(r"\[Gloo\] Rank \d+ is connected to \d+ peer|[IW]\d{4} [\d:.]+ +\d+ coordination_service\.cc:\d+\]")


def launch(count: int, arguments: Sequence[str]) -> int:
    """Run `gradtape run` with these arguments in `count` processes; return 0, or the exit status of the first failure.

    TF_CONFIG tells them each other's addresses. Their output is prefixed by the process number. When one fails, the others have
    20 seconds to end by themselves.
    """
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(count)]
    group = [_started(number, addresses, arguments) for number in range(count)]
    shown = [threading.Thread(target=_show, args=(number, process.stdout)) for number, process in enumerate(group)]
    for thread in shown:
        thread.start()
    try:
        status = _watched(group)
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    finally:
        _end(group)
    for thread in shown:
        thread.join(KILL)
    return status


def _free_ports(count: int) -> list[int]:
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in found]
    finally:
        for each in found:
            each.close()


def _started(number: int, addresses: list[str], arguments: Sequence[str]) -> subprocess.Popen[str]:
    cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": number}}
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "gradtape", "run", *arguments],
        env={**os.environ, "TF_CONFIG": json.dumps(cluster)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _show(number: int, lines: IO[str] | None) -> None:
    assert lines is not None
    for line in lines:
        if not RUNTIME.match(line):
            sys.stdout.write(f"[{number}] {line}")
            sys.stdout.flush()


def _watched(group: list[subprocess.Popen[str]]) -> int:
    """Wait until all have ended, or for GRACE after a failure."""
    failed: int | None = None
    until = float("inf")
    while any(process.poll() is None for process in group) and time.monotonic() < until:
        time.sleep(0.05)
        for number, process in enumerate(group):
            if failed is None and process.poll() not in (None, 0):
                failed, until = number, time.monotonic() + GRACE
                print(f"Process {number} of {len(group)} ended with {_spoken(process.returncode)}.", file=sys.stderr, flush=True)
    if failed is None:
        failed = next((number for number, process in enumerate(group) if process.returncode), None)
    if failed is None:
        return 0
    status = group[failed].returncode
    return 128 - status if status < 0 else status


def _spoken(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def _end(group: list[subprocess.Popen[str]]) -> None:
    """End those processes of the group that still run."""
    for process in group:
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + KILL
    for process in group:
        try:
            process.wait(max(until - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
