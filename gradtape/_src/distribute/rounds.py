"""Programs of several replicas, each computed by its own device.

Between two meetings all replicas record the same ops. `ReplicatedProgram` detects this, and compiles them once: each device
runs them on its replica's values. Where values of all replicas are summed, the devices use an all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from gradtape._src.core.programs import guards
from gradtape._src.core.programs.program import Program, effectful, memoized
from gradtape._src.core.programs.traits import Trait
from gradtape._src.ops.math.arithmetic import _add_n

Segments = Sequence[Sequence[int]]  # the nodes that each replica recorded in a round


class Round(NamedTuple):
    """The nodes that all replicas record between two meetings: `segments`, with `varying` and `shared` operands.

    `varying` are the replicas' references to their own values, `shared` those to common values. `operands` lists the operands
    of each node in a segment: a position in it, -1 - 2 k for the k-th varying value, -2 - 2 k for the k-th shared one. `own`
    are the positions of nodes that are used outside.
    """

    segments: Segments
    varying: tuple[tuple[int, ...], ...]
    shared: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    own: tuple[int, ...]


class Part(NamedTuple):
    """The value of one replica in an array with the values of all."""

    stacked: jax.Array
    number: int


class ReplicatedProgram(Program):
    """A Program with detected rounds of replicas; `mesh` has a device for each replica."""

    __slots__ = ("_at", "_rounds", "mesh")

    def __init__(self, program: Program, rounds: Sequence[Round], mesh: Mesh, precision: str | None = None) -> None:
        super().__init__(
            program.keys, program.avals, program.parameters, program.outputs, program.constants, program.lines, precision
        )
        self._rounds, self.mesh = rounds, mesh
        self._at = {found.segments[0][0]: found for found in rounds}

    @memoized
    def _with_precision(self, precision: str | None) -> Program:
        return ReplicatedProgram(self, self._rounds, self.mesh, precision)

    def _evaluate(self, *arguments: Any) -> tuple[Any, ...]:
        leaves = (*arguments, *[jax.numpy.asarray(c) for c in self.constants])
        values: dict[int, Any] = {}

        def held(reference: int) -> Any:
            return values[reference] if reference >= 0 else leaves[-1 - reference]

        def value(reference: int) -> Any:
            found = held(reference)
            return found.stacked[found.number] if isinstance(found, Part) else found

        flags = guards.collecting() if self.guarded else None
        for index, (op, attrs, *references) in enumerate(self.keys):
            if index in self._at:
                values |= self._run(self._at[index], held, value)
            if index not in values:
                parts = list(map(held, references)) if op is _add_n.op else []
                whole = _is_whole(parts)
                inputs = [] if whole else list(map(value, references))
                if flags is not None and not whole:
                    flags.enter(self, index, inputs)
                values[index] = _sum(parts[0].stacked) if whole else op.run(inputs, attrs)
        return tuple(map(value, self.outputs))

    def _run(self, found: Round, held: Callable[[int], Any], value: Callable[[int], Any]) -> dict[int, Any]:
        """Run a round; return the values of its nodes that are used outside, and None for the others."""
        axis = PartitionSpec(self.mesh.axis_names[0])
        stacked = []
        for references in found.varying:
            parts = list(map(held, references))
            whole = parts[0].stacked if _is_whole(parts) else jax.numpy.stack(list(map(value, references)))
            stacked.append(jax.lax.with_sharding_constraint(whole, NamedSharding(self.mesh, axis)))
        shared = list(map(value, found.shared))
        specs = (axis,) * len(stacked) + (PartitionSpec(),) * len(shared)
        run = jax.shard_map(self._of_one(found), mesh=self.mesh, in_specs=specs, out_specs=axis, check_vma=False)
        results, failed = run(*stacked, *shared)
        guards.note(failed)
        values: dict[int, Any] = {node: None for nodes in found.segments for node in nodes}
        for place, result in zip(found.own, results, strict=True):
            values |= {nodes[place]: Part(result, number) for number, nodes in enumerate(found.segments)}
        return values

    def _of_one(self, found: Round) -> Callable[..., Any]:
        """Return the function for one device: the first replica's ops, on the values of the device's replica."""
        count = len(found.varying)
        flag = guards.begin(self)

        def run(*arguments: Any) -> Any:
            flags = guards.Flags()
            varying, shared = [x[0] for x in arguments[:count]], arguments[count:]
            known: list[Any] = []
            for node, places in zip(found.segments[0], found.operands, strict=True):
                op, attrs = self.keys[node][:2]
                inputs = [known[p] if p >= 0 else (varying, shared)[(-1 - p) % 2][(-1 - p) // 2] for p in places]
                if flag is not None:
                    flags.enter(self, node, inputs)
                known.append(inputs[0] if Trait.PLACES in op.traits else op.run(inputs, attrs))
            return tuple([known[place][None] for place in found.own]), None if flag is None else flags.any()[None]

        return run


def _sum(stacked: Any) -> Any:
    return jax.numpy.sum(stacked, 0, dtype=stacked.dtype)


def _is_whole(parts: Sequence[Any]) -> bool:
    """Return whether the parts are the values of all replicas in one array, in order."""
    first = parts[0] if parts else None
    return (
        isinstance(first, Part)
        and len(parts) == first.stacked.shape[0]
        and all(
            isinstance(part, Part) and part.stacked is first.stacked and part.number == number
            for number, part in enumerate(parts)
        )
    )


def known_rounds(program: Program, rounds: Sequence[tuple[Segments, Mesh]], kept: Sequence[int]) -> Program:
    """Return a Program with those of its rounds in which all replicas do the same; the program itself if there are none.

    Rounds are given by node numbers in the trace; `kept` are the numbers of the Program's nodes.
    """
    place = {index: new for new, index in enumerate(kept)}
    found, mesh = [], rounds[0][1]
    for segments, on in rounds:
        one = _round(program, [[place[i] for i in nodes if i in place] for nodes in segments]) if on == mesh else None
        if one is not None:
            found.append(one)
    return ReplicatedProgram(program, found, mesh) if found else program


def _round(program: Program, segments: Segments) -> Round | None:
    """Return a round if its replicas record the same ops on values of the same shapes, each its own; else None."""
    first, inside = segments[0], set().union(*segments)
    if not first or any(len(nodes) != len(first) for nodes in segments):
        return None
    places = [{node: place for place, node in enumerate(nodes)} for nodes in segments]
    varying: dict[tuple[int, ...], int] = {}
    shared: dict[int, int] = {}
    operands = []

    def operand(taken: tuple[int, ...]) -> int | None:
        within = [place.get(reference) for place, reference in zip(places, taken, strict=True)]
        if within[0] is not None:
            return within[0] if all(place == within[0] for place in within) else None
        if any(r in inside or r >= first[0] or program.aval_of(r) != program.aval_of(taken[0]) for r in taken):
            return None
        if len(set(taken)) == 1:
            return -2 - 2 * shared.setdefault(taken[0], len(shared))
        return -1 - 2 * varying.setdefault(taken, len(varying))

    columns = list(zip(*segments, strict=True))
    for column in columns:
        if not _is_same(program, column):
            return None
        takes = [operand(taken) for taken in zip(*[program.keys[node][2:] for node in column], strict=True)]
        if None in takes:
            return None
        operands.append(tuple([place for place in takes if place is not None]))
    used = {r for index, key in enumerate(program.keys) if index not in inside for r in key[2:]} | set(program.outputs)
    own = tuple([place for place, column in enumerate(columns) if used.intersection(column)])
    several = any(isinstance(program.avals[first[place]], tuple) for place in own)
    return None if several or not varying else Round(segments, tuple(varying), tuple(shared), tuple(operands), own)


def _is_same(program: Program, column: Sequence[int]) -> bool:
    """Return whether nodes are one op with results of one shape, and without effects."""
    heads, avals = [program.keys[node][:2] for node in column], [program.avals[node] for node in column]
    if any(node in program.on_host or effectful(program.keys[node]) for node in column):
        return False
    return all(_alike(head, heads[0]) for head in heads) and all(one == avals[0] for one in avals)


def _alike(one: Any, other: Any) -> bool:
    """Return whether two ops, attributes or references are equal; Programs in them are compared by computation."""
    if one is other:
        return True
    if isinstance(one, Program):
        if not isinstance(other, Program) or one.precision != other.precision or one.avals != other.avals:
            return False
        same = one.parameters == other.parameters and one.outputs == other.outputs and _alike(one.keys, other.keys)
        return same and _alike(one.constants, other.constants)
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)
