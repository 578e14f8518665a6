"""`cond`, `case`, `switch_case`: in eager code a Python branch; in a function one op that holds the branches as Programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from gradtape._src.autodiff.backward import Operation, vjp_program
from gradtape._src.control.branch_captures import chosen
from gradtape._src.control.call_gradient import connected
from gradtape._src.control.programs import narrowed
from gradtape._src.control.scope import TENSOR, Draft, Outside, Scope, draft, flatten_results, tensor_or_none
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.engine.constant_folding import COUNT
from gradtape._src.core.programs import guards, structured
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import Node, Program, read_by
from gradtape._src.core.programs.structured import BRANCH, Interpreter, Pruned, StructuredOp, arity, whole
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of, to_numpy
from gradtape._src.core.tensors.variable import hold_all
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, common
from gradtape._src.core.values.dim import guided
from gradtape._src.core.values.dtypes import spoken_name
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import zeros_of
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.shape import host_shape, reshape, zeros
from gradtape._src.ops.debugging import checks as debugging
from gradtape._src.ops.math.reduction import count_nonzero, reduce_all, reduce_any

NONE_HOLDS = "Input error: None of conditions evaluated as True"


class If(NamedTuple):
    """The attributes of a branch on a bool."""

    then: Program
    orelse: Program

    @property
    def branches(self) -> tuple[Program, ...]:
        """The Programs, in the order in which `Case` numbers them."""
        return (self.then, self.orelse)

    def taken(self, choice: Any) -> Program:
        """Return the branch that a choice takes."""
        return self.then if choice else self.orelse

    def of(self, branches: Sequence[Program]) -> If:
        """Return the attributes with other branches."""
        return If(*branches)


class Case(NamedTuple):
    """The attribute of a branch on an integer."""

    branches: tuple[Program, ...]

    def taken(self, choice: Any) -> Program:
        """Return the branch with this index; the last one if the index is out of range, as in TensorFlow."""
        return self.branches[choice if 0 <= choice < len(self.branches) else -1]

    def of(self, branches: Sequence[Program]) -> Case:
        """Return the attributes with other branches."""
        return Case(tuple(branches))


def _if(pred: Any, *inputs: Any, then: Program, orelse: Program) -> tuple[Any, ...]:
    ways = [functools.partial(guards.run, program) for program in (then, orelse)]
    results, flag = jax.lax.cond(pred, *ways, guards.begin(then, orelse), *inputs)
    guards.note(flag)
    return tuple(results)


def _if_avals(pred: Aval, *inputs: Aval, then: Program, orelse: Program) -> tuple[Any, ...]:
    return then.results


def _case(branch_index: Any, *inputs: Any, branches: tuple[Program, ...]) -> tuple[Any, ...]:
    last = len(branches) - 1
    number = jax.numpy.where((branch_index < 0) | (branch_index > last), last, branch_index)
    ways = [functools.partial(guards.run, program) for program in branches]
    results, flag = jax.lax.switch(number, ways, guards.begin(*branches), *inputs)
    guards.note(flag)
    return tuple(results)


def _case_avals(branch_index: Aval, *inputs: Aval, branches: tuple[Program, ...]) -> tuple[Any, ...]:
    return branches[0].results


def _bodies(attrs: If | Case) -> list[structured.HeldProgram]:
    return [whole(program)._replace(takes=range(1, 1 + arity(program))) for program in attrs.branches]


def _taken(interpreter: Interpreter, attrs: If | Case, inputs: Sequence[Any]) -> Sequence[Any]:
    return interpreter.call(attrs.taken(interpreter.number(inputs[0])), inputs[1:])


def _runs(attrs: If | Case, choice: Any) -> list[tuple[Program, int]]:
    return [(program, 1) for program in (attrs.branches if choice is None else [attrs.taken(choice)])]


def _pruned(attrs: If | Case, live: Sequence[int], normal: Callable[..., Program]) -> Pruned:
    chosen = [normal(branch, tuple(live)) for branch in attrs.branches]
    kept = sorted(set().union(*map(read_by, chosen)))
    return attrs.of([narrowed(branch, kept) for branch in chosen]), [0, *[1 + i for i in kept]], list(live)


_BRANCH: dict[str, Any] = {
    "kind": BRANCH, "bodies": _bodies, "run": _taken, "runs": _runs, "pruned": _pruned, "decided_by": lambda attrs: 0,
    "takes_none": True,
}  # fmt: skip
IF = define(StructuredOp("If", _if, If, infer=_if_avals, saves="pred inputs", **_BRANCH, default_name="cond"))
CASE = define(StructuredOp("Case", _case, Case, infer=_case_avals, saves="branch_index inputs", **_BRANCH))


def only_looked_at(what: str) -> None:
    """Raise NeedsValues, unless a graph only needs the gradient's shape and computes it again when it runs."""
    graph = engine.graph_around()
    if graph is None or graph.keeps:
        raise engine.NeedsValues(f"the gradient of {what} is known when the graph runs", "Take it outside of the function.")


