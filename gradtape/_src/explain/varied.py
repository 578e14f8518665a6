"""One op of the backward pass, tried with other values, in order to find out why its contribution is zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal

import numpy as np

from gradtape._src.autodiff.backward import Entry, Parts
from gradtape._src.autodiff.custom import CUSTOM
from gradtape._src.core.base.reaching import reached
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.explain.precision import Change, as_it_is, contribution_at, floats, instead, result_of
from gradtape._src.explain.probe import Probe, array, like, line_of, ones_like, value

MOST = 1000  # values that are examined on the way back


def empty(node: Node) -> bool:
    """Return whether a value has no elements."""
    return type(node.aval) is not tuple and value(node).size == 0


class Tried:
    """An op of the backward pass, applied to other cotangents and inputs to see which give `node` a nonzero contribution.

    If only some elements of the contribution are zero, only those count.
    """

    def __init__(self, probe: Probe, node: Node, entry: Entry, cotangent: Any) -> None:
        self.probe, self.node, self.entry, self.cotangent = probe, node, entry, cotangent
        passed = probe.contribution(entry, node, cotangent)
        zero = None if passed is None else array(passed) == 0
        self._zero = None if zero is None or zero.all() else zero
        self.dense = like(cotangent, _full)  # a nonzero cotangent for the results that the target uses
        self.kind = entry.node.op.type
        self.leaves = self._leaves()
        self.factor = self._factor()
        self.at = line_of(entry.node), self.kind

    @property
    def met(self) -> bool:
        """Whether all targets are 0."""
        return not any(np.any(value(node)) for node in self.probe.targets if type(node.aval) is not tuple)

    def comes_from(self, node: Node, holds: Callable[[Entry], bool]) -> bool:
        """Return whether a value depends on an op for which `holds` is true, within the limit of the search."""
        maker = self.probe.maker
        before = reached([node], lambda n: maker[n].inputs if n in maker else ())
        return any(holds(maker[n]) for n in islice(before, MOST) if n in maker)

    @property
    def all(self) -> bool:
        """Whether the contribution is zero for all elements."""
        return self._zero is None

    def _any(self, found: np.ndarray | None) -> bool:
        if found is None:
            return False
        return bool(np.any(found if self._zero is None or found.shape != self._zero.shape else found[self._zero]))

    @property
    def adds_up(self) -> bool:
        """Whether the contribution is a sum whose terms cancel: another weighting of the cotangent makes it nonzero."""
        if self.entry.node.op.impure:
            return False
        return self.given(like(self.cotangent, _uneven))

    def given(self, cotangent: Any) -> bool:
        """Return whether another cotangent gives a contribution."""
        passed = self.probe.contribution(self.entry, self.node, cotangent)
        return self._any(None if passed is None else array(passed))

    def changed(self, change: Change) -> bool:
        """Return whether a dense cotangent gives a contribution after a change of the inputs."""
        return self._any(self._passed(change))

    def _passed(self, change: Change) -> np.ndarray | None:
        """Return the contribution for a dense cotangent after a change of the inputs; None if the op does not accept them."""
        passed = contribution_at(self.probe, self.node, self.entry, self.dense, change)
        return None if passed is None else array(passed)

    def _factor(self) -> Node | None:
        """Return the other input whose zeros cause the zero contribution: with ones instead it is nonzero."""
        others = [i for i in self.entry.inputs if i is not self.node and type(i.aval) is not tuple and i.aval.inexact]
        for other in others if not self.leaves and not self.given(self.dense) else ():
            if not np.all(value(other)) and self.changed(instead(other, np.ones_like)):
                return other
        return self.node if self._by_its_own() else None

    def of_a_factor_inside(self) -> tuple[Node, Node, int] | None:
        """Return the first op in a custom gradient's own function that multiplies by zeros, these, and their place, or None."""
        passed = self.probe.contribution(self.entry, self.node, self.dense)
        parts = self.dense.values() if isinstance(self.dense, Parts) else [[self.dense]]
        before = {*self.entry.inputs, *[d.node for each in parts for d in each]}
        results = [passed.node] if isinstance(passed, EagerTensor) else []
        found = reached(results, lambda n: () if n in before else n.inputs or ())
        inside = [(EagerTensor(n), n.inputs or ()) for n in islice(found, MOST) if type(n.aval) is not tuple]  # until they run
        for result, inputs in reversed(inside):
            factors = [i for i in inputs if type(i.aval) is not tuple and i.aval.inexact]
            zeros = [i for i in factors if not np.any(value(i))]
            if len(factors) > 1 and len(zeros) == 1 and not np.any(value(result.node)):
                return result.node, zeros[0], inputs.index(zeros[0])
        return None

    def _by_its_own(self) -> bool:
        """Return whether the input's own zero elements are factors of each other, as in a product over an axis."""
        if self.leaves or type(self.node.aval) is tuple or not self.node.aval.inexact or self.given(self.dense):
            return False
        zeros = np.flatnonzero((value(self.node) == 0) & (True if self._zero is None else self._zero))
        if len(zeros) < 2:
            return False

        def others(values: np.ndarray) -> np.ndarray:
            return np.where(np.isin(np.arange(values.size), zeros[1:]).reshape(values.shape), 1, values).astype(values.dtype)

        passed = self._passed(instead(self.node, others))
        return passed is not None and passed.shape == value(self.node).shape and bool(passed.flat[zeros[0]])

    def _leaves(self) -> Literal["", "unit", "bound", "side"]:
        """Return the condition by which an op passes an element on or drops it.

        "unit": its own value, "bound": other inputs, "side": a bool input. Empty for other ops.
        """
        after = self.entry.node
        if type(after.aval) is tuple or type(self.node.aval) is tuple or not self.node.aval.inexact:
            return ""
        whole = array(self.dense)
        inexact = [i for i in self.entry.inputs if type(i.aval) is not tuple and i.aval.inexact]
        others = [value(i) for i in inexact if i is not self.node]
        far = 10.0 * max(1.0, *[float(np.max(np.abs(value(i)), initial=0.0)) for i in inexact])
        places = [(far,), (-far,), others or (0.0,)]  # the last is between the bounds
        moves: list[Change] = [as_it_is, elsewhere, *[instead(self.node, partial(_at, places=place)) for place in places]]
        left: list[np.ndarray] = []
        for move in moves:
            part = self._passed(self._spread(move))
            if part is None or part.shape != whole.shape or not np.all((part == 0) | (part == whole)):
                return ""
            left.append(part == 0)
        if any(i.aval.dtype.kind == "b" for i in self.entry.inputs if type(i.aval) is not tuple):
            return "side"
        if all(np.array_equal(left[0], part) for part in left):  # the dropped elements do not depend on values
            return ""
        return "bound" if others else "unit"

    def _spread(self, move: Change) -> Change:
        """Return the change with the input broadcast to the shape of the result, so that no contributions are summed."""
        shape = self.entry.node.aval.shape
        alike = self.entry.node.op.broadcasting
        return lambda i, v: np.broadcast_to(move(i, v), shape).copy() if alike and i is self.node else move(i, v)

    def zeros_came_in(self, factor: Node) -> tuple[Entry, Node]:
        """Return the op at which a factor's zeros entered the product, and the value that has them."""
        entry = self.entry
        while (maker := self.probe.maker.get(factor)) is not None:
            inputs = [i for i in maker.inputs if type(i.aval) is not tuple and i.aval.inexact]
            zero = next((i for i in inputs if not np.all(value(i)) and _without_zeros(maker, i)), None)
            zero = zero or next((i for i in inputs if not np.any(value(i)) and not np.any(value(factor))), None)  # a sum of zeros
            if zero is None:
                break
            entry, factor = maker if len(inputs) > 1 else entry, zero
        return entry, factor

    @property
    def chooses(self) -> bool:
        """Whether the op only selects: from changed inputs it returns their own elements, equal values or an equal derivative."""
        if self.entry.node.op is CUSTOM:  # a custom gradient says nothing about the op's values
            return False
        moved = elsewhere(self.node, value(self.node))
        moves = instead(self.node, lambda v: moved), instead(self.node, lambda v: -moved)
        found = [result_of(self.entry, move) for move in moves]
        there, now = [v for v in found if v is not None], floats(self.entry.node)
        if there and (np.isin(there[0], moved).all() or all(np.array_equal(v, now) for v in there)):
            return True
        here, far = map(self._passed, (as_it_is, moves[0]))
        return here is not None and far is not None and bool(np.any(here)) and np.array_equal(here, far)


