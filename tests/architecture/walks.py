"""Which functions and files of the library a call enters: each walk is what somebody reads who follows that call.

Run as a script, in a process of its own, it prints the walks as JSON: the first walk of a call depends on what was done before.
"""

import collections
import inspect
import json
import sys
from pathlib import Path

import numpy as np

import gradtape as tf

LIBRARY = str(Path(tf.__file__).parent)
CONVERSION = ("core/tensors/convert.py", "core/tensors/constants.py", "core/tensors/conversions.py")
VISIT = "core/tensors/convert.py", "node_of"


def walk(call):
    """How often `call()` enters each function of the library, as `{(file, function): times}`.

    The bodies of modules and classes do not count, nor do comprehensions, which are functions in some versions of Python only.
    """
    entered = collections.Counter()

    def note(frame, event, argument):
        code = frame.f_code
        own = code.co_filename.startswith(LIBRARY) and code.co_flags & inspect.CO_OPTIMIZED
        own = own and not code.co_filename.endswith("core/base/locks.py")  # Python's own locks before 3.14
        if event == "call" and own and (code.co_name == "<lambda>" or not code.co_name.startswith("<")):
            entered[code.co_filename, code.co_qualname] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def counts(call):
    """The figures of a walk: functions entered, files, and of the entries those that convert operands, and those of `node_of`."""
    entered = walk(call)
    conversions = [times for (file, _), times in entered.items() if file.endswith(CONVERSION)]
    return {
        "entries": entered.total(),
        "files": len({file for file, _ in entered}),
        "conversions": sum(conversions),
        "visits": sum(times for (file, name), times in entered.items() if file.endswith(VISIT[0]) and name == VISIT[1]),
    }


def of_ops():
    """The second walk of each call that records an op: what a training step repeats."""
    array = np.ones((4, 4), np.float32)
    x, y, v, rows = tf.constant(array), tf.constant(array), tf.Variable(array), array.tolist()
    calls = {
        "tf.matmul(x, y)": lambda: tf.matmul(x, y),
        "tf.matmul(x, v)": lambda: tf.matmul(x, v),
        "tf.matmul(array, x)": lambda: tf.matmul(array, x),
        "tf.matmul(rows, x)": lambda: tf.matmul(rows, x),
        "tf.matmul([rows], [rows])": lambda: tf.matmul([rows], [rows]),
        "x @ v": lambda: x @ v,
        "x + 1.0": lambda: x + 1.0,
        "v * 0.5": lambda: v * 0.5,
        "tf.add(x, y)": lambda: tf.add(x, y),
        "tf.add(x, 1.0)": lambda: tf.add(x, 1.0),
        "tf.concat([x, y], 0)": lambda: tf.concat([x, y], 0),
        "tf.reduce_sum(x, axis=1)": lambda: tf.reduce_sum(x, axis=1),
        "tf.reshape(x, [-1, 2])": lambda: tf.reshape(x, [-1, 2]),
        "v.assign_sub(y)": lambda: v.assign_sub(y),
    }
    found = {}
    for name, call in calls.items():
        call()
        found[name] = counts(call)
    return found


def twice(call):
    """The figures of the first walk of a call and of the second."""
    return [counts(call), counts(call)]


def of_gradient():
    """`tape.gradient` of a small network."""
    x, v = tf.ones([4, 4]), tf.Variable(tf.ones([4, 4]))
    found = []
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(x @ v))
        found.append(counts(lambda tape=tape, loss=loss: tape.gradient(loss, v)))
    return found


def of_while():
    """A function with a `while` on a tensor."""

    @tf.function
    def doubled(x):
        while tf.reduce_sum(x) < 100.0:
            x = x * 2.0
        return x

    x = tf.ones([4])
    return twice(lambda: doubled(x))


def of_session():
    """`Session.run` of a placeholder's product with a variable."""
    tf1 = tf.compat.v1
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None, 4])
        v = tf1.get_variable("v", [4, 4], initializer=tf1.ones_initializer())
        y = tf.matmul(x, v)
        session.run(tf1.global_variables_initializer())
        array = np.ones((2, 4), np.float32)
        return twice(lambda: session.run(y, {x: array}))


if __name__ == "__main__":
    tf.config.compile_early()
    print(json.dumps({"ops": of_ops(), "gradient": of_gradient(), "while": of_while(), "session": of_session()}))
