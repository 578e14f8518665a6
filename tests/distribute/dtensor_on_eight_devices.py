"""What DTensor does on eight devices, as functions `check_*`. `test_dtensor.py` runs them all in one process, which has eight.

The texts and numbers are TensorFlow 2.21's on eight virtual CPUs. Prints a JSON object: each check, and its traceback or null.
"""

import pickle
import re
import tempfile

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape.experimental import dtensor
from tests.distribute.checks import report

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 8
)

Layout, UNSHARDED, MATCH = dtensor.Layout, dtensor.UNSHARDED, dtensor.MATCH
DEVICES = [f"CPU:{i}" for i in range(8)]
LINE = dtensor.create_mesh([("x", 6)], devices=DEVICES[:6])
GRID = dtensor.create_mesh([("x", 3), ("y", 2)], devices=DEVICES[:6])
SPLIT, WHOLE = Layout(["x", "y"], GRID), Layout.replicated(GRID, 2)
ARRAY = np.arange(24, dtype="f").reshape(6, 4)
NAMES = ",".join(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(6))


def specs(value):
    return dtensor.fetch_layout(value).sharding_specs


def parts(value):
    return [part.numpy().tolist() for part in dtensor.unpack(value)]


def check_a_mesh():
    text = f"|x=3,y=2|0,1,2,3,4,5|0,1,2,3,4,5|{NAMES}"
    assert GRID.to_string() == text and repr(GRID) == str(GRID) == f"Mesh.from_string({text})"
    assert dtensor.Mesh.from_string(text) == GRID != LINE and hash(dtensor.Mesh.from_string(text)) == hash(GRID)
    assert pickle.loads(pickle.dumps(GRID)) == GRID and GRID.host_mesh() == GRID
    assert (GRID.shape(), GRID.dim_names, GRID.size, GRID.strides, GRID.name) == ([3, 2], ["x", "y"], 6, [2, 1], "")
    assert GRID["x"] == ("x", 3) and GRID["x"].size == GRID.dim_size("x") == 3
    assert "x" in GRID and "z" not in GRID and GRID.contains_dim("y")
    assert GRID.device_type() == "CPU" and not GRID.is_remote() and not GRID.use_xla_spmd()
    assert GRID.local_devices() == NAMES.split(",") and GRID.global_devices() == [] and GRID.num_local_devices() == 6
    assert GRID.local_device_ids() == [0, 1, 2, 3, 4, 5] and GRID.global_device_ids().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert GRID.local_device_locations()[3] == GRID.unravel_index()[3] == {"x": 1, "y": 1} and GRID.min_global_device_id() == 0
    assert GRID.coords(3).numpy().tolist() == GRID.device_location(3) == [1, 1]
    assert dtensor.create_mesh() == dtensor.create_mesh([("x", -1)]) == dtensor.create_mesh({"x": 8}, devices=DEVICES)
    assert GRID.jax_mesh.axis_names == ("x", "y") and GRID.jax_mesh.devices.shape == (3, 2)
    named = dtensor.create_mesh({"x": 6}, mesh_name="mine", devices=DEVICES[:6])
    assert named != LINE and named.name == "mine" and dtensor.Mesh.from_string(named.to_string()) == named
    value = dtensor.copy_to_mesh(np.arange(6), Layout(["x"], named))
    assert "mesh:mine|x=6|" in repr(value) and dtensor.fetch_layout(value) == Layout(["x"], named)
    assert dtensor.fetch_layout(value + 1).mesh.name == "mine"


