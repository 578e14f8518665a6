"""The engine without its leaves: a copy of the package without the folders that no floor below needs, and tests that run on it.

`python -m tests.leaves build/without-leaves [arguments of pytest]`. A public module loses the names that stood in these folders,
and goes with the last of them. A test that asks for such a name itself is left out; where the library asks for one it fails.
"""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEAVES = "data distribute explain lookup operators profile summary train.saved_model v1".split()
ABOVE = "cli compat.door demo figures testing".split()  # what stands on leaves
FOLDERS = "engine ops autodiff control derivatives".split()


class Without(ast.NodeTransformer):
    """Takes the imports of modules that are gone out of a public module, and what is assigned from them."""

    def __init__(self, gone):
        self.gone, self.names, self.left = gone, set(), 0

    def is_gone(self, name):
        return any(name == module or name.startswith(f"{module}.") for module in self.gone)

    def visit_ImportFrom(self, node):
        kept = [a for a in node.names if not self.is_gone(f"{node.module}.{a.name}")]
        self.names |= {a.asname or a.name for a in node.names if a not in kept}
        self.left += bool(kept) and node.module.startswith("gradtape") and node.module != "gradtape._src.compat.names"
        node.names = kept
        return node if kept else None

    def visit_Assign(self, node):
        return None if any(isinstance(n, ast.Name) and n.id in self.names for n in ast.walk(node.value)) else node

    def visit_If(self, node):  # for type checkers
        return None


def copy(to):
    """Copy the package without the leaves, and what the tests need."""
    shutil.rmtree(to, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "gradtape", to / "gradtape", ignore=ignored)
    shutil.copytree(ROOT / "tests", to / "tests", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", to)
    gone = {f"gradtape._src.{leaf}" for leaf in (*LEAVES, *ABOVE)} | {"gradtape.compat", "gradtape.pytest", "keras_gradtape"}
    while True:
        for module in gone:
            path = to / module.replace(".", "/")
            shutil.rmtree(path, ignore_errors=True)
            path.with_suffix(".py").unlink(missing_ok=True)
        before = len(gone)
        for path in (p for p in (to / "gradtape").rglob("*.py") if "_src" not in p.parts):
            rest = Without(gone)
            tree = rest.visit(ast.parse(path.read_text("utf-8")))
            path.write_text(ast.unparse(ast.fix_missing_locations(tree)), "utf-8")
            if rest.names and not rest.left:
                gone.add(".".join(path.relative_to(to).with_suffix("").parts).removesuffix(".__init__"))
        if len(gone) == before:
            return gone


def asks_for_a_leaf(error):
    """Return whether an exception says that a test, and not the library, asked for what is gone."""
    missing = isinstance(error, ModuleNotFoundError) and str(error.name).startswith(("gradtape", "keras_gradtape"))
    if not missing and not (isinstance(error, AttributeError) and re.match(r"gradtape[\w.]* has no tf\.", str(error))):
        return False
    files, entry = [], error.__traceback__
    while entry is not None:
        files.append(entry.tb_frame.f_code.co_filename)
        entry = entry.tb_next
    asking = [
        f
        for f in files
        if not f.startswith("<frozen") and not f.endswith(("compat/names.py", "pkgutil.py", "importlib/__init__.py"))
    ]
    return "/tests/" in asking[-1]


# The module is a plugin of pytest, too: what asks for a leaf is skipped.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except (AttributeError, ModuleNotFoundError) as error:
        if asks_for_a_leaf(error):
            pytest.skip("it asks for a leaf")
        raise


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    error = report.call.excinfo.value if report.failed else None
    if error is not None and asks_for_a_leaf(error.__cause__ or error):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, "it asks for a leaf")
    return report


def main(to, *arguments):
    copy(Path(to))
    where = [f"tests/{folder}" for folder in FOLDERS] if not any(a.startswith("tests/") for a in arguments) else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.leaves", *where, *arguments]
    return subprocess.run(command, cwd=to, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
