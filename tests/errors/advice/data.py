"""Advice of datasets, files, checkpoints, saved models and summaries."""

OF = ("data", "files", "train", "summary", "lookup")

# Texts that no row meets, and where they are met.
LEFT = {
    "belongs to the process that this one was forked from": "alone",
}

ROWS = [
    (
        "tf.queue.FIFOQueue(3, [tf.float32]).dequeue_many(1)",
        """
        queue = tf.queue.FIFOQueue(3, [tf.float32], shapes=[[3]])
        queue.enqueue(x3)
        queue.dequeue_many(1)
        """,
    ),
    (
        "tf.data.Dataset.range(4).batch(tf.constant(2))",
        "tf.data.Dataset.range(4).batch(tf.cast(tf.constant(2), tf.int64))",
    ),
    (
        "tf.data.Dataset.from_tensor_slices((i3, i3)).unique()",
        "tf.data.Dataset.from_tensor_slices((i3, i3)).map(lambda a, b: a).unique()",
    ),
    (
        "tf.data.Dataset.from_tensor_slices(x3).unique()",
        "list(tf.data.Dataset.from_tensor_slices(x3).map(lambda x: tf.cast(x, tf.int32)).unique())",
    ),
    (
        "tf.data.Dataset.from_tensor_slices(tf.data.Dataset.range(3))",
        """
        tf.data.Dataset.from_tensors(tf.data.Dataset.range(3))
        tf.data.Dataset.range(3)
        """,
    ),
    (
        """
        import zlib
        open("a.csv", "wb").write(zlib.compress(b"x,y\\n1,2\\n"))
        tf.data.experimental.make_csv_dataset("a.csv", 1, compression_type="ZLIB")
        """,
        """
        import zlib
        open("a.csv", "wb").write(zlib.compress(b"x,y\\n1,2\\n"))
        next(
            iter(
                tf.data.experimental.make_csv_dataset(
                    "a.csv", 1, compression_type="ZLIB", column_names=["x", "y"], column_defaults=[1, 1]
                )
            )
        )
        """,
    ),
    (
        "tf.data.Dataset.range(3).save('elements', checkpoint_args={'directory': 'd'})",
        "tf.data.Dataset.range(3).save('elements')",
    ),
    (
        "tf.data.Dataset.from_generator(lambda: iter([1]), output_signature=tf.int32)",
        "tf.data.Dataset.from_generator(lambda: iter([1]), output_signature=tf.TensorSpec([], tf.int32))",
    ),
    (
        "tf.experimental.Optional.empty(tf.TensorSpec([])).get_value()",
        """
        o = tf.experimental.Optional.from_value(1)
        if o.has_value():
            o.get_value()
        """,
    ),
    (
        "tf.data.Dataset.range(3).options().deterministic = True",
        """
        options = tf.data.Options()
        options.deterministic = True
        tf.data.Dataset.range(3).with_options(options)
        """,
    ),
    (
        "tf.data.Dataset.range(4).window(2).save('windows')",
        """
        tf.data.Dataset.range(4).window(2).flat_map(lambda w: w).save("windows")
        tf.data.Dataset.range(4).batch(2).save("batches")
        """,
    ),
    (
        """
        list(
            tf.data.Dataset.from_generator(
                lambda: iter([[1], [1, 2]]), output_signature=tf.TensorSpec([None], tf.int32)
            ).batch(2)
        )
        """,
        """
        made = tf.data.Dataset.from_generator(lambda: iter([[1], [1, 2]]), output_signature=tf.TensorSpec([None], tf.int32))
        list(made.padded_batch(2))
        list(made.map(lambda x: x[:1]).batch(2))
        """,
    ),
    (
        "tf.data.Dataset.range(3).concatenate(tf.data.Dataset.from_tensor_slices(x3))",
        """
        tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32)).concatenate(tf.data.Dataset.from_tensor_slices(x3))
        """,
    ),
    (
        "tf.data.experimental.from_list([])",
        "tf.data.Dataset.range(0)",
    ),
    (
        "tf.io.decode_raw([b'ab', b'abcd'], tf.uint8)",
        "tf.io.decode_raw(['ab', 'abcd'], tf.uint8, fixed_length=4)",
    ),
    (
        "tf.io.parse_single_example(tf.train.Example().SerializeToString(), {'a': tf.io.FixedLenFeature([], tf.int32)})",
        """
        value = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
        message = tf.train.Example(features=tf.train.Features(feature={"a": value})).SerializeToString()
        tf.cast(tf.io.parse_single_example(message, {"a": tf.io.FixedLenFeature([], tf.int64)})["a"], tf.int32)
        """,
    ),
    (
        """
        tf.io.write_file("taken", "a")
        tf.io.gfile.copy("taken", "taken")
        """,
        """
        tf.io.write_file("taken", "a")
        tf.io.gfile.copy("taken", "other")
        tf.io.gfile.copy("taken", "other", overwrite=True)
        """,
    ),
    (
        """
        tf.io.decode_jpeg(tf.io.encode_png(tf.zeros([2, 2, 3], tf.uint8)))
        tf.io.decode_bmp(tf.io.encode_png(tf.zeros([2, 2, 3], tf.uint8)))
        """,
        """
        x = tf.io.encode_png(tf.zeros([2, 2, 3], tf.uint8))
        tf.io.decode_png(x)
        tf.io.decode_image(x)
        """,
    ),
    (
        "tf.io.decode_png(b'BM' + bytes(60))",
        """
        import struct
        x = (
            b"BM"
            + struct.pack("<IHHI", 70, 0, 0, 54)
            + struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 24, 0, 16, 0, 0, 0, 0)
            + bytes(16)
        )
        tf.io.decode_bmp(x)
        tf.io.decode_image(x)
        """,
    ),
    (
        """
        tf.io.parse_example(
            [tf.train.Example().SerializeToString()], {"a": tf.io.RaggedFeature(tf.int64, partitions=[("n",)])}
        )
        """,
        """
        numbers = lambda *values: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        message = tf.train.Example(
            features=tf.train.Features(feature={"a": numbers(1, 2, 3), "n": numbers(1, 2)})
        ).SerializeToString()
        found = tf.io.parse_single_example(message, {"a": tf.io.RaggedFeature(tf.int64), "n": tf.io.RaggedFeature(tf.int64)})
        tf.RaggedTensor.from_row_lengths(found["a"], found["n"])
        """,
    ),
    (
        """
        tf.io.parse_sequence_example(
            [tf.train.SequenceExample().SerializeToString()], sequence_features={"a": tf.io.RaggedFeature(tf.int64)}
        )
        """,
        """
        found = tf.io.parse_single_sequence_example(
            tf.train.SequenceExample().SerializeToString(), sequence_features={"a": tf.io.VarLenFeature(tf.int64)}
        )
        tf.RaggedTensor.from_sparse(found[1]["a"])
        """,
    ),
    (
        "list(tf.data.TFRecordDataset('no', compression_type='ZIP'))",
        "for kind in ('', 'GZIP', 'ZLIB'): tf.data.TFRecordDataset('no', compression_type=kind)",
    ),
    (
        """
        class M(tf.Module):
            pass
        m = M()
        m.a = tf.Variable(1.0)
        path = tf.train.Checkpoint(m).save("c")
        tf.train.Checkpoint(M()).restore(path).assert_consumed()
        """,
        """
        class M(tf.Module):
            pass
        m = M()
        m.a = tf.Variable(1.0)
        path = tf.train.Checkpoint(m).save("c")
        tf.train.Checkpoint(M()).restore(path).expect_partial()
        built = M()
        built.a = tf.Variable(0.0)
        tf.train.Checkpoint(built).restore(path).assert_consumed()
        """,
    ),
    (
        """
        tf.saved_model.save(tf.Module(), "saved")
        tf.saved_model.load("saved", tags=["train"])
        """,
        """
        tf.saved_model.save(tf.Module(), "saved")
        tf.saved_model.load("saved")
        tf.saved_model.load("saved", tags=None)
        """,
    ),
    (
        "tf.train.export_stablehlo(lambda x: x, 'f.mlir', input_signature=[tf.TensorSpec(None)])",
        "tf.train.export_stablehlo(lambda x: x, 'f.mlir', input_signature=[tf.TensorSpec([None, 3])])",
    ),
    (
        """
        tf.train.export_stablehlo(
            lambda x: tf.image.resize(x, [9, 9], "bicubic"), "f.mlir", input_signature=[tf.TensorSpec([1, None, None, 1])]
        )
        """,
        """
        tf.train.export_stablehlo(
            lambda x: tf.image.resize(x, [9, 9], "bicubic"), "f.mlir", input_signature=[tf.TensorSpec([1, 8, 8, 1])]
        )
        """,
    ),
    (
        "tf.train.export_stablehlo(lambda x: x + np.sqrt(x.shape[0]), 'f.mlir', input_signature=[tf.TensorSpec([None])])",
        "tf.train.export_stablehlo(lambda x: x + np.sqrt(x.shape[0]), 'f.mlir', input_signature=[tf.TensorSpec([3])])",
    ),
    (
        "tf.train.export_stablehlo(lambda x: v3.assign(x), 'f.mlir', input_signature=[tf.TensorSpec([3])])",
        """
        tf.train.export_stablehlo(lambda x: v3 + x, "f.mlir", input_signature=[tf.TensorSpec([3])])
        layer = tf.keras.layers.BatchNormalization()
        layer.build([None, 3])
        tf.train.export_stablehlo(lambda x: layer(x, training=False), "f.mlir", input_signature=[tf.TensorSpec([2, 3])])
        """,
    ),
    (
        "tf.train.export_stablehlo(tf.keras.layers.Dense(2), 'f.mlir')",
        "tf.train.export_stablehlo(tf.keras.layers.Flatten(), 'f.mlir', input_signature=[tf.TensorSpec([None, 28, 28])])",
    ),
    (
        "tf.summary.create_file_writer(None)",
        """
        tf.summary.create_file_writer("logs")
        tf.summary.create_noop_writer()
        """,
    ),
    (
        "with tf.summary.create_file_writer('logs').as_default(): tf.summary.text('a', x3, step=0)",
        "with tf.summary.create_file_writer('logs').as_default(): tf.summary.text('a', tf.strings.as_string(x3), step=0)",
    ),
    (
        """
        w = tf.summary.create_file_writer("logs")
        w.close()
        with w.as_default():
            tf.summary.scalar("a", 1.0, step=0)
        """,
        """
        w = tf.summary.create_file_writer("logs")
        with w.as_default():
            tf.summary.scalar("a", 1.0, step=0)
        """,
    ),
    (
        """
        w = tf.summary.create_file_writer("logs")
        w.close()
        w.set_as_default()
        """,
        """
        tf.summary.create_file_writer("logs").set_as_default()
        tf.summary.create_noop_writer().set_as_default()
        """,
    ),
    (
        """
        with tf.Graph().as_default() as graph:
            v = tf.compat.v1.get_variable("v", [])
        tf.train.Checkpoint(v=v).save("c")
        """,
        """
        with tf.Graph().as_default() as graph:
            v = tf.compat.v1.get_variable("v", [])
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(v.initializer)
            with session.as_default():
                tf.train.Checkpoint(v=v).save("c")
        """,
    ),
    (
        "tf.data.Dataset.range(3).reduce(0, lambda s, x: tf.cast(s, tf.float32))",
        """
        tf.data.Dataset.range(3).reduce(0, lambda s, x: tf.cast(s + 1, tf.int32))
        tf.data.Dataset.range(3).reduce(0.0, lambda s, x: s + 1.5)
        """,
    ),
    (
        "tf.data.Dataset.range(3).prefetch(-2)",
        "tf.data.Dataset.range(3).prefetch(buffer_size=-1)",
    ),
    (
        """
        with tf.Graph().as_default():
            tf.io.matching_files("*")
        """,
        """
        names = tf.data.Dataset.from_tensors("*").map(tf.io.matching_files)
        next(iter(names))
        found = tf.io.matching_files("*").numpy()
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            fed = tf.compat.v1.placeholder(tf.string, [None])
            session.run(tf.strings.length(fed), {fed: found})
        """,
    ),
    (
        """
        module = tf.Module()
        module.f = tf.function(lambda x: x * x.shape[0] ** 0.5, input_signature=[tf.TensorSpec([None])])
        tf.saved_model.save(module, "m")
        """,
        """
        module = tf.Module()
        module.f = tf.function(lambda x: x * x.shape[0] ** 0.5, input_signature=[tf.TensorSpec([4])])
        scaled = lambda x: x * tf.cast(tf.shape(x)[0], tf.float32) ** 0.5
        module.g = tf.function(scaled, input_signature=[tf.TensorSpec([None])])
        tf.saved_model.save(module, "m")
        assert tf.saved_model.load("m").g(tf.ones([4]))[0] == 2.0
        """,
    ),
]
