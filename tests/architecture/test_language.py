"""Docstrings: a function's begins with a verb, a class's or module's does not begin with a clause, and sentences are short."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.rules import read_source

SOURCE = Path(__file__).parents[2] / "gradtape/_src"
LONGEST = 25  # words of a sentence
FORMULA = re.compile(r"[=≤≥Σ∫√·→]|`[^`]*`")  # what is read by the eye and not aloud: counted as one word
CLAUSES = frozenset("how that what when where which who why".split())  # what a class, module or property is has a noun
SUBJECT = re.compile(r"(?:How|What|Who|Whose)\b.*[^?]$")  # a clause in the place of a sentence's subject
BLOCK = re.compile(r"^\s*(?:>>>|\.\.\.|```|[-*|] |\d+\. |    )")  # an example, a list, a table
VERBS = frozenset(
    """
    accept act add adjust advance align allow announce append apply approximate ask assert assign attach await batch be
    become begin bind bracket bring broadcast build call cast chain change check choose classify clear clip close collect
    color combine compare compile complete compute concatenate connect continue convert convolve copy count create crop cut
    decay decide declare decode decompose decorate defer define delete derive describe detach determine differentiate
    disable divide do draw drop emit enable encode end ensure enter estimate evaluate evict execute expand explain export
    extend extract fail feed fetch fill filter find finish fit flatten flip flush fold follow forget format freeze gather
    generate give go group hand handle hang hash have hide hold identify ignore import include infer initialize inline
    insert inspect install intern interpret invert invoke iterate join keep know label lay learn leave let lift limit link
    list listen load locate log look loop lower make map mark mask match measure merge minimize mirror move multiply name
    narrow negate normalise normalize note number open order pack pad pair parse partition pass perform permute place pool
    prepare prevent print propagate protect prune pull push put quantise quantize raise rank read rebuild recompute record
    reduce refuse register release remember remove rename render renumber repeat replace replay report request reserve reset
    reshape resize resolve restore return reverse rewrite rotate round run sample save say scale scatter search select send
    serialize set settle shard share shift shorten show shuffle shut skip slice solve sort spell split squeeze stack stand
    start state step stop store strip subtract sum swap switch take teach tell test tile trace track train transform
    translate transpose treat trim truncate try turn uncompress undo unpack update use validate verify visit wait walk warn
    watch weigh wrap write yield zip
    """.split()
)


def is_short_helper(node):
    """Return whether a function is private and has at most three lines, for which a name may say enough."""
    return node.name.startswith("_") and not node.name.startswith("__") and node.end_lineno - node.body[0].end_lineno <= 3


def functions(tree):
    """Yield the functions of a module whose docstrings begin with a verb: no property, no gradient `_`, no short helper."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "_" and not is_short_helper(node):
            decorators = {ast.unparse(d).rpartition(".")[2] for d in node.decorator_list}
            if not decorators & {"property", "cached_property", "setter"}:
                yield node


def prose(docstring):
    """Yield the sentences of a docstring, without its examples, lists and tables."""
    for paragraph in re.split(r"\n\s*\n", docstring):
        lines = paragraph.splitlines()
        if not any(map(BLOCK.match, lines)):
            yield from re.split(r"(?<=[.:;!?])\s+", " ".join(line.strip() for line in lines))


def words(sentence):
    return len(FORMULA.sub("x", sentence).split())


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("folder", sorted({f.relative_to(SOURCE).parts[0] for f in FILES if f.parent != SOURCE}))
def test_docstrings(folder):
    wrong = []
    for file in sorted((SOURCE / folder).rglob("*.py")):
        tree = read_source(file).tree
        at = f"{file.relative_to(SOURCE)}:"
        for node in functions(tree):
            docstring = ast.get_docstring(node)
            first = re.match(r"\w*", docstring or "Return").group().lower()
            if first not in VERBS:
                wrong.append(f"{at}{node.lineno} {node.name} begins with {first!r}: begin with a verb, such as 'Return'")
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                first = re.match(r"\w*", ast.get_docstring(node) or "").group().lower()
                if first in CLAUSES:
                    wrong.append(f"{at}{getattr(node, 'lineno', 1)} begins with {first!r}: begin with a noun, or a verb")
                sentences = list(prose(ast.get_docstring(node) or ""))
                clauses = [s for s in sentences if SUBJECT.match(s)]
                wrong += [f"{at}{getattr(node, 'lineno', 1)} has a clause as subject, where a noun belongs: {s}" for s in clauses]
                long = [s for s in sentences if words(s) > LONGEST]
                wrong += [f"{at}{getattr(node, 'lineno', 1)} has a sentence of {words(s)} words: {s}" for s in long]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("sentence, count", [("Return `a + b` of both.", 4), ("One, two; three.", 3)])
def test_words(sentence, count):
    assert words(sentence) == count


def test_a_clause_is_found():
    tree = ast.parse('def f():\n    """What a call gives."""\n\n@property\ndef g():\n    """The name."""\n')
    assert [node.name for node in functions(tree)] == ["f"]
    assert re.match(r"\w*", ast.get_docstring(tree.body[0])).group().lower() not in VERBS


@pytest.mark.parametrize("name, lines, found", [("_f", 3, []), ("_f", 4, ["_f"]), ("f", 1, ["f"]), ("__f__", 1, ["__f__"])])
def test_a_private_helper_of_three_lines_is_free(name, lines, found):
    tree = ast.parse(f'def {name}():\n    """The docstring."""\n' + "    x = 1\n" * lines)
    assert [node.name for node in functions(tree)] == found


@pytest.mark.parametrize(
    "sentence, found",
    [
        ("What a loop carries is state.", True),
        ("How many trips it makes may depend on values:", True),
        ("The values that a loop carries are state.", False),
        ("Whatever was recorded is run.", False),
        ("What is this?", False),
    ],
)
def test_a_clause_as_subject_is_found(sentence, found):
    assert bool(SUBJECT.match(sentence)) == found
