"""Objects that are made of tensors, row by row: their specs say what one row of them is, and what a batch of such objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradtape._src.core.declarations.spec import BatchableTypeSpec, TensorSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.values.composite import CompositeTensor


class CompositeParts:
    """A nest taken apart into its `leaves`. Of a CompositeTensor in it those are the parts of its components.

    Packed again, such an object becomes a row or a batch by the `_unbatch()` or `_batch(size)` of its spec. Objects of the
    classes `whole` are leaves.
    """

    def __init__(self, structure: Any, *whole: type) -> None:
        self.leaves: list[Any] = []
        self._held: list[tuple[Any, Any]] = []  # the spec of an object and its Parts; None and the structure of any other leaf
        found, self._spec = nest.flatten_with_spec(structure)
        inner: Any
        for item in found:
            item = item._convert_variables_to_tensors() if isinstance(item, CompositeTensor) else item
            spec = item._type_spec if isinstance(item, CompositeTensor) else None
            if isinstance(spec, BatchableTypeSpec):
                inner = CompositeParts(spec._to_components(item), *whole)
                parts = inner.leaves
            else:
                parts, inner = nest.flatten_with_spec(item, nest.NAMESPACE if isinstance(item, whole) else nest.EXPANDED)
            self.leaves += parts
            self._held.append((spec, inner))

    def same(self, leaves: Iterable[Any]) -> Any:
        """Pack such leaves into a nest of such objects."""
        return self._packed(iter(leaves), lambda spec: spec)

    def row(self, leaves: Iterable[Any]) -> Any:
        """Pack rows of the leaves."""
        return self._packed(iter(leaves), lambda spec: spec._unbatch())

    def batch(self, leaves: Iterable[Any], size: int) -> Any:
        """Pack batches of the leaves."""
        return self._packed(iter(leaves), lambda spec: spec._batch(size))

    def _packed(self, leaves: Iterator[Any], turned: Callable[[Any], Any]) -> Any:
        made = []
        for spec, inner in self._held:
            if isinstance(inner, CompositeParts):
                made.append(turned(spec)._from_components(inner._packed(leaves, turned)))
            else:
                made.append(nest.unflatten(inner, [next(leaves) for _ in range(inner.num_leaves)]))
        return nest.unflatten(self._spec, made)


def outline(structure: Any) -> Any:
    """Return a nest with the specs of its components in the place of each such object, or of its spec."""

    def specs_in(item: Any) -> Any:
        spec = item._type_spec if isinstance(item, CompositeTensor) else item
        if not isinstance(spec, BatchableTypeSpec) or isinstance(spec, TensorSpec):
            return item
        return outline(spec._component_specs)

    return nest.map_structure(specs_in, structure)
