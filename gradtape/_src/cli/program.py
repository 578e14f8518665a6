"""Programs run as by Python: `python script.py`, or `python -m module`."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Script:
    """A program to run as `__main__`: its name in sys.argv, its file, its source or code, the folder for its imports."""

    name: str
    file: str
    source: Any
    folder: str
    loader: Any
    spec: ModuleSpec | None = None

    def run(self, arguments: Sequence[str]) -> None:
        """Run it as Python would, with its name, sys.argv, sys.path and tracebacks.

        An exception of the program is raised again, so that Python ends the process as usual. Printed tracebacks leave out the
        frames of this runner.
        """
        module = types.ModuleType("__main__")
        cached, package = (self.spec.cached, self.spec.parent) if self.spec else (None, None)
        vars(module).update(__builtins__=builtins, __cached__=cached, __file__=self.file)
        if sys.version_info < (3, 14):  # later ones make the annotations of a module when they are asked for
            vars(module)["__annotations__"] = {}
        vars(module).update(__loader__=self.loader, __package__=package, __spec__=self.spec)
        sys.modules["__main__"] = module
        sys.argv[:] = [self.name, *arguments]
        if not sys.flags.safe_path:
            sys.path[0] = self.folder
        try:
            code = self.source
            if not isinstance(code, types.CodeType):
                code = compile(code, self.file, "exec", dont_inherit=True)  # compiled here, so that a SyntaxError is the script's
            exec(code, module.__dict__)
        except SystemExit:
            raise
        except BaseException:
            sys.excepthook = without_runner_frames(sys.excepthook)
            raise


def of_script(path: str) -> Script:
    """Return the script at `path`; OSError if it cannot be read."""
    file = str(Path(path).absolute())
    with io.open_code(file) as opened:
        source = opened.read()
    return Script(path, file, source, str(Path(path).resolve().parent), SourceFileLoader("__main__", file))


def of_module(name: str) -> Script:
    """Return the module `name`, or `__main__` of a package; ImportError if it is missing or cannot be run.

    Its parent packages are imported to find it, searching the current folder first.
    """
    folder = os.getcwd()
    if not sys.flags.safe_path:
        sys.path[0] = folder
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name += ".__main__"
        spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    loader: Any = spec.loader
    code = loader.get_code(name) if hasattr(loader, "get_code") else None
    if code is None or spec.origin is None:
        raise ImportError(f"{name!r} holds no code that can be run", name=name)
    return Script(spec.origin, spec.origin, code, folder, loader, spec)


def without_runner_frames(show: Any) -> Any:
    """Wrap the except hook `show`, so that tracebacks begin in the program."""

    def excepthook(kind, error, traceback):
        entry = traceback
        while entry is not None and entry.tb_frame.f_code is not Script.run.__code__:
            entry = entry.tb_next
        if entry is not None:
            traceback = entry.tb_next
        show(kind, error.with_traceback(traceback), traceback)

    return excepthook
