"""A program that is installed as a package, and started by a command beside Python, is explained by its own lines."""

import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

import gradtape as tf

PROGRAM = """
import numpy as np
import gradtape as tf

def main():
    x, w = tf.ones([1, 2]), tf.Variable([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        scores = np.asarray(tf.matmul(x, w))
        loss = tf.reduce_sum(scores * 2.0)
    found = tf.autodiff.explain(loss, w)
    print(found.code, found.file, found.line)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The Python and the folder of commands of an environment in which the package `training` is installed."""
    folder = tmp_path_factory.mktemp("environment")
    builder = venv.EnvBuilder()
    builder.create(folder)
    made = builder.ensure_directories(folder)
    packages = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(folder), "platbase": str(folder)}))
    around = [str(Path(tf.__file__).parents[1]), sysconfig.get_path("purelib")]
    packages.joinpath("around.pth").write_text("\n".join(around))
    packages.joinpath("training.py").write_text(PROGRAM)
    command = Path(made.bin_path, "train")
    command.write_text("import training\ntraining.main()\n")
    return made.env_exe, command, packages / "training.py"


def explained(python, program, folder):
    run = subprocess.run([python, program], cwd=folder, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    code, *file, line = run.stdout.split(" ")
    return code, Path(" ".join(file)), int(line)


@pytest.mark.parametrize("relative", [False, True])
def test_a_command(environment, relative):
    python, command, package = environment
    program = Path(command.parent.name, command.name) if relative else command
    assert explained(python, program, command.parents[1]) == ("left_library", package, 8)


def test_a_script_that_calls_an_installed_package_has_the_line(environment, tmp_path):
    python, _, _ = environment
    script = tmp_path / "script.py"
    script.write_text("import training\n\ntraining.main()\n")
    assert explained(python, script, tmp_path) == ("left_library", script, 3)
