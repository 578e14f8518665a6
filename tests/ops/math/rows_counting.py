"""Rows of counts: of integers, of values in bins, of pairs of classes."""

import numpy as np

import gradtape as tf
from tests.ops.table import Row, integers, real

NAN = np.nan
Invalid = tf.errors.InvalidArgumentError
NOT_ALLOWED = "is not in the list of allowed values"
TENTHS = (np.arange(11) / 10.0).astype("float32")


def counts(x):
    return np.bincount(x.ravel()).astype("int32")


ROWS = (
    Row(
        "bincount",
        tf.math.bincount,
        (integers(0, 5, 3, 4),),
        counts,
        ops=("DenseBincount",),
        dtypes=("int32", "int64"),
        special=(
            ([], np.zeros(0)),
            ([1, 1, 2], [0, 2, 1]),
            ([1.0, 2.9], [0, 1, 1]),
        ),
        errors=(
            (lambda: tf.math.bincount([-1, 1]), Invalid, "Input arr must be non-negative!"),
            (lambda: tf.math.bincount([1], axis=1), ValueError, "argument axis=1. Only 0 and -1 are currently supported"),
            (lambda: tf.math.bincount([1], [1.0], binary_output=True), ValueError, "are mutually exclusive"),
            (lambda: tf.math.bincount([1, 2], [1.0]), Invalid, r"same shape as `arr` .* Received \[1\] .* \[2\]"),
            (lambda: tf.math.bincount(np.array([1], "int8")), Invalid, f"'Tidx' of int8 {NOT_ALLOWED}"),
            (lambda: tf.math.bincount([[[1]]], axis=-1), Invalid, "Shape must be at most rank 2 but is rank 3"),
        ),
    ),
    Row(
        "bincount-bounds",
        lambda x: (
            tf.math.bincount(x, minlength=8, dtype=tf.int64),
            tf.math.bincount(x, maxlength=3, dtype=tf.float32),
            tf.math.bincount(x, minlength=9, maxlength=2),
        ),
        (integers(0, 5, 6),),
        lambda x: (np.bincount(x, minlength=8), np.bincount(x)[:3].astype("float64"), np.bincount(x)[:2].astype("int32")),
        dtypes=("int32",),
        result=lambda dtype: ("int64", "float32", "int32"),
    ),
    Row(
        "bincount-rows",
        lambda x: (tf.math.bincount(x, axis=-1), tf.math.bincount(x, axis=-1, binary_output=True), tf.math.bincount(x, axis=0)),
        (np.array([[1, 1, 2], [0, 0, 0]], "int32"),),
        lambda x: tuple([np.array(rows, "int32") for rows in ([[0, 2, 1], [3, 0, 0]], [[0, 1, 1], [1, 0, 0]], [3, 2, 1])]),
        dtypes=("int32",),
    ),
    Row(
        "bincount-weights",
        lambda x, w: tf.math.bincount(x, weights=w),
        (integers(0, 5, 6), real(6)),
        lambda x, w: np.bincount(x, w),
        ops=("DenseBincount",),
        order=-1,
        special=((([1, 1, 2], [1, 2, 3]), [0, 3, 3]),),
    ),
    Row(
        "bincount-weights-of-rows",
        lambda x, w: tf.math.bincount(x, weights=w, axis=-1),
        (np.array([[1, 1, 2], [0, 0, 0]], "int32"), real(2, 3)),
        lambda x, w: np.stack([np.bincount(a, b, 3) for a, b in zip(x, w, strict=True)]),
        order=-1,
    ),
    Row(
        "histogram_fixed_width",
        lambda x: tf.histogram_fixed_width(x, [-1.0, 2.0], nbins=4),
        (real(3, 5),),
        lambda x: np.histogram(x.clip(-1, 2), 4, (-1.0, 2.0))[0].astype("int32"),
        ops=("HistogramFixedWidth",),
        order=-1,
        errors=(
            (
                lambda: tf.histogram_fixed_width([1.0], [5.0, 0.0]),
                Invalid,
                r"value_range\[0\] < value_range\[1\], but got '\[5.0, 0.0",
            ),
            (lambda: tf.histogram_fixed_width([1.0], [1.0, 2.0, 3.0]), Invalid, r"a vector of 2 elements. Received shape \[3\]"),
            (
                lambda: tf.histogram_fixed_width([1.0], [0.0, 1.0], nbins=0),
                Invalid,
                "nbins should be a positive number, but got '0'",
            ),
            (lambda: tf.histogram_fixed_width([NAN], [0.0, 1.0]), Invalid, "must not contain NaN"),
        ),
    ),
    Row(
        "histogram_fixed_width-edges",
        lambda x: tf.histogram_fixed_width(x, [0.0, 1.0], nbins=10, dtype=tf.int64),
        (TENTHS,),
        lambda x: np.array([1, 1, 1, 1, 1, 1, 2, 0, 2, 1]),
        dtypes=("float32",),
        order=-1,
    ),
    Row(
        "histogram_fixed_width-integers",
        lambda x: tf.histogram_fixed_width(x, [0, 5], nbins=5),
        (np.array([-1, 0, 2, 2, 9], "int32"),),
        lambda x: np.array([2, 0, 2, 0, 1], "int32"),
        dtypes=("int32", "int64"),
    ),
    Row(
        "histogram_fixed_width-over all integers",
        lambda x: tf.histogram_fixed_width(x, tf.constant([-(2**31), 2**31 - 1]), nbins=2),
        (np.array([-(2**31), 2**31 - 1, 0, 5], "int32"),),
        lambda x: np.array([1, 3], "int32"),
        dtypes=("int32",),
        order=-1,
    ),
    Row(
        "histogram_fixed_width-over more than the largest number",
        lambda x: tf.histogram_fixed_width(x, tf.constant([-1e38, 3e38]), nbins=2),
        (np.array([3e38, 100.0], "float32"),),
        lambda x: np.array([1, 1], "int32"),
        dtypes=("float32",),
        order=-1,
    ),
    Row(
        "histogram_fixed_width_bins",
        lambda x: tf.histogram_fixed_width_bins(x, tf.constant([0.0, 5.0], x.dtype), nbins=5),
        (np.array([[-1.0, 0.0, 1.5], [2.0, 5.0, 15.0]]),),
        lambda x: np.array([[0, 0, 1], [2, 4, 4]], "int32"),
        order=0,
        special=(([1.0, 4.9], [1, 4]),),
        errors=(
            (lambda: tf.histogram_fixed_width_bins([1.0], [0.0, 1.0], nbins=0), Invalid, "nbins should be a positive number"),
            (lambda: tf.histogram_fixed_width_bins(np.ones(2), [0.0, 1.0]), Invalid, "cannot compute Sub"),
        ),
    ),
    Row(
        "confusion_matrix",
        lambda labels, predictions: tf.math.confusion_matrix(labels, predictions, dtype=tf.int64),
        (np.array([1, 2, 4, 1], "int32"), np.array([2, 2, 4, 2], "int32")),
        lambda labels, predictions: np.histogram2d(labels, predictions, 5, [[0, 5], [0, 5]])[0].astype("int64"),
        dtypes=("int32", "int64"),
        special=(
            (([[1], [0]], [1, 1]), [[0, 1], [0, 1]]),
            (([1.0, 0.0], [1, 0]), [[1, 0], [0, 1]]),
            ((np.zeros(0, "int32"), np.zeros(0, "int64")), np.zeros((0, 0))),
        ),
        errors=(
            (lambda: tf.math.confusion_matrix([1, 4], [0, 1], num_classes=3), Invalid, "`labels` out of bound: the largest is 4"),
            (lambda: tf.math.confusion_matrix([0, 1], [0, 3], num_classes=3), Invalid, "`predictions` out of bound"),
            (lambda: tf.math.confusion_matrix([-1, 1], [0, 1]), Invalid, "`labels` contains negative values"),
            (lambda: tf.math.confusion_matrix([1], [-1]), Invalid, "`predictions` contains negative values"),
            (
                lambda: tf.math.confusion_matrix([1, 1], [0, 1, 2]),
                Invalid,
                r"must match: values\[0\].shape = \[2\] != .* = \[3\]",
            ),
            (lambda: tf.math.confusion_matrix([1, 1], [0, 1], weights=[1.0]), ValueError, r"\(2,\) and \(1,\) are incompatible"),
        ),
    ),
    Row(
        "confusion_matrix-weights",
        lambda w: tf.math.confusion_matrix([1, 2, 2], [2, 0, 0], num_classes=tf.constant(3), weights=w, dtype=tf.float64),
        (real(3),),
        lambda w: np.array([[0, 0, 0], [0, 0, w[0]], [w[1] + w[2], 0, 0]]),
        dtypes=("float64",),
        oracle=False,
        special=(([1.5, 2.0, 1.0], [[0, 0, 0], [0, 0, 1.5], [3.0, 0, 0]], [1.0, 1.0, 1.0]),),
    ),
)
