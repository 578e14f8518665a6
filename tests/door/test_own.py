"""Names of TensorFlow's private modules that have no public name, as libraries use them; and the package of Keras 2."""

import gc
import importlib
import inspect
import logging
from types import ModuleType

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.compat.door import backprop, context, deprecation, keras2, private as paths, record
from gradtape._src.compat.door.own import OWN


def private(path, name):
    return OWN[f"python.{path}"][name]


def test_a_deprecated_function_warns_once(caplog):
    @deprecation.deprecated("2030-01-01", "Use that.")
    def this(x):
        return x + 1

    with caplog.at_level(logging.WARNING, "gradtape"):
        assert (this(1), this(2)) == (2, 3)
    assert len(caplog.records) == 1 and "will be removed after 2030-01-01" in caplog.text and "Use that." in caplog.text


def test_deprecated_arguments_and_names(caplog):
    @deprecation.deprecated_args(None, "No more.", "old", ("mode", None))
    @deprecation.deprecated_arg_values(None, "No more.", flag=True)
    def call(x, old=None, mode=None, flag=False):
        return x

    alias = deprecation.deprecated_alias("former", "call", call)
    with caplog.at_level(logging.WARNING, "gradtape"):
        assert call(1, mode=None, flag=False) == 1 and not caplog.records
        with deprecation.silence():
            call(1, old=2)
        assert not caplog.records
        call(1, old=2, mode="a", flag=True)
        alias(1)
    assert [record.getMessage().split(" ")[2] for record in caplog.records] == ["'old'", "'mode'", "'flag'", "former"]


def test_a_deprecated_alias_of_a_class():
    made = deprecation.deprecated_alias("Former", "dict", dict)
    assert isinstance(made(a=1), dict)
    assert deprecation.deprecated_argument_lookup("new", None, "old", 2) == 2
    with pytest.raises(ValueError, match="Cannot specify both 'old' and 'new'"):
        deprecation.deprecated_argument_lookup("new", 1, "old", 2)
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        deprecation.deprecated("soon", "x")


def test_private_functions():
    rows = private("ops.parallel_for.control_flow_ops", "pfor")(lambda i: i * 2, 3)
    assert rows.numpy().tolist() == [0, 2, 4]
    case = private("ops.control_flow_case", "_case_helper")
    assert case(tf.cond, [(tf.constant(False), lambda: 1), (tf.constant(True), lambda: 2)], lambda: 3, False, None) == 2
    assert case(tf.cond, [(tf.constant(False), lambda: 1)], lambda: 3, False, None) == 3
    values = private("util.variable_utils", "convert_variables_to_tensors")([tf.Variable(1.0), "a"])
    assert values[1] == "a" and not isinstance(values[0], tf.Variable)
    assert private("framework.tensor_util", "constant_value_as_shape")(tf.constant([2, -1])) == tf.TensorShape([2, None])
    spec = private("util.tf_inspect", "getfullargspec")(tf.rank)
    assert spec.args == ["input", "name"] and not spec.annotations
    assert private("util.tf_inspect", "signature") is inspect.signature
    draws = private("ops.random_ops", "parameterized_truncated_normal")([5], minvals=0.0, maxvals=1.0, seed=1).numpy()
    assert draws.shape == (5,) and (draws >= 0).all() and (draws <= 1).all()


def test_collections_by_identity():
    reference, dictionary, members, weak = (
        private("util.object_identity", name)
        for name in ("Reference", "ObjectIdentityDictionary", "ObjectIdentitySet", "ObjectIdentityWeakSet")
    )
    one, two = [1], [1]
    assert reference(one) == reference(one) != reference(two) and reference(two).deref() is two
    assert reference is type(tf.constant(1.0).ref())
    found = dictionary()
    found[one], found[two] = "one", "two"
    assert (found[one], found.pop(two), len(found), list(found)) == ("one", "two", 1, [one])
    assert two not in found and found.get(two) is None
    both = members([one, two, one])
    assert len(both) == 2 and one in both and [1] not in both
    assert list(both.difference([one])) == [two] and list(both.intersection([two, [1]])) == [two]
    variable = tf.Variable(1.0)
    held = weak([variable, tf.Variable(1.0)])
    gc.collect()
    assert len(held) == 1 and variable in held


