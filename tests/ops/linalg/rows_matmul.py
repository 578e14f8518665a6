"""Rows of products of matrices and tensors: matmul, matvec, tensordot, einsum."""

import itertools

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, complexes, integers, real

Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
NOT_ALLOWED = "is not in the list of allowed values"


def same_dtype(dtype):
    return dtype


def turned(x, turn, conjugate=False):
    if turn:
        x = jnp.swapaxes(x, -1, -2)
    return jnp.conj(x) if turn and conjugate else x


def product_row(batch_a, batch_b, turn_a, turn_b, arrays=real, adjoint=False):
    """A row for [*batch_a, 2, 3] @ [*batch_b, 3, 4], the operands transposed where `turn_*` says so."""
    name = "-".join(
        [
            "matmul",
            "x".join(map(str, batch_a)) or "one",
            "x".join(map(str, batch_b)) or "one",
            "adjoint" * adjoint + "complex" * (arrays is complexes and not adjoint) + "ab"[: turn_a or 0] + "b" * turn_b,
        ]
    ).rstrip("-")
    how = "adjoint" if adjoint else "transpose"
    flags = {f"{how}_a": turn_a, f"{how}_b": turn_b}
    return Row(
        name,
        lambda a, b: tf.matmul(a, b, **flags),
        (arrays(*batch_a, *((3, 2) if turn_a else (2, 3))), arrays(*batch_b, *((4, 3) if turn_b else (3, 4)))),
        lambda a, b: jnp.matmul(turned(a, turn_a, adjoint), turned(b, turn_b, adjoint)),
        ops=("BatchMatMulV2" if batch_a or batch_b else "MatMul",),
        dtypes=("float64",),
    )


TURNS = tuple(itertools.product((False, True), repeat=2))

