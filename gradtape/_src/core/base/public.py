"""The boundary of public functions: their errors say what was received, and end at the user's line."""

from __future__ import annotations

import functools
import inspect
import reprlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from gradtape._src.core.base import hooks, naming, other_libraries
from gradtape._src.core.base.errors import WITHOUT_VALUES, NeedsValues, OpError, ResourceExhaustedError
from gradtape._src.core.base.signatures import DeferredSignature
from gradtape._src.core.base.tracebacks import OF_PYTHON, called_by_user, cut, raised, raised_inside

P = ParamSpec("P")
R = TypeVar("R")
MAX_RECEIVED = 60  # the most characters shown of an argument
_brief = reprlib.Repr()
_brief.maxother = _brief.maxstring = MAX_RECEIVED

REFUSALS = TypeError, ValueError  # raised by functions that do not accept another kind of tensor


def otherwise(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the result of a public function's version for the given kind of tensors, after the call itself failed.

    NotImplemented if there is none. An error of that version hides the earlier one.
    """
    try:
        return hooks.core.dispatched(function, args, kwargs)
    except Exception as error:
        raise error from None


def explained(error: Exception, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException:
    """Return the error to raise for `error`, which left a public function.

    Errors raised by the library or by user code are returned unchanged. Others, of Python, NumPy or JAX, are about internal
    values. The function and its arguments are added to these, and they get Python's class.
    """
    if isinstance(error, NeedsValues):
        if error.node is not None and not error.named and called_by_user(sys._getframe(2)):
            error.args, error.named = (f"{function.__qualname__} {WITHOUT_VALUES}",), True
        return error
    kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
    if isinstance(error, OpError) or not issubclass(kind, OF_PYTHON) or raised(error):
        return error
    if not called_by_user(sys._getframe(2)):  # the outermost public function reports its arguments
        return error
    if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # the arguments do not fit the signature
        return other_libraries.with_nearest_keyword(error, function, kwargs)
    message = str(error.args[0] if len(error.args) == 1 else error).rstrip(".")
    name = function.__qualname__.removesuffix(".__init__")
    told = f"{name} cannot take these arguments: {message}. Received: {received(function, args, kwargs)}."
    known: Any = error if kind is type(error) else kind(told)
    known.args, known.__suppress_context__, known._gradtape_raised = (told,), True, True
    return known


def received(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the arguments of a call as text, with tensors as dtype and shape."""
    arguments = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    return ", ".join(f"{name}={_described(value)}" for name, value in arguments.items() if name != "self")


def _described(value: Any) -> str:
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None or isinstance(value, type):
        return _brief.repr(value)
    return f"<{type(value).__name__} of dtype {getattr(dtype, 'name', dtype)} and shape {shape}>"


def unnamed(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a public function that looks at a graph or runs it, and records no ops that the graph would name after the call."""
    return public(function, records=False)


def public(function: Callable[P, R], records: bool = True) -> Callable[P, R]:
    """Mark a public function: tracebacks of its errors show the user's frames only.

    If it `records` ops, an open graph names these after the call, or keeps the call itself.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                if records and naming.open_graphs:
                    result: R = naming.named(function, args, kwargs)
                    return result
                if not kwargs:  # avoids unpacking an empty dict
                    return function(*args)  # type: ignore[call-arg]
                if records and (name := kwargs.get("name")) is not None:
                    given: R = hooks.core.called(function, args, kwargs, name)
                    return given
                return function(*args, **kwargs)
            except MemoryError as error:
                if not raised_inside(error):
                    raise
                raise ResourceExhaustedError.saying(f"Out of memory: {error}. No variable was changed.") from None
            except Exception as error:
                if isinstance(error, REFUSALS) and (found := otherwise(call, args, kwargs)) is not NotImplemented:
                    version: R = found
                    return version
                if (other := explained(error, function, args, kwargs)) is not error:
                    raise other from None
                raise
        except BaseException as error:
            cut(error)
            raise

    call.__signature__ = DeferredSignature(function)  # type: ignore[attr-defined]
    return call
