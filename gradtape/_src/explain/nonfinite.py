"""The origin of a NaN or an infinity in a gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gradtape._src.autodiff.backward import Entry
from gradtape._src.core.engine import engine
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Origin
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, Node, leaf
from gradtape._src.core.programs.traits import Trait
from gradtape._src.explain.codes.nonfinite import Assigned, Computed, Given, InfOrigin, NanOrigin, NonFinite, Written
from gradtape._src.explain.edges import bound_of
from gradtape._src.explain.precision import contribution_at, finite, in_float64, in_wide, result_of, wide
from gradtape._src.explain.probe import Probe, array, like, line_of, value
from gradtape._src.explain.source import NO_LINE
from gradtape._src.ops.array.cast import _cast
from gradtape._src.ops.linalg.decompositions import DIGITS, _eig, _eigh, _svd

SPECTRA: dict[Op, str] = {_eigh.op: "eigenvalue", _eig.op: "eigenvalue", _svd.op: "singular value"}
Kind = type[NanOrigin] | type[InfOrigin]
MOST = 100  # values that are examined on the way back to an infinity


def origin(probe: Probe, source: int, held_by: Callable[[Origin], str | None]) -> NonFinite:
    """Return the op whose NaN or infinity reaches the gradient of a source, which is not finite.

    `held_by` returns the name of the variable that holds or held a value.

    The search goes from the gradient towards the target, each time to a contribution that is not finite. It ends at an entry
    whose cotangent is finite, or does not matter without its non-finite elements. If that entry's forward values are not finite,
    they are followed back in the same way.
    """
    nodes = [n for n in probe.sources[source] if n in probe.total and _bad(array(probe.total[n])).any()]
    kind = NanOrigin if any(np.isnan(array(probe.total[n])).any() for n in nodes) else InfOrigin
    node = nodes[0]
    seen: set[Node] = set()
    while True:
        seen.add(node)
        step = _guilty(probe, node)
        if step is None:
            return kind(NO_LINE)
        entry, upstream = step
        if not upstream or entry.node in seen:
            break
        node = entry.node
    forward = from_values(probe, entry)
    if forward is None and _overflows(probe, node, entry) and (made := _made_bad(probe)):  # the target itself is too large
        forward = from_values(probe, made[0])
    forward = _behind(probe, entry if forward is None else forward) or forward
    guilty = entry if forward is None else forward
    told = _told(probe, guilty, kind, forward is not None, held_by, _overflows(probe, node, guilty))
    return replace(told, masked=not any(map(_bad_value, probe.targets)))


def origin_of_target(probe: Probe, held_by: Callable[[Origin], str | None]) -> NonFinite | None:
    """Return the op that made the target NaN or infinite although its gradients are finite; None if no recorded op did."""
    made = _made_bad(probe)
    if not made:
        return None
    target, guilty = made[0].node, from_values(probe, made[0]) or made[0]
    kind = NanOrigin if _has_nan(target) else InfOrigin
    return replace(_told(probe, guilty, kind, True, held_by, _overflows(probe, target, guilty)), reaches=True)


def _behind(probe: Probe, entry: Entry) -> Entry | None:
    """Return the op whose infinity became a finite value that a later op cannot take, as in 1 / infinity = 0; else None."""
    waiting, seen = [i for i in entry.inputs if not _bad_value(i)], set(entry.inputs)
    if len(waiting) < len(entry.inputs):
        return None
    while waiting:
        node = waiting.pop()
        maker = probe.maker.get(node)
        if maker is None or len(seen) > MOST or type(maker.node.aval) is tuple:
            continue
        bad = [i for i in maker.inputs if _bad_value(i)]
        if bad and Trait.INVERTS in maker.node.op.traits:
            return from_values(probe, probe.maker.get(bad[-1]) or maker)
        waiting += [i for i in maker.inputs if i not in seen and (i not in bad or _takes_parts(maker.node.op))]
        seen.update(maker.inputs)
    return None


def _takes_parts(op: Op) -> bool:
    """Return whether an op may select finite elements beside non-finite ones."""
    return Trait.TAKES in op.traits or (Trait.RENAMES in op.traits and not op.of_shapes)


def _of_meant(probe: Probe, leaves: list[Node]) -> Entry | None:
    """Return the op that made a NaN from intended infinities, as in a mask; None if the data has a NaN."""
    entry = next((made for made in _made_bad(probe) if _has_nan(made.node)), None)
    if entry is None or not leaves or any(map(_has_nan, leaves)):
        return None
    while (before := next((i for i in entry.inputs if _has_nan(i) and i in probe.maker), None)) is not None:
        entry = probe.maker[before]
    return entry


def _has_nan(node: Node) -> bool:
    return _bad_value(node) and bool(np.isnan(wide(value(node))).any())


def _told(
    probe: Probe, guilty: Entry, kind: Kind, forward: bool, held_by: Callable[[Origin], str | None], overflows: bool
) -> NonFinite:
    """Return the break at an op, or at the line or variable from which its non-finite input came."""
    leaves = given(probe, guilty)
    for entered in leaves:
        name = held_by(journal.origin_of(entered))
        if name is not None and entered.code is not None:
            return kind(line_of(entered), how=Assigned(name))
    made = next((entered for entered in leaves if probe.made_under_tape(entered)), None)
    meant = _of_meant(probe, leaves) if kind is NanOrigin and guilty.node.op.broadcasting else None  # masks do not enter products
    if meant is not None and (made is None or not meant.node.op.broadcasting):
        return kind(line_of(meant.node), meant.node.op.type, how=Computed(True))
    if made is not None:
        return kind(line_of(made), how=Written(made.aval.type.name, _has_nan(made)))
    at = line_of(guilty.node), guilty.node.op.type
    if leaves:
        since = next((line_of(n) for n in leaves if n.code is not None), NO_LINE)
        return kind(*at, how=Given(since, guilty.inputs.index(leaves[0]), _zeroed(probe, leaves[0])))
    bound = bound_of(probe, guilty)
    zero = None if bound is None else _of_zeros(probe, guilty.inputs[bound.at], held_by)
    equal = None if forward else _equal_in_spectrum(guilty)
    data = bound.words if bound is not None and forward and guilty.inputs[bound.at] not in probe.active else None
    dtype = guilty.node.aval.type.name if overflows else None
    return kind(*at, how=Computed(forward, dtype, equal, zero, data), bound=bound)


def _of_zeros(probe: Probe, node: Node | None, held_by: Callable[[Origin], str | None]) -> str | None:
    """Return the name of the variable whose zeros make a value all zeros; None for other values."""
    while node is not None and not np.any(value(node)):
        if (name := held_by(journal.origin_of(node))) is not None:
            return name
        inputs = probe.maker[node].inputs if node in probe.maker else ()
        node = next((i for i in inputs if type(i.aval) is not tuple and i.aval.inexact and not np.any(value(i))), None)
    return None


def _zeroed(probe: Probe, entered: Node) -> bool:
    """Return whether the targets are finite, and the same, whatever stands in the place of a value's non-finite elements."""
    found: list[list[np.ndarray]] = []
    for number in (1.0, 2.0):
        now = {entered: leaf(entered.aval, finite(entered, value(entered), number))}
        try:
            for entry in probe.entries:
                if entry.node.aval.inexact and not now.keys().isdisjoint(entry.inputs):
                    now[entry.node] = engine.record(entry.node.op, tuple([now.get(i, i) for i in entry.inputs]), entry.node.attrs)
        except Exception:  # an op that cannot be recorded again, or gives several results
            return False
        found.append([value(now[target]) for target in probe.targets if target in now])
    return bool(found[0]) and all(np.isfinite(a).all() and np.array_equal(a, b) for a, b in zip(*found, strict=True))


