"""The ops at which a gradient that exists becomes zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradtape._src.autodiff.backward import Entry
from gradtape._src.autodiff.custom import CUSTOM
from gradtape._src.control.host import EAGER_PY_FUNC
from gradtape._src.core import engine, journal
from gradtape._src.core.journal import Line
from gradtape._src.core.program import Node, leaf
from gradtape._src.explain.breaks import Break
from gradtape._src.explain.nonfinite import from_values, given
from gradtape._src.explain.precision import Change, contribution_at, flat, instead, lost, underflow
from gradtape._src.explain.probe import Probe, array, like, ones_like, value
from gradtape._src.explain.source import NO_LINE

WAYS = 8  # so many ways from a source to the target are looked at
INACTIVE = {  # ops that hand an element on or leave it, and the code of what is left
    "Relu": "dead_relu", "Relu6": "dead_relu", "LeakyRelu": "dead_relu", "SelectV2": "where_side", "Maximum": "clipped",
    "Minimum": "clipped", "ClipByValue": "clipped",
}  # fmt: skip
AHEAD = 64  # steps that are recorded before they are run
SAME = {"Identity", "ReadVariableOp", "Cast", "Reshape", "ExpandDims", "Squeeze", "Transpose", "BroadcastTo"}
ROUNDING = {"Sign", "Floor", "Ceil", "Round", "Rint", "FloorDiv", "FloorMod", "TruncateMod", "Mod"}  # or what is left by it
RANDOM = ("Random", "StatelessRandom", "SeedOf")


def flat_places(probe: Probe, source: int) -> list[Break]:
    """Return the ops at which the gradient of a source, which is zero, became zero.

    First what closes every way to the target, then what closes some; on a way the first one from the source first. Where a way
    is open, what comes along it is cancelled by the others.
    """
    ways = [_on_way(probe, way) for way in _ways(probe, probe.sources[source])]
    if not all(ways) and (met := _cancelled(probe, source)).line is not NO_LINE:
        return [met]
    found: dict[Any, Break] = {}
    for place in [place for places in ways for place in reversed(places)]:
        found.setdefault((place.code, place.line), place)
    on_all = [key for key in found if all(any((p.code, p.line) == key for p in places) for places in ways)]
    ordered = [*on_all, *[key for key in found if key not in on_all]]
    return [found[key] for key in ordered] or [_cancelled(probe, source)]


Way = tuple[Any, Node, Entry]  # the way so far or None, an input, and the entry that takes it


def _ways(probe: Probe, nodes: list[Node]) -> Iterator[list[tuple[Node, Entry]]]:
    """Yield paths from the source's nodes to a target, as (input, entry), from the target down."""
    stack: list[tuple[Node, Way | None]] = [(node, None) for node in nodes if node in probe.total]
    count = 0
    while stack and count < WAYS:
        node, way = stack.pop()
        further = probe.leads_on(node)
        if node in probe.targets and way is not None:
            count += 1
            yield _downwards(way)
            continue
        stack += [(entry.node, (way, node, entry)) for entry in reversed(further[:WAYS])]


def _downwards(way: Way | None) -> list[tuple[Node, Entry]]:
    steps = []
    while way is not None:
        way, node, entry = way
        steps.append((node, entry))
    return steps


def _on_way(probe: Probe, way: list[tuple[Node, Entry]]) -> list[Break]:
    """Return the flat places of a path from the target down; after each the search continues with a cotangent of ones."""
    places: list[Break] = []
    thinned: tuple[Node, Entry, Any] | None = None  # where zeros came in that are not everywhere
    for node, entry, cotangent, passed in _passed(probe, way):
        if not np.any(array(passed)):
            blamed = thinned if thinned is not None and _hands_on(probe, node, entry, cotangent) else (node, entry, cotangent)
            place = _classified(probe, *blamed)
            if place.code != "underflow" or all(p.code != "underflow" for p in places):  # from ones it all fades once more
                places.append(place)
            thinned = None
        elif np.all(array(cotangent)) and not np.all(array(passed)):
            thinned = node, entry, cotangent
    return places


def _passed(probe: Probe, way: list[tuple[Node, Entry]]) -> Iterator[tuple[Node, Entry, Any, Any]]:
    """Yield each step of a path with the cotangent of its entry and the contribution to its input; after zeros go on with
    ones.

    Several steps are recorded before the first is run: a run costs more than an op.
    """
    cotangent: Any = ones_like(way[0][1].node)
    at, ahead = 0, 1
    while at < len(way):
        steps = []
        for node, entry in way[at : at + ahead]:
            if _empty(node):  # of no elements nothing can be said: what left none of them is to blame
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
                    cotangent, ahead = ones_like(node), 1
                    break


