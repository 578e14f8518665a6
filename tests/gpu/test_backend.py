"""A device that cannot be started, and the rules that go by the platform on which values lie."""

import os
import subprocess
import sys

import jax
import jax.export
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core import execution, tiers
from gradtape._src.core.aval import aval
from gradtape._src.core.program import Program
from gradtape._src.ops.math.arithmetic import sum_of_two
from gradtape._src.ops.nn.convolution import DENSE

HOST, DEVICE = np.ones(3, "float32"), jax.numpy.ones(3)


def program(dtype, size=3):
    """`x + x`."""
    x = aval((size,), np.dtype(dtype))
    return Program(((sum_of_two.op, (), -1, -1),), (x,), (x,), (0,))


@pytest.fixture
def default_gpu(monkeypatch):
    """Rules are asked as where the default device is a GPU; JAX arrays still lie on the CPU."""
    monkeypatch.setattr(tiers, "default_place", lambda: "gpu")


@pytest.fixture
def all_on_gpu(monkeypatch, default_gpu):
    """Rules are asked as where JAX arrays lie on a GPU."""
    monkeypatch.setattr(tiers, "_place_of", lambda values: "gpu" if any(isinstance(v, jax.Array) for v in values) else None)


def test_values_say_where_a_program_runs(default_gpu):
    assert tiers.place(program("float32"), [DEVICE]) == "cpu"
    assert tiers.place(program("float32"), [HOST]) == "gpu"
    assert tiers.place(program("float32"), [HOST, DEVICE]) == "cpu"


def test_small_integers_of_the_host_stay_there(default_gpu):
    assert tiers.place(program("int32"), [HOST]) == "cpu"
    assert tiers.place(program("bool"), [HOST]) == "cpu"
    assert tiers.place(program("int32", size=tiers.STEERING), [HOST]) == "gpu"


def test_integers_on_a_gpu_stay_there(all_on_gpu):
    assert tiers.place(program("int32"), [jax.numpy.ones(3, "int32")]) == "gpu"


def test_nothing_runs_on_the_host_where_values_lie_on_a_gpu(all_on_gpu):
    assert not tiers.hosting("gpu")
    assert not any(tiers.costs(program("float32"), "gpu").hosted)
    assert not tiers.hosts(sum_of_two.op, [aval((3,), HOST.dtype)] * 2, [DEVICE, HOST])


def test_a_gpus_programs_get_no_options_of_the_cpus():
    assert tiers.options(program("float32"), "gpu") is None


def test_on_a_cpu_small_values_run_on_the_host():
    assert tiers.default_place() == tiers._place_of([HOST, DEVICE]) == "cpu"
    assert tiers._place_of([HOST]) is None
    assert tiers.hosting("cpu")


def test_a_counter_is_not_compiled_for_a_gpu(all_on_gpu):
    """However often it is counted on: a compiled program would have to be waited for."""
    step = tf.constant(np.array(0, "int32"))
    before = execution.counters.programs, execution.counters.kernels
    for _ in range(200):
        step = step + 1
        assert step.numpy() >= 0
    assert int(step) == 200
    assert (execution.counters.programs, execution.counters.kernels) == before


def test_floats_are_compiled_for_a_gpu(all_on_gpu):
    before = execution.counters.programs + execution.counters.kernels
    x = tf.constant(HOST)
    for _ in range(3):
        x = tf.sin(x) * 1.25
        assert x.numpy().shape == (3,)
    assert execution.counters.programs + execution.counters.kernels > before


@pytest.mark.parametrize(("platform", "product"), [("cpu", "dot_general"), ("cuda", "convolution")])
def test_the_gradient_of_a_filter_goes_by_the_device_that_it_is_compiled_for(platform, product):
    """Few channels: a product with patches on a CPU, a convolution elsewhere. No device is needed to lower a program."""
    images, dy = jax.ShapeDtypeStruct((2, 8, 8, 3), "float32"), jax.ShapeDtypeStruct((2, 6, 6, 4), "float32")

    def gradient(images, dy):
        attrs = (3, 3, 3, 4), (1, 1, 1, 1), "VALID", (), "NHWC", (1, 1, 1, 1)
        return DENSE[2].to_filter.op.run([images, dy], attrs)

    lowered = jax.export.export(jax.jit(gradient), platforms=[platform])(images, dy).mlir_module()
    assert f"stablehlo.{product}" in lowered
    assert ("stablehlo.convolution" in lowered) == (product == "convolution")


def test_a_hidden_device_is_not_the_default():
    chosen = jax.config.jax_default_device
    try:
        jax.config.update("jax_default_device", jax.devices("cpu")[0])
        assert tiers.default_place() == "cpu"
    finally:
        jax.config.update("jax_default_device", chosen)


def test_a_platform_that_jax_cannot_start():
    program = "import gradtape as tf\nx = tf.constant([1.0])\n(x + 1).numpy()\n"
    environment = {**os.environ, "JAX_PLATFORMS": "cuda", "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 1
    assert "JAX could not start a device (JAX_PLATFORMS=cuda)" in ended.stderr
    assert "gradtape/_src" not in ended.stderr
