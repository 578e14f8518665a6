"""`tape.draw()`: the tape as a graph, in SVG."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from rich.cells import cell_len

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.explain import source as text
from gradtape._src.explain.pictures.layout import PictureLayout, Point, layered
from gradtape._src.explain.pictures.record import Group, Record
from gradtape._src.explain.pictures.words import described, place, short, size

MOST = 300  # boxes
LONGEST = 46  # characters of a line
CHARACTER, LINE, MARGIN = 7.3, 17, 10
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


class Drawing:
    """An SVG. A notebook shows it, `save(path)` writes it, `str()` is its text."""

    def __init__(self, svg: str) -> None:
        self._svg = svg

    def __str__(self) -> str:
        return self._svg

    def __repr__(self) -> str:
        return f"<Drawing, SVG of {len(self._svg):,} characters: save(path) writes it, a notebook shows it>"

    def _repr_svg_(self) -> str:
        return self._svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the SVG into a file."""
        Path(path).write_text(self._svg, "utf-8")


class Box:
    """A box with the text `rows`; `kind` is a class of the style sheet, `about` is the tooltip."""

    def __init__(self, kind: str, rows: Sequence[str], about: str) -> None:
        self.kind, self.rows, self.about = kind, [short(row, LONGEST) for row in rows if row], about

    @property
    def size(self) -> Point:
        """Width and height."""
        return max(map(cell_len, self.rows)) * CHARACTER + 2 * MARGIN, len(self.rows) * LINE + 2 * MARGIN - 4


def draw(tape: GradientTape, fold: bool = True) -> Drawing:
    """Draw the ops of a tape and their inputs; with `fold`, consecutive ops of one line are one box."""
    record = Record(tape)
    groups = record.groups(fold)
    shown = groups[:MOST]
    boxes = [Box("watched", [w.name, described(w.aval)], "watched") for w in record.watched]
    boxes += [_box(group) for group in shown]
    if len(groups) > MOST:
        boxes.append(Box("rest", [f"… {len(groups) - MOST:,} more"], "the drawing ends here"))
    first = len(record.watched)
    of = {op.number: first + i for i, group in enumerate(shown) for op in group}
    edges = dict.fromkeys(
        (of[number] if number >= 0 else -1 - number, of[op.number])
        for group in shown
        for op in group
        for number in op.inputs
        if number < 0 or of[number] != of[op.number]
    )
    return Drawing(_svg(boxes, list(edges), layered([box.size for box in boxes], list(edges))))


def _box(group: Group) -> Box:
    """Return the box of one line's ops: place, source text, ops, last result, and kept bytes."""
    names = " · ".join(op.op for op in group)
    kept = sum(op.kept for op in group)
    held = f"  {size(kept)} kept" if kept else ""
    at, source = place(*group[0].where), text.text(group[0].line) or ""
    about = "\n".join([at, source, *[f"{op.op}: {described(op.aval)}" for op in group]])
    active = any(op.active for op in group)
    return Box("active" if active else "passive", [f"{at}  {source}", names, described(group[-1].aval) + held], about)


def _svg(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], layout: PictureLayout) -> str:
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    style = resources.files(__package__).joinpath("drawing.css").read_text("utf-8")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gradtape" role="img" aria-label="The ops of a gradient tape" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="{-MARGIN} {-MARGIN} {width:.0f} {height:.0f}">',
        f"<style>{style}</style>",
    ]
    for (upper, lower), route in zip(edges, layout.routes, strict=True):
        passive = "passive" in (boxes[upper].kind, boxes[lower].kind)
        parts.append(f'<path class="{"passive" if passive else "active"}" d="{_curve(route)}"/>')
    for box, (x, y) in zip(boxes, layout.boxes, strict=True):
        w, h = box.size
        rows = "".join(
            f'<tspan x="{x + MARGIN:.1f}" y="{y + MARGIN + 9 + i * LINE:.1f}" class="row{i}">{_escaped(row)}</tspan>'
            for i, row in enumerate(box.rows)
        )
        parts.append(
            f'<g class="{box.kind}"><title>{_escaped(box.about)}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="5"/><text>{rows}</text></g>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _curve(route: Sequence[Point]) -> str:
    """Return a path through points that leaves and enters each point vertically."""
    (x, y), *rest = route
    parts = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        middle = (y + to_y) / 2
        parts.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(parts)


def _escaped(written: str) -> str:
    return html.escape(FORBIDDEN.sub("\ufffd", written))
