"""`function`: a Python function that is traced once for each signature, and then called as one compiled program."""

from __future__ import annotations

import copy
import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from gradtape._src.autodiff.eager_record import Recorder
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
from gradtape._src.control.function_type import FunctionType
from gradtape._src.control.given import Given
from gradtape._src.control.implementations import API
from gradtape._src.control.iterators import Again, Elements
from gradtape._src.control.methods import Gone, reference
from gradtape._src.control.open_trace import Opened, opened
from gradtape._src.control.passed import reachable_besides_arguments
from gradtape._src.control.retracing import warn
from gradtape._src.control.scope import SINGLETON, Scope, Traced, local, on_a_way, trace
from gradtape._src.core.base import ambient, hooks, locks
from gradtape._src.core.base.errors import InvalidArgumentError, InvalidInFunctionError, OpError
from gradtape._src.core.base.hidden import hides
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
from gradtape._src.core.values.aval import changes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.random import seeds

# TensorFlow makes one trace for all extents that are unknown in an `input_signature` or a TensorSpec, or that `reduce_retracing`
# has relaxed; for variables of equal shape; and for equal numbers. gradtape has a Program for each shape. If extents are unknown,
# it makes these from one trace, as long as they take the same path. TensorFlow's traces are counted and warned of.
NOT_FIRST = (
    "Creating variables on a non-first call to a function decorated with tf.function.\n"
    "Make them in the first call, or before it: a layer, model or optimizer makes its variables in `build`."
)
T = TypeVar("T")
_functions: weakref.WeakSet[Function] = weakref.WeakSet()


def forget(variable: Variable) -> None:
    """Drop the traces that read or assign a variable, which is read in another way from now on."""
    for function in list(_functions):
        with function._lock:
            stale = [found for found in function._traced.values() if found.uses(variable)]
            if stale:
                function._traced = {key: found for key, found in function._traced.items() if found not in stale}
                function._seen = {}
                for known in function._signatures._known:
                    known.opened = None


WAYS = 8  # the largest number of paths that are traced for a saved function with unknown extents


