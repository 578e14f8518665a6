"""The process: forks, the end of Python, and the delivery of Ctrl-C to the user."""

from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

forked = False  # whether this process is a fork of one that used the library


def check_not_forked() -> None:
    """Raise RuntimeError in a process that is a fork of one that used the library."""
    if forked:
        raise RuntimeError(
            "gradtape does not work in a forked process: XLA's threads were left behind in the parent. Start processes with "
            "multiprocessing.set_start_method('spawn')."
        )


def _after_fork() -> None:
    """Mark a forked process, in which JAX's threads do not exist and a call would hang."""
    global forked
    forked = True


os.register_at_fork(after_in_child=_after_fork)

ending = False  # whether Python is shutting down
PAUSE = 0.1  # seconds to let running computations finish


def check_running() -> None:
    """Raise RuntimeError in a forked process. While Python shuts down, block any thread but the main one for good.

    Python ends a daemon thread that returns from XLA by an exception. XLA's frames do not let it pass, and would abort the
    process.
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

# A program that may never end runs in a worker thread. An interrupt dropped by Python is raised again.


class Worker:
    """A thread that runs calls one after the other. A call given up by its caller keeps the thread until it ends.

    Calls and answers pass through queues implemented in C, since an interrupt could leave one of Python's own locks locked.
    """

    def __init__(self, name: str = "gradtape loops") -> None:
        self.calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=_work, args=(self.calls,), name=name, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Finish the pending calls, end the thread and wait for it."""
        self.calls.put(None)
        self._thread.join()


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
    """Call `function(*arguments)`; in the main thread, which receives signals, the call can be interrupted."""
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
    """Call `function` shielded from interrupts; one that arrives meanwhile is raised when the call has ended.

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
    """The result of a call in `Background`, like a `concurrent.futures.Future`."""

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
    """Runs calls one after the other in a thread, like a `concurrent.futures.ThreadPoolExecutor`.

    It survives an interrupt of the main thread, and Python can exit without waiting for it.
    """

    def __init__(self) -> None:
        self._worker = Worker("gradtape callbacks")

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Pending:
        """Run a call in the thread, after the earlier ones."""
        pending = Pending()
        self._worker.calls.put((function, arguments, pending.answers))
        return pending

    def shutdown(self) -> None:
        """Wait for all submitted calls, and end the thread."""
        last = self.submit(int)
        self._worker.calls.put(None)
        last.result()

    def __del__(self) -> None:
        if (worker := getattr(self, "_worker", None)) is not None:  # an interrupt may come before it exists
            worker.calls.put(None)


_show = sys.unraisablehook


def watch() -> None:
    """Start watching for interrupts that Python drops: at the first compilation, not at import."""
    global _show
    if sys.unraisablehook is not _unraisable:
        _show, sys.unraisablehook = sys.unraisablehook, _unraisable


def _unraisable(unraisable: Any) -> None:
    """Raise an interrupt again that Python dropped in a garbage collector's callback or a finalizer.

    JAX's callback is the first code after a collection, so that a Ctrl-C during a collection arrives in it. The interrupt is
    raised where Python would handle the next one: at the start of a function, or after a C function.
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
