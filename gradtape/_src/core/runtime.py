"""The process: JAX's set-up, compiled programs on disk, forks and Python's end, and the way of a Ctrl-C to the user."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import re
import stat
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import jax

forked = False  # whether this process is a fork of one that used the library
CACHE_BYTES = 1 << 30  # the folder is cut back to this size, oldest programs first
CHECKED_BYTES = 1 << 26  # as much is looked at for damage when a process compiles for the first time
ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how a file begins that the package `zstandard` has written
PROGRAM = re.compile(r"jit_.*-[0-9a-f]{64}-(cache|atime)")  # how JAX names the files of a compiled program


def cache_folder() -> Path | None:
    """Return the folder of compiled programs, from `GRADTAPE_CACHE_DIR` (empty: None) or in the user's cache folder."""
    given = os.environ.get("GRADTAPE_CACHE_DIR")
    if given is not None:
        return Path(given) / "gradtape" / "xla" if given else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "gradtape" / "xla"
    except RuntimeError:  # the user has no home
        return None


def configure() -> None:
    """Switch on 64-bit types, and the cache of compiled programs unless the user has set JAX's own.

    Where its folder cannot be used, one line in the log says why.
    """
    jax.config.update("jax_enable_x64", True)
    folder = cache_folder()
    # JAX makes the attributes of its config as it runs, where a type checker does not see them.
    if folder is None or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    reason = _refused(folder)
    if reason is None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    else:
        logging.getLogger("gradtape").warning(
            "Compiled programs are not kept on disk: %s. GRADTAPE_CACHE_DIR names another folder; empty, it asks for none.",
            reason,
        )


def _refused(folder: Path) -> str | None:
    """Make the cache folder, and return why it cannot be used, if so: what is loaded from it runs as this user's own code."""
    own = folder.parent, folder
    try:
        own[0].parent.mkdir(parents=True, exist_ok=True)
        for made in own:
            made.mkdir(mode=0o700, exist_ok=True)
        above, *found = [os.stat(path) for path in (own[0].parent, *own)]
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"
    if os.name == "posix":
        for path, status in zip(own, found, strict=True):
            if status.st_uid != os.geteuid():
                return f"{path} belongs to another user"
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return f"others may write to {path} (chmod go-w mends that, once you have removed what is in it)"
        if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
            return f"anybody may put another folder in the place of {own[0]}"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} may not be written"


def check_not_forked() -> None:
    """Raise RuntimeError in a process that is a fork of one that used the library."""
    if forked:
        raise RuntimeError(
            "gradtape does not work in a forked process: XLA's threads were left behind in the parent. Start processes with "
            "multiprocessing.set_start_method('spawn')."
        )


def _after_fork() -> None:
    """Make JAX raise in a forked process, where its threads do not exist and a call would wait for ever."""
    global forked
    forked = True


os.register_at_fork(after_in_child=_after_fork)

ending = False  # whether Python is ending
PAUSE = 0.1  # seconds for what other threads compute just then


def check_running() -> None:
    """Raise RuntimeError in a fork. While Python ends, hold any thread but the main one, for good.

    Python ends daemon threads as they come back from XLA, by an exception that XLA's frames do not let pass: the process would
    abort.
    """
    if forked or ending:
        check_not_forked()
        if threading.current_thread() is not threading.main_thread():
            threading.Event().wait()


def _end() -> None:
    global ending
    ending = True
    if threading.active_count() > 1 and not forked:
        time.sleep(PAUSE)


atexit.register(_end)

_pruned = threading.Event()


def prune_cache() -> None:
    """Remove damaged programs from the cache folder, and the oldest ones once it is too large; once for each process.

    Only files with the names that JAX gives to compiled programs are counted and removed.
    """
    if _pruned.is_set():
        return
    _pruned.set()
    folder = cache_folder()
    if folder is None or not folder.is_dir():
        return
    try:
        with os.scandir(folder) as entries:
            programs = [(e.stat(), e.path) for e in entries if PROGRAM.fullmatch(e.name) and e.is_file(follow_symlinks=False)]
        _remove_damaged(programs)
        size = sum(status.st_size for status, _ in programs)
        for status, path in sorted(programs, key=lambda item: item[0].st_mtime):
            if size <= CACHE_BYTES:
                break
            os.unlink(path)
            size -= status.st_size
    except OSError:  # another process removes the same files, or the folder may not be written
        return