@gradient(IF)
@gradient(CASE)
def _gradient(op: Operation, *grads: Any) -> list[Tensor | IndexedSlices | None]:
    """Return a branch of the gradients of the branches, with zeros for inputs that a branch does not use. Rows stay rows.

    An input on which only results without a cotangent depend gets zeros, as in TensorFlow.
    """
    entry = op.entry
    branches = entry.node.op.programs(entry.node.attrs)
    given = tuple([i for i, d in enumerate(grads) if d is not None and d.dtype.is_floating | d.dtype.is_complex])
    needed = tuple([i - 1 for i, need in enumerate(op.needed) if need and i])
    choice, *inputs = entry.inputs
    derived = [vjp_program(branch, given, needed, slices=True) for branch in branches]
    places = [k for k in range(len(needed)) if any(where[k] is not None for _, where in derived)]
    results: list[Tensor | IndexedSlices | None] = [None] * len(op.needed)
    if len(places) < len(needed):
        others = set().union(*map(connected, branches))
        for k, i in enumerate(needed):
            if k not in places and i in others:
                results[i + 1] = zeros_of(inputs[i])
    if not places or not given:
        return results
    forms = [Form(inputs[needed[k]].aval, [(p, where[k]) for p, where in derived]) for k in places]
    if not _of_one_shape(branches):
        only_looked_at("a branch whose sides give different shapes")
        for k, form in zip(places, forms, strict=True):
            results[needed[k] + 1] = form.packed(iter(form.given(None, ())))
        return results
    parameters = [*[n.aval for n in inputs], *[grads[i].node.aval for i in given]]
    programs = tuple([_formed(p, [where[k] for k in places], parameters, forms) for p, where in derived])
    nodes = iter(_record(choice, programs, [*inputs, *[grads[i].node for i in given]], entry.node.op))
    for k, form in zip(places, forms, strict=True):
        results[needed[k] + 1] = form.packed(nodes)
    return results


class Form:
    """The common form of one input's cotangent in all branches: IndexedSlices if any branch gives them, else a tensor.

    All branches give the largest number of rows; shorter ones are padded by zeros at row 0.
    """

    def __init__(self, of: Aval, cotangents: Sequence[tuple[Program, int | tuple[int, int] | None]]) -> None:
        self.of = of
        sliced = [(p, place[1]) for p, place in cotangents if isinstance(place, tuple)]
        self.sliced = bool(sliced)
        if sliced:
            indices = [p.results[at] for p, at in sliced]
            counts = [a.shape[0] for a in indices] + [of.shape[0] for _, place in cotangents if isinstance(place, int)]
            self.count = max(counts)
            self.type = indices[0].type if len({a.dtype for a in indices}) == 1 else dtypes.int64

    def given(self, found: int | tuple[int, int] | None, nodes: Sequence[Node]) -> list[Node]:
        """Return a branch's output nodes for this input; its Program has the cotangent at the positions `found` of `nodes`."""
        if not self.sliced:
            return [zeros(self.of.shape, self.of.type).node if found is None else nodes[found]]  # type: ignore[index]
        if found is None:
            values, indices = zeros((0, *self.of.shape[1:]), self.of.type), zeros((0,), self.type)
        elif isinstance(found, tuple):
            values, indices = EagerTensor(nodes[found[0]]), cast(EagerTensor(nodes[found[1]]), self.type)
        else:
            # An op rather than a constant, because a graph may not know the extent.
            count = engine.record(COUNT, (nodes[found],), (None,))
            values, indices = EagerTensor(nodes[found]), cast(EagerTensor(count), self.type)
        missing = self.count - extents_of(values)[0]
        if missing:
            values = concat([values, zeros((missing, *self.of.shape[1:]), self.of.type)], 0)
            indices = concat([indices, zeros((missing,), self.type)], 0)
        return [values.node, indices.node]

    def packed(self, nodes: Iterator[Node]) -> Tensor | IndexedSlices:
        """Pack the next nodes into a cotangent of this form."""
        if not self.sliced:
            return EagerTensor(next(nodes))
        shape = host_shape(self.of.shape)
        return IndexedSlices(EagerTensor(next(nodes)), EagerTensor(next(nodes)), shape)


