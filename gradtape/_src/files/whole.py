"""Files and folders that are there as a whole or not at all: written under another name, and renamed.

The other name says whose it is: a dot, 16 hexadecimal digits, `.part.` and the end of the right name. A process that is killed
leaves such a file. The next one that saves into the folder removes it: whoever writes there holds a lock on the folder,
so what lies there while nobody holds one belongs to nobody.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator

PART = re.compile(r"\.[0-9a-f]{16}\.part\..+", re.DOTALL)
LONGEST = 200  # bytes of the right name that are kept: file systems allow 255 in all


def remove_parts(folder: str) -> None:
    """Remove what was written under a passing name in a folder."""
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if PART.fullmatch(entry.name)]
    for entry in found:
        with contextlib.suppress(OSError):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


@contextlib.contextmanager
def writing(folder: str, clear: Callable[[str], None] | None = remove_parts) -> Iterator[None]:
    """Hold the lock of those that write into a folder. If nobody else does, `clear(folder)` comes first.

    Where a file system has no locks, or the folder may not be read, nothing is cleared.
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
    """Give the path of a file or folder to write, which takes the place of `path` at the end, in one step.

    After an error `path` is as it was. `save`: what is written has to outlive a loss of power, so it is flushed to the disk;
    and what others have left in the folder is removed. A device or pipe cannot be replaced: the path is its own.
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
    """Have the system write a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
