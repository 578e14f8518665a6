"""`TensorSpec`: the shape and dtype that a tensor must have, and a name."""

from gradtape._src.core import dtypes
from gradtape._src.core.errors import public
from gradtape._src.core.shape import TensorShape


class TensorSpec:
    """What a tensor must look like: `shape`, with `None` where any extent will do, `dtype`, and perhaps a `name`."""

    __slots__ = ("_dtype", "_name", "_shape")

    @public
    def __init__(self, shape, dtype=dtypes.float32, name=None):
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    @classmethod
    @public
    def from_tensor(cls, tensor, name=None):
        """The spec of a tensor or variable."""
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    @public
    def from_spec(cls, spec, name=None):
        """The same spec, under another name if one is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def shape(self):
        """The shape, a `TensorShape`."""
        return self._shape

    @property
    def dtype(self):
        """The type of the elements, a `DType`."""
        return self._dtype

    @property
    def name(self):
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor):
        """Whether a tensor, or every tensor of a spec, has the dtype and a shape that fits."""
        other = spec_or_tensor
        return self._dtype == other.dtype and self._shape.is_compatible_with(other.shape)

    def __eq__(self, other):
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self._shape, self._dtype, self._name) == (other._shape, other._dtype, other._name)

    def __hash__(self):
        return hash((self._shape, self._dtype, self._name))

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self):
        return TensorSpec, (self._shape, self._dtype, self._name)
