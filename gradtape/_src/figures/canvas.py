"""Empty figures that notebooks show, and labelled bars."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from typing import Any

from gradtape._src.core.base.extras import package

MOST = 40  # the number of bars
LONGEST = 60  # the number of characters in a label
DARK, LIGHT, FAULT = "#1f4e79", "#a9c6e3", "#b3261e"  # distinguishable in grey, too


@functools.cache
def _figure_class() -> Any:
    """Return a class of matplotlib figures that notebooks show; ImportError with the install command if it is missing."""
    figure = package("matplotlib.figure", "Figures", "pictures", "matplotlib").Figure

    class Shown(figure):  # type: ignore[misc,valid-type]
        """A figure that shows itself in a notebook. It is not registered with pyplot, so that it need not be closed."""

        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png")
            return out.getvalue()

    return Shown


def blank(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches."""
    return _figure_class()(figsize=(width, height), dpi=100, layout="constrained")


def bars(labels: Sequence[str], series: Sequence[tuple[str, str, Sequence[float]]], title: str, unit: str) -> Any:
    """Return a figure of stacked horizontal bars; `series` has names, colours and lengths."""
    made = blank(8.0, 1.2 + 0.28 * max(len(labels), 1))
    axes = made.subplots()
    start = [0.0] * len(labels)
    for name, color, lengths in series:
        axes.barh(range(len(labels)), lengths, left=start, color=color, label=name)
        start = [a + b for a, b in zip(start, lengths, strict=True)]
    named(axes, labels, title, unit)
    return made


def named(axes: Any, labels: Sequence[str], title: str, unit: str) -> None:
    """Label the rows of bars from top to bottom, and the axis of their lengths."""
    axes.set_yticks(range(len(labels)), [plain(label) for label in labels], family="monospace", fontsize=8)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlabel(unit)
    axes.set_title(plain(title), loc="left", fontsize=10)
    axes.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def plain(label: str) -> str:
    """Return a label of at most LONGEST characters, with `$` escaped, which would start mathematics."""
    short = label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
    return short.replace("$", r"\$")
