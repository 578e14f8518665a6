"""The one reverse pass, for tapes, calls of Programs, Jacobians and graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.order import visiting_order
from gradtape._src.core.base import hooks, naming
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.op import Op, Rule, no_gradient
from gradtape._src.core.programs.program import CALL, ELEMENT, Node, Program, leaf, memoized, used_inputs
from gradtape._src.core.programs.structured import GRADIENT, StructuredOp, arity
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, handle
from gradtape._src.core.values.aval import has_no_rank
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.ops.array.shape import broadcast_to, zeros
from gradtape._src.ops.gradients import concatenate_slices, unbroadcast
from gradtape._src.ops.math.arithmetic import add_n

Cotangent = Tensor | IndexedSlices
OF_TENSORFLOW = {"keep_dims": "keepdims", "squeeze_dims": "axis"}  # attribute names of TensorFlow's ops → gradtape's


class Entry:
    """One recorded op: the node, its input nodes, and a gradient function of its own, if any."""

    __slots__ = ("inputs", "node", "rule")
    node: Node
    inputs: tuple[Node, ...]
    rule: Rule | None

    def __init__(self, node: Node, inputs: tuple[Node, ...], rule: Rule | None = None) -> None:
        self.node, self.inputs, self.rule = node, inputs, rule

    @property
    def lacks_gradient(self) -> bool:
        """Whether neither the entry nor the registry has a gradient, nor a reason for having none."""
        return self.rule is None and not self.node.op.in_registry


def elements_of(entries: Iterable[Entry]) -> dict[Node, dict[int, Node]]:
    """Return the recorded elements of the results of ops with several, by position."""
    elements: dict[Node, dict[int, Node]] = {}
    for entry in entries:
        if entry.node.op is ELEMENT:
            elements.setdefault(entry.inputs[0], {})[entry.node.attrs[0]] = entry.node
    return elements


class Operation:
    """The op that a gradient function receives: `type`, `inputs`, `outputs`, `get_attr(name)`."""

    __slots__ = ("_elements", "entry", "needed")
    entry: Entry
    needed: tuple[bool, ...]
    _elements: dict[int, Node] | None

    def __init__(self, entry: Entry, needed: tuple[bool, ...], elements: dict[int, Node] | None) -> None:
        self.entry, self.needed, self._elements = entry, needed, elements

    @property
    def type(self) -> str:
        """The op type's name."""
        return self.entry.node.op.type

    @property
    def name(self) -> str:
        """The op's name; in eager code the same as its type."""
        return self.entry.node.op.type

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input Tensors."""
        return tuple([handle(n) for n in self.entry.inputs])

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The output Tensors."""
        node = self.entry.node
        if type(node.aval) is not tuple:
            return (handle(node),)
        recorded = self._elements or {}
        return tuple(
            [handle(recorded[i] if i in recorded else engine.record(ELEMENT, (node,), (i,))) for i in range(len(node.aval))]
        )

    def get_attr(self, name: str) -> Any:
        """Return the value of an attribute."""
        node = self.entry.node
        try:
            return node.attrs[node.op.attributes.index(OF_TENSORFLOW.get(name, name))]
        except ValueError:
            implied = implied_attribute(name, self.entry.inputs, node)
            if implied is not None:
                return implied
            raise ValueError(
                f"{self.type} has no attribute {name!r}; it has {', '.join(node.op.attributes) or 'none'}."
            ) from None


def shown_attribute(value: Any) -> Any:
    """Convert the value of an attribute to TensorFlow's form: lists, bytes and DTypes."""
    if isinstance(value, np.dtype):
        return as_dtype(value)
    return list(value) if isinstance(value, tuple) else value.encode() if isinstance(value, str) else value


