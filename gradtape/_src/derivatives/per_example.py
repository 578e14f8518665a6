"""Gradients of single examples' losses: the gradient Program of one example, vectorised over the batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.autodiff.vectorized import call_vectorized, check_chunk
from gradtape._src.control.scope import Scope, Traced, trace
from gradtape._src.core.base.errors import LOOKS_AT_VALUES, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.programs.program import Node, Program, leaf
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import dense
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.derivatives.evaluation import Point, inexact, places_of, sources_of
from gradtape._src.ops.array.creation import range_
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.shape import expand_dims, ones, reshape, zeros
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.random import seeds


class NotTraceable(Exception):
    """Raised when the loss needs concrete values and cannot be traced."""


class PerExample:
    """The loss of one example as a Program, and its inputs: rows of the examples, and values shared by all examples.

    All examples are computed at once, or `chunk` of them at a time.
    `sources` are variables and tensors that the loss uses; `places` are their positions among the Program's parameters, None for
    an unused one.
    """

    def __init__(
        self, loss_fn: Callable[..., Any], sources: Any, examples: Any, keep_axis: bool, chunk: int | None = None
    ) -> None:
        check_chunk(chunk)
        if not callable(loss_fn):
            raise TypeError(f"loss_fn must be a function of one example, received {loss_fn!r} of type {type(loss_fn).__name__}.")
        self.function, self.keep_axis, self.chunk = loss_fn, keep_axis, chunk
        self.sources = sources_of(sources)
        for x in self.sources.leaves:
            if not inexact(x):
                raise ValueError(f"A source of dtype {x.dtype.name} has no gradient: sources are floating or complex.")
        self.examples = Point(examples)
        self.rows = [tensor(x) for x in self.examples.leaves]
        self.count = _count(self.rows)

    def of_one(self, rows: Sequence[Tensor]) -> Tensor:
        """Return the scalar loss of one example, whose tensors are `rows`."""
        loss = self.examples.call(self.function, rows)
        if not (isinstance(loss, Tensor) and inexact(loss) and loss.node.aval.size == 1):
            what = f"{loss.dtype.name} of shape {loss.shape}" if isinstance(loss, Tensor) else f"{type(loss).__name__}"
            raise ValueError(
                f"loss_fn must return the loss of one example, a floating scalar; it returned {what}. It is called with one "
                f"example {'as a batch of one' if self.keep_axis else 'without a batch axis'}."
            )
        return reshape(loss, [])

    def trace(self) -> None:
        """Trace the Program; raise NotTraceable if the loss needs concrete values."""
        avals = [_one(x.node.aval, self.keep_axis) for x in self.rows]
        parameters = [leaf(a, None) for a in avals]
        try:
            body = trace(lambda: self.of_one([EagerTensor(p) for p in parameters]), parameters, Scope(True, creates=False))
        except LOOKS_AT_VALUES:
            if engine.local.trace.scope is not None:
                raise
            raise NotTraceable from None
        if body.written:
            raise ValueError(
                f"loss_fn assigns {', '.join(v.name for v in body.written)}, and the examples are computed at one time. Call the "
                "model with training=False, or assign afterwards."
            )
        self.program = body.program
        self.inputs, self.mapped = self._inputs(body)
        self.places = places_of(self.sources.leaves, body, len(self.rows))

    def _inputs(self, body: Traced) -> tuple[list[Node], list[bool]]:
        rows = [expand_dims(x, 1) if self.keep_axis else x for x in self.rows]
        nodes = list(body.inputs([x.node for x in rows]))
        first_seed = len(nodes) - len(body.draws)
        for k in range(first_seed, len(nodes)):
            nodes[k] = _a_seed_each(nodes[k], self.count)
        return nodes, [k < len(rows) or k >= first_seed for k in range(len(nodes))]

    def gradient_program(self) -> tuple[Program, list[int | None]]:
        """Return the Program from the parameters and a seed to the gradients, and the output of each source."""
        used = sorted({p for p in self.places if p is not None})
        derived, where = vjp_program(self.program, (0,), tuple(used))
        found = dict(zip(used, where, strict=True))
        return execution.intern(derived), [None if p is None else found[p] for p in self.places]

    def of_gradients(self, derive: Callable[[Program], Program], one: Callable[[Tensor], Tensor]) -> list[Tensor]:
        """Return the results of a Program derived from that of the gradients, for all examples: a stack for each source.

        `one` computes a result from one gradient: for a loss that cannot be traced, and from zeros for an unused source.
        """
        try:
            self.trace()
        except NotTraceable:
            return [stack([one(d) for d in column]) for column in zip(*self.one_by_one, strict=True)]
        program, where = self.gradient_program()
        found = self.call(derive(program), ones([self.count], self.loss_type)) if program.outputs else []
        unused = [one(zeros(extents_of(x), x.dtype)) for x in self.sources.leaves]
        return [stack([z] * self.count) if p is None else found[p] for z, p in zip(unused, where, strict=True)]

    def call(self, program: Program, *more: Tensor) -> list[Tensor]:
        """Call a Program of these parameters for all examples; `more` are further parameters, with a row for each example."""
        mapped = [*self.mapped, *[True] * len(more)]
        nodes = call_vectorized(program, [*self.inputs, *[x.node for x in more]], mapped, self.chunk)
        return [EagerTensor(n) for n in nodes]

    @property
    def loss_type(self) -> Any:
        """The dtype of the loss."""
        return self.program.aval_of(self.program.outputs[0]).type

    @functools.cached_property
    def one_by_one(self) -> list[list[Tensor]]:
        """The gradients of the examples one by one, if the loss cannot be traced; cached, as the loss may draw numbers."""
        results = []
        for i in range(self.count):
            rows = [x[i : i + 1] if self.keep_axis else x[i] for x in self.rows]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self.sources.leaves)
                loss = self.of_one(rows)
            found = tape.gradient(loss, self.sources.leaves, unconnected_gradients="zero")
            results.append([dense(d) for d in found])
        return results


@public
def per_example_gradients(
    loss_fn: Any,
    sources: Any,
    examples: Any = (),
    tape: GradientTape | None = None,
    keep_axis: bool = True,
    chunk_size: int | None = None,
) -> Any:
    """Return the gradient of each example's loss with respect to `sources`: each of shape [examples, …source], in their
    structure.

    `loss_fn` is called once, on symbols, with one example: `loss_fn(*examples)` where `examples` is a tuple or list of
    arguments (nests of tensors with one row for each example), `loss_fn(examples)` otherwise. The example comes as a batch
    of one (`keep_axis=False`: without that axis), so that the loss of a whole batch serves. It returns a floating scalar,
    or one number for the batch of one. All examples are computed by one vectorised program, `chunk_size` at a time.
    `sources` are variables, or tensors that `loss_fn` uses; one that it does not use gets zeros. Random ops draw other
    numbers for each example. A loss that looks at values runs example by example.

    With a `tape`, `loss_fn` is the tensor of losses that it recorded, of shape [examples]: the rows of its Jacobian. This
    works for losses that depend on one another, and costs a backward pass of the whole batch for each of them.

    ValueError where `loss_fn` does not return one number, assigns variables, or the rows are not equally many.

    >>> w = tf.Variable([1.0, 2.0])
    >>> x = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> tf.autodiff.per_example_gradients(lambda x: tf.reduce_sum(x * w) ** 2, w, x).numpy().tolist()
    [[2.0, 0.0], [0.0, 4.0], [6.0, 6.0]]
    """
    if tape is not None:
        if not (isinstance(loss_fn, Tensor) and loss_fn.ndim == 1):
            raise ValueError(f"With a tape, give the losses that it recorded: a tensor of shape [examples], not {loss_fn!r}.")
        return tape.jacobian(loss_fn, sources, unconnected_gradients="zero", chunk_size=chunk_size, mode="reverse")
    each = PerExample(loss_fn, sources, examples, keep_axis, chunk_size)
    return each.sources.pack(each.of_gradients(lambda gradients: gradients, lambda d: d))


def weighted(each: PerExample, factors: Tensor) -> list[Tensor]:
    """Return the sum over the examples of `factors` times their gradients, by one backward pass of the batch."""
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(each.sources.leaves)
        (losses,) = each.call(each.program)
        total = reduce_sum(losses * factors)
    found = tape.gradient(total, each.sources.leaves, unconnected_gradients="zero")
    return [dense(d) for d in found]


def _count(rows: Sequence[Tensor]) -> int:
    if not rows:
        raise ValueError("examples holds no tensors: give tensors whose rows are the examples.")
    for x in rows:
        if not x.ndim:
            raise ValueError(f"examples: each tensor has a row for each example, and this one is a scalar: {x!r}.")
    counts = sorted({int(extents_of(x)[0]) for x in rows})
    if len(counts) > 1:
        raise ValueError(f"examples: the tensors have different numbers of rows: {counts}.")
    if not counts[0]:
        raise invalid("examples: there are no rows, and so no gradients.")
    return counts[0]


def _one(of: Aval, keep_axis: bool) -> Aval:
    return aval((1, *of.shape[1:]) if keep_axis else of.shape[1:], of.dtype)


def _a_seed_each(seed: Node, count: int) -> Node:
    """Derive an independent seed for each of `count` examples from one seed."""
    numbers = range_(count, dtype="int64")

    def of_one(seed: Node, number: Node) -> list[Node]:
        return [seeds.of_trip(EagerTensor(seed), EagerTensor(number)).node]

    program = tracing.program_of(of_one, [seed.aval, aval((), numbers.dtype.numpy)])
    (found,) = call_vectorized(program, [seed, numbers.node], [False, True])
    return found
