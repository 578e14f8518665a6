"""`Module`: an object that finds the variables and modules among its attributes."""

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
    """Base of what may hang on a checkpoint; by itself it has nothing to save, as a dataset."""


class Tracked(Trackable):
    """Base of objects whose attributes a checkpoint saves.

    A restore may have values for attributes that do not exist yet. For each of these `_awaited` has the restore, and the number
    of its object in the checkpoint: the value is restored when the attribute is set.
    """

    _awaits_entries = True  # whether a plain list or dict that hangs on it is to restore what is put into it later

    def _tracked_children(self) -> dict[str, Any]:
        """Return the objects that are attributes of this one, by name."""
        return {name: value for name, value in vars(self).items() if name != "_awaited"}

    def _children_only_here(self) -> frozenset[str]:
        """Return the names of attributes that gradtape saves and TensorFlow does not."""
        return frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        self._child_set(name, value)

    def _child_set(self, name: str, value: Any) -> None:
        """Give a new attribute the values that a restore kept for it."""
        awaited = self.__dict__.get("_awaited")
        if awaited and name in awaited:
            restore, number = awaited.pop(name)
            restore.attribute_set(self, name, number, value)

    def _await_children(self, restore: Any, numbers: dict[str, int]) -> None:
        """Keep the values of `restore` for attributes that do not exist yet, by the numbers of its objects."""
        awaited = self.__dict__.get("_awaited")
        if awaited is None:
            object.__setattr__(self, "_awaited", awaited := {})
        awaited.update({name: (restore, number) for name, number in numbers.items()})


class SlotOwner(Tracked):
    """Base of an optimizer that keeps variables, its slots, for the variables that it trains."""

    def slot_to_restore(self, variable: Variable, slot: str) -> Variable | None:
        """Return the slot of that name, made if need be; None if it is made later, and then found by its `slot_place`."""
        raise NotImplementedError

    @staticmethod
    def slot_place(variable: Variable, slot: str) -> str:
        """Return the name under which a slot is awaited; no attribute is called that."""
        return f"{slot}/{variable._uid}"


State = Mapping[str, np.ndarray]  # arrays by the endings of their names


class Stateful(Trackable):
    """Base of what a checkpoint saves as arrays, though it is no variable: each under `saved_as` and an ending of its own."""

    saved_as: str  # how TensorFlow calls that in the names of a checkpoint

    def saved_state(self) -> State:
        """Return the arrays to be saved, by their endings: "" where there is one."""
        raise NotImplementedError

    def restored(self, state: State) -> Callable[[], None]:
        """Check what was saved, and return the function by which this becomes it. The check changes nothing."""
        raise NotImplementedError


class Module(Tracked):
    """Base class of things that hold variables: attributes, in order of their names, and what lies in lists and dicts.

    `name` defaults to the class's name in snake_case and must be a valid Python name, in ASCII. Attributes whose names are in
    the class's `_TF_MODULE_IGNORED_PROPERTIES` are passed over.

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
            self._prefix = prefix

    @property
    def name(self) -> str:
        """The name of the module."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """A name scope to make variables in: the module's name under the scopes in which it was itself made."""
        return name_scope(self._prefix)

    @property
    def _name_scope(self) -> Any:
        """`name_scope`, by the private name that libraries look for to see whether `__init__` was called."""
        return self.name_scope

    def _no_dependency(self, value: Any) -> Any:
        """Return the value: libraries ask that a checkpoint pass over it, and one without variables has nothing to save."""
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
        """All variables of this module and of those in it: a tuple, each once."""
        return tuple(self._flatten(predicate=is_variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return tuple(self._flatten(predicate=lambda value: is_variable(value) and value.trainable))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The others among `variables`."""
        return tuple(self._flatten(predicate=lambda value: is_variable(value) and not value.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in this one, at any depth: a tuple, each once."""
        return tuple(self._flatten(predicate=is_module))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Yield what lies in the attributes and satisfies `predicate`, each once: a module's own first, then of its submodules.

        Its arguments are TensorFlow's, as classes that are derived from Module call it. `with_path` yields pairs of a path and a
        value, one for each path.
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
    """Return the leaves of a structure, each with its path, which is empty unless it is wanted."""
    if with_path:
        return shallow_nest.flatten_with_tuple_paths(structure, expand_composites)
    return (((), leaf) for leaf in nest.flatten(structure, expand_composites))


def is_variable(value: Any) -> bool:
    """Return whether a value is a variable."""
    return isinstance(value, Variable)


def is_module(value: Any) -> bool:
    """Return whether a value is a module."""
    return isinstance(value, Module)