def implied_attribute(name: str, inputs: Sequence[Node], node: Node) -> Any:
    """Infer an attribute of TensorFlow's op (a dtype or a count) from the inputs; None if the op has none by that name."""
    if name == "N":
        return len(inputs)
    if name == "SrcT" or (name == "T" and inputs):
        return inputs[0].aval.type
    return node.aval.type if name == "T" and type(node.aval) is not tuple else None


def differentiable(node: Node) -> bool:
    """Return whether a gradient can flow into a node: it is floating or complex, or a tuple with such an element."""
    if type(node.aval) is tuple:
        return any(a.inexact for a in node.aval)
    return node.aval.inexact


def blocks(entry: Entry) -> bool:
    """Return whether an entry stops gradients by design."""
    op = entry.node.op
    return entry.rule is None and op.gradient is None and op.in_registry


def leading_back(
    entries: Sequence[Entry], on_tape: Mapping[Node, int], wanted: Iterable[Sequence[Node]], variables: Sequence[bool]
) -> dict[Node, int]:
    """Return those nodes `on_tape` that depend on `wanted` nodes, like `active_nodes`.

    As in TensorFlow, uses of a tensor before it was watched count, too, if another watched tensor put them on the tape.
    For `variables` they do not, since earlier reads are not on the tape.
    """
    computed = {entry.node: position for position, entry in enumerate(entries)}
    starts: dict[Node, int] = {}
    for nodes, variable in zip(wanted, variables, strict=True):
        for node in nodes:
            start = on_tape[node] if variable else computed.get(node, 0)
            starts[node] = min(start, starts.get(node, start))
    return active_nodes(entries, starts, on_tape)


def active_nodes(
    entries: Sequence[Entry], starts: Mapping[Node, int], among: Mapping[Node, int] | None = None
) -> dict[Node, int]:
    """Return the nodes that depend on `starts` (and are in `among`, if given), each with the position from which its use counts.

    `starts` maps nodes to such positions. The position of a node computed by an entry is that of the entry.
    """
    active = dict(starts)
    for position, entry in enumerate(entries):
        node = entry.node
        if blocks(entry):
            continue
        for source in entry.inputs:
            if active.get(source, position + 1) <= position:
                if active.get(node, position + 1) > position and differentiable(node) and (among is None or node in among):
                    active[node] = position
                break
    return active


class Cotangents:
    """The cotangents of a reverse pass: `add` contributes to a node's cotangent, `take` returns the sum of its contributions."""

    def __init__(self, entries: Sequence[Entry], active: Mapping[Node, int], targets: Mapping[Node, Cotangent]) -> None:
        self._entries, self._active, self._targets = entries, active, targets
        self._received: dict[Node, list[Any]] = {node: [cotangent] for node, cotangent in targets.items()}
        self._sliced: dict[Node, list[int]] = {}  # the positions of entries that contributed IndexedSlices
        self._total: dict[Node, Any] = {}

    def add(self, node: Node, value: Any, position: int) -> None:
        """Add a contribution of the entry at `position` to the cotangent of its input `node`."""
        sender = self._entries[position].node
        if sender.op is ELEMENT:
            self._received.setdefault(node, [Parts()])[0].setdefault(sender.attrs[0], []).append(value)
            return
        if sender.op.broadcasting:
            value = unbroadcast(value, node)
        if type(value) is IndexedSlices:
            self._sliced.setdefault(node, []).append(position)
        self._received.setdefault(node, []).append(value)

    def take(self, node: Node) -> Any:
        """Return the sum of a node's contributions, which must be complete; None without any."""
        contributions = self._received.pop(node, None)
        if contributions is None:
            return None
        senders = self._sliced.get(node, ())
        if 1 < len(senders) == len(contributions):  # only IndexedSlices: concatenate them in TensorFlow's order
            order = visiting_order(self._entries, self._active, self._targets)
            pairs = sorted(zip(senders, contributions, strict=True), key=lambda pair: order[pair[0]])
            contributions = [contribution for _, contribution in pairs]
        self._total[node] = summed(contributions)
        return self._total[node]

    def total(self) -> dict[Node, Any]:
        """Return the cotangents of all nodes with contributions."""
        for node in list(self._received):
            self.take(node)
        return self._total


