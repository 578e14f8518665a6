"""The versions of public functions for RaggedTensors, and how a call finds them.

A function of tensors refuses a RaggedTensor, as that cannot be converted. The call that fails looks here for a version of it: no
other call pays for that.
"""

from gradtape._src.core import hooks
from gradtape._src.ops.array.ragged import RaggedTensor

_versions = {}


def version(*functions):
    """Enter the version of public functions for calls that have a RaggedTensor among their arguments."""

    def decorate(function):
        for given in functions:
            while given is not None:  # a twin in C, what it is the twin of, and what that wraps
                _versions[given] = function
                given = getattr(given, "__wrapped__", None)
        return function

    return decorate


def has_ragged(values):
    """Return whether one of `values`, or of the lists among them, is a RaggedTensor."""
    return any(isinstance(x, RaggedTensor) or (isinstance(x, (list, tuple)) and has_ragged(x)) for x in values)


def _dispatched(function, args, kwargs):
    found = _versions.get(function)
    if found is None or not has_ragged((*args, *kwargs.values())):
        return NotImplemented
    kwargs.pop("name", None)
    return found(*args, **kwargs)


hooks.core.dispatched = _dispatched
