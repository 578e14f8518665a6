"""`import tensorflow` under `gradtape run`, `gradtape.as_tensorflow()` and the pytest plugin."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gradtape
from gradtape._src.compat.door import opening, private
from gradtape._src.compat.door.finder import FINDER
from gradtape._src.core.base import hooks
from keras_gradtape import choosing
from tests.door.import_lines import FAIL, LEFT_OUT, RUN
from tests.door.keras_modules import SUBMODULES
from tests.light import LIGHT

IN_TURN = Path(__file__).with_name("in_turn.py")
TOUCHED = Path(__file__).with_name("touched.txt")  # written down after public packages were searched
ROOT = Path(gradtape.__file__).parents[1]


def of_keras(name):
    """The spellings of a submodule of Keras."""
    parent, _, last = f"tensorflow.keras.{name}".rpartition(".")
    return (
        f"import tensorflow.keras.{name} as found; import gradtape; assert found is gradtape.keras.{name}",
        f"from {parent} import {last}",
        f"import gradtape.keras.{name}",
    )


@pytest.fixture(scope="module")
def said(pytestconfig):
    """What each statement said under `gradtape run`, each in a process of its own: "" where nothing was raised.

    Of the spellings of Keras's modules one each, in turn; all of them under `make test-long`.
    """
    statements = [*RUN, *LEFT_OUT, *FAIL]
    for i, name in enumerate(SUBMODULES):
        statements += of_keras(name) if pytestconfig.getoption("--long") else [of_keras(name)[i % 3]]
    command = [sys.executable, "-m", "gradtape", "run", str(IN_TURN)]
    done = subprocess.run(command, input=json.dumps(statements), capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return dict(zip(statements, json.loads(done.stdout), strict=True))


def test_every_submodule_of_keras_is_imported(said):
    tried = [statement for name in SUBMODULES for statement in of_keras(name) if statement in said]
    assert len(tried) >= len(SUBMODULES)
    assert not {statement: said[statement] for statement in tried if said[statement]}


def test_lines_that_run_on_tensorflow_run(said):
    assert len(RUN) >= 100
    assert not {line: said[line] for line in RUN if said[line]}


@pytest.mark.parametrize("lines", [LEFT_OUT, FAIL])
def test_lines_that_are_errors_say_why(said, lines):
    """Each is an ImportError, whose message is tested: a row that runs now belongs to RUN."""
    assert not {line: said[line] for line, why in lines.items() if why not in said[line] or "Error: " not in said[line]}


@pytest.fixture
def tf(monkeypatch):
    """The module `tensorflow`, with the door open for one test."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(FINDER, "table", dict(FINDER.table))
    monkeypatch.setenv("KERAS_BACKEND", "gradtape")
    monkeypatch.setenv(choosing.INHERITED, "")
    monkeypatch.setattr(opening, "name_classes", lambda: None)  # the classes are those of the other tests
    monkeypatch.setattr(hooks.door, "kernel", hooks.door.kernel)
    monkeypatch.setattr(hooks.door, "is_open", False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]:
        monkeypatch.delitem(sys.modules, name)
    before = set(sys.modules)
    gradtape.as_tensorflow()
    yield importlib.import_module("tensorflow")
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "tensorflow":
            del sys.modules[name]


def test_tensorflow_is_a_module_of_its_own_with_gradtapes_names(tf):
    from tensorflow.nn import relu

    assert tf.Tensor is gradtape.Tensor and tf.math is gradtape.math and relu is gradtape.nn.relu
    assert tf.__version__ == tf.version.VERSION == "2.21.0" != gradtape.__version__
    assert {tf.compat.v1.__version__, tf.compat.v1.VERSION, tf.compat.v2.__version__} == {"2.21.0"}
    assert tf.__spec__.name == "tensorflow" and importlib.util.find_spec("tensorflow") is tf.__spec__
    assert importlib.import_module("tensorflow.math") is gradtape.math and gradtape.math.__spec__.name == "gradtape.math"
    assert {"Variable", "keras", "__version__"} <= set(dir(tf)) and {"Variable", "keras"} <= set(tf.__all__)
    gradtape.as_tensorflow()
    assert importlib.import_module("tensorflow") is tf


def test_what_is_assigned_is_seen_under_tensorflows_name_alone(tf, monkeypatch):
    monkeypatch.setattr(tf, "add", "mine")
    monkeypatch.setattr(tf, "new", "mine", raising=False)
    assert (tf.add, tf.new) == ("mine", "mine")
    assert callable(gradtape.add) and not hasattr(gradtape, "new")


