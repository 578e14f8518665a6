"""Files and directories: TensorFlow's results and errors, on the local file system and on one of fsspec."""

import os
import stat

import numpy as np
import pytest

import gradtape as tf

gfile = tf.io.gfile


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "x").mkdir()
    (tmp_path / "a.txt").write_bytes(b"line1\nline2\r\nline3")
    (tmp_path / "b.txt").write_bytes(b"\xff\x00")
    (tmp_path / "x" / "z.txt").write_text("hi")
    return tmp_path


def test_whole_files(folder):
    assert tf.io.read_file("a.txt").numpy() == b"line1\nline2\r\nline3"
    assert tf.io.read_file(folder / "b.txt").numpy() == b"\xff\x00"
    assert tf.io.read_file("file://" + str(folder / "b.txt")).numpy() == b"\xff\x00"
    assert tf.io.write_file("new/deep/c", tf.io.read_file("b.txt")) is None
    assert (folder / "new/deep/c").read_bytes() == b"\xff\x00"


def test_a_file_is_written_whole_and_keeps_its_mode(folder):
    os.chmod("a.txt", 0o640)
    os.symlink("a.txt", "link")
    tf.io.write_file("link", "other")
    assert (folder / "a.txt").read_text() == "other" and (folder / "link").is_symlink()
    assert stat.S_IMODE(os.stat("a.txt").st_mode) == 0o640
    assert sorted(os.listdir()) == ["a.txt", "b.txt", "d", "link", "x"]


def test_a_write_that_fails_leaves_the_file_as_it_was(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"a.txt; No space left on device"):
        tf.io.write_file("a.txt", "other")
    assert (folder / "a.txt").read_bytes().startswith(b"line1")
    assert sorted(os.listdir()) == ["a.txt", "b.txt", "d", "x"]


ERRORS = [
    (lambda: tf.io.read_file("nope"), tf.errors.NotFoundError, r"^nope; No such file or directory \[Op:ReadFile\]"),
    (lambda: tf.io.read_file("d"), tf.errors.FailedPreconditionError, "^d; Is a directory"),
    (lambda: tf.io.read_file(["a.txt"]), tf.errors.InvalidArgumentError, r"filename tensor must be scalar, but had shape: \[1\]"),
    (lambda: tf.io.read_file(3), TypeError, "Cannot convert 3 to EagerTensor of dtype string"),
    (lambda: tf.io.read_file("a\0b"), tf.errors.InvalidArgumentError, "is no name of a file"),
    (lambda: tf.io.write_file("d", "x"), tf.errors.FailedPreconditionError, "^d; Is a directory"),
    (lambda: tf.io.write_file("a.txt/b", "x"), tf.errors.AlreadyExistsError, "a.txt/b; File exists"),
    (lambda: gfile.listdir("nope"), tf.errors.NotFoundError, "Could not find directory nope"),
    (lambda: gfile.listdir("a.txt"), tf.errors.NotFoundError, "Could not find directory a.txt"),
    (lambda: gfile.mkdir("q/r"), tf.errors.NotFoundError, "q/r; No such file or directory"),
    (lambda: gfile.makedirs("a.txt/b"), tf.errors.FailedPreconditionError, "a.txt is not a directory"),
    (lambda: gfile.remove("nope"), tf.errors.NotFoundError, "nope; No such file or directory"),
    (lambda: gfile.remove("d"), tf.errors.FailedPreconditionError, "d; Is a directory"),
    (lambda: gfile.rmtree("nope"), tf.errors.NotFoundError, "nope not found"),
    (lambda: gfile.rename("nope", "b"), tf.errors.NotFoundError, "nope; No such file or directory"),
    (lambda: gfile.rename("a.txt", "b.txt"), tf.errors.AlreadyExistsError, "file already exists"),
    (lambda: gfile.copy("a.txt", "b.txt"), tf.errors.AlreadyExistsError, "file already exists"),
    (lambda: gfile.copy("nope", "b"), tf.errors.NotFoundError, "nope; No such file or directory"),
    (lambda: gfile.copy("d", "b"), tf.errors.InvalidArgumentError, "d; Is a directory"),
    (lambda: gfile.stat("nope"), tf.errors.NotFoundError, "nope; No such file or directory"),
    (lambda: gfile.exists("foo://x"), tf.errors.UnimplementedError, "File system scheme 'foo' not implemented"),
    (lambda: gfile.GFile("a.txt", "q"), tf.errors.InvalidArgumentError, "mode is not 'r' or 'w'"),
    (lambda: gfile.GFile("nope").read(), tf.errors.NotFoundError, "nope; No such file or directory"),
    (lambda: gfile.GFile("nope").size(), tf.errors.NotFoundError, "nope; No such file or directory"),
    (lambda: gfile.GFile("d").read(), tf.errors.FailedPreconditionError, "d; Is a directory"),
    (lambda: gfile.GFile("nd/x", "w").write("a"), tf.errors.NotFoundError, "nd/x; No such file or directory"),
    (lambda: gfile.GFile("a.txt").write("a"), tf.errors.PermissionDeniedError, "File isn't open for writing"),
    (lambda: gfile.GFile("new", "w").read(), tf.errors.PermissionDeniedError, "File isn't open for reading"),
    (lambda: gfile.GFile("a.txt").seek(-1), tf.errors.InvalidArgumentError, "Seeking to a negative position: -1"),
    (lambda: gfile.GFile("a.txt").seek(99), tf.errors.OutOfRangeError, "reached end of file"),
    (
        lambda: tf.data.Dataset.list_files(["nope*", "a?"]),
        tf.errors.InvalidArgumentError,
        r"No files matched pattern: nope\*, a\?",
    ),
]


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors_are_tensorflows(call, kind, message, folder):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_what_may_not_be_read(folder):
    os.chmod("a.txt", 0)
    with pytest.raises(tf.errors.PermissionDeniedError, match=r"a.txt; Permission denied"):
        tf.io.read_file("a.txt")


