"""`tf.saved_model`: what is saved comes back, as TensorFlow 2.21 gives it; the texts are its own."""

import collections
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from tests import forked

Pair = collections.namedtuple("Pair", "x y")


class Model(tf.Module):
    """A module with what may hang on one."""

    def __init__(self):
        super().__init__()
        self.v = tf.Variable(2.0, name="v")
        self.frozen = tf.Variable(1.0, trainable=False)
        self.items = [tf.Variable(1.0), tf.Module()]
        self.named = {"a": tf.Variable(3.0), 4: self.v}
        self.pair = (self.v, (tf.Variable(5.0),))
        self.number, self.text = 5, "text"

    @tf.function
    def __call__(self, x, training=False, scale=2.0):
        return x * self.v * scale if training else x + self.v

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def signed(self, x):
        return {"y": x * self.v, "z": x}

    @tf.function
    def never(self, x):
        return x

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def assign(self, x):
        self.v.assign(x)


def again(module, path, **options):
    tf.saved_model.save(module, path, **options)
    return tf.saved_model.load(path)


def module_of(function, *specs, **attributes):
    module = tf.Module()
    for name, value in attributes.items():
        setattr(module, name, value)
    module.f = tf.function(function, input_signature=[tf.TensorSpec(*spec) for spec in specs])
    return module


@pytest.fixture
def loaded(tmp_path):
    model = Model()
    model(tf.constant(1.0))
    model(tf.constant([1.0, 2.0]), training=True)
    return again(model, tmp_path / "m")


def test_objects(loaded):
    assert sorted(vars(loaded)) == sorted(
        ["__call__", "assign", "frozen", "items", "named", "never", "pair", "signatures", "signed", "v"]
    )
    assert (loaded.v.name, loaded.v.trainable, loaded.frozen.trainable, float(loaded.items[0])) == ("v:0", True, False, 1.0)
    assert loaded.named[4] is loaded.v and loaded.pair[0] is loaded.v and float(loaded.pair[1][0]) == 5.0
    assert list(loaded.signatures) == ["serving_default"]
    with pytest.raises(AttributeError, match="no attribute 'number'"):
        loaded.number  # noqa: B018


def test_calls(loaded):
    assert float(loaded(tf.constant(1.0))) == 3.0 == float(loaded(1.0)) == float(loaded(np.float32(1.0), False))
    assert loaded(tf.constant([1.0, 2.0]), training=True).numpy().tolist() == [4.0, 8.0]
    assert loaded.signed([1.0, 2.0, 3.0])["y"].numpy().tolist() == [2.0, 4.0, 6.0]
    loaded.assign(7.0)
    assert float(loaded.v) == 7.0 and float(loaded(1.0)) == 8.0

    names = [str(f.structured_input_signature) for f in vars(loaded)["__call__"].concrete_functions]
    assert names[0] == "((TensorSpec(shape=(), dtype=tf.float32, name='x'), False, 2.0), {})"


NO_MATCH = """Could not find matching concrete function to call loaded from the SavedModel. Got:
  Positional arguments (3 total):
    * <tf.Tensor shape=() dtype=float32>
    * True
    * 2.0
  Keyword arguments: {}

 Expected these arguments to match one of the following 2 option(s):

Option 1:
  Positional arguments (3 total):
    * TensorSpec(shape=(), dtype=tf.float32, name=None)
    * False
    * 2.0
  Keyword arguments: {}

Option 2:
  Positional arguments (3 total):
    * TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    * True
    * 2.0
  Keyword arguments: {}"""


@pytest.mark.parametrize("arguments", [(1, False), ([1.0, 2.0, 3.0],), ([[1.0]], True)])
def test_calls_that_match_nothing(loaded, arguments):
    with pytest.raises(ValueError, match="Could not find matching concrete function to call loaded from the SavedModel"):
        loaded(*[tf.constant(x) if not isinstance(x, bool) else x for x in arguments])


def test_the_message_lists_the_options(loaded):
    with pytest.raises(ValueError, match="Option 2") as caught:
        loaded(tf.constant(1.0), True)
    assert str(caught.value) == NO_MATCH
    with pytest.raises(ValueError, match=r"Found zero restored functions for caller function\."):
        loaded.never(1.0)
    with pytest.raises(TypeError, match=r"Binding inputs to tf.function failed due to `missing a required argument: 'x'`"):
        loaded()
    with pytest.raises(TypeError, match="Can not cast TensorSpec"):
        loaded.signed(tf.constant([[1.0]]))


