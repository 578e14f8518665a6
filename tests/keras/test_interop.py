"""Arrays of other libraries on the same memory, optax's optimizers, models as StableHLO."""

import subprocess
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf

keras = tf.keras


class TestDLPack:
    @pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16, tf.int64, tf.uint8, tf.complex64, tf.bool])
    def test_numpy_sees_a_tensor_s_memory(self, dtype):
        x = tf.cast([[1, 0], [3, 1]], dtype) + tf.cast(0, dtype) if dtype is not tf.bool else tf.constant([True, False])
        array = np.from_dlpack(x)
        np.testing.assert_array_equal(array, x.numpy())
        assert array.dtype == dtype.as_numpy_dtype
        assert array.ctypes.data == x.__jax_array__().unsafe_buffer_pointer()

    def test_a_tensor_on_numpy_s_memory(self):
        array = aligned(6).reshape(2, 3)
        x = tf.experimental.dlpack.from_dlpack(array)
        np.testing.assert_array_equal(x.numpy(), array)
        assert x.__jax_array__().unsafe_buffer_pointer() == array.ctypes.data

    def test_jax_and_back(self):
        x = tf.constant([1.0, 2.0])
        there = jax.dlpack.from_dlpack(x)
        back = tf.experimental.dlpack.from_dlpack(there)
        pointers = {a.unsafe_buffer_pointer() for a in (x.__jax_array__(), there, back.__jax_array__())}
        assert len(pointers) == 1

    def test_a_capsule_can_be_taken_once(self):
        capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1.0, 2.0]))
        assert type(capsule).__name__ == "PyCapsule"
        assert tf.experimental.dlpack.from_dlpack(capsule).numpy().tolist() == [1.0, 2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="from_dlpack cannot take this memory"):
            tf.experimental.dlpack.from_dlpack(capsule)

    def test_a_tensor_made_so_is_a_leaf_like_any_other(self):
        x = tf.experimental.dlpack.from_dlpack(aligned(3))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x)
        np.testing.assert_allclose(tape.gradient(y, x), 2 * x.numpy())

    def test_the_weight_of_a_layer(self):
        layer = keras.layers.Dense(2)
        layer.build([None, 3])
        np.testing.assert_array_equal(np.from_dlpack(tf.convert_to_tensor(layer.kernel)), layer.kernel.numpy())

    def test_what_is_no_array_is_an_error(self):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"takes a capsule, .* received \[1, 2\] of type list"):
            tf.experimental.dlpack.from_dlpack([1, 2])

    @pytest.mark.parametrize(
        "device, where",
        [((2, 1), r"a cuda device \(number 1\)"), ((10, 0), "a rocm device"), ((8, 0), "a device of DLPack's kind 8")],
    )
    @pytest.mark.skipif(jax.default_backend() != "cpu", reason="the array may be on this machine's device")
    def test_an_array_on_a_device_that_is_not_here(self, device, where):
        class Elsewhere:
            """What CuPy's arrays show of themselves."""

            def __dlpack__(self, **options):
                raise BufferError("there is no such device")

            def __dlpack_device__(self):
                return device

        with pytest.raises(tf.errors.InvalidArgumentError, match=f"type Elsewhere lies on {where}.* JAX has cpu here. Copy it"):
            tf.experimental.dlpack.from_dlpack(Elsewhere())

    def test_cupy(self):
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed; it needs a GPU")
        array = cupy.arange(6, dtype="float32").reshape(2, 3)
        x = tf.experimental.dlpack.from_dlpack(array)
        np.testing.assert_array_equal(x.numpy(), array.get())
        back = cupy.from_dlpack(x)
        assert back.data.ptr == array.data.ptr == x.__jax_array__().unsafe_buffer_pointer()


def aligned(count):
    """Floats 0, 1, … at an address that is a multiple of 64, as XLA wants memory that it is to share."""
    raw = np.zeros(4 * count + 64, np.uint8)
    start = -raw.ctypes.data % 64
    array = raw[start : start + 4 * count].view(np.float32)
    array[:] = np.arange(count)
    return array


class Transformation(NamedTuple):
    """What optax's optimizers are: a pair of functions."""

    init: object
    update: object


def momentum(rate, decay):
    """optax.sgd with momentum, written out."""

    def init(params):
        return {"trace": [jnp.zeros_like(p) for p in params], "count": jnp.zeros((), jnp.int32)}

    def update(grads, state, params=None):
        trace = [decay * t + g for t, g in zip(state["trace"], grads, strict=True)]
        return [-rate * t for t in trace], {"trace": trace, "count": state["count"] + 1}

    return Transformation(init, update)


