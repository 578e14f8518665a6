"""Substitutes for TensorFlow, and for Keras's backends, in modules of Keras that import them by name."""

import importlib
import sys
from types import SimpleNamespace


class TensorFlow:
    """gradtape, which the backend has imported, plus other names that Keras uses of TensorFlow."""

    available = True
    TypeSpec = type("TypeSpec", (), {})
    __internal__ = SimpleNamespace(tf2=SimpleNamespace(enabled=lambda: True))

    def __getattr__(self, name):
        return getattr(sys.modules["gradtape"], name)


class Backend:
    """A substitute for Keras's backend in modules that are imported before it."""

    def __getattr__(self, name):
        return getattr(importlib.import_module("keras.src.backend"), name)


class Loaded:
    """The value `theirs` if a program has loaded TensorFlow, else `ours`."""

    def __init__(self, theirs, ours):
        self._theirs, self._ours = theirs, ours

    def __getattr__(self, name):
        return getattr(self._theirs() if tensorflow_is_loaded() else self._ours, name)


class Changed:
    """A module with some of its names replaced."""

    def __init__(self, module, **names):
        self._module = module
        vars(self).update(names)

    def __getattr__(self, name):
        return getattr(self._module, name)


def stands_for_tensorflow() -> bool:
    """Return whether the module `tensorflow` of this process is gradtape."""
    loaded, own = sys.modules.get("tensorflow"), sys.modules.get("gradtape")
    return own is not None and getattr(loaded, "Tensor", None) is own.Tensor


def tensorflow_is_loaded() -> bool:
    """Return whether this process has loaded TensorFlow itself."""
    return "tensorflow" in sys.modules and not stands_for_tensorflow()


tensorflow, backend = TensorFlow(), Backend()
loaded_tensorflow = Loaded(lambda: importlib.import_module("keras.src.utils.module_utils").tensorflow, tensorflow)
loaded_backend = Loaded(lambda: importlib.import_module("keras.src.backend.tensorflow"), backend)
