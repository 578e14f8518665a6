"""Work in threads: elements made ahead of time, and calls side by side. No thread outlives the iterator that it works for."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

from gradtape._src.core import engine, runtime
from gradtape._src.data.place import around


class _Thread(threading.local):
    """The state of a thread: whether it works for a dataset."""

    works = False


_thread = _Thread()


def _works() -> None:
    _thread.works = True


def _end(close: Callable[[], None], dropped: bool) -> None:
    """Call `close`, which waits for threads. A thread that works for datasets may not wait where something was just dropped:
    that was then found by the garbage collector, which works in any thread, even in the one to be waited for."""
    if dropped and _thread.works:
        threading.Thread(target=close, name="gradtape-close").start()
    else:
        close()


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
        self.stream, self._place = stream, around()

    def __next__(self) -> Any:
        _works()
        with self._place or contextlib.nullcontext():
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
PATIENCE = 1.0  # seconds that the end of Python waits for threads that make elements


def _kept(stream: Outcomes) -> Iterator[Any]:
    """Return the elements of a stream that has threads; it is closed when Python ends."""
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
    """Close what has threads when Python ends, as they need modules that are taken apart soon after; the last stages first.

    A function of the user's that does not end is not waited for.
    """

    def close() -> None:
        for _, stream in sorted(_streams.items(), reverse=True):
            with contextlib.suppress(ValueError):  # it is running, in a thread that did not end
                stream.close()
        while _running:  # what an interrupt has left
            _close(_running.pop())

    if (_streams or _running) and not runtime.forked:
        closing = threading.Thread(target=close, name="gradtape-close", daemon=True)
        try:
            closing.start()
        except RuntimeError:  # from Python 3.12 no thread starts any more
            close()
        else:
            closing.join(PATIENCE)


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
    pool = ThreadPoolExecutor(threads, "gradtape-map", initializer=_works)
    running: deque[Future[Any]] = deque()
    dropped = False
    try:
        while True:
            runtime.check_not_forked()
            for index, item in itertools.islice(numbered, threads - len(running)):
                running.append(item if item.exception() else pool.submit(call, index, item.result()))
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
