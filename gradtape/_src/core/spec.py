"""`TypeSpec`, the base of specs, and `TensorSpec`: the shape and dtype that a tensor must have, and a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape._src.core import dtypes
from gradtape._src.core.convert import tensor
from gradtape._src.core.dtypes import DType
from gradtape._src.core.errors import public
from gradtape._src.core.indexed_slices import IndexedSlices
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.tensor import Tensor, graph_of, name_of, stated_shape
from gradtape._src.core.variable import Variable


class TypeSpec:
    """Base of the descriptions of values: `TensorSpec`, `IndexedSlicesSpec`, `TensorArraySpec`, and classes of a user's own.

    A derived class states `value_type` and `_serialize()`, a tuple of what tells its specs apart: equality, hashing and the
    `repr` follow from it. Functions and datasets take `TensorSpec` only.

    >>> isinstance(tf.TensorSpec([2]), tf.TypeSpec), tf.TensorArraySpec([2], tf.int32)
    (True, TensorArraySpec(TensorShape([2]), tf.int32, False, True))
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is TypeSpec:
            raise TypeError(
                "Can't instantiate abstract class TypeSpec: make a tf.TensorSpec, or derive a class with value_type, _serialize."
            )
        return super().__new__(cls)

    @property
    def value_type(self) -> Any:
        """The class of the values that the spec describes."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or every value of a spec, fits this spec; TypeError for an object that has no spec."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else type_spec_from_value(spec_or_value)
        return type(other) is type(self) and all(map(_fits, self._serialize(), other._serialize()))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash((type(self), self._serialize()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()


def _fits(wanted: Any, given: Any) -> bool:
    if isinstance(wanted, (TensorShape, TypeSpec)):
        return wanted.is_compatible_with(given)
    return bool(wanted == given)


class TensorSpec(TypeSpec):
    """The spec of a tensor: `shape`, with `None` where any extent will do, `dtype`, and perhaps a `name`.

    >>> tf.TensorSpec([None, 3], tf.float32).is_compatible_with(tf.zeros([5, 3]))
    True
    """

    __slots__ = ("_dtype", "_name", "_shape")

    @public
    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    @property
    def value_type(self) -> type[Tensor]:
        """The class of the values that it is the spec of."""
        return Tensor

    @classmethod
    @public
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor, in a graph with its name; ValueError for any other object."""
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
        """Return the same spec, under another name if one is given; ValueError for an object that is no spec."""
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
        """Return whether a tensor, or every tensor of a spec, has the dtype and a shape that fits."""
        other = spec_or_tensor
        if not isinstance(other, (Tensor, TensorSpec)):
            return False
        shape = other._shape if isinstance(other, TensorSpec) else stated_shape(other.node)
        return self._dtype == other.dtype and self._shape.is_compatible_with(shape)

    @public
    def is_subtype_of(self, other: Any) -> bool:
        """Return whether every tensor that fits this spec fits `other`, too."""
        return (
            isinstance(other, TensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_subtype_of(other._shape)
            and (not self._name or self._name == other._name)
        )

    @public
    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorSpec | None:
        """Return the narrowest spec of all that fits this one or one of `others`; None where dtypes or names differ."""
        if any(not isinstance(other, TensorSpec) or other._dtype != self._dtype or other._name != self._name for other in others):
            return None
        shape = self._shape.most_specific_common_supertype([other._shape for other in others])
        return TensorSpec(shape, self._dtype, self._name)

    @public
    def most_specific_compatible_type(self, other: TensorSpec) -> TensorSpec:
        """Return the narrowest spec of all that fits either; ValueError where dtypes differ."""
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


class NoneTensorSpec(TypeSpec):
    """The spec of a None in an element of a dataset.

    >>> print(tf.type_spec_from_value(None))
    NoneTensorSpec()
    """

    __slots__ = ()

    @property
    def value_type(self) -> type[None]:
        """The class of None."""
        return type(None)

    def _serialize(self) -> tuple[Any, ...]:
        return ()


class IndexedSlicesSpec(TypeSpec):
    """The spec of IndexedSlices: the shape and dtype of the whole, the dtypes of its indices and of its `dense_shape`.

    >>> rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3], tf.int64))
    >>> print(tf.IndexedSlicesSpec([None, 2]).is_compatible_with(rows))
    True
    """

    __slots__ = ("_parts",)

    @public
    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._parts = (
            TensorShape(shape),
            dtypes.as_dtype(dtype),
            dtypes.as_dtype(indices_dtype),
            None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype),
            TensorShape([None]) if indices_shape is None else TensorShape(indices_shape).with_rank(1),
        )

    @property
    def value_type(self) -> type[IndexedSlices]:
        """The class IndexedSlices."""
        return IndexedSlices

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._parts[0]

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._parts[1]

    def _serialize(self) -> tuple[Any, ...]:
        return self._parts


class VariableSpec(TypeSpec):
    """The type of a Variable. Variables among a function's arguments that have one `alias_id` are the same object."""

    __slots__ = ("alias_id", "dtype", "shape", "trainable")

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, trainable: bool = True, alias_id: int | None = None) -> None:
        self.shape, self.dtype, self.trainable, self.alias_id = TensorShape(shape), dtypes.as_dtype(dtype), trainable, alias_id

    @classmethod
    def of(cls, variable: Variable, alias_id: int | None = None) -> VariableSpec:
        """Return the spec of a variable."""
        return cls(variable.shape, variable.dtype, variable.trainable, alias_id)

    @property
    def value_type(self) -> type[Variable]:
        """The class Variable."""
        return Variable

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.trainable, self.alias_id

    def __repr__(self) -> str:
        return f"VariableSpec(shape={self.shape}, dtype={self.dtype!r}, trainable={self.trainable}, alias_id={self.alias_id})"


@public
def type_spec_from_value(value: Any) -> TypeSpec:
    """Return the spec of a value: a tensor, IndexedSlices, a dataset, None, or anything that can be a tensor.

    TypeError for an object that has no spec.

    >>> tf.type_spec_from_value(tf.constant([1.0, 2.0]))
    TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """
    if value is None:
        return NoneTensorSpec()
    spec = getattr(value, "_type_spec", None)
    if isinstance(spec, TypeSpec):
        return spec
    if isinstance(value, Tensor):
        return TensorSpec.from_tensor(value)
    if isinstance(value, Variable):
        return VariableSpec.of(value)
    if isinstance(value, IndexedSlices):
        values, indices, extents = value.values, value.indices, value.dense_shape
        shape = value.shape if extents is not None else TensorShape([None]).concatenate(values.shape[1:])
        return IndexedSlicesSpec(shape, values.dtype, indices.dtype, None if extents is None else extents.dtype, indices.shape)
    try:
        found = tensor(value)
    except (TypeError, ValueError):
        raise TypeError(f"Could not build a TypeSpec for {value!r} of unsupported type {type(value)}.") from None
    return TensorSpec(stated_shape(found.node), found.dtype)
