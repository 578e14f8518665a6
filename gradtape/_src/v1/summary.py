"""`compat.v1.summary`: summaries as tensors of a graph, and a writer for their values."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.tensors.convert import constant, tensor, tensor as to_tensor
from gradtape._src.core.tensors.scopes import name_scope
from gradtape._src.core.tensors.tensor import EagerTensor, to_numpy
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dtypes import string
from gradtape._src.files.protocol import protocol
from gradtape._src.files.records import tf_record_iterator
from gradtape._src.summary import messages
from gradtape._src.v1.graphs.collections import GraphKeys, get_collection
from gradtape._src.v1.graphs.graph import Graph, in_graph

Encode = Callable[..., Any]


def _on_host(*inputs: Any, encode: Encode, tag: str) -> np.ndarray:
    return np.array(encode(tag, *[np.asarray(x) for x in inputs]).SerializeToString(), object)


def _not_compiled(*inputs: Any, encode: Encode, tag: str) -> Any:
    raise NotImplementedError("a summary is made outside of XLA")


def _avals(*inputs: Aval, encode: Encode, tag: str) -> Aval:
    return aval((), np.dtype(object))


SUMMARY = define(Op("Summary", _not_compiled, infer=_avals, host=_on_host, effect=True, reason="it gives a text", traits="own"))


class _Most:
    """An encoder of at most `most` images of a batch. Equal encoders compare equal, so that programs are found again."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, tag: str, batch: np.ndarray) -> Any:
        return messages.images(tag, batch, most=self.most)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Most) and self.most == other.most

    def __hash__(self) -> int:
        return hash(self.most)


def _merged(tag: str, *summaries: np.ndarray) -> Any:
    merged = messages.tensorboard().Summary()
    for summary in summaries:
        merged.MergeFromString(summary.item())
    return merged


# ---------------------------------------------------------------------------------------------------------------------
# Summaries


def _summary(name: str, family: str | None, encode: Encode, values: Sequence[Any], collections: Any) -> Any:
    """Record an op that encodes `values` under a name in the open scope; add it to collections."""
    base = "/".join([_clean(part) for part in (family, name) if part])
    with name_scope(base) as scope:
        own = scope.removesuffix("/")
    tag = f"{_clean(family)}/{own}" if family else own
    nodes = tuple([tensor(value).node for value in values])
    graph = in_graph()
    if graph is None:
        return constant(_on_host(*[to_numpy(node) for node in nodes], encode=encode, tag=tag))
    made = EagerTensor(graph._recorded(SUMMARY, nodes, (encode, tag), own))
    for collection in [GraphKeys.SUMMARIES] if collections is None else collections:
        graph.add_to_collection(collection, made)
    return made


def _clean(name: str) -> str:
    return re.sub(r"[^-/\w.]", "_", name).lstrip("/")


@public
def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Any:
    """Return a summary of a number, a string tensor; it is added to `collections` (default: those of `merge_all`)."""
    return _summary(name, family, messages.scalar, [tensor], collections)


@public
def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    """Return a histogram of values with 30 buckets; InvalidArgumentError for NaN and infinities."""
    return _summary(name, family, messages.histogram, [values], collections)


@public
def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Any:
    """Return a summary of the first images of a batch [n, height, width, 1, 3 or 4], uint8 or float."""
    return _summary(name, family, _Most(max_outputs), [tensor], collections)


@public
def text(name: str, tensor: Any, collections: Any = None) -> Any:
    """Return a summary of a tensor of strings."""
    texts = to_tensor(tensor)
    if texts.dtype != string:
        raise ValueError(f"Expected tensor {tensor!r} to be of strings. Convert it with tf.strings.as_string.")
    return _summary(name, None, messages.text, [texts], collections)


@public
def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Any:
    """Merge `inputs` into one summary."""
    return _summary(name or "Merge/MergeSummary", None, _merged, list(inputs), collections or ())


@public
def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """Merge all summaries of the collection `key`; None if there are none."""
    found = get_collection(key, scope)
    return merge(found, name=name) if found else None


# ---------------------------------------------------------------------------------------------------------------------
# The file


class FileWriter:
    """Writes summaries to a file in the folder `logdir` for TensorBoard; a context manager that closes it.

    The metadata of runs are accepted, but not written.
    """

    @public
    def __init__(
        self,
        logdir: str,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._logdir = os.fspath(logdir)
        self._arguments = self._logdir, max_queue, flush_secs, filename_suffix or ""
        self._file: Any = messages.tensorboard().Writer(*self._arguments)
        if graph is not None:
            self.add_graph(graph)

    @public
    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary, given as the bytes that a run returned."""
        kinds = messages.tensorboard()
        if not isinstance(summary, (bytes, kinds.Summary)):
            summary = np.asarray(summary).item()
        if isinstance(summary, bytes):
            summary = kinds.Summary.FromString(summary)
        self._add(global_step, summary=summary)

    @public
    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write a `tf.Graph` for TensorBoard."""
        if not isinstance(graph, Graph):
            raise TypeError(f"The passed graph must be an instance of `Graph`. Received {graph!r}.")
        self._add(global_step, graph_def=graph.as_graph_def(add_shapes=True).SerializeToString())

    def _add(self, step: Any, **content: Any) -> None:
        self.reopen()
        event = messages.tensorboard().Event(wall_time=time.time(), step=None if step is None else int(step), **content)
        self._file.add_event(event)

    def get_logdir(self) -> str:
        """Return the folder."""
        return self._logdir

    def _accepted(self, *args: Any, **kwargs: Any) -> None:
        """Ignore the arguments, as nothing is written."""

    add_meta_graph = add_run_metadata = add_session_log = add_event = _accepted

    def flush(self) -> None:
        """Write buffered summaries."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def reopen(self) -> None:
        """Continue after `close`, in a new file."""
        if self._file is None:
            self._file = messages.tensorboard().Writer(*self._arguments)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *reason: Any) -> None:
        self.close()


class FileWriterCache:
    """A FileWriter for each folder."""

    _writers: dict[str, FileWriter] = {}

    @classmethod
    def get(cls, logdir: str) -> FileWriter:
        """Return the writer for a folder."""
        if logdir not in cls._writers:
            cls._writers[logdir] = FileWriter(logdir)
        return cls._writers[logdir]

    @classmethod
    def clear(cls) -> None:
        """Close all writers."""
        for writer in cls._writers.values():
            writer.close()
        cls._writers.clear()


@public
def summary_iterator(path: Any) -> Iterator[Any]:
    """Return an iterator over the `Event` messages of a file from a summary writer of either version.

    Each value in `event.summary.value` has a `tag`, and a number as `simple_value`. TensorFlow 2 writes a `tensor` instead, which
    `tf.make_ndarray` converts.
    """
    return map(protocol("event").Event.FromString, tf_record_iterator(path))