def test_a_condition_that_is_known_takes_one_branch():
    smart_cond, known = (private("framework.smart_cond", name) for name in ("smart_cond", "smart_constant_value"))
    taken = []
    branches = (lambda: taken.append(True) or tf.constant(1.0)), (lambda: taken.append(False) or tf.constant(2.0))
    assert smart_cond(tf.constant(True), *branches).numpy() == 1.0 and taken == [True]
    assert smart_cond(0, *branches).numpy() == 2.0 and taken == [True, False]
    assert tf.function(lambda p: smart_cond(p, *branches))(tf.constant(False)).numpy() == 2.0
    assert smart_cond(tf.Variable(True), *branches).numpy() == 1.0
    assert known(True) is True and known(0) is False
    with pytest.raises(TypeError, match="must be a Tensor, or a Python bool, or 1 or 0"):
        known("yes")
    with pytest.raises(TypeError, match="`false_fn` must be callable"):
        smart_cond(True, branches[0])


@pytest.mark.parametrize("name", ["keras_export", "tf_export"])
def test_what_is_exported_stays_as_it_is(name):
    export = private("util.tf_export", name)
    layer = type("Layer", (), {})
    assert export("keras.layers.Mine", "keras.layers.mine", v1=["keras.layers.Mine"])(layer) is layer
    assert export("pi", v1=[]).export_constant("module", "pi") is None


def test_decorators_keep_the_function_that_they_wrap():
    def inner(x, y=1):
        """Add."""
        return x + y

    made = private("util.tf_decorator", "make_decorator")(inner, lambda *args: 2 * inner(*args))
    assert (made(1, 2), made.__name__, made.__doc__) == (6, "inner", "Add.")
    assert private("util.tf_inspect", "getfullargspec")(made) == inspect.getfullargspec(inner)
    assert private("util.tf_decorator", "unwrap")(made)[1] is inner
    assert private("util.tf_inspect", "getargspec")(inner) == (["x", "y"], None, None, (1,))

    @private("util.tf_contextlib", "contextmanager")
    def opened(name):
        yield name

    with opened("a") as name:
        assert (name, opened.__name__) == ("a", "opened")


def test_files_and_questions(tmp_path):
    read, write = (private("lib.io.file_io", name) for name in ("read_file_to_string", "write_string_to_file"))
    write(str(tmp_path / "a"), "text")
    assert read(str(tmp_path / "a")) == "text" and read(str(tmp_path / "a"), binary_mode=True) == b"text"
    is_variable = private("ops.resource_variable_ops", "is_resource_variable")
    assert is_variable(tf.Variable(1.0)) and not is_variable(tf.constant(1.0))
    assert private("tf2", "enabled")() and private("util.all_util", "remove_undocumented")(__name__) is None


def test_a_prevented_gradient():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = private("ops.array_ops", "prevent_gradient")(x, message="no way")
    with pytest.raises(LookupError, match="no way"):
        tape.gradient(y, x)


def test_a_private_class_is_a_name_only():
    class Mine(private("autograph.pyct.transformer", "Base")):
        pass

    with pytest.raises(tf.errors.UnimplementedError, match="private to TensorFlow"):
        Mine()


def test_the_package_of_keras_2():
    package = ModuleType("tf_keras")
    keras2.fill(package)
    assert package.layers is importlib.import_module("gradtape.keras").layers and package.__version__.startswith("2.")
    inside = ModuleType("tf_keras.src.engine")
    keras2.fill(inside)
    assert issubclass(type("Mine", (inside.Layer,), {}), inside.Layer)
    with pytest.raises(tf.errors.UnimplementedError, match="belongs to Keras 2"):
        inside.Layer()
    utils = ModuleType("tf_keras.__internal__.utils")
    keras2.fill(utils)
    assert utils.register_symbolic_tensor_type(int) is None
    with pytest.raises(AttributeError, match="has no attribute '__path__'"):
        _ = utils.__path__


