"""`GradientTape`: which part of the record is differentiated, with respect to what."""

import enum
import logging
from weakref import ref

from gradtape._src.autodiff.backward import Entry, active_nodes, reverse, summed
from gradtape._src.core import engine, journal, nest
from gradtape._src.core.convert import is_tensor, tensor
from gradtape._src.core.errors import public
from gradtape._src.core.indexed_slices import IndexedSlices
from gradtape._src.core.program import NUMBER, leaf
from gradtape._src.core.tensor import EagerTensor, Tensor
from gradtape._src.core.variable import Variable
from gradtape._src.ops.array import ones, zeros

logger = logging.getLogger("gradtape")
plans = engine.Cache(512)
UNPLANNED = object()  # a gradient that has user code in it, which runs each time


class UnconnectedGradients(enum.Enum):
    """What the gradient of a source is that the target does not depend on: `None`, or zeros of the source's shape."""

    NONE = "none"
    ZERO = "zero"


class Segment:
    """A part of a trace that a tape recorded: nodes `start` to `stop` (None: still recording), and its leaves by then."""

    __slots__ = ("leaves", "reads", "start", "stop", "trace")

    def __init__(self, trace):
        self.trace, self.start, self.stop = trace, len(trace.keys), None
        self.leaves = self.reads = None

    def end(self):
        """Stop here."""
        if self.stop is None:
            self.stop, self.leaves, self.reads = len(self.trace.keys), len(self.trace.leaves), len(self.trace.reads)


