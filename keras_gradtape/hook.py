"""The import hook that makes "gradtape" a backend of Keras. It imports the standard library only.

Keras's modules are changed at import, by the table in `edits`. Keras 3.16 loads a backend NAME from the package `keras_NAME`
if it knows the name; 3.15 has chains of `if backend() == ...`. Changed modules are not cached.

`startup.py`, which Python runs at start, installs this hook when Keras is imported with KERAS_BACKEND=gradtape.
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
    """Install the hook; an error if Keras is already imported, or if this Keras cannot be changed."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    if "keras.src.backend" in sys.modules:
        raise RuntimeError(
            "Keras is imported already, so it cannot be given the backend 'gradtape' any more. Import gradtape.keras before "
            f"keras, or set KERAS_BACKEND={NAME} before that."
        )
    keras = installed()
    if keras is None:
        return  # Python raises the error
    finder = Finder(keras)
    check(keras, finder.edits)
    sys.meta_path.insert(0, finder)


class Finder:
    """The finder of Keras's modules that are changed; other finders locate them."""

    def __init__(self, keras: Keras) -> None:
        self.keras, self.edits = keras, of_version(keras.numbers)

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module in the table; None for others."""
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
    """A loader that wraps `loader`, and changes the module's syntax tree first, and then its names."""

    def __init__(self, loader: Any, edits: list[Edit], keras: Keras) -> None:
        self._loader, self._edits, self._keras = loader, edits, keras

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Delegate to the wrapped loader."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def is_package(self, fullname: str) -> bool:
        """Delegate to the wrapped loader."""
        return bool(self._loader.is_package(fullname))

    def get_source(self, fullname: str) -> str | None:
        """Return the unchanged source."""
        found: str | None = self._loader.get_source(fullname)
        return found

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code, compiled from the changed syntax tree, or from the loader's cache if the tree is unchanged."""
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
