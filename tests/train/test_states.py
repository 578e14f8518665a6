"""All that has a state is in a checkpoint, in each format, or `save` says in the log that it is not."""

import ast
import inspect
import textwrap
import types

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras
from gradtape._src.core.base import hooks
from gradtape._src.core.declarations.module import Trackable
from gradtape._src.core.tensors.variable import Variable

T = tf.lookup.experimental
RANGE = tf.data.Dataset.range
INT64 = tf.int64


class Count(tf.train.experimental.PythonState):
    number = 0

    def serialize(self):
        return str(self.number)

    def deserialize(self, string_value):
        assert type(string_value) is bytes
        self.number = int(string_value)


def strings(text_count):
    table = T.MutableHashTable(tf.string, INT64, -1)
    if text_count:
        table.insert([chr(97 + i) for i in range(text_count)], range(text_count))
    return table


def dense(filled):
    table = T.DenseHashTable(INT64, tf.float32, [0.0, 0.0], -1, -2)
    if filled:
        table.insert([5, 13, 21, -8], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
        table.remove([13])
    return table


def dense_strings(filled):
    table = T.DenseHashTable(tf.string, INT64, -1, "", "gone")
    if filled:
        table.insert(list("abcdefg"), range(7))
    return table


def count(number):
    made = Count()
    made.number = number
    return made


def counts_of_a_layer(adapted):
    layer = keras.layers.StringLookup()
    if adapted:
        layer.token_counts.insert(["x"], [4])
    return layer


def numpy_items(given):
    iterator = RANGE(5).shuffle(3, seed=1).as_numpy_iterator()
    for _ in range(given):
        next(iterator)
    return iterator


def distributed(given):
    iterator = iter(tf.distribute.OneDeviceStrategy("CPU:0").experimental_distribute_dataset(RANGE(5)))
    for _ in range(given):
        next(iterator)
    return iterator


def sizes(table, keys):
    return int(table.size()), table.lookup(tf.constant(keys, table.key_dtype)).numpy().tolist()


# what has a state: made with one, and asked for it; the endings of its keys
STATES = {
    "strings": (strings, lambda t: sizes(t, ["a", "b", "z"]), ["table-keys", "table-values"]),
    "no pairs": (lambda n: strings(0), lambda t: sizes(t, ["a"]), ["table-keys", "table-values"]),
    "dense": (dense, lambda t: sizes(t, [5, 13, 21, -8, 9]), ["table-keys", "table-values"]),
    "dense strings": (dense_strings, lambda t: sizes(t, list("agz")), ["table-keys", "table-values"]),
    "of Python": (count, lambda c: c.number, ["py_state"]),
    "iterator of NumPy": (numpy_items, lambda i: [int(x) for x in i], ["_STATE"]),
    "distributed iterator": (distributed, lambda i: [int(x) for x in i], ["ITERATOR_STATE"]),
    "layer": (counts_of_a_layer, lambda layer: sizes(layer.token_counts, ["x"]), ["table-keys", "table-values"]),
}


@pytest.mark.parametrize("as_tensorflow", [False, True])
@pytest.mark.parametrize("name", STATES)
def test_state_is_saved_and_comes_back(name, as_tensorflow, tmp_path):
    make, ask, endings = STATES[name]
    with hooks.filled(hooks.door, is_open=as_tensorflow):
        path = tf.train.Checkpoint(module=held(make(2))).save(tmp_path / "ckpt")
        assert sorted(key.rpartition("/.ATTRIBUTES/")[2] for key, _ in tf.train.list_variables(path) if "state" in key) == endings
        back = held(make(0))
        tf.train.Checkpoint(module=back).restore(path).assert_consumed()
    assert ask(back.state[0]) == ask(make(2))


def held(state):
    module = tf.Module()
    module.state = [state]
    return module


def test_a_table_is_restored_when_it_comes_later(tmp_path):
    path = tf.train.Checkpoint(module=held(strings(2))).write(tmp_path / "ckpt")
    module = tf.Module()
    tf.train.Checkpoint(module=module).read(path)
    module.state = [strings(0)]
    assert sizes(module.state[0], ["a", "b"]) == (2, [0, 1])


@pytest.mark.parametrize(
    "other",
    [
        lambda: T.MutableHashTable(INT64, INT64, 0),
        lambda: T.MutableHashTable(tf.string, tf.float32, 0.0),
        lambda: T.MutableHashTable(tf.string, INT64, [0, 0]),
    ],
)
def test_a_table_of_other_dtypes_changes_nothing(other, tmp_path):
    path = tf.train.Checkpoint(step=tf.Variable(1), table=strings(2)).write(tmp_path / "ckpt")
    step, table = tf.Variable(7), other()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cannot be restored: it has keys of .* has keys object\[2\]"):
        tf.train.Checkpoint(step=step, table=table).read(path)
    assert int(step) == 7 and int(table.size()) == 0


@pytest.mark.parametrize("make", [lambda: RANGE(3), lambda: tf.lookup.StaticHashTable(PAIRS, 0)])
def test_what_has_nothing_to_save_may_hang_on_a_checkpoint(make, tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1), other=make()).write(tmp_path / "ckpt")
    tf.train.Checkpoint(v=tf.Variable(0), other=make()).read(path).assert_consumed()


