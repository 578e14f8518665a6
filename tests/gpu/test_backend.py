"""A device that cannot be started or is full, and the rules that go by the platform on which values lie."""

import os
import subprocess
import sys

import jax
import jax.export
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import engine, execution, stages, tiers
from gradtape._src.core.platform import lowerings, memory
from gradtape._src.core.programs.program import Program
from gradtape._src.core.settings import device_config
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.math.arithmetic import sum_of_two
from gradtape._src.ops.nn.convolution import DENSE

ROUNDING, QUICK = [lowerings.compiling[name].flags for name in ("rounding", "quick")]
HOST, DEVICE = np.ones(3, "float32"), jax.numpy.ones(3)


def program(dtype, size=3):
    """`x + x`."""
    x = aval((size,), np.dtype(dtype))
    return Program(((sum_of_two.op, (), -1, -1),), (x,), (x,), (0,))


@pytest.fixture
def default_gpu(monkeypatch):
    """Rules are asked as where the default device is a GPU; JAX arrays still lie on the CPU."""
    engine._numbers.clear()  # those that other tests have used twice are JAX arrays
    monkeypatch.setattr(tiers, "default_place", lambda: "gpu")


@pytest.fixture
def all_on_gpu(monkeypatch, default_gpu):
    """Rules are asked as where JAX arrays lie on a GPU."""
    monkeypatch.setattr(tiers, "place_of", lambda values: "gpu" if any(isinstance(v, jax.Array) for v in values) else None)


def compiled_with(monkeypatch):
    """The options that programs are compiled with from now on."""
    seen, compile = [], execution.Pool.compile

    def noting(pool, owner, function, arguments, options=None, kernel=""):
        if isinstance(owner, Program):
            seen.append(options)
        return compile(pool, owner, function, arguments, options, kernel)

    monkeypatch.setattr(execution.Pool, "compile", noting)
    return seen


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
    assert tiers.options(program("float32"), "gpu") == ROUNDING
    assert jax.jit(lambda x: x + 1, compiler_options=ROUNDING)(1.0) == 2.0  # a jaxlib knows the flag, on any device


def test_on_a_cpu_small_values_run_on_the_host():
    assert tiers.default_place() == tiers.place_of([HOST, DEVICE]) == "cpu"
    assert tiers.place_of([HOST]) is None
    assert tiers.hosting("cpu")


def test_a_counter_is_not_compiled_for_a_gpu(all_on_gpu):
    """However often it is counted on: a compiled program would have to be waited for."""
    step = tf.constant(np.array(0, "int32"))
    assert (step + 1009).numpy() == 1009  # with it runs what other tests left pending
    before = execution.counters.programs, execution.counters.kernels
    for _ in range(200):
        step = step + 1009
        assert step.numpy() >= 0
    assert int(step) == 200 * 1009
    assert (execution.counters.programs, execution.counters.kernels) == before


def test_floats_are_compiled_for_a_gpu(all_on_gpu):
    before = execution.counters.programs + execution.counters.kernels
    x = tf.constant(HOST)
    for _ in range(3):
        x = tf.sin(x) * 1.25
        assert x.numpy().shape == (3,)
    assert execution.counters.programs + execution.counters.kernels > before


def test_a_new_program_is_compiled_quickly_and_once_more_when_it_has_run_for_some_time(all_on_gpu, monkeypatch):
    assert tiers.accepted("quick")
    seen, x = compiled_with(monkeypatch), tf.constant(np.full((4, 4), 0.5, "float32"))
    step = tf.function(lambda x: tf.tanh(x @ x + 0.1))
    results, compiled = [], []
    for _ in range(tiers.TRIALS + 4):
        results.append(step(x).numpy())
        compiled.append(len(seen))
    assert seen == [ROUNDING | QUICK, ROUNDING]
    assert compiled.count(1) == tiers.TRIALS
    np.testing.assert_allclose(results, [np.tanh(np.full((4, 4), 1.1))] * len(results), rtol=1e-6)


