"""The rules of the house, read off the syntax trees of its files.

Each rule takes a `Source` and yields violations, `path:line: what is wrong, and what to do instead`. `test_imports.py`
runs them over the package, and over bad samples which they must find.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]

# A file imports from its own folder and from the floors below it, never upwards and never from a neighbour's folder.
FLOORS = {
    "gradtape._src.core": 1,
    "gradtape._src.ops": 2,
    "gradtape._src.autodiff": 3,
    "gradtape._src.files": 3,
    "gradtape._src.control": 4,
    "gradtape._src.derivatives": 5,
    "gradtape._src.explain": 5,
    "gradtape._src.profile": 5,
    "gradtape._src.optimizers": 5,
    "gradtape._src.data": 5,
    "gradtape._src.distribute": 5,
    "gradtape._src.lookup": 5,
    "gradtape._src.operators": 5,
    "gradtape._src.summary": 5,
    "gradtape._src.train": 5,
    "keras_gradtape": 5,  # the hook
    "gradtape._src.figures": 6,
    "gradtape._src.v1": 6,  # TensorFlow 1, which no floor below knows
    "gradtape._src.testing": 7,  # `tf.test.TestCase` opens sessions
    "gradtape._src.compat": 8,
    "gradtape._src.cli": 8,
    "gradtape._src.demo": 8,
    "gradtape": 8,
    "gradtape_cli": 8,  # it parses the command line, and imports the rest when there is something to do
    "keras_gradtape.startup": 8,  # it may open the door, once TensorFlow is imported
    "keras_gradtape.src": 9,  # Keras's backend is a client of the public face
}
OURS = ("gradtape", "gradtape_cli", "keras_gradtape")
FACE = FLOORS["gradtape"]  # whose parts import each other

# Folders of ops/ import folders of a lower level. `math` and `array` are the ground, and import each other's files.
OPS_LEVELS = {
    "math": 1, "array": 1,
    "linalg": 2, "sparse": 2, "debugging": 2,
    "random": 3,
    "nn": 4,
    "signal": 5, "image": 5, "strings": 5, "numpy": 5,
    "ragged": 6,
}  # fmt: skip
OPS_GROUND = 1

# A file of core/ imports files of its own folder and of those before it; core/README.md says what each folder is.
CORE_LEVELS = "base host native platform values programs engine settings tensors declarations".split()

BY_SEVERAL_THREADS = {f"numpy.{name}" for name in ("dot", "einsum", "inner", "matmul", "matvec", "tensordot", "vdot", "vecdot")}

# The gradients are this project's own; JAX supplies kernels, the compiler, vmap and sharding.
JAX_AUTODIFF = frozenset(
    f"jax.{name}"
    for name in (
        "grad value_and_grad vjp jvp linearize linear_transpose jacfwd jacrev jacobian hessian custom_vjp custom_jvp"
        " custom_gradient custom_derivatives custom_transpose checkpoint remat ad_checkpoint interpreters.ad"
        " experimental.jet lax.custom_root lax.custom_linear_solve"
    ).split()
)

CODE_LOADERS = frozenset("pickle cPickle cloudpickle dill marshal shelve joblib".split())
CODE_RUNNERS = frozenset(("eval", "exec", "builtins.eval", "builtins.exec"))

BY_DEVICE = frozenset(
    ("jax.lax.platform_dependent", *[f"gradtape._src.core.platform.arrays.{n}" for n in ("lax.platform_dependent", "is_on_host")])
)

# (folder of FLOORS, name): each is allowed for the reason beside it.
ALLOWED = {
    ("gradtape._src.cli", "exec"),  # `gradtape run` runs the user's own script
    ("gradtape._src.control", "jax.lax.platform_dependent"),  # `jax_function` on the platform that its user names
    ("gradtape._src.control", "jax.vjp"),  # `jax_function`: the gradient of a JAX callable
}

# Where the dtype stands among the positional arguments of a jax.numpy constructor; None: only as a keyword.
CONSTRUCTORS = {
    "arange": 3,
    "array": 1,
    "asarray": 1,
    "empty": 1,
    "eye": 3,
    "full": 2,
    "geomspace": 4,
    "identity": 1,
    "linspace": 5,
    "logspace": 5,
    "ones": 1,
    "tri": 3,
    "zeros": 1,
}

NUMPY_MATHEMATICS = frozenset(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)) | frozenset(
    "average cumprod cumsum dot einsum inner mean outer prod std sum tensordot trace var vdot".split()
)

# What kernels compute with is JAX's, or its twin on the host.
STANDS_FOR = {"gradtape._src.core.platform.arrays.jnp": "jax.numpy", "gradtape._src.core.platform.arrays.lax": "jax.lax"}

# What a higher floor fills in on a lower one stands here, and nowhere else.
HOOKS = "gradtape._src.core.base.hooks"
CHANGES = frozenset("add append appendleft clear discard extend insert pop popitem remove setdefault update".split())

HOST_SIDE = re.compile(r"# host-side: \S")


@dataclass(frozen=True)
class Source:
    """A Python file: `path` is relative to the root of the repository."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Every import as (line, dotted name of what is imported), inside functions and by `import_module` too."""
        found = []
        for node in self.nodes:
            match node:
                case ast.Import(names=names):
                    found += [(node.lineno, name.name) for name in names]
                case ast.ImportFrom(names=names):
                    found += [(node.lineno, f"{self.imported_package(node)}.{name.name}") for name in names]
                case ast.Call(args=[ast.Constant(value=str(name)), *_]) if self.dotted(node.func) in (
                    "importlib.import_module",
                    "__import__",
                ):
                    found.append((node.lineno, name))
        return found

    @cached_property
    def typing_lines(self) -> set[int]:
        """The lines that only a type checker reads."""
        blocks = [n for n in self.nodes if isinstance(n, ast.If) and self.dotted(n.test) == "typing.TYPE_CHECKING"]
        return {line for block in blocks for line in range(block.lineno, block.body[-1].end_lineno + 1)}

    def imported_package(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return str(node.module)
        package = self.module.split(".") if self.path.endswith("/__init__.py") else self.module.split(".")[:-1]
        base = package[: len(package) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)

    @cached_property
    def bindings(self) -> dict[str, str]:
        """What each imported name stands for: `jnp` for `jax.numpy`."""
        names = {}
        for node in self.nodes:
            match node:
                case ast.Import(names=aliases):
                    for alias in aliases:
                        root = alias.name.partition(".")[0]
                        names[alias.asname or root] = alias.name if alias.asname else root
                case ast.ImportFrom(names=aliases):
                    for alias in aliases:
                        name = f"{self.imported_package(node)}.{alias.name}"
                        names[alias.asname or alias.name] = STANDS_FOR.get(name, name)
        return names

    def dotted(self, node: ast.AST) -> str | None:
        """`jnp.linalg.inv` as `jax.numpy.linalg.inv`; None for what is no chain of names."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self.bindings.get(node.id, node.id), *reversed(parts)])

    def mentions(self) -> Iterator[tuple[int, str]]:
        """Imports, and every chain of names whose first is imported or a builtin: (line, dotted name)."""
        yield from self.imports
        for node in self.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and (name := self.dotted(node)):
                yield node.lineno, name

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        for node in self.nodes:
            if isinstance(node, ast.Call) and (name := self.dotted(node.func)):
                yield node, name

    def violation(self, line: int, message: str) -> str:
        return f"{self.path}:{line}: {message}"


def sources(*folders: str) -> list[Source]:
    """The Python files under `folders` of the repository."""
    return [read_source(path) for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]


@cache
def read_source(path: Path) -> Source:
    """The file at `path`, which is read and parsed once for all rules."""
    return Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))


def folder_of(module: str) -> str | None:
    """The key of `FLOORS` that `module` belongs to, or None where it has no floor."""
    parts = module.split(".")
    if parts[:2] == ["gradtape", "_src"]:
        folder = ".".join(parts[:3])
        return folder if folder in FLOORS else None
    for size in (2, 1):
        if (folder := ".".join(parts[:size])) in FLOORS:
            return folder
    return None


def imports_point_downwards(source: Source) -> Iterator[str]:
    if source.module == "gradtape._src":
        if source.imports:
            yield source.violation(source.imports[0][0], "gradtape/_src/__init__.py imports nothing; remove the import")
        return
    here = folder_of(source.module)
    if here is None:
        yield source.violation(1, "this file has no floor; move it into a folder of FLOORS, or give it a floor there")
        return
    for line, name in source.imports:
        there = folder_of(name)
        if name.partition(".")[0] not in OURS or there == here:
            continue
        if there is None:
            yield source.violation(line, f"imports {name}, which has no floor in FLOORS")
        elif FLOORS[there] > FLOORS[here]:
            yield source.violation(
                line, f"floor {FLOORS[here]} ({here}) imports {name} of floor {FLOORS[there]}; move what it needs down"
            )
        elif FLOORS[there] == FLOORS[here] != FACE:
            yield source.violation(
                line, f"{here} imports {name}, its neighbour on floor {FLOORS[here]}; move what both need down"
            )


def _targets(node: ast.AST) -> list[ast.expr]:
    """What a statement assigns or deletes, or a call changes."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return [part for target in targets for part in getattr(target, "elts", [target])]
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
            return [target]
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[of, *_]):
            return [ast.Attribute(of, "")]
        case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in CHANGES:
            return [ast.Subscript(of, ast.Constant(None))]
    return []


