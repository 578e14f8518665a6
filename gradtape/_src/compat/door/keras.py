"""`tf.keras`: Keras with gradtape as its backend, under TensorFlow's names."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

from gradtape._src.compat.door.finder import FINDER, KERAS, KERAS_ROWS
from gradtape._src.core.base.importing import importing
from keras_gradtape import choosing, hook


def _load() -> ModuleType:
    """Import Keras on gradtape, and make `gradtape.keras.layers` and the like importable."""
    choosing.choose()
    chosen = os.environ.setdefault("KERAS_BACKEND", choosing.NAME)
    if chosen != choosing.NAME:
        raise ImportError(
            f"tf.keras needs Keras with the backend {choosing.NAME!r}, but the environment has KERAS_BACKEND={chosen!r}. "
            f"Unset it, or set KERAS_BACKEND={choosing.NAME}."
        )
    if "keras.src.backend" in sys.modules:
        used = sys.modules["keras.src.backend"].backend()
        if used != choosing.NAME:
            raise ImportError(
                f"Keras was imported before gradtape.keras, with the backend {used!r}. Import gradtape.keras first, or start "
                f"Python with KERAS_BACKEND={choosing.NAME}."
            )
    else:
        hook.install()
    FINDER.install(KERAS_ROWS)
    with importing():
        return importlib.import_module(KERAS)


_keras = _load()


def attribute(name: str) -> Any:
    """Return an attribute of Keras."""
    try:
        return getattr(_keras, name)
    except AttributeError:
        raise AttributeError(f"Keras has no public name tf.keras.{name}.") from None


def names() -> list[str]:
    return dir(_keras)


public = [name for name in names() if not name.startswith("_")]
