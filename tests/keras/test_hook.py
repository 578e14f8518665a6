"""How Keras comes to know the backend: chosen by the environment, or by the import of gradtape.keras."""

import os
import subprocess
import sys

import pytest

from tests import forked
from tests.light import LIGHT

DENSE = """
import numpy as np
layer = keras.layers.Dense(3)
assert layer(np.ones((2, 4), "float32")).shape == (2, 3)
"""


def run(code, backend=None):
    """Run `code` in a process of its own, with KERAS_BACKEND as given. Where gradtape comes first, it is imported already."""
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    if backend is not None:
        environment["KERAS_BACKEND"] = backend
    command = [sys.executable, "-c", LIGHT + code]
    if code.startswith("import gradtape as tf"):
        return forked.run(command, env=environment)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_python_s_random_numbers_go_on_after_the_import():
    """As on TensorFlow, so that a script that seeds them before it names tf.keras has the same initial weights."""
    code = """import gradtape as tf
import random
random.seed(42)
tf.random.set_seed(42)
layer = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)]).layers[0]
print(layer.kernel.numpy().round(4).tolist())
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    values = [float(word) for word in done.stdout.replace("[", "").replace("]", "").split(",")]
    assert values == pytest.approx([0.7848, 0.3563, -0.3095, 0.9859, -0.9244, 0.3337], abs=1e-4)  # TensorFlow 2.21's


def test_the_environment_chooses_the_backend_and_nothing_is_imported_first():
    done = run("import keras; print(keras.backend.backend())" + DENSE, "gradtape")
    assert (done.returncode, done.stdout) == (0, "gradtape\n"), done.stderr


@pytest.mark.parametrize(
    ("settings", "backend"),
    [(None, "gradtape"), ('{"backend": "tensorflow"}', "gradtape"), ("{", "gradtape"), ('{"backend": "jax"}', "jax")],
)
def test_gradtape_takes_the_place_of_a_tensorflow_that_is_not_there(settings, backend, tmp_path, monkeypatch):
    """Keras writes its default into a file of the user's; another backend there is the user's choice."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    if settings is not None:
        (tmp_path / "keras.json").write_text(settings)
    done = run("import gradtape as tf; import keras; print(keras.backend.backend())")
    assert done.stdout.strip() == backend, done.stderr


def test_keras_alone_is_left_to_its_default(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert "No module named 'tensorflow'" in run("import keras; import gradtape").stderr


def test_a_script_chooses_the_backend_before_it_imports_keras():
    done = run("import os; os.environ['KERAS_BACKEND'] = 'gradtape'; import keras; print(keras.backend.backend())" + DENSE)
    assert (done.returncode, done.stdout) == (0, "gradtape\n"), done.stderr


def test_a_library_that_looks_whether_keras_is_there_changes_nothing():
    code = "import importlib.util, os; importlib.util.find_spec('keras'); os.environ['KERAS_BACKEND'] = 'gradtape'; import keras"
    done = run(f"{code}; print(keras.backend.backend())")
    assert (done.returncode, done.stdout) == (0, "gradtape\n"), done.stderr


def test_python_starts_without_loading_anything_of_ours():
    done = run("import sys; print(sorted(m for m in sys.modules if m.startswith(('gradtape', 'keras', 'ast', 'jax'))))")
    assert done.stdout == "['keras_gradtape', 'keras_gradtape.startup']\n", done.stderr


def test_submodules_of_tf_keras_are_imported_by_name():
    code = "import gradtape as tf; from gradtape.keras.layers import Dense; import gradtape.keras.losses as losses"
    done = run(f"{code}; print(Dense.__name__)")
    assert (done.returncode, done.stdout) == (0, "Dense\n"), done.stderr


def test_tf_keras_is_keras_with_nothing_set_and_is_imported_when_asked_for():
    code = """import gradtape as tf
import sys
print("keras" in sys.modules)
keras = tf.keras
import keras as real
assert keras.Model is real.Model
"""
    done = run(code + DENSE)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.parametrize(
    ("code", "backend", "says"),
    [
        ("import gradtape as tf; tf.keras", "jax", "the environment has KERAS_BACKEND='jax'"),
        ("import keras; import os; del os.environ['KERAS_BACKEND']; import gradtape.keras", "jax", "Keras was imported before"),
    ],
)
def test_another_backend_is_an_error_that_says_what_to_do(code, backend, says):
    done = run(code, backend)
    assert done.returncode == 1
    assert says in done.stderr
    assert "KERAS_BACKEND=gradtape" in done.stderr
