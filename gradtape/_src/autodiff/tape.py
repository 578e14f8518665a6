"""`GradientTape`: which part of the record is differentiated, with respect to what."""

from __future__ import annotations

import enum
import functools
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from gradtape._src.autodiff.backward import Entry, Parts, active_nodes, reverse, summed
from gradtape._src.autodiff.jacobian import Rows
from gradtape._src.autodiff.observers import observers
from gradtape._src.autodiff.plan import Places, Plan, residual_set, stand_ins
from gradtape._src.core import engine, journal, nest
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.convert import NUMBERS, is_tensor, tensor
from gradtape._src.core.dtypes import DType
from gradtape._src.core.errors import InvalidArgumentError, cut, public
from gradtape._src.core.indexed_slices import IndexedSlices, dense
from gradtape._src.core.program import ELEMENT, FUNCTION, NUMBER, Node, Trace, leaf
from gradtape._src.core.tensor import EagerTensor, Stored, Tensor
from gradtape._src.core.variable import ResourceVariable, Variable
from gradtape._src.ops.array import broadcast_to, identity, ones, reshape, transpose, zeros
from gradtape._src.ops.creation import eye
from gradtape._src.ops.joining import stack, unstack

logger = logging.getLogger("gradtape")
plans = engine.Cache(512)
UNPLANNED = object()  # a gradient that has user code in it, which runs each time
residual_sets = engine.Cache(512)

Source = Tensor | Variable
Read = tuple[int, int, Variable, Node]  # (segment number, position, variable, the node that it held)


class UnconnectedGradients(enum.Enum):
    """What the gradient of a source is that the target does not depend on: `None`, or zeros of the source's shape."""

    NONE = "none"
    ZERO = "zero"


NONE = UnconnectedGradients.NONE


class Segment:
    """A part of a trace that a tape recorded: nodes `start` to `stop` (None: still recording), and its leaves by then."""

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
        """Stop here."""
        if self.stop is None:
            self.stop, self.leaves, self.reads = len(self.trace.nodes), len(self.trace.leaves), len(self.trace.reads)


def _leads_back(node: Node, variable: Variable, segment: Segment, reads: Sequence[Read]) -> bool:
    """Whether the tape holds how `node` came of an earlier read of `variable`, in `reads`: then only that one counts."""
    inside = node.trace is segment.trace and node.index >= segment.start and node.op.gradient is not None
    return inside and any(read is variable and before in node.inputs for _, _, read, before in reads)


class HookedTensor(EagerTensor):
    """A tensor with gradient hooks: `node` lies behind them, `origin` before, so that its gradient is what they leave of it."""

    origin: Tensor
    hooks: list[Callable[[Tensor], Tensor]]

    def hook_again(self) -> None:
        """Put the hooks behind what is recorded now."""
        x: Tensor = EagerTensor(self.origin.node)
        for attach in self.hooks:
            x = attach(x)
        self.hold(x)

    def hold(self, x: Tensor) -> None:
        """Be the handle of what `x` is."""
        self.node = x.node
        self.node.handle = ref(self)


