"""Reads files that were changed at random. Run by `test_mutations.py`.

`mutations.py FOLDER NUMBER SEED [KIND …]` reads so many of each kind, and prints `KIND READ REFUSED`. What was read gave the
values that had been written, or for a format without checksums some values of their shapes; what was refused left every
variable as it was, and the error says which file it is. Nothing is run, nothing is written, and 2 GiB of memory are all there is.
"""

import random
import resource
import signal
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np

import gradtape as tf
from tests.light import leave_out

leave_out()
keras = tf.keras
HUGE = [0, 1, 0x7F, 0xFF, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 62) - 1, (1 << 63) - 1, (1 << 64) - 1]
FORBIDDEN = {
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "ctypes.dlopen"),
    *("pickle.find_class", "os.remove", "os.rename", "shutil.rmtree"),
}


def mutated(data, chosen):
    """The bytes with one to three changes: bits, lengths, parts that are cut, repeated, exchanged or blank."""
    data = bytearray(data)
    for _ in range(chosen.choice([1, 1, 2, 3])):
        start = chosen.randrange(len(data) or 1)
        size = min(chosen.choice([1, 4, 8, 64, 512]), len(data) - start)
        match chosen.randrange(7):
            case 0:
                del data[start:]
            case 1 if data:
                data[start] ^= 1 << chosen.randrange(8)
            case 2 if size == 8:
                data[start : start + 8] = struct.pack("<Q", chosen.choice(HUGE))
            case 3 if size >= 4:
                data[start : start + 4] = struct.pack("<I", chosen.choice(HUGE) & 0xFFFFFFFF)
            case 4:
                other = chosen.randrange(len(data) or 1)
                data[start : start + size], data[other : other + size] = data[other : other + size], data[start : start + size]
            case 5:
                data[start:start] = data[start : start + size]
            case _:
                data[start : start + size] = bytes(size)
    return bytes(data)


class Checkpoint:
    """A file of `tf.train.Checkpoint`; every array has a checksum."""

    exact = True

    def __init__(self, folder):
        self.values = [np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.int64)]
        self.variables = [tf.Variable(value) for value in self.values]
        self.path = folder / "ck.safetensors"
        self.write(folder)
        for variable in self.variables:
            variable.assign(tf.zeros_like(variable) - 1)

    def write(self, folder):
        self.checkpoint = tf.train.Checkpoint(a=self.variables[0], b=self.variables[1])
        self.checkpoint.write(folder / "ck")

    def files(self):
        return [self.path]

    def read(self):
        self.checkpoint.read(self.path).assert_consumed()

    def reset(self):
        for variable in self.variables:
            variable.assign(tf.zeros_like(variable) - 1)

    def held(self):
        return [variable.numpy() for variable in self.variables]


class Saver(Checkpoint):
    """A file of `tf.compat.v1.train.Saver`."""

    def write(self, folder):
        self.saver = tf.compat.v1.train.Saver(dict(zip("ab", self.variables, strict=True)))
        self.saver.save(None, folder / "ck")

    def read(self):
        self.saver.restore(None, self.path)


