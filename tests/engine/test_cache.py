"""The cache of compiled programs on disk: it has a folder of its own, and only what JAX wrote there is ever removed."""

import os
import subprocess
import sys
import threading

from gradtape._src.core import runtime

PROGRAM = "jit_evaluate-" + "0123456789abcdef" * 4 + "-cache"


def test_only_compiled_programs_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADTAPE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(runtime, "CACHE_BYTES", 100)
    monkeypatch.setattr(runtime, "_pruned", threading.Event())
    folder = tmp_path / "gradtape" / "xla"
    folder.mkdir(parents=True)
    own = [folder / PROGRAM.replace("evaluate", f"evaluate_{i}") for i in range(4)]
    users = [tmp_path / "data.bin", tmp_path / PROGRAM, folder / "notes.txt", folder / "jit_mine-cache", folder / "model-cache"]
    for age, file in enumerate([*users, *own]):
        file.write_bytes(bytes(60))
        os.utime(file, (1000 + age, 1000 + age))
    linked = folder / PROGRAM.replace("evaluate", "linked")
    linked.symlink_to(tmp_path / "data.bin")
    runtime.prune_cache()
    assert all(file.exists() for file in users) and linked.is_symlink()
    assert [file.exists() for file in own] == [False, False, False, True]


def test_a_folder_that_is_given_gets_one_of_our_own(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    program = "import gradtape as tf; print(float(tf.function(lambda x: x * 3.0)(2.0)))"
    environment = {**os.environ, "GRADTAPE_CACHE_DIR": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == "6.0\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gradtape", "mine.txt"]
    written = [path.name for path in (tmp_path / "gradtape" / "xla").iterdir()]
    assert written and all(runtime.PROGRAM.fullmatch(name) for name in written)