def check_a_layout():
    text = f"sharding_specs:x,unsharded, mesh:{GRID.to_string()}"
    layout = Layout(["x", UNSHARDED], GRID)
    assert layout.to_string() == text and repr(layout) == str(layout) == f"Layout.from_string({text})"
    assert Layout.from_string(text) == layout == Layout.batch_sharded(GRID, "x", rank=2)
    assert hash(Layout.from_string(text)) == hash(layout) and pickle.loads(pickle.dumps(layout)) == layout
    assert Layout([], GRID).to_string() == f"sharding_specs: mesh:{GRID.to_string()}"
    assert Layout.from_string(Layout([], GRID).to_string()) == Layout.replicated(GRID, rank=0)
    assert (layout.rank, layout.shape, layout.mesh, layout.sharding_specs) == (2, [3, 2], GRID, ["x", "unsharded"])
    assert SPLIT.delete([0]).sharding_specs == ["y"] and SPLIT.delete(1).sharding_specs == ["x"]
    assert SPLIT.delete([0, 1]).sharding_specs == [] and SPLIT.delete([5]) == SPLIT
    assert Layout.inner_sharded(GRID, "y", rank=3).sharding_specs == ["unsharded", "unsharded", "y"]
    assert Layout.batch_sharded(GRID, "x", rank=3, axis=1).sharding_specs == ["unsharded", "x", "unsharded"]
    assert SPLIT.offset_to_shard() == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert SPLIT.offset_tuple_to_global_index((1, 1)) == 3 and SPLIT.num_shards(0) == 3
    assert SPLIT.global_shape_from_local_shape([1, 2]) == (3, 4) and SPLIT.local_shape_from_global_shape([6, 4]) == (2, 2)
    assert WHOLE.is_fully_replicated() and not SPLIT.is_fully_replicated() and not SPLIT.is_batch_parallel()
    assert layout.is_batch_parallel() and SPLIT != WHOLE and SPLIT != 3
    assert SPLIT.sharding == jax.sharding.NamedSharding(GRID.jax_mesh, jax.sharding.PartitionSpec("x", "y"))


def check_texts():
    """TensorFlow's, to the letter."""
    split, whole = dtensor.copy_to_mesh(ARRAY, SPLIT), dtensor.copy_to_mesh(ARRAY, WHOLE)
    value = (
        '{"CPU:0": [[0 1]\n [4 5]], "CPU:1": [[2 3]\n [6 7]], "CPU:2": [[8 9]\n [12 13]], "CPU:3": [[10 11]\n [14 15]], '
        '"CPU:4": [[16 17]\n [20 21]], "CPU:5": [[18 19]\n [22 23]]}'
    )
    layout = f'layout="sharding_specs:x,y, mesh:{GRID.to_string()}"'
    assert repr(split) == f"<tf.Tensor: shape=(6, 4), dtype=float32, value={value}, {layout}>"
    assert str(split) == f"tf.Tensor({value}, {layout}, shape=(6, 4), dtype=float32)"
    assert repr(dtensor.DVariable(split)) == f"<tf.Variable 'Variable:0' shape=(6, 4) dtype=float32, value={value}, {layout}>"
    assert repr(whole).startswith("<tf.Tensor: shape=(6, 4), dtype=float32, value=[[0 1 2 3]\n [4 5 6 7]\n [8 9 10 11]")
    small = Layout([UNSHARDED], LINE)
    long = dtensor.copy_to_mesh(tf.constant([0.1, 1 / 3, 1e10, 1e-10, 1e7, 16777216.0, 3.5]), small)
    assert "value=[0.1 0.333333343 1e+10 ... 1e+07 16777216 3.5]" in repr(long)
    assert "value=[1 0]" in repr(dtensor.copy_to_mesh(tf.constant([True, False]), small))
    assert "value=3, layout=" in repr(dtensor.copy_to_mesh(3, Layout([], LINE)))
    assert "numpy=1.0" in repr(tf.constant(1.0)) and f"{dtensor.copy_to_mesh(2.5, Layout([], LINE)):.2f}" == "2.50"