class Weights(Checkpoint):
    """Keras's weights: HDF5, which has no checksums of its own."""

    exact, name = False, "m.weights.h5"

    def __init__(self, folder):
        self.model = self.made()
        self.path = folder / self.name
        self.values = [np.asarray(w) for w in self.model.get_weights()]
        self.save()
        self.reset()

    @staticmethod
    def made():
        return keras.Sequential(
            [keras.Input([3]), keras.layers.Dense(4), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
        )

    def save(self):
        self.model.save_weights(self.path)

    def read(self):
        self.model.load_weights(self.path)

    def reset(self):
        self.model.set_weights([np.full_like(value, -1) for value in self.values])

    def held(self):
        return self.model.get_weights()


class Keras(Weights):
    """A `.keras` file: an archive whose members have checksums, HDF5 among them."""

    name = "m.keras"

    def save(self):
        self.model.save(self.path)

    def read(self):
        keras.models.load_model(self.path)
        self.model.load_weights(self.path)


class SavedModel(Checkpoint):
    """The files of a saved model, one of them changed."""

    def write(self, folder):
        module = tf.Module()
        module.a, module.b = self.variables
        module.f = tf.function(lambda x: tf.nn.relu(x @ module.a) + 1.0, input_signature=[tf.TensorSpec([None, 2])])
        self.path = folder / "model"
        tf.saved_model.save(module, self.path)
        self.found = self.variables

    def files(self):
        return [path for path in sorted(self.path.rglob("*")) if path.is_file() and path.suffix != ".bin"]

    def reset(self):
        self.found = None

    def read(self):
        model = tf.saved_model.load(self.path)
        self.found = [model.a, model.b]

    def held(self):
        return [np.asarray(v) for v in self.found] if self.found else [np.full_like(v, -1) for v in self.values]


class Records(Checkpoint):
    """A TFRecord file: what comes before the damage is read."""

    compression = ""

    def __init__(self, folder):
        self.path = folder / "records"
        self.records = [bytes([number]) * 40 for number in range(5)]
        with tf.io.TFRecordWriter(str(self.path), self.compression) as writer:
            for record in self.records:
                writer.write(record)
        self.values = [np.array(self.records)]
        self.reset()

    def reset(self):
        self.found = [np.array(-1)]

    def read(self):
        read = list(tf.compat.v1.python_io.tf_record_iterator(str(self.path), tf.io.TFRecordOptions(self.compression)))
        if read != self.records and all(record in self.records for record in read):
            raise tf.errors.DataLossError(None, None, f"{self.path}: a record is missing, repeated or out of place")
        self.found = [np.array(read)]

    def held(self):
        return self.found


class Compressed(Records):
    compression = "GZIP"


class Dataset(Records):
    """What `Dataset.save` has written; one of its files is changed."""

    def __init__(self, folder):
        self.path = folder / "elements"
        self.values = [np.arange(24, dtype=np.float32).reshape(4, 6)]
        tf.data.Dataset.from_tensor_slices(self.values[0]).save(str(self.path))
        self.reset()

    def files(self):
        return [path for path in sorted(self.path.rglob("*")) if path.is_file()]

    def read(self):
        loaded = tf.data.Dataset.load(str(self.path))
        read = [element.numpy() for element in loaded]
        self.found = [np.array(read)] if len(read) == 4 else self.found


KINDS = (Checkpoint, Saver, Weights, Keras, SavedModel, Records, Compressed, Dataset)


def same(first, second):
    return len(first) == len(second) and all(
        a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True)
    )


def replace(file, data):
    """Write a file anew: HDF5 takes one that it has still open for the same."""
    file.unlink()
    file.write_bytes(data)


def try_one(kind, file, data):
    """Read a changed file; returns whether it was read."""
    whole = file.read_bytes()
    replace(file, data)
    kind.reset()
    before = kind.held()
    signal.alarm(60)
    try:
        kind.read()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        told = "\n".join([str(error), *getattr(error, "__notes__", ())])
        if kind.path.name not in told and file.name not in told:
            raise AssertionError(f"{type(error).__name__} does not say which file: {told}") from error
        if not same(kind.held(), before):
            raise AssertionError("a part was restored") from error
        return False
    finally:
        signal.alarm(0)
        replace(file, whole)
    if kind.exact and not same(kind.held(), kind.values) and not same(kind.held(), before):
        raise AssertionError("other values than those that were written")
    return True


def bomb(path):
    """Have a `.keras` file say that its weights are a tebibyte; returns its bytes."""
    bombed = path.with_name("bomb")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(bombed, "w") as made:
        for name in archive.namelist():
            made.writestr(name, archive.read(name))
        made.getinfo("model.weights.h5").file_size = 1 << 40  # what the directory at the end is to say
    return bombed.read_bytes()


def guard(event, arguments):
    if event in FORBIDDEN or (event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")):
        raise AssertionError(f"{event}{arguments} while a file is read")


def main(folder, number, seed, *names):
    reading = False
    sys.addaudithook(lambda event, arguments: guard(event, arguments) if reading else None)
    for made in [kind for kind in KINDS if not names or kind.__name__ in names]:
        chosen = random.Random(f"{seed} {made.__name__}")
        inside = Path(folder, made.__name__)
        inside.mkdir()
        kind = made(inside)
        kind.read()
        used = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (used * resource.getpagesize() + (2 << 30), resource.RLIM_INFINITY))
        read, bombs = 0, [bomb(kind.path)] if made is Keras else []
        for _ in range(int(number)):
            file = chosen.choice(kind.files())
            read += try_one(kind, file, bombs.pop() if bombs else mutated(file.read_bytes(), chosen))
        print(made.__name__, read, int(number) - read, flush=True)


main(*sys.argv[1:])
