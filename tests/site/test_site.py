"""The site's generator, without Sphinx: each page, public name and code has its place. `make site` builds the pages."""

import builtins
import posixpath
import re
import symtable
from typing import Any

import pytest

import gradtape as tf
from docs.site import assemble, codes, docstrings, gallery, reference
from tests.test_docs import FENCE, LINK


@pytest.fixture(scope="module")
def made():
    return reference.made()


def test_each_page_is_in_one_part():
    listed = [page for part in [*assemble.PARTS.values(), *assemble.BELOW.values()] for page in part]
    assert assemble.unlisted() == []
    assert len(listed) == len(set(listed))


def test_links_lead_to_pages_of_the_site_or_to_the_repository():
    known = assemble.pages()
    places = {posixpath.normpath(place) for place in [*known.values(), "why/none.md", "why/zeros.md", "why/nan.md"]}
    for path, where in known.items():
        text = assemble.relinked((assemble.ROOT / path).read_text("utf-8"), path, known)
        for target in LINK.findall(FENCE.sub("", text)):
            leads = posixpath.normpath(posixpath.join(posixpath.dirname(where), target))
            assert "://" in target or leads in places or target.endswith((".png", ".svg")), f"{path}: {target}"


@pytest.mark.parametrize(
    ("path", "link", "expected"),
    [
        ("docs/start/install.md", "../explain.md#the-codes", "../explain.md#the-codes"),
        ("docs/howto/README.md", "../../examples/README.md", "../examples.md"),
        ("CONTRIBUTING.md", "docs/design.md", "design.md"),
        ("docs/design.md", "../gradtape/_src/core/README.md", assemble.source_link("gradtape/_src/core/README.md")),
        ("docs/design.md", "https://example.org", "https://example.org"),
    ],
)
def test_a_link_is_rewritten(path, link, expected):
    known = assemble.pages()
    assert assemble.relinked(f"a [b]({link}) c", path, known) == f"a [b]({expected}) c"
    assert assemble.relinked(f"```text\n[b]({link})\n```", path, known) == f"```text\n[b]({link})\n```"


def test_a_page_that_no_part_lists_ends_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(assemble, "unlisted", lambda: ["docs/new.md"])
    with pytest.raises(SystemExit, match=r"no part of the site lists docs/new\.md: add each to PARTS"):
        assemble.assemble(tmp_path, {})


def test_each_public_name_is_described_once(made):
    described = re.findall(r"^:{4,}\{py:(?:function|class|exception)\} (\S+?)(?:\(|$)", "\n".join(made.values()), re.MULTILINE)
    assert len(described) == len(set(described)) == len(set(reference.homes().values()))
    assert {"tf.reduce_sum", "tf.GradientTape", "tf.Tensor", "tf.errors.InvalidArgumentError"} <= set(described)


def test_a_name_has_signature_docstring_other_names_and_source(made):
    entry = next(
        part for part in made["reference/tf.math.md"].split("::::::") if part.startswith("{py:function} tf.math.betainc")
    )
    assert entry.startswith("{py:function} tf.math.betainc(a, b, x, name")
    assert tf.math.betainc.__doc__.split("\n")[0][:20] in entry
    assert re.search(r"Source: \[gradtape/_src/ops/.*, line \d+\]\(https://", entry)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (tf.io.gfile.GFile, "(name, mode: str = 'r')"),
        (tf.reshape, "(tensor, shape, name=None) -> Tensor"),
        (tf.config.list_physical_devices, "(device_type: str | None = None) -> list[PhysicalDevice]"),
    ],
)
def test_a_signature(value, expected):
    assert docstrings.signature(value) == expected


def test_examples_of_docstrings_are_blocks_and_markup_is_escaped():
    doc = "Sum `a * b` and *c*.\n\n>>> print(1)\n1\n\nThen x_1 <b>."
    assert docstrings.prose(doc) == "Sum `a * b` and \\*c\\*.\n\n```pycon\n>>> print(1)\n1\n```\n\nThen x_1 \\<b>."
    fenced = "## With *stars*\n\n```python\n# a [b] *c*\n```\nand *d*"
    assert docstrings.prose(fenced) == "**With *stars***\n\n```python\n# a [b] *c*\n```\nand \\*d\\*"


def test_parameters_are_a_list_with_types_and_what_the_docstring_says_of_each():
    def scaled(x, factor: float, *rest: int, axis=0, aside: Any = None, name: str | None = None):
        """Return `x` times `factor`.

        `factor` is finite. `rest` and `aside`
        have no effect; `axis`: the one
        that is scaled. It may be negative. The dtype stays. ValueError if it is none.

        ```
        `axis` is

        `axis` is
        ```

        For example:

        >>> 1
        1
        """

    assert docstrings.told(scaled) == (
        "Return `x` times `factor`.\n\nThe dtype stays. ValueError if it is none.\n\n"
        "```\n`axis` is\n\n`axis` is\n```\n\n"
        ":param x:\n:type x: `Tensor`\n"
        ":param factor: finite.\n:type factor: `float`\n"
        ":param rest: `rest` and `aside` have no effect.\n:type rest: `int`\n"
        ":param axis: the one that is scaled. It may be negative.\n:type axis: `int`\n\n"
        "For example:\n\n```pycon\n>>> 1\n1\n```"
    )