def check_values_lie_as_they_are_told():
    split = dtensor.copy_to_mesh(ARRAY, SPLIT)
    assert [part.shape for part in dtensor.unpack(split)] == [(2, 2)] * 6
    assert parts(split)[3] == [[10, 11], [14, 15]]
    assert [part.device for part in dtensor.unpack(split)] == NAMES.split(",")
    assert dtensor.is_dtensor(split) and not dtensor.is_dtensor(tf.constant(1.0)) and not dtensor.is_dtensor(3)
    np.testing.assert_array_equal(split, ARRAY)
    assert dtensor.fetch_layout(split) == SPLIT and dtensor.fetch_layout(3) is None
    assert specs(dtensor.relayout(split, Layout(["y", UNSHARDED], GRID))) == ["y", "unsharded"]
    assert specs(dtensor.relayout(split, Layout([MATCH, UNSHARDED], GRID))) == ["x", "unsharded"]
    assert specs(dtensor.relayout_like(ARRAY, split)) == ["x", "y"]
    other = dtensor.relayout(split, Layout.replicated(LINE, 2))  # another mesh: TensorFlow gives the part of one device
    np.testing.assert_array_equal(other, ARRAY)
    assert dtensor.fetch_layout(other).mesh == LINE
    assert specs(dtensor.copy_to_mesh(ARRAY, Layout.replicated(GRID, 3))) == ["unsharded", "unsharded"]
    dtensor.check_layout(split, SPLIT)
    with pytest.raises(ValueError, match=r"Layout of tensor: Layout\..*, did not match expected layout: Layout\."):
        dtensor.check_layout(split, WHOLE)
    single = dtensor.create_mesh([("batch", 4), ("model", 1)], devices=DEVICES[:4])
    along = Layout(["batch", "model"], single)  # nothing is split along a dimension of one device
    assert dtensor.fetch_layout(dtensor.call_with_layout(tf.ones, along, [4, 3])) == along


def check_results_lie_as_on_TensorFlow():
    split, whole = dtensor.copy_to_mesh(ARRAY, SPLIT), dtensor.copy_to_mesh(ARRAY, WHOLE)
    assert specs(split + 1.0) == specs(whole + split) == specs(split == whole) == ["x", "y"]
    assert specs(tf.matmul(split, whole, transpose_b=True)) == specs(split[:, 0:1]) == ["x", "unsharded"]
    assert specs(tf.reduce_sum(split)) == [] and float(tf.reduce_sum(split)) == 276
    assert specs(tf.reduce_sum(split, 1)) == ["x"] and specs(tf.reduce_sum(split, 0)) == ["y"]
    assert parts(tf.reduce_sum(split, 1)) == [[6, 22], [6, 22], [38, 54], [38, 54], [70, 86], [70, 86]]
    a, b = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[6, 5], [4, 3], [2, 1]])
    for of_a, of_b, expected in [
        ([UNSHARDED, UNSHARDED], [UNSHARDED, UNSHARDED], [UNSHARDED, UNSHARDED]),
        ([UNSHARDED, "x"], ["x", UNSHARDED], [UNSHARDED, UNSHARDED]),
        (["y", "x"], ["x", UNSHARDED], ["y", UNSHARDED]),
    ]:  # the guide's products
        c = tf.matmul(dtensor.copy_to_mesh(a, Layout(of_a, GRID)), dtensor.copy_to_mesh(b, Layout(of_b, GRID)))
        assert specs(c) == expected
        np.testing.assert_array_equal(c, a @ b)
    np.testing.assert_array_equal(split + tf.constant(ARRAY), 2 * ARRAY)  # an error in TensorFlow
    np.testing.assert_array_equal(split + dtensor.copy_to_mesh(ARRAY, Layout(["x", UNSHARDED], LINE)), 2 * ARRAY)


def check_call_with_layout():
    ones = dtensor.call_with_layout(tf.ones, SPLIT, shape=(6, 4))
    assert dtensor.fetch_layout(ones) == SPLIT and ones.numpy().sum() == 24
    both = dtensor.call_with_layout(lambda: (tf.ones([6, 4]), {"a": tf.zeros([3, 2]), "b": 3}), SPLIT)
    assert specs(both[0]) == specs(both[1]["a"]) == ["x", "y"] and both[1]["b"] == 3
    assert not dtensor.is_dtensor(dtensor.call_with_layout(tf.ones, None, [2]))
    uniform = tf.function(tf.random.stateless_uniform)
    for layout in (WHOLE, SPLIT):  # TensorFlow has other numbers where they are split
        drawn = dtensor.call_with_layout(uniform, layout, shape=(6, 4), seed=(1, 1))
        np.testing.assert_allclose(drawn[0], [0.098277092, 0.140638232, 0.455343604, 0.10658443])
        assert dtensor.fetch_layout(drawn) == layout

    @tf.function
    def inside(x):
        return dtensor.call_with_layout(tf.zeros, SPLIT, [6, 4]) + dtensor.relayout(x * 2.0, SPLIT)

    assert specs(inside(tf.constant(ARRAY))) == ["x", "y"]
    assert specs(tf.function(lambda x: dtensor.copy_to_mesh(x, WHOLE))(dtensor.copy_to_mesh(ARRAY, SPLIT))) == [UNSHARDED] * 2