def _remove_damaged(programs: list[tuple[os.stat_result, str]]) -> None:
    """Remove the programs that cannot be read, such as those of a process that was killed: JAX never writes over a file.

    A file that was looked at and found whole is made read-only, which is how it is known the next time.
    """
    looked = 0
    for status, path in programs:
        if status.st_mode & stat.S_IWUSR and looked < CHECKED_BYTES:
            looked += status.st_size
            if _is_damaged(Path(path).read_bytes()):
                os.unlink(path)
            else:
                os.chmod(path, stat.S_IRUSR)


def _is_damaged(data: bytes) -> bool:
    if data.startswith(ZSTANDARD):
        return False
    try:
        return not zlib.decompress(data)
    except zlib.error:
        return True


# Programs that may never end run in a thread of their own, and an interrupt that Python drops is raised again.


class Worker:
    """A thread that runs one call after the other. A call that is given up keeps its thread until it ends, if it does.

    Queues of C carry the calls and answers: an interrupt in the midst of Python's own locks would leave one locked.
    """

    def __init__(self, name: str = "gradtape loops") -> None:
        self.calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_work, args=(self.calls,), name=name, daemon=True).start()


def _work(calls: queue.SimpleQueue[Any]) -> None:
    while (call := calls.get()) is not None:
        function, arguments, answer = call
        try:
            answer.put((function(*arguments), None))
        except BaseException as error:
            answer.put((None, error))
        del call, function, arguments, answer


_worker: Worker | None = None


def call(function: Callable[..., Any], arguments: Any) -> Any:
    """Call `function(*arguments)`; in the main thread, where signals arrive, it can be interrupted."""
    global _worker
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    if _worker is None:
        _worker = Worker()
    answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
    _worker.calls.put((function, arguments, answer))
    try:
        result, error = answer.get()
    except BaseException:
        _worker = None
        raise
    if error is not None:
        raise error
    return result


def to_its_end(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call `function` where no interrupt arrives; one that comes meanwhile is raised when the call has ended.

    JAX drops an exception that a signal raises while it traces. A second interrupt gives the call up.
    """
    global _worker
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    worker, _worker = _worker or Worker(), None
    ended, answers = queue.SimpleQueue[Any](), queue.SimpleQueue[Any]()

    def whole() -> Any:
        try:
            return function(*arguments)
        finally:
            ended.put(None)
            ended.put(None)

    worker.calls.put((whole, (), answers))
    try:
        ended.get()
    finally:
        ended.get()
        _worker = worker
    result, error = answers.get()
    if error is not None:
        raise error
    return result


class Pending:
    """The result of a call that `Background` runs, as `concurrent.futures.Future` has it."""

    def __init__(self) -> None:
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def done(self) -> bool:
        """Return whether the call has ended."""
        return not self.answers.empty()

    def result(self) -> Any:
        """Wait for the end of the call; return its result, or raise its error."""
        answer = self.answers.get()
        self.answers.put(answer)
        result, error = answer
        if error is not None:
            raise error
        return result


class Background:
    """Runs calls one after the other beside the main thread, as `concurrent.futures.ThreadPoolExecutor` would.

    An interrupt of the main thread leaves it whole, and Python ends without waiting for it.
    """

    def __init__(self) -> None:
        self._worker = Worker("gradtape callbacks")

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Pending:
        """Have the call run after those before it."""
        pending = Pending()
        self._worker.calls.put((function, arguments, pending.answers))
        return pending

    def shutdown(self) -> None:
        """Wait for the calls that were submitted, and end the thread."""
        last = self.submit(int)
        self._worker.calls.put(None)
        last.result()

    def __del__(self) -> None:
        if (worker := getattr(self, "_worker", None)) is not None:  # there is none if an interrupt came first
            worker.calls.put(None)


_show = sys.unraisablehook


def watch() -> None:
    """Watch for interrupts that Python drops, from now on; when the first program is compiled, not at import."""
    global _show
    if sys.unraisablehook is not _unraisable:
        _show, sys.unraisablehook = sys.unraisablehook, _unraisable


def _unraisable(unraisable: Any) -> None:
    """Raise an interrupt again that came in a callback of the garbage collector or in a finalizer, where Python drops it.

    JAX has such a callback, which is the first code to run after a collection: so a Ctrl-C during a collection lands in it.
    It is raised where Python would handle the next one: where a function begins, or one of C's has ended.
    """
    dropped = unraisable.exc_type is KeyboardInterrupt and threading.current_thread() is threading.main_thread()
    if not dropped or sys.is_finalizing() or sys.getprofile() is not None:
        _show(unraisable)
        return

    def again(frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_return") and frame.f_code is not _unraisable.__code__:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(again)


configure()