def test_gradients_and_training(loaded):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(loaded.signed(x)["y"] ** 2)
        slope = tape.gradient(loss, loaded.v)
    assert (float(slope), float(outer.gradient(slope, loaded.v))) == (20.0, 10.0)
    loaded.v.assign_sub(0.1 * slope)
    assert float(loaded.v) == 0.0


def test_signatures(tmp_path):
    model = Model()
    alone = model.signed.get_concrete_function()
    loaded = again(model, tmp_path / "m", signatures={"a": model.signed, "b": alone})
    assert repr(list(loaded.signatures)) == "['a', 'b']" and "_SignatureMap({'a': <ConcreteFunction (*, x: " in repr(
        loaded.signatures
    )
    signature = loaded.signatures["a"]
    assert signature(x=tf.ones([3]))["y"].numpy().tolist() == [2.0] * 3 == signature(tf.ones([3]))["y"].numpy().tolist()
    assert signature.structured_input_signature == ((), {"x": tf.TensorSpec([None], tf.float32, "x")})
    assert signature.structured_outputs["z"].shape == [None]
    with pytest.raises(TypeError, match=r"missing a required (keyword-only )?argument: 'x'"):
        signature(y=tf.ones([3]))
    with pytest.raises(TypeError, match="too many positional arguments"):
        signature(tf.ones([3]), tf.ones([3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="was expected to be a float tensor but is a int32 tensor"):
        signature(x=tf.ones([3], tf.int32))


@pytest.mark.parametrize(
    ("signatures", "error", "text"),
    [
        (lambda m: m.never, ValueError, "Expected a TensorFlow function for which to generate a signature, but got"),
        (lambda m: {"a": 3}, ValueError, "Only `tf.functions` with an input signature or concrete functions"),
        (lambda m: tf.function(lambda x: [[x]], input_signature=[tf.TensorSpec([])]), ValueError, "Got a non-Tensor value"),
    ],
)
def test_bad_signatures(tmp_path, signatures, error, text):
    model = Model()
    with pytest.raises(error, match=text):
        tf.saved_model.save(model, tmp_path / "m", signatures=signatures(model))
    assert not (tmp_path / "m").exists()


def test_structures_of_arguments(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda p, *rest, **named: {"p": Pair(p.x + 1.0, p.y), "r": [rest[0], named["k"]], "n": None})
    module.f(Pair(tf.constant(1.0), tf.constant(2.0)), {"b": tf.constant(1), "a": tf.constant(2)}, k=3, h="text")
    module.g = module.f.get_concrete_function(
        Pair(tf.TensorSpec([]), tf.TensorSpec([2])), [tf.TensorSpec([])], k=tf.TensorSpec([])
    )
    loaded = again(module, tmp_path / "m")
    given = loaded.f(Pair(tf.constant(1.0), tf.constant(2.0)), {"b": tf.constant(1), "a": tf.constant(2)}, k=3, h="text")
    assert (float(given["p"].x), int(given["r"][0]["a"]), int(given["r"][1]), given["n"]) == (2.0, 2, 3, None)
    assert float(loaded.g(tf.constant(1.0), tf.ones([2]), tf.constant(0.0), tf.constant(4.0))["r"][1]) == 4.0


def row_count(x):
    n = tf.shape(x)[0]
    return tf.reshape(x, [n * x.shape[1]]), tf.range(n), tf.zeros([n, 2]), tf.cast(n, tf.float32), x / x.shape[0], tf.eye(n + 1)


def pairwise(x):
    return tf.reshape(x[:, None] * x[None, :], [-1]), tf.tile(x, [x.shape[0]])


def loop(x):
    total = tf.ones([2])
    for row in x:
        if tf.reduce_sum(row) > 3.0:
            total += row
    while tf.reduce_sum(total) < 100.0:
        total *= 2.0
    return total


def train_step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_mean(tf.nn.softmax(x) * tf.reduce_sum(x**2, 0))
    return tape.gradient(y, x)


@pytest.mark.parametrize("function", [row_count, loop, train_step], ids=lambda f: f.__name__)
@pytest.mark.parametrize("rows", [1, 2, 6])
def test_open_extents(tmp_path_factory, function, rows):
    path = tmp_path_factory.getbasetemp() / f"open_{function.__name__}"
    module = module_of(function, ([None, 2],))
    loaded = tf.saved_model.load(path) if path.exists() else again(module, path)
    x = tf.reshape(tf.range(2.0 * rows), [rows, 2]) + 0.5
    for mine, theirs in zip(tf.nest.flatten(loaded.f(x)), tf.nest.flatten(function(x)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_open_extents_that_are_multiplied_or_one(tmp_path):
    module = module_of(pairwise, ([None],))
    module.both = tf.function(
        lambda x, y: tf.reduce_sum(tf.concat([x, y], 1), 1), input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None, 3])]
    )
    module.apart = tf.function(lambda x, y: tf.reshape(x[:, None] + y, [-1]), input_signature=[tf.TensorSpec([None])] * 2)
    loaded = again(module, tmp_path / "m")
    for count in (1, 4):
        x = tf.range(float(count))
        for mine, theirs in zip(loaded.f(x), pairwise(x), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert loaded.both(tf.ones([2, 2]), tf.ones([2, 3])).numpy().tolist() == [5.0, 5.0]
    assert loaded.apart([1.0, 2.0], [0.0, 1.0, 2.0]).numpy().tolist() == [1.0, 2.0, 3.0, 2.0, 3.0, 4.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"where a - b is 0\. It got one of shape \[2, 2\], one"):
        loaded.both(tf.ones([2, 2]), tf.ones([1, 3]))


def test_extents_that_are_rounded_take_multiples_only(tmp_path):
    module = module_of(lambda x: tf.reshape(x, [x.shape[0], 2, x.shape[1] // 2]), ([None, None],))
    loaded = again(module, tmp_path / "m")
    assert [loaded.f(tf.ones([3, n])).shape for n in (64, 6)] == [[3, 2, 32], [3, 2, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(b\) // 2\).* is 0\. It got one of shape \[3, 7\]"):
        loaded.f(tf.ones([3, 7]))


def test_a_function_that_goes_several_ways(tmp_path):
    loaded = again(module_of(lambda x: x if x.shape[0] % 3 else -x, ([None],)), tmp_path / "m")  # TensorFlow: TypeError
    assert [loaded.f(tf.ones([n])).numpy()[0] for n in (2, 3, 4, 9)] == [1.0, -1.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (
            lambda x: x * float(np.sqrt(x.shape[0])),
            ValueError,
            r"cannot be traced for the open extents.*\[test_saving.py:\d+\]",
        ),
        (
            lambda x: tf.numpy_function(np.sin, [x], tf.float32),
            NotImplementedError,
            "runs as eager code, because a Python function",
        ),
        (lambda x: tf.boolean_mask(x, x > 1.0), NotImplementedError, "it runs as eager code, because"),
        (
            lambda x: tf.py_function(lambda y: y, [x], tf.TensorSpec([3])),
            ValueError,
            r"EagerPyFunc calls a Python function.*\[test_sav",
        ),
    ],
)
def test_what_cannot_be_saved_says_so_and_where(tmp_path, function, error, text):
    module = module_of(function, ([3],) if "py_function" in str(function.__code__.co_names) else ([None],))
    with pytest.raises(error, match=text):
        tf.saved_model.save(module, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_variable_that_hangs_on_nothing(tmp_path):
    v = tf.Variable(1.0)
    with pytest.raises(AssertionError, match="Tried to export a function which references an 'untracked' resource"):
        tf.saved_model.save(module_of(lambda x: x * v, ([],)), tmp_path / "m")


@pytest.mark.parametrize("what", [3, [tf.Module()], tf.Module], ids=["int", "list", "class"])
def test_what_is_no_object(tmp_path, what):
    with pytest.raises(ValueError, match="Expected an object of type `Trackable`, such as"):
        tf.saved_model.save(what, tmp_path / "m")


def test_random_numbers_checks_and_gradients_of_ones_own(tmp_path):
    @tf.custom_gradient
    def clipped(x):
        return x * 3.0, lambda dy: tf.minimum(dy, 1.0)

    def checked(x):
        tf.debugging.assert_positive(x, message="too low")
        return tf.gather([1.0, 2.0], tf.cast(x, tf.int32))

    tf.random.set_seed(3)
    module = module_of(lambda: tf.random.normal([2]))
    module.clipped = tf.function(clipped, input_signature=[tf.TensorSpec([])])
    module.checked = tf.function(checked, input_signature=[tf.TensorSpec([])])
    loaded = again(module, tmp_path / "m")
    numbers = [loaded.f().numpy().tolist() for _ in range(2)]
    np.testing.assert_allclose(numbers, [[-1.864718, 0.802645], [-0.412293, -0.25173962]], rtol=1e-6)
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loaded.clipped(x)
    assert (float(y), float(tape.gradient(y, x))) == (3.0, 1.0)
    assert float(loaded.checked(1.0)) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too low\.  \nCondition x > 0 did not hold element-wise"):
        loaded.checked(-1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="indices = 7 is not in"):
        loaded.checked(7.0)


def test_functions_in_functions_and_a_step_of_training(tmp_path):
    v = tf.Variable([1.0, 2.0])
    inner = tf.function(lambda x: tf.reduce_sum(v * x))

    def step(x):
        with tf.GradientTape() as tape:
            loss = inner(x) ** 2
        v.assign_sub(0.1 * tape.gradient(loss, v))
        return loss

    loaded = again(module_of(step, ([2],), v=v), tmp_path / "m")
    losses = [(float(loaded.f([1.0, 1.0])), float(step(tf.ones([2])))) for _ in range(3)]
    assert all(mine == theirs for mine, theirs in losses) and losses[0][0] == 9.0
    np.testing.assert_array_equal(loaded.v, v)
    loaded = again(loaded, tmp_path / "m")  # what was loaded is saved again, in the place of the first
    np.testing.assert_array_equal(loaded.v, v)
    assert float(loaded.f([1.0, 1.0])) == float(step(tf.ones([2])))
    assert len([*(tmp_path / "m").rglob("*.safetensors")]) == 2


def test_another_process_needs_no_code(tmp_path):
    tf.saved_model.save(module_of(lambda x: tf.matmul(x, [[1.0], [2.0]]), ([None, 2],)), tmp_path / "m")
    code = "import sys, gradtape as tf; print(tf.saved_model.load(sys.argv[1]).f([[1.0, 1.0], [0.0, 1.0]]).numpy().tolist())"
    done = forked.run([sys.executable, "-c", code, tmp_path / "m"])
    assert (done.stdout, done.stderr) == ("[[3.0], [2.0]]\n", "")


def test_stablehlo_beside_it(tmp_path):
    import jax

    tf.saved_model.save(module_of(lambda x: x * 2.0, ([None, 2],)), tmp_path / "m")
    model = json.loads((tmp_path / "m" / "saved_model.json").read_text())["model"]
    exported = jax.export.deserialize(bytearray((tmp_path / "m" / model["stablehlo"]["serving_default"]["file"]).read_bytes()))
    assert exported.call(np.ones([3, 2], "float32"))["output_0"].tolist() == [[2.0, 2.0]] * 3


# ---------------------------------------------------------------------------------------------------------------------
# The folder


def test_foreign_files_stay(tmp_path, monkeypatch):
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "variables").mkdir()
    (folder / "variables" / "mine-0123456789abcdef.txt").write_text("mine")
    for _ in range(2):
        tf.saved_model.save(module_of(lambda x: x, ([],)), folder)
    assert sorted(p.name for p in folder.rglob("*") if p.is_file() and p.suffix == ".txt") == [
        "mine-0123456789abcdef.txt",
        "notes.txt",
    ]
    assert len([*(folder / "variables").glob("*.safetensors")]) == 2
    monkeypatch.chdir(folder)
    for path in (".", folder / ".." / "m"):
        tf.saved_model.save(tf.Module(), path)
        assert (folder / "notes.txt").read_text() == "mine" and Path.cwd() == folder
    with pytest.raises(ValueError, match="is an empty string"):
        tf.saved_model.save(tf.Module(), "")


@pytest.mark.parametrize(
    ("name", "text"), [("saved_model.pb", "x"), ("saved_model.json", "{}"), ("saved_model.json", '{"format": "x"}')]
)
def test_models_of_other_formats_stay(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(tf.errors.AlreadyExistsError, match=f"holds a file {name} that tf.saved_model.save did not write"):
        tf.saved_model.save(tf.Module(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == text
    (tmp_path / "file").write_text("x")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file is not a directory"):
        tf.saved_model.save(tf.Module(), tmp_path / "file")


def test_an_error_leaves_the_model_that_was_there(tmp_path, monkeypatch):
    from gradtape._src.train.saved_model import save

    folder = tmp_path / "m"
    tf.saved_model.save(module_of(lambda x: x + 1.0, ([],)), folder)
    before = sorted(p.relative_to(folder) for p in folder.rglob("*"))

    def fails(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(save, "_stablehlo", fails)
    for path in (folder, tmp_path / "new"):
        with pytest.raises(OSError, match="the disk is full"):
            tf.saved_model.save(module_of(lambda x: x + 2.0, ([],)), path)
    assert sorted(p.relative_to(folder) for p in folder.rglob("*")) == before and not (tmp_path / "new").exists()
    assert float(tf.saved_model.load(folder).f(1.0)) == 2.0


def test_what_is_no_saved_model(tmp_path):
    assert not tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(OSError, match="SavedModel file does not exist at: "):
        tf.saved_model.load(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    with pytest.raises(
        tf.errors.UnimplementedError, match=r"TensorFlow's SavedModel \(saved_model.pb\).*model.save\('model.keras'\)"
    ):
        tf.saved_model.load(tmp_path)
    path = tmp_path / "ours"
    tf.saved_model.save(tf.Module(), path, options=tf.saved_model.SaveOptions(save_debug_info=True))
    assert tf.saved_model.contains_saved_model(path)
    for tags in (None, "serve", ["serve"], [tf.saved_model.SERVING]):
        assert not tf.saved_model.load(path, tags, tf.saved_model.LoadOptions()).signatures
    with pytest.raises(ValueError, match="Got an incompatible argument to `tags`: train"):
        tf.saved_model.load(path, "train")


def test_orders_of_a_custom_gradient_that_uses_its_own_function(tmp_path):
    @tf.custom_gradient
    def own(x):
        return tf.exp(2.0 * x), lambda dy: dy * 2.0 * own(x)

    def slope(f):
        def of(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.gradient(y, x)

        return of

    module = tf.Module()
    module.f = tf.function(own, input_signature=[tf.TensorSpec([], tf.float64)])
    tf.saved_model.save(module, tmp_path)
    f, x = tf.saved_model.load(tmp_path).f, tf.constant(0.5, tf.float64)
    for order in range(6):
        assert float(f(x)) == pytest.approx(2.0**order * np.e, rel=1e-12)
        f = slope(f)
    with pytest.raises(NotImplementedError, match="A saved model keeps 5 orders of a tf"):
        f(x)


@pytest.mark.parametrize("default", [np.array([5.0]), tf.constant([[1, 2]]), (np.array([True]), 3)])
def test_arrays_as_defaults(tmp_path, default):
    module = tf.Module()
    module.f = tf.function(lambda x=default: tf.nest.map_structure(tf.identity, x))
    found = module.f()
    tf.nest.map_structure(np.testing.assert_array_equal, again(module, tmp_path / "m").f(), found)


def test_names_of_arguments_of_a_signature_have_letters_digits_and_underlines(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda a, b: a - b, input_signature=[tf.TensorSpec([], name="A-b"), tf.TensorSpec([], name="A/D")])
    loaded = again(module, tmp_path / "m")
    assert loaded.f(3.0, 1.0) == 2.0
    signature = loaded.signatures["serving_default"]
    assert sorted(signature.structured_input_signature[1]) == ["A_D", "A_b"]
    assert signature(A_b=tf.constant(3.0), A_D=tf.constant(1.0))["output_0"] == 2.0


def test_the_name_signatures_is_the_loaders(tmp_path):
    holder = tf.train.Checkpoint(signatures=tf.Variable(1.0))
    with pytest.raises(ValueError, match="has an attribute named 'signatures'"):
        tf.saved_model.save(holder, tmp_path / "m")
    assert again(tf.train.Checkpoint(inner=holder), tmp_path / "m").inner.signatures == 1.0


def test_an_object_can_be_called_if_it_was_saved_with_a_call(tmp_path):
    assert callable(again(Model(), tmp_path / "model")) and not callable(again(tf.Module(), tmp_path / "module"))
