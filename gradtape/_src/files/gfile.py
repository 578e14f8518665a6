"""`tf.io.gfile`: files and directories of any file system, by functions and by `GFile`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from gradtape._src.core.base.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    invalid,
)
from gradtape._src.core.base.extras import package
from gradtape._src.core.base.public import public
from gradtape._src.files.systems import LOCAL, located, matching, name_of, open_bytes, system_of, told

PIECE = 1 << 20  # bytes that a copy reads at a time
Walked = tuple[str, list[str], list[str]]
MODES = ("r", "w", "a", "r+", "w+", "a+")


class GFile:
    """A file of any file system. `mode` is "r", "w" or "a", with "+" for both ways and "b" for bytes instead of text.

    The file is opened at the first read or write, which raises NotFoundError or PermissionDeniedError.

    >>> with tf.io.gfile.GFile("ram://notes.txt", "w") as file:
    ...     file.write("a line")
    >>> tf.io.gfile.GFile("ram://notes.txt").read()
    'a line'
    """

    @public
    def __init__(self, name: Any, mode: str = "r") -> None:
        self._binary = "b" in mode
        self._name, self._given, self._mode = name, mode, mode.replace("b", "")
        if self._mode not in MODES:
            raise invalid("mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
        self._file: IO[bytes] | None = None

    @property
    def name(self) -> Any:
        """The name of the file, as given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode of the file, as given."""
        return self._given

    def _opened(self, reading: bool) -> IO[bytes]:
        if self._mode == ("w" if reading else "r") or (reading and self._mode == "a"):
            raise PermissionDeniedError.saying(f"File isn't open for {'reading' if reading else 'writing'}")
        if self._file is None:
            kind = self._mode[0] + "b" + self._mode[1:]
            self._file = open_bytes(name_of(self._name), kind)
        return self._file

    def _text(self, data: bytes) -> Any:
        return data if self._binary else data.decode()

    @public
    def size(self) -> int:
        """Return the size of the file in bytes."""
        if self._file is not None and self._mode != "r":
            self._file.flush()
        return stat(self._name).length

    @public
    def read(self, n: int = -1) -> Any:
        """Return the next `n` bytes of the file (by default all that are left), as text unless the mode has "b"."""
        file = self._opened(reading=True)
        return self._text(file.read() if n is None or n < 0 else file.read(n))

    @public
    def readline(self) -> Any:
        """Return the next line with its newline, or an empty string at the end of the file. Carriage returns are removed."""
        return self._text(self._opened(reading=True).readline().replace(b"\r", b""))

    @public
    def readlines(self) -> list[Any]:
        """Return the remaining lines with their newlines."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    @public
    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    @public
    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Move to `offset` from the beginning (`whence` 0), the current position (1) or the end (2).

        InvalidArgumentError before the beginning, OutOfRangeError behind the end. `position` is an old name of `offset`.
        """
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        file = self._opened(reading=True)
        if whence not in (0, 1, 2):
            raise invalid(f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        distance = position if offset is None else offset
        assert distance is not None
        place = distance + (0, file.tell(), self.size())[whence]
        if place < 0:
            raise invalid(f"Seeking to a negative position: {place}")
        if place > self.size():
            raise OutOfRangeError.saying("reached end of file")
        file.seek(place)

    def seekable(self) -> bool:
        """Return True: files support random access."""
        return True

    @public
    def tell(self) -> int:
        """Return the position of the next byte to read or write."""
        return self._opened(reading="r" in self._mode).tell()

    @public
    def write(self, file_content: Any) -> None:
        """Write text, or bytes."""
        file = self._opened(reading=False)
        with told(name_of(self._name)):
            file.write(file_content.encode() if isinstance(file_content, str) else file_content)

    @public
    def flush(self) -> None:
        """Flush buffered bytes to the file."""
        if self._file is not None and self._mode != "r":
            with told(name_of(self._name)):
                self._file.flush()

    @public
    def close(self) -> None:
        """Flush buffered bytes, and close the file."""
        if self._file is not None:
            file, self._file = self._file, None
            with told(name_of(self._name)):
                file.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:  # users need not close a file
            self.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class FileStatistics:
    """The result of `stat`: a file's size in bytes, its time of change (nanoseconds since 1970), whether it is a directory."""

    length: int
    mtime_nsec: int
    is_directory: bool


