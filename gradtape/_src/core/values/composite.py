"""`CompositeTensor`: an object made of tensors, which functions, loops and nests can take apart."""

from __future__ import annotations

import abc
from typing import Any


class CompositeTensor(abc.ABC):
    """Base of objects made of tensors. Their `_type_spec` has `_to_components(value)` and `_from_components(parts)`.

    Functions take and return such objects, loops carry them, and `tf.nest` flattens them with `expand_composites`.
    """

    @property
    @abc.abstractmethod
    def _type_spec(self) -> Any:
        """The spec of the object, a `tf.TypeSpec`."""

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no shape that a loop could keep.")

    def _convert_variables_to_tensors(self) -> Any:
        """Return the object with its variables replaced by their values; itself if it has none."""
        return self

    @property
    def _is_graph_tensor(self) -> bool:
        return False

    def consumers(self) -> list[Any]:
        """Return the operations of a graph that use the object: an empty list."""
        return []
