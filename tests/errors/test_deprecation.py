"""What is deprecated warns at the user's line, with what to write instead and when it goes."""

import warnings

import pytest

import gradtape as tf
from gradtape._src.core.base.deprecation import warn_deprecated
from tests.architecture.rules import sources


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        (None, r"^tf\.old is deprecated\. Write tf\.new\.$"),
        ("0.3", r"^tf\.old is deprecated and goes in gradtape 0\.3\. Write tf\.new\.$"),
    ],
)
def test_the_warning_has_what_to_write_and_when_it_goes(gone, expected):
    with pytest.warns(DeprecationWarning, match=expected) as found:
        warn_deprecated("tf.old", "Write tf.new.", gone)
    assert found[0].filename == __file__


def test_it_stands_at_the_users_line():
    model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = tf.ones([2, 3]), tf.ones([2, 1])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.compiled_loss(y, model(x))
        model.compiled_metrics.update_state(y, model(x))
    assert [(w.category, w.filename) for w in found] == [(DeprecationWarning, __file__)] * 2
    assert "Use `model.compute_loss(" in str(found[0].message)


def test_no_other_place_warns_of_it():
    named = {
        source.path
        for package in ("gradtape", "keras_gradtape")
        for source in sources(package)
        if "DeprecationWarning" in source.text
    }
    assert named == {"gradtape/_src/core/base/deprecation.py"}