@public
def exists(path: Any) -> bool:
    """Return whether there is a file or directory of that name.

    >>> print(tf.io.gfile.exists("not there"))
    False
    """
    with located(path) as (system, inside):
        return system.exists(inside)


@public
def isdir(path: Any) -> bool:
    """Return whether `path` is a directory; False if it does not exist.

    >>> print(tf.io.gfile.isdir("."))
    True
    """
    with located(path) as (system, inside):
        return system.isdir(inside)


@public
def stat(path: Any) -> FileStatistics:
    """Return size, time of change and kind of a file or directory. NotFoundError if there is none.

    >>> tf.io.write_file("five.txt", "fives")
    >>> print(tf.io.gfile.stat("five.txt").length)
    5
    """
    with located(path) as (system, inside):
        return FileStatistics(system.size(inside), system.modified(inside), system.isdir(inside))


@public
def listdir(path: Any) -> list[str]:
    """Return the names in a directory, in no order. NotFoundError if it is no directory.

    >>> tf.io.gfile.makedirs("listed/inner")
    >>> print(tf.io.gfile.listdir("listed"))
    ['inner']
    """
    with located(path) as (system, inside):
        if not system.isdir(inside):
            raise NotFoundError.saying(f"Could not find directory {name_of(path)}")
        return system.listdir(inside)


@public
def glob(pattern: Any) -> list[str]:
    """Return the names that match a pattern, or any of a list of patterns.

    `*` and `?` match any characters but `/`, `[abc]` one of these characters, and a backslash makes a character literal.

    >>> tf.io.gfile.makedirs("globbed")
    >>> for name in ("a.txt", "b.txt", "c.md"):
    ...     tf.io.write_file(f"globbed/{name}", "text")
    >>> print(sorted(tf.io.gfile.glob("globbed/*.txt")))
    ['globbed/a.txt', 'globbed/b.txt']
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else list(pattern)
    return [name for one in patterns for name in matching(name_of(one))]


@public
def mkdir(path: Any) -> None:
    """Make a directory; nothing happens if it exists. NotFoundError if its parent does not exist.

    >>> tf.io.gfile.mkdir("made")
    >>> print(tf.io.gfile.isdir("made"))
    True
    """
    with located(path) as (system, inside):
        if not system.isdir(inside):
            system.mkdir(inside)


@public
def makedirs(path: Any) -> None:
    """Make a directory and its parents. FailedPreconditionError if one of them exists as a file.

    >>> tf.io.gfile.makedirs("runs/first")
    >>> print(tf.io.gfile.listdir("runs"))
    ['first']
    """
    with located(path) as (system, inside):
        above = inside
        while above and not system.exists(above):
            above = os.path.dirname(above.rstrip("/"))
        if above and system is LOCAL and not system.isdir(above):
            raise FailedPreconditionError.saying(f"{above} is not a directory")
        system.makedirs(inside)


@public
def remove(path: Any) -> None:
    """Delete a file. NotFoundError if there is none, FailedPreconditionError for a directory.

    >>> tf.io.write_file("short.txt", "text")
    >>> tf.io.gfile.remove("short.txt")
    >>> print(tf.io.gfile.exists("short.txt"))
    False
    """
    with located(path) as (system, inside):
        system.remove(inside)


@public
def rmtree(path: Any) -> None:
    """Delete a directory and its contents. NotFoundError if there is none.

    >>> tf.io.gfile.makedirs("deep/deeper")
    >>> tf.io.gfile.rmtree("deep")
    >>> print(tf.io.gfile.exists("deep"))
    False
    """
    with located(path) as (system, inside):
        if not system.exists(inside):
            raise NotFoundError.saying(f"{name_of(path)} not found")
        system.rmtree(inside)


@public
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename a file or directory. AlreadyExistsError if the new name exists, unless `overwrite`.

    >>> tf.io.write_file("old.txt", "text")
    >>> tf.io.gfile.rename("old.txt", "new.txt", overwrite=True)
    >>> print(tf.io.gfile.exists("new.txt"))
    True
    """
    (system, source), (other, target) = system_of(name_of(src)), system_of(name_of(dst))
    _check_free(dst, overwrite)
    with told(name_of(src)):
        if type(system) is not type(other) or getattr(system, "scheme", None) != getattr(other, "scheme", None):
            raise InvalidArgumentError(
                None, None, f"'{name_of(src)}' and '{name_of(dst)}' are of two file systems: copy the file, and remove the first."
            )
        system.rename(source, target)


