"""The op of a function whose gradient keeps some values, by a policy, and recomputes the others."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradtape._src.autodiff.backward import Operation, differentiable_parts, pulled_back, transposes, vjp_program
from gradtape._src.autodiff.custom import BARRIER
from gradtape._src.control.programs import derivable_from, linearized, selected
from gradtape._src.core.base.reaching import reached
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import ELEMENT, Node, Program, memoized
from gradtape._src.core.programs.structured import CALL_OF, arity, by_program
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.values.aval import bytes_of
from gradtape._src.ops.array.shape import zeros

LONG = 8  # FLOPs for each byte of a result, above which it is expensive


class Written(NamedTuple):
    """The policy to keep a number of bytes of values that XLA writes to memory in any case.

    Other values are fused into the ops that read them. If these were kept, XLA would choose the values stored in their place.
    """

    bytes: int


class Recomputed(NamedTuple):
    """The attributes of a function whose gradient keeps values by `policy`; its first `results` outputs are the function's."""

    program: Program
    policy: Any
    results: int


# A Program whose gradient keeps values by a policy: (arguments…) → (results…, residuals…).
RECOMPUTED = define(by_program("Recomputed", Recomputed, kind=CALL_OF, saves="inputs y", takes_none=True, traits="own"))


def recorded(program: Program, inputs: Sequence[Node], policy: Any) -> list[Node]:
    """Record a Program whose gradient keeps values by `policy`; return the nodes of its results."""
    count = len(program.outputs)
    forward, _, _ = split(program, policy)
    return engine.elements(engine.record(RECOMPUTED, tuple(inputs), Recomputed(forward, policy, count)))[:count]


@memoized
def split(program: Program, policy: Any) -> tuple[Program, Program, tuple[int | None, ...]]:
    """Return the forward Program with residuals, the backward Program, and the outputs of the latter that are the cotangents."""
    count = arity(program)
    given, needed = differentiable_parts(program)
    derived, where = vjp_program(program, given, needed)
    again = _again(derived, policy, count, len(given))
    forward, backward, _ = linearized(program, derived, set(range(count)), again)
    return forward, backward, where


def _again(derived: Program, policy: Any, count: int, seeds: int) -> Callable[[int], bool]:
    """Return a predicate on references of a gradient Program: whether it recomputes this value of the forward pass."""

    def keepable(reference: int) -> bool:
        return type(derived.avals[reference]) is not tuple

    if policy == "nothing":
        return lambda reference: True
    if isinstance(policy, frozenset):
        return lambda reference: not keepable(reference) or derived.keys[reference][0].type not in policy
    read, needed = _needed(derived, count, seeds)
    # a value that follows from others by a little arithmetic is cheaper to recompute than to read: XLA fuses it into its uses
    follows = derivable_from(derived, read, lambda r: r < 0)
    chosen = [r for r in needed if keepable(r) and r not in follows]
    if policy == "everything":
        return lambda reference: reference not in chosen or reference not in read
    left = policy
    if type(policy) is Written:
        left, chosen = policy.bytes, [r for r in chosen if is_written(derived, r)]
    kept: set[int] = set()
    for reference in sorted(chosen, key=lambda r: (not _is_long(derived.keys[r][0]), _bytes(derived, r))):
        if _bytes(derived, reference) <= left:
            left -= _bytes(derived, reference)
            kept.add(reference)
    return lambda reference: reference not in kept


def is_written(program: Program, reference: int) -> bool:
    """Return whether XLA writes a value to memory; elementwise results are fused into the ops that read them."""
    op, _, *references = program.keys[reference]
    if op is ELEMENT and references[0] >= 0:
        return is_written(program, references[0])
    if op.structured or op.flops is None or Trait.CONTRACTS in op.traits:
        return True
    result = program.avals[reference]
    sizes = [bytes_of(program.aval_of(r)) for r in references]
    return bytes_of(result) < max(sizes, default=0) or flops(program, reference) > LONG * bytes_of(result)


def flops(program: Program, index: int) -> float:
    """Return the FLOPs of a node other than a call, branch or loop; 0 if its op has no formula."""
    op, attrs, *references = program.keys[index]
    result, inputs = program.avals[index], [program.aval_of(r) for r in references]
    if callable(op.flops):
        found = float(op.flops(dict(zip(op.attributes, attrs, strict=True)), inputs, result))
        return 0.0 if math.isnan(found) else found
    return float(op.flops or 0) * (0 if type(result) is tuple else result.size)


