"""Advice of graphs, sessions and optimizers of TensorFlow 1."""

OF = ("v1",)

# Texts that no row meets, and where they are met.
LEFT = {}

ROWS = [
    (
        "tf.compat.v1.convert_to_tensor_or_sparse_tensor(tf.sparse.eye(2), tf.int32)",
        "tf.compat.v1.convert_to_tensor_or_sparse_tensor(tf.cast(tf.sparse.eye(2), tf.int32), tf.int32)",
    ),
    (
        """
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            handle = tf.compat.v1.placeholder(tf.string, [])
            x = tf.compat.v1.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
            session.run(x, {handle: b"first"})
        """,
        """
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            handle = tf.compat.v1.placeholder(tf.string, [])
            x = tf.compat.v1.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
            iterator = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(2))
            session.run(x, {handle: session.run(iterator.string_handle())})
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(4).window(2)).get_next()
        """,
        """
        with tf.Graph().as_default():
            sums = tf.data.Dataset.range(4).window(2).map(lambda w: w.reduce(tf.constant(0, tf.int64), tf.add))
            tf.compat.v1.data.make_one_shot_iterator(sums).get_next()
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x, w = tf.compat.v1.placeholder(tf.float32), tf.constant(2.0)
            on = tf.compat.v1.placeholder(tf.bool, [])
            tf.cond(on, lambda: tf.gradients(tf.map_fn(lambda row: row * w, x), w)[0], lambda: w)
        """,
        """
        with tf.Graph().as_default():
            x, w = tf.compat.v1.placeholder(tf.float32), tf.constant(2.0)
            on = tf.compat.v1.placeholder(tf.bool, [])
            slope = tf.gradients(tf.map_fn(lambda row: row * w, x), w)[0]
            tf.cond(on, lambda: slope, lambda: w)
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.compat.v1.test.compute_gradient(tf.constant(1.0), [], tf.constant(1.0), [])",
        """
        with tf.Graph().as_default(), tf.compat.v1.Session():
            x = tf.constant([1.0])
            tf.compat.v1.test.compute_gradient(x, [1], x * x, [1])
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.test.compute_gradient(tf.square, [x3])",
        """
        with tf.Graph().as_default(), tf.compat.v1.Session():
            tf.test.compute_gradient(tf.square, [np.ones(3, np.float32)])
        """,
    ),
    (
        "tf.gradients(v3, v3)",
        """
        with tf.GradientTape() as tape:
            y = v3 * v3
        tape.gradient(y, v3)
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            tf.gradients(x * x, x, aggregation_method="sum")
        """,
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            tf.gradients(x * x, x, aggregation_method=tf.AggregationMethod.ADD_N)
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            tf.gradients(x * x, x, grad_ys=[tf.constant(1.0, tf.float64)])
        """,
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            tf.gradients(x * x, x, grad_ys=[tf.cast(tf.constant(1.0, tf.float64), tf.float32)])
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
        with tf.Graph().as_default():
            x + 1.0
        """,
        """
        with tf.Graph().as_default() as graph:
            x = tf.constant(1.0)
        with graph.as_default():
            x + 1.0
        """,
    ),
    (
        "with tf.Graph().as_default(): v3 + 1.0",
        """
        with tf.Graph().as_default() as graph:
            pass
        with graph.as_default():
            tf.Variable([1.0]) + 1.0
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
        x.eval(session=tf.compat.v1.Session(graph=tf.Graph()))
        """,
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
        x.eval(session=tf.compat.v1.Session(graph=x.graph))
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.constant(1.0).eval()",
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            sess = tf.compat.v1.Session()
            with sess.as_default():
                x.eval()
            x.eval(session=sess)
        """,
    ),
    (
        "tf.compat.v1.placeholder(tf.float32)",
        """
        with tf.Graph().as_default():
            tf.compat.v1.placeholder(tf.float32)
        tf.compat.v1.disable_eager_execution()
        tf.compat.v1.placeholder(tf.float32)
        tf.compat.v1.enable_eager_execution()
        """,
    ),
    (
        """
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [2])
            session.run(x + 1.0)
        """,
        """
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [2])
            session.run(x + 1.0, feed_dict={x: [1.0, 2.0]})
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.compat.v1.Session().run(1.0)",
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            tf.compat.v1.Session().run(x)
        """,
    ),
    (
        "with tf.Graph().as_default(), tf.compat.v1.Session() as session: session.run(tf.Variable(1.0) + 1.0)",
        """
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            y = tf.Variable(1.0) + 1.0
            session.run(tf.compat.v1.global_variables_initializer())
            session.run(y)
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            tf.constant(1.0)
            with tf.compat.v1.train.MonitoredSession(hooks=[tf.compat.v1.train.StepCounterHook()]):
                pass
        """,
        """
        with tf.Graph().as_default():
            tf.compat.v1.train.get_or_create_global_step()
            with tf.compat.v1.train.MonitoredSession(hooks=[tf.compat.v1.train.StepCounterHook()]):
                pass
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.compat.v1.train.MonitoredTrainingSession(is_chief=False)",
        """
        with tf.Graph().as_default():
            tf.constant(1.0)
            tf.compat.v1.train.MonitoredTrainingSession().close()
        """,
    ),
    (
        "tf.compat.v1.image.resize_images(image, [2, 2], method=9)",
        "tf.compat.v1.image.resize_images(image, [2, 2], method=tf.compat.v1.image.ResizeMethod.BILINEAR)",
    ),
    (
        "with tf.Graph().as_default(): tf.compat.v1.losses.mean_squared_error(x3, x3, reduction='no')",
        """
        with tf.Graph().as_default():
            tf.compat.v1.losses.mean_squared_error(x3, x3, reduction=tf.compat.v1.losses.Reduction.SUM)
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.compat.v1.metrics.auc([1.0], [0.5], summation_method='no')",
        """
        with tf.Graph().as_default():
            for method in ("trapezoidal", "minoring", "majoring"):
                tf.compat.v1.metrics.auc([1.0], [0.5], summation_method=method)
        """,
    ),
    (
        "tf.compat.v1.metrics.mean([1.0])",
        "tf.keras.metrics.Mean()([1.0])",
    ),
    (
        "tf.compat.v1.train.GradientDescentOptimizer(0.1).compute_gradients(v3)",
        """
        def loss_of(v):
            return tf.reduce_sum(v)
        tf.compat.v1.train.GradientDescentOptimizer(0.1).compute_gradients(lambda: loss_of(v3))
        """,
    ),
    (
        "with tf.Graph().as_default(): tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))",
        """
        with tf.Graph().as_default():
            v, w = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
            tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(v * w)
            tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(v * w, var_list=[v])
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            v = tf.Variable([1.0, 2.0])
            tf.compat.v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant(1.0), v)])
        """,
        """
        with tf.Graph().as_default():
            v = tf.Variable([1.0, 2.0])
            tf.compat.v1.train.GradientDescentOptimizer(0.1).apply_gradients(
                [(tf.broadcast_to(tf.constant(1.0), v.shape), v)]
            )
        """,
    ),
    (
        """
        with tf.Graph().as_default() as g:
            v = tf.Variable(1.0)
        saver = tf.compat.v1.train.Saver([v], defer_build=True)
        with tf.compat.v1.Session(graph=g) as session:
            saver.save(session, "a")
        """,
        """
        with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            session.run(tf.Variable(1.0).initializer)
            saver = tf.compat.v1.train.Saver(defer_build=True)
            saver.build()
            saver.save(session, "a")
            tf.compat.v1.train.Saver().save(session, "a")
        """,
    ),
    (
        "tf.compat.v1.data.make_initializable_iterator(tf.data.Dataset.range(3))",
        "for element in tf.data.Dataset.range(3): pass",
    ),
    (
        "with tf.Graph().as_default(): tf.compat.v1.summary.text('a', tf.constant(1.0))",
        "with tf.Graph().as_default(): tf.compat.v1.summary.text('a', tf.strings.as_string(tf.constant(1.0)))",
    ),
    (
        "with tf.Graph().as_default() as g: tf.compat.v1.profiler.profile(g, options={'output': 'screen'})",
        """
        with tf.Graph().as_default() as graph:
            x = tf.constant(1.0)
            for output in ("none", "stdout", "file:outfile=PATH"):
                options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation() | {"output": output}
                tf.compat.v1.profiler.profile(graph, options=options)
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x = tf.constant(np.ones((2, 2, 3), np.float32))
            tf.gradients(tf.image.adjust_contrast(x, 2.0), x)
        """,
        """
        with tf.Graph().as_default():
            x = tf.constant(np.ones((2, 2, 3), np.float32))
            tf.gradients(tf.image.adjust_contrast(tf.stop_gradient(x), 2.0) * x, x)

        @tf.RegisterGradient("ContrastOfATest")
        def contrast(op, dy):
            return [dy, None]

        with tf.Graph().as_default() as graph, graph.gradient_override_map({"AdjustContrastv2": "ContrastOfATest"}):
            x = tf.constant(np.ones((2, 2, 3), np.float32))
            tf.gradients(tf.image.adjust_contrast(x, 2.0), x)
        """,
    ),
    (
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            with tf.compat.v1.train.MonitoredSession() as session:
                session._coordinator.request_stop()
                session.run(x)
        """,
        """
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            with tf.compat.v1.train.MonitoredSession() as session:
                if not session.should_stop():
                    session.run(x)
        """,
    ),
]
