"""Functions of square matrices (exponential, logarithm, square root), and ranks."""

from functools import partial

import jax
import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import lowered, lowering
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import reshape, zeros
from gradtape._src.ops.floats import wide
from gradtape._src.ops.linalg.decompositions import svd
from gradtape._src.ops.linalg.diagonals import adjoint
from gradtape._src.ops.linalg.einsum import einsum
from gradtape._src.ops.linalg.host import by_numpy
from gradtape._src.ops.linalg.systems import check_float_matrix, solve, square
from gradtape._src.ops.math.compare import greater
from gradtape._src.ops.math.reduction import reduce_max, reduce_sum
from gradtape._src.ops.shapes import COMPLEX, require


def _each(function, x):
    """Apply a function of one matrix to each matrix of a batch."""
    flat = x.reshape(-1, *x.shape[-2:])
    return jax.vmap(function)(flat).reshape(x.shape)


def _by_scipy(name, x):
    """Apply SciPy's function `name` to a batch of complex matrices, on the host."""

    def of_parts(parts):
        from scipy import linalg

        matrices = parts.view(np.complex128)[..., 0].reshape(-1, *x.shape[-2:])
        found = np.stack([getattr(linalg, name)(each) for each in matrices]).astype(np.complex128)
        return found.view(np.float64).reshape(parts.shape)

    parts = jnp.stack([x.real, x.imag], -1)
    found = by_numpy(of_parts, parts.shape, parts)
    return lax.complex(found[..., 0], found[..., 1]).astype(np.result_type(x.dtype, np.complex64))


SCHUR = "Schur's form, which JAX has for CPUs only"

# ---------------------------------------------------------------------------------------------------------------------
# The exponential


# Higham, "Functions of Matrices" (2008), table 10.2: coefficients of the Padé approximants, and the largest norm for each.
_PADE = {
    "float32": ((17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1), 3.925724783138660),
    "float64": (
        (
            64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
            670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
        ),
        5.371920351148152,
    ),
}  # fmt: skip


def _powers(x, coefficients):
    """Return `Σ coefficients[i]·xⁱ`, for matrices."""
    one = jnp.eye(x.shape[-1], dtype=x.dtype)
    total = float(coefficients[-1]) * one
    for coefficient in reversed(coefficients[:-1]):
        total = jnp.matmul(total, x) + float(coefficient) * one
    return total


@public
@op("MatrixExponential", infer=square, saves="input", traits="blockwise")
def expm(input):
    """Return the exponential of square matrices, by scaling, a Padé approximant, and squaring.

    >>> print(tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy())
    [[1. 1.]
     [0. 1.]]
    """
    if not input.size:
        return input
    a = wide(input)
    coefficients, bound = _PADE[jnp.finfo(a.dtype).dtype.name]
    norm = jnp.max(jnp.sum(jnp.abs(a), axis=-2), axis=-1)
    halvings = jnp.ceil(jnp.log2(norm / bound))
    halvings = jnp.where((halvings > 0) & jnp.isfinite(halvings), halvings, jnp.zeros_like(halvings))
    scaled = a * (2.0**-halvings).astype(a.dtype)[..., None, None]
    squared = jnp.matmul(scaled, scaled)
    odd, even = jnp.matmul(scaled, _powers(squared, coefficients[1::2])), _powers(squared, coefficients[0::2])
    result = jnp.linalg.solve(even - odd, even + odd)

    times = halvings.astype(jnp.int32)

    def square_again(step, x):
        return jnp.where((step < times)[..., None, None], jnp.matmul(x, x), x)

    return lax.fori_loop(0, jnp.max(times), square_again, result).astype(input.dtype)


@gradient(expm)
def _(dy, input):
    return _along(expm, adjoint(input), dy)


def _along(function, a, direction):
    """Return the derivative of a matrix function at `a`: the upper right block of its value at [[a, direction], [0, a]].

    At Aᴴ, in the direction of the result's cotangent, it is the cotangent of A. Higham, "Functions of Matrices" (2008),
    equation 3.16.
    """
    n = extents_of(a)[-1]
    above = concat([a, direction], -1)
    below = concat([zeros(extents_of(a), a.dtype), a], -1)
    return function(concat([above, below], -2))[..., :n, n:]


# ---------------------------------------------------------------------------------------------------------------------
# The square root and the logarithm


@lowered("the square root of a matrix")
def _square_root(x):
    return _by_scipy("sqrtm", x)