def _formed(
    program: Program, places: Sequence[int | tuple[int, int] | None], parameters: Sequence[Aval], forms: Sequence[Form]
) -> Program:
    """Return a branch's gradient Program, with its results in the common form."""

    def results(*given: Node) -> list[Node]:
        nodes = tracing.inline(program, given) if program.outputs else []
        return [node for form, place in zip(forms, places, strict=True) for node in form.given(place, nodes)]

    return tracing.program_of(results, parameters)


def _record(choice: Node, programs: Sequence[Program], inputs: Sequence[Node], op: Op) -> list[Node]:
    attrs = If(*programs) if op is IF else Case(tuple(programs))
    node = engine.record(op, (choice, *inputs), attrs)
    if not alike(programs):
        return _open_elements(node, programs)
    return engine.elements(node)


def alike(programs: Sequence[Program]) -> bool:
    """Return whether all branches give the same shapes, which a graph does not require."""
    return all(program.results == programs[0].results for program in programs)


def _of_one_shape(programs: Sequence[Program]) -> bool:
    return all(a.may_be(b) for program in programs for a, b in zip(programs[0].results, program.results, strict=True))


def _open_elements(node: Node, programs: Sequence[Program]) -> list[Node]:
    """Return the results of branches with different shapes; extents that differ are unknown until session time."""
    node.aval = tuple(map(common, zip(*[program.results for program in programs], strict=True)))
    return engine.elements(node)


def run_branches(choice: Node, branches: Sequence[Callable[[], Any]], op: Op, names: Sequence[str]) -> Any:
    """Trace the branches and record the op that chooses one of them.

    A variable that only one branch assigns keeps its value in the others.
    """

    def traced(number: int, function: Callable[[], Any]) -> Draft:
        def result(value: Any) -> Any:
            """Convert a result to a Tensor. For an Operation that is the choice that runs it, as in TensorFlow."""
            if type(value).__name__ != "Operation":
                return tensor_or_none(value)
            return tensor(number == 0 if op is IF else number)

        return draft(function, (), Scope(nested=True), result)

    if guided() and (known := engine.integers(choice)) is not None:  # the branches not taken may be invalid for these extents
        number = int(not known) if op is IF else int(known)
        nodes, structure = flatten_results(branches[number if 0 <= number < len(branches) else -1](), tensor_or_none)
        return structure.pack(nodes)
    bodies = [traced(number, function) for number, function in enumerate(branches)]
    if engine.graph_around() is not None and all(body.structure.fixed == [None] for body in bodies):
        # The branches are Operations without results. Each gets a constant result, so that the op is kept.
        for number, body in enumerate(bodies):
            body.gives(lambda number=number: number == 0 if op is IF else number)  # type: ignore[misc]
    return join(choice, bodies, op, names)


def join(choice: Node, bodies: Sequence[Draft], op: Op, names: Sequence[str]) -> Any:
    """Record the op that chooses between branches on symbols; return its results in the structure of the first branch."""
    check_alike(bodies, names)
    written = {id(v): v for body in bodies for v in body.written}
    outside = Outside(bodies, list(written.values()))
    inputs, programs = outside.inputs(), list[Program]()
    for number, body in enumerate(bodies):
        within = outside.within(body)
        before = dict(zip(map(id, outside.variables), within, strict=False))
        programs.append(body.closed(within, [*body.results, *[body.after.get(key, before[key]) for key in written]], number))
    results = [*zip(*[program.results for program in programs], strict=True)]
    for column, variable in zip(results[len(results) - len(written) :], written.values(), strict=True):
        if any(a is not column[0] for a in column):
            raise engine.NeedsValues(f"branches give the variable '{variable.name}' different shapes")
    nodes = _record(choice, programs, inputs, op)
    count = len(nodes) - len(written)
    hold_all([*written.values()], nodes[count:])
    return bodies[0].structure.pack(nodes[:count])


