"""Types of elements: `tf.dtypes`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.values.dtypes import (
    DType as DType,
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
    public_as_dtype as _public_as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    qint8 as qint8,
    qint16 as qint16,
    qint32 as qint32,
    quint8 as quint8,
    quint16 as quint16,
    resource as resource,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    variant as variant,
)
from gradtape._src.ops.array.cast import cast_unless_variable as _cast_unless_variable
from gradtape._src.ops.math.clip import saturate_cast as saturate_cast
from gradtape._src.ops.math.complex import complex as complex
from gradtape.dtypes import experimental as experimental

# Second names, assigned, as type checkers take `X as Y` for private
as_dtype = _public_as_dtype
cast = _cast_unless_variable

__getattr__ = _missing(__name__)