@hides(
    """
    all_concrete_functions api attributes called is_one made_once named on_symbols open_traces result shown source
    traced_for traced_in traced_instead transformed untraced was_traced
    """
)
class Function:
    """A function under `tf.function`. Call it like the Python function; it is traced once for each new signature.

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
        self._refusal: str | None = None  # the error if the next trace creates variables
        self._begin(calls_of(python_function))

    def _begin(self, calls: Calls) -> None:
        self._signatures = Signatures(self.input_signature is not None, self._relaxed)
        self._traced: dict[Any, ConcreteFunction] = {}
        self._seen: dict[Any, ConcreteFunction] = {}  # the same traces, for calls with tensors only: a fast path
        self._calls, self._traces = calls, 0
        self._lock = locks.RLock()
        self._bound: dict[int, tuple[Any, Function]] = {}
        self._streams: list[Any] = []  # random streams, shared by the traces that are one in TensorFlow
        self._source: Any = None  # the source of seeds for calls that run op by op
        self._recorder = Recorder()  # of calls that run op by op
        self._opened: dict[Any, ConcreteFunction] = {}  # the traces as they show specs with unknown extents
        _functions.add(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without traces: the copy traces for itself."""
        own = "_signatures _traced _seen _calls _traces _lock _bound _streams _source _opened _recorder".split()
        return {n: v for n, v in vars(self).items() if n not in own} | {"_instance": self._instance and self._instance()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        instance = state["_instance"]
        vars(self).update(state, _instance=None if instance is None else reference(instance))
        self._begin(Calls())

    def untraced(self) -> Function:
        """Return a copy with only the traces for unknown extents. Its new traces are not counted."""
        new = copy.copy(self)
        new._signatures = Signatures(True, self._relaxed)  # only its first trace counts
        new._signatures._known += [copy.copy(known) for known in self._signatures._known if known.opened]
        for known in new._signatures._known:
            known.opened = known.opened.copied()
        return new

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The input signature, a nest of specs."""
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
        bound._function, bound._instance = self._function, refers  # the bound function must not keep its object alive
        del vars(bound)["__wrapped__"]
        self._bound[number] = refers, bound
        return bound

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function, bound to its object if it is a method."""
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
        """The signature that `inspect.signature` finds; Keras asks for that of a layer's `call`."""
        return self._signature.parameters

    @property
    def function_type(self) -> FunctionType:
        """The parameters of the Python function, with the types of the input signature."""
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
        """Call the function itself, even if another one implements the same API; `seen` is the key of its fast path."""
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
        """Return the trace for `key` in `known`; call `make` if there is none."""
        state = engine.local.trace
        with self._lock:
            found = known.get(key) or known.get((key, state.serial))
            if found is None:
                found = make()
                known[(key, state.serial) if _belongs_to(state, found) else key] = found
            return found

    def _known(self, key: Any, state: Trace, arguments: Arguments) -> ConcreteFunction | None:
        """Return the trace for these arguments: that of the same variables, or one that variables of the same type share."""
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
        try:
            return self._traced_as(known, arguments, passes)
        except Exception:
            if new:  # as in TensorFlow, a trace that fails does not count
                self._traces -= 1
                self._signatures.forget(known)
            raise

    def _traced_as(self, known: Known, arguments: Arguments, passes: bool) -> ConcreteFunction:
        made = self._openly(known, arguments)
        if isinstance(made, ConcreteFunction):
            return made
        try:  # a trace for unknown extents failed, one for these extents may not
            return self.traced_for(arguments, passes)
        except Exception as error:
            if made is None:
                raise
            if isinstance(error, InvalidInFunctionError):  # the call is wrong, not the trace
                raise InvalidArgumentError.saying(error.message + detected_at(line_of(error))) from None
            if isinstance(error, (ValueError, TypeError)) and not isinstance(error, OpError) and not of_user(error):
                raise InvalidArgumentError.saying(str(error)) from None
            raise

    def is_one(self) -> bool:
        """Return whether the next trace and the others together are a single trace in TensorFlow."""
        return self.input_signature is not None or (self._relaxed and bool(self._traced))

    def traced_for(self, arguments: Arguments, passes: bool = False, again: Again | None = None) -> ConcreteFunction:
        """Trace the function for the shapes of the arguments; with `again`, also for those of the elements that it takes."""
        python, parameters = self.transformed(), self.named(arguments)
        if again is None:
            arguments = arguments.standing()
        outermost = engine.local.trace.parent is None
        streams = again.streams if again is not None else self._streams if self.is_one() else []

        def once() -> Traced:
            in_loops = functools.partial(loop_over, None if self._instance is None else self._instance())
            through = in_loops if outermost and not arguments.stored else None
            scope, taken = Scope(shaped_by_runs=outermost, through=through, streams=streams), [*parameters]
            scope.elements = Elements(taken, again, take_in_order)
            return trace(lambda: arguments.call(python, parameters), taken, scope, convert=self.result)

        tried: Traced | engine.NeedsValues
        try:
            traced, way = on_a_way(lambda: self.made_once(lambda: _with_returns(once)), again and again.guide)
            tried = replace(traced, way=way)
        except engine.NeedsValues as reason:
            tried = reason
        strategy = strategy_of(self, arguments, tried, outermost)
        if type(strategy) is not OpByOp:
            self.was_traced()
        return ConcreteFunction(self, arguments, tried, strategy, passes)

    def _openly(self, known: Known, arguments: Arguments) -> ConcreteFunction | Exception | None:
        """Return the function for the extents of these arguments, made from a trace for unknown extents.

        None if no extent is unknown, or such a trace cannot be kept; the error if it fails.
        """
        fits = without_shapes(arguments) == known.rest and known.takes(arguments.given_shapes)
        is_open = any(not shape.is_fully_defined() for shape in known.shapes)
        on_symbols = any(changes(n.aval) for n in arguments.nodes)
        if not is_open or on_symbols or not fits or arguments.passed or ambient.local.replica is not None:
            return None
        known.opened = known.opened or opened(known.shapes)
        made: ConcreteFunction | Exception | None = known.opened.of_call(self, arguments)
        return made

    def named(self, arguments: Arguments) -> list[Node]:
        """Return a leaf for each tensor among the arguments, named after its parameter."""
        return named_parameters(arguments, self._signature.parameters, self.input_signature)

    def made_once(self, make: Callable[[], T], again: Callable[[], Any] | None = None) -> T:
        """Return `make()`. If that creates variables, call it again once they exist; or call `again` in its place."""
        with tracing.creation_in_function(self._refusal) as creation:
            found = make()
        if creation.variables:  # the trace must not create them in each call
            self._refusal = SINGLETON
            self._traces += 1
            with tracing.creation_in_function(SINGLETON):
                found = make() if again is None else (again(), found)[1]
        return found

    def traced_instead(self, concrete: ConcreteFunction, arguments: Arguments) -> None:
        """Trace for the calls after the first one by `concrete`; ValueError if the trace creates variables again."""
        self._traced = {key: found for key, found in self._traced.items() if found is not concrete}
        self._concrete(arguments)

    def source(self) -> Any:
        """Return the source of seeds for calls that run op by op. Traces that are one in TensorFlow share a source."""
        if not self.is_one():
            return seeds.begun()
        self._source = self._source or seeds.begun()
        return self._source

    def was_traced(self) -> None:
        """Note that the function was traced; later traces must not create variables."""
        self._refusal = self._refusal or NOT_FIRST

    def on_symbols(self, arguments: Arguments, shapes: Sequence[TensorShape]) -> ConcreteFunction | None:
        """Return the function for tensors of these shapes, with symbols for unknown extents; None if it cannot be traced so."""
        found = Opened(shapes)
        found.explore(self, arguments, 1)
        return found.traced

    def open_traces(self, arguments: Arguments, shapes: Sequence[TensorShape]) -> list[ConcreteFunction]:
        """Return the traces for tensors of these shapes: one for each path found by exploration or taken by a call.

        If there is none, raises the reason.
        """
        rest = without_shapes(arguments)
        known = [k.opened for k in self._signatures._known if k.rest == rest and k.shapes == list(shapes)]
        found = next((o for o in known if isinstance(o, Opened)), None) or Opened(shapes)
        refused = found.explore(self, arguments, WAYS)
        if refused is not None and not found.traces:
            raise refused
        return found.traces

    def shown(self, arguments: Arguments) -> ConcreteFunction:
        """Trace the function with its loops over Datasets, for its graph only; it is not to be run."""
        python = self.transformed()
        parameters = self.named(arguments)
        with tracing.outside(), tracing.creation_in_function(SINGLETON):
            body = trace(lambda: arguments.call(python, parameters), parameters, Scope(through=ShownLoop), convert=self.result)
        return ConcreteFunction(self, copy.copy(arguments), body)

    def _decorate(self, decorator: Callable[..., Any]) -> None:
        """Wrap the Python function by `decorator` before the first trace. Libraries use this private name of TensorFlow's."""
        if self._traced:
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self.__init__(  # type: ignore[misc]
            decorator(self.python_function), self.input_signature, self._autograph, self._name, self._relaxed, self.attributes
        )

    def transformed(self) -> Callable[..., Any]:
        """Return the function to trace or run: the Python function, transformed unless `autograph` is off."""
        if not self._autograph:
            return do_not_convert(self.python_function)
        from gradtape._src.control.autograph import converted  # imports malt, which is slow

        return converted(self.python_function)

    def result(self, value: Any) -> Any:
        """Convert a result to a Tensor; None stays None."""
        if value is None or isinstance(value, (Tensor, Stored)):
            return value if value is None else tensor(value)
        if isinstance(value, Given):
            if engine.local.trace.scope is not None:
                raise engine.NeedsValues("a function that returns a Dataset runs as eager code")
            return value
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
        """Return the traced function for these arguments; TensorSpecs may stand for tensors."""
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
            # A call may know values, or extents, without which the function cannot be traced here.
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
        """Return all traced functions as the user requested them; with an input signature, the one for that."""
        if self.input_signature is not None:
            return [self.get_concrete_function()]
        opened = list(self._opened.values())
        plain = [self._alone(key, c) for key, c in list(self._traced.items()) if key[1] is None]
        covered = {id(part) for c in opened for part in (c._traced, c.opened)}
        own = [c for c in self._as_traced(plain) if covered.isdisjoint((id(c._traced), *([id(c.opened)] if c.opened else ())))]
        return [concrete.keep() for concrete in (*opened, *own)]

    def _alone(self, key: Any, concrete: ConcreteFunction) -> ConcreteFunction:
        """Return a traced function for use without a strategy, with variables that have no copies for replicas."""
        if key[2] is None and not any(getattr(v, "is_copy", False) for v in concrete.variables):
            return concrete
        with ambient.setting(replica=ambient.ALONE):
            return self._concrete(concrete._arguments)

    def _as_traced(self, found: Sequence[ConcreteFunction]) -> list[ConcreteFunction]:
        """Return traced functions for the user: instances of one trace for unknown extents count as one."""
        one_each = {id(c) if c.opened is None else id(c.opened): c for c in reversed(found)}
        return [c if c.opened is None else c.seen_through(c.opened.specs) for c in reversed(one_each.values())]

    _list_all_concrete_functions = all_concrete_functions  # Keras calls this when it prints what it exports

    @public
    def get_initialization_function(self, *args: Any, **kwargs: Any) -> Callable[..., None]:
        """Trace for these arguments, which creates the variables. Calling the result does nothing, as they are initialized."""
        if self._traced:
            raise RuntimeError("get_initialization_function cannot be called after the function has been used")
        self.get_concrete_function(*args, **kwargs)
        return lambda *args, **kwargs: None

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return the signatures of all traces as text."""
        return "\n\n".join([found.pretty_printed_signature() for found in self._as_traced([*self._traced.values()])])

    def experimental_get_tracing_count(self) -> int:
        """Return how often TensorFlow would have traced the Python function, whatever gradtape's number of traces."""
        return self._traces

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the traced functions use."""
        found = {id(v): v for c in self._traced.values() for v in c.variables}
        return tuple(found.values())


def _with_returns(trace: Callable[[], T]) -> T:
    """Trace a function in which an `if` on a tensor may return in one branch only.

    That is valid if the code after the `if` returns a value, too. Else the function is traced again, and the `if` itself raises,
    so that a `try` around it sees the error, as in TensorFlow.
    """
    with ambient.setting(may_return_partly=True, returned_partly=False):
        try:
            return trace()
        except (ValueError, TypeError):
            if not local.returned_partly:
                raise
        with ambient.setting(may_return_partly=False):
            return trace()


def _belongs_to(state: Trace, found: ConcreteFunction) -> bool:
    """Return whether a trace is valid only within the outer trace, because it uses its tensors or knows its values."""
    return (
        (state.parent is not None and isinstance(found.strategy, OpByOp))
        or any(n.trace is not None and n.trace.parent is not None for n in found._traced.captures)
        or (engine.graph_around() is not None and hooks.graphs.only_in_graphs(found._traced.program))
    )


def _same(variables: Sequence[Variable]) -> tuple[Reference, ...]:
    """Return keys that compare variables by identity, and keep them alive."""
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
    """Create a function that runs as one compiled program. As a decorator, it can be used with or without arguments.

    It is traced once per signature: shapes and dtypes of tensors and variables, values of Python arguments, identity of objects.
    `input_signature` is a sequence of nests of `TensorSpec`; with it, or with `reduce_retracing`, other extents do not count as a
    new trace. With `autograph`, `if`, `while` and `for` over tensors become part of the program. Eager code is compiled, too, but
    runs its Python code in each call. Functions with the same `api_implements` in `experimental_attributes` stand for each other:
    inside of a function, the one for the device is called.

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
