"""What is known of an op stands with its declaration: no string outside of that file is the type of an op."""

import ast
import functools
import importlib
import inspect

import pytest

from gradtape._src.core.programs.op import ops
from tests.architecture.rules import Source, sources

# Calls whose arguments name what they declare.
DECLARING = {"op", "Op", "StructuredOp", "by_program", "host_op", "sampler", "guard", "family"}
APART = ("gradtape._src.compat.", "gradtape._src.cli.", "gradtape._src.demo.")  # TensorFlow's names, and programs of users
ALLOWED = {
    "gradtape._src.core.programs.function_names": "types of what feeds a graph, which functions show and graphs declare",
    "gradtape._src.profile.statistics": "TensorFlow's statistics, by its types, of which many are no ops here",
}


def called(node):
    return getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""


def passed_over(source):
    """Yield the strings that name no op: docstrings, declarations, and names that a tensor gets by default."""
    for node in source.nodes:
        match node:
            case ast.Expr(value=ast.Constant() as text):
                yield text
            case ast.Call() if called(node) in DECLARING:
                yield from (n for argument in node.args for n in ast.walk(argument) if isinstance(n, ast.Constant))
            case ast.BoolOp(op=ast.Or(), values=[value, ast.Constant() as name]) if ast.unparse(value).endswith("name"):
                yield name
            case ast.arguments():
                both = zip((node.posonlyargs + node.args)[::-1], node.defaults[::-1], strict=False)
                yield from (default for argument, default in both if argument.arg == "name")


def misplaced(source, homes):
    """Return `path:line: …` for each string that is a type of an op declared elsewhere; of lists of words, too."""
    passed = set(map(id, passed_over(source)))
    found = []
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            words = node.value.split() if " " in node.value.strip() else [node.value]
            if all(word in homes and source.module not in homes[word] for word in words):
                found.append(
                    f"{source.path}:{node.lineno}: {node.value!r} is a type of an op. State the fact with its declaration "
                    "(`Op` and `core/programs/traits.py` say what there is), or import the op."
                )
    return found


@functools.cache
def looked_at():
    return [s for s in sources("gradtape") if s.module.startswith("gradtape._src.") and not s.module.startswith(APART)]


@pytest.fixture(scope="module")
def homes():
    """Return for each type of an op the modules that may name it: where its kernel stands, and where it is declared."""
    for source in looked_at():
        importlib.import_module(source.module)
    found = {kind: {inspect.unwrap(op.function or op.kernel).__module__} for kind, op in ops.items()}
    for source in looked_at():
        for node in (n for n in source.nodes if called(n) in DECLARING):
            for text in (n.value for argument in node.args for n in ast.walk(argument) if isinstance(n, ast.Constant)):
                found.get(text, set()).add(source.module)
    return found


def test_facts_of_ops_stand_with_their_declarations(homes):
    found = {source.module: misplaced(source, homes) for source in looked_at()}
    elsewhere = [line for module, lines in found.items() if module not in ALLOWED for line in lines]
    assert not elsewhere, "\n" + "\n".join(elsewhere)
    assert len(ALLOWED) <= 5 and all(found[module] for module in ALLOWED), "a module in ALLOWED needs no leave any more"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('if op.type == "MatMul":\n    pass', 1),
        ('PRODUCTS = frozenset(("MatMul", "Einsum"))', 2),
        ('PRODUCTS = """\n    MatMul Einsum\n""".split()', 1),
        ('"""MatMul"""\nx = "a MatMul"', 0),
        ('@op("Versine", infer=same)\ndef versine(x): pass', 0),
        ('@op("MatMul", infer=same)\ndef other(x): pass', 0),
        ('def constant(value, name="Const"):\n    name = name or "Const"', 0),
        ('def constant(value, kind="Const"):\n    kind = kind or "Const"', 2),
    ],
)
def test_a_type_in_another_file_is_found(homes, text, count):
    assert len(misplaced(Source("gradtape/_src/explain/words.py", text), homes)) == count