def reverse(entries: Sequence[Entry], active: Mapping[Node, int], cotangents: Mapping[Node, Cotangent]) -> dict[Node, Any]:
    """Propagate cotangents (a dict from node to Tensor or IndexedSlices) back through `entries`.

    Only nodes in `active` (from `active_nodes`) take part. Returns a dict with the cotangent of each active node on which the
    targets depend. Entries are visited once, last to first, without recursion.
    """
    flowing, elements = Cotangents(entries, active, cotangents), dict[Node, dict[int, Node]]()
    for position in range(len(entries) - 1, -1, -1):
        entry = entries[position]
        node = entry.node
        if node.op is ELEMENT:
            elements.setdefault(entry.inputs[0], {})[node.attrs[0]] = node
        if active.get(node) != position or (cotangent := flowing.take(node)) is None:
            continue
        needed = tuple([active.get(source, position + 1) <= position for source in entry.inputs])
        if True in needed and not blocks(entry):
            with _on_the_line_of(node):
                for source, need, result in zip(
                    entry.inputs, needed, apply_rule(entry, needed, cotangent, elements), strict=True
                ):
                    if need and result is not None:
                        flowing.add(source, result, position)
    return flowing.total()


@contextlib.contextmanager
def _on_the_line_of(node: Node) -> Iterator[None]:
    """Open a context in which a gradient's ops get the user's line of `node`, if the gradient becomes a Program."""
    trace = engine.local.trace
    first = len(trace.nodes)
    yield
    for derived in trace.nodes[first:] if trace.parent is not None else ():
        derived.code, derived.offset = node.code, node.offset


class Parts(dict[int, list[Any]]):
    """The cotangent of a node with several outputs: output index → its contributions."""


def apply_rule(entry: Entry, needed: tuple[bool, ...], cotangent: Any, elements: dict[Node, dict[int, Node]]) -> Sequence[Any]:
    """Return the cotangents of an entry's inputs, a list with one result or None for each."""
    node = entry.node
    if node.op is ELEMENT:
        return [cotangent]
    rule = entry.rule or node.op.gradient
    if rule is None:
        raise no_gradient(node.op.type)
    if naming.open_graphs and entry.rule is None:
        rule = hooks.graphs.rule(entry) or rule
    operation = Operation(entry, needed, elements.get(node))
    if isinstance(cotangent, Parts):
        grads = [summed(cotangent[i]) if i in cotangent else None for i in range(len(node.aval))]
        if not node.op.takes_none:
            grads = [zeros(a.shape, a.type) if d is None else d for d, a in zip(grads, node.aval, strict=True)]
    else:
        grads = [cotangent]
    if not node.op.takes_slices or entry.rule is not None:
        grads = [dense(d) if isinstance(d, IndexedSlices) else d for d in grads]
    results = rule(operation, *grads)
    if not isinstance(results, (list, tuple)):
        results = [results]
    if len(results) != len(entry.inputs):
        raise ValueError(
            f"Num gradients {len(results)} generated for op {node.op.type} do not match num inputs {len(entry.inputs)}: the "
            "gradient function must return one tensor or None for each input."
        )
    if entry.rule is not None or node.op.impure:
        results = [
            _checked(node.op, source, result, i) for i, (source, result) in enumerate(zip(entry.inputs, results, strict=True))
        ]
    return results


