"""Monitoring of a group of processes by heartbeats over TCP, so that all learn when one is lost.

Process 0 listens; each other process has one connection to it. A message is a line of JSON, an empty line a heartbeat.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from gradtape._src.core.base import locks
from gradtape._src.core.base.errors import UnavailableError, invalid

BEAT = 1.0  # seconds between two heartbeats
SILENCE = 10.0  # seconds without a heartbeat after which a process counts as lost
PATIENCE = 5.0  # seconds to wait for a process that has left, before this is an error
LEFT = "has left, and this one waits for it: all processes make the same steps"
COLLECTIVE = re.compile(r"\b(Gloo|NCCL|collective)\b", re.IGNORECASE)  # in XLA's messages


class Peer:
    """A connection to another process of the group."""

    def __init__(self, connection: socket.socket, number: int) -> None:
        self.number, self.left = number, False
        self._connection, self._lock = connection, locks.Lock()
        self._lines = connection.makefile("rb")
        connection.settimeout(SILENCE)

    def send(self, **message: Any) -> None:
        """Send a message, or a heartbeat without arguments. A lost peer is detected by `receive`."""
        line = json.dumps(message).encode() if message else b""
        with self._lock, contextlib.suppress(OSError):
            self._connection.sendall(line + b"\n")

    def end(self) -> None:
        """Shut the connection down, so that a waiting reader gets its end."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; no reader may be waiting."""
        self._lines.close()
        self._connection.close()

    def receive(self) -> dict[str, Any] | None:
        """Wait for the next message; None at the end of the connection. TimeoutError after SILENCE seconds without any line."""
        while True:
            line = self._lines.readline(1 << 16)
            if not line:
                return None
            if line.strip():
                found: dict[str, Any] = json.loads(line)
                return found


