"""Rows and batches of objects made of tensors; their specs state the form of one row and of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradtape._src.core.declarations.spec import BatchableTypeSpec, TensorSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.values.composite import CompositeTensor


class CompositeParts:
    """A nest taken apart into its `leaves`; a CompositeTensor contributes its component tensors.

    When packed, such an object becomes a row or a batch by its spec's `_unbatch()` or `_batch(size)`. Objects of the classes
    `whole` are leaves.
    """

    def __init__(self, structure: Any, *whole: type) -> None:
        self.leaves: list[Any] = []
        # For each object its spec and its parts; for any other leaf None and its structure.
        self._held: list[tuple[Any, Any]] = []
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
        """Pack leaves into a nest with the original specs."""
        return self._packed(iter(leaves), lambda spec: spec)

    def row(self, leaves: Iterable[Any]) -> Any:
        """Pack leaves that are rows into a nest of rows."""
        return self._packed(iter(leaves), lambda spec: spec._unbatch())

    def batch(self, leaves: Iterable[Any], size: int) -> Any:
        """Pack leaves that are batches into a nest of batches."""
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
    """Return the nest with each composite object, or its spec, replaced by the specs of its components."""

    def specs_in(item: Any) -> Any:
        spec = item._type_spec if isinstance(item, CompositeTensor) else item
        if not isinstance(spec, BatchableTypeSpec) or isinstance(spec, TensorSpec):
            return item
        return outline(spec._component_specs)

    return nest.map_structure(specs_in, structure)
