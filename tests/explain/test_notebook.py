"""In IPython a line is named by its cell, and a diagnosis shows its sentences."""

import io
import linecache
import logging
import re
import sys
import types

import pytest

import gradtape as tf
from gradtape._src.core.platform.places import place

CELL, ANOTHER = "/tmp/ipykernel_7/428.py", "/tmp/ipykernel_7/429.py"
SOURCE = """\
with tf.GradientTape(persistent=True) as tape:
    y = tf.reduce_sum(tf.round(x))
gradient = tape.gradient(y, x)
"""


@pytest.fixture
def shell(monkeypatch):
    """A shell whose third cell is CELL, its fourth ANOTHER, as far as gradtape looks at one."""

    def format_code_name(file):
        return {CELL: ("Cell", "In[3]"), ANOTHER: ("Cell", "In[4]")}.get(file)

    made = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=format_code_name))
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: made
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(linecache.cache, CELL, (len(SOURCE), None, SOURCE.splitlines(keepends=True), CELL))


@pytest.fixture
def cell(shell):
    """The names of a cell that ran."""
    names = {"tf": tf, "x": tf.Variable([0.4, 1.6])}
    exec(compile(SOURCE, CELL, "exec"), names)
    return types.SimpleNamespace(**names)


def shown(value):
    out = io.StringIO()
    value._repr_pretty_(types.SimpleNamespace(text=out.write), False)
    return out.getvalue()


def test_a_diagnosis_names_the_cell(cell):
    diagnosis = tf.autodiff.explain(cell.y, cell.x)
    assert str(diagnosis).startswith("In [3], line 2: not_differentiable: tf.round in `y = tf.reduce_sum(tf.round(x))`")
    assert diagnosis.file == CELL
    assert shown(diagnosis) == str(diagnosis)


def test_a_diagnosis_is_html(cell):
    page = tf.autodiff.explain(cell.y, cell.x)._repr_html_()
    assert page.startswith("<b>In [3], line 2</b> <code>not_differentiable</code> tf.round in <code>y = tf.")
    assert "<b>Fix</b>: " in page
    also = tf.autodiff.Diagnosis("unused", "<stdin>", 1, cause="a < b", also=(tf.autodiff.Diagnosis("rebound", cause="c"),))
    assert (
        also._repr_html_() == "<b>&lt;stdin&gt;:1</b> <code>unused</code> a &lt; b<ul><li>also <code>rebound</code> c</li></ul>"
    )


def test_the_log_names_the_cell(shell, caplog):
    with caplog.at_level(logging.WARNING, "gradtape"):
        exec(compile("\n" + SOURCE, ANOTHER, "exec"), {"tf": tf, "x": tf.Variable([0.4, 1.6])})
    assert "The gradient is None. In [4], line 3: not_differentiable" in caplog.text


def test_pictures_of_a_tape_name_the_cell(cell):
    assert re.search(r"Sum +In \[3\], line 2 +y = tf\.reduce_sum", str(cell.tape.summary()))


def test_a_profile_shows_its_table_and_names_the_cell(cell):
    profile = tf.profiler.profile(cell.tape, cell.y, sources=cell.x)
    assert shown(profile) == str(profile)
    assert "In [3], line 2" in str(profile)


@pytest.mark.parametrize(
    ("file", "expected"),
    [(CELL, "In [3], line 2"), ("/home/a.py", "a.py:2"), ("<stdin>", "<stdin>:2"), ("a.py", "a.py:2")],
)
def test_a_place(shell, file, expected):
    assert place(file, 2, short=True) == expected


def test_without_a_shell_a_file_is_a_file(monkeypatch):
    assert place(CELL, 2) == f"{CELL}:2"
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    assert place(CELL, 2) == f"{CELL}:2"
