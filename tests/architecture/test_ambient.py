"""The state of a thread is one object, and each of its fields says who else has it."""

import ast
import threading

import pytest

from gradtape._src.core.base import ambient
from tests.architecture.rules import OURS, sources


def test_there_is_one_thread_local():
    found = [file.path for file in sources(*OURS) for node in file.nodes if is_local(file, node)]
    assert found == ["gradtape/_src/core/base/ambient.py"]


def is_local(file, node):
    """Whether a node names `threading.local` or `ContextVar`, outside of an import."""
    return isinstance(node, (ast.Attribute, ast.Name)) and file.dotted(node) in ("threading.local", "contextvars.ContextVar")


def test_a_field_says_whether_it_is_of_a_replica():
    with pytest.raises(TypeError, match="per_replica"):
        ambient.field(None)


def test_a_name_stands_for_one_field():
    with pytest.raises(TypeError, match="has a field 'trace' already"):
        ambient.declare(type("Second", (), {"trace": ambient.field(None, per_replica=True)}))


def test_each_thread_begins_with_the_first_value():
    there = []
    thread = threading.Thread(target=lambda: there.extend([field.get() for field in ambient.fields]))
    thread.start()
    thread.join()
    for field, got in zip(ambient.fields, there, strict=True):
        first = field.first()
        assert type(got) is type(first) and got is not field.get() if callable(field.default) else got is first, field.name


def test_a_context_puts_back_what_was_there():
    fields = [field for field in ambient.fields if not isinstance(field, ambient.Foreign)]
    before, others = [field.get() for field in fields], [object() for _ in fields]
    with (
        pytest.raises(KeyError, match="left"),
        ambient.setting(**{field.name: other for field, other in zip(fields, others, strict=True)}),
    ):
        within = [field.get() for field in fields]
        raise KeyError("left")
    assert list(map(id, within)) == list(map(id, others))
    assert list(map(id, before)) == [id(field.get()) for field in fields]


def test_a_context_of_an_unknown_field_sets_nothing():
    with pytest.raises(AttributeError, match="wrtier"), ambient.setting(on_host=True, wrtier=None):
        pass
    assert not ambient.fields[[field.name for field in ambient.fields].index("on_host")].get()