MATMUL = (
    *[product_row((), (), *turns) for turns in TURNS],
    *[product_row((2,), (2,), *turns) for turns in TURNS],
    *[product_row((2,), (), *turns) for turns in TURNS],
    product_row((), (2,), False, True),
    product_row((), (2,), True, False),
    product_row((2, 1), (3,), False, False),
    product_row((2, 1), (3,), True, True),
    product_row((), (), False, True, arrays=complexes),
    product_row((), (), True, False, arrays=complexes, adjoint=True),
    product_row((), (), True, True, arrays=complexes, adjoint=True),
    product_row((2,), (), False, False, arrays=complexes),
    product_row((2,), (), False, True, arrays=complexes, adjoint=True),
    product_row((2,), (2,), True, False, arrays=complexes, adjoint=True),
    Row(
        "matmul",
        tf.matmul,
        (real(2, 3, seed=1), real(3, 2, seed=1)),
        jnp.matmul,
        ops=("MatMul",),
        dtypes=FLOATS,
        special=(
            ((np.ones((2, 0), "float32"), np.ones((0, 2), "float32")), np.zeros((2, 2)), (np.ones((2, 0)), np.ones((0, 2)))),
            (([[1e38, 1e38]], [[10.0], [1.0]]), [[np.inf]], ([[10.0, 1.0]], [[1e38], [1e38]])),
        ),
        errors=(
            (
                lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
                Invalid,
                r"size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]",
            ),
            (
                lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]), transpose_a=True, transpose_b=True),
                Invalid,
                "Matrix size-incompatible.*MatMul",
            ),
            (lambda: tf.matmul(tf.ones([3]), tf.ones([3, 2])), Invalid, r"In\[0\] ndims must be >= 2: received shape \[3\]"),
            (lambda: tf.matmul(tf.ones([2, 3]), 2.0), Invalid, r"In\[1\] ndims must be >= 2: received shape \[\]"),
            (
                lambda: tf.matmul(tf.ones([2, 2]), tf.ones([2, 2], tf.float64)),
                Invalid,
                "MatMul as input #1.*float tensor but is a d",
            ),
            (lambda: tf.matmul([[True]], [[True]]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),
            (
                lambda: tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]), transpose_b=True, adjoint_b=True),
                ValueError,
                "Only one of `transpose_b` and `adjoint_b` can be True",
            ),
        ),
    ),
    Row(
        "matmul-batches",
        tf.matmul,
        (real(2, 2, 3, seed=1), real(2, 3, 2, seed=1)),
        jnp.matmul,
        ops=("BatchMatMulV2",),
        dtypes=FLOATS,
        errors=(
            (
                lambda: tf.matmul(tf.ones([2, 2, 3]), tf.ones([3, 3, 2])),
                Invalid,
                r"compatible batch dimensions: \[2,2,3\] vs. \[3,3,2\].*BatchMatMulV2",
            ),
            (lambda: tf.matmul(tf.ones([1, 2, 3]), tf.ones([1, 2, 3])), Invalid, "Matrix size-incompatible.*BatchMatMulV2"),
            (lambda: tf.matmul(tf.ones([1, 2, 3]), tf.ones([3])), Invalid, r"In\[1\] ndims must be >= 2"),
        ),
    ),
    Row(
        "matmul-integers",
        tf.matmul,
        (integers(0, 5, 2, 3), integers(0, 5, 3, 2)),
        lambda a, b: np.matmul(a, b, dtype=a.dtype),
        dtypes=("int32", "int64", "uint8"),
        result=same_dtype,
    ),
    Row(
        "matmul-output_type",
        lambda a, b: tf.matmul(a, b, transpose_a=True, output_type=tf.int32),
        (np.array([[100], [27]], "int8"), np.array([[100], [2]], "int8")),
        lambda a, b: np.array([[10054]], "int32"),
        ops=("BatchMatMulV3",),
        dtypes=("int8",),
    ),
    Row(
        "matmul-output_type-mixed",
        lambda a, b: tf.matmul(tf.cast(a, tf.float32), b, output_type=tf.float64),
        (np.array([[0.5, 2.0], [1.0, 0.25]]), real(2, 2, seed=2)),
        jnp.matmul,
        ops=("BatchMatMulV3",),
        dtypes=("float64",),
        oracle=False,
        order=1,
        tolerance=1e-4,
        errors=((lambda: tf.matmul([[1j]], [[1j]], output_type=tf.complex64), Invalid, "output_type is for real dtypes"),),
    ),
    *[
        Row(
            f"matmul-output_type-{turn_a}-{turn_b}",
            lambda a, b, turn_a=turn_a, turn_b=turn_b: tf.matmul(
                a, b, adjoint_a=turn_a, transpose_b=turn_b, output_type=tf.float64
            ),
            (real(2, 2, 2, seed=3), real(2, 2, seed=3)),
            lambda a, b, turn_a=turn_a, turn_b=turn_b: jnp.matmul(turned(a, turn_a), turned(b, turn_b)),
            ops=("BatchMatMulV3",),
            dtypes=("float64",),
        )
        for turn_a, turn_b in TURNS[1:3]
    ],
    Row(
        "matmul-operator",
        lambda a: a @ np.array([[1, 2], [3, 4]]) + [[1.0, 2.0]] @ a,
        (real(2, 2),),
        lambda a: a @ np.array([[1.0, 2], [3, 4]]) + np.array([[1.0, 2.0]]) @ a,
    ),
    Row("matvec", tf.linalg.matvec, (real(2, 3), real(3)), jnp.matmul, dtypes=FLOATS),
    Row(
        "matvec-batches",
        lambda a, b: tf.linalg.matvec(a, b, transpose_a=True),
        (real(2, 3, 2), real(2, 3)),
        lambda a, b: jnp.einsum("bij,bi->bj", a, b),
    ),
    Row(
        "matvec-adjoint",
        lambda a, b: tf.linalg.matvec(a, b, adjoint_a=True),
        (complexes(3, 2), complexes(3)),
        lambda a, b: jnp.conj(a.T) @ b,
        errors=((lambda: tf.linalg.matvec(tf.ones([2, 3]), tf.ones([2])), Invalid, r"In\[0\]: \[2,3\], In\[1\]: \[2,1\]"),),
    ),
)


def sum_after(axis):
    """A matmul whose incoming gradient is constant along an axis, as a structural broadcast."""

    def call(a, b):
        return tf.reduce_sum(tf.matmul(a, b), axis)

    def reference(a, b):
        return jnp.sum(jnp.matmul(a, b), axis)

    return call, reference


