"""Linear algebra on matrices in the last two axes: `tf.linalg`."""

from gradtape.linalg import experimental as experimental
from gradtape._src.compat.names import missing as _missing
from gradtape._src.operators.base import LinearOperator as LinearOperator
from gradtape._src.operators.blocks import (
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
    LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
    LinearOperatorKronecker as LinearOperatorKronecker,
)
from gradtape._src.operators.circulant import (
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
)
from gradtape._src.operators.composed import (
    LinearOperatorAdjoint as LinearOperatorAdjoint,
    LinearOperatorComposition as LinearOperatorComposition,
    LinearOperatorInversion as LinearOperatorInversion,
)
from gradtape._src.operators.dense import (
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
from gradtape._src.operators.diagonal import (
    LinearOperatorDiag as LinearOperatorDiag,
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
    LinearOperatorZeros as LinearOperatorZeros,
)
from gradtape._src.operators.low_rank import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from gradtape._src.operators.structured import (
    LinearOperatorHouseholder as LinearOperatorHouseholder,
    LinearOperatorPermutation as LinearOperatorPermutation,
    LinearOperatorToeplitz as LinearOperatorToeplitz,
    LinearOperatorTridiag as LinearOperatorTridiag,
)
from gradtape._src.ops.array.creation import eye as eye
from gradtape._src.ops.linalg.decompositions import (
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    lu as lu,
    lu_matrix_inverse as lu_matrix_inverse,
    lu_reconstruct as lu_reconstruct,
    lu_solve as lu_solve,
    qr as qr,
    svd as svd,
)
from gradtape._src.ops.linalg.diagonals import (
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
from gradtape._src.ops.linalg.einsum import einsum as einsum
from gradtape._src.ops.linalg.matmul import matmul as matmul, matvec as matvec, tensordot as tensordot
from gradtape._src.ops.linalg.matrix_functions import (
    expm as expm,
    logm as logm,
    matrix_rank as matrix_rank,
    sqrtm as sqrtm,
)
from gradtape._src.ops.linalg.norms import norm as norm, normalize as normalize
from gradtape._src.ops.linalg.systems import (
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    det as det,
    inv as inv,
    logdet as logdet,
    lstsq as lstsq,
    pinv as pinv,
    slogdet as slogdet,
    solve as solve,
    triangular_solve as triangular_solve,
)
from gradtape._src.ops.linalg.tridiagonal import (
    banded_triangular_solve as banded_triangular_solve,
    eigh_tridiagonal as eigh_tridiagonal,
    tridiagonal_matmul as tridiagonal_matmul,
    tridiagonal_solve as tridiagonal_solve,
)
from gradtape._src.ops.math.clip import global_norm as global_norm
from gradtape._src.ops.nn.normalization import l2_normalize as l2_normalize

__getattr__ = _missing(__name__)
