"""`tf.summary`: values written for TensorBoard, at once in eager code, and in each call of a function."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradtape._src.control.function_graph import FuncGraph
from gradtape._src.core.base import hooks
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.tensors.convert import constant, tensor
from gradtape._src.core.tensors.scopes import name_scope
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, to_numpy
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dtypes import string
from gradtape._src.summary import messages


class _Fields:
    """The thread's default writer, step and condition of summaries."""

    writer: SummaryWriter | None = field(None, per_replica=True)
    step: Any = field(None, per_replica=True)
    recording: Any = field(True, per_replica=True)


local = declare(_Fields)


class SummaryWriter:
    """A writer of summaries to a file in a folder for TensorBoard, made by `create_file_writer`.

    >>> writer = tf.summary.create_file_writer("written")
    >>> isinstance(writer, tf.summary.SummaryWriter)
    True
    >>> with writer.as_default(step=1):
    ...     print(tf.summary.scalar("loss", 0.5).numpy())
    True
    """

    @public
    def __init__(self, logdir: str | None, max_queue: int = 10, flush_millis: int = 120_000, filename_suffix: str = "") -> None:
        self._file: Any = None
        self._process = os.getpid()
        self._closed, self.writes_nothing = False, logdir is None
        if not isinstance(max_queue, (int, np.integer)):
            raise TypeError(f"max_queue is a number of summaries, received {max_queue!r}.")
        if logdir is not None:
            seconds = max(flush_millis // 1000, 1)
            self._file = messages.tensorboard().Writer(os.fspath(logdir), max_queue, seconds, filename_suffix)

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Open a context in which this writer is the default, with `step` as the default step if given."""
        self._check_open()
        with setting(writer=self, step=local.step if step is None else step):
            try:
                yield self
            finally:
                self.flush()

    def set_as_default(self, step: Any = None) -> None:
        """Make this writer the thread's default."""
        self._check_open()
        local.writer = self
        if step is not None:
            local.step = step

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("SummaryWriter is already closed. Make another with tf.summary.create_file_writer.")

    def init(self) -> None:
        """Do nothing, as a writer is ready when it is made."""

    def flush(self) -> None:
        """Write buffered summaries to the file."""
        if self._writes():
            self._file.flush()

    def close(self) -> None:
        """Write buffered summaries and close the file. A default writer stays the default, but writes nothing any more."""
        if self._writes():
            self._file.close()
        self._closed = True

    def _writes(self) -> bool:
        """Return whether there is an open file; RuntimeError in a forked process, which lacks the writing thread."""
        if self._file is None or self._closed:
            return False
        if self._process != os.getpid():
            raise RuntimeError(
                "This SummaryWriter belongs to the process that this one was forked from. Make another here with "
                "tf.summary.create_file_writer."
            )
        return True

    def _add(self, step: int, **content: Any) -> None:
        if self._writes():
            self._file.add_event(messages.tensorboard().Event(wall_time=time.time(), step=step, **content))


@public
def create_file_writer(
    logdir: str,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """Return a writer of summaries to a new file in the folder `logdir`.

    It buffers at most `max_queue` (10) summaries, and at most for `flush_millis` (120,000). TensorBoard's own package writes the
    file; ImportError if that is not installed (`pip install '.[summary]'`).

    >>> writer = tf.summary.create_file_writer("events")
    >>> with writer.as_default():
    ...     print(tf.summary.scalar("loss", 0.5, step=1).numpy())
    True
    """
    if logdir is None:
        raise ValueError("Argument `logdir` cannot be None: give a folder, or make a create_noop_writer().")
    most, pause = 10 if max_queue is None else max_queue, 120_000 if flush_millis is None else flush_millis
    return SummaryWriter(os.fsdecode(logdir) or ".", int(most), int(pause), ".v2" if filename_suffix is None else filename_suffix)


@public
def create_noop_writer() -> SummaryWriter:
    """Return a writer that writes nothing.

    >>> with tf.summary.create_noop_writer().as_default():
    ...     print(tf.summary.scalar("loss", 0.5, step=1).numpy())
    False
    """
    return SummaryWriter(None)


@public
def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write the buffered summaries of `writer` (by default the default writer) to its file.

    >>> writer = tf.summary.create_file_writer("flushed")
    >>> with writer.as_default():
    ...     written = tf.summary.scalar("loss", 0.5, step=1)
    ...     tf.summary.flush()
    >>> len(tf.io.gfile.listdir("flushed"))
    1
    """
    found = local.writer if writer is None else writer
    if found is not None:
        found.flush()


@public
@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Open a context in which summaries are written only if `condition` holds: a bool, a tensor, or a function of these.

    >>> with tf.summary.create_file_writer("some").as_default(), tf.summary.record_if(False):
    ...     print(tf.summary.scalar("loss", 0.5, step=1).numpy())
    False
    """
    with setting(recording=condition):
        yield


@public
def should_record_summaries() -> Tensor:
    """Return a tensor: whether there is a default writer, and the condition of `record_if` holds.

    >>> print(tf.summary.should_record_summaries())
    tf.Tensor(False, shape=(), dtype=bool)
    """
    if local.writer is None or local.writer.writes_nothing:
        return constant(False)
    condition = local.recording() if callable(local.recording) else local.recording
    return tensor(condition, "bool")


@public
def get_step() -> Any:
    """Return the default step of summaries, or None.

    >>> with tf.summary.create_noop_writer().as_default(step=3):
    ...     print(tf.summary.experimental.get_step())
    3
    """
    return local.step


@public
def set_step(step: Any) -> None:
    """Set the default step of summaries. A Variable's value is read when a summary is written.

    >>> tf.summary.experimental.set_step(3)
    >>> print(tf.summary.experimental.get_step())
    3
    >>> tf.summary.experimental.set_step(None)
    """
    local.step = step


@public
@contextlib.contextmanager
def summary_scope(name: str, default_name: str = "summary", values: Any = None) -> Iterator[tuple[str, str]]:
    """Open a context with `(tag, name scope)` for a summary of this name, within the open name scopes.

    >>> with tf.name_scope("train"), tf.summary.experimental.summary_scope("loss") as (tag, scope):
    ...     print(tag, scope)
    train/loss train/loss/
    """
    with name_scope(name or default_name) as scope:
        yield scope.removesuffix("/"), scope


# ---------------------------------------------------------------------------------------------------------------------


def _write(*inputs: Any, writer: SummaryWriter, tag: str, encode: Callable[..., Any]) -> Any:
    recording, step, *data = [np.asarray(x) for x in inputs]
    if recording:
        writer._add(int(step), summary=encode(tag, *data))
    return np.array(bool(recording))


def _not_compiled(*inputs: Any, writer: Any, tag: str, encode: Any) -> Any:
    raise NotImplementedError("a summary is written outside of XLA")


def _bool(*inputs: Aval, writer: Any, tag: str, encode: Any) -> Aval:
    return aval((), np.dtype(bool))


WRITE = define(
    Op("WriteSummary", _not_compiled, infer=_bool, host=_write, effect=True, reason="it says whether something was written")
)


@dataclass(frozen=True)
class Encoded:
    """A summary's encoder. Equal encoders compare equal, so that programs are found again."""

    kind: str | bytes | None
    description: str | None
    convert: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def __call__(self, tag: str, *data: np.ndarray) -> Any:
        return messages.tensor(tag, self.convert(*data, *self.arguments), self.kind, self.description)


def _raw(tag: str, texts: np.ndarray) -> Any:
    """Return one message from summaries that are messages already."""
    merged = messages.tensorboard().Summary()
    for text in texts.ravel():
        merged.MergeFromString(text)
    return merged


def _is_silent() -> bool:
    """Return whether nothing is written: without a writer, and in all replicas but the first, as in TensorFlow."""
    return local.writer is None or local.writer.writes_nothing or bool(hooks.clients.replica())


def _summary(name: str, step: Any, encode: Callable[..., Any], data: list[Any]) -> Tensor:
    if _is_silent():
        return constant(False)
    with name_scope(name) as scope:
        return _written(scope.removesuffix("/"), step, encode, data)


def _written(tag: str, step: Any, encode: Callable[..., Any], data: list[Any]) -> Tensor:
    writer = local.writer
    if writer is None or writer.writes_nothing:
        return constant(False)
    step = local.step if step is None else step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through tf.summary.experimental.set_step()"
        )
    inputs = [should_record_summaries(), tensor(step, None if isinstance(step, Tensor) else "int64"), *data]
    nodes = tuple([tensor(x).node for x in inputs])
    if engine.local.trace.parent is None:
        return constant(_write(*[to_numpy(node) for node in nodes], writer=writer, tag=tag, encode=encode))
    return EagerTensor(engine.record(WRITE, nodes, (writer, tag, encode)))


def _as_it_is(value: np.ndarray) -> np.ndarray:
    return value


def _texts(data: Any) -> Tensor:
    """Return a tensor of strings; TypeError for another dtype."""
    texts = tensor(data)
    if texts.dtype != string:
        raise TypeError(f"Expected a string, or a tensor of strings; received {data!r}. Convert it with tf.strings.as_string.")
    return texts


@public
def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write a number under `name`, within the open name scopes. Returns whether it was written, a tensor.

    `step` is an integer; by default that of the writer's context or of `set_step`, ValueError if there is none. Without a default
    writer nothing happens.

    >>> bool(tf.summary.scalar("loss", 0.5, step=1))
    False
    """
    return _summary(name, step, Encoded("scalar", description, messages.scalar_tensor), [tensor(data)])


@public
def histogram(name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None) -> Tensor:
    """Write the distribution of `data` in `buckets` (30) of equal width. Returns whether it was written, a tensor.

    >>> with tf.summary.create_file_writer("histograms").as_default():
    ...     print(tf.summary.histogram("weights", tf.range(10.0), step=1).numpy())
    True
    """
    count = messages.BUCKETS if buckets is None else int(buckets)
    return _summary(name, step, Encoded("histogram", description, messages.histogram_tensor, (count,)), [tensor(data)])


@public
def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> Tensor:
    """Write the first `max_outputs` images of [n, height, width, channels], uint8 or floats from 0 to 1.

    Returns whether they were written, a tensor.

    >>> with tf.summary.create_file_writer("images").as_default():
    ...     print(tf.summary.image("zeros", tf.zeros([1, 4, 4, 1]), step=1).numpy())
    True
    """
    return _summary(name, step, Encoded("image", description, messages.image_tensor, (int(max_outputs),)), [tensor(data)])


@public
def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write strings, which TensorBoard shows as Markdown: one, a list, or a tensor. Returns whether they were written, a tensor.

    >>> with tf.summary.create_file_writer("texts").as_default():
    ...     print(tf.summary.text("note", "first run", step=1).numpy())
    True
    """
    return _summary(name, step, Encoded("text", description, _as_it_is), [_texts(data)])


@public
def audio(
    name: str,
    data: Any,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Write the first `max_outputs` sound clips of [n, frames, channels], floats from -1 to 1, as 16-bit WAV.

    `sample_rate` is in Hz. `encoding` is "wav", the default; ValueError for any other. Returns whether they were written, a
    tensor.

    >>> bool(tf.summary.audio("tone", tf.sin(tf.range(800.0))[None, :, None], sample_rate=8000, step=1))
    False
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}. Expected 'wav', or None for it.")
    encode = Encoded("audio", description, messages.audio_tensor, (int(max_outputs),))
    return _summary(name, step, encode, [tensor(data), tensor(sample_rate, "int32")])


@public
def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None) -> Tensor:
    """Write a tensor, or the result of the function `tensor`, under `tag`. Returns whether it was written, a tensor.

    `metadata` selects the plugin that shows it: a `tf.compat.v1.SummaryMetadata`, or its bytes.

    >>> with tf.summary.create_file_writer("raw").as_default(step=1):
    ...     print(tf.summary.write("weights", tf.ones([2, 3])).numpy())
    True
    """
    if _is_silent():
        return constant(False)
    if hasattr(metadata, "SerializeToString"):
        metadata = metadata.SerializeToString()
    data = tensor() if callable(tensor) else tensor
    return _written(tag, step, Encoded(metadata, None, _as_it_is), [data])


