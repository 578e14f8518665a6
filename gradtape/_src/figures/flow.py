"""`figures.gradient_flow`: the size of each variable's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.figures.canvas import DARK, FAULT, LIGHT, blank, named


@public
def gradient_flow(gradients: Any, variables: Any) -> Any:
    """Draw the sizes of gradients on a logarithmic scale: a row for each variable, with largest entry and mean size.

    `gradients` is the result of `tape.gradient(loss, variables)`, in the nest of `variables`. A gradient that is None, zero, or
    not finite has no bar, and its row says so in red. Returns a matplotlib Figure. ValueError if the nests differ in length;
    ImportError without matplotlib (`pip install '.[pictures]'`).

    >>> import gradtape as tf
    >>> w, b = tf.Variable([1.0, 2.0]), tf.Variable(0.0)
    >>> with tf.GradientTape() as tape:
    ...     loss = tf.reduce_sum(w**2)
    >>> figure = tf.figures.gradient_flow(tape.gradient(loss, [w, b]), [w, b])
    >>> figure.axes[0].get_title(loc="left")
    'gradients of 2 variables: 1 is None'
    """
    found, holders = nest.flatten(gradients), nest.flatten(variables)
    if len(found) != len(holders):
        raise ValueError(f"gradient_flow: received {len(found)} gradients for {len(holders)} variables; expected one for each.")
    sizes = [_sizes(gradient) for gradient in found]
    figure = blank(8.0, 1.2 + 0.28 * max(len(sizes), 1))
    axes = figure.subplots()
    axes.set_xscale("log")
    for row, (what, mean, largest) in enumerate(sizes):
        if what:
            axes.text(0.01, row, what, color=FAULT, va="center", fontsize=8, transform=axes.get_yaxis_transform())
        axes.barh(row, largest, color=LIGHT, label=None if row else "largest |entry|")
        axes.barh(row, mean, color=DARK, height=0.4, label=None if row else "mean |entry|")
    drawn = [size for _, mean, largest in sizes for size in (mean, largest) if size > 0]
    if drawn:
        axes.set_xlim(min(drawn) / 10.0, max(drawn) * 2.0)
    named(axes, [_name(holder, row) for row, holder in enumerate(holders)], _title([what for what, _, _ in sizes]), "|gradient|")
    return figure


def _sizes(gradient: Any) -> tuple[str, float, float]:
    """Return the fault of a gradient, its mean size and its largest size; a faulty one has no sizes."""
    if gradient is None:
        return "None", np.nan, np.nan
    entries = np.abs(np.asarray(convert_to_tensor(gradient)).astype(np.complex128))
    if not entries.size:
        return "empty", np.nan, np.nan
    if not np.isfinite(entries).all():
        return "NaN" if np.isnan(entries).any() else "infinite", np.nan, np.nan
    return ("", entries.mean(), entries.max()) if entries.any() else ("zero", np.nan, np.nan)


def _title(flaws: Sequence[str]) -> str:
    counted = [f"{flaws.count(what)} {'is' if flaws.count(what) == 1 else 'are'} {what}" for what in dict.fromkeys(flaws) if what]
    return f"gradients of {len(flaws)} variables" + (": " + ", ".join(counted) if counted else "")


def _name(holder: Any, row: int) -> str:
    if path := getattr(holder, "path", None):  # a Keras variable
        return str(path)
    from gradtape._src.explain.pictures.words import variable_name  # slow to import

    return variable_name(holder) if hasattr(holder, "_made") else f"source {row}"
