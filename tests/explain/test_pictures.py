"""`tape.summary()`, `tape.residuals()`, `tape.draw()`: what they show of a tape, and that they run nothing."""

import dataclasses
import inspect
import io
import linecache
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import rich
from rich.console import Console

import gradtape as tf
from gradtape._src.core.base import hooks
from gradtape._src.core.engine import engine
from gradtape._src.explain.pictures.layout import layered
from tests.explain.programs import functions, nans, outside, questions, right, sources, values, zeros
from tests.explain.table import programs_of

EVERY_TENTH = [
    program
    for program in programs_of(functions, nans, outside, questions, right, sources, values, zeros)
    # no call of `gradient` is answered in the others
    if "tape.gradient(" in (code := inspect.getsource(program.values[0])) and not re.search("except|suppress", code)
][::10]
SVG = "{http://www.w3.org/2000/svg}"
HERE = Path(__file__).name


def line_of(text):
    """The number of the line of this file that ends with a mark."""
    (found,) = [i for i, line in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1) if line.endswith(f"# {text}")]
    return found


def two_layers(persistent=False):
    w, v = tf.Variable(tf.ones([4, 8])), tf.Variable(tf.ones([8, 2]))
    x = tf.ones([3, 4])
    with tf.GradientTape(persistent=persistent) as tape:
        h = tf.nn.relu(x @ w)  # hidden
        aside = tf.exp(x)  # aside
        loss = tf.reduce_sum(h @ v)  # loss
    return tape, loss, [w, v], (h, aside)


# The summary


def test_the_summary_has_a_row_for_each_op():
    tape, _, _, _kept_alive = two_layers()
    rows = [re.split(r"\s{2,}", row.strip()) for row in str(tape.summary()).splitlines()[4:]]
    hidden, loss = f"{HERE}:{line_of('hidden')}", f"{HERE}:{line_of('loss')}"
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("MatMul", hidden, "float32[3, 8]"),
        ("Relu", hidden, "float32[3, 8]"),
        ("Exp", f"{HERE}:{line_of('aside')}", "float32[3, 4]"),
        ("MatMul", loss, "float32[3, 2]"),
        ("Sum", loss, "float32[]"),
    ]
    assert rows[1][2:] == ["h = tf.nn.relu(x @ w)", "float32[3, 8]", "96 B"]
    assert all(len(row) == 4 for row in rows if row[0] != "Relu"), "only relu's result is kept"
    assert len(tape.summary()) == 5


@pytest.mark.parametrize("used", [False, True])
def test_the_summary_names_the_layers(used):
    model = tf.keras.Sequential(
        [tf.keras.Input([4]), tf.keras.layers.Dense(2, name="first"), tf.keras.layers.ReLU(name="then")], name="net"
    )
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(tf.ones([3, 4])))
    if used:
        tape.gradient(loss, model.trainable_variables)
    title, _, heading, _, *rows = str(tape.summary()).splitlines()
    start, end = heading.index("layer"), heading.index("line")
    layers = {row.split()[0]: row[start:end].strip() for row in rows}
    assert title.startswith("5 ops") and layers == {
        "BroadcastTo": "",
        "MatMul": "net/first",
        "AddV2": "net/first",
        "Relu": "net/then",
        "Sum": "",
    }


def test_the_summary_is_a_rich_table():
    tape, *_ = two_layers()
    out = io.StringIO()
    Console(file=out, width=120, force_terminal=True).print(tape.summary())
    assert "\x1b[" in out.getvalue()
    assert "MatMul" in out.getvalue()
    assert repr(tape.summary()) == str(tape.summary())
    assert isinstance(next(iter(tape.summary().__rich_console__(None, Console(width=80).options))), rich.table.Table)


def test_the_summary_keeps_its_columns_where_there_is_little_room():
    tape, *_ = two_layers()
    out = io.StringIO()
    Console(width=66, file=out).print(tape.summary())
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= 66
    assert re.split(r"\s{2,}", lines[2].strip()) == ["op", "line", "source", "result", "kept"]
    (relu,) = [line for line in lines if line.strip().startswith("Relu")]
    assert re.search(r"h = tf\S*… .* float32\[3, 8\] .* 96 B$", relu)


def test_source_text_is_no_markup():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = w * {"[bold]": 2.0}["[bold]"]
    assert '{"[bold]": 2.0}["[bold]"]' in str(tape.summary())
    del y


def test_a_tape_that_was_used_up_is_still_shown():
    tape, loss, variables, _ = two_layers()
    before = str(tape.summary()).splitlines()
    tape.gradient(loss, variables)
    for _ in range(2):  # before and after its program has run
        after = str(tape.summary()).splitlines()
        assert after[0] == "5 ops, the tape is used up and holds nothing"
        assert [row.split()[:2] for row in after[3:]] == [row.split()[:2] for row in before[3:]]
        assert "float32[3, 8]" in after[4]
        loss.numpy()


