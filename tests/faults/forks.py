"""What a forked process gets from each way to compute. Run by `test_forks.py`; prints a line for each."""

import os
import signal
import sys
import warnings

import gradtape as tf

warnings.simplefilter("ignore", RuntimeWarning)  # of JAX, about forks

folder = sys.argv[1]
v, c = tf.Variable([1.0, 2.0]), tf.constant([1.0, 2.0])
f = tf.function(lambda x: tf.sin(x) * v)
loop = tf.function(lambda x: tf.while_loop(lambda a: a < 9.0, lambda a: [a + x[0]], [x[1]]))
for compiled in (f, loop):
    compiled(c)
    compiled(c)
dataset = tf.data.Dataset.range(10)
ahead, mapped = iter(dataset.prefetch(2)), iter(dataset.map(lambda x: x + 1, num_parallel_calls=2))
next(ahead), next(mapped)
graph = tf.Graph()
with graph.as_default():
    p = tf.compat.v1.placeholder(tf.float32, [2])
    q = p * 2.0
session = tf.compat.v1.Session(graph=graph)
session.run(q, {p: [1.0, 2.0]})
writer = tf.summary.create_file_writer(folder)
done = tf.sin(c)
done.numpy()
pending = tf.cos(c)


def summary():
    with writer.as_default():
        tf.summary.scalar("x", 1.0, 1)
        writer.flush()


def gradient():
    with tf.GradientTape() as tape:
        y = v * v
    return tape.gradient(y, v)


RAISING = {
    "op": lambda: c + 1.0,
    "function": lambda: f(c),
    "loop": lambda: loop(c),
    "pending": pending.numpy,
    "update": lambda: v.assign_add([1.0, 1.0]),
    "gradient": gradient,
    "session": lambda: session.run(q, {p: [1.0, 2.0]}),
    "dataset": lambda: list(dataset.map(lambda x: x * 2)),
    "prefetch": lambda: next(ahead),
    "parallel": lambda: next(mapped),
    "trace": lambda: tf.function(lambda x: x * 3.0)(c),
    "random": lambda: tf.random.normal([2]),
    "summary": summary,
}
WORKING = {
    "value": lambda: done.numpy().tolist(),
    "variable": lambda: v.numpy().tolist(),
    "printed": lambda: str(pending),
    "save": lambda: tf.train.Checkpoint(v=v).write(folder + "/forked"),
    "fork": lambda: os.waitpid(os.fork() or os._exit(0), 0),
}
for name, call in (RAISING | WORKING).items():
    sys.stdout.flush()
    if not (child := os.fork()):
        signal.alarm(20)  # ends a process that waits for a thread that is not there
        try:
            call()
            print(name, "works", flush=True)
        except RuntimeError as error:
            print(name, "raises", "forked" in str(error), flush=True)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(name, "ended by", status)
print("parent", pending.numpy().tolist() == tf.cos(c).numpy().tolist(), next(ahead).numpy(), next(mapped).numpy())