def _checked(op: Op, source: Node, result: Any, index: int) -> Any:
    """Convert the result of a user's gradient function to a Tensor; ValueError unless it has the dtype and shape of the input."""
    if result is None or isinstance(result, IndexedSlices):
        return result
    if not isinstance(result, Tensor):
        result = tensor(result, source.aval.type if not hasattr(result, "dtype") else None)
    if result.node.aval.dtype is not source.aval.dtype and source.aval.inexact:
        raise ValueError(
            f"The gradient function of {op.type} returned dtype {result.dtype.name} for input {index}, which has dtype "
            f"{source.aval.type.name}. Cast the gradient to the input's dtype."
        )
    if has_no_rank((result.node.aval, source.aval)):
        return result
    if not result.node.aval.shape and type(source.aval) is not tuple and source.aval.shape:
        result = broadcast_to(result, source.aval.shape)  # a scalar stands for all elements
    if result.node.aval.shape != source.aval.shape and not op.broadcasting:
        raise ValueError(
            f"The gradient function of {op.type} returned shape {result.shape} for input {index}, which has shape "
            f"{source.aval.tensor_shape}. A gradient has the shape of its input."
        )
    return result


def summed(contributions: Sequence[Any]) -> Any:
    """Return the sum of a node's contributions. IndexedSlices alone are concatenated; with dense ones they become dense."""
    if len(contributions) == 1:
        return contributions[0]
    if isinstance(contributions[0], Parts):
        merged = Parts()
        for parts in contributions:
            for index, pieces in parts.items():
                merged.setdefault(index, []).extend(pieces)
        return merged
    if all(isinstance(c, IndexedSlices) for c in contributions):
        return concatenate_slices(contributions)
    parts = [dense(c) for c in contributions]
    return parts[0] + parts[1] if len(parts) == 2 else add_n(parts)


class _Fields:
    """Whether reverse passes are transposed to give forward mode.

    A custom gradient that is not linear has no transpose. Then the function's own ops are differentiated instead.
    """

    transposing: bool = field(False, per_replica=True)


local = declare(_Fields)


def transposes(program: Program) -> bool:
    """Return whether the gradient of a Program differs in forward mode, which is active, because of custom gradients."""
    return local.transposing and _has_custom_gradients(program)


@memoized
def _has_custom_gradients(program: Program) -> bool:
    ops = [key[0] for key in program.keys if isinstance(key[0], StructuredOp)]
    inner = [p for key in program.keys for p in key[0].programs(key[1])]
    return any(op.kind is GRADIENT for op in ops) or any(map(_has_custom_gradients, inner))


