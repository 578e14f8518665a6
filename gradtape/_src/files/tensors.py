"""Tensors as bytes and as messages: `serialize_tensor`, `parse_tensor`, `make_tensor_proto`, `make_ndarray`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import printed
from gradtape._src.core.values.dtypes import spoken_name
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.files import varint
from gradtape._src.files.messages import message, shape_message
from gradtape._src.files.ops import a_string, host_op, of_bytes, single, strings

# The field of a TensorProto for single values of a dtype.
FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "string": "string_val",
    "float8_e5m2": "float8_val",
    "float8_e4m3fn": "float8_val",
}  # the others: int_val


def _shaped(dtype: Any, shape: Sequence[int]) -> Any:
    return message("TensorProto")(dtype=dtype.enum, tensor_shape=shape_message(shape))


def encoded(array: np.ndarray, packed: bool = False) -> bytes:
    """Encode an array as a TensorProto in bytes, with strings as single values, or `packed` behind their lengths."""
    dtype = dtypes.as_dtype(array.dtype)
    made = _shaped(dtype, array.shape)
    if dtype == dtypes.string and packed:
        items = [bytes(item) for item in array.flat]
        made.tensor_content = b"".join([*[varint.packed(len(item)) for item in items], *items])
    elif dtype == dtypes.string:
        made.string_val.extend([bytes(item) for item in array.flat])
    else:
        made.tensor_content = _little(array).tobytes()
    data: bytes = made.SerializeToString()
    return data


def _little(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder("<"), copy=False) if array.dtype.byteorder == ">" else array


def decoded(made: Any) -> np.ndarray:
    """Convert a TensorProto to an array; ValueError if its content does not match its shape or dtype."""
    try:
        dtype = dtypes.as_dtype(int(made.dtype))
    except TypeError:
        raise ValueError(f"the dtype number {made.dtype} is no dtype of gradtape") from None
    shape = [dim.size for dim in made.tensor_shape.dim]
    if made.tensor_shape.unknown_rank or any(extent < 0 for extent in shape):
        raise ValueError("its shape is not known")
    count = math.prod(shape)
    if made.tensor_content and dtype == dtypes.string:
        lengths, at = varint.varints(made.tensor_content, count)
        return of_bytes(varint.divided(made.tensor_content[at:], lengths), tuple(shape))
    if made.tensor_content:
        if len(made.tensor_content) != count * dtype.numpy.itemsize:
            raise ValueError(f"{len(made.tensor_content)} bytes are no {dtype.name}{shape}")
        if dtype == dtypes.bool:
            return (np.frombuffer(made.tensor_content, np.uint8) != 0).reshape(shape)
        return np.frombuffer(made.tensor_content, dtype.numpy).copy().reshape(shape)
    field = FIELDS.get(dtype.name, "int_val")
    values = getattr(made, field)
    if dtype == dtypes.string:
        array = of_bytes(list(values), (len(values),))
    elif field == "half_val":
        array = np.array(values, np.uint16).view(dtype.numpy)
    elif field == "float8_val":
        array = np.frombuffer(values, dtype.numpy)
    elif dtype.is_complex:
        array = np.array(values, dtype.real_dtype.numpy).view(dtype.numpy)
    else:
        array = np.array(values, np.int64 if field == "int_val" else dtype.numpy).astype(dtype.numpy)
    if array.size == count:
        return array.reshape(shape)
    # Fewer values than elements: the last one is repeated. The size of the array is limited, whatever the shape claims.
    if array.size > count or (count - array.size) * dtype.numpy.itemsize > LARGEST:
        raise ValueError(f"{array.size} values are no {dtype.name}{shape}")
    filler = array[-1:] if array.size else of_bytes([b""], (1,)) if dtype == dtypes.string else np.zeros(1, dtype.numpy)
    return np.concatenate([array, np.repeat(filler, count - array.size)]).reshape(shape)


LARGEST = 1 << 30  # limit, in bytes, for the repetition of a message's last value


@host_op("SerializeTensor", gives=a_string, traits="writes_bytes")
def _serialize_tensor(tensor: np.ndarray) -> np.ndarray:
    return of_bytes([encoded(tensor)], ())


@public
def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Serialize a tensor to a scalar string, TensorFlow's `TensorProto` in bytes, for `parse_tensor`.

    >>> tf.io.parse_tensor(tf.io.serialize_tensor([[1.0, 2.0]]), tf.float32).numpy()
    array([[1., 2.]], dtype=float32)
    """
    return _serialize_tensor(_as_tensor(tensor))


