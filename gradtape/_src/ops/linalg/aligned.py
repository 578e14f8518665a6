"""The product with a matrix, of extents as a GPU's kernels want them: rows that start at multiples of 16 bytes."""

from math import prod

from gradtape._src.core.platform.arrays import jnp, lax

BYTES = 16
WORTH_COPIES, WIDE = (
    1 << 31,
    256,
)  # additions and multiplications, and each extent, of a product that pays for copies of its operands


def dot_general(x, matrix, contracted, dtype):
    """Return the product over the axes `contracted`, one of each; x's other axes come first.

    The fast kernels of a GPU take rows that start at multiples of 16 bytes: NVIDIA, "Matrix Multiplication Background User's
    Guide", section 3. So there the other extents of a large product, as the 50,257 tokens of GPT-2, are padded with zeros.
    """
    operands, ((of_x,), (of_matrix,)) = (x, matrix), contracted

    def product(x, matrix):
        return lax.dot_general(x, matrix, (contracted, ((), ())), preferred_element_type=dtype)

    k, n, step = x.shape[of_x], matrix.shape[1 - of_matrix], BYTES // x.dtype.itemsize
    m = prod(x.shape) // max(k, 1)
    is_large = 2 * m * n * k >= WORTH_COPIES and min(m, n, k) >= WIDE
    if not is_large or step < 4 or not jnp.issubdtype(x.dtype, jnp.floating):
        return product(x, matrix)
    added = [[0] * x.ndim, [0, 0]]
    for i, axis in ((0, x.ndim - 1), (1, 1), (1, 1 - of_matrix)):  # along the rows of both, and of the result
        added[i][axis] = -operands[i].shape[axis] % step
    added[0][of_x] = added[1][of_matrix] = max(added[0][of_x], added[1][of_matrix])
    if not any(map(any, added)):
        return product(x, matrix)

    def of_padded(*operands):
        padded = [
            lax.pad(operand, jnp.zeros((), operand.dtype), [(0, more, 0) for more in extents]) if any(extents) else operand
            for operand, extents in zip(operands, added, strict=True)
        ]
        return lax.slice(product(*padded), [0] * len(shape), shape)

    shape = [extent for axis, extent in enumerate(x.shape) if axis != of_x] + [n]
    return lax.platform_dependent(*operands, cuda=of_padded, default=product)