@pytest.mark.parametrize("extent", [2, 8])
def test_what_convolves_large_values_is_compiled_for_good(extent, all_on_gpu, monkeypatch):
    """The first kernel that comes for a convolution may be hundreds of times slower than the best."""
    monkeypatch.setattr(memory, "CHECKED", 1 << 10)
    seen = compiled_with(monkeypatch)
    images, kernel = (tf.constant(np.full(shape, 0.5, "float32")) for shape in ([1, extent, extent, 4], [1, 1, 4, 4]))
    inner = tf.function(lambda x, k: tf.nn.conv2d(x, k, 1, "SAME") + 1.0)
    outer = tf.function(lambda x, k: inner(x, k) * 2.0)
    np.testing.assert_allclose(outer(images, kernel), np.full(images.shape, 4.0))
    assert seen == [ROUNDING if extent == 8 else ROUNDING | QUICK]


def test_whoever_wants_programs_compiled_early_gets_the_fast_ones(all_on_gpu, monkeypatch):
    seen, x = compiled_with(monkeypatch), tf.constant(np.full((4, 4), 0.25, "float32"))
    monkeypatch.setattr(tiers, "early", True)
    assert tf.function(lambda x: tf.cos(x @ x) * 3.0)(x).shape == (4, 4)
    assert seen == [ROUNDING]


def test_where_jax_has_no_cpu_programs_are_compiled_for_good(monkeypatch):
    """As with JAX_PLATFORMS=cuda."""

    def devices(platform=None):
        raise RuntimeError(f"Unknown backend: '{platform}' requested")

    tiers.accepted.cache_clear()
    monkeypatch.setattr(jax, "devices", devices)
    assert not tiers.accepted("quick")
    tiers.accepted.cache_clear()


def test_a_jaxlib_that_does_not_know_the_quick_options(all_on_gpu, monkeypatch):
    seen, x = compiled_with(monkeypatch), tf.constant(np.full((4, 4), 0.75, "float32"))
    monkeypatch.setattr(tiers, "accepted", lambda which: which != "quick")
    step = tf.function(lambda x: tf.sin(x @ x) * 3.0)
    for _ in range(2 * tiers.TRIALS):
        assert step(x).numpy().shape == (4, 4)
    assert seen == [ROUNDING]


def test_a_chain_whose_values_are_all_kept_runs_in_pieces(all_on_gpu):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(300):
                y = tf.sin(y)
        return y, tape.gradient(y, x)

    tf.config.clear_cache()
    x = tf.constant(np.array([0.3, 1.0], "float32"))
    for _ in range(3):
        before = execution.counters.kernels
        value, slope = (t.numpy() for t in step(x))
    assert execution.counters.kernels == before
    y, d = np.array([0.3, 1.0]), np.ones(2)
    for _ in range(300):
        d, y = d * np.cos(y), np.sin(y)
    np.testing.assert_allclose(value, y, rtol=1e-4)
    np.testing.assert_allclose(slope, d, rtol=1e-3)
    held = [owner.size for owner in execution.pool.owners() if isinstance(owner, Program) and len(owner.outputs) > 2]
    assert held and max(held) <= stages.PIECE


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


@pytest.mark.parametrize(
    "said",
    [
        "Unable to initialize backend 'cuda': INTERNAL: no supported devices found for platform CUDA",
        "CUDA driver version is insufficient for CUDA runtime version",
        "RESOURCE_EXHAUSTED: Out of memory allocating 63000000000 bytes",
    ],
    ids=["no driver", "an old driver", "a device that another process holds"],
)
def test_a_device_that_does_not_start_says_why_and_what_to_do(said, monkeypatch):
    def default_backend():
        raise RuntimeError(said)

    monkeypatch.setattr(jax, "default_backend", default_backend)
    tiers.platform.cache_clear()
    try:
        with pytest.raises(
            RuntimeError, match=r"JAX could not start a device.*a driver that it supports.*unset JAX_PLATFORMS"
        ) as raised:
            tiers.platform()
        assert said in str(raised.value)
    finally:
        tiers.platform.cache_clear()


GIB = 1 << 30


