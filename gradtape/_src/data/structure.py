"""The structure of a dataset's elements: nests of arrays, where lists are values and not structure, as in `tf.data`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import optree

from gradtape._src.control.given import Given, GivenSpec
from gradtape._src.control.tensor_array import TensorArray
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import NoneTensorSpec, TensorSpec, TypeSpec
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs import journal
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, to_numpy, unvalued
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data.composite import Composite, Entries, Ragged, Sparse, Stated, with_shape
from gradtape._src.ops.array.ragged import RaggedTensor, RaggedTensorSpec
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorSpec, SparseTensorValue

Nest = optree.PyTreeSpec
Element = tuple[tuple[Any, ...], Nest]  # arrays (or None, or a Dataset), and their nest


class Held:
    """Base of values that are leaves of elements as they are: a Dataset, an Optional."""

    @property
    def _type_spec(self) -> TypeSpec:
        raise NotImplementedError


class Elements(Held, Given):
    """Base of objects with elements, that is of Dataset, which may be a leaf of another dataset's elements."""

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of an element."""
        raise NotImplementedError

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec)


class DatasetSpec(GivenSpec):
    """The spec of a dataset that is an argument of a function, or an element of another dataset, as those of `window`.

    >>> tf.data.Dataset.range(3).window(2).element_spec == tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    True
    """

    stands_in: ClassVar[Callable[..., Elements]]  # creates a placeholder for datasets with an element_spec

    @public
    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self._element_spec, self._dataset_shape = element_spec, TensorShape(dataset_shape)

    @staticmethod
    @public
    def from_value(value: Elements) -> DatasetSpec:
        """Return the spec of a dataset."""
        return DatasetSpec(value.element_spec)

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of an inner dataset's element."""
        return self._element_spec

    @property
    def value_type(self) -> type[Elements]:
        """The class of datasets."""
        return Elements

    @property
    def shape(self) -> TensorShape:
        """The shape of a batch of datasets, that of a scalar for one dataset."""
        return self._dataset_shape

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape

    def stand_in(self) -> Any:
        """Return a placeholder in a trace for all datasets, or all batches of them, of this spec."""
        return DatasetSpec.stands_in(self._element_spec) if self.shape.rank == 0 else Datasets(np.empty(0, object), self)

    def __hash__(self) -> int:
        return hash(("DatasetSpec", *nest.flatten(self._element_spec)))


class Datasets(Composite):
    """A batch of datasets with one structure. Users get it as it is, and can pass it on."""

    __slots__ = ("items", "known")

    def __init__(self, items: np.ndarray, spec: DatasetSpec) -> None:
        self.items, self.known = items, spec

    @classmethod
    def of(cls, value: Sequence[Elements]) -> Datasets:
        """Stack datasets along a new first axis."""
        items = np.empty(len(value), object)
        items[:] = value
        spec = functools.reduce(_common, [DatasetSpec(dataset.element_spec) for dataset in value])
        return cls(items, DatasetSpec(spec.element_spec, items.shape))

    @property
    def spec(self) -> DatasetSpec:
        """The spec of this batch."""
        return self.known

    def handed(self) -> Datasets:
        """Return itself."""
        return self

    def rows(self) -> Iterator[Any]:
        """Return the datasets, or batches of a lower rank."""
        below = DatasetSpec(self.known.element_spec, self.items.shape[1:])
        return (row if isinstance(row, Elements) else Datasets(row, below) for row in self.items)

    def stacked(self, column: Sequence[Datasets]) -> Datasets:
        """Stack batches along a new first axis."""
        items = np.stack([part.items for part in column])
        return Datasets(items, DatasetSpec(self.known.element_spec, items.shape))


@dataclass(frozen=True)
class ElementStructure:
    """The nest of a dataset's elements, and the spec of each leaf."""

    nest: Nest
    specs: tuple[Any, ...]

    @property
    def element_spec(self) -> Any:
        """The specs, nested as an element is."""
        return nest.unflatten(self.nest, self.specs)


def _is_value(item: Any) -> bool:
    return type(item) in (list, range, SparseTensorValue)


def flatten(value: Any) -> tuple[list[Any], Nest]:
    """Flatten a nest of tuples, dicts and namedtuples to its leaves and the nest. A list is a leaf, and so is None.

    A SparseTensorValue becomes a SparseTensor.
    """
    leaves, how = nest.flatten_with_spec(value, is_leaf=_is_value)
    return [SparseTensor.from_value(item) if type(item) is SparseTensorValue else item for item in leaves], how


SHAPED = TensorSpec, SparseTensorSpec, RaggedTensorSpec  # specs of values that can be batched
COMPOSITES: dict[type, Any] = {SparseTensor: Sparse, RaggedTensor: Ragged, TensorArray: Entries}
LEAF: Nest = flatten(0)[1]


def leaf(value: Any) -> Any:
    """Convert a user's leaf to the form in a pipeline: an array owned by the library, a Composite, None or a dataset.

    While only shapes are inferred, it is a Tensor if it has no value.
    """
    if value is None or isinstance(value, Held | Composite):
        return value
    if isinstance(value, list) and value and all(isinstance(item, Elements) for item in value):
        return Datasets.of(value)
    if (composite := COMPOSITES.get(type(value))) is not None:
        return Stated(value._type_spec) if tracing.is_asked_for_shapes() else composite.of(value)
    given = tensor(value)
    return given if tracing.is_asked_for_shapes() and unvalued(given.node) else to_numpy(given.node)


