"""The methods that floors above attach are those that `core/base/hooks.py` lists, each by the file that it names."""

import ast
import dataclasses
import importlib

import pytest

import gradtape as tf
import gradtape.compat.v1 as v1
from gradtape._src.core.base import hooks
from tests.architecture.rules import OURS, sources

CLASSES = {kind.__name__: kind for kind in (tf.Tensor, tf.Variable, tf.IndexedSlices, tf.RaggedTensor, tf.data.Dataset)}


def test_each_method_is_attached_by_the_file_that_is_listed():
    assert v1.data.make_one_shot_iterator  # which loads what attaches to datasets
    assert CLASSES.keys() == hooks.METHODS.keys()
    for name, files in hooks.METHODS.items():
        attached = [method for methods in files.values() for method in methods]
        assert len(attached) == len(set(attached))
        assert set(attached) <= vars(CLASSES[name]).keys()


def test_only_listed_files_attach():
    found = {
        source.path.removeprefix("gradtape/_src/").removesuffix(".py")
        for source in sources(*OURS)
        for node in source.nodes
        if isinstance(node, ast.Call) and source.dotted(node.func) == "gradtape._src.core.base.hooks.attach"
    }
    assert found == {file for table in (hooks.METHODS, hooks.ON_REQUEST) for files in table.values() for file in files}


def test_a_method_that_is_not_listed_is_refused():
    with pytest.raises(TypeError, match=r"does not list these of Tensor: \['logarithm'\]. Enter them in METHODS"):
        hooks.attach(tf.Tensor, logarithm=tf.math.log)


def test_each_hook_has_a_default_and_says_who_fills_it():
    for kind in (hooks.Core, hooks.Graphs, hooks.Door, hooks.Gradients, hooks.Watch, hooks.Clients):
        (made,) = [n for n in ast.walk(_tree()) if isinstance(n, ast.ClassDef) and n.name == kind.__name__]
        documented = {
            field.target.id
            for field, following in zip(made.body, made.body[1:], strict=False)
            if isinstance(field, ast.AnnAssign) and isinstance(following, ast.Expr)
        }
        assert documented == {field.name for field in dataclasses.fields(kind)}
        assert kind()


def test_every_hook_is_filled_in():
    assert v1.data.make_one_shot_iterator and tf.distribute.get_strategy
    for filled in (hooks.core, hooks.graphs, hooks.gradients):
        for field in dataclasses.fields(filled):
            assert getattr(filled, field.name) is not field.default, field.name
    assert hooks.clients.require_replica is not hooks.Clients().require_replica


def _tree():
    (source,) = [s for s in sources("gradtape/_src/core") if s.path.endswith("core/base/hooks.py")]
    return source.tree


def test_what_is_filled_in_for_a_while_is_taken_out_again():
    before = hooks.watch.ran
    with pytest.raises(KeyError, match="ended"), hooks.filled(hooks.watch, ran=print):
        assert hooks.watch.ran is print
        raise KeyError("ended")
    assert hooks.watch.ran is before
    assert importlib.import_module("gradtape._src.explain.alerts").missing is hooks.gradients.missing
