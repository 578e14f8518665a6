"""The values of variables, in eager code and in a session."""

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
    """Return the session that a variable of a graph has its value in: `session`, or the default one; None for one of eager
    code.
    """
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
    """Return the value of a variable as an array; if it has none yet `initial`, without that FailedPreconditionError."""
    found = _session_of(variable, session)
    if found is None:
        return variable.__array__()
    if initial is not None and not found.has_value(variable):
        return np.asarray(initial, variable.aval.dtype)
    return np.asarray(found.value_of(variable))


def array_of(variable: Variable) -> Any:
    """Return the value of a variable as it lies: an array of JAX, in parts maybe, or of NumPy."""
    if graph_of(variable._tensor.node) is not None:
        return held(variable)
    return engine.value(variable.held())


def layout_of(variable: Variable) -> Sharding | None:
    """Return how a variable lies in parts; None for one that lies whole on its devices."""
    value = variable.held().value
    return value.sharding if isinstance(value, jax.Array) and not value.is_fully_replicated else None


def hold(variable: Variable, value: np.ndarray, session: Any = None) -> None:
    """Give a variable a value."""
    found = _session_of(variable, session)
    if found is None:
        variable.assign(value)
    else:
        found.load(variable, value)


def begin(variables: Sequence[Any], session: Any = None) -> None:
    """Run the initializers of variables of a graph; those of eager code have their values."""
    for variable in variables:
        found = _session_of(variable, session)
        if found is not None:
            found.run(variable.initializer)
