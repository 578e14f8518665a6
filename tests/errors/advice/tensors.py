"""Advice of tensors, variables, dtypes and devices."""

OF = ("core", "compat")

# Texts that no row meets, and where they are met.
LEFT = {
    "gradtape's context() has no": "alone",
    "A SymbolicTensor is made by a function": "alone",
    "TensorFlow is loaded already": "alone",
    "Use tf.executing_eagerly() and tf.config.": "alone",
    "Remove the call: tf.keras has no sessions": "alone",
    "Give `fit` arrays, a tf.data.Dataset": "alone",
    "Use the cells of tf.keras.layers": "alone",
    "JAX cannot reset the peak": "alone",
    "gradtape does not work in a forked process": "alone",
    "programs, each of which was compiled": "alone",
    "An extent that is not known has to be a number": "by no program that is known: no public call asks for its number",
}

ROWS = [
    (
        "tf.constant([1e300])",
        "tf.constant([1e300], dtype=tf.float64)",
    ),
    (
        "tf.constant([True, 2])",
        """
        tf.constant([True, False])
        tf.constant([1, 2], dtype=tf.int64)
        """,
    ),
    (
        "tf.constant(1.5, tf.int32)",
        """
        tf.cast(1.5, tf.int32)
        tf.constant(1, tf.int32)
        """,
    ),
    (
        "tf.function(lambda x: tf.constant(x))(x3)",
        """
        tf.convert_to_tensor(x3)
        tf.identity(x3)
        """,
    ),
    (
        """
        import jax
        jax.jit(tf.square)(np.float32(2.0))
        """,
        """
        import jax
        tf.square(jax.jit(lambda x: x + 1)(np.float32(2.0)))
        tf.jax_function(lambda x: x + 1)(x3)
        """,
    ),
    (
        "tf.constant('1.0') + 1.0",
        """
        tf.strings.to_number(tf.constant("1.0")) + 1.0
        tf.constant("1.0") + tf.strings.as_string(1.0)
        """,
    ),
    (
        "x3 + i3",
        "x3 + tf.cast(i3, x3.dtype)",
    ),
    (
        "tf.convert_to_tensor(2**70)",
        """
        tf.convert_to_tensor(2**40, dtype=tf.int64)
        tf.convert_to_tensor(2.0**70, dtype=tf.float64)
        """,
    ),
    (
        "tf.convert_to_tensor(tf.TensorShape([2]), tf.float32)",
        """
        value = tf.TensorShape([2])
        tf.constant(value.as_list(), tf.float32)
        """,
    ),
    (
        "tf.convert_to_tensor(x3, tf.int32)",
        "tf.convert_to_tensor(tf.cast(x3, tf.int32), tf.int32)",
    ),
    (
        "tf.cast(x3, 'nope')",
        """
        tf.cast(x3, tf.float32)
        tf.cast(x3, "float32")
        tf.cast(x3, np.float32)
        """,
    ),
    (
        "tf.cast(x3, tf.qint8)",
        """
        tf.cast(x3, tf.float32)
        tf.cast(x3, tf.int8)
        """,
    ),
    (
        """
        @tf.function
        def f(x):
            return np.sin(x)
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            return tf.sin(x), tf.py_function(np.sin, [x], tf.float32)
        f(x3)
        np.sin(x3)
        """,
    ),
    (
        """
        @tf.function
        def f(x):
            return x.numpy()
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            return x, tf.py_function(lambda x: x.numpy(), [x], tf.float32)
        f(x3)[0].numpy()
        """,
    ),
    (
        """
        @tf.function(autograph=False)
        def f(x):
            return 1.0 if x > 0 else 2.0
        f(tf.constant(1.0))
        """,
        """
        f = tf.function(lambda x: (tf.cond(x > 0, lambda: 1.0, lambda: 2.0), tf.where(x > 0, 1.0, 2.0)), autograph=False)
        f(tf.constant(1.0))
        @tf.function(autograph=True)
        def f(x):
            return 1.0 if x > 0 else 2.0
        f(tf.constant(1.0))
        """,
    ),
    (
        "with tf.Graph().as_default(): float(tf.constant(1) + 1)",
        """
        f = tf.function(lambda x: tf.cast(x, tf.float32))
        float(f(tf.constant(1)))
        """,
    ),
    (
        "bool(x3 > 0)",
        """
        x = x3 > 0
        bool(tf.reduce_any(x)), bool(tf.reduce_all(x))
        """,
    ),
    (
        "tf.function(list, autograph=False)(tf.constant(1.0))",
        """
        tf.unstack(x3)
        tf.map_fn(tf.square, x3)
        list(x3)
        """,
    ),
    (
        "tf.function(lambda x: f'{x:.2f}')(tf.constant(1.0))",
        "tf.function(lambda x: tf.print(x))(tf.constant(1.0))",
    ),
    (
        "x3[0] = 2.0",
        """
        x = tf.tensor_scatter_nd_update(x3, indices=[[0]], updates=[2.0])
        v = tf.Variable(x)
        v[0].assign(3.0)
        """,
    ),
    (
        "del x3[0]",
        """
        tf.boolean_mask(x3, b3)
        tf.concat([x3[:1], x3[2:]], 0)
        """,
    ),
    (
        "{x3: 1}",
        "{x3.ref(): 1}",
    ),
    (
        "{v3: 1}",
        "{v3.ref(): 1}",
    ),
    (
        "x3.eval()",
        "x3.numpy()",
    ),
    (
        "v3.assign(i3)",
        "v3.assign(tf.cast(i3, tf.float32))",
    ),
    (
        "tf.convert_to_tensor(v3, tf.int32)",
        "tf.cast(v3, tf.int32)",
    ),
    (
        "v3.assign(x23)",
        """
        tf.Variable(x23).assign(tf.reshape(tf.range(6.0), [2, 3]))
        tf.Variable([1.0], shape=tf.TensorShape(None)).assign(x23)
        """,
    ),
    (
        """
        kept = []
        @tf.function
        def f(x):
            for i in tf.range(3):
                kept.append(x * 2)
            return kept[0]
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            kept = tf.TensorArray(tf.float32, size=3)
            for i in tf.range(3):
                kept = kept.write(i, x * 2)
            return kept.stack()
        f(x3)
        """,
    ),
    (
        "tf.types.experimental.TraceType()",
        """
        tf.TensorSpec([3])
        class Kind(tf.types.experimental.TraceType):
            is_subtype_of = most_specific_common_supertype = lambda self, other: None
            __eq__ = lambda self, other: type(other) is Kind
            __hash__ = lambda self: 1
            placeholder_value = lambda self, context: None
        Kind()
        """,
    ),
    (
        "tf.TypeSpec()",
        """
        tf.TensorSpec([3])
        class Spec(tf.TypeSpec):
            value_type = property(lambda self: int)
            def _serialize(self):
                return ()
            _to_components = _component_specs = _from_components = None
        Spec()
        """,
    ),
    (
        """
        tf.config.set_soft_device_placement(False)
        with tf.device("GPU:7"):
            tf.ones([2])
        """,
        """
        tf.config.set_soft_device_placement(True)
        with tf.device("GPU:7"):
            tf.ones([2])
        with tf.device("CPU:0"):
            tf.ones([2])
        """,
    ),
    (
        "tf.config.set_visible_devices([])",
        "tf.config.set_visible_devices(tf.config.list_physical_devices('CPU'))",
    ),
    (
        "tf.constant(x3, tf.int32)",
        "tf.constant(tf.cast(x3, tf.int32), tf.int32)",
    ),
    (
        "with tf.Graph().as_default(): list(tf.Variable(x3))",
        "with tf.Graph().as_default(): tf.unstack(tf.Variable([1.0, 2.0]))",
    ),
    (
        "tf.Variable(x3, dtype=tf.int32)",
        "tf.Variable(tf.cast(x3, tf.int32), dtype=tf.int32)",
    ),
    (
        "tf.Session",
        "tf.compat.v1.Session(graph=tf.Graph())",
    ),
    (
        "tf.io.match_filenames_once",
        "tf.io.matching_files('*')",
    ),
    (
        "tf.io.serialize_many_sparse",
        """
        s = tf.sparse.eye(3)
        for part in (s.indices, s.values, s.dense_shape):
            tf.io.parse_tensor(tf.io.serialize_tensor(part), part.dtype)
        """,
    ),
    (
        "tf.ragged.ragged_fill_empty_rows",
        """
        r = tf.ragged.constant([[1.0], []])
        r.to_tensor() * 2.0, r.flat_values * 2.0
        """,
    ),
    (
        "tf.test.assert_equal_graph_def",
        """
        g = tf.Graph()
        with g.as_default():
            tf.constant(1.0, name="a")
        g.get_operations()
        """,
    ),
    (
        "tf.cond(x3 > 0, lambda: 1, lambda: 2)",
        """
        tf.cond(tf.reduce_any(x3 > 0), lambda: 1, lambda: 2)
        tf.cond(tf.reduce_all(x3 > 0), lambda: 1, lambda: 2)
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(x):
            return tf.zeros([int(tf.reduce_sum(x))])
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            return tf.reduce_sum(tf.where(x > 0.0, x, 0.0)), tf.py_function(lambda x: int(x), [x[0]], tf.int32)
        tf.zeros([int(f(x3)[0])])
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        tf.function(lambda x: tf.unique(x)[0])(x3)
        """,
        """
        def f(x):
            condition = x > 0.0
            return tf.where(condition, x, 0.0)
        tf.function(f)(x3)
        tf.boolean_mask(tf.function(f)(x3), x3 > 0.0)
        """,
    ),
    (
        "tf.conv",
        """
        tf.nn.conv2d(image, kernel, 1, "SAME")
        tf.math.top_k(x3)
        tf.signal.fft(c3)
        """,
    ),
    (
        "tf.name_scope(3)",
        'tf.name_scope("a")',
    ),
    (
        "tf.sparse.no_name_of_tensorflow",
        "tf.sparse.to_dense(tf.sparse.from_dense(x23))",
    ),
    (
        """
        from gradtape._src.core.programs.op import Op
        Op("OpOfATest", lambda x: x).gradient = None
        """,
        """
        from gradtape._src.core.declarations.define import define, gradient, not_differentiable
        from gradtape._src.core.programs.op import Op
        given = Op("OpOfATest", lambda x: x, reason="it is constant")
        differentiated, other = Op("OpOfATest2", lambda x: x), define(Op("OpOfATest3", lambda x: x))
        gradient(differentiated)(lambda op, dy: dy)
        not_differentiable(other.type, because="it is constant")
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x = tf.compat.v1.placeholder(tf.float32)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            tape.jacobian(y, x)
        """,
        """
        with tf.Graph().as_default():
            x = tf.compat.v1.placeholder(tf.float32)
            x.set_shape([3])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            tape.jacobian(y, x)
            tf.compat.v1.placeholder(tf.float32, shape=[None])
            tf.py_function(lambda x: x, [x], tf.TensorSpec([3], tf.float32))
        """,
    ),
]