def hooks_are_filled_in_one_place(source: Source) -> Iterator[str]:
    """Attributes and items of what is imported from a lower floor are assigned in `core/base/hooks.py` only."""
    here = folder_of(source.module)
    if here is None:
        return
    looped = {}  # the name of a loop over imported classes → those
    for node in source.nodes:
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Tuple | ast.List):
            looped[node.target.id] = [source.dotted(item) for item in node.iter.elts]
    for node in source.nodes:
        for target in _targets(node):
            if not isinstance(target, ast.Attribute | ast.Subscript):
                continue
            of = target.value
            names = looped.get(of.id, [source.dotted(of)]) if isinstance(of, ast.Name) else [source.dotted(of)]
            for name in names:
                there = name and folder_of(name)
                if not there or FLOORS[there] >= FLOORS[here] or name.startswith(HOOKS):
                    continue
                if isinstance(node, ast.Call) and isinstance(target, ast.Subscript) and is_module(name):
                    continue  # a function that is called `add`
                yield source.violation(
                    node.lineno,
                    f"changes {name} of floor {FLOORS[there]} from floor {FLOORS[here]}; fill in a field of core/base/hooks.py,"
                    " or call a function of that file",
                )


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").exists() or path.is_dir()


def family_of(module: str) -> str | None:
    """The folder of ops/ that `module` stands in; None for what stands beside the folders, or elsewhere."""
    parts = module.split(".")
    inside = parts[:3] == ["gradtape", "_src", "ops"] and len(parts) > 3
    return parts[3] if inside and (ROOT / Path(*parts[:4])).is_dir() else None


