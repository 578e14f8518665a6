"""The files: whole or not there after a crash, and an error if they are damaged or made to do harm."""

import json
import os
import signal
import struct
import sys
import zlib

import numpy as np
import pytest
import safetensors
import safetensors.numpy

import gradtape as tf
from gradtape._src.train import storage
from tests import forked


def checkpoint(value=1.0):
    return tf.train.Checkpoint(a=tf.Variable([value, value]), b=tf.Variable(2))


def test_a_file_is_safetensors(tmp_path):
    checkpoint().write(tmp_path / "ck")
    arrays = safetensors.numpy.load_file(tmp_path / "ck.safetensors")
    assert {key: array.tolist() for key, array in arrays.items()} == {"a": [1.0, 1.0], "b": 2}


class TestDamage:
    @pytest.fixture
    def saved(self, tmp_path):
        checkpoint().write(tmp_path / "ck")
        return tmp_path / "ck.safetensors"

    @staticmethod
    def check(path, message, error=tf.errors.DataLossError):
        ckpt = checkpoint(7.0)
        with pytest.raises(error, match=message):
            ckpt.read(str(path).removesuffix(".safetensors"))
        assert ckpt.a.numpy().tolist() == [7.0, 7.0]

    def test_cut_short_anywhere(self, saved):
        whole = saved.read_bytes()
        for length in {0, 3, 8, 9, len(whole) // 2, len(whole) - 5, len(whole) - 1}:
            saved.write_bytes(whole[:length])
            self.check(saved, "is damaged, or is none: .* Nothing was restored")

    def test_a_byte_changed_anywhere(self, saved):
        whole = saved.read_bytes()
        header = 8 + struct.unpack("<Q", whole[:8])[0]
        places = [*range(0, len(whole), 7), *range(header, len(whole))]
        for place in places:
            broken = bytearray(whole)
            broken[place] ^= 1
            saved.write_bytes(broken)
            if place < header and whole[place : place + 1] == b" ":
                continue  # what pads the header means nothing
            self.check(saved, "is damaged, or is none")

    HEADERS = {
        "an absurd size of the header": (struct.pack("<Q", 1 << 62) + b"{}", "header too large"),
        "no JSON": (struct.pack("<Q", 4) + b"oops", "invalid JSON"),
        "deep JSON": (struct.pack("<Q", 200_000) + b"[" * 200_000, "invalid JSON"),
        "nothing": (b"", "header too small"),
        "a pickle": (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "header"),
    }

    @pytest.mark.parametrize("data, message", HEADERS.values(), ids=HEADERS)
    def test_headers(self, data, message, tmp_path):
        path = tmp_path / "bad.safetensors"
        path.write_bytes(data)
        self.check(path, message)

    ARRAYS = {
        "offsets beyond the end": {"dtype": "F32", "shape": [2], "data_offsets": [0, 800]},
        "a huge shape": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 8]},
        "a shape that is not its size": {"dtype": "F32", "shape": [1 << 30], "data_offsets": [0, 8]},
        "offsets that leave a hole": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
        "a negative extent": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]},
        "a dtype that NumPy does not have": {"dtype": "F4", "shape": [16], "data_offsets": [0, 8]},
    }

    @pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
    def test_arrays(self, array, tmp_path):
        text = json.dumps({"gradtape": "{}", "a": array}).encode()
        path = tmp_path / "bad.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
        self.check(path, "is damaged, or is none")

    def index(self, path, change):
        """Write a file whose checksums are right and whose index is not."""
        with safetensors.safe_open(path, framework="np") as file:
            index = json.loads(file.metadata()["gradtape"])
            arrays = {key: file.get_tensor(key) for key in ("a", "b")}
        text = change(index) or json.dumps(index)
        safetensors.numpy.save_file(arrays, path, {"gradtape": text, "crc32": str(zlib.crc32(text.encode()))})

    INDEXES = {
        "no JSON": (lambda index: "{", "Expecting property name"),
        "deep JSON": (lambda index: "[" * 100_000, "recursion|Stack overflow"),
        "a list": (lambda index: "[]", "list indices"),
        "no arrays": (lambda index: index.pop("arrays") and None, "no 'arrays'"),
        "another format": (lambda index: index.update(format="new"), "its format is 'new', this version of gradtape reads"),
        "no objects": (lambda index: index.update(nodes=[]), "no objects"),
        "a child that is not there": (lambda index: index["nodes"][0]["children"].update(x=99), "object 'x' has the number 99"),
        "a child that is no number": (lambda index: index["nodes"][0]["children"].update(x="../a"), "has the number '../a'"),
        "an array that is not there": (lambda index: index["nodes"][1].update(key="../../etc/passwd"), "no array '../../etc"),
        "an array that is not stored": (lambda index: index["arrays"].update({"/etc/x": index["arrays"]["a"]}), "no array /etc"),
        "a shape of words": (lambda index: index["arrays"]["a"].update(shape=["2"]), "has the shape"),
        "no dtype": (lambda index: index["arrays"]["a"].update(dtype="float3"), "float3"),
        "huge strings": (lambda index: index["arrays"].update(s={"dtype": "string", "shape": [1 << 61] * 9, "strings": []}),
                         "s has 0 strings for the shape"),
        "strings that are none": (lambda index: index["arrays"].update(s={"dtype": "string", "shape": [1], "strings": ["?"]}),
                                  "is damaged, or is none"),
    }  # fmt: skip

    @pytest.mark.parametrize("change, message", INDEXES.values(), ids=INDEXES)
    def test_indexes(self, change, message, saved):
        self.index(saved, change)
        self.check(saved, message)

    @pytest.mark.parametrize(
        "change, message",
        [
            ({"shape": [2, 1]}, r"a is float32\[2\] in it, float32\[2, 1\] in its index"),
            ({"shape": [1 << 61] * 9}, r"a is float32\[2\] in it, float32\[2305843009213693952, "),
            ({"dtype": "int32"}, r"a is float32\[2\] in it, int32\[2\] in its index"),
            ({"dtype": "complex128"}, r"a is float32\[2\] in it, complex128\[2\] in its index"),
            ({"crc32": 1}, "the checksum of a is wrong"),
        ],
    )
    def test_indexes_that_contradict_the_arrays(self, change, message, saved):
        self.index(saved, lambda index: index["arrays"]["a"].update(change))
        with pytest.raises(tf.errors.DataLossError, match=message):
            tf.train.load_variable(saved, "a")
        # Where the index does not fit the variable either, that is what is said.
        self.check(saved, "No variable was changed|Nothing was restored", (ValueError, tf.errors.OpError))

    def test_the_damage_above_is_what_is_found(self, saved):
        self.index(saved, lambda index: None)
        assert checkpoint(7.0).read(saved).assert_consumed()

    def test_a_graph_with_a_cycle(self, saved):
        self.index(saved, lambda index: [node["children"].update(again=0) for node in index["nodes"]] and None)
        ckpt = checkpoint(7.0)
        ckpt.read(saved).assert_consumed()
        assert ckpt.a.numpy().tolist() == [1.0, 1.0]

    def test_safetensors_of_others(self, tmp_path):
        path = tmp_path / "other.safetensors"
        safetensors.numpy.save_file({"a": np.ones(2, np.float32)}, path)
        self.check(path, r"not one that tf\.train\.Checkpoint wrote")

    def test_files_that_are_not_there(self, tmp_path):
        self.check(tmp_path / "none.safetensors", r"there is no file .*none\.safetensors.* missing the checkpoint suffix",
                   tf.errors.NotFoundError)  # fmt: skip
        (tmp_path / "folder.safetensors").mkdir()
        self.check(tmp_path / "folder.safetensors", "there is no file", tf.errors.NotFoundError)


