"""The calls of the sweep: rows of the op table, and expressions for public functions that have no row.

The names in an expression that `ARRAYS` has are its tensors; in a graph each of them is a placeholder.
"""

import ast

import numpy as np

from tests.ops.rows import ROWS
from tests.ops.table import boolean, integers, positive, real, unit

ARRAYS = {
    "x": real(4, 3),
    "y": real(4, 3, seed=1),
    "z": real(2, 4, 3, seed=2),
    "v": real(5),
    "u": real(5, seed=3),
    "w": real(3, 2),
    "m": real(3, 3) + 3 * np.eye(3),
    "p": positive(4, 3),
    "q": (np.abs(unit(4, 3)) + 0.05) / 1.2,
    "im": np.abs(unit(2, 6, 6, 3)),
    "jm": np.abs(unit(2, 6, 6, 3, seed=1)),
    "big": np.abs(unit(1, 24, 24, 1)),
    "bih": np.abs(unit(1, 24, 24, 1, seed=1)),
    "one": np.abs(unit(6, 6, 3)),
    "f4": real(2, 5, 5, 2),
    "k4": real(3, 3, 2, 4),
    "k3": real(3, 3, 2),
    "f5": real(1, 4, 4, 4, 2),
    "bx": np.array([[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 0.5, 0.6]]),
    "i": np.array([0, 2, 1, 2], np.int32),
    "i2": np.array([[0, 1], [2, 1], [1, 0], [2, 2]], np.int32),
    "j": integers(0, 3, 4, seed=1),
    "n": np.array(3, np.int32),
    "size": np.array([2, 6], np.int32),
    "b": boolean(4, 3),
    "r": boolean(4),
    "lab": np.eye(3)[[0, 2, 1, 2]],
    "s": np.array(0.7),
    "l": np.array([3, 1, 2, 4], np.int64),
    "zz": real(4, 6),
    "c": real(4, 3) + 1j * real(4, 3, seed=5),
}