@public
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file, also to another file system. AlreadyExistsError if the target exists, unless `overwrite`.

    >>> tf.io.write_file("copied.txt", "text")
    >>> tf.io.gfile.copy("copied.txt", "copy.txt", overwrite=True)
    >>> print(tf.io.read_file("copy.txt").numpy())
    b'text'
    """
    source, target = name_of(src), name_of(dst)
    _check_free(dst, overwrite)
    if isdir(source):
        raise invalid(f"{source}; Is a directory")
    with open_bytes(source) as reading, open_bytes(target, "wb") as writing, told(target):
        while piece := reading.read(PIECE):
            writing.write(piece)


def _check_free(target: Any, overwrite: bool) -> None:
    if not overwrite and exists(target):
        raise AlreadyExistsError.saying(f"{name_of(target)}: file already exists. Give overwrite=True to replace it.")


@public
def walk(top: Any, topdown: bool = True, onerror: Callable[[OpError], Any] | None = None) -> Iterator[Walked]:
    """Yield `(directory, directories in it, files in it)` for a directory and all below it.

    Unless `topdown`, inner directories come first. A directory that cannot be listed is skipped; `onerror` is called with its
    error.

    >>> tf.io.gfile.makedirs("walked/inner")
    >>> print(list(tf.io.gfile.walk("walked")))
    [('walked', ['inner'], []), ('walked/inner', [], [])]
    """
    return _walked(name_of(top), topdown, onerror)


def _walked(top: str, topdown: bool, onerror: Any) -> Iterator[Walked]:
    waiting: list[tuple[str, Any]] = [(top, None)]
    while waiting:
        path, whole = waiting.pop()
        if whole is not None:
            yield whole
            continue
        try:
            names = listdir(path)
        except OpError as error:
            if onerror is not None:
                onerror(error)
            continue
        inner = [name for name in names if isdir(join(path, name))]
        found = path, inner, [name for name in names if name not in set(inner)]
        if topdown:
            yield found
        else:
            waiting.append((path, found))
        waiting += [(join(path, name), None) for name in reversed(inner)]


@public
def join(path: Any, *paths: Any) -> str:
    """Join parts of a path by `/`, also behind a scheme. An absolute part discards those before it.

    >>> print(tf.io.gfile.join("runs", "first", "ckpt"))
    runs/first/ckpt
    """
    parts = [name_of(part) for part in (path, *paths)]
    joined = parts[0]
    for part in parts[1:]:
        joined = part if part.startswith("/") or not joined else joined.rstrip("/") + "/" + part if joined != "/" else "/" + part
    return joined


@public
def get_registered_schemes() -> list[str]:
    """Return the list of supported schemes before `://`; "" is the local file system. Some schemes of fsspec need more
    packages.

    >>> {"", "ram", "gs", "s3"} <= set(tf.io.gfile.get_registered_schemes())
    True
    """
    known = list(package("fsspec", "File systems other than the local one").available_protocols())
    return ["", "file", "ram", *[scheme for scheme in known if scheme != "file"]]