def _equal_in_spectrum(entry: Entry) -> str | None:
    """Return the eigenvalues or singular values of a decomposition that are equal to rounding, or zero, in words; else None."""
    name, found = SPECTRA.get(entry.node.op.plain), engine.value(entry.node)
    if name is None:
        return None
    spectra = np.asarray(found[0] if type(entry.node.aval) is tuple else found)
    rounding = DIGITS * float(np.finfo(np.promote_types(spectra.dtype, np.float32)).eps)
    for values in spectra.reshape(-1, spectra.shape[-1]):
        near = np.abs(values[:, None] - values) <= rounding * np.abs(values).max(initial=0.0)
        if (pairs := np.argwhere(np.triu(near, 1))).size:
            return f"{name}s {pairs[0][0] + 1} and {pairs[0][1] + 1} are equal"
        if name == "singular value" and values[-1] <= rounding * values[0]:
            return f"{name} {len(values)} is 0"
    return None


def given(probe: Probe, entry: Entry) -> list[Node]:
    """Return the non-finite inputs of an op that no recorded op computed."""
    return [i for i in entry.inputs if _bad_value(i) and _op_of(probe, i) is None]


def _overflows(probe: Probe, node: Node, entry: Entry) -> bool:
    """Return whether an op, or its gradient for `node`, is infinite in its dtype but finite in float64."""
    if type(entry.node.aval) is tuple or entry.node.aval.dtype == np.float64:
        return False
    if _bad_value(entry.node) and entry.node.op.plain is _cast.op:
        return not any(map(_bad_value, entry.inputs))
    if _bad_value(entry.node):
        values = in_float64(entry, finite)  # inputs that are not finite overflowed before
        return values is not None and not _bad(values).any()
    passed = contribution_at(probe, node, entry, probe.total[entry.node], in_wide) if entry.node in probe.total else None
    return passed is not None and not _bad(array(passed)).any()


