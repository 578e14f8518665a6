"""Inference for calls in a graph: a call is made in a graph of its own, on tensors with symbols as extents."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from gradtape._src.core.base.errors import OpError
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import ELEMENT, Node, leaf, producer
from gradtape._src.core.tensors.tensor import Tensor, handle
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import Aval, aval, has_no_rank, has_shape, unranked
from gradtape._src.core.values.dim import Atom, Dim, UnknownExtent, chosen, dims, in_numbers, unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.core.values.ways import Path, agreed, explored
from gradtape._src.v1.graphs.extents import NeedsFeed, structure_of
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.interpreter import NeedsEager, Outputs
from gradtape._src.v1.graphs.kinds import CONST, LATE, PLACEHOLDER, MadeUp, late
from gradtape._src.v1.graphs.replay import Replay, RunScope

T = TypeVar("T")
REFUSALS = (OpError, ValueError, TypeError, IndexError, AssertionError, OverflowError, ArithmeticError)
RANKS = (2, 1, 3, 4, 0, 5)  # the ranks tried for a tensor of unknown rank
# Values tried for a tensor whose elements are read, by the number of elements.
PATTERNS: tuple[Callable[[int], Any], ...] = (lambda n: np.arange(n) % 2, lambda n: 1, lambda n: 0, lambda n: np.arange(n) + 1)
Shapes = dict[Node, list[Dim]]  # of nodes of unknown rank
MANY = 1 << 6  # the most elements that are symbols
Found = tuple[Any, list[Aval]]  # layout and Avals of the results


class Looked(NamedTuple):
    """The layout and the Avals of a call's results.

    It is `settled` if one record of it holds for all extents: it asked nothing about them, and made no new ones.
    """

    layout: Any
    avals: list[Aval]
    settled: bool


class Aside(Graph):
    """A temporary graph, in which calls are made at once."""

    keeps: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[Node, np.ndarray] = {}  # tensors of integers, with symbols as elements
        self._supposed: dict[Node, np.ndarray] = {}
        self.run = RunScope(lambda variable: variable.aval)

    @property
    def supposes(self) -> bool:
        """Whether a value was read that is not known."""
        return bool(self._supposed)

    @property
    def symbols(self) -> set[Atom]:
        """The symbols in its ops."""
        avals = [a for n in self.trace.nodes for a in (n.aval if type(n.aval) is tuple else (n.aval,))]
        return symbols_in((*[n.attrs for n in self.trace.nodes], *[a.shape for a in avals if a.ranked]))

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Open a context in which this thread records into the graph."""
        with self.as_default(), np.errstate(all="ignore"):
            yield

    def like(self, node: Node, rank: Sequence[Dim] | None) -> Node:
        """Return a leaf for a node of the user's graph, with its value or shape if known; else with extents `rank`."""
        if node.value is not None:
            return node
        if node.op is CONST:
            return self.constant(node.attrs[0].array)
        made = leaf(node.aval if rank is None else aval(rank, node.aval.dtype), None)
        if rank is None and node.aval.dtype.kind in "iu" and (known := structure_of(node)) is not None:
            self.values[made] = known[0]
        return made

    def constant(self, array: Any) -> Node:
        """Return a leaf with this value."""
        if not hasattr(array, "dtype") or isinstance(array, np.ndarray):  # JAX arrays are not converted
            array = in_numbers(np.asarray(array))
        return leaf(aval(array.shape, array.dtype), array)

    def supposed(self, node: Node) -> np.ndarray | None:
        """Return an array for a node whose value is read: each of several patterns on some path."""
        known = structure_of(node, aside=self.values) if node.aval.dtype.kind in "iu" else None
        if known is not None:
            return np.array([int(v) for v in known[0].flat], node.aval.dtype).reshape(known[0].shape)
        shape = tuple(map(int, node.aval.shape))
        found = self._supposed.get(node)
        if found is None:
            pattern: Callable[[int], Any] = chosen(PATTERNS)
            numbers = np.broadcast_to(pattern(max(math.prod(shape), 1)), max(math.prod(shape), 1))[: math.prod(shape)]
            plain = (
                numbers.astype(str).astype(bytes).astype(object) if node.aval.dtype.hasobject else numbers.astype(node.aval.dtype)
            )
            found = self._supposed[node] = plain.reshape(shape)
        return found

    def integers(self, node: Node) -> np.ndarray:
        """Return the value of an integer tensor, with symbols for unknown elements."""
        found = structure_of(node, aside=self.values)
        if found is not None:
            return found[0]
        shape = tuple(map(int, node.aval.shape))
        made = np.empty(shape, object)
        if made.size > MANY:
            raise engine.NeedsValues("the value of a tensor with many elements is needed")
        made.flat[:] = [unknown(counts=False) for _ in range(made.size)]
        self.values[node] = made
        return made

    def of_some_rank(self, op: Op, inputs: Sequence[Node], attrs: Attributes) -> Any:
        """Return the Avals of results of which some have unknown ranks: each path takes other ones. None if there are none."""
        results = op.result(tuple([n.aval for n in inputs]), attrs)
        if not has_no_rank(results):
            return None
        return tuple([a if a.ranked else a.stated(TensorShape([None] * chosen(RANKS))) for a in results])

    def _own(self, item: Any) -> Any:
        return item

    def handle_of(self, variable: Variable) -> Node:
        """Return a leaf for a variable."""
        return self.run.read(variable)

    def read(self, variable: Variable) -> Node:
        """Return the node of a variable's present value."""
        return self.run.read(variable)

    def hold(self, variable: Variable, node: Node) -> Tensor | None:
        """Note an assignment."""
        self.run.hold(variable, node)
        return handle(node)