def joined(probe: Probe, ways: list[set[Node]]) -> Entry | None:
    """Return the first op that takes values of two ways; each is a set of nodes, to which what comes of them is added."""
    for entry in probe.entries:
        reached = [way for way in ways if not way.isdisjoint(entry.inputs)]
        if len(reached) > 1:
            return entry
        if reached and not any(entry.node in way for way in ways):
            reached[0].add(entry.node)
    return None


def never_below_zero(probe: Probe, entry: Entry | None) -> bool:
    """Return whether an op returns nothing below 0 for other inputs either; a number that nothing computes stays."""

    def moved(node: Node, values: np.ndarray, sign: float = 1) -> np.ndarray:
        stays = not node.aval.inexact or (values.size == 1 and node not in probe.maker and node not in probe.active)
        far = 100 * sign * (1 + (entry.inputs.index(node) if entry else 0))  # inputs differ, also in size
        return values if stays else np.asarray(far * elsewhere(node, values), values.dtype)

    found = [None if entry is None else result_of(entry, change) for change in (moved, partial(moved, sign=-1))]
    return all(moved is not None and bool(np.all(moved >= 0)) for moved in found)


def _without_zeros(entry: Entry, node: Node) -> bool:
    """Return whether an input's zeros cause the zeros of a result: they persist with other inputs, but not with ones instead."""
    if type(entry.node.aval) is tuple:
        return False
    ones = result_of(entry, instead(node, np.ones_like))
    others = result_of(entry, lambda i, v: v if i is node else elsewhere(i, v))
    if ones is None or others is None or others.shape != entry.node.aval.shape:
        return False
    return bool(np.any(ones)) and not np.any(others[value(entry.node) == 0])


def elsewhere(node: Node, values: np.ndarray) -> np.ndarray:
    """Return random values of ordinary size, the same in each call."""
    if not node.aval.inexact:
        return values
    return np.random.default_rng(0).normal(size=values.shape).astype(values.dtype)


def _at(values: np.ndarray, places: Sequence[Any]) -> np.ndarray:
    """Return the mean of some places, broadcast to the shape of `values`."""
    return np.asarray(sum(places) / len(places) + 0 * values, values.dtype)


def _uneven(values: np.ndarray) -> np.ndarray:
    return np.asarray(values * np.random.default_rng(1).uniform(1.0, 2.0, values.shape), values.dtype)


def dense(node: Node) -> Any:
    """Return a cotangent for a node without zeros and without equal elements."""
    return like(ones_like(node), _full)


def _full(values: np.ndarray) -> np.ndarray:
    ones = np.ones_like(values)
    return _uneven(ones * (1 + 1j) if values.dtype.kind == "c" else ones)
