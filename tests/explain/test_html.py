"""The page of `gradtape why --html`: what stands in it, that it loads nothing, and in a browser that it works."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gradtape._src.explain.pictures.chosen import MOST_GROUPS, MOST_IN_GROUP, chosen
from gradtape._src.explain.pictures.highlight import coloured
from gradtape._src.explain.pictures.page import pictured
from gradtape._src.explain.report import watching
from gradtape._src.profile.profile import costs
from tests.cli.test_cli import GRADTAPE_RUN, folder, run_forked
from tests.explain.programs import functions, outside, questions, sources, zeros
from tests.explain.table import marked, programs_of

__all__ = ["folder"]
WHY = (*GRADTAPE_RUN[:-1], "why")

SCRIPT = """
import gradtape as tf

x = tf.ones([3, 4]) * 2.0  # unrecorded
w = tf.Variable(tf.ones([4, 2]))  # unrecorded
v = tf.Variable(2.0)
frozen = tf.Variable(3.0)


@tf.function
def penalty(v):
    squares = v * v  # path
    return tf.reduce_sum(squares)  # path


with tf.GradientTape(persistent=True) as tape:
    hidden = tf.nn.relu(x @ w)  # path
    aside = tf.exp(x)  # recorded
    scale = float(frozen)  # break
    loss = tf.reduce_sum(hidden * scale) + penalty(v)  # path

print(tape.gradient(loss, [w, v, frozen])[0].shape)
for _ in range(3):
    with tf.GradientTape() as tape:
        loss = v * v
    tape.gradient(loss, v)
"""

COLOURED = [
    ("return x.sum(1)  # é", [("return", "keyword"), ("1", "digits"), ("# é", "comment")]),
    ("len('a') + r'b'", [("len", "builtin"), ("'a'", "string"), ("r'b'", "string")]),
    ('"""a\nb""" + c', [('"""a', "string"), ('b"""', "string")]),
    ("if x:\n  y\n z = 'w'", [("if", "keyword")]),
    ("what is $ this? 'a", [("is", "keyword")]),
]

LAYERED = """
import gradtape as tf


class Dense(tf.Module):
    def __init__(self, columns, name):
        super().__init__(name=name)
        self.kernel = tf.Variable(tf.ones([4, columns]), name="kernel")

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.nn.relu(x @ self.kernel)


first, second, x = Dense(4, "first"), Dense(2, "second"), tf.ones([3, 4])
with tf.GradientTape() as tape:
    y = second(first(x))
    with tf.name_scope("loss"):
        loss = tf.reduce_sum(y)
tape.gradient(loss, [first.kernel, second.kernel])
"""

HOSTILE = '''
"""</script><script>alert(1)</script> <!-- <img src=x onerror=alert(2)> é 漢 \u202e \U0001f600 \x7f {{x}} ${x} $title"""
import gradtape as tf

w = tf.Variable(1.0, name="</script><b>w")
with tf.GradientTape() as tape:
    loss = tf.stop_gradient(w) * len("</script>")  # </SCRIPT ><!--
tape.gradient(loss, w)
'''


def page_of(folder, source, name="script.py"):
    """Run a script; returns the page and the report."""
    script, page = folder / name, folder / "report.html"
    script.write_text(source, "utf-8")
    with watching() as report, pictured(report, script, page, costs):
        exec(compile(source, str(script), "exec"), {"__name__": "__main__"})
    return page.read_text("utf-8"), report


class Parsed(HTMLParser):
    """The elements of a page with their attributes, and the text of each script."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts, self._inside = [], [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, text):
        if self._inside == "script":
            self.scripts[-1] += text


def data_of(page):
    parsed = Parsed(page)
    assert [a.get("type") for tag, a in parsed.elements if tag == "script"] == ["application/json", None]
    return json.loads(parsed.scripts[0])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("page"), SCRIPT)[0]


# What stands in it


def test_each_line_is_marked_as_what_became_of_it(page):
    data = data_of(page)
    first, _ = data["calls"]
    marks = {i: m[1] for i, line in enumerate(SCRIPT.splitlines(), 1) if (m := re.search(r"# (\w+)$", line))}
    assert {line: state for _, line, state in first["lines"]} == marks
    (file,) = data["files"]
    assert {name for name, _, _ in first["lines"]} == {file["name"]}
    assert file["lines"] == SCRIPT.splitlines()
    assert [len(parts) for parts in file["coloured"][:5]] == [0, 2, 0, 4, 3]


