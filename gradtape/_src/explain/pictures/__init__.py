"""The pictures of a tape. The modules that draw them are imported at their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape._src.core.base import hooks

if TYPE_CHECKING:
    from gradtape._src.explain.pictures.drawing import Drawing
    from gradtape._src.explain.pictures.residuals import Residuals
    from gradtape._src.explain.pictures.summary import Summary


def _summary(tape: Any) -> Summary:
    """Return the Summary of a tape."""
    from gradtape._src.explain.pictures.summary import Summary

    return Summary(tape)


def _residuals(tape: Any) -> Residuals:
    """Return the table of a tape's residuals."""
    from gradtape._src.explain.pictures.residuals import residuals

    return residuals(tape)


def _draw(tape: Any, fold: bool) -> Drawing:
    """Return the Drawing of a tape; `fold` puts consecutive ops of one line in one box."""
    from gradtape._src.explain.pictures.drawing import draw

    return draw(tape, fold)


hooks.gradients.summary, hooks.gradients.residuals, hooks.gradients.draw = _summary, _residuals, _draw
