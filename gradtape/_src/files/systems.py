"""File systems: the local one by the standard library, those with a scheme (`gs://`, `s3://`, `ram://`…) by fsspec."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gradtape._src.core.base.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    invalid,
)
from gradtape._src.core.base.extras import package
from gradtape._src.files.whole import replacing

KINDS: dict[int | None, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EEXIST: AlreadyExistsError,
    errno.EINVAL: InvalidArgumentError,
    errno.ENAMETOOLONG: InvalidArgumentError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EFBIG: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
}
# Errors that packages of fsspec raise without a number.
NUMBERS: dict[type[OSError], int] = {
    FileNotFoundError: errno.ENOENT,
    FileExistsError: errno.EEXIST,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
    PermissionError: errno.EACCES,
}
NAMES = {"ram": "memory"}  # TensorFlow's schemes with another name in fsspec


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """Convert errors of the operating system to TensorFlow's: `path; No such file or directory`."""
    try:
        yield
    except OSError as error:
        number = error.errno or NUMBERS.get(type(error))
        text = os.strerror(number) if number else str(error)
        raise KINDS.get(number, UnknownError).saying(f"{path}; {text}") from error
    except ValueError as error:  # a NUL character in a name
        raise invalid(f"{path!r} is no name of a file: {error}.") from error


class Local:
    """The file system of the operating system."""

    exists = staticmethod(os.path.exists)
    isdir = staticmethod(os.path.isdir)
    size = staticmethod(os.path.getsize)
    listdir = staticmethod(os.listdir)
    mkdir = staticmethod(os.mkdir)
    rename = staticmethod(os.replace)

    def open(self, path: str, mode: str) -> IO[bytes]:
        """Open a file of bytes."""
        if mode == "rb" and os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return open(path, mode)

    def modified(self, path: str) -> int:
        """Return the time of a file's last change, in nanoseconds since 1970."""
        return os.stat(path).st_mtime_ns

    def makedirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def remove(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        os.remove(path)

    def rmtree(self, path: str) -> None:
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)

    def write_whole(self, path: str, contents: bytes) -> None:
        """Write a file atomically: under another name first, which is then renamed."""
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with replacing(path, save=False) as part:
            Path(part).write_bytes(contents)


class Remote:
    """A file system of fsspec. Paths keep their scheme."""

    def __init__(self, scheme: str, system: Any) -> None:
        self.scheme, self.system = scheme, system

    def _path(self, path: str) -> str:
        _, _, rest = path.partition("://")
        return f"{NAMES.get(self.scheme, self.scheme)}://{rest}"

    def open(self, path: str, mode: str) -> IO[bytes]:
        if mode[0] == "r" and self.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        opened: IO[bytes] = self.system.open(self._path(path), mode)
        return opened

    def exists(self, path: str) -> bool:
        return bool(self.system.exists(self._path(path)))

    def isdir(self, path: str) -> bool:
        return bool(self.system.isdir(self._path(path)))

    def size(self, path: str) -> int:
        return int(self.system.info(self._path(path))["size"] or 0)

    def modified(self, path: str) -> int:
        """Return the time of a file's last change, in nanoseconds since 1970; 0 if the file system does not know it."""
        try:
            return int(self.system.modified(self._path(path)).timestamp() * 1e9)
        except (NotImplementedError, AttributeError, LookupError, FileNotFoundError):
            return 0

    def listdir(self, path: str) -> list[str]:
        found = self.system.ls(self._path(path), detail=False)
        return [name.rstrip("/").rsplit("/", 1)[-1] for name in found]

    def mkdir(self, path: str) -> None:
        self.system.mkdir(self._path(path), create_parents=False)

    def makedirs(self, path: str) -> None:
        self.system.makedirs(self._path(path), exist_ok=True)

    def remove(self, path: str) -> None:
        if self.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self.system.rm_file(self._path(path))

    def rename(self, source: str, target: str) -> None:
        self.system.mv(self._path(source), self._path(target), recursive=True)

    def rmtree(self, path: str) -> None:
        self.system.rm(self._path(path), recursive=True)

    def write_whole(self, path: str, contents: bytes) -> None:
        """Write a file in one request, which is atomic in object stores."""
        self.system.pipe_file(self._path(path), contents)