def test_contexts_of_eager_code_and_of_graphs():
    with context.graph_mode():
        assert not tf.executing_eagerly()
        with tf.control_dependencies(tf.constant(i) for i in range(2)), context.graph_mode():
            x = tf.constant(1.0)
        assert x.graph is tf.compat.v1.get_default_graph()
        with context.eager_mode():
            assert tf.executing_eagerly()


def test_small_functions_of_private_modules():
    assert private("framework.tensor_shape", "unknown_shape")(rank=2).as_list() == [None, None]
    assert private("framework.tensor_shape", "unknown_shape")().rank is None
    assert private("ops.gradient_checker_v2", "max_error")([np.ones([2, 2])], [np.array([[1.0, 1.0], [0.5, 1.0]])]) == 0.5
    assert private("ops.gradient_checker_v2", "max_error")([np.ones([0, 2])], [np.ones([0, 2])]) == 0.0
    assert (
        private("framework.sparse_tensor", "is_sparse")(tf.sparse.eye(2)) and private("util.compat", "collections_abc").Iterable
    )
    v = tf.Variable(1.0)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        v = tf.compat.v1.Variable(1.0)
        read = private("ops.control_flow_ops", "with_dependencies")([v.assign_add(2.0)], tf.constant(5.0))
        session.run(v.initializer)
        assert session.run(read) == 5.0 and session.run(v) == 3.0


def test_which_version_code_gets():
    enabled = private("tf2", "enabled")
    assert enabled() and tf.__internal__.tf2.enabled()
    tf.compat.v1.disable_v2_behavior()
    try:
        assert not enabled()
    finally:
        tf.compat.v1.enable_v2_behavior()
    assert enabled()


def test_gradients_of_functions():
    def f(x, y):
        return x * x * y

    dx, dy = backprop.gradients_function(f)(3.0, 2.0)
    assert (dx.numpy(), dy.numpy()) == (12, 9)
    value, (only,) = backprop.val_and_grad_function(f, ["y"])(3.0, 2.0, dy=10.0)
    assert (value.numpy(), only.numpy()) == (18, 90)
    x = tf.Variable(3.0)
    assert [d.numpy() for d in backprop.gradients_function(lambda a, b: a * b)(x, x)] == [3, 3]
    (only,) = backprop.gradients_function(f, [0])(3.0, 2.0)
    assert only.numpy() == 12
    value, vjp = backprop.make_vjp(lambda x: (x, x * x))(3.0)
    assert [v.numpy() for v in value] == [3, 9] and vjp([1.0, 1.0])[0].numpy() == vjp((1.0, 1.0))[0].numpy() == 7


def test_gradients_of_the_variables_that_a_function_reads():
    v, w = tf.Variable(2.0, name="v"), tf.Variable(5.0, name="w")
    value, pairs = backprop.implicit_val_and_grad(lambda x: v * w * x)(3.0)
    assert value.numpy() == 30 and [
        (d.numpy(), variable is known) for (d, variable), known in zip(pairs, (v, w), strict=True)
    ] == [
        (15, True),
        (6, True),
    ]
    with pytest.raises(ValueError, match="No trainable variables"):
        backprop.implicit_grad(lambda x: x * x)(3.0)
    with pytest.raises(ValueError, match="function that returns None; did you forget to return a value from <lambda>"):
        backprop.gradients_function(lambda x: None)(3.0)
    with pytest.raises(ValueError, match="params must be all strings or all integers"):
        backprop.gradients_function(lambda x: x, [1.5])(3.0)


