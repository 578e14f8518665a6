"""Atomic writing of files and folders: under a temporary name, which is renamed at the end.

The temporary name is a dot, 16 hexadecimal digits, `.part.` and the end of the final name. A killed process leaves such a
file, which the next save into the folder removes. Writers hold a lock on the folder. So temporary files belong to nobody if no
one holds it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator

PART = re.compile(r"\.[0-9a-f]{16}\.part\..+", re.DOTALL)
LONGEST = 200  # bytes of the final name that are kept: file systems allow 255 in total


def remove_parts(folder: str) -> None:
    """Remove the temporary files in a folder."""
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if PART.fullmatch(entry.name)]
    for entry in found:
        with contextlib.suppress(OSError):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


@contextlib.contextmanager
def writing(folder: str, clear: Callable[[str], None] | None = remove_parts) -> Iterator[None]:
    """Hold the writers' lock on a folder. If no one else holds it, call `clear(folder)` first.

    On a file system without locks, or if the folder cannot be read, nothing is cleared.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):
            if clear is not None:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    clear(folder)
            fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def replacing(path: str, save: bool = True) -> Iterator[str]:
    """Yield the path of a file or folder to write, which replaces `path` atomically at the end.

    An error leaves `path` unchanged. With `save` the data survive a loss of power, as they are flushed to the disk, and
    leftovers in the folder are removed. A device or pipe cannot be replaced, and is written directly.
    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        yield path
        return
    folder, name = os.path.split(path)
    kept = os.fsdecode(os.fsencode(name)[-LONGEST:])
    part = os.path.join(folder, f".{secrets.token_hex(8)}.part.{kept}")
    with writing(folder, remove_parts if save else None):
        try:
            yield part
            if os.path.isfile(path):
                shutil.copymode(path, part)
            if save:
                flush(part)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(part) if os.path.isdir(part) else os.unlink(part)
            raise
        if save and os.name == "posix":
            flush(folder)


def flush(path: str) -> None:
    """Make the system write a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
