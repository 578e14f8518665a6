"""`CompositeTensor`: an object that is made of tensors, and that functions, loops and nests may take apart."""

from __future__ import annotations

import abc
from typing import Any


class CompositeTensor(abc.ABC):
    """Base of objects that are made of tensors. Their `_type_spec` has `_to_components(value)` and `_from_components(parts)`.

    A function takes and returns such an object, a loop carries it, and `tf.nest` looks into it with `expand_composites`.
    """

    @property
    @abc.abstractmethod
    def _type_spec(self) -> Any:
        """The spec of the object, a `tf.TypeSpec`."""

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no shape that a loop could keep.")

    def _convert_variables_to_tensors(self) -> Any:
        """Return the same object, with the values of its variables in their place. One without variables is itself."""
        return self

    @property
    def _is_graph_tensor(self) -> bool:
        return False

    def consumers(self) -> list[Any]:
        """Return the operations of a graph that read the object: none are known."""
        return []
