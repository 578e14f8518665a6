"""Transcripts of functions that have tapes in them, and of their calls, to explain these tapes afterwards.

A Transcript holds no node, tensor or variable. Its function and the latest calls refer to it.
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

SMALL = 1 << 20  # bytes up to which the arguments and variables of the latest calls are kept


class Inner(NamedTuple):
    """A body with tapes inside of a function: a called function with the origins of its inputs and results, a branch or loop.

    For a branch or loop, `inputs` and `results` are None. Inputs that change from trip to trip, as in a loop over a Dataset, have
    the origin None.
    """

    transcript: Transcript
    inputs: Sequence[Origin | None] | None = None
    results: Sequence[Origin] | None = None


class Transcript:
    """The trace of a function: keys, Avals and lines of its nodes, the origins of its leaves, the tapes and gradient calls in it.

    - `inputs`: the origins of the parameters of its Program; `places`: leaf → parameter; `constants`: leaf → value, for others.
    - `variables`: the numbers of the variables that it uses, each with the origins of its values; `passed`: the numbers of those
      that each call passes.
    - `reads`: `(position, number of a variable, origin)`.
    - `placed`: for a branch or loop body, `(index, number of the branch)`. The first op of its kind from that index on in the
      surrounding trace runs it.
    """

    __slots__ = (
        "avals", "bytes", "calls", "constants", "inputs", "inside", "keys", "leaf_avals", "leaves", "lines", "passed", "placed",
        "places", "reads", "results", "runs", "serial", "symbols", "tapes", "thread", "variables",
    )  # fmt: skip
    serial: int
    thread: int
    keys: tuple[Key, ...]
    avals: tuple[Any, ...]
    lines: tuple[Line, ...]
    leaves: tuple[Origin, ...]
    leaf_avals: tuple[Aval, ...]
    inputs: tuple[Origin, ...]
    placed: tuple[int, int] | None
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
    symbols: Any  # the places of symbols in it, once an instance was made


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
    made.placed = made.symbols = None
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
    made.bytes, made.runs = sum([n.aval.bytes for n in inputs]), 0
    return made


def _that_run(inside: Sequence[Inner]) -> list[Inner]:
    """Leave out the first traces of loop bodies that were traced again; these do not run."""
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
    number of earlier gradient calls. `arguments` are weak references to its argument tensors; None if its inputs were kept.
    """

    transcript: Transcript
    results: Sequence[Origin]
    passed: Sequence[int]
    asked: int
    arguments: Sequence[Any] | None

    def given(self) -> tuple[Sequence[Node], Sequence[Any]] | None:
        """Return the nodes of the arguments and the input arrays of the Program, if they are still kept."""
        return next(((n, arrays) for _, results, n, arrays in list(_inputs.values()) if results is self.results), None)


_keep_all = False  # whether the inputs of the last call are kept, however large they are
_runs: deque[tuple[Any, ...]] = deque(maxlen=64)  # plain tuples: one is made in each step of a training loop
_inputs: dict[int, tuple[Any, ...]] = {}  # number of a run → (transcript, results, arguments, input arrays)
KEPT = 4  # runs whose inputs are kept
MANY = 100  # calls of a function after which only its latest inputs are kept


def runs() -> list[Run]:
    """Return the latest calls."""
    return [Run(*run) for run in list(_runs)]


def keep(all: bool) -> None:
    """Keep the inputs of the latest call however large they are (`all`), or drop all and keep only small ones."""
    global _keep_all
    _keep_all = all
    if not all:
        _inputs.clear()


def forget() -> None:
    """Drop the inputs of the latest calls."""
    _inputs.clear()


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    """Keep the inputs of the latest call, however large they are, while the context is open."""
    global _keep_all
    before, _keep_all = _keep_all, True
    try:
        yield
    finally:
        _keep_all = before


def begin(transcript: Transcript) -> None:
    """Count a call that is about to run. After many calls, drop the function's earlier inputs.

    Results can then reuse their memory, which saves a seventh of a small training step.
    """
    transcript.runs += 1
    if transcript.runs > MANY:
        for number in [number for number, kept in list(_inputs.items()) if kept[0] is transcript]:
            _inputs.pop(number, None)


def ran(transcript: Transcript, arguments: Sequence[Node], results: Sequence[Node], passed: Sequence[int], given: Any) -> None:
    """Note a call; `given` are the input arrays of its Program, if it ran at once."""
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
