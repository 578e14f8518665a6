"""The gradient of a record in pieces: each segment has its own Plan, so that equal segments share one.

One Program could not be compiled for a record of a million ops. For a loop with another number of trips, it would be derived
anew. The pieces run one after the other, last to first, and pass their cotangents on.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.autodiff import backward
from gradtape._src.autodiff.backward import Entry, Parts, reverse, summed
from gradtape._src.autodiff.open_plans import Made, planned
from gradtape._src.autodiff.plan import Places, Plan, Record, close_plan
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.program import RAN, Cache, Node, leaf
from gradtape._src.core.tensors.indexed_slices import dense
from gradtape._src.core.tensors.tensor import EagerTensor

if TYPE_CHECKING:
    from gradtape._src.autodiff.recording import Segment

LONG = 4096  # records with more nodes are differentiated in pieces
plans = Cache(512, of="plans")
_seen = Cache(1024)  # the structures of segments, and the keys of gradients taken in pieces


def recurs(key: Any, structure: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether most of a record, with this `structure` of its Places, is in known segments: it is differentiated in pieces.

    That is so if a loop makes more or fewer trips than before. The second request for a gradient, by its `key`, gets a plan of
    its own. So does a record in which the order of IndexedSlices counts.
    """
    if engine.local.trace.parent is not None or _seen.find(key):
        return False
    size = known = 0
    for segment in structure:
        size += len(segment[0].keys)
        if _seen.find(segment[:2]):
            known += len(segment[0].keys)
        else:
            _seen.keep(segment[:2], True)
    ops = {key[0] for one, *_ in structure for key in one.keys}
    if 2 * known <= size or any(op is RAN or op.structured or op.gives_slices for op in ops):
        return False
    return bool(_seen.keep(key, True))


def separable(segments: Sequence[Segment], entries: Sequence[Entry]) -> bool:
    """Return whether a record has several segments, and contains no user code that must run each time."""
    if len(segments) == 1 or engine.local.trace.overrides is not None:
        return False
    leaves = [node for segment in segments for node in segment.trace.leaves]
    return not any(e.rule is not None or e.node.op.impure for e in entries) and all(type(n.aval) is not tuple for n in leaves)


def long(segments: Sequence[Segment]) -> bool:
    """Return whether a record is so long that it is differentiated in pieces."""
    if engine.local.trace.parent is not None:
        return False
    return sum([s.until - s.start for s in segments]) > LONG


class Pieces:
    """The segments of a record, for a reverse pass in pieces; `bases` has the index of each segment's first entry."""

    def __init__(self, segments: Sequence[Segment], bases: Sequence[int], wanted: Sequence[Sequence[Node]]) -> None:
        self._segments, self._bases = list(segments), [*bases, sys.maxsize]
        self._parts: dict[int, list[int]] = {}  # serial number of a trace → its segments
        for number, segment in enumerate(self._segments):
            self._parts.setdefault(segment.trace.serial, []).append(number)
        self._wanted: dict[int | None, list[Node]] = {}
        for node in dict.fromkeys([node for nodes in wanted for node in nodes]):
            self._wanted.setdefault(self._home(node), []).append(node)

    def _home(self, node: Node) -> int | None:
        """Return the number of the segment that computes a node, or None."""
        serial, index = node.origin or (0 if node.trace is None else node.trace.serial, node.index)
        for number in self._parts.get(serial, ()):
            segment = self._segments[number]
            if segment.start <= index < segment.until and segment.trace.nodes[index] is node:
                return number
        return None

    def reverse(self, entries: Sequence[Entry], active: Mapping[Node, int], cotangents: Mapping[Node, Any]) -> dict[Node, Any]:
        """Differentiate segment by segment, like `backward.reverse`, which also handles cotangents of type Parts as a whole."""
        if any(isinstance(cotangent, Parts) for cotangent in cotangents.values()):
            return reverse(entries, active, cotangents)
        received: dict[int | None, dict[Node, Any]] = {}
        total: dict[Node, Any] = {}

        def deliver(node: Node, cotangent: Any) -> None:
            there = received.setdefault(self._home(node), {})
            there[node] = summed([there[node], cotangent]) if node in there else cotangent

        for node, cotangent in cotangents.items():
            deliver(node, cotangent)
        for number in range(len(self._segments) - 1, -1, -1):
            seeds = received.pop(number, None)
            if seeds is None:
                continue
            mine = entries[self._bases[number] : self._bases[number + 1]]
            for node, cotangent in self._through(number, mine, active, seeds):
                if self._home(node) == number:
                    total[node] = cotangent
                else:
                    deliver(node, cotangent)
            engine.flush()
        return total | received.get(None, {})

    def _through(
        self, number: int, entries: Sequence[Entry], active: Mapping[Node, int], seeds: Mapping[Node, Any]
    ) -> list[tuple[Node, Any]]:
        """Propagate cotangents through one segment; return those of its inputs, and of the sources in it."""
        segment, base = self._segments[number], self._bases[number]
        trace = segment.trace
        places = Places([segment])
        again = {repeated: original for original, repeated in trace.recomputed}
        seen = [node for entry in entries for node in (entry.node, *entry.inputs)]
        since = [None if (at := active.get(node)) is None else max(at - base, 0) for node in seen]
        wanted = self._wanted.get(number, [])
        places_of = [tuple([places.find(node) for node in nodes]) for nodes in (seeds, wanted)]
        key = (places.structure, tuple([node.index for node in again]), tuple(since), backward.local.transposing, *places_of)
        found: tuple[Plan, list[int]] | None = plans.find(key)
        if found is None:
            local = {node: at for node, at in zip(seen, since, strict=True) if at is not None}
            inside = {entry.node for entry in entries}.difference(wanted)

            def make(record: Record) -> Made:
                return _plan(record, local, list(seeds), inside)

            found = plans.keep(key, planned(key, Record(entries, places), make))
        plan, references = found
        results = plan.apply([trace], [dense(cotangent) for cotangent in seeds.values()])
        nodes = [trace.node(reference) for reference in references]
        return [(again.get(node, node), result) for node, result in zip(nodes, results, strict=True)]


def _plan(record: Record, active: Mapping[Node, int], seeded: Sequence[Node], inside: set[Node]) -> tuple[Plan, list[int]]:
    """Return the Plan of one segment, and the references of the nodes whose cotangents it gives: all but those `inside`."""
    seeded, inside = record.nodes(seeded), set(record.nodes(inside))
    seeds = [EagerTensor(leaf(node.aval, None)) for node in seeded]
    with tracing.inner() as inner:
        total = reverse(record.entries, record.of(active), dict(zip(seeded, seeds, strict=True)))
        results = {node: cotangent for node, cotangent in total.items() if node not in inside}
        plan = close_plan(inner, list(results.values()), [seed.node for seed in seeds], record)
    return plan, [record.place(node)[1] for node in results]