class Watch:
    """The state of the other processes, as process `number` of `count` knows it. `lost` is the first lost one, and the reason."""

    def __init__(self, number: int, count: int, peers: list[Peer]) -> None:
        self.number, self.count = number, count
        self.lost: tuple[int, str] | None = None
        self.left: set[int] = set()
        self.collectives: list[threading.Thread] = []  # threads that wait for other processes
        self._peers, self._changed = peers, threading.Condition()
        self._step, self._agreed, self._differ = 0, 0, ""
        self._steps: dict[int, dict[int, str]] = {}  # in process 0: the next action of each process, by step
        self._written: list[dict[str, Any]] = []  # in the others: the files that process 0 has reported as written
        self._first = 0  # the step that process 0 has reached
        threading.Thread(target=self._beat, name="gradtape watch", daemon=True).start()
        for peer in peers:
            threading.Thread(target=self._read, args=(peer,), name="gradtape watch", daemon=True).start()

    def _beat(self) -> None:
        while self._peers:
            time.sleep(BEAT)
            self._send()

    def _read(self, peer: Peer) -> None:
        try:
            with contextlib.suppress(ConnectionResetError):  # the peer may have ended before it read all messages
                while (message := peer.receive()) is not None:
                    self._take(peer, message)
            if peer.number not in self.left:
                self._note(peer.number, "has ended without a word")
        except TimeoutError:
            self._note(peer.number, f"gave no sign of life for {SILENCE:.0f} s")
        except (OSError, ValueError, KeyError, TypeError) as error:
            if peer.number not in self.left:
                self._note(peer.number, f"cannot be reached ({error})")
        with contextlib.suppress(ValueError):
            self._peers.remove(peer)
        peer.close()

    def _take(self, peer: Peer, message: dict[str, Any]) -> None:
        if "step" in message:
            self._collect(peer.number, int(message["step"]), str(message["what"]))
        elif "agreed" in message:
            with self._changed:
                self._agreed, self._differ = int(message["agreed"]), str(message["differ"])
                self._changed.notify_all()
        elif "wrote" in message:
            with self._changed:
                self._written.append(message)
                self._changed.notify_all()
        elif "where" in message:
            peer.send(first=self._step)
        elif "first" in message:
            with self._changed:
                self._first = int(message["first"])
                self._changed.notify_all()
        elif "lost" in message:
            self._note(int(message["lost"]), str(message["why"]))
        elif "raised" in message:
            self._note(peer.number, f"raised {message['raised']}")
        elif "left" in message:
            with self._changed:
                self.left.add(int(message["left"]))
                self._changed.notify_all()
            self._tell(left=message["left"])

    def _note(self, number: int, why: str) -> None:
        with self._changed:
            if self.lost is not None:
                return
            self.lost = number, why
            self._changed.notify_all()
        self._tell(lost=number, why=why)

    def _tell(self, **message: Any) -> None:
        """Pass a message on in process 0, as the others are not connected to each other."""
        if self.number == 0:
            self._send(**message)

    def _send(self, **message: Any) -> None:
        """Send a message to all connected processes."""
        for peer in list(self._peers):
            peer.send(**message)

    def agree(self, what: str) -> None:
        """Wait until all processes are about to do the same; InvalidArgumentError if one is about to do something else."""
        self._step += 1
        if self.number == 0:
            self._collect(0, self._step, what)
        else:
            self._send(step=self._step, what=what)
        waited = 0.0
        with self._changed:
            while not self._changed.wait_for(lambda: self._agreed >= self._step or self.lost is not None, 0.2):
                waited += 0.2
                self.check(waited)
        if self._differ:
            raise invalid(self._differ)
        self.check()

    def _collect(self, number: int, step: int, what: str) -> None:
        """Note the next action of a process, in process 0; notify all once every process has reported."""
        with self._changed:
            known = self._steps.setdefault(step, {})
            known[number] = what
            if len(known) < self.count:
                return
            del self._steps[step]
            other = next((i for i, each in known.items() if each != known[0]), None)
            if other is not None:
                self._differ = (
                    f"The processes are not in step. Process 0 of {self.count} is about to run {known[0]}; process {other}: "
                    f"{known[other]}. Give each the same program, the same seeds and indices, and the same number of batches "
                    "of the same shapes."
                )
            self._agreed = step
            self._changed.notify_all()
        self._tell(agreed=step, differ=self._differ)

    def wrote(self, path: str, stamp: Any, error: str | None = None) -> None:
        """Tell the others, in process 0, that a file is written, or the `error`. `stamp` identifies the file."""
        self._tell(wrote=path, at=self._step, stamp=stamp, error=error)

    def written(self, path: str) -> dict[str, Any] | None:
        """Wait, in another process, for process 0's report about a file; None if process 0 does not write it.

        This is known when process 0 wrote another file instead, has reached a later step, or has left.
        """
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._written or self.lost is not None or 0 in self.left, BEAT / 2)
                told = [each for each in self._written if each["at"] >= self._step]
                place = next((i for i, each in enumerate(told) if each["wrote"] == path), 0)
                self._written = told[place + 1 :]
                if told:
                    return told[place] if told[place]["wrote"] == path else None
                if self._first > self._step or 0 in self.left:
                    return None
            self.check()
            self._send(where=True)

    def raised(self, error: BaseException) -> None:
        """Tell the others that this process ends with an error."""
        self._send(raised=f"{type(error).__name__}: {error}"[:1_000])

    def leave(self) -> None:
        """Tell the others that this process ends normally."""
        self._send(left=self.number)

    def end(self) -> None:
        """End all connections."""
        for peer in list(self._peers):
            peer.end()

    def stay(self) -> None:
        """Wait until all others have ended, or are lost."""
        while self._peers and self.lost is None:
            time.sleep(BEAT / 10)

    def check(self, waited: float = 0.0) -> None:
        """Raise UnavailableError if a process is lost, or has left while this one `waited` for it."""
        if self.lost is not None:
            raise self._gone(*self.lost)
        if self.left and waited > PATIENCE:
            raise self._gone(min(self.left), LEFT)

    def failure(self, said: str) -> UnavailableError:
        """Wait until the lost process is known, and return the error for a failed collective; `said` is XLA's message."""
        with self._changed:
            self._changed.wait_for(lambda: self.lost is not None or bool(self.left), SILENCE + 2 * BEAT)
        if self.lost is not None:
            return self._gone(*self.lost)
        if self.left:
            return self._gone(min(self.left), LEFT)
        return UnavailableError.saying(f"Process {self.number} of {self.count} cannot reach another one: {said}")

    def _gone(self, number: int, why: str) -> UnavailableError:
        return UnavailableError.saying(
            f"Process {number} of {self.count} {why}. This is process {self.number}. Start all of them again; training goes on "
            "from the last checkpoint."
        )


def address_of(text: str) -> tuple[str, int]:
    """Parse `host:port`; ValueError for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ValueError(f"The address of a process is host:port, received {text!r}.")
    return host.strip("[]"), int(port)


def free_address() -> str:
    """Return a free address of this machine that others can reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # sends nothing: the system chooses the interface (RFC 5737 has the address)
            host = asked.getsockname()[0]
        except OSError:
            host = "127.0.0.1"
    with contextlib.closing(_listening(host, 0)) as free:
        return f"{host}:{free.getsockname()[1]}"


