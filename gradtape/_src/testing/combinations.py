"""Tests run for each combination of arguments, with the names of TensorFlow's modules `combinations`.

>>> combined = combine(mode=["eager", "graph"], size=[1, 2])
>>> combined[1]
{'mode': 'eager', 'size': 2}
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import re
import unittest
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from absl.testing import parameterized

from gradtape._src.core.engine import tracing
from gradtape._src.v1.graphs.graph import Graph

MODES: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "eager": tracing.outside,
    "graph": lambda: Graph().as_default(),
}


class NamedObject:
    """A value with a name, for use in test names."""

    def __init__(self, name: str, obj: Any) -> None:
        self._name, self._obj = name, obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._obj(*args, **kwargs)

    def __iter__(self) -> Any:
        return iter(self._obj)

    def __repr__(self) -> str:
        return self._name


def combine(**kwargs: Any) -> list[dict[str, Any]]:
    """Return all combinations of the values, as dicts in the order of the sorted names."""
    names = sorted(kwargs)
    values = [kwargs[name] if isinstance(kwargs[name], list) else [kwargs[name]] for name in names]
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*values)]


def times(*combined: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the product of lists of combinations; ValueError if two lists have the same name."""
    found = []
    for parts in itertools.product(*combined):
        merged = {name: value for part in parts for name, value in part.items()}
        if len(merged) < sum(map(len, parts)):
            raise ValueError(f"Keys need to not overlap: {[sorted(part) for part in parts]}.")
        found.append(dict(sorted(merged.items())))
    return found


def generate(combinations: Iterable[Mapping[str, Any]], test_combinations: Any = ()) -> Callable[[Any], Any]:
    """Decorate a test, or all tests of a class, to run once for each of the `combinations`.

    The class derives from `parameterized.TestCase`. `mode` "eager" or "graph" opens that mode; combinations with another
    `tf_api_version` than 2 are skipped. The test gets the values for which it has parameters. `test_combinations` have no effect.
    """
    wanted = [chosen for chosen in combinations if chosen.get("tf_api_version", 2) == 2]
    names = [_name(chosen, index) for index, chosen in enumerate(wanted)]

    def decorate(given: Any) -> Any:
        if not wanted:
            return unittest.skip("Its combinations are those of TensorFlow 1.")(given)
        if not isinstance(given, type):
            named = [{"testcase_name": name, **chosen} for name, chosen in zip(names, wanted, strict=True)]
            return parameterized.named_parameters(*named)(_taking(given))
        for test, method in list(vars(given).items()):
            if test.startswith("test") and inspect.isfunction(method):
                delattr(given, test)
                for name, chosen in zip(names, wanted, strict=True):
                    setattr(given, test + name, _with(_taking(method), chosen))
        return given

    return decorate


def _taking(method: Any) -> Any:
    """Wrap a test so that it takes a whole combination."""
    parameters = inspect.signature(method).parameters.values()
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    taken = {p.name for p in parameters}

    @functools.wraps(method)
    def decorated(self: Any, **chosen: Any) -> None:
        with MODES.get(str(chosen.get("mode")), contextlib.nullcontext)():
            method(self, **{name: value for name, value in chosen.items() if takes_all or name in taken})

    return decorated


def _with(method: Any, chosen: Mapping[str, Any]) -> Any:
    @functools.wraps(method)
    def decorated(self: Any) -> None:
        method(self, **chosen)

    return decorated


def _name(combination: Mapping[str, Any], index: int) -> str:
    parts = []
    for name, value in combination.items():
        said = value.__name__ if isinstance(value, type) or inspect.isfunction(value) else str(value)
        parts += [re.sub(r"\W", "", name.replace("_", "")), re.sub(r"\W", "", said) or str(index)]
    return "_test_" + "_".join(parts)
