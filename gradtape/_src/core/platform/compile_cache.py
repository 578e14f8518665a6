"""Compiled programs on disk: their folder, and JAX's cache, which uses it during the library's compilations.

JAX has one cache per process, and no switch for a thread. So `own` sets its folder, and restores its settings after the
compilation. If the user has set a folder for JAX, the library's programs go there, too.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
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

CACHE_BYTES = 1 << 30  # the size to which the folder is cut back, oldest programs first
CHECKED_BYTES = 1 << 26  # the bytes checked for damage at a process's first compilation
ZSTANDARD = b"\x28\xb5\x2f\xfd"  # the first bytes of files in Zstandard's form
PROGRAM = re.compile(r"jit_.*-[0-9a-f]{64}-(cache|atime)")  # JAX's file names for compiled programs


def cache_folder() -> Path | None:
    """Return the folder of compiled programs: `GRADTAPE_CACHE_DIR` (None if empty), or one in the user's cache folder."""
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
    """Return the folder, created and pruned, or None if it cannot be used; the log gives the reason once."""
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
    """The number of threads that compile now, and JAX's settings from before the first one began."""

    def __init__(self) -> None:
        self.lock = locks.Lock()
        self.count = 0
        self.before: dict[str, Any] = {}

    def begin(self) -> None:
        """Set the folder of JAX's cache, unless the user has set one."""
        with self.lock:
            self.count += 1
            # JAX creates the attributes of its config dynamically, so that type checkers do not know them.
            if self.count > 1 or jax.config.jax_compilation_cache_dir is not None or (folder := _usable()) is None:  # type: ignore[attr-defined]
                return
            wanted = {"jax_compilation_cache_dir": str(folder), "jax_persistent_cache_min_compile_time_secs": 0.0}
            self.before = {name: getattr(jax.config, name) for name in wanted}
            self._set(wanted)

    def end(self) -> None:
        """Restore JAX's settings when no thread compiles any more."""
        with self.lock:
            self.count -= 1
            if not self.count and self.before:
                self._set(self.before)
                self.before = {}

    def _set(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            jax.config.update(name, value)
        reset_cache()  # JAX reads the folder only at its first compilation


_compiling = _Compiling()


@contextlib.contextmanager
def own() -> Iterator[None]:
    """Open a context whose compilations JAX keeps in the library's folder."""
    _compiling.begin()
    try:
        yield
    finally:
        _compiling.end()


def _refused(folder: Path) -> str | None:
    """Create the cache folder; return why it cannot be used, or None. Its contents run as this user's own code."""
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
    """Remove damaged programs from the cache folder, then the oldest ones until it is small enough.

    Only files with JAX's names for compiled programs are counted and removed.
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
    except OSError:  # another process removes the same files, or the folder is read-only
        return


def _remove_damaged(programs: list[tuple[os.stat_result, str]]) -> None:
    """Remove unreadable programs, such as those of a killed process, as JAX never overwrites a file.

    A file found intact is made read-only, which marks it as checked.
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
        try:
            zstd = importlib.import_module("compression.zstd")  # in Python 3.14 and later, whose JAX writes this form
        except ImportError:
            return False
        try:
            return not zstd.decompress(data)
        except zstd.ZstdError:
            return True
    try:
        return not zlib.decompress(data)
    except zlib.error:
        return True
