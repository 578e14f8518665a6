"""The answers about several sources are a list, tuple or dict that prints as a table: each cause once, faults first."""

import pytest

import gradtape as tf
from gradtape._src.explain import words

autodiff = tf.autodiff


class Layer(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(2.0)


def program():
    """A loss of which `w` and `layer.kernel` are cut off by one op, `u` has no part in it, and `v` a gradient."""
    layer, w, u, v = Layer(), tf.Variable(3.0), tf.Variable(4.0), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        rounded = tf.round(w * layer.kernel)
        loss = rounded * v
    tape.gradient(loss, [v, u, w, layer.kernel])
    return autodiff.explain(loss, [v, u, w, layer.kernel])


def test_a_further_break_is_told_once():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = tf.stop_gradient(tf.round(v) + tf.floor(w))
    assert tape.gradient(loss, [v, w]) == [None, None]
    answers = tf.autodiff.explain(loss, [v, w])
    assert [answer.also[0].code for answer in answers] == ["stopped"] * 2
    assert str(answers).count("makes a constant") == answers._repr_html_().count("makes a constant") == 1
    assert str(answers).splitlines()[-1] == f"      also line {answers[1].line}: stopped: as above"


def test_the_text():
    answers = program()
    line = answers[2].line
    assert str(answers).splitlines() == [
        "3 of 4 have no gradient: test_many.py",
        "  w, layer.kernel: the gradient is None",
        f"    line {line}: not_differentiable: tf.round in `rounded = tf.round(w * layer.kernel)` has no derivative, because "
        "it is piecewise constant, and a derivative would be 0 nearly everywhere.",
        "      fix: pass the gradient straight through: "
        "`(w * layer.kernel) + tf.stop_gradient(tf.round(w * layer.kernel) - (w * layer.kernel))`",
        "  u: the gradient is None",
        f"    line {line + 1}: unused: loss does not depend on u.",
        "      advice: compute loss from u, or leave it out of the sources.",
        "  v: connected",
    ]
    assert repr(answers) == str(answers)


def test_it_is_a_list():
    answers = program()
    assert isinstance(answers, list) and len(answers) == 4
    assert [d.code for d in answers] == ["connected", "unused", "not_differentiable", "not_differentiable"]
    assert answers[1].to_dict()["code"] == "unused"
    assert answers == list(answers) and type(answers[:2]) is list


def test_a_notebook_shows_a_table():
    page = program()._repr_html_()
    assert page.startswith("<b>3 of 4 have no gradient</b><table><tr><td><code>w, layer.kernel</code></td><td>None</td>")
    assert (
        page.count("<tr>") == 3
        and page.count("<b>Fix</b>") == 1
        and page.endswith("connected</td><td style='text-align: left; overflow-wrap: anywhere'></td></tr></table>")
    )


@pytest.mark.parametrize(
    "given", [lambda x, y: (x, y), lambda x, y: {"x": x, "y": y}, lambda x, y: [x, [y]], lambda x, y: [x, y]]
)
def test_answers_have_the_structure_of_the_sources(given):
    x, y = tf.Variable(1.0), tf.Variable(0.0)
    with tf.GradientTape(persistent=True) as tape:
        loss = x * x + tf.nn.relu(y)
    tape.gradient(loss, [x, y])
    answers = autodiff.explain(loss, given(x, y), tape)
    assert isinstance(answers, type(given(x, y)))
    first, second = answers.values() if isinstance(answers, dict) else answers
    assert (first.code, (second[0] if isinstance(second, list) else second).code) == ("connected", "dead_relu")
    assert str(answers).startswith("1 of 2 has a gradient of zeros: test_many.py\n  y: the gradient is zeros\n")


def test_nan_and_infinity():
    x, y, z = tf.Variable(0.0), tf.Variable([0.0, 0.0]), tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.sqrt(x) + tf.norm(y) + z
    answers = autodiff.explain_nan(loss, [x, y, z], tape)
    assert str(answers).startswith("1 of 3 has an infinite gradient, 1 has a gradient of NaN: test_many.py\n")


def test_all_is_well():
    x, y = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = x * y
    tape.gradient(loss, [x, y])
    assert str(autodiff.explain(loss, [x, y])) == "all 2 have a gradient\n  x, y: connected"


def test_a_cause_names_a_file_only_where_it_is_another():
    """Of the same name, too."""
    said = "`a = b` (/one/m.py:3) and `c = d` (/two/m.py:4)"
    assert words._with_short_places(said, "/one/m.py") == "`a = b` (line 3) and `c = d` (m.py:4)"