class GradientTape:
    """Records operations for automatic differentiation.

    `with GradientTape() as tape:` records; `tape.gradient(target, sources)` differentiates. Trainable variables are
    watched when they are read (unless `watch_accessed_variables=False`), other tensors by `tape.watch(x)`. A tape that is
    not `persistent` gives one set of gradients. Tapes nest, to any order.

    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    6.0
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent, self._watch_accessed = bool(persistent), watch_accessed_variables
        self._segments, self._watches, self._variables = [], [], []
        self._recording = self._used = self._paused = False
        self._entered = False

    # -- recording

    @public
    def __enter__(self):
        if self._recording:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape. Leave its `with` "
                "block first, or make a second tape."
            )
        state = engine.local
        if not _open_tapes(state) and state.trace.parent is None:
            engine.flush()  # rule 2: the step before this one is a program of its own
            state.anchor = None
            state.trace.limit = engine.LIMIT if state.trace.parent is None else state.trace.limit
        self._recording = self._entered = True
        self._used = False
        state.tapes.append(ref(self))
        self._begin(state.trace)
        journal.note("tape opened", id(self))
        return self

    def __exit__(self, kind, value, traceback):
        if self._recording:
            self._close()

    def _close(self):
        if self._segments:
            self._segments[-1].end()
        self._recording = False
        state = engine.local
        state.tapes = [t for t in state.tapes if (tape := t()) is not None and tape is not self]
        journal.note("tape closed", id(self))

    def _begin(self, trace):
        self._segments.append(Segment(trace))
        trace.tapes.append(ref(self))

    def moved(self, before, after):
        """The thread's trace was cut while this tape records: go on in the new one."""
        if not self._paused and self._segments and self._segments[-1].stop is None:
            self._segments[-1].end()
            self._begin(after)

    @public
    def watch(self, tensor):
        """Record what is done with `tensor` (a tensor, a variable, or a nest of them) from here on."""
        if not self._entered:
            raise AttributeError("watch() needs an open tape: call it inside of `with tf.GradientTape() as tape:`.")
        for item in nest.flatten(tensor):
            item = getattr(item, "value", item) if _is_keras_variable(item) else item
            if not isinstance(item, (Tensor, Variable)):
                raise ValueError(f"Passed in object {item!r} of type {type(item)}, not tf.Tensor or tf.Variable or ExtensionType.")
            if not _inexact(item.dtype):
                logger.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r. Its gradient will be None.",
                    item.dtype,
                )
                continue
            segment = self._segments[-1]
            position = len(segment.trace.keys) if segment.stop is None else segment.stop
            if isinstance(item, Variable):
                self._variables.append(item)
                self._watches.append((len(self._segments) - 1, position, item._tensor.node, item))
            else:
                self._watches.append((len(self._segments) - 1, position, item.node, None))

    @public
    def stop_recording(self):
        """A context in which this tape records nothing; what is computed there is a constant to it."""
        return _Paused(self)

    @public
    def reset(self):
        """Forget what was recorded, and go on as after `with`."""
        self._segments, self._watches, self._variables, self._used = [], [], [], False
        if self._recording and not self._paused:
            self._begin(engine.local.trace)

    @public
    def watched_variables(self):
        """The variables that the tape watches, in order of their creation: a tuple."""
        found = {}
        for _, _, variable, _ in self._reads():
            found[variable._uid] = variable
        for variable in self._variables:
            found[variable._uid] = variable
        return tuple([found[uid] for uid in sorted(found)])

    def _reads(self):
        """What variables were read while the tape watched, as `(segment number, position, variable, node)`."""
        result = []
        watched = {id(v) for v in self._variables}
        for number, segment in enumerate(self._segments):
            reads, stop = segment.trace.reads, segment.stop
            if not reads:
                continue
            last = segment.reads if segment.reads is not None else len(reads)
            for position, variable, node in reads[:last]:
                if position < segment.start or (stop is not None and position > stop):
                    continue
                if (variable._trainable and self._watch_accessed) or id(variable) in watched:
                    result.append((number, position, variable, node))
        return result

    # -- differentiating

    @public
    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        """The gradient of (the sum of) `target` with respect to each of `sources`, in the structure of `sources`.

        `target`: a tensor, variable, or nest of them. `output_gradients`: what flows into each target (None: ones).
        A source that the target does not depend on gives None, or with `unconnected_gradients="zero"` zeros.
        """
        unconnected = _unconnected(unconnected_gradients)
        if self._used and not self._persistent:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). Use "
                "tf.GradientTape(persistent=True) to ask more than once."
            )
        if self._recording:
            if not self._persistent:
                self._close()
            else:
                logger.debug("gradient of a persistent tape asked inside its context: the gradient's ops are recorded too")
        flat_targets, grads_given = self._targets(target, output_gradients)
        flat_sources, spec = nest.flatten_with_spec(sources)
        flat_sources = [_as_source(s) for s in flat_sources]
        for s in flat_sources:
            if not _inexact(s.dtype):
                logger.warning(
                    "The dtype of the source tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, "
                    "got %r. Its gradient is None.",
                    s.dtype,
                )
        results = self._differentiate(flat_targets, flat_sources, grads_given)
        if not self._persistent:
            self._used = True
            self._segments, self._watches = [], []
        journal.note("gradient", id(self), len(flat_targets), len(flat_sources))
        if unconnected is UnconnectedGradients.ZERO:
            results = [zeros(s.shape, s.dtype) if r is None else r for s, r in zip(flat_sources, results, strict=True)]
        if engine.eager:
            engine.flush_if_outermost()
        return nest.unflatten(spec, results)

    def _targets(self, target, output_gradients):
        flat = []
        for t in nest.flatten(target):
            t = getattr(t, "value", t) if _is_keras_variable(t) else t
            if isinstance(t, IndexedSlices):
                t = t.to_dense()
            if not isinstance(t, (Tensor, Variable)):
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
                    raise ValueError(f"output_gradients of shape {d.shape} for a target of shape {t.shape}: they must agree.")
            checked.append(d)
        return flat, checked

    def _differentiate(self, targets, sources, given):
        key = self._plan_key(targets, sources, given)
        if key is not None:
            plan = plans.find(key)
            if plan is None:
                plan = plans.keep(key, self._make_plan(targets, sources, given))
            if plan is not UNPLANNED:
                return plan.apply(self._segments[0].trace, given)
        return self._walk(targets, sources, given)

    # -- walking

    def _entries(self):
        """What was recorded, as a list of `Entry`, and where each segment begins in it."""
        entries, offsets = [], []
        for segment in self._segments:
            trace = segment.trace
            offsets.append(len(entries) - segment.start)
            stop = len(trace.keys) if segment.stop is None else segment.stop
            inputs = trace.inputs
            for index in range(segment.start, stop):
                node = trace.nodes[index]
                entries.append(Entry(node, node.inputs if inputs is None else inputs[index], trace.gradients.get(index)))
        return entries, offsets

    def _starts(self, offsets):
        """The watched nodes, each with the position in the entries from which its use counts."""
        starts = {}
        for number, position, _, node in self._reads():
            at = position + offsets[number]
            starts[node] = min(at, starts.get(node, at))
        for number, position, node, _ in self._watches:
            at = max(position + offsets[number], 0)
            starts[node] = min(at, starts.get(node, at))
        return starts

    def _source_nodes(self, source):
        """The nodes that stand for a source: of a variable, all that were read."""
        if not isinstance(source, Variable):
            return [source.node]
        nodes = [node for _, _, variable, node in self._reads() if variable is source]
        nodes += [node for _, _, node, variable in self._watches if variable is source]
        return list(dict.fromkeys(nodes))

    def _walk(self, targets, sources, given):
        """Differentiate by walking the record; the gradient's ops are recorded where the thread records."""
        entries, offsets = self._entries()
        on_tape = active_nodes(entries, self._starts(offsets))
        wanted = [[n for n in self._source_nodes(s) if n in on_tape] for s in sources]
        active = active_nodes(entries, {n: on_tape[n] for nodes in wanted for n in nodes})
        cotangents = {}
        for target, d in zip(targets, given, strict=True):
            for node in self._target_nodes(target):
                if node in active:
                    d = ones(target.shape, target.dtype) if d is None else d
                    cotangents[node] = cotangents[node] + d if node in cotangents else d
        if not cotangents:
            return [None] * len(sources)
        total = reverse(entries, active, cotangents)
        return [_sum_of([total[n] for n in nodes if n in total]) for nodes in wanted]

    def _target_nodes(self, target):
        if not isinstance(target, Variable):
            return [target.node]
        return [target._tensor.node]

    # -- plans (rule 8)

    def _plan_key(self, targets, sources, given):
        """What determines the gradient Program, if it can be planned: one segment, no user code."""
        if len(self._segments) != 1:
            return None
        segment = self._segments[0]
        trace = segment.trace
        if trace.gradients:
            return None
        stop = len(trace.keys) if segment.stop is None else segment.stop
        leaves = len(trace.leaves) if segment.leaves is None else segment.leaves
        reference = trace.reference
        watched = [(p, reference(n)) for _, p, _, n in self._reads()]
        watched += [(p, reference(n)) for _, p, n, _ in self._watches]
        wanted = [tuple([reference(n) for n in self._source_nodes(s)]) for s in sources]
        asked = [reference(n) for t in targets for n in self._target_nodes(t)]
        return (
            tuple(trace.keys[:stop]),
            segment.start,
            tuple([n.aval for n in trace.leaves[:leaves]]),
            tuple(watched),
            tuple(wanted),
            tuple(asked),
            tuple([d is not None for d in given]),
        )

    def _make_plan(self, targets, sources, given):
        """Differentiate once, into a Program of its own."""
        segment = self._segments[0]
        trace = segment.trace
        entries, _ = self._entries()
        if any(e.node.op.impure for e in entries):
            return UNPLANNED
        seeds = [None if d is None else EagerTensor(leaf(d.node.aval, None)) for d in given]
        with engine.tracing() as inner:
            results = self._walk(targets, sources, seeds)
            flat = []
            layout = []
            for result in results:
                if result is None:
                    layout.append(None)
                elif isinstance(result, IndexedSlices):
                    layout.append((len(flat), len(flat) + 1, result.dense_shape))
                    flat += [result.values.node, result.indices.node]
                else:
                    layout.append(len(flat))
                    flat.append(result.node)
            given_nodes = [s.node for s in seeds if s is not None]
            known = set(given_nodes)
            for node in flat:
                if node.trace is not inner and node not in inner.leaf_index:
                    engine.adopt(inner, node)
            forward = [n for n in inner.leaves if n not in known and trace.reference(n) is not None and n.index != NUMBER]
            program = engine.close(inner, flat, [*given_nodes, *forward])
        return Plan(program, tuple([trace.reference(n) for n in forward]), layout)

    # -- what the engine must keep for the backward pass (rule 6)

    def residuals(self, trace):
        """Indices of the nodes of `trace` whose values the backward pass will need."""
        if self._used or not self._segments:
            return ()
        entries, offsets = self._entries()
        active = active_nodes(entries, self._starts(offsets))
        wanted = set()
        nodes = trace.nodes
        stack = []
        for position, entry in enumerate(entries):
            if active.get(entry.node) == position:
                stack += saved(entry)
        while stack:
            node = stack.pop()
            index = node.index
            if not (0 <= index < len(nodes) and nodes[index] is node) or index in wanted or node.value is not None:
                continue
            if node.op.cheap:
                stack += node.inputs
            else:
                wanted.add(index)
        return wanted if len(trace.keys) > engine.SMALL or wanted_bytes(nodes, wanted) > 1 << 16 else ()

    # -- Jacobians

    @public
    def jacobian(self, target, sources, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                 experimental_use_pfor=True):  # fmt: skip
        """The Jacobian of `target` with respect to each of `sources`: shape target.shape + source.shape."""
        from gradtape._src.autodiff.jacobian import jacobian

        return jacobian(self, target, sources, unconnected_gradients)

    @public
    def batch_jacobian(self, target, source, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                       experimental_use_pfor=True):  # fmt: skip
        """The Jacobian of each row of `target` with respect to the same row of `source`."""
        from gradtape._src.autodiff.jacobian import batch_jacobian

        return batch_jacobian(self, target, source, unconnected_gradients)