def _is_long(op: Op) -> bool:
    """Return whether an op is expensive for the size of its result; a budget keeps these results first."""
    return Trait.CONTRACTS in op.traits or (op.structured and Trait.RENAMES not in op.traits)


def _needed(derived: Program, count: int, seeds: int) -> tuple[set[int], list[int]]:
    """Return the forward values that a gradient reads, and these with their ancestors, both without cheap ones."""
    known: list[bool] = []
    for _, _, *references in derived.keys:
        known.append(all(known[r] if r >= 0 else not count <= -1 - r < count + seeds for r in references))
    cheap = [_is_cheap(derived, r) for r in range(len(derived.keys))]
    first = [r for i, key in enumerate(derived.keys) if not known[i] for r in key[2:]] + list(derived.outputs)
    following = reached(first, lambda r: derived.keys[r][2:] if r >= 0 and known[r] and cheap[r] else ())
    read = {r for r in following if r >= 0 and known[r]}
    return {r for r in read if not cheap[r]}, [r for r in derived.needed(read) if not cheap[r]]


def _is_cheap(program: Program, reference: int) -> bool:
    """Return whether recomputing a value costs no more than reading it; an element counts as its tuple."""
    op, _, *inputs = program.keys[reference]
    return _is_cheap(program, inputs[0]) if op is ELEMENT and inputs[0] >= 0 else bool(op.cheap)


def _bytes(program: Program, reference: int) -> int:
    of = program.avals[reference]
    return 0 if type(of) is tuple else bytes_of(of)


@memoized
def _barred(backward: Program, count: int) -> list[int]:
    """Return a few inputs of a backward Program such that each recomputed value depends on one, on residuals or cotangents.

    After a barrier XLA treats these as new values. On a CPU each is a copy, so few and small ones are chosen: mostly one.
    """
    own, chosen = range(count), list[int]()
    reads: list[int] = []  # inputs on which each node depends, as bits; −1 if it depends on a residual or cotangent
    for _, _, *references in backward.keys:
        of = [
            reads[r] if r >= 0 else 1 << (-1 - r) if -1 - r in own else -1 if -1 - r < arity(backward) else 0 for r in references
        ]
        reads.append(-1 if -1 in of else functools.reduce(operator.or_, of, 0))
    left = [(mask, 1 + _bytes(backward, index)) for index, mask in enumerate(reads) if mask > 0]
    while left:
        covers = [sum([size for mask, size in left if mask >> i & 1]) for i in own]
        chosen.append(max(own, key=lambda i: (covers[i], -bytes_of(backward.parameters[i]))))
        left = [(mask, size) for mask, size in left if not mask >> chosen[-1] & 1]
    return chosen


def run_backward(backward: Program, inputs: Sequence[Node], residuals: Sequence[Node], seeds: Sequence[Node]) -> list[Node]:
    """Record a backward Program; return the nodes of its results.

    A barrier prevents XLA from merging it with the forward pass, which would keep the values after all.
    """
    if not backward.outputs:
        return []
    inputs, barred = list(inputs), _barred(backward, len(inputs))
    held = engine.elements(engine.record(BARRIER, (*[inputs[i] for i in barred], *residuals, *seeds)))
    for i, node in zip(barred, held, strict=False):
        inputs[i] = node
    end = len(held) - len(seeds)
    return tracing.call(backward, (*inputs, *held[end:], *held[len(barred) : end]))


@gradient(RECOMPUTED)
def _gradient(op: Operation, *grads: Any) -> list[Any]:
    entry = op.entry
    forward, policy, count = Recomputed(*entry.node.attrs)
    if any(d is not None for d in grads[count:]) or transposes(forward):
        # residuals have cotangents in a gradient of a gradient; a transposed gradient needs other residuals
        return pulled_back(forward, entry.inputs, grads, op.needed)
    program = selected(forward, range(count))
    made, backward, where = split(program, policy)
    seeds = []
    for d, r in zip(grads[:count], program.outputs, strict=True):
        of = program.aval_of(r)
        if of.inexact:
            seeds.append((zeros(of.shape, of.type) if d is None else d).node)
    # a graph traces the Program again for concrete shapes, for which the policy may keep other values
    outputs = [t.node for t in op.outputs] if made is forward else tracing.call(made, entry.inputs)
    nodes = run_backward(backward, entry.inputs, outputs[count:], seeds)
    results: list[Any] = [None] * len(entry.inputs)
    inexact = [i for i, node in enumerate(entry.inputs) if node.aval.inexact]
    for i, place in zip(inexact, where, strict=True):
        if place is not None and op.needed[i]:
            results[i] = EagerTensor(nodes[place])
    return results
