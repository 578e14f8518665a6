"""Examples of a graph: records for made-up shapes, from which dtypes, ranks and known extents are learned.

Nothing of an example is ever run, and nothing of it enters the graph but what is the same in all examples.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gradtape._src.core import engine
from gradtape._src.core.aval import LARGE, Aval, aval, common
from gradtape._src.core.errors import OpError
from gradtape._src.core.program import ELEMENT, Node, Trace, leaf
from gradtape._src.ops.random import seeds
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.interpreter import NeedsEager, Outputs
from gradtape._src.v1.graphs.kinds import LATE, PLACEHOLDER, IdentityAttr, MadeUp
from gradtape._src.v1.graphs.replay import Replay, RunScope
from gradtape._src.v1.graphs.structure import NeedsFeed

T = TypeVar("T")
Axis = tuple[Node, int]  # of what is made up; -1: its rank
REFUSALS = (OpError, ValueError, TypeError, IndexError, AssertionError, OverflowError, ArithmeticError)

SIZES = (24, 48)  # what extents are in an example, unless it is made otherwise; results that differ depend on them
# How extents are made up: of what size, and by how much they differ from axis to axis and from tensor to tensor.
BASE = tuple([(size, 0, 0) for size in SIZES])
APART = ((24, 12, 60),)  # which tell what is the same in BASE by chance
ONES = ((1, 0, 0), (24, 12, 0))
NONE = ((0, 0, 0),)  # of a slice there may be nothing
OTHERS = (1, 2, 3, 4, 240, 0)  # what is tried where a call refuses those
RANKS = (2, 1, 3, 4, 0, 5)
FEW = (3, 10, 40)  # choices of extents for each choice of ranks: all ranks are gone through with few of them first
MOST = 600  # examples that are made for one call, and
STEPS = 20_000  # the ops that are recorded for all of them
_NUMBER = re.compile(r"\d+")


class Example(Replay):
    """A graph, recorded for made-up shapes: extents are of `sizes`, ranks are `rank`, but for those `chosen`.

    The inputs of nodes of `cut` are left out, as the values of these are made up, too.
    """

    def __init__(
        self, graph: Graph, sizes: tuple[int, int, int], rank: int, chosen: dict[Axis, int], cut: Sequence[Node] = ()
    ) -> None:
        super().__init__(graph, {}, {}, RunScope(lambda variable: _filled(variable.aval, sizes[0])))
        self._runs = False
        self._sizes, self._rank, self._chosen, self._cut = sizes, rank, chosen, set(cut)
        self._order: dict[Node, int] = {}
        scope: Any = self.scope
        self._trace = Trace(engine.UNBOUNDED, Trace(engine.UNBOUNDED), None, scope)
        self._failed: dict[Node, Exception] = {}

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Open a context in which the thread records into the example."""
        self.scope.draws = seeds.Draws()
        with engine.recording_in(self._trace):
            yield

    def of(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the examples of nodes of the graph, also for those of its branches and loops."""
        return [self.value(node) for node in nodes]

    def value(self, node: Node) -> Node:
        """Return the example of a node, made up from the graph's knowledge if it cannot be recorded without values."""
        waiting = [node]
        while waiting:
            current = waiting[-1]
            if current in self.values:
                waiting.pop()
            elif current.value is not None:
                if current.trace is not None:  # it depends on constants only, and was looked at
                    self.values[current] = leaf(current.aval, current.value)
                waiting.pop()
            elif current in self._failed:
                raise self._failed[current]
            elif current in self._cut:
                self.values[waiting.pop()] = leaf(self.aval(current), None)
            elif current.op is None or current.op is PLACEHOLDER or current in self.graph.opened_nodes:
                if missing := [n for n in _sources(current) if n not in self.values and n.value is None]:
                    waiting += missing
                else:
                    self.values[waiting.pop()] = self._made_up(current)
            elif missing := [n for n in current.inputs if n not in self.values and n.value is None]:
                waiting += missing
            else:
                self._recorded(waiting.pop())
        found: Node = self.values.get(node, node)
        return found

    def _recorded(self, node: Node) -> None:
        try:
            self._step(node)
            if node not in self.values:  # a handle
                self.values[node] = super().value(node)
        except (NeedsEager, NeedsFeed, NotImplementedError, LookupError):
            self.values[node] = self._made_up(node)
        except REFUSALS as error:
            self._failed[node] = error
            raise

    def _made_up(self, node: Node) -> Any:
        """Make an example of the known shape that depends on the node's inputs."""
        elements = _elements(node)
        avals = tuple([self.aval(n) for n in elements])
        if node.op is None or node.op is PLACEHOLDER:
            return leaf(avals[0], None)
        inputs = tuple([self.value(n) for n in _sources(node)])
        made = engine.elements(engine.record_as(LATE, inputs, (IdentityAttr(MadeUp(*_told(node))), avals), avals))
        return Outputs(made) if type(node.aval) is tuple else made[0]

    def aval(self, node: Node) -> Aval:
        """Return the made-up shape of a node."""
        if self.graph.open_rank(node):
            shape: Sequence[int] = (LARGE,) * self._chosen.get((node, -1), self._rank)
        else:
            shape = node.aval.shape
        size, by_axis, by_tensor = self._sizes
        size += by_tensor * self._order.setdefault(node, len(self._order))
        extents = [
            self._chosen.get((node, i), size + by_axis * (len(shape) - i)) if e >= LARGE else e for i, e in enumerate(shape)
        ]
        return aval(tuple(extents), node.aval.dtype)


def _told(node: Node) -> tuple[Container[int], Container[int]]:
    """Return the inputs of a node's op to which no gradient flows, and those that get IndexedSlices, as far as they are known."""
    producer = node.inputs[0] if node.op is ELEMENT else node
    if producer.op is LATE:
        call = producer.attrs[0].array
        return getattr(call, "blocked", None) or (), getattr(call, "sliced", None) or ()
    return () if producer.op.gradient is not None else range(len(producer.inputs)), ()


def _sources(node: Node) -> Sequence[Node]:
    """Return the inputs of a node's op."""
    producer = node.inputs[0] if node.op is ELEMENT else node
    return producer.inputs or ()


def _elements(node: Node) -> list[Node]:
    if type(node.aval) is not tuple:
        return [node]
    assert node.trace is not None
    later = itertools.takewhile(lambda n: n.op is ELEMENT, node.trace.nodes[node.index + 1 :])
    read = {n.attrs[0]: n for n in later if n.inputs[0] is node}
    return [read.get(i) or leaf(a, None) for i, a in enumerate(node.aval)]  # a Program has those that are read


class Found(NamedTuple):
    """The findings in examples: the results, and whether the nodes fit only `by_itself`, without what they depend on.

    `doubtful` are extents that may be the same in all results by chance, and so may their ranks be if not `ranked`.
    """

    results: list[Any]
    by_itself: bool = False
    doubtful: tuple[int, ...] = ()
    ranked: bool = True

    def common(self) -> list[Any]:
        """Return the common part of the Avals in all results, which are pairs of a layout and Avals; of no rank a dtype."""
        _, first = self.results[0]
        if any(len(avals) != len(first) for _, avals in self.results):
            raise ValueError(
                "Cannot infer argument `num` from shape: how many tensors there are depends on an extent that is not known."
            )
        if not self.ranked:
            return [a.dtype for a in first]
        return [common(each, self.doubtful) for each in zip(*[avals for _, avals in self.results], strict=True)]


class Examples:
    """The examples of a graph, which serve all of its calls."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[Any, Example] = {}
        self._chosen: list[dict[Axis, int]] = []  # what calls asked for, the last of them first
        self._origins: dict[Node, dict[Node, None]] = {}  # of nodes, as long as so many nodes are opened:
        self._opened = 0

    def try_out(
        self, nodes: Sequence[Node], hints: Sequence[Any], attempt: Callable[[Example], T], by_themselves: bool = True
    ) -> Found:
        """Return the results of `attempt` for examples that differ in the unknown extents and ranks of `nodes`; what it raises if
        it never succeeds.

        `hints` are ints that an extent may have to be, and shapes that a tensor may have to fit. `by_themselves`: the
        nodes may be made up, whatever they depend on.
        """
        graph = self._graph
        made_up, count = self._made_up(nodes), max([0, *[n.index for n in nodes]])
        ranks = [n for n in made_up if graph.open_rank(n)]
        refused: list[Exception] = []
        among = set(made_up)
        latest = [{axis: e for axis, e in chosen.items() if axis[0] in among} for chosen in self._chosen]
        start = {axis: e for chosen in reversed(latest) for axis, e in chosen.items()}
        search = _Search(graph, nodes, made_up, STEPS // (count + 1), hints, attempt, start=start)
        found: list[T] = []
        doubtful: tuple[int, ...] = ()
        for rank in RANKS if ranks else RANKS[:1]:
            some = self._some(rank, {}, made_up, attempt, refused)
            for chosen in [c for c in latest if c and all(e == rank for (_, axis), e in c.items() if axis < 0)]:
                some = some or self._some(rank, chosen, made_up, attempt, refused)
            if not some and ranks:
                some, doubtful = search.first(dict.fromkeys(ranks, rank), 8), search.doubtful()
                self._remember(search.fixed if some else {})
            found += some
        if found:
            if len(ranks) == 2 and len(self._open(nodes)) > 1:  # ranks that differ from each other
                pairs = [given for given in itertools.product(RANKS, repeat=2) if len(set(given)) > 1]
                for given in pairs:
                    other = dict(zip(ranks, given, strict=True))
                    some = self._of(BASE[:1], 0, {(n, -1): rank for n, rank in other.items()}, attempt, [])
                    found += some or search.first(other, 8)
                    doubtful = tuple(dict.fromkeys((*doubtful, *search.doubtful())))
            return Found(found, False, doubtful, len(ranks) < 3 or len(self._open(nodes)) < 2)
        for chosen in [c for c in latest if any(axis < 0 for _, axis in c)]:
            if found := self._some(0, chosen, made_up, attempt, refused):
                return Found(found, False, SIZES, False)
        if found := search.of_ranks(ranks):
            self._remember(search.fixed)
            return Found(found, False, search.doubtful(), not ranks)
        alone = self.by_themselves(nodes, hints, attempt) if by_themselves else None
        if alone is None:
            raise _without_extents(refused)
        return alone

    def _made_up(self, nodes: Sequence[Node]) -> list[Node]:
        """Return the nodes of open shapes that examples make up, of those on which `nodes` depend."""
        graph, known = self._graph, self._origins
        if self._opened != len(graph.opened_nodes):
            self._opened = len(graph.opened_nodes)
            known.clear()
        waiting = list(nodes)
        while waiting:
            node = waiting[-1]
            if node in known:
                waiting.pop()
            elif missing := [source for source in node.inputs or () if source not in known]:
                waiting += missing
            else:
                found = known[waiting.pop()] = {}
                if node.value is None and (node.op is None or node.op is PLACEHOLDER or node in graph.opened_nodes):
                    found[node] = None
                for source in node.inputs or ():
                    found |= known[source]
        made_up = {n: None for node in nodes for n in known[node]}
        return [n for n in made_up if graph.open_rank(n) or n.aval.large]

    def by_themselves(
        self, nodes: Sequence[Node], hints: Sequence[Any], attempt: Callable[[Example], T], most: int = MOST
    ) -> Found | None:
        """Return the results of `attempt` for examples that make `nodes` up, whatever they depend on; None if there are none."""
        cut = self._open(nodes)
        unranked = [n for n in cut if self._graph.open_rank(n)]
        known = [n for n in nodes if n.op is not None and n.value is None and n not in cut and n.aval.inexact]
        search = _Search(self._graph, nodes, cut, most, hints, attempt, [*cut, *known])
        found = search.of_ranks(unranked)
        return Found(found, True, search.doubtful(), not unranked) if found else None

    def _open(self, nodes: Sequence[Node]) -> list[Node]:
        """Return those whose shapes are not fully known, each once."""
        graph = self._graph
        return [n for n in dict.fromkeys(nodes) if type(n.aval) is not tuple and (n.aval.large or graph.open_rank(n))]

    def _remember(self, chosen: dict[Axis, int]) -> None:
        if chosen and chosen not in self._chosen:
            self._chosen = [chosen, *self._chosen[:7]]

    def _some(
        self,
        rank: int,
        chosen: dict[Axis, int],
        made_up: Sequence[Node],
        attempt: Callable[[Example], T],
        refused: list[Exception],
    ) -> list[T]:
        found = self._of(BASE, rank, chosen, attempt, refused)
        if found:
            shapes = [(n, (LARGE,) * rank if self._graph.open_rank(n) else n.aval.shape) for n in made_up]
            axes = [(n, i) for n, shape in shapes for i, e in enumerate(shape) if e >= LARGE]
            apart = self._of(APART, rank, chosen, attempt, []) if len(axes) > 1 else []
            if len(axes) > 1 and not apart:
                apart = [each for axis in axes for each in self._of(BASE[:1], rank, {**chosen, axis: SIZES[1]}, attempt, [])]
            found += [*apart, *self._of((*ONES, *NONE), rank, chosen, attempt, [])]
        return found

    def _of(
        self, sizes: Iterable[Any], rank: int, chosen: dict[Axis, int], attempt: Callable[[Example], T], refused: list[Exception]
    ) -> list[T]:
        found = []
        for size in sizes:
            key = (size, rank, frozenset(chosen.items()))
            example = self._known.get(key)
            if example is None:
                example = Example(self._graph, size, rank, chosen)
                if len(self._known) < MOST:
                    self._known[key] = example
            try:
                with example.recording(), np.errstate(all="ignore"):
                    found.append(attempt(example))
            except engine.NeedsValues:
                raise
            except (NotImplementedError, *REFUSALS) as error:
                refused.append(error)
        return found


class _Search:
    """A search for extents that a call takes."""

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[Node],
        made_up: Sequence[Node],
        most: int,
        hints: Sequence[Any],
        attempt: Callable[[Example], Any],
        cut: Sequence[Node] = (),
        start: dict[Axis, int] | None = None,
    ) -> None:
        self._graph, self._made_up, self._attempt, self._cut = graph, made_up, attempt, cut
        self._starts = [start, {}] if start else [{}]
        self._left = max(min(MOST, most), 20)
        self._shapes = [n.aval.shape for n in nodes if type(n.aval) is not tuple and not graph.open_rank(n)]
        self._shapes += [hint for hint in hints if type(hint) is tuple]
        numbers = [hint for hint in hints if type(hint) is int]
        near = sorted({e for shape in self._shapes for e in shape if e != 1 and e < LARGE}, reverse=True)
        self._sizes = list(dict.fromkeys([*near, *([sum(numbers)] if numbers else []), *numbers, *OTHERS]))[:14]
        self.fixed: dict[Axis, int] = {}
        self._refused: set[frozenset[tuple[Axis, int]]] = set()

    def doubtful(self) -> tuple[int, ...]:
        """Return the extents of the choice that was taken that may be others: several that had to be equal, or fit each other."""
        fixed = [size for (_, axis), size in self.fixed.items() if axis >= 0]
        return (*SIZES, *fixed) if len(fixed) > 1 else SIZES

    def of_ranks(self, ranks: Sequence[Node]) -> list[Any]:
        """Search like `first`, for any values of the unknown ranks; of many nodes all but the first or last have one rank."""
        count = len(ranks)
        free = list(itertools.product(RANKS, repeat=min(count, 3)))
        if count > 3:
            pairs = itertools.product(RANKS, repeat=2)
            free = [each for a, b in pairs for each in ((a, *[b] * (count - 1)), (*[a] * (count - 1), b))]
        given = list(dict.fromkeys(free))
        for most in FEW if ranks else (MOST,):
            for some in given:
                if found := self.first(dict(zip(ranks, some, strict=True)), most):
                    return found
        return []

    def first(self, ranks: dict[Node, int], most: int) -> list[Any]:
        """Return the results for the first choice that is taken, of `most`, and for others in which what is free differs."""
        choices = [itertools.islice(self._choices(ranks, start), most) for start in self._starts]
        for chosen in itertools.chain(*choices):
            if self._left < 0:
                break
            key = frozenset(chosen.items())
            if key in self._refused:
                continue
            if not (found := self._taken(chosen)):
                self._refused.add(key)
                continue
            fixed = dict(chosen)
            for axis in chosen:
                if axis[1] >= 0 and (more := self._taken({**fixed, axis: SIZES[1]})):
                    found += more
                    del fixed[axis]
            for place in [place for place in fixed if place[1] >= 0]:
                others = [{**fixed, place: size} for size in self._sizes if size != fixed[place]]
                others += [
                    {**fixed, place: SIZES[1], axis: fixed[place]} for axis in chosen if axis[1] >= 0 and axis not in fixed
                ]
                found += next(filter(None, map(self._taken, others)), [])
            free = len(fixed) < len(chosen) or len(fixed) == 1
            both = [result for size in SIZES for result in self._taken(fixed, size)] if free else []
            self.fixed = fixed
            return [*found, *both]
        return []

    def _taken(self, chosen: dict[Axis, int], size: int = SIZES[0]) -> list[Any]:
        self._left -= 1
        example = Example(self._graph, (size, 0, 0), 0, chosen, self._cut)
        try:
            with example.recording():
                return [self._attempt(example)]
        except engine.NeedsValues:
            raise
        except (NotImplementedError, *REFUSALS):
            return []

    def _choices(self, ranks: dict[Node, int], start: dict[Axis, int]) -> Iterator[dict[Axis, int]]:
        """Yield likely extents, beside those of `start`: known ones of others, at the same place or anywhere; hints."""
        base = {(n, -1): rank for n, rank in ranks.items()}
        base |= {axis: e for axis, e in start.items() if axis[1] >= 0 and start.get((axis[0], -1)) == ranks.get(axis[0])}
        beside: dict[Axis, int] = {}
        ahead: dict[Axis, int] = {}
        for n in self._made_up:
            shape = (LARGE,) * ranks[n] if n in ranks else n.aval.shape
            for axis in [axis for axis, e in enumerate(shape) if e >= LARGE and (n, axis) not in base]:
                there = [s[axis - len(shape)] for s in self._shapes if len(shape) - axis <= len(s)]
                beside[n, axis] = max([e for e in there if 1 < e < LARGE], default=SIZES[0])
                ahead[n, axis] = max([s[axis] for s in self._shapes if axis < len(s) and 1 < s[axis] < LARGE], default=SIZES[0])
        plain = dict.fromkeys(beside, SIZES[0])
        yield base | plain
        yield base | beside
        yield base | ahead
        alike = (base | dict.fromkeys(beside, size) for size in self._sizes)
        for pair in itertools.zip_longest(alike, self._fitted(base | plain, beside)):
            yield from filter(None, pair)
        if len(beside) > 1:
            small = dict.fromkeys(beside, 1)
            for of, size, place in itertools.product((plain, beside, ahead, small), self._sizes, beside):
                yield {**base, **of, place: size}
            for sizes, places in itertools.product(itertools.permutations(self._sizes[:4], 2), itertools.combinations(beside, 2)):
                yield {**base, **small, **dict(zip(places, sizes, strict=True))}
        if 1 < len(beside) < 5:
            for each in itertools.product(self._sizes[:5], repeat=len(beside)):
                yield base | dict(zip(beside, each, strict=True))

    def _fitted(self, base: dict[Axis, int], free: Iterable[Axis]) -> Iterator[dict[Axis, int]]:
        """Yield choices in which a tensor begins or ends with a shape that is known, longer ones first."""
        stated = sorted({shape for shape in self._shapes if shape and max(shape) < LARGE}, key=len, reverse=True)
        for n, shape in itertools.product(self._made_up, stated):
            axes = sorted([axis for of, axis in free if of is n])
            for fitted in (zip(axes, shape, strict=False), zip(axes[::-1], shape[::-1], strict=False)):
                if places := {(n, axis): e for axis, e in fitted}:
                    yield base | places


def _without_extents(refused: Sequence[Exception]) -> Exception:
    """Return the error of an example, with ? for numbers that are others in another example."""
    error = refused[0]
    others = [other for other in refused[1:] if type(other) is type(error)]
    numbers = _NUMBER.findall(str(others[0])) if others else []
    if len(_NUMBER.findall(str(error))) == len(numbers):
        remaining = iter(numbers)
        text = _NUMBER.sub(lambda found: found[0] if found[0] == next(remaining) else "?", str(error))
        error.args = (text, *error.args[1:])
        if hasattr(error, "message"):
            error.message = text
    return error


def _filled(known: Aval, size: int) -> Aval:
    return aval(tuple([size if e >= LARGE else e for e in known.shape]), known.dtype) if known.large else known
