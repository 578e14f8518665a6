"""`TensorSpec`: the shape and dtype that a tensor must have, and a name."""

from __future__ import annotations

from typing import Any

from gradtape._src.core import dtypes
from gradtape._src.core.dtypes import DType
from gradtape._src.core.errors import public
from gradtape._src.core.shape import TensorShape


class TensorSpec:
    """What a tensor must look like: `shape`, with `None` where any extent will do, `dtype`, and perhaps a `name`."""

    __slots__ = ("_dtype", "_name", "_shape")

    @public
    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    @classmethod
    @public
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor or variable."""
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    @public
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """The same spec, under another name if one is given."""
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
        return self._dtype == other.dtype and self._shape.is_compatible_with(other.shape)

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
