"""Programs of RaggedTensors: each gives what is compared with TensorFlow's.

`python tests/ops/ragged/programs.py`, with TensorFlow 2.21 installed, writes what they give there into `tensorflow.json`.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np

FILE = Path(__file__).with_name("tensorflow.json")


def values(tf):
    """The tensors that the programs begin with."""
    row = tf.ragged.constant
    return SimpleNamespace(
        row=row,
        a=row([[1, 2, 3], [4], [5, 6]]),
        b=row([[10, 20], [30, 40], [50]]),
        e1=row([[1], [2], [3]]),
        z=row([[1.0, 2.0, 3.0], [], [5.0, 6.0]]),
        n3=row([[[1, 2], [3]], [[4, 5, 6]]]),
        u=row([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], ragged_rank=1),
        s=row([["Cat", " dog "], ["n\u00e9e"]]),
    )


def shown(result):
    """A result as JSON takes it: shape, dtype and values of tensors, nests of these."""
    if isinstance(result, list | tuple):
        return [shown(each) for each in result]
    if isinstance(result, dict):
        return {name: shown(each) for name, each in result.items()}
    if hasattr(result, "dense_shape"):
        return shown([result.indices, result.values, result.dense_shape])
    if hasattr(result, "to_list"):
        return [str(result.shape), result.dtype.name, plain(result.to_list())]
    if hasattr(result, "numpy"):
        return [str(result.shape), result.dtype.name, plain(result.numpy().tolist() if result.shape.rank else result.numpy())]
    return plain(result)


def plain(value):
    """Lists of numbers and strings, floats rounded, what is not finite as text."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return round(value, 4) if np.isfinite(value) else str(value)
    return value.decode("latin1") if isinstance(value, bytes) else value


def outcome(program, tf):
    """What a program gives, or the class of its error."""
    try:
        return shown(program(tf, values(tf)))
    except Exception as error:
        return f"error: {type(error).__name__}"