def check_alike(bodies: Sequence[Draft], names: Sequence[str]) -> None:
    """Raise TypeError or ValueError unless all branches give the same structure, dtypes and shapes."""
    first = bodies[0]
    for body, name in zip(bodies[1:], names[1:], strict=True):
        mine, other = first.structure, body.structure
        counts = [sum(f is TENSOR for f in structure.fixed) for structure in (mine, other)]
        if counts[0] != counts[1]:
            raise ValueError(f"Lengths of branch outputs must match: {names[0]} gives {counts[0]} tensors, {name} {counts[1]}.")
        if mine.spec != other.spec or [f is None for f in mine.fixed] != [f is None for f in other.fixed]:
            raise TypeError(
                f"{names[0]} and {name} arguments to tf.cond must have the same number, type, and overall structure of "
                f"return values. They have not the same nested structure: {_spoken(first)} and {_spoken(body)}. Return the "
                "same structure, with a value for each entry, from both."
            )
        for position, (a, b) in enumerate(zip(first.results, body.results, strict=False)):
            left, right = a.aval, b.aval
            if left.dtype is not right.dtype:
                raise TypeError(
                    f"{names[0]} and {name} arguments to tf.cond must have the same number, type, and overall structure of "
                    f"return values. Result {position} is {left.type.name} in {names[0]} and {right.type.name} in {name}. "
                    "Use tf.cast in one of them."
                )
            if engine.graph_around() is None and left.shape != right.shape:
                raise engine.NeedsValues(
                    f"Result {position} has shape {list(left.shape)} in {names[0]} and {list(right.shape)} in {name}: a "
                    "branch that is compiled has one shape. Pad or reshape one of them to the other's shape."
                )


def _spoken(body: Draft) -> str:
    return f"({', '.join([repr(node.aval) for node in body.results])})"


def _scalar_bool(pred: Any, what: str) -> Tensor:
    condition = tensor(pred)
    if condition.node.aval.dtype != np.bool_:
        raise invalid(
            f"{what} passed {spoken_name(condition.dtype)} expected bool: it must be a boolean scalar. Compare it with "
            "something, or use tf.cast."
        )
    if not condition.node.aval.ranked:
        return reduce_all(condition)
    if condition.node.aval.shape and (condition.node.aval.size == 1 or condition.node.aval.open):
        condition = reshape(condition, ())
    if condition.node.aval.shape:
        raise invalid(f"{what} must be a scalar, but it has shape {condition.shape}: use tf.reduce_any or tf.reduce_all.")
    return condition


@public
def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """Return `true_fn()` if `pred` (a scalar bool) holds, else `false_fn()`.

    In a function both branches are traced and must give the same structure and dtypes. One of them runs; inputs of the other get
    zero gradients. If the branches give different shapes, the function runs as eager code, where the other branch is never
    traced; a graph's session runs that branch op by op.

    >>> tf.cond(tf.constant(2.0) > 1.0, lambda: 1.0, lambda: 2.0)
    1.0
    """
    for function, which in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"{which} must be callable. Received: {function!r}.")
    if engine.local.trace.scope is None:
        holds = pred if isinstance(pred, (bool, np.bool_)) else bool(tensor(pred))
        return chosen(pred, true_fn, [false_fn]) if holds else chosen(pred, false_fn, [true_fn])
    if isinstance(pred, bool):
        raise TypeError(
            f"pred must not be a Python bool, received {pred}: `if` decides what is known while a function is traced."
        )
    return run_branches(_scalar_bool(pred, "Input 'pred'").node, (true_fn, false_fn), IF, ("true_fn", "false_fn"))


