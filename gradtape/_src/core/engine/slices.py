"""The slice of a trace that runs, its arguments, and its results.

Rule numbers in the comments refer to "The rules of the engine" in `docs/design.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.engine import execution, tiers
from gradtape._src.core.native import twins
from gradtape._src.core.platform import xla
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import (
    NUMBER,
    USED,
    Cache,
    Lines,
    Node,
    Program,
    Trace,
    TraceStructure,
    are_one,
    leading_to,
    lines_of,
    structure_of,
)

if TYPE_CHECKING:
    from gradtape._src.core.tensors.tensor import EagerTensor
    from gradtape._src.core.tensors.variable import Variable


class _Fields:
    """`before`: the variables that a function running as eager code has assigned, with their first values, by `id`.

    It is None if that run cannot begin anew.
    """

    before: dict[int, tuple[Variable, EagerTensor]] | None = field(None, per_replica=True)


local = declare(_Fields)


class Variant(NamedTuple):
    """A Program for traces of one structure. `positions` are the leaves that it takes, `outputs` the nodes that it computes.

    `same` pairs leaves that were one Python number when the Program was made: the first shares the parameter of the second.
    """

    program: Program | None
    positions: tuple[int, ...]
    outputs: tuple[int, ...]
    same: tuple[tuple[int, int], ...]


class Cut:
    """The slice of a trace, for all traces of one form: their Programs differ in extents only.

    `kept` has for each node of the slice its index, and its references or None if they are as in the trace. `positions` are the
    leaves that it takes, and `same` maps a leaf to the one that replaces it, as `equal_numbers` returns it.
    """

    def __init__(self, trace: Trace, live: Sequence[int], same: Mapping[int, int]) -> None:
        keys = [n.key for n in trace.nodes]
        reached = leading_to(keys, live)
        kept, leaf_positions = sorted([r for r in reached if r >= 0]), [-1 - r for r in reached if r < 0]
        self.same = tuple(same.items())
        self.positions = tuple(sorted({same.get(position, position) for position in leaf_positions}))
        parameter = {position: -1 - new for new, position in enumerate(self.positions)}
        renumbered = {index: new for new, index in enumerate(kept)}
        renumbered.update({-1 - position: parameter[same.get(position, position)] for position in leaf_positions})
        references = [tuple([renumbered[r] for r in keys[i][2:]]) for i in kept]
        self._kept = [(i, None if r == keys[i][2:] else r) for i, r in zip(kept, references, strict=True)]
        self._outputs = tuple([renumbered[i] for i in live])
        self._first: Program | None = None
        self._lines: Lines | None = None

    def program(self, trace: Trace) -> Program:
        """Return the Program of a trace."""
        nodes, first = trace.nodes, self._first
        keys = tuple([nodes[i].key if r is None else (*nodes[i].key[:2], *r) for i, r in self._kept])
        avals = tuple([nodes[i].aval for i, _ in self._kept])
        parameters = tuple([trace.leaves[p].aval for p in self.positions])
        where = lines_of(nodes, self._lines)
        if first is not None and where is self._lines:
            lines = first.lines
        else:
            lines = tuple([(nodes[i].code, nodes[i].offset) for i, _ in self._kept])
        made = Program(keys, avals, parameters, self._outputs, (), lines, like=first)
        if first is None:
            self._first, self._lines = made, where
        return made


MOST_CUTS = 16  # of a form, for different outputs
_slices = Cache(1024)  # (recorded structure, *wanted outputs) → result of `_sliced`


def of(trace: Trace) -> tuple[TraceStructure, Variant]:
    """Return the structure of a trace, and the Variant that runs it."""
    live = live_in(trace.nodes)
    structure = structure_of(trace, len(trace.nodes), len(trace.leaves))
    if trace.tapes:
        live = _with_residuals(trace, structure, live)
    if execution.eager and live:  # a Program of this trace's own lines, which a check of each op names
        cut = Cut(trace, live, {})
        return structure, Variant(execution.intern(cut.program(trace)), cut.positions, tuple(live), cut.same)
    key = (structure, *live)
    found: Variant | None = _slices.find(key)
    if found is None or not are_one(trace.leaves, found.same):
        found = _slices.keep(key, _sliced(trace, structure, live))
    else:
        execution.counters.hits += 1
    return structure, found


@twins.in_c
def live_in(nodes: list[Node]) -> list[int]:
    """Return the indices of the live nodes: without a value, and held by a Tensor of the user."""
    return [n.index for n in nodes if (handle := n.handle) is not None and n.value is None and handle() is not None]


def _sliced(trace: Trace, structure: TraceStructure, live: list[int]) -> Variant:
    """Return a Variant for a trace whose outputs include `live`.

    An earlier Variant with more outputs is reused. After two variants, a third has the outputs of both (rule 6). Numbers that
    were equal in an earlier trace, but are not now, get parameters of their own for good (rule 5).
    """
    if not live:
        return Variant(None, (), (), ())
    variants: list[Variant] = structure.variants
    apart = False
    for variant in variants:
        differ = not are_one(trace.leaves, variant.same)
        apart = apart or differ
        if not differ and set(live) <= set(variant.outputs):
            return variant
    if len(variants) >= 2:
        live = sorted(set(live).union(*[variant.outputs for variant in variants]))
    cuts = structure.form.known.setdefault("cuts", {})
    cut: Cut | None = cuts.get(key := tuple(live))
    if cut is None or apart or not are_one(trace.leaves, cut.same):
        if len(cuts) >= MOST_CUTS:
            cuts.clear()
        cut = cuts[key] = Cut(trace, live, {} if apart else equal_numbers(trace))
    variants.append(Variant(execution.first_made(cut.program(trace)), cut.positions, tuple(live), cut.same))
    return variants[-1]


def argument_of(node: Node, compiled: bool) -> Any:
    """Return the value of a leaf, as an argument of a Program that is `compiled` or not.

    A NumPy array moves to the device for good at its second use. A host result moves when a compiled program first takes it, if
    the user still holds it. Moving a residual costs twenty times as much as passing it once.
    """
    value = node.value
    if type(value) is np.ndarray:
        if node.op is not None:
            if compiled and node.handle is not None and node.handle() is not None:
                value = node.value = placed(value)
        elif node.index == USED:
            value = node.value = placed(value)
        elif node.index != NUMBER:
            node.index = USED
    return value


@twins.in_c
def arguments(leaves: list[Node], positions: tuple[int, ...], compiled: bool) -> list[Any]:
    """Return the values of the leaves at these positions, as arguments of a Program that is `compiled` or not."""
    return [argument_of(n, compiled) if type(v := n.value) is np.ndarray else v for n in [leaves[p] for p in positions]]


def placed(array: np.ndarray) -> Any:
    """Move a NumPy array of the library's own to the default device; small integers may stay on the host."""
    return array if tiers.stays(array) else to_device(array)


