"""The pictures of a tape. The modules that draw them are imported at their first use."""

import importlib
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base import hooks


def _of(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls the one of this name in a file of this folder."""
    return lambda *given: getattr(importlib.import_module(f"{__name__}.{module}"), name)(*given)


hooks.gradients.summary, hooks.gradients.residuals = _of("summary", "Summary"), _of("residuals", "residuals")
hooks.gradients.draw = _of("drawing", "draw")
