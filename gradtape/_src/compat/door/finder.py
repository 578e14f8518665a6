"""One finder for every module that is imported under another name than its own, and one table of such names."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
from collections.abc import Iterable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from gradtape._src.compat.door.version import KERAS_2
from gradtape._src.compat.reasons import reason
from gradtape._src.core.base.public import public

KERAS = "keras._tf_keras.keras"  # Keras's own module of what TensorFlow shows as tf.keras

# The module of the first name is that of the second, and what lies below it lies below. The first row that fits counts.
KERAS_ROWS = {"gradtape.keras": KERAS}
TENSORFLOW_ROWS = {
    "tensorflow._api.v2.v2": "gradtape",
    "tensorflow._api.v2": "gradtape",
    "tensorflow": "gradtape",
    "tf_keras.api._v1.keras": "gradtape.compat.v1.keras",
    "tf_keras.api._v2.keras": "gradtape.keras",
    "tf_keras": "gradtape.keras",
    # Keras's backend of TensorFlow, which libraries import by name
    **{
        f"keras.src.backend.tensorflow.{name}": f"keras_gradtape.src.{name}"
        for name in "distribution_lib export layer random rnn tensorboard trainer".split()
    },
    "keras.src.backend.tensorflow": "keras_gradtape.src.ops",
}
# Packages of TensorFlow that only lead to such names.
STEPS = ("tensorflow._api", "tensorflow._api.v2")
# What lies in these is private to TensorFlow, and `private` knows which of it is public under another name.
PRIVATE = ("tensorflow.python", "tensorflow.core")


class Finder(MetaPathFinder, Loader):
    """Finds modules by the rows of its `table`. They are the same module objects under either name, so that classes, registries
    and state are shared.

    A module that gradtape lacks is a ModuleNotFoundError even where TensorFlow is installed: the two never mix. The error's
    `name` is gradtape's, as Python drops the message of one that names what `from tensorflow import …` asked for.
    """

    def __init__(self) -> None:
        self.table: dict[str, str] = {}

    def install(self, rows: dict[str, str]) -> None:
        """Add rows to the table, and ask this finder before all others."""
        self.table.update(rows)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    @public
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module that the table names; None for every other."""
        if fullname in ("tensorflow", *STEPS):
            return ModuleSpec(fullname, self, is_package=True) if "tensorflow" in self.table else None
        if "tensorflow" in self.table and f"{fullname}.".startswith(tuple(f"{name}." for name in PRIVATE)):
            from gradtape._src.compat.door import private

            return ModuleSpec(fullname, self, is_package=True) if private.exists(fullname) else private.refuse(fullname)
        origin = self.origin(fullname)
        if origin is None:
            return None
        if fullname in KERAS_2 or (fullname.startswith("tf_keras.") and not find(origin)):
            return ModuleSpec(fullname, self, is_package=True)  # with names of its own, which `keras2` has
        return ModuleSpec(fullname, self, origin=origin) if find(origin) else self.refuse(fullname, origin)

    def origin(self, fullname: str) -> str | None:
        """Return the name of the module that the table has for another; None where it has none."""
        for name, home in self.table.items():
            if f"{fullname}.".startswith(f"{name}."):
                return home + fullname.removeprefix(name)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make a module, which `exec_module` fills or replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the other name in the place of the new one, as the import system allows. Others are filled."""
        spec: Any = module.__spec__
        if spec.origin is not None:
            sys.modules[spec.name] = find(spec.origin) or module
        elif spec.name not in STEPS:
            from gradtape._src.compat.door import keras2, private, tensorflow

            filler = keras2 if spec.name.startswith("tf_keras") else tensorflow if spec.name == "tensorflow" else private
            filler.fill(module)

    def find_distributions(self, *context: Any) -> Iterable[Any]:
        """Return TensorFlow's distribution for `importlib.metadata`, once the door is open."""
        if "tensorflow" not in self.table:
            return []
        from gradtape._src.compat.door.distribution import distributions

        return distributions(*context)

    def refuse(self, fullname: str, origin: str) -> ModuleSpec:
        """Raise the error for a module that neither name has."""
        above, _, last = origin.rpartition(".")
        try:
            getattr(find(above), last)
        except AttributeError as error:
            said = str(error)  # the reason, or a name that is near
        else:
            said = f"{fullname!r} is no module."
        path = origin.partition(".")[2]
        near = difflib.get_close_matches(path, public_modules(), n=1, cutoff=0.8)
        if near and not reason(path) and "Did you mean" not in said:
            said += f" Did you mean the module 'tensorflow.{near[0]}'?"
        raise ModuleNotFoundError(f"No module named {fullname!r}: {said}", name=origin)


FINDER = Finder()


def find(name: str) -> ModuleType | None:
    """Return the public module of the dotted `name`, which may be an attribute of the module above it; None where there is
    none.
    """
    above, _, last = name.rpartition(".")
    if last.startswith("_") and name != KERAS:
        return None
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not any(asked and f"{asked}.".startswith(f"{error.name}.") for asked in (name, FINDER.origin(name))):
            raise  # something that the module itself imports is not there
    parent = find(above) if above else None
    shown = getattr(parent, last, None)
    return shown if isinstance(shown, ModuleType) else None


def public_modules() -> list[str]:
    """Return the names of gradtape's public modules, without the leading `gradtape.`."""
    found = pkgutil.walk_packages(sys.modules["gradtape"].__path__, "gradtape.")
    names = (module.name.removeprefix("gradtape.") for module in found)
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))
