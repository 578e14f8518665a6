"""`TensorSpec`: the shape and dtype that a tensor must have, and a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape._src.core import dtypes
from gradtape._src.core.dtypes import DType
from gradtape._src.core.errors import public
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.tensor import Tensor, graph_of, name_of, stated_shape


class TensorSpec:
    """What a tensor must look like: `shape`, with `None` where any extent will do, `dtype`, and perhaps a `name`."""

    __slots__ = ("_dtype", "_name", "_shape")

    @public
    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    @property
    def value_type(self) -> type[Tensor]:
        """The class of what it is the spec of."""
        return Tensor

    @classmethod
    @public
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor, in a graph with its name; ValueError for what is none."""
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"`tensor` should be a tf.Tensor, but got type {type(tensor)}. TensorSpec(x.shape, x.dtype) takes any."
            )
        if name is None and graph_of(tensor.node) is not None:
            name = name_of(tensor).removesuffix(":0")
        return cls(stated_shape(tensor.node), tensor.dtype, name)

    @classmethod
    @public
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """The same spec, under another name if one is given; ValueError for what is none."""
        if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
            raise ValueError(f"`spec` should be a TensorSpec, but got type {type(spec)}.")
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def shape(self) -> TensorShape:
        """The shape, a `TensorShape`."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements, a `DType`."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or every tensor of a spec, has the dtype and a shape that fits."""
        other = spec_or_tensor
        if not isinstance(other, (Tensor, TensorSpec)):
            return False
        shape = other._shape if isinstance(other, TensorSpec) else stated_shape(other.node)
        return self._dtype == other.dtype and self._shape.is_compatible_with(shape)

    @public
    def is_subtype_of(self, other: Any) -> bool:
        """Whether every tensor that fits this spec fits `other`, too."""
        return (
            isinstance(other, TensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_subtype_of(other._shape)
            and (not self._name or self._name == other._name)
        )

    @public
    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorSpec | None:
        """The narrowest spec that what fits this one or one of `others` fits; None where dtypes or names differ."""
        if any(not isinstance(other, TensorSpec) or other._dtype != self._dtype or other._name != self._name for other in others):
            return None
        shape = self._shape.most_specific_common_supertype([other._shape for other in others])
        return TensorSpec(shape, self._dtype, self._name)

    @public
    def most_specific_compatible_type(self, other: TensorSpec) -> TensorSpec:
        """The narrowest spec that what fits either fits; ValueError where dtypes differ."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}: their dtypes differ.")
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self._shape, self._dtype, self._name) == (other._shape, other._dtype, other._name)

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype, self._name))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self._shape, self._dtype, self._name)
