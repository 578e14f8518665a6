"""Files of comma-separated values, and of examples, as datasets. What is expected is what TensorFlow 2.21 gives."""

import gzip
from collections import OrderedDict

import numpy as np
import pytest

import gradtape as tf

E = tf.data.experimental
TEXT = 'a,b,c,"d e"\n1,2.5,x,"q, r"\n3,,y,"line1\nline2"\n,4.5,z,plain\n'


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TEXT)
    return str(path)


def values(dataset):
    return [tf.nest.map_structure(lambda leaf: leaf.tolist() if hasattr(leaf, "tolist") else leaf, e) for e in arrays(dataset)]


def arrays(dataset):
    return dataset.as_numpy_iterator()


def test_columns_by_name_with_a_label(table):
    batches = E.make_csv_dataset(table, 2, label_name="c", num_epochs=1, shuffle=False)
    features, label = batches.element_spec
    assert list(features) == ["a", "b", "d e"] and type(features) is OrderedDict
    assert [spec.dtype.name for spec in (*features.values(), label)] == ["int32", "float32", "string", "string"]
    assert values(batches) == [
        ({"a": [1, 3], "b": [2.5, 0.0], "d e": [b"q, r", b"line1\nline2"]}, [b"x", b"y"]),
        ({"a": [0], "b": [4.5], "d e": [b"plain"]}, [b"z"]),
    ]


def test_some_columns_twice(table):
    batches = E.make_csv_dataset(table, 2, num_epochs=2, shuffle=False, select_columns=["d e", 0])
    assert values(batches) == [
        {"a": [1, 3], "d e": [b"q, r", b"line1\nline2"]},
        {"a": [0, 1], "d e": [b"plain", b"q, r"]},
        {"a": [3, 0], "d e": [b"line1\nline2", b"plain"]},
    ]


def test_without_an_end_all_batches_are_full(table):
    batches = E.make_csv_dataset([table], 2, shuffle=False, column_names=list("wxyz"), column_defaults=[0, 1.5, "", ""])
    assert batches.element_spec["x"] == tf.TensorSpec([2], tf.float32)
    assert [batch["x"] for batch in values(batches.take(2))] == [[2.5, 1.5], [4.5, 2.5]]


def test_shuffled_rows_are_the_rows(table):
    batches = E.make_csv_dataset(table, 3, num_epochs=1, shuffle_seed=1, prefetch_buffer_size=1)
    assert sorted(values(batches)[0]["a"]) == [0, 1, 3]


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (["1", "2147483647"], "int32"),
        (["1", "2147483648"], "int64"),
        (["1", "0.5", ""], "float32"),
        (["1e300"], "float64"),
        (["1", "x"], "string"),
        (["", ""], "string"),
        (["nan"], "float32"),
        (["NA", "3"], "int32"),
    ],
)
def test_dtypes_are_found_in_the_rows(tmp_path, column, dtype):
    path = tmp_path / "column.csv"
    path.write_text("\n".join(["name,other", *[f"{value},1" for value in column]]))
    found = E.make_csv_dataset(str(path), 1, num_epochs=1, na_value="NA")
    assert found.element_spec["name"].dtype.name == dtype


def test_a_compressed_file(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    batches = E.make_csv_dataset(str(path), 1, num_epochs=1, compression_type="GZIP")
    assert values(batches) == [{"a": [1], "b": [2]}]


def test_rows_that_fail_are_left_out_where_that_is_asked_for(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a\n1\nx\n3\n")
    options = {"num_epochs": 1, "shuffle": False, "column_defaults": [0]}
    assert values(E.make_csv_dataset(str(path), 1, ignore_errors=True, **options)) == [{"a": [1]}, {"a": [3]}]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field 0 in record is not a valid int32: x"):
        list(E.make_csv_dataset(str(path), 2, **options))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label_name": "zz"}, r"`label_name` provided must be one of the columns: \['a', 'b', 'c', 'd e'\]. Received: zz"),
        ({"select_columns": ["zz"]}, "Column zz specified in `select_columns`"),
        ({"select_columns": [7]}, "Column 7 specified in `select_columns`"),
        ({"select_columns": ["a", 0]}, "`select_columns` argument contains duplicate columns"),
        ({"select_columns": ["a"], "column_defaults": [1, 2]}, "`column_defaults` has length 2, `select_columns` has length 1"),
        ({"column_names": ["a", "a", "b", "c"]}, "duplicate column names: {'a'}"),
        ({"header": False}, "Expected `column_names` or `header` arguments. Neither is provided"),
        ({"header": False, "column_names": list("abc")}, "CSV row 1 has 4 number of fields. Expected: 3"),
        ({"compression_type": "ZLIB"}, "'ZLIB' is not supported"),
    ],
)
def test_arguments_that_do_not_fit(table, arguments, message):
    with pytest.raises(ValueError, match=message):
        E.make_csv_dataset(table, 2, **arguments)


