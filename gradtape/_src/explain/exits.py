"""The sentences about a value that left the library: what to write instead, with tensors all the way."""

from __future__ import annotations

import re
from typing import Any

from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.breaks import Break


def left_library(w: Any, b: Break) -> tuple[str, str]:
    """Return the cause and the fix."""
    how = b.detail["how"]
    written = text.text(b.line) or ""
    ways = {
        "numpy": ".numpy()", "__array__": "NumPy", "dlpack": "DLPack", "jax": "JAX", "numpy_function": "tf.numpy_function",
        "float": "float()", "int": "int()", "complex": "complex()", "dataset": "a Dataset", "py_function": "tf.py_function",
    }  # fmt: skip
    cause = f"in {b.written} the value left the library through {ways[how]}, and what came back is a constant"
    if ".to_list()" in written:
        cause = cause.replace(".numpy()", ".to_list()")
        return cause, "try a function of TensorFlow's that takes ragged rows, such as tf.reduce_mean(x, 1)"
    if re.search(r"\b(?:FloatList|dumps?|save\w*|tobytes|tofile|write\w*)\(", written):
        return cause, "go on with the tensor itself, and keep what is written beside it"
    weights = re.search(r"([\w.]+)\.get_weights\(\)", written)
    if weights is not None:
        return cause, f"use the variables themselves: `{weights[1]}.trainable_variables`"
    predicted = re.search(r"([\w.]+)\.predict(?:_on_batch)?\((\w+)?", written)
    if predicted is not None:
        return cause, f"call the model itself: `{predicted[1]}({predicted[2] or 'x'})`"
    tensors = rewritten.with_tensors(b.line) if how in ("numpy", "__array__", "float") else None
    if tensors is not None:
        same = re.fullmatch(r"([\w.]+) = \1", tensors)
        return cause, f"leave out `{written}`" if same else f"write `{tensors}`"
    called = re.search(r"\b(?:n(?:p|umpy)\.(?!random\b)|math\.)([\w.]+)\(", written)
    if called is not None and how not in ("numpy_function", "py_function"):
        counterpart = rewritten.NUMPY.get(called[1])
        use = f"tf.{counterpart}" if counterpart else "the tf.* function that computes the same"
        return cause, f"try {use} in the place of {called[0]}…), with the tensor itself and without `.numpy()`"
    if re.search(r"\]\s*=[^=]", written) and how in ("float", "__array__"):
        return cause, "collect the tensors in a list and join them, `tf.stack(values)`, in the place of an array that is filled"
    instead = {
        "numpy": "try to leave out `.numpy()` and to go on with the tensor",
        "float": "try to leave out `float()` and to go on with the tensor",
        "int": "try to leave out `int()` and to go on with the tensor",
        "complex": "try to leave out `complex()` and to go on with the tensor",
        "jax": "lift the JAX function onto the tape with tf.jax_function",
        "dataset": "go on with the tensor, and leave the Dataset to what needs no gradient",
        "py_function": "try to write the function with the tf.* counterparts of its NumPy calls: through these it has a gradient",
        "numpy_function": "try to write the function with the tf.* counterparts of its NumPy calls, and call it directly",
    }
    return cause, instead.get(how, "try to compute this with tf.* functions, from the tensor itself")
