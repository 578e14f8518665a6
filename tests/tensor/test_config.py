"""`tf.config`, `tf.DeviceSpec` and dtypes that can be named only. Values and errors are TensorFlow 2.21's."""

import sys
from unittest import mock

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution
from gradtape._src.core.settings import device_config, switches
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.linalg.matmul import MAT_MUL
from tests import forked

config = tf.config
CPU = config.PhysicalDevice("/physical_device:CPU:0", "CPU")


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """What the tests set is as before after each."""
    for holder in (device_config._Chosen, switches._Set):
        for name, value in vars(holder).items():
            if not name.startswith("_"):
                monkeypatch.setattr(holder, name, dict(value) if isinstance(value, dict) else value)


@pytest.mark.parametrize(
    "setter, getter, default, value, expected",
    [
        (config.set_soft_device_placement, config.get_soft_device_placement, True, False, False),
        (tf.debugging.set_log_device_placement, tf.debugging.get_log_device_placement, False, True, True),
        (config.experimental.set_device_policy, config.experimental.get_device_policy, "silent", "warn", "warn"),
        (config.experimental.set_synchronous_execution, config.experimental.get_synchronous_execution, True, False, False),
        (config.threading.set_intra_op_parallelism_threads, config.threading.get_intra_op_parallelism_threads, 0, 2, 2),
        (config.threading.set_inter_op_parallelism_threads, config.threading.get_inter_op_parallelism_threads, 0, 2, 2),
        (config.optimizer.set_jit, config.optimizer.get_jit, "", True, "autoclustering"),
        (
            config.optimizer.set_experimental_options,
            config.optimizer.get_experimental_options,
            {"disable_model_pruning": False, "disable_meta_optimizer": False},
            {"constant_folding": True},
            {"constant_folding": True, "disable_model_pruning": False, "disable_meta_optimizer": False},
        ),
    ],
)
def test_a_switch_gives_what_it_was_given(setter, getter, default, value, expected):
    assert getter() == default
    setter(value)
    assert getter() == expected


@pytest.mark.parametrize(
    "switch",
    [
        config.experimental.enable_mlir_bridge,
        config.experimental.disable_mlir_bridge,
        lambda: tf.debugging.experimental.enable_dump_debug_info("/nowhere"),
        tf.debugging.experimental.disable_dump_debug_info,
    ],
)
def test_a_switch_is_accepted(switch):
    assert switch() is None


@pytest.fixture
def without_tensor_float_32():
    config.experimental.enable_tensor_float_32_execution(False)
    yield
    config.experimental.enable_tensor_float_32_execution(True)


def test_tensor_float_32_is_the_default():
    assert config.experimental.tensor_float_32_execution_enabled()


def test_products_without_tensor_float_32(without_tensor_float_32):
    assert not config.experimental.tensor_float_32_execution_enabled()
    assert tf.matmul([[2.0]], [[3.0]]).numpy() == [[6.0]]
    assert jax.config.jax_default_matmul_precision is None  # the user's own programs of JAX stay as they are


def highest(program):
    """Whether the products of a Program, as it would be compiled, are of float32 in full."""
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.parameters]
    return "HIGHEST" in jax.jit(program.evaluate).lower(*shapes).as_text()


@pytest.mark.usefixtures("compiled_early")
def test_the_precision_of_products_is_a_part_of_the_program():
    """A function that was traced before follows the switch, and what was compiled for either setting stays."""
    config.clear_cache()  # so that there is room for both, whatever ran before
    product = tf.function(lambda x: tf.matmul(x, x))
    x = tf.ones([3, 3])
    compiled = []
    with mock.patch.object(execution.pool, "compile", side_effect=execution.pool.compile) as compiling:
        for enabled in (True, False, True, False):
            config.experimental.enable_tensor_float_32_execution(enabled)
            try:
                product(x).numpy()
                compiled.append([highest(call.args[0]) for call in compiling.call_args_list if "MatMul" in str(call.args[0])])
            finally:
                config.experimental.enable_tensor_float_32_execution(True)
    assert compiled == [[False], [False, True], [False, True], [False, True]]


