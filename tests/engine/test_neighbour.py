"""JAX code in the same process keeps the bits, compile cache and configuration that it has alone; so does gradtape."""

import importlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from tests.light import LIGHT

# What a JAX program computes and finds, with functions that it traces and compiles anew each time.
FACTS = """
import json, os, sys
import jax, jax.numpy as jnp, numpy as np

def facts():
    def mine(x):
        return jnp.sin(x) * jnp.arange(3) + jax.random.normal(jax.random.key(0), (3,))

    results = [jnp.ones(3), jnp.arange(3), jnp.asarray(np.ones(3)), jax.jit(mine)(jnp.ones(3))]
    results.append(jax.grad(lambda x: mine(x).sum())(2.0))
    return {
        "dtypes": [str(x.dtype) for x in results],
        "bits": [np.asarray(x).tobytes().hex() for x in results],
        "configuration": {name: repr(value) for name, value in sorted(jax.config.values.items())},
        "environment": {name: value for name, value in sorted(os.environ.items()) if "JAX" in name or "XLA" in name},
    }

seen = {"alone": facts()}
"""

BESIDE = """
import threading
import gradtape as tf
seen["after the import"] = facts()
tf.config.compile_early()
v = tf.Variable(np.arange(3.0), dtype=tf.float64)
for step in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v * 0.1)
    v.assign_sub(tape.gradient(loss, v))
    v.numpy()
    seen[f"after step {step}"] = facts()
model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
look = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.setdefault("in a callback", facts()))
model.fit(np.ones([4, 3]), np.ones([4, 1]), verbose=0, callbacks=[look])
thread = threading.Thread(target=lambda: seen.setdefault("in a thread", facts()))
thread.start()
thread.join()
json.dump({"seen": seen, "v": v.numpy().tolist()}, sys.stdout)
"""

# gradtape's own results, whatever the bits are that JAX has, in the midst of a loop or of a function that JAX traces.
SWITCHED = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
import gradtape as tf

v = tf.Variable([2.1, 1.0], dtype=tf.float64)
third = tf.constant(1, tf.float64) / 3

@tf.function
def compiled(x):
    return tf.reduce_sum(x**3)

def step():
    with tf.GradientTape() as tape:
        y = compiled(v) + tf.reduce_sum(v[::-1] * third)
    large, cast = tf.constant(2**40) + 1, tf.cast(v, tf.complex128)
    return [float(y), *tape.gradient(y, v).numpy().tolist(), int(large), cast.numpy()[0].real]

found = []
for early in (False, True):
    tf.config.compile_early(early)
    for bits in (True, False, True, False):
        jax.config.update("jax_enable_x64", bits)
        found.append(step())
