"""Gradients with respect to what was recorded under a name: `name=`, name scopes, Keras layers."""

import numpy as np
import pytest

import gradtape as tf

W = [0.5, -1.5]


def nets(w):
    """exp(w²), with the names of its parts."""
    with tf.name_scope("block"):
        hidden = tf.identity(w * w, name="hidden")
    return tf.reduce_sum(tf.exp(hidden, name="exp"))


def test_a_name_is_a_source_and_a_target():
    w = tf.Variable(W)
    with tf.GradientTape(persistent=True) as tape:
        loss = nets(w)
    expected = np.exp(np.square(W))
    np.testing.assert_allclose(tape.gradient(loss, "block/hidden"), expected, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(loss, "hidden"), expected, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient("hidden", w), 2 * np.array(W))
    np.testing.assert_allclose(tape.jacobian("exp", "hidden:0"), np.diag(expected), rtol=1e-6)
    d = tape.gradient(["exp", "hidden"], {"h": "hidden", "w": w})
    np.testing.assert_allclose(d["h"], expected + 1, rtol=1e-6)
    np.testing.assert_allclose(d["w"], (expected + 1) * 2 * np.array(W), rtol=1e-6)


def test_names_that_end_alike():
    w = tf.Variable(W)
    with tf.GradientTape(persistent=True) as tape:
        x = w
        for block in ("a", "b"):
            with tf.name_scope(block):
                x = tf.multiply(x, 2.0, name="out")
    assert tape.gradient(x, "a/out").numpy().tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="Several names on this tape end in 'out': 'a/out', 'b/out'"):
        tape.gradient(x, "out")


def test_what_is_found_is_the_tensor_itself():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        kept = tf.square(x, name="kept")
        tf.square(kept, name="dropped")
        assert tape.get_tensor_by_name("kept") is kept
        assert float(tape.get_tensor_by_name("dropped")) == 81.0


@pytest.mark.parametrize("compiled", [False, True])
def test_second_order(compiled):
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.sin(tf.square(x, name="squares")))
            first = tf.identity(inner.gradient(y, "squares"), name="first")  # cos(x²)
        return outer.gradient(first, [x, "first"])

    d, one = (tf.function(second) if compiled else second)(tf.constant([0.5, 2.0], tf.float64))
    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(d, -np.sin(x * x) * 2 * x)
    np.testing.assert_allclose(one, [1.0, 1.0])


def test_outputs_of_an_op_with_several():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        left, right = tf.split(x, 2, name="halves")
        y = tf.reduce_sum(left * right * right)
    assert tape.gradient(y, "halves:1").numpy().tolist() == [4.0]
    with pytest.raises(ValueError, match="'halves' has 2 outputs: say which, 'halves:0' to 'halves:1'"):
        tape.gradient(y, "halves")
    with pytest.raises(ValueError, match="none of number 2"):
        tape.gradient(y, "halves:2")


def test_a_name_given_several_times():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x
        for _ in range(3):
            y = tf.multiply(y, x, name="power")
    with pytest.raises(ValueError, match=r"3 tensors .* 'power' \(at test_names.py:\d+\), in a loop .* index=0\) is the first"):
        tape.gradient(y, "power")
    assert [float(tape.gradient(y, tape.get_tensor_by_name("power", i))) for i in (0, 1, -1)] == [4.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="index 3 for 3 tensors"):
        tape.get_tensor_by_name("power", 3)


def test_a_function_that_hands_its_name_on_gives_it_once():
    x = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        y = tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], x, name="loss")
    assert tape.gradient("loss", x) is not None and y.shape == [1]


def test_unknown_names():
    w = tf.Variable(W, name="weights")
    with tf.GradientTape(persistent=True) as tape:
        loss = nets(w)
    with pytest.raises(ValueError, match=r"No tensor of the name 'hiden' .* there is 'block/hidden'\. Names are given"):
        tape.gradient(loss, "hiden")
    with pytest.raises(ValueError, match="A variable has that name: give the variable itself"):
        tape.gradient(loss, "weights")
    with pytest.raises(TypeError, match="A name is a string"):
        tape.get_tensor_by_name(3)


