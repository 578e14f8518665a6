"""`GradientTape`: the public interface of recording and differentiation."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from gradtape._src.autodiff.backward import Entry, Parts, active_nodes, leading_back, local, reverse, summed
from gradtape._src.autodiff.jacobian import JacobianRows
from gradtape._src.autodiff.open_plans import Made, planned
from gradtape._src.autodiff.options import NONE, UnconnectedGradients
from gradtape._src.autodiff.pieces import Pieces, long, recurs, separable
from gradtape._src.autodiff.plan import Places, Plan, Record, close_plan, sought
from gradtape._src.autodiff.recording import HookedTensor, Read, Recording, Source, are_plain, inexact, logger
from gradtape._src.autodiff.sources import VALUES, in_rows, no_tensor, values_of
from gradtape._src.core.base import hooks
from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public
from gradtape._src.core.base.tracebacks import cut
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.programs.op import no_gradient, replaced
from gradtape._src.core.programs.program import ELEMENT, FUNCTION, Cache, Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_composed, is_tensor, tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.tensors.scopes import executing_eagerly
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, extents_of, handle
from gradtape._src.core.tensors.variable import ResourceVariable, Variable
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dtypes import string
from gradtape._src.ops.array.creation import eye, ones_like, zeros_like
from gradtape._src.ops.array.joining import stack, unstack
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.array.shape import broadcast_to, filled, identity, ones, reshape, transpose, zeros

plans = Cache(512, of="plans")
Gradient = Tensor | Any  # or IndexedSlices, or None
K = TypeVar("K")
S = TypeVar("S", bound=Tensor | Stored)
UNPLANNED = object()  # the gradient contains user code, which runs in each call
PIECES: Any = object()  # the gradient is taken in pieces


@hides("going_on moved open_quietly residual_indices stacked_gradients")
class GradientTape(Recording):
    """Records ops for automatic differentiation.

    `with GradientTape() as tape:` records; `tape.gradient(target, sources)` differentiates. Trainable variables are watched when
    they are read (unless `watch_accessed_variables=False`), other tensors by `tape.watch(x)`. A tape that is not `persistent`
    allows one gradient call. Tapes nest, to any order. With `strict`, a gradient of None is a ValueError with the line at which
    the connection broke, unless `unconnected_gradients="zero"`.

    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> float(tape.gradient(y, x))
    6.0
    """

    if TYPE_CHECKING:  # for editors, which analyse the code without running it

        def __enter__(self) -> GradientTape: ...

    @overload
    def gradient(
        self, target: Any, sources: Tensor | Stored, output_gradients: Any = ..., unconnected_gradients: Any = ...
    ) -> Gradient: ...
    @overload
    def gradient(
        self, target: Any, sources: list[S], output_gradients: Any = ..., unconnected_gradients: Any = ...
    ) -> list[Gradient]: ...
    @overload
    def gradient(
        self, target: Any, sources: dict[K, S], output_gradients: Any = ..., unconnected_gradients: Any = ...
    ) -> dict[K, Gradient]: ...
    @overload
    def gradient(self, target: Any, sources: Any, output_gradients: Any = ..., unconnected_gradients: Any = ...) -> Any: ...
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the gradient of (the sum of) `target` with respect to each of `sources`, in the structure of `sources`.

        `target`: a tensor, variable, or nest of them; strings are names of tensors (`get_tensor_by_name`), also for `sources`.
        `output_gradients`: the cotangent of each target (None: ones). A source on which the target does not depend gets None, or
        zeros with `unconnected_gradients="zero"`.
        """
        try:
            zero = unconnected_gradients is not NONE and UnconnectedGradients(unconnected_gradients) is not NONE
            self._ask(target, sources)
            flat_targets, grads_given = self._targets(target, output_gradients)
            flat_sources, pack = _sources(sources, self)
            asked = self._asked(flat_targets, flat_sources)
            try:
                results = self._differentiate(flat_targets, flat_sources, grads_given)
            except LookupError:  # an op has no registered gradient
                self._told(asked, flat_targets, flat_sources, None)
                raise
            given = [r is not None for r in results]
            if False in given:
                results = _with_identities(flat_targets, flat_sources, grads_given, results)
                given = [r is not None for r in results]
            asked.answered(engine.local.trace, given)
            self._told(asked, flat_targets, flat_sources, results)
            self._answered(asked.line)
            if False in given and not zero:
                hooks.gradients.missing(asked, flat_sources, given, self._strict)
            if zero:
                pairs = zip(flat_sources, results, strict=True)
                results = [_zeros_for(s) if r is None else r for s, r in pairs]
            if execution.eager:
                engine.flush_if_outermost()
            return pack(results)
        except BaseException as error:
            cut(error)
            raise

    def _targets(self, target: Any, output_gradients: Any) -> tuple[list[Source], list[Tensor | None]]:
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
                f"differentiated, but received {target!r}."
            )
        if output_gradients is None and type(target) is EagerTensor and target.node.aval.inexact:
            return [target], [None]
        flat = []
        for t in nest.flatten(target):
            if isinstance(t, IndexedSlices):
                with self.going_on():
                    t = t.to_dense()
            elif isinstance(t, str):
                t = self.get_tensor_by_name(t)
            t = variable_of(values_of(t))
            if not isinstance(t, (Tensor, Variable)):
                if t is None or isinstance(t, VALUES) or is_composed(t):
                    raise no_tensor("target", t)
                t = tensor(t)
            if not inexact(t.dtype):
                logger.warning(
                    "The dtype of the target tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, "
                    "got %r. The gradient is None, except for that of a watched tensor with respect to itself.",
                    t.dtype,
                )
            flat.append(t)
        given = [None] * len(flat) if output_gradients is None else nest.flatten(output_gradients)
        # As in TensorFlow, extra ones are ignored and missing ones are None.
        given = [*given[: len(flat)], *[None] * (len(flat) - len(given))]
        checked = []
        for t, d in zip(flat, given, strict=True):
            if d is not None:
                d = values_of(d)
                if is_composed(d):
                    raise no_tensor("output gradient", d)
                d = tensor(d, t.dtype if not is_tensor(d) else None)
                if d.node.aval.differs(t.node.aval):
                    d = _spread(d, t)
            checked.append(d)
        return flat, checked

    def _differentiate(self, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None]) -> list[Any]:
        graph = engine.current_graph()
        if graph is not None and (found := self._kept(graph, targets, sources, given)) is not None:
            return found
        if len(self._segments) > 1 and not self._recording and long(self._segments):
            return self._walk(targets, sources, given)
        plan = self._plan(targets, sources, given)
        if plan is PIECES:
            return self._walk(targets, sources, given, pieces=True)
        if plan is not None:
            return plan.apply([segment.trace for segment in self._segments], given)
        return self._walk(targets, sources, given)

    def _kept(
        self, graph: Any, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None]
    ) -> list[Any] | None:
        """Return gradients that a graph computes when it runs, because shapes are unknown; None if they are known."""
        entries, offsets = self._entries()
        _, wanted, active = self._between(entries, offsets, sources)
        if not hooks.graphs.keeps(active):
            return None
        pairs = [(handle(self._target_node(y)), d) for y, d in zip(targets, given, strict=True)]
        pairs = [(y, d) for y, d in pairs if y.node in active]
        if not pairs:
            return [None] * len(sources)
        used = [n for at, e in enumerate(entries) if active.get(e.node) == at for n in e.inputs]
        stops = [n for n in dict.fromkeys(used) if n not in active and n.inputs]
        xs = list(dict.fromkeys([n for nodes in wanted for n in nodes]))
        found = hooks.graphs.gradients(graph, *map(list, zip(*pairs, strict=True)), xs, stops)
        of = {x: d for x, d in zip(xs, found, strict=True) if d is not None}
        return [_sum_of([of[n] for n in nodes if n in of]) for nodes in wanted]

    # -- walking

    def _sources(self, sources: Sequence[Source], reads: list[Read]) -> list[tuple[Node, ...]]:
        """Return the nodes of each source; for a variable, all its reads."""
        variable: Variable | None
        read: dict[int, dict[Node, None]] = {}
        for _, _, variable, node in reads:
            read.setdefault(id(variable), {})[node] = None
        for _, _, node, variable in self._watched_nodes():
            if variable is not None:
                read.setdefault(id(variable), {})[node] = None
        return [tuple(read.get(id(s), ())) if isinstance(s, Variable) else (s.node,) for s in sources]

    def _between(
        self, entries: Sequence[Entry], offsets: Mapping[int, int], sources: Sequence[Source]
    ) -> tuple[dict[Node, int], list[list[Node]], dict[Node, int]]:
        """Return the nodes on the tape, the nodes of each source among them, and those that depend on the sources."""
        reads = self._reads()
        on_tape = active_nodes(entries, self._starts(offsets, reads))
        wanted = [[n for n in nodes if n in on_tape] for nodes in self._sources(sources, reads)]
        return on_tape, wanted, leading_back(entries, on_tape, wanted, [isinstance(s, Variable) for s in sources])

    def _walk(
        self,
        targets: Sequence[Source],
        sources: Sequence[Source],
        given: Sequence[Tensor | None],
        pieces: bool = False,
        record: Record | None = None,
    ) -> list[Any]:
        """Differentiate by walking the record, and record the gradient's ops.

        With `pieces`, or for a long record, it is taken in pieces if that is possible. `record` is the record of a Plan.
        """
        entries, offsets = self._entries()
        on_tape, wanted, active = self._between(entries, offsets, sources)
        cotangents: dict[Node, Any] = {}
        for target, d in zip(targets, given, strict=True):
            node = self._target_node(target)
            if node in active:
                like = node if record is None else record.nodes([node])[0]
                d = _ones_for(target, like.aval) if d is None else identity(d)  # a rule may treat a broadcast specially
                cotangents[node] = cotangents[node] + d if node in cotangents else d
            elif not node.aval.inexact:
                entry = next((e for e in entries if e.node is node), None)
                if entry is not None and entry.node.op is ELEMENT:
                    several = entry.inputs[0]
                    if several in active and (several.op is FUNCTION or not several.op.takes_none):
                        cotangents[several] = Parts()  # inputs of the op get zeros
                elif entry is not None and entry.lacks_gradient and any(source in on_tape for source in entry.inputs):
                    raise no_gradient(node.op.type)
        if not cotangents:
            return [None] * len(sources)
        in_pieces = record is None and not self._recording and (pieces or long(self._segments))
        if in_pieces and separable(self._segments, entries):
            bases = [offsets[number] + segment.start for number, segment in enumerate(self._segments)]
            total = Pieces(self._segments, bases, wanted).reverse(entries, active, cotangents)
        elif record is None:
            total = reverse(entries, active, cotangents)
        else:
            wanted = [record.nodes(nodes) for nodes in wanted]
            total = reverse(record.entries, record.of(active), record.of(cotangents))
        return [_sum_of([total[n] for n in nodes if n in total]) for nodes in wanted]

    def _target_node(self, target: Source) -> Node:
        return target.held() if isinstance(target, Variable) else target.node

    # -- plans (rule 8)

    def _plan(
        self, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None], dense: bool = False
    ) -> Plan | None:
        """Return the Plan for these gradients, created if it is new; None if user code has to run in each call.

        PIECES if it is new, but its segments are known, and the results need not be `dense`.
        """
        if not self._segments or any(segment.trace.gradients for segment in self._segments):
            return None
        if engine.local.trace.overrides is not None:  # an outer tape may need overrides of the gradient's own ops
            return None
        if replaced:
            return None
        places = Places(self._segments)
        key = self._plan_key(places, targets, sources, given, dense)
        plan: Any = key and plans.find(key)
        if plan is None and key:
            if len(self._segments) > 1 and not (dense or self._recording) and recurs(key, places.structure):
                return PIECES
            plan = plans.keep(key, self._make_plan(key, places, targets, sources, given, dense))
        return plan if plan is not UNPLANNED else None

    def _plan_key(
        self, places: Places, targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None], dense: bool
    ) -> tuple[Any, ...] | None:
        """Return the key of the gradient Program; None if a target is not on the tape."""
        place = places.find
        asked = tuple([place(self._target_node(t)) for t in targets])
        if None in asked:
            return None
        reads: list[Any] = self._reads()
        if self._watches:
            reads += [(number, position, variable, node) for number, position, node, variable in self._watched_nodes()]
        seeded = tuple([d is not None for d in given])
        # In a function the Program becomes part of what the explainer reads, with the lines of its ops.
        traced = engine.local.trace.parent is not None
        lines = tuple([(n.code, n.offset) for trace in places.traces for n in trace.nodes]) if traced else ()
        return places.structure, sought(places, reads, sources), asked, seeded, dense, local.transposing, lines

    def _make_plan(
        self,
        key: tuple[Any, ...],
        places: Places,
        targets: Sequence[Source],
        sources: Sequence[Source],
        given: Sequence[Tensor | None],
        dense: bool,
    ) -> Any:
        """Differentiate once, to a Program of its own; `dense`: without IndexedSlices among the results."""
        entries, _ = self._entries()
        if any(e.node.op.impure for e in entries):
            return UNPLANNED

        def make(record: Record) -> Made:
            nodes = record.nodes([self._target_node(target) for target in targets])
            pairs = zip(nodes, given, strict=True)
            avals = [None if d is None else aval(node.aval.shape, d.node.aval.dtype) for node, d in pairs]
            seeds = [None if of is None else EagerTensor(leaf(of, None)) for of in avals]
            with tracing.inner() as inner:
                results = self._walk(targets, sources, seeds, record=record)
                if dense:
                    results = [r.to_dense() if isinstance(r, IndexedSlices) else r for r in results]
                return close_plan(inner, results, [s.node for s in seeds if s is not None], record), None

        return planned(key, Record(entries, places), make)[0]

    def __repr__(self) -> str:
        kind = "persistent" if self._persistent else "for one gradient"
        return f"<tf.GradientTape, {kind}, {'recording' if self._recording else 'not recording'}>"

    # -- pictures, drawn by a higher floor

    @public
    def summary(self) -> Any:
        """Return a table of the record: op, layer, user's line, shape, dtype, bytes kept for the backward pass.

        `str()` and the prompt show it as text, `rich.print` in colour. It runs no ops. A used-up tape has only partial
        information, and keeps no values.

        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(tf.exp(w))
        >>> len(tape.summary())
        2
        """
        return hooks.gradients.summary(self)

    @public
    def residuals(self) -> Any:
        """Return the residuals of the backward pass: a list of records, whose `str()` is a table.

        Each has `value` (the op, or the name of an outside value), `file`, `line`, `shape`, `dtype` and `bytes`. `needed_by`
        lists the ops whose gradients read it, with their lines. `state` is "held", "pending" (it will be held when the program
        runs), "recomputed" or "input". The list's `bytes` is the total of held and pending ones. It runs no ops. The list is
        empty for a used-up tape.

        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(tf.exp(w))
        >>> [(r.value, r.shape, r.needed_by[0][0]) for r in tape.residuals()]
        [('Exp', (2,), 'Exp')]
        """
        return hooks.gradients.residuals(self)

    @public
    def draw(self, fold: bool = True) -> Any:
        """Draw the tape as a graph: an SVG for notebooks, with `save(path)`.

        Consecutive ops of one line are one box, unless `fold` is False. Ops that depend on no watched value are dashed. At most
        300 boxes are drawn. It runs no ops.

        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(tf.exp(w))
        >>> str(tape.draw())[:4]
        '<svg'
        """
        return hooks.gradients.draw(self, fold)

    # -- Jacobians

    @public
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        chunk_size: int | None = None,
        mode: str | None = None,
    ) -> Any:
        """Return the Jacobian of `target` with respect to each of `sources`: shape target.shape + source.shape.

        `target`: a tensor, or a nest of tensors, for which a nest of results is returned. One vectorised call computes all rows,
        or all columns if the sources have fewer elements than the target; `mode` "reverse" or "forward" decides explicitly.
        `chunk_size`: the number of rows (columns) at a time, to save memory. ResourceExhaustedError, with a chunk size that fits,
        if all at once would not; nothing is allocated. A source on which a target does not depend gets None, or zeros with
        "zero".

        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy().tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        self._check_row_by_row("jacobian", experimental_use_pfor)
        rows = JacobianRows(mode, chunk_size)
        flat_sources, pack = _sources(sources, self)
        targets, _ = self._targets(target, None)
        self._ask()
        asked = self._asked(targets, flat_sources)
        packed, found = [], []
        given = [True] * len(flat_sources)
        for one in targets:
            results = self._jacobians(one, flat_sources, rows)
            found.append(results)
            given = [had and r is not None for had, r in zip(given, results, strict=True)]
            if unconnected is not NONE:
                pairs = zip(flat_sources, results, strict=True)
                results = [zeros((*one.shape, *extents_of(s)), s.dtype) if r is None else r for s, r in pairs]
            packed.append(pack(results))
        asked.answered(engine.local.trace, given)
        for one, results in zip(targets, found, strict=True):
            self._told(asked, [one], flat_sources, results)
        self._answered(asked.line)
        if False in given and unconnected is NONE:
            hooks.gradients.missing(asked, flat_sources, given, self._strict)
        return packed[0] if isinstance(target, (Tensor, Stored)) else nest.pack_sequence_as(target, packed)

    def _jacobians(self, target: Source, sources: Sequence[Source], rows: JacobianRows) -> list[Tensor | None]:
        of = target.node.aval if isinstance(target, Tensor) else target.aval
        if not of.inexact:
            return [None] * len(sources)
        with setting(transposing=rows.mode == "forward"):
            plan = self._plan([target], sources, [_one_of(of)], dense=True)
        traces = [segment.trace for segment in self._segments]
        results = None if plan is None else rows.by_columns(plan, traces, of)
        if results is None:
            seeds = [reshape(eye(of.size, dtype=of.type), (of.size, *of.shape))]
            stacked = self._row_by_row([target], sources, seeds) if plan is None else rows.apply(plan, traces, seeds)
            results = [None if r is None else reshape(r, (*of.shape, *extents_of(r)[1:])) for r in stacked]
        if isinstance(target, Variable) and any(r is None for r in results):
            identity = reshape(eye(of.size, dtype=of.type), (*of.shape, *of.shape))
            results = _with_identities([target], sources, [identity], results)
        return results

    @public
    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        chunk_size: int | None = None,
    ) -> Tensor:
        """Return the Jacobian of each row of `target` with respect to the same row of `source`: [batch, …target, …source].

        Row i of `target` must depend only on row i of `source`. An unconnected target gives zeros. `chunk_size`: the number of
        elements of a row at a time, to save memory.
        """
        UnconnectedGradients(unconnected_gradients)
        rows = JacobianRows("reverse", chunk_size)
        source = _as_source(source, self)
        (target,), _ = self._targets(target, None)
        for name, ranked in (("target", target), ("source", source)):
            if ranked.ndim < 2:
                raise ValueError(
                    f"Shape {ranked.shape} of {name} must have rank at least 2: one row per example. Use jacobian, or "
                    "tf.expand_dims."
                )
        if extents_of(target)[0] != extents_of(source)[0]:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match: "
                "batch_jacobian is one Jacobian per row."
            )
        self._check_row_by_row("batch_jacobian", experimental_use_pfor)
        batch, *rest = extents_of(target)
        count, shape = math.prod(rest), (batch, *rest, *extents_of(source)[1:])
        if not count:
            return zeros(shape, source.dtype)
        seeds = reshape(eye(count, dtype=target.dtype), (count, 1, *rest))
        seeds = broadcast_to(seeds, (count, batch, *rest))
        self._ask()
        asked = self._asked([target], [source])
        (stacked,) = self._stacked([target], [source], [seeds], rows)
        asked.answered(engine.local.trace, [stacked is not None])
        result = None if stacked is None else reshape(transpose(stacked, (1, 0, *range(2, source.ndim + 1))), shape)
        self._told(asked, [target], [source], [result])
        self._answered(asked.line)
        return zeros(shape, source.dtype) if result is None else result

    def _check_row_by_row(self, method: str, vectorized: bool) -> None:
        if not vectorized and not self._persistent and executing_eagerly():
            raise RuntimeError(
                f"In eager code a tape must be created with persistent=True to compute the {method} with experimental_use_pfor "
                "set to False. Leave experimental_use_pfor at True: all rows are then one call."
            )

    def stacked_gradients(
        self, targets: Sequence[Source], sources: Sequence[Source], seeds: Sequence[Tensor], rows: JacobianRows
    ) -> list[Any]:
        """Return the gradients for stacked output gradients `seeds`, like `gradient`; the results are stacked and dense."""
        self._ask()
        self._differentiated(targets)
        results = self._stacked(targets, sources, seeds, rows)
        self._answered()
        return results

    def _stacked(
        self, targets: Sequence[Source], sources: Sequence[Source], seeds: Sequence[Tensor], rows: JacobianRows
    ) -> list[Any]:
        of = [aval(s.node.aval.shape[1:], s.node.aval.dtype) for s in seeds]
        plan = self._plan(targets, sources, [_one_of(a) for a in of], dense=True)
        if plan is not None:
            return rows.apply(plan, [segment.trace for segment in self._segments], seeds)
        return self._row_by_row(targets, sources, seeds)

    def _row_by_row(self, targets: Sequence[Source], sources: Sequence[Source], seeds: Sequence[Tensor]) -> list[Any]:
        """Return the stacked gradients for the rows of `seeds`, one walk for each, because user code has to run each time."""
        each = zip(*[unstack(s) for s in seeds], strict=True)
        rows = [[dense(d) for d in self._walk(targets, sources, row)] for row in each]
        return [None if any(r is None for r in column) else stack(column) for column in zip(*rows, strict=True)]


def _one_of(of: Aval) -> EagerTensor:
    return EagerTensor(leaf(of, None))  # a symbol for an output gradient


def _ones_for(target: Source, of: Aval) -> Tensor:
    return ones_like(target) if engine.graph_around() is not None else filled(of.shape, 1, of.type)


def _zeros_for(source: Source) -> Tensor:
    return zeros_like(source) if engine.graph_around() is not None else zeros(extents_of(source), source.dtype)


def _sum_of(parts: Sequence[Any]) -> Any:
    return summed(parts) if parts else None


def _sources(sources: Any, tape: GradientTape) -> tuple[Sequence[Source], Callable[[Sequence[Any]], Any]]:
    """Return the sources as a list of tensors and variables, and a function that packs results into their structure."""
    kind = type(sources)
    if (kind is list or kind is tuple) and are_plain(sources):
        return sources, kind
    if kind is EagerTensor or kind is ResourceVariable:
        flat, pack = [sources], _first
    else:
        given, spec = nest.flatten_with_spec(sources)
        flat = [_as_source(s, tape) for s in given]
        pack = functools.partial(nest.unflatten, spec)
        if any(isinstance(s, RaggedTensor) for s in given):
            pack = functools.partial(in_rows, given, pack)
    for s in flat:
        if not (s if isinstance(s, Tensor) else s._tensor).node.aval.inexact:
            logger.warning(
                "The dtype of the source tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, "
                "got %r. Its gradient is None, except for that of a watched tensor with respect to itself.",
                s.dtype,
            )
    return flat, pack


def _with_identities(
    targets: Sequence[Source], sources: Sequence[Source], given: Sequence[Tensor | None], results: Sequence[Any]
) -> list[Any]:
    """Add the gradient of a target with respect to itself for unrecorded targets."""
    complete = list(results)
    for i, source in enumerate(sources):
        if complete[i] is None:
            own = [
                ones(extents_of(t), t.dtype) if d is None else d
                for t, d in zip(targets, given, strict=True)
                if t is source or (isinstance(t, Tensor) and isinstance(source, Tensor) and t.node is source.node)
                if t.dtype != string
            ]
            complete[i] = _sum_of(own)
    return complete


def _as_source(source: Any, tape: GradientTape) -> Source:
    """Return the tensor or variable of a source: itself, by name, or the values of a ragged tensor."""
    if isinstance(source, str):
        source = tape.get_tensor_by_name(source)
    if isinstance(source, HookedTensor):
        return source.origin
    if isinstance(source, IndexedSlices):
        return source.values
    source = variable_of(values_of(source))
    if not isinstance(source, (Tensor, Variable)):
        raise no_tensor("source", source)
    return source


_first: Callable[[Sequence[Any]], Any] = operator.itemgetter(0)


class InnerTape(GradientTape):
    """A tape for internal purposes, which the journal and explanations ignore."""

    _inner = True


def _spread(seed: Tensor, target: Source) -> Tensor:
    """Broadcast an output gradient to the shape of its target; one that has as many elements is reshaped."""
    try:
        result: Tensor = broadcast_to(seed, extents_of(target))
    except InvalidArgumentError:
        if seed.shape.num_elements() == target.shape.num_elements() is not None:
            return reshape(seed, extents_of(target))
        raise invalid(
            f"output_gradients of shape {seed.shape} for a target of shape {target.shape}: they must agree, or broadcast to it."
        ) from None
    return result
