"""Who does what an error or a warning says succeeds: each text of the library that prints code to write was met, and followed.

A row of `advice/` holds a program that is refused, or warned of, and programs that do what the text says: they hold all the code
that it prints. A table names the folders whose texts it covers (`OF`), and those that are met elsewhere (`LEFT`): in `alone.py`.
"""

import ast
import importlib
import json
import linecache
import logging
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import gradtape as tf
from gradtape._src.core.programs.op import ops
from tests.errors import alone
from tests.errors.test_bad_calls import VALUES
from tests.test_advice import SOURCES
from tests.test_docs import ROOT

TABLES = sorted(path.stem for path in Path(__file__).with_name("advice").glob("[a-z]*.py"))
VERBS = """
add ask bring build call cast compare compute convert create divide draw feed give import initialize iterate keep leave let load
make mark move name open pass put read register remove rename reshape restore return run save say set sort split start state take
try turn unset use watch wrap write
""".split()
VERB = "|".join(f"{verb}|{verb.capitalize()}" for verb in VERBS)
# A verb that is called, given or typed is a name: "save() takes no", "takes inputs, and name=", "size 1 int64, name 2 string".
ADVICE = re.compile(rf"(?:^|[.;:,!)]\s+|\n\s*|\bor |\band |please )(?:{VERB})\b(?![(=:]| \d)")
CODE = re.compile(r"`[^`]+`|\btf\.\w|\b[a-z_]\w+=|\b\w+\(|'[A-Za-z]\w*'|\b[a-z]+_[a-z_]+\b")
PRINTED = re.compile(r"\btf((?:\.\w+)+)(?![\w*.]|\0)|\b([A-Za-z_]\w+)(?==)|\b([a-z_]\w+)\(")
FILLED = "\0"  # what a text fills in when it is told
EXPLAINED = {words for op in ops.values() for words in (op.instead, op.at_edge)}  # done by tests/explain/test_mends.py


class Text(NamedTuple):
    """A text of the library with advice in it, which begins at `start`."""

    place: str
    words: str
    start: int

    def is_in(self, told):
        """Whether a message is this text, filled in; an op's name may stand at the end of a line."""
        parts = map(re.escape, re.split(r"\0|%[sdr]|\{[^{}]*\}", self.words))
        return re.search(".*?".join(parts).replace("\\\n", ".*?\n"), told, re.DOTALL) is not None

    def printed(self):
        """The names of the code that it tells to write."""
        return ["".join(found).rpartition(".")[2] for found in PRINTED.findall(self.words[self.start :])]


def flat(node):
    """A string of a program with FILLED for what is filled in; None for another expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else FILLED for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [flat(node.left), flat(node.right)]
        return None if sides == [None, None] else "".join(FILLED if side is None else side for side in sides)
    return None


def texts(path):
    """The texts of a module with advice: no docstring, help of a command, source of a function, or list of words."""
    passed_over = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if node in passed_over:
            continue
        stated = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if stated or (isinstance(node, ast.keyword) and node.arg == "help"):
            passed_over.add(node.value)
        elif (words := flat(node)) is not None:
            passed_over.update(ast.walk(node))
            said = words not in EXPLAINED and len(words) > 25 and re.search("[.,:;]", words) and not words.startswith("def ")
            if said and (found := ADVICE.search(words)):
                yield Text(f"{path}:{node.lineno}", words, found.start())


def folder(path):
    """The part of the project that a module is of: a folder of `gradtape/_src`, or a package."""
    parts = path.relative_to(ROOT).parts
    return parts[2] if parts[1] == "_src" and len(parts) > 3 else parts[0]


def test_each_folder_has_a_table():
    tables = [importlib.import_module(f"tests.errors.advice.{name}") for name in TABLES]
    held_elsewhere = {"explain", "demo", "gradtape"}  # what the explainer advises is done by tests/explain/test_mends.py
    assert sorted(name for table in tables for name in table.OF) == sorted({*map(folder, SOURCES)} - held_elsewhere)


class Told(logging.Handler):
    """What a program is told: its error, the warnings, and the lines of the library's log."""

    def __init__(self):
        super().__init__()
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())

    def by(self, program, name):
        """Run a program; return what it is told."""
        self.said.clear()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                run(program, name)
            except Exception as error:
                self.said.append(str(error))
        return "\n".join([*self.said, *(str(warning.message) for warning in warned)])


def run(program, name):
    """Run a program whose source is at hand, as functions are transformed by theirs; settings are what they were."""
    source = textwrap.dedent(program).strip("\n") + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    values = {**VALUES, "v3": tf.Variable([1.0, 2.0, 3.0], name="v3")}
    try:
        exec(compile(source, name, "exec"), {**values, "__name__": "followed"})
    finally:
        tf.config.require_compiled_functions(False)
        tf.config.set_soft_device_placement(True)


