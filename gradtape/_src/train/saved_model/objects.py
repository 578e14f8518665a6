"""The objects of a saved model: children by name, with variables and functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.core.declarations.module import Stateful, Tracked
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.train.graph import children, named_in, saved_variable
from gradtape._src.train.saved_model.encoding import plain
from gradtape._src.train.saved_model.functions import Tracer
from gradtape._src.train.storage import ObjectNode
from gradtape._src.train.values import held

Functions = Function | ConcreteFunction


class Objects:
    """The objects under `root`, the root first, numbered: as JSON data, `entries`, and as the `nodes` of a checkpoint.

    `signatures` are additional functions, added by `sign`, with their numbers by name.
    """

    def __init__(self, root: Any) -> None:
        self.entries: list[dict[str, Any]] = []
        self.nodes: list[ObjectNode] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._functions: list[Functions] = []
        self._found: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._number(root)
        for number, value in enumerate(self._found):  # grows during the loop: breadth first
            self._enter(number, value)
        self.signatures: dict[str, int] = {}

    def sign(self, functions: Mapping[str, Functions]) -> None:
        """Add functions as signatures."""
        self.signatures = {name: self._function(function) for name, function in functions.items()}

    def _number(self, value: Any) -> int:
        """Return the number of an object; a new object gets the next number."""
        variable = saved_variable(value)
        kept = value if variable is None else variable
        if id(kept) not in self._numbers:
            self._numbers[id(kept)] = len(self._found)
            self._found.append(kept)
        return self._numbers[id(kept)]

    def _function(self, function: Functions) -> int:
        """Return the number of a function among the functions."""
        known = [number for number, other in enumerate(self._functions) if other is function]
        if not known:
            self._functions.append(function)
        return known[0] if known else len(self._functions) - 1

    def _enter(self, number: int, value: Any) -> None:
        node = ObjectNode({})
        self.nodes.append(node)
        if isinstance(value, Variable):
            node.key = f"variable_{number}"
            self.arrays[node.key] = held(value)
            self.entries.append(_variable(value, node.key))
            return
        if isinstance(value, Stateful):
            state = value.saved_state()
            node.key, node.endings = f"state_{number}", tuple(state)
            self.arrays |= {node.key + ending: array for ending, array in state.items()}
            self.entries.append({"kind": "state", "keys": node.keys, "saved_as": value.saved_as})
            return
        named = {name: child for name, child in children(value).items() if not isinstance(child, Functions)}
        node.children = {name: self._number(child) for name, child in named.items()}
        entry: dict[str, Any] = {"kind": _kind(value), "children": [[name, n] for name, n in node.children.items()]}
        if isinstance(value, Mapping):
            entry["keys"] = [[str(key), plain(key)] for key in value if type(key) in (str, int, float, bool)]
        elif isinstance(value, list | tuple):
            entry["length"] = len(value)
        if entry["kind"] == "namedtuple":
            entry["name"], entry["fields"] = type(value).__name__, list(value._fields)
        entry["functions"] = [[name, self._function(function)] for name, function in functions_of(value).items()]
        self.entries.append(entry)

    def names_of_root(self) -> list[str]:
        """Return the names of the root's children and functions."""
        root = self.entries[0]
        return [name for name, _ in (*root.get("children", ()), *root.get("functions", ()))]

    def number_of(self, variable: Variable, function: ConcreteFunction) -> int:
        """Return the number of a variable that a function uses; AssertionError if it is not one of the objects."""
        number = self._numbers.get(id(variable))
        if number is None:
            raise AssertionError(
                "Tried to export a function which references an 'untracked' resource. TensorFlow objects (e.g. tf.Variable) "
                "captured by functions must be 'tracked' by assigning them to an attribute of a tracked object or assigned to an "
                f"attribute of the main object directly. See the information below:\n\tFunction name = {function.name!r}\n"
                f"\tTrackable referencing this tensor = {variable!r}"
            )
        return number

    def written(self, tracer: Tracer) -> list[dict[str, Any]]:
        """Convert the functions to JSON data."""
        return [tracer.function(f) if isinstance(f, Function) else tracer.function(f._function, [f]) for f in self._functions]


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "dict"
    if isinstance(value, list):
        return "list"
    if isinstance(value, tuple):
        return "namedtuple" if hasattr(value, "_fields") else "tuple"
    return "object"


def _variable(value: Variable, key: str) -> dict[str, Any]:
    return {
        "kind": "variable",
        "key": key,
        "name": value.name.removesuffix(":0"),
        "trainable": value.trainable,
        "shape": plain(value.shape),
        "synchronization": value.synchronization.name,
        "aggregation": value.aggregation.name,
    }


def functions_of(value: Any) -> dict[str, Functions]:
    """Return the functions of an object by name: its own attributes, and methods that are `tf.function`s."""
    if isinstance(value, Mapping | list | tuple) or not isinstance(value, Tracked):
        return {name: item for name, item in named_in(value).items() if isinstance(item, Functions)}
    named = {name: item for name, item in vars(value).items() if isinstance(item, Functions)}
    for kind in type(value).__mro__:
        for name, item in vars(kind).items():
            if isinstance(item, Function) and name not in named and inspect.getattr_static(type(value), name) is item:
                named[name] = getattr(value, name)
    return dict(sorted(named.items()))