def folders_of_ops_keep_their_order(source: Source) -> Iterator[str]:
    here = family_of(source.module)
    if here is None:
        return
    if here not in OPS_LEVELS:
        yield source.violation(1, f"ops/{here} has no level; give it one in OPS_LEVELS")
        return
    for line, name in source.imports:
        there = family_of(name)
        if there is None or there == here or OPS_LEVELS[there] == OPS_LEVELS[here] == OPS_GROUND:
            continue
        if OPS_LEVELS[there] >= OPS_LEVELS[here]:
            yield source.violation(
                line, f"ops/{here} imports {name}, whose folder is not below it in OPS_LEVELS; move what it needs down"
            )


def levels_of_core_keep_their_order(source: Source) -> Iterator[str]:
    here = _folder_of_core(source.module)
    if here is None:
        return
    if here not in CORE_LEVELS:
        yield source.violation(1, f"core/{here} has no level; put it into a folder of CORE_LEVELS, which core/README.md explains")
        return
    below = CORE_LEVELS[: CORE_LEVELS.index(here) + 1]
    for line, name in source.imports:
        there = _folder_of_core(name)
        if line not in source.typing_lines and there in CORE_LEVELS and there not in below:
            yield source.violation(
                line,
                f"core/{here} imports {name} of core/{there}, which stands above it in CORE_LEVELS;"
                " move what it needs down, or make it a field of core/base/hooks.py",
            )


def _folder_of_core(module: str) -> str | None:
    """The folder of core/ that `module` is or stands in; None elsewhere."""
    parts = module.split(".")
    return parts[3] if parts[:3] == ["gradtape", "_src", "core"] and len(parts) > 3 else None


def gradients_are_our_own(source: Source) -> Iterator[str]:
    for line, name in source.mentions():
        parts = name.split(".")
        prefixes = {".".join(parts[:size]) for size in range(1, len(parts) + 1)}
        if any((folder_of(source.module), prefix) not in ALLOWED for prefix in prefixes & JAX_AUTODIFF):
            yield source.violation(line, f"uses {name}; gradients are rules of this library, never JAX's autodiff")


def dependencies_are_used_by_their_public_names(source: Source) -> Iterator[str]:
    ours = {*OURS, "__future__"}
    imported = {name.partition(".")[0] for name in source.bindings.values()}
    for line, name in source.mentions():
        root, *rest = name.split(".")
        if root in ours or root not in imported or root in sys.stdlib_module_names:
            continue
        private = [part for part in rest if part.startswith("_") and not part.endswith("__")]
        if private:
            yield source.violation(line, f"uses {name}; {private[0]} is private to {root}, use its public API")


def no_code_from_data(source: Source) -> Iterator[str]:
    for line, name in source.imports:
        if name.partition(".")[0] in CODE_LOADERS:
            yield source.violation(line, f"imports {name}, which runs code from a file; save arrays and JSON instead")
    for call, name in source.calls():
        if name in CODE_RUNNERS and (folder_of(source.module), name) not in ALLOWED:
            yield source.violation(call.lineno, f"calls {name}; nothing here runs text as code")
        if any(word.arg == "allow_pickle" for word in call.keywords):
            yield source.violation(call.lineno, "passes allow_pickle; save arrays without objects instead")


