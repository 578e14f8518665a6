"""User-defined gradients: `custom_gradient`, and functions based on it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff import backward
from gradtape._src.autodiff.backward import Operation, vjp_program
from gradtape._src.autodiff.sources import like, values_of
from gradtape._src.autodiff.tape import InnerTape
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import HOST, lowered, lowering
from gradtape._src.core.programs.op import Op, Rule, define
from gradtape._src.core.programs.program import ELEMENT, INSIDE, NUMBER, Node, Program, leaf, memoized, read_by
from gradtape._src.core.programs.structured import GRADIENT, HeldProgram, StructuredOp, arity
from gradtape._src.core.tensors import convert, nest
from gradtape._src.core.tensors.convert import is_tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor, Stored
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.creation import zeros_of
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.array.shape import broadcast_to


# The op of a function with a custom gradient: (results…, arguments…) → results. The trace stores the gradient function by node,
# so that a new closure does not change the fingerprint of a step. `transparent`: the gradient is that of the function's own ops,
# which explanations show instead.
def _results(*values: Any, count: int, **attributes: Any) -> tuple[Any, ...]:
    return values[:count]


CUSTOM = define(
    Op(
        "CustomGradient", lambda *values, count, transparent: values[:count], infer=_results, strings=_results,
        reason="custom_gradient gave it a gradient function for one tape only", traits="own renames gradient_given",
    )
)  # fmt: skip


class Closed(NamedTuple):
    """The attributes of a custom gradient in a function: `program` computes gradients; `where` has their positions.

    If the gradient function calls its own function, there is an `Again` in place of the Program.
    """

    results: int
    program: Program | Again
    where: tuple[int | None, ...]
    raising: Exception | None
    transparent: bool

    def bodies(self) -> tuple[HeldProgram, ...]:
        """Return the body, which takes the results' cotangents and the residuals of the gradient."""
        if isinstance(self.program, Again):
            return ()
        taken = arity(self.program) - self.results
        takes = [*range(self.results), *range(len(self.where), len(self.where) + taken)]
        return (HeldProgram(self.program, takes, {}),)

    def traced(self, residuals: Sequence[Any]) -> tuple[Program, tuple[int | None, ...], Exception | None, list[Any]]:
        """Return the Program, the positions of gradients, the error to raise, and the Program's inputs after the cotangents.

        `residuals` are the inputs of the op. A leaf among the result is a constant of the gradient function.
        """
        if not isinstance(self.program, Again):
            return self.program, self.where, self.raising, list(residuals[len(self.where) :])
        found, taken = self.program.traced()
        assert isinstance(found.program, Program)
        return found.program, found.where, found.raising, [residuals[i] if isinstance(i, int) else i for i in taken]


def _closed_kernel(
    *values: Any,
    results: int,
    program: Program | Again,
    where: tuple[int | None, ...],
    raising: Exception | None,
    transparent: bool,
) -> tuple[Any, ...]:
    return values[:results]


# The op of a custom gradient in a function under trace: (results…, arguments…, captures of the gradient function…) → results.
CLOSED = define(
    StructuredOp(
        "CustomGradientProgram", _closed_kernel, Closed, kind=GRADIENT, bodies=Closed.bodies,
        run=lambda interpreter, attrs, inputs: inputs[: attrs.results], runs=lambda attrs, decision: (), infer=_closed_kernel,
        saves="values", strings=_closed_kernel, traits="own renames",
    )
)  # fmt: skip


class Watcher:
    """Notes the variables read in its context."""

    def __enter__(self) -> Watcher:
        self._tape = InnerTape(watch_accessed_variables=True)
        self._tape.open_quietly()
        return self

    def __exit__(self, kind: object, value: Any, traceback: object) -> None:
        self.variables = self._tape.watched_variables()
        self._tape.__exit__(None, None, None)


