"""Gradient plans, reused by equal gradient calls (rule 8), and the residuals of the forward pass (rule 6)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gradtape._src.autodiff.backward import Entry, active_nodes, elements_of
from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.native import twins
from gradtape._src.core.programs.program import NUMBER, RAN, Node, Program, Trace, leaf, structure_of
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, tensors

if TYPE_CHECKING:
    from gradtape._src.autodiff.recording import Segment, Source
    from gradtape._src.core.tensors.variable import Variable

T = TypeVar("T")
Place = tuple[int, int]  # (segment number, reference in its trace)
NOWHERE = None, None


class Places:
    """The positions of nodes in a tape's record: `(segment number, reference in its trace)`.

    `structure` identifies the recorded computation: for each segment its Structure, its start, and the leaves that come from
    earlier segments.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.traces = [segment.trace for segment in segments]
        self._leaves: dict[Node, Place] = {}
        structure = []
        for number, segment in enumerate(segments):
            trace = segment.trace
            leaves = len(trace.leaves) if segment.leaves is None else segment.leaves
            link = self._link(number, trace.leaves[:leaves]) if len(segments) > 1 else None
            structure.append((structure_of(trace, segment.until, leaves), segment.start, link))
        self.structure = tuple(structure)

    def _link(self, number: int, leaves: Sequence[Node]) -> tuple[Place | None, ...]:
        origins: list[Place | None] = []
        for position, node in enumerate(leaves):
            origin = None
            if node.index != NUMBER:
                origin = self._leaves.get(node) or self._computed(node, number)
                if origin is None:
                    self._leaves[node] = number, -1 - position
            origins.append(origin)
        return tuple(origins)

    def _computed(self, node: Node, before: int) -> Place | None:
        index = node.index
        for number in range(before - 1, -1, -1):
            nodes = self.traces[number].nodes
            if 0 <= index < len(nodes) and nodes[index] is node:
                return number, index
        return None

    def find(self, node: Node) -> Place | None:
        """Return the place of a node, or None."""
        if len(self.traces) == 1:
            reference = self.traces[0].reference(node)
            return None if reference is None else (0, reference)
        return self._computed(node, len(self.traces)) or self._leaves.get(node)


@twins.in_c
def sought(places: Places, reads: Sequence[tuple[int, int, Variable | None, Node]], sources: Sequence[Source]) -> tuple[Any, ...]:
    """Return the places of watched nodes and sources as one tuple of numbers, which is fast to hash and compare.

    For each of the `reads` (of variables, and calls of `watch`) it has the position from which it counts, and its place. For each
    source it has the place of a tensor, or the numbers of a variable's reads.
    """
    find = places.find
    found: list[int | None] = [len(reads)]
    read: dict[int, list[int]] = {}
    for number, (segment, position, variable, node) in enumerate(reads):
        found += (segment, position, *(find(node) or NOWHERE))
        read.setdefault(id(variable), []).append(number)
    for source in sources:
        if isinstance(source, Tensor):
            found += (-1, *(find(source.node) or NOWHERE), None)
        else:
            found += (*read.get(id(source), ()), None)
    return tuple(found)


@twins.in_c
def picked(traces: Sequence[Trace], places: list[Place]) -> list[Node]:
    """Return the nodes at these places."""
    return [traces[n].nodes[r] if r >= 0 else traces[n].leaves[-1 - r] for n, r in places]