class TestCrashes:
    @pytest.mark.parametrize("where", ["fsync", "replace", "chmod"])
    def test_a_failure_while_writing_leaves_the_old_file(self, where, tmp_path, monkeypatch):
        checkpoint(1.0).write(tmp_path / "ck")

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(storage.os, where, fail)
        with pytest.raises(OSError, match="No space left on device"):
            checkpoint(5.0).write(tmp_path / "ck")
        monkeypatch.undo()
        assert os.listdir(tmp_path) == ["ck.safetensors"]
        assert tf.train.load_variable(tmp_path / "ck", "a").tolist() == [1.0, 1.0]

    def test_a_save_that_fails_is_not_counted(self, tmp_path, monkeypatch):
        ckpt = checkpoint()
        manager = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=1)
        first = manager.save()

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(storage.os, "replace", fail)
        for save in (manager.save, lambda: ckpt.save(tmp_path / "ckpt")):
            with pytest.raises(OSError, match="No space left on device"):
                save()
        monkeypatch.undo()
        assert ckpt.save_counter.numpy() == 1
        assert manager.checkpoints == [first]
        assert tf.train.latest_checkpoint(tmp_path) == first
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ckpt-1.safetensors"]

    SCRIPT = """
import os, signal, sys
import gradtape as tf
from gradtape._src.train import storage
ckpt = tf.train.Checkpoint(a=tf.Variable([1.0, 1.0]), b=tf.Variable(2))
manager = tf.train.CheckpointManager(ckpt, sys.argv[1], max_to_keep=1)
manager.save()
ckpt.a.assign([5.0, 5.0])
calls, original = [], getattr(os, sys.argv[2])
def kill(*arguments):
    if len(calls) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    calls.append(arguments)
    return original(*arguments)
setattr(storage.os, sys.argv[2], kill)
manager.save()
"""

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
    @pytest.mark.parametrize(
        "where, call, number",
        [
            ("fsync", 0, 1),  # while the checkpoint is written
            ("replace", 0, 1),
            ("replace", 1, 1),  # while the folder's note is written
            ("unlink", 0, 2),  # before the old one is deleted
        ],
    )
    def test_a_process_that_is_killed_leaves_a_whole_checkpoint(self, where, call, number, tmp_path):
        command = [sys.executable, "-c", self.SCRIPT, str(tmp_path), where, str(call)]
        killed = forked.run(command)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        latest = tf.train.latest_checkpoint(tmp_path)
        assert latest == f"{tmp_path}/ckpt-{number}"
        ckpt = checkpoint(0.0)
        manager = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=1)
        assert manager.restore_or_initialize() == latest
        assert ckpt.a.numpy().tolist() == ([1.0, 1.0] if number == 1 else [5.0, 5.0])
        assert manager.save() == f"{tmp_path}/ckpt-{number + 1}"
