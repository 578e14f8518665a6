"""The record of a tape: its segments, watched nodes and residuals, and its entries in the journal."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self
from weakref import ref

from gradtape._src.autodiff import named
from gradtape._src.autodiff.backward import Entry
from gradtape._src.autodiff.plan import residual_set
from gradtape._src.core.base import hooks, naming
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Cache, Node, Trace
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_composed, variable_of
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, graph_of
from gradtape._src.core.tensors.variable import ResourceVariable, Variable
from gradtape._src.core.values.dtypes import DType, variant

logger = logging.getLogger("gradtape")
residual_sets = Cache(512)
Source = Tensor | Variable
Read = tuple[int, int, Variable, Node]  # (segment number, position, variable, node of its value)


class Segment:
    """A part of a trace on a tape: nodes `start` to `stop` (None: still recording), and the numbers of leaves and reads then."""

    __slots__ = ("first_read", "leaves", "reads", "start", "stop", "trace")
    trace: Trace
    start: int
    stop: int | None
    first_read: int
    leaves: int | None
    reads: int | None

    def __init__(self, trace: Trace) -> None:
        self.trace, self.start, self.stop, self.first_read = trace, len(trace.nodes), None, len(trace.reads)
        self.leaves = self.reads = None

    def end(self) -> None:
        """End the segment at the present node."""
        if self.stop is None:
            self.stop, self.leaves, self.reads = len(self.trace.nodes), len(self.trace.leaves), len(self.trace.reads)

    @property
    def until(self) -> int:
        """The index after its last node so far."""
        return len(self.trace.nodes) if self.stop is None else self.stop

    def holds(self, node: Node) -> bool:
        """Return whether a node was recorded in this segment."""
        return node.trace is self.trace and self.start <= node.index < self.until


def _leads_back(node: Node, variable: Variable, segments: Sequence[Segment], reads: Sequence[Read]) -> bool:
    """Return whether `node` was computed on this tape from an earlier read of `variable`; then only that read is a source."""
    inside = any(segment.holds(node) for segment in segments) and node.op.gradient is not None
    return inside and any(read is variable and before in node.inputs for _, _, read, before in reads)


class HookedTensor(EagerTensor):
    """A tensor with gradient hooks: `origin` is before them, `node` after them. `origin`'s gradient has passed through them."""

    origin: Tensor
    hooks: list[Callable[[Tensor], Tensor]]

    def hook_again(self) -> None:
        """Record the hooks again, at the present end of the trace."""
        x: Tensor = EagerTensor(self.origin.node)
        for attach in self.hooks:
            x = attach(x)
        self.hold(x)

    def hold(self, x: Tensor) -> None:
        """Become the handle of the node of `x`."""
        self.node = x.node
        self.node.handle = ref(self)


