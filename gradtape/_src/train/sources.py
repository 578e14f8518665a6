"""The sources of a checkpoint: a file or folder of gradtape's, or the files that TensorFlow wrote."""

from __future__ import annotations

import contextlib
import os

from gradtape._src.files.systems import system_of, told
from gradtape._src.train import bundle, parts, storage


def opened(prefix: str) -> storage.Source:
    """Open the checkpoint called `prefix`. NotFoundError where there is none."""
    parts.sync()
    if not os.path.isfile(storage.file_of(prefix)):
        if parts.is_there(prefix):
            return parts.Parts(prefix)
        if _of_tensorflow(prefix):
            return bundle.Bundle(prefix)
    return storage.Reader(prefix)


def is_there(prefix: str) -> bool:
    """Return whether there is a checkpoint called `prefix`."""
    return os.path.isfile(storage.file_of(prefix)) or parts.is_there(prefix) or _of_tensorflow(prefix)


def remove(prefix: str) -> None:
    """Remove a checkpoint that gradtape wrote."""
    parts.remove(prefix)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(storage.file_of(prefix))


def _of_tensorflow(prefix: str) -> bool:
    system, inside = system_of(prefix + bundle.SUFFIX)
    with told(prefix):
        return system.exists(inside) and not system.isdir(inside)