class Plan:
    """A gradient Program, the references of the forward nodes that it takes, and how its outputs make the results."""

    __slots__ = ("layout", "program", "references")

    def __init__(self, program, references, layout):
        self.program, self.references, self.layout = program, references, layout

    def apply(self, trace, given):
        """Append one call node; returns the gradients."""
        if not self.program.outputs:
            return [None] * len(self.layout)
        nodes, leaves = trace.nodes, trace.leaves
        inputs = [d.node for d in given if d is not None]
        inputs += [nodes[r] if r >= 0 else leaves[-1 - r] for r in self.references]
        outputs = engine.call(self.program, tuple(inputs))
        results = []
        for place in self.layout:
            if place is None:
                results.append(None)
            elif type(place) is tuple:
                values, indices, shape = place
                results.append(IndexedSlices(EagerTensor(outputs[values]), EagerTensor(outputs[indices]), shape))
            else:
                results.append(EagerTensor(outputs[place]))
        return results


class _Paused:
    """The context of `stop_recording`."""

    __slots__ = ("_tape",)

    def __init__(self, tape):
        if not tape._recording:
            raise RuntimeError("Trying to stop recording a tape which is not recording. Call stop_recording() inside its context.")
        self._tape = tape

    def __enter__(self):
        tape = self._tape
        tape._segments[-1].end()
        tape._paused = True
        state = engine.local
        state.tapes = [t for t in state.tapes if t() is not tape]

    def __exit__(self, kind, value, traceback):
        tape = self._tape
        tape._paused = False
        state = engine.local
        state.tapes.append(ref(tape))
        tape._begin(state.trace)


