"""Functions with TensorFlow 1's signatures: parameters with other names, in another order, or that a decorator adds."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature
from typing import Any

from gradtape._src.core.base.other_libraries import with_nearest_keyword
from gradtape._src.core.base.public import public


def respelled(function: Callable[..., Any], parameters: str, **words: str) -> Callable[..., Any]:
    """Return `function` with TensorFlow 1's `parameters`, given as names in order.

    `words` maps these to the parameters of `function`; "" marks one without effect. None selects the default of `function`.
    ValueError if two of them are given for the same parameter, TypeError for other parameters.
    """
    names, known = parameters.split(), inspect.signature(function).parameters
    defaults = {name: row.default for name, row in known.items() if row.default is not Parameter.empty}
    optional, instead_of_none = {*defaults, *words.values()}, {name for name in defaults if defaults[name] is not None}

    @functools.cache
    def targets(count: int, keywords: tuple[str, ...]) -> list[str] | None:
        """Return the parameters of `function` for `count` positional arguments and these keywords.

        None if `function` takes the arguments as they are, and where they are None, too.
        """
        arguments(call, range(count), dict.fromkeys(keywords))
        found = [words.get(word, word) for word in (*names[:count], *keywords)]
        same = found == [*list(known)[:count], *keywords] and len({*found}) == len(found)
        return None if same and instead_of_none.isdisjoint(found) else found

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = targets(len(args), tuple(kwargs))
        if found is None:
            return function(*args, **kwargs)
        given: dict[str, Any] = {}
        for name, value in zip(found, (*args, *kwargs.values()), strict=True):
            if not name or (value is None and name in optional):
                continue
            if given.get(name) is not None:
                both = [word for word in names if words.get(word, word) == name]
                old, new = sorted(both, key=name.__eq__)
                raise ValueError(f"Cannot specify both '{old}' and '{new}'. Give {name} only.")
            given[name] = value
        return function(**given)

    return public(signed(call, _signature(names, known, words)))


def _signature(names: list[str], known: Any, words: dict[str, str]) -> Signature:
    """Return a signature with the defaults of the parameters `known`; None for a second name, and behind another default."""
    targets = [words.get(name, name) for name in names]
    rows: list[Parameter] = []
    for name, target in zip(names, targets, strict=True):
        default = known[target].default if target else None
        if default is Parameter.empty and (targets.count(target) > 1 or (rows and rows[-1].default is not Parameter.empty)):
            default = None
        rows.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return Signature(rows)


def extended(function: Callable[..., Any], more: Mapping[str, Any], order: str = "") -> Signature:
    """Return the signature of `function` with further parameters, given with their defaults.

    `order` has the names of all parameters; by default the further ones are the last.
    """
    added = {name: Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default) for name, default in more.items()}
    rows = {**inspect.signature(function).parameters, **added}
    return Signature([rows[name] for name in order.split() or rows])


def signed(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Give a function this signature, in place of that of the function that it wraps."""
    vars(function)["__signature__"] = signature
    del vars(function)["__wrapped__"]
    return function


def arguments(function: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by parameter; TypeError for those that do not fit the signature."""
    try:
        return inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except TypeError as error:
        raise with_nearest_keyword(TypeError(f"{function.__name__}() {error}"), function, kwargs) from None