def test_the_sources_of_a_call(page):
    first, second = data_of(page)["calls"]
    frozen, w, v = first["sources"]  # those that lack something come first
    assert (w["name"], w["value"], w["what"], w["norm"]) == ("w", "float32[4, 2]", "", "50.9")  # 18 √8
    assert (v["name"], v["norm"]) == ("v", "4")
    assert (frozen["name"], frozen["what"], frozen["norm"]) == ("frozen", "None", "")
    assert frozen["diagnosis"]["code"] == "left_library"
    assert frozen["diagnosis"]["place"] == f"script.py:{frozen['diagnosis']['line']}"
    assert (second["times"], second["sources"][0]["diagnosis"]) == (3, None)


def test_the_tape_as_a_graph(page):
    first = data_of(page)["calls"][0]
    ops = [op for group in first["groups"] for op in group["ops"]]
    assert [op["number"] for op in ops] == list(range(len(ops)))
    assert all(-len(first["watched"]) <= i < op["number"] for op in ops for i in op["inputs"])
    assert [(g["state"], [op["op"] for op in g["ops"]]) for g in first["groups"][:2]] == [
        ("path", ["MatMul", "Relu"]),
        ("recorded", ["Exp"]),
    ]
    product, relu = first["groups"][0]["ops"]
    assert (product["value"], product["bytes"], product["norm"]) == ("float32[3, 2]", "24 B", "7.35")  # 3 √6
    assert relu["inputs"] == [product["number"]]
    assert {w["name"] for w in first["watched"]} == {"w", "v"}


def test_the_layers_of_the_tape(tmp_path):
    (call,) = data_of(page_of(tmp_path, LAYERED)[0])["calls"]
    assert [(g["layers"], g["line"], [op["op"] for op in g["ops"]]) for g in call["groups"]] == [
        (["first"], 12, ["MatMul", "Relu"]),
        (["second"], 12, ["MatMul", "Relu"]),
        (["loss"], 19, ["Sum"]),
    ]


def test_the_costs_of_a_call(tmp_path):
    (call,) = data_of(page_of(tmp_path, LAYERED)[0])["calls"]
    products = {tuple(c["layers"]): (c["line"], c["forward"], c["backward"]) for c in call["costs"] if c["op"] == "MatMul"}
    assert products == {("first",): (12, 96, 96), ("second",): (12, 48, 96)}  # 2·3·4·4, 2·3·4·2; the first's input needs none


def test_the_costs_of_a_tape_inside_of_a_function(tmp_path):
    before, body = LAYERED.split("with tf.GradientTape")
    body = ("with tf.GradientTape" + body).replace("\n", "\n    ")
    (call,) = data_of(page_of(tmp_path, f"{before}@tf.function\ndef step():\n    {body}\nstep()\n")[0])["calls"]
    assert {tuple(g["layers"]) for g in call["groups"]} == {("first",), ("second",), ("loss",)}
    assert {tuple(c["layers"]): c["forward"] for c in call["costs"] if c["op"] == "MatMul"} == {("first",): 96, ("second",): 48}


def test_the_costs_of_fit(tmp_path):
    page, _ = page_of(
        tmp_path,
        "import numpy as np\nfrom gradtape.keras import Sequential, layers\n"
        "model = Sequential([layers.Dense(3, name='first'), layers.Dense(1, name='last')])\n"
        "model.compile('sgd', 'mse')\nmodel.fit(np.ones([4, 2]), np.ones([4, 1]), verbose=0)\n",
    )
    (call,) = data_of(page)["calls"]
    products = {c["layers"][-1]: (c["line"], c["forward"]) for c in call["costs"] if c["op"] == "MatMul"}
    assert products == {"first": (5, 48), "last": (5, 24)}


def test_what_is_known_once_a_function_has_run(tmp_path):
    page, _ = page_of(
        tmp_path,
        "import gradtape as tf\nw = tf.Variable([-1.0])\n@tf.function\ndef step():\n    with tf.GradientTape() as tape:\n"
        "        y = tf.nn.relu(w)\n    return tape.gradient(y, w)\nstep()\n",
    )
    (call,) = data_of(page)["calls"]
    assert [(line, state) for _, line, state in call["lines"]] == [(6, "break")]
    assert [(s["what"], s["diagnosis"]["code"]) for s in call["sources"]] == [("zeros", "dead_relu")]


