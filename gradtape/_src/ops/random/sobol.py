"""Points of the Sobol sequence: numbers in (0, 1) that fill a cube more evenly than random ones."""

import numpy as np

from gradtape._src.core import dtypes
from gradtape._src.core.convert import static
from gradtape._src.core.errors import invalid, public
from gradtape._src.ops.array.shape import host_constant

_BITS = 32

# For each axis: a primitive polynomial over GF(2), as its degree and its inner coefficients read as a binary number,
# and the first direction numbers. From S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
# projections", SIAM J. Sci. Comput. 30 (2008), the table of D(6).
_AXES = (
    (0, 0, ()),
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
    (5, 11, (1, 1, 5, 1, 1)),
    (5, 13, (1, 1, 1, 3, 11)),
    (5, 14, (1, 3, 5, 5, 31)),
    (6, 1, (1, 3, 3, 9, 7, 49)),
    (6, 13, (1, 1, 1, 15, 21, 21)),
    (6, 16, (1, 3, 1, 13, 27, 49)),
    (6, 19, (1, 1, 1, 15, 7, 5)),
    (6, 22, (1, 3, 1, 15, 13, 25)),
    (6, 25, (1, 1, 5, 5, 19, 61)),
    (7, 1, (1, 3, 7, 11, 23, 15, 103)),
    (7, 4, (1, 3, 7, 13, 13, 15, 69)),
    (7, 7, (1, 1, 3, 13, 7, 35, 63)),
    (7, 8, (1, 3, 5, 9, 1, 25, 53)),
    (7, 14, (1, 3, 1, 13, 9, 35, 107)),
    (7, 19, (1, 3, 1, 5, 27, 61, 31)),
    (7, 21, (1, 1, 5, 11, 19, 41, 61)),
    (7, 28, (1, 3, 5, 3, 3, 13, 69)),
    (7, 31, (1, 1, 7, 13, 1, 19, 1)),
    (7, 32, (1, 3, 7, 5, 13, 19, 59)),
    (7, 37, (1, 1, 3, 9, 25, 29, 41)),
    (7, 41, (1, 3, 5, 13, 23, 1, 55)),
    (7, 42, (1, 3, 7, 3, 13, 59, 17)),
    (7, 50, (1, 3, 1, 3, 5, 53, 69)),
    (7, 55, (1, 1, 5, 5, 23, 33, 13)),
    (7, 56, (1, 1, 7, 7, 1, 61, 123)),
    (7, 59, (1, 1, 7, 9, 13, 61, 49)),
    (7, 62, (1, 3, 3, 5, 3, 55, 33)),
    (8, 14, (1, 3, 1, 15, 31, 13, 49, 245)),
    (8, 21, (1, 3, 5, 15, 31, 59, 63, 97)),
    (8, 22, (1, 3, 1, 11, 11, 11, 77, 249)),
)


def _directions(degree, coefficients, first):
    """Return the direction numbers of an axis, one for each bit, as fractions of 2³²."""
    numbers = list(first) if degree else [1] * _BITS
    for k in range(len(numbers), _BITS):
        number = numbers[k - degree] ^ numbers[k - degree] << degree
        for i in range(1, degree):
            if coefficients >> (degree - 1 - i) & 1:
                number ^= numbers[k - i] << i
        numbers.append(number)
    return [number << (_BITS - 1 - k) for k, number in enumerate(numbers)]


@public
def sobol_sample(dim, num_results, skip=0, dtype=dtypes.float32, name=None):
    """Return `num_results` points of the Sobol sequence in [0, 1)^dim, after the first `skip`: shape [num_results, dim].

    float32 or float64, up to 40 axes; InvalidArgumentError for less than one axis or point.
    """
    dim, count, skip = static(dim, "dim"), static(num_results, "num_results"), static(skip, "skip")
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.float32, dtypes.float64):
        raise invalid(f"Value for attr 'dtype' of {dtype.name} is not in the list of allowed values: float, double")
    if dim < 1 or count < 1 or skip < 0:
        what = "dim" if dim < 1 else "num_results" if count < 1 else "skip"
        raise invalid(f"{what} must be at least {'zero' if what == 'skip' else 'one'}, received {dim=}, {count=}, {skip=}.")
    if dim > len(_AXES):
        raise invalid(f"dim must be at most {len(_AXES)}, received {dim}: there are no direction numbers for more axes.")
    directions = np.array([_directions(*axis) for axis in _AXES[:dim]], np.uint64)
    index = np.arange(skip + 1, skip + count + 1, dtype=np.uint64)[:, None]
    gray = index ^ index >> np.uint64(1)
    points = np.zeros((count, dim), np.uint64)
    for bit in range(_BITS):
        points ^= (gray >> np.uint64(bit) & np.uint64(1)) * directions[:, bit]
    return host_constant((points / 2.0**_BITS).astype(dtype.numpy))
