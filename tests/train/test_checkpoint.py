"""`Checkpoint`: what is saved under which name, what is found again, and what is said where it is not."""

import collections
import copy
import json
import os

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf

Pair = collections.namedtuple("Pair", "first second")


class Dense(tf.Module):
    def __init__(self, rows, name=None):
        super().__init__(name)
        self.kernel = tf.Variable(np.full([rows, 2], float(rows), np.float32), name="kernel")
        self.bias = tf.Variable(tf.zeros([2]), name="bias", trainable=False)


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Dense(2), Dense(3)]
        self.table = {"a": tf.Variable(1), "b": Dense(1)}
        self.fixed = (tf.Variable(5.0),)
        self.pair = Pair(tf.Variable(6.0), None)
        self._hidden = tf.Variable(7.0)
        self.alias = self.layers[0]
        self.settings, self.sizes, self.function = {"rate": 0.1}, [2, 3], len


def checkpoint():
    return tf.train.Checkpoint(model=Net(), step=tf.Variable(3, dtype=tf.int64), losses=[tf.Variable(1.0), tf.Variable(2.0)])


def names(prefix):
    listed = [name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(prefix)]
    return [name for name in listed if name != "_CHECKPOINTABLE_OBJECT_GRAPH"]


def changed(ckpt):
    """The same objects with other values, to see what a restore brings back."""
    for variable in (*ckpt.model.variables, ckpt.step, *ckpt.losses):
        variable.assign(tf.ones_like(variable) * 42)
    return ckpt


def state(ckpt):
    return [np.asarray(v).tolist() for v in (*ckpt.model.variables, ckpt.step, *ckpt.losses)]


