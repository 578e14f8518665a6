"""The engine without its leaves: a copy of the package without the folders that no floor below needs, and tests that run on it.

`python -m tests.leaves build/without-leaves [arguments of pytest]`. A public module loses the names that stood in these folders,
and goes with the last of them. Tests that need a leaf are marked so, and are left out.
"""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

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


def main(to, *arguments):
    copy(Path(to))
    where = [f"tests/{folder}" for folder in FOLDERS] if not any(a.startswith("tests/") for a in arguments) else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not leaf", *where, *arguments]
    return subprocess.run(command, cwd=to, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