@pytest.fixture
def nearly_full(monkeypatch):
    """The statistics of a GPU of 78 GiB of which 77 are in use."""
    monkeypatch.setattr(memory, "_of_device", lambda: {"bytes_limit": 78 * GIB, "bytes_in_use": 77 * GIB})


def test_a_program_that_does_not_fit_names_the_devices_memory(nearly_full):
    kept = tf.Variable([1.0, 2.0])
    with pytest.raises(
        tf.errors.ResourceExhaustedError, match=r"needs [0-9.]+ GiB, and 1.0 of the device's 78.0 GiB are available"
    ):
        kept.assign(kept + tf.reduce_sum(tf.cumsum(tf.ones([1 << 15, 1 << 14]) * kept[0], axis=1)[:, ::2]))
        kept.numpy()
    assert kept.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("gib", "waits"), [(0.4, False), (0.6, True)])
def test_a_gpu_is_waited_for_where_memory_is_scarce(gib, waits, nearly_full):
    """The step after a large one is recorded while that runs; where both would not fit it is waited for."""
    assert memory.check(int(gib * GIB)) is waits


def test_a_cpu_is_waited_for():
    assert memory.check(1) is True


def test_what_still_runs_gives_its_memory_back_first(monkeypatch):
    used = iter([77 * GIB, 70 * GIB, 70 * GIB])
    monkeypatch.setattr(memory, "_of_device", lambda: {"bytes_limit": 78 * GIB})
    monkeypatch.setattr(memory, "available", lambda: 78 * GIB - next(used))
    assert memory.check(2 * GIB) is False


def test_an_array_of_the_host_is_not_measured_by_the_device(nearly_full):
    memory.check_array(1 << 29, "float32")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="of the host's"):
        memory.check_array(1 << 50, "float32")


@pytest.mark.parametrize(
    "said",
    ["RESOURCE_EXHAUSTED: Out of memory while trying to allocate", "FAILED_PRECONDITION: DNN library initialization failed"],
)
def test_memory_that_another_process_may_hold(said, nearly_full):
    """CUDA's libraries do not start on a device that is full, and say nothing of memory."""
    error = memory.translated(jax.errors.JaxRuntimeError(said))
    assert isinstance(error, tf.errors.ResourceExhaustedError)
    assert said in str(error)
    assert "Another process may hold the device's memory" in str(error)
    assert "XLA_PYTHON_CLIENT_MEM_FRACTION" in str(error)


def test_on_the_host_no_other_process_is_blamed():
    assert "Another process" not in str(memory.translated(jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED")))


def test_other_errors_stay_as_they_are():
    error = jax.errors.JaxRuntimeError("INTERNAL: something else")
    assert memory.translated(error) is error


@pytest.fixture
def placed_exactly(monkeypatch):
    monkeypatch.setattr(device_config._Chosen, "soft_placement", True)
    tf.config.set_soft_device_placement(False)


@pytest.mark.parametrize("name", ["GPU:7", "/gpu:0", "CPU:5", "/device:TPU:0"])
def test_a_device_that_is_not_there_is_an_error_without_soft_placement(name, placed_exactly):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Could not satisfy device specification '/device:.*enable_soft_placement=0"
    ):
        tf.device(name)


@pytest.mark.parametrize(
    "name", ["CPU:0", "/cpu:0", "cpu", "/device:CPU:*", "/job:localhost/replica:0/task:0/device:CPU:0", "", None]
)
def test_a_device_that_is_there_is_none(name, placed_exactly):
    with tf.device(name):
        assert (tf.constant(1.0) + 1).numpy() == 2.0


@pytest.mark.parametrize(
    ("name", "said"), [("FOO:0", "Unknown attribute 'FOO'"), ("GPU:x", "'x'"), (3, "Expecting a string device name")]
)
def test_what_is_no_name_of_a_device(name, said):
    with pytest.raises(ValueError, match=said):
        tf.device(name)


def test_a_name_is_no_device_to_show():
    with pytest.raises(ValueError, match="Unrecognized device: 'GPU:7'"):
        tf.config.set_visible_devices("GPU:7")
