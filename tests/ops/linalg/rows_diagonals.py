"""Rows of diagonals, bands, transposes, cross products, and of norms."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, boolean, complexes, distinct, integers, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
NOT_ALLOWED = "is not in the list of allowed values"
NUMBERED = np.arange(12.0).reshape(3, 4)


def same_dtype(dtype):
    return dtype


def diag_part(x):
    return jnp.diagonal(x, 0, -2, -1)


def band(align):
    """A row: the band (-1, 2) of a matrix in one alignment, there and back."""

    def call(x):
        part = tf.linalg.diag_part(x, k=(-1, 2), align=align)
        return tf.linalg.diag(part, k=(-1, 2), num_rows=3, num_cols=4, align=align) * x

    return Row(
        f"band-{align}",
        call,
        (real(2, 3, 4, seed=align),),
        lambda x: jnp.triu(x, -1) * (1 - jnp.triu(jnp.ones((3, 4)), 3)) * x,
        ops=("MatrixDiagPartV3", "MatrixDiagV3"),
        dtypes=("float64",),
    )


DIAGONALS = (
    Row(
        "diag_part",
        tf.linalg.diag_part,
        (real(2, 3, 2),),
        diag_part,
        ops=("MatrixDiagPartV3",),
        dtypes=FLOATS,
        special=((np.zeros((0, 2), "float32"), np.zeros(0), np.zeros((0, 2))),),
        errors=(
            (lambda: tf.linalg.diag_part([1.0]), Invalid, r"input must be at least 2-dim, received shape: \[1\]"),
            (lambda: tf.linalg.diag_part(NUMBERED, k=5), Invalid, "lower_diag_index is out of bound: 5. .* between -3 and 4"),
            (lambda: tf.linalg.diag_part(NUMBERED, k=(0, 4)), Invalid, "upper_diag_index is out of bound: 4"),
            (lambda: tf.linalg.diag_part(NUMBERED, k=(1, -1)), Invalid, "must not be larger than upper_diag_index: 1 > -1"),
            (lambda: tf.linalg.diag_part(NUMBERED, k=(1, 2, 3)), Invalid, "only one or two elements, received 3"),
            (lambda: tf.linalg.diag_part(NUMBERED, align="x"), Invalid, f"'align' of \"x\" {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "diag_part-bands",
        lambda x: tuple(
            [
                tf.linalg.diag_part(x, k=tf.constant([-1, 2]), padding_value=-7, align=a)
                for a in ("LEFT_LEFT", "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT")
            ]
        ),
        (NUMBERED.astype("int32"),),
        lambda x: tuple(
            [
                np.array([above, [1, 6, 11], [0, 5, 10], below], "int32")
                for above, below in (
                    ([2, 7, -7], [4, 9, -7]),
                    ([-7, 2, 7], [4, 9, -7]),
                    ([2, 7, -7], [-7, 4, 9]),
                    ([-7, 2, 7], [-7, 4, 9]),
                )
            ]
        ),
        dtypes=("int32",),
    ),
    Row("diag_part-above", lambda x: tf.linalg.diag_part(x, k=2), (real(3, 4),), lambda x: jnp.diagonal(x, 2)),
    Row("diag_part-below", lambda x: tf.linalg.diag_part(x, k=-2), (real(3, 4, seed=1),), lambda x: jnp.diagonal(x, -2)),
    Row(
        "diag",
        tf.linalg.diag,
        (real(2, 3),),
        lambda x: x[..., None] * jnp.eye(3),
        ops=("MatrixDiagV3",),
        dtypes=FLOATS,
        special=(([INF, 0.0], [[INF, 0.0], [0.0, 0.0]], [1.0, 1.0]), ([], np.zeros((0, 0)))),
        errors=(
            (lambda: tf.linalg.diag(1.0), Invalid, r"diagonal must be at least 1-dim, received shape: \[\]"),
            (
                lambda: tf.linalg.diag([1.0, 2.0], num_rows=1),
                Invalid,
                "number of rows is too small. 1 given, the diagonal needs 2",
            ),
            (lambda: tf.linalg.diag([1.0, 2.0], num_cols=1), Invalid, "number of columns is too small"),
            (
                lambda: tf.linalg.diag([1.0, 2.0], k=-1, num_rows=4, num_cols=3),
                Invalid,
                "columns is not consistent with .* give 3 rows",
            ),
            (lambda: tf.linalg.diag([[1.0], [2.0]], k=(-1, 1)), Invalid, r"number of diagonals provided .* names 3"),
        ),
    ),
    Row(
        "diag-off",
        lambda x: tf.linalg.diag(x, k=1, num_rows=3, num_cols=4, padding_value=9),
        (real(3),),
        lambda x: jnp.where(jnp.eye(3, 4, 1) > 0, jnp.pad(x, (1, 0)), 9.0),
    ),
    Row(
        "diag-band",
        lambda x: (tf.linalg.diag(x, k=(-1, 1)), tf.linalg.diag(x, k=(-1, 1), align="LEFT_RIGHT")),
        (np.array([[8, 9, 0], [1, 2, 3], [0, 4, 5]], "int32"),),
        lambda x: (
            np.array([[1, 9, 0], [0, 2, 0], [0, 4, 3]], "int32"),
            np.array([[1, 8, 0], [4, 2, 9], [0, 5, 3]], "int32"),
        ),
        dtypes=("int32",),
    ),
    Row("diag-bool", tf.linalg.diag, (boolean(2),), np.diag),
    *[band(align) for align in ("RIGHT_LEFT", "LEFT_RIGHT")],
    Row(
        "set_diag",
        tf.linalg.set_diag,
        (real(2, 2, 3), real(2, 2)),
        lambda x, d: jnp.where(jnp.eye(2, 3) > 0, d[..., None], x),
        ops=("MatrixSetDiagV3",),
        dtypes=FLOATS,
        errors=(
            (lambda: tf.linalg.set_diag(NUMBERED, np.ones(2)), Invalid, r"diagonal shape: \[3\]"),
            (lambda: tf.linalg.set_diag(np.ones((2, 3, 4)), np.ones(3)), Invalid, r"Expected diagonal shape: \[2,3\]"),
            (lambda: tf.linalg.set_diag([1.0], [1.0]), Invalid, "input must be at least 2-dim"),
        ),
    ),
    Row(
        "set_diag-band",
        lambda x, d: tf.linalg.set_diag(x, d, k=(0, 1)),
        (real(3, 4), real(2, 3, seed=1)),
        lambda x, d: jnp.where(jnp.eye(3, 4) > 0, d[1][:, None], jnp.where(jnp.eye(3, 4, 1) > 0, d[0][:, None], x)),
        ops=("MatrixSetDiagV3",),
    ),
    Row("trace", tf.linalg.trace, (real(2, 3, 2, seed=1),), lambda x: jnp.trace(x, 0, -2, -1), dtypes=FLOATS),
    Row("trace-complex", tf.linalg.trace, (complexes(2, 2),), jnp.trace),
    Row(
        "trace-integers",
        tf.linalg.trace,
        (integers(0, 9, 3, 3),),
        lambda x: np.trace(x, dtype=x.dtype),
        dtypes=("int32", "int64"),
        result=same_dtype,
        errors=((lambda: tf.linalg.trace([1.0]), Invalid, "input must be at least 2-dim"),),
    ),
    Row(
        "tensor_diag",
        tf.linalg.tensor_diag,
        (real(2, 3, seed=2),),
        lambda x: jnp.diag(x.ravel()).reshape(2, 3, 2, 3),
        ops=("Diag",),
        errors=((lambda: tf.linalg.tensor_diag(1.0), Invalid, "Input must be at least rank 1, got 0"),),
    ),
    Row(
        "tensor_diag_part",
        tf.linalg.tensor_diag_part,
        (real(2, 3, 2, 3),),
        lambda x: jnp.diag(x.reshape(6, 6)).reshape(2, 3),
        ops=("DiagPart",),
        errors=(
            (lambda: tf.linalg.tensor_diag_part(np.ones((2, 3, 2))), Invalid, r"even and positive, got shape \[2,3,2\]"),
            (lambda: tf.linalg.tensor_diag_part(np.ones((2, 3, 2, 2))), Invalid, "dimensions 1 and 3 do not match"),
        ),
    ),
    Row(
        "band_part",
        lambda x: tf.linalg.band_part(x, 1, tf.constant(0)),
        (real(2, 3, 4),),
        lambda x: jnp.tril(jnp.triu(x, -1)),
        ops=("MatrixBandPart",),
        dtypes=FLOATS,
        special=(([[INF, NAN], [1.0, NAN]], [[INF, 0.0], [1.0, NAN]], [[1.0, 0.0], [1.0, 1.0]]),),
        errors=(
            (lambda: tf.linalg.band_part(NUMBERED, 5, 1), Invalid, r"num_lower must be .* number of rows \(3\) got: 5"),
            (lambda: tf.linalg.band_part(NUMBERED, 1, 7), Invalid, r"num_upper must be .* number of columns \(4\) got: 7"),
            (lambda: tf.linalg.band_part([1.0], 0, 0), Invalid, r"input must be at least 2-dim, received shape: \[1\]"),
        ),
    ),
    Row("band_part-all-below", lambda x: tf.linalg.band_part(x, -1, 1), (real(3, 3),), lambda x: jnp.tril(x, 1)),
    Row("band_part-bool", lambda x: tf.linalg.band_part(x, 0, -1), (boolean(3, 3),), np.triu),
    Row("matrix_transpose", tf.linalg.matrix_transpose, (real(2, 3, 2, seed=3),), lambda x: jnp.swapaxes(x, 1, 2), dtypes=FLOATS),
    Row(
        "adjoint",
        lambda x: tf.linalg.adjoint(x) + tf.linalg.matrix_transpose(x, conjugate=True),
        (complexes(2, 3),),
        lambda x: 2 * jnp.conj(x.T),
        errors=(
            (lambda: tf.linalg.adjoint([1.0]), ValueError, r"\(batch\) matrix with rank >= 2.*\(1,\)"),
            (lambda: tf.linalg.matrix_transpose([1.0]), ValueError, r"\(batch\) matrix with rank >= 2.*\(1,\)"),
        ),
    ),
    Row(
        "cross",
        tf.linalg.cross,
        (real(2, 3), real(2, 3, seed=1)),
        jnp.cross,
        ops=("Cross",),
        dtypes=FLOATS,
        special=((([1, 2, 3], [4, 5, 6]), [-3, 6, -3]),),
        errors=(
            (lambda: tf.linalg.cross([1.0, 2.0], [1.0, 2.0]), tf.errors.FailedPreconditionError, r"3-element vectors.*\[2\]"),
            (lambda: tf.function(tf.linalg.cross)([1.0, 2.0], [1.0, 2.0]), ValueError, "3-element vectors"),
            (lambda: tf.linalg.cross([1.0, 2.0, 3.0], [[1.0, 2.0, 3.0]]), Invalid, r"of same shape: \[3\] vs. \[1,3\]"),
            (lambda: tf.linalg.cross([1j, 2, 3], [1j, 2, 3]), Invalid, f"'T' of complex128 {NOT_ALLOWED}"),
        ),
    ),
)


def norm_row(name, reference, args, *, oracle=True, **options):
    return Row(f"norm-{name}", lambda x: tf.norm(x, **options), (args,), reference, oracle=oracle)


def sum_of_powers(p):
    return lambda x: jnp.sum(jnp.abs(x) ** p, 1) ** (1 / p)


MATRIX = [[1.0, 2.0], [3.0, 4.0]]
NORMS = (
    Row(
        "norm",
        tf.norm,
        (real(2, 3, seed=4),),
        lambda x: jnp.sqrt(jnp.sum(x * x)),
        dtypes=FLOATS,
        special=(
            ([3.0, 4.0], 5.0, [0.6, 0.8]),
            ([0.0, 0.0], 0.0, [NAN, NAN]),
            ([], 0.0, []),
        ),
        errors=(
            (lambda: tf.norm(MATRIX, ord="x"), ValueError, "'ord' must be a supported vector norm, got x"),
            (lambda: tf.norm(MATRIX, ord="fro"), ValueError, "'ord' must be a supported vector norm, got fro"),
            (lambda: tf.norm(MATRIX, ord=0), ValueError, "'ord' must be a supported vector norm, got 0"),
            (lambda: tf.norm(MATRIX, ord=-1), ValueError, "'ord' must be a supported vector norm, got -1"),
            (lambda: tf.norm(MATRIX, ord=3, axis=(0, 1)), ValueError, "supported matrix norm in .*'fro', 1, 2, inf.*, got 3"),
            (lambda: tf.norm(MATRIX, axis=[0, 1, 1]), ValueError, "None, an integer, or a tuple of 2 unique integers"),
            (lambda: tf.norm(MATRIX, axis=[0, 0]), ValueError, "None, an integer, or a tuple of 2 unique integers"),
            (lambda: tf.norm(MATRIX, axis="a"), ValueError, "None, an integer, or a tuple of 2 unique integers, got a"),
            (lambda: tf.norm([3, 4]), Invalid, f"'T' of int32 {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "norm-masked",
        lambda x: tf.where(tf.reduce_sum(x) > 0, tf.norm(x), 0.0),
        (np.array([0.5, 1.0]),),
        lambda x: jnp.sqrt(jnp.sum(x * x)),
        special=(([0.0, 0.0], 0.0, [0.0, 0.0]),),
    ),
    norm_row("one", lambda x: jnp.sum(jnp.abs(x)), real(2, 3, seed=5), ord=1),
    norm_row("two", sum_of_powers(2), real(2, 3, seed=6), ord=2, axis=1),
    norm_row("three", sum_of_powers(3), real(2, 3, seed=7), ord=3, axis=1),
    norm_row("half", sum_of_powers(0.5), real(2, 3, seed=8), ord=0.5, axis=-1),
    norm_row("largest", lambda x: jnp.max(jnp.abs(x), 0, keepdims=True), distinct(3, 2), ord=np.inf, axis=0, keepdims=True),
    norm_row("frobenius", lambda x: jnp.sqrt(jnp.sum(x * x, (1, 2))), real(2, 3, 2, seed=9), ord="fro", axis=[-2, -1]),
    norm_row("matrix-one", lambda x: jnp.max(jnp.sum(jnp.abs(x), 1), 1), distinct(2, 3, 2), ord=1, axis=[-2, -1]),
    norm_row("matrix-largest", lambda x: jnp.max(jnp.sum(jnp.abs(x), 2), 1), real(2, 3, 2, seed=10), ord=np.inf, axis=(1, 2)),
    norm_row("matrix-turned", lambda x: jnp.max(jnp.sum(jnp.abs(x), 1)), distinct(3, 2), ord=1, axis=(1, 0)),
    Row(
        "norm-complex",
        lambda x: tf.norm(x, axis=1),
        (complexes(2, 3, seed=2),),
        lambda x: jnp.sqrt(jnp.sum(x * jnp.conj(x), 1)),
        special=((np.array([[3j, 4]], "complex64"), [5.0], [[0.6j, 0.8]]),),
    ),
    Row("norm-complex-one", lambda x: tf.norm(x, 1), (complexes(3),), lambda x: jnp.sum(jnp.abs(x))),
    Row(
        "normalize",
        lambda x: tf.linalg.normalize(x, axis=0),
        (real(3, 2),),
        lambda x: (x / jnp.sqrt(jnp.sum(x * x, 0, keepdims=True)), jnp.sqrt(jnp.sum(x * x, 0, keepdims=True))),
        dtypes=FLOATS,
        result=lambda dtype: (dtype, dtype),
    ),
    Row(
        "normalize-one",
        lambda x: tf.linalg.normalize(x, ord=1),
        (complexes(3, seed=1),),
        lambda x: (x / jnp.sum(jnp.abs(x)), jnp.sum(jnp.abs(x), keepdims=True) + 0j),
    ),
)

ROWS = (*DIAGONALS, *NORMS)
