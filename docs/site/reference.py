"""The reference: a page for each public module, made from the signatures and docstrings of its names.

A callable with names in several modules is described once, under its shortest name, and linked from the others.
"""

import enum
import functools
import inspect
import re
import types
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gradtape
from docs.site.docstrings import escaped, prose, signature, told
from docs.site.project import ROOT, source_link
from gradtape._src.core.base.hidden import hidden
from gradtape._src.core.programs.op import Op
from tests.architecture import public_names as names_of
from tests.architecture.public_names import EXPERIMENTAL, public_names

# The names of large modules, grouped by purpose. Each name that is described on a module's page is in one group.
GROUPS = {
    "gradtape.autodiff": {
        "Tapes and forward mode": "ForwardAccumulator GradientHook",
        "Jacobians, Hessians and their products": "jacrev jacfwd hessian jvp vjp linearize hvp gauss_newton_vp",
        "High orders and the Laplacian": "derivatives laplacian",
        "Sparse derivatives": """
            Sparsity jacobian_sparsity sparse_jacobian hessian_sparsity sparse_hessian sparse_solve
        """,
        "Solutions of equations": "root fixed_point argmin linear_solve odeint odeint_event",
        "Functions of eigenvalues and singular values": """
            eigenvalue_function eigenvalue_sum singular_value_function singular_value_sum
        """,
        "One example at a time": "per_example_gradients per_example_norms clipped_gradients",
        "Estimates of a Hessian": "hessian_trace hessian_diagonal hessian_norm",
        "Trace and eigenvalues from products": "operator_trace spectral_density Spectrum",
        "Curvature of a model": "fisher_diagonal ggn_diagonal kfac_factors",
        "Gradients that are changed, and memory": "straight_through reverse_gradient gradient_factors recompute_grad",
        "Checks and explanations": "check_gradients GradientMismatch explain explain_nan Diagnosis",
    },
}


def dotted(name: str) -> str:
    """Return a public name as users write it: `gradtape.math.sin` is `tf.math.sin`."""
    return re.sub(r"^gradtape\b", "tf", name)


@functools.cache
def public() -> dict[str, Any]:
    """Return all public names with their values."""
    found = {}
    for name in public_names(gradtape):
        try:
            found[name] = functools.reduce(getattr, name.split(".")[1:], gradtape)
        except AttributeError:
            continue
    return found


@functools.cache
def statuses() -> dict[str, str]:
    """Return whether each public name is stable or experimental."""
    return names_of.statuses(list(public_names(gradtape)))


def _described(value: Any) -> bool:
    return callable(value) and not isinstance(value, types.ModuleType)


@functools.cache
def homes() -> dict[int, str]:
    """Return the name under which each callable is described, by its id: the shortest, of TensorFlow 1 only as a last resort."""
    named = defaultdict(list)
    for name, value in public().items():
        if _described(value):
            named[id(value)].append(name)
    return {key: min(names, key=lambda n: (".compat." in n, n.count("."), len(n), n)) for key, names in named.items()}


@functools.cache
def aliases() -> dict[str, list[str]]:
    """Return the other names of each name of `homes`."""
    others = defaultdict(list)
    for name, value in public().items():
        if _described(value) and homes()[id(value)] != name:
            others[homes()[id(value)]].append(name)
    return others


def source_of(value: Any) -> str:
    """Return a link to the definition of a callable; empty if it is not defined in this repository."""
    value = inspect.unwrap(getattr(value, "__wrapped__", value))
    if isinstance(getattr(value, "op", None), Op):
        value = value.op.kernel
    code = getattr(value, "__code__", None) or getattr(getattr(value, "__func__", None), "__code__", None)
    try:
        file, line = (code.co_filename, code.co_firstlineno) if code else _definition(value)
    except (TypeError, OSError):
        return ""
    if file is None or not file.startswith(str(ROOT / "gradtape")):
        return ""
    path = file[len(str(ROOT)) + 1 :]
    return f"[{path}, line {line}]({source_link(path, line)})"


