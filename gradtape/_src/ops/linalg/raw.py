"""Ops on matrices that libraries call by their types."""

from __future__ import annotations

from gradtape._src.core.errors import public
from gradtape._src.ops.linalg.diagonals import diag_part


@public
def MatrixDiagPartV2(*, input, k, padding_value, name=None):
    """Return the diagonals `k` of matrices, as `tf.linalg.diag_part` with `align="LEFT_LEFT"`.

    >>> tf.raw_ops.MatrixDiagPartV2(input=[[1, 2], [3, 4]], k=1, padding_value=0).numpy()
    array([2], dtype=int32)
    """
    return diag_part(input, k=k, padding_value=padding_value, align="LEFT_LEFT")
