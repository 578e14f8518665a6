"""The compiled programs on disk: their folder, and JAX's cache, which is the library's own while it compiles.

JAX has one cache in a process, and no switch for a thread: `own` sets its folder and puts everything back after the compilation.
Where the user has set a folder of JAX's, programs of the library are kept there as well.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from gradtape._src.core.base import locks

CACHE_BYTES = 1 << 30  # the folder is cut back to this size, oldest programs first
CHECKED_BYTES = 1 << 26  # as much is looked at for damage when a process compiles for the first time
ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how a file begins that the package `zstandard` has written
PROGRAM = re.compile(r"jit_.*-[0-9a-f]{64}-(cache|atime)")  # how JAX names the files of a compiled program


def cache_folder() -> Path | None:
    """Return the folder of compiled programs, from `GRADTAPE_CACHE_DIR` (empty: None) or in the user's cache folder."""
    given = os.environ.get("GRADTAPE_CACHE_DIR")
    if given is not None:
        return Path(given) / "gradtape" / "xla" if given else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "gradtape" / "xla"
    except RuntimeError:  # the user has no home
        return None


@functools.cache
def _usable() -> Path | None:
    """Return the folder for this process, made and pruned; None if there is none. The log says once why it cannot be used."""
    folder = cache_folder()
    if folder is None:
        return None
    if (reason := _refused(folder)) is not None:
        logging.getLogger("gradtape").warning(
            "Compiled programs are not kept on disk: %s. GRADTAPE_CACHE_DIR names another folder; empty, it asks for none.",
            reason,
        )
        return None
    prune(folder)
    return folder


class _Compiling:
    """The number of threads that compile now, and JAX's settings from before the first of them began."""

    def __init__(self) -> None:
        self.lock = locks.Lock()
        self.count = 0
        self.before: dict[str, Any] = {}

    def begin(self) -> None:
        """Give JAX's cache the library's folder, unless it has one."""
        with self.lock:
            self.count += 1
            # JAX makes the attributes of its config as it runs, where a type checker does not see them.
            if self.count > 1 or jax.config.jax_compilation_cache_dir is not None or (folder := _usable()) is None:  # type: ignore[attr-defined]
                return
            wanted = {"jax_compilation_cache_dir": str(folder), "jax_persistent_cache_min_compile_time_secs": 0.0}
            self.before = {name: getattr(jax.config, name) for name in wanted}
            self._set(wanted)

    def end(self) -> None:
        """Put JAX's settings back once no thread compiles."""
        with self.lock:
            self.count -= 1
            if not self.count and self.before:
                self._set(self.before)
                self.before = {}

    def _set(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            jax.config.update(name, value)
        reset_cache()  # JAX reads the folder once, when it first compiles


_compiling = _Compiling()


@contextlib.contextmanager
def own() -> Iterator[None]:
    """Keep what JAX compiles inside on disk, in the library's folder."""
    _compiling.begin()
    try:
        yield
    finally:
        _compiling.end()


def _refused(folder: Path) -> str | None:
    """Make the cache folder, and return why it cannot be used, if so: what is loaded from it runs as this user's own code."""
    own = folder.parent, folder
    try:
        own[0].parent.mkdir(parents=True, exist_ok=True)
        for made in own:
            made.mkdir(mode=0o700, exist_ok=True)
        above, *found = [os.stat(path) for path in (own[0].parent, *own)]
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"
    if os.name == "posix":
        for path, status in zip(own, found, strict=True):
            if status.st_uid != os.geteuid():
                return f"{path} belongs to another user"
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return f"others may write to {path} (chmod go-w mends that, once you have removed what is in it)"
        if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
            return f"anybody may put another folder in the place of {own[0]}"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} may not be written"


def prune(folder: Path) -> None:
    """Remove damaged programs from the cache folder, and the oldest ones once it is too large.

    Only files with the names that JAX gives to compiled programs are counted and removed.
    """
    try:
        with os.scandir(folder) as entries:
            programs = [(e.stat(), e.path) for e in entries if PROGRAM.fullmatch(e.name) and e.is_file(follow_symlinks=False)]
        _remove_damaged(programs)
        size = sum(status.st_size for status, _ in programs)
        for status, path in sorted(programs, key=lambda item: item[0].st_mtime):
            if size <= CACHE_BYTES:
                break
            os.unlink(path)
            size -= status.st_size
    except OSError:  # another process removes the same files, or the folder may not be written
        return


def _remove_damaged(programs: list[tuple[os.stat_result, str]]) -> None:
    """Remove the programs that cannot be read, such as those of a process that was killed: JAX never writes over a file.

    A file that was looked at and found whole is made read-only, which is how it is known the next time.
    """
    looked = 0
    for status, path in programs:
        if status.st_mode & stat.S_IWUSR and looked < CHECKED_BYTES:
            looked += status.st_size
            if _is_damaged(Path(path).read_bytes()):
                os.unlink(path)
            else:
                os.chmod(path, stat.S_IRUSR)


def _is_damaged(data: bytes) -> bool:
    if data.startswith(ZSTANDARD):
        return False
    try:
        return not zlib.decompress(data)
    except zlib.error:
        return True