_as_tensor = tensor  # where a parameter has TensorFlow's name `tensor`


@host_op("ParseTensor", gives=lambda serialized, out_type: [(None, out_type)])
def _parse_tensor(serialized: np.ndarray, *, out_type: Any) -> np.ndarray:
    if serialized.ndim:
        raise invalid(f"Expected `serialized` to be a scalar, got shape: {printed(serialized.shape)}")
    data = single(serialized, "`serialized`")
    try:
        made = message("TensorProto").FromString(data)
    except Exception as error:
        raise invalid(f"Could not parse `serialized` as TensorProto: {len(data)} bytes are none ({error}).") from error
    if made.dtype != out_type.enum:
        held = dtypes.as_dtype(int(made.dtype)).name if made.dtype in {t.enum for t in dtypes.ALL} else f"number {made.dtype}"
        raise invalid(f"Type mismatch between parsed tensor ({held}) and dtype ({out_type.name})")
    try:
        return decoded(made)
    except ValueError as error:
        raise invalid(f"Cannot parse tensor from proto: {error}.") from None


@public
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """Parse a scalar string of `serialize_tensor` to a tensor. InvalidArgumentError if its dtype is not `out_type`.

    >>> tf.io.parse_tensor(tf.io.serialize_tensor([1, 2]), tf.int32).numpy()
    array([1, 2], dtype=int32)
    """
    return _parse_tensor(strings(serialized), out_type=dtypes.as_dtype(out_type))


@public
def make_ndarray(tensor: Any) -> np.ndarray:
    """Convert a `TensorProto` to an array. TypeError for an unknown dtype.

    >>> tf.make_ndarray(tf.make_tensor_proto([1, 2]))
    array([1, 2], dtype=int32)
    """
    try:
        return decoded(tensor)
    except ValueError as error:
        raise TypeError(f"Unsupported tensor: {error}.") from None


@public
def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> Any:
    """Convert `values` to a `TensorProto`. If `shape` has more elements, the last value is repeated.

    >>> proto = tf.make_tensor_proto([1, 2], shape=[2, 2])
    >>> print(proto.int_val, tf.make_ndarray(proto).tolist())
    [1, 2] [[1, 2], [2, 2]]
    """
    if values is None:
        raise ValueError("None values not supported.")
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    whole = to_numpy(tensor(values, kind).node)
    if kind is not None and whole.dtype != kind.numpy:
        raise TypeError(f"Expected {kind.name}, but got {values!r} of type '{spoken_name(whole.dtype)}'.")
    extents = list(whole.shape) if shape is None else TensorShape(shape).as_list()
    if verify_shape and list(whole.shape) != extents:
        raise TypeError(f"Expected Tensor's shape: {tuple(extents)}, but got {whole.shape}.")
    count = math.prod(extents)
    if whole.size > count:
        raise ValueError(f"Too many elements provided. Takes at most {count}, but got {whole.size}.")
    return proto_of(whole, extents)


def proto_of(array: np.ndarray, extents: list[int]) -> Any:
    """Convert an array to the TensorProto of a constant in TensorFlow: numbers as bytes, a single value as a value."""
    dtype = dtypes.as_dtype(array.dtype)
    if dtype != dtypes.string and array.size == math.prod(extents) and array.size > 1:
        made = _shaped(dtype, extents)
        made.tensor_content = _little(array).tobytes()
        return made
    return _of_values(dtype, extents, array.ravel())


def _of_values(dtype: Any, extents: list[int], flat: np.ndarray) -> Any:
    """Return a TensorProto with single values."""
    made = _shaped(dtype, extents)
    field = FIELDS.get(dtype.name, "int_val")
    if dtype == dtypes.string:
        made.string_val.extend([bytes(item) for item in flat])
    elif field == "half_val":
        made.half_val.extend(flat.view(np.uint16).tolist())
    elif field == "float8_val":
        made.float8_val = flat.tobytes()
    elif dtype.is_complex:
        getattr(made, field).extend(flat.view(dtype.real_dtype.numpy).tolist())
    else:
        getattr(made, field).extend(flat.tolist())
    return made