def test_a_call_that_raises(tmp_path):
    with pytest.raises(LookupError, match="RandomPoissonV2"):
        page_of(
            tmp_path,
            "import gradtape as tf\nw = tf.Variable([1.0])\nwith tf.GradientTape() as tape:\n"
            "    y = tf.random.poisson([2], w)\ntape.gradient(y, w)\n",
        )
    data = data_of((tmp_path / "report.html").read_text("utf-8"))
    assert data["headline"] == "w has an undefined gradient: line 5"
    assert [(s["what"], s["diagnosis"]["line"]) for s in data["calls"][0]["sources"]] == [("undefined", 4)]


def test_faults_come_first_and_one_cause_is_told_once(tmp_path):
    page, _ = page_of(
        tmp_path,
        "import gradtape as tf\nv, w, x = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)\n"
        "with tf.GradientTape() as tape:\n    stopped = tf.stop_gradient(v * w)\n    y = stopped * x\n"
        "tape.gradient(y, [x, v, w])\n",
    )
    data = data_of(page)
    assert data["headline"] == "2 of 3 have no gradient: line 6"
    (fault,) = data["faults"]
    assert (fault["sources"], fault["code"], fault["line"], fault["call"]) == ("v, w", "stopped", 4, 0)
    assert [source["name"] for source in data["calls"][0]["sources"]] == ["v", "w", "x"]


def test_the_main_break_is_told_from_further_ones_and_a_fix_can_be_copied(tmp_path):
    page, report = page_of(
        tmp_path,
        "import gradtape as tf\nw, v = tf.Variable(1.0), tf.Variable(2.0)\nwith tf.GradientTape() as tape:\n"
        "    first = tf.round(w)\n    loss = tf.stop_gradient(first * 2.0) * v\ntape.gradient(loss, [w, v])\n",
    )
    data = data_of(page)
    states = {line: state for _, line, state in data["calls"][0]["lines"]}
    assert (states[4], states[5]) == ("break", "also")
    (fault,) = data["faults"]
    assert (fault["place"], fault["label"]) == ("script.py:4", "fix")
    assert fault["copy"] == "first = w + tf.stop_gradient(tf.round(w) - w)"
    assert [other["line"] for other in fault["also"]] == [5]
    assert str(tmp_path) not in page and str(tmp_path) in str(report)


def test_a_long_tape_is_shown_in_part(tmp_path):
    source = (
        "import gradtape as tf\nw, dead = tf.Variable(1.0), tf.Variable(1.0)\nwith tf.GradientTape() as tape:\n    x = w * 1.0\n"
        "    for i in range(2000):\n        if i == 1000:\n            x += float(dead)\n"
        "        x = x * 0.999 + 0.001\n        x = -x\n"
        "tape.gradient(x, [w, dead])\n"
    )
    page, _ = page_of(tmp_path, source)
    (call,) = data_of(page)["calls"]
    assert call["ops"] == 6002
    assert len(call["groups"]) <= MOST_GROUPS + 1
    assert sum(group["gap"] for group in call["groups"]) + call["left_out"] + len(call["groups"]) == 4002
    assert [group["line"] for group in call["groups"] if group["state"] == "break"] == [7]
    assert len(page) < 600_000


@pytest.mark.parametrize(
    ("groups", "room", "expected"),
    [
        ([], 10, []),
        ([(1, False), (2, True)], 10, [(0, 1, 0), (1, 2, 0)]),
        ([(1, False), (2, True)], 2, [(1, 2, 1)]),
        ([(MOST_IN_GROUP + 1, False)], 1000, [(0, MOST_IN_GROUP, 0)]),
        ([(1, False)], 0, []),
    ],
)
def test_the_lines_that_are_chosen(groups, room, expected):
    assert list(chosen(groups, room)) == expected


def test_a_page_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("the old page")
    monkeypatch.setattr("gradtape._src.explain.pictures.page.json.dumps", lambda data, default: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        page_of(tmp_path, SCRIPT)
    assert (tmp_path / "report.html").read_text() == "the old page"
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "script.py"}


