"""`tf.profiler.profile`: the cost of a computation and its gradient."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax
import numpy as np

from gradtape._src.autodiff.backward import Entry, differentiable_parts, vjp_program
from gradtape._src.autodiff.tape import GradientTape, _sources
from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.programs import narrowed
from gradtape._src.core.base.public import public
from gradtape._src.core.base.tracebacks import line_outside
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.program import NUMBER, RAN, Node, Program, read_by
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.tensors import nest, scopes
from gradtape._src.core.tensors.convert import tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import dense
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor
from gradtape._src.profile.count import Tally, Values, count, peak
from gradtape._src.profile.machine import Measured, measured
from gradtape._src.profile.normal import Flat, Place, Site, pruned
from gradtape._src.profile.report import Work, by_place, table


class Profile:
    """The costs of a computation and its gradient.

    - `forward`, `backward`: a `Work` each, with `flops`, `bytes`, `intensity` (FLOPs per byte), `by_op`, `by_line`,
      `by_layer` and `without_formula`, the op types that FLOPs do not include. `backward` is the cost added by the gradient.
    - `flops`: of both. `sources`: the number of tensors and variables of the gradient.
    - `peak_bytes`, `forward_peak_bytes`: the peak of live memory without fusion, with the gradient and without.
    - `loops_of_unknown_length`: lines of loops and branches that depend on unknown values; one trip is counted.
    - `xla`: XLA's own numbers for the compiled program (`flops`, `bytes`, `peak_bytes`), where loops count once. It compiles
      when read.
    - `measured`: with `measure=True` seconds, FLOPs per second, and their fraction of the machine's peak; else None.

    `print(profile)` shows a table, `to_dict()` gives all numbers.

    >>> tf.profiler.profile(lambda x: tf.reduce_sum(x * x), tf.ones([10]))
    <Profile: 19 FLOPs forward, 20 backward>
    """

    @public
    def __init__(self, tallies: tuple[Tally, Tally], programs: Sequence[Program], values: Sequence[Values], sources: int) -> None:
        forward, both = tallies
        self._programs, self._values, self.sources = programs, values, sources
        self.forward, self.backward = Work(forward), Work(both.minus(forward))
        self.forward_peak_bytes, self.peak_bytes = map(peak, programs)
        self.loops_of_unknown_length = sorted({Work.spoken(line) for line in both.open})
        self.measured: Measured | None = None

    @property
    def flops(self) -> int:
        """The FLOPs of both passes."""
        return self.forward.flops + self.backward.flops

    @cached_property
    def xla(self) -> dict[str, float]:
        """XLA's own numbers for the compiled program of both passes; the body of a loop counts once."""
        program = self._programs[1]
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.parameters]
        compiled = xla.compiled(program.evaluate, specs)
        costs, memory = compiled.cost_analysis() or {}, compiled.memory_analysis()
        found = {"flops": costs.get("flops", 0.0) + costs.get("transcendentals", 0.0), "bytes": costs.get("bytes accessed", 0.0)}
        if memory is not None:
            parts = memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.temp_size_in_bytes
            found["peak_bytes"] = float(sum(parts) - memory.alias_size_in_bytes)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as dicts and lists, for JSON."""
        return {
            "forward": self.forward.to_dict(),
            "backward": self.backward.to_dict(),
            "flops": self.flops,
            "sources": self.sources,
            "forward_peak_bytes": self.forward_peak_bytes,
            "peak_bytes": self.peak_bytes,
            "loops_of_unknown_length": self.loops_of_unknown_length,
            "xla": dict(self.xla),
            "measured": None if self.measured is None else self.measured.to_dict(),
        }

    def __str__(self) -> str:
        return table(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def __repr__(self) -> str:
        return f"<Profile: {self.forward.flops:,} FLOPs forward, {self.backward.flops:,} backward>"


@public
def profile(target: Any, *arguments: Any, sources: Any = None, output_gradients: Any = None, measure: bool = False) -> Profile:
    """Count the costs of `target` and its gradient: FLOPs, bytes and memory, by op and by source line. See `Profile`.

    `target` is a function, a Program or a used `GradientTape`. A function is called once with `arguments`, arrays being converted
    to tensors. For a Program `arguments` are optional, and determine how often loops run. For a tape they are its target.
    `sources` of the gradient are by default the floating-point arguments, and the variables that are read. `output_gradients` are
    the cotangents of the results (None: ones). `measure` also runs it for times. TypeError for any other `target`, ValueError for
    a tape without a target.

    A multiply-add counts as two FLOPs, integer operations as none. An op's bytes are those of its inputs and result. A value
    computed twice counts once, as XLA merges both. Shortcuts of the library, such as for the constant gradient of a sum, do not
    count.

    >>> x, w = tf.ones([32, 64]), tf.ones([64, 64])
    >>> cost = tf.profiler.profile(lambda x, w: tf.reduce_sum(tf.square(x @ w)), x, w)
    >>> cost.forward.by_op["MatMul"]["flops"], cost.backward.by_op["MatMul"]["flops"]
    (262144, 524288)
    """
    if isinstance(target, ConcreteFunction) and not arguments:
        target = target.program
    if isinstance(target, Program):
        if sources is not None or output_gradients is not None:
            raise ValueError(
                "A Program is profiled with the gradient to all that it takes: leave sources and output_gradients out."
            )
        found = _of_program(target, arguments)
    elif isinstance(target, GradientTape):
        if len(arguments) != 1:
            raise ValueError(f"profile(tape, target) takes one target, received {len(arguments)} arguments besides the tape.")
        found = _of_tape(target, arguments[0], sources, output_gradients)
    elif callable(target):
        found = _of_function(target, arguments, sources, output_gradients)
    else:
        raise TypeError(f"profile takes a function, a Program or a GradientTape, received {target!r}.")
    if measure:
        found.measured = measured(found._programs, found._values, found.flops)
    return found


def _profile(flat: Flat, outputs: Sequence[int], gradients: Sequence[int], known: bool, sources: int, ran: Tally) -> Profile:
    programs, values = [], []
    tallies = ran, Tally(ran.asking, {key: replace(entry) for key, entry in ran.entries.items()})
    for wanted, tally in zip((outputs, [*outputs, *gradients]), tallies, strict=True):
        whole = pruned(flat.close(wanted))
        kept = sorted(read_by(whole))
        programs.append(narrowed(whole, kept))
        values.append([flat.values[i] for i in kept] if known else None)
        count(programs[-1], values[-1], tally)
    return Profile(tallies, programs, values, sources)


def _of_program(program: Program, arguments: Sequence[Any]) -> Profile:
    number = arity(program)
    if arguments and len(arguments) != number:
        raise ValueError(f"The Program takes {number} arguments, received {len(arguments)}. Give all of them, or none.")
    given, needed = differentiable_parts(program)
    derived, where = vjp_program(program, given, needed)
    flat = Flat()
    values = [engine.ready(tensor(a).node) for a in arguments] or [None] * number
    inputs = [flat.parameter(a, v) for a, v in zip(program.parameters[:number], values, strict=True)]
    outputs = flat.inline(program, inputs)
    seeds = [flat.parameter(a, np.ones(a.shape, a.dtype)) for a in [program.aval_of(program.outputs[i]) for i in given]]
    gradients = flat.inline(derived, [*inputs, *seeds]) if derived.outputs else []
    return _profile(flat, outputs, gradients, bool(arguments), len([w for w in where if w is not None]), Tally(line_outside()))


def _of_function(function: Any, arguments: Sequence[Any], sources: Any, output_gradients: Any) -> Profile:
    leaves, spec = nest.flatten_with_spec(list(arguments))
    leaves = [tensor(x) if isinstance(x, (np.ndarray, jax.Array)) else x for x in leaves]
    with GradientTape(persistent=True) as tape:
        watched = [x for x in leaves if isinstance(x, (Tensor, Stored)) and x.dtype.is_floating | x.dtype.is_complex]
        tape.watch(watched)
        result = function(*nest.unflatten(spec, leaves))
    targets = [variable_of(r) for r in map(dense, nest.flatten(result)) if isinstance(r, (Tensor, Stored))]
    return _of_tape(tape, targets, sources, output_gradients, _scopes(tape))


def _scopes(tape: GradientTape) -> dict[Node, str]:
    """Return the name scopes of each node of a tape; a Keras layer opens one."""
    found: dict[Node, str] = {}
    for segment in tape._segments:
        prefix = scopes.prefixes_in(segment.trace.serial)
        found.update((node, prefix(index)) for index, node in enumerate(segment.trace.nodes[: segment.stop]))
    return found


def _of_tape(
    tape: GradientTape, target: Any, sources: Any, output_gradients: Any, layers: dict[Node, str] | None = None
) -> Profile:
    entries, _ = tape._entries()
    places = {e.node: (e.node.code, e.node.offset, layers.get(e.node, "") if layers else "") for e in entries}
    targets, given = tape._targets(target, output_gradients)
    if sources is None:
        watched = [EagerTensor(node) for _, _, node, variable in tape._watches if variable is None]
        wanted: list[Any] = [*watched, *[v for v in tape.watched_variables() if v.dtype.is_floating | v.dtype.is_complex]]
    else:
        wanted = list(_sources(sources, tape)[0])
    with tracing.inner() as inner, _sites(places):
        results = tape._walk(targets, wanted, given) if wanted else []
        derived = [dense(r).node for r in results if r is not None]
        tracing.enter(inner, derived)
        forward = [n for n in inner.leaves if n.index != NUMBER]
        program = tracing.close(inner, derived, forward)
    known = not engine.tracing()
    recorded = _Recorded(entries, places, known)
    outputs = [recorded.reference(tape._target_node(t)) for t in targets]
    inputs = [recorded.reference(node) for node in forward]
    gradients = recorded.flat.inline(program, inputs) if derived else []
    return _profile(recorded.flat, outputs, gradients, known, len(derived), recorded.ran)


def of_call(tape: GradientTape, targets: Sequence[Any], sources: Sequence[Any]) -> Profile:
    """Return the costs of a gradient call, with the layers of its ops."""
    return _of_tape(tape, list(targets), list(sources), None, _scopes(tape))


def costs(tape: GradientTape, targets: Sequence[Any], sources: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the costs of a tape's gradient of `targets`, by layer, line and op: see `by_place`."""
    return by_place(of_call(tape, targets, sources))


