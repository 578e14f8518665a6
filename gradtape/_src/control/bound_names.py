"""The names that an `if` or a loop binds, their values, and the list of tensors that a loop carries for them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from malt.operators.variables import Undefined, UndefinedReturnValue

from gradtape._src.control.iterators import Elements
from gradtape._src.control.scope import TENSOR, ResultStructure, Scope, draft
from gradtape._src.control.tensor_array import TensorArray, settled
from gradtape._src.control.tensor_array_size import Growth
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.ops.array.shape import zeros
from gradtape._src.ops.debugging import checks as debugging

NUMBERS = (bool, int, float, complex, np.number, np.bool_, np.ndarray)
STRINGS = (str, bytes)
UNDEFINED = (Undefined, UndefinedReturnValue)


class Bound(NamedTuple):
    """The `names` that a statement binds in the code around it: `get` returns their values, `set` binds other values."""

    names: Sequence[str]
    get: Callable[[], Any]
    set: Callable[[Any], None]

    def first(self, count: int) -> Bound:
        """Return the first `count` names. When these are bound, the others get their present values back."""
        get, bind = self.get, self.set  # a closure of functions, which `control/frozen` can copy
        before = get()
        return Bound(self.names[:count], lambda: get()[:count], lambda values: bind((*values, *before[count:])))


def flatten(value: Any) -> tuple[list[Any], Any]:
    """Flatten a value, composite tensors too; return `(leaves, spec)`."""
    return nest.flatten_with_spec(value, nest.EXPANDED)


def symbolic(value: Any) -> bool:
    """Return whether a value is a tensor of the function under trace."""
    return isinstance(value, (Tensor, Stored)) and engine.local.trace.scope is not None


def can_be_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, or a number or array that can become one."""
    return isinstance(value, (Tensor, Stored, *NUMBERS))


def can_be_result(value: Any) -> bool:
    """Return whether a branch can return `value`: a tensor, or a string, which must be equal in both branches."""
    return can_be_tensor(value) or isinstance(value, STRINGS)


def tensor_dtype(value: Any) -> Any:
    """Return the dtype of a value that can be a tensor."""
    return value.dtype if is_tensor(value) else tensor(value).dtype


def zeros_like(value: Any) -> Any:
    """Return a value of the same structure with zeros in the places of its tensors and numbers."""
    leaves, spec = flatten(value)
    return nest.unflatten(spec, [zeros(extents_of(tensor(x)), tensor_dtype(x)) if can_be_tensor(x) else x for x in leaves])


def empty(value: Any) -> bool:
    """Return whether a name is still unbound."""
    return value is None or isinstance(value, UNDEFINED)


def returned(name: str, before: Any) -> bool:
    """Return whether a name holds the function's return value."""
    return isinstance(before, UndefinedReturnValue) or "retval" in name


def check_not_none(name: str, main: Any, other: Any) -> None:
    """Raise ValueError for None where a branch must give a tensor. Both branches may `return` without a value."""
    if (main is None or other is None) and not (main is other and returned(name, None)):
        where = "main" if main is None else "else"
        raise ValueError(
            f"'{name}' is None at the end of the {where} branch. An `if` on a tensor can choose between tensors only: give "
            f"'{name}' a tensor in both branches, or decide by a Python value."
        )


