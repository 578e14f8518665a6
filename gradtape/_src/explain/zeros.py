"""The ops at which an existing gradient becomes zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

import numpy as np

from gradtape._src.autodiff.backward import Entry
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node
from gradtape._src.core.programs.traits import Trait
from gradtape._src.explain.codes.zeros import Cancelled, PiecewiseConstant, Underflow, of_one_output
from gradtape._src.explain.evidence import Evidence, of_zeros
from gradtape._src.explain.probe import Probe, array, line_of, ones_like
from gradtape._src.explain.source import NO_LINE
from gradtape._src.explain.varied import Tried, dense, empty, joined
from gradtape._src.ops.array.shape import _stop_gradient
from gradtape._src.ops.math.arithmetic import subtract

WAYS = 8  # paths from a source to the target that are examined
AHEAD = 64  # steps that are recorded before a run


def flat_places(probe: Probe, source: int) -> list[Evidence]:
    """Return the ops at which a source's zero gradient became zero.

    Ops that close every path to the target come first, then the others; on a path, those nearer to the source come first. If a
    path is open, its contribution is cancelled by others.
    """
    ways = [_on_way(probe, way) for way in islice(_ways(probe, probe.sources[source]), WAYS)]
    if not all(ways) and (met := _cancelled(probe, source)).line is not NO_LINE:
        return [met]
    found: dict[Any, Evidence] = {}
    for place in [place for places in ways for place in reversed(places)]:
        found.setdefault((place.code, place.line), place)
    on_all = [key for key in found if all(any((p.code, p.line) == key for p in places) for places in ways)]
    ordered = [*on_all, *[key for key in found if key not in on_all]]
    return [found[key] for key in ordered] or [_cancelled(probe, source)]


Way = tuple[Any, Node, Entry]  # (the path so far or None, an input, the entry that takes it)


def _ways(probe: Probe, nodes: list[Node]) -> Iterator[list[tuple[Node, Entry]]]:
    """Yield paths as lists of (input, entry), from the target down to the source."""
    stack: list[tuple[Node, Way | None]] = [(node, None) for node in nodes if node in probe.total]
    while stack:
        node, way = stack.pop()
        if node not in probe.targets or way is None:
            stack += [(entry.node, (way, node, entry)) for entry in reversed(probe.leads_on(node)[:WAYS])]
            continue
        steps = []
        while way is not None:
            way, before, entry = way
            steps.append((before, entry))
        yield steps


def _on_way(probe: Probe, way: list[tuple[Node, Entry]]) -> list[Evidence]:
    """Return the ops of a path at which the cotangent becomes zero; after each, continue with a dense one."""
    places: list[Evidence] = []
    thinned: tuple[Node, Entry, Any] | None = None  # the entry at which some, but not all, elements became zero
    for node, entry, cotangent, passed in _passed(probe, way):
        if not np.any(array(passed)):
            blamed = thinned if thinned is not None and _hands_on(probe, node, entry, cotangent) else (node, entry, cotangent)
            place = of_zeros.first(Tried(probe, *blamed))
            assert place is not None
            # a cotangent of ones underflows again at later ops
            if not any(isinstance(p, Underflow) for p in places) or not isinstance(place, Underflow):
                places.append(place)
            thinned = None
        elif np.all(array(cotangent)) and not np.all(array(passed)):
            thinned = node, entry, cotangent
    return places


def _passed(probe: Probe, way: list[tuple[Node, Entry]]) -> Iterator[tuple[Node, Entry, Any, Any]]:
    """Yield each step of a path with the cotangent of its entry and the contribution to its input.

    After zeros the path continues with a dense cotangent. Several steps are recorded before each run, because a run costs more
    than an op.
    """
    cotangent: Any = ones_like(way[0][1].node)
    at, ahead = 0, 1
    while at < len(way):
        steps = []
        for node, entry in way[at : at + ahead]:
            if empty(node):  # a value without elements decides nothing: an earlier op removed them
                steps.append((node, entry, cotangent, None))
                cotangent = ones_like(node)
                continue
            passed = probe.contribution(entry, node, cotangent)
            if passed is None:
                way = way[: at + len(steps)]
                break
            steps.append((node, entry, cotangent, passed))
            cotangent = passed
        engine.flush()
        ahead = min(2 * ahead, AHEAD)
        for node, entry, came, passed in steps:
            at += 1
            if passed is not None:
                yield node, entry, came, passed
                if not np.any(array(passed)):
                    cotangent, ahead = dense(node), 1  # ones may cancel
                    break


def _hands_on(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> bool:
    """Return whether an op passes part of a dense cotangent to every element, so that the zeros come from before."""
    tried, passed = Tried(probe, node, entry, cotangent), probe.contribution(entry, node, dense(entry.node))
    return passed is not None and bool(np.all(array(passed))) and not (tried.adds_up or of_one_output(tried))


# -- contributions that cancel


def _meeting(probe: Probe, nodes: list[Node]) -> tuple[Entry | None, Literal["ways", "sides"]]:
    """Return the last op that uses a value whose contributions add up to 0, for the value nearest to the target.

    If several calls of one function use the value, it is the op that takes what they give, such as a difference with two "sides".
    """
    reads = [n for n in nodes if n in probe.total and np.any(array(probe.total[n]))]
    if len(reads) > 1 and (both := joined(probe, [{n} for n in reads])) is not None:
        return both, "sides"
    after = set(nodes)
    for entry in probe.entries:
        if any(i in after for i in entry.inputs):
            after.add(entry.node)
    between = [n for n in reversed([*nodes, *[entry.node for entry in probe.entries]]) if n in after and n in probe.total]
    for node, whole in [(n, whole) for whole in (True, False) for n in between]:  # where no value cancels, some elements may
        zero = array(probe.total[node]) == 0
        if np.all(zero) != whole or not np.any(zero):
            continue
        passed = [(entry, probe.contribution(entry, node, probe.total[entry.node])) for entry in probe.leads_on(node)]
        meeting = [entry for entry, given in passed if given is not None and np.any(array(given) * zero)]
        if meeting:  # a function that is called several times uses the value by one op
            alike = len({entry.node.op.type for entry in meeting}) == 1
            both = joined(probe, [{entry.node} for entry in meeting]) if alike else None
            return both or meeting[-1], "sides" if both is not None and both.node.op is subtract.op else "ways"
    return None, "ways"


def _cancelled(probe: Probe, source: int) -> Evidence:
    """Explain a sum of contributions that is zero: by a rounding op on another path if there is one."""
    seen = set(probe.sources[source])
    for entry in probe.entries:
        if any(i in seen for i in entry.inputs):
            seen.add(entry.node)
            stopped = any(user.node.op is _stop_gradient.op for user in probe.users.get(entry.node, ()))
            if Trait.STEPS in entry.node.op.traits and not stopped:
                return PiecewiseConstant(line_of(entry.node), entry.node.op.type, detour=True)
    last, how = _meeting(probe, probe.sources[source])
    if last is None:
        return Cancelled(NO_LINE)
    through = how == "ways" and sum(i in seen for i in last.inputs) > 1
    return Cancelled(line_of(last.node), last.node.op.type, how="through" if through else how)
