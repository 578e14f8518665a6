"""Versions of public functions for other kinds of values, such as RaggedTensors, and the dispatch to them.

A function of tensors fails on such a value, as it cannot be converted. Only a call that fails looks for a version here, so the
dispatch costs other calls nothing.
"""

import functools
import inspect

from gradtape._src.core.base import hooks

_versions = {}


def version(kind, *functions):
    """Register the decorated function as the version of `functions` for calls with an argument of class `kind`."""

    def decorate(function):
        entered = _versions.setdefault(kind, {})
        for given in functions:
            while given is not None:  # walks from a C twin to its Python definition and to the function that this wraps
                entered[given] = function
                given = getattr(given, "__wrapped__", None)
        return function

    return decorate


def holds(kind, values):
    """Return whether one of `values`, or of the lists among them, is an instance of `kind`."""
    return any(isinstance(x, kind) or (isinstance(x, (list, tuple)) and holds(kind, x)) for x in values)


def _dispatched(function, args, kwargs):
    for kind, entered in _versions.items():
        found = entered.get(function)
        if found is not None and holds(kind, (*args, *kwargs.values())):
            kwargs.pop("name", None)
            names = _parameters(function)
            place = names.index("name") if "name" in names else len(args)
            return found(*args[:place], **dict(zip(names[place + 1 :], args[place + 1 :], strict=False)), **kwargs)
    return NotImplemented


@functools.cache
def _parameters(function):
    return [*inspect.signature(function).parameters]


hooks.core.dispatched = _dispatched