THIN = tuple(
    [
        Row(
            f"matmul-summed-{'x'.join(map(str, a))}-{'x'.join(map(str, b))}-{axis}",
            sum_after(axis)[0],
            (real(*a, seed=4), real(*b, seed=5)),
            sum_after(axis)[1],
            dtypes=("float64",),
        )
        for a, b, axis in (
            ((2, 3), (3, 4), None),
            ((2, 3), (3, 4), -1),
            ((2, 3), (3, 4), 0),
            ((2, 2, 3), (3, 4), None),
            ((2, 2, 3), (3, 4), -2),
            ((2, 3), (2, 3, 4), 0),
            ((2, 1, 2, 3), (3, 3, 4), -1),
            ((2, 1, 2, 3), (3, 3, 4), (0, 2)),
        )
    ]
)


def tensordot_row(name, a, b, axes):
    return Row(
        f"tensordot-{name}",
        lambda x, y: tf.tensordot(x, y, axes),
        (real(*a), real(*b, seed=1)),
        lambda x, y: jnp.tensordot(x, y, axes),
        dtypes=("float64",),
    )


TENSORDOT = (
    tensordot_row("last-first", (2, 3, 2), (2, 4), 1),
    tensordot_row("outer", (2,), (3,), 0),
    tensordot_row("scalar", (), (3, 2), 0),
    tensordot_row("all", (2, 3), (2, 3), 2),
    tensordot_row("first-first", (3, 2), (3, 4), [[0], [0]]),
    tensordot_row("last-last", (2, 3), (4, 3), [[-1], [1]]),
    tensordot_row("ints", (2, 3), (3, 4), [1, 0]),
    tensordot_row("inner", (2, 3, 4), (4, 2, 5), [[2, 0], [0, 1]]),
    tensordot_row("crossed", (2, 3, 2), (3, 2), [[1, 0], [0, 1]]),
    Row(
        "tensordot-tensor-axes",
        lambda x: tf.tensordot(x, tf.constant([[1.0], [2.0], [3.0]], x.dtype), tf.constant([[1], [0]])),
        (real(2, 3),),
        lambda x: x @ np.array([[1.0], [2.0], [3.0]]),
        errors=(
            (
                lambda: tf.tensordot(tf.ones([2, 3]), tf.ones([2, 2]), 1),
                Invalid,
                r"size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,2\]",
            ),
            (lambda: tf.tensordot(tf.ones([2]), tf.ones([2]), -1), ValueError, "`axes` must be at least 0. Received: -1"),
            (lambda: tf.tensordot(tf.ones([2]), tf.ones([2]), 2), ValueError, "not be larger than the number of dimensions"),
            (lambda: tf.tensordot(tf.ones([2]), tf.ones([2]), [[0], [0], [0]]), ValueError, "integer or have length 2"),
            (lambda: tf.tensordot(tf.ones([2, 2]), tf.ones([2]), [[0, 1], [0]]), ValueError, "`a` and `b`, 2 != 1"),
            (lambda: tf.tensordot(tf.ones([2]), tf.ones([2]), [[1], [0]]), IndexError, r"axis 1 of a tensor of shape \[2\]"),
            (
                lambda: tf.tensordot(tf.ones([2, 2]), tf.ones([2, 2]), [[0, 0], [0, 1]]),
                ValueError,
                "names an axis of a tensor twice",
            ),
        ),
    ),
)


def einsum_row(equation, *shapes, arrays=real):
    return Row(
        f"einsum-{equation}{'-complex' if arrays is complexes else ''}",
        lambda *xs: tf.einsum(equation, *xs),
        tuple([arrays(*shape, seed=seed) for seed, shape in enumerate(shapes)]),
        lambda *xs: jnp.einsum(equation.replace(" ", ""), *xs),
        ops=("Einsum",),
        dtypes=("float64",),
    )


