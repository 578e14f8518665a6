"""A warning about variables and states in objects that a checkpoint does not follow."""

from __future__ import annotations

import logging
import types
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import Any

from gradtape._src.core.declarations.module import Stateful
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.tensors.variable import Variable

MOST = 1000  # maximum number of objects to search
PASSED_OVER = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType, Tensor)

logger = logging.getLogger("gradtape")
_told: set[tuple[str, type]] = set()


def tell_left_out(unfollowed: Mapping[str, Any], saved: Container[int]) -> None:
    """Warn about objects that a checkpoint does not follow, and that hold variables or states which are not `saved`."""
    for path, value in unfollowed.items():
        lost = [inner for inner in _states_in(value) if id(inner) not in saved]
        if lost and (path, type(value)) not in _told:
            _told.add((path, type(value)))
            logger.warning(
                "The checkpoint leaves out %s: a %s, which holds %s. A checkpoint follows tf.Module, Keras's layers, models "
                "and optimizers, lists, tuples, dicts, and what has `variables`: make what is to be saved an attribute of one.",
                path,
                type(value).__name__,
                ", ".join([f"{count} {kind}" for kind, count in Counter(map(_kind, lost)).items()]),
            )


def _kind(state: Variable | Stateful) -> str:
    return "tf.Variable" if isinstance(state, Variable) else type(state).__name__


def _states_in(value: Any) -> Iterator[Variable | Stateful]:
    """Yield the variables, and other savable objects, that an object holds."""
    seen = {id(value)}
    queue = [value]
    for value in queue:  # grows during the loop
        if isinstance(value, Variable | Stateful):
            yield value
        elif not isinstance(value, PASSED_OVER):
            held = [*(value if isinstance(value, dict) else getattr(value, "__dict__", {})).values()]
            held += value if isinstance(value, list | tuple | set | frozenset) else ()
            new = {id(item): item for item in held if id(item) not in seen}
            seen |= new.keys()
            queue += [*new.values()][: max(0, MOST - len(queue))]
