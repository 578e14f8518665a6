"""The declaration of an op: `@op` on its kernel, `@gradient` on its gradient, side by side.

    @op("Tanh", saves="y", infer=same)
    def tanh(x):
        \"\"\"Hyperbolic tangent of `x`, element-wise.\"\"\"
        return jnp.tanh(x)

    @gradient(tanh)
    def _(dy, y):
        return dy * conj(1 - y * y)

`@op` replaces the kernel by the public function of the same name, which converts its arguments to tensors and records the op.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from gradtape._src.core.base import hooks, naming, public, tracebacks
from gradtape._src.core.base.errors import KEEP_SIZES
from gradtape._src.core.base.tracebacks import cut
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.native import twins
from gradtape._src.core.programs import faults, guards, journal, program
from gradtape._src.core.programs.op import Attributes, Kernel, Op, Refusals, Rule, define, ops
from gradtape._src.core.programs.program import ELEMENT, LEAF_KEY, Node, Trace
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, emit, handle, to_numpy
from gradtape._src.core.tensors.variable import ResourceVariable, UnreadVariable
from gradtape._src.core.values.aval import Aval

BinaryOperator = Callable[[Any, Any], Any]
Call = Callable[[Any, dict[str, Any]], Any]
AT_ONCE = "it runs at once, always on NumPy: its shape depends on values"  # the reason why an op run by `ran` is not hosted
_NOTHING = object()
_SIMPLE = frozenset([EagerTensor, ResourceVariable, float, int])


class OpFunction(Protocol):
    """The public function of an op."""

    op: Op

    def __call__(self, *inputs: Any, **named: Any) -> Tensor: ...


def op(type: str, *, mixed: bool = False, **declared: Any) -> Callable[[Kernel], OpFunction]:
    """Declare an op by its kernel (JAX arrays in, JAX array or tuple of them out), and return the public function.

    The kernel's positional parameters are tensors (a single `*xs` is a list of tensors), its keyword-only ones attributes:
    hashable static values. `mixed` allows tensors of different dtypes. Otherwise numbers and arrays take the first tensor's
    dtype, and a tensor of another dtype is an error. For the other declarations see `Op`.
    """

    def decorate(kernel: Kernel) -> OpFunction:
        made = define(Op(type, kernel, **declared))
        parameters = list(inspect.signature(kernel).parameters.values())
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        count = len(made.parameters)
        defaults = tuple([p.default for p in parameters if p.kind is p.KEYWORD_ONLY])
        standard: Any = None if inspect.Parameter.empty in defaults else defaults
        made.declare(defaults=standard)
        plain = standard is not None and made.refuses is None and not mixed
        nodes_of = _independent if mixed else convert.operands
        names = (*made.parameters, *made.attributes)

        def call(inputs: Any, named: dict[str, Any]) -> Any:
            if not variadic and len(inputs) == len(names) + 1:  # the last one is the name
                inputs, named = inputs[:-1], {"name": inputs[-1], **named}
            if named and (name := named.get("name")) is not None:
                named["name"] = None
                if naming.open_graphs:
                    return naming.named(published, inputs, named, name)
                return hooks.core.called(published, inputs, named, name)
            attrs = standard
            if named or attrs is None or (len(inputs) != count and not variadic):
                inputs, attrs = _bind(made, names, count, variadic, defaults, inputs, named)
            try:
                nodes = nodes_of(made, inputs)
            except public.REFUSALS:
                found = public.otherwise(published, inputs, dict(zip(made.attributes, attrs, strict=True)))
                if found is NotImplemented:
                    raise
                return found
            return emit(made if made.refuses is None else check(made, nodes, attrs), nodes, attrs)

        shape = {1: _unary, 2: _binary}.get(count if plain else 0, _several)
        function = shape(kernel, made, standard, call)
        vars(function).pop("__wrapped__", None)
        public_parameters = [
            p.replace(kind=p.POSITIONAL_OR_KEYWORD) if p.kind is p.KEYWORD_ONLY and not variadic else p for p in parameters
        ]
        kind = inspect.Parameter.KEYWORD_ONLY if variadic else inspect.Parameter.POSITIONAL_OR_KEYWORD
        public_parameters.append(inspect.Parameter("name", kind, default=None))
        published: Any = function
        published.__signature__ = inspect.Signature(public_parameters)
        published.op = made
        made.declare(function=published)
        return published

    return decorate


# The public function of an op, specialised by its parameters: a fast path for most calls, and `call` for the rest.


def _unary(kernel: Kernel, made: Op, standard: Any, call: Call) -> Any:
    @functools.wraps(kernel)
    def function(x: Any = _NOTHING, /, *more: Any, **named: Any) -> Any:
        try:
            if x.__class__ is EagerTensor and not more and not named:
                return emit(made, (x.node,), standard)
            return call(() if x is _NOTHING else (x, *more), named)
        except BaseException as error:
            cut(error)
            raise

    return twins.of(function, "unary", made, standard)


def _binary(kernel: Kernel, made: Op, standard: Any, call: Call) -> Any:
    @functools.wraps(kernel)
    def function(*inputs: Any, **named: Any) -> Any:
        try:
            if len(inputs) == 2 and not named:
                x, y = inputs
                if x.__class__ is EagerTensor and y.__class__ is EagerTensor:
                    first, second = x.node, y.node
                    if first.aval.dtype is second.aval.dtype:
                        return emit(made, (first, second), standard)
            return call(inputs, named)
        except BaseException as error:
            cut(error)
            raise

    return twins.of(function, "binary", made, standard)


def _several(kernel: Kernel, made: Op, standard: Any, call: Call) -> Any:
    @functools.wraps(kernel)
    def function(*inputs: Any, **named: Any) -> Any:
        try:
            return call(inputs, named)
        except BaseException as error:
            cut(error)
            raise

    return function


def left_to(other: Any, operator: str, error: BaseException) -> bool:
    """Return whether a failed operator is left to the operand, an object of another library with operators of its own."""
    if not isinstance(error, (TypeError, ValueError)):
        return False
    kind = type(other)
    return kind.__module__ not in ("builtins", "numpy") and not convert.is_tensor(other) and hasattr(kind, operator)


def binary_operator(
    function: Any, name: str, made: Any = None, attrs: Any = None, rank: int | None = None
) -> tuple[BinaryOperator, BinaryOperator]:
    """Return `(forward, reflected)`: the Python operator `name` and its reflected form, for a public function of two tensors.

    They are equivalent to calling the function. Since most arithmetic uses them, they have a fast path for two floating or two
    complex operands of this `rank`. It records the Op `made` (by default the function's own) with attributes `attrs`.
    """
    made = function.op if made is None else made
    attrs = made.defaults if attrs is None else attrs
    assert made.refuses is None
    other_way = f"__r{name}__"

    def forward(self: Any, other: Any) -> Any:
        try:
            if self.__class__ is EagerTensor:
                x = self.node
            elif self.__class__ is ResourceVariable and self.aval.inexact and other.__class__ in _SIMPLE:
                x = self.read()
            else:
                return function(self, other)
            if x.aval.inexact:
                kind = other.__class__
                if kind is EagerTensor:
                    y = other.node
                elif rank is None and (kind is float or (kind is int and other.bit_length() < 64)):
                    y = engine.number(other, x.aval.dtype)
                elif kind is ResourceVariable:
                    y = other.read()
                else:
                    return function(handle(x), other)
                ranked = rank is None or (x.aval.ranked and y.aval.ranked and x.aval.ndim == y.aval.ndim == rank)
                if ranked and x.aval.dtype is y.aval.dtype:
                    return emit(made, (x, y), attrs)
                return function(handle(x), handle(y))
            return function(self, other)
        except BaseException as error:
            if left_to(other, other_way, error):
                return NotImplemented
            cut(error)
            raise

    def reflected(self: Any, other: Any) -> Any:
        try:
            if self.__class__ is EagerTensor and other.__class__ is float:
                x = self.node
                if x.aval.inexact and not rank:
                    return emit(made, (engine.number(other, x.aval.dtype), x), attrs)
            return function(other, self)
        except BaseException as error:
            cut(error)
            raise

    return twins.of(forward, "forward", made, attrs, rank), twins.of(reflected, "reflected", made, attrs, rank)


def _bind(
    made: Op,
    names: tuple[str, ...],
    count: int,
    variadic: bool,
    defaults: Attributes,
    inputs: tuple[Any, ...],
    named: dict[str, Any],
) -> tuple[Any, Attributes]:
    """Sort a call's arguments into tensors and attributes."""
    given: Any
    attributes: tuple[Any, ...]
    named.pop("name", None)
    if variadic:
        given, attributes = inputs, ()
    else:
        given, attributes = list(inputs[:count]), inputs[count:]
        if len(attributes) > len(made.attributes):
            raise TypeError(f"{made.type} takes {len(names) + 1} arguments, received {len(inputs)}.")
        for parameter in names[len(given) : count]:
            if parameter not in named:
                raise TypeError(f"{made.type} is missing the argument {parameter!r}.")
            given.append(named.pop(parameter))
    values = list(attributes[: len(made.attributes)])
    for attribute, default in list(zip(made.attributes, defaults, strict=True))[len(values) :]:
        value = named.pop(attribute, default)
        if value is inspect.Parameter.empty:
            raise TypeError(f"{made.type} is missing the argument {attribute!r}.")
        values.append(value)
    if named:
        raise TypeError(f"{made.type} has no argument {next(iter(named))!r}; it takes {', '.join(names)}.")
    return given, tuple(values)


def _independent(made: Op, values: Sequence[Any]) -> tuple[Node, ...]:
    return tuple([convert.node_of(value) for value in values])


def check(made: Op, nodes: tuple[Node, ...], attrs: Attributes) -> Op:
    """Raise the op's error if its inputs have invalid values; return the op to record.

    In a function values are unknown, so that the returned op checks them when it runs. In the trace of a gradient nothing is
    checked.
    """
    trace = engine.local.trace
    if made.refuses is None or not engine.local.checking or (trace.parent is not None and trace.scope is None):
        return made
    avals = tuple([node.aval for node in nodes])
    if (attrs, *avals) not in made.avals and engine.graph_around() is None:
        made.resolved(avals, attrs)  # shape and dtype errors come first; a graph may not know the shape
    if made.when is not None and not made.when(*avals, **dict(zip(made.attributes, attrs, strict=True))):
        return made
    if trace.scope is not None:
        return trace.scope.guarded(made, nodes, attrs)
    verify(made, nodes, attrs)
    return made


def _unchanged(index: Any, **attributes: Any) -> Any:
    return index


def guard(type: str, attributes: str, refuses: Callable[..., Refusals]) -> Op:
    """Declare an identity op that checks an `index`, for indices which are not an input of an op with a check."""
    declared: Any = {"cheap": True, "reason": "an index is an integer", "refuses": refuses}
    made = Op(type, _unchanged, infer=_unchanged, attributes=attributes, traits="own renames", **declared)
    made.declare(parameters=("index",))
    return define(made)


def guarded(made: Op, index: Node, attrs: Attributes) -> Node:
    """Return the node of an index that a `guard` checks: the index, once it is right, or in a function the op that checks it."""
    made = check(made, (index,), attrs)
    return engine.record(made, (index,), attrs) if made.guards else index


def verify(made: Op, nodes: tuple[Node, ...], attrs: Attributes) -> None:
    """Raise the op's error if its inputs have invalid values."""
    checked = guards.checked(made, nodes)
    if engine.local.checks is not None:
        engine.local.checks.append((made, attrs, checked))
    for node in checked:
        engine.peek(node)
    faults.verify(made, attrs, [to_numpy(node) for node in checked])


def gradient(function: Any) -> Callable[[Rule], Rule]:
    """Set the gradient of an op, given as its public function: it maps cotangents of outputs to cotangents of inputs.

    A rule's parameters name the values it reads, as in the kernel: `def _(dy, x, *, axis)`. First come the cotangents, one for
    each output, or `*dy`. Each is named `d` followed by the output's name, by which the rule may read the output, or `_`. The
    other parameters, in any order:

    - an input of the kernel: a Tensor, or a tuple of them for `*xs`; `needs_x` says whether its cotangent is needed;
    - an output: `y` where `dy` comes in;
    - an attribute; with `**attributes` all that are not named;
    - `op`: TensorFlow's operation. With `op` as the first parameter a rule takes `(op, *dy)` and no more, as a user's.

    A result is a Tensor, IndexedSlices, or None if the input gets no gradient. The rule is written with ops, so it is recorded. A
    rule named `_` gets the op's name, which tracebacks and profiles show.
    """
    made = function if isinstance(function, Op) else function.op

    def decorate(rule: Rule) -> Rule:
        if rule.__name__ == "_":
            name = f"gradient_of_{made.type}"
            rule.__name__ = rule.__qualname__ = name
            rule.__code__ = rule.__code__.replace(co_name=name, co_qualname=name)
        made.declare(gradient=_by_operation(made, rule))
        return rule

    return decorate


def _by_operation(made: Op, rule: Rule) -> Rule:
    """Convert a rule with named parameters to one that the reverse pass can call, with `(op, *dy)`."""
    parameters = inspect.signature(rule).parameters
    if next(iter(parameters), None) == "op":
        return rule
    read, attributes = _read_by(made, parameters.values())

    @functools.wraps(rule)
    def gradient(op: Any, *cotangents: Any) -> Any:
        named = {name: op.get_attr(name) for name in attributes}
        for name, of, place in read:
            named[name] = op if of is None else getattr(op, of)[place]
        return rule(*cotangents, **named)

    del gradient.__wrapped__  # its signature is that of `(op, *dy)`
    return gradient


def _read_by(made: Op, parameters: Iterable[inspect.Parameter]) -> tuple[list[tuple[str, str | None, Any]], list[str]]:
    """Return the values a rule reads as (parameter, attribute of the operation, index or slice), and the attributes by name."""
    inputs: dict[str, Any] = {name: place for place, name in enumerate(made.parameters)}
    if made.variadic:
        inputs[made.parameters[-1]] = slice(len(inputs) - 1, None)
    known: dict[str, tuple[str | None, Any]] = {f"needs_{name}": ("needed", place) for name, place in inputs.items()}
    known |= {"op": (None, None), **{name: ("inputs", place) for name, place in inputs.items()}}
    cotangents: list[str] = []
    read: list[tuple[str, str | None, Any]] = []
    attributes: list[str] = []
    for parameter in parameters:
        name, kind = parameter.name, parameter.kind
        if kind is parameter.VAR_KEYWORD:
            named = {*attributes, *[known for known, *_ in read]}
            attributes += [attribute for attribute in made.attributes if attribute not in named]
        elif cotangents and name in known:
            read.append((name, *known[name]))
        elif cotangents and name in made.attributes:
            attributes.append(name)
        elif f"d{name}" in cotangents:
            read.append((name, "outputs", cotangents.index(f"d{name}")))
        elif not read and (name.startswith(("d", "_")) or (kind is parameter.VAR_POSITIONAL and not cotangents)):
            cotangents.append(name)
        else:
            raise TypeError(
                f"The gradient of {made.type} reads {name!r}. First come cotangents, `dy`, then any of "
                f"{', '.join([*inputs, *made.attributes])}, needs_{next(iter(inputs), 'x')}, and an output by the name of its "
                "cotangent: `y` where `dy` comes in."
            )
    return read, attributes


def not_differentiable(*functions: Any, because: str, unregistered: bool = False) -> None:
    """State why ops (public functions, or type names) have no gradient; the explainer shows the reason to users.

    `unregistered`: TensorFlow has no registry entry for them, so that asking for such a gradient is a LookupError, not None.
    """
    for function in functions:
        made = ops[function] if isinstance(function, str) else function.op
        made.declare(reason=because, unregistered=unregistered)


def ran(function: Any, *values: Any, attrs: Attributes = ()) -> Any:
    """Run an op at once on NumPy arrays, because its result's shape depends on values; tapes see it as any other op.

    `function` is the public function of an op whose kernel maps NumPy arrays to NumPy arrays.
    """
    made = function.op
    graph = engine.graph_around()
    if graph is not None:
        return graph.deferred(made, tuple([convert.node_of(v) for v in values]), attrs)
    if engine.local.trace.scope is not None:
        raise engine.NeedsValues(f"the shape of what {made.type} gives depends on values", KEEP_SIZES)
    nodes = tuple([convert.node_of(v) for v in values])
    result = made.run([to_numpy(n) for n in nodes], attrs)
    if isinstance(result, tuple):
        node = engine.record_ran(made, nodes, attrs, tuple([np.asarray(r) for r in result]))
        return tuple([EagerTensor(n) for n in engine.elements(node)])
    return EagerTensor(engine.record_ran(made, nodes, attrs, np.asarray(result)))


twins.bind(
    Node=Node,
    Trace=Trace,
    Op=Op,
    Aval=Aval,
    EagerTensor=EagerTensor,
    ResourceVariable=ResourceVariable,
    UnreadVariable=UnreadVariable,
    Structure=program.TraceStructure,
    Array=np.ndarray,
    local=engine.local,
    internal=tracebacks.internal,
    wanted=engine.wanted,
    numbers=engine._numbers,
    cut=cut,
    element=ELEMENT,
    execution=vars(execution),
    engine=vars(engine),
    naming=vars(naming),
    others=journal.others,
    journal=vars(journal),
    exits=journal.exits,
    serial=journal.serial,
    Left=journal.Left,
    left=journal.left,
    as_array=np.asarray,
    leaf_key=LEAF_KEY,
    guesses=program.guesses,
    main=journal._main,
    longest=engine.LIMIT,
)