class Plan:
    """A gradient Program, the places of its forward nodes, and the layout of its results."""

    __slots__ = ("in_order", "layout", "places", "program")
    program: Program
    places: list[Place]
    layout: list[Any]  # per source: None, an output, or IndexedSlices as (values, indices, dense shape)
    in_order: bool  # whether the outputs are the results in order

    def __init__(self, program: Program, places: list[Place], layout: list[Any]) -> None:
        self.program, self.places, self.layout = program, places, layout
        self.in_order = layout == [*range(len(program.outputs))]

    def inputs(self, traces: Sequence[Trace]) -> list[Node]:
        """Return the forward nodes that are inputs of the gradient Program.

        A node recorded again is replaced by the original, which outer tapes know.
        """
        nodes = picked(traces, self.places)
        recomputed = [pair for trace in traces for pair in trace.recomputed]
        if not recomputed:
            return nodes
        first = {again: original for original, again in recomputed}
        return [first.get(node, node) for node in nodes]

    def apply(
        self, traces: Sequence[Trace], given: Sequence[Any], vectorized: bool = False, chunk: int | None = None
    ) -> list[Any]:
        """Record the call of the Program; return the gradients. `vectorized`: for stacked output gradients, `chunk` at once."""
        if not self.program.outputs:
            return [None] * len(self.layout)
        inputs = [*[d.node for d in given if d is not None], *self.inputs(traces)]
        if vectorized:
            shared = len(self.places)
            mapped = [True] * (len(inputs) - shared) + [False] * shared
            outputs = call_vectorized(self.program, inputs, mapped, chunk)
        else:
            outputs = tracing.call(self.program, tuple(inputs))
        made = tensors(outputs)
        results: list[Any] = made if self.in_order else []
        for place in () if self.in_order else self.layout:
            if type(place) is tuple:
                values, indices, shape = place
                results.append(IndexedSlices(made[values], made[indices], shape))
            else:
                results.append(None if place is None else made[place])
        if self.program.effects:
            engine.flush_if_outermost()  # a failed check must raise where the gradient is requested
        return results


class Record:
    """A tape's record from which a Plan is made: its `entries`, and the `places` of their nodes.

    Each Python number that an entry uses is replaced by a leaf of its own. All uses of a number share a leaf, in gradient
    functions too. In a plan the forward pass's numbers are parameters, and those of gradient functions are constants. In an open
    Plan all nodes are replaced by twins with symbols.
    """

    def __init__(self, entries: Sequence[Entry], places: Places) -> None:
        self.entries, self.places = entries, places
        self._twins: Mapping[Node, Node] = {}
        self._known: dict[Node, Place] = {}  # the places of nodes that stand for others
        for entry in entries:
            if any(source.index == NUMBER for source in entry.inputs):
                key = entry.node.key
                references = key[3:] if key[0] is RAN else key[2:]
                segment, _ = self.place(entry.node)
                inputs = []
                for source, reference in zip(entry.inputs, references, strict=True):
                    if source.index == NUMBER:
                        source = leaf(source.aval, None)
                        self._known[source] = segment, reference
                    inputs.append(source)
                entry.inputs = tuple(inputs)

    def with_twins(self, twins: Mapping[Node, Node]) -> Record:
        """Return the record with twins of its nodes."""
        made = copy.copy(self)
        made._twins, found = twins, {twin: self.places.find(node) for node, twin in twins.items()}
        made._known = self._known | {twin: place for twin, place in found.items() if place is not None}
        made.entries = [Entry(twins[e.node], twins[e.node].inputs, e.rule) for e in self.entries]
        return made

    def find(self, node: Node) -> Place | None:
        """Return the place of a node or twin, or None."""
        return self._known.get(node) or self.places.find(node)

    def place(self, node: Node) -> Place:
        """Return the place of a node that was recorded, or of its twin."""
        found = self.find(node)
        assert found is not None, "what was recorded has a place"
        return found

    def nodes(self, nodes: Iterable[Node]) -> list[Node]:
        """Return nodes, or their twins."""
        return [self._twins.get(node, node) for node in nodes]

    def of(self, values: Mapping[Node, T]) -> Mapping[Node, T]:
        """Return a map from nodes to values with twins as its keys."""
        return {self._twins.get(node, node): value for node, value in values.items()} if self._twins else values