@pytest.fixture
def told():
    """A Told that hears the library's log."""
    made, logger = Told(), logging.getLogger("gradtape")
    propagates = logger.propagate
    logger.addHandler(made)
    yield made
    logger.removeHandler(made)
    logger.propagate = propagates


def outcome(row, name, told):
    """What a refused program is told, and what is raised by one that follows; None where nothing is."""
    refused, followed = row
    message = told.by(refused, f"<refused {name}>")
    try:
        run(followed, f"<followed {name}>")
    except Exception as error:
        return message, f"{type(error).__name__}: {error}"
    return message, None


def faults_of_rows(rows, outcomes, covered, met):
    """What is wrong with rows: advice that is not told, not followed, or does not work. The texts that were told join `met`."""
    for (refused, followed), (message, error) in zip(rows, outcomes, strict=True):
        found = [text for text in covered if text.is_in(message)]
        met.update(found)
        if not found:
            yield f"{refused}\n  is told: {message}\n  there is no advice"
        if missing := [name for text in found for name in text.printed() if name not in followed]:
            yield f"{refused}\n  is told: {message}\n  and {missing} is not in what follows"
        if error is not None:
            yield f"{refused}\n  is told: {message}\n  who follows is told: {error}"


def faults_of(table, covered, told):
    """What is wrong with the rows of a table, and the texts that none of them meets."""
    met = set()
    outcomes = (outcome(row, f"{table.__name__} {number}", told) for number, row in enumerate(table.ROWS))
    yield from faults_of_rows(table.ROWS, outcomes, covered, met)
    for text in covered:
        left = any(fragment in text.words for fragment in table.LEFT)
        if CODE.search(text.words[text.start :]) and (text in met) == left:
            yield f"{text.place}: {'is met' if left else 'no row meets'}: {text.words}"
    for fragment in table.LEFT:
        if not any(fragment in text.words for text in covered):
            yield f"a text that is LEFT is gone: {fragment}"


@pytest.mark.filterwarnings("ignore")  # of programs that follow: what they are warned of is no advice that failed
@pytest.mark.parametrize("name", TABLES)
def test_who_follows_the_advice_succeeds(name, told, tmp_path, monkeypatch, count):
    table = importlib.import_module(f"tests.errors.advice.{name}")
    covered = [text for path in SOURCES if folder(path) in table.OF for text in texts(path)]
    monkeypatch.chdir(tmp_path)
    faults = list(faults_of(table, covered, told))
    assert not faults, "\n\n".join(faults)
    count("pieces of advice followed", len(table.ROWS))


def test_who_follows_it_in_a_process_of_its_own_succeeds(tmp_path, count):
    command = [sys.executable, "-m", "tests.errors.alone", tmp_path]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    outcomes = json.loads((tmp_path / "outcomes.json").read_text())
    tables = [importlib.import_module(f"tests.errors.advice.{name}") for name in TABLES]
    left = [fragment for table in tables for fragment, where in table.LEFT.items() if where == "alone"]
    met, covered = set(), [text for path in SOURCES for text in texts(path) if any(words in text.words for words in left)]
    faults = list(faults_of_rows(alone.ROWS, outcomes, covered, met))
    faults += [f"{text.place}: no row meets: {text.words}" for text in covered if text not in met]
    assert not faults, "\n\n".join(faults)
    count("pieces of advice followed", len(outcomes))


def test_advice_that_fails_is_found(told, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        'def f(x):\n    """Use tf.docstring, which nobody raises."""\n    raise ValueError(f"{x} is no number. Use tf.abs(x).")\n'
        'LISTED = "divide multiply subtract square maximum no_sentence"\nSOURCE = "def f(x): return x\\ntf.g = f"\n'
        'add_parser("a", help="run a program that says `import`")\n'
        'LOST = "It is lost. Give text=, or nothing."\nGONE = "It is not said. Call gone() first."\n'
    )
    words = list(texts(module))
    assert sorted(text.words for text in words) == [
        "\0 is no number. Use tf.abs(x).",
        "It is lost. Give text=, or nothing.",
        "It is not said. Call gone() first.",
    ]
    assert [text.printed() for text in words if text.is_in("a is no number. Use tf.abs(x).")] == [["abs"]]
    said = "raise ValueError('a is no number. Use tf.abs(x).')"
    table = SimpleNamespace(
        __name__="table",
        ROWS=[(said, "tf.abs('a')"), (said, "tf.square(x3)"), ("1 / 0", "tf.abs(x3)")],
        LEFT={"is no number": "met", "It is not said": "left", "no such": "gone"},
    )
    found = "\n".join(faults_of(table, words, told))
    ends = (
        "who follows is told: InvalidArgument",
        "['abs'] is not in",
        "there is no advice",
        "is met",
        "no row meets: It is lost",
        "gone: no such",
    )
    assert all(end in found for end in ends) and found.count("is told: a is no number") == 2, found
