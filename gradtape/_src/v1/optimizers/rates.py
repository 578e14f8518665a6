"""Learning rate schedules, and the global step."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.convert import constant, tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math.arithmetic import maximum, minimum, sqrt
from gradtape._src.ops.math.elementary import cos, exp, log, pow as power
from gradtape._src.ops.math.rounding import ceil, floor
from gradtape._src.ops.random.draws import normal
from gradtape._src.v1.graphs.collections import GraphKeys, get_collection
from gradtape._src.v1.graphs.graph import Graph, get_default_graph, in_graph


def _scheduled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a schedule: in eager code it returns a function without arguments, which optimizers call in each step."""

    @functools.wraps(function)
    def schedule(*args: Any, **kwargs: Any) -> Any:
        if engine.local.trace.scope is None:
            return functools.partial(function, *args, **kwargs)
        return function(*args, **kwargs)

    return public(schedule)


def _parts(learning_rate: Any, global_step: Any, decay_steps: Any) -> tuple[Any, Any, Any]:
    if global_step is None:
        raise ValueError(
            "global_step is required for a learning rate that decays: the variable that minimize(global_step=…) counts."
        )
    rate = tensor(learning_rate)
    return rate, cast(global_step, rate.dtype), cast(decay_steps, rate.dtype)


@_scheduled
def exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Any:
    """Return learning_rate · decay_rate^(global_step / decay_steps), with the exponent rounded down if `staircase`."""
    rate, step, steps = _parts(learning_rate, global_step, decay_steps)
    part = step / steps
    return rate * power(cast(decay_rate, rate.dtype), floor(part) if staircase else part)


@_scheduled
def natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Any:
    """Return learning_rate · exp(−decay_rate · global_step / decay_steps)."""
    rate, step, steps = _parts(learning_rate, global_step, decay_steps)
    part = step / steps
    return rate * exp(-cast(decay_rate, rate.dtype) * (floor(part) if staircase else part))


@_scheduled
def inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Any:
    """Return learning_rate / (1 + decay_rate · global_step / decay_steps)."""
    rate, step, steps = _parts(learning_rate, global_step, decay_steps)
    part = step / steps
    return rate / (1.0 + cast(decay_rate, rate.dtype) * (floor(part) if staircase else part))