def _importing(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and in place of `with _importing():` those in it."""
    for node in statements:
        match node:
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=ast.Name(id="_importing")))], body=body):
                yield from body
            case _:
                yield node


def public_modules_only_re_export(source: Source) -> Iterator[str]:
    if folder_of(source.module) != "gradtape" or source.module == "gradtape.__main__":  # which is the command
        return
    for node in _importing(source.tree.body):
        match node:
            case ast.ImportFrom(names=names):
                for alias in names:
                    if alias.asname not in (None, alias.name) and not alias.asname.startswith("_"):
                        yield source.violation(
                            alias.lineno,
                            f"imports {alias.name} as {alias.asname}, which type checkers take for private; "
                            f"write {alias.asname} = … below the imports",
                        )
                continue
            case ast.Import() | ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.Assign(targets=[ast.Name(id="__version__" | "__all__" | "__dir__" | "__getattr__")]):
                continue
            case ast.Assign(targets=[ast.Name()], value=ast.Name()):  # a second name
                continue
            case ast.If(test=ast.Name(id="_TYPE_CHECKING"), body=[ast.ImportFrom()], orelse=[]):
                continue
        yield source.violation(
            node.lineno, "a public module holds `from gradtape._src.… import X as X` and no logic; move this to _src"
        )


def kernels_state_their_dtypes(source: Source) -> Iterator[str]:
    """Inside ops/. A line marked `# host-side: <why>` may use NumPy, as its values never enter a kernel."""
    if folder_of(source.module) != "gradtape._src.ops":
        return
    lines = source.text.splitlines()
    for call, name in source.calls():
        package, _, function = name.rpartition(".")
        if package == "jax.numpy" and function in CONSTRUCTORS:
            dtype_given = len(call.args) > CONSTRUCTORS[function] or any(word.arg in ("dtype", None) for word in call.keywords)
            if not dtype_given:
                yield source.violation(
                    call.lineno, f"jnp.{function} without dtype= takes JAX's default, not the op's; pass dtype="
                )
        elif name == "jax.nn.one_hot" and not any(word.arg == "dtype" for word in call.keywords):
            yield source.violation(call.lineno, "jax.nn.one_hot without dtype= gives JAX's default; pass dtype=")
        elif package == "numpy" and function in NUMPY_MATHEMATICS and not HOST_SIDE.search(lines[call.lineno - 1]):
            yield source.violation(
                call.lineno,
                f"np.{function} gives a NumPy float64 or int64 that widens a kernel; use jnp or lax on arrays, math on"
                " Python numbers, or mark the line `# host-side: <why>`",
            )


def only_the_engine_changes_the_trace(source: Source) -> Iterator[str]:
    if source.module == "gradtape._src.core.engine.engine":
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr == "trace" and isinstance(node.ctx, ast.Store):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", None)
            if owner in ("local", "state"):
                yield source.violation(
                    node.lineno, "sets the trace of the thread, which only the engine does; use engine.recording_in(trace)"
                )


def products_are_computed_by_one_thread(source: Source) -> Iterator[str]:
    """Inside ops/ and core/host/, whose kernels run on NumPy."""
    if folder_of(source.module) != "gradtape._src.ops" and not source.module.startswith("gradtape._src.core.host"):
        return
    if source.module == "gradtape._src.core.host.products":
        return
    found = [
        (node.lineno, "`@`")
        for node in source.nodes
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)
    ]
    found += [(call.lineno, name) for call, name in source.calls() if name in BY_SEVERAL_THREADS]
    for line, name in found:
        yield source.violation(
            line,
            f"{name} on NumPy arrays may use several threads of BLAS, which fight XLA's for the cores; use jnp.matmul, and on"
            " the host core.host.products",
        )


def devices_are_told_apart_in_one_table(source: Source) -> Iterator[str]:
    if source.module == "gradtape._src.core.platform.lowerings":
        return
    for line, name in source.mentions():
        place = folder_of(source.module), name
        if name in BY_DEVICE and place not in ALLOWED:
            yield source.violation(
                line,
                f"uses {name} to choose how something is computed; enter the rule into the table (core/platform/lowerings.py)",
            )


RULES = (
    devices_are_told_apart_in_one_table,
    only_the_engine_changes_the_trace,
    imports_point_downwards,
    hooks_are_filled_in_one_place,
    folders_of_ops_keep_their_order,
    levels_of_core_keep_their_order,
    gradients_are_our_own,
    dependencies_are_used_by_their_public_names,
    no_code_from_data,
    public_modules_only_re_export,
    kernels_state_their_dtypes,
    products_are_computed_by_one_thread,
)


def violations(source: Source) -> list[str]:
    """All that `source` breaks, each once (a chain of attributes is met at each of its links)."""
    found = {}
    for rule in RULES:
        for violation in rule(source):
            place = (violation.partition(": ")[0], rule)
            found.setdefault(place, violation)
    return list(found.values())
