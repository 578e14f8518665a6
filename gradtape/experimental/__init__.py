"""The names of `tf.experimental`: DLPack, NumPy's functions, DTensor, the `Optional` of datasets."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from gradtape._src.compat.names import listed as _listed, missing as _missing
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
from gradtape._src.data.optional import Optional as Optional
from gradtape.experimental import dlpack as dlpack

if _TYPE_CHECKING:
    from gradtape.experimental import dtensor as dtensor, numpy as numpy

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