def _made_bad(probe: Probe) -> list[Entry]:
    """Return the recorded ops that computed the targets which are not finite."""
    return [probe.maker[target] for target in probe.targets if target in probe.maker and _bad_value(target)]


def _guilty(probe: Probe, node: Node) -> tuple[Entry, bool] | None:
    """Return `(entry, whether the cotangent of its result is to blame)` for a node with a non-finite cotangent."""
    for entry in probe.leads_on(node):
        given = probe.total[entry.node]
        result = probe.contribution(entry, node, given)
        if result is None or not _bad(array(result)).any():
            continue
        if not _bad(array(given)).any():
            return entry, False
        if entry.node.op is ELEMENT:
            return entry, True
        cleaned = probe.contribution(entry, node, like(given, lambda a: np.where(np.isfinite(a), a, 0)))
        reaches = cleaned is None or bool((_bad(array(result)) & ~_bad(array(cleaned))).any())
        return entry, reaches
    return None


def _bad(values: np.ndarray) -> np.ndarray:
    return np.asarray(~np.isfinite(values))


def _bad_value(node: Node) -> bool:
    return type(node.aval) is not tuple and node.aval.inexact and bool(_bad(wide(value(node))).any())


def from_values(probe: Probe, entry: Entry) -> Entry | None:
    """Return the first op of the forward pass whose non-finite value reaches the entry's residuals; None if there is none."""
    current = next((n for n in [*entry.inputs, entry.node] if _bad_value(n)), None)
    if current is None:
        return None
    maker = _op_of(probe, current)
    while maker is not None:
        bad = list(dict.fromkeys([i for i in maker.inputs if _bad_value(i)]))
        passing = next((i for i in bad if _matters(maker, [i])), None)
        if passing is None and len(bad) > 1 and _matters(maker, bad):  # each of them alone suffices
            passing = bad[0]
        before = None if passing is None else _op_of(probe, passing)
        if before is None:
            break
        maker = before
    return maker


def _op_of(probe: Probe, node: Node) -> Entry | None:
    """Return the recorded op that computed a value. For one of several results it is the op that computed all of them."""
    maker = probe.maker.get(node)
    return probe.maker.get(maker.inputs[0]) if maker is not None and maker.node.op is ELEMENT else maker


def _matters(entry: Entry, nodes: list[Node]) -> bool:
    """Return whether non-finite inputs make the result non-finite; a `where` may mask them."""
    if type(entry.node.aval) is tuple:
        return True
    again = result_of(entry, lambda i, values: finite(i, values) if i in nodes else values)
    return again is None or bool((_bad(value(entry.node)) & ~_bad(again)).any())