def to_device(array: np.ndarray) -> Any:
    """Convert a NumPy array to a JAX array, leave strings as they are. The library must own it: it may not be copied."""
    return array if array.dtype.hasobject else xla.put(array)


def retire(trace: Trace, structure: TraceStructure, outputs: tuple[int, ...]) -> None:
    """Release the memory of a trace that has run: nodes with values lose their inputs, and the trace its nodes."""
    nodes = trace.nodes
    if trace.tapes:
        trace.inputs = [n.inputs for n in nodes]
    for node in (*[nodes[index] for index in outputs], *trace.early):
        node.origin = trace.serial, node.index
        node.trace = node.inputs = None
    journal.ran(trace, structure)
    note(trace.assigned)
    trace.assigned, trace.early = [], []
    for original, _ in trace.recomputed:
        if original.value is not None:
            there = original.trace
            if there is not None and there.tapes and there.inputs is None:
                there.early.append(original)  # it is pending in another thread, whose tapes read its inputs until that trace runs
            else:
                original.inputs = None
    if all(tape() is None for tape in trace.tapes):
        trace.forget()


def note(assigned: Iterable[tuple[Variable, EagerTensor]]) -> None:
    """Keep the values of variables before they were assigned, in case the running function begins anew."""
    if local.before is not None:
        for variable, value in assigned:
            local.before.setdefault(id(variable), (variable, value))


def undo(trace: Trace) -> None:
    """Restore the variables of a failed run to their values before it (rule 10); the nodes can still be run again."""
    for variable, before in reversed(trace.assigned):
        variable._restore(before)


def _with_residuals(trace: Trace, structure: TraceStructure, live: list[int]) -> list[int]:
    """Add the residuals of open tapes to the outputs of a trace (rule 6)."""
    wanted = set(live)
    for reference in trace.tapes:
        tape = reference()
        if tape is not None:
            wanted.update(tape.residual_indices(trace, structure))
    nodes = trace.nodes
    return sorted([i for i in wanted if nodes[i].value is None])


def slice_trace(trace: Trace, outputs: Sequence[int]) -> tuple[Program, tuple[int, ...]]:
    """Return the Program that computes the nodes `outputs` (indices) of `trace`, and the positions of the leaves it needs."""
    cut = Cut(trace, outputs, {})
    return cut.program(trace), cut.positions


def equal_numbers(trace: Trace) -> dict[int, int]:
    """Return the leaves that are one Python number used by one source line: position of a repetition → position of the first."""
    first: dict[Any, int] = {}
    found: dict[int, int] = {}
    for node in trace.nodes:
        for reference in node.key[2:]:
            leaf = trace.leaves[-1 - reference] if reference < 0 else None
            if leaf is not None and leaf.index == NUMBER:
                position = -1 - reference
                stands = first.setdefault((leaf, id(node.code), node.offset), position)
                if stands != position:
                    found[position] = stands
    return found