def small_model():
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input([3]), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(2)])


X = np.cos(np.arange(36)).reshape(12, 3).astype("float32")
Y = np.sin(np.arange(24)).reshape(12, 2).astype("float32")


class TestOptax:
    @pytest.mark.parametrize("options", [{}, {"clipnorm": 0.1}])
    def test_fit_does_what_the_same_optimizer_of_keras_does(self, options):
        weights = []
        for optimizer in (
            tf.optimizers.Optax(momentum(0.1, 0.9), **options),
            keras.optimizers.SGD(0.1, momentum=0.9, **options),
        ):
            model = small_model()
            model.compile(optimizer, "mse")
            model.fit(X, Y, epochs=2, batch_size=4, shuffle=False, verbose=0)
            weights.append(model.get_weights())
        for mine, theirs in zip(*weights, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-6)

    def test_its_state_are_variables_and_a_missing_gradient_counts_as_0(self):
        optimizer = tf.optimizers.Optax(momentum(1.0, 0.5))
        x, y = tf.keras.Variable(1.0), tf.keras.Variable(2.0)
        optimizer.build([x, y])
        optimizer.apply_gradients([(tf.constant(0.5), x), (tf.constant(1.0), y)])
        with pytest.warns(UserWarning, match="Gradients do not exist"):
            optimizer.apply_gradients([(None, x), (tf.constant(1.0), y)])
        assert [float(x), float(y)] == [1 - 0.5 - 0.25, 2 - 1 - 1.5]
        assert any(v.dtype == "int32" and int(v) == 2 for v in optimizer.variables if "state" in v.name)

    def test_anything_else_is_an_error(self):
        with pytest.raises(TypeError, match=r"takes an optax GradientTransformation, as optax.adam\(1e-3\); received 'adam'"):
            tf.optimizers.Optax("adam")


RUN = """
import sys, jax, numpy as np
from jax import export
exported = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
np.save(sys.argv[2], exported.call(np.load(sys.argv[3])))
assert "gradtape" not in sys.modules
"""


