"""Calls of user functions for elements: isolated from the pending trace, with errors that name the element."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradtape._src.control.frozen import frozen
from gradtape._src.control.iterators import Elements as TakenElements
from gradtape._src.control.scope import Scope
from gradtape._src.control.tensor_array import TensorArraySpec
from gradtape._src.core.base import hooks
from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.errors import (
    LOOKS_AT_VALUES,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from gradtape._src.core.base.tracebacks import cut
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Trace, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import Dim, UnknownExtent, unknown
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.core.values.ways import Path, explored
from gradtape._src.data.composite import Composite, array_of, with_shape
from gradtape._src.data.optional import Optional, OptionalSpec
from gradtape._src.data.structure import (
    COMPOSITES,
    SHAPED,
    DatasetSpec,
    Element,
    Elements,
    ElementStructure,
    Held,
    NoneTensorSpec,
    element,
    flatten,
    from_specs,
    handed,
    merged,
    spec_of,
    structure_of,
    with_shapes,
)
from gradtape._src.ops.array.ragged import RaggedTensorSpec
from gradtape._src.ops.random import seeds
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorSpec


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Open a context for a user's function, in which no outer tape or name scope is active, and nothing pending outside runs."""
    with setting(one_by_one=True, prefix=""), engine.recording_in(Trace(engine.LIMIT)):
        yield
        if engine.local.trace.nodes:
            engine.flush()


def arguments(value: Any) -> tuple[Any, ...]:
    """Return the arguments of a function for an element: the items of a tuple are separate arguments."""
    return value if type(value) is tuple else (value,)


def failed(error: Exception, what: str, index: int) -> OpError:
    """Return the error for a user's function that failed on element number `index`, to be raised `from error`."""
    kind: type[OpError]
    match error:
        case OutOfRangeError():  # would be taken for the end of the elements
            kind = InvalidArgumentError
        case OpError():
            kind = type(error)
        case MemoryError():
            kind = ResourceExhaustedError
        case NotImplementedError():
            kind = UnimplementedError
        case TypeError() | ValueError() | StopIteration():
            kind = InvalidArgumentError
        case _:
            kind = UnknownError
    cut(error)
    said = str(error) if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    return kind.saying(f"{what}, on element {index}: {said}")


class ElementCall:
    """A user's function that is called with one element after the other. `what` names it in errors."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        if not callable(function):
            raise ValueError(f"Argument `func` must be a callable. Received func={function} (of {type(function)}) in {what}.")
        self.function, self.what = frozen(function), what
        self.source: Any = None  # the source of random numbers of a pass

    def begun(self) -> ElementCall:
        """Return a copy for one pass, in which seeded random ops give the numbers of the other passes."""
        call = copy.copy(self)
        call.source = seeds.begun()
        return call

    def __call__(self, index: int, given: Element) -> Element:
        """Return the function's result for element number `index`, as an element."""
        with apart():
            return self._result(index, handed(given))

    def _result(self, index: int, value: Any) -> Element:
        try:
            with seeds.drawn_from(self.source):
                result = self.function(*arguments(value))
        except Exception as error:
            raise failed(error, f"Error in the function passed to {self.what}", index) from error
        try:
            return returned(result)
        except OpError:
            raise
        except (TypeError, ValueError) as error:
            raise self._unsupported(result, error) from None

    def _unsupported(self, result: Any, error: Exception) -> TypeError:
        return TypeError(
            f"Unsupported return value from function passed to {self.what}: {result!r}. Return tensors, arrays, numbers, "
            f"or tuples and dicts of them. ({error})"
        )

    def flag(self, index: int, given: Element) -> bool:
        """Return the function's result for an element as a bool; ValueError if it is no predicate."""
        arrays, _ = answer = self(index, given)
        if len(arrays) != 1 or not isinstance(arrays[0], np.ndarray) or arrays[0].dtype != bool or arrays[0].ndim:
            raise no_flag(structure_text(answer))
        return bool(arrays[0])

    def dataset(self, index: int, given: Element) -> Any:
        """Return the function's result for an element; TypeError unless it is a dataset."""
        (result, *others), _ = self(index, given)
        if others or not isinstance(result, Elements):
            raise self.no_dataset(repr(result))
        return result

    def no_dataset(self, result: str) -> TypeError:
        """Return the error for a result that is no dataset."""
        return TypeError(f"The function passed to {self.what} must return a `tf.data.Dataset`; it returned {result}.")

    def on_symbols(self, values: Any) -> Any:
        """Return the function's result for an element of symbols, as a nest of specs."""
        try:
            result = self.function(*arguments(values))
        except LOOKS_AT_VALUES as error:
            from gradtape._src.control.autograph import converted  # imported here, as it loads the source transformation

            try:
                result = converted(self.function)(*arguments(values))
            except Exception:
                raise error from None  # the function is called unconverted for each element
        try:
            return specs_without_values(result)
        except (TypeError, ValueError) as error:
            raise self._unsupported(result, error) from None


