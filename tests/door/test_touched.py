"""Private names of TensorFlow that several libraries touch, and Keras 2's optimizer, do what they do in TensorFlow."""

import inspect
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.compat.door import context, jacobians, keras2, monitoring
from gradtape._src.compat.door.own import OWN
from gradtape._src.compat.door.private import public_object

Y = np.array([[3.0, 2.0], [0.0, 27.0], [1.0, 0.0]])
BATCHES = [[[14.0, 42.0], [40.0, 80.0]], [[30.0, 90.0], [88.0, 176.0]]]


def private(path, name):
    return OWN[f"python.{path}"][name]


@pytest.fixture
def registry():
    entries = private("framework.ops", "_gradient_registry")._registry
    own = entries["Relu"]["type"]
    yield entries
    entries["Relu"] = {"type": own}


def relu_gradient():
    x = tf.constant([1.0, -2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.relu(x) * 3.0
    return tape.gradient(y, x)


def test_a_gradient_that_is_put_into_the_registry_is_the_gradient_until_the_former_is_put_back(registry):
    own = registry["Relu"]["type"]
    assert relu_gradient().numpy().tolist() == [3, 0]
    registry["Relu"]["type"] = lambda op, dy: own(op, dy) + dy * op.outputs[0]
    assert relu_gradient().numpy().tolist() == [6, 0] == tf.function(relu_gradient)().numpy().tolist()
    registry["Relu"]["type"] = None
    assert relu_gradient() is None
    del registry["Relu"]
    with pytest.raises(LookupError, match="gradient registry has no entry for: Relu"):
        relu_gradient()
    registry["Relu"] = {"type": own, "location": "here"}
    assert registry["Relu"]["type"] is own and relu_gradient().numpy().tolist() == [3, 0]


def test_the_registry_is_a_view_of_all_names(registry):
    assert "Relu" in registry and "Nothing" not in registry and "TensorListReserve" not in registry
    assert len(registry) == len(list(registry)) > 300 and "location" in registry["Relu"]
    with pytest.raises(KeyError, match="Nothing"):
        registry["Nothing"]
    with pytest.raises(LookupError, match="gradient registry has no entry for: Nothing"):
        private("framework.ops", "_gradient_registry").lookup("Nothing")
    registry["Nothing"] = {"type": lambda op, dy: dy * 5.0, "location": "here"}
    try:
        with tf.gradient_override_map({"Relu": "Nothing"}):
            assert relu_gradient().numpy().tolist() == [15, 15]
        with pytest.raises(KeyError, match="Registering two gradient with name 'Nothing'"):
            tf.RegisterGradient("Nothing")(lambda op, dy: dy)
    finally:
        del registry["Nothing"]
    assert "Nothing" not in registry


@pytest.mark.parametrize("at_once", [True, False])
def test_jacobians_of_tensors_of_a_function(at_once):
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def of(x):
        y = tf.stack([x[0] * x[1], x[1] ** 3, x[0]])
        column = x[:, None]
        batches = jacobians.batch_jacobian(column**2, column, at_once)
        return jacobians.jacobian(y, [x, tf.constant(1.0)], at_once), batches

    (rows, unrelated), batches = of(tf.constant([2.0, 3.0]))
    np.testing.assert_allclose(rows, Y)
    np.testing.assert_allclose(batches, [[[4.0]], [[6.0]]])
    assert unrelated is None


def test_jacobians_of_tensors_of_a_graph():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None, 2])
        y = tf.matmul(x, [[1.0, 2.0], [3.0, 4.0]]) ** 2
        full, rows = jacobians.jacobian(y, x), jacobians.batch_jacobian(y, x)
        assert full.shape.as_list() == [None, 2, None, 2] and rows.shape.as_list() == [None, 2, 2]
        full, rows = session.run([full, rows], {x: [[1.0, 2.0], [3.0, 4.0]]})
    np.testing.assert_allclose(rows, BATCHES)
    np.testing.assert_allclose(full[[0, 1], :, [0, 1]], BATCHES)
    assert not full[0, :, 1].any() and not full[1, :, 0].any()
    with pytest.raises(ValueError, match=r"Need first dimension of `output` shape \(\(2, 1\)\) and `inp` shape \(\(3, 1\)\)"):
        jacobians.batch_jacobian(tf.zeros([2, 1]), tf.zeros([3, 1]))


def test_the_context_knows_the_seed_and_the_mode():
    tf.random.set_seed(5)
    try:
        with tf.Graph().as_default() as graph:
            tf.compat.v1.set_random_seed(7)
            assert context.global_seed() == 5 and not context.in_eager_mode()
            assert public_object("python.keras.backend", "get_graph")() is graph
        assert context.in_eager_mode() and context.async_wait() is None
    finally:
        private("eager.context", "_reset_context")()
    assert context.global_seed() is None


def test_determinism_is_taken_back():
    enabled = private("framework.config", "is_op_determinism_enabled")
    assert not enabled()
    tf.config.experimental.enable_op_determinism()
    assert enabled()
    private("framework.config", "disable_op_determinism")()
    assert not enabled() and tf.random.uniform([2]).shape == [2]


