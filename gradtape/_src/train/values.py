"""Reading and assigning of variables, in eager code and in sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding

from gradtape._src.core.base import hooks
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.tensor import graph_of
from gradtape._src.core.tensors.variable import Variable


def _session_of(variable: Variable, session: Any) -> Any:
    """Return the session for a graph variable: `session`, or the default one; None for an eager variable."""
    if graph_of(variable._tensor.node) is None:
        return None
    found = hooks.graphs.default_session() if session is None else session
    if found is None:
        raise RuntimeError(
            f"Variable {variable.name!r} belongs to a graph, where it has a value in each session: make its session "
            "the default one by `with session.as_default():`."
        )
    return found


def held(variable: Variable, session: Any = None, initial: Any = None) -> np.ndarray:
    """Return the value of a variable as an array, or `initial` if it has none (without it FailedPreconditionError)."""
    found = _session_of(variable, session)
    if found is None:
        return variable.__array__()
    if initial is not None and not found.has_value(variable):
        return np.asarray(initial, variable.aval.dtype)
    return np.asarray(found.value_of(variable))


def array_of(variable: Variable) -> Any:
    """Return the value of a variable as stored: a JAX array, perhaps sharded, or a NumPy array."""
    if graph_of(variable._tensor.node) is not None:
        return held(variable)
    return engine.value(variable.held())


def layout_of(variable: Variable) -> Sharding | None:
    """Return the sharding of a variable; None if it is replicated."""
    value = variable.held().value
    return value.sharding if isinstance(value, jax.Array) and not value.is_fully_replicated else None


def hold(variable: Variable, value: np.ndarray, session: Any = None) -> None:
    """Assign a value to a variable."""
    found = _session_of(variable, session)
    if found is None:
        variable.assign(value)
    else:
        found.load(variable, value)


def begin(variables: Sequence[Any], session: Any = None) -> None:
    """Run the initializers of graph variables; eager variables have their values."""
    for variable in variables:
        found = _session_of(variable, session)
        if found is not None:
            found.run(variable.initializer)