def test_a_name_inside_of_a_function_is_said_to_be_there():
    w = tf.Variable(W)

    @tf.function
    def compiled(x):
        return tf.reduce_sum(tf.square(x, name="only_inside"))

    with tf.GradientTape() as tape:
        loss = compiled(w)
    with pytest.raises(ValueError, match=r"at test_names.py:\d+, inside of a function, .* the tape outside sees one call"):
        tape.gradient(loss, "only_inside")


def test_a_layer_whose_outputs_have_no_order():
    class Odd(tf.keras.layers.Layer):
        def call(self, x):
            return {1: x * 2.0, "two": x * 3.0}

    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = Odd()(x)["two"]
    assert tape.gradient(y, x).numpy().tolist() == [3.0]


def test_other_tapes_and_used_ones():
    x = tf.constant(1.0)
    with tf.GradientTape() as early:
        early.watch(x)
        y = tf.square(x, name="early")
    with tf.GradientTape() as late:
        late.watch(x)
        tf.square(x, name="late")
    with pytest.raises(ValueError, match="but there is 'late'"):
        late.get_tensor_by_name("early")
    assert float(early.gradient(y, "early")) == 1.0
    with pytest.raises(RuntimeError, match="used up"):
        early.get_tensor_by_name("early")


def test_a_long_record_that_was_cut():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.identity(x * 2.0, name="early")
        for _ in range(600):
            y = y + 1.0
        tf.identity(y, name="late")
    assert float(tape.get_tensor_by_name("late")) == 602.0
    assert float(tape.gradient("late", "early")) == 1.0


def test_names_in_a_graph():
    with tf.Graph().as_default():
        x = tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.square(tf.square(x, name="inner"), name="outer")
        d = tape.gradient(y, "inner")
        with pytest.raises(ValueError, match="does not exist"):
            tape.gradient(y, "no")
        with tf.compat.v1.Session() as session:
            assert session.run(d) == 18.0


def test_keras_layers():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(3, "relu", name="features"), tf.keras.layers.Dense(1, name="head")], name="net"
    )
    x = tf.ones([2, 4])
    model(x)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(model(x) ** 2)
    out = tape.get_tensor_by_name("net/head")
    features = tape.get_tensor_by_name("features")
    np.testing.assert_allclose(out, model(x))
    np.testing.assert_allclose(tape.gradient(loss, "head"), 2 * out)
    np.testing.assert_allclose(tape.gradient(loss, "features"), (2 * out) @ tf.transpose(model.layers[1].kernel), rtol=1e-6)
    assert features.shape == (2, 3) and bool(tf.reduce_all(features >= 0))


def test_several_targets_against_several_sources_in_one_pass():
    """The sum's gradient is one pass back for all; the rows of a nest of targets are Jacobians that share one record."""
    runs = []

    @tf.custom_gradient
    def counted(x):
        return tf.identity(x), lambda dy: runs.append(1) or dy

    a, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        shared = counted(a * b)
        targets = {"sum": tf.reduce_sum(shared), "squares": tf.reduce_sum(shared * shared)}
    d = tape.gradient(targets, {"a": a, "b": b, "shared": shared}, {"sum": tf.constant(10.0), "squares": tf.constant(1.0)})
    assert len(runs) == 1
    np.testing.assert_allclose(d["shared"], 10 + 2 * np.array([3.0, 6.0]))
    np.testing.assert_allclose(d["a"], 3 * d["shared"])
    np.testing.assert_allclose(d["b"], np.dot([1.0, 2.0], d["shared"]))
    rows = tape.jacobian(targets, {"a": a, "b": b})
    np.testing.assert_allclose(rows["sum"]["a"], [3.0, 3.0])
    np.testing.assert_allclose(rows["squares"]["b"], 2 * 3.0 * 5.0)
