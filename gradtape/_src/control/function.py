"""`function`: a Python function, traced once for each signature, whose calls are one compiled program each."""

from __future__ import annotations

import copy
import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from gradtape._src.control import as_python, implementations
from gradtape._src.control.arguments import (
    Arguments,
    Calls,
    Known,
    Signature,
    Signatures,
    calls_of,
    named_parameters,
    symbol,
    tensors_in,
    without_shapes,
)
from gradtape._src.control.as_python import line_of
from gradtape._src.control.concrete import ConcreteFunction, OpByOp, strategy_of
from gradtape._src.control.dataset_loop import ShownLoop, loop_over, take_in_order
from gradtape._src.control.directives import do_not_convert
from gradtape._src.control.function_type import FunctionType, hides_internals
from gradtape._src.control.implementations import API
from gradtape._src.control.iterators import Again, Elements, on_a_way
from gradtape._src.control.methods import Gone, reference
from gradtape._src.control.open_trace import Opened, opened
from gradtape._src.control.passed import reachable_besides_arguments
from gradtape._src.control.retracing import warn
from gradtape._src.control.returns import with_returns
from gradtape._src.control.scope import SINGLETON, Scope, Traced, trace
from gradtape._src.core.base import ambient, hooks, locks, naming
from gradtape._src.core.base.errors import InvalidArgumentError, InvalidInFunctionError, OpError
from gradtape._src.core.base.public import public
from gradtape._src.core.base.tracebacks import cut, of_user
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.faults import detected_at
from gradtape._src.core.programs.program import Node, Trace
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Reference, Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.random import seeds

# TensorFlow traces once for an extent that is open, in an `input_signature` or a TensorSpec, or because `reduce_retracing`
# opened it where two calls differed; for variables of one shape; and for numbers that are equal. In gradtape each shape has a
# Program of its own: out of one trace where extents are open, if the function goes the same way for them. What is counted, and
# warned of, are TensorFlow's traces.
NOT_FIRST = (
    "Creating variables on a non-first call to a function decorated with tf.function.\n"
    "Make them in the first call, or before it: a layer, model or optimizer makes its variables in `build`."
)
T = TypeVar("T")
_functions: weakref.WeakSet[Function] = weakref.WeakSet()


def forget(variable: Variable) -> None:
    """Let all functions be traced again that read or assign a variable: it is read in another way from here on."""
    for function in list(_functions):
        with function._lock:
            stale = [found for found in function._traced.values() if found.uses(variable)]
            if stale:
                function._traced = {key: found for key, found in function._traced.items() if found not in stale}
                function._seen = {}
                for known in function._signatures._known:
                    known.opened = None


WAYS = 8  # that a function may go for open extents, of those that are saved


