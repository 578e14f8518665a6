"""Kills a process in the midst of each kind of save, and looks at what is left. Run by `test_kills.py`.

`kills.py FOLDER steps` kills at each step of Python's that touches a file; `kills.py FOLDER moments NUMBER SEED` at moments
that a random number chooses. Prints a line `KIND NUMBER` for each kind of save. What saves is a fork of this process, which costs
milliseconds: it computes nothing.
"""

import os
import random
import re
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event

import gradtape as tf
from gradtape._src.train import storage
from gradtape._src.train.saved_model import folder as model_folder
from tests.light import leave_out

leave_out()
keras = tf.keras
SIZE = 20_000  # elements of a variable: a file of 80 kB
TOUCHES = re.compile(r"open|os\.(rename|remove|rmdir|mkdir|chmod|scandir|listdir|truncate)|fcntl\.flock")


def whole(array):
    """The one value that all elements have."""
    array = np.asarray(array)
    assert array.size and (array == array.ravel()[0]).all(), "it is torn"
    return float(array.ravel()[0])


class Checkpoint:
    def __init__(self, folder):
        self.folder, self.v, self.w = folder, tf.Variable(np.zeros(SIZE, np.float32)), tf.Variable(0.0)
        self.manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=self.v, w=self.w), folder, max_to_keep=1)

    def prepare(self, number):
        """What is computed before a save, which a fork cannot do."""
        self.v.assign(np.full(SIZE, number, np.float32))
        self.v.numpy()

    def save(self, number):
        self.manager.save()

    def left(self):
        latest = tf.train.latest_checkpoint(self.folder)
        return whole(tf.train.load_variable(latest, "v"))


class Saver(Checkpoint):
    def __init__(self, folder):
        super().__init__(folder)
        self.saver = tf.compat.v1.train.Saver({"v": self.v}, max_to_keep=2)

    def save(self, number):
        self.saver.save(None, self.folder / "by_name", global_step=number)


class Keras:
    name = "model.keras"

    def __init__(self, folder):
        self.path = str(folder / self.name)
        self.model = keras.Sequential([keras.Input([50]), keras.layers.Dense(50, use_bias=False)])

    def prepare(self, number):
        self.model.set_weights([np.full((50, 50), number, np.float32)])
        self.model.get_weights()

    def save(self, number):
        self.model.save(self.path)

    def left(self):
        return whole(keras.models.load_model(self.path).get_weights()[0])


class Weights(Keras):
    name = "model.weights.h5"

    def save(self, number):
        self.model.save_weights(self.path)

    def left(self):
        again = keras.Sequential([keras.Input([50]), keras.layers.Dense(50, use_bias=False)])
        again.load_weights(self.path)
        return whole(again.get_weights()[0])


class SavedModel:
    """The folder of a saved model, without the tracing that comes before it is written."""

    def __init__(self, folder):
        self.folder = str(folder / "model")

    def prepare(self, number):
        pass

    def save(self, number):
        with model_folder.written(self.folder) as (paths, model):
            storage.save(paths.variables, None, {"v": np.full(SIZE, number, np.float32)})
            storage.save(paths.constants, None, {"c": np.full(3, number, np.float32)})
            Path(paths.folder, paths.stablehlo("f")).write_bytes(bytes([number]) * SIZE)
            model["number"], model["file"] = number, paths.stablehlo("f")

    def left(self):
        paths, model = model_folder.read(self.folder)
        number = whole(storage.Reader(paths.variables).arrays(["v"])["v"])
        constant = whole(storage.Reader(paths.constants).arrays(["c"])["c"])
        program = Path(paths.folder, model["file"]).read_bytes()
        assert number == constant == model["number"] and program == bytes([model["number"]]) * SIZE
        assert len(os.listdir(Path(self.folder, "stablehlo"))) < 3
        return number


class Dataset:
    def __init__(self, folder):
        self.path = str(folder / "elements")

    def prepare(self, number):
        shape = [SIZE] if number % 2 else [2, SIZE]  # which is said in another file than the elements
        self.elements = tf.data.Dataset.from_tensors(np.full(shape, number, np.float32))

    def save(self, number):
        self.elements.save(self.path)

    def left(self):
        (element,) = tf.data.Dataset.load(self.path)
        return whole(element)