def test_each_code_has_its_meaning_and_a_program():
    with_program = {code for code, _ in codes.examples()}
    wanted = {code for page in codes.meanings().values() for code in page}
    assert wanted - codes.WITHOUT_PROGRAM.keys() <= with_program


def unbound(program):
    """The names that a program reads, and neither makes nor imports."""
    table = symtable.symtable(program, "program.py", "exec")
    tables = [table]
    for inner in tables:
        tables += inner.get_children()
    made = {name.get_name() for name in table.get_symbols() if name.is_assigned() or name.is_imported()}
    read = {name.get_name() for inner in tables for name in inner.get_symbols() if name.is_global() or inner is table}
    return read - made - set(dir(builtins))


@pytest.fixture(scope="module")
def why():
    """The pages of the codes, as one text."""
    return "\n".join(codes.made().values())


def test_each_program_stands_by_itself(why):
    programs = re.findall(r"```python\n(.*?)```", why, re.DOTALL)
    for program in programs:
        assert unbound(program) == set(), program
        assert not program.rstrip().endswith("]))"), "one answer is printed as a reader reads it, a list of them as Python does"
    assert len(programs) > 20


def test_headings_of_codes_are_words_and_the_table_leads_to_them(why):
    assert "(why-not_watched)=\n\n## `not_watched`: a tensor that nobody watched\n" in why
    assert "## `left_library`: the value left the library\n\nThrough NumPy" in why
    page = codes.linked((assemble.ROOT / "docs/explain.md").read_text("utf-8"))
    assert "| [`not_watched`](#why-not_watched) | a tensor" in page
    assert set(re.findall(r"\(#(why-\w+)\)", page)) <= set(re.findall(r"^\((why-\w+)\)=$", why, re.MULTILINE))


def test_a_code_is_shown_with_its_answer_and_its_fix():
    function = next(function for code, function in codes.examples() if code == "left_library")
    text = codes.told(function)
    assert "<-" not in text
    assert re.search(r"program\.py:\d+: left_library: ", text)
    assert re.search("^  (fix|advice): ", text, re.MULTILINE)
    program = text.split("```")[1].removeprefix("python\n")
    assert "return " not in program
    compile(program, "program.py", "exec")
    assert program.rstrip().splitlines()[-1].startswith("print(tf.autodiff.explain(")


def test_a_large_module_is_in_groups(made, monkeypatch):
    page = made["reference/tf.autodiff.md"]
    title = page.index("## Solutions of equations")
    assert title < page.index("{py:function} tf.autodiff.root(") < page.index("{py:function} tf.autodiff.linear_solve(")
    assert page.index("{py:function} tf.autodiff.sparse_solve(") < title < page.index("## Other names")
    monkeypatch.setitem(reference.GROUPS, "gradtape.autodiff", {"All": "root"})
    with pytest.raises(LookupError, match=r"each name of gradtape\.autodiff is in one group; see .*sparse_solve"):
        reference.grouped("gradtape.autodiff", ["gradtape.autodiff.root", "gradtape.autodiff.sparse_solve"])


def test_the_gallery_has_each_example_and_notebook():
    programs = {path.stem for path in (assemble.ROOT / "examples").glob("*.py")} - {"__init__", "command", "data"}
    notebooks = {path.stem for path in (assemble.ROOT / "docs/notebooks").glob("*.ipynb")}
    assert (set(gallery.EXAMPLES), set(gallery.NOTEBOOKS)) == (programs, notebooks)
    page = gallery.PAGE.read_text("utf-8")
    assert gallery.written({}) == page, "python -m docs.site.gallery writes the page"
    pictures = re.findall(r"\((gallery/\S+\.png)\)", page)
    assert len(pictures) == len(programs) + len(notebooks)
    assert all((gallery.PAGE.parent / picture).exists() for picture in pictures)
    assert " 0 s |" not in page


def test_the_start_page_leads_to_a_report_and_to_the_reference():
    start = (assemble.ROOT / assemble.INDEX).read_text("utf-8")
    page = reference.started(start)
    assert f'(why.png)\n\n<a href="{reference.REPORT}">' in page
    assert "[Reference](reference/index.md)" in page


def test_a_module_begins_with_a_table_of_its_names(made):
    page = made["reference/tf.autodiff.md"]
    rows = re.findall(r"^\| \{py:obj\}`(\w+) <tf\.autodiff\.\w+>` \| (.*) \|$", page, re.MULTILINE)
    described = re.findall(r"^:{6}\{py:\w+\} tf\.autodiff\.(\w+)", page, re.MULTILINE)
    assert [name for name, _ in rows] == described
    assert dict(rows)["hvp"].startswith("Return the Hessian of `f`")
    assert page.index("| name | what it does |") < page.index("::::::")