class GradientTape:
    """Records operations for automatic differentiation.

    `with GradientTape() as tape:` records; `tape.gradient(target, sources)` differentiates. Trainable variables are
    watched when they are read (unless `watch_accessed_variables=False`), other tensors by `tape.watch(x)`. A tape that is
    not `persistent` gives one set of gradients. Tapes nest, to any order. With `strict` a gradient that is None is a
    ValueError that shows the line at which the connection broke, unless `unconnected_gradients="zero"`.

    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True, strict: bool = False) -> None:
        self._persistent, self._watch_accessed, self._strict = bool(persistent), watch_accessed_variables, bool(strict)
        self._segments: list[Segment] = []
        self._watches: list[tuple[int, int, Node, Variable | None]] = []
        self._variables: list[Variable] = []
        self._active: set[Node] = set()  # nodes of traces that ran, which depend on what is watched
        self._recording = self._used = self._paused = False
        self._entered = False
        self._record = journal.Taped(ref(self), self._persistent, self._watch_accessed)

    # -- recording

    @public
    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape. Leave its `with` "
                "block first, or make a second tape."
            )
        state = engine.local
        if state.trace.parent is None and not any(t() is not None for t in state.tapes):
            engine.flush()  # rule 2: the step before this one is a program of its own
            state.anchor = None
            state.trace.limit = engine.LIMIT
        self.open_quietly()
        return self

    def open_quietly(self) -> None:
        """Open the tape without running what is pending."""
        state = engine.local
        self._recording = self._entered = True
        self._used = False
        state.tapes.append(ref(self))
        self._begin(state.trace)
        if self._record.consumed is not None:
            self._record = journal.Taped(ref(self), self._persistent, self._watch_accessed)
        journal.tapes.append(self._record)

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

    def _note(self) -> None:
        """Tell the journal what this tape holds now."""
        record, segments = self._record, self._segments
        record.segments = [(s.trace.serial, s.start, len(s.trace.nodes) if s.stop is None else s.stop) for s in segments]
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
        """The thread's trace was cut while this tape records: go on in the new one."""
        if not self._paused and self._segments and self._segments[-1].stop is None:
            self._segments[-1].end()
            self._begin(after)

    @public
    def watch(self, tensor: Any) -> None:
        """Record what is done with `tensor` (a tensor, a variable, or a nest of them) from here on."""
        if not self._entered:
            raise AttributeError("watch() needs an open tape: call it inside of `with tf.GradientTape() as tape:`.")
        for item in nest.flatten(tensor):
            if isinstance(item, Stored):
                item = item.variable
            if not isinstance(item, (Tensor, Variable)):
                raise ValueError(
                    f"Passed in object {item!r} of type {type(item)}, not tf.Tensor or tf.Variable or ExtensionType."
                )
            if isinstance(item, HookedTensor):
                self.watch(item.origin)
                item.hook_again()
                continue
            if not _inexact(item.dtype):
                logger.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r. Its gradient will be None.",
                    item.dtype,
                )
                continue
            segment = self._segments[-1]
            position = len(segment.trace.nodes) if segment.stop is None else segment.stop
            if isinstance(item, Variable):
                self._variables.append(item)
                self._watches.append((len(self._segments) - 1, position, item.held(), item))
            else:
                self._watches.append((len(self._segments) - 1, position, item.node, None))

    @public
    def stop_recording(self) -> _Paused:
        """A context in which this tape records nothing; what is computed there is a constant to it."""
        return _Paused(self)

    @public
    def reset(self) -> None:
        """Forget what was recorded, and go on as after `with`; ValueError if the tape is not recording."""
        if not self._recording:
            raise ValueError("The tape is not recording: reset() goes on recording, so call it inside of the tape's context.")
        self._note()
        self._record.forgotten = journal.user_line()
        self._record = self._record.next()
        self._segments, self._watches, self._variables, self._used, self._active = [], [], [], False, set()
        if not self._paused:
            self._begin(engine.local.trace)

    @public
    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that the tape watches, in order of their creation: a tuple."""
        found = {}
        for _, _, variable, _ in self._reads():
            found[variable._uid] = variable
        for variable in self._variables:
            found[variable._uid] = variable
        return tuple([found[uid] for uid in sorted(found)])

    def _reads(self) -> list[Read]:
        """What variables were read while the tape watched, as `(segment number, position, variable, node)`."""
        result: list[Read] = []
        watched = {id(variable): (number, at) for number, at, _, variable in reversed(self._watches) if variable is not None}
        automatic = self._watch_accessed
        for number, segment in enumerate(self._segments):
            for position, variable, node in segment.trace.reads[segment.first_read : segment.reads]:
                if segment.trace.scope is not None and _leads_back(node, variable, segment, result):
                    continue
                if (automatic and variable._trainable) or (
                    watched and (number, position) >= watched.get(id(variable), (number, position + 1))
                ):
                    result.append((number, position, variable, node))
        return result

    # -- differentiating

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of (the sum of) `target` with respect to each of `sources`, in the structure of `sources`.

        `target`: a tensor, variable, or nest of them. `output_gradients`: what flows into each target (None: ones).
        A source that the target does not depend on gives None, or with `unconnected_gradients="zero"` zeros.
        """
        try:
            zero = unconnected_gradients is not NONE and _unconnected(unconnected_gradients) is not NONE
            self._ask(target, sources)
            flat_targets, grads_given = self._targets(target, output_gradients)
            flat_sources, pack = _sources(sources)
            asked = self._asked(flat_targets, flat_sources)
            results = self._differentiate(flat_targets, flat_sources, grads_given)
            given = [r is not None for r in results]
            if False in given:
                results = _with_identities(flat_targets, flat_sources, grads_given, results)
                given = [r is not None for r in results]
            asked.answered(engine.local.trace, given)
            if observers.asked is not None:
                observers.asked(asked, self, flat_targets, flat_sources, results)
            self._answered(asked.line)
            if False in given and not zero and observers.missing is not None:
                observers.missing(asked, flat_sources, given, self._strict)
            if zero:
                pairs = zip(flat_sources, results, strict=True)
                results = [zeros(s.shape, s.dtype) if r is None else r for s, r in pairs]
            if engine.eager:
                engine.flush_if_outermost()
            return pack(results)
        except BaseException as error:
            cut(error)
            raise

    def _ask(self, target: Any = None, sources: Any = None) -> None:
        """Before gradients are computed: a tape that is not persistent can be asked once, and stops recording."""
        if not self._segments and (self._used or not self._entered):
            stored = [[x for x in nest.flatten(given) if isinstance(x, (Tensor, Variable))] for given in (target, sources)]
            self._asked(*stored).refused = True
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). Use "
                "tf.GradientTape(persistent=True) to ask more than once."
            )
        if self._recording:
            if not self._persistent:
                self._close()
            else:
                logger.debug("gradient of a persistent tape asked inside its context: the gradient's ops are recorded too")

    def _asked(self, targets: Sequence[Source], sources: Sequence[Source]) -> journal.Asked:
        """Tell the journal that gradients are asked for."""
        if self._recording:
            self._note()
        asked = journal.Asked(
            self._record,
            [journal.origin_of(t.held() if isinstance(t, Variable) else t.node) for t in targets],
            [s._uid if isinstance(s, Variable) else journal.origin_of(s.node) for s in sources],
            engine.local.trace,
        )
        journal.calls.append(asked)
        return asked

    def _answered(self, line: journal.Line | None = None) -> None:
        """Gradients were computed: a tape that is not persistent lets go of its record."""
        if not self._persistent:
            self._used = True
            self._record.consumed = line or journal.user_line()
            if kept_step.wanted:
                kept_step.tape = self._copy()
            if self._watch_accessed:  # watched_variables() is still answered
                for segment in self._segments:
                    reads = segment.trace.reads[segment.first_read : segment.reads]
                    self._variables += [variable for _, variable, _ in reads if variable._trainable]
            for segment in self._segments:
                segment.trace.tapes = [t for t in segment.trace.tapes if t() is not self]
            self._segments, self._watches = [], []
            self._active = set()

    def _copy(self) -> GradientTape:
        """A persistent tape with the same record."""
        copy = GradientTape(True, self._watch_accessed)
        copy._segments, copy._watches, copy._record = self._segments, self._watches, self._record
        copy._entered, copy._active = True, self._active
        for segment in self._segments:
            segment.trace.tapes.append(ref(copy))
        return copy

    def _targets(self, target: Any, output_gradients: Any) -> tuple[list[Source], list[Tensor | None]]:
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
                f"differentiated, but received {target!r}."
            )
        if output_gradients is None and type(target) is EagerTensor and target.node.aval.inexact:
            return [target], [None]
        flat = []
        for t in nest.flatten(target):
            if isinstance(t, IndexedSlices):
                t = t.to_dense()
            if not isinstance(t, (Tensor, Variable)):
                if t is None or isinstance(t, _VALUES):
                    raise _no_tensor("target", t)
                t = tensor(t)
            if not _inexact(t.dtype):
                logger.warning(
                    "The dtype of the target tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, "
                    "got %r. The gradient is None.",
                    t.dtype,
                )
            flat.append(t)
        given = [None] * len(flat) if output_gradients is None else nest.flatten(output_gradients)
        if len(given) != len(flat):
            raise ValueError(f"output_gradients has {len(given)} entries for {len(flat)} targets: give one for each, or None.")
        checked = []
        for t, d in zip(flat, given, strict=True):
            if d is not None:
                d = tensor(d, t.dtype if not is_tensor(d) else None)
                if d.shape != t.shape:
                    d = _spread(d, t)
            checked.append(d)
        return flat, checked

    def _differentiate(self, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None]) -> list[Any]:
        plan = self._plan(targets, sources, given)
        if plan is not None:
            return plan.apply([segment.trace for segment in self._segments], given)
        return self._walk(targets, sources, given)

    # -- walking

    def _entries(self) -> tuple[list[Entry], list[int]]:
        """What was recorded, as a list of `Entry`, and where each segment begins in it."""
        entries: list[Any] = []
        offsets: list[int] = []
        for segment in self._segments:
            offsets.append(len(entries) - segment.start)
            entries += self._entries_of(segment)
        return entries, offsets

    def _entries_of(self, segment: Segment) -> list[Entry]:
        trace = segment.trace
        stop = len(trace.nodes) if segment.stop is None else segment.stop
        inputs = trace.inputs
        return [
            Entry(node, node.inputs if inputs is None else inputs[index], trace.gradients.get(index))
            for index, node in enumerate(trace.nodes[segment.start : stop], segment.start)
        ]

    def _starts(self, offsets: list[int], reads: list[Read]) -> dict[Node, int]:
        """The watched nodes, each with the position in the entries from which its use counts."""
        starts: dict[Node, int] = {}
        for number, position, _, node in reads:
            at = position + offsets[number]
            starts[node] = min(at, starts.get(node, at))
        for number, position, node, _ in self._watches:
            at = max(position + offsets[number], 0)
            starts[node] = min(at, starts.get(node, at))
        return starts

    def _sources(self, sources: Sequence[Source], reads: list[Read]) -> list[tuple[Node, ...]]:
        """The nodes that stand for each source: of a variable, all that were read."""
        variable: Variable | None
        read: dict[int, dict[Node, None]] = {}
        for _, _, variable, node in reads:
            read.setdefault(id(variable), {})[node] = None
        for _, _, node, variable in self._watches:
            if variable is not None:
                read.setdefault(id(variable), {})[node] = None
        return [tuple(read.get(id(s), ())) if isinstance(s, Variable) else (s.node,) for s in sources]

    def _walk(
        self,
        targets: Sequence[Source],
        sources: Sequence[Source],
        given: Sequence[Tensor | None],
        entries: list[Entry] | None = None,
    ) -> list[Any]:
        """Differentiate by walking the record; the gradient's ops are recorded where the thread records."""
        recorded, offsets = self._entries()
        entries = recorded if entries is None else entries
        reads = self._reads()
        on_tape = active_nodes(entries, self._starts(offsets, reads))
        wanted = [[n for n in nodes if n in on_tape] for nodes in self._sources(sources, reads)]
        active = active_nodes(entries, {n: on_tape[n] for nodes in wanted for n in nodes})
        cotangents: dict[Node, Any] = {}
        for target, d in zip(targets, given, strict=True):
            node = self._target_node(target)
            if node in active:
                d = ones(target.shape, target.dtype) if d is None else identity(d)  # a rule may look behind a broadcast
                cotangents[node] = cotangents[node] + d if node in cotangents else d
            elif not node.aval.inexact:
                call = next((e.inputs[0] for e in entries if e.node is node and e.node.op is ELEMENT), None)
                if call in active and call.op is FUNCTION:
                    cotangents[call] = Parts()  # an integer result of a function: nothing flows, but what it uses gets zeros
        if not cotangents:
            return [None] * len(sources)
        total = reverse(entries, active, cotangents)
        return [_sum_of([total[n] for n in nodes if n in total]) for nodes in wanted]

    def _target_node(self, target: Source) -> Node:
        return target.held() if isinstance(target, Variable) else target.node

    # -- plans (rule 8)

    def _plan(
        self, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None], dense: bool = False
    ) -> Plan | None:
        """The Plan for these gradients, made at first sight; None where user code has to run each time."""
        if not self._segments or any(segment.trace.gradients for segment in self._segments):
            return None
        if engine.local.trace.overrides is not None:  # the gradient's own ops may be overridden, for an outer tape
            return None
        places = Places(self._segments)
        key = self._plan_key(places, targets, sources, given, dense)
        plan: Any = key and plans.find(key)
        if plan is None and key:
            engine.counters.plans += 1
            plan = plans.keep(key, self._make_plan(places, targets, sources, given, dense))
        return plan if plan is not UNPLANNED else None

    def _plan_key(
        self, places: Places, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None], dense: bool
    ) -> tuple[Any, ...] | None:
        """What determines the gradient Program; None if a target is not on the tape."""
        place = places.find
        variable: Variable | None
        watched: list[Any] = []
        read: dict[int, Any] = {}
        for number, position, variable, node in self._reads():
            where = place(node)
            watched.append((number, position, where))
            of_variable = read.get(id(variable))
            if of_variable is None:
                read[id(variable)] = [where]
            elif where not in of_variable:
                of_variable.append(where)
        for number, position, node, variable in self._watches:
            where = place(node)
            watched.append((number, position, where))
            if variable is not None and where not in read.setdefault(id(variable), []):
                read[id(variable)].append(where)
        asked = tuple([place(self._target_node(t)) for t in targets])
        if None in asked:
            return None
        wanted = [tuple(read.get(id(s), ())) if isinstance(s, Variable) else place(s.node) for s in sources]
        return (
            places.structure,
            tuple(watched),
            tuple(wanted),
            asked,
            tuple([d is not None for d in given]),
            dense,
        )

    def _make_plan(
        self, places: Places, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None], dense: bool
    ) -> Any:
        """Differentiate once, into a Program of its own; `dense`: no IndexedSlices in the results."""
        entries, _ = self._entries()
        if any(e.node.op.impure for e in entries):
            return UNPLANNED
        numbers = stand_ins(entries, places)
        seeds = [None if d is None else EagerTensor(leaf(d.node.aval, None)) for d in given]
        with engine.tracing() as inner:
            results = self._walk(targets, sources, seeds, entries)
            flat: list[Node] = []
            layout: list[Any] = []
            for result in results:
                if dense and isinstance(result, IndexedSlices):
                    result = result.to_dense()
                if result is None:
                    layout.append(None)
                elif isinstance(result, IndexedSlices):
                    layout.append((len(flat), len(flat) + 1, result.dense_shape))
                    flat += [result.values.node, result.indices.node]
                else:
                    layout.append(len(flat))
                    flat.append(result.node)
            engine.enter(inner, flat)
            given_nodes = [s.node for s in seeds if s is not None]
            forward, where = [], []
            for node in inner.leaves:
                if node.index != NUMBER and node not in given_nodes:
                    found = numbers.get(node) or places.find(node)
                    if found is not None:
                        forward.append(node)
                        where.append(found)
            program = engine.close(inner, flat, [*given_nodes, *forward])
        return Plan(program, where, layout)

    # -- what the engine must keep for the backward pass (rule 6)

    def residual_indices(self, trace: Trace, structure: tuple[Any, ...]) -> tuple[int, ...]:
        """Indices of the nodes of `trace` whose values the backward pass will need; called once for each trace that runs."""
        if self._used or not self._segments:
            return ()
        number = len(self._segments) - 1
        while self._segments[number].trace is not trace:
            number -= 1
            if number < 0:
                return ()
        segment = self._segments[number]
        starts: dict[Node, int] = {}
        for of, position, node in [(n, p, x) for n, p, _, x in self._reads()] + [(n, p, x) for n, p, x, _ in self._watches]:
            if of == number:
                starts[node] = min(position - segment.start, starts.get(node, len(trace.nodes)))
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

    # -- pictures, which a floor above draws

    @public
    def summary(self) -> Any:
        """A table of what was recorded: op, the user's line, shape and dtype, bytes kept for the backward pass.

        `str()` and the prompt show it as text, `rich.print` in colour. It runs nothing. Of a tape that was used up it shows
        what is remembered, and nothing is kept.

        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(tf.exp(w))
        >>> len(tape.summary())
        2
        """
        return observers.pictures.summary(self)

    @public
    def residuals(self) -> Any:
        """What the backward pass will read of the forward pass: a list of records, whose `str()` is a table.

        Each has `value` (the op that made it, or the name of what came from outside), `file` and `line`, `shape`, `dtype`,
        `bytes`, `needed_by` (the ops whose gradients read it, with their lines) and `state`: "held", "pending" (it will be,
        when the program runs), "recomputed" or "input". The list's `bytes` adds up what is held and pending. It runs
        nothing. Empty once the tape is used up.

        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(tf.exp(w))
        >>> [(r.value, r.shape, r.needed_by[0][0]) for r in tape.residuals()]
        [('Exp', (2,), 'Exp')]
        """
        return observers.pictures.residuals(self)

    @public
    def draw(self, fold: bool = True) -> Any:
        """The tape as a graph: an SVG that a notebook shows, with `save(path)`.

        Ops that one line recorded in a row are one box, unless `fold` is False. What depends on nothing that is watched is
        dashed. At most 300 boxes are drawn. It runs nothing.

        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(tf.exp(w))
        >>> str(tape.draw())[:4]
        '<svg'
        """
        return observers.pictures.draw(self, fold)

    # -- Jacobians

    @public
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        chunk_size: int | None = None,
        mode: str | None = None,
    ) -> Any:
        """The Jacobian of `target` with respect to each of `sources`: shape target.shape + source.shape.

        `target`: a tensor, or a nest of them, which gives a nest of such results. All rows are one vectorised call, or all
        columns where the sources have fewer elements than the target; `mode` "reverse" or "forward" decides that.
        `chunk_size`: so many rows (columns) at a time, which takes less memory. ResourceExhaustedError with a chunk size
        that fits, before anything is allocated, where all at once would not. A source that a target does not depend on
        gives None, or zeros with "zero".

        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy().tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        """
        unconnected = _unconnected(unconnected_gradients)
        self._check_row_by_row("jacobian", experimental_use_pfor)
        rows = Rows(mode, chunk_size)
        flat_sources, pack = _sources(sources)
        targets, _ = self._targets(target, None)
        self._ask()
        asked = self._asked(targets, flat_sources)
        packed = []
        given = [True] * len(flat_sources)
        for one in targets:
            results = self._jacobians(one, flat_sources, rows)
            given = [had and r is not None for had, r in zip(given, results, strict=True)]
            if unconnected is not NONE:
                pairs = zip(flat_sources, results, strict=True)
                results = [zeros((*one.shape, *s.shape), s.dtype) if r is None else r for s, r in pairs]
            packed.append(pack(results))
        asked.answered(engine.local.trace, given)
        self._answered(asked.line)
        if False in given and unconnected is NONE and observers.missing is not None:
            observers.missing(asked, flat_sources, given, self._strict)
        return packed[0] if isinstance(target, (Tensor, Variable)) else nest.pack_sequence_as(target, packed)

    def _jacobians(self, target: Source, sources: Sequence[Source], rows: Rows) -> list[Tensor | None]:
        of = target.node.aval if isinstance(target, Tensor) else target.aval
        if not of.inexact:
            return [None] * len(sources)
        plan = self._plan([target], sources, [_one_of(of)], dense=True)
        if plan is not None:
            results = rows.jacobians(plan, [segment.trace for segment in self._segments], of)
        else:
            seeds = reshape(eye(of.size, dtype=of.type), (of.size, *of.shape))
            stacked = self._row_by_row([target], sources, [seeds])
            results = [None if r is None else reshape(r, (*of.shape, *r.shape[1:])) for r in stacked]
        if isinstance(target, Variable) and any(r is None for r in results):
            identity = reshape(eye(of.size, dtype=of.type), (*of.shape, *of.shape))
            results = _with_identities([target], sources, [identity], results)
        return results

    @public
    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        chunk_size: int | None = None,
    ) -> Tensor:
        """The Jacobian of each row of `target` with respect to the same row of `source`: [batch, …target, …source].

        Row i of `target` must depend on row i of `source` only. An unconnected target gives zeros. `chunk_size`: so many
        elements of a row at a time, which takes less memory.
        """
        _unconnected(unconnected_gradients)
        self._check_row_by_row("batch_jacobian", experimental_use_pfor)
        rows = Rows("reverse", chunk_size)
        source = _as_source(source)
        (target,), _ = self._targets(target, None)
        for name, ranked in (("target", target), ("source", source)):
            if ranked.ndim < 2:
                raise ValueError(
                    f"Shape {ranked.shape} of {name} must have rank at least 2: one row per example. Use jacobian, or "
                    "tf.expand_dims."
                )
        if target.shape[0] != source.shape[0]:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match: "
                "batch_jacobian is one Jacobian per row."
            )
        batch, *rest = target.shape
        count = math.prod(rest)
        seeds = reshape(eye(count, dtype=target.dtype), (count, 1, *rest))
        seeds = broadcast_to(seeds, (count, batch, *rest))
        (stacked,) = self.stacked_gradients([target], [source], [seeds], rows)
        shape = (batch, *rest, *source.shape[1:])
        if stacked is None:
            return zeros(shape, source.dtype)
        axes = (1, 0, *range(2, source.ndim + 1))
        return reshape(transpose(stacked, axes), shape)

    def _check_row_by_row(self, method: str, vectorized: bool) -> None:
        if not vectorized and not self._persistent:
            raise RuntimeError(
                f"Tape must be created with persistent=True to compute the {method} with experimental_use_pfor set to False. "
                "Leave experimental_use_pfor at True: all rows are then one call."
            )

    def stacked_gradients(
        self, targets: Sequence[Source], sources: Sequence[Source], seeds: Sequence[Tensor], rows: Rows
    ) -> list[Any]:
        """`gradient` for several sets of output gradients at once, which are stacked in `seeds`; so are the results, dense."""
        self._ask()
        of = [aval(s.node.aval.shape[1:], s.node.aval.dtype) for s in seeds]
        plan = self._plan(targets, sources, [_one_of(a) for a in of], dense=True)
        if plan is not None:
            results = rows.apply(plan, [segment.trace for segment in self._segments], seeds)
        else:
            results = self._row_by_row(targets, sources, seeds)
        self._answered()
        return results

    def _row_by_row(self, targets: Sequence[Source], sources: Sequence[Source], seeds: Sequence[Tensor]) -> list[Any]:
        """The gradients for each row of `seeds`, stacked, where user code has to run for each of them."""
        each = zip(*[unstack(s) for s in seeds], strict=True)
        rows = [[dense(d) for d in self._walk(targets, sources, row)] for row in each]
        return [None if any(r is None for r in column) else stack(column) for column in zip(*rows, strict=True)]


