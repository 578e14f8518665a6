"""The arguments of a call: its tensors, the key that identifies the call, and the constraints of a signature."""

from __future__ import annotations

import copy
import inspect
import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from gradtape._src.control.function_type import FunctionType, Kind, Parameter, fitted, nested, type_of
from gradtape._src.control.given import Given, GivenSpec
from gradtape._src.control.scope import TENSOR, ResultStructure
from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.declarations.spec import NoneTensorSpec, TensorSpec, TraceType, TypeSpec, VariableSpec
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.ragged import RaggedTensor


class Arguments(ResultStructure):
    """The arguments of a call: the `nodes` of its tensors, and `key`, which identifies everything else.

    `stored` has each variable among them once. Two variables of one type have the same key; their order of first use numbers
    them. `given` has the Datasets.
    """

    __slots__ = ("given", "key", "leaves", "nodes", "stored")

    def __init__(self, values: Any) -> None:
        self.leaves, spec = nest.flatten_with_spec(values, nest.EXPANDED)
        super().__init__(spec, [])
        self.nodes: list[Node] = []
        self.stored: list[Stored] = []
        self.given: list[Any] = []
        numbers: dict[int, int] = {}
        key: list[Any] = []
        for x in self.leaves:
            if isinstance(x, Tensor) or (hasattr(x, "__array__") and not isinstance(x, (Stored, type, np.str_))):
                node = x.node if isinstance(x, Tensor) else tensor(x).node
                self.nodes.append(node)
                self.fixed.append(TENSOR)
                key.append(node.aval)
            elif isinstance(x, Stored) and isinstance(variable := x.variable, Variable):
                number = numbers.setdefault(id(variable), len(numbers))
                if number == len(self.stored):
                    self.stored.append(x)
                self.fixed.append(x)
                key.append((VariableSpec, type(x), number, variable.aval, variable.trainable, variable.shape))
            elif isinstance(x, GIVEN):
                self.given.append(x)
                self.fixed.append(x)
                key.append((GivenSpec, _spec_of(x)))
            else:
                kind = _kind_of(x)
                self.fixed.append(x if kind is None else kind.placeholder_value(None))
                key.append(_key_of(x) if kind is None else (TraceType, kind))
        self.key = (self.spec, tuple(key))

    @property
    def given_shapes(self) -> list[TensorShape]:
        """The shapes of the tensors."""
        return [n.aval.tensor_shape if n.aval.ranked else n.aval.open_shape for n in self.nodes]

    def shapes(self, signature: Signature) -> list[TensorShape]:
        """Return the shapes for which TensorFlow would trace: those of the input signature, or else of the tensors.

        The number of values of a RaggedTensor is None, since one trace serves all numbers.
        """
        if signature.specs is not None:
            values = nest.flatten(signature.stated, expand_composites=True)
            stated = [value.shape for value in values if isinstance(value, TensorSpec)]
            if len(stated) == len(self.nodes):
                return stated
        found = dict(zip(map(id, self.nodes), self.given_shapes, strict=True))
        for x in nest.flatten(self.pack(self.nodes)):
            if isinstance(x, RaggedTensor):
                for part in (x.flat_values, *x.nested_row_splits[1:]):
                    found[id(part.node)] = TensorShape([None]).concatenate(part.node.aval.tensor_shape[1:])
        return [found[id(node)] for node in self.nodes]

    def of_call(self) -> Arguments:
        """Return itself; ValueError if a spec was passed as a value."""
        for x in self.fixed:
            if isinstance(x, TypeSpec) and not isinstance(x, NoneTensorSpec):
                raise ValueError(
                    f"Attempt to convert a value ({x!r}) with an unsupported type ({type(x)}) to a Tensor. A call takes values. "
                    "Give a spec to get_concrete_function, or state it as input_signature."
                )
        return self

    @property
    def variables(self) -> list[Variable]:
        """The variables among the arguments, without duplicates."""
        return [x.variable for x in self.stored]

    def forget_variables(self) -> None:
        """Keep the types of the variables instead of the variables."""
        numbers = {id(variable): number for number, variable in enumerate(self.variables)}
        self.fixed = [
            VariableSpec.of(x.variable, numbers[id(x.variable)]) if isinstance(x, Stored) and id(x.variable) in numbers else x
            for x in self.fixed
        ]
        self.stored = []

    @property
    def passed(self) -> list[Any]:
        """The variables, then the Datasets: the arguments that a call passes besides its tensors."""
        return [*self.stored, *self.given]

    def of(self, passed: Sequence[Any]) -> Arguments:
        """Return these arguments with the variables and Datasets of another call."""
        if not passed:
            return self
        stored = [x for x in passed if isinstance(x, Stored)]
        found = self._filled(passed[len(stored) :])
        if stored:
            found.fixed = [
                stored[x.alias_id] if isinstance(x, VariableSpec) and x.alias_id is not None else x for x in found.fixed
            ]
            found.stored = stored
        return found

    def _filled(self, given: Iterable[Any]) -> Arguments:
        """Return these arguments with `given` in the places of the Datasets."""
        found, others = copy.copy(self), iter(given)
        found.fixed = [next(others) if isinstance(x, GIVEN) else x for x in self.fixed]
        found.given = [x for x in found.fixed if isinstance(x, GIVEN)]
        return found

    def standing(self) -> Arguments:
        """Return the arguments for a trace, with a stand-in for each Dataset."""
        if not self.given:
            return self
        return self._filled([_spec_of(x).stand_in() for x in self.given])

    def described(self, specs: Sequence[Any]) -> Any:
        """Return the nest of arguments with `specs` in the places of tensors and a spec for each Dataset."""
        return self._filled(map(_spec_of, self.given)).fill(specs)

    def call(self, function: Callable[..., Any], nodes: Sequence[Node]) -> Any:
        """Call `function` with these arguments and other tensors; ValueError if it modifies a list or dict argument."""
        args, kwargs = self.pack(nodes)
        before, spec = nest.flatten_with_spec((args, kwargs))
        results = function(*args, **kwargs)
        after, changed = nest.flatten_with_spec((args, kwargs))
        if changed != spec or any(x is not y for x, y in zip(before, after, strict=True)):
            raise ValueError(
                "A function should not modify its Python input arguments: a list or dict among them was changed. Modifying a "
                "copy is allowed: `values = list(values)`."
            )
        return results


