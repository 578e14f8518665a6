"""Advice of ops: arrays, numbers, images, networks, signals, random numbers, sparse and ragged tensors, linear operators."""

OF = ("ops", "operators")

# Texts that no row meets, and where they are met.
LEFT = {
    "a mask without axes selects nothing": "alone",
}

ROWS = [
    (
        "tf.nn.fractional_max_pool(tf.ones([4, 4, 1]), 1.5)",
        "tf.nn.fractional_max_pool(tf.expand_dims(tf.ones([4, 4, 1]), 0), 1.5)",
    ),
    (
        "x3['a']",
        """
        tf.gather(x3, [0, 2])
        tf.boolean_mask(x3, b3)
        x3[b3], x3[0], x3[..., tf.newaxis, :], x3[tf.constant(1)]
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        tf.function(lambda x, n: x[:n])(x3, tf.constant(2))
        """,
        """
        tf.config.require_compiled_functions()
        tf.function(lambda x, n: (tf.slice(x, [n], [2]), tf.gather(x, [0, n]), tf.where(tf.range(3) < n, x, 0.0)))(
            x3, tf.constant(1)
        )
        """,
    ),
    (
        "v3[0].assign(i3[0])",
        "v3[0].assign(tf.cast(i3[0], tf.float32))",
    ),
    (
        "tf.concat([x23, x3], 0)",
        """
        tf.concat([x23, tf.expand_dims(x3, 0)], 0)
        tf.concat([x23, tf.reshape(x3, [1, 3])], 0)
        """,
    ),
    (
        "tf.stack([x3, tf.ones([2])])",
        "tf.concat([x3, tf.ones([2])], 0)",
    ),
    (
        "tf.RaggedTensor(x3, i3)",
        "tf.RaggedTensor.from_row_lengths(x3, [1, 2])",
    ),
    (
        """
        tf.linalg.trace(tf.ragged.constant([[1.0], [2.0, 3.0]]))
        """,
        """
        r = tf.ragged.constant([[1.0], [2.0, 3.0]])
        tf.linalg.trace(r.to_tensor())
        r.with_flat_values(tf.sqrt(r.flat_values))
        """,
    ),
    (
        "tf.linalg.matmul(tf.ragged.constant([[1.0], [2.0, 3.0]]), x23)",
        "tf.linalg.matmul(tf.ragged.constant([[1.0], [2.0, 3.0]]).to_tensor(), x23)",
    ),
    (
        "tf.experimental.numpy.take_along_axis(x23, [0], 0)",
        "tf.experimental.numpy.take_along_axis(x23, tf.expand_dims([0], 0), 0)",
    ),
    (
        "v3.scatter_add(x3)",
        "v3.scatter_add(tf.IndexedSlices(values=x3, indices=i3 - 1))",
    ),
    (
        "tf.where(x3, x3, x3)",
        """
        tf.where(x3 > 0, x3, x3)
        tf.where(tf.cast(x3, tf.bool), x3, x3)
        """,
    ),
    (
        "tf.boolean_mask(x3, True)",
        """
        tf.boolean_mask(x3, [True, False, True])
        tf.where(True, x3, 0.0)
        """,
    ),
    (
        "tf.expand_dims(x3, [0, 1])",
        "tf.expand_dims(tf.expand_dims(x3, 0), 1)",
    ),
    (
        "tf.broadcast_dynamic_shape(tf.constant([1]), tf.constant([1], tf.int64))",
        "tf.broadcast_dynamic_shape(tf.constant([1]), tf.cast(tf.constant([1], tf.int64), tf.int32))",
    ),
    (
        "tf.debugging.assert_near(i3, i3)",
        "tf.debugging.assert_equal(i3, i3)",
    ),
    (
        "tf.convert_to_tensor(tf.IndexedSlices(x3, i3))",
        "tf.convert_to_tensor(tf.IndexedSlices(x3, i3 - 1, dense_shape=[3]))",
    ),
    (
        "tf.image.ssim(image, image, 1.0)",
        """
        big = tf.ones([1, 16, 16, 3])
        tf.image.ssim(big, big, 1.0)
        tf.image.ssim(image, image, 1.0, filter_size=3)
        """,
    ),
    (
        """
        a = tf.random.normal([4, 2])
        with tf.GradientTape() as tape:
            tape.watch(a)
            q = tf.linalg.qr(a, full_matrices=True)[0]
        tape.gradient(q, a)
        """,
        """
        a = tf.random.normal([4, 2])
        with tf.GradientTape() as tape:
            tape.watch(a)
            q = tf.linalg.qr(a, full_matrices=False)[0]
        tape.gradient(q, a)
        """,
    ),
    (
        """
        a = tf.random.normal([4, 2])
        with tf.GradientTape() as tape:
            tape.watch(a)
            u = tf.linalg.svd(a, full_matrices=True)[1]
        tape.gradient(u, a)
        """,
        """
        a = tf.random.normal([4, 2])
        with tf.GradientTape() as tape:
            tape.watch(a)
            u = tf.linalg.svd(a, full_matrices=False)[1]
        tape.gradient(u, a)
        """,
    ),
    (
        "tf.linalg.expm(tf.eye(2, dtype=tf.int32))",
        "tf.linalg.expm(tf.cast(tf.eye(2, dtype=tf.int32), tf.float32))",
    ),
    (
        "tf.linalg.tridiagonal_solve(tf.ones([3, 3]), x3, diagonals_format='rows')",
        """
        a = tf.constant([[1.0, 1.0, 0.0], [4.0, 4.0, 4.0], [0.0, 1.0, 1.0]])
        tf.linalg.tridiagonal_solve(a, x3, diagonals_format="compact")
        tf.linalg.tridiagonal_solve((a[0], a[1], a[2]), x3, diagonals_format="sequence")
        tf.linalg.tridiagonal_solve(4.0 * tf.eye(3), x3, diagonals_format="matrix")
        """,
    ),
    (
        "i3 / 1.5",
        "tf.cast(i3, tf.float32) / 1.5",
    ),
    (
        "b3 / b3",
        "tf.cast(b3, tf.float32) / tf.cast(b3, tf.float32)",
    ),
    (
        "tf.add_n([x3, tf.ones([1])])",
        "tf.add(x3, tf.ones([1]))",
    ),
    (
        "tf.math.accumulate_n([x3, i3])",
        "tf.math.accumulate_n([x3, tf.cast(i3, tf.float32)])",
    ),
    (
        "tf.saturate_cast(b3, tf.int32)",
        "tf.cast(b3, tf.int32)",
    ),
    (
        "tf.logical_and(x3, x3)",
        "tf.logical_and(x3 > 0, tf.cast(x3, tf.bool))",
    ),
    (
        "tf.complex(x3, i3)",
        "tf.complex(x3, tf.cast(i3, tf.float32))",
    ),
    (
        "tf.math.real('a')",
        "tf.math.real(tf.cast(1, tf.complex64))",
    ),
    (
        "tf.math.conj(b3)",
        "tf.math.conj(tf.cast(b3, tf.complex64))",
    ),
    (
        "tf.pow(i3, -1)",
        "tf.pow(tf.cast(i3, tf.float32), -1.0)",
    ),
    (
        "tf.math.is_strictly_increasing(b3)",
        "tf.math.is_strictly_increasing(tf.cast(b3, tf.int32))",
    ),
    (
        "tf.math.reduce_std(i3)",
        "tf.math.reduce_std(tf.cast(i3, tf.float32))",
    ),
    (
        "tf.nn.gelu(i3)",
        "tf.nn.gelu(tf.cast(i3, tf.float32))",
    ),
    (
        "tf.nn.dropout(x3, tf.constant(0.5, tf.float64))",
        "tf.nn.dropout(x3, tf.cast(tf.constant(0.5, tf.float64), tf.float32))",
    ),
    (
        "tf.compat.v1.math.l2_normalize(x3, axis=0, dim=0)",
        "tf.compat.v1.math.l2_normalize(x3, axis=0)",
    ),
    (
        "tf.random.uniform_candidate_sampler([[0]], 1, 5, True, 3)",
        """
        tf.random.uniform_candidate_sampler(tf.cast([[0]], tf.int64), 1, 5, False, 3)
        tf.random.uniform_candidate_sampler(tf.cast([[0]], tf.int64), 1, 5, unique=False, range_max=3)
        """,
    ),
    (
        "tf.random.uniform_candidate_sampler(tf.constant([[0]]), 1, 2, True, 3)",
        "tf.random.uniform_candidate_sampler(tf.cast(tf.constant([[0]]), tf.int64), 1, 2, True, 3)",
    ),
    (
        "tf.random.fixed_unigram_candidate_sampler(tf.constant([[0]], tf.int64), 1, 1, True, 3, vocab_file='v')",
        "tf.random.fixed_unigram_candidate_sampler(tf.constant([[0]], tf.int64), 1, 1, True, 3, unigrams=[1, 2, 3])",
    ),
    (
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 1]], logits=x23)",
        """
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.argmax([[0, 1, 0], [1, 0, 0]], 1), logits=x23)
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.squeeze([[0], [1]], 1), logits=x23)
        """,
    ),
    (
        "tf.compat.v1.nn.fused_batch_norm(image, tf.ones([3], tf.float64), tf.ones([3]))",
        "tf.compat.v1.nn.fused_batch_norm(image, tf.cast(tf.ones([3], tf.float64), tf.float32), tf.ones([3]))",
    ),
    (
        "tf.nn.avg_pool2d(image, 2, 1, [[0, 0], [1, 1], [1, 1], [0, 0]])",
        """
        tf.nn.avg_pool2d(image, 2, 1, "SAME")
        tf.nn.avg_pool2d(image, 2, 1, "VALID")
        tf.nn.avg_pool2d(tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]]), 2, 1, "VALID")
        """,
    ),
    (
        "tf.nn.conv2d(image, kernel, 1, 2)",
        "for padding in ('SAME', 'VALID', [[0, 0], [1, 1], [1, 1], [0, 0]]): tf.nn.conv2d(image, kernel, 1, padding)",
    ),
    (
        "tf.nn.max_pool2d(image, 6, 1, 'VALID')",
        """
        tf.nn.max_pool2d(image, 6, 1, padding="SAME")
        tf.nn.max_pool2d(image, 2, 1, "VALID")
        """,
    ),
    (
        "tf.quantization.fake_quant_with_min_max_args(d3)",
        "tf.quantization.fake_quant_with_min_max_args(tf.cast(d3, tf.float32))",
    ),
    (
        "tf.quantization.fake_quant_with_min_max_vars_per_channel(1.0, [0.0], [1.0])",
        "tf.quantization.fake_quant_with_min_max_vars(1.0, 0.0, 1.0)",
    ),
    (
        "tf.experimental.numpy.sort(x3, order='a')",
        "tf.experimental.numpy.sort(x3, order=None)",
    ),
    (
        "tf.random.stateless_uniform([2], [1, 2], alg='threefry')",
        "tf.random.stateless_uniform([2], [1, 2], alg='philox')",
    ),
    (
        "tf.random.fold_in([1, 2], 1.5)",
        """
        tf.random.fold_in([1, 2], int(1.5))
        tf.random.fold_in([1, 2], tf.cast(1.5, tf.int32))
        """,
    ),
    (
        "tf.random.Generator()",
        "tf.random.Generator.from_seed(1)",
    ),
    (
        "tf.random.Generator(copy_from=tf.random.Generator.from_seed(1), alg='philox')",
        """
        tf.random.Generator(copy_from=tf.random.Generator.from_seed(1))
        tf.random.Generator(state=[1, 2, 3], alg="philox")
        """,
    ),
    (
        "tf.sqrt(i3)",
        "tf.sqrt(tf.cast(i3, tf.float32))",
    ),
    (
        "tf.add(x23, tf.ones([2]))",
        """
        x23 + tf.expand_dims(tf.ones([2]), 1)
        x23 + tf.reshape(tf.ones([2]), [2, 1])
        tf.transpose(x23) + tf.ones([2])
        """,
    ),
    (
        "tf.signal.rfft(c3)",
        "tf.signal.rfft(tf.cast(c3, tf.float32))",
    ),
    (
        "tf.signal.irfft(x3)",
        "tf.signal.irfft(tf.cast(x3, tf.complex64))",
    ),
    (
        "tf.signal.rfft2d(x3)",
        "tf.signal.rfft2d(tf.expand_dims(x3, 0))",
    ),
    (
        "tf.signal.frame(x3, 2, 1.5)",
        """
        tf.signal.frame(x3, 2, int(1.5))
        tf.signal.frame(x3, 2, tf.cast(1.5, tf.int32))
        """,
    ),
    (
        "tf.signal.dct(x23, axis=0)",
        "tf.signal.dct(tf.transpose(x23), axis=-1)",
    ),
    (
        "tf.signal.dct(x23, type=1, norm='ortho')",
        "tf.signal.dct(x23, type=1, norm=None)",
    ),
    (
        "tf.signal.dct(i3)",
        "tf.signal.dct(tf.cast(i3, tf.float32))",
    ),
    (
        "tf.sparse.to_dense(tf.SparseTensor([[1], [0]], [1.0, 2.0], [2]))",
        """
        tf.sparse.to_dense(tf.SparseTensor([[1], [0]], [1.0, 2.0], [2]), validate_indices=False)
        tf.sparse.to_dense(tf.SparseTensor([[0], [1]], [2.0, 1.0], [2]))
        """,
    ),
    (
        "tf.sparse.to_dense(tf.SparseTensor([[0], [0]], [1.0, 2.0], [2]))",
        """
        tf.sparse.to_dense(tf.SparseTensor([[0], [0]], [1.0, 2.0], [2]), validate_indices=False)
        tf.sparse.to_dense(tf.SparseTensor([[0]], [3.0], [2]))
        """,
    ),
    (
        "tf.sparse.to_dense(tf.sparse.eye(2), default_value=tf.constant(1))",
        "tf.sparse.to_dense(tf.sparse.eye(2), default_value=tf.cast(tf.constant(1), tf.float32))",
    ),
    (
        "tf.sparse.sparse_dense_matmul(tf.sparse.eye(2), tf.ones([2, 2], tf.float64))",
        "tf.sparse.sparse_dense_matmul(tf.sparse.eye(2), tf.cast(tf.ones([2, 2], tf.float64), tf.float32))",
    ),
    (
        "tf.sparse.sparse_dense_matmul(tf.sparse.eye(3), x3)",
        "tf.sparse.sparse_dense_matmul(tf.sparse.eye(3), tf.expand_dims(x3, 1))",
    ),
    (
        "tf.sparse.reduce_sum(tf.sparse.eye(3), 0, output_is_sparse=True)",
        "tf.sparse.from_dense(tf.sparse.reduce_sum(tf.sparse.eye(3), 0, output_is_sparse=False))",
    ),
    (
        "tf.sparse.eye(3) * tf.sparse.eye(3)",
        "tf.sparse.eye(3) * tf.sparse.to_dense(tf.sparse.eye(3))",
    ),
    (
        "tf.sparse.sparse_dense_matmul(tf.sparse.eye(3), tf.sparse.eye(3))",
        "tf.sparse.sparse_dense_matmul(tf.sparse.eye(3), tf.sparse.to_dense(tf.sparse.eye(3)))",
    ),
    (
        "with tf.xla.experimental.jit_scope(): pass",
        """
        @tf.function
        def f(x):
            with tf.xla.experimental.jit_scope():
                return x * 2
        f(x3)
        """,
    ),
    (
        "tf.linalg.solve(x23, tf.linalg.LinearOperatorIdentity(3))",
        """
        rhs = tf.linalg.LinearOperatorIdentity(3)
        tf.matmul(x23, rhs.to_dense())
        """,
    ),
    (
        "tf.matmul(tf.linalg.LinearOperatorIdentity(3), tf.ones([3, 2]), transpose_a=True)",
        """
        tf.matmul(tf.linalg.LinearOperatorIdentity(3), tf.ones([3, 2]), adjoint_a=True)
        tf.matmul(tf.linalg.LinearOperatorIdentity(3), x23, adjoint_b=True)
        """,
    ),
    (
        "tf.linalg.LinearOperatorZeros(2, 3)",
        "tf.linalg.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False)",
    ),
    (
        "tf.constant_initializer(3.0)([4], partition_shape=[2])",
        "tf.constant_initializer(3.0, support_partition=True)([4], partition_shape=[2])",
    ),
    (
        "tf.linalg.matvec(tf.linalg.LinearOperatorIdentity(3), x3, transpose_a=True)",
        "tf.linalg.matvec(tf.linalg.LinearOperatorIdentity(3), x3, adjoint_a=True)",
    ),
    (
        "tf.nn.embedding_lookup_sparse(x23, tf.SparseTensor([[1, 0], [0, 0]], [0, 1], [2, 1]), None)",
        "tf.nn.embedding_lookup_sparse(x23, tf.sparse.reorder(tf.SparseTensor([[1, 0], [0, 0]], [0, 1], [2, 1])), None)",
    ),
    (
        "tf.sparse.cross_hashed([tf.sparse.from_dense([['a']])])",
        "tf.sparse.cross_hashed([tf.sparse.to_dense(tf.sparse.from_dense([['a']]))])",
    ),
    (
        "v3 += x3",
        """
        variable, value = v3, x3
        variable.assign_add(value)
        out = variable + value
        """,
    ),
    (
        "tf.linalg.matrix_rank(tf.eye(2, dtype=tf.int32))",
        "tf.linalg.matrix_rank(tf.cast(tf.eye(2, dtype=tf.int32), tf.float32))",
    ),
    (
        "tf.nn.scaled_dot_product_attention(*[tf.ones([1, 2, 4])] * 3)",
        "tf.nn.scaled_dot_product_attention(*[tf.expand_dims(tf.ones([1, 2, 4]), 2)] * 3)",
    ),
    (
        """
        def loss(logits):
            return tf.reduce_sum(tf.nn.ctc_loss([[1, 2]], logits, [2], [4], logits_time_major=False, blank_index=0))

        logits = tf.Variable(tf.reshape(tf.sin(tf.range(12.0)), [1, 4, 3]))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.autodiff.hvp(loss, logits, tf.ones([1, 4, 3])) ** 2)
        tape.gradient(y, logits)
        """,
        """
        def loss(logits):
            return tf.reduce_sum(tf.nn.ctc_loss([[1, 2]], logits, [2], [4], logits_time_major=False, blank_index=0))

        logits, u, h = tf.reshape(tf.sin(tf.range(12.0)), [1, 4, 3]), tf.reshape(tf.cos(tf.range(12.0)), [1, 4, 3]), 0.01
        (tf.autodiff.hvp(loss, logits + h * u, u) - tf.autodiff.hvp(loss, logits - h * u, u)) / (2.0 * h)
        """,
    ),
    (
        """
        x = tf.Variable(tf.ones([2, 2, 3]))
        with tf.GradientTape() as tape:
            y = tf.image.hsv_to_rgb(x)
        tape.gradient(y, x)
        """,
        """
        x = tf.Variable(tf.ones([2, 2, 3]))
        with tf.GradientTape() as tape:
            hue, saturation, value = tf.unstack(x, axis=-1)
            red = tf.clip_by_value(tf.abs(hue * 6.0 - 3.0) - 1.0, 0.0, 1.0)
            y = value * (1.0 - saturation + saturation * red)
        assert tape.gradient(y, x) is not None
        """,
    ),
]
