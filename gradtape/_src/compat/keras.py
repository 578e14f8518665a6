"""`tf.keras`: Keras itself, with gradtape as its backend, under the names that it has in TensorFlow."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

from keras_gradtape import hook

PUBLIC = "keras._tf_keras.keras"  # Keras's own module of what TensorFlow shows as tf.keras


def _load() -> ModuleType:
    """Import Keras on gradtape, and let `gradtape.keras.layers` and its kin be imported by that name."""
    chosen = os.environ.setdefault("KERAS_BACKEND", hook.NAME)
    if chosen != hook.NAME:
        raise ImportError(
            f"tf.keras needs Keras with the backend {hook.NAME!r}, but the environment has KERAS_BACKEND={chosen!r}. "
            f"Unset it, or set KERAS_BACKEND={hook.NAME}."
        )
    if "keras.src.backend" in sys.modules:
        used = sys.modules["keras.src.backend"].backend()
        if used != hook.NAME:
            raise ImportError(
                f"Keras was imported before gradtape.keras, with the backend {used!r}. Import gradtape.keras first, or start "
                f"Python with KERAS_BACKEND={hook.NAME}."
            )
    else:
        hook.install()
    public = importlib.import_module(PUBLIC)
    for name, module in list(sys.modules.items()):
        if name.startswith(PUBLIC + "."):
            sys.modules[f"gradtape.keras{name.removeprefix(PUBLIC)}"] = module
    return public


_keras = _load()


def attribute(name: str) -> Any:
    """A name of Keras."""
    try:
        return getattr(_keras, name)
    except AttributeError:
        raise AttributeError(f"Keras has no public name tf.keras.{name}.") from None


def names() -> list[str]:
    """The names of Keras."""
    return dir(_keras)
