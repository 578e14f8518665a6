"""TF-Keras, the package of Keras 2, with the public names of Keras 3 on gradtape, as in `tf.keras`.

Names that Keras 3 lacks can be imported, as libraries do at start. Using one is an error.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, NoReturn

from gradtape._src.compat.door.keras2_optimizer import optimizer
from gradtape._src.compat.door.version import KERAS_2
from gradtape._src.core.base.errors import UnimplementedError
from gradtape._src.core.base.public import public

VERSION = "2.21.0"
# Modules below `__internal__`, which are accessed by attribute.
INTERNAL = "backend eager_context layers legacy losses models optimizers utils".split()


def fill(module: ModuleType) -> None:
    """Fill a new module of TF-Keras: the package itself with Keras's names, a module that Keras 3 lacks with none."""
    path = module.__name__
    if path in KERAS_2:
        keras = importlib.import_module(path.replace("tf_keras", "gradtape.keras", 1))
        names = [name for name in dir(keras) if not name.startswith("_")]
        own = [name for name in names if f"{path}.{name}" in KERAS_2]
        vars(module).update({name: getattr(keras, name) for name in names if name not in own}, __all__=names, __version__=VERSION)
        if path == "tf_keras.optimizers":
            vars(module).update(Optimizer=optimizer(keras.Optimizer))
        module.__getattr__ = lambda name: _own_module(path, name, own)  # type: ignore[method-assign]
        return

    @public
    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        if path == "tf_keras.__internal__" and name in INTERNAL:
            return importlib.import_module(f"{path}.{name}")
        if name == "register_symbolic_tensor_type":
            return _register_symbolic_tensor_type
        vars(module)[name] = made = Keras2Name(name, (), {"__module__": path})
        return made

    vars(module)["__getattr__"] = __getattr__


def _own_module(path: str, name: str, own: list[str]) -> ModuleType:
    if name not in own:
        raise AttributeError(f"module {path!r} has no attribute {name!r}")
    return importlib.import_module(f"{path}.{name}")


class Keras2Name(type):
    """The metaclass of names that Keras 3 lacks, so that a library can derive classes from them."""

    @public
    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnimplementedError.saying(
            f"{cls.__module__}.{cls.__name__} belongs to Keras 2. On gradtape tf_keras is Keras 3: use what that "
            "has, or plain tf."
        )


def _register_symbolic_tensor_type(cls: type) -> None:
    """Do nothing, because Keras 3 asks its backend which values are symbolic."""