class TestStableHLO:
    def test_jax_alone_runs_the_file_for_any_number_of_rows(self, tmp_path):
        keras.utils.set_random_seed(0)
        layers = keras.layers
        model = keras.Sequential(
            [
                keras.Input([6, 6, 1]),
                layers.Conv2D(2, 3),
                layers.BatchNormalization(),
                layers.Flatten(),
                layers.Dropout(0.5),
                layers.Dense(3),
            ]
        )
        tf.train.export_stablehlo(model, tmp_path / "model")
        for rows in (1, 4):
            x = np.cos(np.arange(36 * rows)).reshape(rows, 6, 6, 1).astype("float32")
            np.save(tmp_path / "x.npy", x)
            files = [str(tmp_path / name) for name in ("model", "y.npy", "x.npy")]
            subprocess.run([sys.executable, "-c", RUN, *files], check=True, timeout=120)
            np.testing.assert_allclose(np.load(tmp_path / "y.npy"), model(x), atol=1e-5)

    def test_nests_in_and_out(self, tmp_path):
        def function(both, c):
            return {"sum": both["a"] + both["b"], "rest": [both["a"] * c]}

        spec = tf.TensorSpec([2], tf.float32)
        tf.train.export_stablehlo(function, tmp_path / "f", [{"b": spec, "a": spec}, tf.TensorSpec([])])
        exported = jax.export.deserialize(bytearray((tmp_path / "f").read_bytes()))
        a, b, c = np.float32([1, 2]), np.float32([10, 20]), np.float32(3)
        result = exported.call({"a": a, "b": b}, c)
        assert result["sum"].tolist() == [11, 22]
        assert result["rest"][0].tolist() == [3, 6]

    @pytest.mark.parametrize(
        ("function", "signature", "shapes"),
        [
            (lambda x: (x - tf.reduce_mean(x, 0)) / tf.math.reduce_std(x, 0), [[None, 2]], [[[3, 2]], [[5, 2]]]),
            (lambda x: tf.matmul(x, x, transpose_b=True), [[None, None, 2]], [[[3, 4, 2]], [[1, 5, 2]]]),
            (lambda x, y: tf.concat([x, 2.0 * y], 1), [[None, 2], [None, None]], [[[3, 2], [3, 1]], [[4, 2], [4, 5]]]),
            (lambda x: tf.reshape(x, [tf.shape(x)[0] // 2, 2, -1]), [[None, None]], [[[4, 3]], [[6, 1]]]),
            (lambda x: tf.map_fn(lambda row: tf.reverse(row, [0]), x)[1:-1], [[None, None]], [[[4, 3]], [[6, 1]]]),
            (lambda x: tf.nn.max_pool2d(tf.nn.conv2d(x, tf.ones([3, 3, 1, 2]), 1, "SAME"), 2, 1, "VALID"),
             [[None, None, None, 1]], [[[2, 5, 7, 1]], [[1, 4, 4, 1]]]),
            (lambda x: tf.nn.conv2d_transpose(x, tf.ones([3, 3, 2, 1]), [tf.shape(x)[0], 8, 8, 2], 2),
             [[None, 4, 4, 1]], [[[2, 4, 4, 1]], [[30, 4, 4, 1]]]),
            (lambda x: tf.nn.conv2d(tf.nn.conv2d(x, tf.ones([3, 3, 1, 2]), 2, "SAME"), tf.ones([2, 2, 2, 1]), 2, "VALID"),
             [[None, None, None, 1]], [[[2, 8, 9, 1]], [[1, 5, 16, 1]]]),
            (lambda x: tf.nn.max_pool2d(tf.nn.avg_pool2d(tf.nn.max_pool2d(x, 5, 1, "SAME"), 3, 2, "SAME"), 3, 2, "SAME"),
             [[None, None, None, 1]], [[[2, 8, 9, 1]], [[1, 5, 16, 1]]]),
            (tf.function(lambda x: tf.gradients(tf.sin(tf.nn.conv2d(x, tf.ones([3, 3, 1, 2]), 2, "SAME")), x)[0]),
             [[None, None, None, 1]], [[[2, 8, 9, 1]], [[1, 5, 16, 1]]]),
            (lambda x: tf.repeat(x, 2, axis=1)[:, -1], [[None, None, 2]], [[[3, 2, 2]], [[1, 1, 2]]]),
            (lambda x: tf.image.resize(x, 2 * tf.shape(x)[1:3])[:, 1:] - tf.image.resize(x, [7, 5], "nearest")[:, :1, :1],
             [[None, None, None, 1]], [[[2, 8, 9, 1]], [[1, 5, 16, 1]]]),
            (tf.function(lambda x: tf.gradients(
                tf.sin(tf.nn.conv3d(tf.nn.conv3d(x, tf.fill([3, 2, 2, 1, 2], 0.1), [1] * 5, "SAME"),
                                    tf.fill([2, 3, 2, 2, 1], 0.1), [1] * 5, "VALID")), x)[0]),
             [[None, None, None, None, 1]], [[[2, 4, 5, 6, 1]], [[1, 3, 3, 4, 1]]]),
        ],
        ids=[
            "statistics", "product", "two arguments", "quotient", "loop", "convolution", "transposed convolution",
            "convolutions with strides", "pools with strides", "gradient of a convolution with strides", "one row",
            "resized images", "gradient of volumes",
        ],
    )  # fmt: skip
    def test_open_extents_stay_open(self, tmp_path, function, signature, shapes):
        tf.train.export_stablehlo(function, tmp_path / "f", [tf.TensorSpec(shape) for shape in signature])
        exported = jax.export.deserialize(bytearray((tmp_path / "f").read_bytes()))
        for of_call in shapes:
            arguments = [np.cos(np.arange(np.prod(shape), dtype="float32")).reshape(shape) for shape in of_call]
            np.testing.assert_allclose(exported.call(*arguments), function(*map(tf.constant, arguments)), rtol=1e-5, atol=1e-5)

    def test_what_the_function_takes_for_granted_is_checked_in_a_call(self, tmp_path):
        tf.train.export_stablehlo(lambda x, y: x + y, tmp_path / "f", [tf.TensorSpec([None]), tf.TensorSpec([None])])
        exported = jax.export.deserialize(bytearray((tmp_path / "f").read_bytes()))
        assert exported.call(np.ones(3, "float32"), np.ones(3, "float32")).tolist() == [2.0, 2.0, 2.0]
        with pytest.raises(ValueError, match="dimension size"):
            exported.call(np.ones(3, "float32"), np.ones(4, "float32"))
        tf.train.export_stablehlo(lambda x: tf.reshape(x, [2, -1]), tmp_path / "f", [tf.TensorSpec([None])])
        exported = jax.export.deserialize(bytearray((tmp_path / "f").read_bytes()))
        assert exported.call(np.ones(6, "float32")).shape == (2, 3)
        with pytest.raises(ValueError, match="Division had remainder"):
            exported.call(np.ones(5, "float32"))

    @pytest.mark.parametrize(
        ("function", "shape", "error", "says"),
        [
            (lambda x: tf.image.resize(x, 2 * tf.shape(x)[1:3], "bicubic"), [1, None, 8, 1], ValueError, "depends on extents"),
            (lambda x: tf.image.central_crop(x, 0.3), [None, None, 1], ValueError, "depends on extents"),
            (lambda x: x, None, ValueError, "tensors of known ranks"),
            (lambda x: x + tf.random.normal([2]), [2], ValueError, "draws random numbers"),
            (lambda x: tf.unique(x)[0], [2], NotImplementedError, "depends on values"),
            (lambda x: tf.numpy_function(np.sin, [x], tf.float32), [2], NotImplementedError, "calls Python"),
        ],
    )
    def test_what_cannot_be_exported_says_why(self, tmp_path, function, shape, error, says):
        with pytest.raises(error, match=says):
            tf.train.export_stablehlo(function, tmp_path / "f", [tf.TensorSpec(shape)])
        assert not (tmp_path / "f").exists()

    def test_the_levels_of_a_u_net_divide_the_images(self, tmp_path):
        layers = keras.layers
        x = inputs = keras.Input([None, None, 1])
        skipped = []
        for _ in range(2):
            x = layers.Conv2D(2, 3, padding="same", activation="relu")(x)
            skipped.append(x)
            x = layers.MaxPool2D()(x)
        for before in reversed(skipped):
            x = layers.Concatenate()([before, layers.UpSampling2D()(x)])
        model = keras.Model(inputs, layers.Conv2D(1, 1)(x))
        tf.train.export_stablehlo(model, tmp_path / "f")
        exported = jax.export.deserialize(bytearray((tmp_path / "f").read_bytes()))
        for shape in ([1, 4, 8, 1], [2, 8, 8, 1]):
            images = np.cos(np.arange(np.prod(shape), dtype="float32")).reshape(shape)
            np.testing.assert_allclose(exported.call(images), model(images), atol=1e-5)
        with pytest.raises(ValueError, match=r"4\*n1, 4\*n2"):
            exported.call(np.ones([1, 6, 8, 1], "float32"))

    def test_a_state_is_an_error(self, tmp_path):
        counter = tf.Variable(0.0)
        with pytest.raises(ValueError, match="assigns Variable:0, and an exported program has no state"):
            tf.train.export_stablehlo(lambda x: x + counter.assign_add(1.0), tmp_path / "f", [tf.TensorSpec([2])])

    def test_a_signature_is_needed_where_none_is_known(self, tmp_path):
        with pytest.raises(ValueError, match="A function needs an input_signature"):
            tf.train.export_stablehlo(lambda x: x, tmp_path / "f")
        with pytest.raises(ValueError, match=r"The inputs of 'dense.*' are not known: give input_signature"):
            tf.train.export_stablehlo(keras.layers.Dense(2), tmp_path / "f")

    def test_a_module_that_is_called_has_its_function_s_signature(self, tmp_path):
        class Doubled(tf.Module):
            @tf.function(input_signature=[tf.TensorSpec([None, 2])])
            def __call__(self, x):
                return x * 2.0

        tf.train.export_stablehlo(Doubled(), tmp_path / "f")
        exported = jax.export.deserialize(bytearray((tmp_path / "f").read_bytes()))
        assert exported.call(np.ones([3, 2], "float32")).tolist() == [[2.0, 2.0]] * 3

    def test_keras_s_own_export_names_it(self, tmp_path):
        model = small_model()
        with pytest.raises(NotImplementedError, match=r"tf.train.export_stablehlo"):
            model.export(tmp_path / "m", format="onnx")


def test_functions_named_as_numpys_take_keras_variables():
    tnp = tf.experimental.numpy
    w = tf.keras.Variable(np.full((3, 2), 0.5, np.float32))
    x = tf.ones([4, 3])
    with tf.GradientTape() as tape:
        y = tnp.matmul(x, w) + tnp.sum(w)
    np.testing.assert_array_equal(y, np.full((4, 2), 4.5))
    np.testing.assert_array_equal(tape.gradient(y, w.value), np.full((3, 2), 12.0))
    assert tnp.add(w, 1.0).dtype.name == tnp.add(w.value, 1.0).dtype.name
