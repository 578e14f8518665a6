"""`Module`: an object that finds the variables and modules in its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest, shallow_nest
from gradtape._src.core.tensors.scopes import name_scope
from gradtape._src.core.tensors.variable import Variable

P = ParamSpec("P")
R = TypeVar("R")


class Trackable:
    """Base of objects that a checkpoint may refer to; by itself it has nothing to save, such as a dataset."""


class Tracked(Trackable):
    """Base of objects whose attributes a checkpoint saves.

    A checkpoint may have values for attributes that do not exist yet. `_awaited` maps the name of such an attribute to the
    restore, and to its object's number in the checkpoint. The value is restored when the attribute is set.
    """

    _awaits_entries = True  # whether its plain lists and dicts restore items added later

    def _tracked_children(self) -> dict[str, Any]:
        """Return the attributes of this object by name."""
        return {name: value for name, value in vars(self).items() if name != "_awaited"}

    def _children_only_here(self) -> frozenset[str]:
        """Return the names of attributes that gradtape saves, but TensorFlow does not."""
        return frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        self._child_set(name, value)

    def _child_set(self, name: str, value: Any) -> None:
        """Restore a new attribute from a checkpoint that awaits it."""
        awaited = self.__dict__.get("_awaited")
        if awaited and name in awaited:
            restore, number = awaited.pop(name)
            restore.attribute_set(self, name, number, value)

    def _await_children(self, restore: Any, numbers: dict[str, int]) -> None:
        """Note attributes to restore when they are set, by name, with their objects' numbers in the checkpoint."""
        awaited = self.__dict__.get("_awaited")
        if awaited is None:
            object.__setattr__(self, "_awaited", awaited := {})
        awaited.update({name: (restore, number) for name, number in numbers.items()})


class SlotOwner(Tracked):
    """Base of optimizers with slots: variables kept for each trained variable."""

    def slot_to_restore(self, variable: Variable, slot: str) -> Variable | None:
        """Return the slot of this name, created if possible; None if it is created later, and then found by its `slot_place`."""
        raise NotImplementedError

    @staticmethod
    def slot_place(variable: Variable, slot: str) -> str:
        """Return the name under which a slot is awaited, which is not a valid attribute name."""
        return f"{slot}/{variable._uid}"


State = Mapping[str, np.ndarray]  # suffix of the name in a checkpoint → array


class Stateful(Trackable):
    """Base of objects that a checkpoint saves as arrays, though they are not variables: as `saved_as` plus a suffix."""

    saved_as: str  # TensorFlow's name of the object in checkpoints

    def saved_state(self) -> State:
        """Return the arrays to save by suffix; "" for a single array."""
        raise NotImplementedError

    def restored(self, state: State) -> Callable[[], None]:
        """Validate a saved state, and return the function that restores it. The validation changes nothing."""
        raise NotImplementedError


class Module(Tracked):
    """Base class of objects with variables. It finds them in its attributes, in order of their names, and in lists and dicts.

    `name` must be a valid Python name in ASCII; the default is the class's name in snake_case. Attributes listed in the class's
    `_TF_MODULE_IGNORED_PROPERTIES` are skipped.

    >>> class Dense(tf.Module):
    ...     def __init__(self, columns):
    ...         super().__init__()
    ...         self.w = tf.Variable(tf.ones([columns, 2]), name="w")
    >>> len(Dense(3).trainable_variables)
    1
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    @public
    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", type(self).__name__).lower()
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
            )
        self._name = name
        with name_scope(name) as prefix:
            self._name_scope = name_scope(prefix)

    @property
    def name(self) -> str:
        """The name of the module."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """A name scope for creating variables: the module's name within the scopes in which the module was created."""
        return self._name_scope

    def _no_dependency(self, value: Any) -> Any:
        """Return the value. Libraries wrap attributes by it to keep them out of checkpoints."""
        return value

    @classmethod
    def with_name_scope(cls, method: Callable[P, R]) -> Callable[P, R]:
        """Decorate a method so that it runs in the module's `name_scope`."""

        @functools.wraps(method)
        def in_scope(*args: P.args, **kwargs: P.kwargs) -> R:
            module: Any = args[0]
            with module.name_scope:
                return method(*args, **kwargs)

        return in_scope

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of this module and its submodules, a tuple without duplicates."""
        return tuple(self._flatten(predicate=is_variable, expand_composites=True))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return tuple(self._flatten(predicate=lambda value: is_variable(value) and value.trainable, expand_composites=True))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The variables that are not trainable."""
        return tuple(self._flatten(predicate=lambda value: is_variable(value) and not value.trainable, expand_composites=True))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in this one at any depth, a tuple without duplicates."""
        return tuple(self._flatten(predicate=is_module))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Yield the attributes' leaves that satisfy `predicate`, without duplicates: first its own, then those of submodules.

        The arguments are TensorFlow's, since derived classes call it. `with_path` yields pairs of a path and a value, one for
        each path.
        """
        seen = {id(self)}
        queue: list[tuple[Any, Module, frozenset[int]]] = [((), self, frozenset())]
        while queue:
            path, module, above = queue.pop(0)
            inner: list[tuple[Any, Module, frozenset[int]]] = []
            deeper = recursive and id(module) not in above
            for attribute in sorted(vars(module), key=attribute_traversal_key):
                if attribute in module._TF_MODULE_IGNORED_PROPERTIES:
                    continue
                for steps, value in _leaves(vars(module)[attribute], with_path, expand_composites):
                    if not with_path:
                        if id(value) in seen:
                            continue
                        seen.add(id(value))
                    place = (*path, attribute, *steps)
                    if predicate is None or predicate(value):
                        yield (place, value) if with_path else value
                    if deeper and isinstance(value, Module):
                        inner.append((place, value, above | {id(module)}))
            queue = inner + queue


def _leaves(structure: Any, with_path: bool, expand_composites: bool) -> Iterable[tuple[Any, Any]]:
    if with_path:
        return shallow_nest.flatten_with_tuple_paths(structure, expand_composites)
    return (((), leaf) for leaf in nest.flatten(structure, expand_composites))


def is_variable(value: Any) -> bool:
    """Return whether a value is a variable."""
    return isinstance(value, Variable)


def is_module(value: Any) -> bool:
    """Return whether a value is a module."""
    return isinstance(value, Module)