def test_what_types_core_calls_a_tensor_can_be_derived_from_beside_a_variable():
    kind = private("types.core", "Tensor")
    values = tf.constant(1.0), tf.Variable(1.0), tf.ragged.constant([[1]]), np.ones(2)
    assert [isinstance(value, kind) for value in values] == [True, True, False, False] and issubclass(tf.Tensor, kind)

    class Mine(tf.Variable, kind):
        pass

    assert isinstance(Mine(2.0), kind) and Mine(2.0).numpy() == 2


def test_targets_and_weights_get_the_rank_and_dtype_of_predictions():
    match = private("keras.engine.compile_utils", "match_dtype_and_rank")
    y, _, w = match(tf.constant([1, 2]), tf.constant([[1.0], [2.0]]), tf.constant([1.0, 2.0], tf.float64))
    assert (y.shape, y.dtype, w.shape, w.dtype) == ([2, 1], tf.int32, [2, 1], tf.float32)
    y, p, w = match(tf.constant([[1.0], [2.0]], tf.float64), tf.constant([1.0, 2.0]), None)
    assert (y.shape, y.dtype, p.shape, w) == ([2, 1], tf.float32, [2], None)
    rows = private("keras.engine.data_adapter", "expand_1d")((tf.zeros([3]), {"a": tf.zeros([2, 2]), "b": 1}))
    assert rows[0].shape == [3, 1] and rows[1]["a"].shape == [2, 2] and rows[1]["b"] == 1


@pytest.mark.parametrize(("zero_debias", "expected"), [(False, 1.2), (True, 3.0)])
def test_a_moving_average_is_moved(zero_debias, expected):
    move, v = private("training.moving_averages", "assign_moving_average"), tf.Variable(1.0)
    assert move(v, 3.0, 0.9, zero_debias=zero_debias).numpy() == pytest.approx(expected) == v.numpy()


def test_metrics_of_calls():
    gauge, counter = monitoring.BoolGauge("/a", "whether", "label"), monitoring.Counter("/b", "how many")
    assert gauge.get_cell("x").value() is False and monitoring.StringGauge("/c", "what").get_cell().value() == ""
    gauge.get_cell("x").set(True)
    counter.get_cell().increase_by(2)
    assert gauge.get_cell("x").value() and counter.get_cell().value() == 2
    with pytest.raises(ValueError, match="expects taking 1 labels, received 0"):
        gauge.get_cell()


def test_files_and_specs(tmp_path):
    here = private("platform.resource_loader", "get_path_to_datafile")("a.txt")
    assert here == str(Path(inspect.getfile(test_files_and_specs)).with_name("a.txt"))
    write = private("lib.io.file_io", "atomic_write_string_to_file")
    write(str(tmp_path / "a"), "text")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["text"]
    with pytest.raises(tf.errors.AlreadyExistsError, match="a"):
        write(str(tmp_path / "a"), "other", overwrite=False)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["text"]
    specs = {"a": (tf.TensorSpec([None, 2]), tf.TensorSpec([], tf.int64))}
    coder = OWN["python.saved_model.nested_structure_coder"]
    assert coder["decode_proto"](coder["encode_structure"](specs)) == specs
    assert private("tpu.tpu_function", "get_tpu_context")().number_of_shards is None


@pytest.fixture(scope="module")
def optimizers():
    package = ModuleType("tf_keras.optimizers")
    keras2.fill(package)
    return package


def test_an_optimizer_of_ones_own_is_written_as_for_keras_2(optimizers):
    class Momentum(optimizers.Optimizer):
        def __init__(self, learning_rate=0.1, momentum=0.9, name="Momentum", **kwargs):
            super().__init__(name, **kwargs)
            self._learning_rate = self._build_learning_rate(learning_rate)
            self.momentum = momentum

        def build(self, var_list):
            super().build(var_list)
            if not getattr(self, "_built", False):
                self._built = True
                self.momentums = [self.add_variable_from_reference(model_variable=v, variable_name="m") for v in var_list]

        def update_step(self, gradient, variable):
            m = self.momentums[self._index_dict[self._var_key(variable)]]
            m.assign(m * self.momentum - gradient * tf.cast(self.learning_rate, variable.dtype))
            variable.assign_add(m)

        def get_config(self):
            return super().get_config() | {"learning_rate": float(self.learning_rate), "momentum": self.momentum}

    optimizer, v, w = Momentum(clipnorm=1.0), tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v) + w * w
        optimizer.apply_gradients(zip(tape.gradient(loss, [v, w]), [v, w], strict=True))
    np.testing.assert_allclose(v, [0.74911314, 1.4982263], rtol=1e-6)
    np.testing.assert_allclose(w, 2.4390001, rtol=1e-6)
    copied = Momentum.from_config(Momentum(0.2, 0.5).get_config())
    assert (float(copied.learning_rate), copied.momentum, copied.name) == (pytest.approx(0.2), 0.5, "Momentum")
    decayed, v = Momentum(optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)), tf.Variable([1.0, 2.0])
    for _ in range(3):
        decayed.minimize(lambda: tf.reduce_sum(v * v), [v])
    np.testing.assert_allclose(v, [0.27900004, 0.5580001], rtol=1e-6)
    with pytest.raises(ValueError, match="`tape` is required when a `Tensor` loss is passed"):
        decayed.minimize(tf.constant(1.0), [v])
    assert isinstance(optimizers.Adam(), optimizers.Optimizer) and issubclass(optimizers.Adam, optimizers.Optimizer)
    assert isinstance(decayed, Momentum) and not isinstance(optimizers.Adam(), Momentum)
