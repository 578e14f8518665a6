"""Opening, saving and removing of checkpoints in gradtape's or in TensorFlow's format."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

import numpy as np

from gradtape._src.core.base.errors import DataLossError, NotFoundError
from gradtape._src.files.systems import located
from gradtape._src.train import bundle, bundle_writer, parts, storage


def opened(prefix: str) -> storage.CheckpointSource:
    """Open the checkpoint `prefix`. NotFoundError if there is none."""
    parts.sync()
    if not os.path.isfile(storage.file_of(prefix)):
        if parts.is_there(prefix):
            return parts.CheckpointParts(prefix)
        if _of_tensorflow(prefix):
            return bundle.Bundle(prefix)
    return storage.Reader(prefix)


def save(prefix: str, nodes: list[storage.ObjectNode] | None, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint in gradtape's format, or in TensorFlow's if gradtape replaces TensorFlow."""
    if not bundle_writer.is_wanted():
        storage.save(prefix, nodes, arrays)
        return
    bundle_writer.save(prefix, nodes, arrays)
    _unlink(storage.file_of(prefix))  # else `opened` would read this file


def file_of(prefix: str) -> str:
    """Return the file that identifies a checkpoint: gradtape's, or TensorFlow's index."""
    return prefix + bundle.SUFFIX if bundle_writer.is_wanted() else storage.file_of(prefix)


def is_there(prefix: str) -> bool:
    """Return whether there is a checkpoint called `prefix`."""
    return os.path.isfile(storage.file_of(prefix)) or parts.is_there(prefix) or _of_tensorflow(prefix)


def remove(prefix: str) -> None:
    """Remove a checkpoint that gradtape wrote, in any format."""
    parts.remove(prefix)
    _unlink(storage.file_of(prefix))
    if _is_own_bundle(prefix):
        _unlink(prefix + bundle.SUFFIX)
        _unlink(bundle_writer.data_of(prefix))


def _is_own_bundle(prefix: str) -> bool:
    """Return whether gradtape wrote the files in TensorFlow's format; False if another process is removing them."""
    try:
        return _of_tensorflow(prefix) and bundle.Bundle(prefix).writer == bundle_writer.WRITER
    except (NotFoundError, DataLossError):
        return False


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _of_tensorflow(prefix: str) -> bool:
    with located(prefix + bundle.SUFFIX) as (system, inside):
        return system.exists(inside) and not system.isdir(inside)