def test_files_that_are_not_there_or_differ(table, tmp_path):
    with pytest.raises(ValueError, match="No files match `file_pattern`"):
        E.make_csv_dataset(str(tmp_path / "none*"), 2)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must have the same column names"):
        E.make_csv_dataset([table, str(other)], 2)


def test_rows_as_tuples(table):
    rows = E.CsvDataset([table], [[0], tf.float32, [""], tf.string], header=True)
    assert [spec.dtype.name for spec in rows.element_spec] == ["int32", "float32", "string", "string"]
    pass_ = iter(rows)
    assert [leaf.numpy() for leaf in next(pass_)] == [1, 2.5, b"x", b"q, r"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field 1 is required but missing in record!"):
        next(pass_)
    chosen = E.CsvDataset(table, [[""], [""]], header=True, select_cols=[0, 2])
    assert values(chosen) == values(E.CsvDataset(table, [[""], [""]], header=True, exclude_cols=[1, 3]))
    assert values(chosen) == [(b"1", b"x"), (b"3", b"y"), (b"", b"z")]
    with pytest.raises(ValueError, match="Either select_cols or exclude_cols"):
        E.CsvDataset(table, [[0]], select_cols=[0], exclude_cols=[1])


def test_a_model_is_trained_from_a_file(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,y\n" + "\n".join(f"{k / 10},{0.3 * k}" for k in range(32)))
    batches = E.make_csv_dataset(str(path), 8, label_name="y", num_epochs=1, shuffle=False)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(tf.keras.optimizers.SGD(0.05), "mse")
    history = model.fit(
        batches.map(lambda features, y: (features["x"][:, None], y)).apply(E.assert_cardinality(4)), epochs=12, verbose=0
    )
    assert history.history["loss"][-1] < 0.1 * history.history["loss"][0]


def test_examples_in_batches(tmp_path):
    path = str(tmp_path / "numbers.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(5):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number / 2])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    features = {"x": tf.io.FixedLenFeature([1], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    batches = E.make_batched_features_dataset(path, 2, features, label_key="y", num_epochs=1, shuffle=False)
    assert values(batches) == [({"x": [[0.0], [0.5]]}, [0, 1]), ({"x": [[1.0], [1.5]]}, [2, 3]), ({"x": [[2.0]]}, [4])]
    endless = E.make_batched_features_dataset(path, 2, features, reader=tf.data.TFRecordDataset)
    assert [sorted(batch) for batch in arrays(endless.take(4))] == [["x", "y"]] * 4
    with pytest.raises(ValueError, match="The `label_key` provided"):
        E.make_batched_features_dataset(path, 2, features, label_key="z")


def test_a_pass_is_kept_in_files(tmp_path):
    calls = []

    def seen(number):
        calls.append(int(number))
        return number, {"text": tf.strings.as_string(number)}

    def dataset():
        return tf.data.Dataset.range(3).map(lambda n: tf.py_function(lambda n: seen(n)[0] * 2, [n], tf.int64))

    path = str(tmp_path / "kept")
    kept = dataset().cache(path)
    calls.clear()
    iterator = iter(kept)
    next(iterator)
    del iterator  # a pass that is not at its end keeps nothing
    assert not (tmp_path / "kept.cache" / "snapshot.metadata").exists()
    calls.clear()
    assert [[int(n) for n in kept] for _ in range(2)] == [[0, 2, 4]] * 2
    assert calls == [0, 1, 2]
    assert [int(n) for n in dataset().cache(path)] == [0, 2, 4] and len(calls) == 3
    assert len(kept) == 3
    assert [int(n) for n in dataset().snapshot(path)] == [0, 2, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected float32 but got int64"):
        list(tf.data.Dataset.from_tensors(np.float32(1)).cache(path))


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 20])
@pytest.mark.parametrize(
    "data, expected",
    [
        (b"ab,c\r0,1\r\r\n", [[b"ab", b"c"], [b"0", b"1"], None]),
        (b'"\n\n","\r\r"\r\n"0","1"\r\n"",""', [[b"\n\n", b"\r\r"], [b"0", b"1"], [b"NA", b"NA"]]),
        (b'"a\r""b,",c\r"0",1\r', [[b'a\r"b,', b"c"], [b"0", b"1"]]),
        (b'a,b"c\n8"7,6\ne,f\n', [None, None, [b"e", b"f"]]),
        (b'e,f\n"a,b\nc,d\n', [[b"e", b"f"], None]),
    ],
)
def test_records_end_with_their_lines(tmp_path, monkeypatch, size, data, expected):
    monkeypatch.setattr("gradtape._src.files.records.PIECE", size)
    (tmp_path / "x.csv").write_bytes(data)
    records = iter(tf.data.experimental.CsvDataset(str(tmp_path / "x.csv"), [["NA"]] * 2))
    for record in expected:
        if record is None:
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expect 2 fields|Unquoted fields|Quoted field has to end"):
                next(records)
        else:
            assert [field.numpy() for field in next(records)] == record
    assert next(records, None) is None
