"""Open Plans: one gradient Plan with symbols for extents, shared by records that differ only in extents.

A record has a form (its ops and their references) and a content (the Avals of its values and the attributes of its ops). The
common part of two contents has a symbol wherever their numbers differ. One Plan is derived from that part, following the
choices that the gradient rules make for one of the contents (`core/values/ways`). It is used only if, with numbers for its
symbols, it equals the Plan that the record gets without symbols. This is tried from the third content of a form on, because
the batches of an epoch have two. A record for which the rules choose otherwise gets a Plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.plan import Plan, Record
from gradtape._src.core.engine import engine
from gradtape._src.core.engine.constant_folding import EXTENT
from gradtape._src.core.engine.instance import Symbols
from gradtape._src.core.programs.program import Cache, Node, Program
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dim import Atom, Dim, as_number, unknown
from gradtape._src.core.values.ways import Guide, following

Extents = Mapping[Atom, int]
Made = tuple[Plan, Any]  # (a Plan, further data of the maker about the record's form)
TRIES = 4  # records of one form for which an open Plan is tried
PATIENCE = 1  # records before these, besides the first

forms = Cache(256)


class Apart(Exception):
    """Two contents differ in more than numbers."""


def planned(key: tuple[Any, ...], record: Record, make: Callable[[Record], Made]) -> Made:
    """Return the Plan that `make` derives from a record, or the open Plan of its form with its numbers.

    `key` is the key of the Plan and begins with the structure of the record.
    """
    if engine.local.trace.parent is not None:
        return make(record)
    places = record.places
    form = (*[(structure.form, start, link) for structure, start, link in places.structure], *key[1:])
    content: list[Any] = []
    for (structure, *_), trace in zip(places.structure, places.traces, strict=True):
        nodes = trace.nodes[: len(structure.keys)]
        content += [*structure.avals, *[n.aval for n in nodes], *[n.key[1] for n in nodes]]
    known: Form | None = forms.find(form)
    if known is None:
        forms.keep(form, Form(content))
        return make(record)
    return known.planned(content, record, make)


class Form:
    """The open Plans for records of one form. `first` is the content of the first record."""

    def __init__(self, first: list[Any]) -> None:
        self._first, self._tries = first, TRIES + PATIENCE
        self._open: list[OpenPlan] = []

    def planned(self, content: list[Any], record: Record, make: Callable[[Record], Made]) -> Made:
        """Return the Plan for a content, as `planned`."""
        for opened in self._open:
            if (extents := opened.extents(content)) is not None and opened.way.fits(extents):
                return opened.at(extents)
        own = make(record)
        if self._tries:
            self._tries -= 1
            if self._tries < TRIES and (opened_now := self._opened(content, record, make, own)) is not None:
                self._open.append(opened_now)
        return own

    def _opened(self, content: list[Any], record: Record, make: Callable[[Record], Made], own: Made) -> OpenPlan | None:
        """Return the open Plan; None if a gradient rule needs numbers, or the Plan at its numbers differs from `own`."""
        symbols: dict[tuple[int, int], Dim] = {}
        try:
            common = [_common(one, other, symbols) for one, other in zip(self._first, content, strict=True)]
            extents = {dim.symbol: numbers[1] for numbers, dim in symbols.items()}
            way = Guide(extents)
            with following(way):
                plan, more = make(record.with_twins(_twins(record, common)))
            opened = OpenPlan(common, way, plan, more)
            return opened if _are_equal(opened.at(extents)[0], own[0]) else None
        except Exception:  # a rule that fails on symbols: records of this form get their own Plans
            return None


class OpenPlan:
    """A Plan with symbols, the choices of the gradient rules that it depends on, and the `content` that it fits."""

    def __init__(self, content: list[Any], way: Guide, plan: Plan, more: Any) -> None:
        self._content, self.way, self._plan, self._more = content, way, plan, more
        self._pattern = _pattern(way.at)
        self._program = _with_constants(plan.program)
        self._symbols = Symbols(self._program.keys, self._program.avals, self._program.parameters)
        constants: tuple[Any, ...] = self._program.constants
        self._open_constants = [(at, *c) for at, c in enumerate(constants) if type(c) is tuple]

    def extents(self, content: list[Any]) -> dict[Atom, int] | None:
        """Return the numbers of the symbols in a content; None if it does not match."""
        found: dict[Atom, int] = {}
        seen: dict[int, Any] = {}
        for one, other in zip(self._content, content, strict=True):
            if one is not other and seen.get(id(one)) is not other:
                if id(one) in seen and type(one) is Aval:
                    return None
                if not _matches(one, other, found):
                    return None
                seen[id(one)] = other
        return found if _pattern(found) == self._pattern else None

    def at(self, extents: Extents) -> Made:
        """Return the Plan for these extents, with its maker's data."""
        like, constants = self._program, [*self._program.constants]
        with np.errstate(over="ignore"):
            for at, extent, dtype in self._open_constants:
                constants[at] = np.array(as_number(extent, extents), dtype)
        keys, avals, parameters = self._symbols.at(extents)
        program = Program(keys, avals, parameters, like.outputs, tuple(constants), like.lines, like=like)
        return Plan(program, self._plan.places, self._plan.layout), self._more


