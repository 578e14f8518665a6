"""No file of the library imports, by way of others, itself: at its head or inside of functions, but for what is listed here."""

import ast

from tests.architecture.rules import sources

# Each has its reason in docs/design.md, "The floors".
ALLOWED = {
    frozenset(("control.autograph", "control.mapping", "control.statements")),
    frozenset(("compat.door.finder", "compat.door.private")),
}


def imports(source, modules):
    """Return the modules that a file imports when it runs; what only a type checker reads does not count."""
    typing = {
        node
        for block in source.nodes
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    found = set()
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node not in typing:
            package = source.imported_package(node)
            found |= {name if (name := f"{package}.{alias.name}") in modules else package for alias in node.names}
    return found & modules


def circles(graph):
    """Return the sets of modules that lead to each other."""
    reached = {}
    for start in graph:
        seen, pending = set(), [start]
        while pending:
            for module in graph[pending.pop()] - seen:
                seen.add(module)
                pending.append(module)
        reached[start] = seen
    return {
        frozenset(other for other in reached[module] if module in reached[other]) for module in graph if module in reached[module]
    }


def test_no_circles():
    files = {source.module: source for source in sources("gradtape/_src")}
    graph = {module: imports(source, files.keys()) for module, source in files.items()}
    found = {frozenset(module.removeprefix("gradtape._src.") for module in circle) for circle in circles(graph)}
    assert found == ALLOWED


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}
