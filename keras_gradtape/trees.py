"""Changes of the syntax trees of Keras's modules. Each function returns the number of changes."""

import ast
import functools
from collections.abc import Callable

from keras_gradtape.choosing import NAME

PACKAGE = "keras_gradtape"
RAGGED_ELSEWHERE = "ragged and backend.backend() != 'tensorflow'"


def arm(source: str) -> Callable[[ast.Module], int]:
    """Return the change that adds a branch for this backend, which runs `source`.

    It goes into a chain of `if backend() == ...` that ends with an error or a fallback.
    """

    def change(tree: ast.Module) -> int:
        for statement in tree.body:
            if not (
                isinstance(statement, ast.If)
                and isinstance(statement.test, ast.Compare)
                and "backend()" in ast.unparse(statement)
            ):
                continue
            last = statement
            while len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
                last = last.orelse[0]
            if last.orelse:
                test = ast.Compare(statement.test.left, [ast.Eq()], [ast.Constant(NAME)])
                last.orelse = [ast.If(test, ast.parse(source).body, last.orelse)]
                return 1
        return 0

    return change


def base(name: str, module: str, of: str) -> Callable[[ast.Module], int]:
    """Return the change that makes the class `name` of `module` the first base of the class `of`."""

    def change(tree: ast.Module) -> int:
        for place, statement in enumerate(tree.body):
            if isinstance(statement, ast.ClassDef) and statement.name == of:
                statement.bases.insert(0, ast.Name(name, ast.Load()))
                tree.body.insert(place, ast.ImportFrom(module, [ast.alias(name)], 0))
                return 1
        return 0

    return change


def import_gradtape(tree: ast.Module, tensorflow: str = "tensorflow", backend: str = "backend") -> int:
    """Replace imports of TensorFlow by those of gradtape's substitutes.

    `tensorflow` and `backend` are names in `stand_ins`: the substitutes for TensorFlow, and for Keras's backend of it.
    """
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "tensorflow":
            node.module = NAME + node.module.removeprefix("tensorflow")
        elif isinstance(node, ast.ImportFrom) and [name.name for name in node.names] == ["tensorflow"]:
            if node.module == "keras.src.utils.module_utils":  # Keras's lazily imported module
                node.module, node.names[0].name = f"{PACKAGE}.stand_ins", tensorflow
            elif node.module == "keras.src.backend":
                node.module, node.names[0].name = f"{PACKAGE}.stand_ins", backend
            else:
                continue
        elif isinstance(node, ast.Import) and any(name.name.partition(".")[0] == "tensorflow" for name in node.names):
            for name in node.names:
                if name.name.partition(".")[0] == "tensorflow":
                    name.name = NAME + name.name.removeprefix("tensorflow")
        else:
            continue
        count += 1
    return count


import_loaded = functools.partial(import_gradtape, tensorflow="loaded_tensorflow", backend="loaded_backend")


def allow_rows(tree: ast.Module) -> int:
    """Remove the refusal of `ragged=True` on other backends than TensorFlow's."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            kept = [s for s in node.body if not (isinstance(s, ast.If) and ast.unparse(s.test) == RAGGED_ELSEWHERE)]
            count += len(node.body) - len(kept)
            node.body = kept
    return count
