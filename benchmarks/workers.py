"""A worker process that executes one request at a time."""

import contextlib
import os
import select
import signal
import subprocess
from pathlib import Path

from benchmarks.peers import ROOT, Variant

# The processes of a row share its memory.
ON_A_GPU = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


class WorkerError(Exception):
    """A worker's error."""


class WorkerProcess:
    """A worker (see worker.py) for `variant`, suspended by a signal while it has no request.

    `cache` is the folder for compiled programs of later processes; `log` gets its standard error.
    """

    def __init__(self, variant: Variant, python: str, cache: Path, log, device: str = "cpu"):
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(cache),
            "TORCHINDUCTOR_CACHE_DIR": str(cache),
            **({"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"} if device == "cpu" else ON_A_GPU),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "PYTHONDONTWRITEBYTECODE": "",  # the sources are compiled once, as those of the peers were when they were installed
            "GRADTAPE_PURE": "1" if variant.pure else "",
        }
        self.variant, self.device, self.unread = variant, device, b""
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            bufsize=1,
        )

    def ask(self, *words) -> list[float]:
        """Send a line, wait for the answer, and return its numbers; raises WorkerError."""
        self.send(*words)
        return self.answer()

    def send(self, *words) -> None:
        """Send a line without waiting; `answer` must follow."""
        self.process.send_signal(signal.SIGCONT)
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            print(*words, file=self.process.stdin)

    def answer(self, within: float | None = None, halt: bool = True) -> list[float]:
        """Wait for the answer, and return its numbers; raises WorkerError, also after `within` seconds, and then ends the
        process.

        Without `halt` the process is not suspended, but continues with another request.
        """
        answer = self._line(within)
        if not answer:
            raise WorkerError(f"the process ended with status {self.process.wait()}")
        if halt:
            self.process.send_signal(signal.SIGSTOP)
        verdict, _, rest = answer.strip().partition(" ")
        if verdict != "ok":
            raise WorkerError(rest)
        return [float(number) for number in rest.split()]

    def _line(self, within: float | None) -> str:
        """Return the next line; "" if the process has ended. (A text stream could buffer a line that `select` does not see.)"""
        pipe = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            if within is not None and not select.select([pipe], [], [], within)[0]:
                self.process.kill()
                raise WorkerError(f"no answer within {within:.0f} s")
            received = os.read(pipe, 1 << 12)
            if not received:
                return ""
            self.unread += received
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def prepare(self, row: str) -> None:
        """Build the step of the row in the file `row`."""
        self.send_prepare(row)
        self.answer()

    def send_prepare(self, row: str, precision: str = "float32", size: str = "full") -> None:
        """Request the step to be built while others build theirs; `answer` must follow."""
        if self.variant.tuned:
            self.ask("tune")
        self.send("prepare", row, self.variant.function, self.device, precision, size)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
