"""Raw ops on matrices that libraries call by type."""

from __future__ import annotations

from gradtape._src.core.base.public import public
from gradtape._src.ops.linalg.diagonals import diag_part
from gradtape._src.ops.linalg.einsum import einsum


@public
def MatrixDiagPartV2(*, input, k, padding_value, name=None):
    """Return the diagonals `k` of matrices, as `tf.linalg.diag_part` with `align="LEFT_LEFT"`.

    >>> tf.raw_ops.MatrixDiagPartV2(input=[[1, 2], [3, 4]], k=1, padding_value=0).numpy()
    array([2], dtype=int32)
    """
    return diag_part(input, k=k, padding_value=padding_value, align="LEFT_LEFT")


@public
def Einsum(*, inputs, equation, name=None):
    """Return `tf.einsum(equation, *inputs)`.

    >>> tf.raw_ops.Einsum(inputs=[[1.0, 2.0], [3.0, 4.0]], equation="i,i->").numpy()
    np.float32(11.0)
    """
    return einsum(equation, *inputs)
