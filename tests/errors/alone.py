"""Advice that takes a process of its own: two devices, forks, the door of `import tensorflow`, NumPy's behaviour.

`python -m tests.errors.alone FOLDER` runs the rows in order, and writes what each program is told into `outcomes.json`.
"""

import json
import logging
import os
import sys
from pathlib import Path

from tests.light import leave_out

FORKED = """
import os
inside, outside = os.pipe()
writer = tf.summary.create_file_writer("before")
child = os.fork()
if not child:
    try:
        {}
    except BaseException as error:
        os.write(outside, str(error).encode())
    os._exit(0)
os.close(outside)
os.waitpid(child, 0)
with open(inside) as told:
    if said := told.read():
        raise RuntimeError(said)
"""
REPLICAS = 'strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])\n'
MESH = "from gradtape.experimental import dtensor\n"
# A device that keeps statistics of its memory, as a GPU does.
WITH_STATISTICS = """
from types import SimpleNamespace
from gradtape._src.core.settings import device_config
named, device_config._named = device_config._named, lambda name: SimpleNamespace(
    memory_stats=lambda: {"bytes_in_use": 4, "peak_bytes_in_use": 8}
)
try:
    $
finally:
    device_config._named = named
"""

ROWS = [
    (
        """
        tf.config.compile_early()
        for n in range(1, 102):
            float(tf.reduce_sum(tf.ones([n]) * 2.0))
        """,
        """
        for n in range(1, 102):
            float(tf.reduce_sum(tf.pad(tf.ones([n]), [[0, 128 - n]]) * 2.0))
        tf.config.log_compiles(False)
        """,
    ),
    (
        "from gradtape import optimizers\noptimizers.LevenbergMarquardt().for_keras()",
        """
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        model.compile(tf.optimizers.LevenbergMarquardt().for_keras(), "mse")
        model.fit(np.ones((2, 3)), np.ones((2, 1)), verbose=0)
        """,
    ),
    (
        """
        import sys, types
        sys.modules["tensorflow"] = types.ModuleType("tensorflow")
        try:
            tf.as_tensorflow()
        finally:
            del sys.modules["tensorflow"]
        """,
        """
        import gradtape
        gradtape.as_tensorflow()
        import tensorflow
        assert tensorflow.Tensor is tf.Tensor
        """,
    ),
    (
        "from tensorflow.python.eager.context import context\ncontext().nothing",
        "tf.executing_eagerly(), tf.config.list_logical_devices()",
    ),
    (
        "from tensorflow.python.framework.ops import SymbolicTensor\nSymbolicTensor(1, 2)",
        """
        from tensorflow.python.framework.ops import SymbolicTensor
        held = []
        tf.function(lambda x: held.append(isinstance(x, SymbolicTensor)))(x3)
        assert held == [True]
        """,
    ),
    (
        "from tensorflow.python.eager import context\ncontext.nothing",
        "tf.executing_eagerly(), tf.config.list_logical_devices()",
    ),
    (
        "from tensorflow.python.keras.backend import set_session",
        "tf.keras.backend.clear_session()",
    ),
    (
        "from tensorflow.python.keras.engine.data_adapter import DataHandler",
        """
        import math
        class Batches(tf.keras.utils.PyDataset):
            def __len__(self):
                return 2
            def __getitem__(self, index):
                return np.ones((2, 3)), np.ones((2, 1))
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        for data in (Batches(), tf.data.Dataset.from_tensors((np.ones((2, 3)), np.ones((2, 1))))):
            model.fit(data, verbose=0)
        model.fit(np.ones((2, 3)), np.ones((2, 1)), verbose=0)
        """,
    ),
    (
        "from tensorflow.python.ops.rnn_cell import BasicLSTMCell",
        "tf.keras.layers.RNN(tf.keras.layers.LSTMCell(2))(tf.ones([1, 3, 2]))",
    ),
    (
        FORKED.format("tf.sin(x3).numpy()"),
        """
        import multiprocessing
        multiprocessing.set_start_method("spawn")
        process = multiprocessing.Process(target=tf.ones, args=([2],))
        process.start()
        process.join()
        assert process.exitcode == 0
        """,
    ),
    (
        FORKED.format("writer.close()"),
        FORKED.format('tf.summary.create_file_writer("forked").close()'),
    ),
    (
        MESH + 'mesh = dtensor.create_mesh([("x", 2)], devices=["CPU:0", "CPU:2"])\n'
        'dtensor.pack([[1], [2]], dtensor.Layout(["x"], mesh))',
        MESH + 'mesh = dtensor.create_mesh([("x", 2)], devices=["CPU:0", "CPU:1"])  # by set_logical_device_configuration\n'
        'dtensor.pack([[1], [2]], dtensor.Layout(["x"], mesh))',
    ),
    (
        REPLICAS + "list(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4)))",
        REPLICAS + "global_batch_size, dataset = 4, tf.data.Dataset.range(4)\n"
        "list(strategy.experimental_distribute_dataset(dataset.batch(global_batch_size)))",
    ),
    (
        REPLICAS
        + """
@tf.function
def total():
    return tf.distribute.get_replica_context().merge_call(lambda strategy: tf.constant(1.0))
strategy.run(lambda: total())
        """,
        REPLICAS
        + """
def total():
    return tf.distribute.get_replica_context().merge_call(lambda strategy: tf.constant(1.0))
strategy.run(total)
tf.function(lambda: strategy.run(total))()
        """,
    ),
    (
        REPLICAS + "tf.square(strategy.run(lambda: tf.constant(1.0)))",
        REPLICAS + "x = strategy.run(lambda: tf.constant(1.0))\n"
        "strategy.run(tf.square, (x,))\n"
        "assert len(strategy.experimental_local_results(x)) == 2 and strategy.reduce('SUM', x, axis=None) == 2.0",
    ),
    (
        WITH_STATISTICS.replace("$", 'tf.config.experimental.reset_memory_stats("CPU:0")'),
        WITH_STATISTICS.replace("$", 'before = tf.config.experimental.get_memory_info("CPU:0")["peak"]') + "assert before == 8",
    ),
    (
        "tf.experimental.numpy.experimental_enable_numpy_behavior()\nx3[True]",
        "tf.where(True, x3, 0.0), x3[None][np.array([True])]",
    ),
]


def main(folder):
    """Run the rows on two devices."""
    leave_out()
    import gradtape as tf

    cpu, two = tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    from tests.errors.test_followed import Told, outcome

    told = Told()
    logging.getLogger("gradtape").addHandler(told)
    sys.path.insert(0, os.getcwd())
    os.chdir(folder)
    outcomes = [outcome(row, f"alone {number}", told) for number, row in enumerate(ROWS)]
    Path("outcomes.json").write_text(json.dumps(outcomes))


if __name__ == "__main__":
    main(sys.argv[1])
