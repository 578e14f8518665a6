"""`while_loop`: in eager code a Python loop, as in TensorFlow; in a function one op with a condition and a body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.bounded_scan import TRIPS
from gradtape._src.control.branch_captures import repeated
from gradtape._src.control.checkpointed_while import record_while
from gradtape._src.control.scope import TENSOR, Draft, Outside, ResultStructure, Scope, draft, trace
from gradtape._src.control.tensor_array import TensorArray, settled
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.program import Node, Program, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, static, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, handle
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.composite import CompositeTensor
from gradtape._src.core.values.dim import now
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.shape import ensure_shape, reshape, stop_gradient, zeros
from gradtape._src.ops.math.compare import logical_and

NUMBER_OF_TRIP = aval((), np.dtype(np.int64))
Test = Callable[[Sequence[Tensor]], Any]
Step = Callable[[Sequence[Tensor]], list[Tensor]]


def shape_changed(error: ValueError) -> bool:
    """Return whether an error says that a loop variable changes its shape."""
    return getattr(error, "shape_changed", False)


class Loop:
    """A loop's body on symbols. Parameters: (carry…, variables in `carried`…, element…, number of the trip).

    Results: (carry…, y…, number of the next trip). Trips are numbered if `counted`: the body draws random numbers, which differ
    in each trip.
    """

    def __init__(self, body: Draft, carried: list[Variable], carry: int, counted: bool) -> None:
        self.body, self.carried, self.carry, self.counted = body, carried, carry, counted

    def bind(self, condition: Draft | None = None) -> tuple[list[Node], list[Program]]:
        """Return `(constants, Programs)`: of the condition (if any) and of the body, which take (constants…, carry…, element…).

        The variables follow the carry. The number of the trip is the last of the carry in a loop with a condition, else the last
        element.
        """
        body, programs = self.body, list[Program]()
        outside = Outside([body] if condition is None else [condition, body])
        consts = outside.inputs()
        if condition is not None:
            programs.append(condition.closed(outside.within(condition), condition.results))
        ys = body.results[self.carry : len(body.results) - self.counted]
        number = body.results[-1:] if self.counted and condition is not None else []
        after = [*body.results[: self.carry], *[body.after[id(v)] for v in self.carried], *number, *ys]
        return consts, [*programs, body.closed(outside.within(body), after)]


def trace_body(
    function: Callable[[list[Node], list[Node]], Sequence[Tensor]], carry: Sequence[Node], elements: Sequence[Aval] = ()
) -> Loop:
    """Trace `function(carry, element)` → flat carry and ys, until all variables that it assigns are carried."""
    carried: list[Variable] = []
    while True:
        loop = _traced(function, carry, carried, elements)
        new = [v for v in loop.body.written if all(v is not c for c in carried)]
        if not new:
            _check_kept(loop)
            return loop
        carried = [*carried, *new]


def _check_kept(loop: Loop) -> None:
    """Raise NeedsValues if a trip changes the shape of a carried variable."""
    for variable, before in zip(loop.carried, loop.body.parameters[loop.carry :], strict=False):
        if loop.body.after[id(variable)].aval is not before.aval:
            raise engine.NeedsValues(f"a loop changes the shape of the variable '{variable.name}'")


def _traced(
    function: Callable[[list[Node], list[Node]], Sequence[Tensor]],
    carry: Sequence[Node],
    carried: list[Variable],
    elements: Sequence[Aval],
) -> Loop:
    """Trace a body with these variables in the carry."""
    parameters = [leaf(node.aval, None) for node in carry]
    held = [leaf(v.aval, None) for v in carried]
    element = [leaf(a, None) for a in elements]
    number = leaf(NUMBER_OF_TRIP, None)
    scope = Scope(nested=True, carried=list(zip(carried, held, strict=True)), creates=False if carried else None, trip=number)
    taken = [*parameters, *held, *element]

    def step() -> list[Tensor]:
        results = list(function(parameters, element))
        if scope.counted:
            taken.append(number)
            results.append(EagerTensor(number) + 1)
        return results

    return Loop(draft(step, taken, scope), carried, len(carry), scope.counted)


def trace_condition(function: Callable[[list[Node]], Tensor], loop: Loop) -> Draft:
    """Trace the condition of a loop with parameters like those of the body."""
    parameters = [leaf(node.aval, None) for node in loop.body.parameters]
    scope = Scope(nested=True, carried=list(zip(loop.carried, parameters[loop.carry :], strict=False)))
    return draft(lambda: function(parameters[: loop.carry]), parameters, scope)


def _of_rank(x: Any, start: Node) -> Any:
    """Return a loop variable after a trip. In a graph, one of unknown rank is checked to keep its shape."""
    stays = isinstance(x, Tensor) and start.aval.ranked and not x.node.aval.ranked
    return ensure_shape(x, start.aval.open_shape) if stays else x


def check_same(before: Sequence[Node], after: Sequence[Tensor], names: Sequence[str] | None = None, stays: bool = False) -> None:
    """Raise unless each loop variable keeps its dtype and shape. Unknown extents pass if they may be equal, unless `stays`."""
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        a, b = old.aval, new.node.aval
        name = names[i] if names else f"number {i}"
        if a.dtype is not b.dtype:
            raise TypeError(
                f"'{name}' has dtype {a.type.name} before the loop, but dtype {b.type.name} after one iteration. A loop "
                f"variable keeps its dtype: use tf.cast in the loop, or start from tf.constant(…, tf.{b.type.name})."
            )
        if a.shape != tuple(map(now, b.shape)) if stays else not a.may_be(b):
            error = ValueError(
                f"'{name}' has shape {a.open_shape} before the loop, but shape {b.open_shape} after one iteration. A loop "
                "variable that is compiled keeps its shape: use a tf.TensorArray for results that grow, or pad."
            )
            error.shape_changed = True  # type: ignore[attr-defined]
            raise error


@public
def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Run `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` (a scalar bool) holds; return the last `loop_vars`.

    It makes at most `maximum_iterations` trips. In a function the loop variables keep their dtypes. They keep their shapes,
    except where `shape_invariants` (a TensorShape for each) has None. The gradient is exact for any number of trips; with
    `back_prop=False` there is none. `parallel_iterations` and `swap_memory` are accepted and not needed.

    >>> i, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (0, 1.0))
    >>> float(x)
    8.0
    """
    if not callable(cond):
        raise TypeError(f"'cond' must be callable. Received: {cond!r}.")
    if not callable(body):
        raise TypeError(f"'body' must be callable. Received: {body!r}.")
    if loop_vars is None or not nest.flatten(loop_vars):
        raise ValueError("'loop_vars' must be provided: give what the loop changes.")
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError(f"'loop_vars' must be a list or tuple, each of which `cond` and `body` take. Received: {loop_vars!r}.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")

    def spread(function: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda state: function(*state)

    state = nest.map_structure(as_tensor, loop_vars)
    if engine.local.trace.scope is None:
        return _in_python(spread(cond), spread(body), state, maximum_iterations)
    try:
        limit = None if maximum_iterations is None else static(maximum_iterations, "maximum_iterations")
    except engine.NeedsValues:
        return _counted(cond, body, loop_vars, shape_invariants, back_prop, tensor(maximum_iterations))
    shapes, graph = _stated(shape_invariants), engine.graph_around()
    if graph is not None and shapes is not None:
        state = _opened(state, shapes, graph)
    try:
        results = _over_tensors(run_loop, spread(cond), spread(body), _settled(spread(body), state), limit)
        if graph is not None and shapes is not None:
            _open_again(results, shapes, graph)
    except ValueError as error:
        grows = any(isinstance(x, TensorArray) or _grows(x) for x in nest.flatten(loop_vars))
        if not shape_changed(error) or (shapes is None and not grows):
            raise
        raise engine.NeedsValues(str(error)) from None  # shapes may change here, and arrays may grow
    return results if back_prop else stopped(results)


def _over_tensors(
    run: Callable[..., Sequence[Tensor]], cond: Callable[[Any], Any], body: Callable[[Any], Any], state: Any, limit: int | None
) -> Any:
    """Return the nest `state` after a loop over it, of which `run` makes a loop over its tensors."""
    leaves, spec = nest.flatten_with_spec(state, nest.EXPANDED)
    packed = ResultStructure(spec, [None if x is None else TENSOR for x in leaves]).fill

    def step(tensors: Sequence[Tensor]) -> list[Tensor]:
        return [x for x in nest.flatten(_as_before(body(packed(tensors)), state), expand_composites=True) if x is not None]

    return packed(run(lambda tensors: cond(packed(tensors)), step, [x for x in leaves if x is not None], limit))


def _counted(cond: Any, body: Any, loop_vars: Any, shape_invariants: Any, back_prop: bool, limit: Tensor) -> Any:
    """Return the results of a loop of at most `limit` trips, a number that is not known yet: the loop counts them."""
    results = while_loop(
        lambda trip, state: logical_and(trip < limit, cond(*state)),
        lambda trip, state: (trip + 1, _as_before(body(*state), state)),
        (zeros([], limit.dtype), loop_vars),
        None if shape_invariants is None else (TensorShape([]), shape_invariants),
        back_prop=back_prop,
    )
    return results[1]


def stopped(results: Any) -> Any:
    """Stop the gradients of a loop's results, for `back_prop=False` in a function; eager code ignores that option."""
    if engine.local.trace.scope is None:
        return results
    return nest.map_structure(lambda x: x if x is None else stop_gradient(x), results, expand_composites=True)


def as_tensor(value: Any) -> Any:
    """Convert a loop variable to a Tensor; None, TensorArrays and composite tensors are kept."""
    if isinstance(value, CompositeTensor):
        return value._convert_variables_to_tensors()
    return value if value is None or isinstance(value, TensorArray) or _composite(value) else tensor(value)


def _composite(value: Any) -> bool:
    """Return whether a loop variable is a composite tensor: a SparseTensor, a RaggedTensor, IndexedSlices."""
    leaves = nest.flatten(value, expand_composites=True)
    return len(leaves) != 1 or leaves[0] is not value


def _grows(value: Any) -> bool:
    """Return whether a trip may change the number of elements in a loop variable: a SparseTensor or RaggedTensor."""
    return _composite(value) and not isinstance(value, IndexedSlices)


def _stated(invariants: Any) -> list[TensorShape | None] | None:
    """Return the shapes that `shape_invariants` state, one for each loop variable; None where nothing is stated."""
    if invariants is None:
        return None
    flat = nest.flatten(invariants)
    if any(isinstance(s, str) for s in flat):
        raise TypeError(f"shape_invariants must hold TensorShapes or TensorSpecs, received {invariants!r}.")
    return [None if s is None else TensorShape(getattr(s, "shape", s)) for s in flat]


def _opened(state: Any, shapes: Sequence[TensorShape | None], graph: Any) -> Any:
    """Return the loop variables of a graph, with unknown extents where `shape_invariants` allow a change."""
    leaves, spec = nest.flatten_with_spec(state)
    if len(shapes) != len(leaves):
        raise ValueError(f"shape_invariants must have the structure of loop_vars: {len(leaves)} shapes, not {len(shapes)}.")
    return nest.unflatten(spec, [_with_shape(x, shape, graph) for x, shape in zip(leaves, shapes, strict=True)])


def _with_shape(x: Any, stated: TensorShape | None, graph: Any) -> Any:
    def opened(part: Any, shape: TensorShape) -> Any:
        if not shape.is_compatible_with(part.node.aval.open_shape):
            return part
        return part if part.shape.is_fully_defined() and shape == part.shape else handle(graph.opened(part.node, shape))

    if stated is None or x is None or isinstance(x, TensorArray) or _grows(x):
        return x
    if isinstance(x, IndexedSlices):
        return IndexedSlices(opened(x.values, stated), opened(x.indices, stated[:1]), x.dense_shape)
    return opened(x, stated)


def _open_again(results: Any, shapes: Sequence[TensorShape | None], graph: Any) -> None:
    """Give the results of a loop in a graph unknown extents of their own where `shape_invariants` allow a change."""
    for x, shape in zip(nest.flatten(results), shapes, strict=True):
        if isinstance(x, Tensor) and shape is not None and not shape.is_fully_defined():
            graph.open_extents(x.node, shape)


def _settled(body: Callable[[Any], Any], state: Any) -> Any:
    """Return the loop variables; give each TensorArray the element shape the loop body will write."""
    leaves, spec = nest.flatten_with_spec(state)
    if not any(isinstance(x, TensorArray) for x in leaves):
        return state
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    parameters = [leaf(x.node.aval, None) for x in tensors]
    given = ResultStructure(spec, [TENSOR if isinstance(x, Tensor) else x for x in leaves])
    after: list[Any] = []

    def once() -> list[Any]:
        after.extend(nest.flatten(body(given.pack(parameters))))
        return [entry for x in after if isinstance(x, TensorArray) and (entry := x.open_entry()) is not None]

    first = trace(once, parameters, Scope(nested=True), draws=False)
    if len(after) != len(leaves):
        return state
    graph = engine.current_graph()
    if graph is not None and first.structure.fixed:  # in a graph, the first trip's writes determine the entries' size
        entries = iter(tracing.inline(first.program, first.inputs([x.node for x in tensors])))
        for x in after:
            if isinstance(x, TensorArray) and x.open_entry() is not None:
                x.has_entries_like(handle(next(entries)))
    return nest.unflatten(spec, settled(leaves, after))


def _in_python(cond: Callable[[Any], Any], body: Callable[[Any], Any], state: Any, limit: Any) -> Any:
    count, start = 0, state
    most = None if limit is None else static(limit, "maximum_iterations")
    while (most is None or count < most) and bool(cond(state)):
        after = body(state)
        if not isinstance(after, (list, tuple)):
            raise (TypeError if most is None and (not is_tensor(after) or after.ndim == 0) else ValueError)(
                f"The body of an eager loop must return a list or tuple, a value for each of 'loop_vars'. It returned {after!r}."
            )
        before, state = state, _as_before(after, state, expand=False)
        nest.assert_same_structure(list(before), list(state))  # a function does not distinguish lists from tuples
        count += 1
    return repeated(start, state, count, body)


def _as_before(results: Any, state: Any, expand: bool = True) -> Any:
    """Pack the body's results into the structure of the loop variables."""
    if isinstance(state, (list, tuple)) and len(state) == 1 and not (isinstance(results, (list, tuple)) and len(results) == 1):
        results = [results] if type(state) is list else (results,) if type(state) is tuple else results
    elif expand and type(state) in (list, tuple) and type(results) in (list, tuple):
        results = list(results) if type(state) is list else tuple(results)
    nest.assert_same_structure(state, results, check_types=False, expand_composites=expand)
    leaves = nest.flatten(results, expand_composites=expand)
    before = nest.flatten(state, expand_composites=expand)
    kept = [_like(new, old) for new, old in zip(leaves, before, strict=True)]
    return nest.pack_sequence_as(results, kept, expand_composites=expand)


def _like(new: Any, old: Any) -> Any:
    if new is None or old is None or isinstance(new, (CompositeTensor, TensorArray)) or _composite(new):
        return new
    return tensor(new) if is_tensor(new) else tensor(new, old.dtype)


def run_loop(
    cond: Test,
    body: Step,
    start: Sequence[Tensor],
    limit: int | None,
    names: Sequence[str] | None = None,
    holds: Tensor | None = None,
) -> list[Tensor]:
    """Record a `While` over tensors, whose user's `names` these are; return the last ones.

    `holds` is the value of the condition before the first trip, if it was evaluated already.
    """
    before = [x.node for x in start]

    def step(carry: list[Node], _: list[Node]) -> list[Tensor]:
        after = body([*map(handle, carry)])
        after = [_of_rank(x, node) for x, node in zip(after, before, strict=True)]
        check_same(before, after, names)
        return after

    loop = trace_body(step, before)
    condition = trace_condition(lambda nodes: _condition(cond([*map(handle, nodes)])), loop)
    if condition.written:
        return _run_assigning_loop(cond, body, start, cond(start) if holds is None else holds, limit, names)
    consts, (test, program) = loop.bind(condition)
    if not start and not loop.carried and not program.effects:
        raise ValueError("A loop on a tensor condition changes no tensor and no variable, so it would never end.")
    carry = [*before, *[v.read() for v in loop.carried]]
    if loop.counted:
        carry.append(engine.constant(np.array(0, TRIPS)))
    nodes = record_while(test, program, consts, carry, limit)
    for variable, node in zip(loop.carried, nodes[len(start) :], strict=False):
        variable._hold(node)
    return [*map(handle, nodes[: len(start)])]


def _run_assigning_loop(
    cond: Test, body: Step, start: Sequence[Tensor], holds: Any, limit: int | None, names: Sequence[str] | None = None
) -> list[Tensor]:
    """Run a loop whose condition assigns variables: `holds` is its value before the first trip, and each trip ends with it."""

    def trip(both: Sequence[Tensor]) -> list[Tensor]:
        after = body(both[:-1])
        return [*after, tensor(cond(after))]

    marked = None if names is None else [*names, "the condition"]
    return run_loop(lambda both: both[-1], trip, [*start, tensor(holds)], limit, marked)[:-1]


def _condition(value: Any) -> Any:
    result = tensor(value)
    if result.node.aval.size == 1 and result.node.aval.shape:
        result = reshape(result, ())
    if result.node.aval.dtype != np.bool_ or result.node.aval.shape:
        raise invalid(
            f"The condition of a loop must be a boolean scalar, received dtype {result.dtype.name}, shape {result.shape}: "
            "compare it, or reduce it with tf.reduce_any or tf.reduce_all."
        )
    return result