def _empty(node: Node) -> bool:
    return type(node.aval) is not tuple and value(node).size == 0


def _line(entry: Entry) -> Line:
    return entry.node.code, entry.node.offset


def _classified(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> Break:
    """Return the break at an op whose contribution is zero, or is so for some elements: what it is follows from trying."""
    tried = Tried(probe, node, entry, cotangent)
    factor = tried.factor
    makers = [probe.maker[factor]] if factor in probe.maker else []
    found = [from_values(probe, e) for e in (entry, *makers)]
    large = next((e for e in found if e is not None and not given(probe, e)), None)
    if large is not None and (makers or tried.changed(_finite)):
        return Break("overflow", _line(large), large.node.op.type, None, dtype=large.node.aval.type.name)
    code, detail = _kind(probe, tried)
    return Break(code, _line(entry), entry.node.op.type, None, **detail)


def _finite(node: Node, values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.ones((), values.dtype)) if node.aval.inexact else values


class Tried:
    """An op of the backward pass with other cotangents and inputs: which of these give `node` a contribution that is not zero.

    Where it is zero for some elements only, these are asked for.
    """

    def __init__(self, probe: Probe, node: Node, entry: Entry, cotangent: Any) -> None:
        self.probe, self.node, self.entry, self.cotangent = probe, node, entry, cotangent
        passed = probe.contribution(entry, node, cotangent)
        whole = None if passed is None else array(passed) == 0
        self._zero = whole if whole is not None and not whole.all() else None
        self.factor = self._factor()

    @property
    def all(self) -> bool:
        """Whether the contribution is zero for all elements."""
        return self._zero is None

    def _any(self, passed: Any) -> bool:
        if passed is None:
            return False
        found = array(passed)
        return bool(np.any(found if self._zero is None or found.shape != self._zero.shape else found[self._zero]))

    @property
    def adds_up(self) -> bool:
        """Whether the contribution is a sum that comes out at zero: of a cotangent with other shares it is another."""
        if type(self.entry.node.aval) is tuple or self.entry.node.op.impure:
            return False
        return self.given(like(self.cotangent, _uneven))

    def given(self, cotangent: Any) -> bool:
        """Return whether there is a contribution of another cotangent."""
        return self._any(self.probe.contribution(self.entry, self.node, cotangent))

    def changed(self, change: Change) -> bool:
        """Return whether there is a contribution of a dense cotangent where the inputs are changed."""
        return self._any(contribution_at(self.probe, self.node, self.entry, dense(self.entry.node), change))

    def _factor(self) -> Node | None:
        """Return the other input that is zero where it counts: with ones in its place there is a contribution."""
        others = [i for i in self.entry.inputs if i is not self.node and type(i.aval) is not tuple and i.aval.inexact]
        for other in others if self.entry.node.op.type not in INACTIVE and not self.given(dense(self.entry.node)) else ():
            if not np.all(value(other)) and self.changed(instead(other, np.ones_like)):
                return other
        return None

    @property
    def chooses(self) -> bool:
        """Whether the op only chooses among elements: where `node` is moved its values are these, or linear, or the same."""
        after, moved = self.entry.node, _elsewhere(self.node, value(self.node))
        if type(after.aval) is tuple:
            return after.op is not CUSTOM
        found = [self._result(moved), self._result(-moved)]
        there = [v for v in found if v is not None]
        if there and (np.isin(there[0], moved).all() or all(np.array_equal(v, value(after)) for v in there)):
            return True
        here, far = (
            contribution_at(self.probe, self.node, self.entry, dense(after), change)
            for change in (_as_it_is, instead(self.node, lambda v: moved))
        )
        if here is None or far is None:
            return False
        return bool(np.any(array(here))) and np.array_equal(array(here), array(far))

    def _result(self, moved: np.ndarray) -> np.ndarray | None:
        """Return the op's values with others for `node`; None for an op that ran by itself."""
        inputs = tuple([leaf(i.aval, moved) if i is self.node else i for i in self.entry.inputs])
        try:
            again: Any = engine.record(self.entry.node.op, inputs, self.entry.node.attrs)
            return value(again)
        except Exception:
            return None


def _elsewhere(node: Node, values: np.ndarray) -> np.ndarray:
    """Return other values of the common size, the same each time."""
    if not node.aval.inexact:
        return values
    return np.random.default_rng(0).normal(size=values.shape).astype(values.dtype)


def _as_it_is(node: Node, values: np.ndarray) -> np.ndarray:
    return values


def _uneven(values: np.ndarray) -> np.ndarray:
    return np.asarray(values * np.random.default_rng(1).uniform(1.0, 2.0, values.shape), values.dtype)


def dense(node: Node) -> Any:
    """Return a cotangent for a node that is nowhere zero, and nowhere the same."""
    return like(ones_like(node), lambda a: _uneven(a * (1 + 1j) if a.dtype.kind == "c" else a))


def _hands_on(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> bool:
    """Return whether an op gives all elements of an input a share of a dense cotangent: zeros were there before."""
    passed = probe.contribution(entry, node, dense(entry.node))
    return passed is not None and bool(np.all(array(passed))) and not Tried(probe, node, entry, cotangent).adds_up


def _kind(probe: Probe, tried: Tried) -> tuple[str, dict[str, Any]]:
    node, entry, cotangent = tried.node, tried.entry, tried.cotangent
    kind = entry.node.op.type
    if _empty(entry.node):
        return "masked_out", {"empty": True}
    if kind.removesuffix("Grad") in INACTIVE and kind.endswith("Grad") and node is entry.inputs[-1]:
        return "piecewise_constant", {"second": True}
    if kind == "Relu6" and (np.all(value(entry.node) >= 6) or _hard_sigmoid(probe, entry)):
        return "saturated", {"fraction": 1.0}
    code = INACTIVE.get(kind)
    least = bool(np.all(array(cotangent) >= 0))  # of the target: what is 0 can only make it larger
    if code in ("dead_relu", "clipped") and kind != "Minimum" and not np.any(value(entry.node)) and _all_zero(probe) and least:
        return code, {"fraction": 1.0, "met": True}
    if tried.all and (magnitude := underflow(probe, node, entry, cotangent)) is not None:
        return "underflow", {"magnitude": magnitude, "dtype": node.aval.type.name}
    if entry.inputs.count(node) > 1 and _opposed(probe, node, entry, cotangent):
        return "cancelled", {"opposed": True}
    if kind in ("Softmax", "LogSoftmax"):
        return _softmax(kind, value(entry.node))
    if code is None and tried.adds_up:
        return "cancelled", {"through": True}
    if code is not None:
        return _inactive(probe, code, node, entry)
    if entry.node.op is EAGER_PY_FUNC:
        return "left_library", {"how": "py_function"}
    if tried.factor is not None:
        return _by_factor(probe, tried.factor, entry)
    if tried.chooses or tried.given(dense(entry.node)):
        return "not_selected", {}
    if not tried.changed(_elsewhere) and entry.node.op is not CUSTOM:
        return "piecewise_constant", {}
    code = flat(probe, node, entry, cotangent)
    met = _all_zero(probe) and (code == "stationary" or "Entropy" in kind)
    return code, {"met": met, "dtype": node.aval.type.name, "fraction": 1.0}


def _inactive(probe: Probe, code: str, node: Node, entry: Entry) -> tuple[str, dict[str, Any]]:
    """Return the code of an op that leaves the elements that count, with the share of all that it leaves."""
    if code == "dead_relu":
        return code, {"fraction": float(np.mean(value(entry.node) <= 0))}
    if code == "clipped":
        taken = value(entry.node) != np.broadcast_to(value(node), entry.node.aval.shape)
        others = [i for i in entry.inputs if i is not node]
        live = any(i in probe.maker or np.unique(value(i)).size > 1 for i in others)
        return code, {"fraction": float(np.mean(taken)), "live": live, "zero": not any(np.any(value(i)) for i in others)}
    condition = value(entry.inputs[0])
    if _comes_from(probe, entry.inputs[0], lambda e: e.node.op.type.startswith(RANDOM)):
        return "dropped_out", {"fraction": float(np.mean(~condition))}
    taken = np.mean(condition) if node is entry.inputs[1] else np.mean(~condition)
    return code, {"fraction": float(1 - taken)}


def _hard_sigmoid(probe: Probe, entry: Entry) -> bool:
    """Return whether a Relu6 is that of a hard sigmoid, relu6(x + 3) / 6."""
    maker = probe.maker.get(entry.inputs[0])
    if maker is None or maker.node.op.type != "AddV2":
        return False
    return any(i not in probe.maker and np.all(value(i) == 3) for i in maker.inputs)


def _all_zero(probe: Probe) -> bool:
    """Return whether the targets are 0, all of them."""
    return not any(np.any(value(node)) for node in probe.targets if type(node.aval) is not tuple)


def _opposed(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> bool:
    """Return whether an op takes a value several times, and what comes back along them adds up to 0: `x - x`, `x / x`."""
    first = contribution_at(probe, node, entry, cotangent, _as_it_is, apart=True)
    return first is not None and bool(np.any(array(first)))


def _softmax(kind: str, outputs: np.ndarray) -> tuple[str, dict[str, Any]]:
    """Explain a flat softmax: one output is 1, or its gradients are alike, as its outputs add up to 1."""
    shares = np.exp(outputs) if kind == "LogSoftmax" else outputs
    alone = outputs.shape[-1] == 1
    flat = alone or np.all((shares < 1e-6) | (shares > 1 - 1e-6))
    return ("saturated" if flat else "cancelled"), {"fraction": 1.0, "alone": alone}


def _by_factor(probe: Probe, factor: Node, entry: Entry) -> tuple[str, dict[str, Any]]:
    """Return the code of a product with a factor that is zero where it counts."""
    values = value(factor)
    if _comes_from(probe, factor, lambda e: e.node.op.type.startswith(RANDOM)) and not np.all(values):
        return "dropped_out", {"fraction": float(np.mean(values == 0))}
    low = lost(probe, factor)
    if low is not None:
        return "underflow", {"magnitude": low, "dtype": factor.aval.type.name}
    binary = values.size > 1 and np.any(values) and np.all((values == 0) | (values == 1))
    mask = _comes_from(probe, factor, _masks)
    detail = {"fraction": float(np.mean(values == 0))}
    return ("masked_out", detail) if binary or mask else ("zero_factor", detail | _named(probe, factor, entry))


def _named(probe: Probe, factor: Node, entry: Entry) -> dict[str, Any]:
    """Return the place of a factor among the inputs, the origin of the value that it only copies, and the line that made it."""
    at = entry.inputs.index(factor)
    while (maker := probe.maker.get(factor)) is not None and maker.node.op.type in SAME:
        factor = maker.inputs[0]
    line = (factor.code, factor.offset) if maker is None else _line(maker)
    origin = journal.origin_of(factor) if maker is None else None
    return {"at": at, "origin": origin, "made": line, "traced": factor in probe.traced}


def _masks(entry: Entry) -> bool:
    kinds = [i.aval.dtype.kind for i in entry.inputs if type(i.aval) is not tuple]
    return "b" in kinds or entry.node.op.type == "SequenceMask"


def _comes_from(probe: Probe, node: Node, holds: Any) -> bool:
    stack, seen = [node], {node}
    while stack and len(seen) < 1000:
        entry = probe.maker.get(stack.pop())
        if entry is None:
            continue
        if holds(entry):
            return True
        fresh = [i for i in entry.inputs if i not in seen]
        seen.update(fresh)
        stack += fresh
    return False


# -- contributions that cancel


def _meeting(probe: Probe, nodes: list[Node]) -> Entry | None:
    """Return the last op that uses the value, nearest to the target, whose contributions add up to 0."""
    after = set(nodes)
    for entry in probe.entries:
        if any(i in after for i in entry.inputs):
            after.add(entry.node)
    for node in reversed([*nodes, *[entry.node for entry in probe.entries]]):
        if node not in after or node not in probe.total or np.any(array(probe.total[node])):
            continue
        passed = [(entry, probe.contribution(entry, node, probe.total[entry.node])) for entry in probe.leads_on(node)]
        meeting = [entry for entry, given in passed if given is not None and np.any(array(given))]
        if meeting:
            return meeting[-1]
    return None


def _cancelled(probe: Probe, source: int) -> Break:
    """Explain a sum of contributions that is zero, by a rounding op beside them if there is one."""
    seen = set(probe.sources[source])
    for entry in probe.entries:
        if any(i in seen for i in entry.inputs):
            seen.add(entry.node)
            if entry.node.op.type in ROUNDING:
                return Break("piecewise_constant", _line(entry), entry.node.op.type)
    last = _meeting(probe, probe.sources[source])
    return Break("cancelled", NO_LINE) if last is None else Break("cancelled", _line(last), last.node.op.type)