def check_default_mesh():
    assert dtensor.get_default_mesh() is None
    with dtensor.default_mesh(GRID):
        with dtensor.run_on(LINE):
            assert dtensor.get_default_mesh() == LINE
        assert dtensor.get_default_mesh() == GRID
        with tf.device(dtensor.device_name()):
            np.testing.assert_array_equal(tf.ones([2]) + 1.0, [2, 2])
    assert dtensor.call_with_layout(dtensor.get_default_mesh, SPLIT) == GRID and dtensor.get_default_mesh() is None
    with pytest.raises(ValueError, match="Expect `mesh` to be `Mesh`, got <class 'int'>"), dtensor.default_mesh(3):
        pass


def check_pack():
    assert parts(dtensor.pack([[1, 2]] * 6, Layout([UNSHARDED], LINE))) == [[1, 2]] * 6
    packed = dtensor.pack([[1, i] for i in range(6)], Layout(["x"], LINE))
    assert packed.numpy().tolist() == [1, 0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5]
    split = dtensor.copy_to_mesh(ARRAY, SPLIT)
    again = dtensor.pack(dtensor.unpack(split), SPLIT)
    np.testing.assert_array_equal(again, ARRAY)
    assert dtensor.fetch_layout(again) == SPLIT
    assert dtensor.pack([1.0] * 6, Layout([], LINE)).shape == ()
    pieces, met = tf.split(tf.constant(ARRAY), 6), tf.reduce_sum(split)
    assert float(met) == 276  # one program computes both, so the pieces have copies on the mesh
    np.testing.assert_array_equal(dtensor.pack(pieces, Layout(["x", UNSHARDED], LINE)), ARRAY)


def raised(kind, text, call):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind and str(caught.value).startswith(text), caught.value


