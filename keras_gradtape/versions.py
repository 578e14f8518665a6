"""The installed Keras, and the versions that gradtape supports. Keras itself is not imported."""

import importlib.util
import os
import re
import sys
import warnings
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, NamedTuple

VERSIONS = ">=3.15.1,<3.17"
WORKS = f"gradtape works with Keras {VERSIONS}: pip install 'keras{VERSIONS}'."
WRITTEN = re.compile(rb"^__version__ = [\"'](.+)[\"']", re.MULTILINE)


class Keras(NamedTuple):
    """An importable Keras: its version, as text, and its folder."""

    version: str
    folder: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers; the oldest supported one if it is unknown."""
        return numbers(self.version) or OLDEST


def numbers(version: str) -> tuple[int, ...]:
    """Parse the numbers of a release or pre-release."""
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


OLDEST, AFTER = map(numbers, VERSIONS.split(","))


def installed() -> Keras | None:
    """Return the Keras that `import keras` finds, or None."""
    spec = importlib.util.find_spec("keras")
    return None if spec is None else described(spec)


def described(spec: ModuleSpec) -> Keras:
    """Return the version in the files of a Keras. Its metadata may belong to another Keras on the path."""
    folder, loader = [*(spec.submodule_search_locations or ()), ""][0], spec.loader
    for file in ("src/version.py", "__init__.py"):
        try:
            found = WRITTEN.search(loader.get_data(os.path.join(folder, *file.split("/"))))  # type: ignore[union-attr]
        except (AttributeError, OSError):  # a frozen program has no files
            continue
        if found:
            return Keras(found[1].decode(), folder)
    return Keras("of an unknown version", folder)


def check(keras: Keras, modules: Any) -> None:
    """Raise ImportError for a Keras that is too old, or lacks the `modules` to change; warn of one that is newer."""
    if keras.numbers < OLDEST:
        raise ImportError(
            f"Keras {keras.version} ({keras.folder}) is too old for gradtape. {WORKS}{another(keras)}", name="keras"
        )
    if keras.numbers >= AFTER:
        warnings.warn(
            f"Keras {keras.version} ({keras.folder}) is newer than any that gradtape was tested with. {WORKS}", stacklevel=2
        )
    if os.path.isdir(keras.folder):
        for module in modules:
            path = os.path.join(keras.folder, *module.split(".")[1:])
            if not (os.path.isfile(f"{path}.py") or os.path.isdir(path)):
                raise ImportError(
                    f"Keras {keras.version} ({keras.folder}) does not run on gradtape: it has no module {module}, which gradtape "
                    f"changes. {WORKS}",
                    name=module,
                )


def another(keras: Keras) -> str:
    """Return a sentence about another Keras on the path that is supported; empty if there is none."""
    for entry in sys.path:
        spec = PathFinder.find_spec("keras", [entry])
        other = None if spec is None else described(spec)
        if other is not None and other.folder != keras.folder and OLDEST <= other.numbers < AFTER:
            return f" Keras {other.version} is installed, too, in {other.folder}: put the folder above it first in sys.path."
    return ""
