"""`TypeSpec`, the base of specs, and `TensorSpec`: the shape and dtype of a tensor, and a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, graph_of, name_of, stated_shape
from gradtape._src.core.tensors.variable import ResourceVariable, Variable
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.dtypes import DType
from gradtape._src.core.values.shape import TensorShape


class TraceType:
    """Base of the types of a function's arguments: of `TypeSpec`, and of a type that an object's `__tf_tracing_type__` returns.

    A function is traced once for all objects of equal types, with the `placeholder_value` of the first one's type. So a derived
    class defines `==`, `hash` and `placeholder_value`. A type that is only more general than another one has a trace of its own.

    >>> class Price(tf.types.experimental.TraceType):
    ...     def __init__(self, fruit):
    ...         self.fruit = fruit
    ...
    ...     def __eq__(self, other):
    ...         return isinstance(other, Price) and self.fruit.price == other.fruit.price
    ...
    ...     def __hash__(self):
    ...         return hash(self.fruit.price)
    ...
    ...     def placeholder_value(self, context):
    ...         return self.fruit
    >>> class Fruit:
    ...     def __init__(self, price):
    ...         self.price = price
    ...
    ...     def __tf_tracing_type__(self, context):
    ...         return Price(self)
    >>> cost = tf.function(lambda fruit, count: fruit.price * count)
    >>> [cost(Fruit(p), tf.constant(2.0)).numpy().item() for p in (3.0, 3.0, 4.0)], cost.experimental_get_tracing_count()
    ([6.0, 6.0, 8.0], 2)
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is TraceType:
            raise TypeError(
                "Can't instantiate abstract class TraceType: derive a class with ==, hash and placeholder_value, or make a "
                "tf.TensorSpec."
            )
        return super().__new__(cls)

    @public
    def is_subtype_of(self, other: Any) -> bool:
        """Return whether every value of this type is also one of `other`."""
        return bool(self == other)

    @public
    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """Return the narrowest type that has the values of this one and all `others`; None if there is none."""
        return self if all(self == other for other in others) else None

    @public
    def placeholder_value(self, placeholder_context: Any = None) -> Any:
        """Return the object that a function is traced with, in the place of its argument."""
        raise NotImplementedError(f"{type(self).__name__}.placeholder_value")


