"""Calls that cannot work: the exception that TensorFlow raises, with the essential part of its text.

One row per call: the call, the exception, a pattern. The call sees the values below by their names.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base.errors import DtypeError

Invalid = tf.errors.InvalidArgumentError
Unimplemented = tf.errors.UnimplementedError

VALUES = {
    "tf": tf,
    "np": np,
    "x3": tf.ones([3]),
    "x23": tf.ones([2, 3]),
    "i3": tf.constant([1, 2, 3]),
    "d3": tf.ones([3], tf.float64),
    "b3": tf.constant([True, False, True]),
    "c3": tf.ones([3], tf.complex64),
    "image": tf.ones([1, 4, 4, 3]),
    "kernel": tf.ones([2, 2, 3, 5]),
    "v3": tf.Variable([1.0, 2.0, 3.0], name="v3"),
}

NOT_ALLOWED = "Value for attr '{}' of {} is not in the list of allowed values"
CANNOT = r"cannot compute {} as input #{}\(zero-based\) was expected to be a {} tensor but is a {} tensor"

ARITHMETIC = [
    ("tf.add(x23, tf.ones([2]))", Invalid, r"Incompatible shapes: \[2,3\] vs\. \[2\].*AddV2"),
    ("x23 + tf.ones([4, 3])", Invalid, r"Incompatible shapes: \[2,3\] vs\. \[4,3\]"),
    ("tf.maximum(x23, tf.ones([2]))", Invalid, r"Incompatible shapes: \[2,3\] vs\. \[2\].*Maximum"),
    ("tf.math.squared_difference(x23, tf.ones([2]))", Invalid, r"Incompatible shapes: \[2,3\] vs\. \[2\]"),
    ("tf.clip_by_value(x3, tf.ones([2]), 3.0)", Invalid, r"Incompatible shapes: \[3\] vs\. \[2\]"),
    ("x3 + i3", Invalid, CANNOT.format("AddV2", 1, "float", "int32")),
    ("x3 * d3", Invalid, CANNOT.format("Mul", 1, "float", "double")),
    ("d3 - x3", Invalid, CANNOT.format("Sub", 1, "double", "float")),
    (
        "tf.constant('1.0') + 1.0",
        Invalid,
        r"a string tensor but is a float tensor [\s\S]*Use tf\.strings\.to_number or tf\.strings\.as_string",
    ),
    (
        "x3 + tf.constant('1.0')",
        Invalid,
        r"a float tensor but is a string tensor [\s\S]*Use tf\.strings\.to_number or tf\.strings\.as_string",
    ),
    ("x3 < i3", Invalid, CANNOT.format("Less", 1, "float", "int32")),
    ("v3 + i3", Invalid, CANNOT.format("AddV2", 1, "float", "int32")),
    ("tf.pow(x3, d3)", Invalid, CANNOT.format("Pow", 1, "float", "double")),
    ("tf.logical_and(x3, x3)", Invalid, CANNOT.format("LogicalAnd", 0, "bool", "float")),
    ("tf.logical_not(i3)", Invalid, CANNOT.format("LogicalNot", 0, "bool", "int32")),
    ("i3 * 1.5", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("tf.multiply(i3, 1.5)", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("x3 * 'a'", TypeError, "Cannot convert 'a' to EagerTensor of dtype float"),
    ("i3 / 1.5", TypeError, "must have the same dtype, got tf.int32 != tf.float32"),
    ("x3 / d3", TypeError, "must have the same dtype, got tf.float32 != tf.float64"),
    ("x3 * None", ValueError, r"unsupported type \(<class 'NoneType'>\)"),
    ("tf.sqrt(i3)", Invalid, NOT_ALLOWED.format("T", "int32")),
    ("tf.exp(1)", Invalid, NOT_ALLOWED.format("T", "int32")),
    ("tf.math.log(i3)", Invalid, NOT_ALLOWED.format("T", "int32")),
    ("tf.sin(b3)", Invalid, NOT_ALLOWED.format("T", "bool")),
    ("tf.negative(b3)", Invalid, NOT_ALLOWED.format("T", "bool")),
    ("tf.sqrt('a')", Invalid, NOT_ALLOWED.format("T", "string")),
    ("tf.sigmoid(i3)", Invalid, NOT_ALLOWED.format("T", "int32")),
    ("tf.maximum(c3, c3)", Invalid, NOT_ALLOWED.format("T", "complex64")),
    ("tf.complex(x3, i3)", TypeError, "`real` and `imag` components have incorrect types: float32 int32"),
    ("tf.complex(i3, i3)", TypeError, "`real` and `imag` components have incorrect types: int32 int32"),
    ("tf.add_n([])", ValueError, "at least one Tensor"),
    ("tf.add_n([x3, tf.ones([2])])", Invalid, r"must have the same size and shape.*\[3\] != input 1: \[2\]"),
    ("tf.add_n([x3, i3])", Invalid, CANNOT.format("AddN", 1, "float", "int32")),
    ("tf.clip_by_global_norm(x3, 1.0)", TypeError, "`t_list` should be a sequence"),
    ("tf.math.l2_normalize(i3)", TypeError, "Cannot convert 1e-12 to EagerTensor of dtype int32"),
]

WHERE = [
    ("tf.where([True, False], x3, x3)", Invalid, r"condition \[2\], then \[3\], and else \[3\] must be broadcastable"),
    ("tf.where(b3, x3)", ValueError, "x and y must both be non-None or both be None"),
    ("tf.where(b3, x3, i3)", Invalid, CANNOT.format("SelectV2", 2, "float", "int32")),
    ("tf.boolean_mask(x3, [True, False])", ValueError, r"Shapes \(3,\) and \(2,\) are incompatible"),
    ("tf.boolean_mask(x3, True)", ValueError, "mask cannot be scalar"),
]

PRODUCTS = [
    ("tf.matmul(x23, x23)", Invalid, r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]"),
    ("x23 @ x23", Invalid, r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]"),
    ("tf.matmul(x3, x3)", Invalid, r"In\[0\].* ndims must be (>=|==) 2"),
    ("tf.matmul(x23, 2.0)", Invalid, r"In\[1\].* (ndims must be >= 2|different ndims)"),
    ("tf.matmul(x23, tf.ones([3, 2], tf.float64))", Invalid, CANNOT.format(r"\w*MatMul\w*", 1, "float", "double")),
    ("tf.matmul([[True]], [[True]])", Invalid, NOT_ALLOWED.format("T", "bool")),
    (
        "tf.matmul(tf.ones([2, 2, 3]), tf.ones([3, 3, 2]))",
        Invalid,
        r"must have compatible batch dimensions: \[2,2,3\] vs\. \[3,3,2\]",
    ),
    (
        "tf.matmul(x23, x23, transpose_a=True, adjoint_a=True)",
        ValueError,
        "Only one of `transpose_a` and `adjoint_a` can be True",
    ),
    ("tf.linalg.matvec(x23, tf.ones([2]))", Invalid, r"Matrix size-incompatible: In\[0\]: \[2,3\]"),
    ("tf.tensordot(x23, x23, axes=1)", Invalid, r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]"),
    (
        "tf.tensordot(x23, x23, axes=[[0, 1], [0]])",
        ValueError,
        "Different number of contraction axes `a` and `b`, 2 != 1",
    ),
    ("tf.einsum('ij,jk->ik', x23, x23)", Invalid, r"Expected dimension 3 at axis 0 of the input shaped \[2,3\]"),
    ("tf.einsum('ij,jk->ik', x23, x3)", Invalid, "Expected input 1 to have rank 2 but got: 1"),
    ("tf.einsum('ij,jk', x23)", ValueError, 'Got 1 inputs for equation "ij,jk", expecting 2'),
    ("tf.einsum('ij->kl', x23)", ValueError, "Output subscripts contain the label k not present in the input"),
    ("tf.einsum('ij->i?', x23)", ValueError, r"Subscripts have incorrect format: ij->i\?"),
]

NOT_A_TENSOR = r"Attempt to convert a value \(None\) with an unsupported type"

SHAPES = [
    ("tf.reshape(x23, None)", ValueError, NOT_A_TENSOR),
    ("tf.reshape(x23, [None, 2])", ValueError, NOT_A_TENSOR),
    ("tf.zeros([None])", ValueError, NOT_A_TENSOR),
    ("tf.tile(x3, None)", ValueError, NOT_A_TENSOR),
    ("tf.concat([x3, x3], None)", ValueError, NOT_A_TENSOR),
    ("tf.sort(x3, axis=None)", ValueError, NOT_A_TENSOR),
    ("tf.pad(x3, None)", ValueError, NOT_A_TENSOR),
    ("tf.reverse(x3, None)", ValueError, NOT_A_TENSOR),
    ("tf.one_hot(i3, None)", ValueError, NOT_A_TENSOR),
    ("tf.reshape(x23, [4])", Invalid, "tensor with 6 values, but the requested shape has 4"),
    ("tf.reshape(x23, [-1, 4])", Invalid, "tensor with 6 values, but the requested shape requires a multiple of 4"),
    ("tf.reshape(x23, [-1, -1])", Invalid, "Only one input size may be -1, not both 0 and 1"),
    ("tf.reshape(x23, [2, -3])", Invalid, "Size 1 must be non-negative, not -3"),
    ("tf.transpose(x23, [0])", Invalid, r"transpose expects a vector of size 2.*a vector of size 1"),
    ("tf.transpose(x23, [0, 1, 2])", Invalid, r"transpose expects a vector of size 2.*a vector of size 3"),
    ("tf.transpose(x23, [0, 0])", Invalid, r"1 is missing from \{0,0\}"),
    ("tf.transpose(x23, [0, 2])", Invalid, r"2 is out of range \[0 \.\. 2\)"),
    ("tf.expand_dims(x23, 3)", Invalid, "Tried to expand dim index 3 for tensor with 2 dimensions"),
    ("tf.expand_dims(x23, -4)", Invalid, "Tried to expand dim index -4 for tensor with 2 dimensions"),
    ("tf.squeeze(x23, [0])", Invalid, r"Can not squeeze dim\[0\], expected a dimension of 1, got 2"),
    ("tf.squeeze(x23, 5)", Invalid, "Tried to squeeze dim index 5 for tensor with 2 dimensions"),
    ("tf.broadcast_to(x3, [2])", Invalid, r"Incompatible shapes: \[3\] vs\. \[2\]"),
    ("tf.broadcast_to(x3, [2, 4])", Invalid, r"Incompatible shapes: \[3\] vs\. \[2,4\]"),
    ("tf.ensure_shape(x3, [4])", Invalid, r"\[3\] is not compatible with expected shape \[4\]"),
    ("tf.tile(x23, [2])", Invalid, "multiples argument to be a vector of length 2 but got length 1"),
    ("tf.tile(x23, [2, -1])", Invalid, r"Expected multiples\[1\] >= 0, but got -1"),
    ("tf.repeat(x3, [1, 2])", ValueError, "Dimensions 3 and 2 are not compatible"),
    ("tf.pad(x23, [[1, 1]])", Invalid, "first dimension of paddings must be the rank of inputs"),
    ("tf.pad(x23, [[1, 1], [-1, 0]])", Invalid, "Paddings must be non-negative: -1 0"),
    (
        "tf.pad(x23, [[2, 0], [0, 0]], 'REFLECT')",
        Invalid,
        "paddings must be less than the dimension size: 2, 0 not less than 2",
    ),
    (
        "tf.pad(x23, [[3, 0], [0, 0]], 'SYMMETRIC')",
        Invalid,
        "paddings must be no greater than the dimension size: 3, 0 greater than 2",
    ),
    ("tf.pad(x23, [[0, 0], [0, 0]], 'NOPE')", ValueError, "`mode` expected to be one of .*NOPE"),
    ("tf.reverse(x23, [2])", Invalid, r"'axis'\[0\] = 2 is out of valid range"),
    ("tf.reverse(x23, [0, 0])", Invalid, "axis 0 specified more than once"),
    ("tf.roll(x23, [1, 1], [0])", Invalid, "shift and axis must have the same size"),
    ("tf.roll(x23, 1, 5)", Invalid, "axis 5 is out of range"),
    ("tf.zeros([-1])", Invalid, "Dimension -1 must be >= 0"),
    ("tf.fill([2, -1], 1.0)", Invalid, "Dimension -1 must be >= 0"),
    ("tf.range(0, 5, 0)", Invalid, "Requires delta != 0"),
    ("tf.range(5, 0)", Invalid, "Requires start <= limit when delta > 0: 5/0"),
    ("tf.range(0, 5, -1)", Invalid, "Requires start >= limit when delta < 0: 0/5"),
    ("tf.meshgrid(x3, x3, indexing='zz')", ValueError, "`indexing` parameter must be either 'xy' or 'ij', got 'zz'"),
    ("tf.space_to_batch(image, [3, 3], [[0, 0], [0, 0]])", Invalid, "not divisible by block_shape"),
    ("tf.batch_to_space(image, [2, 2], [[0, 0], [0, 0]])", Invalid, r"batch dimension \(1\) is not divisible"),
]

JOINING = [
    (
        "tf.concat([x23, tf.ones([2, 2])], 0)",
        Invalid,
        r"Dimension 1 in both shapes must be equal: shape\[0\] = \[2,3\] vs\. shape\[1\] = \[2,2\]",
    ),
    (
        "tf.concat([x23, x3], 0)",
        Invalid,
        r"Ranks of all input tensors should match: shape\[0\] = \[2,3\] vs\. shape\[1\] = \[3\]",
    ),
    ("tf.concat([x23, x23], 2)", Invalid, r"Expected concatenating dimensions in the range \[-2, 2\), but got 2"),
    ("tf.concat([x23, x23], -3)", Invalid, r"Expected concatenating dimensions in the range \[-2, 2\), but got -3"),
    ("tf.concat([x3, i3], 0)", Invalid, CANNOT.format("ConcatV2", 1, "float", "int32")),
    (
        "tf.stack([x3, tf.ones([2])])",
        Invalid,
        r"Shapes of all inputs must match: values\[0\].shape = \[3\] != values\[1\].shape = \[2\]",
    ),
    ("tf.stack([x3, i3])", Invalid, CANNOT.format("Pack", 1, "float", "int32")),
    ("tf.stack([x3], axis=3)", ValueError, r"Argument `axis` = 3 not in range \[-2, 2\)"),
    ("tf.unstack(x23, num=3)", Invalid, r"Input shape axis 0 must equal 3, got shape \[2,3\]"),
    ("tf.unstack(x23, axis=2)", ValueError, r"Argument `axis` = 2 not in range \[-2, 2\)"),
    ("tf.unstack(1.0)", ValueError, r"Argument `axis` = 0 not in range \[0, 0\)"),
    (
        "tf.split(x23, 2, axis=1)",
        Invalid,
        r"evenly divide the split dimension, but got split_dim 1 \(size = 3\) and num_split 2",
    ),
    (
        "tf.split(x23, [1, 1], axis=1)",
        Invalid,
        r"Determined shape must either match input shape along split_dim.*Got: 2",
    ),
    ("tf.split(x23, [-1, -1], axis=1)", Invalid, "There can only be one -1 in the input"),
    ("tf.split(x23, 2, axis=2)", Invalid, r"-input rank\(-2\) <= split_dim < input rank \(2\), but got 2"),
    ("tf.split(x23, 0)", Invalid, "'num_split' of 0 must be at least minimum 1"),
]

GATHERING = [
    ("tf.gather(x3, [3])", Invalid, r"indices\[0\] = 3 is not in \[0, 3\)"),
    ("tf.gather(x3, [0, -1])", Invalid, r"indices\[1\] = -1 is not in \[0, 3\)"),
    ("tf.gather(x3, [[0, 1], [2, 7]])", Invalid, r"indices\[1,1\] = 7 is not in \[0, 3\)"),
    ("tf.gather(v3, [3])", Invalid, r"indices\[0\] = 3 is not in \[0, 3\)"),
    ("tf.gather(x23, [3], axis=1)", Invalid, r"indices\[0\] = 3 is not in \[0, 3\)"),
    ("tf.gather(x3, 1.0)", Invalid, NOT_ALLOWED.format("Tindices", "float")),
    ("tf.gather(x23, [0], axis=2)", Invalid, "must be at least rank 3 but is rank 2"),
    ("tf.gather(1.0, 0)", Invalid, "params must be at least 1 dimensional"),
    ("tf.gather_nd(x23, [[2, 0]])", Invalid, r"indices\[0\] = \[2, 0\] does not index into param shape \[2,3\]"),
    (
        "tf.gather_nd(x23, [[0, 0, 0]])",
        Invalid,
        "index innermost dimension length must be <= params rank; saw: 3 vs. 2",
    ),
    ("tf.gather_nd(x23, [[0.0]])", Invalid, NOT_ALLOWED.format("Tindices", "float")),
    ("tf.scatter_nd([[5]], [1.0], [3])", Invalid, r"indices\[0\] = \[5\] does not index into shape \[3\]"),
    ("tf.scatter_nd([[0], [1]], [1.0], [3])", Invalid, r"indices\[shape=\[2,1\]\].*must match.*updates\[shape=\[1\]\]"),
    ("tf.tensor_scatter_nd_update(x3, [[5]], [1.0])", Invalid, r"indices\[0\] = \[5\] does not index into shape \[3\]"),
    ("tf.nn.embedding_lookup(x23, [2])", Invalid, r"indices\[0\] = 2 is not in \[0, 2\)"),
    ("tf.dynamic_partition(x3, [0, 1], 2)", Invalid, r"data.shape must start with partitions.shape.*\[3\].*\[2\]"),
    ("tf.dynamic_partition(x3, [0, 1, 2], 2)", Invalid, r"partitions\[2\] = 2 is not in \[0, 2\)"),
    ("tf.one_hot([1.5], 3)", Invalid, NOT_ALLOWED.format("TI", "float")),
    ("tf.one_hot([1], -1)", Invalid, "depth must be non-negative, got: -1"),
    ("tf.one_hot([1], 3, axis=5)", Invalid, r"Expected axis to be -1 or between \[0, 2\)"),
    ("tf.one_hot([1], 3, on_value=1, off_value=2.0)", TypeError, "of on_value does not match dtype .* of off_value"),
    ("tf.slice(x23, [0, 0], [3, 1])", Invalid, r"Expected size\[0\] in \[0, 2\], but got 3"),
    ("tf.slice(x23, [0, -1], [1, 1])", Invalid, r"Expected begin\[1\] in \[0, 3\], but got -1"),
    ("tf.slice(x23, [0], [1])", Invalid, r"1-D tensors of size 2, but got shapes \[1\] and \[1\]"),
    ("tf.strided_slice(x23, [0], [1, 1])", Invalid, "begin, end, and strides to be 1D equal size tensors"),
    ("tf.strided_slice(x23, [0], [1], [0])", Invalid, r"strides\[0\] must be non-zero"),
    ("x3[3]", Invalid, "slice index 3 of dimension 0 out of bounds"),
    ("x23[0, 0, 0]", Invalid, "input has only 2 dims"),
    ("x3['a']", TypeError, "Only integers, slices .* are valid indices, got 'a'"),
    ("tf.unique(x23)", Invalid, "unique expects a 1D vector"),
    ("tf.searchsorted(x23, x3)", Invalid, "Leading dim_size of both tensors must match"),
]

REDUCTIONS = [
    ("tf.reduce_sum(x23, axis=2)", Invalid, r"Invalid reduction dimension \(2 for input with 2 dimension\(s\)"),
    ("tf.reduce_mean(x23, axis=-3)", Invalid, r"Invalid reduction dimension \(-3 for input with 2 dimension\(s\)"),
    ("tf.reduce_max(x23, axis=[0, 0])", Invalid, "Axes contains duplicate dimension: 0"),
    ("tf.reduce_sum(x23, axis=1.5)", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("tf.reduce_sum(b3)", Invalid, NOT_ALLOWED.format("T", "bool")),
    ("tf.reduce_mean(b3)", Invalid, NOT_ALLOWED.format("T", "bool")),
    ("tf.reduce_sum('a')", Invalid, NOT_ALLOWED.format("T", "string")),
    ("tf.reduce_max(c3)", Invalid, NOT_ALLOWED.format("T", "complex64")),
    ("tf.reduce_all(x3)", Invalid, CANNOT.format("All", 0, "bool", "float")),
    ("tf.argmax(x23, axis=2)", Invalid, r"Expected dimension in the range \[-2, 2\), but got 2"),
    ("tf.argmax(tf.zeros([0]))", Invalid, r"Reduction axis 0 is empty in shape \[0\]"),
    ("tf.cumsum(x23, axis=2)", Invalid, r"Expected scan axis in the range \[-2, 2\), but got 2"),
    ("tf.math.top_k(x3, 4)", Invalid, "input must have at least k columns. Had 3, needed 4"),
    ("tf.math.top_k(x3, -1)", Invalid, "Need k >= 0, got -1"),
    ("tf.math.top_k(1.0)", Invalid, r"input must be >= 1-D, got shape \[\]"),
    ("tf.sort(x3, direction='UP')", ValueError, "`direction` should be one of ASCENDING, DESCENDING.*UP"),
    ("tf.argsort(x3, direction='UP')", ValueError, "`direction` should be one of ASCENDING, DESCENDING.*UP"),
    ("tf.norm(x23, ord='nope')", ValueError, "'ord' must be a supported .*norm, got nope"),
    ("tf.norm(x23, axis=[0, 1, 2])", ValueError, "'axis' must be None, an integer, or a tuple of 2 unique integers"),
    ("tf.math.segment_sum(x3, [0, 0])", Invalid, "segment_ids should be the same size as dimension 0"),
    ("tf.math.segment_sum(x3, [1, 0, 0])", Invalid, "segment ids are not increasing"),
    ("tf.math.unsorted_segment_sum(x3, [0, 1, 5], 3)", Invalid, r"segment_ids\[2\] = 5 is out of range \[0, 3\)"),
    (
        "tf.math.unsorted_segment_sum(x3, [0, 1], 3)",
        Invalid,
        r"data.shape = \[3\] does not start with segment_ids.shape = \[2\]",
    ),
    ("tf.math.bincount([-1])", Invalid, "must be non-negative"),
    ("tf.math.confusion_matrix([0, 5], [0, 1], num_classes=2)", Invalid, "`labels` out of bound"),
    ("tf.math.invert_permutation([0, 0])", Invalid, "0 is duplicated in the input"),
    ("tf.math.invert_permutation([0, 5])", Invalid, "5 is not between 0 and 2"),
]

CASTS = [
    ("tf.cast(['a'], tf.float32)", Unimplemented, "Cast string to float is not supported"),
    ("tf.cast(x3, tf.string)", Unimplemented, "Cast float to string is not supported"),
    ("tf.cast(x3, 'nope')", TypeError, "`type_value`: 'nope' to a TensorFlow DType"),
    ("tf.cast(x3, None)", TypeError, "`type_value`: None to a TensorFlow DType"),
    ("tf.cast(None, tf.float32)", ValueError, r"unsupported type \(<class 'NoneType'>\)"),
    ("tf.identity(None)", ValueError, r"unsupported type \(<class 'NoneType'>\)"),
    ("tf.bitcast(tf.constant([1, 2, 3], tf.uint8), tf.float32)", Invalid, "Cannot bitcast from"),
]

NETWORKS = [
    (
        "tf.nn.conv2d(image, tf.ones([2, 2, 4, 5]), 1, 'SAME')",
        Invalid,
        "input depth must be evenly divisible by filter depth: 3 vs 4",
    ),
    (
        "tf.nn.conv2d(image, kernel, 1, 'NOPE')",
        Invalid,
        "attr 'padding' of \"NOPE\" is not in the list of allowed values",
    ),
    ("tf.nn.conv2d(image, kernel, [1, 2, 3], 'SAME')", ValueError, "strides should be of length 1, 2 or 4"),
    ("tf.nn.conv2d(image, kernel, 0, 'SAME')", Invalid, "[Ss]trides? .*(> 0|larger than 0)"),
    ("tf.nn.conv2d(x23, kernel, 1, 'SAME')", Invalid, r"convolution input must be 4-dimensional: \[2,3\]"),
    (
        "tf.nn.conv2d(image, tf.ones([2, 2, 3]), 1, 'SAME')",
        Invalid,
        r"convolution filter must be 4-dimensional: \[2,2,3\]",
    ),
    (
        "tf.nn.conv2d(image, tf.cast(kernel, tf.float64), 1, 'SAME')",
        Invalid,
        CANNOT.format(r"\w*Conv2D", 1, "float", "double"),
    ),
    (
        "tf.nn.conv2d(image, kernel, 1, 'SAME', data_format='NOPE')",
        Invalid,
        "attr 'data_format' of \"NOPE\" is not in the list of allowed values",
    ),
    (
        "tf.nn.depthwise_conv2d(image, tf.ones([2, 2, 2, 1]), [1, 1, 1, 1], 'SAME')",
        Invalid,
        "must have the same depth: 3 vs 2",
    ),
    (
        "tf.nn.conv2d_transpose(image, tf.ones([2, 2, 5, 3]), [1, 9, 9, 5], 2, 'SAME')",
        Invalid,
        "Size of out_backprop doesn't match computed: actual = 4, computed = 5",
    ),
    ("tf.nn.max_pool2d(image, 2, 0, 'VALID')", Invalid, "[Ss]trides? .*(> 0|larger than 0)"),
    (
        "tf.nn.max_pool2d(image, 2, 1, 'NOPE')",
        Invalid,
        "attr 'padding' of \"NOPE\" is not in the list of allowed values",
    ),
    ("tf.nn.max_pool2d(image, [2, 2, 2], 1, 'VALID')", ValueError, "ksize should be of length 1, 2 or 4"),
    ("tf.nn.avg_pool2d(image, 0, 1, 'VALID')", Invalid, "ksize must be .*positive"),
    ("tf.nn.avg_pool2d(tf.ones([1, 4, 4, 3], tf.int32), 2, 1, 'VALID')", Invalid, NOT_ALLOWED.format("T", "int32")),
    ("tf.nn.bias_add(x23, x23)", Invalid, r"Biases must be 1D: \[2,3\]"),
    ("tf.nn.bias_add(x23, tf.ones([2]))", Invalid, r"as many biases as the last dimension .*\[2\] vs\. \[2,3\]"),
    (
        "tf.nn.softmax_cross_entropy_with_logits(labels=x23, logits=tf.ones([2, 4]))",
        Invalid,
        r"logits and labels must be broadcastable: logits_size=\[2, ?4\] labels_size=\[2, ?3\]",
    ),
    (
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3], logits=x23)",
        Invalid,
        r"label value of 3 which is outside the valid range of \[0, 3\)",
    ),
    (
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[-1, 0], logits=x23)",
        Invalid,
        r"label value of -1 which is outside the valid range of \[0, 3\)",
    ),
    (
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0.0, 1.0], logits=x23)",
        Invalid,
        NOT_ALLOWED.format("Tlabels", "float"),
    ),
    (
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 2], logits=x23)",
        ValueError,
        r"`labels.shape` must equal `logits.shape` except for the last dimension.*\(3,\).*\(2, 3\)",
    ),
    (
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 1]], logits=x23)",
        ValueError,
        r"`labels.shape.rank` must equal `logits.shape.rank - 1`",
    ),
    (
        "tf.nn.sigmoid_cross_entropy_with_logits(labels=x23, logits=x3)",
        ValueError,
        r"must have the same shape, received \(\(3,\) vs \(2, 3\)\)",
    ),
    ("tf.nn.softmax(i3)", Invalid, NOT_ALLOWED.format("T", "int32")),
    ("tf.nn.softmax(x3, axis=3)", Invalid, r"must be in the range \[-1, 1\).*3"),
    ("tf.nn.dropout(x3, 1.5)", ValueError, r"`rate` must be .* in the range \[0, 1\).*1\.5"),
    ("tf.nn.dropout(x3, -0.1)", ValueError, r"`rate` must be .* in the range \[0, 1\).*-0\.1"),
    ("tf.nn.dropout(i3, 0.5)", ValueError, "`x.dtype` must be a floating point tensor"),
    ("tf.nn.depth_to_space(image, 2)", Invalid, "depth dimension 3 should be divisible by: 4"),
    ("tf.nn.space_to_depth(image, 3)", Invalid, "Image width 4 and height 4 should be divisible by block_size: 3"),
    ("tf.nn.l2_loss(i3)", Invalid, NOT_ALLOWED.format("T", "int32")),
]

LINEAR_ALGEBRA = [
    ("tf.linalg.inv(x23)", Invalid, "Input matrix must be square"),
    ("tf.linalg.inv(tf.zeros([2, 2]))", Invalid, "Input is not invertible"),
    ("tf.linalg.inv(tf.ones([2, 2], tf.int32))", Invalid, NOT_ALLOWED.format("T", "int32")),
    ("tf.linalg.solve(tf.zeros([2, 2]), tf.ones([2, 1]))", Invalid, "Input matrix is not invertible"),
    ("tf.linalg.solve(tf.eye(2), tf.ones([3, 1]))", Invalid, "Input matrix and rhs are incompatible"),
    ("tf.linalg.cholesky(x23)", Invalid, "Input matrix must be square"),
    ("tf.linalg.det(x23)", Invalid, "Input matrix must be square"),
    ("tf.linalg.diag_part(1.0)", Invalid, "must be at least 2-dim"),
    ("tf.linalg.cross(x23, x3)", Invalid, r"must be of same shape: \[2,3\] vs\. \[3\]"),
]

RANDOM = [
    ("tf.random.uniform([2], dtype=tf.int32)", ValueError, "Must specify maxval for integer dtype"),
    ("tf.random.uniform([-2])", Invalid, "Dimension -2 must be >= 0"),
    ("tf.random.stateless_normal([2], seed=1)", Invalid, r"seed must have shape \[2\], not \[\]"),
    ("tf.random.categorical(x3, 2)", Invalid, r"logits should be a matrix, got shape \[3\]"),
]

IMAGES_AND_SIGNALS = [
    ("tf.image.resize(x3, [2, 2])", ValueError, "'images' must have either 3 or 4 dimensions"),
    ("tf.image.resize(image, [2])", ValueError, "'size' must be a 1-D Tensor of 2 elements"),
    ("tf.image.resize(image, [2, 2], method='nope')", ValueError, "Resize method is not implemented: nope"),
    ("tf.image.crop_to_bounding_box(image, 0, 0, 9, 9)", ValueError, "must be >= target \\+ offset"),
    ("tf.image.central_crop(image, 2.0)", ValueError, r"central_fraction must be within \(0, 1\]"),
    ("tf.image.flip_left_right(x23)", ValueError, r"\(2, 3\)\) must be at least three-dimensional"),
    ("tf.signal.fft(x3)", Invalid, NOT_ALLOWED.format("Tcomplex", "float")),
    ("tf.signal.rfft(c3)", ValueError, "RFFT requires tf.float32 or tf.float64 inputs"),
]

DEBUGGING = [
    ("tf.debugging.check_numerics([1.0, float('nan')], 'here')", Invalid, "here : Tensor had NaN"),
    ("tf.debugging.check_numerics(x3 / 0.0, 'here')", Invalid, "here : Tensor had Inf"),
    ("tf.debugging.assert_all_finite(x3 / 0.0, 'mine')", Invalid, "mine : Tensor had Inf"),
    (
        "tf.debugging.assert_equal(x3, 2.0)",
        Invalid,
        r"Condition x == y did not hold.\nFirst 3 elements of x:\n\[1. 1. 1.\]",
    ),
    ("tf.debugging.assert_equal(x3, 2.0, message='mine')", Invalid, "mine\nCondition x == y did not hold"),
    ("tf.debugging.assert_less(x3, 0.0)", Invalid, "Condition x < y did not hold"),
    ("tf.debugging.assert_positive(-x3)", Invalid, "Condition x > 0 did not hold"),
    ("tf.debugging.assert_rank(x3, 2)", ValueError, r"must have rank 2. +Received rank 1, shape \(3,\)"),
    ("tf.debugging.assert_type(x3, tf.int32)", TypeError, "must be of type tf.int32; got tf.float32"),
    ("tf.debugging.Assert(False, [x3])", Invalid, "Expected '.*False.*' to be true. Summarized data: "),
]

PYTHON = [
    ("tf.reduce_sum()", TypeError, "[Mm]issing .*required positional argument"),
    ("tf.matmul(x23)", TypeError, "[Mm]issing .*required positional argument"),
    ("tf.reduce_sum(x3, 0, False, None, 1)", TypeError, "Too many arguments|positional arguments? but"),
    ("tf.reduce_sum(x3, axes=1)", TypeError, "unexpected keyword argument 'axes'"),
    ("tf.constant(1.0, dtipe=tf.float32)", TypeError, "unexpected keyword argument 'dtipe'"),
    ("tf.map_fn(lambda x: x, 1.0)", ValueError, "must be 1\\+ dimensional Tensors, not scalars"),
    ("tf.nope", AttributeError, "nope"),
    ("tf.nn.nope", AttributeError, "nope"),
]

FAMILIES = {
    "arithmetic": ARITHMETIC,
    "where": WHERE,
    "products": PRODUCTS,
    "shapes": SHAPES,
    "joining": JOINING,
    "gathering": GATHERING,
    "reductions": REDUCTIONS,
    "casts": CASTS,
    "networks": NETWORKS,
    "linear algebra": LINEAR_ALGEBRA,
    "random": RANDOM,
    "images and signals": IMAGES_AND_SIGNALS,
    "debugging": DEBUGGING,
    "Python": PYTHON,
}


@pytest.mark.parametrize(
    "call, error, message",
    [pytest.param(*row, id=f"{family}: {row[0]}") for family, rows in FAMILIES.items() for row in rows],
)
def test_bad_call(call, error, message, count):
    with pytest.raises(error, match=message) as raised:
        eval(call, VALUES)
    assert type(raised.value) in (error, DtypeError)
    count("bad calls with the exception and the words of TensorFlow")


BETTER = [
    ("tf.reshape(x23, [2.0, 3.0])", DtypeError, "shape must be an integer, received 2.0"),
    ("tf.reshape(x23, [[6]])", Invalid, r"shape must be an integer, received \[6\]"),
    ("tf.tile(x23, [1.0, 1.0])", DtypeError, "multiples must be an integer, received 1.0"),
    ("tf.zeros([2.5])", DtypeError, "shape must be an integer, received 2.5"),
    ("tf.zeros('a')", DtypeError, "shape must be an integer, received 'a'"),
    ("tf.zeros([2, 'a'])", ValueError, "Can't convert Python sequence with mixed types to Tensor: shape is"),
    ("tf.zeros({2: 3})", ValueError, "Attempt to convert a value .* with an unsupported type .* shape must be an integer"),
    ("tf.roll(x23, 1.5, 0)", Invalid, "'Tshift' of float"),
    ("tf.logical_and([1, 0], [1, 1])", TypeError, "expected to be a bool tensor but is a int32"),
    ("tf.truncatediv(i3, 0)", Invalid, "[Ii]nteger division by zero"),
    ("tf.nn.softmax(1.0)", Invalid, "at least 1|>= ?1|number of dimensions"),
    ("i3 + 1.5", TypeError, "expected to be a int32 tensor but is a float"),
    ("tf.concat([], 0)", Invalid, "at least one"),
    ("tf.tile(x3, 2)", Invalid, "multiples must be 1-D, received rank 0"),
    ("tf.transpose(x3, perm=0)", Invalid, "perm must be 1-D"),
    ("tf.broadcast_to(x3, 3)", Invalid, "shape must be 1-D"),
    ("tf.scatter_nd([[0]], [1], 4)", Invalid, "shape must be 1-D"),
    ("tf.roll(x3, [1], [0, 0])", Invalid, "shift and axis must have the same size"),
    ("tf.repeat(x3, -1)", Invalid, "Expected repeats >= 0, but got -1"),
    ("tf.repeat(x23, [[1, 2], [3, 4]], axis=0)", ValueError, "must have rank at most 1"),
    ("tf.tensor_scatter_nd_update(x3, [[0]], i3[:1])", Invalid, "input #2.* float tensor but is a int32"),
    ("tf.sort(x23, axis=3)", (ValueError, Invalid), "axis.*3|dimension.*3"),
    ("tf.rehsape(x23, [6])", AttributeError, r"gradtape has no tf\.rehsape.*reshape"),
    ("tf.math.reduce_smu(x23)", AttributeError, r"gradtape has no tf\.math\.reduce_smu.*reduce_sum"),
    ("tf.zzzzzz", AttributeError, r"gradtape has no tf\.zzzzzz"),
    ("tf.raw_ops.Batch", AttributeError, r"gradtape has no tf\.raw_ops\.Batch"),
]


@pytest.mark.better
@pytest.mark.parametrize("call, error, message", BETTER, ids=[row[0] for row in BETTER])
def test_bad_call_with_a_better_answer(call, error, message):
    with pytest.raises(error, match=message):
        eval(call, VALUES)


class TestTheExceptions:
    @pytest.mark.parametrize(
        "name, code",
        [
            ("InvalidArgumentError", 3),
            ("NotFoundError", 5),
            ("ResourceExhaustedError", 8),
            ("FailedPreconditionError", 9),
            ("OutOfRangeError", 11),
            ("UnimplementedError", 12),
        ],
    )
    def test_classes(self, name, code):
        error = getattr(tf.errors, name)(None, None, "what happened")
        assert isinstance(error, tf.errors.OpError)
        assert isinstance(error, Exception)
        assert error.error_code == code
        assert error.message == "what happened"
        assert str(error) == "what happened"
        assert error.op is None
        assert error.node_def is None

    def test_message_of_a_raised_error(self):
        with pytest.raises(Invalid, match="Incompatible shapes") as raised:
            tf.add(tf.ones([2]), tf.ones([3]))
        assert "Incompatible shapes: [2] vs. [3]" in raised.value.message
        assert raised.value.error_code == 3
