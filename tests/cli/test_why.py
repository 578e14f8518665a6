"""`gradtape why script.py` runs a script, and says at its end why gradients were missing."""

import pytest

from tests.cli.test_cli import GRADTAPE_RUN, folder, run_forked

__all__ = ["folder"]
WHY = (*GRADTAPE_RUN[:-1], "why")

BROKEN = """
import sys
import tensorflow as tf

w, v, u = tf.Variable(2.0), tf.Variable([-1.0, -2.0]), tf.Variable(0.0)
for _ in range(3):
    with tf.GradientTape() as tape:
        scale = float(w)
        loss = scale * tf.reduce_sum(tf.nn.relu(v)) + tf.sqrt(u)
    tape.gradient(loss, [w, v, u])
print("ran", sys.argv)
"""

RIGHT = """
import tensorflow as tf
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = w * w
tape.gradient(loss, w)
"""

RAISES = """
import tensorflow as tf
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = tf.stop_gradient(w) * 2.0
dw = tape.gradient(loss, w)
w.assign_sub(0.1 * dw)
"""


def why(folder, text, *arguments):
    (folder / "script.py").write_text(text)
    return run_forked(WHY, folder, *arguments)


def test_what_is_missing(folder):
    done = why(folder, BROKEN, "a", "--b")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == f"ran ['{folder.name}/script.py', 'a', '--b']"
    told = "1 of 3 has no gradient, 1 has an infinite gradient, 1 has a gradient of zeros"
    assert lines[1] == f"gradtape why: {told}: {folder.name}/script.py:10"  # as a path from where it runs
    assert "line 10: tape.gradient(loss, [w, v, u])" in lines and "\n".join(lines).count("script.py") == 2
    text = "\n".join(lines)
    for name, what, line, code in (
        ("w", "None", 8, "left_library"),
        ("v", "zeros", 9, "dead_relu"),
        ("u", "infinite", 9, "inf_origin"),
    ):
        assert f"  {name}: the gradient is {what} (3 times)\n    line {line}: {code}: " in text


def test_nothing_is_missing(folder):
    done = why(folder, RIGHT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "gradtape why: 1 gradient call, and nothing is missing\n"


EMPTY = """
import gradtape as tf
w, variables = tf.Variable(1.0), []
with tf.GradientTape() as tape:
    loss = w * w
print(tape.gradient(loss, variables))
"""


def test_no_source_is_given(folder):
    done = why(folder, EMPTY)
    said = "a model's list is empty until it is built, and where nothing is trainable"
    assert done.stdout.splitlines()[-1].endswith(f"nothing is missing; no source is given at {folder / 'script.py'}:6: {said}")


RAISED = """
import gradtape as tf
w = tf.Variable([[1.0, 2.0]])
@tf.custom_gradient
def broken(x):
    def grad(dy):
        raise ArithmeticError("no")
    return x * 2.0, grad
for function in (tf.square, broken):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(function(w))
    if function is broken:
        try:
            tape.gradient(loss, w)
        except ArithmeticError:
            continue
    tape.gradient(loss, w)
"""


def test_a_gradient_call_that_raises(folder):
    done = why(folder, RAISED)
    assert done.returncode == 1
    at = f"{folder / 'script.py'}:14"
    assert done.stdout == f"gradtape why: the gradient call at {at} raised an error; 1 gradient call gave all\n"


JACOBIAN = """
import gradtape as tf
w = tf.Variable([[1.0, 2.0]])
with tf.GradientTape(persistent=True) as tape:
    raw = tf.tanh(w)
y = tf.nn.softmax(raw)
print(tape.jacobian([raw, y], w)[1], tape.jacobian(raw, w).shape)
print(tape.batch_jacobian(raw, w).shape, tape.batch_jacobian(y, w).numpy().tolist())
"""


def test_a_jacobian_that_is_missing(folder):
    done = why(folder, JACOBIAN)
    assert done.returncode == 1
    assert "gradtape why: w has no gradient: " in done.stdout
    assert "script.py:7; w has no gradient: line 8\n" in done.stdout
    for line in (7, 8):
        assert f"\nline {line}: print(" in done.stdout
    told = "    line 6: outside_tape: `y = tf.nn.softmax(raw)` ran after the tape closed"
    assert done.stdout.count(told) == 2


def test_no_gradient_call(folder):
    done = why(folder, "print('hello')")
    assert (done.returncode, done.stdout) == (0, "hello\ngradtape why: the script asked no tape for a gradient or Jacobian\n")


def test_a_script_that_raises(folder):
    done = why(folder, RAISES)
    assert done.returncode == 1
    assert done.stderr.startswith("The gradient is None.") or done.stderr.startswith("Traceback")
    assert 'script.py", line 7, in <module>\n    w.assign_sub(0.1 * dw)' in done.stderr
    assert "line 5: stopped: " in done.stdout


@pytest.mark.parametrize(
    "text, code", [("import sys; sys.exit(7)", 7), (RIGHT + "raise SystemExit(0)", 0), (BROKEN + "sys.exit()", 1)]
)
def test_a_script_that_exits(folder, text, code):
    done = why(folder, text)
    assert done.returncode == code
    assert "gradtape why: " in done.stdout
