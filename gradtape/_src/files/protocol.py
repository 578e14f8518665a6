"""TensorBoard's package, which has TensorFlow's messages (graphs, events, summaries), imported on first use."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from gradtape._src.core.base import extras
from gradtape._src.core.tensors.tensor import Tensor


def package(module: str) -> Any:
    """Return a module of TensorBoard's package; ImportError with instructions if it is not installed."""
    loaded = sys.modules.get("tensorflow")
    if loaded is None or getattr(loaded, "Tensor", None) is Tensor:
        # This module makes TensorBoard's package work without TensorFlow. Else it would import it, or use gradtape instead.
        sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    return extras.package(f"tensorboard.{module}", "Graphs and summaries", "summary", "TensorBoard's own package")


def protocol(name: str) -> Any:
    return package(f"compat.proto.{name}_pb2")