def no_flag(found: str) -> ValueError:
    """Return the error for a predicate with another result."""
    return ValueError(f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is {found}.")


def returned(result: Any) -> Element:
    """Convert a function's result to an element; a list becomes a tuple, as in TensorFlow."""
    return element(tuple(result) if type(result) is list else result)


def structure_text(answer: Element) -> str:
    """Format a function's result for messages."""
    arrays, _ = answer
    specs = [spec_of(array) for array in arrays]
    return repr(specs[0] if len(specs) == 1 else tuple(specs))


def inferred(call: ElementCall, given: ElementStructure) -> Any:
    """Infer the result of a function for elements of a structure, without values: a nest of specs, or None if it needs them.

    It is called on tensors without values, and with symbols for unknown extents: see `core/values/ways`.
    """
    try:
        return _inferred(call, given)
    except Exception:
        # The call may succeed with values; if not, the error is reported then.
        return None


def asked_early(call: ElementCall, given: ElementStructure | None) -> Any:
    """Infer the result like `inferred` when a dataset is created. As in TensorFlow, a certain error is raised at once.

    None is returned, too, if the structure of the elements is not known yet.
    """
    if given is None:
        return None
    try:
        return _inferred(call, given)
    except (*LOOKS_AT_VALUES, UnknownExtent):
        return None
    except Exception as error:
        whole = complete(given) or isinstance(error, (TypeError, NameError))
        if not whole or any(word in str(error) for word in SYMBOLS):
            return None
        raise


def check_flag(call: ElementCall, given: ElementStructure | None) -> None:
    """Raise ValueError if the inferred result of a predicate is no scalar bool."""
    specs = asked_early(call, given)
    if specs is not None and not FLAG.is_compatible_with(specs):
        raise no_flag(repr(specs))


def check_dataset(call: ElementCall, given: ElementStructure | None) -> None:
    """Raise TypeError if the inferred result of a function is no dataset."""
    specs = asked_early(call, given)
    if specs is not None and not isinstance(specs, DatasetSpec):
        raise call.no_dataset(repr(specs))


Maker = Callable[[Any, Any], Any]  # makes a tensor without a value, of a shape and a dtype
FLAG = TensorSpec([], dtypes.bool)
TRIALS = 12  # ways of a function that are explored for the shapes of its results
SYMBOLS = ("SymbolicTensor", "EagerTensor", 'Tensor("')  # an error that mentions one may be due to missing values


def complete(given: ElementStructure) -> bool:
    """Return whether all extents are known."""
    return all(isinstance(s, TensorSpec) and s.shape.is_fully_defined() for s in given.specs if isinstance(s, SHAPED))


def _inferred(call: ElementCall, given: ElementStructure) -> Any:
    refused: list[Exception] = []
    unranked = any(spec.shape.rank is None for spec in given.specs if isinstance(spec, SHAPED))
    # Code that uses extents as numbers fails on None.
    for shows in () if unranked else (False,) if complete(given) else (False, True):
        asked = functools.partial(_on_symbols, call, given)
        ways, errors = explored(asked, (Exception,), most=TRIALS, guides=True, shows=shows)
        found = [from_specs(stated(specs, path)) for specs, path in ways]
        with contextlib.suppress(TypeError):  # the ways have results of different nests or dtypes
            if found:
                return functools.reduce(merged, found).element_spec
        refused += errors
    reason = refused[0] if refused else UnknownExtent(None, None, "What the function returns depends on values.")
    if isinstance(reason, (*LOOKS_AT_VALUES, UnknownExtent)):
        with contextlib.suppress(Exception), apart():  # the call may succeed with values
            return hooks.graphs.described(lambda made: _specs_for(call, given, made))
    raise reason


@contextlib.contextmanager
def asked() -> Iterator[Scope]:
    """Open a context in which only shapes are wanted, of tensors that may be `unvalued`. The Scope has the variables read."""
    scope = Scope()
    scope.draws, scope.elements = seeds.Draws(), TakenElements([])  # random numbers and elements are not drawn
    with apart(), tracing.inner(scope) as scope.trace, tracing.asking_for_shapes():
        yield scope


def _on_symbols(call: ElementCall, given: ElementStructure) -> Any:
    with asked() as scope:
        result = _specs_for(call, given, unvalued)
    for variable, _ in scope.variables.values():  # elements carry no history
        journal.left("dataset", variable._tensor.node, engine.local.trace)
    return result


def _specs_for(call: ElementCall, given: ElementStructure, made: Maker) -> Any:
    return call.on_symbols(given.nest.unflatten([_placeholder(spec, made) for spec in given.specs]))


def unvalued(shape: Any, dtype: Any) -> EagerTensor:
    """Return a tensor without a value, with symbols for unknown extents."""
    extents = [unknown() if known is None else known for known in shape]
    return EagerTensor(leaf(aval(extents, as_dtype(dtype).numpy), None))


def without_values(structure: ElementStructure) -> Any:
    """Return placeholders for a nest of tensors, for the inference of shapes."""
    return structure.nest.unflatten([_placeholder(spec, unvalued) for spec in structure.specs])


def _placeholder(spec: Any, made: Maker) -> Any:
    if isinstance(spec, NoneTensorSpec):
        return None
    if isinstance(spec, DatasetSpec):
        return spec.stand_in()
    if isinstance(spec, SparseTensorSpec):
        shape = [unknown() if known is None else known for known in spec.shape]
        return SparseTensor(made([count := unknown(), len(shape)], np.int64), made([count], spec.dtype), tuple(shape))
    if isinstance(spec, TensorArraySpec):
        shape, dtype, *_ = spec._serialize()
        return array_of(spec, made([unknown(), *shape], dtype))
    if isinstance(spec, OptionalSpec):
        inner = from_specs(spec._element_spec)
        value = inner.nest.unflatten([_placeholder(part, made) for part in inner.specs])
        return Optional(spec._element_spec, (value,), made((), dtypes.bool))
    if isinstance(spec, RaggedTensorSpec) and spec.ragged_rank:
        parts, how = nest.flatten_with_spec(spec, nest.EXPANDED)
        return nest.unflatten(how, [_placeholder(part, made) for part in parts])
    return made(spec.shape, spec.dtype)


def stated(specs: Any, path: Path) -> Any:
    """Return specs with symbols as extents with the numbers that a path determines, and None for others."""
    leaves, how = flatten(specs)
    return how.unflatten([_stated_spec(item, path) for item in leaves])


def _stated_spec(spec: Any, path: Path) -> Any:
    if isinstance(spec, DatasetSpec):
        return DatasetSpec(stated(spec.element_spec, path), spec.shape)
    if not isinstance(spec, SHAPED) or spec.shape.rank is None:
        return spec
    now = [d.substituted(path.values) if type(d) is Dim else d for d in spec.shape.as_list()]
    return with_shape(spec, TensorShape([None if type(d) is Dim else d for d in now]))


def specs_without_values(result: Any) -> Any:
    """Return the nest of specs of a function's result without values."""
    leaves, how = flatten(tuple(result) if type(result) is list else result)
    return how.unflatten([_spec_without_value(item) for item in leaves])


def _spec_without_value(item: Any) -> Any:
    if item is None:
        return spec_of(item)
    if isinstance(item, Composite | Held):
        return spec_of(item)
    if hasattr(item, "element_spec"):  # a dataset that a graph defers
        return DatasetSpec(item.element_spec)
    if type(item) in COMPOSITES:
        return item._type_spec
    value = tensor(item)
    return TensorSpec(value.shape if engine.graph_around() is not None else extents_of(value), value.dtype)


def from_one(example: Element) -> ElementStructure:
    """Return the structure that one element implies for all: nest, dtypes and ranks, but no extents."""
    return with_shapes(structure_of(example), lambda shape: [None] * shape.rank)