def test_it_loads_nothing(page):
    parsed = Parsed(page)
    policy = [a["content"] for tag, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"]
    assert not {tag for tag, _ in parsed.elements} & {"link", "img", "iframe", "object", "embed", "base"}
    assert not [
        a for _, attributes in parsed.elements for a in attributes if a in ("src", "href", "srcset") or a.startswith("on")
    ]
    assert set(re.findall(r"https?:[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|document\.write|eval\(", page)
    assert "prefers-color-scheme: dark" in page


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("hostile"), HOSTILE, name="<b>&'$title.py")[0]


def test_hostile_source_is_text(hostile):
    data = data_of(hostile)
    assert data["files"][0]["lines"] == [line.rstrip("\n") for line in HOSTILE.split("\n")[:-1]]
    assert "<" not in Parsed(hostile).scripts[0]
    tags = {tag for tag, _ in Parsed(hostile).elements}
    assert not tags & {"b", "img"}
    assert "<title>gradtape why: &lt;b&gt;&amp;&#x27;$title.py</title>" in hostile
    assert data["calls"][0]["sources"][0]["diagnosis"]["code"] == "stopped"


def test_a_later_call_at_the_same_line_that_lacks_something_new_is_shown(tmp_path):
    page, _ = page_of(
        tmp_path,
        "import gradtape as tf\nw = tf.Variable(2.0)\nfor i in range(3):\n    with tf.GradientTape() as tape:\n"
        "        loss = w * w if i < 2 else tf.stop_gradient(w)\n    tape.gradient(loss, w)\n",
    )
    (call,) = data_of(page)["calls"]
    assert (call["times"], call["sources"][0]["what"]) == (3, "None")
    assert call["groups"][0]["ops"][0]["op"] == "StopGradient"


def test_what_prints_does_not_print_again(tmp_path, capfd):
    page_of(
        tmp_path,
        "import gradtape as tf\nw = tf.Variable(2.0)\nwith tf.GradientTape() as tape:\n    tf.print('once')\n    y = w * w\n"
        "tape.gradient(y, w)\n",
    )
    written = capfd.readouterr()
    assert (written.out + written.err).count("once") == 1


def test_a_tape_inside_of_a_function(tmp_path):
    page, _ = page_of(
        tmp_path,
        "import gradtape as tf\nw = tf.Variable(2.0)\n@tf.function\ndef step():\n    with tf.GradientTape() as tape:\n"
        "        loss = w * w\n    return tape.gradient(loss, w)\nstep()\n",
    )
    (call,) = data_of(page)["calls"]
    assert [line for line, state in [p[1:] for p in call["lines"]] if state == "path"] == [6]
    assert call["sources"][0]["norm"] == ""


def test_a_script_without_gradients_and_one_that_raises(tmp_path):
    page, _ = page_of(tmp_path, "x = 1\n")
    assert data_of(page)["calls"] == []
    with pytest.raises(ZeroDivisionError, match="division"):
        page_of(tmp_path, SCRIPT + "1 / 0\n")
    assert len(data_of((tmp_path / "report.html").read_text("utf-8"))["calls"]) == 2


def test_source_that_is_gone(tmp_path):
    with watching() as report, pictured(report, tmp_path / "none.py", tmp_path / "report.html"):
        exec(compile(SCRIPT, "<cell>", "exec"), {"__name__": "__main__"})
    data = data_of((tmp_path / "report.html").read_text("utf-8"))
    assert [(f["name"], f["lines"]) for f in data["files"]] == [("none.py", []), ("<cell>", [])]
    assert [state for _, _, state in data["calls"][0]["lines"]].count("break") == 1


# A gradient call that is refused gives nothing to show.
SHOWN = [p for p in programs_of(functions, outside, questions, sources, zeros) if marked(p.values[0])[0] != "tape_used"]


@pytest.mark.parametrize("program", SHOWN[::10])
def test_the_line_of_a_diagnosis_is_marked(program, tmp_path):
    code, line = marked(program)
    file = program.__code__.co_filename
    with watching() as report, pictured(report, Path(file), tmp_path / "report.html"):
        program()
    data = data_of((tmp_path / "report.html").read_text("utf-8"))
    said = {s["diagnosis"]["code"] for call in data["calls"] for s in call["sources"] if s["diagnosis"]}
    assert code in said
    assert [Path(file).name, line, "break"] in [place for call in data["calls"] for place in call["lines"]]


# The command

ECHO = "import sys\nprint(sys.argv[1:])\n"


@pytest.mark.parametrize(
    ("before", "behind", "received"),
    [
        (["--html", "page.html"], ["a"], ["a"]),
        ([], ["a", "--html", "page.html", "--b"], ["a", "--b"]),
        (["--html", "page.html"], ["--html=own.html"], ["--html=own.html"]),
    ],
)
def test_the_option_stands_before_or_behind_the_script(before, behind, received, folder):
    (folder / "script.py").write_text(ECHO)
    done = run_forked([*WHY, *before], folder, *behind)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, str(received)), done.stderr
    assert (folder.parent / "page.html").exists()
    assert done.stdout.splitlines()[-1] == f"gradtape why: wrote {folder.parent / 'page.html'}"


