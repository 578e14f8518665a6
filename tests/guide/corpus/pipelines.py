"""Programs of books and courses: what comes from files, windows of series and texts, and Keras models on them."""

# Written as users write: zip without strict=.
# ruff: noqa: B905

import os
import tempfile

import numpy as np

from tests.guide.corpus.table import data, program


@program
def csv_files_interleaved(tf):
    rows = data(60, 4)
    mean, std = rows[:, :3].mean(0), rows[:, :3].std(0)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for part in range(6):
            paths.append(os.path.join(folder, f"part_{part}.csv"))
            with open(paths[-1], "w") as file:
                file.write("a,b,c,target\n")
                file.writelines(",".join(f"{v:.6f}" for v in row) + "\n" for row in rows[part::6])

        def preprocess(line):
            defaults = [0.0] * 3 + [tf.constant([], dtype=tf.float32)]
            fields = tf.io.decode_csv(line, record_defaults=defaults)
            return (tf.stack(fields[:-1]) - mean) / std, tf.stack(fields[-1:])

        names = tf.data.Dataset.list_files(paths, seed=42)
        read = names.interleave(lambda path: tf.data.TextLineDataset(path).skip(1), cycle_length=3)
        batches = read.map(preprocess, num_parallel_calls=2).shuffle(20, seed=42).batch(16).prefetch(1)
        order = [os.path.basename(name.numpy()).decode() for name in names]
        first = [(x, y) for x, y in batches.take(2)]
        sizes = [int(x.shape[0]) for x, _ in batches]
        weights = tf.Variable(tf.zeros([3, 1]))
        for x, y in batches.repeat(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(x @ weights - y))
            weights.assign_sub(0.05 * tape.gradient(loss, weights))
    return order, first, sizes, weights, loss


@program
def records_of_examples(tf):
    def feature(value):
        if isinstance(value, bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
        if isinstance(value, list):
            return tf.train.Feature(float_list=tf.train.FloatList(value=value))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    images = (data(7, 4, 5) * 40 + 128).clip(0, 255).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "images.tfrecord")
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type="GZIP")) as writer:
            for number, image in enumerate(images):
                features = {
                    "image": feature(tf.io.serialize_tensor(tf.constant(image)).numpy()),
                    "label": feature(number % 3),
                    "tags": feature([0.5 * k for k in range(number % 3)]),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())

        description = {
            "image": tf.io.FixedLenFeature([], tf.string, default_value=""),
            "label": tf.io.FixedLenFeature([], tf.int64),
            "tags": tf.io.VarLenFeature(tf.float32),
        }

        def parse(serialized):
            parsed = tf.io.parse_single_example(serialized, description)
            image = tf.reshape(tf.io.parse_tensor(parsed["image"], out_type=tf.uint8), [4, 5])
            return tf.cast(image, tf.float32) / 255.0, parsed["label"], tf.sparse.to_dense(parsed["tags"])

        records = tf.data.TFRecordDataset(path, compression_type="GZIP")
        shapes = ([4, 5], [], [None])
        batches = list(records.map(parse).padded_batch(4, padded_shapes=shapes))
        together = tf.io.parse_example([r.numpy() for r in records], description)
    return batches, together["label"], together["tags"].indices, together["tags"].values, together["tags"].dense_shape


@program
def windows_of_a_text(tf):
    text = "to be or not to be that is the question " * 3
    characters = sorted(set(text))
    lookup = tf.keras.layers.StringLookup(vocabulary=characters)
    back = tf.keras.layers.StringLookup(vocabulary=lookup.get_vocabulary(), invert=True)
    ids = lookup(tf.strings.unicode_split(text, "UTF-8"))

    def to_dataset(sequence, length, shuffle=False, batch_size=4):
        ds = tf.data.Dataset.from_tensor_slices(sequence)
        ds = ds.window(length + 1, shift=1, drop_remainder=True)
        ds = ds.flat_map(lambda window: window.batch(length + 1))
        if shuffle:
            ds = ds.shuffle(50, seed=42)
        return ds.batch(batch_size).map(lambda window: (window[:, :-1], window[:, 1:])).prefetch(1)

    plain = list(to_dataset(ids, 6).take(2))
    shuffled = list(to_dataset(ids, 6, shuffle=True).take(2))
    words = [tf.strings.reduce_join(back(x), axis=-1) for x, _ in shuffled]
    # how often each letter follows another, and a text drawn from that
    counts = tf.math.bincount(ids[:-1] * len(characters) + ids[1:], minlength=(len(characters) + 1) ** 2)
    table = tf.math.log(tf.reshape(tf.cast(counts[: len(characters) ** 2], tf.float32), [len(characters), -1]) + 0.1)
    tf.random.set_seed(42)
    letter, drawn = tf.constant(3, tf.int64), []
    for _ in range(8):
        letter = tf.random.categorical(table[letter][tf.newaxis] / 0.7, num_samples=1)[0, 0]
        drawn.append(letter)
    return plain, shuffled, words, counts, drawn


