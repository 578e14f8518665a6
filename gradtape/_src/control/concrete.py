"""A function for one signature: its trace, and the strategy by which its calls run."""

from __future__ import annotations

import contextlib
import copy
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.control.arguments import Arguments, spread
from gradtape._src.control.as_python import line_of, tell
from gradtape._src.control.branch_captures import joined, on_tape
from gradtape._src.control.critical_section import Lock, holding, note
from gradtape._src.control.dataset_loop import REDUCE_DATASET, ThroughEagerCode, calls_python, op_by_op, under_a_tape
from gradtape._src.control.function_graph import FuncGraph
from gradtape._src.control.function_type import FunctionType, Parameter, fitted, type_of
from gradtape._src.control.given import Given, calling
from gradtape._src.control.implementations import in_function
from gradtape._src.control.iterators import Again, Drawn, Take, TakesElement, taken
from gradtape._src.control.open_ways import Ways
from gradtape._src.control.scope import (
    SHAPED_BY_RUNS,
    UNTRACED,
    MadeFromArguments,
    ResultStructure,
    Traced,
    call,
    flatten_results,
)
from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import NeedsValues, UnimplementedError, invalid
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.naming import Numbered
from gradtape._src.core.base.public import public
from gradtape._src.core.base.tracebacks import cut
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import ELEMENT, Line, Node, Program, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, extents_of, stated_shape
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import Aval, aval, has_no_rank
from gradtape._src.core.values.dtypes import spoken_name
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.core.values.ways import Guide
from gradtape._src.ops.array.shape import _identity

if TYPE_CHECKING:
    from gradtape._src.control.function import Function


class Compiled:
    """The strategy of running the traced program."""

    reason: Exception | None = None  # why calls run op by op

    def run(self, concrete: ConcreteFunction, nodes: Sequence[Node], passed: Sequence[Any]) -> Any:
        """Run a call on these tensors; `passed` are its variables and Datasets."""
        run = concrete.run_on_elements if concrete._traced.takes else concrete.run_program
        return run(nodes, passed)


COMPILED = Compiled()


class Locked(Compiled):
    """The strategy of holding the locks of all critical sections during a call, since variables are read at its beginning."""

    def __init__(self, locks: Sequence[Lock]) -> None:
        self._locks = locks

    def run(self, concrete: ConcreteFunction, nodes: Sequence[Node], passed: Sequence[Any]) -> Any:
        """Run a call under the locks. During a trace, the outer function takes them instead."""
        if engine.local.trace.parent is not None:
            note(self._locks)
            return COMPILED.run(concrete, nodes, passed)
        with holding(self._locks):
            return COMPILED.run(concrete, nodes, passed)


class OpByOp:
    """The strategy of running the Python code as eager code, because a shape or the control flow depends on values.

    If a variable is created from the arguments, only the first call runs so. The next call runs a trace made afterwards.
    """

    def __init__(self, function: Function, reason: Exception, line: Line | None = None) -> None:
        self.reason, self._line = reason, line_of(reason) if line is None else line
        self._once = isinstance(reason, MadeFromArguments)
        # The trace made after a first call starts its random streams anew, so the first call draws from the global seed.
        self._seeds = None if self._once else function.source()

    def run(self, concrete: ConcreteFunction, nodes: Sequence[Node], passed: Sequence[Any]) -> Any:
        """Run a call; log once for each code object that it runs as Python, except during a trace of another function."""
        function, arguments = concrete._function, concrete._arguments.of(passed)
        if self._once:
            return function.made_once(
                lambda: self._results(function, arguments, nodes), lambda: function.traced_instead(concrete, arguments)
            )
        if isinstance(self.reason, NeedsValues) and engine.local.trace.parent is None:
            tell(str(function._name), self.reason, self._line, again=function._calls.told)
            function._calls.told = True
        return self._results(function, arguments, nodes)

    def _results(self, function: Function, arguments: Arguments, nodes: Sequence[Node]) -> Any:
        def run() -> Any:
            with in_function():
                results = arguments.call(function.transformed(), nodes)
                return joined(results) if on_tape() else results

        found, structure = flatten_results(op_by_op(run, self._seeds, function._recorder), function.result)
        return structure.pack(found)