lowering(_square_root, platform="cpu", rule=partial(_each, jax.scipy.linalg.sqrtm), because=SCHUR)


@public
@op("MatrixSquareRoot", unhosted="NumPy has no twin of it", infer=square, saves="y", traits="blockwise")
def sqrtm(input):
    """Return the principal square root of square matrices. For real matrices it is NaN if the root is not real.

    >>> tf.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy().round(4).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    if not input.size:
        return input
    root = _square_root(wide(input))
    if jnp.issubdtype(input.dtype, jnp.complexfloating):
        return root.astype(input.dtype)
    size = jnp.max(jnp.abs(root), axis=(-2, -1), keepdims=True)
    is_real = jnp.abs(jnp.imag(root)) <= 1e3 * jnp.finfo(root.dtype).eps * size
    is_real = jnp.all(is_real, axis=(-2, -1), keepdims=True)
    return jnp.where(is_real, jnp.real(root), jnp.nan).astype(input.dtype)


@gradient(sqrtm)
def _(dy, y):  # Rᴴ dA + dA Rᴴ = dy, as a linear system for the elements of dA, row by row
    root = adjoint(y)
    shape, n = extents_of(root), extents_of(root)[-1]
    identity = eye(n, dtype=root.dtype)
    system = einsum("...ij,kl->...ikjl", root, identity) + einsum("ij,...lk->...ikjl", identity, root)
    system = reshape(system, (*shape[:-2], n * n, n * n))
    return reshape(solve(system, reshape(dy, (*shape[:-2], n * n, 1))), shape)


def _log_rule(input):
    square(input)
    require(input, COMPLEX)
    return input


def _log_of_one(x):
    """Return the logarithm of a complex matrix: square roots until it is near 1, then a Gauss-Legendre rule, and scaling.

    Higham, "Functions of Matrices" (2008), section 11.4.
    """
    triangular, basis = jax.scipy.linalg.schur(x, output="complex")
    one = jnp.eye(x.shape[-1], dtype=x.dtype)

    def far(state):
        count, root = state
        return (jnp.linalg.norm(root - one, 1) > 0.25) & (count < 60)

    def halved(state):
        count, root = state
        return count + 1, jax.scipy.linalg.sqrtm(root)

    count, root = lax.while_loop(far, halved, (jnp.array(0, jnp.int32), triangular))
    rest = root - one
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = jnp.zeros_like(rest)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        total = total + float(weight) * jnp.linalg.solve(one + float(node) * rest, rest)
    scale = (2.0 ** count.astype(jnp.finfo(x.dtype).dtype)).astype(x.dtype)
    return scale * jnp.matmul(jnp.matmul(basis, total), jnp.conj(basis.T))


@lowered("the logarithm of a matrix")
def _logarithm(x):
    return _by_scipy("logm", x)


lowering(_logarithm, platform="cpu", rule=partial(_each, _log_of_one), because=SCHUR)


@op("MatrixLogarithm", unhosted="NumPy has no twin of it", infer=_log_rule, saves="input", traits="blockwise")
def logm(input):
    """Return the principal logarithm of invertible complex matrices. Unlike in TensorFlow, it has a gradient.

    >>> print(tf.linalg.logm(tf.constant([[1.0, 1.0], [0.0, 1.0]], tf.complex64)).numpy().real.round(4) + 0)
    [[0. 1.]
     [0. 0.]]
    """
    return _logarithm(input) if input.size else input


@gradient(logm)
def _(dy, input):
    return _along(logm, adjoint(input), dy)


# ---------------------------------------------------------------------------------------------------------------------
# Ranks


@public
def matrix_rank(a, tol=None, validate_args=False, name=None):
    """Return the number of singular values of matrices [..., m, n] that exceed `tol`: an int32 for each.

    `tol` broadcasts with the singular values, [..., min(m, n)]. By default it is max(m, n) · ε · (largest singular value),
    with the dtype's machine epsilon ε.

    >>> int(tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    a = tensor(a)
    check_float_matrix(a)
    s = svd(a, compute_uv=False)
    if tol is None:
        resolution = float(np.finfo(s.dtype.as_numpy_dtype).eps)
        tol = reduce_max(s, -1, keepdims=True) * (resolution * max(extents_of(a)[-2:]))
    else:
        tol = tensor(tol, hint=s.dtype)
    return reduce_sum(cast(greater(s, tol), dtypes.int32), -1)