@public
def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorate a function that returns its result and its gradient function: `f(*args) → (result, grad_fn)`.

    `grad_fn(*dy)` receives a gradient for each result and returns one for each argument. If `f` uses variables, `grad_fn` needs a
    keyword argument `variables`, and returns `(gradients of the arguments, gradients of the variables)`.

    >>> @tf.custom_gradient
    ... def clip_gradient(x):
    ...     return tf.identity(x), lambda dy: tf.clip_by_value(dy, -1.0, 1.0)
    """
    return CustomGradient(f) if f is not None else custom_gradient


class CustomGradient:
    """A function with a custom gradient, the result of `custom_gradient`. In a class it binds like a method.

    `transparent`: the gradient is that of the function's own ops. `traced`: in a function under trace, the gradient function is
    traced at once, for use by all tapes. Otherwise only tapes in that function can call it.
    """

    def __init__(self, f: Callable[..., Any], transparent: bool = False, traced: bool = True) -> None:
        functools.update_wrapper(self, f)
        self._function, self._transparent, self._traced = f, transparent, traced
        self.__original_wrapped__ = f  # TensorFlow's decorators use this name

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function, for `inspect.getfullargspec`, which does not follow `__wrapped__`."""
        return inspect.signature(self._function)

    def __get__(self, instance: Any, owner: type | None = None) -> CustomGradient:
        if instance is None:
            return self
        return CustomGradient(functools.partial(self._function, instance), self._transparent, self._traced)

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if engine.local.trace.scope is not None:  # in a function, TensorFlow passes tensors in place of variables, too
            args = nest.map_structure(lambda a: a.read_value() if isinstance(a, Stored) else a, args)
        with Watcher() as watcher:
            given = self._function(*args, **kwargs)
        result, grad_fn = _checked(given)
        arguments = nest.flatten(args)
        variables = [v for v in watcher.variables if all(v is not variable_of(a) for a in arguments)]
        if engine.local.trace.scope is not None:  # TensorFlow's order, which in eager code is any
            variables.sort(key=operator.attrgetter("name"))
        if variables and not _accepts_variables(grad_fn):
            raise TypeError(
                "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function uses variables: "
                f"{variables}. Write `def grad(dy, variables=None): … return gradients, variable_gradients`."
            )
        flat, spec = nest.flatten_with_spec(result)
        results = [convert.node_of(values_of(r)) for r in flat]
        nodes = [_node_or_none(values_of(a)) for a in arguments]
        inputs = [n for n in nodes if n is not None] + [v.read() for v in variables]
        rule = _rule(grad_fn, flat, [n is not None for n in nodes], variables)
        if engine.local.trace.parent is not None and self._traced:
            node = _record_closed(self._function, rule, results, inputs, self._transparent)
        else:
            node = engine.record(CUSTOM, (*results, *inputs), (len(results), self._transparent))
            node.trace.gradients[node.index] = rule if self._transparent else _in_either_mode(self._function, rule, inputs)
        return nest.unflatten(spec, [like(r, EagerTensor(n)) for r, n in zip(flat, engine.elements(node), strict=True)])


