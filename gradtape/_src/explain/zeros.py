"""The ops at which a gradient that exists becomes zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradtape._src.autodiff.backward import Entry
from gradtape._src.control.host import EAGER_PY_FUNC
from gradtape._src.core import engine, journal
from gradtape._src.core.journal import Line
from gradtape._src.core.program import Node
from gradtape._src.explain.breaks import Break
from gradtape._src.explain.nonfinite import from_values, given
from gradtape._src.explain.precision import contribution_at, flat, lost, underflow
from gradtape._src.explain.probe import Probe, array, like, ones_like, value
from gradtape._src.explain.source import NO_LINE

WAYS = 8  # so many ways from a source to the target are looked at
RELUS = {"Relu", "Relu6", "LeakyRelu"}
RELU_GRADS = {"ReluGrad", "Relu6Grad", "LeakyReluGrad"}
SATURATING = {
    "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Softplus", "Erf", "Erfc", "Elu", "Selu", "Gelu", "Silu", "Softsign", "Atan",
    "SigmoidCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits",
}  # fmt: skip
SELECTING = {
    "GatherV2", "GatherNd", "StridedSlice", "Slice", "Pack", "ConcatV2", "Unpack", "Split", "SplitV", "Max", "Min", "TopKV2",
    "Complex", "Real", "Imag",
    "MaxPool", "TakeRows", "TakeAlongAxis", "SegmentMax", "SegmentMin", "Pad", "PadV2", "MatrixBandPart", "DynamicStitch",
}  # fmt: skip
AHEAD = 64  # steps that are recorded before they are run
CHOOSING = SELECTING | RELUS | {"SelectV2", "Maximum", "Minimum", "ClipByValue"}  # hand elements on, or leave them
JOINING = {"Pack", "ConcatV2", "Pad", "PadV2", "DynamicStitch", "TensorListSetItem"}
FACTORS = {"Mul", "MatMul", "BatchMatMulV2", "BatchMatMulV3", "RealDiv", "Einsum", "Conv2D", "Conv3D", "DepthwiseConv2dNative"}
SAME = {"Identity", "ReadVariableOp", "Cast", "Reshape", "ExpandDims", "Squeeze", "Transpose", "BroadcastTo"}
STEPS = {"Sign", "Floor", "Ceil", "Round", "Rint", "FloorDiv"}
REMAINDERS = {"FloorMod", "TruncateMod", "Mod"}  # what is left of a value without them is a rounding
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
    places = []
    thinned: tuple[Node, Entry, Any] | None = None  # where zeros came in that are not everywhere
    for node, entry, cotangent, passed in _passed(probe, way):
        if not np.any(array(passed)):
            blamed = thinned if entry.node.op.type in JOINING and thinned is not None else (node, entry, cotangent)
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
    kind = entry.node.op.type
    makers = [probe.maker[i] for i in entry.inputs if i is not node and i in probe.maker] if kind in FACTORS else []
    found = [] if kind in CHOOSING else [from_values(probe, e) for e in (entry, *makers)]
    large = next((e for e in found if e is not None and not given(probe, e)), None)
    if large is not None:
        return Break("overflow", _line(large), large.node.op.type, None, dtype=large.node.aval.type.name)
    code, detail = _kind(probe, node, entry, cotangent)
    return Break(code, _line(entry), kind, None, **detail)


def _kind(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> tuple[str, dict[str, Any]]:
    kind = entry.node.op.type
    if _empty(entry.node):
        return "masked_out", {"empty": True}
    if kind in RELU_GRADS and node is entry.inputs[-1]:
        return "piecewise_constant", {"second": True}
    if kind == "Relu6" and (np.all(value(entry.node) >= 6) or _hard_sigmoid(probe, entry)):
        return "saturated", {"fraction": 1.0}
    positive = bool(np.all(array(cotangent) >= 0))  # what is 0 is the least that the target can be
    if kind in RELUS | {"Maximum"} and not np.any(value(entry.node)) and _all_zero(probe) and positive:
        return ("clipped" if kind == "Maximum" else "dead_relu"), {"fraction": 1.0, "met": True}
    if kind not in SELECTING and (magnitude := underflow(probe, node, entry, cotangent, kind in SATURATING)) is not None:
        return "underflow", {"magnitude": magnitude, "dtype": node.aval.type.name}
    if entry.inputs.count(node) > 1 and _opposed(probe, node, entry, cotangent):
        return "cancelled", {"opposed": True}
    if kind not in SELECTING | {"Softmax", "LogSoftmax"} and _adds_up(probe, node, entry, cotangent):
        return "cancelled", {"through": True}
    if kind in RELUS:
        return "dead_relu", {"fraction": float(np.mean(value(entry.node) <= 0))}
    if kind in ("Softmax", "LogSoftmax"):
        return _softmax(kind, value(entry.node))
    if kind in SATURATING:
        return "saturated", {"fraction": 1.0, "met": "Entropy" in kind and _all_zero(probe)}
    if kind == "SelectV2":
        condition = value(entry.inputs[0])
        if _comes_from(probe, entry.inputs[0], lambda e: e.node.op.type.startswith(RANDOM)):
            return "dropped_out", {"fraction": float(np.mean(~condition))}
        taken = np.mean(condition) if node is entry.inputs[1] else np.mean(~condition)
        return "where_side", {"fraction": float(1 - taken)}
    if kind in ("Maximum", "Minimum", "ClipByValue"):
        return "clipped", {"fraction": float(np.mean(value(entry.node) != np.broadcast_to(value(node), entry.node.aval.shape)))}
    if entry.node.op is EAGER_PY_FUNC:
        return "left_library", {"how": "py_function"}
    if kind in STEPS:
        return "piecewise_constant", {}
    if kind in FACTORS:
        return _by_factor(probe, node, entry)
    if kind in SELECTING:
        return "not_selected", {}
    code = flat(probe, node, entry, cotangent)
    return code, {"met": _all_zero(probe)} if code == "stationary" else {"dtype": node.aval.type.name, "fraction": 1.0}


def _hard_sigmoid(probe: Probe, entry: Entry) -> bool:
    """Return whether a Relu6 is that of a hard sigmoid, relu6(x + 3) / 6."""
    maker = probe.maker.get(entry.inputs[0])
    if maker is None or maker.node.op.type != "AddV2":
        return False
    return any(i not in probe.maker and np.all(value(i) == 3) for i in maker.inputs)


def _all_zero(probe: Probe) -> bool:
    """Return whether the targets are 0, all of them."""
    return not any(np.any(value(node)) for node in probe.targets if type(node.aval) is not tuple)


def _adds_up(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> bool:
    """Return whether a contribution of 0 is a sum that comes out at 0: of a cotangent with other shares it is another."""
    if type(entry.node.aval) is tuple or entry.node.op.impure:
        return False
    given = array(cotangent)
    uneven = like(cotangent, lambda a: a * np.linspace(1.0, 2.0, given.size).reshape(given.shape).astype(a.dtype))
    passed = probe.contribution(entry, node, uneven)
    return passed is not None and bool(np.any(array(passed)))


def _opposed(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> bool:
    """Return whether an op takes a value several times, and what comes back along them adds up to 0: `x - x`, `x / x`."""
    first = contribution_at(probe, node, entry, cotangent, None, apart=True)
    return first is not None and bool(np.any(array(first)))


def _softmax(kind: str, outputs: np.ndarray) -> tuple[str, dict[str, Any]]:
    """Explain a flat softmax: one output is 1, or its gradients are alike, as its outputs add up to 1."""
    shares = np.exp(outputs) if kind == "LogSoftmax" else outputs
    alone = outputs.shape[-1] == 1
    flat = alone or np.all((shares < 1e-6) | (shares > 1 - 1e-6))
    return ("saturated" if flat else "cancelled"), {"fraction": 1.0, "alone": alone}


def _by_factor(probe: Probe, node: Node, entry: Entry) -> tuple[str, dict[str, Any]]:
    factor = next((i for i in entry.inputs if i is not node), node)
    if factor is node:
        return "stationary", {}
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
            if entry.node.op.type in STEPS | REMAINDERS:
                return Break("piecewise_constant", _line(entry), entry.node.op.type)
    last = _meeting(probe, probe.sources[source])
    return Break("cancelled", NO_LINE) if last is None else Break("cancelled", _line(last), last.node.op.type)
