"""`recompute_grad` with a policy: which values of a function are kept for the backward pass, and which computed again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from gradtape._src.autodiff.backward import Operation, transposes, vjp_program
from gradtape._src.autodiff.custom import BARRIER, recompute_grad as recompute_everything
from gradtape._src.control.arguments import Arguments
from gradtape._src.control.programs import linearized, selected
from gradtape._src.control.scope import Scope, trace
from gradtape._src.core.base.errors import LOOKS_AT_VALUES
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.op import Op, define, ops
from gradtape._src.core.programs.program import Program, leaf
from gradtape._src.core.programs.structured import CALL_OF, by_program
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.ops.array.shape import zeros

Policy = str | int | Collection[str]


class Recomputed(NamedTuple):
    """The attributes of a function whose gradient keeps what `policy` says; the first `results` outputs are the function's."""

    program: Program
    policy: Any
    results: int


# A Program whose gradient keeps what the policy says: (arguments…) → (results…, residuals…).
RECOMPUTED = define(by_program("Recomputed", Recomputed, kind=CALL_OF, saves="inputs y", takes_none=True, traits="own"))


@public
def recompute_grad(f: Callable[..., Any], policy: Policy = "nothing") -> Callable[..., Any]:
    """Wrap `f` so that only some intermediate values are kept for the backward pass; the others are computed again.

    `policy`: "nothing" keeps no value but the arguments, as `tf.recompute_grad`; "everything" what the gradient reads, as
    without this; a collection of op types ("MatMul", "Conv2D"…) the results of these; an int so many bytes, products and
    convolutions first, small values first. Arguments may be nests; variables that `f` reads are differentiated, too. The
    gradient is the same, to rounding, and can be differentiated. Chen et al., "Training deep nets with sublinear memory
    cost" (2016), section 3. ValueError for another policy, for an unknown op type, and where `f` assigns variables.

    >>> x = tf.Variable([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.autodiff.recompute_grad(lambda x: tf.sin(tf.exp(x)), policy=["Exp"])(x * 1.0)
    >>> bool(tf.reduce_all(tf.abs(tape.gradient(y, x) - tf.cos(tf.exp(x)) * tf.exp(x)) < 1e-6))
    True
    """
    if not callable(f):
        raise TypeError(f"recompute_grad takes a function, received {f!r} of type {type(f).__name__}.")
    checked = _checked(policy)

    @functools.wraps(f)
    @public
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        arguments = Arguments((args, kwargs))
        parameters = [leaf(n.aval, None) for n in arguments.nodes]

        def traced() -> Any:
            given, named = arguments.pack(parameters)
            return f(*given, **named)

        try:
            body = trace(traced, parameters, Scope(True, creates=False))
        except LOOKS_AT_VALUES:
            if engine.local.trace.scope is not None:
                raise
            return recompute_everything(f)(*args, **kwargs)  # it looks at values: run as it is, and run again
        if body.written:
            names = ", ".join(v.name for v in body.written)
            raise ValueError(f"The function assigns {names}, which would happen twice. Assign outside of it.")
        inputs = body.inputs(arguments.nodes)
        forward, _, _ = _split(body.program, checked)
        nodes = engine.elements(engine.record(RECOMPUTED, inputs, Recomputed(forward, checked, len(body.program.outputs))))
        return body.structure.pack(nodes[: len(body.program.outputs)])

    return checkpointed


def _checked(policy: Policy) -> str | int | frozenset[str]:
    if isinstance(policy, str) and policy in ("nothing", "everything"):
        return policy
    if isinstance(policy, int) and not isinstance(policy, bool) and policy >= 0:
        return policy
    if isinstance(policy, (set, frozenset, list, tuple)) and all(isinstance(name, str) for name in policy):
        unknown = sorted(set(policy) - set(ops))
        if unknown:
            raise ValueError(
                f"policy names op types that do not exist: {', '.join(unknown)}. They are TensorFlow's: MatMul, Conv2D…"
            )
        return frozenset(policy)
    raise ValueError(
        f"policy must be 'nothing', 'everything', a collection of op types, or a number of bytes; received {policy!r}."
    )