class TestSaving:
    def test_names_are_tensorflows(self, tmp_path):
        path = checkpoint().save(tmp_path / "ck")
        assert path == f"{tmp_path}/ck-1"
        assert names(path) == [
            "losses/0", "losses/1", "model/_hidden", "model/alias/bias", "model/alias/kernel", "model/fixed/0",
            "model/layers/1/bias", "model/layers/1/kernel", "model/pair/first", "model/table/a", "model/table/b/bias",
            "model/table/b/kernel", "save_counter", "step",
        ]  # fmt: skip
        assert dict(tf.train.list_variables(path))["model/layers/1/kernel/.ATTRIBUTES/VARIABLE_VALUE"] == [3, 2]
        assert tf.train.load_variable(path, "step/.ATTRIBUTES/VARIABLE_VALUE") == 3
        assert tf.train.load_variable(tmp_path, "model/layers/1/kernel").tolist() == [[3.0, 3.0]] * 3

    @pytest.mark.parametrize(
        "make, expected",
        [
            (lambda: tf.train.Checkpoint(Dense(1)), ["bias", "kernel"]),
            (lambda: tf.train.Checkpoint(Dense(1), extra=tf.Variable(1)), ["bias", "extra", "kernel"]),
            (lambda: tf.train.Checkpoint(root=[tf.Variable(1)]), ["0"]),
            (lambda: tf.train.Checkpoint(a=[tf.Variable(1), [tf.Variable(2)]]), ["a/0", "a/1/0"]),
            (lambda: tf.train.Checkpoint(b={"x": tf.Variable(3), "y": {"z": tf.Variable(2)}}), ["b/x", "b/y/z"]),
            (lambda: tf.train.Checkpoint(a=tf.train.Checkpoint(b=tf.Variable(1))), ["a/b"]),
            (lambda: tf.train.Checkpoint(d={"a/b": tf.Variable(1), "c.d": tf.Variable(2)}), ["d/a.Sb", "d/c..d"]),
            (lambda: (lambda v: tf.train.Checkpoint(b=v, a=v))(tf.Variable(1)), ["a"]),
            (lambda: tf.train.Checkpoint(), []),
        ],
    )
    def test_names_of(self, make, expected, tmp_path):
        assert names(make().write(tmp_path / "ck")) == expected

    def test_write_counts_nothing_and_save_counts(self, tmp_path):
        ckpt = tf.train.Checkpoint(v=tf.Variable(1.0))
        assert ckpt.write(tmp_path / "w") == str(tmp_path / "w")
        assert tf.train.latest_checkpoint(tmp_path) is None
        assert [ckpt.save(tmp_path / "ck") for _ in range(2)] == [f"{tmp_path}/ck-1", f"{tmp_path}/ck-2"]
        assert ckpt.save_counter.numpy() == 2 and ckpt.save_counter.dtype == tf.int64
        assert tf.train.latest_checkpoint(tmp_path) == f"{tmp_path}/ck-2"
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ck-1.safetensors", "ck-2.safetensors", "w.safetensors"]

    def test_options_and_new_checkpoints(self, tmp_path):
        ckpt, asked = tf.train.Checkpoint(v=tf.Variable(1.0)), []
        options = tf.train.CheckpointOptions()
        options.experimental_io_device = "/job:localhost"
        path = ckpt.save(tmp_path / "ck", options=options)
        new = tf.train.checkpoints_iterator(tmp_path, timeout=0, timeout_fn=lambda: asked.append(1) or len(asked) > 1)
        assert next(new) == path
        assert [next(new) for _ in [ckpt.save(tmp_path / "ck")]] == [f"{tmp_path}/ck-2"]
        assert list(new) == [] and len(asked) == 2

    def test_callbacks_are_called_for_a_complete_checkpoint(self, tmp_path):
        called = []
        options = tf.train.CheckpointOptions(
            experimental_write_callbacks=[lambda: called.append(len(os.listdir(tmp_path))), called.append]
        )
        ckpt = tf.train.Checkpoint(v=tf.Variable(1.0))
        path = ckpt.write(tmp_path / "w", options)
        manager = tf.train.CheckpointManager(ckpt, str(tmp_path / "m"), 3)
        assert called == [1, path] and [manager.save(options=options)] == called[3:]
        other = copy.copy(options)
        other.experimental_write_callbacks.clear()
        assert len(options.experimental_write_callbacks) == 2
        with pytest.raises(AssertionError, match="takes the path of the checkpoint, or nothing"):
            tf.train.CheckpointOptions(experimental_write_callbacks=[lambda path, more: None])

    def test_a_subclass_need_not_call_init(self, tmp_path):
        class Own(tf.train.Checkpoint):
            def __init__(self):
                self.v = tf.Variable(1.0)

        own = Own()
        path = own.save(tmp_path / "own")
        own.v.assign(5.0)
        own.restore(path).assert_consumed()
        assert own.v == 1.0 and own.save_counter == 1

    def test_a_string_tensor_is_a_path(self, tmp_path):
        ckpt = tf.train.Checkpoint(v=tf.Variable(1.0))
        assert ckpt.write(tf.constant(f"{tmp_path}/w")) == f"{tmp_path}/w"
        assert ckpt.save(tf.constant(f"{tmp_path}/s")) == f"{tmp_path}/s-1"
        in_function = tf.function(lambda path: ckpt.write(path))
        assert in_function(tf.constant(f"{tmp_path}/f")).numpy().decode() == f"{tmp_path}/f"
        assert sorted(path.stem for path in tmp_path.glob("*.safetensors")) == ["f", "s-1", "w"]

    def test_makes_folders(self, tmp_path):
        tf.train.Checkpoint(v=tf.Variable(1.0)).save(tmp_path / "new" / "folder" / "ck")
        assert tf.train.latest_checkpoint(tmp_path / "new" / "folder") == f"{tmp_path}/new/folder/ck-1"
        assert tf.train.latest_checkpoint(tmp_path / "none") is None

    def test_a_module_that_holds_itself(self, tmp_path):
        module = Dense(1)
        module.itself, module.children = module, [module]
        assert names(tf.train.Checkpoint(module=module).write(tmp_path / "ck")) == ["module/bias", "module/kernel"]