def close_plan(trace: Trace, results: Sequence[Any], seeds: Sequence[Node], record: Record) -> Plan:
    """Return the Plan from `seeds` and forward values to `results`, which were recorded in the inner `trace`."""
    flat: list[Node] = []
    layout: list[Any] = []
    for result in results:
        if result is None:
            layout.append(None)
        elif isinstance(result, IndexedSlices):
            layout.append((len(flat), len(flat) + 1, result.dense_shape))
            flat += [result.values.node, result.indices.node]
        else:
            layout.append(len(flat))
            flat.append(result.node)
    tracing.enter(trace, flat)
    forward, where, seeded = [], [], set(seeds)
    for node in trace.leaves:
        if node.index != NUMBER and node not in seeded and (found := record.find(node)) is not None:
            forward.append(node)
            where.append(found)
    program = tracing.close(trace, flat, [*seeds, *forward])
    trace.forget()
    return Plan(program, where, layout)


def residual_set(trace: Trace, entries: Sequence[Entry], starts: Mapping[Node, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return `(indices of active nodes, indices of nodes to keep)` of one segment; `starts` as for `active_nodes`.

    Nodes to keep are those that gradients read, except those with values and those that are cheap to recompute. A small segment
    keeps none.
    """
    nodes = trace.nodes
    active = active_nodes(entries, starts)
    stack = [node for _, read in read_by_gradients(entries, active) for node in read]
    wanted: set[int] = set()
    while stack:
        node = stack.pop()
        index = node.index
        if not (0 <= index < len(nodes) and nodes[index] is node) or index in wanted or node.value is not None:
            continue
        if node.op.cheap:
            stack += node.inputs
        else:
            wanted.add(index)
    size = sum(nodes[i].aval.size * nodes[i].aval.dtype.itemsize for i in wanted if type(nodes[i].aval) is not tuple)
    kept = tuple(wanted) if len(nodes) > engine.SMALL or size > engine.SMALL_BYTES else ()
    return tuple([entry.node.index for position, entry in enumerate(entries) if active.get(entry.node) == position]), kept


def read_by_gradients(entries: Sequence[Entry], active: Mapping[Node, int]) -> Iterator[tuple[Entry, Sequence[Node]]]:
    """Yield each active entry with the forward values that its gradient reads."""
    elements, passed_by = elements_of(entries), inside_of_custom(entries)
    for position, entry in enumerate(entries):
        if active.get(entry.node) == position and entry.node not in passed_by:
            yield entry, saved(entry, elements.get(entry.node))


def inside_of_custom(entries: Sequence[Entry]) -> set[Node]:
    """Return the nodes used only for the results of `custom_gradient` functions: no gradient passes through them."""
    if not any(Trait.GRADIENT_GIVEN in entry.node.op.traits for entry in entries):
        return set()
    found: set[Node] = set()
    used: set[Node] = set()
    reached: set[Node] = set()
    for entry in reversed(entries):
        node = entry.node
        used.update(entry.inputs)
        if node in used and node not in reached:
            found.add(node)
        else:
            reached.update(entry.inputs[node.attrs[0] :] if Trait.GRADIENT_GIVEN in node.op.traits else entry.inputs)
    return found


def saved(entry: Entry, elements: dict[int, Node] | None) -> list[Node]:
    """Return the residuals of an entry; `elements` are the nodes of its outputs, if it has several."""
    node = entry.node
    op = node.op
    outputs = [node] if elements is None else list(elements.values())
    if Trait.GRADIENT_GIVEN in op.traits:
        return list(entry.inputs[node.attrs[0] :])
    if entry.rule is not None or op.impure:
        return [*entry.inputs, *outputs]
    result: list[Any] = []
    for name in op.saves:
        if name in op.parameters:
            index = op.parameters.index(name)
            result += entry.inputs[index:] if op.variadic and index == len(op.parameters) - 1 else [entry.inputs[index]]
        elif name in ("y", "z"):
            result += outputs
        elif elements is not None and int(name[1:]) in elements:
            result.append(elements[int(name[1:])])
    return result
