"""Programs of tables, and of Keras's layers that look strings and integers up: each gives what is compared with TensorFlow's.

`python tests/lookup/programs.py`, with TensorFlow 2.21 installed, writes what they give there into `tensorflow.json`.
"""

import json
import os
import tempfile
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("tensorflow.json")
VOCABULARY = ["a", "b", "c"]
SENTENCES = ["The cat sat, on the mat.", "the DOG ran!"]


def shown(result):
    """A result as JSON takes it: dtype and values of tensors, rows of ragged ones, nests of these."""
    if isinstance(result, list | tuple):
        return [shown(each) for each in result]
    if isinstance(result, dict):
        return {name: shown(each) for name, each in result.items()}
    if hasattr(result, "to_list"):
        return shown(result.to_list())
    if hasattr(result, "indices"):
        return shown([result.indices, result.values, result.dense_shape])
    if hasattr(result, "numpy"):
        result = result.numpy()
    if isinstance(result, np.ndarray | np.generic) and not isinstance(result, str):
        values = np.round(result, 4).tolist() if result.dtype.kind == "f" else shown(result.tolist())
        return values if isinstance(result, np.generic) else [str(result.dtype), values]
    return result.decode() if isinstance(result, bytes) else str(result) if isinstance(result, str) else result


def outcome(program, tf):
    """What a program gives, or the class and first words of its error."""
    try:
        return shown(program(tf))
    except Exception as error:
        text = str(error).splitlines()[0].rpartition("}} ")[2].removesuffix(" name: ")
        return f"{type(error).__name__}: {text}"


def written(name, text):
    path = os.path.join(tempfile.mkdtemp(), name)
    Path(path).write_text(text)
    return path


def static(tf, keys=("a", "b"), values=(1, 2), default=-1, **types):
    keys, values = (list(x) if isinstance(x, tuple) else x for x in (keys, values))
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values, **types), default)


def words(tf, buckets=2, **options):
    pairs = tf.lookup.KeyValueTensorInitializer(VOCABULARY, tf.constant([0, 1, 2], tf.int64))
    return tf.lookup.StaticVocabularyTable(pairs, buckets, **options)


def of_file(tf, text, *columns, **options):
    return tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(written("table.txt", text), *columns, **options), -1)


def lines(tf, text="cat\ndog\nbird\n", **options):
    index = tf.lookup.TextFileIndex
    return of_file(tf, text, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER, **options)


def changing(tf):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
    table.insert(["x", "y"], tf.constant([1, 2], tf.int64))
    return table


def removed(tf):
    table = changing(tf)
    table.remove(tf.constant(["x", "nobody"]))
    return table.lookup(["x", "y"]), table.size()


def vectors(tf):
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, default_value=[0.0, 0.0])
    table.insert(tf.constant([1, 2], tf.int64), [[1.0, 2.0], [3.0, 4.0]])
    return table.lookup(tf.constant([[2], [9]], tf.int64))


def in_a_function(tf):
    table = changing(tf)

    @tf.function
    def step(key, value):
        before = table.lookup(key)
        table.insert(key, value)
        return before, table.lookup(key), table.size()

    key = tf.constant(["n"])
    return step(key, tf.constant([9], tf.int64)), step(key, tf.constant([10], tf.int64)), table.size()


def counted(tf):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=0)
    for word in ["a", "b", "a"]:
        table.insert(word, table.lookup(word) + 1)
    keys, values = table.export()
    return sorted(zip(keys.numpy().tolist(), values.numpy().tolist(), strict=True))


def dense(tf, **options):
    keys = {"empty_key": "", "deleted_key": "$"} | options
    return tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, default_value=-1, **keys)


def dense_used(tf):
    table = dense(tf)
    table.insert(["x", "y"], tf.constant([3, 4], tf.int64))
    table.erase(tf.constant(["x"]))
    return table.lookup(["x", "y"]), table.size()


def gradient(tf):
    weights = tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        rows = tf.nn.embedding_lookup(weights, static(tf, default=0).lookup(tf.constant(["a", "z"])))
        loss = tf.reduce_sum(rows * rows)
    return tf.convert_to_tensor(tape.gradient(loss, weights))


def mapped(tf):
    table = static(tf)
    words = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
    return list(words.map(table.lookup)), list(words.batch(2).map(lambda x: table.lookup(x) * 2))


def called(tf):
    table = static(tf)
    return tf.function(lambda x: table.lookup(x) * 2)(tf.constant(["a", "q"]))


