"""Calls of the user's functions: away from what is pending, with errors that name the element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core import engine, runtime, tracing
from gradtape._src.core.aval import aval
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import (
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    cut,
)
from gradtape._src.core.program import Trace, leaf
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import EagerTensor
from gradtape._src.data.structure import (
    DatasetSpec,
    Element,
    Elements,
    NoneTensorSpec,
    Structure,
    element,
    flatten,
    handed,
    spec_of,
    structure_of,
    with_shapes,
)


class apart:
    """A context for a user's function: ops in it are seen by no open tape, and do not make run what is pending outside."""

    def __enter__(self) -> None:
        state = engine.local
        self.trace, self.tapes = state.trace, state.tapes
        state.trace, state.tapes = Trace(0 if runtime.forked else engine.LIMIT), []

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        state = engine.local
        try:
            if kind is None and state.trace.nodes:
                engine.flush()
        finally:
            state.trace, state.tapes = self.trace, self.tapes


def arguments(value: Any) -> tuple[Any, ...]:
    """What a function is called with for an element: a tuple's items are arguments of their own."""
    return value if type(value) is tuple else (value,)


def failed(error: Exception, what: str, index: int) -> OpError:
    """The error for a function of the user's that failed on element number `index`; to be raised `from error`."""
    kind: type[OpError]
    match error:
        case OpError():
            kind = type(error)
        case MemoryError():
            kind = ResourceExhaustedError
        case NotImplementedError():
            kind = UnimplementedError
        case TypeError() | ValueError():
            kind = InvalidArgumentError
        case _:
            kind = UnknownError
    cut(error)
    said = str(error) if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    return kind(None, None, f"{what}, on element {index}: {said}")


class Call:
    """A function of the user's, called with one element after the other. `what` names it in errors."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        self.function, self.what = function, what

    def __call__(self, index: int, given: Element) -> Element:
        """The function's result for element number `index`, as an element."""
        with apart():
            return self._result(index, handed(given))

    def _result(self, index: int, value: Any) -> Element:
        try:
            result = self.function(*arguments(value))
        except Exception as error:
            raise failed(error, f"Error in the function passed to {self.what}", index) from error
        try:
            return returned(result)
        except OpError:
            raise
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to {self.what}: {result!r}. Return tensors, arrays, numbers, "
                f"or tuples and dicts of them. ({error})"
            ) from None

    def flag(self, index: int, given: Element) -> bool:
        """The function's result for an element as a predicate."""
        arrays, _ = answer = self(index, given)
        if len(arrays) != 1 or not isinstance(arrays[0], np.ndarray) or arrays[0].dtype != bool or arrays[0].ndim:
            specs = structure_text(answer)
            raise ValueError(
                f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is {specs}."
            )
        return bool(arrays[0])

    def dataset(self, index: int, given: Element) -> Any:
        """The function's result for an element, which must be a dataset."""
        (result, *others), _ = self(index, given)
        if others or not isinstance(result, Elements):
            raise TypeError(f"The function passed to {self.what} must return a `tf.data.Dataset`; it returned {result!r}.")
        return result


def returned(result: Any) -> Element:
    """What a function returned as an element; a list stands for a tuple, as in TensorFlow."""
    return element(tuple(result) if type(result) is list else result)


def structure_text(answer: Element) -> str:
    """How messages show what a function returned."""
    arrays, _ = answer
    specs = [spec_of(array) for array in arrays]
    return repr(specs[0] if len(specs) == 1 else tuple(specs))


def inferred(function: Callable[..., Any], given: Structure, make_empty: Callable[[Any], Any]) -> Any:
    """What `function` returns for elements of a structure, found without values: a nest of specs, or None if it needs them.

    It is called on tensors that have no values, twice if there are unknown extents, with other extents each time.
    """
    complete = all(s.shape.is_fully_defined() for s in given.specs if isinstance(s, TensorSpec))
    if any(s.shape.rank is None for s in given.specs if isinstance(s, TensorSpec)):
        return None
    try:
        first = _specs_for(function, given, 2, make_empty)
        return first if complete else _common(first, _specs_for(function, given, 3, make_empty))
    except Exception:
        # Whatever went wrong without values may go well with them; if not, it is reported there.
        return None


def _specs_for(function: Callable[..., Any], given: Structure, extent: int, make_empty: Callable[[Any], Any]) -> Any:
    with apart(), tracing.inner() as trace:
        try:
            values = [_placeholder(spec, extent, make_empty) for spec in given.specs]
            result = function(*arguments(given.nest.unflatten(values)))
            leaves, how = flatten(tuple(result) if type(result) is list else result)
            return how.unflatten([_spec_without_value(item) for item in leaves])
        finally:
            for variable, before in reversed(trace.assigned):
                variable._restore(before)


def _placeholder(spec: Any, extent: int, make_empty: Callable[[Any], Any]) -> Any:
    if isinstance(spec, NoneTensorSpec):
        return None
    if isinstance(spec, DatasetSpec):
        return make_empty(spec.element_spec)
    shape = tuple([extent if known is None else known for known in spec.shape])
    return EagerTensor(leaf(aval(shape, spec.dtype.numpy), None))


def _spec_without_value(item: Any) -> Any:
    if item is None or isinstance(item, Elements):
        return spec_of(item)
    value = tensor(item)
    return TensorSpec(value.shape, value.dtype)


def _common(first: Any, second: Any) -> Any:
    """The specs that fit both."""
    specs, how = flatten(first)
    others, _ = flatten(second)
    return how.unflatten([_common_spec(a, b) for a, b in zip(specs, others, strict=True)])


def _common_spec(a: Any, b: Any) -> Any:
    if isinstance(a, TensorSpec):
        return TensorSpec(a.shape.most_specific_compatible_shape(b.shape), a.dtype)
    if isinstance(a, DatasetSpec):
        return DatasetSpec(_common(a.element_spec, b.element_spec))
    return a


def from_one(example: Element) -> Structure:
    """What one element tells of the others: how they are nested, dtypes, ranks; not their extents."""
    return with_shapes(structure_of(example), lambda shape: [None] * shape.rank)
