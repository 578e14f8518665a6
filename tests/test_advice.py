"""What a page or a message tells to call, run or install is there: names, commands of `make` and `gradtape`, extras."""

import ast
import functools
import importlib.util
import itertools
import re
import tomllib

import pytest

import gradtape
from gradtape._src.compat.reasons import REASONS
from tests.test_docs import FENCE, PAGES, ROOT, blocks, page_name

NAME = re.compile(r"(?<![\w.\"'/-])(?:tf|gradtape)(?!\._src)((?:\.[A-Za-z_]\w*)+)(\*?)")
REST = "\0"  # what a message fills in when it is raised
# Names that a page says are not there, and a module for pytest's command line that has to be imported first.
NOT_THERE = {"tf.saved_model.Asset", "gradtape.pytest"}
SOURCES = sorted([*ROOT.glob("gradtape/**/*.py"), *ROOT.glob("gradtape_cli/*.py"), *ROOT.glob("keras_gradtape/**/*.py")])
ALL_PAGES = sorted({*PAGES, *ROOT.glob("*/README.md"), ROOT / "SECURITY.md"})


def texts(tree):
    """The strings of a program that are no docstrings and no names of objects, each with its line."""
    passed_over = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed_over.add(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__"):
            passed_over.update(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for part, after in itertools.pairwise([*node.values, None]):
                if isinstance(part, ast.Constant) and part not in passed_over:
                    passed_over.add(part)
                    yield part.lineno, part.value + (REST if after is not None else "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed_over:
            yield node.lineno, node.value


def is_there(name, owners):
    """Whether a dotted name is that of an object; the plural of a class counts, too."""
    for spelled, owner in itertools.product((name, name.removesuffix("s")), owners):
        try:
            functools.reduce(getattr, spelled.split("."), owner)
        except AttributeError:
            continue
        return True
    return False


def absent(text, owners=(gradtape,)):
    """The names in a text that are not there, without those that go on with what is filled in."""
    found = [match for match in NAME.finditer(text) if not text[match.end() :].lstrip(".").startswith(REST)]
    whole = [(match[0], match[1][1:]) for match in found if not match[2]]
    started = [(match[0], match[1][1:].rpartition(".")) for match in found if match[2]]
    missing = [shown for shown, name in whole if shown not in NOT_THERE and not is_there(name, owners)]
    for shown, (owner, _, start) in started:
        there = dir(functools.reduce(getattr, owner.split("."), gradtape))
        missing += [shown] * (not any(name.startswith(start) for name in there))
    return missing


def test_names_in_messages_are_there(count):
    wrong = []
    for path in SOURCES:
        owners = (gradtape, gradtape.compat.v1) if "v1" in path.parts else (gradtape,)
        for line, text in texts(ast.parse(path.read_text("utf-8"))):
            count("names in messages", len(NAME.findall(text)))
            wrong += [f"{page_name(path)}:{line}: {name}" for name in absent(text, owners)]
    assert not wrong, "\n".join(wrong)


def test_names_in_reasons_are_there():
    assert [(name, absent(why)) for name, why in REASONS.items() if absent(why)] == []


def test_names_that_are_said_to_be_of_tensorflow_1_are_there():
    names = [name for name, why in REASONS.items() if "write tf.compat.v1 in the place of tf" in why]
    assert len(names) > 30 and [name for name in names if not is_there(name, [gradtape.compat.v1])] == []


@pytest.mark.parametrize("path", ALL_PAGES, ids=page_name)
def test_names_on_pages_are_there(path):
    text = FENCE.sub("", path.read_text("utf-8"))
    assert [name for code in re.findall(r"`([^`\n]+)`", text) for name in absent(code)] == []


def test_a_name_that_is_not_there_is_found():
    program = (
        'def f(x):\n    """tf.docstring"""\n    raise ValueError(f"use tf.no_such or tf.nn.{x}, tf.Variables, tf.random.st*")'
    )
    ((_, one), *_) = found = list(texts(ast.parse(program)))
    assert len(found) == 2
    assert [absent(text) for _, text in found] == [["tf.no_such"], []], one
    assert absent("tf.random.no_such_*") == ["tf.random.no_such_*"]


# ---- commands

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z][\w-]*(?: [a-z][\w-]*)*):(?!=)", MAKEFILE, re.MULTILINE))
TARGETS = {target for line in TARGETS for target in line.split()}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COMMANDS = set(re.findall(r'add_parser\(\s*"(\w+)"', (ROOT / "gradtape_cli/__init__.py").read_text("utf-8")))


def commands(text, fenced):
    """The commands in a text: backticked ones, and the lines of console blocks."""
    found = re.findall(r"`([^`\n]+)`", FENCE.sub("", text) if fenced else text)
    return [*found, *(line for block in blocks(text) if block.language == "console" for line in block.text.splitlines())]


def not_there(command):
    """What a command names that is not there: a target, a command of gradtape, an extra, a module."""
    command = re.sub(r"^(\w+=(\"[^\"]*\"|'[^']*'|\S*) )+", "", command.strip().removeprefix("$ "))
    words = command.split()
    if words[:1] == ["make"]:
        return [word for word in words[1:2] if word not in TARGETS and "=" not in word and not word.isupper()]
    if words[:1] == ["gradtape"] or words[:3] == ["python", "-m", "gradtape"]:
        rest = words[1:] if words[0] == "gradtape" else words[3:]
        return [word for word in rest[:1] if re.fullmatch(r"[a-z]+", word) and word not in COMMANDS]
    if words[:2] == ["python", "-m"] and words[2:]:
        top = words[2].partition(".")[0]
        return [words[2]] * (importlib.util.find_spec(top) is None and top not in ELSEWHERE)
    return [extra for found in re.findall(r"\.\[([\w,-]+)\]", command) for extra in found.split(",") if extra not in EXTRAS]


EXTRAS = set(PROJECT["optional-dependencies"])
# Modules of a user's, of what the Makefile installs, and a name that stands for any.
ELSEWHERE = {"module", "package", "build", "twine", "sphinx"}


@pytest.mark.parametrize("path", ALL_PAGES, ids=page_name)
def test_commands_on_pages_are_there(path):
    wrong = {command: missing for command in commands(path.read_text("utf-8"), fenced=True) if (missing := not_there(command))}
    assert wrong == {}


def test_commands_in_messages_are_there():
    found = {}
    for path in SOURCES:
        text = path.read_text("utf-8")
        assert "gradtape[" not in text, f"{path}: no index has that package yet, so write '.[extra]'"
        for command in [*commands(text, fenced=False), *re.findall(r"pip install [^\n`]*", text)]:
            if command.startswith(("make ", "gradtape ", "python -m", "pip install")) and (missing := not_there(command)):
                found[f"{page_name(path)}: {command}"] = missing
    assert found == {}


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("make no-such", ["no-such"]),
        ("make test PYTHON=python3.12", []),
        ('GRADTAPE_TEST_CARD=cpu make test-gpu ARGS="-k x"', []),
        ("gradtape paint script.py", ["paint"]),
        ("gradtape --version", []),
        ("python -m gradtape no", ["no"]),
        ("python -m no_such.module", ["no_such.module"]),
        ("pip install '.[files,no-such]'", ["no-such"]),
    ],
)
def test_a_command_that_is_not_there_is_found(command, missing):
    assert not_there(command) == missing
