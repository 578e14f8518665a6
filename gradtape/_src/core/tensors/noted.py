"""Names given to values while they are recorded (`name=`, name scopes, Keras layers), for look-ups on a tape.

In a graph, names belong to the ops; see `naming`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base import hooks, naming
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.tensors import nest, scopes
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor

MOST = 4096  # the number of traced names kept
traced: dict[str, Line] = {}  # name → line, for names given inside of functions, branches and loops


def called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: Any) -> Any:
    """Call `function(*args, **kwargs)`, and note its result under `name` if a tape may need it."""
    trace = engine.local.trace
    if not (engine.local.tapes or trace.scope is not None) or not isinstance(name, str) or naming.parameter(function) is None:
        return function(*args, **kwargs)
    before = len(trace.names)
    result = function(*args, **kwargs)
    full = scopes.scoped(name)
    # Calls inside of `function` have noted the same name.
    trace.names[before:] = [given for given in trace.names[before:] if given[1] != full]
    note(full, result)
    return result


def note(name: str, result: Any) -> None:
    """Note the result of the last op, a tensor or nest of tensors, under its full `name`."""
    state = engine.local
    trace = state.trace
    if not state.tapes and trace.scope is None:
        return
    if type(result) is EagerTensor:
        nodes = [result.node]
    else:
        try:
            nodes = [x.node for x in nest.flatten(result) if isinstance(x, Tensor)]
        except (TypeError, ValueError):  # the keys cannot be ordered, so that a name for all of it is of no use
            return
    if not nodes or not name:
        return
    trace.names.append((len(trace.nodes), name, nodes))
    if trace.scope is not None:
        traced.pop(name, None)
        if len(traced) >= MOST:
            traced.clear()
        traced[name] = nodes[0].code, nodes[0].offset


hooks.core.called = called
