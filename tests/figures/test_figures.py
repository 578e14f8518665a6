"""Figures: what their axes show, what is left as it was, and what bad input says."""

import doctest
import importlib
import pkgutil
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape._src import figures
from gradtape._src.core.base.extras import package
from gradtape._src.figures import canvas

PNG = b"\x89PNG\r\n"


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def rows(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def title(figure):
    return figure.axes[0].get_title(loc="left")


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(figures.__path__)])
def test_examples(name, count):
    failed, ran = doctest.testmod(importlib.import_module(f"{figures.__name__}.{name}"), extraglobs={"tf": tf})
    assert not failed
    count("examples of docstrings run", ran)


def test_gradient_flow_has_a_row_for_each_variable():
    w, b = tf.Variable([3.0, 4.0], name="w"), tf.Variable(1.0, name="b")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w**2) + 0.01 * b
    figure = tf.figures.gradient_flow(tape.gradient(loss, {"w": w, "b": b}), {"w": w, "b": b})
    assert rows(figure) == ["b", "w"]
    np.testing.assert_allclose([bar.get_width() for bar in figure.axes[0].patches], [0.01, 0.01, 8.0, 7.0], rtol=1e-6)
    assert figure.axes[0].get_xscale() == "log"
    assert figure._repr_png_().startswith(PNG)


def test_gradient_flow_says_what_has_no_bar():
    gradients = [None, tf.zeros([2]), tf.constant(np.nan), tf.constant([np.inf, 1.0]), tf.zeros([0]), tf.constant(-2.0 + 0j)]
    figure = tf.figures.gradient_flow(gradients, [tf.Variable(0.0) for _ in gradients])
    assert texts(figure) == ["None", "zero", "NaN", "infinite", "empty"]
    assert title(figure).startswith("gradients of 6 variables: 1 is None, 1 is zero, 1 is NaN")
    assert figure._repr_png_().startswith(PNG)


def test_gradient_flow_takes_slices_and_variables_of_keras():
    layer = tf.keras.layers.Embedding(5, 2, name="words")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([1, 1, 3])))
    figure = tf.figures.gradient_flow(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)
    assert rows(figure) == ["words/embeddings"]
    assert figure.axes[0].patches[0].get_width() == 2.0


def test_gradient_flow_wants_a_gradient_for_each_variable():
    with pytest.raises(ValueError, match="gradient_flow: received 1 gradients for 2 variables; expected one for each"):
        tf.figures.gradient_flow([None], [tf.Variable(0.0), tf.Variable(0.0)])


def test_the_landscape_of_two_numbers_is_the_function_of_them():
    x, y, asked = tf.Variable(1.0), tf.Variable(2.0), []

    def loss():
        asked.append((float(x), float(y)))
        return x**2 + y

    figure = tf.figures.loss_landscape(loss, [x, y], extent=0.5, steps=3)
    assert sorted(asked) == [(a, b) for a in (0.5, 1.0, 1.5) for b in (1.5, 2.0, 2.5)]
    assert (float(x), float(y)) == (1.0, 2.0)
    assert figure._repr_png_().startswith(PNG)


def test_filters_of_a_direction_have_the_norms_of_the_filters():
    kernel, bias, seen = tf.Variable([[3.0, 0.0, 1.0], [4.0, 0.0, 0.0]]), tf.Variable([1.0, 2.0, 2.0]), []

    def loss():
        seen.append((kernel.numpy(), bias.numpy()))
        return tf.reduce_sum(kernel)

    before = kernel.numpy(), bias.numpy()
    tf.figures.loss_landscape(loss, {"kernel": kernel, "bias": bias}, steps=3)
    along = [(k - before[0], b - before[1]) for k, b in seen][5]  # one step along the first direction
    np.testing.assert_allclose(np.linalg.norm(along[0], axis=0), [5.0, 0.0, 1.0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(along[1]), 3.0, rtol=1e-5)
    np.testing.assert_array_equal(kernel.numpy(), before[0])


def test_variables_have_their_values_again_after_an_error():
    x = tf.Variable([1.0, 2.0])

    def loss():
        raise RuntimeError("no loss")

    with pytest.raises(RuntimeError, match="no loss"):
        tf.figures.loss_landscape(loss, [x])
    assert x.numpy().tolist() == [1.0, 2.0]


def test_a_landscape_has_gaps_where_the_loss_is_not_finite():
    x = tf.Variable([0.0, 1.0])
    figure = tf.figures.loss_landscape(lambda: tf.math.log(x[0]), x, steps=5)
    assert figure._repr_png_().startswith(PNG)
    nowhere = tf.figures.loss_landscape(lambda: tf.constant(np.nan), x, steps=3, directions=tuple(np.eye(2)))
    assert len(nowhere.axes) == 1  # no colours, so no bar for them


def test_a_direction_has_the_shapes_of_the_variables():
    with pytest.raises(ValueError, match=r"a direction of shapes \[\(3,\)\], expected those of the variables: \[\(2,\)\]"):
        tf.figures.loss_landscape(lambda: 0.0, tf.Variable([1.0, 2.0]), directions=(np.ones(3), np.ones(3)))


def test_a_landscape_needs_steps():
    with pytest.raises(ValueError, match="loss_landscape: received steps=2, expected 3 or more"):
        tf.figures.loss_landscape(lambda: 0.0, [tf.Variable(0.0)], steps=2)
    with pytest.raises(TypeError, match=r"loss_landscape moves variables, received 1\.5\. Give the variables of the loss"):
        tf.figures.loss_landscape(lambda: 0.0, [1.5])


def test_a_tape_has_a_row_for_each_line():
    x = tf.Variable(tf.ones([100]))
    with tf.GradientTape() as tape:
        hidden = tf.tanh(x)
        y = tf.reduce_sum(hidden) + x[0]
    figure = tf.figures.tape(tape)
    assert title(figure) == "4 ops, 400 B kept for the backward pass"
    assert [row.partition("  ")[2] for row in rows(figure)] == [
        "hidden = tf.tanh(x)",
        "y = tf.reduce_sum(hidden) + x[0]",
    ]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [400.0, 0.0, 0.0, 12.0]
    tape.gradient(y, x)
    assert tf.figures.tape(tape)._repr_png_().startswith(PNG)


def test_a_profile_has_a_row_for_each_line():
    x = tf.Variable(tf.ones([8, 8]))
    with tf.GradientTape(persistent=True) as tape:
        product = x @ x
        y = tf.reduce_sum(product)
    profile = tf.profiler.profile(tape, y, sources=x)
    figure = tf.figures.profile(profile)
    assert sum([bar.get_width() for bar in figure.axes[0].patches]) == profile.flops
    assert figure.axes[0].patches[0].get_width() == 1024.0
    assert figure._repr_png_().startswith(PNG)


def test_labels_are_cut_and_are_no_mathematics():
    figure = canvas.bars(["a $x$ b", "c" * 100], [("n", canvas.DARK, [1.0, 2.0])], "t", "u")
    assert rows(figure) == [r"a \$x\$ b", "c" * 59 + "…"]
    assert figure._repr_png_().startswith(PNG)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    package.cache_clear()
    canvas._figure_class.cache_clear()
    with pytest.raises(ImportError, match=r"Figures need matplotlib, .*: pip install 'matplotlib>=3.9'$"):
        tf.figures.gradient_flow([None], [tf.Variable(0.0)])
    canvas._figure_class.cache_clear()