def test_numbers_have_no_name_but_shapes_are_known_after_the_run():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * 2.0 + 1.0)
    tape.gradient(loss, w).numpy()
    assert "?" not in str(tape.summary())


def test_an_op_of_several_results_is_one_row():
    x = tf.ones([2, 6])
    with tf.GradientTape() as tape:
        tape.watch(x)
        first, second, third = tf.split(x, 3, axis=1)
        loss = first * second
    assert [row.split()[0] for row in str(tape.summary()).splitlines()[4:]] == ["Split", "Mul"]
    assert "float32[2, 2], float32[2, 2], float32[2, 2]" in str(tape.summary())
    assert drawn(tape.draw())[1] == ["active"] * 2, "x to the parts, the parts to the loss once"
    del third, loss


def test_an_empty_tape():
    with tf.GradientTape() as tape:
        pass
    assert str(tape.summary()).startswith("0 ops")
    assert tape.residuals() == []
    ElementTree.fromstring(str(tape.draw()))
    assert str(tf.GradientTape().summary()).startswith("0 ops")


def test_inside_of_the_context():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = w * w
        assert len(tape.summary()) == 1
        z = y * w
    assert len(tape.summary()) == 2
    assert tape.gradient(z, w).numpy() == 12.0


@pytest.mark.parametrize("show", [tf.GradientTape.summary, tf.GradientTape.residuals, tf.GradientTape.draw])
def test_nothing_runs(show):
    tape, loss, variables, _ = two_layers()
    pending = len(engine.local.trace.nodes)
    before = tf.config.cache_info()
    str(show(tape))
    assert len(engine.local.trace.nodes) == pending
    assert tf.config.cache_info() == before
    assert loss.node.value is None
    np.testing.assert_allclose(tape.gradient(loss, variables)[1], np.full([8, 2], 12.0))


# Residuals


def test_residuals():
    tape, _, _, _kept_alive = two_layers()
    found = {(r.value, r.state): r for r in tape.residuals()}
    assert set(found) == {("x", "input"), ("w", "input"), ("v", "input"), ("Relu", "pending")}
    relu = found["Relu", "pending"]
    assert (relu.shape, relu.dtype, relu.bytes, relu.line) == ((3, 8), "float32", 96, line_of("hidden"))
    assert relu.file == __file__
    assert [(op, line) for op, _, line in relu.needed_by] == [("Relu", line_of("hidden")), ("MatMul", line_of("loss"))]
    assert tape.residuals().bytes == 96
    with pytest.raises(dataclasses.FrozenInstanceError, match="bytes"):
        relu.bytes = 0
    assert "96 B kept for the backward pass" in str(tape.residuals())


def test_what_is_held_after_the_run_is_what_was_announced():
    w = tf.Variable(tf.ones([200, 200]))
    x = tf.ones([200, 200])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(tf.nn.tanh(tf.nn.tanh(x @ w)))
    before = [(r.value, r.bytes) for r in tape.residuals() if r.state == "pending"]
    assert before == [("Tanh", 160_000), ("Tanh", 160_000)]
    loss.numpy()
    assert [(r.value, r.bytes) for r in tape.residuals() if r.state == "held"] == before
    assert tape.residuals().bytes == 320_000


def test_what_is_small_is_computed_again():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.exp(w))
    (found,) = tape.residuals()
    assert (found.value, found.state) == ("Exp", "recomputed")
    assert tape.residuals().bytes == 0
    tape.gradient(loss, w)
    assert tape.residuals() == []


def test_names_are_the_users():
    class Layer:
        def __init__(self):
            self.kernel, (self.a, self.b) = tf.Variable(1.0), (0, 1)
            self.bias = tf.Variable(2.0)

    layer, other = Layer(), [tf.Variable(3.0, name="other")]
    with tf.GradientTape() as tape:
        loss = layer.kernel * layer.bias * other[0]
    boxes, _ = drawn(tape.draw())
    assert [rows[0] for kind, rows in boxes if kind == "watched"] == ["self.kernel", "self.bias", "other"]
    assert [r.value for r in tape.residuals() if r.state == "input"] == ["self.kernel", "self.bias", "other"]
    del loss


def test_what_is_on_no_way_is_not_held():
    w, x = tf.Variable(tf.ones([300, 300])), tf.ones([300, 300])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * 2.0)
        aside = tf.tanh(x)
    assert [r.value for r in tape.residuals() if r.state != "input"] == []
    del loss, aside


# The drawing


