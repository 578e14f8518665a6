"""Checkpoints in parts: a folder of orbax, to which each process writes its own parts of variables, optionally in the
background.

The folder gets its name once it is complete. Its index is JSON, and contains no code.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding

from gradtape._src.core.base import hooks
from gradtape._src.core.base.extras import package
from gradtape._src.core.platform.runtime import Background
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.train import storage
from gradtape._src.train.storage import ObjectNode

SUFFIX = ".orbax"
FORMAT = "gradtape checkpoint in parts 1"

_pending: Any = None  # the checkpoint that is being written in the background


def folder_of(prefix: str) -> str:
    """Return the folder of the checkpoint `prefix`."""
    return os.path.abspath(prefix if prefix.endswith(SUFFIX) else prefix + SUFFIX)


def _orbax() -> Any:
    checkpoint = package("orbax.checkpoint", "Checkpoints in parts, or written beside the training,", "checkpoints", "orbax")
    logging.getLogger("absl").addFilter(_is_news)
    return checkpoint


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether to show a message of orbax. Its notice that it removes a killed process's folder is hidden."""
    return "orbax" not in record.pathname or "temporary directory" not in record.getMessage()


def save(prefix: str, nodes: list[ObjectNode], values: Mapping[str, Any], background: bool, then: Callable[[], None]) -> None:
    """Write a checkpoint: the graph, and the value of each key, an array of NumPy or JAX. `then` is called on completion.

    With `background` the call returns at once, and `sync` waits for completion.
    """
    sync()
    entries: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for key, value in values.items():
        entry = entries[key] = {"dtype": as_dtype(value.dtype).name, "shape": value.shape}
        if value.dtype == object:
            entry["strings"] = [base64.b64encode(item).decode() for item in np.asarray(value).ravel()]
        elif value.size:  # orbax refuses empty arrays
            entry["number"] = len(arrays)
            kept = jax.numpy.copy if background and isinstance(value, jax.Array) else np.array if background else lambda x: x
            arrays[str(len(arrays))] = kept(value)  # copied, as the training goes on with the memory of these values
    index = {"format": FORMAT, "nodes": storage.graph_data(nodes), "arrays": entries}
    finish = _together(f"a checkpoint of {len(entries)} values", _begin, folder_of(prefix), index, arrays)
    if not background:
        _together("the end of a checkpoint", finish)
        then()
        return

    def end() -> None:
        finish()
        if jax.process_index() == 0:
            then()

    global _pending
    _sync_at_exit()
    _pending = Background().submit(end)


def sync() -> None:
    """Wait for the checkpoint that is being written in the background; raise its error if it failed."""
    global _pending
    pending, _pending = _pending, None
    if pending is not None:
        pending.result()


@functools.cache
def _sync_at_exit() -> None:
    """Make Python wait for the last checkpoint at exit, before it ends the thread pools in which orbax writes.

    `atexit` runs after that, and no public function runs before it.
    """
    threading._register_atexit(sync)  # type: ignore[attr-defined]


def _together(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that waits for the other processes, if there are any."""
    together = hooks.clients.together
    return function(*arguments) if together is None else together(what, function, *arguments)


def _begin(folder: str, index: dict[str, Any], arrays: dict[str, Any]) -> Callable[[], None]:
    """Start orbax's writing; return a function that waits for its end."""
    orbax = _orbax()
    before = _before(folder)
    if _is_ours(folder):

        def set_aside() -> None:
            if os.path.isdir(folder):
                shutil.rmtree(before, ignore_errors=True)
                os.rename(folder, before)

        hooks.clients.once(before, set_aside)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    items = {"index": orbax.args.JsonSave(index)} | ({"arrays": orbax.args.PyTreeSave(arrays)} if arrays else {})
    writer = orbax.AsyncCheckpointer(orbax.CompositeCheckpointHandler())
    try:
        writer.save(folder, args=orbax.args.Composite(**items))
    except BaseException:
        writer.close()
        raise

    def finish() -> None:
        try:
            writer.wait_until_finished()
        finally:
            writer.close()
        if jax.process_index() == 0:
            shutil.rmtree(before, ignore_errors=True)

    return finish


def _before(folder: str) -> str:
    """Return the temporary name of the checkpoint that is about to be replaced."""
    return folder.removesuffix(SUFFIX) + ".before" + SUFFIX


def _is_ours(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "index", "metadata"))


def is_there(prefix: str) -> bool:
    """Return whether there is a checkpoint in parts called `prefix`."""
    folder = folder_of(prefix)
    return _is_ours(folder) or _is_ours(_before(folder))


def remove(prefix: str) -> None:
    """Remove a checkpoint in parts, if gradtape wrote it."""
    if _is_ours(folder_of(prefix)):
        shutil.rmtree(folder_of(prefix), ignore_errors=True)


class CheckpointParts(storage.CheckpointSource):
    """A checkpoint that orbax wrote for gradtape."""

    def __init__(self, prefix: str) -> None:
        folder = folder_of(prefix)
        super().__init__(folder if _is_ours(folder) else _before(folder))
        orbax = _orbax()
        with self._damage(), self._reader() as reader:
            index = reader.restore(self.path, args=orbax.args.Composite(index=orbax.args.JsonRestore()))["index"]
            self._take(index, FORMAT, None)
            self._numbers = {key: given.get("number") for key, given in index["arrays"].items()}

    @contextlib.contextmanager
    def _reader(self) -> Iterator[Any]:
        orbax = _orbax()
        with orbax.Checkpointer(orbax.CompositeCheckpointHandler()) as reader:
            yield reader

    def graph(self) -> bytes:
        return storage.graph_of(self.nodes)

    def arrays(self, keys: list[str], layouts: Mapping[str, Sharding] = {}) -> dict[str, Any]:
        orbax = _orbax()
        asked = {key: str(number) for key in keys if (number := self._numbers[key]) is not None}
        how = {
            number: orbax.ArrayRestoreArgs(sharding=layouts[key])
            if key in layouts
            else orbax.RestoreArgs(restore_type=np.ndarray, dtype=self.entries[key].dtype)
            for key, number in asked.items()
        }
        read: dict[str, Any] = {}
        if asked:
            arguments = orbax.args.PyTreeRestore(item=dict.fromkeys(how, 0), restore_args=how, partial_restore=True)
            with self._damage(), self._reader() as reader:
                read = reader.restore(self.path, args=orbax.args.Composite(arrays=arguments))["arrays"]
        return {key: self._array(key, read.get(asked.get(key, ""))) for key in keys}

    def _array(self, key: str, read: Any) -> Any:
        entry = self.entries[key]
        if entry.strings is not None:
            return storage.strings_of(entry)
        array = np.zeros(entry.shape, entry.dtype) if read is None else read
        with self._damage():
            if array.shape != entry.shape or array.dtype != entry.dtype:
                raise ValueError(
                    f"{key} is {array.dtype}{list(array.shape)} in it, {entry.dtype}{list(entry.shape)} in its index"
                )
        return array
