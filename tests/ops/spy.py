"""What a call recorded, and what gradient rules read: the ops by themselves, without running anything."""

import contextlib
from unittest import mock

from gradtape._src.autodiff.backward import Entry, Operation
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.native import twins
from gradtape._src.core.programs.program import CALL, ELEMENT, RAN, leaf
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.ops.array.shape import zeros


@contextlib.contextmanager
def recorded():
    """Yields a list of `(op, attrs, input avals, aval)`, one for each op recorded, in called programs too."""
    seen = []
    record, record_ran = engine.record, engine.record_ran

    def spy(op, inputs, attrs=()):
        node = record(op, inputs, attrs)
        if op is CALL:
            seen.extend(ops_of(attrs[0]))
        elif op not in (ELEMENT, RAN):
            seen.append((op, attrs, tuple([n.aval for n in inputs]), node.aval))
        return node

    def spy_ran(op, inputs, attrs, value):
        node = record_ran(op, inputs, attrs, value)
        seen.append((op, attrs, tuple([n.aval for n in inputs]), node.aval))
        return node

    with twins.off(), mock.patch.object(engine, "record", spy), mock.patch.object(engine, "record_ran", spy_ran):
        yield seen


def ops_of(program):
    """`(op, attrs, input avals, aval)` for the ops of a Program and of those that it calls."""
    for (op, attrs, *references), result in zip(program.keys, program.avals, strict=True):
        if op is CALL:
            yield from ops_of(attrs[0])
        elif op is not ELEMENT:
            yield op, attrs, tuple([program.aval_of(r) for r in references]), result


def reads(op, attrs, avals, result):
    """The names, as in `saves`, of what the op's gradient rule reads when each input that can have one needs one.

    A rule that has none for some of them, a LookupError, is asked for each alone.
    """
    inputs = tuple([leaf(a, None) for a in avals])
    with tracing.inner():
        node = engine.record(op, inputs, attrs)
        cotangents = [EagerTensor(leaf(a, None)) if a.inexact else zeros(a.shape, a.type) for a in several(result)]

        def given(needed):
            return several(op.gradient(Operation(Entry(node, inputs), tuple(needed), None), *cotangents))

        try:
            results = given([a.inexact for a in avals])
        except LookupError:
            results = []
            for i in [i for i, a in enumerate(avals) if a.inexact]:
                with contextlib.suppress(LookupError):
                    results += given([place == i for place in range(len(avals))])
        pending = [_dense(dx).node for dx in results if dx is not None]
    names, seen = set(), set()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if current is node:
            names.add("z" if "y" in op.parameters else "y")
        elif current.op is ELEMENT and current.inputs[0] is node:
            names.add(f"y{current.attrs[0]}")
        elif current in inputs:
            names.add(op.parameters[min(inputs.index(current), len(op.parameters) - 1)])  # the last may be variadic
        else:
            pending += current.inputs or ()
    return names


def several(result):
    """A result as a tuple: one value, or several."""
    return tuple(result) if isinstance(result, list | tuple) else (result,)


def _dense(dx):
    return dx.to_dense() if isinstance(dx, IndexedSlices) else dx