def test_patterns(folder):
    def found(pattern):
        return [name.decode() for name in tf.io.matching_files(pattern).numpy()]

    assert found("*.txt") == ["./a.txt", "./b.txt"]
    assert found(["*.txt", "d/*", "nope*"]) == ["./a.txt", "./b.txt", "d/e"]
    assert found("nodir/*") == [] and found("a.{txt,b}") == []
    assert found("[ac].txt") == ["./a.txt"] and found("?.txt") == ["./a.txt", "./b.txt"]
    assert found("*/z.txt") == ["./x/z.txt"] and found("d/../a*") == ["d/../a.txt"]
    assert found("a.txt") == ["a.txt"] and found("nope.txt") == [] and found("") == []
    assert found(str(folder / "*.txt")) == [str(folder / "a.txt"), str(folder / "b.txt")]
    assert gfile.glob(["*.txt", "d*"]) == ["./a.txt", "./b.txt", "./d"]
    (folder / "[q].txt").touch()
    assert found(r"\[q\].txt") == ["./[q].txt"]


def test_the_order_of_listed_files_is_tensorflows(folder):
    for name in ("q1", "q2", "q3"):
        (folder / name).touch()
    tf.random.set_seed(3)
    dataset = tf.data.Dataset.list_files("q*", seed=7)
    assert dataset.cardinality() == 3
    orders = [[name.decode() for name in dataset.as_numpy_iterator()] for _ in range(3)]
    assert orders == ORDERS
    assert list(tf.data.Dataset.list_files("q*", shuffle=False).as_numpy_iterator()) == [b"./q1", b"./q2", b"./q3"]


ORDERS = [["./q1", "./q3", "./q2"], ["./q2", "./q3", "./q1"], ["./q3", "./q2", "./q1"]]


