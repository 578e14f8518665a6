"""The sources of a checkpoint: a file of gradtape, or those that TensorFlow wrote."""

from __future__ import annotations

import os

from gradtape._src.files.systems import system_of, told
from gradtape._src.train import bundle, storage


def opened(prefix: str) -> storage.Source:
    """Open the checkpoint called `prefix`. NotFoundError where there is none."""
    if not os.path.isfile(storage.file_of(prefix)) and _of_tensorflow(prefix):
        return bundle.Bundle(prefix)
    return storage.Reader(prefix)


def is_there(prefix: str) -> bool:
    """Return whether there is a checkpoint called `prefix`."""
    return os.path.isfile(storage.file_of(prefix)) or _of_tensorflow(prefix)


def _of_tensorflow(prefix: str) -> bool:
    system, inside = system_of(prefix + bundle.SUFFIX)
    with told(prefix):
        return system.exists(inside) and not system.isdir(inside)