class TypeSpec(TraceType):
    """Base of descriptions of values: `TensorSpec`, `IndexedSlicesSpec`, `TensorArraySpec`, and users' own classes.

    A derived class defines `value_type`, and `_serialize()`, a tuple that identifies a spec. Equality, hashing and `repr` follow
    from it. Functions and datasets accept only `TensorSpec`.

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

    @classmethod
    def _deserialize(cls, serialization: Any) -> Any:
        return cls(*serialization)

    @property
    def _component_specs(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._component_specs")

    def _to_components(self, value: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_components")

    def _from_components(self, components: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._from_components")

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or every value of a spec, matches this spec; TypeError for an object without a spec."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else type_spec_from_value(spec_or_value)
        return type(other) is type(self) and self.__is_compatible(self._serialize(), other._serialize())

    @public
    def is_subtype_of(self, other: Any) -> bool:
        """Return whether every value of this spec also matches `other`."""
        if type(other) is not type(self):
            return False
        mine, others = nest.flatten(self._serialize()), nest.flatten(other._serialize())
        return len(mine) == len(others) and all(
            a.is_subtype_of(b) if hasattr(a, "is_subtype_of") else bool(a == b) for a, b in zip(mine, others, strict=True)
        )

    @public
    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """Return the narrowest spec that this one and all `others` match; None if there is none."""
        if any(type(other) is not type(self) for other in others):
            return None
        state = self._serialize()
        columns = [nest.flatten(state), *(nest.flatten(other._serialize()) for other in others)]
        if any(len(column) != len(columns[0]) for column in columns):
            return None
        found = []
        for first, *rest in zip(*columns, strict=True):
            if hasattr(first, "most_specific_common_supertype"):
                common = first.most_specific_common_supertype(rest)
            else:
                common = first if all(bool(first == each) for each in rest) else None
            if common is None and first is not None:
                return None
            found.append(common)
        return self._deserialize(nest.pack_sequence_as(state, found))

    @public
    def most_specific_compatible_type(self, other: Any) -> Any:
        """Return the narrowest spec that both match; ValueError if there is none."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}.")
        return found

    def _with_tensor_ranks_only(self) -> Any:
        def relaxed(part: Any) -> Any:
            if isinstance(part, TypeSpec):
                return part._with_tensor_ranks_only()
            return TensorShape([None] * part.rank) if isinstance(part, TensorShape) and part.rank is not None else part

        return self._deserialize(nest.map_structure(relaxed, self._serialize()))

    def _without_tensor_names(self) -> Any:
        return self._deserialize(
            nest.map_structure(
                lambda part: part._without_tensor_names() if isinstance(part, TypeSpec) else part, self._serialize()
            )
        )

    @staticmethod
    def __is_compatible(wanted: Any, given: Any) -> bool:
        if isinstance(wanted, (TensorShape, TypeSpec, DType)):
            return wanted.is_compatible_with(given)
        if type(wanted) is not type(given):
            return False
        if isinstance(wanted, (list, tuple)):
            return len(wanted) == len(given) and all(map(TypeSpec.__is_compatible, wanted, given))
        if isinstance(wanted, dict):
            return wanted.keys() == given.keys() and all(TypeSpec.__is_compatible(wanted[key], given[key]) for key in wanted)
        return bool(np.all(wanted == given))

    @staticmethod
    def __make_cmp_key(value: Any) -> Any:
        """Return a hashable and comparable key for a part of a spec."""
        if isinstance(value, (list, tuple)):
            return (type(value), *map(TypeSpec.__make_cmp_key, value))
        if isinstance(value, dict):
            return (
                dict,
                *((TypeSpec.__make_cmp_key(key), TypeSpec.__make_cmp_key(value[key])) for key in sorted(value, key=repr)),
            )
        if isinstance(value, np.ndarray):
            return np.ndarray, value.shape, TypeSpec.__make_cmp_key(value.tolist())
        return value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__make_cmp_key(self._serialize()) == self.__make_cmp_key(other._serialize())

    def __hash__(self) -> int:
        return hash((type(self), self.__make_cmp_key(self._serialize())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()


class BatchableTypeSpec(TypeSpec):
    """Base of specs that can also describe batches of their values, by `_batch(size)` and `_unbatch()`."""

    __slots__ = ()


class ShapedSpec(TypeSpec):
    """Base of specs with a shape and a dtype."""

    __slots__ = ("_dtype", "_shape")
    _shape: TensorShape
    _dtype: DType

    @property
    def shape(self) -> TensorShape:
        """The shape, a `TensorShape`; None stands for an unknown extent, or for those of rows of different lengths."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements, a `DType`."""
        return self._dtype


class DenseSpec(ShapedSpec):
    """Base of specs with a shape, a dtype, and an optional name."""

    __slots__ = ("_name",)

    @public
    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash(self._serialize())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class TensorSpec(DenseSpec, BatchableTypeSpec):
    """The spec of a tensor: `shape`, with `None` for any extent, `dtype`, and an optional `name`.

    >>> tf.TensorSpec([None, 3], tf.float32).is_compatible_with(tf.zeros([5, 3]))
    True
    """

    __slots__ = ()

    @property
    def value_type(self) -> type[Tensor]:
        """The class of the described values."""
        return Tensor

    @classmethod
    @public
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor, including its name in a graph; ValueError for any other object."""
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
        """Return the same spec, with another name if given; ValueError for an object that is not a spec."""
        if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
            raise ValueError(f"`spec` should be a TensorSpec, but got type {type(spec)}.")
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Return whether a tensor, or every tensor of a spec, matches this spec's shape and dtype."""
        other = spec_or_tensor
        if not isinstance(other, (Tensor, TensorSpec)):
            return False
        shape = other._shape if isinstance(other, TensorSpec) else stated_shape(other.node)
        return self._dtype == other.dtype and self._shape.is_compatible_with(shape)

    def _batch(self, batch_size: int | None) -> TensorSpec:
        return TensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> TensorSpec:
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self._shape[1:], self._dtype)

    @public
    def is_subtype_of(self, other: Any) -> bool:
        """Return whether every tensor of this spec also matches `other`."""
        return (
            isinstance(other, TensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_subtype_of(other._shape)
            and (not self._name or self._name == other._name)
        )

    @public
    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorSpec | None:
        """Return the narrowest spec that this one and all `others` match; None if dtypes or names differ."""
        if any(not isinstance(other, TensorSpec) or other._dtype != self._dtype or other._name != self._name for other in others):
            return None
        shape = self._shape.most_specific_common_supertype([other._shape for other in others])
        return TensorSpec(shape, self._dtype, self._name)

    @public
    def most_specific_compatible_type(self, other: TensorSpec) -> TensorSpec:
        """Return the narrowest spec that both match; ValueError if dtypes differ."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}: their dtypes differ.")
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self._shape, self._dtype, self._name)


class NoneTensorSpec(TypeSpec):
    """The spec of None in an element of a dataset.

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


class IndexedSlicesSpec(ShapedSpec):
    """The spec of IndexedSlices: shape and dtype of the dense tensor, the dtypes of `indices` and `dense_shape`.

    >>> rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3], tf.int64))
    >>> print(tf.IndexedSlicesSpec([None, 2]).is_compatible_with(rows))
    True
    """

    __slots__ = ("_others",)

    @public
    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)
        self._others = (
            dtypes.as_dtype(indices_dtype),
            None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype),
            TensorShape([None]) if indices_shape is None else TensorShape(indices_shape).with_rank(1),
        )

    @property
    def value_type(self) -> type[IndexedSlices]:
        """The class IndexedSlices."""
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, *self._others