def test_a_page_that_cannot_be_written(folder):
    (folder / "script.py").write_text(ECHO)
    done = run_forked(WHY, folder, "--html", "no/such/page.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gradtape why: cannot write" in done.stderr


# In a browser


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed: the package chromium of Debian")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser, path, **settings):
    """A page of the browser without a network, and what it asked for or complained of."""
    tab = browser.new_context(offline=True, viewport={"width": 1280, "height": 720}, **settings).new_page()
    noticed = []
    tab.on("request", lambda request: noticed.append(request.url))
    tab.on("pageerror", lambda error: noticed.append(str(error)))
    tab.on("console", lambda message: noticed.append(message.text))
    tab.goto(Path(path).as_uri())
    return tab, noticed


@pytest.fixture
def tab(browser, page, tmp_path):
    (tmp_path / "page.html").write_text(page, "utf-8")
    tab, noticed = opened(browser, tmp_path / "page.html")
    yield tab
    assert noticed == [(tmp_path / "page.html").as_uri()]


def test_the_broken_line_is_marked_in_a_browser(tab):
    (broken,) = tab.query_selector_all("#files .line.break")
    assert "scale = float(frozen)" in broken.inner_text()
    assert "left_library" in tab.locator(".why").inner_text()
    assert tab.locator("#gradients .lacks").count() == 1
    tab.select_option("#call", index=1)
    assert tab.locator("#files .line.break").count() == 0
    assert tab.locator("#gradients .gradient").count() == 1


def test_faults_in_a_browser(tab):
    assert tab.locator("#headline").inner_text() == "1 of 3 has no gradient: line 22"
    tab.select_option("#call", index=1)
    tab.locator(".fault").click()
    assert tab.locator("#files .line.break").count() == 1
    assert not tab.locator(".legend .also").is_visible()  # of which there is none


def test_the_call_of_the_first_fault_is_open(browser, tmp_path):
    source = (
        "import gradtape as tf\nw = tf.Variable(1.0)\nwith tf.GradientTape(persistent=True) as tape:\n    zero = w * 0.0\n"
        "    none = tf.round(w)\ntape.gradient(zero, w)\ntape.gradient(none, w)\n"
    )
    (tmp_path / "page.html").write_text(page_of(tmp_path, source)[0], "utf-8")
    tab, _ = opened(browser, tmp_path / "page.html")
    assert tab.locator("#call").input_value() == "✗ line 7: tape.gradient(none, w)"
    assert "tf.round" in tab.locator(".why").inner_text()


def test_a_narrow_screen(browser, page, tmp_path):
    (tmp_path / "page.html").write_text(page, "utf-8")
    tab, _ = opened(browser, tmp_path / "page.html", screen={"width": 400, "height": 800})
    tab.set_viewport_size({"width": 400, "height": 800})
    tab.keyboard.press("f")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert tab.locator(".fault").is_visible()


def test_folding_in_a_browser(tab):
    rows = tab.locator("#graph tr[data-place]")
    assert not rows.first.is_visible()
    folded = tab.locator("#graph path").count()
    tab.locator("details.group summary").first.click()
    assert rows.first.is_visible()
    tab.keyboard.press("f")
    assert tab.locator("details.group[open]").count() == tab.locator("details.group").count()
    tab.wait_for_function(f"document.querySelectorAll('#graph path').length > {folded}")
    tab.keyboard.press("f")
    assert tab.locator("details.group[open]").count() == 0


@pytest.fixture
def layered(browser, tmp_path):
    (tmp_path / "page.html").write_text(page_of(tmp_path, LAYERED)[0], "utf-8")
    tab, noticed = opened(browser, tmp_path / "page.html")
    yield tab
    assert noticed == [(tmp_path / "page.html").as_uri()]


def test_layers_in_a_browser(layered):
    assert layered.locator("#graph details.layer > summary").all_inner_texts() == ["first", "second", "loss"]
    assert not layered.locator("#graph details.layer details").first.is_visible()
    layered.keyboard.press("/")
    layered.keyboard.type("matmul")
    assert layered.locator("#graph details.layer.match").count() == 0
    layered.keyboard.press("Enter")
    assert layered.locator("#graph details.layer details").first.is_visible()
    layered.keyboard.press("Escape")
    layered.keyboard.press("l")
    assert layered.locator("#graph details").count() == 2
    assert layered.locator("#layers").get_attribute("aria-pressed") == "false"
    layered.locator("#graph summary").first.click()
    assert layered.locator("#graph details[open] tr[data-place]").count() == 4
    layered.locator("#layers").click()
    assert layered.locator("#graph details.layer").count() == 3


def test_no_layers_in_a_browser(tab):
    assert not tab.locator("#layers").is_visible()
    tab.keyboard.press("l")
    assert tab.locator("#graph details.layer").count() == 0


def test_costs_in_a_browser(layered):
    def names(depth):
        return layered.locator(f"#flame [data-depth='{depth}']").all_inner_texts()

    assert (names(0), names(1)) == (["all"], ["first", "second", "loss"])
    assert [name.rpartition("/")[2] for name in names(2)] == ["script.py:12", "script.py:12", "script.py:19"]
    layered.locator("#flame button").first.focus()
    layered.keyboard.press("ArrowDown")
    layered.keyboard.press("ArrowRight")
    focused = layered.locator("#flame :focus")
    assert focused.inner_text() == "second"
    assert re.fullmatch(r"second: \d+ FLOPs forward, \d+ backward", focused.get_attribute("aria-label"))
    before = focused.bounding_box()["width"]
    layered.keyboard.press("Enter")
    focused = layered.locator("#flame :focus")
    assert (names(0), names(1), focused.inner_text()) == (["all"], ["second"], "second")
    assert focused.bounding_box()["width"] > 1.5 * before
    layered.keyboard.press("ArrowUp")
    layered.keyboard.press("Enter")
    assert names(1) == ["first", "second", "loss"]


def test_search_and_keys_in_a_browser(tab):
    tab.keyboard.press("/")
    tab.keyboard.type("squares")
    assert tab.locator("#found").inner_text() == "2 found"
    assert tab.locator("#files .line.match").count() == 2
    tab.keyboard.press("Enter")
    tab.keyboard.press("Escape")
    assert tab.locator("#files .line.match").count() == 0
    tab.keyboard.press("j")
    assert "float(frozen)" in tab.locator(".line.current").inner_text()
    tab.keyboard.press("k")
    assert tab.locator(".line.current").count() == 1
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()
    tab.keyboard.press("Escape")
    assert not tab.locator("#help").is_visible()


def test_hostile_source_in_a_browser(browser, hostile, tmp_path):
    (tmp_path / "page.html").write_text(hostile, "utf-8")
    tab, noticed = opened(browser, tmp_path / "page.html")
    assert tab.locator("#files .line .text").all_text_contents() == HOSTILE.split("\n")[:-1]
    assert noticed == [(tmp_path / "page.html").as_uri()]


def test_light_and_dark_in_a_browser(browser, page, tmp_path):
    (tmp_path / "page.html").write_text(page, "utf-8")
    grounds = set()
    for scheme in ("light", "dark"):
        tab, _ = opened(browser, tmp_path / "page.html", color_scheme=scheme)
        grounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2


@pytest.mark.parametrize(("text", "expected"), COLOURED, ids=range(len(COLOURED)))
def test_parts_of_a_file_have_colours(text, expected):
    lines = text.split("\n")
    parts = [(lines[row][start:end], kind) for row, found in enumerate(coloured(lines)) for start, end, kind in found]
    assert parts == expected
