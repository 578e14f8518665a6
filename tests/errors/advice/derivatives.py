"""Advice of tapes and derivatives: a call that is refused, and the program that does what its error says."""

OF = ("autodiff", "derivatives", "profile", "optimizers")

# Texts that no row meets, and where they are met.
LEFT = {
    "Keras is not loaded on gradtape": "alone",
}

ROWS = [
    (
        'tf.autodiff.recompute_grad(lambda x: x * x if float(x) > 0.0 else -x, memory="1MB")(tf.constant(3.0))',
        """
        def f(x):
            return x * x if x > 0.0 else -x
        x = tf.constant(3.0)
        tf.autodiff.recompute_grad(tf.function(f), memory="1MB")(x)
        tf.autodiff.recompute_grad(lambda x: tf.cond(x > 0.0, lambda: x * x, lambda: -x), memory="1MB")(x)
        tf.autodiff.recompute_grad(lambda x: tf.where(x > 0.0, x * x, -x), memory="1MB")(x)
        tf.recompute_grad(f)(x)
        """,
    ),
    (
        """
        kernel = tf.Variable(tf.ones([3, 2]))
        tf.autodiff.kfac_factors(lambda x: tf.reduce_sum(tf.sin(kernel) * x[0, 0]), [kernel], x23)
        """,
        """
        kernel, scale = tf.Variable(tf.ones([3, 2])), tf.Variable(tf.ones([3, 2]))
        factors = tf.autodiff.kfac_factors(
            lambda x: tf.reduce_sum(tf.tanh(x @ kernel)) + tf.reduce_sum(tf.sin(scale)), sources=[kernel], examples=x23
        )
        assert [a.shape.as_list() for a in factors[0]] == [[3, 3], [2, 2]]
        """,
    ),
    (
        """
        f = tf.custom_gradient(lambda x: x)
        f(x3)
        """,
        """
        def f(x):
            def grad(dy):
                return dy
            return x, grad
        tf.custom_gradient(f)(x3)
        """,
    ),
    (
        """
        @tf.custom_gradient
        def f(x):
            return x * v3, lambda dy: dy
        f(x3)
        """,
        """
        @tf.custom_gradient
        def f(x):
            def grad(dy, variables=None):
                return dy * v3, [dy * x for _ in variables]
            return x * v3, grad
        with tf.GradientTape() as tape:
            y = f(x3)
        tape.gradient(y, v3)
        """,
    ),
    (
        """
        @tf.custom_gradient
        def f(x):
            return tf.numpy_function(np.square, [x], tf.float32), lambda dy: tf.abs(dy)
        tf.autodiff.jvp(f, [x3], [x3])
        """,
        """
        @tf.custom_gradient
        def f(x):
            return tf.numpy_function(np.square, [x], tf.float32), lambda dy: tf.abs(dy)
        with tf.GradientTape() as tape:
            tape.watch(x3)
            y = f(x3)
        tape.gradient(y, x3)
        tf.autodiff.vjp(f, x3)[1](x3)
        tf.autodiff.jacrev(f, x3)
        tf.autodiff.hvp(lambda x: tf.reduce_sum(tf.square(x)), x3, x3, mode="reverse")
        """,
    ),
    (
        "tf.autodiff.ForwardAccumulator('a', tf.constant(1.0))",
        """
        x = [1.0]
        x = tf.convert_to_tensor(x)
        with tf.autodiff.ForwardAccumulator(x, tf.ones([1])) as a:
            y = x * x
        a.jvp(y)
        """,
    ),
    (
        """
        with tf.GradientTape() as tape:
            y = tf.square(v3, name="y")
        tape.get_tensor_by_name("no")
        """,
        """
        with tf.GradientTape() as tape:
            y = tf.identity(v3 * v3, name="no")
        tape.get_tensor_by_name("no")
        """,
    ),
    (
        """
        with tf.GradientTape() as tape:
            for _ in range(2):
                y = tf.square(v3, name="y")
        tape.get_tensor_by_name("y")
        """,
        """
        with tf.GradientTape() as tape:
            for _ in range(2):
                y = tf.square(v3, name="y")
        tape.get_tensor_by_name("y", index=0)
        tape.get_tensor_by_name("y", index=-1)
        """,
    ),
    (
        """
        with tf.GradientTape() as tape:
            y = tf.square(v3, name="y")
        tape.gradient(y, v3)
        tape.get_tensor_by_name("y")
        """,
        """
        with tf.GradientTape(persistent=True) as tape:
            y = tf.square(v3, name="y")
        tape.gradient(y, v3)
        tape.get_tensor_by_name("y")
        """,
    ),
    (
        """
        tape = tf.GradientTape()
        with tape:
            with tape:
                pass
        """,
        """
        tape = tf.GradientTape(persistent=True)
        with tape:
            pass
        with tape:
            pass
        with tf.GradientTape(), tf.GradientTape():
            pass
        """,
    ),
    (
        """
        with tf.GradientTape() as tape:
            y = v3 * v3
        tape.gradient(y, v3)
        tape.gradient(y, v3)
        """,
        """
        with tf.GradientTape(persistent=True) as tape:
            y = v3 * v3
        tape.gradient(y, v3)
        tape.gradient(y, v3)
        """,
    ),
    (
        "with tf.GradientTape() as tape: tape.watch([1.0])",
        """
        x = [1.0]
        x = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert tape.gradient(y, x) is not None
        """,
    ),
    (
        "tf.GradientTape().watch(x3)",
        "with tf.GradientTape() as tape: tape.watch(x3)",
    ),
    (
        """
        with tf.GradientTape() as tape:
            y = v3 * 1.0
        tape.gradient(y, tf.data.Dataset.range(3))
        """,
        """
        s = tf.sparse.from_dense(x3)
        with tf.GradientTape() as tape:
            tape.watch(s.values)
            y = s.values * 2.0
        tape.gradient(y, s.values)
        """,
    ),
    (
        """
        with tf.GradientTape() as tape:
            y = v3 * v3
        tape.jacobian(y, v3, experimental_use_pfor=False)
        """,
        """
        with tf.GradientTape() as tape:
            y = v3 * v3
        tape.jacobian(y, v3, experimental_use_pfor=True)
        """,
    ),
    (
        """
        with tf.GradientTape() as tape:
            y = v3 * v3
        tape.batch_jacobian(y, v3)
        """,
        """
        with tf.GradientTape(persistent=True) as tape:
            y = v3 * v3
        tape.jacobian(y, v3)
        v = tf.expand_dims(v3, 1)
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = v * v
        tape.batch_jacobian(y, v)
        """,
    ),
    (
        """
        with tf.GradientTape() as tape:
            y = v3 * v3
        tape.gradient(y, v3, unconnected_gradients="null")
        """,
        """
        for kind in (tf.UnconnectedGradients.NONE, tf.UnconnectedGradients.ZERO, "none", "zero"):
            with tf.GradientTape() as tape:
                y = v3 * v3
            tape.gradient(y, v3, unconnected_gradients=kind)
        """,
    ),
    (
        "tf.autodiff.jacrev(lambda x: x.numpy(), x3)",
        """
        tf.autodiff.jacrev(lambda x: tf.sin(x), x3)
        tf.autodiff.jacrev(lambda x: tf.constant(3.0), x3)
        """,
    ),
    (
        "tf.autodiff.hessian(lambda: tf.reduce_sum(v3 * v3))",
        """
        tf.autodiff.hessian(lambda x: tf.reduce_sum(x * x), x3)
        tf.autodiff.hessian(lambda: tf.reduce_sum(v3 * v3), sources=[v3])
        """,
    ),
    (
        "tf.test.compute_gradient(tf.identity, [i3])",
        "tf.test.compute_gradient(lambda x: tf.cast(x, tf.float32), [x3])",
    ),
    (
        "tf.test.compute_gradient(lambda x: (x, x), [x3])",
        """
        tf.test.compute_gradient(lambda x: tf.stack([x, x]), [x3])
        tf.autodiff.check_gradients(lambda x: (x, x), [d3])
        """,
    ),
    (
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.BatchNormalization()])
        tf.autodiff.per_example_gradients(lambda x: tf.reduce_sum(model(x, training=True)), model.trainable_variables, x23)
        """,
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.BatchNormalization()])
        tf.autodiff.per_example_gradients(lambda x: tf.reduce_sum(model(x, training=False)), model.trainable_variables, x23)
        """,
    ),
    (
        """
        x = tf.ones([1 << 22])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.square(x)
        tape.jacobian(y, x)
        """,
        """
        f = tf.square
        tf.autodiff.jvp(f, [x3], [x3])
        tf.autodiff.vjp(f, x3)
        tf.autodiff.sparse_jacobian(f, x3)
        """,
    ),
    (
        """
        x = tf.ones([4096])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(x * tf.ones([1 << 17, 1])), 1)[:64]
        tape.jacobian(y, x)
        """,
        """
        with tf.GradientTape() as tape:
            y = tf.sin(v3)
        tape.jacobian(y, v3, chunk_size=2)
        """,
    ),
    (
        """
        f = tf.function(tf.square).get_concrete_function(tf.TensorSpec([3]))
        tf.profiler.profile(f, sources=[x3])
        """,
        "tf.profiler.profile(tf.function(tf.square).get_concrete_function(tf.TensorSpec([3])))",
    ),
    (
        "tf.profiler.profile(tf.function(tf.square).get_concrete_function(tf.TensorSpec([3])), measure=True)",
        "tf.profiler.profile(tf.function(tf.square).get_concrete_function(tf.TensorSpec([3])), x3, measure=True)",
    ),
    (
        "tf.optimizers.LevenbergMarquardt().minimize(lambda: tf.boolean_mask(v3, v3 > 0.0), [v3])",
        """
        def residuals():
            return tf.cond(v3[0] > 0.0, lambda: v3, lambda: -v3)
        tf.optimizers.LevenbergMarquardt().minimize(residuals, [v3])
        tf.optimizers.LevenbergMarquardt().minimize(
            lambda: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 0.5), (0, v3 + 0.0))[1], [v3]
        )
        """,
    ),
    (
        """
        tape = tf.GradientTape()
        with tape:
            pass
        with tape.stop_recording():
            pass
        """,
        """
        with tf.GradientTape() as tape:
            with tape.stop_recording():
                pass
        """,
    ),
    (
        """
        v = tf.Variable(tf.zeros([1 << 17]))
        tf.optimizers.LevenbergMarquardt(solver="dense").minimize(lambda: tf.tile(v, [4]), [v])
        """,
        "tf.optimizers.LevenbergMarquardt(solver='matrix_free').minimize(lambda: v3 * 2.0, [v3])",
    ),
    (
        "tf.optimizers.LevenbergMarquardt().minimize(lambda: tf.random.normal([3]) * v3, [v3])",
        """
        drawn = tf.random.normal([3])
        tf.optimizers.LevenbergMarquardt().minimize(lambda: drawn * v3, [v3])
        """,
    ),
    (
        "print(tf.autodiff.fixed_point(lambda x: 2.0 * x, tf.constant(1.0), max_steps=20))",
        """
        tf.autodiff.fixed_point(lambda x: 0.5 * x + 1.0, tf.constant(1.9), max_steps=40, tolerance=1e-4).numpy()
        """,
    ),
]
