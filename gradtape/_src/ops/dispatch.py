"""The versions of public functions for tensors of another kind, such as RaggedTensors, and how a call finds them.

A function of tensors refuses such a value, as it cannot be converted. The call that fails looks here for a version of it: no
other call pays for that.
"""

from gradtape._src.core.base import hooks

_versions = {}


def version(kind, *functions):
    """Enter the version of public functions for calls that have a value of this kind among their arguments."""

    def decorate(function):
        entered = _versions.setdefault(kind, {})
        for given in functions:
            while given is not None:  # a twin in C, what it is the twin of, and what that wraps
                entered[given] = function
                given = getattr(given, "__wrapped__", None)
        return function

    return decorate


def holds(kind, values):
    """Return whether one of `values`, or of the lists among them, is of a kind."""
    return any(isinstance(x, kind) or (isinstance(x, (list, tuple)) and holds(kind, x)) for x in values)


def _dispatched(function, args, kwargs):
    for kind, entered in _versions.items():
        found = entered.get(function)
        if found is not None and holds(kind, (*args, *kwargs.values())):
            kwargs.pop("name", None)
            return found(*args, **kwargs)
    return NotImplemented


hooks.core.dispatched = _dispatched