jax.eval_shape(lambda x: found.append(step()) or x, jnp.ones(2))
given = [tf.constant(jnp.ones(2)), tf.experimental.dlpack.from_dlpack(np.ones(2)), tf.constant(jnp.ones(2), tf.float64)]
lifted = tf.jax_function(lambda x: x + jnp.ones(2))
given += [lifted(tf.constant([1.0, 2.0])), lifted(tf.constant([1.0, 2.0], tf.float64))]
json.dump({"found": found, "dtypes": [x.dtype.name for x in given]}, sys.stdout)
"""


def ran(program, **environment):
    """Return what a program writes, run in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_NUMPY_DTYPE_PROMOTION")} | environment
    done = subprocess.run([sys.executable, "-c", LIGHT + program], env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("bits", ["0", "1"])
def test_jax_is_as_it_is_alone(bits, tmp_path):
    """At every point of a program; where it set a cache folder, programs go there, else only those of gradtape are kept."""
    mine = tmp_path / "mine"
    settings = {"JAX_ENABLE_X64": bits, "GRADTAPE_CACHE_DIR": str(tmp_path)}
    if bits == "1":
        settings |= {"JAX_COMPILATION_CACHE_DIR": str(mine), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    result = ran(FACTS + BESIDE, **settings)
    seen = result["seen"]
    assert len(seen) == 6
    for place, facts in seen.items():
        assert facts == seen["alone"], place
    assert result["v"] == pytest.approx([0.0, 0.64, 1.28], rel=1e-15)
    own = [path.name for path in (tmp_path / "gradtape" / "xla").glob("*")]
    if bits == "0":
        assert own and not any("mine" in name for name in own)
    else:
        assert not own and any("jit_mine" in path.name for path in mine.iterdir())


# Training with Optax; `between` runs between two steps.
OPTAX = """
import json, sys
import jax, jax.numpy as jnp, numpy as np, optax

def trained(between):
    x = jax.random.normal(jax.random.key(1), (16, 3))
    params, optimizer = {"w": jnp.zeros((3, 2)), "b": jnp.zeros(2)}, optax.adam(0.1)
    state = optimizer.init(params)
    loss = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - jnp.sum(x)) ** 2))
    for _ in range(5):
        _, grads = loss(params)
        updates, state = optimizer.update(grads, state)
        params = optax.apply_updates(params, updates)
        between()
    return [[str(a.dtype), np.asarray(a).tobytes().hex()] for a in jax.tree.leaves((params, state))]

alone = trained(lambda: None)
import gradtape as tf
v = tf.Variable([1.0, 2.0], dtype=tf.float64)

def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    v.assign_sub(0.1 * tape.gradient(loss, v))

json.dump([alone, trained(step)], sys.stdout)
"""


def test_optax_trains_beside_it_as_it_does_alone():
    pytest.importorskip("optax", reason="an optional dependency")
    alone, beside = ran(OPTAX)
    assert alone == beside and any(dtype == "float32" for dtype, _ in alone)


def test_gradtape_computes_the_same_whatever_bits_jax_has():
    result = ran(SWITCHED)
    assert len(result["found"]) == 9
    expected = [2.1**3 + 1 + 3.1 / 3, 3 * 2.1**2 + 1 / 3, 3 + 1 / 3, 2**40 + 1, 2.1]
    for found in result["found"]:
        assert found == pytest.approx(expected, rel=1e-15)
    assert result["dtypes"] == ["float32", "float64", "float64", "float32", "float64"]


@pytest.mark.parametrize("transform", ["jit", "vmap", "grad"])
@pytest.mark.parametrize(
    "call", [lambda x: tf.sin(x), lambda x: tf.constant(x), lambda x: tf.add(tf.ones([3]), x), lambda x: tf.Variable(x)]
)
def test_a_value_that_jax_traces_is_refused_by_name(transform, call):
    """The tape and later steps are as before."""
    jax = importlib.import_module("jax")
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        with pytest.raises(TypeError, match=r"a value that JAX traces: .* Call gradtape outside of it, or .* tf\.jax_function"):
            getattr(jax, transform)(lambda x: float(call(x) is None))(np.ones(3, np.float32))
    assert tape.gradient(y, v).numpy() == 6.0


def test_the_import_changes_nothing_else_of_the_process():
    """What a library could change for its neighbours is as before: settings, hooks, handlers, threads."""
    assert ran(PROCESS) == []


PROCESS = """
import builtins, gc, json, logging, os, random, signal, sys, threading, warnings
import jax
import numpy as np

def state():
    loggers = [logging.root, *[x for x in logging.root.manager.loggerDict.values() if isinstance(x, logging.Logger)]]
    loggers = [x for x in loggers if x.name != "gradtape"]
    return {
        "environment": dict(os.environ),
        "signals": {int(s): str(signal.getsignal(s)) for s in signal.valid_signals()},
        "handlers": [(x.name, x.level, x.handlers, x.filters) for x in loggers if x.handlers or x.level or x.filters],
        "warnings": (warnings.filters[:], warnings.showwarning),
        "NumPy": (np.geterr(), np.get_printoptions(), str(np.random.get_state())),
        "random": random.getstate(),
        "hooks": [sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook, sys.getprofile(), sys.gettrace()],
        "imports": (sys.path[:], sys.path_hooks[:], sys.meta_path[:]),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "garbage": (gc.get_threshold(), gc.get_freeze_count(), gc.callbacks[:]),
        "builtins": sorted(vars(builtins)),
        "threads": [t.name for t in threading.enumerate()],
        "JAX": dict(jax.config.values),
        "folder": os.getcwd(),
    }

before = state()
import gradtape
after = state()
json.dump([name for name in before if before[name] != after[name]], sys.stdout)
"""
