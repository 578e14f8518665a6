"""TFRecord files: the bytes are TensorFlow's, and damage is told."""

import gzip
import zlib

import numpy as np
import pytest

import gradtape as tf

# As TensorFlow wrote them: the records b"hello", b"" and 300 times b"x", plain and compressed.
RECORDS = [b"hello", b"", b"x" * 300]
PLAIN = (
    b"\x05\x00\x00\x00\x00\x00\x00\x00\xea\xb2\x04>hello\xbb\x1f\x1c\x19\x00\x00\x00\x00\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2"
    b",\x01\x00\x00\x00\x00\x00\x00\xf2\xfe[\x9d" + b"x" * 300 + b"\xcd\x82\x94!"
)
ZLIB = (
    b"x\xdace\x80\x80W\x9bX\xec2Rsr\xf2w\xcb\xcbHB\xc5\x184\x99g\xb0\xdfx\xd5\xb4H\x87\x11\xc2\xff\xf4/zn\xc5( \x1a\x9cm\x9a\xa2"
    b"\x08\x00\xe7E\x9aq"
)
GZIP = (
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03ce\x80\x80W\x9bX\xec2Rsr\xf2w\xcb\xcbHB\xc5\x184\x99g\xb0\xdfx\xd5\xb4H\x87\x11"
    b"\xc2\xff\xf4/zn\xc5( \x1a\x9cm\x9a\xa2\x08\x00\xb7\x80m\x1ba\x01\x00\x00"
)


def written(path, options=None):
    with tf.io.TFRecordWriter(str(path), options) as writer:
        for record in RECORDS:
            writer.write(record)
    return path.read_bytes()


def read(path, compression=None):
    return list(tf.data.TFRecordDataset(str(path), compression).as_numpy_iterator())


def test_plain_files_have_tensorflows_bytes(tmp_path):
    assert written(tmp_path / "records") == PLAIN
    assert read(tmp_path / "records") == RECORDS


@pytest.mark.parametrize("kind, theirs, inflate", [("GZIP", GZIP, gzip.decompress), ("ZLIB", ZLIB, zlib.decompress)])
def test_compressed_files_are_read_and_written(kind, theirs, inflate, tmp_path):
    path = tmp_path / "records"
    path.write_bytes(theirs)
    assert read(path, kind) == RECORDS
    assert inflate(written(path, kind)) == PLAIN
    assert read(path, kind) == RECORDS
    settings = tf.io.TFRecordOptions(kind, compression_level=9, mem_level=9, window_bits=12, compression_strategy=1)
    assert inflate(written(path, settings)) == PLAIN


DAMAGED = [
    (PLAIN[:-7], "truncated record at 37' failed with Read less bytes than requested", 2),
    (PLAIN[:30], "truncated record at 21'", 1),
    (PLAIN[:5], "truncated record at 0'", 0),
    (PLAIN[:14] + b"X" + PLAIN[15:], "corrupted record at 12$", 0),
    (PLAIN[:8] + b"XXXX" + PLAIN[12:], r"corrupted record at 0 \(Is this even a TFRecord file\?\)", 0),
    (PLAIN[:-1] + b"X", "corrupted record at 49$", 2),
]


@pytest.mark.parametrize("data, message, whole", DAMAGED)
def test_damage_is_a_data_loss(data, message, whole, tmp_path):
    path = tmp_path / "records"
    path.write_bytes(data)
    iterator = iter(tf.data.TFRecordDataset([str(path), str(path)]))
    for _ in range(2):  # after the error comes the next file
        assert [next(iterator).numpy() for _ in range(whole)] == RECORDS[:whole]
        with pytest.raises(tf.errors.DataLossError, match=message):
            next(iterator)
    assert list(iterator) == []


def test_a_hostile_length_sets_no_memory_aside(tmp_path):
    import struct

    from gradtape._src.files.records import masked_checksum

    length = struct.pack("<Q", 1 << 62)
    (tmp_path / "records").write_bytes(length + struct.pack("<I", masked_checksum(length)) + b"abc")
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
        read(tmp_path / "records")


@pytest.mark.parametrize("data", [GZIP[:30], GZIP[:-10]])
def test_a_truncated_compressed_file(data, tmp_path):
    (tmp_path / "records").write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="EOF reached"):
        read(tmp_path / "records", "GZIP")


def test_the_wrong_compression(tmp_path):
    (tmp_path / "records").write_bytes(PLAIN)
    with pytest.raises(tf.errors.DataLossError, match=r"inflate\(\) failed with error -3: incorrect header check"):
        read(tmp_path / "records", "GZIP")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported compression_type: 'LZ4'"):
        tf.data.TFRecordDataset("x", "LZ4")
    with pytest.raises(ValueError, match='Not a valid compression_type: "FOO"'):
        tf.io.TFRecordOptions("FOO")
    with pytest.raises(tf.errors.InvalidArgumentError, match="zlib cannot take these TFRecordOptions"):
        tf.io.TFRecordWriter(str(tmp_path / "records"), tf.io.TFRecordOptions("GZIP", compression_level=20))
    assert (tmp_path / "records").read_bytes() == PLAIN