def test_every_spelling_gives_the_same_module(tf):
    import tensorflow.keras.layers as by_name
    from tensorflow import keras

    layers = gradtape.keras.layers
    assert by_name is keras.layers is tf.keras.layers is layers
    assert importlib.import_module("tensorflow._api.v2.v2.keras.layers") is layers
    assert importlib.import_module("tensorflow.compat.v1").Session is gradtape.compat.v1.Session
    assert importlib.import_module("gradtape.keras.layers") is layers


def test_distributions_know_the_version(tf):
    assert importlib.metadata.version("tensorflow") == "2.21.0"
    assert importlib.metadata.distribution("TensorFlow").metadata["Name"] == "tensorflow"
    assert importlib.metadata.version("numpy") != "2.21.0"


def test_without_the_door_there_is_no_alias():
    table = {name for name in FINDER.table if name.partition(".")[0] == "tensorflow"}
    assert not table and FINDER.find_spec("tensorflow") is None and FINDER.find_spec("tensorflow.math") is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from tensorflow import sinn", "No module named 'tensorflow.sinn': gradtape has no tf.sinn. Did you mean tf.sin?"),
        ("import tensorflow.maths", "No module named 'tensorflow.maths': gradtape has no tf.maths. Did you mean tf.math?"),
        ("import tensorflow.reduce_sum", "No module named 'tensorflow.reduce_sum': 'tensorflow.reduce_sum' is no module."),
        ("import tensorflow._src.core", "No module named 'tensorflow._src'"),
        ("from tensorflow import contrib", "gradtape has no tf.contrib. It ended with TensorFlow 1"),
    ],
)
def test_a_module_that_is_not_there(tf, statement, message):
    with pytest.raises(ModuleNotFoundError, match=re.escape(message)) as raised:
        exec(statement)
    assert len(raised.traceback) == 2  # the line above, and that of the import


