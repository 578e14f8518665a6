"""TensorFlow's warning of too many traces, with the cause that applies."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from gradtape._src.control.arguments import MANY_TRACES, NUMBERS, Arguments, Calls
from gradtape._src.control.given import GivenSpec
from gradtape._src.core.declarations.spec import VariableSpec
from gradtape._src.core.values.aval import Aval

ANOTHER = "It is another function each time, as tf.function is called again and again: call it once, outside of the loop."
OBJECTS = "It is a method, and each object has traces of its own: give what differs as tensors to one function."
RELAX = "give an input_signature with None for it, or tf.function(reduce_retracing=True)"
ANY = (
    f"The usual causes are (1) tf.function in a loop: call it once, outside of it; (2) tensors of different shapes: {RELAX}; "
    "(3) Python numbers and objects as arguments: pass tensors."
)
logger = logging.getLogger("gradtape")


def warn(function: Any, calls: Calls, method: bool, names: Sequence[str], last: Arguments | None, now: Arguments) -> None:
    """Warn that most recent calls of a function were traced. `last` are the arguments of the previous trace, if any."""
    if calls.others == MANY_TRACES:
        why = OBJECTS if method else ANOTHER
    else:
        why = ANY if last is None else _changed(names, last, now)
    logger.warning(
        "%d out of the last %d calls to %r triggered tf.function retracing. Tracing is expensive. %s",
        MANY_TRACES,
        calls.counted,
        function,
        why,
    )


def _changed(names: Sequence[str], last: Arguments, now: Arguments) -> str:
    """Return which argument changed since the last trace, how, and how to avoid it."""
    if last.spec != now.spec:
        return "The arguments are another nest: lists or dicts of other lengths or keys. Stack what varies into one tensor."
    places = zip(now.spec.paths(), last.key[1], now.key[1], now.leaves, strict=True)
    for (kind, place, *_), old, new, value in places:
        if old != new:
            name = names[place] if kind == 0 and place < len(names) else place
            before, after, instead = _difference(old, new, value)
            return f"The argument {name!r} changed: it was {before} and is now {after}. {instead}"
    return ANY


def _difference(old: Any, new: Any, value: Any) -> tuple[str, str, str]:
    """Return an argument's old and new key in words, and how to avoid the change; `value` is the argument."""
    if isinstance(old, Aval) or isinstance(new, Aval):
        if isinstance(old, Aval) and isinstance(new, Aval) and old.dtype is new.dtype:
            return f"{old!r}", f"{new!r}", f"For shapes that vary {RELAX}."
        return _spoken(old), _spoken(new), "Pass tensors of one dtype."
    if new[0] in NUMBERS:
        return _spoken(old), _spoken(new), "A Python number is part of the signature: pass tf.constant(…) for what changes."
    if new[0] is object:
        kind = type(value).__name__
        return (
            _spoken(old),
            f"another object ({kind})",
            "An object is part of the signature by its ==, which is identity by default: keep one, or pass its tensors.",
        )
    if new[0] is GivenSpec:
        return _spoken(old), _spoken(new), "Give datasets whose elements have one spec, as by batch(…, drop_remainder=True)."
    if new[0] is VariableSpec:
        return _spoken(old), _spoken(new), "Pass variables of one shape and dtype, or the tensors in them."
    return _spoken(old), _spoken(new), "What is no tensor is part of the signature: pass a tensor for what changes."


def _spoken(key: Any) -> str:
    if isinstance(key, Aval):
        return repr(key)
    if key[0] is VariableSpec:
        return f"a variable {key[3]!r}"
    return "an object" if key[0] is object else repr(key[1])
