"""`make_template`: a function that creates variables in its first call, and reuses them in later ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.v1.graphs.collections import global_variables, local_variables, trainable_variables
from gradtape._src.v1.graphs.variable_scope import VariableScope, variable_scope


class Template:
    """The callable returned by `make_template`."""

    def __init__(self, name: str, function: Callable[..., Any], unique_name: str | None, custom_getter: Any) -> None:
        functools.update_wrapper(self, function)
        self._name, self._function, self._unique_name, self._getter = name, function, unique_name, custom_getter
        self._scope: VariableScope | None = None
        self._called = False

    def enter(self) -> variable_scope:
        """Return the scope of its variables, a new one in the first call."""
        if self._scope is None:
            return variable_scope(self._unique_name, self._name, custom_getter=self._getter)
        return variable_scope(self._scope, reuse=True if self._called else None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.enter() as scope:
            self._scope = self._scope or scope
            result = self._function(*args, **kwargs)
            self._called = True
            return result

    def hold(self, scope: VariableScope) -> None:
        """Set the scope before the first call."""
        self._scope = scope

    @property
    def name(self) -> str:
        """The given name."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._function

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope of its variables; None before the first call."""
        return None if self._scope is None else self._scope.name

    @property
    def variables(self) -> list[Variable]:
        """Its global and local variables."""
        return self.global_variables + self.local_variables

    @property
    def global_variables(self) -> list[Variable]:
        """Its global variables."""
        return self._of(global_variables)

    @property
    def local_variables(self) -> list[Variable]:
        """Its local variables."""
        return self._of(local_variables)

    @property
    def trainable_variables(self) -> list[Variable]:
        """Its trainable variables."""
        return self._of(trainable_variables)

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """Its global variables that are not trainable."""
        trained = {id(variable) for variable in self.trainable_variables}
        return [variable for variable in self.global_variables if id(variable) not in trained]

    weights, trainable_weights, non_trainable_weights = variables, trainable_variables, non_trainable_variables
    var_scope = variable_scope

    def _of(self, collection: Callable[[str], list[Variable]]) -> list[Variable]:
        return [] if self._scope is None else collection(f"{self._scope.name}/")


@public
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Return `func_` with the arguments `kwargs`; its `get_variable`s create variables in the first call, and reuse them later.

    Their scope is `unique_name_`, or else `name_` made unique in the first call; with `create_scope_now_` it is made at once.
    """
    made = Template(name_, functools.partial(func_, **kwargs) if kwargs else func_, unique_name_, custom_getter_)
    if create_scope_now_:
        with made.enter() as scope:
            made.hold(scope)
    return made
