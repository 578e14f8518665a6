"""Gradient functions from before `GradientTape`: the private names of `tensorflow.python.eager.backprop`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.ops.array.shape import identity

Function = Callable[..., Any]


@public
def implicit_val_and_grad(f: Function) -> Function:
    """Return a function, with the arguments of `f`, of its value and the pairs (gradient, variable) of the variables it reads.

    ValueError if `f` returns None or reads no trainable variable.
    """

    def value_and_gradients(*args: Any, **kwargs: Any) -> Any:
        with GradientTape() as tape:
            value = _returned(f, f(*args, **kwargs))
        variables = tape.watched_variables()
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return value, list(zip(tape.gradient(value, variables), variables, strict=True))

    return value_and_gradients


@public
def implicit_grad(f: Function) -> Function:
    """Return a function, with the arguments of `f`, of the pairs (gradient, variable) of the variables it reads."""
    both = implicit_val_and_grad(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


@public
def val_and_grad_function(f: Function, params: Sequence[Any] | None = None) -> Function:
    """Return a function, with the arguments of `f` and the upstream gradient `dy`, of its value and its gradients.

    `params` are names or positions of the arguments to differentiate, all by default.
    """
    pulled = make_vjp(f, params)

    def value_and_gradients(*args: Any, **kwargs: Any) -> Any:
        dy = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        value, vjp = pulled(*args)
        return value, vjp(dy=dy)

    return value_and_gradients


make_val_and_grad_fn = val_and_grad_function


@public
def gradients_function(f: Function, params: Sequence[Any] | None = None) -> Function:
    """Return a function, with the arguments of `f` and the upstream gradient `dy`, of its gradients."""
    both = val_and_grad_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def record_gradient(op_name: str, inputs: Any, attrs: Any, results: Any) -> None:
    """Do nothing, because each op is recorded when it is called."""


@public
def make_vjp(f: Function, params: Sequence[Any] | None = None, persistent: bool = True) -> Function:
    """Return a function, with the arguments of `f`, of its value and a function from `dy` to its gradients."""

    def pulled(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError("The gradient function can't take keyword arguments.")
        positions = _positions(f, params, len(args))
        given: list[Any] = list(args)
        with GradientTape(persistent=persistent) as tape:
            for position in positions:
                given[position] = identity(convert_to_tensor(given[position]))  # a copy, as one tensor may be passed twice
            sources = [given[position] for position in positions]
            tape.watch(sources)
            value = nest.map_structure(identity, _returned(f, f(*given)))

        def vjp(dy: Any = None) -> Any:
            upstream = None if dy is None else [convert_to_tensor(d) for d in nest.flatten(dy)]
            return tape.gradient(nest.flatten(value), sources, output_gradients=upstream)

        return value, vjp

    return pulled


def _returned(f: Function, value: Any) -> Any:
    if value is None:
        raise ValueError(
            f"Cannot differentiate a function that returns None; did you forget to return a value from {f.__name__}?"
        )
    return value


def _positions(f: Function, params: Sequence[Any] | None, count: int) -> Sequence[int]:
    """Return the positions of the arguments to differentiate."""
    if params is not None and all(isinstance(param, int) for param in params):
        return params
    try:
        names = [name for name in inspect.getfullargspec(f).args if name != "self"]
    except TypeError:
        names = []
    if params is None:
        return range(len(names) or count)
    if not all(isinstance(param, str) for param in params):
        raise ValueError(f"params must be all strings or all integers; got {params}.")
    return [names.index(param) for param in params]
