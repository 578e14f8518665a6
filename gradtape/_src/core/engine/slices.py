"""The slice of a trace that runs, its arguments, and its results.

See `docs/design.md`, "The rules of the engine": the numbers of the rules there are those in the comments here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.engine import execution, tiers
from gradtape._src.core.native import twins
from gradtape._src.core.platform import xla
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import (
    NUMBER,
    USED,
    Cache,
    Node,
    Program,
    Trace,
    TraceStructure,
    are_one,
    inputs_of,
    structure_of,
)


class Variant(NamedTuple):
    """A Program for traces of one structure: the positions of the leaves that it takes, the indices of the nodes that it gives.

    `same` has leaves that were one number when it was made: their parameter is that of the leaf behind them.
    """

    program: Program | None
    positions: tuple[int, ...]
    outputs: tuple[int, ...]
    same: tuple[tuple[int, int], ...]


_slices = Cache(1024)  # what is to be run, as recorded, and the outputs that are wanted → what `_sliced` gives


def of(trace: Trace) -> tuple[TraceStructure, Variant]:
    """Return the structure of a trace that is to run, and the Variant to run it with."""
    live = live_in(trace.nodes)
    structure = structure_of(trace, len(trace.nodes), len(trace.leaves))
    if trace.tapes:
        live = _with_residuals(trace, structure, live)
    key = (structure, *live)
    found: Variant | None = _slices.find(key)
    if found is None or not are_one(trace.leaves, found.same):
        found = _slices.keep(key, _sliced(trace, structure, live))
    else:
        execution.counters.hits += 1
    return structure, found


@twins.in_c
def live_in(nodes: list[Node]) -> list[int]:
    """Return the indices of the live nodes of a trace that is to run."""
    return [n.index for n in nodes if (handle := n.handle) is not None and n.value is None and handle() is not None]


def _sliced(trace: Trace, structure: TraceStructure, live: list[int]) -> Variant:
    """Return the Program to run a trace with, and its arguments; the outputs are `live` or more.

    A Program of the same structure that gives more outputs serves too; after two variants, one is made that gives the
    outputs of all (rule 6). Numbers that were equal once and no longer are get parameters of their own for good (rule 5).
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
    same = {} if apart else equal_numbers(trace)
    program, positions = slice_trace(trace, live, same)
    program = execution.first_made(program)
    variants.append(Variant(program, positions, tuple(live), tuple(same.items())))
    return variants[-1]


def argument_of(node: Node, compiled: bool) -> Any:
    """Return the value of a leaf, as the argument of a Program that is `compiled` or not.

    A NumPy array that comes a second time is given to the device for good; what was computed on the host, as soon as a compiled
    program takes it, if it is anybody's. To put a residual on the device takes twenty times as long as to take it once.
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
    """Return the values of the leaves at these positions, as the arguments of a Program that is `compiled` or not."""
    return [argument_of(n, compiled) if type(v := n.value) is np.ndarray else v for n in [leaves[p] for p in positions]]


def placed(array: np.ndarray) -> Any:
    """Return a NumPy array of the library's own on the device that programs take it from; small integers may stay on the host."""
    return array if tiers.stays(array) else to_device(array)


def to_device(array: np.ndarray) -> Any:
    """Convert a NumPy array of the library's own to a JAX array, maybe without a copy; leave strings as they are. It must be
    the library's own: it may be used without a copy.
    """
    return array if array.dtype.hasobject else xla.put(array)


def retire(trace: Trace, structure: TraceStructure, outputs: tuple[int, ...]) -> None:
    """Let go of values that are not needed: a node that has a value needs no inputs, so that the past is freed."""
    nodes = trace.nodes
    if trace.tapes:
        trace.inputs = inputs_of(nodes)
    release([*[nodes[index] for index in outputs], *trace.early], trace.serial)
    journal.ran(trace, structure)
    trace.assigned, trace.early = [], []
    for original, _ in trace.recomputed:
        if original.value is not None:
            there = original.trace
            if there is not None and there.tapes and there.inputs is None:
                there.early.append(original)  # it pends in another thread, whose tapes go by its inputs until that trace has run
            else:
                original.inputs = None
    if all(tape() is None for tape in trace.tapes):
        trace.forget()


@twins.in_c
def fill(nodes: list[Node], values: Sequence[Any]) -> None:
    """Give nodes the values that were computed for them, but for those that have one."""
    for node, computed in zip(nodes, values, strict=True):
        if node.value is None:
            node.value = computed


@twins.in_c
def release(nodes: list[Node], serial: int) -> None:
    """Take nodes that have values out of the trace with this number, so that the past is freed."""
    for node in nodes:
        node.origin = serial, node.index
        node.trace = node.inputs = None


def undo(trace: Trace) -> None:
    """Restore the variables of a failed run to their values before it (rule 10). Variables go back to the values they had; the
    nodes stay as they are and can be run again.
    """
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


def slice_trace(trace: Trace, outputs: Sequence[int], same: Mapping[int, int] | None = None) -> tuple[Program, tuple[int, ...]]:
    """Return the Program that computes the nodes `outputs` (indices) of `trace`, and the positions of the leaves it needs.

    `same` has the position of the leaf that stands for another, as for `equal_numbers`.
    """
    keys, wanted = [n.key for n in trace.nodes], set(outputs)
    same = same or {}
    kept: list[int] = []
    leaf_positions: set[int] = set()
    for index in range(max(outputs, default=-1), -1, -1):
        if index in wanted:
            kept.append(index)
            for reference in keys[index][2:]:
                if reference >= 0:
                    wanted.add(reference)
                else:
                    leaf_positions.add(-1 - reference)
    kept.reverse()
    positions = tuple(sorted({same.get(position, position) for position in leaf_positions}))
    parameter = {position: -1 - new for new, position in enumerate(positions)}
    renumbered = {index: new for new, index in enumerate(kept)}
    renumbered.update({-1 - position: parameter[same.get(position, position)] for position in leaf_positions})
    sliced = tuple([(*keys[i][:2], *[renumbered[r] for r in keys[i][2:]]) for i in kept])
    avals = tuple([trace.nodes[i].aval for i in kept])
    parameters = tuple([trace.leaves[p].aval for p in positions])
    lines = tuple([(trace.nodes[i].code, trace.nodes[i].offset) for i in kept])
    return Program(sliced, avals, parameters, tuple([renumbered[i] for i in outputs]), (), lines), positions


def equal_numbers(trace: Trace) -> dict[int, int]:
    """Return the leaves that are one Python number, used by one source line: the position of each but the first → that one's."""
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
