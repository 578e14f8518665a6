"""Interrupts work in progress by SIGINT at random moments. Run by `test_signals.py`: `signals.py FOLDER NUMBER SEED [KIND …]`.

Another process sends the signals, NUMBER for each kind of work. Each reaches the work as one KeyboardInterrupt, although garbage
is collected; then variables are whole, and the work goes on. Prints `KIND STEPS` for each kind.
"""

import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

import gradtape as tf
from gradtape._src.core.engine import compilations
from tests.light import leave_out

leave_out()
keras = tf.keras
compilations.clock = float  # 0.0: on a slow machine, too, none is slow enough to be logged
faulthandler.register(signal.SIGALRM, chain=True)
signal.signal(signal.SIGINT, signal.default_int_handler)  # what started this may have it ignored
SENDER = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
for line in sys.stdin:
    time.sleep(float(line))
    os.kill(os.getppid(), signal.SIGINT)
"""


class Eager:
    """Two variables that one step changes: after an interrupt the second is at most one step behind for each."""

    def __init__(self, folder):
        self.a, self.b = tf.Variable(np.zeros(4, np.float32)), tf.Variable(np.zeros(4, np.float32))
        self.interrupts = 0

    def step(self):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self.a * 1.0) + tf.reduce_sum(self.b * 1.0)
        first, second = tape.gradient(loss, [self.a, self.b])
        self.a.assign_add(first)
        self.b.assign_add(second)

    def check(self):
        self.interrupts += 1
        a, b = self.a.numpy(), self.b.numpy()
        assert (a == a[0]).all() and (b == b[0]).all() and 0 <= a[0] - b[0] <= self.interrupts, (a, b)
        self.step()
        assert (self.a.numpy() == a + 1).all() and (self.b.numpy() == b + 1).all()
        return int(b[0])


class Function(Eager):
    """What a function gives to its variables is there for both or for none."""

    def __init__(self, folder):
        super().__init__(folder)
        self.step = tf.function(self.step)

    def check(self):
        self.interrupts = -1
        return super().check()


class Collected(Eager):
    """Steps between which garbage is collected: what arrives then lands in a callback of JAX's, where Python drops it."""

    def step(self):
        super().step()
        gc.collect()


class Session:
    """As a function: a run of a session."""

    def __init__(self, folder):
        v1 = tf.compat.v1
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.variables = [v1.get_variable(name, initializer=np.zeros(3, np.float32)) for name in "ab"]
            self.update = tf.group(*[v.assign_add(tf.ones(3)) for v in self.variables])
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def step(self):
        self.session.run(self.update)

    def check(self):
        a, b = self.session.run(self.variables)
        assert (a == a[0]).all() and (a == b).all(), (a, b)
        self.step()
        assert (self.session.run(self.variables[0]) == a + 1).all()
        return int(a[0])


class Fit:
    """Weights whose gradients are constants, so that they follow from the number of steps."""

    def __init__(self, folder):
        self.x, self.y = np.full((256, 2), 2.0, np.float32), np.zeros((256, 1), np.float32)
        self.model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1, kernel_initializer="zeros")])
        self.model.compile(keras.optimizers.SGD(1.0), lambda y, p: keras.ops.mean(p))

    def step(self):
        self.model.fit(self.x, self.y, batch_size=2, verbose=0)

    def check(self):
        steps = int(self.model.optimizer.iterations)
        kernel, bias = self.model.get_weights()
        assert (kernel == -2.0 * steps).all() and (bias == -steps).all(), (steps, kernel, bias)
        return steps


class Pipeline:
    """Elements that threads make: another iterator gives all of them, and no thread stays."""

    def __init__(self, folder):
        self.elements = tf.data.Dataset.range(64).map(lambda x: x * 2, num_parallel_calls=2).batch(4).prefetch(2)
        self.step()
        self.threads, self.steps = threading.active_count() + 8, 0

    def step(self):
        found = [int(x) for batch in self.elements for x in batch.numpy()]
        assert found == [*range(0, 128, 2)], found
        self.steps = getattr(self, "steps", 0) + 1

    def check(self):
        self.step()
        assert threading.active_count() <= self.threads, threading.enumerate()
        return self.steps


class Save:
    """A checkpoint that is written again and again: it is whole, and nothing else lies there after the next save."""

    def __init__(self, folder):
        self.folder, self.steps = folder, 0
        self.manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(np.ones(5000))), folder, max_to_keep=2)
        self.step()

    def step(self):
        self.manager.save()
        self.steps += 1

    def check(self):
        assert (tf.train.load_variable(tf.train.latest_checkpoint(self.folder), "v") == 1.0).all()
        self.step()
        assert len(self.manager.checkpoints) <= 2 and not [name for name in os.listdir(self.folder) if "part" in name]
        return self.steps


KINDS = (Eager, Collected, Function, Session, Fit, Pipeline, Save)


def main(folder, number, seed, *names):
    chosen = random.Random(int(seed))
    with subprocess.Popen([sys.executable, "-c", SENDER], stdin=subprocess.PIPE, text=True) as sender:
        for made in [kind for kind in KINDS if not names or kind.__name__ in names]:
            inside = Path(folder, made.__name__)
            inside.mkdir()
            work = made(inside)
            for _ in range(3):
                work.step()
            for _ in range(int(number)):
                signal.alarm(60)  # ends this process, with its frames, if the interrupt is lost or the work hangs
                try:
                    sender.stdin.write(f"{chosen.random() * 0.03}\n")
                    sender.stdin.flush()
                    while True:
                        work.step()
                except KeyboardInterrupt:
                    pass
                steps = work.check()
            print(made.__name__, steps, flush=True)
        sender.stdin.close()


main(*sys.argv[1:])
