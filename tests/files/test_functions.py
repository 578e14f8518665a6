"""Files and encoded bytes in functions and graphs: ops on the host, in order, once for each call."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.control.concrete import ConcreteFunction

STRING = tf.TensorSpec([], tf.string)


def _is_compiled(concrete):
    return type(concrete) is ConcreteFunction


def test_a_function_reads_what_it_wrote(tmp_path):
    path, traces = str(tmp_path / "file"), []

    @tf.function
    def written(path, text, x):
        traces.append(1)
        tf.io.write_file(path, "first")
        first = tf.io.read_file(path)
        tf.io.write_file(path, text)
        return first, tf.io.read_file(path), tf.io.matching_files(path), x * x

    for text in (b"a", b"b"):
        first, second, found, square = written(path=tf.constant(path), text=tf.constant(text), x=3.0)
        assert (first.numpy(), second.numpy(), float(square)) == (b"first", text, 9.0)
        assert found.numpy().tolist() == [path.encode()] and found.shape == [1]
    assert len(traces) == 1


def test_nothing_is_written_while_a_function_is_traced(tmp_path):
    path = tmp_path / "file"

    @tf.function
    def written(x):
        tf.io.write_file(str(path), "text")
        return x + 1.0, tf.io.read_file(str(path))

    concrete = written.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert _is_compiled(concrete) and not path.exists()
    x, text = concrete(tf.constant(1.0))
    assert (float(x), text.numpy()) == (2.0, b"text")


def test_a_python_function_of_constant_strings_is_not_called_while_a_function_is_traced():
    calls = []

    @tf.function
    def called(x):
        result = tf.py_function(lambda text: calls.append(text.numpy()) or text, [tf.constant("a")], tf.TensorSpec([], tf.string))
        return result, x

    concrete = called.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert calls == []
    assert concrete(tf.constant(1.0))[0].numpy() == b"a" and calls == [b"a"]


def test_an_unused_write_is_made_and_an_error_says_which_op(tmp_path):
    @tf.function
    def written(folder, x):
        tf.io.write_file(tf.strings.join([folder, "/unused"]), "text")
        return x, tf.io.read_file(tf.strings.join([folder, "/missing"]))

    with pytest.raises(tf.errors.NotFoundError, match=r"missing; No such file or directory \[Op:ReadFile\]"):
        written(str(tmp_path), 1.0)
    assert (tmp_path / "unused").read_text() == "text"


def test_files_in_branches_and_loops_of_a_function(tmp_path):
    @tf.function
    def lines(folder, count):
        total = 0
        for number in tf.range(count):
            path = tf.strings.join([folder, "/", tf.as_string(number)])
            tf.io.write_file(path, tf.as_string(number * number))
            total += tf.strings.to_number(tf.io.read_file(path), tf.int32)
        return total

    assert int(lines(tf.constant(str(tmp_path)), tf.constant(4))) == 14
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2", "3"]


def test_bytes_become_numbers_in_a_compiled_function():
    @tf.function(input_signature=[tf.TensorSpec([2], tf.string)])
    def columns(lines):
        number, word = tf.io.decode_csv(lines, [[0.0], [""]])
        there = tf.io.decode_base64(tf.io.encode_base64(word))
        return number * 2.0, there, tf.io.decode_raw(word, tf.uint8, fixed_length=2), tf.io.is_jpeg(word)

    number, word, raw, jpeg = columns(["1.5,ab", "2,q"])
    assert _is_compiled(columns.get_concrete_function())
    assert number.numpy().tolist() == [3.0, 4.0] and word.numpy().tolist() == [b"ab", b"q"]
    assert raw.numpy().tolist() == [[97, 98], [113, 0]] and jpeg.numpy().tolist() == [False, False]


def test_a_picture_through_a_function():
    @tf.function
    def through(x):
        return tf.io.decode_png(tf.io.encode_png(tf.cast(x, tf.uint8))), tf.reduce_sum(x)

    @tf.function
    def mean(text):
        return tf.reduce_mean(tf.cast(tf.io.decode_png(text, channels=3), tf.float32))

    x = tf.reshape(tf.range(18.0), [2, 3, 3])
    picture, total = through(x)
    assert np.array_equal(picture, x) and float(total) == 153.0
    assert float(mean(tf.io.encode_png(tf.cast(x, tf.uint8)))) == 8.5


def test_files_in_a_graph(tmp_path):
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_text("text")
    with tf.Graph().as_default():
        path = tf.compat.v1.placeholder(tf.string, [])
        text = tf.io.read_file(path)
        raw = tf.io.decode_raw(text, tf.uint8, fixed_length=2)
        write = tf.io.write_file(str(copy), text)
        with tf.compat.v1.Session() as session:
            assert session.run(raw, {path: str(source)}).tolist() == [116, 101]
            assert not copy.exists()
            session.run(write, {path: str(source)})
            assert copy.read_text() == "text" and session.run(text, {path: str(copy)}) == b"text"
