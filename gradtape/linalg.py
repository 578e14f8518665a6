"""Linear algebra on matrices in the last two axes: `tf.linalg`."""

from gradtape._src.ops.clip import global_norm as global_norm
from gradtape._src.ops.creation import eye as eye
from gradtape._src.ops.diagonals import (
    adjoint as adjoint,
    band_part as band_part,
    cross as cross,
    diag as diag,
    diag_part as diag_part,
    matrix_transpose as matrix_transpose,
    set_diag as set_diag,
    tensor_diag as tensor_diag,
    tensor_diag_part as tensor_diag_part,
    trace as trace,
)
from gradtape._src.ops.einsum import einsum as einsum
from gradtape._src.ops.matmul import matmul as matmul, matvec as matvec, tensordot as tensordot
from gradtape._src.ops.norms import l2_normalize as l2_normalize, norm as norm, normalize as normalize
