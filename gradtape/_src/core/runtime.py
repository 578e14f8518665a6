"""How JAX is set up for the library: 64-bit types, and compiled programs kept on disk between processes."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import jax

forked = False  # whether this process is a fork of one that used the library
CACHE_BYTES = 1 << 30  # the folder is cut back to this size, oldest programs first
PROGRAM = re.compile(r"jit_.*-[0-9a-f]{64}-(cache|atime)")  # how JAX names the files of a compiled program


def cache_folder() -> Path | None:
    """The folder of compiled programs, one of its own in `GRADTAPE_CACHE_DIR` (empty: None) or in the user's cache folder."""
    given = os.environ.get("GRADTAPE_CACHE_DIR")
    if given is not None:
        return Path(given) / "gradtape" / "xla" if given else None
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gradtape" / "xla"


def configure() -> None:
    """Switch on 64-bit types, and the cache of compiled programs unless the user has set JAX's own."""
    jax.config.update("jax_enable_x64", True)
    folder = cache_folder()
    # JAX makes the attributes of its config as it runs, where a type checker does not see them.
    if folder is not None and jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def check_not_forked() -> None:
    """Raise RuntimeError in a process that is a fork of one that used the library."""
    if forked:
        raise RuntimeError(
            "gradtape does not work in a forked process: XLA's threads were left behind in the parent. Start processes with "
            "multiprocessing.set_start_method('spawn')."
        )


def _after_fork() -> None:
    """JAX's threads do not exist in a forked process: what runs there raises instead of waiting for ever."""
    global forked
    forked = True


os.register_at_fork(after_in_child=_after_fork)

_pruned = threading.Event()


def prune_cache() -> None:
    """Remove the oldest compiled programs from the cache folder once it is too large; once for each process.

    Only files with the names that JAX gives to compiled programs are counted and removed.
    """
    if _pruned.is_set():
        return
    _pruned.set()
    folder = cache_folder()
    if folder is None or not folder.is_dir():
        return
    try:
        with os.scandir(folder) as entries:
            programs = [(e.stat(), e.path) for e in entries if PROGRAM.fullmatch(e.name) and e.is_file(follow_symlinks=False)]
        size = sum(stat.st_size for stat, _ in programs)
        for stat, path in sorted(programs, key=lambda item: item[0].st_mtime):
            if size <= CACHE_BYTES:
                break
            os.unlink(path)
            size -= stat.st_size
    except OSError:  # another process removes the same files, or the folder may not be written
        return


configure()
