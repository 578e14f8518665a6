"""Functions with TensorFlow 1's signatures: parameters with other names, in another order."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from gradtape._src.core.base.public import public


def respelled(function: Callable[..., Any], parameters: str, **words: str) -> Callable[..., Any]:
    """Return `function` with TensorFlow 1's `parameters`, given as names in order.

    `words` maps these to the parameters of `function`; "" marks one without effect. None selects the default of `function`.
    ValueError if two of them are given for the same parameter.
    """
    has_default = {name for name, row in inspect.signature(function).parameters.items() if row.default is not Parameter.empty}
    signature = inspect.Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in parameters.split()])

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given: dict[str, tuple[str, Any]] = {}
        for word, value in signature.bind(*args, **kwargs).arguments.items():
            name = words.get(word, word)
            if not name or (value is None and (name in has_default or word in words)):
                continue
            other, earlier = given.get(name, (word, None))
            if earlier is not None and value is not None:
                raise ValueError(f"Cannot specify both '{other}' and '{word}'. Give {name} only.")
            if earlier is None:
                given[name] = word, value
        return function(**{name: value for name, (_, value) in given.items()})

    vars(call)["__signature__"] = signature
    del vars(call)["__wrapped__"]
    return public(call)
