"""The graph of the objects that a checkpoint saves: children by name."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from gradtape._src.core.declarations.module import SlotOwner, Stateful, Trackable, Tracked
from gradtape._src.core.tensors.convert import variable_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.train.containers import AwaitingDict, AwaitingList
from gradtape._src.train.left_out import tell_left_out
from gradtape._src.train.storage import ATTRIBUTES, ObjectNode

Hung = tuple[Tracked, str, int]  # an object, the name of an attribute, and the node to restore there
Slot = tuple[SlotOwner, str, int, int]  # optimizer, slot name, node of the variable, node of the slot


def saved_variable(value: Any) -> Variable | Stateful | None:
    """Return the variable that `value` is or wraps, or another object that is saved as one array; otherwise None."""
    held = variable_of(value)
    if not isinstance(held, (Variable, Stateful)) and hasattr(type(held), "assign"):
        held = getattr(held, "value", None)
    return held if isinstance(held, (Variable, Stateful)) else None


def own_name(variable: Variable | Stateful) -> str | None:
    """Return the name of a variable in a Saver's checkpoint."""
    return variable.name.removesuffix(":0") if isinstance(variable, Variable) else None


def is_trackable(value: Any) -> bool:
    """Return whether a checkpoint follows `value`: a variable, module, list, tuple, dict, or an object with `variables`."""
    return (
        isinstance(value, Trackable | list | tuple | Mapping)
        or saved_variable(value) is not None
        or (not isinstance(value, type) and hasattr(type(value), "variables"))
    )


def children(value: Any) -> dict[str, Any]:
    """Return the children of `value` that a checkpoint follows, by name: attributes, indices, keys."""
    return {name: item for name, item in named_in(value).items() if is_trackable(item)}


def named_in(value: Any) -> dict[str, Any]:
    """Return all children of `value` by name, including those that no checkpoint follows."""
    if saved_variable(value) is not None:
        return {}
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, list | tuple):
        fields = getattr(value, "_fields", range(len(value)))
        return {str(name): item for name, item in zip(fields, value, strict=True)}
    if isinstance(value, Tracked):
        return value._tracked_children()
    if isinstance(value, Trackable):
        return {}
    return {"variables": list(value.variables() if callable(value.variables) else value.variables)}


def _escaped(name: str) -> str:
    """Convert a name to part of a key, as TensorFlow does, so that its slashes differ from separators."""
    return name.replace(".", "..").replace("/", ".S")


def _check_unchanged(value: Any) -> None:
    if isinstance(value, AwaitingList | AwaitingDict) and value.changed_elsewhere():
        raise ValueError(
            f"Unable to save {value!r}: it was changed by another name than the attribute, after a restore that has "
            "more for it. Change it as the attribute: `self.layers.append(…)`."
        )


def saved_graph(root: Any) -> tuple[list[ObjectNode], dict[str, Variable], dict[str, np.ndarray]]:
    """Return the graph under `root`: nodes (the root first), variables by key, and arrays of other objects' states.

    A key is the shortest path to a value. The log lists states that are not saved.
    """
    nodes: list[ObjectNode] = [ObjectNode({})]
    objects, paths = [root], [""]
    numbers = {id(root): 0}
    variables: dict[str, Variable] = {}
    states: dict[str, np.ndarray] = {}
    unfollowed: dict[str, Any] = {}
    for number, value in enumerate(objects):  # grows during the loop: breadth first
        if (variable := saved_variable(value)) is not None:
            node, key = nodes[number], paths[number] or "root"
            if isinstance(variable, Stateful):
                state = variable.saved_state()
                node.key, node.endings = f"{key}{ATTRIBUTES}{variable.saved_as}", None if [*state] == [""] else tuple(state)
                states |= {node.key + ending: array for ending, array in state.items()}
            else:
                node.key, node.name = key, own_name(variable)
                variables[key] = variable
            continue
        _check_unchanged(value)
        for name, child in named_in(value).items():
            if not is_trackable(child):
                unfollowed[f"{paths[number]}/{name}".lstrip("/")] = child
                continue
            variable = saved_variable(child)
            identity = id(child if variable is None else variable)
            if identity not in numbers:
                numbers[identity] = len(objects)
                objects.append(child)
                nodes.append(ObjectNode({}))
                paths.append(f"{paths[number]}/{_escaped(name)}" if paths[number] else _escaped(name))
            nodes[number].children[name] = numbers[identity]
    tell_left_out(unfollowed, numbers)
    return nodes, variables, states