class TestRestoring:
    def test_gives_everything_back(self, tmp_path):
        saved = checkpoint()
        path = saved.save(tmp_path / "ck")
        other = changed(checkpoint())
        status = other.restore(path)
        assert state(other) == state(saved)
        assert other.save_counter.numpy() == 1
        for assertion in ("assert_consumed", "assert_existing_objects_matched", "assert_nontrivial_match", "expect_partial"):
            assert getattr(status, assertion)() is status

    VALUES = {
        "float16": np.array([1.5, -0.0, np.inf], np.float16),
        "bfloat16": np.array([1.5, np.nan], ml_dtypes.bfloat16),
        "float64": np.array([[1e300]]),
        "complex64": np.array(1 + 2j, np.complex64),
        "complex128": np.array([[1 + 2j], [3j]]),
        "empty complex": np.zeros((0, 2), np.complex128),
        "bool": np.array([True, False]),
        "int8": np.array(-3, np.int8),
        "uint64": np.array([2**64 - 1], np.uint64),
        "float32, empty": np.zeros((0, 3), np.float32),
        "float32, scalar": np.array(np.float32(0.1)),
        "string": np.array([b"a", b"\xff\x00", b""], object),
        "string, scalar": np.array(b"abc", object),
    }

    @pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
    def test_every_dtype_to_the_bit(self, value, tmp_path):
        path = tf.train.Checkpoint(v=tf.Variable(value)).write(tmp_path / "ck")
        other = tf.Variable(np.zeros_like(value) if value.dtype != object else np.full_like(value, b""))
        tf.train.Checkpoint(v=other).read(path).assert_consumed()
        for result in (other.__array__(), np.asarray(tf.train.load_variable(path, "v"), value.dtype)):
            assert (result.dtype, result.shape) == (value.dtype, value.shape)
            if value.dtype == object:
                assert result.tolist() == value.tolist()
            else:
                assert result.tobytes() == value.tobytes()

    def test_a_shared_variable_is_found_by_either_name(self, tmp_path):
        path = tf.train.Checkpoint(model=Net()).write(tmp_path / "ck")  # layers/0 is saved as alias
        layer = Dense(2)
        layer.kernel.assign(tf.zeros([2, 2]))
        status = tf.train.Checkpoint(model=tf.train.Checkpoint(layers=[layer])).read(path)
        assert layer.kernel.numpy().tolist() == [[2.0, 2.0]] * 2
        status.assert_existing_objects_matched()

    def test_a_part(self, tmp_path):
        path = checkpoint().save(tmp_path / "ck")
        step = tf.Variable(0, dtype=tf.int64)
        status = tf.train.Checkpoint(step=step).restore(path)
        assert step.numpy() == 3
        status.assert_existing_objects_matched().assert_nontrivial_match().expect_partial()
        with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint .*ck-1.*model/_hidden.* more\. Nothing"):
            status.assert_consumed()

    def test_an_object_that_the_checkpoint_does_not_have(self, tmp_path):
        path = checkpoint().save(tmp_path / "ck")
        status = tf.train.Checkpoint(other=tf.Variable(0.0, name="mine")).restore(path)
        with pytest.raises(AssertionError, match=r"Found 1 Python objects .*\(root\)\.other <tf\.Variable 'mine"):
            status.assert_existing_objects_matched()
        with pytest.raises(AssertionError, match="Found 1 Python objects"):  # that comes first, as in TensorFlow
            status.assert_consumed()
        status.assert_nontrivial_match()  # the counter was found, as in TensorFlow

    def test_nothing_matches(self, tmp_path):
        path = tf.train.Checkpoint(a=tf.Variable(1.0)).write(tmp_path / "ck")
        with pytest.raises(AssertionError, match=r"Nothing except the root object matched a checkpointed value.* has a"):
            tf.train.Checkpoint(b=tf.Variable(1.0)).read(path).assert_nontrivial_match()

    def test_what_was_written_without_a_counter(self, tmp_path):
        path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "ck")
        ckpt = tf.train.Checkpoint(v=tf.Variable(5.0))
        with pytest.raises(AssertionError, match="save_counter"):
            ckpt.restore(path).assert_consumed()  # `read` is for what `write` wrote
        assert ckpt.v.numpy() == 1.0
        tf.train.Checkpoint(v=tf.Variable(5.0)).read(path).assert_consumed()

    def test_no_checkpoint(self):
        status = tf.train.Checkpoint(v=tf.Variable(1.0)).restore(None)
        assert status.expect_partial() is status
        for assertion in (status.assert_consumed, status.assert_existing_objects_matched, status.assert_nontrivial_match):
            with pytest.raises(AssertionError, match="No checkpoint specified"):
                assertion()