def saved(entry):
    """The nodes that an entry's gradient reads."""
    node = entry.node
    op = node.op
    if entry.rule is not None or op.impure:
        return [*entry.inputs, node]
    result = []
    for name in op.saves:
        if name == "y" or (name[0] == "y" and name[1:].isdigit()):
            result.append(node)
        else:
            index = op.parameters.index(name)
            result += entry.inputs[index:] if index == len(op.parameters) - 1 else [entry.inputs[index]]
    return result


def wanted_bytes(nodes, wanted):
    """How many bytes the values of some nodes take."""
    return sum(nodes[i].aval.size * nodes[i].aval.dtype.itemsize for i in wanted if type(nodes[i].aval) is not tuple)


def _open_tapes(state):
    return any(t() is not None for t in state.tapes)


def _sum_of(parts):
    return summed(parts) if parts else None


def _inexact(dtype):
    return dtype.is_floating or dtype.is_complex


def _is_keras_variable(item):
    return hasattr(item, "_direct_assign") and hasattr(item, "value")


def _as_source(source):
    if _is_keras_variable(source):
        source = source.value
    if isinstance(source, IndexedSlices):
        return source.values
    if not isinstance(source, (Tensor, Variable)):
        raise TypeError(f"The source {source!r} of type {type(source).__name__} is no tensor or variable, so nothing was recorded of it.")
    return source


def _unconnected(value):
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}. Give tf.UnconnectedGradients.NONE or .ZERO ('none', 'zero')."
        ) from None