def taken(value: Any) -> Element:
    """Convert a user's nest to an element, and note for the explainer that its tensors leave the trace."""
    for item in flatten(value)[0]:
        if isinstance(item, (Tensor, Stored)):
            journal.left("dataset", tensor(item).node, engine.local.trace)
    return element(value)


def element(value: Any) -> Element:
    """Convert a user's nest to an element. TypeError or ValueError for values that cannot be tensors."""
    leaves, how = flatten(value)
    return tuple([leaf(item) for item in leaves]), how


def handed(element: Element) -> Any:
    """Convert an element to the user's form: tensors, nested as given."""
    arrays, how = element
    if how is LEAF or how == LEAF:
        return _handed(arrays[0])
    return nest.unflatten(how, [_handed(array) for array in arrays])


def _handed(array: Any) -> Any:
    if type(array) is np.ndarray:
        return EagerTensor(engine.constant(array))
    return array.handed() if isinstance(array, Composite) else array


def no_arrays(value: Any) -> TypeError:
    """Return the error for a part of an element that is no tensor, and cannot be an array."""
    return TypeError(
        "`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that produce values of type "
        f"{type(value)}. Iterate over the dataset, and over each of its datasets."
    )


def as_numpy(element: Element) -> Any:
    """Convert an element to NumPy arrays that the user owns, and scalars for rank 0."""
    arrays, how = element
    for array in arrays:
        if isinstance(array, Held):
            raise no_arrays(array)
    return nest.unflatten(how, [_as_numpy(array) for array in arrays])


def _as_numpy(array: Any) -> Any:
    if isinstance(array, Composite):
        return array.as_numpy()
    return array if array is None else array.copy() if array.ndim else array[()]


def spec_of(array: Any) -> Any:
    """Return the spec of a leaf."""
    if array is None:
        return NoneTensorSpec()
    if isinstance(array, Elements):
        return DatasetSpec(array.element_spec)
    if isinstance(array, Held):
        return array._type_spec
    if isinstance(array, Composite):
        return array.spec
    return TensorSpec(array.shape, array.dtype)


def structure_of(element: Element) -> ElementStructure:
    """Return the structure of one element, which is assumed for all."""
    arrays, how = element
    return ElementStructure(how, tuple([spec_of(array) for array in arrays]))


def from_specs(element_spec: Any) -> ElementStructure:
    """Convert a nest of specs to a structure."""
    specs, how = flatten(element_spec)
    return ElementStructure(how, tuple(specs))


@functools.lru_cache(maxsize=1024)
def joined(outer: Nest, parts: tuple[Nest, ...]) -> Nest:
    """Return the nest `outer` with `parts` in place of its leaves."""
    return flatten(nest.unflatten(outer, [nest.unflatten(part, [0] * part.num_leaves) for part in parts]))[1]


PAIR: Nest = flatten((0, 0))[1]


def with_shapes(structure: ElementStructure, change: Callable[[TensorShape], Any]) -> ElementStructure:
    """Return the structure with other shapes; specs without a shape are unchanged."""
    return ElementStructure(
        structure.nest,
        tuple([_reshaped(s, change(s.shape)) if isinstance(s, (*SHAPED, DatasetSpec)) else s for s in structure.specs]),
    )


def _reshaped(spec: Any, shape: Any) -> Any:
    if isinstance(spec, DatasetSpec):
        return DatasetSpec(spec.element_spec, shape)
    return with_shape(spec, TensorShape(shape))


def structure_of_rows(element: Element) -> ElementStructure:
    """Return the structure of the rows of an element."""
    return with_shapes(structure_of(element), lambda shape: shape[1:])


def merged(first: ElementStructure, second: ElementStructure) -> ElementStructure:
    """Return the common structure of both; TypeError if the nests or dtypes differ."""
    if first.nest != second.nest or not all(map(_alike, first.specs, second.specs)):
        raise TypeError(
            f"Incompatible dataset elements:\n  {first.element_spec} vs.   {second.element_spec}. Both datasets must have "
            "elements of the same nesting and dtypes: use map() and tf.cast."
        )
    return ElementStructure(first.nest, tuple(map(_common, first.specs, second.specs)))


def _alike(a: Any, b: Any) -> bool:
    return type(a) is type(b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)


def _common(a: Any, b: Any) -> Any:
    if isinstance(a, DatasetSpec):
        inner = merged(from_specs(a.element_spec), from_specs(b.element_spec)).element_spec
        return DatasetSpec(inner, a.shape.most_specific_compatible_shape(b.shape))
    return with_shape(a, a.shape.most_specific_compatible_shape(b.shape)) if isinstance(a, SHAPED) else a


def structure_of_all(datasets: Sequence[Any]) -> ElementStructure:
    """Return the common structure of all datasets' elements; TypeError if the nests or dtypes differ."""
    return functools.reduce(merged, [dataset.structure for dataset in datasets])