class TestAttributesThatComeLater:
    def test_are_restored_when_they_are_set(self, tmp_path):
        path = checkpoint().save(tmp_path / "ck")
        ckpt = tf.train.Checkpoint(model=tf.Module())
        status = ckpt.restore(path)
        ckpt.step = tf.Variable(0, dtype=tf.int64)
        assert ckpt.step.numpy() == 3
        layers = [Dense(2), Dense(3)]
        layers[1].kernel.assign(tf.zeros([3, 2]))
        ckpt.model.layers = layers
        assert layers[1].kernel.numpy().tolist() == [[3.0, 3.0]] * 3
        with pytest.raises(AssertionError, match="Unresolved object"):
            status.assert_consumed()
        later = Net()
        for name in ("table", "fixed", "pair", "_hidden"):
            setattr(ckpt.model, name, getattr(later, name))
        ckpt.losses = [tf.Variable(0.0), tf.Variable(0.0)]
        status.assert_consumed()

    def test_are_restored_once(self, tmp_path):
        path = checkpoint().save(tmp_path / "ck")
        ckpt = tf.train.Checkpoint()
        ckpt.restore(path)
        step = tf.Variable(0, dtype=tf.int64)
        ckpt.step = step
        step.assign(9)
        ckpt.step = step
        assert step.numpy() == 9

    def test_another_object_of_the_name_is_another(self, tmp_path):
        path = tf.train.Checkpoint(a=tf.Variable(1.0), b=[tf.Variable(2.0), tf.Variable(3.0)]).write(tmp_path / "ck")
        ckpt = tf.train.Checkpoint(a=tf.Variable(0.0), b=[tf.Variable(0.0)])
        status = ckpt.read(path)
        ckpt.a, ckpt.b = tf.Variable(7.0), [ckpt.b[0], tf.Variable(0.0)]  # a list gets what it lacked
        assert (ckpt.a.numpy(), [v.numpy() for v in ckpt.b]) == (7.0, [2.0, 3.0])
        with pytest.raises(AssertionError, match=r"\(root\)\.a"):
            status.assert_existing_objects_matched()

    def test_of_a_root_that_is_built_later(self, tmp_path):
        path = tf.train.Checkpoint(Dense(1)).write(tmp_path / "ck")
        root = tf.Module()
        status = tf.train.Checkpoint(root).read(path)

        @tf.function
        def built(x):
            if not hasattr(root, "kernel"):
                root.kernel, root.bias = tf.Variable(tf.zeros([1, 2])), tf.Variable(tf.ones([2]))
            return x * root.kernel + root.bias

        assert [built(tf.constant(x)).numpy().tolist() for x in (2.0, 3.0)] == [[[2.0, 2.0]], [[3.0, 3.0]]]
        status.assert_consumed()

    def test_must_fit(self, tmp_path):
        path = checkpoint().save(tmp_path / "ck")
        ckpt = tf.train.Checkpoint()
        ckpt.restore(path)
        with pytest.raises(ValueError, match=r"shape \(\) when attempting to restore variable with shape \(2,\)"):
            ckpt.step = tf.Variable([0, 1], dtype=tf.int64)
        ckpt.other = tf.Variable(0.0)  # not in the checkpoint
        ckpt.number = 3  # not a thing to restore


class TestNothingChangesWhere:
    @pytest.mark.parametrize(
        "other, error, message",
        [
            (lambda: tf.Variable([0, 1], dtype=tf.int64), ValueError,
             r"tensor with shape \(\) when attempting to restore variable with shape \(2,\) and name Variable:0 \(b\)"),
            (lambda: tf.Variable(0.0), tf.errors.InvalidArgumentError,
             "tensor_name = b; expected dtype float does not equal original dtype int64"),
        ],
    )  # fmt: skip
    def test_one_does_not_fit(self, other, error, message, tmp_path):
        path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2, dtype=tf.int64), c=tf.Variable(3.0)).write(
            tmp_path / "ck"
        )
        ckpt = tf.train.Checkpoint(a=tf.Variable(7.0), b=other(), c=tf.Variable(8.0))
        before = ckpt.b.numpy()
        for restore in (ckpt.read, ckpt.restore):
            with pytest.raises(error, match=message):
                restore(path)
            assert (ckpt.a.numpy(), ckpt.c.numpy()) == (7.0, 8.0)
            np.testing.assert_array_equal(ckpt.b.numpy(), before)

    def test_all_that_do_not_fit_are_named(self, tmp_path):
        path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable([1]), c=tf.Variable(3.0)).write(tmp_path / "ck")
        ckpt = tf.train.Checkpoint(a=tf.Variable([1.0]), b=tf.Variable([1.0]), c=tf.Variable(9.0))
        with pytest.raises(ValueError, match=r"(?s)\(a\).*tensor_name = b.*No variable was changed\. The checkpoint is .*ck"):
            ckpt.read(path)
        assert ckpt.c.numpy() == 9.0

    def test_an_assignment_fails(self, tmp_path, monkeypatch):
        path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(tmp_path / "ck")
        ckpt = tf.train.Checkpoint(a=tf.Variable(7.0), b=tf.Variable(8.0))
        assign = tf.Variable.assign

        def failing(self, value, *rest):
            if self is ckpt.b:
                raise MemoryError("no room")
            return assign(self, value, *rest)

        monkeypatch.setattr(tf.Variable, "assign", failing)
        with pytest.raises(MemoryError, match="no room"):
            ckpt.read(path)
        assert (ckpt.a.numpy(), ckpt.b.numpy()) == (7.0, 8.0)

    def test_a_variable_of_open_shape_takes_others(self, tmp_path):
        path = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0, 3.0])).write(tmp_path / "ck")
        variable = tf.Variable([0.0], shape=[None])
        tf.train.Checkpoint(a=variable).read(path).assert_consumed()
        assert variable.numpy().tolist() == [1.0, 2.0, 3.0]


