"""Makes "gradtape" a backend that Keras knows. Standard library only, and nothing of Keras is imported.

Keras's modules are changed as they are imported, by the table in `edits`: Keras 3.16 loads a backend NAME from the package
`keras_NAME` once it knows the name, and 3.15 has chains of `if backend() == ...`. No cache holds what is compiled so.

`startup.py`, which Python runs when it starts, installs this hook when Keras is imported with KERAS_BACKEND=gradtape.
"""

import ast
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType
from typing import Any

from keras_gradtape.choosing import NAME
from keras_gradtape.edits import Edit, change, of_version
from keras_gradtape.versions import Keras, check, installed


def install() -> None:
    """Have Keras's modules changed as they are imported. An error if it is too late, or if the Keras that is there cannot be."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    if "keras.src.backend" in sys.modules:
        raise RuntimeError(
            "Keras is imported already, so it cannot be given the backend 'gradtape' any more. Import gradtape.keras before "
            f"keras, or set KERAS_BACKEND={NAME} before that."
        )
    keras = installed()
    if keras is None:
        return  # Python says so
    finder = Finder(keras)
    check(keras, finder.edits)
    sys.meta_path.insert(0, finder)


class Finder:
    """Finds the modules of Keras that are changed, as Python's own finder does or another, and has them changed."""

    def __init__(self, keras: Keras) -> None:
        self.keras, self.edits = keras, of_version(keras.numbers)

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module that is changed; None for every other."""
        if fullname not in self.edits:
            return None
        for finder in (PathFinder, *sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = Loader(spec.loader, self.edits[fullname], self.keras)
                return spec
        return None


class Loader(InspectLoader):
    """Loads a module as `loader` does, with its changes: of its syntax tree first, then of its names."""

    def __init__(self, loader: Any, edits: list[Edit], keras: Keras) -> None:
        self._loader, self._edits, self._keras = loader, edits, keras

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to the loader."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def is_package(self, fullname: str) -> bool:
        """Return what the loader says."""
        return bool(self._loader.is_package(fullname))

    def get_source(self, fullname: str) -> str | None:
        """Return the source as Keras has it."""
        found: str | None = self._loader.get_source(fullname)
        return found

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code, compiled from the changed syntax tree. What needs no such change comes from the loader's cache."""
        edits = [edit for edit in self._edits if edit.changes_tree]
        if not edits:
            code: CodeType | None = self._loader.get_code(fullname)
            return code
        source = getattr(self._loader, "get_source", lambda name: None)(fullname)
        if source is None:
            raise RuntimeError(
                f"Keras cannot run on gradtape in this program, which has {fullname} without its source, from "
                f"{type(self._loader).__name__}: gradtape changes Keras's source as it is imported. Have the sources of the "
                "package keras in the program, for PyInstaller by module_collection_mode={'keras': 'py'}."
            )
        path = self._loader.get_filename(fullname)
        tree = ast.parse(source, path)
        for edit in edits:
            change(edit, fullname, tree, self._keras)
        found: CodeType = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, and change its names."""
        super().exec_module(module)
        for edit in self._edits:
            if not edit.changes_tree:
                change(edit, module.__name__, module, self._keras)
