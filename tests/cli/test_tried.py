"""`gradtape why` tries fixes in copies of the script: what it shows as a change was seen to mend, and all else is advice."""

import re
import sys

import pytest

from gradtape._src.cli.copies import TooLong, run_copy
from gradtape._src.cli.program import of_script
from tests.cli.test_cli import folder
from tests.cli.test_why import why

__all__ = ["folder"]

HELPERS = """
import tensorflow as tf

def quantized(z):
    q = tf.round(z * 4.0) / 4.0
    return tf.stop_gradient(z + (q - z))
"""

SCRIPT = """
import numpy as np
import tensorflow as tf
from helpers import quantized

w = tf.Variable([0.3, 0.6])
truth = np.array([1.0, 0.0], np.float32)

def saliency(images):
    with tf.GradientTape() as t:
        score = tf.reduce_sum(images * images)
    return t.gradient(score, images)

def dice(pred):
    mask = pred.numpy()
    top = 2.0 * (truth * mask).sum()
    return 1.0 - top / (truth.sum() + mask.sum())

@tf.function
def step(z):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.norm(w * z, axis=0))
    return tape.gradient(loss, w)

batch = tf.ones([2])
saliency(batch)
step(tf.zeros([2]))
with tf.GradientTape(persistent=True) as tape:
    losses = []
    for k in range(2):
        losses.append(float(w[k]))
    total = tf.add_n(losses)
    overlap = tf.convert_to_tensor(dice(w))
    levels = tf.reduce_sum(quantized(w) ** 2)
    first = tf.stop_gradient(w * w)
    second = tf.reduce_sum(tf.round(first))
    places = tf.cast(w * 2.0, tf.int32)
    taken = tf.reduce_sum(tf.slice(w + 1.0, places[:1], [1]))
tape.gradient(total, w)
tape.gradient(overlap, w)
tape.gradient(levels, w)
tape.gradient(second, w)
rate = tf.Variable(0.5)
with tf.GradientTape() as tape:
    optimizer = tf.keras.optimizers.SGD(learning_rate=float(rate))
    left = optimizer.learning_rate * 2.0
tape.gradient(left, rate)
print("once")
"""

CHANGES = [
    "+        t.watch(images)",
    "-        loss = tf.reduce_sum(tf.norm(w * z, axis=0))",
    "-        losses.append(float(w[k]))\n+        losses.append(w[k])",
    "-    top = 2.0 * (truth * mask).sum()",
    "+    top = 2.0 * tf.reduce_sum(truth * mask)",
    "-    return tf.stop_gradient(z + (q - z))\n+    return z + tf.stop_gradient(q - z)",
    "-    first = tf.stop_gradient(w * w)\n-    second = tf.reduce_sum(tf.round(first))\n+    first = w * w\n"
    "+    second = tf.reduce_sum(first + tf.stop_gradient(tf.round(first) - first))",
]


def test_what_mends_is_shown_as_a_change(folder):
    (folder / "helpers.py").write_text(HELPERS)
    done = why(folder, SCRIPT)
    told = re.sub(r"(?m)^ {8}", "", done.stdout)
    assert done.stdout.splitlines()[0] == "once" and done.stdout.count("once") == 1
    for change in CHANGES:
        assert change in told, done.stdout
    assert told.count("fix, tried:") == 5 and told.count("fix, tried; the gradient is 0 then:") == 1  # of a norm at 0
    assert "advice, whose code was tried and is not enough: write `optimizer = tf.keras.optimizers.SGD(" in told
    assert "The gradient is None" not in done.stderr  # it is told once


WRITES = """
import tensorflow as tf
with open("log.txt", "a") as log:
    log.write("ran\\n")
x = tf.Variable(2.7)
with tf.GradientTape() as tape:
    y = tf.floor(x) * 2.0
tape.gradient(y, x)
"""


def test_what_writes_files_is_run_again_only_if_it_is_wanted(folder):
    log = folder.parent / "log.txt"
    done = why(folder, WRITES)
    assert re.search(
        r"fix, not tried as the program writes log.txt before \(--try-fixes\): pass the gradient straight", done.stdout
    )
    assert log.read_text() == "ran\n"
    assert "+    y = (x + tf.stop_gradient(tf.floor(x) - x)) * 2.0" in why(folder, WRITES, "--try-fixes").stdout
    assert log.read_text() == "ran\n" * 3


def test_a_copy_that_takes_too_long_ends(tmp_path):
    (tmp_path / "script.py").write_text("pass\n")
    program = of_script(str(tmp_path / "script.py"))
    before = sys.modules["__main__"], list(sys.argv), list(sys.path)
    with pytest.raises(TooLong, match="too long"):
        run_copy(program, [], {program.file: "while True:\n    pass\n"}, 0.05)
    assert (sys.modules["__main__"], sys.argv, sys.path) == before