def _definition(value: Any) -> tuple[str | None, int]:
    """Return the file and line of a class or callable; for an error, those of its `class` statement."""
    if not (inspect.isclass(value) and issubclass(value, gradtape.errors.OpError)):
        return inspect.getsourcefile(value), inspect.getsourcelines(value)[1]
    file = gradtape.errors.OpError.__init__.__code__.co_filename
    lines = Path(file).read_text("utf-8").splitlines()
    return file, 1 + next(at for at, line in enumerate(lines) if line.startswith(f"class {value.__name__}("))


def directive(kind: str, name: str, signature: str, body: str, depth: int = 4) -> str:
    """Return the description of one name as a directive of Sphinx's Python domain."""
    fence = ":" * depth
    return f"{fence}{{py:{kind}}} {name}{signature}\n\n{body.strip()}\n{fence}\n"


def described(name: str, value: Any) -> str:
    """Return the entry of a callable: signature, docstring, methods of a class, its other names and its source."""
    parts = [told(value) if has_signature(value) else prose(inspect.getdoc(value) or "")]
    others = [n for n in aliases().get(name, ()) if ".compat." not in n] or aliases().get(name, ())[:1]
    if others:
        parts.append("Also " + ", ".join(f"`{dotted(other)}`" for other in others) + ".")
    if statuses()[name] == EXPERIMENTAL:
        parts.append("[Experimental](../stability.md): it may change in any release.")
    if source := source_of(value):
        parts.append(f"Source: {source}")
    if inspect.isclass(value):
        parts += [method(name, member, found) for member, found in sorted(methods(value).items())]
    kind = "exception" if inspect.isclass(value) and issubclass(value, BaseException) else "class"
    shown = signature(value) if has_signature(value) else ""
    return directive(kind if inspect.isclass(value) else "function", dotted(name), shown, "\n\n".join(p for p in parts if p), 6)


def has_signature(value: Any) -> bool:
    """Return whether users call a function or class; errors and enumerations have no signature."""
    return not (inspect.isclass(value) and issubclass(value, BaseException | enum.Enum))


def methods(value: type) -> dict[str, Any]:
    """Return the public methods and properties with docstrings that a class defines itself or inherits from gradtape."""
    owners = [owner for owner in reversed(value.__mro__) if owner.__module__.startswith("gradtape")]
    members = {name: member for owner in owners for name, member in vars(owner).items() if not name.startswith("_")}
    unseen = hidden(value)
    members = {name: member for name, member in members.items() if name not in unseen}
    found = {n: m for n, m in members.items() if callable(m) or isinstance(m, property | staticmethod | classmethod)}
    return {name: member for name, member in found.items() if inspect.getdoc(member) and not inspect.isclass(member)}


def method(owner: str, name: str, member: Any) -> str:
    """Return the entry of a method or property."""
    if isinstance(member, property):
        return directive("property", f"{dotted(owner)}.{name}", "", prose(inspect.getdoc(member) or ""))
    kind = {staticmethod: "staticmethod", classmethod: "classmethod"}.get(type(member), "method")
    function = getattr(member, "__func__", member)
    shown = signature(function, method=kind != "staticmethod")
    return directive(kind, f"{dotted(owner)}.{name}", shown, told(function))


def linked(name: str, value: Any) -> str:
    """Return the row of a name that is described elsewhere."""
    return f"| `{dotted(name)}` | {{py:obj}}`{dotted(homes()[id(value)])}` |"


