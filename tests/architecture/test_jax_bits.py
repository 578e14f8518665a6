"""JAX makes and traces arrays for the library only inside of `core/platform/xla`'s contexts, where it has 64 bits."""

import ast

import pytest

from tests.architecture.rules import sources

TRACES = {
    "jit", "eval_shape", "make_jaxpr", "device_put", "pure_callback", "make_array_from_callback",
    "make_array_from_process_local_data", "from_dlpack", "export",
}  # fmt: skip
CONTEXTS = {"wide", "outside", "enable_x64"}
ELSEWHERE = {
    "gradtape/_src/core/platform/xla.py": "the contexts themselves",
    "gradtape/_src/core/platform/arrays.py": "called by kernels, which are traced inside of a context",
    "gradtape/_src/core/platform/loop_kernels.py": "a probe of XLA in float32",
    "gradtape/_src/core/engine/tiers.py": "a probe of XLA in float32",
    "gradtape/_src/ops/linalg/host.py": "a kernel, whose callback takes words of 32 bits",
    "keras_gradtape/src/ops/_nn/flash.py": "asks for shapes only, of floats of 16 and 32 bits",
}


def calls(tree):
    """Yield the lines where JAX traces or makes arrays outside of a context."""

    def visit(node, inside):
        if isinstance(node, ast.With):
            names = {getattr(getattr(i.context_expr, "func", None), "attr", None) for i in node.items}
            inside = inside or bool(names & CONTEXTS)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TRACES:
            base = ast.unparse(node.func.value)
            if base in ("jax", "jax.dlpack", "export") and not inside:
                yield node.lineno
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    yield from visit(tree, False)


def test_arrays_are_made_and_traced_with_64_bits():
    found = {source.path: lines for source in sources("gradtape", "keras_gradtape") if (lines := [*calls(source.tree)])}
    assert {*found} == {*ELSEWHERE}, found


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("jax.jit(f)(x)", [1]),
        ("with xla.wide():\n    jax.device_put(x)\njax.dlpack.from_dlpack(x)", [3]),
        ("with precise(p), xla.outside():\n    export.export(f)", []),
        ("with other():\n    jax.eval_shape(f)", [2]),
    ],
)
def test_a_call_outside_is_found(text, lines):
    assert [*calls(ast.parse(text))] == lines