def grad(tf, x, function):
    """The gradient of a function at x, dense."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tf.convert_to_tensor(tape.gradient(y, x))


def of_rows(tf, rows):
    """The gradient of a RaggedTensor with respect to another."""
    with tf.GradientTape() as tape:
        tape.watch(rows)
        y = rows * rows
    return tape.gradient(y, rows)


def traces(tf):
    """How often a function of rows of other lengths is traced."""
    count = []

    @tf.function
    def doubled(x):
        count.append(1)
        return x * 2

    results = [doubled(tf.ragged.constant(rows)).to_list() for rows in ([[1], [2, 3]], [[1, 2, 3], []], [[], [4]])]
    return [len(count), results]


def elements(tf, rows):
    """What iterating over the rows of a dataset gives."""
    return [*tf.data.Dataset.from_tensor_slices(rows)]


PROGRAMS = {
    "mismatch": lambda tf, v: v.a + v.b,
    "len1": lambda tf, v: v.a + v.e1,
    "len1b": lambda tf, v: v.e1 + v.a,
    "dense1": lambda tf, v: v.a + tf.constant([[10], [20], [30]]),
    "dense row": lambda tf, v: v.a + tf.constant([10]),
    "dense bad": lambda tf, v: v.a + tf.constant([10, 20]),
    "dense 1x1": lambda tf, v: tf.constant([[10]]) + v.a,
    "nest + a?": lambda tf, v: v.n3 + v.row([[10], [20]]),
    "n3+": lambda tf, v: v.n3 + v.row([[10, 20], [30]])[:, :, tf.newaxis],
    "one row": lambda tf, v: v.a[:1] + v.a[:1],
    "outer bc": lambda tf, v: v.row([[1, 2, 3]]) + v.row([[1, 2, 3], [4, 5, 6]]),
    "mixed dt": lambda tf, v: v.a + 1.5,
    "mixed dt2": lambda tf, v: v.a + v.z,
    "max ax0": lambda tf, v: tf.reduce_max(v.z, axis=0),
    "max ax1": lambda tf, v: tf.reduce_max(v.z, axis=1),
    "mean ax1": lambda tf, v: tf.reduce_mean(v.z, axis=1),
    "mean ax0": lambda tf, v: tf.reduce_mean(v.z, axis=0),
    "sum none": lambda tf, v: tf.reduce_sum(v.z),
    "sum keep": lambda tf, v: tf.reduce_sum(v.z, axis=1, keepdims=True),
    "sum keep none": lambda tf, v: tf.reduce_sum(v.z, keepdims=True),
    "sum -1": lambda tf, v: tf.reduce_sum(v.z, axis=-1),
    "sum [0,1]": lambda tf, v: tf.reduce_sum(v.z, axis=[0, 1]),
    "n3 sum0": lambda tf, v: tf.reduce_sum(v.n3, axis=0),
    "n3 sum1": lambda tf, v: tf.reduce_sum(v.n3, axis=1),
    "n3 sum2": lambda tf, v: tf.reduce_sum(v.n3, axis=2),
    "n3 sum12": lambda tf, v: tf.reduce_sum(v.n3, axis=[1, 2]),
    "n3 sum02": lambda tf, v: tf.reduce_sum(v.n3, axis=[0, 2]),
    "n3 sum2k": lambda tf, v: tf.reduce_sum(v.n3, axis=2, keepdims=True),
    "mean int": lambda tf, v: tf.reduce_mean(v.a, axis=1),
    "std": lambda tf, v: tf.math.reduce_std(v.z, axis=1),
    "var": lambda tf, v: tf.math.reduce_variance(v.z, axis=1),
    "any": lambda tf, v: tf.reduce_any(v.z > 2, axis=1),
    "all": lambda tf, v: tf.reduce_all(v.z > 2, axis=1),
    "prod": lambda tf, v: tf.reduce_prod(v.z, axis=1),
    "axis5": lambda tf, v: tf.reduce_sum(v.z, axis=5),
    "concat0": lambda tf, v: tf.concat([v.a, v.b], 0),
    "concat1": lambda tf, v: tf.concat([v.a, v.b], 1),
    "concat -1": lambda tf, v: tf.concat([v.a, v.b], -1),
    "concat dense": lambda tf, v: tf.concat([v.a, [[5, 3]]], 0),
    "concat bad": lambda tf, v: tf.concat([v.a, v.b[:2]], 1),
    "concat2": lambda tf, v: tf.concat([v.n3, v.n3], 2),
    "stack0": lambda tf, v: tf.stack([v.a, v.b]),
    "stack1": lambda tf, v: tf.stack([v.a, v.b], 1),
    "stack2": lambda tf, v: tf.stack([v.a, v.a], 2),
    "ragged stack": lambda tf, v: tf.ragged.stack([[1, 2], [3]]),
    "gather": lambda tf, v: tf.gather(v.a, [2, 0]),
    "gather rt idx": lambda tf, v: tf.gather(tf.constant(["a", "b", "c", "d", "e", "f", "g"]), v.a),
    "gather both": lambda tf, v: tf.gather(v.a, v.row([[0], [1, 2]])),
    "gather bd": lambda tf, v: tf.gather(v.a, v.row([[0], [0], [1, 0]]), batch_dims=1),
    "gather ax1": lambda tf, v: tf.gather(v.n3, [0], axis=1),
    "gather oob": lambda tf, v: tf.gather(v.a, [7]),
    "gather_nd": lambda tf, v: tf.gather_nd(v.a, [[0, 1], [2, 0]]),
    "gather_nd1": lambda tf, v: tf.gather_nd(v.a, [[0], [2]]),
    "tile": lambda tf, v: tf.tile(v.a, [1, 2]),
    "tile0": lambda tf, v: tf.tile(v.a, [2, 1]),
    "expand0": lambda tf, v: tf.expand_dims(v.a, 0),
    "expand1": lambda tf, v: tf.expand_dims(v.a, 1),
    "expand2": lambda tf, v: tf.expand_dims(v.a, 2),
    "expand-1": lambda tf, v: tf.expand_dims(v.a, -1),
    "where": lambda tf, v: tf.where(v.a > 2),
    "where3": lambda tf, v: tf.where(v.a > 2, v.a, -v.a),
    "where sc": lambda tf, v: tf.where(v.a > 2, v.a, 0),
    "boolean_mask": lambda tf, v: tf.ragged.boolean_mask(v.a, v.a > 2),
    "bm dense": lambda tf, v: tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [False, False]]),
    "bm rows": lambda tf, v: tf.ragged.boolean_mask(v.a, [True, False, True]),
    "range": lambda tf, v: tf.ragged.range([3, 5, 2]),
    "range2": lambda tf, v: tf.ragged.range([0, 5, 8], [3, 3, 12], 2),
    "rs2s": lambda tf, v: tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]),
    "s2rs": lambda tf, v: tf.ragged.segment_ids_to_row_splits([0, 0, 2]),
    "stack_dynamic_partitions": lambda tf, v: tf.ragged.stack_dynamic_partitions([1, 2, 3, 4], [0, 2, 0, 1], 3),
    "one_hot": lambda tf, v: tf.one_hot(v.a, 7),
    "zeros_like": lambda tf, v: tf.zeros_like(v.a),
    "ones_like f": lambda tf, v: tf.ones_like(v.a, tf.float32),
    "rank": lambda tf, v: tf.rank(v.a),
    "size": lambda tf, v: tf.size(v.a),
    "reverse": lambda tf, v: tf.reverse(v.a, [1]),
    "reverse0": lambda tf, v: tf.reverse(v.a, [0]),
    "squeeze": lambda tf, v: tf.squeeze(tf.expand_dims(v.a, 0)),
    "squeeze ax": lambda tf, v: tf.squeeze(tf.expand_dims(v.a, 0), 0),
    "split": lambda tf, v: tf.split(v.a, 3),
    "softmax": lambda tf, v: tf.nn.softmax(v.z),
    "cumsum": lambda tf, v: tf.cumsum(v.a, axis=1),
    "cumsum0": lambda tf, v: tf.cumsum(v.a),
    "add_n": lambda tf, v: tf.add_n([v.a, v.a]),
    "dropout": lambda tf, v: tf.nn.dropout(v.z, 0.0),
    "dynpart": lambda tf, v: tf.dynamic_partition(v.a, [0, 1, 0], 2),
    "identity": lambda tf, v: tf.identity(v.a),
    "cast": lambda tf, v: tf.cast(v.a, tf.float32),
    "bincount": lambda tf, v: tf.math.bincount(v.a),
    "bincount -1": lambda tf, v: tf.math.bincount(v.a, axis=-1),
    "reshape": lambda tf, v: tf.reshape(v.a, [-1]),
    "from_tensor": lambda tf, v: tf.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0),
    "from_tensor len": lambda tf, v: tf.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], lengths=[2, 1]),
    "emb": lambda tf, v: tf.nn.embedding_lookup(
        tf.constant([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0], [5.0, 5.0], [6.0, 6.0], [7.0, 7.0]]), v.a
    ),
    "eq": lambda tf, v: v.a == v.a,
    "eq2": lambda tf, v: v.a == 3,
    "neg": lambda tf, v: -v.a,
    "abs": lambda tf, v: abs(-v.a),
    "pow": lambda tf, v: v.a**2,
    "rsub": lambda tf, v: 10 - v.a,
    "and": lambda tf, v: (v.a > 1) & (v.a < 5),
    "inv": lambda tf, v: ~(v.a > 1),
    "getitem tensor": lambda tf, v: v.a[tf.constant(1)],
    "getitem ell": lambda tf, v: v.a[..., :1],
    "newaxis": lambda tf, v: v.a[:, tf.newaxis],
    "newaxis0": lambda tf, v: v.a[tf.newaxis],
    "newaxis2": lambda tf, v: v.a[:, :, None],
    "int2": lambda tf, v: v.a[0, 1],
    "step": lambda tf, v: v.a[::2],
    "rev": lambda tf, v: v.a[:, ::-1],
    "oob": lambda tf, v: v.a[9],
    "inner int": lambda tf, v: v.a[:, 0],
    "uniform": lambda tf, v: tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2),
    "consumers": lambda tf, v: v.a.merge_dims(0, 1),
    "merge3": lambda tf, v: v.n3.merge_dims(1, 2),
    "merge01": lambda tf, v: v.n3.merge_dims(0, 1),
    "nested ids": lambda tf, v: v.n3.nested_value_rowids(),
    "strjoin": lambda tf, v: tf.strings.join([v.row([["a"], ["b", "c"]]), "x"]),
    "strjoin2": lambda tf, v: tf.strings.join([v.row([["a"], ["b", "c"]]), v.row([["d"], ["e", "f"]])], separator="-"),
    "substr": lambda tf, v: tf.strings.substr(v.row([["abc"], ["bcd", "cde"]]), 1, 2),
    "length": lambda tf, v: tf.strings.length(v.row([["abc"], ["bcd", "c"]])),
    "split rt": lambda tf, v: tf.strings.split(v.row([["v.a b"], ["c d e", "f"]])),
    "tolist": lambda tf, v: v.a.to_list(),
    "vals": lambda tf, v: v.a.values,
    "bounding": lambda tf, v: v.a.bounding_shape(),
    "clip": lambda tf, v: tf.clip_by_value(v.a, 2, 4),
    "relu": lambda tf, v: tf.nn.relu(v.z - 2),
    "map_fn2": lambda tf, v: tf.map_fn(lambda x: x[:1], v.z),
    "logical": lambda tf, v: tf.logical_not(v.a > 1),
    "segsum": lambda tf, v: tf.math.unsorted_segment_sum(v.a, [0, 1, 0], 2),
    "with_row_splits_dtype": lambda tf, v: v.a.with_row_splits_dtype(tf.int32).row_splits,
    "zeros empty rows": lambda tf, v: tf.RaggedTensor.from_row_lengths([], []),
    "to_t": lambda tf, v: v.z.to_tensor(-1.0),
    "to_t shape": lambda tf, v: v.z.to_tensor(shape=[None, 2]),
    "rowlen": lambda tf, v: v.z.row_lengths(),
    "n3rl": lambda tf, v: v.n3.row_lengths(axis=2),
    "bnd ax": lambda tf, v: v.n3.bounding_shape(axis=1),
    "minimum": lambda tf, v: tf.minimum(v.a, 3),
    "divide": lambda tf, v: v.a / 2,
    "floordiv": lambda tf, v: v.a // 2,
    "mod": lambda tf, v: v.a % 2,
    "n3[:1 inner]": lambda tf, v: v.n3[:, :1],
    "n3 last": lambda tf, v: v.n3[:, :, 1:],
    "n3 row": lambda tf, v: v.n3[0],
    "n3 row col": lambda tf, v: v.n3[0, 1],
    "n3 ell": lambda tf, v: v.n3[..., :1],
    "n3 rev": lambda tf, v: v.n3[:, ::-1],
    "n3 newaxis": lambda tf, v: v.n3[:, tf.newaxis],
    "n3 newaxis end": lambda tf, v: v.n3[..., tf.newaxis],
    "u2 slice": lambda tf, v: v.u[:, :, 0],
    "u2 slices": lambda tf, v: v.u[:, :1, 1:],
    "u2 plus row": lambda tf, v: v.u + [10.0, 20.0],
    "u2 plus column": lambda tf, v: v.u + tf.constant([[[1.0]], [[2.0]]]),
    "u2 times itself": lambda tf, v: v.u * v.u,
    "u2 sum1": lambda tf, v: tf.reduce_sum(v.u, axis=1),
    "u2 sum2": lambda tf, v: tf.reduce_sum(v.u, axis=2),
    "u2 mean2": lambda tf, v: tf.reduce_mean(v.u, axis=-1),
    "u2 max01": lambda tf, v: tf.reduce_max(v.u, axis=[0, 1]),
    "u2 merge": lambda tf, v: v.u.merge_dims(1, 2),
    "u2 merge all": lambda tf, v: v.u.merge_dims(0, 2),
    "u2 dense": lambda tf, v: v.u.to_tensor(),
    "u2 sparse": lambda tf, v: v.u.to_sparse(),
    "u2 concat": lambda tf, v: tf.concat([v.u, v.u], axis=2),
    "u2 shape": lambda tf, v: str(v.u.shape),
    "u2 tile": lambda tf, v: tf.tile(v.u, [1, 2, 1]),
    "n3 gather": lambda tf, v: tf.gather(v.n3, [1, 0, 1]),
    "n3 gather ragged": lambda tf, v: tf.gather(v.n3, v.row([[1], [0, 1]])),
    "n3 gather 2 batch": lambda tf, v: tf.gather(v.n3, v.row([[[0], [0, 0]], [[2, 1]]]), batch_dims=2),
    "n3 gather batch": lambda tf, v: tf.gather(v.n3, v.row([[1], [0, 0]]), batch_dims=1),
    "dense gather batch": lambda tf, v: tf.gather(tf.constant([[1, 2], [3, 4]]), v.row([[1], [0, 0, 1]]), batch_dims=1),
    "n3 gather_nd": lambda tf, v: tf.gather_nd(v.n3, [[0, 0], [1, 0]]),
    "n3 gather_nd deep": lambda tf, v: tf.gather_nd(v.n3, [[0, 0, 1], [1, 0, 2]]),
    "n3 concat0": lambda tf, v: tf.concat([v.n3, v.n3], 0),
    "n3 concat1": lambda tf, v: tf.concat([v.n3, v.n3], 1),
    "n3 stack": lambda tf, v: tf.stack([v.n3, v.n3]),
    "n3 tile": lambda tf, v: tf.tile(v.n3, [1, 1, 2]),
    "n3 dense": lambda tf, v: v.n3.to_tensor(),
    "n3 sparse": lambda tf, v: v.n3.to_sparse(),
    "n3 where": lambda tf, v: tf.where(v.n3 > 2, v.n3, 0),
    "n3 places": lambda tf, v: tf.where(v.n3 > 4),
    "n3 mask": lambda tf, v: tf.ragged.boolean_mask(v.n3, v.n3 > 1),
    "n3 mask rows": lambda tf, v: tf.ragged.boolean_mask(v.n3, v.row([[True, False], [True]])),
    "n3 sum keep all": lambda tf, v: tf.reduce_sum(v.n3, axis=[1, 2], keepdims=True),
    "n3 max1": lambda tf, v: tf.reduce_max(v.n3, axis=1),
    "n3 mean1": lambda tf, v: tf.reduce_mean(v.n3, axis=1),
    "n3 cumsum": lambda tf, v: tf.cumsum(v.n3, axis=2),
    "n3 one hot": lambda tf, v: tf.one_hot(v.n3, 3),
    "n3 expand1": lambda tf, v: tf.expand_dims(v.n3, 1),
    "n3 expand2": lambda tf, v: tf.expand_dims(v.n3, 2),
    "n3 lengths": lambda tf, v: v.n3.nested_row_lengths(),
    "n3 plus dense": lambda tf, v: v.n3 + tf.constant([[[10]], [[20]]]),
    "n3 bounding": lambda tf, v: v.n3.bounding_shape(),
    "cumsum reverse": lambda tf, v: tf.cumsum(v.a, axis=1, reverse=True, exclusive=True),
    "from tensor 2": lambda tf, v: tf.RaggedTensor.from_tensor(tf.reshape(tf.range(8), [2, 2, 2]), ragged_rank=2),
    "from tensor lengths": lambda tf, v: tf.RaggedTensor.from_tensor(
        tf.reshape(tf.range(8), [2, 2, 2]), lengths=([1, 2], [1, 2, 0])
    ),
    "from tensor inner": lambda tf, v: tf.RaggedTensor.from_tensor([[[1, 1], [0, 0]], [[0, 0], [2, 0]]], padding=[0, 0]),
    "from tensor float": lambda tf, v: tf.RaggedTensor.from_tensor([[1.0, 0.0], [0.0, 0.0]], padding=0.0),
    "to tensor nd": lambda tf, v: v.n3.to_tensor(-1, shape=[2, 3, 2]),
    "segment mean": lambda tf, v: tf.math.unsorted_segment_mean(v.z, [0, 1, 0], 3),
    "weights": lambda tf, v: tf.math.bincount(v.a, weights=v.row([[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]]), axis=-1),
    "binary": lambda tf, v: tf.math.bincount(v.row([[1, 1], [2]]), axis=-1, binary_output=True, minlength=5),
    "maxlength": lambda tf, v: tf.math.bincount(v.a, axis=-1, maxlength=4),
    "empty rows sum": lambda tf, v: tf.reduce_sum(v.row([[], []], dtype=tf.float32), axis=1),
    "empty rows max": lambda tf, v: tf.reduce_max(v.row([[], [1.0]]), axis=1),
    "empty concat": lambda tf, v: tf.concat([v.row([[], []], dtype=tf.int32), v.row([[1], []])], 1),
    "empty first": lambda tf, v: tf.reduce_sum(v.row([[], [1, 2]]), axis=0),
    "string lower": lambda tf, v: tf.strings.lower(v.s),
    "string upper": lambda tf, v: tf.strings.upper(v.s),
    "string strip": lambda tf, v: tf.strings.strip(v.s),
    "string replace": lambda tf, v: tf.strings.regex_replace(v.s, "[aeiou]", "*"),
    "string match": lambda tf, v: tf.strings.regex_full_match(v.s, ".*a.*"),
    "string number": lambda tf, v: tf.strings.to_number(v.row([["1"], ["2", "3.5"]])),
    "string of": lambda tf, v: tf.strings.as_string(v.a),
    "string bucket": lambda tf, v: tf.strings.to_hash_bucket_fast(v.s, 100),
    "string strong": lambda tf, v: tf.strings.to_hash_bucket_strong(v.s, 100, [1, 2]),
    "string bytes": lambda tf, v: tf.strings.bytes_split(v.s),
    "string codes": lambda tf, v: tf.strings.unicode_decode(v.s, "UTF-8"),
    "string offsets": lambda tf, v: tf.strings.unicode_split_with_offsets(v.s, "UTF-8"),
    "string encode": lambda tf, v: tf.strings.unicode_encode(tf.strings.unicode_decode(v.s, "UTF-8"), "UTF-8"),
    "string transcode": lambda tf, v: tf.strings.unicode_transcode(v.s, "UTF-8", "UTF-16-BE"),
    "string split of split": lambda tf, v: tf.strings.split(tf.strings.split(["a-b c", "d"]), "-"),
    "string ngrams": lambda tf, v: tf.strings.ngrams(v.s, 2),
    "string join": lambda tf, v: tf.strings.reduce_join(v.s, axis=-1, separator=" "),
    "string equal": lambda tf, v: v.s == "Cat",
    "string unequal": lambda tf, v: v.s != v.s,
    "string gather": lambda tf, v: tf.gather(tf.constant(["x", "y", "z"]), v.row([[2], [0, 1]])),
    "strings counted": lambda tf, v: tf.strings.length(v.s, unit="UTF8_CHAR"),
    "gradient of values": lambda tf, v: grad(
        tf, v.z.flat_values, lambda x: tf.reduce_sum(v.z.with_flat_values(x).to_tensor() ** 2)
    ),
    "gradient of means": lambda tf, v: grad(
        tf, v.z.flat_values, lambda x: tf.reduce_sum(tf.reduce_mean(v.z.with_flat_values(x), axis=1)[::2] ** 2)
    ),
    "gradient of maxima": lambda tf, v: grad(
        tf, v.z.flat_values, lambda x: tf.reduce_sum(tf.reduce_max(v.z.with_flat_values(x), axis=0) ** 2)
    ),
    "gradient of joined": lambda tf, v: grad(
        tf, v.z.flat_values, lambda x: tf.reduce_sum(tf.concat([v.z.with_flat_values(x), v.z], 1) ** 2)
    ),
    "gradient of gathered": lambda tf, v: grad(
        tf, v.z.flat_values, lambda x: tf.reduce_sum(tf.gather(v.z.with_flat_values(x), [2, 2, 0]) ** 2)
    ),
    "gradient broadcast": lambda tf, v: grad(tf, tf.constant([[1.0], [2.0], [3.0]]), lambda x: tf.reduce_sum(v.z * x)),
    "gradient softmax": lambda tf, v: grad(
        tf, v.z.flat_values, lambda x: tf.reduce_sum(tf.nn.softmax(v.z.with_flat_values(x)) ** 2)
    ),
    "gradient embedding": lambda tf, v: grad(
        tf,
        tf.reshape(tf.range(14.0), [7, 2]),
        lambda x: tf.reduce_sum(tf.reduce_mean(tf.nn.embedding_lookup(x, v.a), axis=1) ** 2),
    ),
    "gradient rows": lambda tf, v: of_rows(tf, v.z),
    "function": lambda tf, v: tf.function(lambda x: x + 1)(v.a),
    "function reduce": lambda tf, v: tf.function(lambda x: tf.reduce_sum(x, axis=1))(v.a),
    "function dense": lambda tf, v: tf.function(lambda x: x.to_tensor())(v.a),
    "function nest": lambda tf, v: tf.function(lambda d: {"y": d["x"] * 2, "n": d["x"].row_lengths()})({"x": v.a}),
    "function split": lambda tf, v: tf.function(lambda s: tf.strings.split(s))(tf.constant(["a b", "c"])),
    "function map": lambda tf, v: tf.function(lambda x: tf.map_fn(tf.reduce_sum, x, fn_output_signature=tf.int32))(v.a),
    "function signature": lambda tf, v: tf.function(
        lambda x: tf.reduce_max(x, axis=-1), input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)]
    )(v.a),
    "function sparse signature": lambda tf, v: tf.sparse.to_dense(
        tf.function(lambda x: x, input_signature=[tf.SparseTensorSpec([None, None], tf.int32)])(tf.sparse.from_dense([[1, 0]]))
    ),
    "function misfit": lambda tf, v: tf.function(lambda x: x, input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])(
        v.a
    ),
    "function concrete": lambda tf, v: tf.function(lambda x: x * 2).get_concrete_function(
        tf.RaggedTensorSpec([None, None], tf.int32)
    )(v.a),
    "function traces": lambda tf, v: traces(tf),
    "cond": lambda tf, v: tf.cond(tf.constant(True), lambda: v.a, lambda: v.a + 1),
    "nest flatten": lambda tf, v: tf.nest.flatten(v.a, expand_composites=True),
    "nest map": lambda tf, v: tf.nest.map_structure(lambda x: x + 1, v.a),
    "spec": lambda tf, v: str(tf.type_spec_from_value(v.a)),
    "spec of rank": lambda tf, v: str(tf.RaggedTensorSpec([None, None, 3], tf.string, ragged_rank=1)),
    "spec fits": lambda tf, v: tf.RaggedTensorSpec([None, None], tf.int32).is_compatible_with(v.a),
    "spec misfits": lambda tf, v: tf.RaggedTensorSpec([None, None], tf.float32).is_compatible_with(v.a),
    "is tensor": lambda tf, v: [tf.is_tensor(v.a), tf.is_tensor(tf.sparse.from_dense([[1]])), tf.is_tensor([1])],
    "slices": lambda tf, v: elements(tf, v.a),
    "slices of nested": lambda tf, v: elements(tf, v.n3),
    "slices spec": lambda tf, v: str(tf.data.Dataset.from_tensor_slices(v.a).element_spec),
    "slices batch": lambda tf, v: [*tf.data.Dataset.from_tensor_slices({"s": v.s, "n": [1, 2]}).batch(2)],
    "slices batch spec": lambda tf, v: str(tf.data.Dataset.from_tensor_slices(v.a).batch(2).element_spec),
    "slices unbatch": lambda tf, v: [*tf.data.Dataset.from_tensor_slices(v.a).batch(2).unbatch()],
    "nested batch": lambda tf, v: [*tf.data.Dataset.from_tensor_slices(v.n3).batch(2)],
    "map": lambda tf, v: [*tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"]).batch(2).map(tf.strings.split)],
    "map spec": lambda tf, v: str(tf.data.Dataset.from_tensor_slices(["a b", "c"]).batch(2).map(tf.strings.split).element_spec),
    "map rows": lambda tf, v: [*tf.data.Dataset.from_tensor_slices(v.s).map(tf.strings.length)],
    "ragged batch": lambda tf, v: [
        *tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"]).map(tf.strings.split).ragged_batch(2)
    ],
    "ragged batch spec": lambda tf, v: str(
        tf.data.Dataset.range(3).map(tf.range).ragged_batch(2, drop_remainder=True).element_spec
    ),
    "dense to ragged": lambda tf, v: [
        *tf.data.Dataset.range(4).map(tf.range).apply(tf.data.experimental.dense_to_ragged_batch(2))
    ],
    "from tensors": lambda tf, v: [*tf.data.Dataset.from_tensors(v.a)],
    "generator": lambda tf, v: [
        *tf.data.Dataset.from_generator(lambda: iter([v.a, v.b]), output_signature=tf.RaggedTensorSpec([None, None], tf.int32))
    ],
    "zip": lambda tf, v: [*tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(v.a), tf.data.Dataset.range(3)))],
    "numpy iterator": lambda tf, v: [x.tolist() for x in tf.data.Dataset.from_tensor_slices(v.a).as_numpy_iterator()],
    "padded": lambda tf, v: tf.data.Dataset.from_tensors(v.a).padded_batch(2),
    "shuffled": lambda tf, v: sorted(int(tf.reduce_sum(x)) for x in tf.data.Dataset.from_tensor_slices(v.a).shuffle(3).repeat(2)),
    "gather ax1 matrix": lambda tf, v: tf.gather(v.e1, [[0, 0], [0, 0]], axis=1),
    "gather ax1 scalar": lambda tf, v: tf.gather(v.n3[:, :1], 0, axis=1),
    "gather ax2": lambda tf, v: tf.gather(v.u, [[1, 0], [0, 1]], axis=2),
    "gather ax2 of rows": lambda tf, v: tf.gather(v.u, [[1], [0]], axis=2, batch_dims=1),
    "gather element": lambda tf, v: tf.gather(v.a, [2, 0, 1], batch_dims=1),
    "gather dense ax1": lambda tf, v: tf.gather(tf.reshape(tf.range(12), [2, 3, 2]), v.row([[0, 1], [2]]), axis=1),
    "gather dense rows": lambda tf, v: tf.gather(tf.reshape(tf.range(12), [2, 3, 2]), v.row([[0, 1], [1]]), axis=2, batch_dims=1),
    "gather other rows": lambda tf, v: tf.gather(v.a, [[0], [0]], batch_dims=1),
    "gather grad": lambda tf, v: grad(
        tf, v.u.flat_values, lambda x: tf.gather(v.u.with_flat_values(x), [1, 1], axis=2).flat_values ** 2
    ),
    "gather_nd vector": lambda tf, v: tf.gather_nd(v.n3, [0, 1]),
    "gather_nd whole": lambda tf, v: tf.gather_nd(v.a, tf.zeros([1, 0], tf.int32)).to_list(),
    "gather_nd rows of indices": lambda tf, v: tf.gather_nd(v.n3, v.row([[[0, 0]], [[1, 0], [0, 1]]], ragged_rank=1)),
    "reshape to axes": lambda tf, v: [tf.reshape(v.a, [2, -1]), tf.reshape(v.u, [2, 3])],
    "reshape bad": lambda tf, v: tf.reshape(v.a, [3]),
    "matmul": lambda tf, v: tf.matmul(v.u, tf.ones([2, 2, 3])),
    "matmul transposed": lambda tf, v: [tf.matmul(v.u, v.u, transpose_b=True), tf.matmul(v.u, v.u, transpose_a=True).to_list()],
    "matmul of rows": lambda tf, v: tf.matmul(v.u, v.row([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0], [2.0]]])),
    "matmul of two": lambda tf, v: tf.matmul(v.row([[1, 2], [3, 4]]), [[1], [2]]),
    "matmul of four axes": lambda tf, v: tf.matmul(v.row([[[[1.0, 2.0]]], []], ragged_rank=2), v.row([[[[1.0], [2.0]]], []])),
    "matmul bad": lambda tf, v: tf.matmul(v.u, tf.ones([2, 3, 2])),
    "matmul ragged": lambda tf, v: tf.matmul(v.z[:1], tf.ones([2, 1])),
    "matmul grad": lambda tf, v: grad(
        tf, v.u.flat_values, lambda x: tf.matmul(v.u.with_flat_values(x), v.u, transpose_b=True).flat_values ** 2
    ),
    "matvec": lambda tf, v: tf.linalg.matvec(v.u, tf.ones([2, 2])),
    "split inner": lambda tf, v: [tf.split(v.u, 2, axis=2), tf.split(v.u, [2, 0], axis=-1)],
    "split ragged": lambda tf, v: tf.split(v.a, 2, axis=1),
    "split zero": lambda tf, v: tf.split(v.a, 0),
    "split negative": lambda tf, v: tf.split(v.a, [-1, 4]),
    "mean of integers": lambda tf, v: [tf.reduce_mean(v.a), tf.math.reduce_variance(v.a[:1, 1:])],
    "var of equals": lambda tf, v: tf.math.reduce_std(v.row([[0.214441] * 5]), axis=1),
    "where list": lambda tf, v: [tf.where([[True], [False], [True]], v.a, -v.a), tf.where(v.a > 1, [[7], [8], [9]], 0)],
    "to_tensor bad": lambda tf, v: v.u.to_tensor(shape=[None, None, 3]),
    "to_tensor rank": lambda tf, v: v.a.to_tensor(shape=[None, None, 1]),
    "reduce_join": lambda tf, v: [tf.strings.reduce_join(v.s, axis=axis, separator="-") for axis in (0, 1, -1, [0, 1], None)],
    "partition of one": lambda tf, v: [tf.ragged.stack_dynamic_partitions(x, 1, 2).to_list() for x in ("a", ["a", "b"], v.a)],
    "partitions too few": lambda tf, v: tf.ragged.stack_dynamic_partitions(v.s, [0], 2),
    "partitions of other rows": lambda tf, v: tf.ragged.stack_dynamic_partitions(v.s, v.row([[0], [1]]), 2),
    "one_hot inner": lambda tf, v: tf.one_hot(v.row([[[0, 1], [1, 1]], [[1, 0]]], ragged_rank=1), 3, axis=2),
    "one_hot ragged": lambda tf, v: tf.one_hot(v.a, 3, axis=1),
    "from_tensor none": lambda tf, v: tf.RaggedTensor.from_tensor(tf.zeros([0, 2, 3]), lengths=[]),
    "resize": lambda tf, v: [
        tf.image.resize(v.row([[[[1.0], [2.0]], [[3.0], [4.0]]], [[[5.0]]]], ragged_rank=2), [2, 3]),
        tf.image.resize(v.row([[[[1.0], [2.0]]], [[[5.0], [6.0]], [[7.0], [8.0]]]], ragged_rank=1), [1, 2], method="nearest"),
    ],
    "resize rank": lambda tf, v: tf.image.resize(v.u, [2, 3]),
    "reduce_join keep": lambda tf, v: tf.strings.reduce_join(v.s, axis=1, keepdims=True),
}


if __name__ == "__main__":
    import tensorflow

    FILE.write_text(json.dumps({name: outcome(program, tensorflow) for name, program in PROGRAMS.items()}, indent=1) + "\n")