def _common(one: Any, other: Any, symbols: dict[tuple[int, int], Dim]) -> Any:
    """Return the common part of two values, with a symbol for each pair of different numbers; raise Apart if more differs."""
    if one is other:
        return one
    if type(one) is not type(other) or type(one) is Dim:
        raise Apart
    if type(one) is int:
        if one != other and (one, other) not in symbols:
            symbols[one, other] = unknown(counts=min(one, other) >= 0)
        return one if one == other else symbols[one, other]
    if type(one) is Aval and one.dtype is other.dtype and one.ndim == other.ndim:
        return aval(_common(one.shape, other.shape, symbols), one.dtype)
    if type(one) is tuple and len(one) == len(other):
        return tuple([_common(a, b, symbols) for a, b in zip(one, other, strict=True)])
    if type(one) is Aval or one != other:
        raise Apart
    return one


def _matches(one: Any, other: Any, found: dict[Atom, int]) -> bool:
    """Return whether `other` equals `one` with numbers for its symbols; add these numbers to `found`."""
    if type(one) is Dim:
        return type(other) is int and found.setdefault(one.symbol, other) == other
    if type(one) is not type(other):
        return False
    if type(one) is Aval:
        return one is other or (one.dtype is other.dtype and _matches(one.shape, other.shape, found))
    if type(one) is tuple:
        return len(one) == len(other) and all(_matches(a, b, found) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _pattern(extents: Extents) -> list[int]:
    """Return a pattern of the symbols' numbers: which are equal, and which are 0 or 1. A rule may depend on it unrecorded."""
    first: dict[int, int] = {0: -2, 1: -1}
    return [first.setdefault(extents[symbol], place) for place, symbol in enumerate(sorted(extents))]


def _twins(record: Record, content: Sequence[Any]) -> dict[Node, Node]:
    """Return, for each node of a record, a twin with the Aval and the attributes of an open content."""
    twins: dict[Node, Node] = {}
    at, places = iter(content), record.places
    for (structure, *_), trace in zip(places.structure, places.traces, strict=True):
        nodes = trace.nodes[: len(structure.keys)]
        of_leaves = [next(at) for _ in structure.avals]
        of_nodes = [next(at) for _ in nodes]
        for node, one in zip([*trace.leaves[: len(of_leaves)], *nodes], [*of_leaves, *of_nodes], strict=True):
            twins.setdefault(node, Node(node.key, None, one, None, node.index, node.code, node.offset))
        for node in nodes:
            twins[node].key = (node.key[0], next(at), *node.key[2:])
    for entry in record.entries:
        twins[entry.node].inputs = tuple([twins.get(source, source) for source in entry.inputs])
    return twins


def _with_constants(program: Program) -> Program:
    """Return a Program with symbols, in which the `Extent` ops are constants, `(extent, dtype)`."""
    keys, given = program.keys, arity(program)
    kept = [index for index, key in enumerate(keys) if key[0] is not EXTENT]
    read = [*[r for index in kept for r in keys[index][2:]], *program.outputs]
    held = [*dict.fromkeys([r for r in read if (r >= 0 and keys[r][0] is EXTENT) or -1 - r >= given])]
    constants = [keys[r][1] if r >= 0 else program.constants[-1 - r - given] for r in held]
    parameters = [*program.parameters[:given], *map(program.aval_of, held)]
    return program.sliced(kept, program.outputs, {r: -1 - given - k for k, r in enumerate(held)}, parameters, constants)


def _are_equal(one: Plan, other: Plan) -> bool:
    """Return whether two Plans are the same computation."""
    a, b = one.program, other.program
    same = (a.keys, a.avals, a.parameters, a.outputs, a.lines) == (b.keys, b.avals, b.parameters, b.outputs, b.lines)
    bits = [[(c.dtype, c.shape, c.tobytes()) for c in program.constants] for program in (a, b)]
    return same and bits[0] == bits[1] and one.places == other.places and _layout(one) == _layout(other)


def _layout(plan: Plan) -> list[Any]:
    """Return the layout of a Plan's results for comparison, with the constant dense shapes of IndexedSlices as lists."""
    return [(*place[:2], place[2].node.value.tolist()) if type(place) is tuple else place for place in plan.layout]
