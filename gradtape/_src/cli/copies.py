"""Runs of a changed copy of a program without side effects: writing files raises an error, and its output is dropped."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import linecache
import logging
import os
import random
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from gradtape._src.cli.program import Script
from gradtape._src.core.platform.compile_cache import cache_folder

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.symlink", "os.link"}
OTHERS = {
    "socket.connect": "uses the network", "socket.sendto": "uses the network", "socket.bind": "uses the network",
    "subprocess.Popen": "runs another program", "os.system": "runs another program", "os.posix_spawn": "runs another program",
    "os.exec": "runs another program", "os.fork": "runs in several processes", "sqlite3.connect": "opens a data base",
}  # fmt: skip
ASKING = {"uname", "ldconfig", "lscpu", "nvidia-smi"}  # programs by which libraries query the machine
PASSING = re.compile(r"(tmp|__autograph_generated_file)?[a-z0-9_]{8}(\.py)?")  # Python's names of temporary files
UNWRITTEN = ("__pycache__", os.devnull, "/dev/", "/proc/")


class Refused(BaseException):
    """A copy would have an effect outside of its process."""


class TooLong(BaseException):
    """A copy exceeds its time limit."""

    def __str__(self) -> str:
        return "the copy takes too long"


class Effects:
    """The process's outside effects, seen by Python's audit events: written files and network access.

    `first` describes the first one, or is empty. While `refusing`, any further one raises Refused.
    """

    def __init__(self) -> None:
        self.first, self.refusing, self._listening = "", False, False
        folder, self._passing = cache_folder(), tempfile.gettempdir()
        own = [str(Path.home() / name) for name in (".cache", ".keras", ".config")]  # the libraries' own caches
        self._ignored = (*UNWRITTEN, *own, *([] if folder is None else [str(folder.parent)]))
        sys.addaudithook(self._heard)

    @contextlib.contextmanager
    def listening(self, refusing: bool = False) -> Iterator[None]:
        """Listen for events in the context."""
        before = self._listening, self.refusing
        self._listening, self.refusing = True, refusing
        try:
            yield
        finally:
            self._listening, self.refusing = before

    def _heard(self, event: str, given: tuple[Any, ...]) -> None:
        if not self._listening:
            return
        if event in OTHERS:
            if os.path.basename(str(given[0])) in ASKING or (event == "socket.bind" and given[1][1:2] == (0,)):
                return  # a port chosen by the system: urllib3 binds one to test for IPv6
            said = OTHERS[event]
        elif event in CHANGES or (event == "open" and (given[2] or 0) & WRITING):
            path = os.fspath(given[0]) if isinstance(given[0], (str, os.PathLike)) else ""
            parent, name = os.path.split(path)
            passing = (event == "open" and os.path.isdir(path)) or (parent == self._passing and PASSING.fullmatch(name))
            if not path or passing or any(part in path for part in self._ignored):
                return
            said = f"writes {path}"
        else:
            return
        if self.refusing:
            raise Refused(said)
        self.first = self.first or said


def run_copy(program: Script, arguments: Sequence[str], files: Mapping[str, str], seconds: float | None) -> None:
    """Run a program with changed text in some of its files, for at most `seconds`; its exceptions are raised here."""
    own = [name for name, module in sys.modules.items() if _is_own(module, program.folder)]
    modules = {name: sys.modules.pop(name) for name in own}
    finder = _Finder(files)
    sys.meta_path.insert(0, finder)
    try:
        with _as_before(files), _at_most(seconds):
            dataclasses.replace(program, source=files.get(program.file, program.source)).run(arguments)
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if _is_own(module, program.folder)]:
            del sys.modules[name]
        sys.modules.update(modules)


def _is_own(module: Any, folder: str) -> bool:
    """Return whether a module is in the program's folder, and not an installed package."""
    file = getattr(module, "__file__", None)
    if getattr(module, "__name__", None) == "__main__":
        return True
    return isinstance(file, str) and file.startswith(folder + os.sep) and "site-packages" not in file and _no_part(file)


def _no_part(file: str) -> bool:
    """Return whether a file is not this library's, which may be installed in the program's folder."""
    return not file.startswith(str(Path(__file__).parents[3]) + os.sep + "gradtape")


class _Finder(PathFinder):
    """Finds modules with changed text."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # type: ignore[override]
        """Return the spec of a module with changed text; None for any other."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or spec.origin not in self._files:
            return None
        spec.loader = _Loader(name, spec.origin, self._files[spec.origin])
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, file: str, written: str) -> None:
        super().__init__(name, file)
        self._written = written

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._written, self.path, "exec", dont_inherit=True)


@contextlib.contextmanager
def _as_before(files: Mapping[str, str]) -> Iterator[None]:
    """Restore all that a program changes in its process, and show changed files to anything that reads their lines."""
    held: list[tuple[Any, Any]] = [(x, list(x)) for x in (sys.argv, sys.path, warnings.filters)]
    streams, hook, folder, environment = (sys.stdin, sys.stdout, sys.stderr), sys.excepthook, os.getcwd(), dict(os.environ)
    drawn, drawn_by_numpy, disabled = random.getstate(), np.random.get_state(), logging.root.manager.disable
    read = linecache.updatecache

    def changed(filename: str, module_globals: Any = None) -> list[str]:
        if filename not in files:
            return read(filename, module_globals)
        lines = files[filename].splitlines(keepends=True)
        linecache.cache[filename] = (len(lines), None, lines, filename)
        return lines

    linecache.updatecache = changed
    for file in files:
        changed(file)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        sys.excepthook = hook
        logging.disable(disabled)
        for container, before in held:
            container[:] = before
        os.chdir(folder)
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)
        random.setstate(drawn)
        np.random.set_state(drawn_by_numpy)
        linecache.updatecache = read
        for file in files:
            linecache.cache.pop(file, None)


@contextlib.contextmanager
def _at_most(seconds: float | None) -> Iterator[None]:
    """Raise TooLong at the time limit, repeatedly, since the program may catch it."""
    if seconds is None or not hasattr(signal, "setitimer"):  # not available on Windows
        yield
        return

    def over(number: int, frame: Any) -> None:
        raise TooLong

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