class Match:
    """The match of existing objects with those of a checkpoint, by paths from the root.

    `bound` are the variables with a saved value, as `(path, variable, node)`; `unbound` those without, as `(path, variable)`.
    `waiting` are saved attributes that do not exist yet, or hold a list or dict that lacks items, as `(object, name, node)`.

    It starts with `value` and the node `number`; `hung` is the attribute that holds the value, if there is one. A `foreign`
    checkpoint may lack values that TensorFlow does not save. `objects` has the variables by their nodes, `slots` those of
    optimizers that do not exist yet.
    """

    def __init__(
        self, nodes: list[ObjectNode], value: Any, number: int | None, hung: Hung | None = None, foreign: bool = False
    ) -> None:
        self.bound: list[tuple[str, Variable | Stateful, ObjectNode]] = []
        self.unbound: list[tuple[str, Variable | Stateful]] = []
        self.waiting: list[Hung] = []
        self.used: set[int] = set()
        self.objects: dict[int, Variable] = {}
        self.slots: list[Slot] = []
        seen: dict[int, int | None] = {}
        queue = [(value, number, "(root)", hung)]
        for value, number, path, hung in queue:  # grows during the loop
            variable = saved_variable(value)
            identity = id(value if variable is None else variable)
            if identity in seen and (seen[identity] is not None or number is None):
                continue
            seen[identity] = number
            if number is not None:
                self.used.add(number)
            if variable is not None:
                self._variable(variable, number, nodes, path)
                continue
            named = children(value)
            known = nodes[number].children if number is not None else {}
            tracked = isinstance(value, Tracked)
            if foreign and isinstance(value, Tracked):
                only_here = value._children_only_here() - known.keys()
                named = {name: child for name, child in named.items() if name not in only_here}
            if number is not None and isinstance(value, SlotOwner):
                self.slots += [(value, *slot) for slot in nodes[number].slots or ()]
            for name, child in named.items():
                node = known.get(name)
                at = (value, name, node) if isinstance(value, Tracked) and node is not None else None
                queue.append((child, node, f"{path}.{name}", at if tracked else hung))
            missing = known.keys() - named.keys()
            if tracked:
                self.waiting.extend([(value, name, known[name]) for name in missing])
            elif missing and hung is not None:
                self.waiting.append(hung)
        self._bind_slots(nodes)
        self._settle()

    def _bind_slots(self, nodes: list[ObjectNode]) -> None:
        """Bind the slots of optimizers whose variables are found."""
        there, self.slots = self.slots, []
        for owner, name, variable, number in there:
            of = self.objects.get(variable)
            slot = None if of is None else owner.slot_to_restore(of, name)
            if slot is None:
                self.slots.append((owner, name, variable, number))
            else:
                self.used.add(number)
                self._variable(slot, number, nodes, f"(root).{name}")

    def by_name(self, names: Container[str]) -> Match:
        """Bind the variables whose own name is in `names`, as the checkpoint has no graph. The `save` counter may be missing."""
        named = [(path, variable, own_name(variable)) for path, variable in self.unbound]
        self.bound = [(path, variable, ObjectNode({}, name)) for path, variable, name in named if name and name in names]
        self.unbound = [entry for entry in self.unbound if entry[0] != "(root).save_counter"]
        self._settle()
        return self

    def _settle(self) -> None:
        found = {id(variable) for _, variable, _ in self.bound}
        self.unbound = [(path, variable) for path, variable in self.unbound if id(variable) not in found]

    def _variable(self, variable: Variable | Stateful, number: int | None, nodes: list[ObjectNode], path: str) -> None:
        if number is None or nodes[number].key is None:
            self.unbound.append((path, variable))
        else:
            self.bound.append((path, variable, nodes[number]))
            if isinstance(variable, Variable):
                self.objects[number] = variable