def check_errors():
    errors, split = tf.errors, dtensor.copy_to_mesh(ARRAY, SPLIT)
    rows = [
        (errors.UnknownError, "'tf.DTensorLayout' op requires matching rank for layout and input, but got 1 as suggested rank "
         "from layout but 2 from shape.\n", lambda: dtensor.copy_to_mesh(ARRAY, Layout(["x"], LINE))),
        (errors.UnknownError, "'tf.DTensorLayout' op requires dimension 1 to be divisible by sharding specified in "
         "DTensorLayout, but got dimension size=4 is not divisible by number of shards in layout for this dimension=6.\n",
         lambda: dtensor.relayout(split, Layout([UNSHARDED, "x"], LINE))),
        (ValueError, "z: A dimension sharding must either be a valid mesh dimension or UNSHARDED.", lambda: Layout(["z"], GRID)),
        (ValueError, "Mesh dimension x was repeated in sharding specification ['x', 'x']. Mesh dimensions must be unique in a "
         "layout.",
         lambda: Layout(["x", "x"], GRID)),
        (ValueError, "mesh is not a valid Mesh object.", lambda: Layout(["x"], "mesh")),
        (TypeError, "`sharding_specs` is a list of names", lambda: Layout("x", GRID)),
        (ValueError, "Dimension z does not exist in mesh.Available dimensions: x,y", lambda: GRID["z"]),
        (ValueError, "length of devices (8) must be equal to total size of the mesh of shape [3]",
         lambda: dtensor.create_mesh([("x", 3)], devices=DEVICES)),
        (ValueError, "Conflicting devices", lambda: dtensor.create_mesh([("x", 2)], devices=DEVICES[:2], device_type="GPU")),
        (ValueError, "Devices containing multiple device_types : {",
         lambda: dtensor.create_mesh([("x", 2)], devices=["CPU:0", "GPU:1"])),
        (ValueError, "Unknown attribute 'foo' is encountered while parsing the device spec: 'foo'.",
         lambda: dtensor.create_mesh([("x", 1)], devices=["foo"])),
        (errors.InvalidArgumentError, "/job:localhost/replica:0/task:0/device:CPU:8 unknown device.\nThere are ['CPU:0', ",
         lambda: dtensor.pack([[1], [2]], Layout(["x"], dtensor.create_mesh([("x", 2)], devices=["CPU:8", "CPU:9"])))),
        (errors.InvalidArgumentError, "A mesh has each device once",
         lambda: dtensor.copy_to_mesh([1, 2], Layout(["x"], dtensor.create_mesh([("x", 2)], devices=["CPU:0", "CPU:0"])))),
        (ValueError, "global_device_ids must sequentially increase: [0 2]",
         lambda: dtensor.Mesh(["x"], np.array([0, 2]), [0, 1], DEVICES[:2])),
        (ValueError, "Variable global_device_ids must be an ndarray.", lambda: dtensor.Mesh(["x"], [0, 1], [0, 1], DEVICES[:2])),
        (ValueError, "Variable global_device_ids must be non-empty.", lambda: dtensor.create_mesh(device_type="GPU")),
        (ValueError, "Number of mesh dimensions does not match number of dimension names.",
         lambda: dtensor.Mesh(["x", "y"], np.arange(2), [0, 1], DEVICES[:2])),
        (ValueError, "Each dimension of a mesh needs a name of its own", lambda: dtensor.create_mesh([("x", 4), ("x", 2)])),
        (ValueError, "Variable local_device_ids must be a list of integers.",
         lambda: dtensor.Mesh(["x"], np.arange(2), (0, 1), DEVICES[:2])),
        (ValueError, "Variable local_devices must be a list of DeviceSpecs.",
         lambda: dtensor.Mesh(["x"], np.arange(2), [0, 1], "CPU:0")),
        (ValueError, "Empty list of devices not allowed.", lambda: dtensor.Mesh(["x"], np.arange(2), [0, 1], [])),
        (ValueError, "Variable local_device_ids does not have same size as local_devices.",
         lambda: dtensor.Mesh(["x"], np.arange(2), [0], DEVICES[:2])),
        (ValueError, "Cannot have more local than gobal device IDs.",
         lambda: dtensor.Mesh(["x"], np.arange(2), [0, 1, 2], DEVICES[:3])),
        (ValueError, "XLA SPMD is not currently not supported for CPU mesh", lambda: dtensor.create_mesh(use_xla_spmd=True)),
        (ValueError, "device_type is required", lambda: dtensor.Mesh(["x"], np.arange(2), [0, 1], ["/job:a", "/job:b"])),
        (ValueError, "Failed to parse mesh config. Input string is invalid: foo", lambda: dtensor.Mesh.from_string("foo")),
        (ValueError, "Failed to parse layout. Input string is invalid: foo", lambda: Layout.from_string("foo")),
        (errors.InvalidArgumentError, "FetchLayout expects a tensor placed on the layout device.",
         lambda: dtensor.fetch_layout(tf.constant(1.0))),
        (errors.InvalidArgumentError, "DTensorUnpack expects a tensor placed on the DTensor device: /job:localhost/replica:0/"
         "task:0/device:CUSTOM:0, but input was placed on device: /job:localhost/replica:0/task:0/device:CPU:0",
         lambda: dtensor.unpack(tf.constant(1.0))),
        (TypeError, "Expecting a Tensor, got <class 'int'>", lambda: dtensor.unpack(3)),
        (errors.InvalidArgumentError, "The dtensor device /job:localhost/replica:0/task:0/device:CUSTOM:0 expected 6 inputs to "
         "DTensorPack, but got 5", lambda: dtensor.pack([[1]] * 5, Layout(["x"], LINE))),
        (errors.InvalidArgumentError, "Packed layout should have the same rank as the rank for each component. The rank of each "
         "component is: 1, while layout has rank: 2\nLayout: sharding_specs:unsharded,unsharded, mesh:",
         lambda: dtensor.pack([[1]] * 6, Layout.replicated(LINE, 2))),
        (errors.UnimplementedError, "Components of a PackedTensor must currently all have the same shape",
         lambda: dtensor.pack([[1], [1, 2]] * 3, Layout(["x"], LINE))),
        (errors.InternalError, "Components of a PackedTensor must all have the same dtype",
         lambda: dtensor.pack([[1], [1.0]] * 3, Layout(["x"], LINE))),
        (errors.InvalidArgumentError, "Does not support packing a Tensor that is already on dtensor device",
         lambda: dtensor.pack([split] * 6, SPLIT)),
        (ValueError, "dtensor.MATCH is for dtensor.relayout only", lambda: dtensor.pack([[1]] * 6, Layout([MATCH], LINE))),
        (errors.UnimplementedError, "Strings lie on the host", lambda: dtensor.copy_to_mesh(["a"], Layout([UNSHARDED], LINE))),
        (TypeError, "`layout` must be a tf.experimental.dtensor.Layout, received 3.", lambda: dtensor.copy_to_mesh(ARRAY, 3)),
        (errors.InvalidArgumentError, "Neither layout nor DTensor initial value are provided.", lambda: dtensor.DVariable(ARRAY)),
        (errors.InvalidArgumentError, "Conflicting layout are provided for initial value layout (Layout.from_string(",
         lambda: dtensor.DVariable(split, layout=WHOLE)),
        (errors.UnimplementedError, "XLA split one axis along two dimensions of the mesh",
         lambda: dtensor.fetch_layout(split + dtensor.copy_to_mesh(ARRAY, Layout(["x", UNSHARDED], LINE)))),
    ]  # fmt: skip
    for kind, text, call in rows:
        raised(kind, text, call)
    for name in ("is_dtensor", "fetch_layout", "unpack"):
        with pytest.raises(RuntimeError, match=f"`{name}` must be called eagerly"):
            tf.function(getattr(dtensor, name))(split)
    with pytest.raises(RuntimeError, match="`pack` must be called eagerly"):
        tf.function(lambda x: dtensor.pack([x] * 6, SPLIT))(ARRAY)