@program
def windows_of_a_series(tf):
    series = np.stack([np.sin(np.arange(40) / 4.0), np.arange(40) / 40.0], axis=-1).astype(np.float32)
    made = tf.keras.utils.timeseries_dataset_from_array(
        series, series[5:, 0], sequence_length=5, batch_size=8, shuffle=True, seed=42
    )
    first = list(made.take(2))

    def split(window):
        inputs, labels = window[:, :-2, :], window[:, -2:, 0:1]
        inputs.set_shape([None, 4, None])
        return inputs, labels

    ds = tf.data.Dataset.from_tensor_slices(series).window(6, shift=3, drop_remainder=True)
    ds = ds.flat_map(lambda w: w.batch(6)).batch(4).map(split)
    return first, list(ds.take(1)), [int(x.shape[0]) for x, _ in ds]


@program
def translation_with_recurrent_layers(tf):
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(42)
    rng = np.random.default_rng(5)
    source, target = rng.integers(1, 12, [24, 5]), rng.integers(1, 12, [24, 6])
    source[:, 3:] *= rng.integers(0, 2, [24, 1])  # 0 is padding
    encoder_in, decoder_in = layers.Input([5], dtype="int64"), layers.Input([5], dtype="int64")
    embedded = layers.Embedding(12, 8, mask_zero=True)(encoder_in)
    outputs, *states = layers.Bidirectional(layers.LSTM(6, return_sequences=True, return_state=True))(embedded)
    states = [layers.Concatenate()(states[::2]), layers.Concatenate()(states[1::2])]
    decoder = layers.LSTM(12, return_sequences=True)
    decoded = decoder(layers.Embedding(12, 8, mask_zero=True)(decoder_in), initial_state=states)
    attended = layers.Attention()([decoded, outputs])
    probabilities = layers.Dense(12, activation="softmax")(attended)
    model = tf.keras.Model([encoder_in, decoder_in], probabilities)
    start = [tf.reduce_sum(tf.abs(w)) for w in model.get_weights()]
    model.compile(loss="sparse_categorical_crossentropy", optimizer="nadam", metrics=["accuracy"])
    history = model.fit([source, target[:, :-1]], target[:, 1:], batch_size=8, epochs=2, verbose=0)
    predicted = model.predict([source[:2], target[:2, :-1]], verbose=0)
    return start, {name: np.float32(values) for name, values in history.history.items()}, predicted


@program
def large_recurrent_weights(tf):
    tf.keras.utils.set_random_seed(7)
    layer = tf.keras.layers.GRU(80)
    layer.build([None, 3, 16])
    kernel, recurrent, bias = layer.get_weights()
    return (
        kernel[0, :8],
        recurrent[:2, :8],
        recurrent[-1, -8:],
        bool(np.allclose(recurrent @ recurrent.T, np.eye(80), atol=1e-5)),
        bias.shape,
    )


@program
def policy_gradient_of_a_keras_model(tf):
    tf.keras.utils.set_random_seed(42)
    model = tf.keras.Sequential([tf.keras.layers.Dense(5, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
    optimizer, loss_fn = tf.keras.optimizers.Nadam(learning_rate=0.01), tf.keras.losses.binary_crossentropy

    def play_one_step(obs):
        with tf.GradientTape() as tape:
            left = model(obs[np.newaxis])
            action = tf.random.uniform([1, 1]) > left
            wanted = tf.constant([[1.0]]) - tf.cast(action, tf.float32)
            loss = tf.reduce_mean(loss_fn(wanted, left))
        push = 1.0 if bool(action[0, 0]) else -1.0
        position, speed = obs
        speed = np.float32(0.9 * speed + 0.1 * push - 0.1 * position)
        return (
            np.array([position + speed, speed], np.float32),
            1.0 - abs(float(position)),
            tape.gradient(loss, model.trainable_variables),
        )

    def discount(rewards, factor):
        discounted = np.array(rewards)
        for step in range(len(rewards) - 2, -1, -1):
            discounted[step] += discounted[step + 1] * factor
        return discounted

    totals = []
    for _ in range(3):
        rewards, grads = [], []
        for episode in range(2):
            obs = np.array([0.1 * episode, -0.05], np.float32)
            rewards.append([])
            grads.append([])
            for _ in range(6):
                obs, reward, grad = play_one_step(obs)
                rewards[-1].append(reward)
                grads[-1].append(grad)
        final = [discount(r, 0.95) for r in rewards]
        flat = np.concatenate(final)
        final = [(r - flat.mean()) / flat.std() for r in final]
        means = []
        for index in range(len(model.trainable_variables)):
            scaled = [f * grads[e][s][index] for e, fs in enumerate(final) for s, f in enumerate(fs)]
            means.append(tf.reduce_mean(scaled, axis=0))
        optimizer.apply_gradients(zip(means, model.trainable_variables))
        totals.append(sum(map(sum, rewards)))
    return totals, means, model.get_weights()
