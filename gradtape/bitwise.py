"""Operations on the bits of integers: `tf.bitwise`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.math.compare import (
    bitwise_and as bitwise_and,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    invert as invert,
    left_shift as left_shift,
    right_shift as right_shift,
)

__getattr__ = _missing(__name__)
