"""Names that TensorFlow 1 has in another place than TensorFlow 2, looked up on first use."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from gradtape._src.compat.names import missing

# TensorFlow 1's name → TensorFlow 2's.
RENAMED = {
    "FIFOQueue": "queue.FIFOQueue",
    "OpError": "errors.OpError",
    "PaddingFIFOQueue": "queue.PaddingFIFOQueue",
    "PriorityQueue": "queue.PriorityQueue",
    "QueueBase": "queue.QueueBase",
    "RandomShuffleQueue": "queue.RandomShuffleQueue",
    "batch_to_space_nd": "batch_to_space",
    "cholesky": "linalg.cholesky",
    "cholesky_solve": "linalg.cholesky_solve",
    "diag": "linalg.tensor_diag",
    "diag_part": "linalg.tensor_diag_part",
    "div_no_nan": "math.divide_no_nan",
    "fft": "signal.fft",
    "fft2d": "signal.fft2d",
    "ifft": "signal.ifft",
    "ifft2d": "signal.ifft2d",
    "lin_space": "linspace",
    "log_sigmoid": "math.log_sigmoid",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_set_diag": "linalg.set_diag",
    "matrix_solve": "linalg.solve",
    "matrix_solve_ls": "linalg.lstsq",
    "matrix_transpose": "linalg.matrix_transpose",
    "matrix_triangular_solve": "linalg.triangular_solve",
    "mod": "math.floormod",
    "qr": "linalg.qr",
    "random_crop": "image.random_crop",
    "random_gamma": "random.gamma",
    "random_shuffle": "random.shuffle",
    "reverse_v2": "reverse",
    "self_adjoint_eig": "linalg.eigh",
    "self_adjoint_eigvals": "linalg.eigvalsh",
    "sparse_tensor_dense_matmul": "sparse.sparse_dense_matmul",
    "sparse_tensor_to_dense": "sparse.to_dense",
    "svd": "linalg.svd",
    "tensor_scatter_add": "tensor_scatter_nd_add",
    "tensor_scatter_sub": "tensor_scatter_nd_sub",
    "tensor_scatter_update": "tensor_scatter_nd_update",
    "trace": "linalg.trace",
    "where_v2": "where",
}
ELSEWHERE = ("math", "linalg", "nn", "random", "debugging", "image", "sparse", "signal", "io")


def _found(path: str) -> Any:
    value: Any = sys.modules["gradtape"]
    for part in path.split("."):
        value = getattr(value, part)
    return value


def falls_back(module: str, to: str = "", elsewhere: tuple[str, ...] = ()) -> Callable[[str], Any]:
    """Return a module's `__getattr__`: the name in gradtape's module `to`, or in one of the modules `elsewhere`."""
    unknown = missing(module)

    def __getattr__(name: str) -> Any:
        if not name.startswith("_"):
            for path in (
                [RENAMED[name]] if not to and name in RENAMED else [".".join(filter(None, (p, name))) for p in (to, *elsewhere)]
            ):
                try:
                    value = _found(path)
                except AttributeError:
                    continue
                vars(sys.modules[module])[name] = value  # cached, as a lookup costs more than an op
                return value
        return unknown(name)

    return functools.wraps(unknown)(__getattr__)