def _split(program: Program, policy: Any) -> tuple[Program, Program, tuple[int | None, ...]]:
    """Return the Program that gives the residuals as well, the backward one, and the positions of the cotangents in that."""
    key = ("recomputed", policy)
    if key not in program.derived:
        count = len(program.parameters) - len(program.constants)
        given = tuple([i for i, r in enumerate(program.outputs) if program.aval_of(r).inexact])
        needed = tuple([i for i in range(count) if program.parameters[i].inexact])
        derived, where = vjp_program(program, given, needed)
        again = _again(derived, policy, count, len(given))
        forward, backward, _ = linearized(program, derived, set(range(count)), again)
        program.derived[key] = forward, backward, where
    found: tuple[Program, Program, tuple[int | None, ...]] = program.derived[key]
    return found


def _again(derived: Program, policy: Any, count: int, seeds: int) -> Callable[[int], bool]:
    """Return a predicate on references of a gradient Program: whether a value of the forward pass is computed again."""

    def keepable(reference: int) -> bool:
        return type(derived.avals[reference]) is not tuple

    if policy == "nothing":
        return lambda reference: True
    if policy == "everything":
        return lambda reference: not keepable(reference) or bool(derived.keys[reference][0].cheap)
    if isinstance(policy, frozenset):
        return lambda reference: not keepable(reference) or derived.keys[reference][0].type not in policy
    chosen: set[int] = set()
    left = policy
    for reference in sorted(_needed(derived, count, seeds), key=lambda r: (not _is_long(derived.keys[r][0]), _bytes(derived, r))):
        if keepable(reference) and _bytes(derived, reference) <= left:
            left -= _bytes(derived, reference)
            chosen.add(reference)
    return lambda reference: reference not in chosen


def _is_long(op: Op) -> bool:
    """Return whether an op takes long to compute for the room that its result takes: a budget goes to these first."""
    return Trait.CONTRACTS in op.traits or (op.structured and Trait.RENAMES not in op.traits)


def _needed(derived: Program, count: int, seeds: int) -> list[int]:
    """Return the values of the forward pass that a gradient Program starts from, without cheap ones."""
    known: list[bool] = []
    needed: set[int] = set()
    for _, _, *references in derived.keys:
        known.append(all(known[r] if r >= 0 else not count <= -1 - r < count + seeds for r in references))
        if not known[-1]:
            needed.update([r for r in references if r >= 0 and known[r]])
    for reference in range(len(derived.keys) - 1, -1, -1):
        if reference in needed:
            needed.update([r for r in derived.keys[reference][2:] if r >= 0])
    return [r for r in sorted(needed) if not derived.keys[r][0].cheap]


def _bytes(program: Program, reference: int) -> int:
    of = program.avals[reference]
    return 0 if type(of) is tuple else of.size * of.dtype.itemsize


@gradient(RECOMPUTED)
def _gradient(op: Operation, *grads: Any) -> list[Any]:
    entry = op.entry
    forward, policy, count = Recomputed(*entry.node.attrs)
    results: list[Any] = [None] * len(entry.inputs)
    if any(d is not None for d in grads[count:]) or transposes(forward):
        # a gradient of a gradient, where the residuals are results like others; or another gradient than they are for
        given = tuple([i for i, d in enumerate(grads) if d is not None])
        needed = tuple([i for i, need in enumerate(op.needed) if need])
        derived, where = vjp_program(forward, given, needed)
        nodes = tracing.call(derived, (*entry.inputs, *[grads[i].node for i in given])) if derived.outputs else []
        for i, place in zip(needed, where, strict=True):
            if place is not None:
                results[i] = EagerTensor(nodes[place])
        return results
    program = selected(forward, range(count))
    made, backward, where = _split(program, policy)
    seeds = []
    for d, r in zip(grads[:count], program.outputs, strict=True):
        of = program.aval_of(r)
        if of.inexact:
            seeds.append((zeros(of.shape, of.type) if d is None else d).node)
    # in a graph the Program is traced again for true shapes, for which the policy may keep other values
    outputs = [t.node for t in op.outputs] if made is forward else tracing.call(made, entry.inputs)
    # the barrier keeps XLA from finding the forward pass again and keeping its values after all
    held = engine.elements(engine.record(BARRIER, (*entry.inputs, *seeds)))
    nodes = tracing.call(backward, (*held, *outputs[count:])) if backward.outputs else []
    inexact = [i for i, node in enumerate(entry.inputs) if node.aval.inexact]
    for i, place in zip(inexact, where, strict=True):
        if place is not None and op.needed[i]:
            results[i] = EagerTensor(nodes[place])
    return results
