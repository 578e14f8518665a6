"""`function`: a Python function, traced once for each signature, whose calls are one compiled program each."""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.scope import TENSOR, Body, MadeFromArguments, Scope, Structure, call, flatten_results, trace
from gradtape._src.core import engine, nest
from gradtape._src.core.aval import aval
from gradtape._src.core.convert import spoken_name, tensor
from gradtape._src.core.errors import OutOfRangeError, cut, invalid, public
from gradtape._src.core.program import Node, Program, leaf
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import EagerTensor, Stored, Tensor, handle
from gradtape._src.core.variable import Variable

logger = logging.getLogger("gradtape")
MANY_TRACES = 5  # so many traces in so many calls are worth a warning
_run_eagerly = False


@public
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run functions as plain Python from now on (True), or compiled again (False); for debugging."""
    global _run_eagerly
    _run_eagerly = bool(run_eagerly)


@public
def functions_run_eagerly() -> bool:
    """Whether functions run as plain Python."""
    return _run_eagerly


class Arguments:
    """The arguments of a call: `nodes` of the tensors, and `key`, which says everything else."""

    __slots__ = ("fixed", "key", "leaves", "nodes", "spec")

    def __init__(self, values: Any) -> None:
        self.leaves, self.spec = nest.flatten_with_spec(values, nest.EXPANDED)
        self.nodes: list[Node] = []
        self.fixed: list[Any] = []
        key: list[Any] = []
        for x in self.leaves:
            if isinstance(x, Tensor):
                node = x.node
                self.nodes.append(node)
                self.fixed.append(TENSOR)
                key.append(node.aval)
            elif isinstance(x, (np.ndarray, np.generic)) or (hasattr(x, "__array__") and not isinstance(x, Stored)):
                node = tensor(x).node
                self.nodes.append(node)
                self.fixed.append(TENSOR)
                key.append(node.aval)
            else:
                self.fixed.append(x)
                key.append(_key_of(x))
        self.key = (self.spec, tuple(key))

    def packed(self, nodes: Sequence[Node]) -> Any:
        """The arguments with these nodes as tensors."""
        remaining = iter(nodes)
        return nest.unflatten(self.spec, [handle(next(remaining)) if f is TENSOR else f for f in self.fixed])


def _key_of(value: Any) -> Any:
    """What identifies an argument that is no tensor: numbers and strings by value, objects by identity."""
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), type)):
        return (type(value), value if value == value else "nan")
    if isinstance(value, TensorSpec):
        return (TensorSpec, value.shape, value.dtype)
    if isinstance(value, Variable):
        return (Variable, id(value), value.aval)
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"Could not generate a generic TraceType for {value!r}: an argument that is no tensor must be hashable, as it is "
            "part of the signature. Give tensors, numbers, strings, nests of them, or an object that can be hashed."
        ) from None
    return (object, id(value))


class Function:
    """What `tf.function` makes: call it like the Python function; each new signature is traced once."""

    _function: Any
    _instance: Callable[[], Any] | None

    def __init__(
        self, python_function: Callable[..., Any], input_signature: Any = None, autograph: bool = True, name: str | None = None
    ) -> None:
        functools.update_wrapper(self, python_function)
        self._function, self._instance = python_function, None
        self._name = name or getattr(python_function, "__name__", type(python_function).__name__)
        self._autograph = autograph
        try:
            self._signature = inspect.signature(python_function)
        except (TypeError, ValueError):
            self._signature = inspect.Signature(
                [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)], return_annotation=Any
            )
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._check_signature()
        self._traced: dict[Any, ConcreteFunction] = {}
        self._seen: dict[Any, ConcreteFunction] = {}  # the same for calls with nothing but tensors, found without detours
        self._created = False
        self._traces = self._calls_since = 0
        self._lock = threading.RLock()
        self._bound: dict[int, tuple[Any, Function]] = {}
        kinds = [p.kind for p in self._signature.parameters.values()]
        self._simple = all(k is inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds) and input_signature is None
        self._count = len(kinds)

    def _check_signature(self) -> None:
        """TypeError unless the input signature has a spec for each argument without a default."""
        parameters = [p for p in self._signature.parameters.values() if p.name != "self"]
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        for parameter in positional[len(self.input_signature) :] if self.input_signature is not None else ():
            if parameter.default is parameter.empty:
                raise TypeError(f"input_signature missing type constraint for {parameter.name}: give a TensorSpec, or a default.")

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        if instance is None:
            return self
        known = self._bound.get(id(instance))
        if known is not None and known[0]() is instance:
            return known[1]
        number = id(instance)
        try:
            reference: Any = weakref.ref(instance, lambda _: self._bound.pop(number, None))
        except TypeError:
            reference = functools.partial(_itself, instance)
        method = self._function.__get__(instance, owner)
        bound = Function(method, self.input_signature, self._autograph, self._name)
        bound._function, bound._instance = self._function, reference  # it must not keep its object alive
        del vars(bound)["__wrapped__"]
        self._bound[id(instance)] = reference, bound
        return bound

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function that was given; of a method, bound to its object."""
        if self._instance is None:
            return self._function
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"The object whose method {self._name} was is gone: keep the object, not the method alone.")
        method: Callable[..., Any] = self._function.__get__(instance)
        return method

    @property
    def function_spec(self) -> inspect.Signature:
        """The signature of the Python function."""
        return self._signature

    def __repr__(self) -> str:
        return f"<gradtape.function {self._name} at {id(self):#x}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if _run_eagerly:
                return self.python_function(*args, **kwargs)
            seen = _tensors_in(args) if not kwargs and engine.local.trace.overrides is None else None
            if seen is not None:
                found = self._seen.get(seen[1])
                if found is not None:
                    return found._run(seen[0])
            arguments = self._bind(args, kwargs)
            nodes = arguments.nodes
            found = self._concrete(arguments)
            if seen is not None and engine.local.trace.parent is None and self.input_signature is None:
                self._seen[seen[1]] = found
            return found._run(nodes)
        except BaseException as error:
            cut(error)
            raise

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        if self._simple and not kwargs and len(args) == self._count:
            return Arguments((args, {}))
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self._misfit(str(error), args, kwargs) from None
        bound.apply_defaults()
        if self.input_signature is not None:
            return Arguments((self._fitted(bound.args, args, kwargs), bound.kwargs))
        return Arguments((bound.args, bound.kwargs))

    def _misfit(self, why: str, args: Any, kwargs: Any) -> TypeError:
        names = list(self._signature.parameters)
        specs = self.input_signature or ()
        spoken = ", ".join(
            f"{n}: {specs[i]!r}" if i < len(specs) else str(self._signature.parameters[n]) for i, n in enumerate(names)
        )
        return TypeError(
            f"Binding inputs to tf.function failed due to `{why}`. Received args: {args} and kwargs: {kwargs} for signature: "
            f"({spoken})."
        )

    def _fitted(self, values: tuple[Any, ...], args: Any, kwargs: Any) -> tuple[Any, ...]:
        """The arguments as the input signature wants them."""
        signature = self.input_signature
        assert signature is not None
        fitted = []
        for position, value in enumerate(values):
            if position >= len(signature):
                fitted.append(value)
                continue
            spec = signature[position]
            if isinstance(spec, TensorSpec):  # a list of numbers is one tensor there
                fitted.append(self._fits(value, spec, args, kwargs))
                continue
            try:
                fitted.append(nest.map_up_to(lambda s, v: self._fits(v, s, args, kwargs), spec, value))
            except ValueError as error:
                raise self._misfit(str(error), args, kwargs) from None
        if len(signature) > len(values):
            raise self._misfit(f"{len(signature)} specs for {len(values)} arguments", args, kwargs)
        return tuple(fitted)

    def _fits(self, value: Any, spec: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(spec, TensorSpec):
            return value
        if isinstance(value, TensorSpec):
            return value
        try:
            given = tensor(value, None if hasattr(value, "dtype") else spec.dtype)
        except (TypeError, ValueError) as error:
            raise self._misfit(str(error), args, kwargs) from None
        if not spec.is_compatible_with(given):
            raise self._misfit(f"Can not cast {TensorSpec(given.shape, given.dtype)!r} to {spec!r}", args, kwargs)
        return given

    def _concrete(self, arguments: Arguments) -> ConcreteFunction:
        state = engine.local.trace
        overrides = state.overrides
        key = (arguments.key, None if overrides is None else tuple(sorted(overrides.names.items())))
        found = self._traced.get(key) or (self._traced.get((key, state.serial)) if state.parent is not None else None)
        self._calls_since += 1
        if found is not None:
            return found
        with self._lock:
            found = self._traced.get(key)
            if found is None:
                found = self._trace(arguments)
                inner = any(n.trace is not None and n.trace.parent is not None for n in found._body.captures)
                self._traced[(key, state.serial) if inner else key] = found
            return found

    def _trace(self, arguments: Arguments) -> ConcreteFunction:
        self._traces += 1
        if self._traces >= MANY_TRACES and self._calls_since < 2 * MANY_TRACES and self._traces % MANY_TRACES == 0:
            self._warn(arguments)
        if self._traces % MANY_TRACES == 0:
            self._calls_since = 0
        python = self.python_function
        if self._autograph:
            from gradtape._src.control.autograph import converted  # loads what transforms source, at the first function only

            python = converted(python)
        parameters = [leaf(n.aval, None) for n in arguments.nodes]

        def run() -> Any:
            args, kwargs = arguments.packed(parameters)
            return python(*args, **kwargs)

        try:
            if any(n.aval.dtype == object for n in arguments.nodes):
                raise engine.NeedsValues("strings are not part of compiled programs")
            body = trace(run, parameters, Scope(creates=not self._created), convert=self._result)
            if body.created:  # what is made once must not be made again
                self._created = True
                body = trace(run, parameters, Scope(creates=False), convert=self._result)
        except engine.NeedsValues as reason:
            if engine.local.trace.parent is not None:
                raise  # the outermost function runs eagerly
            return (FirstCall if isinstance(reason, MadeFromArguments) else EagerFunction)(self, arguments)
        self._created = True
        return ConcreteFunction(self, arguments, body)

    def _result(self, value: Any) -> Any:
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

    def _warn(self, arguments: Arguments) -> None:
        """Say which argument it is that is new in every call."""
        names = list(self._signature.parameters)
        last = next(reversed(self._traced.values()))._arguments if self._traced else None
        changed = ""
        if last is not None and last.spec == arguments.spec:
            for i, (old, new) in enumerate(zip(last.key[1], arguments.key[1], strict=True)):
                if old != new:
                    name = names[i] if i < len(names) else f"number {i}"
                    changed = f" The argument {name!r} changed: it was {_spoken(old)} and is now {_spoken(new)}."
                    break
        logger.warning(
            "%d out of the last %d calls to %r triggered tf.function retracing. Tracing is expensive.%s A Python number is part "
            "of the signature, so pass tf.constant(…) for what changes; give tensors of one shape, or an input_signature.",
            MANY_TRACES,
            max(self._calls_since, MANY_TRACES),
            self,
            changed,
        )

    @public
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The traced function for these arguments, which may be `TensorSpec`s."""
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        leaves, spec = nest.flatten_with_spec((bound.args, bound.kwargs), nest.EXPANDED)
        specs = [TensorSpec(x.shape, x.dtype) if isinstance(x, (Tensor, np.ndarray)) else x for x in leaves]
        symbols = [_symbol(x) if isinstance(x, TensorSpec) else x for x in leaves]
        found = self._concrete(Arguments(nest.unflatten(spec, symbols)))
        found._specs = specs
        return found

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """All signatures that were traced, as a text."""
        return "\n\n".join([found.pretty_printed_signature() for found in self._traced.values()])

    def experimental_get_tracing_count(self) -> int:
        """How often the Python function was traced."""
        return self._traces

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the traced functions use."""
        found = {id(v): v for c in self._traced.values() for v in c.variables}
        return tuple(found.values())


def _tensors_in(args: tuple[Any, ...]) -> tuple[list[Node], tuple[Any, ...]] | None:
    """`(nodes, key)` of arguments that are tensors, or lists and tuples of tensors; None for any others."""
    nodes: list[Node] = []
    key: list[Any] = []
    for value in args:
        kind = value.__class__
        if kind is EagerTensor:
            nodes.append(value.node)
            key.append(value.node.aval)
        elif kind is list or kind is tuple:
            key.append((kind, len(value)))
            for item in value:
                if item.__class__ is not EagerTensor:
                    return None
                nodes.append(item.node)
                key.append(item.node.aval)
        else:
            return None
    return nodes, tuple(key)


def _itself(instance: Any) -> Any:
    return instance


def _symbol(spec: TensorSpec) -> Tensor:
    """A tensor without a value for a spec; an extent that is open is traced as 1, and again when a call tells it."""
    if spec.shape.rank is None:
        shape: tuple[int, ...] = ()
    else:
        shape = tuple([1 if d is None else d for d in spec.shape])
    return EagerTensor(leaf(aval(shape, spec.dtype.numpy), None))


def _spoken(key: Any) -> str:
    return f"{key[1]!r}" if isinstance(key, tuple) and len(key) > 1 and key[0] is not object else repr(key)


class ConcreteFunction:
    """A function traced for one signature. Called with the tensors of that signature, or with all arguments."""

    def __init__(self, function: Function, arguments: Arguments, body: Body) -> None:
        self._function, self._arguments, self._body = function, arguments, body
        self._specs: list[Any] | None = None
        self.name = f"__inference_{function._name}_{id(self) % 10000}"
        arguments.nodes = [leaf(n.aval, None) for n in arguments.nodes]  # the signature, not the first call's values
        arguments.leaves = []

    @property
    def program(self) -> Program:
        """What is run: a Program."""
        return self._body.program

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it reads or assigns."""
        return tuple({id(v): v for v in (*self._body.variables, *self._body.written)}.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return tuple([v for v in self.variables if v.trainable])

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors from outside of the function that it uses."""
        return list(self._body.keep)

    @property
    def structured_input_signature(self) -> Any:
        """`(args, kwargs)` with a TensorSpec for each tensor."""
        remaining = iter(self._input_specs())
        return nest.unflatten(self._arguments.spec, [next(remaining) if f is TENSOR else f for f in self._arguments.fixed])

    def _input_specs(self) -> list[TensorSpec]:
        if self._specs is not None:
            return [s for s in self._specs if isinstance(s, TensorSpec)]
        return [TensorSpec(n.aval.shape, n.aval.type) for n in self._arguments.nodes]

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of the tensors that it takes."""
        return self._input_specs()

    @property
    def structured_outputs(self) -> Any:
        """The results' structure, with a TensorSpec for each tensor."""
        structure = self._body.structure
        remaining = iter(self.outputs)
        return nest.unflatten(structure.spec, [f if f is None else next(remaining) for f in structure.fixed])

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the tensors that it gives."""
        count = len(self._body.avals) - len(self._body.written)
        return [TensorSpec(a.shape, a.type) for a in self._body.avals[:count]]

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return nest.map_structure(lambda s: s if s is None else s.shape, self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return nest.map_structure(lambda s: s if s is None else s.dtype, self.structured_outputs)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The signature as a text."""
        args, kwargs = self.structured_input_signature
        bound = self._function._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        parameters = self._function._signature.parameters
        lines = ["Input Parameters:"]
        lines += [f"  {n} ({parameters[n].kind.name}): {_type_text(v)}" for n, v in bound.arguments.items()] or ["  None"]
        lines += ["Output Type:", f"  {_type_text(self.structured_outputs)}", "Captures:"]
        lines += [f"  {id(t)}: {TensorSpec(t.shape, t.dtype)!r}" for t in self._body.keep] or ["  None"]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    def __repr__(self) -> str:
        args, kwargs = self.structured_input_signature
        bound = self._function._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        inside = ", ".join([f"{n}: {_type_text(v)}" for n, v in bound.arguments.items()])
        return f"<ConcreteFunction ({inside}) -> {_type_text(self.structured_outputs)} at {id(self):#x}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            nodes = self._nodes(args, kwargs)
            wanted = self._arguments.nodes
            if [n.aval for n in nodes] == [n.aval for n in wanted]:
                return self._run(nodes)
            for position, (given, expected) in enumerate(zip(nodes, wanted, strict=True)):
                if given.aval.dtype is not expected.aval.dtype:
                    raise invalid(
                        f"cannot compute {self.name} as input #{position}(zero-based) was expected to be a "
                        f"{spoken_name(expected.aval.type)} tensor but is a {spoken_name(given.aval.type)} tensor "
                        f"[Op:{self.name}]"
                    )
            packed_args, packed_kwargs = self._arguments.packed(nodes)  # another shape: a program of its own
            return self._function._concrete(Arguments((packed_args, packed_kwargs)))._run(nodes)
        except BaseException as error:
            cut(error)
            raise

    def _nodes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Node]:
        count = len(self._arguments.nodes)
        parameters = self._function._signature.parameters
        try:
            bound = self._function._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = Arguments((bound.args, bound.kwargs))
            if arguments.spec == self._arguments.spec and arguments.fixed == self._arguments.fixed:
                return arguments.nodes
        except (TypeError, ValueError):
            pass
        values = list(args)
        values += [kwargs[name] for name in parameters if name in kwargs]
        wanted = [n.aval.type for n in self._arguments.nodes]
        leaves = [x for x in nest.flatten(values, expand_composites=True) if not isinstance(x, (str, type(None)))]
        if len(leaves) != count:
            raise TypeError(
                f"{self.name} takes {count} tensors, {self._input_specs()}, received {len(leaves)}: {args}, {kwargs}."
            )
        return [tensor(x, None if hasattr(x, "dtype") else d).node for x, d in zip(leaves, wanted, strict=True)]

    def _run(self, nodes: Sequence[Node]) -> Any:
        return self._body.structure.pack(call(self._body, nodes))

    @property
    def graph(self) -> Any:
        """What was traced; printed, it is the program."""
        return self._body.program