def symbols_in(value: Any) -> set[Atom]:
    """Return the symbols of the Dims in a value, a nest of tuples."""
    return {symbol for dim in dims(value) for symbol in dim.symbols}


def symbols_of(nodes: Iterable[Node]) -> set[Atom]:
    """Return the symbols in the shapes of nodes."""
    return symbols_in(tuple([n.aval.shape for n in nodes if has_shape(n.aval)]))


def looked_at(graph: Graph, nodes: Sequence[Node], attempt: Callable[[list[Node]], Found]) -> Looked:
    """Return the results of `attempt` on tensors like `nodes`, recorded in an Aside, for all extents and ranks: see `general`.

    `attempt` returns a layout and Avals.
    """
    symbols = symbols_of(nodes)
    own: set[Atom] = set()
    read = False  # whether a value was supposed

    def made(shapes: Shapes) -> Found:
        nonlocal read
        aside = Aside()
        with aside.recording():
            given = {n: aside.like(n, shapes.get(n)) for n in dict.fromkeys(nodes)}
            symbols.update(symbols_in(tuple([tuple(value.ravel()) for value in aside.values.values()])))
            found = attempt([given[n] for n in nodes])
            own.update(aside.symbols)
            read = read or aside.supposes
            return found

    looked = general(graph, nodes, made, symbols)
    if read:  # an extent may depend on the values, unless it is one of an input
        given = {e for n in nodes if has_shape(n.aval) for e in n.aval.shape}
        looked = looked._replace(avals=[_only(a, given) if a.ranked else a for a in looked.avals])
    return looked._replace(settled=looked.settled and own <= symbols)


def _only(of: Aval, given: set[Any]) -> Aval:
    """Return an Aval with new symbols for extents that are not among the `given` ones; the values tried often give 0 and 1."""
    return aval([e if e in given and e not in (0, 1) else unknown() for e in of.shape], of.dtype)


def general(graph: Graph, nodes: Sequence[Node], attempt: Callable[[Shapes], Found], symbols: set[Atom]) -> Looked:
    """Return the results of `attempt` for shapes of the nodes of unknown rank, generalised over all that it accepts.

    An extent that differs between paths, or depends on other symbols than `symbols`, becomes a new symbol. Raises an error of
    `attempt` if all paths fail.
    """
    no_rank = [n for n in dict.fromkeys(nodes) if type(n.aval) is not tuple and not n.aval.ranked]
    found: list[tuple[Found, Path]] = []
    refused: list[Exception] = []
    accepted: list[tuple[int, ...]] = []
    for ranks in _ranks(len(no_rank)):
        shapes = {n: [unknown() for _ in range(rank)] for n, rank in zip(no_rank, ranks, strict=True)}
        ways, errors = explored(functools.partial(attempt, shapes), (NotImplementedError, NeedsEager, *REFUSALS))
        found += ways
        refused += errors
        if ways:
            graph.ranks |= {n: rank for n, rank in zip(no_rank, ranks, strict=True) if n not in graph.ranks}
            accepted.append(ranks)
            if _are_open([avals for (_, avals), _ in found], accepted):
                break
    if not found:
        raise next((e for e in refused if isinstance(e, engine.NeedsValues)), refused[0])
    (layout, first), _ = found[0]
    if any(len(avals) != len(first) for (_, avals), _ in found):
        raise ValueError(
            "Cannot infer argument `num` from shape: how many tensors there are depends on an extent that is not known."
        )
    partly = any(isinstance(e, (engine.NeedsValues, UnknownExtent)) for e in refused)
    results = [[(avals[i], path) for (_, avals), path in found] for i in range(len(first))]
    settled = not no_rank and not any(path.taken for _, path in found)
    return Looked(layout, [_common(ways, symbols, partly) for ways in results], settled)


