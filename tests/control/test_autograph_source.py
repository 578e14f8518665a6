"""`tf.autograph.to_code` and its kin: a function's transformed source, and the function."""

import subprocess
import sys

import pytest

import gradtape as tf


class Model:
    def __init__(self, limit):
        self.limit = limit

    def halve(self, x):
        while x > self.limit:
            x = x / 2.0
        return x


def signed(x):
    if x > 0.0:
        x = x * x
    else:
        x = -x
    return x


def test_the_source_is_what_runs():
    code = tf.autograph.to_code(signed)
    assert code.startswith("def tf__signed(x):\n")
    assert "ag__.if_stmt(ag__.ld(x) > 0.0, if_body, else_body, get_state, set_state, ('x',), 1)" in code
    tf.function(signed)(tf.constant(1.0))
    assert tf.autograph.to_code(signed) == code
    assert tf.autograph.to_code(Model(1.0).halve).startswith("def tf__halve(self, x):\n")


def test_the_transformed_function_can_be_called_traced_and_differentiated():
    made = tf.autograph.to_graph(signed)
    assert (made(tf.constant(3.0)).numpy(), made(tf.constant(-3.0)).numpy(), made(-3.0)) == (9.0, 3.0, 3.0)
    traced = tf.function(made, autograph=False)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = traced(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (9.0, 6.0)
    assert tf.function(tf.autograph.to_graph(Model(1.0).halve), autograph=False)(tf.constant(5.0)).numpy() == 0.625


def test_trace_prints_when_a_function_is_traced(capsys):
    @tf.function
    def twice(x):
        tf.autograph.trace("tracing", 1)
        return 2.0 * x

    twice(tf.constant(1.0))
    twice(tf.constant(2.0))
    assert capsys.readouterr().out == "tracing 1\n"
    tf.autograph.set_verbosity(0)


@pytest.mark.parametrize("entity", [3, len, tf.function(signed)])
def test_what_has_no_source(entity):
    for ask in (tf.autograph.to_code, tf.autograph.to_graph):
        with pytest.raises(ValueError, match="Cannot apply autograph to a function that doesn't expose a __code__ object"):
            ask(entity)


def test_optional_features_are_shown_as_they_are_asked_for():
    def positive(x):
        assert x > 0.0
        return x

    assert "optional_features=()" in tf.autograph.to_code(positive)
    assert "ag__.assert_stmt" not in tf.autograph.to_code(positive)
    asserts = tf.autograph.experimental.Feature.ASSERT_STATEMENTS
    for asked in (asserts, [asserts]):
        assert "ag__.assert_stmt(ag__.ld(x) > 0.0" in tf.autograph.to_code(positive, experimental_optional_features=asked)


def test_all_features_but_some():
    Feature = tf.autograph.experimental.Feature
    assert Feature.all() == tuple(Feature)
    assert {"ALL", "LISTS"} == {f.name for f in set(Feature.all()) - set(Feature.all_but(Feature.LISTS))}
    assert Feature.all_but([Feature.LISTS, Feature.ALL]) == Feature.all_but(Feature.LISTS)
    assert "NAME_SCOPES" not in {f.name for f in Feature.all_but([Feature.LISTS, Feature.NAME_SCOPES])}


def test_the_import_leaves_the_transformation_of_source_to_the_first_function():
    code = "import sys, gradtape as tf; print('malt' in sys.modules); tf.function(lambda: 1)(); print('malt' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.split() == ["False", "True"]
