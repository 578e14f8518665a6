"""Each state of a thread says what of it a replica has for itself: `threading.local` stands in one file."""

import ast
import re

import pytest

from gradtape._src.core.per_thread import PerThread
from tests.architecture.rules import OURS, sources

FILES = sources(*OURS)


def test_no_other_file_has_a_state_of_its_own():
    found = [
        file.path
        for file in FILES
        if re.search(r"\bthreading\.local\(|\(.*threading\.local\)|from threading import .*\blocal\b", file.text)
    ]
    assert found == ["gradtape/_src/core/per_thread.py"]


def test_a_state_that_says_nothing_is_refused():
    with pytest.raises(TypeError, match="replica"):
        type("Forgotten", (PerThread,), {})


def test_what_is_declared_is_there():
    for file in FILES:
        for node in ast.walk(ast.parse(file.text if "PerThread" in file.text else "")):
            if isinstance(node, ast.ClassDef) and any(
                isinstance(base, ast.Name) and base.id == "PerThread" for base in node.bases
            ):
                (keyword,) = node.keywords
                assert keyword.arg == "replica"
                assigned = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
                assigned |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
                assigned |= {target.id for n in node.body if isinstance(n, ast.Assign) for target in n.targets}
                assert {*ast.literal_eval(keyword.value).split()} <= assigned, (file.path, node.name)
