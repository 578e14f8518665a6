"""A function traced once for arguments of unknown rank, as a graph, which is recorded again for the shapes of each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

from gradtape._src.control.bounded_scan import SCAN, Scan
from gradtape._src.control.scope import TENSOR, MadeFromArguments, ResultStructure, initial_value
from gradtape._src.core.base.errors import InvalidArgumentError, OpError
from gradtape._src.core.base.tracebacks import of_user
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.faults import detected_at
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import Node, effectful
from gradtape._src.core.programs.structured import BRANCH, StructuredOp
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import Stored, Tensor, handle, stated_shape
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import Aval
from gradtape._src.core.values.dim import UnknownExtent
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.v1.graphs.extents import NeedsFeed, structure_of
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.interpreter import NeedsEager, Outputs
from gradtape._src.v1.graphs.kinds import BEGINNINGS, HANDLE
from gradtape._src.v1.graphs.replay import Replay

T = TypeVar("T")
Parameter = tuple[str, Any, TensorShape]  # name, dtype, shape


class Refused(BaseException):
    """A function does something that a graph cannot keep: it is traced for each list of shapes. User code cannot catch this."""


class OpenGraph(Graph):
    """The graph of a function. It uses the variables of the surrounding program, and draws seeds like a function."""

    building_function: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.seeds = None  # type: ignore[assignment]
        self.refused = False
        self._handles: dict[int, Node] = {}

    def _refuse(self) -> NoReturn:
        self.refused = True  # user code may catch even this error
        raise Refused

    def handle_of(self, variable: Variable) -> Node:
        """Return the handle of a variable, declared on first use; refuse one of unknown extents."""
        held = self._handles.get(id(variable))
        if held is None:
            if not variable.shape.is_fully_defined():
                self._refuse()
            aval, name = variable.aval, self._unique(variable.name.removesuffix(":0"))
            held = self._handles[id(variable)] = self._recorded(HANDLE, (), (aval.dtype, aval.shape), name)
            self.variables[held] = variable
        return held

    def hold(self, variable: Variable, node: Node) -> None:
        """Note that `node` assigns the variable. As in a function, the assignment returns the variable."""
        super().hold(variable, node)

    def initial(self, node: Node) -> Any:
        """Return a variable's computed initial value; refuse one that depends on arguments."""
        try:
            return initial_value(self.trace, node)
        except MadeFromArguments:
            self._refuse()

    def deferred(self, op: Op, nodes: tuple[Node, ...], attrs: Attributes) -> Any:
        """Refuse an op whose result's shape depends on values."""
        self._refuse()

    def differentiated(self, targets: Sequence[Node]) -> None:
        """Refuse a gradient, since the explainer reads traces with true shapes."""
        self._refuse()


class SketchedGraph(OpenGraph):
    """The graph of a function of which only the shapes of the results are wanted. It never runs."""

    deferred = Graph.deferred