System = Local | Remote
LOCAL = Local()


def system_of(path: str) -> tuple[System, str]:
    """Return the file system of a path, and the path within it; UnimplementedError for a scheme that fsspec does not know."""
    scheme, separator, rest = path.partition("://")
    if not separator or not scheme.isidentifier():
        return LOCAL, path
    if scheme == "file":
        return LOCAL, rest
    fsspec = package("fsspec", f"Files whose names begin with {scheme}://")
    try:
        return Remote(scheme, fsspec.filesystem(NAMES.get(scheme, scheme))), path
    except ValueError as error:
        raise UnimplementedError.saying(f"File system scheme '{scheme}' not implemented (file: '{path}')") from error
    except ImportError as error:
        raise ImportError(f"'{path}' is of a file system that needs a package of its own. {error}") from error


def name_of(path: Any) -> str:
    """Convert a path (str, bytes or PathLike) to a str; TypeError for anything else."""
    path = os.fspath(path)
    return os.fsdecode(path)


@contextlib.contextmanager
def located(path: Any) -> Iterator[tuple[System, str]]:
    """Open a context with the file system of a path, and the path within it; errors become TensorFlow's as in `told`."""
    name = name_of(path)
    system, inside = system_of(name)
    with told(name):
        yield system, inside


def open_bytes(path: str, mode: str = "rb") -> IO[bytes]:
    """Open the file `path` of any file system, for bytes."""
    with located(path) as (system, inside):
        return system.open(inside, mode)


def write_whole(path: str, contents: bytes, parents: bool = False) -> None:
    """Write the file `path` atomically. `parents` creates the directories above it."""
    with located(path) as (system, inside):
        above = os.path.dirname(inside)
        if parents and above and system is LOCAL:
            system.makedirs(above)
        system.write_whole(inside, contents)


def matching(pattern: str) -> list[str]:
    """Return the names that match a pattern with `*`, `?`, `[…]` and `\\`, sorted. None of these matches a `/`.

    As in TensorFlow, matches of a pattern without a directory begin with `./`.
    """
    scheme, separator, rest = pattern.partition("://")
    prefix = f"{scheme}://" if separator and scheme.isidentifier() else ""
    system, inside = system_of(pattern)
    if prefix:
        inside = rest
    parts = inside.split("/")
    if not _is_pattern(inside):
        return [pattern] if inside and system.exists(inside if system is LOCAL else pattern) else []
    if _is_pattern(parts[0]):
        parts = [".", *parts]
    found = [parts[0]]
    whole = (lambda path: path) if system is LOCAL else (lambda path: prefix + path)
    for at, part in enumerate(parts[1:], 1):
        literal = not _is_pattern(part)
        last = at == len(parts) - 1
        following = []
        for path in found:
            if literal:
                joined = f"{path}/{part}"
                if not last or system.exists(whole(joined)):
                    following.append(joined)
                continue
            above = whole(path or "/")
            with contextlib.suppress(OSError):
                if not system.isdir(above):
                    continue
                expression = _expression(part)
                following += [f"{path}/{name}" for name in system.listdir(above) if fnmatch.fnmatchcase(name, expression)]
        found = following
    return sorted(prefix + path for path in found if path)


def _is_pattern(part: str) -> bool:
    return any(sign in part for sign in "*?[\\")


def _expression(part: str) -> str:
    """Convert a pattern for fnmatch, in which a backslash is no escape."""
    pieces, at = [], 0
    while at < len(part):
        if part[at] == "\\" and at + 1 < len(part):
            pieces.append(f"[{part[at + 1]}]")
            at += 2
        else:
            pieces.append(part[at])
            at += 1
    return "".join(pieces)