@pytest.mark.parametrize("root", ["", "ram://tests/"])
def test_directories(root, folder):
    for name in ("y/1", "y/z/2", "y/z/3"):
        gfile.makedirs(os.path.dirname(root + name))
        with gfile.GFile(root + name, "w") as file:
            file.write("hello")
    top = root + "y"
    assert gfile.isdir(top) and not gfile.isdir(top + "/1") and gfile.exists(top + "/1") and not gfile.exists(top + "/2")
    assert sorted(gfile.listdir(top)) == ["1", "z"]
    walked = [(top, ["z"], ["1"]), (top + "/z", [], ["2", "3"])]
    assert [(path, folders, sorted(files)) for path, folders, files in gfile.walk(top)] == walked
    assert [path for path, _, _ in gfile.walk(top, topdown=False)] == [top + "/z", top]
    errors = []
    assert list(gfile.walk(root + "nope", onerror=errors.append)) == [] and len(errors) == 1
    assert gfile.stat(top + "/1").length == 5 and gfile.stat(top + "/1").mtime_nsec > 0 and gfile.stat(top).is_directory
    gfile.copy(top + "/1", top + "/4")
    gfile.rename(top + "/4", top + "/1", overwrite=True)
    gfile.remove(top + "/z/2")
    assert gfile.glob(top + "/*") == [top + "/1", top + "/z"] and gfile.glob(top + "/*/?") == [top + "/z/3"]
    gfile.rmtree(top)
    assert not gfile.exists(top)


def test_between_file_systems(folder):
    gfile.copy("a.txt", "ram://copy")
    assert gfile.GFile("ram://copy", "rb").read() == (folder / "a.txt").read_bytes()
    tf.io.write_file("ram://whole", "text")
    assert tf.io.read_file("ram://whole").numpy() == b"text"
    with pytest.raises(tf.errors.InvalidArgumentError, match="are of two file systems"):
        gfile.rename("a.txt", "ram://other")


def test_a_gfile(folder):
    with gfile.GFile("a.txt") as file:
        assert (file.read(3), file.tell(), file.readline(), file.readline()) == ("lin", 3, "e1\n", "line2\n")
        file.seek(0)
        assert file.readlines() == ["line1\n", "line2\n", "line3"] and file.read() == ""
        file.seek(-2, 2)
        assert file.read() == "e3" and file.size() == 18 and file.seekable()
    assert list(gfile.GFile("a.txt", "rb")) == [b"line1\n", b"line2\n", b"line3"]
    with pytest.raises(UnicodeDecodeError, match="can't decode byte 0xff"):
        gfile.GFile("b.txt").read()
    with gfile.GFile("unused", "w"):
        pass
    assert not os.path.exists("unused")  # it is made when it is first written
    with gfile.GFile("new", "w") as file:
        file.write("a€")
        file.write(b"bc")
        assert (file.tell(), file.name, file.mode) == (6, "new", "w")
    with gfile.GFile("new", "a") as file:
        file.write("d")
    with gfile.GFile("new", "r+") as file:
        assert file.read() == "a€bcd"
        file.write("e")
    assert (folder / "new").read_text("utf-8") == "a€bcde"


def test_join():
    assert gfile.join("a", "b") == "a/b" and gfile.join("a", "/b") == "/b" and gfile.join("", "b") == "b"
    assert gfile.join("gs://a/", "b", "c") == "gs://a/b/c"
    assert {"", "file", "ram"} <= set(gfile.get_registered_schemes())


def test_tensorflow_1s_names(folder):
    old = tf.compat.v1.gfile
    assert old.Exists("a.txt") and old.ListDirectory("d") == ["e"] and old.FastGFile("x/z.txt", "rb").read() == b"hi"
    assert tf.compat.v1.read_file("x/z.txt").numpy() == b"hi"
    assert list(tf.compat.v1.io.gfile.walk("d")) == [("d", ["e"], []), ("d/e", [], [])]


def test_a_function_reads_and_writes_each_time_that_it_is_called(folder):
    @tf.function
    def doubled(path):
        content = tf.io.read_file(path)
        tf.io.write_file(path, tf.strings.join([content, content]) if hasattr(tf, "strings") else content)
        return tf.io.read_file(path)

    path = tf.constant("x/z.txt")
    before = np.asarray(tf.io.read_file(path))[()]
    assert doubled(path).numpy().startswith(before)
