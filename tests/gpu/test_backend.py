"""A device that cannot be started, and the rules that ask which one there is."""

import os
import subprocess
import sys

import pytest

from gradtape._src.core import backend, tiers


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Rules are asked as on a GPU; nothing runs."""
    monkeypatch.setattr(tiers, "platform", lambda: "gpu")
    tiers._on_one_cpu.cache_clear()
    tiers._accepted.cache_clear()
    yield
    monkeypatch.undo()
    tiers._on_one_cpu.cache_clear()
    tiers._accepted.cache_clear()


def test_on_a_gpu_nothing_runs_on_the_host(on_a_gpu):
    assert not tiers.hosting()


def test_a_gpus_programs_get_no_options_of_the_cpus(on_a_gpu):
    assert not tiers._accepted("convolving")


def test_on_a_cpu_small_values_run_on_the_host():
    assert backend.platform() == "cpu"
    assert tiers._on_one_cpu()


def test_a_platform_that_jax_cannot_start():
    program = "import gradtape as tf\nx = tf.constant([1.0])\n(x + 1).numpy()\n"
    environment = {**os.environ, "JAX_PLATFORMS": "cuda", "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 1
    assert "JAX could not start a device (JAX_PLATFORMS=cuda)" in ended.stderr
    assert "gradtape/_src" not in ended.stderr