def grouped(module: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of a module by the titles of its groups; without groups, in order under an empty title.

    Raises LookupError for a name that is not in exactly one group.
    """
    if module not in GROUPS:
        return {"": sorted(names, key=str.lower)}
    groups = {title: [f"{module}.{name}" for name in members.split()] for title, members in GROUPS[module].items()}
    listed = [name for members in groups.values() for name in members]
    if wrong := sorted(set(names) ^ set(listed)) or [name for name in set(listed) if listed.count(name) > 1]:
        raise LookupError(f"GROUPS of docs/site/reference.py: each name of {module} is in one group; see {', '.join(wrong)}")
    return groups


def summary(own: dict[str, Any], groups: dict[str, list[str]]) -> str:
    """Return the table of a module's names, by group, with the first sentence of each; empty for one name or none."""
    if len(own) < 2:
        return ""
    rows = []
    for title, members in groups.items():
        rows += [f"| **{title}** | |"] if title else []
        rows += [
            f"| {{py:obj}}`{dotted(name).rpartition('.')[2]} <{dotted(name)}>` | {first_sentence(own[name])} |"
            for name in members
        ]
    return "\n".join(["| name | what it does |", "|---|---|", *rows])


def first_sentence(value: Any) -> str:
    """Return the first sentence of a docstring, as a cell of a table."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return escaped(re.split(r"(?<=\.)\s", text, maxsplit=1)[0]).replace("|", "\\|")


def page(module: str, names: list[str]) -> str:
    """Return the page of a public module."""
    values = {name: public()[name] for name in names}
    lines = [f"# {dotted(module)}", prose(inspect.getdoc(inspect.getmodule(public().get(module, gradtape))) or "")]
    own = {n: v for n, v in values.items() if _described(v) and homes()[id(v)] == n}
    lines.append(summary(own, grouped(module, own)))
    for title, members in grouped(module, own).items():
        lines += [f"## {title}" if title else "", *[described(name, own[name]) for name in members]]
    plain = [n for n, v in values.items() if not _described(v) and not isinstance(v, types.ModuleType)]
    if plain:
        lines += ["## Values", "\n".join(f"- `{dotted(n)}`: `{_text(values[n])}`" for n in plain)]
    other = [linked(n, v) for n, v in values.items() if _described(v) and n not in own]
    if other:
        lines += ["## Other names", "| name | described as |\n|---|---|\n" + "\n".join(other)]
    return "\n\n".join(line for line in lines if line) + "\n"


def _text(value: Any) -> str:
    text = re.sub(r" at 0x\w+", "", repr(value)).replace(str(ROOT), "").replace("`", "'")
    return text if len(text) < 80 else text[:77] + "…"


def made() -> dict[str, str]:
    """Return the reference's pages by their places on the site."""
    by_module = defaultdict(list)
    for name in public():
        by_module[name.rpartition(".")[0]].append(name)
    modules = sorted(by_module, key=lambda module: (".compat" in module, module))
    pages = {f"reference/{dotted(module)}.md": page(module, by_module[module]) for module in modules}
    count = len(set(homes().values()))
    rows = "\n".join(
        f"| [{dotted(module)}]({dotted(module)}.md) | {len(by_module[module])} | {_first(module)} |" for module in modules
    )
    index = (
        "# Reference\n\n"
        f"{count:,} public functions and classes, each with its signature, its docstring and its source. "
        "Names are TensorFlow's; `import gradtape as tf`. `tf.keras` is [Keras](https://keras.io/api/) itself, described there. "
        "A name of TensorFlow that is absent has its reason under [TensorFlow's names](../names.md).\n\n"
        f"| module | names | what it holds |\n|---|--:|---|\n{rows}\n"
    )
    return pages | {"reference/index.md": index}


def started(start: str) -> str:
    """Return the start page with links to the reference and to a report, pages that exist only on the site."""
    start = start.replace("[Reference](compatibility.md)", "[Reference](reference/index.md)")
    picture = re.search(r"^!\[.*\]\(why\.png\)$", start, re.MULTILINE)
    assert picture is not None
    return start.replace(picture[0], f'{picture[0]}\n\n<a href="{REPORT}">Open a report like this one</a>')


REPORT = "sample-report.html"


def _first(module: str) -> str:
    doc = inspect.getdoc(inspect.getmodule(public().get(module, gradtape))) or ""
    return escaped(doc.split("\n\n")[0].replace("\n", " ")).replace("|", "\\|")
