"""The border of a public function: an error that leaves it says what was received, at the user's line."""

from __future__ import annotations

import functools
import inspect
import reprlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from gradtape._src.core.base import hooks, naming, other_libraries
from gradtape._src.core.base.errors import OpError, ResourceExhaustedError
from gradtape._src.core.base.signatures import DeferredSignature
from gradtape._src.core.base.tracebacks import OF_PYTHON, cut, internal, raised, raised_inside

P = ParamSpec("P")
R = TypeVar("R")
MAX_RECEIVED = 60  # characters of one argument
_brief = reprlib.Repr()
_brief.maxother = _brief.maxstring = MAX_RECEIVED

REFUSALS = TypeError, ValueError  # what a function says that cannot take a tensor of another kind


def otherwise(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a call of a public function gives that failed for its tensors, and has a version for what it was given.

    NotImplemented where there is none. An error of that version is raised without the one before.
    """
    try:
        return hooks.core.dispatched(function, args, kwargs)
    except Exception as error:
        raise error from None


def explained(error: Exception, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException:
    """Return the error to raise for `error`, which left a public function.

    Errors that the library raises are returned as they are, and so are those of user code. Others, of Python, NumPy or JAX,
    speak of values that the user has not seen: the function and what it received are added to them, and the class is Python's.
    """
    kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
    if isinstance(error, OpError) or not issubclass(kind, OF_PYTHON) or raised(error):
        return error
    if internal[sys._getframe(2).f_code.co_filename]:  # the function that the user called tells what it received
        return error
    if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # arguments that its signature lacks
        return other_libraries.with_nearest_keyword(error, function, kwargs)
    message = str(error.args[0] if len(error.args) == 1 else error).rstrip(".")
    name = function.__qualname__.removesuffix(".__init__")
    told = f"{name} cannot take these arguments: {message}. Received: {received(function, args, kwargs)}."
    known: Any = error if kind is type(error) else kind(told)
    known.args, known.__suppress_context__, known._gradtape_raised = (told,), True, True
    return known


def received(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the arguments of a call as text, tensors as dtype and shape."""
    arguments = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    return ", ".join(f"{name}={_described(value)}" for name, value in arguments.items() if name != "self")


def _described(value: Any) -> str:
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None or isinstance(value, type):
        return _brief.repr(value)
    return f"<{type(value).__name__} of dtype {getattr(dtype, 'name', dtype)} and shape {shape}>"


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function of the public interface: an error that leaves it shows the user's frames only."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                if naming.open_graphs:
                    result: R = naming.named(function, args, kwargs)
                    return result
                if not kwargs:  # without an empty dict to unpack
                    return function(*args)  # type: ignore[call-arg]
                if (name := kwargs.get("name")) is not None:
                    given: R = hooks.core.called(function, args, kwargs, name)
                    return given
                return function(*args, **kwargs)
            except MemoryError as error:
                if not raised_inside(error):
                    raise
                raise ResourceExhaustedError(None, None, f"Out of memory: {error}. No variable was changed.") from None
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