def test_private_paths_of_public_objects(tf):
    from tensorflow.core.framework.summary_pb2 import Summary
    from tensorflow.python import keras
    from tensorflow.python.framework import dtypes, errors_impl, ops
    from tensorflow.python.keras.engine.training import Model
    from tensorflow.python.ops import math_ops, nn_ops
    from tensorflow.python.ops.array_ops import constant, gather, gather_v2
    from tensorflow.python.ops.numpy_ops import np_config

    assert (math_ops.reduce_sum, math_ops.reduce_sum_v1) == (tf.reduce_sum, tf.compat.v1.reduce_sum)
    assert (gather_v2, gather) == (tf.gather, tf.compat.v1.gather)
    assert (constant, nn_ops.relu, nn_ops.softplus, math_ops.mod) == (tf.constant, tf.nn.relu, tf.nn.softplus, tf.math.floormod)
    assert np_config.enable_numpy_behavior is tf.experimental.numpy.experimental_enable_numpy_behavior
    assert dtypes.float32 is tf.float32 and errors_impl.NotFoundError is tf.errors.NotFoundError
    assert ops.convert_to_tensor is tf.compat.v1.convert_to_tensor and ops.Graph is tf.Graph
    assert ops.name_scope_v1 is tf.compat.v1.name_scope
    assert Model is keras.Model is keras.models.Model is tf.keras.Model and keras.layers.Dense is tf.keras.layers.Dense
    assert Summary is tf.compat.v1.Summary
    assert {"Graph", "RegisterGradient"} <= set(dir(ops)) and "layers" in dir(keras)
    names = {}
    exec("from tensorflow.python.ops.clip_ops import *", names)
    assert names["clip_by_norm"] is tf.clip_by_norm
    with pytest.raises(ImportError, match=r"load_op_library is tf.load_op_library: gradtape has no tf.load_op_library. Out of"):
        from tensorflow.python.framework.load_library import load_op_library  # noqa: F401


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        (
            "framework.ops",
            "uid",
            r"tensorflow.python.framework.ops.uid has no public name. It is private to Ten",
        ),
        ("ops.math_ops", "reduce_summ", "Did you mean reduce_sum, which is tf.reduce_sum"),
        ("keras.utils.tf_utils", "constant_value", "no public name"),
        ("util.nest", "__wrapped__", "has no attribute '__wrapped__'"),
    ],
)
def test_what_has_no_public_name(tf, path, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(importlib.import_module(f"tensorflow.python.{path}"), name)


def there(path):
    """Whether a dotted private name, of a module or in one, is found."""
    above, _, last = path.rpartition(".")
    try:
        return importlib.import_module(path) is not None
    except ImportError:
        try:
            return hasattr(importlib.import_module(above), last)
        except ImportError:
            return "." in above and hasattr(
                getattr(importlib.import_module(above.rpartition(".")[0]), above.rpartition(".")[2]), last
            )


def test_names_that_packages_touch_are_there_or_say_why_not(tf):
    lines = [line for line in TOUCHED.read_text("utf-8").splitlines() if not line.startswith("#")]
    table = {line.partition("  # ")[0].split(" ")[1]: line.partition("  # ")[2] for line in lines}
    assert len(table) == len(lines) > 120
    assert {path for path in table if not there(path)} == {path for path, reason in table.items() if reason}


def test_modes_of_the_context(tf):
    from tensorflow.python.eager import context
    from tensorflow.python.framework import test_util

    with context.graph_mode():
        assert not context.executing_eagerly()
        with context.eager_mode():
            assert context.executing_eagerly()
    assert issubclass(test_util.TensorFlowTestCase, tf.test.TestCase) and callable(test_util.run_in_graph_and_eager_modes)


def test_the_list_of_devices(tf):
    from tensorflow.python.client import device_lib

    first, *others = device_lib.list_local_devices()
    assert (first.name, first.device_type, first.memory_limit) == ("/device:CPU:0", "CPU", 268435456)
    assert str(first).startswith('name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: 268435456\nlocality {\n}\n')
    assert len(others) == len(tf.config.list_logical_devices()) - 1


def test_the_context_of_eager_code(tf):
    from tensorflow.python.eager.context import context

    assert context().executing_eagerly() and context().device_spec.device_type is None and context().device_name == ""
    assert context().num_gpus() == len(tf.config.list_logical_devices("GPU")) and context().scope_name == ""
    asked = []
    tf.function(lambda: asked.append(context().executing_eagerly()))()
    assert asked == [False]
    with pytest.raises(AttributeError, match=r"gradtape's context\(\) has no 'executor'. Use tf.executing_eagerly\(\)"):
        _ = context().executor


def test_a_tensor_of_a_function_is_no_eager_tensor(tf):
    from tensorflow.python.framework.ops import EagerTensor, SymbolicTensor

    def kinds(x):
        return [isinstance(x, kind) for kind in (EagerTensor, SymbolicTensor, tf.Tensor)]

    x, asked = tf.constant(1.0), []
    tf.function(lambda x: asked.append(kinds(x)))(x)
    assert kinds(x) == [True, False, True] and asked == [[False, True, True]]
    assert kinds(tf.Variable(1.0)) == kinds(1.0) == [False] * 3
    assert issubclass(EagerTensor, tf.Tensor) and issubclass(type(x), EagerTensor)


def test_a_library_asks_the_tapes(tf):
    from tensorflow.python.eager.record import should_record_backprop

    def asked(*tensors):
        return should_record_backprop([tf.convert_to_tensor(x) for x in tensors])

    v, c = tf.Variable(1.0), tf.constant(2.0)
    assert not asked(v)
    with tf.GradientTape() as tape:
        y = v * 2.0
        assert asked(v) and asked(c, y) and not asked(c) and not asked()
        assert not asked(tf.stop_gradient(y)) and not asked(tf.cast(y, tf.int32)) and not asked(tf.Variable(3))
        with tape.stop_recording():
            assert not asked(v)
        tape.watch(c)
        assert asked(c)
    assert not asked(y)


def test_the_backend_of_tensorflow_in_keras_is_gradtapes(tf):
    from keras.src.backend.tensorflow import convert_to_numpy, core, numpy
    from keras.src.backend.tensorflow.random import normal

    assert numpy.add([1.0], [2.0]).numpy().tolist() == [3.0] and convert_to_numpy is core.convert_to_numpy
    assert normal([2]).shape == (2,)


def test_the_private_name_of_numpy(tf):
    assert tf.constant([1, 2])._numpy().tolist() == [1, 2] and tf.constant("a")._numpy() == b"a"


NAMED = """
import pickle
import gradtape
gradtape.as_tensorflow()
import tensorflow as tf

class Own(tf.Module):
    pass

v = tf.Variable([1.0])
status = tf.train.Checkpoint(v=v).read(tf.train.Checkpoint(v=v).write("here"))
try:
    tf.gather([1.0], 3)
except tf.errors.OpError as raised:
    error = raised
kinds = [type(tf.constant(1)), type(v), type(error), type(status), tf.GradientTape, tf.TensorShape, tf.Variable, Own, tf.Tensor]
print([f"{kind.__module__}.{kind.__name__}" for kind in kinds])
again = pickle.loads(pickle.dumps([v, error, *kinds[1:3]]))
print(again[0].numpy(), str(again[1]) == str(error), again[2:] == kinds[1:3])
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
fitted = model.fit(tf.ones([2, 3]), tf.ones([2, 1]), verbose=0)
print(model.predict(tf.ones([2, 3]), verbose=0).shape, len(fitted.history["loss"]))
"""


def test_classes_have_the_modules_of_tensorflows(tmp_path):
    """Other libraries tell by them whose a tensor is; a copy by pickle, and Keras, find their way."""
    done = subprocess.run(
        [sys.executable, "-c", LIGHT + NAMED],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    named = [
        "tensorflow.python.framework.ops.EagerTensor",
        "tensorflow.python.ops.resource_variable_ops.ResourceVariable",
        "tensorflow.python.framework.errors_impl.InvalidArgumentError",
        "tensorflow.python.checkpoint.checkpoint.CheckpointLoadStatus",
        "tensorflow.python.eager.backprop.GradientTape",
        "tensorflow.python.framework.tensor_shape.TensorShape",
        "tensorflow.python.ops.variables.Variable",
        "__main__.Own",
        "gradtape._src.core.tensors.tensor.Tensor",
    ]
    assert done.stdout.splitlines() == [str(named), "[1.] True True", "(2, 1) 1"], done.stdout + done.stderr


RESHAPED = "Input to reshape is a tensor with 6 values"
# What TensorFlow 2.21 says on a CPU: the op, the words, what stands at the end.
KERNELS = [
    ("tf.gather([1.0], 1)", "GatherV2", "indices = 1 is not in [0, 1)", ""),
    ("tf.gather_nd([1.0], [[2]])", "GatherNd", "indices[0] = [2] does not index into param shape [1], node name: GatherNd", ""),
    ("tf.reshape(x, [7, -1])", "Reshape", f"{RESHAPED}, but the requested shape requires a multiple of 7", ""),
    ("tf.reshape(x, [4])", "Reshape", f"{RESHAPED}, but the requested shape has 4", ""),
    ("tf.matmul(x, x)", "MatMul", "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]", " name: "),
    ("x + tf.ones([4, 3])", "AddV2", "Incompatible shapes: [2,3] vs. [4,3]", " name: "),
    ("tf.broadcast_to(x, [4, 3])", "BroadcastTo", "Incompatible shapes: [2,3] vs. [4,3]", ""),
    ("tf.constant([1, 2]) // 0", "FloorDiv", "Integer division by zero", " name: "),
    ("tf.linalg.inv(tf.zeros([2, 2]))", "MatrixInverse", "Input is not invertible.", " name: "),
    ("tf.linalg.det(x)", "MatrixDeterminant", "Input matrix must be square.", " name: "),
    ("tf.transpose(x, [0, 0])", "Transpose", "1 is missing from {0,0}.", ""),
    ("tf.slice(x, [0, 0], [3, 3])", "Slice", "Expected size[0] in [0, 2], but got 3", ""),
    ("tf.pad(x, [[1, 1]])", "Pad", "The first dimension of paddings must be the rank of inputs[1,2] [2,3]", ""),
    ("tf.tile(x, [2])", "Tile", "Expected multiples argument to be a vector of length 2 but got length 1", ""),
    ("tf.io.read_file('nope')", "ReadFile", "nope; No such file or directory", ""),
]


@pytest.mark.parametrize(("call", "op", "words", "end"), KERNELS, ids=[row[0] for row in KERNELS])
def test_an_ops_error_begins_with_tensorflows_words_and_ends_with_its_kernel(tf, call, op, words, end):
    """TensorFlow begins with the kernel, of which a terminal shows three lines before the sense."""
    with pytest.raises(tf.errors.OpError) as raised:
        eval(call, {"tf": tf, "x": tf.ones([2, 3])})
    place = "/job:localhost/replica:0/task:0/device:CPU:0"
    kernel = {"MatMul": "__MklMatMul"}.get(op, op)
    first, *_, last = str(raised.value).split("\n")
    assert first == f"{words} [Op:{op}]{end}"
    assert last == f"{{{{function_node __wrapped__{kernel}_device_{place}}}}}"


def test_in_a_function_no_kernel_is_named(tf):
    """TensorFlow names the node, which is in the user's code."""
    with pytest.raises(ValueError, match=r"\AMatrix size-incompatible: .*\[2,3\] \[Op:MatMul\]\nDimensions must be equal"):
        tf.function(lambda x: tf.matmul(x, x))(tf.ones([2, 3]))


def test_private_modules_that_tensorflow_does_not_have(tf):
    with pytest.raises(ModuleNotFoundError, match=r"TensorFlow 2.21 has no module tensorflow.python.nothing.there either"):
        private.refuse("tensorflow.python.nothing.there")
    with pytest.raises(ModuleNotFoundError, match=r"it is a name of tensorflow.python.ops.math_ops"):
        importlib.import_module("tensorflow.python.ops.math_ops.reduce_sum")


def test_what_the_table_is_amended_with_is_in_tensorflow():
    written = [line.split(" ")[0] for line in Path(private.__file__).with_name("private.txt").read_text("utf-8").splitlines()]
    assert written == sorted(set(written)) and len(written) > 1_300
    assert set(private.TWINS) | set(private.OWN) <= set(written)
    assert not [path for path in private.INSTEAD if path not in written and path.rpartition(".")[0] not in written]


def test_another_tensorflow_is_an_error(monkeypatch):
    other = ModuleType("tensorflow")
    other.__file__ = "/packages/tensorflow/__init__.py"
    monkeypatch.setitem(sys.modules, "tensorflow", other)
    with pytest.raises(ImportError, match=r"TensorFlow is loaded already, from '/packages/tensorflow/__init__.py'"):
        gradtape.as_tensorflow()


DRAWN = """
import numpy as np
keras.utils.set_random_seed(1)
x = np.arange(96, dtype="float32").reshape(2, 4, 4, 3)
for layer in (keras.layers.RandomRotation(0.1), keras.layers.RandomContrast(0.2)):
    print(round(float(layer(x, training=True)[1, 1, 1, 1]), 3), int(layer.generator.state[1]))
"""
STARTS = "import subprocess, sys\nsubprocess.run([sys.executable, {!r}], check=True)"


@pytest.mark.parametrize(
    "order, more, printed",
    [
        pytest.param("import keras, tensorflow as tf", "", "", id="keras first, in a process that the program starts"),
        pytest.param("import tensorflow as tf, keras", "", "", id="tensorflow first"),
        pytest.param(
            "import tensorflow as tf; keras = tf.keras", DRAWN, "62.785 1\n63.397 1\n", id="one name, and layers that draw"
        ),
    ],
)
def test_a_program_that_asks_keras_for_tensorflow_gets_gradtape(tmp_path, order, more, printed):
    """A layer that augments pictures draws from its own generator, with TensorFlow's numbers: Keras asks its public `backend()`
    whether that is of the backend that runs.
    """
    program, starts = tmp_path / "program.py", tmp_path / "starts.py"
    program.write_text(
        f"{LIGHT}\nimport os\nos.environ['KERAS_BACKEND'] = 'tensorflow'\n{order}\n"
        "print(keras.backend.backend(), keras.config.backend(), tf.keras.backend.backend())\n"
        f"print(isinstance(keras.ops.ones(2), tf.Tensor), tf.__version__)\n{more}"
    )
    starts.write_text(STARTS.format(str(program)))
    command = [sys.executable, "-m", "gradtape", "run", str(starts if order.startswith("import keras") else program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, f"tensorflow tensorflow tensorflow\nTrue 2.21.0\n{printed}"), done.stderr


def test_a_suite_runs_with_the_plugin(tmp_path):
    (tmp_path / "conftest.py").write_text("import tensorflow as tf\nVERSION = tf.__version__")
    (tmp_path / "test_suite.py").write_text(
        "from conftest import VERSION\nfrom tensorflow import Tensor\nimport gradtape\n"
        "def test_it():\n    assert (VERSION, Tensor) == ('2.21.0', gradtape.Tensor)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "gradtape.pytest", "-p", "no:cacheprovider", "--rootdir", ".", "."]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