@_scheduled
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Return (learning_rate − end_learning_rate) · (1 − global_step / decay_steps)^power + end_learning_rate."""
    rate, step, steps = _parts(learning_rate, global_step, decay_steps)
    last = cast(end_learning_rate, rate.dtype)
    if cycle:
        steps = steps * maximum(ceil(step / steps), 1.0)
    else:
        step = minimum(step, steps)
    left = maximum(1.0 - step / steps, 0.0)  # a fused multiply-add may give slightly less than 0
    return (rate - last) * left**power + last


@_scheduled
def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: str | None = None) -> Any:
    """Return learning_rate · ((1 − alpha) · (1 + cos(π · global_step / decay_steps)) / 2 + alpha)."""
    rate, step, steps = _parts(learning_rate, global_step, decay_steps)
    part = minimum(step, steps) / steps
    return rate * ((1 - alpha) * 0.5 * (1.0 + cos(part * math.pi)) + alpha)


@_scheduled
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: str | None = None,
) -> Any:
    """Decay by a sequence of cosines, each `t_mul` times as long and `m_mul` times as high as the previous one.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2017).
    """
    rate, step, steps = _parts(learning_rate, global_step, first_decay_steps)
    part = step / steps
    if t_mul == 1.0:
        restarts = floor(part)
        part = part - restarts
    else:
        restarts = floor(log(1.0 - part * (1.0 - t_mul)) / math.log(t_mul))
        part = (part - (1.0 - t_mul**restarts) / (1.0 - t_mul)) / t_mul**restarts
    decayed = 0.5 * m_mul**restarts * (1.0 + cos(part * math.pi))
    return rate * ((1 - alpha) * decayed + alpha)


def _linear_cosine(rate: Any, step: Any, steps: Any, noise: Any, num_periods: float, alpha: float, beta: float) -> Any:
    step = minimum(step, steps)
    linear, cosine = (steps - step) / steps, 0.5 * (1.0 + cos(2.0 * num_periods * step / steps * math.pi))
    return rate * ((alpha + linear + noise) * cosine + beta)


@_scheduled
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Any:
    """Return learning_rate · ((alpha + linear) · (1 + cos(2π · num_periods · part)) / 2 + beta), where linear = 1 − part.

    `part` is global_step / decay_steps. Bello et al., "Neural Optimizer Search with Reinforcement Learning" (2017).
    """
    rate, step, steps = _parts(learning_rate, global_step, decay_steps)
    return _linear_cosine(rate, step, steps, 0.0, num_periods, alpha, beta)


@_scheduled
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Any:
    """Return `linear_cosine_decay` with noise on its linear part.

    The noise has variance initial_variance / (1 + global_step)^variance_decay.
    """
    rate, step, steps = _parts(learning_rate, global_step, decay_steps)
    deviation = sqrt(initial_variance / power(1.0 + minimum(step, steps), cast(variance_decay, rate.dtype)))
    noise = normal((), stddev=deviation, dtype=rate.dtype)
    return _linear_cosine(rate, step, steps, noise, num_periods, alpha, beta)


@_scheduled
def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Any:
    """Return `values[i]` if `x` (a step) is greater than i of the `boundaries`."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    step = tensor(x)
    for boundary in boundaries:
        _check_boundary(boundary, step)
    first = tensor(values[0])
    if any(tensor(value).dtype != first.dtype for value in values):
        raise ValueError(f"`values` must have elements all with the same dtype: {list(values)}. Write them all as floats.")
    result = first
    for boundary, value in zip(boundaries, values[1:], strict=True):
        result = where(step > cast(boundary, step.dtype), tensor(value, result.dtype), result)
    return result


piecewise_constant_decay = piecewise_constant


def _check_boundary(boundary: Any, step: Any) -> None:
    given = tensor(boundary).dtype
    if given != step.dtype and not (given == dtypes.int32 and step.dtype == dtypes.int64):
        raise ValueError(
            f"`boundaries` ({given}) must have the same dtype as x ({step.dtype}): write them as numbers of that kind."
        )


# ---------------------------------------------------------------------------------------------------------------------
# The global step


@public
def get_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of the graph, or None; TypeError if it is not an integer scalar."""
    found = graph.get_collection(GraphKeys.GLOBAL_STEP) if graph is not None else get_collection(GraphKeys.GLOBAL_STEP)
    if not found:
        return None
    assert_global_step(found[0])
    return found[0]


@public
def assert_global_step(global_step_tensor: Any) -> None:
    """Raise TypeError unless the argument is an integer scalar."""
    if not isinstance(global_step_tensor, (Tensor, Stored)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor!r}.')
    if not global_step_tensor.dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    if global_step_tensor.ndim != 0:
        raise TypeError(f'Existing "global_step" is not scalar: {extents_of(global_step_tensor)}')


@public
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of the global step in a session; in eager code, with None for `sess`, that of the variable."""
    return int(global_step_tensor.numpy() if in_graph() is None else sess.run(global_step_tensor))


@public
def create_global_step(graph: Graph | None = None) -> Variable:
    """Create the global step, an int64 variable; ValueError if there is one."""
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    graph = graph or in_graph() or get_default_graph()
    recorded = in_graph()
    if recorded is None:
        variable = Variable(constant(0, dtypes.int64), trainable=False, name="global_step")
    else:
        with recorded.name_scope(""):
            variable = Variable(constant(0, dtypes.int64), trainable=False, name="global_step")
    graph.add_to_collection(GraphKeys.GLOBAL_STEP, variable)
    return variable


@public
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of the graph, created if needed."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found