EINSUM = (
    einsum_row("ij,jk->ik", (2, 3), (3, 4)),
    einsum_row("ij,jk", (2, 3), (3, 2)),
    einsum_row("ba", (2, 3)),
    einsum_row("ii->i", (3, 3)),
    einsum_row("ii", (3, 3)),
    einsum_row("ij->i", (2, 3)),
    einsum_row("ij->", (2, 3)),
    einsum_row("iij->i", (2, 2, 3)),
    einsum_row("iij->", (2, 2, 3)),
    einsum_row("iij,j->i", (2, 2, 3), (3,)),
    einsum_row("iji->j", (2, 3, 2)),
    einsum_row("bxby->bxy", (2, 3, 2, 2)),
    einsum_row("ij,kl->ik", (2, 3), (3, 2)),
    einsum_row(",i->i", (), (3,)),
    einsum_row("i,i,i->", (3,), (3,), (3,)),
    einsum_row(" ij , kj, l -> ikl", (2, 3), (2, 3), (2,)),
    einsum_row("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    einsum_row("...i,...i->...", (2, 1, 3), (1, 3, 3)),
    einsum_row("...ij,jk", (2, 2, 3), (3, 2)),
    einsum_row("i->...i", (3,)),
    einsum_row("ij,jk->ik", (2, 3), (3, 2), arrays=complexes),
    einsum_row("ii,i->", (2, 2), (2,), arrays=complexes),
    Row(
        "einsum",
        lambda x, y: tf.einsum("aB,Bc->ca", x, y, optimize="optimal", name="product"),
        (real(2, 3), real(3, 2)),
        lambda x, y: jnp.einsum("ab,bc->ca", x, y),
        ops=("Einsum",),
        dtypes=FLOATS,
        special=(
            ((np.ones((2, 0), "float32"), np.ones((0, 2), "float32")), np.zeros((2, 2)), (np.ones((2, 0)), np.ones((0, 2)))),
        ),
        errors=(
            (lambda: tf.einsum("i1->i", tf.ones([2, 2])), ValueError, "Subscripts have incorrect format: i1->i"),
            (lambda: tf.einsum("ij->i->j", tf.ones([2, 2])), ValueError, "Subscripts have incorrect format"),
            (lambda: tf.einsum("...i...->i", tf.ones([2, 2])), ValueError, "Subscripts have incorrect format.*One ellipsis"),
            (lambda: tf.einsum("i->ii", tf.ones([2])), ValueError, "a label appearing more than once: i->ii.*linalg.diag"),
            (lambda: tf.einsum("i->ij", tf.ones([2])), ValueError, "the label j not present in the input subscripts"),
            (lambda: tf.einsum("i,i->", tf.ones([2])), ValueError, 'Got 1 inputs for equation "i,i->", expecting 2'),
            (lambda: tf.einsum("i->", tf.ones([2]), foo=1), TypeError, "Invalid keyword arguments for einsum: foo"),
            (lambda: tf.einsum("ij,jk->ik", tf.ones([2, 3]), tf.ones([2, 2])), Invalid, "Expected dimension 3 at axis 0 of .* 2"),
            (lambda: tf.einsum("ii->i", tf.ones([2, 3])), Invalid, r"Expected dimension 2 at axis 1 of the input shaped \[2,3\]"),
            (lambda: tf.einsum("ij->i", tf.ones([2])), Invalid, "Expected input 0 to have rank 2 but got: 1"),
            (lambda: tf.einsum("...ij->...i", tf.ones([2])), Invalid, "Expected input 0 to have rank at least 2 but got: 1"),
            (
                lambda: tf.einsum("...i->i", tf.ones([2, 2, 2])),
                Invalid,
                r"contains 2 broadcasting dimension\(s\) but no ellipsis",
            ),
            (lambda: tf.einsum("...i,...i->...", tf.ones([2, 3]), tf.ones([4, 3])), Invalid, "compatible batch dimensions"),
            (
                lambda: tf.einsum("i,i->", tf.ones([2]), tf.constant([1, 2])),
                Invalid,
                "Einsum as input #1.*float tensor but is a int32",
            ),
            (lambda: tf.einsum("i->", [True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "einsum-integers",
        lambda x, y: tf.einsum("ij,kj->ik", x, y),
        (integers(0, 5, 2, 3), integers(0, 5, 3, 3)),
        lambda x, y: np.einsum("ij,kj->ik", x, y),
        dtypes=("int32", "int64"),
    ),
)

ROWS = (*MATMUL, *THIN, *TENSORDOT, *EINSUM)
