"""Write down what TensorFlow gives for `calls.py`: `python -m tests.ops.numpy.record`, where TensorFlow is installed."""

import json
from pathlib import Path

import numpy as np

from tests.ops.numpy.calls import BEHAVIOR, CALLS

RECORD = Path(__file__).with_name("answers.json")


def described(value):
    """A result as JSON: each array as its dtype, shape and values; of complex ones as their text."""
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if type(value).__name__ == "TensorShape":
        return value.as_list()
    if type(value).__name__ == "DType" or isinstance(value, np.dtype):
        return np.dtype(getattr(value, "as_numpy_dtype", value)).name
    array = np.asarray(value)
    flat = (
        [repr(complex(item)) for item in array.ravel()]
        if array.dtype.kind == "c"
        else array.astype(float if array.dtype.kind == "f" else array.dtype).ravel().tolist()
    )
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": flat}


def answer(call, names):
    """What a call gives, or the class of its error."""
    names["tf"].random.set_seed(7)
    try:
        return described(eval(call, names))
    except Exception as error:
        return {"error": type(error).__name__}


def operands(tf):
    """What the calls of BEHAVIOR are about."""
    return {"x": tf.constant([[1.0, 2.25], [3.5, 4.0]]), "n": tf.reshape(tf.range(24), [2, 3, 4])}


def answers(tf):
    """The answers to all calls. Many functions of TensorFlow's need its tensors to have NumPy's methods."""
    names = {"tf": tf, "np": np, "tnp": tf.experimental.numpy} | operands(tf)
    tf.experimental.numpy.experimental_enable_numpy_behavior()
    return {call: answer(call, dict(names)) for call in (*CALLS, *BEHAVIOR)}


if __name__ == "__main__":
    import tensorflow

    RECORD.write_text(json.dumps(answers(tensorflow), indent=0) + "\n", "utf-8")