@hides_internals
class Function:
    """A function under `tf.function`: call it like the Python function; each new signature is traced once.

    >>> square = tf.function(lambda x: x * x)
    >>> print(square(tf.constant(3.0)).numpy(), isinstance(square, tf.types.experimental.GenericFunction))
    9.0 True
    >>> print(square(3).numpy(), square.experimental_get_tracing_count())
    9 2
    """

    _function: Any
    _instance: Callable[[], Any] | None

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Any = None,
        autograph: bool = True,
        name: str | None = None,
        relaxed: bool = False,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, python_function)
        self.attributes = attributes or {}
        self.api = implementations.api(self.attributes[API]) if API in self.attributes else None
        self._function, self._instance = python_function, None
        self._name = name or getattr(python_function, "__name__", type(python_function).__name__)
        self._autograph, self._relaxed = autograph, relaxed
        self._signature = Signature(python_function, input_signature)
        self._refusal: str | None = None  # why the next trace may not make variables
        self._begin(calls_of(python_function))

    def _begin(self, calls: Calls) -> None:
        self._signatures = Signatures(self.input_signature is not None, self._relaxed)
        self._traced: dict[Any, ConcreteFunction] = {}
        self._seen: dict[Any, ConcreteFunction] = {}  # the same for calls with nothing but tensors, found without detours
        self._calls, self._traces = calls, 0
        self._lock = locks.RLock()
        self._bound: dict[int, tuple[Any, Function]] = {}
        self._streams: list[Any] = []  # of random numbers, in the traces that are one on TensorFlow
        self._source: Any = None  # of seeds, in those that run op by op
        self._opened: dict[Any, ConcreteFunction] = {}  # the traced functions as seen through specs with open extents
        _functions.add(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles take over: all but the traces, which each function makes itself."""
        own = "_signatures _traced _seen _calls _traces _lock _bound _streams _source _opened".split()
        return {n: v for n, v in vars(self).items() if n not in own} | {"_instance": self._instance and self._instance()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        instance = state["_instance"]
        vars(self).update(state, _instance=None if instance is None else reference(instance))
        self._begin(Calls())

    def untraced(self) -> Function:
        """Return a copy without traces but those for open extents. Its own traces count nowhere."""
        new = copy.copy(self)
        new._signatures = Signatures(True, self._relaxed)  # no trace after the first is a new one
        new._signatures._known += [copy.copy(known) for known in self._signatures._known if known.opened]
        for known in new._signatures._known:
            known.opened = known.opened.copied()
        return new

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The nests of specs that it was given."""
        return self._signature.specs

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        if instance is None:
            return self
        known = self._bound.get(id(instance))
        if known is not None and known[0]() is instance:
            return known[1]
        number = id(instance)
        refers = reference(instance, lambda _: self._bound.pop(number, None))
        method = self._function.__get__(instance, owner)
        bound = Function(method, self.input_signature, self._autograph, self._name, self._relaxed, self.attributes)
        bound._function, bound._instance = self._function, refers  # it must not keep its object alive
        del vars(bound)["__wrapped__"]
        self._bound[number] = refers, bound
        return bound

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function that was given; of a method, bound to its object."""
        if self._instance is None:
            return self._function
        instance = self._instance()
        if instance is None:
            instance = Gone(str(self._name))
        method: Callable[..., Any] = self._function.__get__(instance)
        return method

    @property
    def function_spec(self) -> inspect.Signature:
        """The signature of the Python function."""
        return self._signature.parameters

    @property
    def __signature__(self) -> inspect.Signature:
        """The result of `inspect.signature`; Keras asks it of a layer's `call`."""
        return self._signature.parameters

    @property
    def function_type(self) -> FunctionType:
        """The parameters of the Python function, with the types that an input signature gives them."""
        return self._signature.type

    def __repr__(self) -> str:
        return f"<gradtape.function {self._name} at {id(self):#x}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if as_python.everywhere:
                return self.python_function(*args, **kwargs)
            plain = not kwargs and engine.local.trace.overrides is None and ambient.local.replica is None
            seen = tensors_in(args) if plain else None
            if seen is not None:
                found = self._seen.get(seen[1])
                if found is not None:
                    self._calls.since += 1
                    return found.run(seen[0])
            if self.api is not None and implementations.calls_under_way() is not None:
                return self.api.call(self, args, kwargs)
            return self.called(args, kwargs, seen)
        except BaseException as error:
            cut(error)
            raise

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any], seen: Any = None) -> Any:
        """Call the function itself, whatever implements the same; `seen` is how calls of the same tensors are found."""
        if naming.open_graphs and (made := hooks.graphs.function_called(self, args, kwargs)) is not NotImplemented:
            return made
        arguments = Arguments(self._signature.bind(args, kwargs)).of_call()
        nodes, passed = arguments.nodes, arguments.passed
        found = self._concrete(arguments)
        if seen is not None and engine.local.trace.parent is None and self.input_signature is None and self.api is None:
            self._seen[seen[1]] = found
        return found.run(nodes, passed)

    def _concrete(self, arguments: Arguments) -> ConcreteFunction:
        state = engine.local.trace
        overrides = state.overrides
        names = None if overrides is None else tuple(sorted(overrides.names.items()))
        key: Any = (arguments.key, names, ambient.local.replica)
        found = self._known(key, state, arguments)
        self._calls.since += state.parent is None
        if found is not None:
            return found
        with self._lock:
            found = self._known(key, state, arguments)
            if found is None:
                variables = arguments.variables
                found = self._trace(
                    arguments, bool(variables) and not reachable_besides_arguments(self.python_function, variables)
                )
                if variables and not found._passes:
                    key = (key, _same(variables))
                self._traced[(key, state.serial) if _belongs_to(state, found) else key] = found
        if self.api is not None:
            self.api.add(self, found)
        return found

    def traced_in(self, known: dict[Any, ConcreteFunction], key: Any, make: Callable[[], ConcreteFunction]) -> ConcreteFunction:
        """Return the trace that is `known` by a key, made now if there is none."""
        state = engine.local.trace
        with self._lock:
            found = known.get(key) or known.get((key, state.serial))
            if found is None:
                found = make()
                known[(key, state.serial) if _belongs_to(state, found) else key] = found
            return found

    def _known(self, key: Any, state: Trace, arguments: Arguments) -> ConcreteFunction | None:
        """Return the trace for these arguments: for their very variables, or for variables like them."""
        variables = arguments.stored and arguments.variables
        for wanted in ((key, _same(variables)), key) if variables else (key,):
            found = self._traced.get(wanted)
            if found is None and state.parent is not None:
                found = self._traced.get((wanted, state.serial))
            if found is not None and (not variables or found.takes(variables)):
                return found
        return None

    def _trace(self, arguments: Arguments, passes: bool) -> ConcreteFunction:
        known, new = self._signatures.find(arguments, arguments.shapes(self._signature))
        self._traces += new
        if new and engine.local.trace.parent is None and self._calls.traced_too_often(self, self._traces == 1):
            last = next(reversed(self._traced.values()))._arguments if self._traced else None
            warn(self, self._calls, self._instance is not None, list(self._signature.parameters.parameters), last, arguments)
        made = self._openly(known, arguments)
        if isinstance(made, ConcreteFunction):
            return made
        try:  # true shapes may tell more
            return self.traced_for(arguments, passes)
        except Exception as error:
            if made is None:
                raise
            if isinstance(error, InvalidInFunctionError):  # an error of the call, not of the trace
                raise InvalidArgumentError(None, None, error.message + detected_at(line_of(error))) from None
            if isinstance(error, (ValueError, TypeError)) and not isinstance(error, OpError) and not of_user(error):
                raise InvalidArgumentError(None, None, str(error)) from None
            raise

    def is_one(self) -> bool:
        """Return whether the next trace is one with others on TensorFlow."""
        return self.input_signature is not None or (self._relaxed and bool(self._traced))

    def traced_for(self, arguments: Arguments, passes: bool = False, again: Again | None = None) -> ConcreteFunction:
        """Trace the function for the shapes of the arguments; `again` for those of the elements that it takes."""
        python, parameters = self.transformed(), self.named(arguments)
        if again is None:
            arguments = arguments.standing()
        outermost = engine.local.trace.parent is None
        streams = again.streams if again is not None else self._streams if self.is_one() else []

        def run() -> Any:
            seeds.go_on(streams)
            return arguments.call(python, parameters)

        def once() -> Traced:
            in_loops = functools.partial(loop_over, None if self._instance is None else self._instance())
            through = in_loops if outermost and not arguments.stored else None
            scope, taken = Scope(shaped_by_runs=outermost, through=through), [*parameters]
            scope.elements = Elements(taken, again, take_in_order)
            try:
                return trace(run, taken, scope, convert=self.result)
            finally:
                scope.restore()

        tried: Traced | engine.NeedsValues
        try:
            traced, way = on_a_way(lambda: self.made_once(lambda: with_returns(once)), again and again.guide)
            tried = replace(traced, streams=streams, way=way)
        except engine.NeedsValues as reason:
            tried = reason
        strategy = strategy_of(self, arguments, tried, outermost)
        if type(strategy) is not OpByOp:
            self.was_traced()
        return ConcreteFunction(self, arguments, tried, strategy, passes)

    def _openly(self, known: Known, arguments: Arguments) -> ConcreteFunction | Exception | None:
        """Return the function for the extents of these arguments, out of a trace for open ones.

        None if there are no open extents, or such a trace cannot be kept; the error if it cannot be made.
        """
        fits = without_shapes(arguments) == known.rest and known.takes([n.aval.tensor_shape for n in arguments.nodes])
        is_open = any(not shape.is_fully_defined() for shape in known.shapes) and not any(n.aval.open for n in arguments.nodes)
        if not is_open or not fits or arguments.passed or ambient.local.replica is not None:
            return None
        known.opened = known.opened or opened(known.shapes)
        made: ConcreteFunction | Exception | None = known.opened.of_call(self, arguments)
        return made

    def named(self, arguments: Arguments) -> list[Node]:
        """Return leaves for the tensors among arguments, with the names of their parameters."""
        return named_parameters(arguments, self._signature.parameters, self.input_signature)

    def made_once(self, make: Callable[[], T], again: Callable[[], Any] | None = None) -> T:
        """Return what `make` gives. If that makes variables, it is called `again`, or what is said there, when they are there."""
        with tracing.creation_in_function(self._refusal) as creation:
            found = make()
        if creation.variables:  # what is made once must not be made again
            self._refusal = SINGLETON
            self._traces += 1
            with tracing.creation_in_function(SINGLETON):
                found = make() if again is None else (again(), found)[1]
        return found

    def traced_instead(self, concrete: ConcreteFunction, arguments: Arguments) -> None:
        """Trace for the calls that follow one by `concrete`; ValueError if it makes variables again."""
        self._traced = {key: found for key, found in self._traced.items() if found is not concrete}
        self._concrete(arguments)

    def source(self) -> Any:
        """Return the source of seeds for a trace that runs op by op. Those that are one on TensorFlow go on in one source."""
        if not self.is_one():
            return seeds.begun()
        self._source = self._source or seeds.begun()
        return self._source

    def was_traced(self) -> None:
        """Note that there is a trace, after which it makes no variables."""
        self._refusal = self._refusal or NOT_FIRST

    def on_symbols(self, arguments: Arguments, shapes: Sequence[TensorShape]) -> ConcreteFunction | None:
        """Return the function for tensors of these shapes, whose open extents are symbols; None if no way is found for it."""
        found = Opened(shapes)
        found.explore(self, arguments, 1)
        return found.traced

    def open_traces(self, arguments: Arguments, shapes: Sequence[TensorShape]) -> list[ConcreteFunction]:
        """Return the traces for tensors of these shapes: on the ways that there are without calls, and on those of calls.

        Raises why there is none.
        """
        rest = without_shapes(arguments)
        known = [k.opened for k in self._signatures._known if k.rest == rest and k.shapes == list(shapes)]
        found = next((o for o in known if isinstance(o, Opened)), None) or Opened(shapes)
        refused = found.explore(self, arguments, WAYS)
        if refused is not None and not found.traces:
            raise refused
        return found.traces

    def shown(self, arguments: Arguments) -> ConcreteFunction:
        """Trace what goes through Datasets in eager code, for its graph: it is not to be run."""
        python = self.transformed()
        parameters = self.named(arguments)
        with tracing.outside(), tracing.creation_in_function(SINGLETON):
            body = trace(lambda: arguments.call(python, parameters), parameters, Scope(through=ShownLoop), convert=self.result)
        return ConcreteFunction(self, copy.copy(arguments), body)

    def _decorate(self, decorator: Callable[..., Any]) -> None:
        """Wrap the Python function by `decorator`, before the first trace. Libraries know it by TensorFlow's private name."""
        if self._traced:
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self.__init__(  # type: ignore[misc]
            decorator(self.python_function), self.input_signature, self._autograph, self._name, self._relaxed, self.attributes
        )

    def transformed(self) -> Callable[..., Any]:
        """Return the function to trace or run: the Python function, transformed by autograph unless that is off."""
        if not self._autograph:
            return do_not_convert(self.python_function)
        from gradtape._src.control.autograph import converted  # loads what transforms source, at the first function only

        return converted(self.python_function)

    def result(self, value: Any) -> Any:
        """Convert a result to a Tensor; None stays None."""
        if value is None or isinstance(value, (Tensor, Stored)):
            return value if value is None else tensor(value)
        try:
            return tensor(value)
        except (TypeError, ValueError):
            raise TypeError(
                "To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or None "
                f"values; in compilation of {self.python_function!r}, found return value of type {type(value).__name__}, which "
                "is not a Tensor or ExtensionType."
            ) from None

    @public
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the traced function for these arguments, which may be `TensorSpec`s."""
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        values, spec = nest.flatten_with_spec(self._signature.bind(args, kwargs), nest.EXPANDED)
        specs = [TensorSpec(extents_of(x), x.dtype) if isinstance(x, (Tensor, np.ndarray)) else x for x in values]
        arguments = Arguments(nest.unflatten(spec, [symbol(x) if isinstance(x, TensorSpec) else x for x in specs]))
        wanted = [x for x in specs if isinstance(x, TensorSpec)]
        known = all(x.shape.is_fully_defined() for x in wanted)
        signature = None
        if not known and len(wanted) == len(arguments.nodes):
            signature, new = self._signatures.find(arguments, [spec.shape for spec in wanted])
            self._traces += new
        on_symbols = None
        if signature is not None and all(shape.rank is not None for shape in signature.shapes) and not arguments.passed:
            signature.opened = signature.opened or Opened(signature.shapes)
            if signature.opened.traced is None:
                signature.opened.explore(self, arguments, 1)
            on_symbols = signature.opened.traced
        try:
            found = on_symbols or self._concrete(arguments)
        except (engine.NeedsValues, ValueError, InvalidArgumentError) as reason:
            # In a function a call may know the values; with 1 for open extents it may not be traced, and a call tells them.
            in_function = isinstance(reason, engine.NeedsValues)
            if not in_function and (known or (signature is not None and of_user(reason))):
                raise
            found = ConcreteFunction(self, arguments, reason, OpByOp(self, reason))
            if self.api is not None and in_function:
                self.api.add(self, found)
        if not known:
            key = arguments.key, tuple([(str(x.shape), x.dtype) for x in wanted])
            found = self._opened.setdefault(key, found.seen_through(wanted))
        if not known or any(x.name for x in wanted):
            found.name_inputs([x.name for x in wanted])
        return found.keep()

    def all_concrete_functions(self) -> list[ConcreteFunction]:
        """Return the traced functions, as they were asked for; with an input signature the one for that."""
        if self.input_signature is not None:
            return [self.get_concrete_function()]
        opened = list(self._opened.values())
        plain = [self._alone(key, c) for key, c in list(self._traced.items()) if key[1] is None]
        covered = {id(part) for c in opened for part in (c._traced, c.opened)}
        own = [c for c in self._as_traced(plain) if covered.isdisjoint((id(c._traced), *([id(c.opened)] if c.opened else ())))]
        return [concrete.keep() for concrete in (*opened, *own)]

    def _alone(self, key: Any, concrete: ConcreteFunction) -> ConcreteFunction:
        """Return a traced function as it is without a strategy: for variables that have no copies for replicas."""
        if key[2] is None and not any(getattr(v, "is_copy", False) for v in concrete.variables):
            return concrete
        with ambient.setting(replica=ambient.ALONE):
            return self._concrete(concrete._arguments)

    def _as_traced(self, found: Sequence[ConcreteFunction]) -> list[ConcreteFunction]:
        """Return traced functions; one for those that were recorded from one trace for open extents."""
        one_each = {id(c) if c.opened is None else id(c.opened): c for c in reversed(found)}
        return [c if c.opened is None else c.seen_through(c.opened.specs) for c in reversed(one_each.values())]

    _list_all_concrete_functions = all_concrete_functions  # as Keras calls it, when it prints what it exports

    @public
    def get_initialization_function(self, *args: Any, **kwargs: Any) -> Callable[..., None]:
        """Trace for these arguments, which makes the variables; calling the result does nothing more, as they have values."""
        if self._traced:
            raise RuntimeError("get_initialization_function cannot be called after the function has been used")
        self.get_concrete_function(*args, **kwargs)
        return lambda *args, **kwargs: None

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return all signatures that were traced, as a text."""
        return "\n\n".join([found.pretty_printed_signature() for found in self._as_traced([*self._traced.values()])])

    def experimental_get_tracing_count(self) -> int:
        """Return how often TensorFlow would have traced the Python function; gradtape traces each shape anew."""
        return self._traces

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the traced functions use."""
        found = {id(v): v for c in self._traced.values() for v in c.variables}
        return tuple(found.values())


def _belongs_to(state: Trace, found: ConcreteFunction) -> bool:
    """Return whether what was traced is of use in the trace around only: it has tensors of that, or knows its values."""
    return (
        (state.parent is not None and isinstance(found.strategy, OpByOp))
        or any(n.trace is not None and n.trace.parent is not None for n in found._traced.captures)
        or (engine.graph_around() is not None and hooks.graphs.only_in_graphs(found._traced.program))
    )


def _same(variables: Sequence[Variable]) -> tuple[Reference, ...]:
    """Return the identities of variables, which keep them alive."""
    return tuple(map(Reference, variables))


@public
def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Create a function that runs as one compiled program; as a decorator, with or without arguments.

    It is traced once per signature: shapes and dtypes of tensors and variables, values of Python arguments, identity of objects.
    `input_signature` is a sequence of nests of `TensorSpec`; with `reduce_retracing`, too, other extents count as no new trace.
    With `autograph`, `if`, `while` and `for` over tensors become part of the program. Eager code is compiled without it, too: in
    a function Python runs once only. With `experimental_attributes`, functions of one `api_implements` stand for each other: in a
    function, the one for the device is called.

    >>> @tf.function
    ... def square(x):
    ...     return x * x
    >>> float(square(tf.constant(3.0)))
    9.0
    """

    attributes = implementations.checked(experimental_attributes)

    def decorate(python_function: Any) -> Function:
        if isinstance(python_function, Function):
            python_function = python_function.python_function
        if not callable(python_function):
            raise TypeError(f"tf.function takes a callable: {python_function!r} is not a callable object.")
        if input_signature is not None and not isinstance(input_signature, (list, tuple)):
            raise TypeError(
                f"input_signature must be either a tuple or a list of TensorSpecs, got {type(input_signature).__name__}."
            )
        relaxed = bool(reduce_retracing or experimental_relax_shapes)
        return Function(python_function, input_signature, bool(autograph), relaxed=relaxed, attributes=attributes)

    return decorate if func is None else decorate(func)
