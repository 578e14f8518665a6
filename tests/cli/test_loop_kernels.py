"""Loops are compiled as one function each where that was asked for, with the same numbers; an import asks for nothing."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import json, os, sys
import gradtape as tf

tuned = tf.config.tune_loops() if "tune" in sys.argv else None
start = tf.constant([0.1, 0.2, 0.3, 0.4] * 100)
weight = tf.constant([[0.5, -0.2], [0.3, 0.1]])

@tf.function
def gradients(x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        value = x
        while tf.reduce_sum(value) < 300.0:
            value += tf.sin(value) * 0.1
        for row in tf.reshape(x, [-1, 2]):
            value += tf.reduce_sum(tf.tanh(tf.linalg.matvec(w, row)))
        rows = tf.map_fn(lambda row: tf.reduce_sum(tf.linalg.matvec(w, row) ** 2), tf.reshape(value, [-1, 2]))
        loss = tf.reduce_sum(rows)
    return tape.gradient(loss, [x, w])

print(json.dumps([tuned, os.environ.get("XLA_FLAGS"), [g.numpy().tolist() for g in gradients(start, weight)]]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    script = tmp_path_factory.mktemp("loops") / "script.py"
    script.write_text(PROGRAM)
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}

    def run(*arguments):
        command = [sys.executable, str(script), *arguments]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return run(), run("tune")


def test_the_gradients_are_the_same(answers):
    (_, _, plain), (_, _, tuned) = answers
    for one, other in zip(plain, tuned, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_the_setting_is_said_to_hold_and_is_not_handed_on(answers):
    (untouched, _, _), (tuned, flags, _) = answers
    assert (untouched, tuned, flags) == (None, True, None)


def test_after_the_first_op_it_is_too_late():
    code = "import gradtape as tf; (tf.ones([2]) + 1).numpy(); print(tf.config.tune_loops())"
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.split() == ["False"]
