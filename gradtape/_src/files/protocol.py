"""TensorBoard's package, whose messages are those of TensorFlow: graphs, events, summaries. Imported when first used."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from gradtape._src.core.base.extras import missing
from gradtape._src.core.tensors.tensor import Tensor


def package(module: str) -> Any:
    """Return a module of TensorBoard's package; ImportError with the way out where it is not installed."""
    loaded = sys.modules.get("tensorflow")
    if loaded is None or getattr(loaded, "Tensor", None) is Tensor:
        # By this module's name TensorBoard's package knows that it is to do without TensorFlow, which it would load, or take
        # gradtape for (`gradtape run`).
        sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    try:
        return import_module(f"tensorboard.{module}")
    except ImportError as error:
        raise ImportError(
            f"Graphs and summaries are messages of TensorBoard's own package, which is not installed. {missing('summary', error)}"
        ) from error


def protocol(name: str) -> Any:
    """Return the module of the messages of one `.proto` file."""
    return package(f"compat.proto.{name}_pb2")