def called_with_numbers(tf):
    """Whole numbers in a function, whose Program has no strings; `gather` behind it, with a gradient."""
    table = static(tf, (1, 2, 5), (0, 1, 1), 2, key_dtype=tf.int64, value_dtype=tf.int64)
    weights = tf.Variable([[1.0], [2.0], [3.0]])

    @tf.function
    def step(codes):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(weights, table.lookup(codes)) ** 2)
        return table.lookup(codes + 1), tf.convert_to_tensor(tape.gradient(loss, weights))

    return [step(tf.constant(codes, tf.int64)) for codes in ([1, 9], [5, 1])]


TABLES = {
    "found": lambda tf: static(tf).lookup(tf.constant([["a"], ["c"]])),
    "by index": lambda tf: static(tf)[tf.constant("b")],
    "size": lambda tf: static(tf).size(),
    "export": lambda tf: static(tf, ("a",), (1,)).export(),
    "other dtype": lambda tf: static(tf).lookup(tf.constant([1, 2])),
    "twice the same": lambda tf: static(tf, ("a", "a"), (1, 1)).size(),
    "twice another": lambda tf: static(tf, ("a", "a"), (1, 2)),
    "more values": lambda tf: static(tf, ("a", "b"), (1, 2, 3)),
    "integers": lambda tf: static(tf, np.array([3, 4]), ("x", "y"), "none").lookup(tf.constant([4, 9], tf.int64)),
    "integers of 32 bits for 64": lambda tf: static(tf, np.array([3, 4]), ("x", "y"), "none").lookup(tf.constant([4, 9])),
    "floats": lambda tf: static(tf, ("a",), (1.5,), 0.0).lookup(tf.constant(["a", "z"])),
    "truths": lambda tf: static(tf, ("a",), (True,), False).lookup(tf.constant(["a", "b"])),
    "types": lambda tf: static(tf, ("a",), (1,), -1, key_dtype=tf.string, value_dtype=tf.int64).lookup(tf.constant(["a"])),
    "ragged": lambda tf: static(tf).lookup(tf.ragged.constant([["a"], ["b", "z"]])),
    "sparse": lambda tf: static(tf).lookup(tf.sparse.from_dense(tf.constant([["a", ""], ["", "z"]]))),
    "function": called,
    "function, numbers": called_with_numbers,
    "dataset": mapped,
    "gradient": gradient,
    "words": lambda tf: words(tf).lookup(tf.constant(["a", "c", "x", "y", "zed"])),
    "words, size": lambda tf: (words(tf).size(), words(tf, 3).size()),
    "words, no bucket": lambda tf: words(tf, 0),
    "words, 32 bits": lambda tf: tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a"], [0]), 1),
    "no words": lambda tf: tf.lookup.StaticVocabularyTable(None, 3).lookup(tf.constant(["a", "b"])),
    "words, integers": lambda tf: tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([5, 6], tf.int64), tf.constant([0, 1], tf.int64)), 3
    ).lookup(tf.constant([5, 7, 9], tf.int64)),
    "words, ragged": lambda tf: words(tf).lookup(tf.ragged.constant([["a"], ["b", "z"]])),
    "words, other dtype": lambda tf: words(tf).lookup(tf.constant([1])),
    "lines": lambda tf: lines(tf).lookup(tf.constant(["dog", "cow"])),
    "lines, some": lambda tf: lines(tf, vocab_size=2).size(),
    "lines, from 3": lambda tf: lines(tf, value_index_offset=3).lookup(tf.constant(["cat"])),
    "lines, of Windows": lambda tf: lines(tf, "cat\r\ndog\r\n").lookup(tf.constant(["dog"])),
    "columns": lambda tf: of_file(tf, "cat\t10\ndog\t20\n", tf.string, 0, tf.int64, 1).lookup(tf.constant(["dog", "cow"])),
    "columns, other sign": lambda tf: of_file(tf, "cat 10\n", tf.string, 0, tf.int64, 1, delimiter=" ").size(),
    "no number": lambda tf: of_file(tf, "cat\n", tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, 0),
    "no file": lambda tf: (
        tf.lookup.TextFileInitializer("/nobody.txt", tf.string, -2, tf.int64, -1)
        and tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer("/nobody.txt", tf.string, -2, tf.int64, -1), -1)
    ),
    "number of a line, as a string": lambda tf: tf.lookup.TextFileInitializer("x", tf.string, -1, tf.int64, -2),
    "changing": lambda tf: changing(tf).lookup(["x", "q"]),
    "changing, size": lambda tf: changing(tf).size(),
    "changing, by index": lambda tf: changing(tf)["x"],
    "changing, other defaults": lambda tf: changing(tf).lookup(["x", "q"], dynamic_default_values=tf.constant([7, 8], tf.int64)),
    "changing, fewer values": lambda tf: changing(tf).insert(["z", "w"], tf.constant([2], tf.int64)),
    "removed": removed,
    "vectors": vectors,
    "in a function": in_a_function,
    "counted": counted,
    "dense": dense_used,
    "dense, empty key": lambda tf: dense(tf).lookup([""]),
    "dense, empty key inserted": lambda tf: dense(tf).insert([""], tf.constant([1], tf.int64)),
    "crossed": lambda tf: tf.sparse.cross_hashed([tf.constant([["a", "b"], ["c", "d"]]), tf.constant([[1], [2]])], 100),
    "n-grams of rows": lambda tf: tf.strings.ngrams(tf.ragged.constant([["a", "b", "c"], ["d"], []]), 2),
    "rows joined": lambda tf: tf.strings.reduce_join(tf.ragged.constant([["a", "b"], ["c"], []]), axis=-1, separator="-"),
    "rows of rows joined": lambda tf: tf.strings.reduce_join(tf.ragged.constant([[["a", "b"], ["c"]], [["d"]]]), axis=-1),
    "flat values": lambda tf: tf.ragged.map_flat_values(tf.add, tf.ragged.constant([[1, 2], [3]]), 1),
}

