"""TensorFlow 1 stands apart: a program without graphs does not load it."""

import subprocess
import sys

PROGRAM = """
import sys
import gradtape as tf

v = tf.Variable(2.0)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v), (0, x))[1]
    v.assign_sub(0.1 * tape.gradient(loss, v))
    return tf.cond(loss > 1.0, lambda: loss, lambda: -loss)

step(tf.constant(1.0))
with tf.GradientTape() as tape:
    y = tf.map_fn(lambda x: x * v, tf.ones([3]))
assert tape.gradient(y, v).numpy() == 3.0
tf.train.Checkpoint(v=v)
print([name for name in sys.modules if name.startswith(("gradtape._src.v1", "gradtape.compat.v1"))])
print({"Graph", "Operation", "gradients", "hessians"} <= set(dir(tf)), "v1" in dir(tf.compat))
"""


def test_a_program_without_graphs_does_not_load_tensorflow_1():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["[]", "True True"]