def meet(address: str, number: int, count: int, seconds: float) -> tuple[Watch, str]:
    """Wait for all processes of a group; return the watch, and the address for JAX's runtime.

    UnavailableError names those that did not connect within `seconds`.
    """
    host, port = address_of(address)
    return _gather(host, port, count, seconds) if number == 0 else _come(host, port, number, count, seconds)


def _gather(host: str, port: int, count: int, seconds: float) -> tuple[Watch, str]:
    """Wait for the connections of the others, in process 0."""
    until = time.monotonic() + seconds
    found: dict[int, Peer] = {}
    with contextlib.closing(_listening(host, port)) as listener:
        while len(found) < count - 1:
            listener.settimeout(max(until - time.monotonic(), 0.01))
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                _close(found.values())
                missing = sorted({*range(1, count)} - found.keys())
                raise UnavailableError(
                    None, None, f"Of {count} processes {missing} did not come to {host}:{port} within {seconds:.0f} s."
                ) from None
            peer = _welcomed(connection, count, found)
            if peer is not None:
                found[peer.number] = peer
    with contextlib.closing(_listening(host, 0)) as free:
        meeting = f"{host}:{free.getsockname()[1]}"
    for peer in found.values():
        peer.send(meeting=meeting)
    return Watch(0, count, list(found.values())), meeting


def _close(peers: Iterable[Peer]) -> None:
    for peer in peers:
        peer.close()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, reuse_port=False)
    except OSError as error:
        why = f"Process 0 cannot listen at {host}:{port}: {error.strerror}. Name an address of this machine that is free."
        raise UnavailableError.saying(why) from None


def _welcomed(connection: socket.socket, count: int, found: dict[int, Peer]) -> Peer | None:
    """Return the peer of a new connection; None unless it is a process of the group."""
    stranger = Peer(connection, -1)
    try:
        hello = stranger.receive() or {}
        number, their_count = int(hello["process"]), int(hello["count"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        stranger.close()
        return None
    wrong = None
    if their_count != count:
        wrong = f"Process {number} was told of {their_count} processes, process 0 of {count}. Give all the same cluster."
    elif number in found or not 0 < number < count:
        wrong = f"Two processes say that they are number {number} of {count}. Give each an index of its own."
    if wrong is not None:
        for peer in (stranger, *found.values()):
            peer.send(wrong=wrong)
        _close([stranger, *found.values()])
        raise invalid(wrong)
    stranger.number = number
    return stranger


def _come(host: str, port: int, number: int, count: int, seconds: float) -> tuple[Watch, str]:
    """Connect to process 0, in another process."""
    until = time.monotonic() + seconds
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=max(until - time.monotonic(), 0.01))
            break
        except OSError as error:
            if time.monotonic() >= until:
                raise UnavailableError(
                    None, None, f"Process {number} found no process 0 at {host}:{port} within {seconds:.0f} s: {error}."
                ) from None
            time.sleep(0.1)
    peer = Peer(connection, 0)
    peer.send(process=number, count=count)
    connection.settimeout(max(until - time.monotonic(), 0.01) + SILENCE)
    try:
        answer = peer.receive()
    except OSError:
        answer = None
    if answer is None or "wrong" in answer:
        peer.close()
    if answer is not None and "wrong" in answer:
        raise invalid(str(answer["wrong"]))
    if answer is None:
        raise UnavailableError.saying(f"Process 0 at {host}:{port} did not find all of {count} processes.")
    connection.settimeout(SILENCE)
    return Watch(number, count, [peer]), str(answer["meeting"])


def waiting(watch: Watch, function: Callable[..., Any], arguments: Any) -> Any:
    """Call a function that may wait for other processes; UnavailableError if one of them is lost meanwhile.

    The waiting call is then abandoned in its thread.
    """
    ended = threading.Event()
    answer: list[Any] = []

    def call() -> None:
        try:
            answer.append((function(*arguments), None))
        except BaseException as error:
            answer.append((None, error))
        ended.set()

    thread = threading.Thread(target=call, name="gradtape collective", daemon=True)
    watch.collectives = [*[each for each in watch.collectives if each.is_alive()], thread]
    thread.start()
    waited = 0.0
    while not ended.wait(0.2):
        waited += 0.2
        watch.check(waited)
    result, error = answer[0]
    if error is None:
        return result
    if COLLECTIVE.search(str(error)) is None:
        raise error
    raise watch.failure(str(error)) from None
