"""Rows of sparse tensors, of segments of indexed rows, and of embeddings of bags of ids."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, complexes, integers, positive, real

Invalid = tf.errors.InvalidArgumentError
sparse = tf.sparse
FLOATS = ("float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex64")
INTEGERS = ("int32", "int64")

PLACES = np.array([[0, 1], [1, 0], [1, 2]])
CUBE = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 1]])
INDICES = np.array([2, 0, 2, 1], "int32")
IDS = np.array([0, 0, 2, 2], "int32")
BAGS = np.array([[0, 0], [0, 1], [2, 0]])


def matrix(values, indices=PLACES, shape=(2, 3)):
    return tf.SparseTensor(indices, values, list(shape))


def dense(values, indices=PLACES, shape=(2, 3), default=0):
    return jnp.full(shape, default, values.dtype).at[tuple(np.asarray(indices).T)].set(values)


def same_dtype(dtype):
    return dtype


def product_row(suffix, a_shape, b, adjoint_a=False, adjoint_b=False, values=None, **more):
    """SparseTensor times dense."""

    def reference(values, b):
        a = dense(values, PLACES, a_shape)
        return (jnp.conj(a.T) if adjoint_a else a) @ (jnp.conj(b.T) if adjoint_b else b)

    return Row(
        f"sparse_dense_matmul{suffix}",
        lambda values, b: sparse.sparse_dense_matmul(matrix(values, PLACES, a_shape), b, adjoint_a, adjoint_b),
        (real(3) if values is None else values, b),
        reference,
        ops=("SparseTensorDenseMatMul",),
        **more,
    )


def dense_sparse_row(suffix, a, adjoint_a, adjoint_b, values, **more):
    """Dense times SparseTensor."""

    def reference(a, values):
        b = dense(values, PLACES, (2, 3))
        return (jnp.conj(a.T) if adjoint_a else a) @ (jnp.conj(b.T) if adjoint_b else b)

    return Row(
        f"dense_sparse_matmul{suffix}",
        lambda a, values: sparse.sparse_dense_matmul(a, matrix(values), adjoint_a, adjoint_b),
        (a, values),
        reference,
        **more,
    )


def sum_row(suffix, indices, shape, args=None, result=None, dtypes=("float64", "float32"), **options):
    return Row(
        f"reduce_sum{suffix}",
        lambda x: sparse.reduce_sum(matrix(x, indices, shape), **options),
        args or (real(len(indices)),),
        lambda x: jnp.sum(
            dense(x, indices, shape), dtype=x.dtype, axis=options.get("axis"), keepdims=options.get("keepdims", False)
        ),
        ops=("SparseReduceSum",),
        dtypes=dtypes,
        result=result,
    )


def segments(reduce, count):
    def function(x):
        empty = jnp.zeros(x.shape[1:], x.dtype)
        return jnp.stack([reduce(x[INDICES[i == IDS]]) if (i == IDS).any() else empty for i in range(count)])

    return function


REDUCTIONS = {
    "sum": ("Sum", lambda rows: jnp.sum(rows, 0, rows.dtype)),
    "mean": ("Mean", lambda rows: jnp.mean(rows, 0)),
    "sqrt_n": ("SqrtN", lambda rows: jnp.sum(rows, 0) / np.sqrt(len(rows))),
}


def segment_row(name, count=None, suffix="", args=None, dtypes=FLOATS, **more):
    function = getattr(sparse, f"segment_{name}")
    type, reduce = REDUCTIONS[name]
    return Row(
        f"segment_{name}{suffix}",
        lambda x: function(x, INDICES, IDS, num_segments=count),
        args or (real(3, 2, seed=name),),
        segments(reduce, count or 3),
        ops=(f"SparseSegment{type}{'WithNumSegments' if count else ''}",),
        dtypes=dtypes,
        **more,
    )


def sparse_gradient_row(name):
    """With `sparse_gradient`, of the same value."""
    function = getattr(sparse, f"segment_{name}")
    type, reduce = REDUCTIONS[name]
    return Row(
        f"segment_{name}-sparse-gradient",
        lambda x: function(x, INDICES, IDS, sparse_gradient=True),
        (real(3, 2, seed=(name, "sparse")),),
        segments(reduce, 3),
        ops=(f"SparseSegment{type}",),
        order=1,
    )


def bags(combiner, weighted):
    """The reference of `embedding_lookup_sparse` for the ids 1, 0, 2 in `BAGS`."""

    def function(table, weights=None):
        weights = np.ones(3) if weights is None else weights
        first, last = jnp.array(weights[:2]), weights[2]
        total = first[0] * table[1] + first[1] * table[0]
        alone = last * table[2]
        size = {"sum": 1, "mean": first.sum(), "sqrtn": jnp.sqrt((first**2).sum())}[combiner]
        size_alone = {"sum": 1, "mean": last, "sqrtn": jnp.sqrt(last**2)}[combiner]
        return jnp.stack([total / size, jnp.zeros_like(total), alone / size_alone])

    return function


def bag_row(combiner, weighted):
    ids = tf.SparseTensor(BAGS, np.array([1, 0, 2]), [4, 2])

    def call(table, weights=None):
        weights = None if weights is None else tf.SparseTensor(BAGS, weights, [4, 2])
        return tf.nn.embedding_lookup_sparse(table, ids, weights, combiner=combiner)

    return Row(
        f"embedding_lookup_sparse-{combiner}{'-weighted' if weighted else ''}",
        call,
        (real(3, 2, seed=combiner), positive(3)) if weighted else (real(3, 2, seed=(combiner, 1)),),
        bags(combiner, weighted),
        dtypes=("float64", "float32"),
    )


def safe_row(suffix, expected, gradient, **options):
    """`safe_embedding_lookup_sparse` on the table [[1, 2], [3, 4], [5, 6]]."""
    places = [[0, 0], [0, 1], [2, 0], [3, 0]]
    ids = tf.SparseTensor(places, [1, 0, 2, -1], [5, 2])
    weights = options.pop("weights", None)
    weights = None if weights is None else tf.SparseTensor(places, weights, [5, 2])
    table = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]

    def call(x):
        return tf.nn.safe_embedding_lookup_sparse(x, ids, weights, **options)

    return Row(
        f"safe_embedding_lookup_sparse{suffix}",
        call,
        (np.array(table),),
        lambda x: np.array(expected, float),
        oracle=False,
        special=((table, expected, gradient),),
    )


def times_matrix(function):
    return lambda x, y: function(matrix(x), y).values


ONES = [1.0, 1.0, 1.0]
SEGMENT_ERRORS = tuple(
    (lambda arguments=arguments: sparse.segment_sum(*arguments), error, match)
    for arguments, error, match in (
        ((ONES, [0, 2], [2, 0]), Invalid, "segment ids are not increasing.*Op:SparseSegmentSum"),
        ((ONES, [0, 3], [0, 0]), Invalid, r"Bad: indices\[1\] == 3 out of range \[0, 3\)"),
        ((ONES, [-1], [0]), Invalid, r"Bad: indices\[0\] == -1 out of range \[0, 3\)"),
        ((ONES, [0, 2], [0, 2], 2), Invalid, "segment ids must be < num_segments, received 2 and num_segments=2"),
        ((ONES, [0], [-1], 2), Invalid, "segment ids must be >= 0, received -1"),
        ((ONES, [0], [0], -1), Invalid, "segment ids must be >= 0, num_segments too: received -1"),
        ((ONES, [0, 2], [0]), Invalid, r"should have same size. Received \[1\] and \[2\]"),
        ((ONES, [[0]], [0]), Invalid, r"indices should be a vector. Received shape \[1,1\]"),
        ((1.0, [0], [0]), Invalid, "Shape must be at least rank 1"),
        ((ONES, [0], [0], 2.0), Invalid, "'Tnumsegments' of float is not in the list"),
        ((ONES, [0.0], [0]), Invalid, "'Tidx' of float is not in the list"),
        (([1j], [0], [0]), Invalid, "'T' of complex128 is not in the list"),
    )
)
VALUES = tf.SparseTensor([[0, 0]], [1.0], [2, 3])
LOOKUP_ERRORS = (
    (
        lambda: tf.nn.embedding_lookup_sparse([ONES], [1], None),
        TypeError,
        "sp_ids must be SparseTensor or RaggedTensor, got <class 'list'>",
    ),
    (lambda: tf.nn.embedding_lookup_sparse([ONES], VALUES, [1.0]), TypeError, "sp_weights must be either None or SparseTensor"),
    (lambda: tf.nn.embedding_lookup_sparse([], VALUES, None), ValueError, "Length of params is currently 0"),
    (lambda: tf.nn.embedding_lookup_sparse([ONES], VALUES, None, "max"), ValueError, "must be one of .* got max"),
    (
        lambda: tf.nn.embedding_lookup_sparse(ONES, matrix([1, 0, 2]), VALUES),
        ValueError,
        r"Shapes \(3,\) and \(1,\) are incompatible",
    ),
    (
        lambda: tf.nn.embedding_lookup_sparse(ONES, tf.SparseTensor([[1, 0], [0, 0]], [0, 1], [2, 1]), None),
        Invalid,
        "segment ids are not increasing",
    ),
    (lambda: tf.nn.safe_embedding_lookup_sparse(None, VALUES), ValueError, "Missing embedding_weights None"),
)

ROWS = (
    Row(
        "to_dense",
        lambda x: sparse.to_dense(matrix(x)),
        (real(3),),
        dense,
        ops=("SparseToDense",),
        dtypes=FLOATS,
        errors=(
            (lambda: sparse.to_dense(tf.ones([2])), TypeError, "Input must be a SparseTensor. Received EagerTensor"),
            (
                lambda: sparse.to_dense(matrix([1, 2], [[1, 2], [0, 0]])),
                Invalid,
                r"indices\[1\] = \[0,0\] is out of order. Many sparse ops require sorted indices",
            ),
            (lambda: sparse.to_dense(matrix([1, 2], [[0, 0], [0, 0]])), Invalid, r"indices\[1\] = \[0,0\] is repeated"),
            (
                lambda: sparse.to_dense(matrix([1], [[0, 9]])),
                Invalid,
                r"indices\[0\] = \[0,9\] is out of bounds: need 0 <= index < \[2,3\]",
            ),
            (lambda: sparse.to_dense(matrix([1], [[-1, 0]]), validate_indices=False), Invalid, "is out of bounds"),
            (lambda: sparse.to_dense(VALUES, [1.0]), Invalid, "default_value should be a scalar"),
            (lambda: sparse.to_dense(VALUES, tf.constant(1)), Invalid, "default_value has dtype int32, the values have float32"),
        ),
    ),
    Row(
        "to_dense-default",
        lambda x, default: sparse.to_dense(matrix(x), default),
        (real(3), np.array(0.7)),
        lambda x, default: dense(x, default=default),
        ops=("SparseToDense",),
    ),
    Row(
        "to_dense-any-order",
        lambda x: sparse.to_dense(matrix(x, [[1, 2], [0, 0], [0, 1]]), validate_indices=False),
        (real(3),),
        lambda x: dense(x, [[1, 2], [0, 0], [0, 1]]),
        ops=("SparseToDense",),
    ),
    Row(
        "to_dense-integers",
        lambda x: sparse.to_dense(matrix(x), -1),
        (integers(1, 9, 3),),
        lambda x: dense(x, default=-1),
        order=0,
        dtypes=INTEGERS,
        result=same_dtype,
    ),
    Row(
        "from_dense",
        lambda x: sparse.from_dense(x).values,
        (real(2, 3),),
        lambda x: x.reshape(-1),
        ops=("Where", "GatherNd"),
        special=(([[0.0, 3.0], [2.0, 0.0]], [3.0, 2.0], [[0.0, 1.0], [1.0, 0.0]]),),
        errors=((lambda: sparse.from_dense(3.0), Invalid, "at least one axis, received a scalar"),),
    ),
    Row(
        "sparse-times-dense",
        times_matrix(lambda x, y: x * y),
        (real(3), real(2, 3)),
        lambda x, y: x * y[tuple(PLACES.T)],
        errors=((lambda: VALUES * VALUES, TypeError, "Make one of them dense with tf.sparse.to_dense"),),
    ),
    Row("sparse-by-row", times_matrix(lambda x, y: x / y), (real(3), positive(3)), lambda x, y: x / y[PLACES[:, 1]]),
    Row("sparse-by-number", lambda x: (matrix(x) / 2 * tf.constant(3.0, x.dtype)).values, (real(3),), lambda x: x * 1.5),
    product_row(
        "",
        (2, 3),
        real(3, 4),
        dtypes=FLOATS,
        errors=tuple(
            (lambda a=a, b=b, options=options: sparse.sparse_dense_matmul(a, b, **options), error, match)
            for a, b, options, error, match in (
                (VALUES, np.ones((2, 2), "f"), {}, Invalid, r"inner dimension does not match: 3 vs. 2. Did you forget a transp"),
                (VALUES, np.ones((3, 2), "f"), {"adjoint_a": True}, Invalid, "does not match: 2 vs. 3"),
                (VALUES, ONES, {}, Invalid, r"'b' is not a matrix: it has shape \[3\]"),
                (VALUES, np.ones((3, 2)), {}, Invalid, "was expected to be a float32 tensor but is a float64 tensor"),
                (tf.SparseTensor([[0]], [1.0], [3]), [[1.0]], {}, Invalid, "'a_shape' must have 2 elements"),
                (matrix([1.0], [[0, 9]]), np.ones((3, 2), "f"), {}, Invalid, r"\[0,9\] is out of bounds"),
                (np.ones((2, 2)), np.ones((2, 2)), {}, TypeError, "Input must be a SparseTensor. Received ndarray"),
                (VALUES, VALUES, {}, TypeError, "One side must be dense"),
            )
        ),
    ),
    product_row("-adjoint-a", (2, 3), real(2, 2), adjoint_a=True),
    product_row("-adjoint-b", (2, 3), real(4, 3), adjoint_b=True),
    product_row("-adjoint-both", (2, 3), real(4, 2), adjoint_a=True, adjoint_b=True),
    product_row("-complex", (2, 3), complexes(3, 2), values=complexes(3), dtypes=COMPLEX),
    product_row("-complex-adjoint", (2, 3), complexes(4, 2), True, True, values=complexes(3), dtypes=COMPLEX),
    product_row("-integers", (2, 3), integers(0, 5, 3, 2), values=integers(1, 5, 3), dtypes=INTEGERS, result=same_dtype, order=0),
    Row(
        "sparse_dense_matmul-one-place-twice",
        lambda x, b: sparse.sparse_dense_matmul(matrix(x, [[1, 2], [0, 0], [1, 2]]), b),
        (real(3), real(3, 2)),
        lambda x, b: jnp.zeros((2, 3)).at[np.array([1, 0, 1]), np.array([2, 0, 2])].add(x) @ b,
    ),
    dense_sparse_row("", real(4, 2), False, False, real(3)),
    dense_sparse_row("-adjoint", complexes(3, 4), True, True, complexes(3), dtypes=COMPLEX),
    sum_row("", PLACES, (2, 3), dtypes=FLOATS),
    sum_row("-0", PLACES, (2, 3), axis=0),
    sum_row("-last", CUBE, (2, 2, 2), axis=-1),
    sum_row("-two", CUBE, (2, 2, 2), axis=(0, 2), keepdims=True),
    sum_row("-keepdims", CUBE, (2, 2, 2), keepdims=True),
    sum_row("-complex", PLACES, (2, 3), (complexes(3),), axis=1, dtypes=COMPLEX),
    sum_row("-integers", PLACES, (2, 3), (integers(1, 5, 3),), axis=1, dtypes=INTEGERS, result=same_dtype),
    Row(
        "reduce_sum-none",
        lambda x: sparse.reduce_sum(matrix(x), axis=[]),
        (real(3, seed=1),),
        dense,
        errors=(
            (lambda: sparse.reduce_sum(tf.ones([2])), TypeError, "Input must be a SparseTensor"),
            (lambda: sparse.reduce_sum(VALUES, 5), Invalid, "axis 5 is out of range for a tensor of rank 2"),
            (lambda: sparse.reduce_sum(matrix([1.0], [[0, 9]])), Invalid, r"\[0,9\] is out of bounds"),
            (lambda: sparse.reduce_sum(VALUES, output_is_sparse=True), NotImplementedError, "give output_is_sparse=False"),
        ),
    ),
    Row(
        "SparseTensor",
        lambda x: matrix(x).with_values(2 * x).values,
        (real(3, seed=2),),
        lambda x: 2 * x,
        errors=(
            (lambda: tf.SparseTensor([[0, 0]], [1], [3]), ValueError, r"Dimensions 2 and 1 are not compatible: .*\[3\]"),
            (lambda: tf.SparseTensor([[0, 0]], [1, 2], [3, 4]), ValueError, "Dimensions 1 and 2 are not compatible"),
            (lambda: tf.SparseTensor([0, 1], [1, 2], [3]), ValueError, r"Shape \(2,\) must have rank 2: indices is a matrix"),
            (lambda: tf.SparseTensor([[0, 1]], 1, [3, 4]), ValueError, r"Shape \(\) must have rank 1: values is a vector"),
            (lambda: tf.SparseTensor([[0, 1]], [1], [[3, 4]]), ValueError, "must have rank 1: dense_shape is a vector"),
            (lambda: tf.SparseTensor([[0.0, 1.0]], [1], [3, 4]), TypeError, "to EagerTensor of dtype int64"),
            (
                lambda: tf.SparseTensor(tf.constant([[0]]), [1], [3]),
                ValueError,
                "indices: Tensor conversion requested",
            ),
            (lambda: tf.convert_to_tensor(VALUES), ValueError, "Attempt to convert a value .SparseTensor"),
            (lambda: sparse.cross([VALUES]), AttributeError, "gradtape has no tf.sparse.cross. Out of scope: sparse tensors"),
        ),
    ),
    *[segment_row(name) for name in REDUCTIONS],
    *[segment_row(name, 4, "-count") for name in REDUCTIONS],
    *[sparse_gradient_row(name) for name in REDUCTIONS],
    segment_row("sum", suffix="-integers", args=(integers(0, 9, 3),), dtypes=(*INTEGERS, "uint8"), result=same_dtype),
    Row(
        "segment-of-nothing",
        lambda x: sparse.segment_mean(x, [], [], num_segments=2),
        (real(3, 2),),
        lambda x: 0 * x[:2],
        special=((np.ones((3, 2), "float32"), np.zeros((2, 2)), np.zeros((3, 2))),),
        errors=SEGMENT_ERRORS,
    ),
    Row(
        "bincount",  # more stands in test_counting.py
        lambda x: sparse.bincount(np.array([[1, 0, 1], [2, 2, 2]]), weights=x, axis=-1).values,
        (real(2, 3),),
        lambda x: jnp.stack([x[0, 1], x[0, 0] + x[0, 2], x[1, 0] + x[1, 1] + x[1, 2]]),
        ops=("SparseCountSparseOutput",),
        order=-1,
    ),
    *[bag_row(combiner, weighted) for combiner in ("sum", "mean", "sqrtn") for weighted in (False, True)],
    Row(
        "embedding_lookup_sparse-edges",
        lambda x: tf.nn.embedding_lookup_sparse(
            x, tf.SparseTensor(BAGS, [1, 0, 2], [4, 2]), tf.SparseTensor(BAGS, [1.0, 2.0, 0.5], [4, 2]), max_norm=2.0
        ),
        (np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),),
        lambda x: np.array([[0.99628479, 1.7259029], [0, 0], [1.28036880, 1.5364425]]),
        oracle=False,
        tolerance=1e-4,
        errors=LOOKUP_ERRORS,
    ),
    safe_row("", [[2, 3], [0, 0], [5, 6], [0, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5], [1, 1]]),
    safe_row("-weighted", [[3, 4], [0, 0], [5, 6], [0, 0], [0, 0]], [[0, 0], [1, 1], [1, 1]], weights=[1.0, -2.0, 0.5, 1.0]),
    safe_row(
        "-sum",
        [[1, 0], [0, 0], [2.5, 3], [0, 0], [0, 0]],
        [[-2, -2], [1, 1], [0.5, 0.5]],
        weights=[1.0, -2.0, 0.5, 1.0],
        combiner="sum",
    ),
    safe_row("-default", [[2, 3], [5, 6], [5, 6], [5, 6], [5, 6]], [[0.5, 0.5], [0.5, 0.5], [4, 4]], default_id=2),
)
