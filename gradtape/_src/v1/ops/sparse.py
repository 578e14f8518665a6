"""Sparse tensors with TensorFlow 1's signatures: placeholders, and `sparse_to_dense`."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import constant, convert_to_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import broadcast_to, expand_dims, reshape
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorValue, to_dense
from gradtape._src.v1.graphs.placeholders import placeholder


@public
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Return a SparseTensor to be fed by a Session, as a `SparseTensorValue` or (indices, values, dense_shape).

    `shape` may have None for extents that differ between runs. Without `shape` it is a matrix.
    """
    stated = TensorShape([None, None] if shape is None else _plain(shape))
    name = name or "Placeholder"
    indices = placeholder(dtypes.int64, [None, stated.rank], f"{name}/indices")
    values = placeholder(dtype, [None], f"{name}/values")
    if stated.is_fully_defined():
        dense_shape = constant(stated.as_list(), dtypes.int64, name=f"{name}/shape")  # can be fed, too
    else:
        dense_shape = placeholder(dtypes.int64, [stated.rank], f"{name}/shape")
    made = SparseTensor(indices, values, dense_shape)
    pairs = zip(made._extents, stated.as_list(), strict=True)
    made._known_extents = tuple([open if known is None else known for open, known in pairs])
    return made


@public
def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Tensor | SparseTensor:
    """Convert `value` to a Tensor. A SparseTensor stays one, and a `SparseTensorValue` becomes one.

    A sparse one of another dtype than `dtype` is a RuntimeError.

    >>> tf.compat.v1.convert_to_tensor_or_sparse_tensor([1.0, 2.0]).numpy().tolist()
    [1.0, 2.0]
    """
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        made: Tensor = convert_to_tensor(value, dtype, name=name)
        return made
    found: SparseTensor = SparseTensor.from_value(value)
    if dtype is not None and found.dtype != dtypes.as_dtype(dtype):
        raise RuntimeError(
            f"Sparse dtype mismatch. Requested: {dtypes.as_dtype(dtype).name}, Actual: {found.dtype.name}. Use tf.cast."
        )
    return found


def _plain(shape: Any) -> Any:
    return shape.op.get_attr("value") if hasattr(shape, "op") else shape


@public
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Return a tensor of shape `output_shape` with `sparse_values` at `sparse_indices`, and `default_value` elsewhere.

    `sparse_indices` is a matrix with a row for each value, a vector for a result of rank 1, or a single position; a single value
    may stand for all. InvalidArgumentError if indices are out of range. Unless `validate_indices` is False, also if they are not
    sorted or not unique.
    """
    places, values = cast(sparse_indices, dtypes.int64), tensor(sparse_values)
    if places.ndim < 2:
        places = expand_dims(reshape(places, [-1]), 1)
    count = places.node.aval.shape[0]
    if values.ndim == 0:
        values = broadcast_to(values, [count])
    if values.ndim != 1 or values.node.aval.shape[0] != count:
        raise invalid(f"sparse_values has incorrect shape {values.shape}: it should be [] or [{count}], one for each index.")
    return to_dense(SparseTensor(places, values, cast(output_shape, dtypes.int64)), default_value, validate_indices)