def drawn(drawing):
    """The groups of an SVG by class, each as the list of its rows; and the classes of its paths."""
    root = ElementTree.fromstring(str(drawing))
    boxes = [(g.get("class"), [t.text for t in g.iter(f"{SVG}tspan")]) for g in root.iter(f"{SVG}g")]
    return boxes, [p.get("class") for p in root.iter(f"{SVG}path")]


def test_the_drawing_is_folded_by_line():
    tape, _, _, _kept_alive = two_layers()
    boxes, paths = drawn(tape.draw())
    assert [(kind, rows[1]) for kind, rows in boxes] == [
        ("watched", "float32[4, 8]"),
        ("watched", "float32[8, 2]"),
        ("active", "MatMul · Relu"),
        ("passive", "Exp"),
        ("active", "MatMul · Sum"),
    ]
    assert boxes[2][1] == [f"{HERE}:{line_of('hidden')}  h = tf.nn.relu(x @ w)", "MatMul · Relu", "float32[3, 8]  96 B kept"]
    assert paths == ["active"] * 3, "w to h, v to the loss, h to the loss"
    boxes, paths = drawn(tape.draw(fold=False))
    assert [rows[1] for kind, rows in boxes if kind != "watched"] == ["MatMul", "Relu", "Exp", "MatMul", "Sum"]
    assert len(paths) == 5


def test_a_drawing_shows_itself_and_is_saved(tmp_path):
    tape, *_ = two_layers()
    drawing = tape.draw()
    assert drawing._repr_svg_() == str(drawing)
    drawing.save(tmp_path / "tape.svg")
    assert (tmp_path / "tape.svg").read_text("utf-8") == str(drawing)
    assert "save(path)" in repr(drawing)


def test_hostile_source_in_a_drawing():
    namespace = {"tf": tf}
    code = 'w = tf.Variable(1.0)\nwith tf.GradientTape() as tape:\n    y = w * len("</svg><script>é漢\x01&amp;")\n'
    exec(compile(code, "<hostile & cell>", "exec"), namespace)
    linecache.cache["<hostile & cell>"] = (len(code), None, code.splitlines(True), "<hostile & cell>")
    try:
        root = ElementTree.fromstring(str(namespace["tape"].draw()))
    finally:
        del linecache.cache["<hostile & cell>"]
    assert {element.tag for element in root.iter()} == {f"{SVG}{t}" for t in "svg style g title rect text tspan path".split()}
    assert "</svg><script>é漢\ufffd&amp;" in "".join(root.itertext())


def test_a_long_tape_is_cut():
    w = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = w
        for _ in range(400):
            y = y + w
            y = tf.sin(y)
    boxes, _ = drawn(tape.draw())
    assert boxes[-1] == ("rest", ["… 500 more"])
    assert len(boxes) == 302


@pytest.mark.parametrize("program", EVERY_TENTH)
def test_pictures_of_the_explainers_programs(program, monkeypatch):
    shown = []

    def show(call, tape, targets, sources, results):
        ElementTree.fromstring(str(tape.draw()))
        assert {r.state for r in tape.residuals()} <= {"held", "pending", "recomputed", "input"}
        shown.append(len(tape.summary()))

    monkeypatch.setattr(hooks.watch, "asked", show)
    program()
    assert shown


# The layout


def test_boxes_do_not_overlap_and_edges_run_downwards():
    random = np.random.default_rng(0)
    sizes = [(float(w), 30.0) for w in random.integers(20, 200, 40)]
    edges = [(int(random.integers(0, b)), b) for b in range(1, 40) for _ in range(2)]
    layout = layered(sizes, edges)
    for a in range(40):
        for b in range(a):
            (ax, ay), (bx, by) = layout.boxes[a], layout.boxes[b]
            apart = ay + 30 <= by or by + 30 <= ay or ax + sizes[a][0] <= bx or bx + sizes[b][0] <= ax
            assert apart, (a, b)
    for (upper, lower), route in zip(edges, layout.routes, strict=True):
        assert [y for _, y in route] == sorted(y for _, y in route)
        assert route[0] == pytest.approx((layout.boxes[upper][0] + sizes[upper][0] / 2, layout.boxes[upper][1] + 30))
        assert route[-1] == pytest.approx((layout.boxes[lower][0] + sizes[lower][0] / 2, layout.boxes[lower][1]))
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for route in layout.routes for x, y in route)
    assert all(x >= 0 and x + w <= layout.width + 1e-6 for (x, _), (w, _) in zip(layout.boxes, sizes, strict=True))


def test_a_chain_stands_in_one_column():
    layout = layered([(50.0, 20.0)] * 3, [(0, 1), (1, 2)])
    assert len({x for x, _ in layout.boxes}) == 1
    assert layered([], []).boxes == []
