"""The transcript of a function with a tape in it, and its calls, so that these tapes can be explained afterwards.

A Transcript holds no node, tensor or variable. It belongs to its function, and to the last calls.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape._src.core.programs import journal

if TYPE_CHECKING:
    from gradtape._src.core.programs.journal import Asked, Line, Origin, Taped
    from gradtape._src.core.programs.program import Key, Node, Trace
    from gradtape._src.core.tensors.variable import Variable
    from gradtape._src.core.values.aval import Aval

SMALL = 1 << 20  # the arguments and variables of the last calls are kept if they have no more bytes than this


class Inner(NamedTuple):
    """A body inside of a function that has tapes in it: a function that it calls, with what that takes and gives.

    `inputs` and `results` are None of a branch or loop. Inputs that change from trip to trip, as in a loop over a Dataset, have
    no origins.
    """

    transcript: Transcript
    inputs: Sequence[Origin | None] | None = None
    results: Sequence[Origin] | None = None


class Transcript:
    """The trace of a function: keys, Avals and lines of its nodes, the origins of its leaves, the tapes and gradient calls in it.

    `inputs` are the origins of the parameters of its Program, `places` says which leaf is which of them, `constants` are the
    values of other leaves. `variables` are those that it uses, by their numbers, each with the origins of its values; `passed`
    those of them that each call passes. `reads` are `(position, number of a variable, origin)`. Of a branch or loop body `placed`
    is `(index, which branch, places)`: the first op of its kind from that index on in the trace around runs it, and gives input k
    of it parameter number `places[k]`.
    """

    __slots__ = (
        "avals", "bytes", "calls", "constants", "inputs", "inside", "keys", "leaf_avals", "leaves", "lines", "passed", "placed",
        "places", "reads", "results", "runs", "serial", "tapes", "thread", "variables",
    )  # fmt: skip
    serial: int
    thread: int
    keys: tuple[Key, ...]
    avals: tuple[Any, ...]
    lines: tuple[Line, ...]
    leaves: tuple[Origin, ...]
    leaf_avals: tuple[Aval, ...]
    inputs: tuple[Origin, ...]
    placed: tuple[int, int, Sequence[int]] | None
    places: dict[int, int]
    constants: dict[int, Any]
    variables: Sequence[tuple[int, Sequence[Origin]]]
    passed: Sequence[int]
    reads: Sequence[tuple[int, int, Origin]]
    results: tuple[Origin, ...]
    tapes: Sequence[Taped]
    calls: Sequence[Asked]
    inside: Sequence[Inner]
    bytes: Any  # of its inputs
    runs: int


def of(
    trace: Trace,
    inputs: Sequence[Node],
    results: Sequence[Node],
    variables: Sequence[tuple[Variable, Sequence[Node]]],
    inside: Sequence[Inner],
) -> Transcript:
    """Return the Transcript of a function that was traced."""
    made, origin_of = Transcript(), journal.origin_of
    made.serial, made.thread, made.passed = trace.serial, get_ident(), ()
    made.placed = None
    made.keys, made.avals = tuple([n.key for n in trace.nodes]), tuple([n.aval for n in trace.nodes])
    made.lines = tuple([(n.code, n.offset) for n in trace.nodes])
    made.leaves, made.leaf_avals = tuple(map(origin_of, trace.leaves)), tuple([n.aval for n in trace.leaves])
    made.inputs, made.results = tuple(map(origin_of, inputs)), tuple(map(origin_of, results))
    known = trace.leaf_index
    made.places = {-1 - known[node]: place for place, node in enumerate(inputs) if node in known}
    made.constants = {k: n.value for k, n in enumerate(trace.leaves) if k not in made.places and n.value is not None}
    made.variables = [(variable._uid, [*dict.fromkeys(map(origin_of, nodes))]) for variable, nodes in variables]
    made.reads = [(position, variable._uid, origin_of(node)) for position, variable, node in trace.reads]
    made.calls, made.tapes = journal.noted_in(trace)
    made.inside = _that_run(inside)
    made.bytes, made.runs = sum([n.aval.size * n.aval.dtype.itemsize for n in inputs]), 0
    return made


def _that_run(inside: Sequence[Inner]) -> list[Inner]:
    """Leave out the bodies of loops that were traced again, of which the first ones do not run."""
    run = [inner for inner in inside if inner.inputs is not None or inner.transcript.placed is not None]
    asked = {line for inner in run for line in _asked(inner.transcript)}
    return [inner for inner in inside if inner in run or not asked & _asked(inner.transcript)]


def _asked(transcript: Transcript) -> set[Line]:
    """Return the lines of the gradient calls in a function."""
    found = {call.line for call in transcript.calls}
    for inner in transcript.inside:
        found |= _asked(inner.transcript)
    return found


class Run(NamedTuple):
    """A call of a function with a tape in it, in eager code.

    `results` are the origins of its results, `passed` the numbers of the variables that were passed to it. `asked` is the
    number of earlier gradient calls. `arguments` are weak references to the tensors that it was given; None where its inputs
    are kept, at first.
    """

    transcript: Transcript
    results: Sequence[Origin]
    passed: Sequence[int]
    asked: int
    arguments: Sequence[Any] | None

    def given(self) -> tuple[Sequence[Node], Sequence[Any]] | None:
        """Return the nodes of the arguments, and the arrays that the Program took, if they are still kept."""
        return next(((n, arrays) for _, results, n, arrays in list(_inputs.values()) if results is self.results), None)


_keep_all = False  # whether the inputs of the last call are kept, however large they are
_runs: deque[tuple[Any, ...]] = deque(maxlen=64)  # plain tuples: one is made in each step of a training loop
_inputs: dict[int, tuple[Any, ...]] = {}  # by the number of a run: whose it is, results, arguments, the arrays that it took
KEPT = 4  # runs of which there are inputs
MANY = 100  # calls of a function, from which on the inputs of its last one are kept only


def runs() -> list[Run]:
    """Return the last calls."""
    return [Run(*run) for run in list(_runs)]


def keep(all: bool) -> None:
    """Keep the inputs of the last call, however large they are; or of small ones only, and let go of what is kept."""
    global _keep_all
    _keep_all = all
    if not all:
        _inputs.clear()


def forget() -> None:
    """Let go of the inputs of the last calls."""
    _inputs.clear()


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    """Keep the inputs of the last call, however large they are, for as long as the context is open."""
    global _keep_all
    before, _keep_all = _keep_all, True
    try:
        yield
    finally:
        _keep_all = before


def begin(transcript: Transcript) -> None:
    """Count a call that is about to run. After many, let go of the function's earlier inputs: results that have their memory
    take a seventh of a small step less.
    """
    transcript.runs += 1
    if transcript.runs > MANY:
        for number in [number for number, kept in list(_inputs.items()) if kept[0] is transcript]:
            _inputs.pop(number, None)


def ran(transcript: Transcript, arguments: Sequence[Node], results: Sequence[Node], passed: Sequence[int], given: Any) -> None:
    """Note a call; `given` are the arrays that its Program took, if it ran by itself."""
    origins: list[Origin] = []
    number = -next(journal.serial)
    for node in results:
        origin = node.origin
        if origin is None:
            origin = node.origin = (number, len(origins)) if node.trace is None else (node.trace.serial, node.index)
        origins.append(origin)
    handles = None
    if given is not None and (transcript.bytes <= SMALL or _keep_all):
        if transcript.bytes > SMALL:
            _inputs.clear()
        _inputs[number] = (transcript, origins, arguments, given)
        if len(_inputs) > KEPT:
            _inputs.pop(max([*_inputs], default=0), None)  # the oldest one: the numbers fall
    else:
        handles = [node.handle for node in arguments]
    _runs.append((transcript, origins, passed, journal.asked, handles))
