"""The finder of modules that are imported under other names, and the table of these names."""

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

KERAS = "keras._tf_keras.keras"  # Keras's module of the names in tf.keras

# The module of the first name is that of the second; submodules likewise. The first matching row counts.
KERAS_ROWS = {"gradtape.keras": KERAS}
TENSORFLOW_ROWS = {
    "tensorflow._api.v2.v2": "gradtape",
    "tensorflow._api.v2": "gradtape",
    "tensorflow": "gradtape",
    "tf_keras.api._v1.keras": "gradtape.compat.v1.keras",
    "tf_keras.api._v2.keras": "gradtape.keras",
    "tf_keras": "gradtape.keras",
    # Keras's TensorFlow backend, which libraries import by name
    **{
        f"keras.src.backend.tensorflow.{name}": f"keras_gradtape.src.{name}"
        for name in "distribution_lib export layer random rnn tensorboard trainer".split()
    },
    "keras.src.backend.tensorflow": "keras_gradtape.src.ops",
}
# Packages of TensorFlow that contain nothing but such names.
STEPS = ("tensorflow._api", "tensorflow._api.v2")
# Packages that are private in TensorFlow; `private` knows their public names.
PRIVATE = ("tensorflow.python", "tensorflow.core")


class Finder(MetaPathFinder, Loader):
    """Finds modules by the rows of its `table`. Both names give the same module object, so classes, registries and state are
    shared.

    A module that gradtape lacks is a ModuleNotFoundError even if TensorFlow is installed: the two never mix. The error's
    `name` is gradtape's, because Python drops the message of an error with the name in `from tensorflow import …`.
    """

    def __init__(self) -> None:
        self.table: dict[str, str] = {}

    def install(self, rows: dict[str, str]) -> None:
        """Add rows to the table, and put this finder before all others."""
        self.table.update(rows)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    @public
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module in the table; None for others."""
        if fullname in ("tensorflow", *STEPS):
            return ModuleSpec(fullname, self, is_package=True) if "tensorflow" in self.table else None
        if "tensorflow" in self.table and f"{fullname}.".startswith(tuple(f"{name}." for name in PRIVATE)):
            from gradtape._src.compat.door import private

            return ModuleSpec(fullname, self, is_package=True) if private.exists(fullname) else private.refuse(fullname)
        origin = self.origin(fullname)
        if origin is None:
            return None
        if fullname in KERAS_2 or (fullname.startswith("tf_keras.") and not find(origin)):
            return ModuleSpec(fullname, self, is_package=True)  # modules with their own names, see `keras2`
        return ModuleSpec(fullname, self, origin=origin) if find(origin) else self.refuse(fullname, origin)

    def origin(self, fullname: str) -> str | None:
        """Return the original name of a module in the table, or None."""
        for name, home in self.table.items():
            if f"{fullname}.".startswith(f"{name}."):
                return home + fullname.removeprefix(name)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the creation of the module to Python; `exec_module` fills or replaces it."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new module by that of the original name, as the import system allows, or fill it."""
        spec: Any = module.__spec__
        if spec.origin is not None:
            sys.modules[spec.name] = find(spec.origin) or module
        elif spec.name not in STEPS:
            from gradtape._src.compat.door import keras2, private, tensorflow

            filler = keras2 if spec.name.startswith("tf_keras") else tensorflow if spec.name == "tensorflow" else private
            filler.fill(module)

    def find_distributions(self, *context: Any) -> Iterable[Any]:
        """Return TensorFlow's distribution for `importlib.metadata` while the door is open."""
        if "tensorflow" not in self.table:
            return []
        from gradtape._src.compat.door.distribution import distributions

        return distributions(*context)

    def refuse(self, fullname: str, origin: str) -> ModuleSpec:
        """Raise the error for a module that exists under neither name."""
        above, _, last = origin.rpartition(".")
        try:
            getattr(find(above), last)
        except AttributeError as error:
            said = str(error)  # the reason, or a similar name
        else:
            said = f"{fullname!r} is no module."
        path = origin.partition(".")[2]
        near = difflib.get_close_matches(path, public_modules(), n=1, cutoff=0.8)
        if near and not reason(path) and "Did you mean" not in said:
            said += f" Did you mean the module 'tensorflow.{near[0]}'?"
        raise ModuleNotFoundError(f"No module named {fullname!r}: {said}", name=origin)


FINDER = Finder()


def find(name: str) -> ModuleType | None:
    """Return the public module of the dotted `name`, which may be an attribute of its parent; None if there is none."""
    above, _, last = name.rpartition(".")
    if last.startswith("_") and name != KERAS:
        return None
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not any(asked and f"{asked}.".startswith(f"{error.name}.") for asked in (name, FINDER.origin(name))):
            raise  # an import inside of the module failed
    parent = find(above) if above else None
    shown = getattr(parent, last, None)
    return shown if isinstance(shown, ModuleType) else None


def public_modules() -> list[str]:
    """Return the names of gradtape's public modules, without the leading `gradtape.`."""
    found = pkgutil.walk_packages(sys.modules["gradtape"].__path__, "gradtape.")
    names = (module.name.removeprefix("gradtape.") for module in found)
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))
