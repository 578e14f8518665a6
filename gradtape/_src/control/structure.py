"""The nest of a traced function's arguments or results, apart from the tensors in it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradtape._src.core import nest
from gradtape._src.core.convert import tensor
from gradtape._src.core.program import Node
from gradtape._src.core.tensor import Tensor, handle


class Structure:
    """The nest of a traced function's arguments or results: tensors, and constant values that are no tensors."""

    __slots__ = ("_plain", "fixed", "spec")

    def __init__(self, spec: Any, fixed: list[Any]) -> None:
        self.spec, self.fixed = spec, fixed
        self._plain: Callable[[list[Tensor]], Any] | bool | None = None  # False: it is filled

    def pack(self, nodes: Sequence[Node]) -> Any:
        """Pack these nodes as tensors into the nest."""
        if self._plain is None:
            self._plain = self._made_of_tensors()
        tensors = [handle(node) for node in nodes]
        return self._plain(tensors) if callable(self._plain) else self.fill(tensors)

    def _made_of_tensors(self) -> Callable[[list[Tensor]], Any] | bool:
        """Return the maker of the nest: a tensor, list or tuple of tensors, as most are, without a library. Else False."""
        if all(f is TENSOR for f in self.fixed):
            if self.spec.is_leaf():
                return operator.itemgetter(0)
            if self.spec.is_one_level() and self.spec.type in (list, tuple):
                kind: type = self.spec.type
                return kind
        return False

    def fill(self, values: Iterable[Any]) -> Any:
        """Fill these values into the nest at the places of its tensors."""
        remaining = iter(values)
        return nest.unflatten(self.spec, [next(remaining) if f is TENSOR else f for f in self.fixed])


TENSOR = object()


def flatten_results(results: Any, convert: Callable[[Any], Any], fixed_strings: bool = True) -> tuple[list[Node], Structure]:
    """Return the nodes of a nest of results and its Structure. `convert` makes a Tensor of a leaf, or gives it back as it is.

    With `fixed_strings` those that are known are no part of a Program, so that it need not run in stages: they are results
    that are always the same.
    """
    leaves, spec = nest.flatten_with_spec(results, nest.EXPANDED)
    nodes, fixed = [], []
    for item in leaves:
        item = convert(item)
        known = fixed_strings and isinstance(item, Tensor) and item.dtype.name == "string" and item.node.value is not None
        if isinstance(item, Tensor) and not known:
            nodes.append(item.node)
            fixed.append(TENSOR)
        else:
            fixed.append(item)
    return nodes, Structure(spec, fixed)


def tensor_or_none(value: Any) -> Any:
    """Convert a result of a function to a Tensor; None stays None."""
    return None if value is None else tensor(value)
