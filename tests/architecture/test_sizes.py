"""A file can be read at a sitting, a function on a screen: what is longer is listed here, with its reason."""

import ast

import pytest

from tests.architecture.rules import OURS, Source, sources

FILE, FUNCTION = 600, 60  # lines

LONGER = {
    (
        "gradtape/_src/compat/door/keras2_optimizer.py",
        "optimizer",
    ): "it declares one class, whose base is there when Keras is loaded",
    ("gradtape/_src/ops/nn/convolution.py", "family"): "it declares three ops, whose kernels and gradients are of each other",
}


def longer(source):
    """What of a file is too long, as (path, name of the function or None) → lines."""
    found = {}
    lines = source.text.count("\n")
    if lines > FILE:
        found[source.path, None] = lines
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := node.end_lineno - node.lineno + 1) > FUNCTION:
            found[source.path, node.name] = lines
    return found


def test_no_file_and_no_function_is_too_long():
    found = {place: lines for source in sources(*OURS) for place, lines in longer(source).items()}
    assert found.keys() == LONGER.keys(), {place: found.get(place) for place in found.keys() ^ LONGER.keys()}


@pytest.mark.parametrize(
    ("text", "place"),
    [("x = 1\n" * (FILE + 1), None), ("async def read():\n" + "    x = 1\n" * FUNCTION, "read")],
    ids=["file", "function"],
)
def test_what_is_too_long_is_found(text, place):
    assert longer(Source("a.py", text)).keys() == {("a.py", place)}
    shorter = text.removesuffix("    x = 1\n") if place else text.removesuffix("x = 1\n")
    assert not longer(Source("a.py", shorter))
