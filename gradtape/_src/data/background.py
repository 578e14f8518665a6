"""Threads of datasets: prefetching and parallel calls. No thread outlives the iterator that it works for."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import queue
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

from gradtape._src.core.base.ambient import declare, field, handed, setting
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import runtime


class _Fields:
    """Whether the thread works for a dataset, or closes datasets' streams."""

    works: bool = field(False, per_replica=False)
    closes: bool = field(False, per_replica=False)


_local = declare(_Fields)
_closers: list[runtime.Worker] = []  # free ones; one is made with the first stream, as no thread starts while Python shuts down
PATIENCE = 1.0  # seconds to wait for threads whose elements are no longer needed


def _works() -> None:
    _local.works = True


def _closes(close: Callable[[], None]) -> None:
    _local.closes = True
    close()


@contextlib.contextmanager
def _closing(close: Callable[[], None]) -> Iterator[None]:
    """Call `close`, which waits for threads, at the end of the context, which is that of a generator.

    If that is dropped it waits for a limited time, because a user's function may never end. A thread that works for datasets
    does not wait at all: the garbage collector may have run in the very thread that is waited for.
    """
    dropped = False
    try:
        yield
    except GeneratorExit:
        dropped = True
        raise
    finally:
        if not dropped or _local.closes or runtime.forked:
            close()
        else:
            _aside(close, 0.0 if _local.works else PATIENCE)


def _aside(close: Callable[[], None], seconds: float) -> None:
    """Call `close` in another thread, and wait up to `seconds` for its end."""
    try:
        worker = _closers.pop()
    except IndexError:
        worker = runtime.Worker("gradtape-close")
    answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker.calls.put((_closes, (close,), answer))
    try:
        _, error = answer.get(timeout=seconds)
    except BaseException as waited:
        worker.calls.put(None)  # ends the thread after that call
        if isinstance(waited, queue.Empty):
            return
        raise
    _closers.append(worker)
    if error is not None:
        raise error


Outcome = Future[Any]  # an element, or its error, which is raised when the element is requested
Outcomes: TypeAlias = Generator[Outcome, None, None]


def outcome(stream: Iterator[Any]) -> Outcome:
    """Return the outcome of the next element; StopIteration at the end."""
    result: Outcome = Future()
    try:
        result.set_result(next(stream))
    except StopIteration:
        raise
    except Exception as error:
        result.set_exception(error)
    except BaseException as error:  # else the thread would end silently, and its reader would wait for ever
        result.set_exception(RuntimeError(f"{type(error).__name__} in a function of a dataset that is being prefetched"))
    return result


def given(result: Outcome) -> Any:
    """Return the element or raise its error, without the traceback of the thread, but with its cause."""
    error = result.exception()
    if error is not None:
        raise error.with_traceback(None)
    return result.result()


_streams: weakref.WeakValueDictionary[int, Outcomes] = weakref.WeakValueDictionary()
_count = itertools.count()


def _kept(stream: Outcomes) -> Iterator[Any]:
    """Register a stream that has threads, so that it is closed when Python exits."""
    if not _closers:
        _closers.append(runtime.Worker("gradtape-close"))
    _streams[next(_count)] = stream
    return map(given, stream)


def _close_all() -> None:
    """Close all streams with threads when Python exits, the last stages first, before modules are torn down."""

    def close() -> None:
        for _, stream in sorted(_streams.items(), reverse=True):
            with contextlib.suppress(ValueError):  # it is running, in a thread that did not end
                stream.close()

    if _streams and not runtime.forked:
        with contextlib.suppress(RuntimeError):  # the closing thread waits for another one, and no new thread starts
            _aside(close, PATIENCE)


atexit.register(_close_all)


def prefetched(stream: Iterator[Any], size: int) -> Iterator[Any]:
    """Return the stream; a thread computes up to `size` elements in advance."""
    return _kept(_prefetched(stream, size))


def _prefetched(stream: Iterator[Any], size: int) -> Outcomes:
    engine.flush_if_outermost()  # values that are pending here are computed first, as the thread may use them
    worker, around, made = runtime.Worker("gradtape-prefetch"), handed(), queue.SimpleQueue[Any]()
    wanted = True

    def make() -> Outcome:
        _works()
        with setting(**around):
            return outcome(stream if wanted else iter(()))

    def close() -> None:
        nonlocal wanted
        wanted = False
        worker.end()

    with _closing(close):
        for _ in range(size):
            worker.calls.put((make, (), made))
        while True:
            runtime.check_not_forked()  # a forked process has no such thread, and would wait for ever
            result, end = made.get()
            if end is not None:
                return
            worker.calls.put((make, (), made))
            yield result


def mapped(call: Callable[[int, Any], Any], source: Iterator[Any], threads: int, deterministic: bool) -> Iterator[Any]:
    """Return `call(index, element)` for each element, in `threads` threads; in the elements' order if `deterministic`."""
    return _kept(_mapped(call, source, threads, deterministic))


def _mapped(call: Callable[[int, Any], Any], source: Iterator[Any], threads: int, deterministic: bool) -> Outcomes:
    engine.flush_if_outermost()
    numbered = enumerate(map(outcome, itertools.repeat(source)))
    pool, around = ThreadPoolExecutor(threads, "gradtape-map", initializer=_works), handed()

    def called(index: int, element: Any) -> Any:
        with setting(**around):
            return call(index, element)

    running: deque[Future[Any]] = deque()
    with _closing(lambda: pool.shutdown(cancel_futures=True)):
        while True:
            runtime.check_not_forked()
            for index, item in itertools.islice(numbered, threads - len(running)):
                running.append(item if item.exception() else pool.submit(called, index, item.result()))
            if not running:
                return
            done = running[0]
            if not deterministic:
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                done = next(future for future in running if future in finished)
            running.remove(done)
            yield done
