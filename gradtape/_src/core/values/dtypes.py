"""Element types: TensorFlow's `DType` objects over NumPy's (and ml_dtypes') dtypes."""

from __future__ import annotations

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public


@hides("enum inexact numpy")
class DType:
    """The type of a tensor's elements. Equal to its name and to the NumPy dtype it represents.

    >>> tf.float32.size, tf.float32.is_floating, tf.int8.max
    (4, True, 127)
    """

    __slots__ = ("enum", "inexact", "name", "numpy")
    name: str
    numpy: np.dtype
    enum: builtins.int
    inexact: builtins.bool  # whether it is floating or complex, and can have a gradient

    @public
    def __init__(self, name: str, numpy_dtype: Any, enum: builtins.int) -> None:
        self.name, self.numpy, self.enum = name, np.dtype(numpy_dtype), enum
        self.inexact = self.numpy.kind in "fcV"  # V: bfloat16 and the 8-bit floats

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type."""
        return object if self.numpy.kind == "O" else self.numpy.type

    @property
    def as_datatype_enum(self) -> builtins.int:
        """TensorFlow's enum value of the type."""
        return self.enum

    @property
    def is_floating(self) -> builtins.bool:
        """Whether it is a real floating-point type."""
        return is_floating(self.numpy)

    @property
    def is_complex(self) -> builtins.bool:
        """Whether it is a complex type."""
        return self.numpy.kind == "c"

    @property
    def is_integer(self) -> builtins.bool:
        """Whether it is an integer type (bool is not)."""
        return self.numpy.kind in "iu"

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether it is an unsigned integer type."""
        return self.numpy.kind == "u"

    @property
    def is_bool(self) -> builtins.bool:
        """Whether it is bool."""
        return self.numpy.kind == "b"

    @property
    def is_numeric(self) -> builtins.bool:
        """Whether it holds numbers: any type but bool and string."""
        return self.is_floating or self.is_integer or self.is_complex

    @property
    def is_quantized(self) -> builtins.bool:
        """Whether it is a quantized type: gradtape has none."""
        return False

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether NumPy has an equivalent type."""
        return True

    @property
    def size(self) -> builtins.int:
        """Bytes per element, 0 for strings."""
        return 0 if self.name == "string" else self.numpy.itemsize

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        return self._limit("min")

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return self._limit("max")

    def _limit(self, which: str) -> Any:
        if self.is_integer:
            return getattr(np.iinfo(self.numpy), which)
        if self.is_floating:
            return getattr(ml_dtypes.finfo(self.numpy), which)
        raise TypeError(f"Cannot find {which}imum value of {self!r}: only integer and floating types have limits.")

    @property
    def limits(self) -> tuple[Any, Any]:
        """`(0, max)`, the range of image values; `(0, 1)` for float32 and float64. ValueError for other types."""
        if self.name in ("float32", "float64"):
            return 0, 1
        if not self.is_integer and not self.is_bool:
            raise ValueError(f"{self} does not have defined limits.")
        return 0, True if self.is_bool else self.max

    @property
    def base_dtype(self) -> DType:
        """The type itself, as gradtape has no reference types."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part of a complex type, else the type itself."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Return whether a tensor of type `other` is accepted where this type is expected."""
        return self == other

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> builtins.int:
        return self.enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __int__(self) -> builtins.int:
        return self.enum

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


class NamedDType(DType):
    """A type of TensorFlow that gradtape does not support. It can be named and compared, but any use is a TypeError."""

    __slots__ = ()

    def __init__(self, name: str, enum: builtins.int) -> None:
        self.name, self.enum, self.inexact = name, enum, False

    @property
    def numpy(self) -> np.dtype:  # type: ignore[override]  # not there, and DType's is a slot
        """Raise TypeError, as no array has this type."""
        raise TypeError(
            f"tf.{self.name} is a name only: gradtape has no tensors of it. Take a type such as tf.float32 or tf.int8."
        )

    @property
    def is_quantized(self) -> builtins.bool:
        """Whether it is a quantized type."""
        return "qint" in self.name

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether NumPy has an equivalent type: not for handles and variants."""
        return self.name not in ("resource", "variant")

    @property
    def is_floating(self) -> builtins.bool:
        """Whether it is a real floating-point type."""
        return self.name.startswith("float")

    @property
    def is_integer(self) -> builtins.bool:
        """Whether it is an integer type (a quantized one is not)."""
        return self.name.startswith(("int", "uint"))

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether it is an unsigned integer type."""
        return self.name.startswith("uint")

    @property
    def is_complex(self) -> builtins.bool:
        """False."""
        return False

    @property
    def is_bool(self) -> builtins.bool:
        """False."""
        return False