def test_what_tapes_record():
    x, y = tf.constant(3.0), tf.constant(7.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with record.stop_recording():
            hidden = x * x
        record.record_operation("Triple", [y], [x], lambda dy: [3.0 * dy])
        loss = y * 2.0
    assert tape.gradient(hidden, x) is None and tape.gradient(loss, x).numpy() == 6 and loss.numpy() == 14
    v = tf.Variable(1.0)
    with record.VariableWatcher() as watcher:
        v.assign_add(1.0)
    assert watcher.watched_variables() == (v,)


def test_generated_functions_of_ops():
    assert paths.generated("python.ops.gen_nn_ops", "relu_grad")([2.0, 3.0], [1.0, -1.0]).numpy().tolist() == [2, 0]
    assert paths.generated("python.ops.nn_ops", "relu_grad") is paths.generated("python.ops.gen_nn_ops", "relu_grad")
    assert paths.generated("python.ops.gen_math_ops", "_sum")([1.0, 2.0], 0).numpy() == 3
    assert paths.generated("python.ops.math_ops", "_sum") is paths.generated("python.ops.gen_math_ops", "no_such_op") is None
    assert paths.generated("python.framework.ops", "relu_grad") is None


def test_loops_and_branches_by_their_private_names():
    assert private("ops.while_v2", "while_loop")(lambda i: i < 3, lambda i: [i + 1], [0])[0].numpy() == 3
    assert (
        private("ops.cond_v2", "indexed_case")(tf.constant(1), [lambda: tf.constant(1.0), lambda: tf.constant(2.0)]).numpy() == 2
    )
    assert private("ops.parallel_for.control_flow_ops", "for_loop")(lambda i: i * i, tf.int32, 3).numpy().tolist() == [0, 1, 4]


def test_slices_and_ragged_tensors_by_their_private_names():
    slices = private("ops.math_ops", "_as_indexed_slices")(tf.constant([[1.0], [2.0]]))
    assert slices.indices.numpy().tolist() == [0, 1] and slices.dense_shape.numpy().tolist() == [2, 1]
    twice = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([1, 1]), tf.constant([3, 1]))
    assert private("ops.gradient_checker_v2", "_to_numpy")(twice).tolist() == [[0], [3], [0]]
    rows = tf.ragged.constant([[1, 2], [3]])
    convert = private("ops.ragged.ragged_tensor", "convert_to_tensor_or_ragged_tensor")
    assert convert(rows) is rows and convert([1]).numpy().tolist() == [1]
    assert private("ops.ragged.ragged_tensor", "is_ragged")(rows)
    with pytest.raises(ValueError, match="requested dtype float32 for RaggedTensor with dtype int32"):
        convert(rows, tf.float32)


def test_an_eager_tensor_is_made_by_its_private_class():
    eager, symbolic = private("framework.ops", "EagerTensor"), private("framework.ops", "SymbolicTensor")
    made = eager([1, 2], device="CPU:0", dtype=tf.int64)
    assert made.dtype == tf.int64 and isinstance(made, eager) and not isinstance(made, symbolic)
    with pytest.raises(TypeError, match="made by a function or graph"):
        symbolic(1)


def test_a_name_scope_by_its_private_name():
    with private("framework.ops", "name_scope")("outer", skip_on_eager=False):
        assert tf.get_current_name_scope() == "outer"


def test_seeds_are_forgotten_with_the_context():
    tf.random.set_seed(3)
    first = tf.random.uniform([4]).numpy()
    private("eager.context", "_reset_context")()
    tf.random.set_seed(3)
    np.testing.assert_array_equal(tf.random.uniform([4]), first)
    private("eager.context", "_reset_context")()
    assert (tf.random.uniform([4]).numpy() != first).any()


def test_devices_of_the_context():
    assert context.context().list_physical_devices("CPU") == tf.config.list_physical_devices("CPU")
    assert context.context().list_logical_devices() == tf.config.list_logical_devices()