def _are_open(results: Sequence[Sequence[Aval]], accepted: Sequence[tuple[int, ...]]) -> bool:
    """Return whether other ranks would tell nothing new: each result had three ranks already, and each input two."""
    ranks = [{a.ndim for a in column if a.ranked} for column in zip(*results, strict=False)]
    return all(len(each) > 2 for each in ranks) and all(len(set(each)) > 1 for each in zip(*accepted, strict=True))


def _ranks(count: int) -> Iterable[tuple[int, ...]]:
    """Yield ranks for unranked tensors: all combinations for up to three, else those in which the first or the last differs."""
    if count <= 3:
        return itertools.product(RANKS, repeat=count)
    pairs = itertools.product(RANKS, repeat=2)
    return dict.fromkeys([each for a, b in pairs for each in ((a, *[b] * (count - 1)), (*[b] * (count - 1), a))])


def _common(results: Sequence[tuple[Any, Path]], known: set[Atom], partly: bool) -> Aval:
    """Return an Aval for all results. An extent that depends on symbols other than `known` is a new one; `partly`: all are."""
    first, _ = results[0]
    if any(not a.ranked or a.ndim != first.ndim for a, _ in results):
        return unranked(first.type)
    found = [agreed([(a.shape[axis], path) for a, path in results]) for axis in range(first.ndim)]
    new = [partly or e is None or not {s for d in dims(e) for s in d.symbols} <= known for e in found]
    return aval([unknown() if is_new else e for e, is_new in zip(found, new, strict=True)], first.dtype)


class Sketch(Replay):
    """A copy of a graph recorded in an Aside, to find its gradients. `ranks` are those assumed for tensors of unknown rank."""

    def __init__(self, graph: Graph, aside: Aside, ranks: dict[Node, int]) -> None:
        super().__init__(graph, {}, {}, aside.run)
        self._aside, self._ranks = aside, ranks

    def value(self, node: Node) -> Node:
        """Return the copy of a graph's node. An op that needs values is replaced by a MadeUp with the same known shape."""
        waiting = [node]
        while waiting:
            current = waiting[-1]
            if current in self.values:
                waiting.pop()
            elif current.value is not None:  # a node computed from constants, whose value was read
                self.values[waiting.pop()] = current if current.trace is None else leaf(current.aval, current.value)
            elif current.op is None or current.op is PLACEHOLDER:
                self.values[waiting.pop()] = self._like(current)
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
        except (NeedsEager, NeedsFeed, NotImplementedError, LookupError, *REFUSALS):
            elements = _elements(node)
            inputs = [self.value(n) for n in producer(node).inputs or ()]
            avals = [self._like(n).aval for n in elements]
            made = late(MadeUp(_blocked(node)), inputs, avals)
            self.values[node] = Outputs(made) if type(node.aval) is tuple else made[0]

    def _like(self, node: Node) -> Node:
        rank = self._ranks.get(node, RANKS[0])
        return self._aside.like(node, None if node.aval.ranked else [unknown() for _ in range(rank)])


def _blocked(node: Node) -> Container[int]:
    """Return the inputs of a node's op that get no gradient, as far as known."""
    maker = producer(node)
    if maker.op is LATE:
        return getattr(maker.attrs[0].array, "blocked", None) or ()
    return () if maker.op.gradient is not None else range(len(maker.inputs))


def _elements(node: Node) -> list[Node]:
    if type(node.aval) is not tuple:
        return [node]
    assert node.trace is not None
    later = itertools.takewhile(lambda n: n.op is ELEMENT, node.trace.nodes[node.index + 1 :])
    read = {n.attrs[0]: n for n in later if n.inputs[0] is node}
    return [read.get(i) or leaf(a, None) for i, a in enumerate(node.aval)]  # a Program has only those that are used


def sketched(graph: Graph, attempt: Callable[[Sketch], T]) -> T:
    """Return the result of `attempt` on a Sketch of the graph, with the first ranks for unranked tensors that it accepts."""
    refused: list[Exception] = []
    no_rank = [n for n in graph.trace.nodes if n.op is PLACEHOLDER and not n.aval.ranked]
    others = (dict(zip(no_rank, ranks, strict=True)) for ranks in (_ranks(len(no_rank)) if no_rank else ()))
    for ranks in itertools.chain([graph.ranks], others):

        def made(ranks: dict[Node, int] = ranks) -> T:
            aside = Aside()
            with aside.recording():
                return attempt(Sketch(graph, aside, ranks))

        ways, errors = explored(made, (NotImplementedError, *REFUSALS), enough=1)
        if ways:
            return ways[0][0]
        refused += errors
    raise refused[0]