float32 = DType("float32", np.float32, 1)
float64 = double = DType("float64", np.float64, 2)
int32 = DType("int32", np.int32, 3)
uint8 = DType("uint8", np.uint8, 4)
int16 = DType("int16", np.int16, 5)
int8 = DType("int8", np.int8, 6)
string = DType("string", np.object_, 7)
complex64 = DType("complex64", np.complex64, 8)
int64 = DType("int64", np.int64, 9)
bool = DType("bool", np.bool_, 10)
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, 14)
uint16 = DType("uint16", np.uint16, 17)
complex128 = DType("complex128", np.complex128, 18)
float16 = half = DType("float16", np.float16, 19)
uint32 = DType("uint32", np.uint32, 22)
uint64 = DType("uint64", np.uint64, 23)
float8_e5m2 = DType("float8_e5m2", ml_dtypes.float8_e5m2, 24)
float8_e4m3fn = DType("float8_e4m3fn", ml_dtypes.float8_e4m3fn, 25)
qint8 = NamedDType("qint8", 11)
quint8 = NamedDType("quint8", 12)
qint32 = NamedDType("qint32", 13)
qint16 = NamedDType("qint16", 15)
quint16 = NamedDType("quint16", 16)
resource = NamedDType("resource", 20)
variant = NamedDType("variant", 21)
float8_e4m3fnuz = NamedDType("float8_e4m3fnuz", 26)
float8_e4m3b11fnuz = NamedDType("float8_e4m3b11fnuz", 27)
float8_e5m2fnuz = NamedDType("float8_e5m2fnuz", 28)
int4 = NamedDType("int4", 29)
uint4 = NamedDType("uint4", 30)
int2 = NamedDType("int2", 31)
uint2 = NamedDType("uint2", 32)
float4_e2m1fn = NamedDType("float4_e2m1fn", 33)

ALL = (
    float32, float64, int32, uint8, int16, int8, string, complex64, int64, bool, bfloat16, uint16, complex128,
    float16, uint32, uint64, float8_e5m2, float8_e4m3fn,
)  # fmt: skip
NAMED = (
    qint8, quint8, qint32, qint16, quint16, resource, variant, float8_e4m3fnuz, float8_e4m3b11fnuz, float8_e5m2fnuz, int4, uint4,
    int2, uint2, float4_e2m1fn,
)  # fmt: skip
QUANTIZED_DTYPES = frozenset((qint8, qint16, qint32, quint8, quint16))
_by_name = {t.name: t for t in (*ALL, *NAMED)} | {"double": float64, "half": float16, "float": float32}
BY_NUMPY = {t.numpy: t for t in ALL}
_by_enum = {t.enum: t for t in (*ALL, *NAMED)}
_by_python: dict[Any, DType] = {
    builtins.float: float32,
    builtins.bool: bool,
    object: string,
}
_ambiguous = frozenset((builtins.int, builtins.complex, str))  # TensorFlow does not know the width of a Python number


def as_dtype(type_value: Any) -> DType:
    """Convert `type_value` to a `DType`.

    It may be a DType, a name, a NumPy dtype, type, scalar or array, a Python type or TensorFlow's enum value.

    >>> tf.as_dtype("float32")
    tf.float32
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, (np.ndarray, np.generic)):
        type_value = type_value.dtype
    try:
        if isinstance(type_value, np.dtype):
            return BY_NUMPY[type_value.newbyteorder("=")] if type_value.kind not in "SU" else string
        if isinstance(type_value, str):
            return _by_name[type_value]
        if isinstance(type_value, type) and (type_value in _by_python or type_value in _ambiguous):
            return _by_python[type_value]
        if isinstance(type_value, builtins.int):
            return _by_enum[type_value]
        found = getattr(type_value, "dtype", None)
        if isinstance(found, DType) and not hasattr(type_value, "shape"):
            return found
        if type_value is not None:  # NumPy takes None for float64
            return BY_NUMPY[np.dtype(type_value).newbyteorder("=")]
    except (KeyError, TypeError, ValueError):
        pass
    raise TypeError(
        f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType. "
        "Give a dtype such as tf.float32, its name, or a NumPy dtype."
    )


def stated(signature: Any) -> DType:
    """Return the dtype of a spec or a dtype."""
    # The `dtype` of a NumPy scalar class is an attribute of the class, not a dtype.
    return as_dtype(signature if isinstance(signature, type) else getattr(signature, "dtype", signature))


public_as_dtype = public(as_dtype)  # raises errors at the user's line, for which inner calls need not pay


SPOKEN = {"float32": "float", "float64": "double", "float16": "half"}


def spoken_name(dtype: Any) -> str:
    """Return the name of a dtype as in TensorFlow's messages."""
    name = as_dtype(dtype).name
    return SPOKEN.get(name, name)


def is_floating(numpy_dtype: np.dtype) -> builtins.bool:
    """Return whether a NumPy dtype is real floating point, including bfloat16 and the 8-bit types."""
    return numpy_dtype.kind == "f" or (numpy_dtype.kind == "V" and numpy_dtype in BY_NUMPY)