class OffTape(OpByOp):
    """The strategy for a program without a gradient: run it, but op by op under a tape and in another function's trace."""

    def run(self, concrete: ConcreteFunction, nodes: Sequence[Node], passed: Sequence[Any]) -> Any:
        if engine.local.trace.parent is not None or engine.taped():
            return super().run(concrete, nodes, passed)
        with calling(concrete.given(passed)):
            return COMPILED.run(concrete, nodes, passed)


Strategy = Compiled | OpByOp


@hides(
    """
    called given instance keep leaves name_inputs of_specs opened program result_names results run run_on_elements
    run_program seen_through strategy takes uses
    """
)
class ConcreteFunction:
    """A function traced for one signature. Call it with the tensors of that signature, or with all arguments.

    >>> traced = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([None], tf.float32))
    >>> print(traced(tf.constant([1.0, 2.0])).numpy(), traced.structured_outputs)
    [2. 4.] TensorSpec(shape=(None,), dtype=tf.float32, name=None)
    """

    @public
    def __init__(
        self,
        function: Function,
        arguments: Arguments,
        tried: Traced | Exception,
        strategy: Strategy = COMPILED,
        passes: bool = False,
    ) -> None:
        by_ops = type(strategy) is OpByOp
        passes = bool(arguments.stored) if by_ops else passes
        traced = UNTRACED if by_ops or isinstance(tried, Exception) else tried
        self._arguments, self._traced = arguments, traced.passing(arguments.variables) if passes else traced
        self.strategy = strategy
        # A weak reference, since the function refers to this object, and a cycle would be left to the garbage collector.
        self._traced_from = weakref.ref(function)
        self._kept: Function | None = None
        self._passes = passes  # whether each call states the variables that it passes
        self._wholly = passes or bool(arguments.given)  # whether a call passes more than tensors
        self._specs: list[TensorSpec] | None = None  # specs with unknown extents, if it was requested for those
        self._named: list[str | None] = [None] * len(arguments.nodes)
        self.result_names: list[str] | None = None  # the names of a loaded signature's results, shown in their specs
        self._type: FunctionType | None = None
        self._in_graph: tuple[ResultStructure, list[TensorSpec]] | None = None  # what a graph states of the results
        self.opened: Any = None  # the trace with symbols of which this is an instance
        # Traces for other extents of elements, and of the variables that it looked at.
        self._variants: dict[Any, ConcreteFunction] = {}
        self.called = f"__inference_{function._name}_{id(self) % 10000}"
        arguments.nodes = [leaf(n.aval, None) for n in arguments.nodes]  # the nodes must not keep the first call's values
        arguments.leaves = []
        if passes:
            arguments.forget_variables()
        self._own = {id(variable) for variable in self.variables}
        if traced.takes:
            # The variants that were traced with symbols for the extents of elements.
            self._ways = Ways[ConcreteFunction](lambda concrete: concrete._traced)
            if strategy is COMPILED:
                self._ways.keep(self)

    @property
    def _function(self) -> Function:
        function = self._traced_from()
        assert function is not None, "a user has it, and keep() was not called"
        return function

    def keep(self) -> ConcreteFunction:
        """Return itself, and keep its Function alive from now on, in case the user drops that."""
        self._kept = self._function
        return self

    def takes(self, variables: Sequence[Variable]) -> bool:
        """Return whether these variables may be passed: the function must not capture any of them."""
        return not self._passes or not any(id(variable) in self._own for variable in variables)

    @property
    def name(self) -> bytes:
        """The name under which TensorFlow would register it."""
        return self.called.encode()

    @property
    def program(self) -> Program:
        """The Program that calls run; UnimplementedError with the reason if there is none."""
        if type(self.strategy) is OpByOp or self._traced.shaped_by_runs:
            raise UnimplementedError.saying(
                f"{self._function._name} runs as eager code and has no graph: its shapes, or the way it goes on, depend on "
                f"values. {self.strategy.reason}"
            )
        return self._traced.program

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it reads or assigns, except those passed to it."""
        used = [v for v in (*self._traced.variables, *self._traced.written) if isinstance(v, Variable)]
        return tuple({id(v): v for v in used}.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return tuple([v for v in self.variables if v.trainable])

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors from outside of the function that it uses."""
        return list(self._traced.keep)

    @property
    def inference_fn(self) -> ConcreteFunction:
        """The function itself. In TensorFlow it is the variant without a gradient; gradtape has one function for both."""
        return self

    def add_to_graph(self, g: Any = None, overwrite: bool = False) -> None:
        """Do nothing: a graph adds a function when it calls it."""

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Do nothing: a gradient is made when it is asked for."""

    def seen_through(self, specs: list[TensorSpec]) -> ConcreteFunction:
        """Return a copy that shows these specs for its tensors. A call with other extents finds or makes another trace."""
        seen = copy.copy(self)
        seen._specs, seen._named, seen._type, seen._in_graph = specs, [None] * len(specs), None, None
        return seen

    def of_specs(self, specs: Sequence[TensorSpec]) -> ConcreteFunction:
        """Return the function for tensors of these known shapes."""
        nodes = [leaf(aval(spec.shape.as_list(), spec.dtype.numpy), None) for spec in specs]
        same = [n.aval for n in nodes] == [n.aval for n in self._arguments.nodes] and type(self.strategy) is not OpByOp
        return self if same else self._function._concrete(Arguments(self._arguments.pack(nodes)))

    def name_inputs(self, names: list[str | None]) -> None:
        """Rename the input tensors, except where `names` has None."""
        self._named = [new or old for new, old in zip(names, self._named, strict=True)]

    def _input_specs(self) -> list[TensorSpec]:
        return self._specs or [TensorSpec(n.aval.shape, n.aval.type) for n in self._arguments.nodes]

    def _spread(self) -> list[tuple[str, str, Any]]:
        """Return for each leaf of the arguments its parameter, its path (with the keys of the nest), and its spec or value."""
        found = []
        args, kwargs = self._arguments.described(self._input_specs())
        for name, _, value in spread(self._function._signature.parameters, args, kwargs):
            leaves, spec = nest.flatten_with_spec(value, nest.EXPANDED)
            found += [(name, "_".join([name, *map(str, path)]), x) for x, path in zip(leaves, spec.paths(), strict=True)]
        return found

    def leaves(self) -> list[tuple[str, Any]]:
        """Return `(path, spec or value)` of each leaf of the arguments."""
        return [(path, x) for _, path, x in self._spread()]

    def _places(self) -> list[tuple[str, str]]:
        """Return for each input tensor its parameter (or its own name) and its path in the nest."""
        found = [(name, path) for name, path, x in self._spread() if isinstance(x, TensorSpec)]
        return [(own, own) if own else place for own, place in zip(self._named, found, strict=True)]

    @property
    def structured_input_signature(self) -> Any:
        """`(args, kwargs)` with a TensorSpec for each tensor, named by its path: the parameter and the keys of the nest."""
        specs = zip(self._input_specs(), self._places(), strict=True)
        return self._arguments.described([TensorSpec(spec.shape, spec.dtype, path) for spec, (_, path) in specs])

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of the input tensors, named as in TensorFlow's graph of the function."""
        specs = zip(self._input_specs(), self._keywords(), strict=True)
        return [TensorSpec(spec.shape, spec.dtype, f"{name}:0") for spec, name in specs]

    def _keywords(self) -> list[str]:
        """Return the keyword of each input tensor: the parameter's name, with `_1` and so on appended where names repeat."""
        found: list[str] = []
        for name, _ in self._places():
            again = itertools.count(1)
            proposal = name
            while proposal in found:
                proposal = f"{name}_{next(again)}"
            found.append(proposal)
        return found

    @property
    def structured_outputs(self) -> Any:
        """The results' structure, with a TensorSpec for each tensor."""
        structure, specs = self._described()
        names: Sequence[str | None] = self.result_names or [None] * len(specs)
        return structure.fill([TensorSpec(s.shape, s.dtype, name) for s, name in zip(specs, names, strict=True)])

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the result tensors, named as in TensorFlow's graph of the function."""
        numbered = Numbered()
        return [TensorSpec(s.shape, s.dtype, f"{numbered(_identity.op.type)}:0") for s in self._described()[1]]

    def _described(self) -> tuple[ResultStructure, list[TensorSpec]]:
        """Return the structure of the results, and the specs of their tensors; as a graph has them if it runs op by op."""
        if type(self.strategy) is not OpByOp or not isinstance(self.strategy.reason, NeedsValues):
            return self._traced.structure, [TensorSpec(s, a.type) for s, a in zip(self._shapes(), self.results, strict=True)]
        if self._in_graph is None:
            try:
                self._in_graph = hooks.graphs.described(self._read_in_graph)
            except Exception:  # a call may succeed with values
                self._in_graph = UNTRACED.structure, []
        return self._in_graph

    def _read_in_graph(self, placeholder: Callable[[Any, Any], Tensor]) -> tuple[ResultStructure, list[TensorSpec]]:
        nodes = [placeholder(spec.shape, spec.dtype).node for spec in self._input_specs()]
        results = self._arguments.call(self._function.transformed(), nodes)
        made, structure = flatten_results(results, self._function.result, fixed_strings=False)
        return structure, [TensorSpec(stated_shape(node), node.aval.type) for node in made]

    @property
    def results(self) -> list[Aval]:
        """The Avals of its results, for the extents of the trace."""
        return self._traced.avals[: len(self._traced.avals) - len(self._traced.written)]

    def _shapes(self) -> list[TensorShape]:
        """Return the shapes of the results. An extent is None if it changes with an unknown extent or rank of an argument."""
        shapes = [TensorShape(None if has_no_rank(a) else a.shape) for a in self.results]
        if self._specs is None or not shapes:
            return shapes
        if self.opened is not None:
            return list(self.opened.shapes)
        ranked = [TensorShape([None]) if spec.shape.rank is None else spec.shape for spec in self._specs]
        other = self._function.on_symbols(self._arguments, ranked)
        if other is None:
            return [TensorShape(None if ranked != [spec.shape for spec in self._specs] else [None] * len(s)) for s in shapes]
        pairs = zip(shapes, other.results, strict=True)
        return [shape.most_specific_compatible_shape(a.open_shape) for shape, a in pairs]

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return nest.map_structure(lambda s: s.shape if hasattr(s, "shape") else TensorShape(None), self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return nest.map_structure(lambda s: s if s is None else s.dtype, self.structured_outputs)

    @property
    def function_type(self) -> FunctionType:
        """The signature with annotations that are TensorSpecs, or Literals for values that are not tensors."""
        if self._type is None:
            named = zip(self._input_specs(), self._named, strict=True)
            args, kwargs = self._arguments.described([TensorSpec(spec.shape, spec.dtype, name) for spec, name in named])
            found = spread(self._function._signature.parameters, args, kwargs)
            captures = {id(t): TensorSpec(extents_of(t), t.dtype) for t in self._traced.keep}
            parameters = [Parameter(name, kind, annotation=type_of(value)) for name, kind, value in found]
            self._type = FunctionType(parameters, captures, type_of(self.structured_outputs))
        return self._type

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Format the signature as text: a line for each parameter, or (not `verbose`) in Python's syntax."""
        return repr(self.function_type) if verbose else str(self.function_type)

    def __str__(self) -> str:
        return f"ConcreteFunction {self.function_type!r}"

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.function_type!s} at {id(self):#x}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            wanted = [n.aval for n in self._arguments.nodes]
            if not kwargs and not self._wholly and len(args) == len(wanted) and all(x.__class__ is EagerTensor for x in args):
                nodes, arguments = [x.node for x in args], None  # the fast path: one tensor for each input
                if [n.aval for n in nodes] == wanted:
                    return self.run(nodes)
            try:
                arguments = Arguments(fitted(self.function_type, args, kwargs))
                nodes, passed = arguments.nodes, arguments.passed
            except (TypeError, ValueError) as error:
                arguments, nodes, passed = None, self._one_by_one(args, kwargs, error), []
            else:
                arguments.of_call()
            same = arguments is None or all(x is y for x, y in zip(arguments.fixed, self._arguments.fixed, strict=True))
            if same and [n.aval for n in nodes] == wanted:
                return self.run(nodes)
            if arguments is None:
                arguments = Arguments(self._arguments.pack(nodes))
            return self._function._concrete(arguments).run(nodes, passed)  # other shapes have another program
        except BaseException as error:
            cut(error)
            raise

    def _one_by_one(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: Exception) -> list[Node]:
        """Return the tensors passed one by one, in order or by name; `why` they could not be bound to the parameters."""
        names = self._keywords()
        given = dict(zip(names, args, strict=False))
        if self._wholly or len(args) > len(names) or given.keys() & kwargs.keys() or given.keys() | kwargs.keys() != set(names):
            if self._wholly:
                raise why
            raise TypeError(f"{why} One by one its tensors are {names}: received {len(args)} and {sorted(kwargs)}.")
        given |= kwargs
        for name, spec in zip(names, self._input_specs(), strict=True):
            x = given[name]
            if not isinstance(x, (Tensor, Stored)):
                raise TypeError(f"{why} One by one, {name!r} is to be a Tensor; got {type(x).__name__} ({x!r}).")
            if x.dtype != spec.dtype:
                raise invalid(
                    f"cannot compute {self.called} as input #{names.index(name)}(zero-based) was expected to be a "
                    f"{spoken_name(spec.dtype)} tensor but is a {spoken_name(x.dtype)} tensor [Op:{self.called}]"
                )
            if engine.local.trace.parent is not None and not spec.shape.is_compatible_with(extents_of(x)):
                raise why
        return [tensor(given[name]).node for name in names]

    def run(self, nodes: Sequence[Node], passed: Sequence[Any] = ()) -> Any:
        """Run the function, or its variant for the present extents of the outside variables."""
        if self._traced.looked_at and (now := self._present(nodes, passed)) is not self:
            return now.run(nodes, passed)
        return self.strategy.run(self, nodes, passed)

    def _present(self, nodes: Sequence[Node], passed: Sequence[Any]) -> ConcreteFunction:
        """Return the variant for the present extents of the variables that this trace looked at."""
        looked_at = self._traced.looked_at
        now = tuple([variable.held().aval for variable, _ in looked_at])
        if all(a is traced for a, (_, traced) in zip(now, looked_at, strict=True)):
            return self
        return self._function.traced_in(self._variants, now, lambda: self._again(nodes, passed))

    def _again(self, nodes: Sequence[Node], passed: Sequence[Any]) -> ConcreteFunction:
        arguments = copy.copy(self._arguments.of(passed))
        arguments.nodes = list(nodes)
        return self._function.traced_for(arguments, self._passes)

    def uses(self, variable: Variable) -> bool:
        """Return whether it, or a variant for other extents, reads or assigns a variable."""
        return any(v is variable for v in self.variables) or any(other.uses(variable) for other in self._variants.values())

    def given(self, passed: Sequence[Any]) -> dict[int, Given]:
        """Return the Datasets of a call by the id of their stand-ins."""
        own = self._arguments.given
        return {id(x): other for x, other in zip(own, passed[len(passed) - len(own) :], strict=True)}

    def run_on_elements(self, nodes: Sequence[Node], passed: Sequence[Any]) -> Any:
        """Draw the elements that the function takes, and run it on them; in a trace the outer function draws them."""
        drawn: Drawn | None = None
        given: dict[int, Any] = self.given(passed)
        if engine.local.trace.scope is None:
            with calling(given):
                drawn = Drawn(self._traced.takes)
            if drawn.error is not None:
                return self._in_order(drawn, nodes, passed)
            elements, takes = drawn.nodes, drawn.takes
        else:
            each = [taken(given.get(id(take.source), take.source), take.optional) for take in self._traced.takes]
            elements = [n for some in each for n in some]
            takes = [t._replace(avals=tuple([n.aval for n in e])) for t, e in zip(self._traced.takes, each, strict=True)]
        found = self._for(takes, passed)
        if type(found.strategy) is not OpByOp:
            return found.run_program([*nodes, *elements], passed)
        if drawn is None:
            raise TakesElement(str(found.strategy.reason))
        return self._in_order(drawn, nodes, passed)

    def _for(self, takes: Sequence[Take], passed: Sequence[Any]) -> ConcreteFunction:
        """Return the variant for elements of the Avals in `takes`."""
        key = [take.avals for take in takes]
        if key == [take.avals for take in self._traced.takes]:
            return self
        stored = passed[: len(passed) - len(self._arguments.given)]
        arguments = self._arguments.of([*stored, *self._arguments.given])
        return self._function.traced_in(self._variants, ("elements", *key), lambda: self._traced_for(takes, arguments))

    def _traced_for(self, takes: Sequence[Take], arguments: Arguments) -> ConcreteFunction:
        """Return the function for such elements: an instance of a trace with symbols, or else a new trace."""

        def again(guide: Guide | None = None) -> ConcreteFunction:
            streams = self._traced.streams
            return self._function.traced_for(copy.copy(arguments), self._passes, Again(takes, streams, guide))

        avals = [*[n.aval for n in self._arguments.nodes], *[a for take in takes for a in take.avals]]
        found = self._ways.found(avals, again) if not any(a.open for a in avals) else self._ways.at(avals)
        return again() if found is None else found[0].instance(found[1])

    def instance(self, traced: Traced) -> ConcreteFunction:
        """Return a copy for another Traced of the same function."""
        made = copy.copy(self)
        made._traced, made._variants = traced, {}
        return made

    def _in_order(self, drawn: Drawn, nodes: Sequence[Node], passed: Sequence[Any]) -> Any:
        """Run a call op by op after giving the drawn elements back, so that an iterator's error is raised at its place."""
        drawn.give_back()
        return OpByOp(self._function, TakesElement()).run(self, nodes, passed)

    def run_program(self, nodes: Sequence[Node], passed: Sequence[Any]) -> Any:
        """Run the program on these tensors, followed by those of the elements it takes."""
        if hooks.watch.called is not None and engine.local.trace.parent is None:
            hooks.watch.called(self.keep())
        traced = self._traced.with_passed([x.variable for x in passed if isinstance(x, Stored)]) if self._passes else self._traced
        found = call(traced, nodes)
        if traced.shaped_by_runs:
            for node in filter(lambda node: has_no_rank(node.aval), found):
                node.aval = aval(node.value.shape, node.aval.dtype)
        results = traced.structure.pack(found)
        if hooks.watch.ran is not None and traced.transcript is not None and engine.local.trace.parent is None:
            hooks.watch.ran(results)
        return results

    @property
    def graph(self) -> FuncGraph:
        """The trace as a graph; printed, it is the program. A loop over a Dataset that runs as eager code is traced for it."""
        shown = self
        if isinstance(self.strategy.reason, ThroughEagerCode) and type(self.strategy) is OpByOp and not self._passes:
            with contextlib.suppress(Exception):  # if that trace fails, FuncGraph gives the reason
                shown = self._function.shown(self._arguments)
        return FuncGraph(shown)


def strategy_of(function: Function, arguments: Arguments, tried: Traced | NeedsValues, outermost: bool) -> Strategy:
    """Return the strategy for calls. If the outermost function must run op by op, raise the reason."""
    reason = tried if isinstance(tried, NeedsValues) else _refusal(tried)
    if reason is not None:
        in_place = isinstance(reason, (TakesElement, ThroughEagerCode)) or any(map(_known_integer, arguments.nodes))
        in_place = in_place or engine.current_graph() is not None  # a graph keeps ops that wait for values
        if not outermost and (isinstance(reason, MadeFromArguments) or not in_place):
            raise reason
        return OpByOp(function, reason)
    assert isinstance(tried, Traced), "there is no reason"
    if tried.loops:
        keys = tried.program.keys
        return OffTape(function, under_a_tape(), next(attrs[0].line for op, attrs, *_ in keys if op is REDUCE_DATASET))
    if tried.shaped_by_runs:
        program = tried.program
        index = next(i for i, a in enumerate(program.avals) if has_no_rank(a))
        return OffTape(function, NeedsValues(SHAPED_BY_RUNS), program.lines[index] if program.lines else (None, 0))
    return Locked(tried.locks) if tried.locks else COMPILED


def _known_integer(node: Node) -> bool:
    """Return whether an argument is an integer whose value is known, and so may be a shape, an axis or a size."""
    return node.aval.dtype.kind in "iu" and not engine.symbolic(node)


def _refusal(traced: Traced) -> NeedsValues | None:
    """Return why a function's program cannot serve its calls; None if it can."""
    program = traced.program
    if traced.loops and (traced.locks or (traced.variables and calls_python(program))):
        return ThroughEagerCode("it locks, or calls Python functions, which are to see variables as they are")
    if not traced.shaped_by_runs:
        return None
    if traced.takes:
        return TakesElement("the shape of a result is known when it runs")
    for index, (op, _, *references) in enumerate(program.keys):
        if op is not ELEMENT and index not in program.on_host and any(has_no_rank(program.aval_of(r)) for r in references):
            return NeedsValues(f"{op.type} computes with a result whose shape is known when the function runs")
    return None
