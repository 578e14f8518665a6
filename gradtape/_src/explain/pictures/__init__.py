"""The pictures of a tape. The modules that draw them are imported at their first use."""

import importlib
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base import hooks


def _of(path: str) -> Callable[..., Any]:
    """Return a function that calls the one at a path such as "drawing.draw", in a file of this folder."""
    module, _, name = path.partition(".")
    return lambda *given: getattr(importlib.import_module(f"{__name__}.{module}"), name)(*given)


hooks.gradients.summary, hooks.gradients.residuals = _of("summary.Summary"), _of("residuals.residuals")
hooks.gradients.draw = _of("drawing.draw")
