"""TensorFlow's deprecation decorators, which libraries use for their own functions: a warning at the first call."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gradtape._src.core.base.public import public
from gradtape._src.core.settings.config import get_logger

F = TypeVar("F", bound=Callable[..., Any])

_said: set[Any] = set()
_silent: list[bool] = []


def _warn(key: Any, what: str, date: str | None, instructions: str) -> None:
    """Log a warning, once for each `key`, or each time if it is None."""
    if _silent or key in _said:
        return
    if key is not None:
        _said.add(key)
    when = f"after {date}" if date else "in a future version"
    get_logger().warning(f"{what} is deprecated and will be removed {when}.\nInstructions for updating:\n{instructions}")


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not (isinstance(date, str) and len(date) == 10):
        raise ValueError(f"Date must be in format YYYY-MM-DD. Received: {date}")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions! Specify the `instructions` argument.")


def _where(function: Any) -> str:
    return f"{getattr(function, '__qualname__', function)} (from {getattr(function, '__module__', None)})"


@public
def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[F], F]:
    """Return a decorator for a deprecated function."""
    _check(date, instructions)

    def decorate(function: Any) -> Any:
        if inspect.isclass(function):
            return function

        @functools.wraps(function)
        def with_warning(*args: Any, **kwargs: Any) -> Any:
            _warn(function if warn_once else None, _where(function), date, instructions)
            return function(*args, **kwargs)

        return with_warning

    return decorate


@public
def deprecated_args(date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any) -> Callable[[F], F]:
    """Return a decorator for a function with deprecated arguments: names, or `(name, allowed value)`."""
    _check(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    fine = dict((entry, ()) if isinstance(entry, str) else (entry[0], entry[1:]) for entry in deprecated_arg_names_or_tuples)

    def is_deprecated(name: str, value: Any) -> bool:
        return name in fine and all(value is not each for each in fine[name])

    return _for_arguments(date, instructions, kwargs.get("warn_once", True), is_deprecated)


@public
def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[F], F]:
    """Return a decorator for a function with deprecated argument values."""
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")
    return _for_arguments(
        date, instructions, warn_once, lambda name, value: name in deprecated_kwargs and value is deprecated_kwargs[name]
    )


def _for_arguments(date: str | None, instructions: str, warn_once: bool, is_deprecated: Callable[[str, Any], bool]) -> Any:
    def decorate(function: Any) -> Any:
        names = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def with_warning(*args: Any, **kwargs: Any) -> Any:
            for name, value in (*zip(names, args, strict=False), *kwargs.items()):
                if is_deprecated(name, value):
                    key = (function, name) if warn_once else None
                    _warn(key, f"The argument {name!r} of {_where(function)}, given as {value!r},", date, instructions)
            return function(*args, **kwargs)

        return with_warning

    return decorate


@public
def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True) -> Any:
    """Return a function, or a class, under a deprecated name."""
    what, instructions = f"The name {deprecated_name}", f"Please use {name} instead."
    if not inspect.isclass(func_or_class):

        @functools.wraps(func_or_class)
        def with_warning(*args: Any, **kwargs: Any) -> Any:
            _warn(deprecated_name if warn_once else None, what, None, instructions)
            return func_or_class(*args, **kwargs)

        return with_warning

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        _warn(deprecated_name if warn_once else None, what, None, instructions)
        super(made, self).__init__(*args, **kwargs)

    made: Any = type(func_or_class.__name__, (func_or_class,), {"__init__": __init__, "__module__": func_or_class.__module__})
    return made


@public
def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the value of an argument that also has an old name; ValueError if both are given."""
    if old_value is not None and new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return new_value if old_value is None else old_value


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Open a context without deprecation warnings."""
    _silent.append(True)
    try:
        yield
    finally:
        _silent.pop()