WORDS = [["a", "c", "z"], ["b", "", "a"]]


def string_lookup(tf, words=WORDS, **options):
    return tf.keras.layers.StringLookup(**({"vocabulary": VOCABULARY} | options))(tf.constant(words))


def adapted(tf, data, **options):
    layer = tf.keras.layers.StringLookup(**options)
    layer.adapt(data)
    return layer.get_vocabulary(), layer(tf.constant(WORDS))


def adapted_integers(tf):
    layer = tf.keras.layers.IntegerLookup()
    layer.adapt(np.array([3, 3, 7, 1]))
    return layer.get_vocabulary(), layer(np.array([7, 9]))


def vectorized(tf, **options):
    layer = tf.keras.layers.TextVectorization(**options)
    layer.adapt(SENTENCES)
    return layer.get_vocabulary()[:8], layer(tf.constant(SENTENCES))


def cleaned(tf):
    return vectorized(tf, standardize=lambda x: tf.strings.regex_replace(tf.strings.lower(x), "[^a-z ]", ""))


def sentences_of_a_dataset(tf):
    layer = tf.keras.layers.TextVectorization(output_sequence_length=4)
    batches = tf.data.Dataset.from_tensor_slices((SENTENCES, [0, 1])).batch(2)
    layer.adapt(batches.map(lambda x, y: x))
    return list(batches.map(lambda x, y: (layer(x), y)))


def model_of_words(tf):
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(0)
    vectorize = layers.TextVectorization(output_sequence_length=4, max_tokens=20)
    vectorize.adapt(SENTENCES)
    parts = [layers.Embedding(20, 4), layers.GlobalAveragePooling1D(), layers.Dense(1)]
    model = tf.keras.Sequential([tf.keras.Input((1,), dtype="string"), vectorize, *parts])
    model.compile("sgd", "mse")
    history = model.fit(tf.constant([[s] for s in SENTENCES]), np.array([0.0, 1.0]), epochs=2, verbose=0).history
    return np.array(history["loss"], "float32"), model.predict(tf.constant([["the cat"]]), verbose=0)


def saved_model_of_words(tf):
    vectorize = tf.keras.layers.TextVectorization(output_sequence_length=4)
    vectorize.adapt(SENTENCES)
    model = tf.keras.Sequential([tf.keras.Input((1,), dtype="string"), vectorize])
    path = os.path.join(tempfile.mkdtemp(), "model.keras")
    model.save(path)
    return tf.keras.models.load_model(path)(tf.constant([["the cat"]]))


def columns(tf):
    layers, keras = tf.keras.layers, tf.keras
    kind, number = keras.Input((1,), name="kind", dtype="string"), keras.Input((1,), name="number")
    encoded = layers.StringLookup(vocabulary=VOCABULARY, output_mode="one_hot")(kind)
    both = layers.Concatenate()([encoded, layers.Normalization(mean=1.0, variance=4.0)(number)])
    model = keras.Model({"kind": kind, "number": number}, both)
    return model({"kind": tf.constant([["a"], ["q"]]), "number": tf.constant([[1.0], [3.0]])})


def feature_space(tf):
    space = tf.keras.utils.FeatureSpace
    features = {"kind": space.string_categorical(num_oov_indices=0), "number": space.float_normalized()}
    made = space(features, output_mode="concat")
    made.adapt(tf.data.Dataset.from_tensor_slices({"kind": ["a", "b", "a"], "number": [1.0, 2.0, 3.0]}))
    return made({"kind": ["a", "b"], "number": [1.0, 2.0]})


