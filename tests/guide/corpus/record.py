"""Write numbers.json: what TensorFlow gives for each program.

Run it where TensorFlow is installed, from the root of the repository: `python -m tests.guide.corpus.record`.
"""

import json
import pathlib

import numpy as np

from tests.guide.corpus import PROGRAMS


def plain(value):
    """A nest of tensors, arrays and numbers as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "as_list"):
        return value.as_list()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    array = np.asarray(value)
    numbers = array.ravel()
    if array.dtype.kind == "c":
        numbers = np.stack([numbers.real, numbers.imag], -1).ravel()
    values = [item.decode() if isinstance(item, bytes) else item for item in numbers.tolist()]
    if numbers.dtype == np.float32:
        values = [float(f"{number:.8g}") for number in values]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": values}


def numbers_of(function, tf):
    """What a program gives, as in a process of its own: no earlier one has set the seed of all random numbers."""
    tf.random.set_seed(None)
    return plain(function(tf))


if __name__ == "__main__":
    import tensorflow as tf

    found = {name: numbers_of(function, tf) for name, function in PROGRAMS.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in found.items()]
    (pathlib.Path(__file__).parent / "numbers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