@public
def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Tensor:
    """Write serialized `tf.compat.v1.Summary` messages from a tensor of strings. Returns whether they were written, a tensor.

    >>> bool(tf.summary.experimental.write_raw_pb(tf.compat.v1.Summary().SerializeToString(), step=1))
    False
    """
    return _written("", step, _raw, [_texts(tensor)])


@public
def graph(graph_data: Any) -> Tensor:
    """Write a graph for TensorBoard: a `tf.Graph`, or that of a concrete function. Returns whether it was written, a tensor.

    >>> square = tf.function(lambda x: x * x).get_concrete_function(tf.TensorSpec([], tf.float32))
    >>> bool(tf.summary.graph(square.graph))
    False
    """
    if engine.local.trace.scope is not None:
        raise ValueError("graph() cannot be invoked inside a graph context.")
    writer = local.writer
    if writer is None or writer.writes_nothing or not should_record_summaries():
        return constant(False)
    if not isinstance(graph_data, (FuncGraph, hooks.graphs.type)):
        raise ValueError(
            "Argument 'graph_data' is not tf.Graph or tf.compat.v1.GraphDef. "
            f"Received graph_data={graph_data} of type {type(graph_data).__name__}."
        )
    writer._add(0, graph_def=graph_data.as_graph_def(add_shapes=True).SerializeToString())
    return constant(True)
