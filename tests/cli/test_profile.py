"""`gradtape profile script.py` runs a script, and shows at its end FLOPs, time and memory by line and layer."""

import inspect

import pytest

import gradtape as tf
from gradtape._src.profile.watched import Clock
from tests.cli.test_cli import GRADTAPE_RUN, folder, run_forked

__all__ = ["folder"]
PROFILE = (*GRADTAPE_RUN[:-1], "profile")

SCRIPT = """
import sys
import tensorflow as tf

w = tf.Variable(tf.ones([64, 64]))
x = tf.ones([32, 64])
for _ in range(3):
    with tf.GradientTape() as tape:
        with tf.name_scope("layer"):
            y = x @ w
        loss = tf.reduce_sum(y)
    tape.gradient(loss, w)
print("ran", sys.argv[1:])
sys.exit(3)
"""


def test_the_costs_of_a_script(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    (folder / "script.py").write_text(SCRIPT)
    done = run_forked(PROFILE, folder, "--html", "report.html", "a", "--b")
    assert (done.returncode, done.stderr) == (3, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    name = f"{folder.name}/script.py"
    assert lines[0] == "ran ['a', '--b']"
    assert lines[1].startswith("time by line, ")
    assert f"{name}:12: tape.gradient(loss, w) (3 ×)" in lines
    assert any(line.startswith("one call: 264,191 FLOPs forward, ") for line in lines)
    assert any(line.startswith(f"{name}:10 y = x @ w 262,144 ") for line in lines)
    assert any(line.startswith("layer 262,144 ") for line in lines)
    page = (folder.parent / "report.html").read_text()
    for text in (f"gradtape profile: {name}", "<code>y = x @ w</code>", "262,144", "Content-Security-Policy"):
        assert text in page


@pytest.mark.parametrize(
    ("script", "code", "expected"),
    [
        ("print('nothing')", 0, "no gradient was asked for"),
        ("import tensorflow\n1 / 0", 1, "time by line, "),
    ],
    ids=["nothing to count", "an error"],
)
def test_a_script_that_ends_early_is_told_of_all_the_same(folder, script, code, expected):
    (folder / "script.py").write_text(script)
    done = run_forked(PROFILE, folder)
    assert done.returncode == code
    assert expected in done.stdout
    assert ("ZeroDivisionError" in done.stderr) == bool(code)


def test_a_page_that_cannot_be_written_ends_it_before_the_script(folder):
    (folder / "script.py").write_text("print('never')")
    done = run_forked(PROFILE, folder, "--html", "absent/report.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gradtape profile: cannot write " in done.stderr


def test_time_is_that_of_the_users_line():
    clock = Clock()
    line = inspect.currentframe().f_lineno + 1
    sorted([1], key=lambda _: clock._note(2.0))
    tf.nest.map_structure(lambda _: clock._note(3.0), 1)
    assert dict(clock.seconds) == {(__file__, line): 2.0, (__file__, line + 1): 3.0}
    assert clock.total == 5.0