@public
def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case") -> Any:
    """Return `branch_fns[branch_index]()`; for an index out of range call `default`, or else the last function.

    `branch_fns` is a list of functions, a dict from int to function, or a list of such pairs.

    >>> float(tf.switch_case(tf.constant(1), [lambda: tf.constant(10.0), lambda: tf.constant(20.0)]))
    20.0
    """
    if not is_tensor(branch_index):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}: tf.constant({branch_index!r}) is one.")
    branches = _numbered(branch_fns)
    index = tensor(branch_index)
    if not index.dtype.is_integer:
        raise TypeError(f"branch_index must be an integer, received {branch_index!r}.")
    if not index.node.aval.ranked:
        index = reshape(index, ())
    if index.ndim:
        raise invalid(f"branch_index must be a scalar, received {branch_index!r}.")
    functions = list(branches.values())
    if default is not None:
        functions.append(default)
    if engine.local.trace.scope is None:
        taken = branches.get(int(to_numpy(index.node)), functions[-1])
        return chosen(index, taken, [function for function in functions if function is not taken])
    return run_branches(index.node, functions, CASE, [f"branch {i}" for i in range(len(functions))])


def _numbered(branch_fns: Any) -> dict[int, Callable[[], Any]]:
    if isinstance(branch_fns, Mapping):
        pairs = list(branch_fns.items())
    elif branch_fns and all(isinstance(b, tuple) and len(b) == 2 for b in branch_fns):
        pairs = list(branch_fns)
    else:
        pairs = list(enumerate(branch_fns))
    if not pairs:
        raise ValueError("branch_fns must have at least one item.")
    for key, function in pairs:
        if not isinstance(key, (int, np.integer)) or not callable(function):
            raise TypeError(
                f"branch_fns must hold (int, callable) pairs, or callables: a key must be a Python `int`. "
                f"Received: ({key!r}, {function!r})."
            )
    keys = {int(k) for k, _ in pairs}
    if keys != set(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found {[int(k) for k, _ in pairs]}."
        )
    return {int(k): f for k, f in sorted(pairs, key=lambda pair: pair[0])}


@public
def case(pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """Return the result of the first function in `pred_fn_pairs` (`[(scalar bool, function), …]`) whose condition holds.

    If none holds, call `default`; InvalidArgumentError without one. With `exclusive`, a function raises an error if more than one
    holds; eager code takes the first. In eager code a list of one result is unpacked, unless `strict`.

    >>> x = tf.constant(2.0)
    >>> float(tf.case([(x < 1.0, lambda: x), (x < 3.0, lambda: 10.0 * x)], default=lambda: 0.0 * x))
    20.0
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, Mapping) else list(pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"Each entry in pred_fn_pairs must be a (condition, function) tuple. Received: {pair!r}.")
        if not isinstance(pair[0], (bool, np.bool_)) and not (is_tensor(pair[0]) and pair[0].dtype == dtypes.bool):
            raise TypeError(f"pred must be a Tensor of type bool, a condition. Received: {pair[0]!r}.")
    if not pairs:
        raise ValueError("case needs a (condition, function) tuple in pred_fn_pairs at least. Received none.")
    conditions = [pred for pred, _ in pairs]
    checks: list[Any] = []
    if default is None:
        if engine.local.trace.scope is not None:
            checks.append(debugging.Assert(reduce_any(stack(conditions)), [f"{NONE_HOLDS}:", stack(conditions)]))
        elif not any(map(bool, conditions)):
            raise invalid(f"{NONE_HOLDS}, and there is no default. Give default=.")
        default = pairs[-1][1]
    if exclusive and engine.local.trace.scope is not None:
        many = "Input error: exclusive=True: more than 1 conditions evaluated as True:"
        checks.append(debugging.Assert(count_nonzero(stack(conditions)) < 2, [many, stack(conditions)]))

    def chain(position: int) -> Any:
        if position == len(pairs):
            return default()
        pred, function = pairs[position]
        condition = tensor(pred) if is_tensor(pred) else pred
        return cond(condition, function, lambda: chain(position + 1))

    with control_dependencies([c for c in checks if c is not None]):
        result = chain(0)
    return result if strict else unpacked(result)


def unpacked(result: Any) -> Any:
    """Unpack a list or tuple of one result in eager code, as in TensorFlow's `case` and TensorFlow 1's `cond`."""
    alone = engine.local.trace.scope is None and isinstance(result, (list, tuple)) and len(result) == 1
    return result[0] if alone else result
