"""Advice of Keras's backend, of strategies and meshes, of figures, profiles and the door."""

OF = ("distribute", "keras_gradtape", "figures", "testing", "gradtape_cli", "cli")

# Texts that no row meets, and where they are met.
LEFT = {
    " unknown device.": "alone",
    "`merge_call` called while defining a new graph": "alone",
    "It looks like you are using a PerReplica object": "alone",
    "A dataset of batches can be divided among": "alone",
}

ROWS = [
    (
        "tf.keras.optimizers.SGD().apply_gradients([(x3, x3)])",
        """
        opt, gradient, gradients, variable, variables = tf.keras.optimizers.SGD(), x3, [x3], v3, [v3]
        opt.apply_gradients(zip(gradients, variables))
        opt.apply_gradients([(gradient, variable)])
        """,
    ),
    (
        """
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.build([None, 3])
        model.export("m", format="onnx")
        """,
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        tf.train.export_stablehlo(model, "m.mlir")
        model.save("model.keras")
        tf.keras.models.load_model("model.keras")
        """,
    ),
    (
        """
        archive = tf.keras.export.ExportArchive()
        archive.add_endpoint("f", tf.function(lambda x: x))
        """,
        """
        archive = tf.keras.export.ExportArchive()
        f = tf.function(lambda x: x)
        f(x3)
        archive.add_endpoint("f", f)
        archive.add_endpoint("g", tf.function(lambda x: x), input_signature=[tf.TensorSpec([3])])
        """,
    ),
    (
        """
        q = tf.ones([1, 2, 2, 4])
        tf.keras.ops.dot_product_attention(q, q, q, flash_attention=True)
        """,
        """
        q = tf.ones([1, 2, 2, 4])
        for flash in (None, False):
            tf.keras.ops.dot_product_attention(q, q, q, flash_attention=flash)
        """,
    ),
    (
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.compiled_loss(tf.ones([2, 1]), model(x23))
        """,
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.compute_loss(x23, tf.ones([2, 1]), model(x23), None, True)
        """,
    ),
    (
        """
        class Layer(tf.keras.layers.Layer):
            def call(self, x):
                self.v = tf.Variable(x * 2.0)
                return x
        Layer()(tf.keras.Input([3]))
        """,
        """
        tf.function(lambda x: tf.keras.Variable(np.ones(3)) + x)
        class Layer(tf.keras.layers.Layer):
            def build(self, shape):
                self.v = self.add_weight(shape=shape, initializer="zeros")
            def call(self, x):
                return x + self.v
        tf.function(Layer())(x3)
        """,
    ),
    (
        """
        strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        strategy.run(lambda: strategy.gather(x3, 0))
        """,
        """
        strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        strategy.run(lambda: tf.distribute.get_replica_context().all_gather(x3, 0))
        """,
    ),
    (
        """
        strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        strategy.run(lambda: strategy.reduce("sum", x3, axis=None))
        """,
        """
        strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        strategy.run(
            lambda: tf.distribute.get_replica_context().merge_call(lambda s, x: s.reduce("sum", x, axis=None), args=(x3,))
        )
        """,
    ),
    (
        """
        from gradtape.experimental import dtensor
        dtensor.create_distributed_mesh([("x", 1)])
        """,
        """
        from gradtape.experimental import dtensor
        dtensor.initialize_accelerator_system("CPU")
        dtensor.create_distributed_mesh([("x", 1)])
        dtensor.shutdown_accelerator_system()
        """,
    ),
    (
        """
        from gradtape.experimental import dtensor
        dtensor.shutdown_accelerator_system()
        """,
        """
        from gradtape.experimental import dtensor
        dtensor.initialize_accelerator_system("CPU")
        dtensor.shutdown_accelerator_system()
        """,
    ),
    (
        """
        from gradtape.experimental import dtensor
        dtensor.initialize_accelerator_system("CPU")
        dtensor.initialize_accelerator_system("CPU")
        """,
        """
        from gradtape.experimental import dtensor
        dtensor.shutdown_accelerator_system()
        dtensor.initialize_accelerator_system("CPU")
        dtensor.shutdown_accelerator_system()
        """,
    ),
    (
        """
        dtensor = tf.experimental.dtensor
        dtensor.Mesh(["x"], [0], [0], ["CPU:0"])
        """,
        """
        dtensor, n, shape = tf.experimental.dtensor, 1, [1]
        dtensor.Mesh(["x"], np.arange(n).reshape(shape), [0], ["CPU:0"])
        """,
    ),
    (
        """
        dtensor = tf.experimental.dtensor
        dtensor.create_mesh([("x", 2)], devices=["CPU:0"])
        """,
        """
        dtensor = tf.experimental.dtensor
        dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
        """,
    ),
    (
        """
        dtensor = tf.experimental.dtensor
        dtensor.fetch_layout(x3)
        """,
        """
        dtensor = tf.experimental.dtensor
        mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
        assert not dtensor.is_dtensor(x3)
        dtensor.fetch_layout(dtensor.copy_to_mesh(x3, dtensor.Layout.replicated(mesh, 1)))
        """,
    ),
    (
        """
        dtensor = tf.experimental.dtensor
        mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
        dtensor.pack([x3, x3], dtensor.Layout.replicated(mesh, 1))
        """,
        """
        dtensor = tf.experimental.dtensor
        mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
        dtensor.pack([x3 for _ in mesh.local_devices()], dtensor.Layout.replicated(mesh, 1))
        """,
    ),
    (
        "tf.experimental.dtensor.unpack(x3)",
        """
        dtensor = tf.experimental.dtensor
        mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
        dtensor.unpack(dtensor.copy_to_mesh(x3, dtensor.Layout.replicated(mesh, 1)))
        """,
    ),
    (
        "tf.experimental.dtensor.DVariable(x3)",
        """
        dtensor = tf.experimental.dtensor
        mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
        layout = dtensor.Layout([dtensor.UNSHARDED], mesh)
        dtensor.DVariable(dtensor.copy_to_mesh(x3, layout))
        dtensor.DVariable(x3, layout=layout)
        """,
    ),
    (
        """
        from gradtape.experimental import dtensor
        dtensor.Mesh(["x"], np.array([0]), [0], ["CPU:0"], use_xla_spmd=True)
        """,
        """
        from gradtape.experimental import dtensor
        dtensor.Mesh(["x"], np.array([0]), [0], ["CPU:0"])
        """,
    ),
    (
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
        model.compiled_metrics.update_state(tf.ones([2, 1]), model(x23))
        """,
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
        model.evaluate(x23, tf.ones([2, 1]), verbose=0)
        for metric in model.metrics:
            metric.update_state(*[x3] * (1 if metric.name == "loss" else 2))
        """,
    ),
]