class Recording:
    """The record of a tape: its segments, and the nodes that it watches."""

    _inner = False  # opened by the library itself, and not noted in the journal

    @public
    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True, strict: bool = False) -> None:
        self._persistent, self._watch_accessed, self._strict = bool(persistent), watch_accessed_variables, bool(strict)
        self._segments: list[Segment] = []
        self._watches: list[tuple[int, int, Node, Variable | None]] = []
        self._variables: list[Variable] = []
        self._active: set[Node] = set()  # nodes of executed traces that depend on watched ones
        self._recording = self._used = self._paused = False
        self._entered = False
        self._record = journal.Taped(ref(self), self._persistent, self._watch_accessed)

    @public
    def __enter__(self) -> Self:
        if self._recording:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape. Leave its `with` "
                "block first, or make a second tape."
            )
        state = engine.local
        if state.trace.parent is None and not engine.taped():
            engine.flush()  # rule 2: the previous step is a separate program
            state.anchor = None
            state.trace.limit = engine.LIMIT
        elif naming.open_graphs and (graph := engine.graph_around()) is not None and graph.building_function:
            graph.differentiated(())  # raises if the graph keeps no gradients
        self.open_quietly()
        return self

    def open_quietly(self) -> None:
        """Open the tape without running pending ops."""
        state = engine.local
        self._recording = self._entered = True
        self._used = False
        state.tapes.append(ref(self))
        self._begin(state.trace)
        if self._record.consumed is not None:
            self._record = journal.Taped(ref(self), self._persistent, self._watch_accessed)
        if not self._inner:
            journal.note_tape(self._record)
            if hooks.watch.taped is not None:
                hooks.watch.taped(self._record, True)

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Open a context whose ops count as recorded by the tape, if that is closed and not used up."""
        opened = bool(self._segments) and not (self._recording or self._paused or self._used)
        if opened:
            self.open_quietly()
        try:
            yield
        finally:
            if opened:
                self._close()

    def __exit__(self, kind: object, value: Any, traceback: object) -> None:
        if self._recording:
            self._close()

    def _close(self) -> None:
        if self._segments:
            self._segments[-1].end()
        self._recording = False
        state = engine.local
        state.tapes = [t for t in state.tapes if (tape := t()) is not None and tape is not self]
        self._note()
        if hooks.watch.taped is not None:
            hooks.watch.taped(self._record, False)

    def _note(self) -> None:
        """Update the journal's entry of this tape."""
        record, segments = self._record, self._segments
        record.segments = [(s.trace.serial, s.start, s.until) for s in segments]
        if not self._watches:
            return
        record.watches = [
            (journal.origin_of(node), (segments[number].trace.serial, at), None if variable is None else variable._uid)
            for number, at, node, variable in self._watches
        ]

    def _begin(self, trace: Trace) -> None:
        self._segments.append(Segment(trace))
        trace.tapes.append(ref(self))

    def moved(self, before: Trace, after: Trace) -> None:
        """Continue in the trace that replaced `before`, if this tape was recording that one."""
        if not self._paused and self._segments and self._segments[-1].stop is None and self._segments[-1].trace is before:
            self._segments[-1].end()
            self._begin(after)

    @public
    def watch(self, tensor: Any) -> None:
        """Record the uses of `tensor` (a tensor, a variable, a sparse tensor, or a nest of them) from now on."""
        for item in map(variable_of, nest.flatten(tensor, expand_composites=True)):
            if not isinstance(item, (Tensor, Variable)) and not is_composed(item):
                raise ValueError(
                    f"Passed in object {item!r} of type {type(item)}, not tf.Tensor or tf.Variable or ExtensionType. "
                    "Make a tensor of it first, `x = tf.convert_to_tensor(x)`, and compute with that."
                )
            if not self._entered:
                raise AttributeError("watch() needs an open tape: call it inside of `with tf.GradientTape() as tape:`.")
            if isinstance(item, HookedTensor):
                self.watch(item.origin)
                item.hook_again()
                continue
            dtype = getattr(item, "dtype", variant)  # such as a Dataset, whose tensors cannot be watched
            if not inexact(dtype):
                logger.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r. "
                    "Its gradient is None, but for that of the tensor to itself.",
                    dtype,
                )
                continue
            segment = self._segments[-1]
            if isinstance(item, Variable):
                self._variables.append(item)
                self._watches.append((len(self._segments) - 1, segment.until, item.held(), item))
            else:
                self._watches.append((len(self._segments) - 1, segment.until, item.node, None))

    @public
    def get_tensor_by_name(self, name: str, index: int | None = None) -> Tensor:
        """Return the tensor recorded under `name`: the `name=` of an op with its name scopes, or the name of a Keras layer.

        The last parts of a name are enough ("conv" for "model/conv"), and `name:k` is output k of an op with several. A loop, or
        a function that is called several times, repeats a name. Then `index` selects one in the order of recording, -1 being the
        last. ValueError if there is no such tensor, or several and no `index`. `gradient` and `jacobian` also accept names as
        targets and sources.

        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape(persistent=True) as tape:
        ...     hidden = tf.identity(w * w, name="hidden")
        ...     loss = tf.reduce_sum(tf.exp(hidden))
        >>> tape.get_tensor_by_name("hidden") is hidden
        True
        >>> tape.gradient(loss, "hidden").numpy().round(2)
        array([ 2.72, 54.6 ], dtype=float32)
        """
        return named.find(self, name, index)

    @public
    def stop_recording(self) -> _Paused:
        """Open a context in which this tape does not record, so that results are constants for it."""
        return _Paused(self)

    @public
    def reset(self) -> None:
        """Drop the record and continue recording; ValueError if the tape is not recording."""
        if not self._recording or self._paused:
            raise ValueError("The tape is not recording: reset() goes on recording, so call it where the tape records.")
        self._note()
        self._record.forgotten = journal.user_line()
        self._record = self._record.next()
        self._segments, self._watches, self._variables, self._used, self._active = [], [], [], False, set()
        self._begin(engine.local.trace)

    @public
    def watched_variables(self) -> tuple[Variable, ...]:
        """Return a tuple of the variables that the tape watches, in order of their creation."""
        found = {}
        for _, _, variable, _ in self._reads():
            found[variable._uid] = variable
        for variable in self._variables:
            found[variable._uid] = variable
        return tuple([found[uid] for uid in sorted(found)])

    def _watched_nodes(self) -> list[tuple[int, int, Node, Variable | None]]:
        """Return the `watch` calls, except those on graph variables: their reads are recorded as ops."""
        return [entry for entry in self._watches if entry[3] is None or graph_of(entry[2]) is None]

    def _reads(self, only: int | None = None) -> list[Read]:
        """Return the watched reads of variables: `(segment number, position, variable, node)`; `only` those of one segment."""
        result: list[Read] = []
        watched = {id(variable): (number, at) for number, at, _, variable in reversed(self._watches) if variable is not None}
        automatic = self._watch_accessed
        numbers = range(len(self._segments)) if only is None else (only,)
        for number in numbers:
            segment = self._segments[number]
            reads = segment.trace.reads[segment.first_read : segment.reads]
            for position, variable, node in reads:
                if segment.trace.scope is not None and _leads_back(node, variable, self._segments, result):
                    continue
                if (automatic and variable._trainable) or (
                    watched and (number, position) >= watched.get(id(variable), (number, position + 1))
                ):
                    result.append((number, position, variable, node))
        return result

    def _ask(self, target: Any = None, sources: Any = None) -> None:
        """Begin a gradient call: stop recording unless the tape is persistent; RuntimeError for a second call."""
        if not self._segments and (self._used or not self._entered):
            stored = [
                [x for x in map(variable_of, nest.flatten(given)) if isinstance(x, (Tensor, Variable))]
                for given in (target, sources)
            ]
            asked = self._asked(*stored)
            asked.refused = True
            self._told(asked, stored[0], stored[1], None)
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). Use "
                "tf.GradientTape(persistent=True) to ask more than once."
            )
        if self._recording:
            if not self._persistent:
                self._close()
            else:
                logger.debug("gradient of a persistent tape asked inside its context: the gradient's ops are recorded too")

    def _differentiated(self, targets: Sequence[Source]) -> list[Node]:
        """Return the nodes of targets, and note them in the function under trace."""
        nodes = [t.node if isinstance(t, Tensor) else t.held() for t in targets]
        scope = engine.local.trace.scope
        if scope is not None:
            scope.differentiated(nodes)
        return nodes

    def _asked(self, targets: Sequence[Source], sources: Sequence[Source]) -> journal.Asked:
        """Note a gradient call in the journal."""
        nodes = self._differentiated(targets)
        if self._recording:
            self._note()
        asked = journal.Asked(
            self._record,
            [journal.origin_of(node) for node in nodes],
            [s._uid if type(s) is ResourceVariable or not isinstance(s, Tensor) else journal.origin_of(s.node) for s in sources],
            engine.local.trace,
        )
        if not self._inner:
            journal.note_call(asked)
        return asked

    def _told(
        self, asked: journal.Asked, targets: Sequence[Source], sources: Sequence[Source], results: Sequence[Any] | None
    ) -> None:
        """Report a gradient call to listeners; `results` is None if the call raises, as an op has no gradient."""
        if hooks.watch.asked is not None and not self._inner:
            hooks.watch.asked(asked, self, targets, sources, results)

    def _answered(self, line: journal.Line | None = None) -> None:
        """End a gradient call: release the record unless the tape is persistent."""
        if not self._persistent:
            self._used = True
            self._record.consumed = line or journal.user_line()
            if kept_step.wanted and engine.local.trace.parent is None:  # in a function there are no values
                kept_step.tape = self._copy()
            if self._watch_accessed:  # for later calls of `watched_variables()`
                for segment in self._segments:
                    reads = segment.trace.reads[segment.first_read : segment.reads]
                    self._variables += [variable for _, variable, _ in reads if variable._trainable]
            for trace in [segment.trace for segment in self._segments]:
                trace.tapes = [t for t in trace.tapes if t() is not self]
                if trace.inputs is not None and not trace.tapes:  # the trace has run
                    trace.forget()
            self._segments, self._watches = [], []
            self._active = set()

    def _copy(self) -> Self:
        """Return a persistent copy of the tape with the same record."""
        copy = type(self)(True, self._watch_accessed)
        copy._segments, copy._watches, copy._record = self._segments, self._watches, self._record
        copy._entered, copy._active = True, self._active
        for segment in self._segments:
            segment.trace.tapes.append(ref(copy))
        return copy

    def _entries(self) -> tuple[list[Entry], dict[int, int]]:
        """Return the record as a list of `Entry`, and by how much each segment's entries are behind their place in the trace."""
        entries: list[Any] = []
        offsets: dict[int, int] = {}
        for number, segment in enumerate(self._segments):
            offsets[number] = len(entries) - segment.start
            entries += self._entries_of(segment)
        return entries, offsets

    def _entries_of(self, segment: Segment) -> list[Entry]:
        trace = segment.trace
        inputs = trace.inputs
        return [
            Entry(node, node.inputs if inputs is None else inputs[index], trace.gradients.get(index))
            for index, node in enumerate(trace.nodes[segment.start : segment.until], segment.start)
        ]

    def _starts(self, offsets: Mapping[int, int], reads: list[Read]) -> dict[Node, int]:
        """Return the nodes watched in segments that have `offsets`, each with the entry position from which its use counts."""
        starts: dict[Node, int] = {}
        watched = [(number, position, node) for number, position, node, _ in self._watched_nodes()]
        for number, position, node in [*[(number, position, node) for number, position, _, node in reads], *watched]:
            if number in offsets:
                at = max(position + offsets[number], 0)
                starts[node] = min(at, starts.get(node, at))
        return starts

    def residual_indices(self, trace: Trace, structure: tuple[Any, ...]) -> tuple[int, ...]:
        """Return the indices of the residuals in `trace`; called once when a trace runs."""
        if self._used or not self._segments:
            return ()
        number = len(self._segments) - 1
        while self._segments[number].trace is not trace:
            number -= 1
            if number < 0:
                return ()
        segment = self._segments[number]
        starts = self._starts({number: -segment.start}, self._reads(number))
        for node in trace.leaves:
            if node in self._active:
                starts[node] = 0
        reference = trace.reference
        key = (structure, segment.start, segment.stop, tuple([(reference(n), at) for n, at in starts.items()]))
        found = residual_sets.find(key)
        if found is None:
            found = residual_sets.keep(key, residual_set(trace, self._entries_of(segment), starts))
        active, wanted = found
        self._active.update([trace.nodes[i] for i in active])
        self._active.update(starts)
        return wanted