PAIRS = tf.lookup.KeyValueTensorInitializer(["a"], [1])


def test_states_in_a_saved_model(tmp_path):
    module = held(strings(2))
    tf.saved_model.save(module, tmp_path / "first")
    tf.saved_model.save(tf.saved_model.load(tmp_path / "first"), tmp_path / "second")
    state = tf.saved_model.load(tmp_path / "second").state[0].saved_state()
    assert state["-keys"].tolist() == [b"a", b"b"] and state["-values"].tolist() == [0, 1]


class Helper:
    def __init__(self, *held):
        self.held = {"inside": [*held]}


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (lambda: Helper(tf.Variable(1)), "a Helper, which holds 1 tf.Variable."),
        (lambda: Helper(Helper(strings(1))), "a Helper, which holds 1 MutableHashTable."),
        (lambda: keras.random.SeedGenerator(1), "a SeedGenerator, which holds 1 tf.Variable."),
    ],
)
def test_the_log_says_what_is_left_out(held, kind, tmp_path, caplog):
    module = tf.Module()
    module.extra = held()
    checkpoint = tf.train.Checkpoint(**{f"left_{len(kind)}": module})
    checkpoint.save(tmp_path / "ckpt")
    checkpoint.save(tmp_path / "ckpt")
    (record,) = caplog.records
    assert f"leaves out left_{len(kind)}/extra: {kind}" in record.getMessage()


def test_the_log_says_nothing_of_what_is_saved_elsewhere(tmp_path, caplog):
    module = tf.Module()
    module.v, module.tensor, module.number, module.function = tf.Variable(1), tf.ones(2), 3, lambda: module.v
    module.helper, module.strategy = Helper(module.v, np.ones(2)), tf.distribute.get_strategy()
    tf.train.Checkpoint(kept=module).save(tmp_path / "ckpt")
    assert not caplog.records


# public classes that change and that no checkpoint has: TensorFlow's have none either
NOT_SAVED = {
    "a value": "Tensor TensorArray",
    "lives as long as its `with`": """
        GradientTape VariableScope InteractiveSession Session MonitoredSession SingularMonitoredSession
    """,
    "says what is to be done": """
        Graph GradientHook ProfileOptionBuilder ConcreteFunction Function Scaffold ConfigProto GPUOptions GraphOptions
        OptimizerOptions RunMetadata RunOptions
    """,
    "a file": "GFile TFRecordWriter FileWriter SummaryWriter Saver CheckpointManager",
    "of one run of a session": """
        CheckpointSaverHook Coordinator FinalOpsHook LoggingTensorHook SecondOrStepTimer SessionRunContext StepCounterHook
        StopAtStepHook SummarySaverHook
    """,
}


def public_classes(module, seen):
    seen.add(module)
    for name in dir(module):
        value = None if name.startswith("_") else getattr(module, name, None)
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("gradtape") and "keras" not in value.__name__ and value not in seen:
                yield from public_classes(value, seen)
        elif isinstance(value, type) and value.__module__.startswith("gradtape._src"):
            yield value


ONCE = ("__init", "__enter", "__exit", "__set", "<")  # how names of methods begin that are no change of a state


def assigns_later(kind):
    """Return whether a method other than the constructor assigns an attribute of the object."""
    methods = [inspect.unwrap(f) for base in kind.__mro__ for f in vars(base).values() if inspect.isfunction(f)]
    return any(
        isinstance(assigned, ast.Name) and (assigned.id,) == method.__code__.co_varnames[:1]
        for method in methods
        if method.__code__.co_filename.endswith(".py") and not method.__name__.startswith(ONCE)
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(method))))
        for assigned in objects_assigned(node)
    )


def objects_assigned(node):
    """Return the expression of the object whose attribute a node assigns, in a list."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return [node.value]
    return [node.args[0]] if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr" else []


def test_no_class_with_a_state_is_forgotten():
    told = {name for names in NOT_SAVED.values() for name in names.split()}
    kinds = {kind for kind in public_classes(tf, set()) if not issubclass(kind, Trackable | Variable | BaseException)}
    assert {kind.__name__ for kind in kinds if assigns_later(kind)} == told
