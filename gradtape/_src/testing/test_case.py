"""`tf.test.TestCase`: tests that evaluate tensors and open sessions."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from absl.testing import absltest

from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, IndexedSlicesValue
from gradtape._src.core.tensors.scopes import executing_eagerly
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.random import seeds
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorValue
from gradtape._src.testing.assertions import Assertions
from gradtape._src.v1.graphs.graph import get_default_graph, get_default_session, reset_default_graph
from gradtape._src.v1.graphs.ragged_value import of_parts
from gradtape._src.v1.graphs.session import Session

SEED = 87654321  # TensorFlow's seed for tests
main = absltest.main


class EagerSession:
    """A stand-in for sessions in eager code; `run` evaluates tensors."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Return the values of `fetches`; there are no feeds."""
        if feed_dict:
            raise RuntimeError("Eager code has no placeholders to feed: call the function with its arguments.")
        return self._case.evaluate(fetches)


class TestCase(Assertions):
    """Base class of tests, derived from absl's and unittest's: `evaluate`, sessions, and assertions about tensors and arrays.

    Each test starts with TensorFlow's seeds, so that its random numbers are the same as in TensorFlow. It has its own default
    graph.

    >>> class SquareTest(tf.test.TestCase):
    ...     def test_square(self):
    ...         self.assertAllClose(tf.square([2.0, 3.0]), [4.0, 9.0])
    >>> SquareTest("test_square").debug()
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._directory: str | None = None
        self._session: tuple[Session, tuple[Any, ...]] | None = None

    def setUp(self) -> None:
        """Set the seeds, and make a new default graph."""
        super().setUp()
        self._ClearCachedSession()
        random.seed(SEED)
        np.random.seed(SEED)
        reset_default_graph()
        seeds.set_seed(SEED)

    def tearDown(self) -> None:
        """Close the session that `cached_session` kept."""
        self._ClearCachedSession()
        super().tearDown()

    def _ClearCachedSession(self) -> None:
        if self._session is not None:
            self._session[0].close()
            self._session = None

    def get_temp_dir(self) -> str:
        """Return a temporary directory for this test, removed at its end."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp()
            self.addCleanup(self._remove_directory)
        return self._directory

    def _remove_directory(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of a nest of tensors and variables as NumPy arrays, in eager code or by the open session."""
        if executing_eagerly():
            return nest.map_structure(_value, tensors)
        session = get_default_session() or (self._session and self._session[0])
        if session is None:
            with self.test_session() as session:
                return session.run(tensors)
        return session.run(tensors)

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return the values of two tensors, or else both arguments unchanged."""
        return (self.evaluate(a), self.evaluate(b)) if isinstance(a, Tensor) and isinstance(b, Tensor) else (a, b)

    @contextlib.contextmanager
    def session(self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False) -> Iterator[Any]:
        """Open a new session on `graph` (by default the default graph); in eager code a stand-in that evaluates tensors.

        `use_gpu` and `force_gpu` have no effect: the devices are JAX's.
        """
        if executing_eagerly():
            yield EagerSession(self)
            return
        used = graph or get_default_graph()
        with used.as_default(), Session(graph=used, config=config) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Open a session like `session` that lasts for the whole test; ValueError if a later call has another graph or config."""
        if executing_eagerly():
            yield EagerSession(self)
            return
        with self._default(graph, config, force_gpu, strict=True) as session:
            yield session

    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> AbstractContextManager[Any]:
        """Open a session like `cached_session`, or with a graph like `session`; the older name of both."""
        if self.id().endswith(".test_session"):  # test loaders take it for a test
            self.skipTest("Not a test.")
        if executing_eagerly() or graph is not None:
            return self.session(graph, config, use_gpu, force_gpu)
        return self._default(None, config, force_gpu, strict=False)

    @contextlib.contextmanager
    def _default(self, graph: Any, config: Any, force_gpu: bool, strict: bool) -> Iterator[Session]:
        settings = (graph, config, force_gpu)
        if self._session is None:
            self._session = Session(graph=graph or get_default_graph(), config=config), settings
        session, before = self._session
        if strict:
            for name, was, now in zip(("graph", "config", "force_gpu value"), before, settings, strict=True):
                if was is not now:
                    raise ValueError(
                        f"The {name} used to get the cached session is different than the one that was used to create the "
                        "session. Maybe create a new session with self.session()"
                    )
        with session.graph.as_default(), session.as_default():
            yield session

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Written]:
        """Open a context that captures the output to a stream with a file descriptor, such as `sys.stderr`.

        The result has `contents()`, the text so far, including that of C code.
        """
        number = stream.fileno()
        with tempfile.TemporaryFile() as file:
            stream.flush()
            before = os.dup(number)
            os.dup2(file.fileno(), number)
            written = Written(stream, file)
            try:
                yield written
            finally:
                written.contents()
                os.dup2(before, number)
                os.close(before)

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:
        """Return a thread for `target(*args, **kwargs)`; its `join` fails the test if it raised."""
        return CheckedThread(self, target, args or (), kwargs or {})


class Written:
    """The text written to a stream."""

    def __init__(self, stream: Any, file: Any) -> None:
        self._stream, self._file, self._text = stream, file, ""

    def contents(self) -> str:
        """Return the text so far."""
        if not self._file.closed:
            self._stream.flush()
            self._file.seek(0)
            self._text = self._file.read().decode(errors="replace")
        return self._text


class CheckedThread:
    """A thread whose errors fail the test when it is joined."""

    def __init__(self, case: TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._case = case
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(target, args, kwargs))

    def _run(self, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            target(*args, **kwargs)
        except Exception as error:
            self._error = error

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread, and fail the test if it raised."""
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        """Return whether the thread is running."""
        return self._thread.is_alive()


def _value(tensor: Any) -> Any:
    """Return the value of an argument of `evaluate`."""
    if tensor is None:
        return None
    if callable(tensor) and not isinstance(tensor, (Tensor, Stored)):
        return nest.map_structure(_value, tensor())
    if isinstance(tensor, RaggedTensor):
        return of_parts(tensor.flat_values.numpy(), *[splits.numpy() for splits in tensor.nested_row_splits])
    if isinstance(tensor, SparseTensor):
        return SparseTensorValue(*[part.numpy() for part in (tensor.indices, tensor.values, tensor.dense_shape)])
    if isinstance(tensor, IndexedSlices):
        extents = tensor.dense_shape
        return IndexedSlicesValue(tensor.values.numpy(), tensor.indices.numpy(), None if extents is None else extents.numpy())
    if isinstance(tensor, (str, bytes)) or not hasattr(tensor, "numpy"):
        raise ValueError(f"Unsupported type '{type(tensor).__name__}'. Give tensors, variables, or a nest of them.")
    return tensor.numpy()
