"""Rules for adjoints, inverses and products of operators by class, which preserve more structure than a composition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")

Rule = Callable[..., Any]
_rules: dict[tuple[Any, ...], Rule] = {}


def rule(operation: str, *kinds: Any) -> Callable[[Rule], Rule]:
    """Return a decorator that registers the rule of an operation for operators of these classes, or of their subclasses."""

    def decorate(function: Rule) -> Rule:
        if (operation, *kinds) in _rules:
            raise ValueError(f"{operation} of {[kind.__name__ for kind in kinds]} has been registered already.")
        _rules[(operation, *kinds)] = function
        return function

    return decorate


def applied(operation: str, *operators: Any) -> Any:
    """Return the result of an operation by the rule of the nearest classes: the one with the fewest steps to base classes."""
    best: tuple[int, Rule] | None = None
    for (name, *kinds), function in _rules.items():
        if name == operation and len(kinds) == len(operators) and all(map(isinstance, operators, kinds)):
            steps = sum(type(each).__mro__.index(kind) for each, kind in zip(operators, kinds, strict=True))
            if best is None or steps < best[0]:
                best = steps, function
    if best is None:
        raise NotImplementedError(f"{operation} of {[type(each).__name__ for each in operators]} is not registered.")
    return best[1](*operators)


def hints_of(operator: Any) -> dict[str, Any]:
    """Return the hints of an operator, by name."""
    return {hint: getattr(operator, hint) for hint in HINTS}


def both(name: str, left: Any, right: Any) -> bool | None:
    """Return True if both operators have the hint `name`; else None."""
    return True if getattr(left, name) and getattr(right, name) else None


def invertible(left: Any, right: Any) -> bool | None:
    """Return whether a product of square operators is invertible; None if that is unknown."""
    if left.is_square is False or right.is_square is False:
        return None
    hints = (left.is_non_singular, right.is_non_singular)
    return False if False in hints else True if hints == (True, True) else None
