"""Print every public name of gradtape, one a line, with its status: `gradtape.math.sin stable`. `--write` writes the snapshot.

Names of TensorFlow 2.21 are stable, but for those that it calls experimental; gradtape's own are where `OWN` has them. `--write`
writes the tables of `docs/stability.md`, too.

A script, so that it runs in a process of its own, where no other import has added to the namespace.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

SNAPSHOT = Path(__file__).with_suffix(".txt")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/stability.md"
BEGIN, END = "<!-- Written by tests/architecture/public_names.py: make snapshot -->\n", "<!-- Until here -->\n"
STABLE, EXPERIMENTAL = "stable", "experimental"

# gradtape's own names that are stable, by module; the others are experimental until they stand here.
OWN = {
    "gradtape": "as_tensorflow jax_function",
    "gradtape.autodiff": """
        Diagnosis GradientMismatch Sparsity check_gradients explain explain_nan gauss_newton_vp hessian hvp jacfwd jacrev jvp
        linearize per_example_gradients recompute_grad sparse_jacobian jacobian_sparsity straight_through vjp
    """,
    "gradtape.config": "cache_info clear_cache compile_early keep_last_step log_compiles require_compiled_functions run_eagerly",
    "gradtape.optimizers": "LevenbergMarquardt MaskedUpdate",
    "gradtape.profiler": "Profile profile",
}
# These hold TensorFlow's names only, of which the record has not all.
TENSORFLOWS = ("gradtape.compat.v1", "gradtape.raw_ops", "gradtape.experimental.numpy")


def public_names(module: ModuleType) -> list[str]:
    """The dotted public names of `module` and of its public submodules."""
    names, pending = set(), [module]
    while pending:
        namespace = pending.pop()
        for name in dir(namespace):
            if name.startswith("_"):
                continue
            dotted = f"{namespace.__name__}.{name}"
            names.add(dotted)
            value = getattr(namespace, name, None)
            if isinstance(value, ModuleType) and value.__name__ == dotted:
                pending.append(value)
    return sorted(names)


def tensorflows() -> set[str]:
    """TensorFlow's public names, as names of gradtape."""
    recorded = json.loads((ROOT / "tests/signatures/names.json").read_text("utf-8"))
    places = {space: "gradtape" if space == "tf" else f"gradtape.{space}" for space in recorded}
    return {*places.values(), *[f"{places[space]}.{name}" for space, names in recorded.items() for name in names]}


def own_names(names: list[str]) -> set[str]:
    """Those names that are gradtape's own."""
    theirs = tensorflows()
    return {name for name in names if name not in theirs and not name.startswith(TENSORFLOWS)}


def statuses(names: list[str]) -> dict[str, str]:
    """The status of each name. LookupError for one of `OWN` that is not there."""
    declared = {f"{module}.{name}" for module, row in OWN.items() for name in row.split()}
    if gone := sorted(declared - set(names)):
        raise LookupError(f"OWN of {Path(__file__).name} promises names that are not there: {', '.join(gone)}")
    moving = {name for name in names if re.search(r"\bexperimental|__internal__", name)} | (own_names(names) - declared)
    return {name: EXPERIMENTAL if name in moving else STABLE for name in names}


def drift(committed: list[str], current: list[str]) -> str:
    """What has come and gone, as text; empty where nothing has."""
    come, gone = sorted(set(current) - set(committed)), sorted(set(committed) - set(current))
    lines = [f"  + {name}" for name in come] + [f"  - {name}" for name in gone]
    return "\n".join(["the public names have changed:", *lines, "If that is meant: make snapshot"]) if lines else ""


def page(found: dict[str, str]) -> str:
    """`docs/stability.md` with the tables: gradtape's own names by status, and the versions that `pyproject.toml` asks for."""
    own = own_names(list(found))
    names = ["| status | gradtape's own names |", "|---|---|"]
    for status in (STABLE, EXPERIMENTAL):
        shown = ", ".join(f"`{name.replace('gradtape', 'tf', 1)}`" for name in sorted(own) if found[name] == status)
        names.append(f"| {status} | {shown} |")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = dict(re.fullmatch(r"([\w-]+)(.*)", line).groups() for line in project["dependencies"])
    minors = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    versions = [
        "| what | versions |",
        "|---|---|",
        f"| Python | {', '.join(minors)} |",
        *[
            f"| {title} | {asked[package]} |"
            for title, package in (("JAX", "jax"), ("Keras", "keras"), ("NumPy", "numpy"), ("SciPy", "scipy"))
        ],
    ]
    said = f"Besides these, {len(found) - len(own):,} names are TensorFlow's.\n"
    tables = ["\n".join(names) + "\n\n" + said, "\n".join(versions) + "\n"]
    first, *parts = PAGE.read_text("utf-8").split(BEGIN)
    rest = [part.partition(END)[2] for part in parts]
    return first + "".join([f"{BEGIN}\n{table}\n{END}{after}" for table, after in zip(tables, rest, strict=True)])


if __name__ == "__main__":
    import gradtape

    found = statuses(public_names(gradtape))
    text = "".join(f"{name} {status}\n" for name, status in found.items())
    if sys.argv[1:] == ["--write"]:
        SNAPSHOT.write_text(text, "utf-8")
        PAGE.write_text(page(found), "utf-8")
    else:
        sys.stdout.write(text)