def _one_of(of: Aval) -> EagerTensor:
    """A symbol for one output gradient."""
    return EagerTensor(leaf(of, None))


class KeptStep:
    """What the last tape that was used up had recorded, if that is `wanted` (`gradtape.config.keep_last_step`)."""

    wanted = False
    tape: GradientTape | None = None


kept_step = KeptStep()


class _Paused:
    """The context of `stop_recording`."""

    __slots__ = ("_since", "_tape")

    def __init__(self, tape: GradientTape) -> None:
        if not tape._recording:
            kind = ValueError if tape._entered else RuntimeError  # as in TensorFlow
            raise kind("Trying to stop recording a tape which is not recording. Call stop_recording() inside its context.")
        self._tape = tape

    def __enter__(self) -> None:
        tape = self._tape
        tape._segments[-1].end()
        tape._paused = True
        state = engine.local
        self._since = journal.moment(state.trace)
        state.tapes = [t for t in state.tapes if t() is not tape]

    def __exit__(self, kind: object, value: Any, traceback: object) -> None:
        tape = self._tape
        tape._paused = False
        state = engine.local
        tape._record.paused = [*tape._record.paused, (self._since, journal.moment(state.trace))]
        state.tapes.append(ref(tape))
        tape._begin(state.trace)


def _sum_of(parts: Sequence[Any]) -> Any:
    return summed(parts) if parts else None


