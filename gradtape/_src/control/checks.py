"""Data-dependent checks of the ops of a traced function: its caller makes them, on values that the function gives for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gradtape._src.core import engine, tracing
from gradtape._src.core.define import verify
from gradtape._src.core.op import Attributes, Op, define
from gradtape._src.core.program import Line, Node, Program, Trace, leaf
from gradtape._src.core.tensor import to_numpy

if TYPE_CHECKING:
    from gradtape._src.control.scope import Body, Scope

T = TypeVar("T")
SAME_ELEMENTS = frozenset(["Cast", "ExpandDims", "Identity", "Reshape", "Squeeze"])


def _verify_on_host(*inputs: Any, op: Op, attrs: Attributes) -> tuple[()]:
    verify(op, [engine.constant(i) for i in inputs], attrs)
    return ()


# A check inside of a branch or loop that the user asked for (assert, check_numerics). Other checks there are not made.
CHECK = define(
    Op(
        "Check",
        lambda *inputs, op, attrs: (),
        infer=lambda *avals, op, attrs: (),
        host=_verify_on_host,
        effect=True,
        reason="it gives nothing",
    )
)
ASKED_FOR = {"Assert", "CheckNumerics"}


class Check(NamedTuple):
    """A data-dependent check of an op, on so many `inputs`.

    `uses` are where the op's result goes: while it is traced, nodes of the trace by their indices; of a Body, its results
    by their positions. None: the check is made whether anybody uses the result or not. `line` is the op's.
    """

    op: Op
    inputs: int
    attrs: Attributes
    uses: tuple[int, ...] | None
    line: Line

    def make(self, nodes: Sequence[Node]) -> None:
        """Raise the op's error if the values of `nodes` deserve it."""
        for node in nodes:
            engine.value(node)
        verify(self.op, nodes, self.attrs, self.line)


def have_values(nodes: Iterable[Node]) -> bool:
    """Return whether these nodes of a trace have values already."""
    return all(engine.folded(node) is not None for node in nodes)


def used_checks(trace: Trace, scope: Scope, outputs: Sequence[Node], written: int) -> tuple[list[Check], list[Node]]:
    """Return the checks of ops that are used, and the nodes that they look at. Others are dropped with their ops, as in
    TensorFlow.

    The last outputs are the new values of `written` variables: they are used in any case.
    """
    kept: list[Check] = []
    checked: list[Node] = []
    if scope.checks:
        results = len(outputs) - written
        demanded = [node for check, nodes in scope.checks if check.uses is None for node in nodes]
        users = tracing.users(trace, outputs[:results], [*outputs[results:], *scope.targets, *demanded])
        for check, nodes in scope.checks:
            uses = None if check.uses is None else users.of(check.uses)
            if uses == ():
                continue
            if have_values(nodes):
                check.make(nodes)
            elif not scope.nested:
                kept.append(check._replace(uses=uses))
                checked += nodes
    return kept, checked


def check(body: Body, arguments: Sequence[Node], inputs: tuple[Node, ...] | None = None) -> None:
    """Make the checks of a Body that is about to be called with `arguments` in eager code.

    `inputs` are all that its program takes, if they are known already.
    """
    assert body.checked is not None
    nodes = on_host(body.checked, arguments)
    if nodes is None:
        nodes = checked_nodes(body.checked, body.inputs(arguments) if inputs is None else inputs)
    for check, checked in parted(body.checks, nodes):
        verify(check.op, checked, check.attrs, check.line)


def checked_nodes(program: Program, inputs: tuple[Node, ...]) -> list[Node]:
    """Return the nodes that are checked, which `program` computes."""
    return tracing.call(program, inputs) if program.keys else [_input(program, r, inputs) for r in program.outputs]


def parted(checks: Iterable[Check], nodes: Sequence[T]) -> Iterator[tuple[Check, tuple[T, ...]]]:
    """Yield each check with its own part of the nodes."""
    remaining = iter(nodes)
    for check in checks:
        yield check, tuple(itertools.islice(remaining, check.inputs))


def _input(program: Program, reference: int, inputs: tuple[Node, ...]) -> Node:
    position = -1 - reference
    return inputs[position] if position < len(inputs) else engine.constant(program.constants[position - len(inputs)])


def on_host(program: Program, inputs: Sequence[Node]) -> list[Node] | None:
    """Evaluate `program` on the host for `inputs` that have values; None if it does more than cast and reshape.

    So labels that a loss casts are looked at in each step of training without a program of their own. Of the inputs, the first
    will do.
    """
    used = program.derived.get("on host")
    if used is None:
        used = program.derived["on host"] = _used(program)
    if not used or -min(used) > len(inputs):
        return None
    arrays: dict[int, np.ndarray] = {}
    for reference in used:
        node = inputs[-1 - reference]
        if node.value is None:
            return None
        arrays[reference] = to_numpy(node)
    with np.errstate(invalid="ignore"):
        for index, (_, _, reference, *_) in enumerate(program.keys):
            of = program.avals[index]
            arrays[index] = arrays[reference].astype(of.dtype, copy=False).reshape(of.shape)
    return [leaf(program.aval_of(r), arrays[r]) for r in program.outputs]


def _used(program: Program) -> tuple[int, ...]:
    """Return the parameters that are looked at; none if more is done than to cast and reshape them."""
    if program.constants or any(op.type not in SAME_ELEMENTS for op, *_ in program.keys):
        return ()
    return tuple([r for r in {r for _, _, r, *_ in program.keys} | {*program.outputs} if r < 0])
