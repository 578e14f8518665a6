"""The pages of the explainer's codes: for each code a program, gradtape's answer, and the fix.

The codes and their meanings come from the explainer's classes. `python -m docs.site.codes --write` writes them into the tables of
`docs/explain.md`. The programs are those of the explainer's tests; they are run to get the answers. A code without a program
fails the build and a test.
"""

import ast
import importlib
import inspect
import logging
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from docs.site.project import ROOT
from gradtape._src.explain.evidence import CODES
from gradtape._src.explain.explain import CONNECTED
from tests.explain import programs
from tests.explain.table import MARK, answers, marked

ROW = re.compile(r"^\| `(\w+)` \| ([^|\n]*) \|(?: ([^|\n]*) \|)?$", re.MULTILINE)
PAGES = {
    "none": ("None", "The gradient is None"),
    "zeros": ("Zeros", "The gradient is zero"),
    "nan": ("NaN", "The gradient is NaN or infinite"),
}
COLUMNS = 72  # width of a block of code
# Codes without a program in the tests, and their meaning.
WITHOUT_PROGRAM = {"unknown": "What is remembered does not show the reason: the gradient call was too long ago."}
PAGE = ROOT / "docs/explain.md"
BEGIN, END = "<!-- Written from gradtape/_src/explain/codes: make snapshot -->\n\n", "\n<!-- Until here -->\n"


def meanings() -> dict[str, dict[str, tuple[str, str]]]:
    """Return the codes by page, each with its meaning and the line that it names."""
    return {page: {code: (of.when, of.named) for code, of in sorted(CODES.items()) if of.page == page} for page in PAGES}


def written() -> str:
    """Return `docs/explain.md` with the tables of the codes."""
    none, zeros, _ = meanings().values()
    rows = {CONNECTED.code: ("there is a gradient", "none")} | none
    tables = [
        "| code | when | the line that is named |\n|---|---|---|\n"
        + "".join([f"| `{code}` | {when} | {named} |\n" for code, (when, named) in rows.items()]),
        "| code | when |\n|---|---|\n" + "".join([f"| `{code}` | {when} |\n" for code, (when, _) in zeros.items()]),
    ]
    first, *parts = PAGE.read_text("utf-8").split(BEGIN)
    below = [part.partition(END)[2] for part in parts]
    return first + "".join([f"{BEGIN}{table}{END}{after}" for table, after in zip(tables, below, strict=True)])


def linked(page: str) -> str:
    """Return the text of `docs/explain.md` with a link from each code of its tables to the code's section."""

    def link(row: re.Match[str]) -> str:
        code = row[1]
        return row[0] if code == CONNECTED.code else row[0].replace(f"`{code}`", f"[`{code}`](#why-{code})", 1)

    return ROW.sub(link, page)


def examples() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the programs that have one mark, with its code, the most suitable ones first.

    A program ranks higher if it needs only the imports of its module, then if its lines fit the page, then if it returns a single
    answer, then if it is shorter.
    """
    found = []
    for module in pkgutil.iter_modules(programs.__path__):
        for function in vars(importlib.import_module(f"{programs.__name__}.{module.name}")).values():
            if inspect.isfunction(function) and function.__module__.startswith(programs.__name__):
                source = inspect.getsource(function)
                if len(MARK.findall(source)) == 1:
                    last = source.rstrip().rpartition("\n")[2]
                    ends = last.startswith("    return ") and not last.endswith("])")  # a list of sources has a list of answers
                    wide = any(len(line) > COLUMNS for line in shown(function).splitlines())
                    rank = _needs_more(function), wide, not ends, len(source.splitlines())
                    found.append((rank, MARK.search(source)[1], function))
    for _, code, function in sorted(found, key=lambda entry: entry[0]):
        yield code, function


def _needs_more(function: Callable[[], Any]) -> bool:
    """Return whether a program uses a function, class or value that its module defines."""
    made = inspect.getclosurevars(function).globals
    return not made.keys() <= _imported(function).keys()


def _imported(function: Callable[[], Any]) -> dict[str, ast.Import | ast.ImportFrom]:
    """Return the import statements of a program's module, by the names that they bind."""
    nodes = ast.parse(inspect.getsource(inspect.getmodule(function))).body
    return {
        name.asname or name.name: node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for name in node.names
    }


def shown(function: Callable[[], Any]) -> str:
    """Return the body of a program as a script: it prints the values that the program returns."""
    body = textwrap.dedent("\n".join(inspect.getsource(function).splitlines()[1:]))
    lines = body.splitlines()
    for found in reversed(_returns(ast.parse(f"def program():\n{textwrap.indent(body, ' ')}").body[0])):
        values = found.value.elts if isinstance(found.value, ast.Tuple) else [found.value]
        first, last = found.lineno - 2, found.end_lineno - 1
        lines[first:last] = [f"{' ' * (found.col_offset - 1)}print({ast.unparse(value)})" for value in values]
    body = "\n".join(lines)
    return "\n".join([line.rstrip() for line in MARK.sub("", body).splitlines()]).strip("\n")


def imports(function: Callable[[], Any]) -> str:
    """Return the imports of a program's module that the program uses."""
    used = {node.id for node in ast.walk(ast.parse(inspect.getsource(function))) if isinstance(node, ast.Name)}
    found = [node for name, node in _imported(function).items() if name in used]
    return "\n".join(dict.fromkeys(map(ast.unparse, found)))


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
    """Return the text about one program: its code, and gradtape's answer with the fix."""
    diagnosis = answer(function)
    above = imports(function) + "\n\n"
    shift = above.count("\n") - inspect.getsourcelines(function)[1]

    def moved(found: re.Match[str]) -> str:
        return f"program.py:{int(found[1]) + shift}"

    text = re.sub(rf"{re.escape(str(diagnosis.file))}:(\d+)", moved, str(diagnosis)).replace(str(diagnosis.file), "program.py")
    return f"```python\n{above}{shown(function)}\n```\n\ngradtape answers:\n\n```text\n{text}\n```"


def section(code: str, meaning: str, line: str, body: str) -> list[str]:
    """Return the parts of a code's section. The heading has its meaning up to the first semicolon."""
    short, _, rest = meaning.partition("; ")
    said = f"{rest[0].upper()}{rest[1:]}." if rest else ""
    named = f"The line that is named: {line}." if line not in ("", "none") else ""
    return [f"(why-{code})=", f"## `{code}`: {short}", f"{said} {named}".strip(), body]


def made() -> dict[str, str]:
    """Return the pages of the codes, by their places on the site."""
    by_code: dict[str, Callable[[], Any]] = {}
    for code, function in examples():
        by_code.setdefault(code, function)
    pages = {}
    for page, codes in meanings().items():
        short, title = PAGES[page]
        sections = [f"# {title}", f"Each answer of the explainer for {short}: a program, the answer, the fix."]
        for code, (meaning, line) in codes.items():
            sections += section(code, meaning, line, WITHOUT_PROGRAM.get(code) or told(by_code[code]))
        pages[f"why/{page}.md"] = "\n\n".join(filter(None, sections)) + "\n"
    return pages


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(), "utf-8")
    else:
        sys.stdout.write(written())
