"""Work in threads: elements made ahead of time, and calls side by side. No thread outlives the iterator that it works for."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import queue
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

from gradtape._src.core.base.ambient import declare, field, handed, setting
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import runtime


class _Fields:
    """Whether the thread works for a dataset, or closes what does."""

    works: bool = field(False, per_replica=False)
    closes: bool = field(False, per_replica=False)


_local = declare(_Fields)
_closers: list[runtime.Worker] = []  # that are free; one is made with the first stream, as none starts while Python ends
PATIENCE = 1.0  # seconds to wait for threads that make elements nobody wants any more


def _works() -> None:
    _local.works = True


def _closes(close: Callable[[], None]) -> None:
    _local.closes = True
    close()


def _end(close: Callable[[], None], dropped: bool) -> None:
    """Call `close`, which waits for threads.

    After a drop it is not waited for long, as a function of the user's may never end; nor at all in a thread that works for
    datasets: the garbage collector, which drops in any thread, may have done so in the very one that is waited for.
    """
    if not dropped or _local.closes or runtime.forked:
        close()
    else:
        _aside(close, 0.0 if _local.works else PATIENCE)


def _aside(close: Callable[[], None], seconds: float) -> None:
    """Call `close` in another thread, and wait so many seconds for its end."""
    try:
        worker = _closers.pop()
    except IndexError:
        worker = runtime.Worker("gradtape-close")
    answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker.calls.put((_closes, (close,), answer))
    try:
        _, error = answer.get(timeout=seconds)
    except BaseException as waited:
        worker.calls.put(None)  # it ends after that call
        if isinstance(waited, queue.Empty):
            return
        raise
    _closers.append(worker)
    if error is not None:
        raise error


Outcome = Future[Any]  # an element that is there, or its error, to be raised where it is asked for
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
    except BaseException as error:  # would end a thread without a word, and its reader would wait for ever
        result.set_exception(RuntimeError(f"{type(error).__name__} in a function of a dataset that is being prefetched"))
    return result


def given(result: Outcome) -> Any:
    """Return the element, or its error: where it was raised in a thread is of no use to anybody; its cause stays."""
    error = result.exception()
    if error is not None:
        raise error.with_traceback(None)
    return result.result()


class _Source(Iterator[Outcome]):
    """A stream as grain's prefetching asks for it."""

    def __init__(self, stream: Iterator[Any]) -> None:
        self.stream, self._handed = stream, handed()

    def __next__(self) -> Any:
        _works()
        with setting(**self._handed):
            return outcome(self.stream)

    def get_state(self) -> dict[str, Any]:
        """Return an empty state: streams cannot be taken up in the middle."""
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Ignore the state: see `get_state`."""


# What reads ahead is held here until it is closed, so that it has no part in the garbage and is not finalized with it.
_running: set[Any] = set()

_streams: weakref.WeakValueDictionary[int, Outcomes] = weakref.WeakValueDictionary()
_count = itertools.count()


def _kept(stream: Outcomes) -> Iterator[Any]:
    """Return the elements of a stream that has threads; it is closed when Python ends."""
    if not _closers:
        _closers.append(runtime.Worker("gradtape-close"))
    _streams[next(_count)] = stream
    return map(given, stream)


def _close(ahead: Any) -> None:
    """Close what reads ahead. After an interrupt that came while its thread was starting, wait until that has started."""
    for _ in range(100):
        with contextlib.suppress(RuntimeError):  # of a thread that cannot be joined yet
            ahead.close()
            return
        time.sleep(0.01)


def _close_all() -> None:
    """Close what has threads when Python ends, as they need modules that are taken apart soon after; the last stages first."""

    def close() -> None:
        for _, stream in sorted(_streams.items(), reverse=True):
            with contextlib.suppress(ValueError):  # it is running, in a thread that did not end
                stream.close()
        while _running:  # what an interrupt has left
            _close(_running.pop())

    if (_streams or _running) and not runtime.forked:
        with contextlib.suppress(RuntimeError):  # the thread that would close waits for another one, and no more start
            _aside(close, PATIENCE)


atexit.register(_close_all)


def prefetched(stream: Iterator[Any], size: int) -> Iterator[Any]:
    """Return the stream, up to `size` elements of which are made ahead of time by a thread."""
    return _kept(_prefetched(stream, size))


def _unforked(stream: Iterator[Outcome]) -> Iterator[Outcome]:
    """Yield what threads of this process make. In a fork there are none: RuntimeError instead of waiting for ever."""
    while True:
        runtime.check_not_forked()
        try:
            result = next(stream)
        except StopIteration:
            return
        yield result


def _prefetched(stream: Iterator[Any], size: int) -> Outcomes:
    import grain  # not before it is needed: it takes a second, and configures logging

    engine.flush_if_outermost()  # the thread may use tensors that are pending here: they get their values first
    ahead = grain.experimental.ThreadPrefetchDatasetIterator(_Source(stream), prefetch_buffer_size=size)

    def close() -> None:
        _close(ahead)
        _running.discard(ahead)

    _running.add(ahead)
    dropped = False
    try:
        yield from _unforked(ahead)
    except GeneratorExit:
        dropped = True
        raise
    finally:
        _end(close, dropped)


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
    dropped = False
    try:
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
    except GeneratorExit:
        dropped = True
        raise
    finally:
        for future in running:
            future.cancel()
        _end(pool.shutdown, dropped)