def looked_up_in_a_function(tf):
    layer = tf.keras.layers.TextVectorization(vocabulary=["cat", "dog"], output_sequence_length=3)
    return tf.function(lambda x: layer(x) + 1)(tf.constant(["cat cow"]))


KERAS = {
    "strings": string_lookup,
    "strings, one hot": lambda tf: string_lookup(tf, WORDS[0], output_mode="one_hot"),
    "strings, multi hot": lambda tf: string_lookup(tf, output_mode="multi_hot"),
    "strings, count": lambda tf: string_lookup(tf, output_mode="count"),
    "strings, tf-idf": lambda tf: string_lookup(tf, output_mode="tf_idf", idf_weights=[0.5, 0.25, 0.1]),
    "strings, mask": lambda tf: string_lookup(tf, mask_token="", num_oov_indices=2),
    "strings, inverse": lambda tf: tf.keras.layers.StringLookup(vocabulary=VOCABULARY, invert=True)(tf.constant([[1, 3, 0]])),
    "strings, padded": lambda tf: string_lookup(tf, max_tokens=6, output_mode="multi_hot", pad_to_max_tokens=True),
    "strings, file": lambda tf: string_lookup(tf, vocabulary=written("words.txt", "a\nb\nc\n")),
    "strings, adapted": lambda tf: adapted(tf, np.array([["x", "a"], ["a", "b"]])),
    "strings, of a dataset": lambda tf: adapted(tf, tf.data.Dataset.from_tensor_slices(["x", "a", "a", "b"]).batch(2)),
    "strings, the most frequent": lambda tf: adapted(tf, tf.constant(["x", "a", "a", "b"]), max_tokens=3),
    "strings, weighted": lambda tf: adapted(tf, tf.constant([["x", "a"], ["a", "b"]]), output_mode="tf_idf"),
    "integers": lambda tf: tf.keras.layers.IntegerLookup(vocabulary=[10, 20, 30])(tf.constant([[10, 5], [30, 20]])),
    "integers, two others": lambda tf: tf.keras.layers.IntegerLookup(vocabulary=[10, 20], num_oov_indices=2)(
        np.array([10, 11, 12, 13])
    ),
    "integers, adapted": adapted_integers,
    "text": vectorized,
    "text, length": lambda tf: vectorized(tf, output_sequence_length=4),
    "text, most frequent": lambda tf: vectorized(tf, max_tokens=4),
    "text, pairs": lambda tf: vectorized(tf, ngrams=2),
    "text, multi hot": lambda tf: vectorized(tf, output_mode="multi_hot"),
    "text, count": lambda tf: vectorized(tf, output_mode="count"),
    "text, tf-idf": lambda tf: vectorized(tf, output_mode="tf_idf"),
    "text, characters": lambda tf: vectorized(tf, split="character", output_sequence_length=6),
    "text, as it is": lambda tf: vectorized(tf, standardize=None),
    "text, cleaned": cleaned,
    "text, ragged": lambda tf: vectorized(tf, ragged=True),
    "text, not adapted": lambda tf: tf.keras.layers.TextVectorization().get_vocabulary(),
    "text, of a dataset": sentences_of_a_dataset,
    "text, in a function": looked_up_in_a_function,
    "model": model_of_words,
    "saved model": saved_model_of_words,
    "columns": columns,
    "feature space": feature_space,
    "hashing": lambda tf: tf.keras.layers.Hashing(num_bins=3)(tf.constant([["A"], ["B"], ["C"], ["D"], ["E"]])),
    "hashing, mask": lambda tf: tf.keras.layers.Hashing(num_bins=3, mask_value="")(tf.constant([["A"], ["B"], [""]])),
    "hashing, salt": lambda tf: tf.keras.layers.Hashing(num_bins=3, salt=[133, 137])(tf.constant([["A"], ["B"], ["C"]])),
    "hashing, integers": lambda tf: tf.keras.layers.Hashing(num_bins=5)(np.array([[1], [2], [7]])),
    "crossing": lambda tf: tf.keras.layers.HashedCrossing(num_bins=5)(
        (tf.constant(["A", "B", "A"]), tf.constant([101, 101, 102]))
    ),
}

PROGRAMS = {f"tables: {name}": program for name, program in TABLES.items()} | {
    f"Keras: {name}": program for name, program in KERAS.items()
}

if __name__ == "__main__":
    import tensorflow

    found = {name: outcome(program, tensorflow) for name, program in PROGRAMS.items()}
    FILE.write_text(json.dumps(found, indent=1) + "\n")
