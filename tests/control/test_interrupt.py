"""Ctrl-C in a loop that never ends."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution

ENDLESS = """
import signal

import gradtape as tf

signal.signal(signal.SIGINT, signal.default_int_handler)  # what started this may have it ignored
v = tf.Variable(1.0)


@tf.function
def forever(x):
    v.assign_add(x)
    while x < 2.0:
        x = tf.minimum(x * 1.5, 1.0)
    return x


print("start", flush=True)
try:
    forever(tf.constant(1.0))
except KeyboardInterrupt:
    print("interrupted", v.numpy())
print((v * 2.0).numpy())
"""


def test_a_loop_that_never_ends_is_interrupted(tmp_path):
    """The variable keeps its value, and the process goes on and ends."""
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "start\n"
        time.sleep(3)  # long enough to be in the loop; in a compiler, it would be interrupted as well
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()  # were the interrupt lost, it would run on
    assert output.split() == ["interrupted", "1.0", "2.0"]


MANY = """
import gc, signal

import gradtape as tf

for kind in (signal.SIGINT, signal.SIGALRM):
    signal.signal(kind, signal.default_int_handler)
gc.disable()  # an interrupt that comes while garbage is collected is dropped, by Python and JAX
variables = [tf.Variable(0.0) for _ in range(300)]


@tf.function
def step(x):
    for v in variables:
        v.assign_add(x)


@tf.function
def checked(x):
    step(tf.gather([1.0, 2.0], tf.cast(x, tf.int32) - 1))  # its index is looked at before the call


one = tf.constant(1.0)
for call in (step, checked):
    call(one)
    call(one)
    for attempt in range(60):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0003 * attempt)
            while True:
                call(one)
        except KeyboardInterrupt:
            pass
        found = {v.numpy().item() for v in variables}
        assert len(found) == 1, found
print("whole")
"""


def test_what_a_function_assigns_changes_all_at_once(tmp_path):
    """An interrupt that comes while a function's variables get their values finds all of them new, or none."""
    script = tmp_path / "many.py"
    script.write_text(MANY)
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert result.stdout == "whole\n", result.stderr


def test_an_interrupt_while_a_program_is_compiled():
    """JAX drops what a signal raises in some of its lines; here it is raised when the program is compiled, which is kept."""
    compiled = []

    def kernel(x):
        signal.raise_signal(signal.SIGINT)
        compiled.append(x)
        return x + 1.0

    owner, before = execution.Executable(1), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            execution.pool.compile(owner, kernel, [np.float32(1.0)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(compiled) == 1
    assert owner.compiled(np.float32(1.0)) == 2.0


@pytest.mark.parametrize("limit, endless", [(None, True), (10, False), (10**9, True)])
def test_a_loop_that_surely_ends_soon_needs_no_thread_to_be_interrupted_in(limit, endless):
    @tf.function
    def grow(x):
        return tf.while_loop(lambda x: x < 100.0, lambda x: [x * 2.0], [x], maximum_iterations=limit)[0]

    assert grow.get_concrete_function(tf.constant(1.0)).program.endless == endless
    assert float(grow(tf.constant(1.0))) == 128.0