GIVEN = Given, GivenSpec


def _spec_of(given: Any) -> Any:
    return given._type_spec if isinstance(given, Given) else given


def _kind_of(value: Any) -> TraceType | None:
    """Return the type by which an object says for which others its trace serves; None if it says nothing, or a TypeSpec."""
    states = None if isinstance(value, type) else getattr(value, "__tf_tracing_type__", None)
    if states is None:
        return None
    found = states(None)
    if not isinstance(found, TraceType):
        raise TypeError(
            f"Expected an instance of TraceType for Tracing Protocol call to {value} but got {found}. Derive its class from "
            "tf.types.experimental.TraceType."
        )
    return None if isinstance(found, TypeSpec) else found


def _key_of(value: Any) -> Any:
    """Return the key of an argument that is not a tensor. Objects are equal as `==` says, while they live."""
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), type)):
        return (str if isinstance(value, np.str_) else type(value), value if value == value else "nan")
    if isinstance(value, TensorSpec):
        return (TensorSpec, value.shape, value.dtype)
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"Could not generate a generic TraceType for {value!r}: an argument that is no tensor must be hashable, as it is "
            "part of the signature. Give tensors, numbers, strings, nests of them, or an object that can be hashed."
        ) from None
    try:
        return (object, weakref.ref(value))
    except TypeError:  # a kind of object that has no weak references
        return (object, value)


def tensors_in(args: tuple[Any, ...]) -> tuple[list[Node], tuple[Any, ...]] | None:
    """Return `(nodes, key)` if all arguments are tensors, or lists and tuples of tensors; else None."""
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


NUMBERS = (bool, int, float, complex)


def symbol(spec: TensorSpec) -> Tensor:
    """Create a tensor without a value for a spec, with 1 for an unknown extent and rank 0 for an unknown rank."""
    shape = [] if spec.shape.rank is None else [1 if extent is None else extent for extent in spec.shape.as_list()]
    return EagerTensor(leaf(aval(shape, spec.dtype.numpy), None))


def named_parameters(arguments: Arguments, signature: inspect.Signature, specs: Sequence[Any] | None) -> list[Node]:
    """Create a leaf without a value for each tensor among the arguments, named after its parameter or spec.

    A leaf's attributes are the names of all leaves and its own position. `core/programs/function_names` numbers equal names.
    """
    symbols = [leaf(node.aval, None) for node in arguments.nodes]
    args, kwargs = arguments.pack(symbols)
    stated = [spec.name if isinstance(spec, TensorSpec) else None for spec in (specs or ())[: len(args)]]
    named = [
        (own or name, x.node)
        for own, (name, _, value) in itertools.zip_longest(stated, spread(signature, args, kwargs))
        for x in nest.flatten(value, expand_composites=True)
        if isinstance(x, Tensor) and x.node in symbols
    ]
    known = {id(node) for _, node in named}
    # Some tensors have no spec of their own, such as the extents of a SparseTensor.
    named += [("args", node) for node in symbols if id(node) not in known]
    taken = tuple([name for name, _ in named])
    for place, (_, node) in enumerate(named):
        node.key = (None, (taken, place))
    return symbols