@contextlib.contextmanager
def _sites(places: dict[Node, Place]) -> Iterator[None]:
    """Open a context in which gradient nodes get the Place of their forward node in place of a line."""
    for node, place in places.items():
        node.code = Site(place)  # type: ignore[assignment]
    try:
        yield
    finally:
        for node, (code, _, _) in places.items():
            node.code = code


class _Recorded:
    """A tape's record as a Flat; values are not `known` while a function is traced."""

    def __init__(self, entries: Sequence[Entry], places: dict[Node, Place], known: bool) -> None:
        self.flat, self.ran, self._known = Flat(), Tally(line_outside()), known
        self._references: dict[Node, Any] = {}
        for entry in entries:
            node = entry.node
            line = places[node]
            given = [self.reference(source) for source in entry.inputs]
            if node.key[0] is RAN and not node.op.is_call:  # it ran when it was recorded, and has a value
                self.ran.add((node.op, node.attrs), [n.aval for n in entry.inputs], node.aval, line, 1)
                self._references[node] = self._parameters(node.aval, node.value)
            else:
                self._references[node] = self.flat.apply(node.op, node.attrs, given, node.aval, line)

    def _parameters(self, aval: Any, value: Any) -> Any:
        if type(aval) is not tuple:
            return self.flat.parameter(aval, value)
        return [self.flat.parameter(a, v) for a, v in zip(aval, value, strict=True)]

    def reference(self, node: Node) -> Any:
        """Return the reference of a node; a node that was not recorded becomes a parameter."""
        found = self._references.get(node)
        if found is None:
            value = engine.value(node) if self._known else node.value
            found = self._references[node] = self.flat.parameter(node.aval, value)
        return found