def check_variables():
    v = dtensor.DVariable(dtensor.copy_to_mesh(ARRAY, SPLIT), name="v", trainable=False)
    assert isinstance(v, tf.Variable) and v.layout == dtensor.fetch_layout(v) == SPLIT and dtensor.is_dtensor(v)
    assert dtensor.fetch_layout(v.assign(ARRAY)) == SPLIT
    assert v.name == "v:0" and not v.trainable and not v.save_as_bf16
    for assign in (
        lambda: v.assign(ARRAY),
        lambda: v.assign_add(dtensor.copy_to_mesh(ARRAY, WHOLE)),
        lambda: v.assign_sub(tf.ones([6, 4])),
        lambda: tf.function(lambda: v.assign(tf.zeros([6, 4])))(),
        lambda: v.assign(dtensor.copy_to_mesh(ARRAY, Layout.replicated(LINE, 2))),  # an error in TensorFlow
        lambda: v.scatter_add(tf.IndexedSlices(tf.ones([1, 4]), tf.constant([0]))),
    ):
        assign()
        assert dtensor.fetch_layout(v) == dtensor.fetch_layout(v.read_value()) == SPLIT
    np.testing.assert_array_equal(v.numpy()[1:], ARRAY[1:])
    assert dtensor.DVariable(lambda: ARRAY, layout=SPLIT, dtype=tf.float64).dtype == tf.float64
    whole = dtensor.DVariable(tf.ones([600, 1000]), layout=Layout(["x", "y"], GRID))
    assert [part.shape for part in dtensor.unpack(whole.read_value())] == [(200, 500)] * 6
    with pytest.raises(ValueError, match=r"Shape mismatch\.The variable shape"):
        v.assign([1.0, 2.0])
    made = []

    @tf.function
    def inside(x):
        if not made:
            made.append(dtensor.DVariable(tf.ones([6, 4]), layout=SPLIT))
        return made[0] * x

    assert specs(inside(2.0)) == ["x", "y"] and made[0].layout == dtensor.fetch_layout(made[0]) == SPLIT


def check_scatters_into_what_was_just_split():
    """Without a barrier behind the layout XLA computes wrong numbers here."""
    expected = ARRAY.copy()
    expected[0] += 1
    whole = dtensor.copy_to_mesh(ARRAY, WHOLE)
    for spec in (["x", "y"], ["x", UNSHARDED], ["y", UNSHARDED]):
        v = dtensor.DVariable(np.zeros([6, 4], "f"), layout=Layout(spec, GRID))
        v.assign(whole)
        v.scatter_add(tf.IndexedSlices(tf.ones([1, 4]), tf.constant([0])))
        np.testing.assert_array_equal(v, expected)
        added = tf.function(lambda x, layout: tf.tensor_scatter_nd_add(dtensor.relayout(x, layout), [[0]], tf.ones([1, 4])))
        np.testing.assert_array_equal(added(whole, v.layout), expected)


