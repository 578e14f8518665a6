"""The shapes and values of `padded_batch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import DataLossError, invalid
from gradtape._src.core.declarations.spec import TensorSpec, TypeSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import printed
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data.structure import Element, ElementStructure, Nest, element
from gradtape._src.files.ops import padded


class Padding:
    """The arguments of `padded_batch`: a nest of shapes or None, and a nest of scalars, one for all, or None."""

    def __init__(self, shapes: Any, values: Any) -> None:
        self.shapes, self.values = shapes, values

    def __call__(self, items: Sequence[Element]) -> Element:
        """Stack elements, each padded at its end to the given extents; None means the largest extent of the batch."""
        how = items[0][1]
        columns = list(zip(*[arrays for arrays, _ in items], strict=True))
        extents = self._extents(how) or [[None] * column[0].ndim for column in columns]
        fill = self._fill(how, [column[0].dtype for column in columns])
        return tuple([_padded(*given) for given in zip(columns, extents, fill, strict=True)]), how

    def shapes_of(self, structure: ElementStructure) -> list[TensorShape]:
        """Return the shapes of padded elements; ValueError if the rank of a component is unknown."""
        extents = self._extents(structure.nest)
        if extents is not None:
            return [TensorShape(shape) for shape in extents]
        for component, spec in enumerate(structure.specs):
            if isinstance(spec, TensorSpec) and spec.shape.rank is None:
                raise ValueError(f"You must provide `padded_shapes` argument because component {component} has unknown rank.")
        return [spec.shape for spec in structure.specs]

    def check(self, structure: ElementStructure) -> None:
        """Raise the error for arguments that do not match elements of `structure`."""
        for spec in structure.specs:
            if isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec):
                raise TypeError(
                    "`padded_batch` is only supported for datasets that produce tensor elements but type spec of elements in the "
                    f"input dataset is not a subclass of TensorSpec: `{spec}`."
                )
        for spec, shape in zip(structure.specs, self.shapes_of(structure), strict=True):
            if not isinstance(spec, TensorSpec) or spec.shape.rank is None:
                continue
            smaller = [known is not None and to is not None and to < known for known, to in zip(spec.shape, shape, strict=False)]
            if len(shape) != spec.shape.rank or any(smaller):
                raise ValueError(
                    f"The padded shape {tuple(shape)} is not compatible with the shape {tuple(spec.shape)} of the "
                    "corresponding input component."
                )
        self._fill(structure.nest, [spec.dtype.numpy for spec in structure.specs])

    def _extents(self, how: Nest) -> list[list[int | None]] | None:
        if self.shapes is None:
            return None
        given = nest.flatten_up_to(how, self.shapes)
        return [[None if extent in (None, -1) else int(extent) for extent in _sequence(shape)] for shape in given]

    def _fill(self, how: Nest, kinds: Sequence[np.dtype]) -> list[Any]:
        values = self.values
        given = _up_to(how, values) if nest.is_nested(values) else [values] * len(kinds)
        return [_filling(value, dtype) for value, dtype in zip(given, kinds, strict=True)]


def _up_to(how: Nest, values: Any) -> list[Any]:
    """Expand values to the leaves of a nest; None stands for a whole part of it."""
    if values is None or how.is_leaf():
        return [values] * how.num_leaves
    parts = nest.up_to_level(how, values)
    return [value for part, child in zip(parts, how.children(), strict=True) for value in _up_to(child, part)]


def _sequence(shape: Any) -> list[Any]:
    if isinstance(shape, Tensor) and not shape.dtype.is_integer:
        raise TypeError(f"Padded shape {shape} must be a `tf.int64` vector tensor, but its element type was {shape.dtype.name}.")
    if np.ndim(np.asarray(shape, object)) > 1:
        raise ValueError(f"Padded shape {shape} must be a `tf.int64` vector tensor, but its shape was {np.shape(shape)}.")
    if isinstance(shape, (int, np.integer)):
        return [shape]
    return shape.numpy().tolist() if isinstance(shape, Tensor) else list(shape)


def _filling(value: Any, dtype: np.dtype) -> Any:
    """Return the scalar to pad an array of `dtype` with; TypeError for another dtype."""
    if value is None:
        return b"" if dtype.kind == "O" else 0
    (array,), _ = element(value)
    wanted = as_dtype(dtype)
    number = (type(value) is int and wanted.is_numeric) or (type(value) is float and wanted.is_floating)
    if array.dtype != dtype and not number:
        raise TypeError(
            f"Invalid `padding_values`. `padding_values` values type {as_dtype(array.dtype)} does not match type {wanted} of the "
            "corresponding input component."
        )
    return array[()]


def _padded(column: Sequence[np.ndarray], extents: list[int | None], fill: Any) -> np.ndarray:
    ranks = {array.ndim for array in column}
    if ranks != {len(extents)}:
        raise invalid(
            "All elements in a batch must have the same rank as the padded shape: expected rank "
            f"{len(extents)}, received elements of rank {sorted(ranks)}."
        )
    largest = [max([array.shape[axis] for array in column]) for axis in range(len(extents))]
    wanted = [most if extent is None else extent for most, extent in zip(largest, extents, strict=True)]
    if any(most > extent for most, extent in zip(largest, wanted, strict=True)):
        raise DataLossError.saying(
            f"Attempted to pad to a smaller size than the input element: an element has extents up to {printed(largest)}, "
            f"padded_shapes asks for {printed(wanted)}."
        )
    return padded(column, wanted, fill, column[0].dtype)
