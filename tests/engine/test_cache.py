"""The cache of compiled programs on disk: a folder of its own that others may not write to, whose damaged files are replaced."""

import os
import re
import subprocess
import sys
import zlib

import pytest

from gradtape._src.core.platform import compile_cache
from tests import forked

PROGRAM = "jit_evaluate-" + "0123456789abcdef" * 4 + "-cache"


def test_only_compiled_programs_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_cache, "CACHE_BYTES", 100)
    folder = tmp_path / "gradtape" / "xla"
    folder.mkdir(parents=True)
    own = [folder / PROGRAM.replace("evaluate", f"evaluate_{i}") for i in range(4)]
    users = [tmp_path / "data.bin", tmp_path / PROGRAM, folder / "notes.txt", folder / "jit_mine-cache", folder / "model-cache"]
    for age, file in enumerate([*users, *own]):
        file.write_bytes(bytes(60))
        file.chmod(0o400)  # as one that was found to be whole
        os.utime(file, (1000 + age, 1000 + age))
    linked = folder / PROGRAM.replace("evaluate", "linked")
    linked.symlink_to(tmp_path / "data.bin")
    compile_cache.prune(folder)
    assert all(file.exists() for file in users) and linked.is_symlink()
    assert [file.exists() for file in own] == [False, False, False, True]


def test_damaged_programs_are_removed_and_whole_ones_looked_at_once(tmp_path, monkeypatch):
    folder = tmp_path / "gradtape" / "xla"
    folder.mkdir(parents=True)
    whole = zlib.compress(b"a program" * 100)
    contents = {
        "whole": whole,
        "future": whole,
        "past": whole,
        "compressed_otherwise": compile_cache.ZSTANDARD + b"x",
        "cut": whole[:-3],
        "empty": b"",
        "flipped": whole[:20] + bytes([whole[20] ^ 1]) + whole[21:],
        "text": b"not a program",
    }
    files = {name: folder / PROGRAM.replace("evaluate", name) for name in contents}
    for name, data in contents.items():
        files[name].write_bytes(data)
    os.utime(files["future"], (4e9, 4e9))
    os.utime(files["past"], (0, 0))
    compile_cache.prune(folder)
    left = ["whole", "future", "past"]
    if sys.version_info < (3, 14):  # later versions can look into this form, too
        left.append("compressed_otherwise")
    assert [name for name in files if files[name].exists()] == left
    looked = []
    monkeypatch.setattr(compile_cache, "_is_damaged", lambda data: looked.append(data))
    compile_cache.prune(folder)
    assert not looked


class TestFolder:
    """Whoever may write into the folder may have this user run code: then it is not used."""

    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / "base" / "gradtape" / "xla"
        assert compile_cache._refused(folder) is None
        return folder

    def test_it_is_made_for_this_user_alone(self, folder):
        assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]

    @pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
    @pytest.mark.parametrize("above", [0, 1])
    def test_others_may_write(self, folder, mode, above):
        (folder, folder.parent)[above].chmod(mode)
        assert "others may write to" in compile_cache._refused(folder)

    def test_it_belongs_to_another_user(self, folder, monkeypatch):
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
        assert "belongs to another user" in compile_cache._refused(folder)

    @pytest.mark.parametrize(("mode", "refused"), [(0o777, True), (0o1777, False), (0o770, False)])
    def test_what_it_lies_in(self, folder, mode, refused):
        folder.parents[1].chmod(mode)
        assert (compile_cache._refused(folder) is not None) == refused

    def test_it_may_not_be_written(self, folder, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, mode: False)  # for root it would be true
        assert "may not be written" in compile_cache._refused(folder)

    def test_a_file_is_in_its_place(self, tmp_path):
        (tmp_path / "gradtape").write_text("a file")
        assert "cannot be made (File exists)" in compile_cache._refused(tmp_path / "gradtape" / "xla")


MANY = """
import gradtape as tf
tf.config.compile_early()
x = tf.constant([1.0, 2.0])
print([float(tf.reduce_sum(tf.function(lambda x: x * float(n) + tf.sin(x))(x))) for n in range(3)])
"""


def run(program, folder):
    """What a program prints and says whose cache lies in `folder`."""
    done = forked.run([sys.executable, "-c", program], env=os.environ | {"GRADTAPE_CACHE_DIR": str(folder)})
    return done.stdout, done.stderr


def test_a_folder_of_our_own_in_the_one_that_is_given_and_two_processes_on_damaged_files_in_it(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    first, _ = run(MANY, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gradtape", "mine.txt"]
    files = [*(tmp_path / "gradtape" / "xla").iterdir()]
    assert files and all(compile_cache.PROGRAM.fullmatch(file.name) for file in files)
    for number, file in enumerate(files):
        file.write_bytes(file.read_bytes()[: 50 * number])
    command, environment = [sys.executable, "-c", MANY], os.environ | {"GRADTAPE_CACHE_DIR": str(tmp_path)}
    two = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in two] == [first, first]
    assert first.startswith("[") and not any(compile_cache._is_damaged(file.read_bytes()) for file in files)


def test_a_folder_that_may_not_be_written_is_told_once_and_programs_run():
    out, said = run(MANY, "/proc")  # read-only for any user
    assert out.startswith("[") and out.count(",") == 2
    assert said.count("/proc/gradtape") == 1 and len(said.splitlines()) == 1, said


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # a write that does not fit fails, as on a full disk
"""


@pytest.mark.skipif(os.name != "posix", reason="the limit of a file's size is POSIX's")
def test_a_disk_that_is_full_is_told_once_and_programs_run(tmp_path):
    whole, _ = run(MANY, "")
    out, said = run(FULL + MANY, tmp_path)
    assert out == whole
    assert said.count("Error writing persistent compilation cache entry") == 1, said
    again, said = run(MANY, tmp_path)
    assert (again, said) == (whole, "")
    assert not any(compile_cache._is_damaged(file.read_bytes()) for file in (tmp_path / "gradtape" / "xla").iterdir())


def test_a_home_that_cannot_be_used(tmp_path, monkeypatch, caplog):
    """One line in the log, and no cache."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.delenv("GRADTAPE_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    usable = compile_cache._usable.__wrapped__
    assert usable() is None
    (record,) = caplog.records
    assert re.match("Compiled programs are not kept on disk: .*cannot be made .Not a directory.*", record.getMessage())


def test_a_user_without_a_home(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("GRADTAPE_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(compile_cache.Path, "home", home)
    assert compile_cache.cache_folder() is None
