"""A tape's pictures. What draws them is imported when the first one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape._src.autodiff.observers import observers

if TYPE_CHECKING:
    from gradtape._src.explain.pictures.drawing import Drawing
    from gradtape._src.explain.pictures.residuals import Residuals
    from gradtape._src.explain.pictures.summary import Summary


class Pictures:
    """What `summary`, `residuals` and `draw` of a tape give."""

    def summary(self, tape: Any) -> Summary:
        from gradtape._src.explain.pictures.summary import Summary

        return Summary(tape)

    def residuals(self, tape: Any) -> Residuals:
        from gradtape._src.explain.pictures.residuals import residuals

        return residuals(tape)

    def draw(self, tape: Any, fold: bool) -> Drawing:
        from gradtape._src.explain.pictures.drawing import draw

        return draw(tape, fold)


observers.pictures = Pictures()