class VariableSpec(TypeSpec):
    """The type of a Variable. Function arguments with the same `alias_id` are the same variable."""

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


by_name: dict[str, type[TypeSpec]] = {}
names: dict[type[TypeSpec], str] = {}
_converters: list[tuple[Any, Callable[[Any], TypeSpec], bool]] = []


@public
def register(name: str) -> Callable[[type[TypeSpec]], type[TypeSpec]]:
    """Return a decorator that registers a class of specs under a name with a project: `"my_project.MySpec"`."""
    if not isinstance(name, str):
        raise TypeError(f"Expected `name` to be a string; got {name!r}")
    if not re.fullmatch(r"(\w+\.)+\w+", name):
        raise ValueError(
            f"Registered name must have the form '{{project_name}}.{{type_name}}' (e.g. 'my_project.MyTypeSpec'); got {name!r}."
        )

    def decorate(cls: type[TypeSpec]) -> type[TypeSpec]:
        if not (isinstance(cls, type) and issubclass(cls, TypeSpec)):
            raise TypeError(f"Expected `cls` to be a TypeSpec; got {cls!r}")
        if cls in names:
            raise ValueError(f"Class {cls.__module__}.{cls.__name__} has already been registered with name {names[cls]}.")
        if name in by_name:
            raise ValueError(
                f"Name {name} has already been registered for class {by_name[name].__module__}.{by_name[name].__name__}."
            )
        by_name[name], names[cls] = cls, name
        return cls

    return decorate


@public
def register_type_spec_from_value_converter(
    type_object: Any, converter_fn: Callable[[Any], TypeSpec], allow_subclass: bool = False
) -> None:
    """Have `type_spec_from_value` call `converter_fn` for values of a class, and with `allow_subclass` for subclasses."""
    _converters.append((type_object, converter_fn, allow_subclass))


@public
def type_spec_from_value(value: Any) -> TypeSpec:
    """Return the spec of a value: a tensor, IndexedSlices, a dataset, None, or any value that can be a tensor.

    TypeError for an object without a spec.

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
    if type(value) is ResourceVariable:
        return VariableSpec.of(value)
    if isinstance(value, IndexedSlices):
        values, indices, extents = value.values, value.indices, value.dense_shape
        shape = value.shape if extents is not None else TensorShape([None]).concatenate(values.shape[1:])
        return IndexedSlicesSpec(shape, values.dtype, indices.dtype, None if extents is None else extents.dtype, indices.shape)
    for kind, convert, derived in reversed(_converters):
        if type(value) is kind or (derived and isinstance(value, kind)):
            return convert(value)
    try:
        found = tensor(value)
    except (TypeError, ValueError):
        raise TypeError(f"Could not build a TypeSpec for {value!r} of unsupported type {type(value)}.") from None
    return TensorSpec(stated_shape(found.node), found.dtype)