def spread(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return `(name, kind, value)` of each argument of a call, with `*args` and `**kwargs` one by one."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional = any(p.kind is Kind.VAR_POSITIONAL for p in signature.parameters.values())
    found: list[tuple[str, Any, Any]] = []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is Kind.VAR_POSITIONAL:
            found += [(f"{name}_{i}", Kind.POSITIONAL_ONLY, v) for i, v in enumerate(value)]
        elif kind is Kind.VAR_KEYWORD:
            found += [(n, Kind.KEYWORD_ONLY, value[n]) for n in sorted(value)]
        else:
            found.append((name, Kind.POSITIONAL_ONLY if positional and kind is Kind.POSITIONAL_OR_KEYWORD else kind, value))
    last = [entry for entry in found if entry[1] is Kind.KEYWORD_ONLY]  # sorted by name, as in a nest
    return [*found[: len(found) - len(last)], *sorted(last, key=lambda entry: entry[0])]


class Signature:
    """The parameters of a Python function; `type` has them with the nests of TensorSpecs and values that constrain them.

    With an input signature, a parameter without a spec always has its default value. `*args` take the remaining specs; `**kwargs`
    are not allowed.
    """

    def __init__(self, python_function: Callable[..., Any], input_signature: Any) -> None:
        try:
            self.parameters = inspect.signature(python_function)
        except (TypeError, ValueError):
            self.parameters = inspect.Signature(
                [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)], return_annotation=Any
            )
        self.specs = None if input_signature is None else tuple(input_signature)
        wanted = {}
        if self.specs is not None:
            _check_specs(self.specs)
            wanted = self._constrained(list(self.specs))
        parameters = self.parameters.parameters.values()
        types = {name: type_of(value) for name, value in wanted.items()}
        self.type = FunctionType(
            [Parameter(p.name, p.kind, default=p.default, annotation=types.get(p.name, p.empty)) for p in parameters]
        )
        kinds = [p.kind for p in parameters]
        self.simple = all(k is inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds) and input_signature is None
        self.count = len(kinds)

    def _constrained(self, specs: list[Any]) -> dict[str, Any]:
        """Assign the specs to the parameters in order, and return them by name; parameters without a spec must have a default."""
        kept: list[inspect.Parameter] = []
        wanted: dict[str, Any] = {}
        positional = any(p.kind is Kind.VAR_POSITIONAL for p in self.parameters.parameters.values())
        for p in self.parameters.parameters.values():
            if p.kind is Kind.VAR_POSITIONAL:
                for i, spec in enumerate(specs):
                    kept.append(inspect.Parameter(f"{p.name}_{i}", Kind.POSITIONAL_ONLY))
                    wanted[kept[-1].name] = spec
                specs = []
                continue
            if p.kind is Kind.VAR_KEYWORD:
                continue
            if p.kind is Kind.KEYWORD_ONLY and p.default is p.empty:
                raise TypeError(f"Since input_signature is defined, keyword-only parameter `{p.name}` must have a default value")
            if p.name != "self":
                if not specs and p.default is p.empty:
                    raise TypeError(f"input_signature missing type constraint for {p.name}: give a TensorSpec, or a default.")
                wanted[p.name] = specs.pop(0) if specs else nest.map_structure(_spec_of_tensor, p.default)
            kept.append(p.replace(kind=Kind.POSITIONAL_ONLY) if positional and p.kind is Kind.POSITIONAL_OR_KEYWORD else p)
        if specs:
            raise TypeError(f"input_signature contains {len(specs)} extra type constraints: {specs}.")
        self.parameters = inspect.Signature(kept)
        return wanted

    @property
    def stated(self) -> tuple[list[Any], dict[str, Any]]:
        """The `(args, kwargs)` that an input signature constrains."""
        of = [(p, nested(p.annotation)) for p in self.type.parameters.values() if p.annotation is not p.empty]
        by_name = {p.name: wanted for p, wanted in of if p.kind is Kind.KEYWORD_ONLY}
        return [wanted for p, wanted in of if p.kind is not Kind.KEYWORD_ONLY], by_name

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bind the arguments of a call, with defaults, and convert them to the specs; TypeError if they do not fit."""
        if self.simple and not kwargs and len(args) == self.count:
            return args, {}
        if not all(map(str.isidentifier, kwargs)):
            _check_names(list(kwargs))
        return fitted(self.type, args, kwargs)


def _spec_of_tensor(default: Any) -> Any:
    return TensorSpec(extents_of(default), default.dtype) if isinstance(default, (Tensor, np.ndarray)) else default


def _check_specs(specs: tuple[Any, ...]) -> None:
    kinds = TensorSpec, GivenSpec
    bad = [spec for spec in nest.flatten(specs, expand_composites=True) if not isinstance(spec, kinds)]
    if bad:
        raise TypeError(
            f"input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args {bad} with types "
            f"{[type(spec) for spec in bad]}."
        )


def _check_names(names: list[str]) -> None:
    """Raise ValueError if two keywords become equal when invalid characters are replaced by `_`."""
    plain = {"".join([c if c.isalnum() else "_" for c in name]) for name in names}
    if len(plain) < len(names):
        raise ValueError(
            f"Name collision after sanitization. Please rename tf.function input parameters. Original: {sorted(names)}, "
            f"Sanitized: {sorted(plain)}."
        )


class Known:
    """A signature for which TensorFlow has traced a function: the shapes of its tensors, and its other parts as `rest`.

    `opened` has the traces for unknown extents (`control/open_trace`), or None if there are none yet.
    """

    __slots__ = ("opened", "rest", "shapes")

    def __init__(self, rest: Any, shapes: list[TensorShape]) -> None:
        self.rest, self.shapes = rest, shapes
        self.opened: Any = None

    def takes(self, given: list[TensorShape]) -> bool:
        """Return whether tensors of these shapes match this signature. No path of extents keeps the answer."""
        with setting(exploration=None):
            return all(new.is_subtype_of(old) for new, old in zip(given, self.shapes, strict=True))


MANY_TRACES = 5  # warn if this many consecutive calls were all traced
MANY_WARNINGS = 2


class Calls:
    """Counters for all functions of one code object: calls from outside of functions, and traces of these calls."""

    def __init__(self) -> None:
        self.since = self.counted = self._traces = self._warnings = 0
        self.others = 0  # the number of recent traces that were of another Function than the trace before
        self._last: Callable[[], Any] = lambda: None
        self.told = False  # whether the log already says that it runs as Python

    def traced_too_often(self, function: Any, first: bool) -> bool:
        """Count a trace; return whether the rate of traces calls for a warning. `counted` is the number of calls looked at."""
        another = first or self._last() is not function
        self.others = self.others * bool(self._traces % MANY_TRACES) + another
        self._last = weakref.ref(function)
        self._traces += 1
        if self._traces % MANY_TRACES:
            return False
        self.counted, self.since = max(self.since, MANY_TRACES), 0
        due = self.counted < 2 * MANY_TRACES and self._warnings < MANY_WARNINGS
        self._warnings += due
        return due


_calls: weakref.WeakKeyDictionary[CodeType, Calls] = weakref.WeakKeyDictionary()


def calls_of(function: Any) -> Calls:
    """Return the Calls of a Python function, shared by all functions of its code object. Library functions get a new one."""
    code = getattr(getattr(inspect.unwrap(function), "__func__", function), "__code__", None)
    if code is None or internal[code.co_filename]:
        return Calls()
    return _calls.setdefault(code, Calls())


class Signatures:
    """The signatures for which TensorFlow has traced a function."""

    def __init__(self, one: bool, relaxes: bool) -> None:
        self._one, self._relaxes = one, relaxes
        self._known: list[Known] = []

    def forget(self, known: Known) -> None:
        """Remove a signature."""
        self._known.remove(known)

    def find(self, arguments: Arguments, given: list[TensorShape]) -> tuple[Known, bool]:
        """Return the Known that matches these arguments and shapes, and whether it was added just now."""
        rest = without_shapes(arguments)
        alike = [known for known in self._known if known.rest == rest]
        for known in alike:
            if known.takes(given):
                return known, False
        if self._one and self._known:
            return self._known[0], False
        for known in alike if self._relaxes else ():
            pairs = zip(given, known.shapes, strict=True)
            given = [new.most_specific_common_supertype([old]) or TensorShape(None) for new, old in pairs]
        self._known.append(Known(rest, given))
        return self._known[-1], True


def without_shapes(arguments: Arguments) -> Any:
    """Return the key of a call without its tensors' shapes."""
    spec, key = arguments.key
    found: list[Any] = []
    for item in key:
        if isinstance(item, Aval):
            found.append(item.dtype)
        elif item[0] is VariableSpec:
            found.append((*item[:3], item[3].dtype, *item[4:]))  # the last item is the declared shape
        else:
            found.append(item[1] if item[0] in NUMBERS else item)
    return spec, tuple(found)
