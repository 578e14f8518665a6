"""`IndexedSlices`: some rows of a larger tensor, such as the gradient of `gather`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import constant_folding
from gradtape._src.core.values.shape import TensorShape

if TYPE_CHECKING:
    from gradtape._src.core.values.dtypes import DType


class IndexedSlices:
    """`values[i]` is row `indices[i]` of a tensor of shape `dense_shape`; rows with the same index are added.

    `tf.convert_to_tensor(slices)` gives the dense tensor.

    >>> values, indices = tf.constant([[1.0], [2.0]]), tf.constant([0, 2])
    >>> slices = tf.IndexedSlices(values, indices, dense_shape=tf.constant([3, 1]))
    >>> tf.convert_to_tensor(slices).numpy().tolist()
    [[1.0], [0.0], [2.0]]
    """

    __slots__ = ("_dense_shape", "_indices", "_values")

    @public
    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    @property
    def values(self) -> Any:
        """The rows, a Tensor of shape [rows, …]."""
        return self._values

    @property
    def indices(self) -> Any:
        """The row numbers, an integer Tensor of shape [rows]."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The shape of the dense tensor, an integer Tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor, a TensorShape."""
        if self._dense_shape is None:
            return TensorShape(None)
        node = self._dense_shape.node
        extents = constant_folding.folded(node) if node.value is None else np.asarray(node.value).tolist()
        return TensorShape([None] * node.aval.size if extents is None else extents)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._values.dtype

    @property
    def device(self) -> str:
        """The name of the device that holds the values."""
        device: str = self._values.device
        return device

    @property
    def name(self) -> str:
        """In a graph the name of the values; AttributeError in eager code."""
        name: str = self._values.name
        return name

    @property
    def op(self) -> Any:
        """In a graph the Operation that produces the values; AttributeError in eager code."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """In a graph the graph itself; AttributeError in eager code."""
        return self._values.graph

    def consumers(self) -> list[Any]:
        """Return the Operations of a graph that consume the values; AttributeError in eager code."""
        consumers: list[Any] = self._values.consumers()
        return consumers

    def to_dense(self) -> Any:
        """Return the dense tensor; implemented by the scatter ops."""
        raise NotImplementedError

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"


def dense(x: Any) -> Any:
    """Convert IndexedSlices to a dense tensor; return any other gradient unchanged."""
    return x.to_dense() if isinstance(x, IndexedSlices) else x


class IndexedSlicesValue(NamedTuple):
    """The value of IndexedSlices in a session, as NumPy arrays."""

    values: Any
    indices: Any
    dense_shape: Any = None