EXPRESSIONS = """
tf.case([(s > 1.0, lambda: x * 2.0)], default=lambda: x * 3.0)
tf.cond(s > 0.5, lambda: x * 2.0, lambda: x - 1.0)
tf.cond(tf.shape(x)[0] > 2, lambda: tf.reduce_sum(x, 0), lambda: x[0])
tf.switch_case(n - 2, [lambda: x, lambda: x * 2.0])
tf.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a * 1.5), [tf.constant(0), x])[1]
tf.while_loop(lambda k, a: k < tf.shape(x)[0], lambda k, a: (k + 1, a + x[k]), [tf.constant(0), x[0]])[1]
tf.map_fn(lambda row: row * 2.0, x)
tf.map_fn(lambda row: tf.reduce_sum(row), x)
tf.map_fn(lambda pair: pair[0] * pair[1], (x, y), fn_output_signature=x.dtype)
tf.vectorized_map(lambda row: row * tf.reduce_sum(row), x)
tf.scan(lambda a, row: a + row, x)
tf.scan(lambda a, row: a * 0.5 + tf.reduce_sum(row), x, initializer=s)
tf.foldl(lambda a, row: a * 0.5 + row, x)
tf.foldr(lambda a, row: a * 0.5 + row, x)
tf.function(lambda a, b: tf.matmul(a, b))(x, w)
tf.function(lambda a: a / tf.cast(tf.shape(a)[0], a.dtype))(x)
tf.recompute_grad(lambda a: tf.exp(a) * 2.0)(x)
tf.custom_gradient(lambda a: (a * a, lambda dy: dy * 3.0))(x)
tf.grad_pass_through(tf.round)(x)
tf.tuple([x, y])
tf.identity_n([x, y])
tf.ensure_shape(x, [None, 3])
tf.debugging.assert_shapes([(x, ("N", 3))]) or x * 1.0
tf.zeros_like(x)
tf.ones_like(x) * x
tf.zeros(tf.shape(x)) + 1.0
tf.fill(tf.shape(x), s)
tf.range(tf.shape(x)[0])
tf.broadcast_to(v, [2, tf.shape(v)[0]])
tf.reshape(x, [-1])
tf.reshape(x, [tf.shape(x)[1], -1])
tf.reshape(x, size)
tf.reshape(x, [-1, n])
tf.tile(x, [1, n])
tf.tile(x, [2, 1])
tf.repeat(x, 2, axis=0)
tf.repeat(v, 3)
tf.repeat(x, l, axis=0)
tf.transpose(z)
tf.transpose(z, [2, 0, 1])
tf.compat.v1.transpose(z, [1, 0, 2])
tf.concat([x, y], 0)
tf.concat([x, y], -1)
tf.stack([x, y], 1)
tf.unstack(tf.ensure_shape(x, [None, 3]), axis=1)
tf.split(x, 2)
tf.split(x, [1, 3])
tf.expand_dims(x, -1)
tf.compat.v1.expand_dims(x, 1)
tf.squeeze(x[:, :1])
tf.compat.v1.squeeze(x[:1], axis=[0])
x[1:]
x[-1]
x[..., 0]
x[:, ::2]
x[:, tf.newaxis]
x[::-1]
x[n]
x[: tf.shape(y)[0] - 1]
tf.gather(x, i)
tf.compat.v1.gather(x, i)
tf.gather(x, i2, batch_dims=1)
tf.compat.v1.batch_gather(x, i2)
tf.gather_nd(x, i2)
tf.compat.v1.gather_nd(x, i2)
tf.boolean_mask(x, r)
tf.compat.v1.boolean_mask(x, b)
tf.where(b, x, y)
tf.where(b)
tf.compat.v1.where(b, x, y)
tf.unique(i)[0]
tf.unique_with_counts(i)[2]
tf.sort(x)
tf.argsort(x)
tf.argmax(x, 1)
tf.compat.v1.argmin(x, 0)
tf.math.top_k(x, 2)[0]
tf.one_hot(i, 3)
tf.one_hot(i, n)
tf.sequence_mask(l)
tf.sequence_mask(l, 5)
tf.compat.v1.reverse_sequence(zz, l, seq_axis=1, batch_axis=0)
tf.reverse(x, [0])
tf.roll(x, 1, 0)
tf.pad(x, [[1, 1], [0, 2]])
tf.compat.v1.pad(x, [[1, 1], [0, 2]], "REFLECT")
tf.shape(x)
tf.size(x)
tf.rank(x)
tf.compat.v1.shape(x)
tf.compat.v1.size(x)
tf.shape_n([x, y])
tf.compat.v1.ones_like(x) + x
tf.compat.v1.zeros_like(x) + x
tf.compat.v1.count_nonzero(b)
tf.compat.v1.confusion_matrix(i, j)
tf.math.confusion_matrix(i, j, 3)
tf.compat.v1.sparse_to_dense(i2[:1], [3, 3], s)
tf.compat.v1.norm(x)
tf.norm(x, axis=1)
tf.compat.v1.div(x, y)
tf.compat.v1.floor_div(x, y)
tf.compat.v1.to_float(i)
tf.compat.v1.clip_by_average_norm(x, s)
tf.compat.v1.reduce_all(b)
tf.reduce_mean(x, 0)
tf.reduce_mean(x)
tf.reduce_max(z, [0, 2], keepdims=True)
tf.reduce_logsumexp(x, 1)
tf.math.reduce_std(x)
tf.math.reduce_variance(x, 0)
tf.math.zero_fraction(tf.nn.relu(x))
tf.math.cumsum(x, 0)
tf.math.bincount(i)
tf.math.segment_sum(x, tf.constant([0, 0, 1, 2]))
tf.math.unsorted_segment_sum(x, i, 3)
tf.math.unsorted_segment_mean(x, i, n)
tf.math.conj(c)
tf.math.real(c)
tf.math.l2_normalize(x, 1)
tf.math.add_n([x, y])
tf.math.accumulate_n([x, y])
tf.clip_by_global_norm([x, y], s)[0]
tf.clip_by_norm(x, s, axes=[1])
tf.matmul(x, w)
tf.matmul(x, y, transpose_b=True)
tf.matmul(z, w)
x @ m
tf.linalg.matvec(x, w[:, 0])
tf.tensordot(x, w, 1)
tf.tensordot(x, y, [[0], [0]])
tf.tensordot(z, w, [[2], [0]])
tf.einsum("ij,jk->ik", x, w)
tf.einsum("...ij,jk->...ik", z, w)
tf.linalg.diag(v)
tf.linalg.diag_part(m)
tf.linalg.set_diag(m, v[:3])
tf.linalg.trace(m)
tf.linalg.inv(m)
tf.linalg.solve(m, w)
tf.linalg.det(m)
tf.linalg.cholesky(tf.matmul(m, m, transpose_b=True))
tf.linalg.band_part(m, 1, 0)
tf.linalg.eye(tf.shape(x)[0])
tf.linalg.global_norm([x, y])
tf.linalg.lstsq(x, y)
tf.linalg.svd(x, compute_uv=False)
tf.linalg.qr(x)[1]
tf.meshgrid(v, u)
tf.linspace(s, 3.0, n)
tf.searchsorted(tf.sort(v), u)
tf.histogram_fixed_width(v, [-2.0, 2.0], 4)
tf.math.reduce_euclidean_norm(x)
tf.nn.moments(x, [0])
tf.nn.sufficient_statistics(x, [0])
tf.nn.weighted_moments(x, [0], p)
tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0])[:3], shift=None)
tf.nn.batch_normalization(x, tf.reduce_mean(x, 0), tf.math.reduce_variance(x, 0), None, None, 1e-3)
tf.nn.compute_average_loss(v, global_batch_size=4)
tf.nn.compute_average_loss(v)
tf.nn.scale_regularization_loss(v)
tf.nn.softmax(x)
tf.nn.log_softmax(x, 0)
tf.nn.softmax_cross_entropy_with_logits(lab, x)
tf.compat.v1.nn.softmax_cross_entropy_with_logits(labels=lab, logits=x)
tf.compat.v1.nn.softmax_cross_entropy_with_logits_v2(labels=lab, logits=x)
tf.nn.sparse_softmax_cross_entropy_with_logits(i, x)
tf.compat.v1.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x)
tf.nn.sigmoid_cross_entropy_with_logits(lab, x)
tf.compat.v1.nn.sigmoid_cross_entropy_with_logits(labels=lab, logits=x)
tf.nn.weighted_cross_entropy_with_logits(lab, x, s)
tf.nn.log_poisson_loss(p, x)
tf.nn.l2_loss(x)
tf.nn.in_top_k(i, tf.cast(x, tf.float32), 2)
tf.nn.embedding_lookup(x, i)
tf.compat.v1.nn.embedding_lookup(x, i)
tf.nn.bias_add(x, w[:, 0])
tf.nn.crelu(x)
tf.nn.leaky_relu(x)
tf.nn.relu6(x)
tf.compat.v1.nn.relu_layer(x, w, w[0])
tf.compat.v1.nn.xw_plus_b(x, w, w[0])
tf.nn.dropout(x, 0.0)
tf.compat.v1.nn.dropout(x, rate=0.0)
tf.nn.conv2d(f4, k4, 1, "SAME")
tf.nn.conv2d(f4, k4, 2, "VALID")
tf.nn.depthwise_conv2d(f4, tf.expand_dims(k3, -1), [1, 1, 1, 1], "SAME")
tf.nn.conv2d_transpose(f4, tf.reshape(k4, [3, 3, 4, 2]), [2, 5, 5, 4], 1)
tf.nn.conv2d_transpose(f4, tf.reshape(k4, [3, 3, 4, 2]), [tf.shape(f4)[0], 10, 10, 4], 2)
tf.nn.max_pool(f4, 2, 2, "SAME")
tf.nn.avg_pool(f4, 2, 1, "VALID")
tf.compat.v1.nn.pool(f4, [2, 2], "MAX", "VALID")
tf.compat.v1.nn.dilation2d(f4, k3, padding="SAME")
tf.compat.v1.nn.erosion2d(f4, k3, padding="SAME", strides=[1, 1, 1, 1], rates=[1, 1, 1, 1])
tf.nn.local_response_normalization(f4)
tf.nn.lrn(f4, 1)
tf.nn.space_to_depth(im, 2)
tf.compat.v1.space_to_depth(im, 3)
tf.compat.v1.depth_to_space(tf.tile(im, [1, 1, 1, 4]), 2)
tf.nn.conv1d(z, tf.reshape(w, [1, 3, 2]), 1, "SAME")
tf.nn.conv3d(f5, tf.reshape(k4, [3, 3, 2, 4])[:, :, tf.newaxis], [1, 1, 1, 1, 1], "SAME")
tf.compat.v1.nn.conv2d_backprop_input(tf.shape(f4), k4, tf.nn.conv2d(f4, k4, 1, "SAME"), [1, 1, 1, 1], "SAME")
tf.compat.v1.space_to_batch(im, [[0, 0], [0, 0]], 2)
tf.compat.v1.batch_to_space(tf.tile(im, [2, 1, 1, 1]), [[0, 0], [0, 0]], 2)
tf.space_to_batch(im, [2, 2], [[0, 0], [0, 0]])
tf.compat.v1.extract_image_patches(im, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
tf.image.extract_patches(im, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
tf.image.adjust_brightness(im, 0.1)
tf.image.adjust_contrast(im, 2.0)
tf.image.adjust_gamma(im, 2.0)
tf.image.adjust_hue(im, 0.1)
tf.image.adjust_saturation(im, 2.0)
tf.image.central_crop(im, 0.5)
tf.image.central_crop(one, 0.5)
tf.image.crop_to_bounding_box(im, 1, 1, 3, 3)
tf.image.pad_to_bounding_box(im, 1, 1, 9, 9)
tf.image.flip_left_right(im)
tf.image.flip_left_right(one)
tf.image.flip_up_down(one)
tf.image.grayscale_to_rgb(im[..., :1])
tf.image.rgb_to_grayscale(im)
tf.image.rgb_to_hsv(im)
tf.image.rgb_to_yiq(im)
tf.image.rgb_to_yuv(one)
tf.image.yiq_to_rgb(im)
tf.image.yuv_to_rgb(im)
tf.image.image_gradients(im)
tf.image.per_image_standardization(im)
tf.image.psnr(im, jm, 1.0)
tf.image.ssim(big, bih, 1.0, filter_size=5)
tf.image.resize(im, [3, 4])
tf.image.resize(one, [9, 9], "nearest")
tf.image.resize(im, [3, 4], preserve_aspect_ratio=True)
tf.image.resize_with_pad(im, 8, 4)
tf.image.resize_with_crop_or_pad(im, 4, 8)
tf.compat.v1.image.resize_image_with_pad(im, 8, 4)
tf.compat.v1.image.resize_images(im, [3, 3])
tf.compat.v1.image.resize_area(im, [3, 3])
tf.compat.v1.image.resize_bicubic(im, [3, 3])
tf.compat.v1.image.resize_bilinear(im, [3, 3])
tf.compat.v1.image.resize_nearest_neighbor(im, [3, 3])
tf.compat.v1.image.crop_and_resize(im, tf.cast(bx, tf.float32), tf.constant([0, 1]), [3, 3])
tf.compat.v1.image.draw_bounding_boxes(tf.cast(im, tf.float32), tf.cast(tf.stack([bx, bx]), tf.float32))
tf.image.rot90(im)
tf.image.rot90(one, 3)
tf.image.sobel_edges(im)
tf.image.total_variation(im)
tf.image.transpose(im)
tf.image.stateless_random_brightness(im, 0.2, [1, 2])
tf.image.stateless_random_contrast(im, 0.2, 0.5, [1, 2])
tf.image.stateless_random_crop(one, [2, 2, 3], [1, 2])
tf.image.stateless_random_flip_left_right(one, [1, 2])
tf.image.stateless_random_flip_up_down(im, [1, 2])
tf.image.stateless_random_hue(im, 0.2, [1, 2])
tf.image.stateless_random_saturation(im, 0.2, 0.5, [1, 2])
tf.random.stateless_uniform(tf.shape(x), [1, 2])
tf.random.stateless_normal([tf.shape(x)[0], 2], [1, 2])
tf.signal.dct(v)
tf.signal.idct(v)
tf.signal.fftshift(x)
tf.signal.ifftshift(x, 0)
tf.signal.rfft(v)
tf.signal.irfft(tf.signal.rfft(v))
tf.signal.fft(c)
tf.signal.frame(v, 3, 1)
tf.signal.overlap_and_add(x, 1)
tf.signal.stft(zz, 4, 2)
tf.signal.mdct(zz, 4)
tf.compat.v1.losses.absolute_difference(lab, x)
tf.compat.v1.losses.mean_squared_error(lab, x)
tf.compat.v1.losses.mean_squared_error(lab, x, weights=p)
tf.compat.v1.losses.compute_weighted_loss(x, p)
tf.compat.v1.losses.cosine_distance(x, y, axis=1)
tf.compat.v1.losses.hinge_loss(lab, x)
tf.compat.v1.losses.huber_loss(lab, x)
tf.compat.v1.losses.log_loss(lab, q)
tf.compat.v1.losses.mean_pairwise_squared_error(lab, x)
tf.compat.v1.losses.sigmoid_cross_entropy(lab, x)
tf.compat.v1.losses.softmax_cross_entropy(lab, x)
tf.compat.v1.losses.sparse_softmax_cross_entropy(i, x)
tf.keras.losses.CategoricalCrossentropy(from_logits=True)(lab, x)
tf.keras.losses.CosineSimilarity()(x, y)
tf.keras.losses.MeanSquaredError()(x, y)
tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(i, x)
tf.keras.losses.BinaryCrossentropy(from_logits=True)(lab, x)
tf.keras.losses.Huber()(x, y)
tf.keras.losses.KLDivergence()(q, p)
tf.keras.activations.softmax(x)
tf.py_function(lambda a: a * 2.0, [x], x.dtype) * 1.0
tf.numpy_function(lambda a: a * 2.0, [x], x.dtype)
tf.quantization.fake_quant_with_min_max_args(tf.cast(x, tf.float32))
tf.quantization.fake_quant_with_min_max_vars_gradient(tf.cast(x, tf.float32), tf.cast(y, tf.float32), -1.0, 1.0)
tf.argsort(tf.cast(i, tf.float32))
tf.cast(x, tf.int32) // 2
tf.sparse.to_dense(tf.sparse.from_dense(x))
tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(x), w)
tf.sparse.to_dense(tf.sparse.map_values(lambda a, b: a * b, tf.sparse.from_dense(x), tf.sparse.from_dense(x)))
tf.scatter_nd(i2[:2], v[:2], [3, 3])
tf.tensor_scatter_nd_update(x, i2[:2], v[:2])
tf.tensor_scatter_nd_add(x, i2[:2], v[:2])
tf.dynamic_partition(x, i, 3)
tf.dynamic_stitch([i[:2]], [x[:2]])
tf.parallel_stack([x, y])
tf.nn.ctc_loss(i2[:2], tf.transpose(z, [1, 0, 2]), tf.constant([2, 1]), tf.constant([4, 4]))
tf.bitwise.bitwise_and(i, j)
tf.map_fn(lambda row: tf.map_fn(lambda e: e * e, row), x)
tf.while_loop(lambda k, a: k < 2, lambda k, a: (k + 1, tf.concat([a, a], 0)), [tf.constant(0), x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])])[1]
tf.nn.softmax(tf.reshape(tf.matmul(tf.reshape(z, [-1, 3]), w), [tf.shape(z)[0], -1, 2]))
tf.concat([x, tf.zeros([tf.shape(x)[0], 2], x.dtype)], 1)
x - tf.reduce_mean(x, 1, keepdims=True)
x + v[:3]
x * w[:, 0] + s
(x > 0.0) | b
-x ** 2.0
"""  # noqa: E501

# Rows that draw by a seed of their own, make variables, or that are refused by eager code.
LEFT_OUT = ("random-", "candidates-", "scatter-", "indexing-assign", "pooling-max_pool1d, a window of very many cells")


def tensors_of(expression):
    """The names of an expression's tensors."""
    found = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    return [name for name in ARRAYS if name in found]


def _of(expression):
    names = tensors_of(expression)
    return lambda tf: (eval(f"lambda {', '.join(names)}: {expression}", {"tf": tf}), [ARRAYS[name] for name in names])


def _of_row(row):
    return lambda tf: (row.call, list(row.args))


CALLS = {name: _of_row(row) for name, row in ROWS.items() if not name.startswith(LEFT_OUT) and row.args}
CALLS |= {line: _of(line) for line in EXPRESSIONS.strip().splitlines()}