class Summaries(SavedModel):
    """A file is appended to: what was flushed is all there, and only the last record may lack its end."""

    def __init__(self, folder):
        self.folder, self.number = folder / "events", 0

    def save(self, number):
        self.number = number
        writer = tf.summary.create_file_writer(str(self.folder), filename_suffix=f".{number:04d}")
        with writer.as_default():
            for step in range(3):
                tf.summary.text("x" * SIZE, "y", step)  # its name is long
                writer.flush()
        writer.close()

    def left(self):
        newest = max(self.folder.iterdir(), key=lambda path: path.name[-4:])
        number, steps = float(newest.name[-4:]), []
        try:
            for record in tf.compat.v1.python_io.tf_record_iterator(str(newest)):
                event = Event.FromString(record)
                steps += [event.step for value in event.summary.value]
        except tf.errors.DataLossError as error:
            if "truncated" not in str(error):
                raise
        assert steps == list(range(len(steps))), steps
        return number


KINDS = (Checkpoint, Saver, Keras, Weights, SavedModel, Dataset, Summaries)


def killed(work, delay=None, at=None):
    """Do `work` in a fork; it is killed after `delay` seconds, or at step `at` on a file. Gives whether it was killed."""
    child = os.fork()
    if not child:
        if at is not None:
            steps = 0

            def look(event, arguments):
                nonlocal steps
                if TOUCHES.fullmatch(event):
                    if steps == at:
                        os.kill(os.getpid(), signal.SIGKILL)
                    steps += 1

            sys.addaudithook(look)
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the save failed"
    return os.WIFSIGNALED(status)


def on_full_disk(work):
    """Do `work` in a fork whose files may have 4 kB; the error has to be one that says why."""
    child = os.fork()
    if not child:
        signal.alarm(30)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        status = 1
        try:
            work()
        except Exception as error:
            said = isinstance(error, tf.errors.ResourceExhaustedError) or "too large" in str(error)
            status = 0 if said else traceback.print_exc() or 1
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the save ended with status {status}"


def parts(folder):
    return [path.name for path in folder.rglob("*.part*")]


def check(kind, number):
    """What is left is the last whole save or the one that was killed."""
    found = kind.left()
    assert found in (number, number + 1), (type(kind).__name__, number, found)
    return found


def at_each_step(kind, folder):
    """Kill at step 0, 1, 2, … until a save ends before that."""
    kind.prepare(1)
    kind.save(1)
    number, at = 1, 0
    kind.prepare(2)
    while killed(lambda: kind.save(number + 1), at=at):
        check(kind, number)
        if at % 5 == 0:
            kind.save(number := number + 1)
            kind.prepare(number + 1)
            assert check(kind, number) == number and not parts(folder), parts(folder)
        at += 1
    on_full_disk(lambda: kind.save(number + 1))
    check(kind, number)
    assert not parts(folder), parts(folder)
    return at


def at_moments(kind, folder, kills, chosen):
    """Kill after times up to that of two saves."""
    kind.prepare(1)
    kind.save(1)
    kind.prepare(2)
    began, number = time.perf_counter(), 2
    assert not killed(lambda: kind.save(2))
    span = 2 * (time.perf_counter() - began)
    kind.save(2)
    for _ in range(kills):
        kind.prepare(number + 1)
        killed(lambda: [kind.save(number + 1) for _ in range(50)], delay=chosen.random() * span)
        check(kind, number)
        kind.save(number := number + 1)
        assert check(kind, number) == number and not parts(folder), parts(folder)
    return kills


def main(folder, how, kills=0, seed=0):
    chosen = random.Random(int(seed))
    for made in KINDS:
        inside = Path(folder, made.__name__)
        inside.mkdir()
        kind = made(inside)
        number = at_each_step(kind, inside) if how == "steps" else at_moments(kind, inside, int(kills), chosen)
        print(made.__name__, number, flush=True)


main(*sys.argv[1:])
