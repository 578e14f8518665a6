"""Decoding of raw bytes to numbers, base64, and compression."""

from __future__ import annotations

import binascii
import re
import sys
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval
from gradtape._src.files.ops import Known, host_op, of_bytes, same_shape, strings
from gradtape._src.files.records import inflate

RAW = "float16 float32 float64 int32 uint16 uint8 int16 int8 int64 complex64 complex128 bool bfloat16".split()
TO_WEB, FROM_WEB = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")


def _raw(x: Aval, *, out_type: Any, fixed_length: int | None, **_: Any) -> list[Known]:
    return [((*x.shape, None if fixed_length is None else fixed_length // out_type.size), out_type)]


@host_op("DecodeRaw", gives=_raw)
def _decode_raw(input_bytes: np.ndarray, *, out_type: Any, little_endian: bool, fixed_length: int | None) -> np.ndarray:
    size = out_type.size
    items = [bytes(item) for item in input_bytes.flat]
    if fixed_length is not None:
        if fixed_length <= 0:
            raise invalid(f"fixed_length must be greater than zero, but got {fixed_length}")
        if fixed_length % size:
            raise invalid(f"fixed_length ({fixed_length}) must be a multiple of the size of out_type ({size})")
        items = [item[:fixed_length].ljust(fixed_length, b"\0") for item in items]
    length = len(items[0]) if items else 0
    for at, item in enumerate(items):
        if len(item) != length:
            raise invalid(
                f"DecodeRaw requires input strings to all be the same size, but element {at} has size {len(item)} != {length}. "
                "Give fixed_length to bring them to one."
            )
    if length % size:
        raise invalid(f"Input to DecodeRaw has length {length} that is not a multiple of {size}, the size of {out_type.name}")
    numbers = np.frombuffer(b"".join(items), np.uint8 if out_type == dtypes.bool else out_type.numpy).copy()
    if little_endian != (sys.byteorder == "little"):
        numbers = numbers.byteswap()
    if out_type == dtypes.bool:
        numbers = numbers != 0
    return numbers.reshape(*input_bytes.shape, length // size)


@public
def decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: int | None = None, name: str | None = None
) -> Tensor:
    """Decode the bytes of strings to numbers of `out_type`, along a new last axis.

    The strings must have one length (InvalidArgumentError), or are cut or zero-padded to `fixed_length`.

    >>> tf.io.decode_raw(b"\\x01\\x00\\x02\\x00", tf.int16).numpy()
    array([1, 2], dtype=int16)
    """
    kind = dtypes.as_dtype(out_type)
    if kind.name not in RAW:
        raise invalid(f"Value for attr 'out_type' of {kind.name} is not in the list of allowed values: {', '.join(RAW)}")
    return _decode_raw(strings(input_bytes), out_type=kind, little_endian=bool(little_endian), fixed_length=fixed_length)


@host_op("EncodeBase64", gives=same_shape)
def _encode_base64(input: np.ndarray, *, pad: bool) -> np.ndarray:
    encoded = [binascii.b2a_base64(bytes(item), newline=False).translate(TO_WEB) for item in input.flat]
    return of_bytes([item if pad else item.rstrip(b"=") for item in encoded], input.shape)


@public
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Encode strings in web-safe base64, with `-` and `_`; padded with `=` only if `pad`.

    >>> tf.io.encode_base64("tape").numpy()
    b'dGFwZQ'
    """
    return _encode_base64(strings(input), pad=bool(pad))


def _from_base64(item: bytes) -> bytes:
    data = item.rstrip(b"=")
    if len(item) != len(data) and (len(item) % 4 or len(item) - len(data) > 2):
        raise invalid("Invalid character found in base64.")
    if re.search(rb"[^A-Za-z0-9_-]", data):
        raise invalid("Invalid character found in base64.")
    if len(data) % 4 == 1:
        raise invalid("Base64 string length cannot be 1 modulo 4.")
    return binascii.a2b_base64(data.translate(FROM_WEB) + b"=" * (-len(data) % 4))


@host_op("DecodeBase64", gives=same_shape)
def _decode_base64(input: np.ndarray) -> np.ndarray:
    return of_bytes([_from_base64(bytes(item)) for item in input.flat], input.shape)


@public
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Decode strings in web-safe base64, with or without padding by `=`. InvalidArgumentError for other characters.

    >>> tf.io.decode_base64(tf.io.encode_base64("tape")).numpy()
    b'tape'
    """
    return _decode_base64(strings(input))


@host_op("DecodeCompressed", gives=same_shape)
def _decode_compressed(bytes_: np.ndarray, *, compression: str) -> np.ndarray:
    return of_bytes([inflate(bytes(item), compression) for item in bytes_.flat], bytes_.shape)


@public
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Uncompress strings by "ZLIB" or "GZIP"; an empty `compression_type` returns them unchanged.

    >>> import zlib
    >>> print(tf.io.decode_compressed(zlib.compress(b"text"), "ZLIB").numpy())
    b'text'
    """
    if compression_type not in ("", "ZLIB", "GZIP"):
        raise invalid(f"Only ZLIB, GZIP or NONE are supported compressions, received {compression_type!r}.")
    given = strings(bytes)
    return _decode_compressed(given, compression=compression_type) if compression_type else given
