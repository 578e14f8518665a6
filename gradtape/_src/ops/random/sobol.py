"""Points of the Sobol sequence, which fill a cube more evenly than random ones."""

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.shape import host_constant
from gradtape._src.ops.shapes import named_dtype

MOST = 40  # TensorFlow's limit on the number of axes


@public
def sobol_sample(dim, num_results, skip=0, dtype=dtypes.float32, name=None):
    """Return `num_results` points of the Sobol sequence in [0, 1)^dim, after the first `skip`: shape [num_results, dim].

    float32 or float64, up to 40 axes; InvalidArgumentError for less than one axis or point.

    >>> print(tf.math.sobol_sample(2, 3).numpy())
    [[0.5  0.5 ]
     [0.75 0.25]
     [0.25 0.75]]
    """
    dim, count, skip = static(dim, "dim"), static(num_results, "num_results"), static(skip, "skip")
    dtype = named_dtype(dtype, ("float32", "float64"), "dtype")
    if dim < 1 or count < 1 or skip < 0:
        what = "dim" if dim < 1 else "num_results" if count < 1 else "skip"
        raise invalid(f"{what} must be at least {'zero' if what == 'skip' else 'one'}, received {dim=}, {count=}, {skip=}.")
    if dim > MOST:
        raise invalid(f"dim must be at most {MOST}, received {dim}, as in TensorFlow.")
    from scipy.stats import qmc  # imported here, as it takes a second

    points = qmc.Sobol(dim, scramble=False, bits=32).fast_forward(skip + 1).random(count)  # skips the first point, 0
    return host_constant(points.astype(dtype))