class OpenFunction:
    """A function traced for tensors of these `specs`, with unknown extents; `again` records it for given tensors."""

    def __init__(
        self, call: Callable[[Sequence[Node]], Any], convert: Callable[[Any], Any], parameters: Sequence[Parameter]
    ) -> None:
        self._graph = OpenGraph()
        self.specs = [TensorSpec(shape, as_dtype(dtype)) for _, dtype, shape in parameters]
        with self._graph.as_default():
            self._parameters = [self._graph.placeholder(dtype, shape, name).node for name, dtype, shape in parameters]
            results, self._spec = nest.flatten_with_spec(call(self._parameters), nest.EXPANDED)
            results = [convert(x) for x in results]
        if self._graph.refused or any(isinstance(x, Stored) for x in results):
            raise Refused
        self._results = results
        self._own = [isinstance(x, Tensor) and x.node.trace is self._graph.trace for x in results]
        nodes = [n for n in self._graph.trace.nodes if n.op is not None]
        self._wanted = [x.node for x, own in zip(results, self._own, strict=True) if own]
        self._wanted += [n for n in nodes if _happens(n) or n in self._graph.assignments]

    @property
    def structure(self) -> ResultStructure:
        """The nest of its results."""
        return ResultStructure(self._spec, [TENSOR if isinstance(x, Tensor) else x for x in self._results])

    @property
    def avals(self) -> list[Aval]:
        """The Avals of the tensors among the results, with symbols for unknown extents."""
        return [x.node.aval for x in self._results if isinstance(x, Tensor)]

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the tensors among the results, with None for unknown extents."""
        return [stated_shape(x.node) for x in self._results if isinstance(x, Tensor)]

    def again(self, nodes: Sequence[Node]) -> Any:
        """Record the function with `nodes` as its parameters; NeedsValues if that needs values."""
        scope: Any = engine.local.trace.scope
        replay = Again(self._graph, dict(zip(self._parameters, nodes, strict=True)), {}, scope)
        try:
            replay.run(self._wanted)
            results = zip(self._results, self._own, strict=True)
            return nest.unflatten(self._spec, [handle(replay.fetched(x.node)) if own else x for x, own in results])
        except (NeedsEager, NeedsFeed, UnknownExtent):
            raise engine.NeedsValues("a shape depends on values") from None


class Again(Replay):
    """A Replay into a function, which keeps the lines of ops."""

    def record(self, op: Op, attrs: Attributes, before: Sequence[Any], inputs: list[Any], like: Node | None = None) -> Any:
        """Record an op. If known extents decide a branch, only the side taken must be valid for the shapes."""
        try:
            return super().record(op, attrs, before, inputs, like)
        # Otherwise both sides are recorded, so that gradients of the other one are zeros.
        except (ValueError, TypeError, OpError, NeedsEager):
            known = self._without_the_rest(op, attrs, inputs) if isinstance(op, StructuredOp) else None
            if known is None:
                raise
            return Outputs(known)

    def _without_the_rest(self, op: StructuredOp, attrs: Attributes, inputs: list[Any]) -> Sequence[Node] | None:
        if op.kind == BRANCH and (chosen := structure_of(inputs[0])) is not None:
            ((program, _),) = op.runs(attrs, chosen[0].item())
            return self.inlined(program, inputs[1:])
        if op is SCAN and (scan := Scan(*attrs)).rows([node.aval for node in inputs]) == 0:
            plain = len(scan.body.outputs) - scan.saved
            return scan.split(inputs)[2] if plain == scan.carry else None
        return None

    def _step(self, node: Node) -> None:
        trace = engine.local.trace
        nodes = len(trace.nodes)
        line = node.code, node.offset
        try:
            super()._step(node)
        except InvalidArgumentError as error:  # the call's line is the user's
            error.message = error.message.partition("\nDetected at ")[0] + detected_at(line)
            raise
        for new in trace.nodes[nodes:]:
            new.code, new.offset = line


def _happens(node: Node) -> bool:
    """Return whether a node runs even if its result is unused."""
    return (effectful(node.key) and node.op not in BEGINNINGS) or Trait.DEMANDED in node.op.traits


def traced(
    call: Callable[[Sequence[Node]], Any], convert: Callable[[Any], Any], parameters: Sequence[Parameter]
) -> OpenFunction | None:
    """Trace a function for tensors of unknown extents; `convert` makes a Tensor of a result.

    None if a graph cannot keep it, or if it uses None as a number, which may work with true shapes. An error raised by the
    function itself is passed on.
    """
    try:
        return OpenFunction(call, convert, parameters)
    except Refused:
        return None
    except Exception as error:
        if of_user(error):
            raise
        return None


def sketched(call: Callable[[Callable[[Any, TensorShape], Tensor]], T]) -> T | None:
    """Return what `call` gives in a graph of its own; it gets the function that makes a tensor of a dtype and a shape.

    None if it fails there. With values it may succeed.
    """
    graph = SketchedGraph()
    try:
        with graph.as_default():
            return call(lambda dtype, shape: graph.placeholder(dtype, shape, "element"))
    except (Refused, Exception):
        return None
