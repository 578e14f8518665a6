"""The pages of the explainer's codes: for each a program, what gradtape answers, and the fix.

The codes and their meanings are the tables of `docs/explain.md`; the programs are those that the explainer is tested with,
which are run for their answers. A code that has no row or no program fails the build, and a test.
"""

import ast
import importlib
import inspect
import logging
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

from docs.site.project import ROOT
from gradtape._src.explain.words import SENTENCES
from tests.explain import programs
from tests.explain.table import MARK, answers, marked

ROW = re.compile(r"^\| `(\w+)` \| (.*?) \|$", re.MULTILINE)
PAGES = {
    "none": ("None", "The gradient is None"),
    "zeros": ("Zeros", "The gradient is zero"),
    "nan": ("NaN", "The gradient is NaN or infinite"),
}
NOT_BROKEN = {"connected"}
# Answers that no program of the tests brings about, and what they mean.
WITHOUT_PROGRAM = {"unknown": "What is remembered does not show the reason: the gradient call was too long ago."}
NONFINITE = {"nan_origin": "the op at which NaN appears", "inf_origin": "the op at which infinity appears"}


def meanings() -> dict[str, dict[str, str]]:
    """Return the codes of `docs/explain.md` by page, each with its meaning."""
    text = (ROOT / "docs/explain.md").read_text("utf-8")
    none, zeros = text.split("## The codes")[1].split("## What is remembered")[0].split("\nZeros (")
    return {"none": dict(ROW.findall(none)), "zeros": dict(ROW.findall(zeros)), "nan": NONFINITE}


def undocumented() -> set[str]:
    """Return the codes of the explainer without a row on the page, and rows without a code."""
    rows = {code for page in meanings().values() for code in page}
    return (set(SENTENCES) ^ rows) - NOT_BROKEN - WITHOUT_PROGRAM.keys()


def examples() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the programs that have one mark, with its code: first those that end with what they return, the shortest first."""
    found = []
    for module in pkgutil.iter_modules(programs.__path__):
        for function in vars(importlib.import_module(f"{programs.__name__}.{module.name}")).values():
            if inspect.isfunction(function) and function.__module__.startswith(programs.__name__):
                source = inspect.getsource(function)
                if len(MARK.findall(source)) == 1:
                    ends = source.rstrip().rpartition("\n")[2].startswith("    return ")
                    found.append(((not ends, len(source.splitlines())), MARK.search(source)[1], function))
    for _, code, function in sorted(found, key=lambda entry: entry[0]):
        yield code, function


def shown(function: Callable[[], Any]) -> str:
    """Return the body of a program as its reader would write it: what it returns is printed."""
    body = textwrap.dedent("\n".join(inspect.getsource(function).splitlines()[1:]))
    lines = body.splitlines()
    for found in reversed(_returns(ast.parse(f"def program():\n{textwrap.indent(body, ' ')}").body[0])):
        values = found.value.elts if isinstance(found.value, ast.Tuple) else [found.value]
        first, last = found.lineno - 2, found.end_lineno - 1
        lines[first:last] = [f"{' ' * (found.col_offset - 1)}print({ast.unparse(value)})" for value in values]
    body = "\n".join(lines)
    return "\n".join([line.rstrip() for line in MARK.sub("", body).splitlines()]).strip("\n")


def _returns(function: ast.AST) -> list[ast.Return]:
    """Return the `return` statements of a function, without those of functions in it, in order."""
    found: list[ast.Return] = []
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Return):
            found.append(node)
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            found += _returns(node)
    return found


def answer(function: Callable[[], Any]) -> Any:
    """Run a program and return the diagnosis of its mark."""
    logger = logging.getLogger("gradtape")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        found = [diagnosis for _, diagnosis in answers(function)]
    finally:
        logger.setLevel(level)
    return next(d for d in found if (d.code, d.line) == marked(function))


def told(function: Callable[[], Any]) -> str:
    """Return the sections of one program: what it is, what gradtape answers, the fix."""
    diagnosis = answer(function)
    first = inspect.getsourcelines(function)[1]
    text = str(diagnosis).replace(f"{diagnosis.file}:{diagnosis.line}", f"program.py:{diagnosis.line - first}")
    text = text.replace(str(diagnosis.file), PurePath("program.py").name)
    return "\n\n".join(
        [
            f"```python\n{shown(function)}\n```",
            f"gradtape answers:\n\n```text\n{text}\n```",
            f"**Fix:** {diagnosis.mend}" if diagnosis.mend else "",
        ]
    ).rstrip()


def made() -> dict[str, str]:
    """Return the pages of the codes, by their places on the site."""
    if wrong := undocumented():
        raise SystemExit(f"docs/explain.md and the explainer's table differ in {sorted(wrong)}")
    by_code: dict[str, Callable[[], Any]] = {}
    for code, function in examples():
        by_code.setdefault(code, function)
    pages = {}
    for page, codes in meanings().items():
        short, title = PAGES[page]
        sections = [f"# {title}", f"Each answer of the explainer for {short}: a program, the answer, the fix."]
        for code, meaning in codes.items():
            if code in NOT_BROKEN:
                continue
            sections += [f"## `{code}`", meaning[0].upper() + meaning[1:].rstrip(".") + "."]
            sections.append(WITHOUT_PROGRAM[code] if code in WITHOUT_PROGRAM else told(by_code[code]))
        pages[f"why/{page}.md"] = "\n\n".join(sections) + "\n"
    return pages