@pytest.mark.usefixtures("compiled_early")
def test_the_precision_of_products_is_a_part_of_a_kernel(without_tensor_float_32):
    arrays = [np.ones(shape, "float32") for shape in ((3, 5), (5, 2))]
    with mock.patch.object(execution.pool, "compile", side_effect=execution.pool.compile) as compiling:
        execution.run_kernel(MAT_MUL, (False, False), tuple([aval(a.shape, a.dtype) for a in arrays]), arrays)
    kernel = compiling.call_args_list[-1].args[1]
    assert "HIGHEST" in jax.jit(kernel).lower(*arrays).as_text()


def test_run_functions_eagerly_by_its_older_name():
    assert config.experimental_functions_run_eagerly() is False
    config.experimental_run_functions_eagerly(True)
    try:
        assert config.functions_run_eagerly() is True
    finally:
        config.experimental_run_functions_eagerly(False)


def test_devices():
    assert config.list_physical_devices("CPU") == config.experimental.list_physical_devices("CPU") == [CPU]
    assert config.get_visible_devices("CPU") == [CPU]
    assert repr(CPU) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    config.set_visible_devices([], "GPU")
    assert config.get_visible_devices("GPU") == config.list_logical_devices("GPU") == []
    config.set_visible_devices(CPU, "CPU")
    assert config.list_logical_devices("CPU") == [config.LogicalDevice("/device:CPU:0", "CPU")]
    assert config.experimental.VirtualDeviceConfiguration is config.LogicalDeviceConfiguration
    assert config.experimental.get_device_details(CPU) == {}
    assert config.experimental.get_memory_info("CPU:0") == {"current": 0, "peak": 0}
    assert config.experimental.get_memory_usage("CPU:0") == 0
    assert config.experimental.reset_memory_stats("CPU:0") is None
    assert config.get_logical_device_configuration(CPU) is None
    one = [config.LogicalDeviceConfiguration()]
    config.set_logical_device_configuration(CPU, one)
    assert config.get_logical_device_configuration(CPU) == config.experimental.get_virtual_device_configuration(CPU) == one


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: config.set_visible_devices(["a"], "CPU"), ValueError, "Unrecognized device: 'a'"),
        (lambda: config.set_visible_devices([CPU], "GPU"), ValueError, r"Unrecognized device: PhysicalDevice\(name='/phys"),
        (lambda: config.experimental.set_memory_growth("x", True), ValueError, "Unrecognized device: 'x'"),
        (lambda: config.experimental.set_memory_growth(CPU, True), ValueError, "Cannot set memory growth on non-GPU"),
        (lambda: config.experimental.get_memory_growth(CPU), ValueError, "memory growth is an option of GPUs"),
        (lambda: config.experimental.get_memory_info("GPU:7"), ValueError, "No matching devices found for 'GPU:7'"),
        (lambda: config.experimental.get_memory_info("xx"), ValueError, "Failed parsing device name: 'xx'. Note a valid"),
        (lambda: config.experimental.get_device_details("x"), ValueError, "must be a tf.config.PhysicalDevice, but got: x"),
        (lambda: config.experimental.set_device_policy("n"), ValueError, "Invalid argument `device_policy`: 'n'"),
        (
            lambda: config.set_logical_device_configuration(CPU, [config.LogicalDeviceConfiguration(memory_limit=1)]),
            ValueError,
            "Setting memory limit on CPU virtual devices is currently not supported",
        ),
        (
            lambda: config.set_logical_device_configuration(CPU, []),
            RuntimeError,
            "Virtual devices cannot be modified after being initialized",
        ),
    ],
)
def test_what_devices_refuse(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_the_memory_growth_of_a_gpu(monkeypatch):
    gpu = config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    monkeypatch.setattr(device_config, "list_physical_devices", lambda: [CPU, gpu])
    assert config.experimental.get_memory_growth(gpu) is None
    config.experimental.set_memory_growth(gpu, False)
    assert config.experimental.get_memory_growth(gpu) is False


LOGICAL = """
import gradtape as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    v = tf.Variable([1.0, 2.0])
print(len(tf.config.list_logical_devices()), len(tf.config.list_physical_devices()), len(strategy.extended.worker_devices))
print(strategy.run(lambda x: v * x, (tf.constant([2.0, 3.0]),)).values[1].numpy())
try:
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
except RuntimeError as error:
    print(error)
"""


def test_logical_devices_are_made_before_anything_is_computed():
    done = forked.run([sys.executable, "-c", LOGICAL])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["2 1 2", "[2. 6.]"]
    assert done.stdout.splitlines()[2].startswith("Virtual devices cannot be modified after being initialized")


@pytest.mark.parametrize(
    "given, text",
    [
        ("/job:w/replica:0/task:1/device:CPU:*", "/job:w/replica:0/task:1/device:CPU:*"),
        ("/job:w/task:1/gpu:2", "/job:w/task:1/device:GPU:2"),
        ("CPU", "/device:CPU:*"),
        ("CPU:0", "/device:CPU:0"),
        ("/device:XLA_GPU:2", "/device:XLA_GPU:2"),
        ("/device:foo:1", "/device:foo:1"),
        ("/job:a/job:b", "/job:b"),
        ("/replica:1/CPU", "/replica:1/device:CPU:*"),
        ("", ""),
    ],
)
def test_device_specs(given, text):
    spec = tf.DeviceSpec.from_string(given)
    assert spec.to_string() == text and tf.DeviceSpec.from_string(text) == spec
    assert hash(tf.DeviceSpec.from_string(text)) == hash(spec)


def test_parts_of_device_specs():
    spec = tf.DeviceSpec(job="w", replica=0, task=1, device_type="gpu", device_index=3)
    assert repr(spec) == "<DeviceSpec(job=w, replica=0, task=1, device_type=GPU, device_index=3)>"
    assert spec.replace(device_type="CPU").to_string() == "/job:w/replica:0/task:1/device:CPU:3"
    assert spec.make_merged_spec(tf.DeviceSpec(job="x", task=0)).to_string() == "/job:x/replica:0/task:0/device:GPU:3"
    assert spec.parse_from_string("/job:b").to_string() == "/job:b"


@pytest.mark.parametrize(
    "given, message",
    [
        ("nonsense", "Unknown attribute 'nonsense' is encountered while parsing the device spec: 'nonsense'"),
        ("XLA_GPU:1", "Unknown attribute 'XLA_GPU'"),
        ("/device:CPU", "Unknown attribute 'device'"),
        ("/job:a:b", "Unknown attribute 'job'"),
        ("/gpu:x", r"invalid literal for int\(\) with base 10: 'x'"),
        ("/cpu:0/gpu:1", "Multiple device types are not allowed while parsing the device spec: /cpu:0/gpu:1"),
    ],
)
def test_what_is_no_device_spec(given, message):
    with pytest.raises(ValueError, match=message):
        tf.DeviceSpec.from_string(given)


@pytest.mark.parametrize("dtype", dtypes.NAMED)
def test_a_dtype_that_can_be_named_only(dtype):
    assert tf.as_dtype(dtype.name) is tf.as_dtype(dtype.as_datatype_enum) is tf.as_dtype(dtype) is dtype
    assert repr(dtype) == f"tf.{dtype.name}" and dtype != tf.float32 and dtype == dtype.name
    assert tf.TensorSpec([], dtype).dtype is dtype
    for use in (lambda: tf.cast(1.0, dtype), lambda: tf.zeros([2], dtype), lambda: tf.constant(1, dtype)):
        with pytest.raises(TypeError, match=rf"tf\.{dtype.name} is a name only: gradtape has no tensors of it"):
            use()


def test_what_such_dtypes_are():
    kinds = [(d.is_quantized, d.is_integer, d.is_floating, d.is_numpy_compatible) for d in (tf.qint8, tf.resource)]
    assert kinds == [(True, False, False, True), (False, False, False, False)]
    small = tf.dtypes.experimental
    assert [d.is_unsigned for d in (small.int4, small.uint4)] == [False, True] and small.float8_e4m3fnuz.is_floating
    assert {tf.qint8, tf.qint16, tf.qint32, tf.quint8, tf.quint16} == tf.dtypes.QUANTIZED_DTYPES
    assert not (tf.qint8.is_complex or tf.qint8.is_bool)


def test_what_is_built():
    assert tf.sysconfig.CXX11_ABI_FLAG == 1 and tf.sysconfig.get_build_info()["is_tensorrt_build"] is False