class BoundState:
    """The `values` of the names that a loop binds, flattened to a list of tensors."""

    def __init__(self, bound: Bound, values: Any) -> None:
        self.bound = bound
        self.names: list[str] = []  # the name of each tensor
        self.parts: list[ResultStructure] = []
        self.tensors: list[Tensor] = []
        self.numbers: list[int] = []  # the positions of tensors that were Python numbers
        for name, value in zip(bound.names, values, strict=True):
            leaves, spec = flatten(value)
            fixed = []
            for x in leaves:
                if can_be_tensor(x):
                    fixed.append(TENSOR)
                    self.numbers += [] if is_tensor(x) else [len(self.tensors)]
                    self.tensors.append(tensor(x))
                    self.names.append(name)
                else:
                    fixed.append(x)
            self.parts.append(ResultStructure(spec, fixed))

    def bind(self, tensors: Sequence[Any]) -> None:
        """Bind the names to their values with these tensors."""
        self.bound.set(self.pack(tensors))

    def after(self, tensors: Sequence[Any], trip: Callable[[], None]) -> list[Tensor]:
        """Run a trip with these tensors; return those in the names' values after it."""
        self.bind(tensors)
        trip()
        return self.flat(self.bound.get())

    def pack(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Pack these tensors into the structure of the names' values."""
        remaining = iter(tensors)
        return tuple([part.fill(remaining) for part in self.parts])

    def flat(self, values: Any) -> list[Tensor]:
        """Return the tensors in the values after a trip. Other values must be unchanged."""
        result: list[Tensor] = []
        known = iter(self.tensors)
        for part, value, name in zip(self.parts, values, self.bound.names, strict=True):
            leaves, spec = flatten(value)
            if spec != part.spec:
                if isinstance(value, TensorArray):
                    raise engine.NeedsValues(f"'{name}', a TensorArray, grows in a loop: its size depends on values")
                raise TypeError(
                    f"'{name}' does not have the same nested structure after one iteration of the loop: a loop on tensors keeps "
                    f"the structure of what it binds. It was {nest.unflatten(part.spec, part.fixed)!r}."
                )
            for x, before in zip(leaves, part.fixed, strict=True):
                if before is TENSOR:
                    like = next(known)
                    own = is_tensor(x) or isinstance(x, (np.generic, np.ndarray))
                    result.append(x if isinstance(x, Tensor) else tensor(x, None if own else like.dtype))
                elif isinstance(x, STRINGS) and isinstance(before, STRINGS) and x != before:
                    raise engine.NeedsValues(
                        f"'{name}' is another Python string in each trip: start from tf.constant({before!r})"
                    )
                elif x is not before and not (isinstance(x, UNDEFINED) or x == before):
                    raise ValueError(
                        f"'{name}' is {before!r} before the loop and {x!r} after one iteration: a loop on tensors can change "
                        "tensors only."
                    )
        return result


def probed(bound: Bound, values: Any, run: Callable[[], None], growth: Growth | None = None) -> Sequence[Any]:
    """Run `run` in a trace that is discarded, with `values` bound to the names; return their values afterwards."""
    found: list[Any] = []
    outer = engine.local.trace.scope
    scope = Scope(nested=True)
    if isinstance(outer, Scope) and outer.elements is not None:
        scope.elements, scope.through = Elements([]), outer.through  # the discarded trace draws no elements

    def one() -> list[Any]:
        bound.set([nest.map_structure(lambda x: tensor(x) if isinstance(x, NUMBERS) else x, value) for value in values])
        run()
        found.extend(bound.get())
        return []

    with contextlib.nullcontext() if growth is None else growth.in_loop():
        draft(one, (), scope)
    return found


def defined(bound: Bound, run: Callable[[], None], runs: Callable[[], Any], growth: Growth | None = None) -> Any:
    """Return the values of the names before a loop.

    Names first bound inside the loop (or bound to None before it) start as zeros of the shape the loop gives them. A check at
    the call then ensures that the loop `runs` at least once. TensorArrays get room for the loop's writes.
    """
    values = bound.get()
    if not any(v is None or isinstance(v, (*UNDEFINED, TensorArray)) for v in values):
        return values

    try:
        found = probed(bound, values, run, growth)
    except UnboundLocalError as error:
        raise ValueError(f"{error}: what a loop on tensors reads before it binds it must be defined before the loop.") from None
    bound.set(values)
    filled, new = [], []
    for name, before, bound_to in zip(bound.names, settled(values, found, growth), found, strict=True):
        if empty(before) and not empty(bound_to):
            if not returned(name, before):
                new.append(name)
            before = zeros_like(bound_to)
        elif before is None and not returned(name, before):
            raise ValueError(f"'{name}' is not allowed to be None before the loop: it is None after one iteration, too.")
        filled.append(before)
    scope: Any = engine.local.trace.scope
    if new and not scope.nested:
        debugging.Assert(runs(), [f"loop must iterate at least once to initialize {', '.join(new)}"])
        bound.set(values)
    return tuple(filled)