class KeptStep:
    """The record of the last used-up tape, kept if `wanted` (`gradtape.config.keep_last_step`)."""

    wanted = False
    tape: Any = None  # the GradientTape

    def keep(self, wanted: bool) -> None:
        """Set whether to keep the next used-up tapes; drop the last one if not."""
        self.wanted = wanted
        if not wanted:
            self.tape = None


kept_step = KeptStep()


class _Paused:
    """The context of `stop_recording`.

    It has no effect in a function, branch or loop that is traced in it, since the tape records the call as one op.
    """

    __slots__ = ("_elsewhere", "_since", "_tape")

    def __init__(self, tape: Recording) -> None:
        if not tape._recording or tape._paused:
            if tape._entered:  # TensorFlow raises these two errors
                raise ValueError("Tape is not recording. Call stop_recording() inside its context.")
            raise RuntimeError("Trying to stop recording a tape which is not recording. Call it inside its context.")
        self._tape = tape

    def __enter__(self) -> None:
        tape, state = self._tape, engine.local
        self._elsewhere = tape._segments[-1].trace is not state.trace
        if self._elsewhere:
            return
        tape._segments[-1].end()
        tape._paused = True
        self._since = journal.moment(state.trace)
        state.tapes = [t for t in state.tapes if t() is not tape]
        state.pauses += 1

    def __exit__(self, kind: object, value: Any, traceback: object) -> None:
        if self._elsewhere:
            return
        tape, state = self._tape, engine.local
        tape._paused = False
        tape._record.paused = [*tape._record.paused, (self._since, journal.moment(state.trace))]
        state.tapes.append(ref(tape))
        state.pauses -= 1
        tape._begin(state.trace)


_SIMPLE = {EagerTensor, ResourceVariable}


def are_plain(sources: Sequence[Any]) -> bool:
    """Return whether all sources are plain tensors and variables of floating or complex dtype."""
    return all(type(s) in _SIMPLE and (s if isinstance(s, Tensor) else s._tensor).node.aval.inexact for s in sources)


def inexact(dtype: DType) -> bool:
    """Return whether values of a dtype can have a derivative."""
    return dtype.is_floating or dtype.is_complex