def _checked(given: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the result and the gradient function that a decorated function returned; else raise TensorFlow's error."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and callable(given[1]):
        return given[0], given[1]
    try:
        kind = TypeError if len(given) == 2 else ValueError
    except TypeError:
        kind = TypeError
    raise kind(
        f"A function under @tf.custom_gradient returns its result and its gradient function; it returned {given!r}. "
        "Write `return result, grad` with `def grad(dy): …`."
    )


class _Fields:
    """The functions whose gradient functions are being traced, the innermost last, and the variables read by these."""

    custom_gradients: tuple[Any, ...] = field((), per_replica=True)
    custom_reads: list[tuple[Variable, Node]] | None = field(None, per_replica=True)


_local = declare(_Fields)


@contextlib.contextmanager
def _reads_noted() -> Iterator[list[tuple[Variable, Node]]]:
    """Open a context that notes the variables read by gradient functions, with their values."""
    around, noted = _local.custom_reads, list[tuple[Variable, Node]]()
    try:
        with setting(custom_reads=noted):
            yield noted
    finally:
        if around is not None:
            around += noted


class Again:
    """A gradient function that calls its own function. It is run again for each order of derivative.

    It runs in the trace in which it was made, even if that is closed by then. The nodes that it uses there are `known`: the
    inputs of the op, in their order.
    """

    def __init__(self, function: Any, rule: Rule, results: Sequence[Node], inputs: Sequence[Node]) -> None:
        self._function, self._rule, self._results, self._inputs = function, rule, results, inputs
        self._trace, self._known = engine.local.trace, [*results, *inputs]
        self._variables: dict[int, Node] = {}
        self._found: tuple[Closed, list[int | Node]] | None = None

    def explored(self, transparent: bool) -> tuple[Closed, list[Node]]:
        """Run it once to find its captures; return the attributes and the captures."""
        with _reads_noted() as reads:
            closed, captured = _closed(self._function, self._rule, self._results, self._inputs, transparent)
        self._known += captured
        self._variables = {id(variable): node for variable, node in reads}
        return closed._replace(program=self), captured

    def traced(self) -> tuple[Closed, list[int | Node]]:
        """Run it; return the attributes, and the positions of the Program's inputs among the op's. A leaf is a constant."""
        if self._found is None:
            with setting(custom_gradients=(), transposing=False), engine.recording_in(self._trace), _reads_noted() as reads:
                closed, captured = _closed(self._function, self._rule, self._results, self._inputs, transparent=False)
            variables = {node: variable for variable, node in reads}
            self._found = closed, [self._place(node, variables.get(node)) for node in captured]
        return self._found

    def _place(self, node: Node, variable: Variable | None) -> int | Node:
        """Return the position of a node among the inputs of the op. A variable stands for its value at that time."""
        if variable is not None:
            node = self._variables.get(id(variable), node)
        if node in self._known:
            return self._known.index(node)
        if node.value is None or variable is not None:
            name = getattr(self._function, "__name__", "the function")
            raise NotImplementedError(
                f"The gradient function of {name} calls {name}, and there uses a tensor or variable from outside that it did not "
                f"use before: give it to {name} as an argument, or use it in each call."
            )
        return node


def _record_closed(function: Any, rule: Rule, results: list[Node], inputs: list[Node], transparent: bool) -> Node:
    """Record a custom gradient in a function under trace.

    The captures of the gradient function are inputs of the op, so that it can be called wherever the function is.
    """
    attrs: Closed
    captured: list[Node] = []
    times = _local.custom_gradients.count(_likeness(function))
    if times == 0:
        attrs, captured = _closed(function, rule, results, inputs, transparent)
    else:
        again = Again(function, rule, results, inputs)
        attrs = Closed(len(results), again, (*[None] * len(results), *range(len(inputs))), None, transparent)
        if times == 1:
            attrs, captured = again.explored(transparent)
    return engine.record(CLOSED, (*results, *inputs, *captured), attrs)


def _closed(
    function: Any, rule: Rule, results: Sequence[Node], inputs: Sequence[Node], transparent: bool
) -> tuple[Closed, list[Node]]:
    """Trace a gradient function to a Program of its own; return the attributes and the captures."""
    seeds = [leaf(r.aval, None) for r in results]
    try:
        with setting(custom_gradients=(*_local.custom_gradients, _likeness(function))), tracing.inner() as inner:
            flat, where, raising = _traced_gradients(rule, seeds, [*results, *inputs])
            tracing.enter(inner, flat)
            captured = [n for n in inner.leaves if n not in seeds and n.index not in (NUMBER, INSIDE)]
            program = tracing.close(inner, flat, [*seeds, *captured])
    finally:
        if _local.custom_reads is not None:
            _local.custom_reads += [(variable, node) for _, variable, node in inner.reads]
    return Closed(len(results), program, where, raising, transparent), captured


def _traced_gradients(
    rule: Rule, seeds: Sequence[Node], to: Sequence[Node]
) -> tuple[list[Node], tuple[int | None, ...], Exception | None]:
    """Run a gradient function; return the gradients, their positions for the nodes `to`, and the error that it raised."""
    try:
        with Watcher():  # the trace then notes reads of variables
            grads = rule(None, *map(EagerTensor, seeds))
    except RecursionError:
        raise
    except Exception as error:  # raised when the gradient is requested
        return [], (None,) * len(to), error
    raising: Exception | None = None
    flat: list[Node] = []
    where: list[int | None] = []
    for i, d in zip(to, grads, strict=True):
        if d is None:
            where.append(None)
            continue
        number = isinstance(d, (int, float))
        d = d.to_dense() if isinstance(d, IndexedSlices) else convert.tensor(d, None if is_tensor(d) else i.aval.type)
        if number:
            d = broadcast_to(d, i.aval.shape) if i.aval.ranked else d + zeros_of(i)
        if d.node.aval.differs(i.aval) and raising is None:
            raising = ValueError(
                "Incompatible shapes between op input and calculated input gradient: custom_gradient's function "
                f"returned shape {d.shape} for an input of shape {i.aval.tensor_shape}."
            )
        where.append(len(flat))
        flat.append(d.node)
    return flat, tuple(where), raising


def _in_either_mode(function: Any, rule: Rule, inputs: Sequence[Node]) -> Rule:
    """Return the gradient function of a recorded node. For forward mode it is first run on symbols, to check that it is linear.

    A gradient function that depends on values is taken to be linear.
    """

    def either(op: Operation, *grads: Any) -> Sequence[Any]:
        if backward.local.transposing:
            results = [d.node for d in grads]
            closed, captured = _closed(function, rule, results, inputs, transparent=False)
            if not isinstance(closed.raising, (engine.NeedsValues, TypeError)):
                return _cotangents(closed, [*results, *inputs, *captured], op.needed, grads)
        with setting(transposing=False):
            return rule(op, *grads)

    return either


def _likeness(function: Any) -> tuple[Any, ...]:
    """Return the code of a function and the identities of functions in its closure, since each call may define it anew."""
    if isinstance(function, functools.partial):  # a bound method
        return (*_likeness(function.func), *map(id, function.args))
    around: list[Any] = []
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # the name is not bound yet
            around.append(cell.cell_contents)
    return getattr(function, "__code__", function), *[id(value) for value in around if callable(value)]


@gradient(CLOSED)
def _closed_gradient(op: Operation, *grads: Any) -> list[Any]:
    closed, inputs = Closed(*op.entry.node.attrs), op.entry.inputs
    return [*_cotangents(closed, inputs, op.needed, grads), *[None] * (len(inputs) - len(closed.where))]


def _cotangents(closed: Closed, inputs: Sequence[Node], needed: Sequence[bool], grads: Sequence[Any]) -> list[Any]:
    """Return the cotangents of the results and arguments of a function with a custom gradient.

    A gradient that is not linear has no transpose. For forward mode the function's own ops are differentiated instead, as in
    TensorFlow.
    """
    results = closed.results
    program, where, raising, captured = closed.traced(inputs)
    if isinstance(raising, engine.NeedsValues) and engine.local.trace.scope is None:
        raise NotImplementedError(str(raising)) from None  # no function under trace could run as eager code instead
    if raising is not None:
        raise raising
    if backward.local.transposing and not closed.transparent and not _linear(program, results):
        if not any(needed[:results]):
            raise NotImplementedError(
                "Forward mode goes through tf.custom_gradient where the gradient function is linear in dy, or else where the "
                "function itself can be differentiated: neither holds here. Use reverse mode: tape.gradient, tf.autodiff.vjp, "
                'tf.autodiff.jacrev, or mode="reverse".'
            )
        return [*grads, *[None] * (len(where) - results)]
    nodes = tracing.call(program, (*[d.node for d in grads], *captured)) if program.outputs else []
    return [None if place is None else EagerTensor(nodes[place]) for place in where]


@memoized
def _linear(program: Program, seeds: int) -> bool:
    """Return whether a gradient Program (cotangents…, residuals…) is linear in its cotangents: its own gradient reads none.

    A Program that reads them without having a gradient, such as a sign, is not linear. Loops and branches are taken to be linear,
    as their gradients have all possible residuals as inputs.
    """
    with setting(transposing=False):
        derived, where = vjp_program(program, tuple(range(len(program.outputs))), tuple(range(seeds)))
    read = read_by(program) & set(range(seeds))
    flows = all(where[seed] is not None for seed in read) and max(read_by(derived), default=-1) >= arity(program)
    return (flows or not read) and not _depending(derived, range(seeds))


def _depending(program: Program, parameters: Collection[int]) -> set[int]:
    """Return the outputs of a Program that depend on these parameters through ops other than branches and loops."""
    depends: set[int] = {-1 - p for p in parameters}
    parts: dict[int, set[int]] = {}  # for each call, the outputs that depend
    for index, (op, attrs, *references) in enumerate(program.keys):
        given = {i for i, r in enumerate(references) if r in depends}
        if op is ELEMENT:
            found = attrs[0] in parts.get(references[0], ())
        elif op.is_call:
            (body,) = op.bodies(attrs)
            parts[index] = _depending(body.program, {p for p, i in enumerate(body.takes) if i in given})
            found = False
        else:
            found = bool(given) and not op.structured
            if found and type(program.avals[index]) is tuple:
                parts[index] = set(range(len(program.avals[index])))
        if found:
            depends.add(index)
    return {i for i, r in enumerate(program.outputs) if r in depends}


def _node_or_none(value: Any) -> Node | None:
    """Return the node of an argument; None for one that is not a tensor (a string, an object)."""
    try:
        node = convert.node_of(value)
    except (TypeError, ValueError):
        return None
    return node if node.aval.dtype != object else None


def _accepts_variables(grad_fn: Callable[..., Any]) -> bool:
    spec = inspect.getfullargspec(grad_fn)
    return "variables" in spec.args or "variables" in spec.kwonlyargs or spec.varkw is not None


def _rule(grad_fn: Callable[..., Any], results: list[Any], arguments: list[bool], variables: list[Variable]) -> Rule:
    """Return the gradient function of the recorded node: None for the results, then the user's gradients.

    `arguments` says for each argument whether it is a tensor, and thus an input of the node.
    """
    count, rows = len(results), {i: r for i, r in enumerate(results) if isinstance(r, RaggedTensor)}

    def rule(op: Operation, *grads: Any) -> list[Any]:
        grads = tuple([like(rows.get(i), d) for i, d in enumerate(grads)]) if rows else grads
        if variables:
            input_grads, variable_grads = grad_fn(*grads, variables=variables)
            variable_grads = list(variable_grads)
            if len(variable_grads) != len(variables):
                raise ValueError(
                    f"Must return gradient for each variable from @custom_gradient grad_fn: {len(variables)} expected, "
                    f"{len(variable_grads)} returned."
                )
        else:
            input_grads, variable_grads = grad_fn(*grads), []
        flat = list(map(values_of, nest.flatten(input_grads)))
        if len(flat) != len(arguments):
            raise ValueError(
                f"custom_gradient function expected to return {len(arguments)} gradients, but returned {len(flat)} instead. "
                "Return one for each argument that is given by position; an argument by keyword gets none."
            )
        return [None] * count + [d for d, is_tensor in zip(flat, arguments, strict=True) if is_tensor] + variable_grads

    return rule


@public
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the gradient of `f` by the identity: a straight-through estimator. Result and argument must have the same shape.

    >>> x = tf.Variable(1.7)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.grad_pass_through(tf.floor)(x)
    >>> float(y), float(tape.gradient(y, x))
    (1.0, 1.0)
    """

    @custom_gradient
    def pass_through(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        def grad(*dy: Any, variables: Sequence[Variable] | None = None) -> Any:
            return (dy, [None] * len(variables)) if variables is not None else dy

        return f(*args, **kwargs), grad

    return functools.wraps(f)(pass_through)


@lowered("a barrier, behind which values are computed again")
def _barrier(*values: Any) -> tuple[Any, ...]:
    return tuple(lax.optimization_barrier(values))


def _unchanged(*values: Any) -> tuple[Any, ...]:
    return values


def _chosen(*values: Any) -> tuple[Any, ...]:
    """Return the values through a conditional on the last one, whose outcome XLA cannot predict.

    The other outcome, NaN, is taken for a single NaN bit pattern, which arithmetic never produces.
    """
    last = values[-1]
    if last.size == 0 or not jnp.issubdtype(last.dtype, jnp.inexact):
        return values
    last = last.reshape(-1)[:1].real[0]
    width = last.dtype.itemsize * 8
    unforeseen = lax.bitcast_convert_type(last, jnp.dtype(f"uint{width}")) == (1 << (width - 1)) - 3

    def other(*values: Any) -> tuple[Any, ...]:
        return tuple([jnp.full_like(v, np.nan) if jnp.issubdtype(v.dtype, jnp.inexact) else v for v in values])

    found: tuple[Any, ...] = lax.cond(unforeseen, other, lambda *v: v, *values)
    return found


lowering(_barrier, platform=HOST, rule=_unchanged, because="NumPy removes nothing")
lowering(_barrier, platform="cpu", rule=_chosen, because="XLA's compiler for CPUs removes barriers")

BARRIER = define(
    Op(
        "OptimizationBarrier", _barrier, infer=lambda *avals: avals, gradient=lambda op, *grads: list(grads),
        traits="own renames",
    )
)  # fmt: skip


@public
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `f` so that the backward pass computes its intermediate values again instead of storing them (checkpointing).

    Trades time for memory: Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016), section 3.

    >>> x = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.recompute_grad(lambda v: v * v * v)(x)
    >>> float(tape.gradient(y, x))
    12.0
    """

    def checkpointed(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        result = f(*args, **kwargs)

        def grad(*dy: Any, variables: Sequence[Variable] | None = None) -> Any:
            arguments, spec = nest.flatten_with_spec(args)
            nodes = [convert.node_of(values_of(a)) for a in arguments]
            # Without the barrier, XLA would merge this with the forward pass, and store its values after all.
            held = engine.elements(engine.record(BARRIER, (*nodes, *[values_of(d).node for d in dy])))
            tensors = [EagerTensor(n) for n in held]
            again, seeds = tensors[: len(nodes)], tensors[len(nodes) :]
            with InnerTape(watch_accessed_variables=False) as tape:
                for tensor in again:
                    if tensor.node.aval.inexact:
                        tape.watch(tensor)
                for variable in variables or ():
                    tape.watch(variable)
                recomputed = f(*nest.unflatten(spec, list(map(like, arguments, again))), **kwargs)
            sources = [*again, *(variables or ())]
            targets = nest.flatten(recomputed)
            grads = tape.gradient(targets, sources, output_gradients=seeds) if sources else []
            mine = grads[: len(again)]
            return (mine, grads[len(again) :]) if variables is not None else mine

        return result, grad

    made = CustomGradient(functools.wraps(f)(checkpointed), transparent=True)
    vars(made)["__wrapped__"] = f
    return made