def _inexact(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_complex


_SIMPLE = {EagerTensor, ResourceVariable}


def _sources(sources: Any) -> tuple[Sequence[Source], Callable[[Sequence[Any]], Any]]:
    """The sources as a list of tensors and variables, and the function that packs results in their structure."""
    kind = type(sources)
    if kind in _SIMPLE:
        flat, pack = [sources], _first
    elif (kind is list or kind is tuple) and _SIMPLE.issuperset(map(type, sources)):
        flat, pack = sources, kind
    else:
        flat, spec = nest.flatten_with_spec(sources)
        flat = [_as_source(s) for s in flat]
        pack = functools.partial(nest.unflatten, spec)
    for s in flat:
        if not (s._tensor if isinstance(s, Variable) else s).node.aval.inexact:
            logger.warning(
                "The dtype of the source tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, "
                "got %r. Its gradient is None.",
                s.dtype,
            )
    return flat, pack


def _with_identities(
    targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None], results: Sequence[Any]
) -> list[Any]:
    """The results, with the derivative of a thing with respect to itself where nothing was recorded of it."""
    complete = list(results)
    for i, source in enumerate(sources):
        if complete[i] is None:
            own = [
                ones(t.shape, t.dtype) if d is None else d
                for t, d in zip(targets, given, strict=True)
                if t is source or (isinstance(t, Tensor) and isinstance(source, Tensor) and t.node is source.node)
            ]
            inexact = (source._tensor if isinstance(source, Variable) else source).node.aval.inexact
            complete[i] = _sum_of(own) if inexact else None
    return complete