def differentiable_parts(program: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the positions of a Program's outputs, and of its inputs, that are floating or complex."""
    outputs = tuple([i for i, a in enumerate(program.results) if a.inexact])
    return outputs, tuple([i for i, a in enumerate(program.parameters[: arity(program)]) if a.inexact])


def vjp_program(
    program: Program, given: tuple[int, ...], needed: tuple[int, ...], slices: bool = False
) -> tuple[Program, tuple[Any, ...]]:
    """Return the Program `(parameters…, cotangents of the outputs in `given`)` → cotangents of the parameters in `needed`.

    The second result says for each of `needed` which output has its cotangent, or None if there is none. With `slices`, a
    cotangent that is IndexedSlices has two outputs: values and indices.
    """
    return _vjp_program(program, given, needed, slices, transposes(program))


@memoized
def _vjp_program(
    program: Program, given: tuple[int, ...], needed: tuple[int, ...], slices: bool, transposed: bool
) -> tuple[Program, tuple[Any, ...]]:
    count, avals = arity(program), program.results
    parameters = [leaf(a, None) for a in program.parameters[:count]]
    seeds = [leaf(avals[i], None) for i in given]
    with tracing.inner() as trace:
        if trace.overrides is not None:  # they apply to ops recorded in their context, not to these
            trace.overrides = trace.overrides.without_names(has_no_rank(tuple(program.avals)))
        outputs = tracing.inline(program, parameters)
        entries = [Entry(node, node.inputs) for node in trace.nodes]
        forward = {n: 0 for n in (*parameters, *trace.leaves, *trace.nodes) if differentiable(n)}
        active = active_nodes(entries, {parameters[i]: 0 for i in needed})
        cotangents: dict[Node, Any] = {}
        for index, seed in zip(given, seeds, strict=True):
            node = outputs[index]
            if node in active:
                mine = EagerTensor(seed)
                cotangents[node] = cotangents[node] + mine if node in cotangents else mine
        total = reverse(entries, active, cotangents)
        results: list[Node] = []
        where: list[int | tuple[int, int] | None] = []
        for i in needed:
            found = total.get(parameters[i])
            if found is None:
                where.append(None)
                continue
            if slices and isinstance(found, IndexedSlices):
                where.append((len(results), len(results) + 1))
                results += [found.values.node, found.indices.node]
                continue
            where.append(len(results))
            results.append(dense(found).node)
        behind = [Entry(node, _leading_to(forward, node)) for node in trace.nodes[len(entries) :]]
        derived = tracing.close(trace, results, [*parameters, *seeds])
        if not active_nodes(behind, forward).keys().isdisjoint(results):
            derived.derived[tracing.FORWARD] = program
    trace.forget()
    return derived, tuple(where)


def _leading_to(forward: Mapping[Node, int], node: Node) -> tuple[Node, ...]:
    """Return the inputs of a gradient's node through which its derivative may depend on values of the `forward` pass.

    A loop's inputs include all its residuals, whether its derivative needs them or not. There its Program decides.
    """
    inputs = node.inputs or ()
    if any(tracing.FORWARD in program.derived for program in node.op.programs(node.attrs)):
        return (*inputs, *list(forward)[:1])  # the value may be a constant inside of the loop
    if node.op.kept is not None:
        return tuple([n for n in inputs if n not in forward and not (n.op is ELEMENT and n.inputs and n.inputs[0] in forward)])
    return used_inputs(node)


@memoized
def jvp_program(program: Program, moving: tuple[int, ...], results: int) -> Program:
    """Return the Program `(parameters…, tangents of those in `moving`…)` → tangents of the first `results` outputs.

    It is the transpose of the vjp.
    """
    count = arity(program)
    with setting(transposing=True):
        pulled, where = vjp_program(program, tuple(range(results)), moving)
    with setting(transposing=False):
        pushed, places = vjp_program(pulled, tuple(range(len(pulled.outputs))), tuple(range(count, count + results)))
    avals = [program.aval_of(r) for r in program.outputs[:results]]

    def tangents(*given: Node) -> list[Node]:
        seeds = [zeros(a.shape, a.type).node for a in avals]  # any value: the map is linear in them
        along = [t for t, place in zip(given[count:], where, strict=True) if place is not None]
        nodes = tracing.inline(pushed, [*given[:count], *seeds, *along])
        return [zero if place is None else nodes[place] for zero, place in zip(seeds, places, strict=True)]

    return tracing.program_of(tangents, [*program.parameters[:count], *[program.parameters[i] for i in moving]])


def pulled_back(
    program: Program, inputs: Sequence[Node], grads: Sequence[Tensor | None], needed: Sequence[bool]
) -> list[Tensor | None]:
    """Record the cotangents of a Program's inputs, from those of its outputs, as a call of its vjp; None for zeros.

    Inputs that are not `needed` have None, too.
    """
    seeds = {i: d.node for i, d in enumerate(grads) if d is not None}
    wanted = tuple([i for i, need in enumerate(needed) if need])
    derived, where = vjp_program(program, tuple(seeds), wanted)
    results: list[Tensor | None] = [None] * len(needed)
    nodes = tracing.call(derived, (*inputs, *seeds.values())) if derived.outputs else []
    for i, place in zip(wanted, where, strict=True):
        results[i] = None if place is None else EagerTensor(nodes[place])
    return results


@gradient(CALL)
def _call_gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    (program,) = op.entry.node.attrs
    return pulled_back(program, op.entry.inputs, grads, op.needed)
