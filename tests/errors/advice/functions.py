"""Advice of functions, branches, loops and maps."""

OF = ("control",)

# Texts that no row meets, and where they are met.
LEFT = {}

ROWS = [
    (
        "tf.function(lambda **xs: xs)(**{'a b': x3, 'a_b': x3})",
        """
        @tf.function
        def f(x, y):
            return y
        f(x3, x3)
        """,
    ),
    (
        "tf.function(tf.square)(tf.TensorSpec([3]))",
        """
        f = tf.function(tf.square)
        f.get_concrete_function(tf.TensorSpec([3]))
        tf.function(tf.square, input_signature=[tf.TensorSpec([3])])(x3)
        """,
    ),
    (
        """
        @tf.function
        def f(x):
            for i in tf.range(3):
                if tf.reduce_sum(x) > 100.0:
                    return x
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            for i in tf.range(3):
                if tf.reduce_sum(x) > 100.0:
                    return x
            return x
        f(x3)
        """,
    ),
    (
        """
        @tf.function
        def f(x):
            if x[0] > 0.0:
                return x
            else:
                print("no")
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            if x[0] > 0.0:
                return x
            return -x
        f(x3)
        """,
    ),
    (
        "tf.function(lambda c: tf.cond(c, lambda: 1, lambda: 2))(tf.constant(1))",
        """
        x = tf.constant(1)
        tf.cond(x > 0, lambda: 1, lambda: 2)
        tf.cond(tf.cast(x, tf.bool), lambda: 1, lambda: 2)
        """,
    ),
    (
        "tf.function(lambda c: tf.cond(c, lambda: 1, lambda: 2.0))(tf.constant(True))",
        "tf.function(lambda c: tf.cond(c, lambda: tf.cast(1, tf.float32), lambda: 2.0))(tf.constant(True))",
    ),
    (
        "tf.case([(tf.constant(False), lambda: 1)])",
        "tf.case([(tf.constant(False), lambda: 1)], default=lambda: 2)",
    ),
    (
        "tf.CriticalSection().execute(3)",
        "tf.CriticalSection().execute(fn=lambda: 3)",
    ),
    (
        """
        @tf.function
        def f(x):
            return tf.Variable(x) + 1.0
        f(x3)
        """,
        """
        class Model:
            v = None
            @tf.function
            def __call__(self, x):
                if self.v is None:
                    self.v = tf.Variable(x)
                return self.v + 1.0
        Model()(x3)
        layer = tf.keras.layers.Dense(1)
        layer.build([None, 3])
        tf.function(layer)(x23)
        """,
    ),
    (
        """
        @tf.function
        def f(x):
            return tf.numpy_function(lambda x: x[:2], [x], tf.float32) + x
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            y = tf.numpy_function(lambda x: x[:2], [x], tf.float32)
            y.set_shape([2])
            return y + x[:2]
        f(x3)
        tf.numpy_function(lambda x: x[:2], [x3], tf.float32) + x3[:2]
        """,
    ),
    (
        """
        it = iter(tf.data.Dataset.range(3))
        tf.config.require_compiled_functions()
        @tf.function
        def f(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.recompute_grad(lambda x: x * tf.cast(next(it), tf.float32))(x)
            return tape.gradient(y, x)
        f(x3)
        """,
        """
        it = iter(tf.data.Dataset.range(3))
        @tf.function
        def f(x):
            element = next(it)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.recompute_grad(lambda x, n: x * tf.cast(n, tf.float32))(x, element)
            return tape.gradient(y, x)
        f(x3)
        """,
    ),
    (
        "tf.function(lambda: tf.while_loop(lambda i: i, lambda i: (i + 1,), [i3]))()",
        """
        tf.while_loop(lambda x: tf.reduce_any(x < 3), lambda x: (x + 1,), [i3])
        tf.while_loop(lambda x: tf.reduce_all(x < 3), lambda x: (x + 1,), [i3])
        """,
    ),
    (
        "tf.function(lambda: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [tf.constant(1)]))()",
        """
        tf.function(lambda: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i + 1, tf.int32), [tf.constant(1)]))()
        tf.function(lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1.0, [tf.constant(1, tf.float32)]))()
        """,
    ),
    (
        """
        tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), x3])
        tf.function(
            lambda: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), x3])
        )()
        """,
        """
        @tf.function
        def f(x):
            kept = tf.TensorArray(tf.float32, size=3)
            return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x)), [tf.constant(0), kept])[1].stack()
        f(x3)
        """,
    ),
    (
        "tf.map_fn(lambda x: tf.cast(x, tf.int32), x3)",
        "tf.map_fn(lambda x: tf.cast(x, tf.int32), x3, fn_output_signature=tf.int32)",
    ),
    (
        """
        @tf.function
        def f(x):
            for i in range(3):
                if x[0] > 0.0:
                    break
                x += 1.0
            return x
        f(x3)
        """,
        """
        @tf.function
        def f(x, n):
            for i in tf.range(n):
                if x[0] > 0.0:
                    break
                x += 1.0
            return x
        f(x3, 3)
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.map_fn(lambda r: r, tf.ragged.constant([[1.0], [2.0, 3.0]]))",
        """
        rows = tf.ragged.constant([[1.0], [2.0, 3.0]])
        tf.function(lambda: tf.map_fn(lambda r: r, rows))()
        with tf.Graph().as_default():
            rows = tf.ragged.constant([[1.0], [2.0, 3.0]])
            rows.with_flat_values(tf.map_fn(tf.square, rows.flat_values))
        """,
    ),
    (
        "tf.map_fn(tf.sparse.reduce_sum, tf.sparse.eye(3))",
        """
        tf.map_fn(tf.sparse.reduce_sum, tf.sparse.eye(3), fn_output_signature=tf.float32)
        tf.map_fn(lambda r: r, tf.sparse.eye(3), fn_output_signature=tf.SparseTensorSpec([None]))
        """,
    ),
    (
        "tf.map_fn(lambda r: tf.cast(tf.reduce_sum(r), tf.int32), tf.ragged.constant([[1.0], [2.0, 3.0]]))",
        """
        tf.map_fn(
            lambda r: tf.cast(tf.reduce_sum(r), tf.int32),
            tf.ragged.constant([[1.0], [2.0, 3.0]]),
            fn_output_signature=tf.int32,
        )
        """,
    ),
    (
        """
        @tf.function
        def f(c, x):
            if c:
                n = x
            else:
                n = i3
            return n
        f(tf.constant(True), x3)
        """,
        """
        @tf.function
        def f(c, x):
            if c:
                n = x
            else:
                n = tf.cast(i3, tf.float32)
            return n
        f(tf.constant(True), x3)
        """,
    ),
    (
        """
        @tf.function
        def f(c, x):
            if c:
                n = x
            return n
        f(tf.constant(True), x3)
        """,
        """
        @tf.function
        def f(c, x):
            n = -x
            if c:
                n = x
            if c:
                m = x
            else:
                m = -x
            return n, m
        f(tf.constant(True), x3)
        """,
    ),
    (
        "tf.TensorArray(tf.float32, size=2).stack()",
        """
        tf.TensorArray(tf.float32, size=2, element_shape=[3]).stack()
        a = tf.TensorArray(tf.float32, size=1)
        a.write(0, x3).stack()
        """,
    ),
    (
        "tf.TensorArray(tf.float32)",
        "tf.TensorArray(tf.float32, size=0, dynamic_size=True).write(1, x3)",
    ),
    (
        "tf.TensorArray(tf.float32, size=1).write(2, x3)",
        "tf.TensorArray(tf.float32, size=1, dynamic_size=True).write(2, x3)",
    ),
    (
        "tf.TensorArray(tf.float32, size=1).split(x3, [1, 2])",
        "tf.TensorArray(tf.float32, size=1, dynamic_size=True, infer_shape=False).split(x3, [1, 2])",
    ),
    (
        "tf.autograph.to_graph(tf.function(lambda x: x))",
        """
        def f(x):
            return x
        tf.autograph.to_graph(tf.function(f).python_function)
        """,
    ),
    (
        "tf.autograph.to_code(tf.function(lambda x: x))",
        """
        def f(x):
            return x
        tf.autograph.to_code(tf.function(f).python_function)
        """,
    ),
    (
        "tf.vectorized_map(lambda x: v3.assign_add([x, x, x]), x3)",
        """
        v = tf.Variable(0.0)
        tf.map_fn(lambda x: v.assign_add(x), x3)
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(x):
            entries = tf.TensorArray(tf.float32, 3)
            return entries.read(7) if tf.reduce_sum(x) > 100.0 else 0.0
        f(x3)
        """,
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(x):
            entries = tf.TensorArray(tf.float32, 3, element_shape=[])
            return entries.read(7) if tf.reduce_sum(x) > 100.0 else 0.0
        f(x3)
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(x):
            return tf.strings.split(tf.strings.as_string(x))
        f(x3)
        """,
        """
        tf.config.require_compiled_functions()
        @tf.function
        def part(x):
            return x * 2.0
        tf.strings.split(tf.strings.as_string(part(x3)))
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(v):
            with tf.GradientTape() as tape:
                total = 0.0
                for x in tf.data.Dataset.range(3):
                    total += tf.cast(x, tf.float32) * v
            return tape.gradient(total, v)
        f(v3)
        """,
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f():
            total = tf.zeros([3])
            for x in tf.data.Dataset.range(3):
                with tf.GradientTape() as tape:
                    y = tf.cast(x, tf.float32) * v3
                total += tape.gradient(y, v3)
            return total
        f()
        @tf.function
        def of_element(x, v):
            return tf.cast(x, tf.float32) * v
        with tf.GradientTape() as tape:
            total = 0.0
            for x in tf.data.Dataset.range(3):
                total += of_element(x, v3)
        tape.gradient(total, v3)
        """,
    ),
    (
        "tf.jax_function(lambda x: x, platform='cpu')(x3)",
        "tf.jax_function(lambda x: x, platform='cpu', reference=lambda x: x)(x3)",
    ),
    (
        """
        @tf.function
        def f(x):
            for i in tf.range(3):
                return x
        f(x3)
        """,
        """
        @tf.function
        def f(x):
            for i in tf.range(3):
                if i > 1:
                    return x
            return -x
        f(x3)
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(x):
            s = "a"
            for i in tf.range(3):
                s = s + "b"
            return s
        f(x3)
        """,
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(x):
            s = tf.constant("a")
            for i in tf.range(3):
                s = s + "b"
            return s
        f(x3)
        """,
    ),
    (
        "tf.function(lambda c: tf.cond(c, lambda: 1, lambda: 2))(b3)",
        """
        tf.function(lambda c: tf.cond(tf.reduce_any(c), lambda: 1, lambda: 2))(b3)
        tf.function(lambda c: tf.cond(tf.reduce_all(c), lambda: 1, lambda: 2))(b3)
        """,
    ),
    (
        """
        @tf.function
        def f(n):
            return x3 * n
        for n in range(6):
            f(n)
        """,
        """
        @tf.function
        def f(n):
            return x3 * n
        for n in range(6):
            f(tf.constant(float(n)))
        assert f.experimental_get_tracing_count() == 1
        """,
    ),
    (
        """
        @tf.function
        def f(x):
            return x * 2.0
        for n in range(1, 7):
            f(tf.ones([n]))
        """,
        """
        f = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None])])
        g = tf.function(lambda x: x * 2.0, reduce_retracing=True)
        for n in range(1, 7):
            f(tf.ones([n])), g(tf.ones([n]))
        assert f.experimental_get_tracing_count() == 1
        """,
    ),
    (
        """
        @tf.function
        def f(d):
            for x in d:
                tf.reduce_sum(x)
        for n in range(1, 7):
            f(tf.data.Dataset.range(12).batch(n, drop_remainder=True))
        """,
        """
        @tf.function
        def f(d):
            for x in d:
                tf.reduce_sum(x)
        for n in range(1, 7):
            f(tf.data.Dataset.range(12 * n).batch(3, drop_remainder=True))
        assert f.experimental_get_tracing_count() == 1
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(rows):
            total = 0.0
            for row in rows:
                total += tf.reduce_sum(row)
            return total
        rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[[1.0]], [[2.0, 3.0], []]]))
        f(rows)
        """,
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(rows):
            total = 0.0
            for row in rows:
                total += tf.reduce_sum(row)
            return total
        rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[[1.0]], [[2.0, 3.0], []]]))
        f(rows.map(lambda row: row.to_tensor()))
        f(tf.data.Dataset.from_tensor_slices(tf.sparse.eye(3)).map(lambda row: tf.sparse.to_dense(row)))
        def ranked(x):
            x.set_shape([None])
            return x
        unknown = tf.data.Dataset.from_generator(lambda: iter([[1.0], [2.0, 3.0]]), output_signature=tf.TensorSpec(None))
        f(unknown.map(ranked))
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(v):
            for x in tf.data.Dataset.range(3):
                v.assign_add([1.0, 1.0, 1.0])
        f(v3)
        """,
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f():
            for x in tf.data.Dataset.range(3):
                v3.assign_add([1.0, 1.0, 1.0])
        f()
        """,
    ),
    (
        """
        @tf.function
        def f(x):
            n = tf.constant(0)
            for i in tf.range(3):
                n = tf.cast(n, tf.float32)
            return n
        f(x3)
        """,
        """
        @tf.function
        def f():
            n, m = tf.constant(0), tf.constant(0, tf.float32)
            for i in tf.range(3):
                n, m = tf.cast(n + 1, tf.int32), m + 1.5
            return n, m
        f()
        """,
    ),
    (
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(data):
            total = tf.constant(0, tf.int64)
            for x in data:
                total += x
                if total > 2:
                    return total
            return total
        f(tf.data.Dataset.range(3))
        """,
        """
        tf.config.require_compiled_functions()
        @tf.function
        def f(data):
            total = tf.constant(0, tf.int64)
            for x in data:
                total += x
                if total > 2:
                    break
            return total
        f(tf.data.Dataset.range(3))
        """,
    ),
    (
        """
        made = []
        @tf.function
        def f(x, n):
            if n > 1 and not made:
                made.append(tf.keras.layers.Dense(2))
            return [layer(x) for layer in made]
        f(x23, 1)
        f(x23, 2)
        """,
        """
        made = [tf.keras.layers.Dense(2)]
        made[0].build([None, 3])
        @tf.function
        def f(x, n):
            return [layer(x) for layer in made[:n]]
        f(x23, 0)
        f(x23, 1)
        """,
    ),
    (
        "tf.function(lambda x: tf.py_function(lambda x: x[:2], [x], tf.TensorSpec([3])))(x3)",
        "tf.function(lambda x: tf.py_function(lambda x: x[:2], [x], tf.TensorSpec(shape=[2], dtype=tf.float32)))(x3)",
    ),
]
