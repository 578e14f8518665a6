"""Rows of segment reductions."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.math import segment
from tests.ops.table import Row, complexes, distinct, integers, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NOT_ALLOWED = "is not in the list of allowed values"
LOWEST = float(np.finfo("float32").min)

SORTED_IDS = np.array([0, 0, 2, 2, 2], "int32")
IDS = np.array([2, 0, -1, 2, 0], "int32")
NESTED_IDS = np.array([[1, 0, 3], [3, -1, 1]], "int32")


def same_dtype(dtype):
    return dtype


def by_id(reduce, ids, count, empty):
    """A reference: `reduce(rows, axis=0)` of the rows of each id, `empty` where there are none."""

    def function(x):
        flat = x.reshape(ids.size, *x.shape[ids.ndim :])
        rows = []
        for i in range(count):
            mine = flat[np.flatnonzero(ids.ravel() == i)]
            rows.append(reduce(mine, axis=0) if mine.shape[0] else np.full(flat.shape[1:], empty, x.dtype))
        numpy = isinstance(x, np.ndarray) and not any(isinstance(row, jax.Array) for row in rows)
        return (np if numpy else jnp).stack(rows)

    return function


def root_n(x, axis):
    return jnp.sum(x, axis) / np.sqrt(x.shape[axis])


def truncated_mean(x, axis):
    return np.trunc(np.sum(x, axis, dtype="int64") / x.shape[axis]).astype(x.dtype)


def ints(reduce):
    return lambda x, axis: reduce(x, axis, dtype=x.dtype)


def sorted_row(name, reduce, empty, args=None, **more):
    function = getattr(tf.math, f"segment_{name}")
    if not args:
        args = (real(5, 2),)
    return Row(
        f"segment_{name}{more.pop('suffix', '')}",
        lambda x: function(x, SORTED_IDS),
        args,
        by_id(reduce, SORTED_IDS, 3, empty),
        ops=(f"Segment{name.capitalize()}",),
        **more,
    )


def unsorted_row(name, type, reduce, empty, ids=IDS, args=None, **more):
    function = getattr(tf.math, f"unsorted_segment_{name}")
    return Row(
        f"unsorted_segment_{name}{more.pop('suffix', '')}",
        lambda x: function(x, ids, 4),
        args or (real(*ids.shape, 2, seed=1),),
        by_id(reduce, ids, 4, empty),
        ops=(type,),
        **more,
    )


def extremum_row(name, reduce, empty):
    """The last segment is empty: its value is no number to differentiate, so it is left out, and stands in `special`."""
    function = getattr(tf.math, f"unsorted_segment_{name}")
    return Row(
        f"unsorted_segment_{name}",
        lambda x: function(x, IDS[: x.shape[0]], 3)[::2],
        (distinct(5, 2, seed=name),),
        lambda x: by_id(reduce, IDS, 3, empty)(x)[::2],
        ops=(f"UnsortedSegment{name.capitalize()}",),
        dtypes=FLOATS,
        special=(
            ([2.0, 1.0, 9.0, 2.0, 1.0], [1.0, 2.0], [0.5, 0.5, 0.0, 0.5, 0.5]),
            ([2.0], [empty, 2.0], [1.0]),
        ),
    )


BAD_SORTED_IDS = (
    (
        lambda: tf.math.segment_sum([1.0, 2.0, 3.0], [0, 2, 1]),
        Invalid,
        r"not increasing \[Op:SegmentSum\]\n2 is followed by 1.*unsorted_segment_sum",
    ),
    (lambda: tf.math.segment_sum([1.0, 2.0], [-1, 0]), Invalid, r"Segment id -1 out of range \[0, 1\)"),
    (lambda: tf.math.segment_sum([1.0, 2.0], [0]), Invalid, "same size as dimension 0 of input. Received 1 ids"),
    (lambda: tf.math.segment_sum([1.0], [[0]]), Invalid, r"segment_ids should be a vector. Received shape \[1,1\]"),
    (lambda: tf.math.segment_sum(1.0, [0]), Invalid, "input must be at least rank 1"),
    (lambda: tf.math.segment_sum([1.0], [0.0]), Invalid, f"'Tindices' of float {NOT_ALLOWED}"),
    (lambda: tf.math.segment_sum([True], [0]), Invalid, f"'T' of bool {NOT_ALLOWED}"),
)
BAD_IDS = (
    (lambda: tf.math.unsorted_segment_sum([1.0, 2.0], [0, 5], 3), Invalid, r"segment_ids\[1\] = 5 is out of range \[0, 3\)"),
    (lambda: tf.math.unsorted_segment_sum([[1.0]], [[5]], 3), Invalid, r"segment_ids\[0,0\] = 5 is out of range"),
    (lambda: tf.math.unsorted_segment_sum(1.0, 5, 3), Invalid, r"segment_ids = 5 is out of range"),
    (lambda: tf.math.unsorted_segment_sum([1.0, 2.0], [0], 3), Invalid, r"data.shape = \[2\] does not start with .* = \[1\]"),
    (lambda: tf.math.unsorted_segment_sum([1.0], [0], -1), Invalid, "num_segments == -1 must not be negative"),
    (lambda: tf.math.unsorted_segment_sum([1.0], [0], 2.0), Invalid, f"'Tnumsegments' of float {NOT_ALLOWED}"),
    (lambda: tf.math.unsorted_segment_sum([1.0], [0.0], 2), Invalid, f"'Tindices' of float {NOT_ALLOWED}"),
)

ROWS = (
    sorted_row(
        "sum",
        jnp.sum,
        0,
        dtypes=FLOATS,
        special=((np.ones((5, 0), "float32"), np.zeros((3, 0))),),
        errors=BAD_SORTED_IDS,
    ),
    sorted_row("sum", ints(np.sum), 0, (integers(0, 9, 5, 2),), suffix="-integers", dtypes=INTEGERS, result=same_dtype),
    sorted_row("sum", jnp.sum, 0, (complexes(5),), suffix="-complex"),
    Row(
        "segment_sum-of-nothing",
        lambda x: tf.math.segment_sum(x, np.zeros(0, "int64")),
        (np.zeros((0, 2)),),
        lambda x: x[:0],
        order=1,
    ),
    sorted_row("mean", jnp.mean, 0, dtypes=FLOATS),
    sorted_row("mean", truncated_mean, 0, (integers(-9, 9, 5),), suffix="-integers", dtypes=INTEGERS, result=same_dtype),
    sorted_row(
        "prod",
        jnp.prod,
        1,
        dtypes=FLOATS,
        special=(
            ([0.0, 1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 0.0, 0.0]),
            ([3.0, 0.0, 0.0, 4.0, 0.0], [0.0, 1.0, 0.0], [0.0, 3.0, 0.0, 0.0, 0.0]),
            ([2.0, 3.0, np.nan, np.inf, 5.0], [6.0, 1.0, np.nan], [3.0, 2.0, np.inf, np.nan, np.nan]),
        ),
    ),
    Row(
        "segment_recurrence",
        lambda a, b: segment._segment_recurrence(a, b, tf.constant([True, False, True, False]), reverse=False),
        (real(4, 2), real(4, 2, seed=1)),
        lambda a, b: jnp.stack([b[0], a[1] * b[0] + b[1], b[2], a[3] * b[2] + b[3]]),
        ops=("SegmentRecurrence",),
        errors=(
            (
                lambda: segment._segment_recurrence(tf.ones([2]), tf.ones([2]), tf.constant([True]), reverse=False),
                Invalid,
                r"a flag for each row, received \[2\], \[2\] and \[1\]",
            ),
        ),
    ),
    Row(
        "segment_recurrence-reverse",
        lambda a, b: segment._segment_recurrence(a, b, tf.constant([False, True, False]), reverse=True),
        (complexes(3), complexes(3, seed=1)),
        lambda a, b: jnp.stack([a[0] * b[1] + b[0], b[1], b[2]]),
        ops=("SegmentRecurrence",),
    ),
    sorted_row("prod", jnp.prod, 1, (real(5, 2) * [[1, 0], [0, 1], [1, 0], [1, 1], [0, 0]],), suffix="-zeros"),
    sorted_row("prod", jnp.prod, 1, (complexes(5),), suffix="-complex"),
    sorted_row("prod", ints(np.prod), 1, (integers(1, 4, 5),), suffix="-integers", dtypes=INTEGERS, result=same_dtype),
    sorted_row(
        "max",
        jnp.max,
        0,
        (distinct(5, 2),),
        dtypes=FLOATS,
        special=(([1.0, 1.0, 4.0, 0.0, 4.0], [1.0, 0.0, 4.0], [0.5, 0.5, 0.5, 0.0, 0.5]),),
        errors=((lambda: tf.math.segment_max([1j], [0]), Invalid, f"'T' of complex128 {NOT_ALLOWED}"),),
    ),
    sorted_row("max", np.max, 0, (integers(-9, 9, 5),), suffix="-integers", dtypes=INTEGERS, result=same_dtype),
    sorted_row(
        "min",
        jnp.min,
        0,
        (distinct(5, 2, seed=1),),
        dtypes=FLOATS,
        special=(([1.0, 2.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.5, 0.5]),),
    ),
    sorted_row("min", np.min, 0, (integers(-9, 9, 5),), suffix="-integers", dtypes=INTEGERS, result=same_dtype),
    unsorted_row("sum", "UnsortedSegmentSum", jnp.sum, 0, dtypes=FLOATS, errors=BAD_IDS),
    unsorted_row("sum", "UnsortedSegmentSum", jnp.sum, 0, NESTED_IDS, suffix="-nested"),
    unsorted_row(
        "sum",
        "UnsortedSegmentSum",
        ints(np.sum),
        0,
        args=(integers(0, 9, 5),),
        suffix="-integers",
        dtypes=INTEGERS,
        result=same_dtype,
    ),
    unsorted_row(
        "prod",
        "UnsortedSegmentProd",
        jnp.prod,
        1,
        dtypes=FLOATS,
        special=(([0.0, 2.0, 9.0, 3.0, 0.0], [0.0, 1.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0, 2.0]),),
    ),
    unsorted_row("prod", "UnsortedSegmentProd", jnp.prod, 1, NESTED_IDS, suffix="-nested"),
    unsorted_row("prod", "UnsortedSegmentProd", jnp.prod, 1, args=(complexes(5, 2),), suffix="-complex"),
    extremum_row("max", jnp.max, LOWEST),
    extremum_row("min", jnp.min, -LOWEST),
    unsorted_row("mean", "UnsortedSegmentSum", jnp.mean, 0, dtypes=FLOATS),
    unsorted_row("sqrt_n", "UnsortedSegmentSum", root_n, 0, NESTED_IDS, dtypes=FLOATS),
    Row(
        "unsorted_segment_mean-integers",
        lambda x: tf.math.unsorted_segment_mean(x, [1, 1, 0], tf.constant(3)),
        (np.array([1, 2, 4], "int32"),),
        lambda x: np.array([4.0, 1.5, 0.0]),
        dtypes=("int32", "int64"),
        result=lambda dtype: "float64",
        errors=((lambda: tf.math.unsorted_segment_sqrt_n([1], [0], 1), Invalid, f"'T' of int32 {NOT_ALLOWED}"),),
    ),
    Row(
        "take_rows",
        lambda x: segment.take_rows(x, tf.constant(NESTED_IDS)),
        (real(4, 2),),
        lambda x: jnp.where((NESTED_IDS >= 0)[..., None], x[NESTED_IDS.clip(0)], 0),
        ops=("TakeRows",),
    ),
)