def check_gradients():
    split, whole = dtensor.DVariable(ARRAY, layout=SPLIT), dtensor.DVariable(ARRAY, layout=WHOLE)
    x = dtensor.copy_to_mesh(ARRAY, SPLIT)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(split * split) + tf.reduce_sum(dtensor.relayout(whole * x, WHOLE) ** 2)
    of_split, of_whole, of_x = tape.gradient(y, [split, whole, x])
    np.testing.assert_allclose(of_split, 2 * ARRAY)
    np.testing.assert_allclose(of_whole, 2 * ARRAY**3)
    np.testing.assert_allclose(of_x, 2 * ARRAY**3)
    assert specs(of_split) == ["x", "y"]
    ordinary = tf.Variable(ARRAY)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(dtensor.copy_to_mesh(ordinary, SPLIT) * x)
    np.testing.assert_array_equal(tape.gradient(y, ordinary), ARRAY)


def check_a_step_of_training_gives_TensorFlows_numbers():
    mesh = dtensor.create_mesh([("x", 8)], devices=DEVICES)
    x = dtensor.copy_to_mesh(np.arange(48, dtype="f").reshape(16, 3) / 10, Layout(["x", UNSHARDED], mesh))
    layout = Layout.replicated(mesh, 2)
    w, v, s = [dtensor.DVariable(np.full([3, 2], value, "f"), layout=layout) for value in (1.0, 0.0, 0.0)]

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(x, w) ** 2)
        gradient = tape.gradient(loss, w)
        v.assign(0.9 * v + 0.1 * gradient)
        s.assign(0.999 * s + 0.001 * tf.square(gradient))
        w.assign_sub(0.1 * ((v / 0.1) / (tf.sqrt(s / 0.001) + 1e-7)))
        return loss

    losses = [float(step(x)) for _ in range(3)]
    np.testing.assert_allclose(losses, [66.91500091552734, 54.20114517211914, 39.28021240234375], rtol=1e-6)
    np.testing.assert_allclose(w.numpy().ravel()[:3], [0.6119572, 0.6119572, 0.6119572], rtol=1e-6)
    np.testing.assert_allclose(v.numpy().ravel()[:3], [5.154127, 5.154127, 5.322352], rtol=1e-6)
    np.testing.assert_allclose(s.numpy().ravel()[:3], [1.1170415, 1.1170415, 1.1911495], rtol=1e-6)
    assert [dtensor.fetch_layout(variable.read_value()) for variable in (w, v, s)] == [layout] * 3


def check_checkpoints_load_on_other_meshes():
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(v=dtensor.DVariable(ARRAY, layout=SPLIT)).save(f"{folder}/ckpt")
        for layout in (Layout(["x", UNSHARDED], LINE), SPLIT, WHOLE):
            v = dtensor.DVariable(np.zeros([6, 4], "f"), layout=layout)
            tf.train.Checkpoint(v=v).restore(path).assert_consumed()
            np.testing.assert_array_equal(v, ARRAY)
            assert dtensor.fetch_layout(v.read_value()) == layout
        plain = tf.Variable(np.zeros([6, 4], "f"))
        tf.train.Checkpoint(v=plain).restore(path).assert_consumed()
        np.testing.assert_array_equal(plain, ARRAY)


