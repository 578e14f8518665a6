"""`Module`: an object that finds the variables and modules among its attributes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gradtape._src.core import nest
from gradtape._src.core.variable import Variable


class Module:
    """Base class of things that hold variables: attributes, in order of their names, and what lies in lists and dicts.

    `name` defaults to the class's name in snake_case and must be a valid Python name.

    >>> class Dense(tf.Module):
    ...     def __init__(self, columns):
    ...         super().__init__()
    ...         self.w = tf.Variable(tf.ones([columns, 2]), name="w")
    >>> len(Dense(3).trainable_variables)
    1
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", type(self).__name__).lower()
        if not name.isidentifier():
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
            )
        self._name = name

    @property
    def name(self) -> str:
        """The name of the module."""
        return self._name

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of this module and of those in it: a tuple, each once."""
        return tuple(self._flatten(lambda value: isinstance(value, Variable)))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return tuple(self._flatten(lambda value: isinstance(value, Variable) and value.trainable))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The others among `variables`."""
        return tuple(self._flatten(lambda value: isinstance(value, Variable) and not value.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in this one, at any depth: a tuple, each once."""
        return tuple(self._flatten(lambda value: isinstance(value, Module)))

    def _flatten(self, wanted: Callable[[Any], bool]) -> list[Any]:
        """What satisfies `wanted` among the attributes: each module's own first, then those of the modules in it."""
        found: list[Any] = []
        seen, queue = {id(self)}, [self]
        while queue:
            module = queue.pop(0)
            inner: list[Module] = []
            for attribute in sorted(vars(module)):
                if attribute.startswith("_tf_"):
                    continue
                for value in nest.flatten(vars(module)[attribute]):
                    if id(value) in seen or not isinstance(value, (Variable, Module)):
                        continue
                    seen.add(id(value))
                    if wanted(value):
                        found.append(value)
                    if isinstance(value, Module):
                        inner.append(value)
            queue = inner + queue
        return found