def test_a_writer(tmp_path):
    writer = tf.io.TFRecordWriter(tmp_path / "records", "GZIP")
    writer.write("text")
    writer.flush()
    with pytest.raises(TypeError, match="a record is bytes, received 3"):
        writer.write(3)
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.write(b"more")
    iterator = tf.compat.v1.python_io.tf_record_iterator(str(tmp_path / "records"), tf.io.TFRecordOptions("GZIP"))
    assert list(iterator) == [b"text"]
    with pytest.raises(tf.errors.NotFoundError, match="no/records; No such file or directory"):
        tf.io.TFRecordWriter(str(tmp_path / "no/records"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="; Is a directory"):
        tf.io.TFRecordWriter(str(tmp_path))


@pytest.mark.parametrize(
    "turns, expected",  # TensorFlow's orders
    [
        (None, "A0 A1 A2 B0 C0 C1 D0 D1 E0 E1 E2 E3"),
        (2, "A0 B0 A1 A2 C0 C1 D0 D1 E0 E1 E2 E3"),
        (3, "A0 B0 C0 A1 C1 A2 D0 D1 E0 E1 E2 E3"),
        (7, "A0 B0 C0 D0 E0 A1 C1 D1 E1 A2 E2 E3"),
        (tf.data.AUTOTUNE, "A0 A1 A2 B0 C0 C1 D0 D1 E0 E1 E2 E3"),
    ],
)
def test_several_files_in_turn(turns, expected, tmp_path):
    names = []
    for name, count in zip("ABCDE", (3, 1, 2, 2, 4), strict=True):
        names.append(str(tmp_path / name))
        with tf.io.TFRecordWriter(names[-1]) as writer:
            for number in range(count):
                writer.write(f"{name}{number}")
    for files in (names, tf.constant(names), tf.data.Dataset.from_tensor_slices(names)):
        records = tf.data.TFRecordDataset(files, num_parallel_reads=turns)
        assert isinstance(records, tf.data.TFRecordDataset)
        assert b" ".join(records.as_numpy_iterator()).decode() == expected
    assert [int(n) for n in tf.data.TFRecordDataset(names).batch(5).map(tf.size)] == [5, 5, 2]
    assert len(list(tf.data.TFRecordDataset(names).window(5))) == 3


def test_names_that_are_none():
    with pytest.raises(TypeError, match=r"must contain `tf.string` elements. Got `tf.int32` elements"):
        tf.data.TFRecordDataset(3)
    with pytest.raises(TypeError, match=r"Got a dataset of `tf.int64` elements"):
        tf.data.TFRecordDataset(tf.data.Dataset.range(3))
    with pytest.raises(tf.errors.NotFoundError, match="nope; No such file or directory"):
        list(tf.data.TextLineDataset("nope"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="`cycle_length` must be > 0"):
        tf.data.TextLineDataset("nope", num_parallel_reads=0)


def test_lines(tmp_path):
    text = b"a\r\nb\rc\n\nd\r\r\n\x00e\nlast"
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    (tmp_path / "empty").write_bytes(b"")
    expected = [b"a", b"bc", b"", b"d", b"\x00e", b"last"]  # TensorFlow's
    assert list(tf.data.TextLineDataset(tmp_path / "plain").as_numpy_iterator()) == expected
    assert list(tf.data.TextLineDataset(str(tmp_path / "packed"), "GZIP").as_numpy_iterator()) == expected
    assert list(tf.data.TextLineDataset([str(tmp_path / "empty")] * 2)) == []


def test_records_of_one_length(tmp_path):
    path = str(tmp_path / "records")
    (tmp_path / "records").write_bytes(b"HHaabbccF")
    (tmp_path / "packed").write_bytes(gzip.compress(b"HHaabbccF"))
    fixed = tf.data.FixedLengthRecordDataset
    assert list(fixed(path, 2, 2, 1).as_numpy_iterator()) == [b"aa", b"bb", b"cc"]
    assert list(fixed(str(tmp_path / "packed"), 2, 2, 1, compression_type="GZIP").as_numpy_iterator()) == [b"aa", b"bb", b"cc"]
    message = "has body length 9 bytes, which is not an exact multiple of the record length .2 bytes"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(fixed(path, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"header \(20 bytes"):
        list(fixed(path, 2, 20))
    packed = iter(fixed(str(tmp_path / "packed"), 4, 2, 1, compression_type="GZIP"))
    assert next(packed).numpy() == b"aabb"
    with pytest.raises(tf.errors.DataLossError, match="has body length 6 bytes"):
        next(packed)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`record_bytes` must be > 0"):
        fixed(path, 0)


def test_records_become_numbers(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "records")) as writer:
        for number in range(4):
            writer.write(tf.io.serialize_tensor(tf.fill([2], number)).numpy())
    dataset = tf.data.TFRecordDataset(str(tmp_path / "records")).map(lambda record: tf.io.parse_tensor(record, tf.int32))
    assert np.stack(list(dataset.as_numpy_iterator())).tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_a_session_draws_from_files(tmp_path):
    path = tmp_path / "numbers"
    path.write_text("1,2\n3,4\n")
    with tf.Graph().as_default():
        lines = tf.compat.v1.data.TextLineDataset(str(path)).map(lambda line: tf.io.decode_csv(line, [0, 0.0]))
        listed = tf.data.Dataset.list_files(str(tmp_path / "*"), shuffle=False)
        first, name = [tf.compat.v1.data.make_one_shot_iterator(dataset).get_next() for dataset in (lines, listed)]
        with pytest.raises(
            tf.errors.UnimplementedError, match="ParseSequenceExampleV2 gives shapes that depend on values, and is no"
        ):
            tf.io.parse_sequence_example([b""], {"a": tf.io.FixedLenFeature([], tf.int64)})
        with tf.compat.v1.Session() as session:
            assert [session.run(first) for _ in range(2)] == [(1, 2.0), (3, 4.0)]
            assert session.run(name) == str(path).encode()
