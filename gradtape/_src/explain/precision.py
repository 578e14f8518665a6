"""Zeros made by the arithmetic, not by the mathematics: underflow and flat tails, as opposed to stationary points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradtape._src.autodiff.backward import Entry
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.explain.probe import Probe, array, like, ones_like, value

FAR, STEEPEST = 50.0, 2.0  # beyond `FAR` a function that flattens has no derivative above `STEEPEST`
NEAR = 2.0**-5  # relative distance at which a zero derivative is checked again


Change = Callable[[Node, np.ndarray], np.ndarray]  # returns other values for an input of an op


def underflow(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> float | None:
    """Return the size of a value that is zero only because the dtype has no smaller number; None for a true zero.

    The tests are a larger cotangent, and the same op in float64. A function that flattens out by itself is not an underflow.
    """
    given = array(cotangent)
    largest = float(np.max(np.abs(given), initial=0.0))
    if not largest or not np.isfinite(largest):
        return None
    scale = 2.0 ** (8 - int(np.log2(largest)))
    if scale > 1:
        size = _size(probe.contribution(entry, node, like(cotangent, lambda a: wide(a) * scale)))
        if size:
            return size / scale
    if type(entry.node.aval) is tuple or np.any(value(entry.node)) or _flattens(probe, node, entry):
        return None  # a nonzero value, or a function that flattens by itself, is no underflow
    return _size(contribution_at(probe, node, entry, cotangent, in_wide)) or lost(probe, entry.node)


def _flattens(probe: Probe, node: Node, entry: Entry) -> bool:
    """Return whether an op of one input saturates, or grows linearly: its derivative is small at large positive inputs."""
    if len(entry.inputs) != 1:
        return "Entropy" in entry.node.op.type
    far = contribution_at(probe, node, entry, ones_like(entry.node), lambda i, v: np.maximum(8 * np.abs(v), FAR).astype(v.dtype))
    return far is not None and bool(np.all(np.abs(array(far)) <= STEEPEST))


def instead(node: Node, change: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Return the Change of one input that leaves the others unchanged."""
    return lambda i, values: change(values) if i is node else values


def wide(values: np.ndarray) -> np.ndarray:
    """Return floating values in float64 and complex ones in complex128; other values are returned unchanged."""
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64) if values.dtype.kind in "cfV" else values


def as_it_is(node: Node, values: np.ndarray) -> np.ndarray:
    return values


def in_wide(node: Node, values: np.ndarray) -> np.ndarray:
    return wide(values)


def finite(node: Node, values: np.ndarray, number: float = 1.0) -> np.ndarray:
    """Return values with a number in place of those that are not finite."""
    return np.where(np.isfinite(values), values, np.full((), number, values.dtype)) if node.aval.inexact else values


def lost(probe: Probe, node: Node) -> float | None:
    """Return the size of an op's zero value if it is computed in float64; None if it is zero in float64, too."""
    entry = probe.maker.get(node)
    if entry is None or type(node.aval) is tuple or node.aval.dtype.kind not in "fV" or np.any(value(node)):
        return None
    found = in_float64(entry, as_it_is)
    return None if found is None else float(np.max(np.abs(found), initial=0.0)) or None


def in_float64(entry: Entry, change: Change) -> np.ndarray | None:
    """Return the value of an op with other inputs, computed in float64; None if the op does not accept that."""
    try:
        with xla.outside():
            inputs = [wide(change(i, value(i))) for i in entry.inputs]
            return wide(np.asarray(entry.node.op.run(inputs, entry.node.attrs)))
    except Exception:  # the op does not accept float64
        return None


def flat(probe: Probe, node: Node, entry: Entry, cotangent: Any) -> str:
    """Classify a derivative of 0: "stationary", "underflow" to 0, or "saturated" at another value.

    A smooth function is flat at single points only. A derivative that is 0 in a neighbourhood was made so by the arithmetic.
    """
    if type(node.aval) is tuple or type(entry.node.aval) is tuple or not np.any(array(cotangent)):
        return "stationary"
    for side in (1.0, -1.0):
        moved = contribution_at(probe, node, entry, cotangent, instead(node, partial(_moved, share=side * NEAR)))
        if moved is None or np.any(array(moved)):
            return "stationary"
    return "saturated" if np.any(value(entry.node)) or _flattens(probe, node, entry) else "underflow"


def _moved(values: np.ndarray, share: float) -> np.ndarray:
    """Return values moved by a share of their size."""
    before = wide(values)
    return np.asarray(before + share * np.maximum(np.abs(before), 1.0), values.dtype)


def again_with(entry: Entry, change: Change, apart: bool = False) -> Entry:
    """Record an op again with other inputs; with `apart`, an input that occurs several times becomes separate inputs."""
    inputs: list[Node] = []
    for k, i in enumerate(entry.inputs):
        if i in entry.inputs[:k] and not apart:
            inputs.append(inputs[entry.inputs.index(i)])
        else:
            inputs.append(engine.constant(np.asarray(change(i, value(i)))))
    return Entry(engine.record(entry.node.op, tuple(inputs), entry.node.attrs), tuple(inputs), entry.rule)


def result_of(entry: Entry, change: Change) -> np.ndarray | None:
    """Return an op's values for other inputs; None for an op that cannot be recorded again."""
    try:
        return floats(again_with(entry, change).node)
    except Exception:
        return None


def floats(node: Node) -> np.ndarray:
    """Return the values of a result; of several results, the floating ones in one flat array."""
    if type(node.aval) is not tuple:
        return value(node)
    parts = zip(engine.value(node), node.aval, strict=True)
    return np.concatenate([np.zeros(0), *[np.asarray(part).ravel() for part, aval in parts if aval.inexact]])


def contribution_at(probe: Probe, node: Node, entry: Entry, cotangent: Any, change: Change, apart: bool = False) -> Any:
    """Return the contribution of an op with other inputs; None if the op does not accept them.

    With `apart` only the first of the inputs that are `node` counts.
    """
    try:
        again = again_with(entry, change, apart)
        place = again.inputs[entry.inputs.index(node)]
        if type(again.node.aval) is not tuple:
            cotangent = EagerTensor(leaf(again.node.aval, np.asarray(array(cotangent), again.node.aval.dtype)))
        return probe.contribution(again, place, cotangent)
    except Exception:  # the op does not accept such an input
        return None


def _size(cotangent: Any) -> float:
    size = 0.0 if cotangent is None else float(np.max(np.abs(array(cotangent)), initial=0.0))
    return size if np.isfinite(size) else 0.0