class Optimizer:
    """Something that is no Module and has `variables`, as Keras's objects have, some of them wrapped."""

    class Wrapped:
        def __init__(self, variable):
            self.value = variable

        def assign(self, value):
            self.value.assign(value)

    def __init__(self, *values):
        self.variables = [self.Wrapped(tf.Variable(values[0])), *[tf.Variable(value) for value in values[1:]]]

    variables = None


def test_what_has_variables(tmp_path):
    path = tf.train.Checkpoint(optimizer=Optimizer(1.0, 2)).write(tmp_path / "ck")
    assert names(path) == ["optimizer/variables/0", "optimizer/variables/1"]
    other = Optimizer(0.0, 0)
    tf.train.Checkpoint(optimizer=other).read(path).assert_consumed()
    assert (other.variables[0].value.numpy(), other.variables[1].numpy()) == (1.0, 2)


@pytest.mark.parametrize("value", [3, tf.constant(3), object(), None, Optimizer])
def test_what_cannot_be_tracked(value):
    with pytest.raises(ValueError, match=r"`Checkpoint` was expecting thing to be a trackable object .*, got "):
        tf.train.Checkpoint(thing=value)


def test_root_and_keywords_contradict():
    with pytest.raises(ValueError, match="two objects called 'kernel'"):
        tf.train.Checkpoint(Dense(1), kernel=tf.Variable(1))


def test_reading_without_objects(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable([1, 2])).write(tmp_path / "ck")
    reader = tf.train.load_checkpoint(path)
    name = "a/.ATTRIBUTES/VARIABLE_VALUE"
    graph = "_CHECKPOINTABLE_OBJECT_GRAPH"
    assert reader.get_variable_to_shape_map() == {graph: [], name: [2]}
    assert reader.get_variable_to_dtype_map() == {graph: tf.string, name: tf.int32}
    assert reader.has_tensor(graph) and json.loads(reader.get_tensor(graph))[0]["children"] == {"a": 1}
    assert reader.has_tensor(name) and reader.has_tensor("a") and not reader.has_tensor("b")
    with pytest.raises(tf.errors.NotFoundError, match=r"Key b not found in checkpoint\n.* has a\."):
        reader.get_tensor("b")
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file or checkpoints in given directory"):
        tf.train.list_variables(tmp_path)


def test_training_goes_on_as_if_it_had_not_stopped(tmp_path):
    def step(weight, momentum):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight - 3.0) ** 2)
        momentum.assign(0.9 * momentum + tape.gradient(loss, weight))
        weight.assign_sub(0.05 * momentum)

    ckpt = tf.train.Checkpoint(weight=tf.Variable([0.0, 1.0]), momentum=tf.Variable([0.0, 0.0]))
    for _ in range(3):
        step(ckpt.weight, ckpt.momentum)
    path = ckpt.save(tmp_path / "ck")  # runs what is pending
    for _ in range(3):
        step(ckpt.weight, ckpt.momentum)
    other = tf.train.Checkpoint(weight=tf.Variable([9.0, 9.0]), momentum=tf.Variable([9.0, 9.0]))
    other.restore(path).assert_consumed()
    for _ in range(3):
        step(other.weight, other.momentum)
    assert other.weight.numpy().tolist() == ckpt.weight.numpy().tolist()
