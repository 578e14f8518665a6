"""Types of few bits: `float8_e5m2` and `float8_e4m3fn` can be computed with, the others can be named."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.values.dtypes import (
    float4_e2m1fn as float4_e2m1fn,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    int2 as int2,
    int4 as int4,
    uint2 as uint2,
    uint4 as uint4,
)

__getattr__ = _missing(__name__)