def check_datasets():
    rows, data = Layout(["x"], LINE), tf.data.Dataset
    made = dtensor.DTensorDataset(data.range(26), mesh=LINE, layouts=rows, global_batch_size=12, batch_dim="x", prefetch=2)
    assert made.element_spec == tf.TensorSpec([12], tf.int64)
    batches = list(made)
    assert [parts(batch) for batch in batches] == [
        [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]],
        [[12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23]],
    ]
    assert dtensor.fetch_layout(batches[0]) == rows
    batched = data.range(24).batch(2, drop_remainder=True)
    made = dtensor.DTensorDataset(
        batched, mesh=LINE, layouts=rows, global_batch_size=12, batch_dim="x", dataset_already_batched=True
    )
    assert [parts(batch)[1] for batch in made] == [[2, 3], [14, 15]]
    made = dtensor.DTensorDataset(
        data.from_tensor_slices({"a": ARRAY, "b": ARRAY[:, 0]}),
        mesh=GRID,
        layouts={"a": SPLIT, "b": Layout(["x"], GRID)},
        global_batch_size=6,
        batch_dim="x",
    )
    (batch,) = made
    assert parts(batch["a"])[1] == [[2, 3], [6, 7]] and parts(batch["b"])[1] == [0, 4]
    iterator, double = iter(made), tf.function(lambda iterator: next(iterator)["b"] * 2.0)
    np.testing.assert_array_equal(double(iterator), 2 * ARRAY[:, 0])
    (plain,) = dtensor.DTensorDataset(data.range(6), mesh=GRID, layouts=Layout([UNSHARDED], GRID), global_batch_size=6)
    assert specs(plain) == [UNSHARDED]

    def wrong(dataset=None, layouts=rows, size=12, **kwargs):
        return lambda: dtensor.DTensorDataset(
            dataset or data.range(24), mesh=LINE, layouts=layouts, global_batch_size=size, **({"batch_dim": "x"} | kwargs)
        )

    four = data.range(24).batch(4, drop_remainder=True)
    for text, call in [
        ("batch_dim x was specified but at least one layout did not contain it", wrong(layouts=Layout([UNSHARDED], LINE))),
        ("Expected layout with rank 1 for element spec TensorSpec", wrong(layouts=Layout(["x", UNSHARDED], LINE))),
        ("Size of batch dimension of element spec", wrong(data.range(24).batch(4), dataset_already_batched=True)),
        ("per_replica_batch_size does not matched expected size based on the mesh, got 4 but expected 2.",
         wrong(four, dataset_already_batched=True)),
        ("The two structures don't have the same nested structure.", wrong(layouts=(rows,))),
        ("Dimension z does not exist in mesh.Available dimensions: x", wrong(batch_dim="z")),
        ("`global_batch_size` 13 is not divisible by the 6 replicas", wrong(size=13)),
    ]:  # fmt: skip
        raised(ValueError, text, call)
    raised(NotImplementedError, "Multi-client DTensorDataset is currently not supported.", wrong(tf_data_service_config=3))


def check_clients():
    assert [dtensor.num_local_devices(kind) for kind in ("CPU", "GPU", "foo")] == [8, 0, 0] and dtensor.num_global_devices(
        "CPU"
    ) == 8
    assert [spec.to_string() for spec in dtensor.local_devices("cpu")][:6] == NAMES.split(",")
    raised(ValueError, "Device type foo is not CPU, GPU, or TPU.", lambda: dtensor.local_devices("foo"))
    raised(ValueError, "Accelerators are uninitialized, please run", lambda: dtensor.create_distributed_mesh([("x", 8)]))
    raised(ValueError, "Accelerator system is not initialized. Call", dtensor.shutdown_accelerator_system)
    raised(ValueError, "Unknown device_type FOO.", lambda: dtensor.initialize_accelerator_system("foo"))
    assert dtensor.initialize_multi_client(num_logical_cpu_devices=8) == dtensor.preferred_device_type() == "CPU"
    raised(ValueError, "Accelerator system has already been initialized.", dtensor.initialize_tpu_system)
    assert dtensor.create_distributed_mesh({"x": 4, "y": 2}).shape() == [4, 2]
    text = "Global number of devices (8 per client * 1 clients = 8) must be equal to total size of the mesh of shape (4,)"
    raised(ValueError, text, lambda: dtensor.create_distributed_mesh([("x", 4)]))
    dtensor.shutdown_tpu_system()
    dtensor.barrier(GRID)


def check_XLA_partitions_the_step():
    v = dtensor.DVariable(np.ones([6, 4], "f"), layout=SPLIT)
    total = tf.function(lambda x: tf.reduce_sum(v * x))
    x = dtensor.copy_to_mesh(ARRAY, SPLIT)
    assert float(total(x)) == 276
    text = jax.jit(lambda v, x: (v * x).sum()).lower(*map(jax.numpy.asarray, (v.read_value(), x))).compile().as_text()
    assert re.search(r"all-reduce", text) and "f32[2,2]" in text and "f32[6,4]" not in text


if __name__ == "__main__":
    report(globals())