def _first(results: Sequence[Any]) -> Any:
    return results[0]


def _as_source(source: Any) -> Source:
    if isinstance(source, HookedTensor):
        return source.origin
    if isinstance(source, IndexedSlices):
        return source.values
    if isinstance(source, Stored):
        source = source.variable
    if not isinstance(source, (Tensor, Variable)):
        raise _no_tensor("source", source)
    return source


_NUMBERS = (*NUMBERS, np.ndarray, np.generic)
_VALUES = (*_NUMBERS, str, bytes)


def _no_tensor(role: str, value: Any) -> Exception:
    """The error for a target or source that no tape can know; TensorFlow has an AttributeError for numbers and arrays."""
    kind = AttributeError if isinstance(value, _NUMBERS) else TypeError
    left = observers.left() if observers.left is not None and role == "target" else ""
    return kind(
        f"The {role} {value!r} of type {type(value).__name__} is no tensor or variable, so nothing was recorded of it. "
        f"Give the tensor that it was computed from, or made into.{left}"
    )


def _spread(seed: Tensor, target: Source) -> Tensor:
    """An output gradient that is smaller than its target, such as a number, broadcast to it."""
    try:
        result: Tensor = broadcast_to(seed, target.shape)
    except InvalidArgumentError:
        raise ValueError(
            f"output_gradients of shape {seed.shape} for a target of shape {target.shape}: they must agree, or broadcast to it."
        ) from None
    return result


def _unconnected(value: Any) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}. Give tf.UnconnectedGradients.NONE or .ZERO ('none', 'zero')."
        ) from None