class EagerFunction(ConcreteFunction):
    """A function that cannot be compiled, because a shape or the way it goes on depends on values: it runs as eager code."""

    def __init__(self, function: Function, arguments: Arguments) -> None:
        body = Body()
        body.captures, body.variables, body.written, body.keep, body.avals, body.draws = [], [], [], [], [], []
        body.structure = Structure(nest.flatten_with_spec(None)[1], [None])
        super().__init__(function, arguments, body)

    def _run(self, nodes: Sequence[Node]) -> Any:
        args, kwargs = self._arguments.packed(nodes)
        try:
            results = self._function.python_function(*args, **kwargs)
        except StopIteration:  # a loop around the call would take it for its own end
            raise OutOfRangeError(None, None, "End of sequence: the iterator has no more elements.") from None
        found, structure = flatten_results(results, self._function._result)
        return structure.pack(found)


class FirstCall(EagerFunction):
    """The call of a function that makes variables from its arguments: eager code; it is traced for the calls that follow."""

    def _run(self, nodes: Sequence[Node]) -> Any:
        results = super()._run(nodes)
        function = self._function
        function._created = True
        function._traced = {key: found for key, found in function._traced.items() if found is not self}
        function._concrete(self._arguments)  # ValueError if it makes variables again
        return results


def _type_text(value: Any) -> str:
    if isinstance(value, TensorSpec):
        return f"TensorSpec(shape={value.shape}, dtype=tf.{value.dtype.name}, name=None)"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_type_text, value))}]"
    if isinstance(value, list):
        return f"List[{', '.join(map(_type_text, value))}]"
    if isinstance(value, dict):
        return f"Dict[{', '.join(f'[{k!r}, {_type_text(v)}]' for k, v in value.items())}]"
    return f"Literal[{value!r}]"


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
    """A function that runs as one compiled program; as a decorator, with or without arguments.

    It is traced once per signature: shapes and dtypes of tensors, values of Python arguments, identity of objects.
    `input_signature` is a sequence of nests of `TensorSpec`. With `autograph`, `if`, `while` and `for` over tensors become
    part of the program. Eager code is compiled without it, too: what it adds is that Python runs once only.

    >>> @tf.function
    ... def square(x):
    ...     return x * x
    >>> square(tf.constant(3.0)).numpy()
    9.0
    """

    def decorate(python_function: Any) -> Function:
        if isinstance(python_function, Function):
            python_function = python_function.python_function
        if not callable(python_function):
            raise TypeError(f"tf.function takes a callable, received {python_function!r}.")
        if input_signature is not None and not isinstance(input_signature, (list, tuple)):
            raise TypeError(
                f"input_signature must be either a tuple or a list of TensorSpecs, got {type(input_signature).__name__}."
            )
        return Function(python_function, input_signature, bool(autograph))

    return decorate if func is None else decorate(func)
