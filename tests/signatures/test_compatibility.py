"""Every public name of TensorFlow is there or has a reason, and the pages say what the code says."""

import subprocess
import sys

import pytest

import gradtape as tf
from gradtape._src.compat.reasons import REASONS
from tests.signatures import compatibility


def test_the_pages_are_what_the_code_gives():
    # A process of its own, where no other import has added to the namespaces.
    command = [sys.executable, compatibility.__file__]
    current = subprocess.run(command, cwd=compatibility.PAGES[0].parents[1], capture_output=True, text=True, encoding="utf-8")
    assert current.returncode == 0, current.stderr
    assert current.stdout == "".join(path.read_text("utf-8") for path in compatibility.PAGES), (
        "names or reasons have changed: make snapshot"
    )


def test_every_name_that_is_missing_has_a_reason(count):
    assert compatibility.unexplained() == [], "gradtape/_src/compat/reasons.py must say why these are not there"
    count("public names of TensorFlow there, or with a reason", sum(map(len, compatibility.TENSORFLOW.values())))


def test_no_name_that_exists_has_a_reason():
    assert compatibility.stale() == [], "these exist now: take them out of gradtape/_src/compat/reasons.py"


def test_a_name_without_a_reason_is_found(monkeypatch):
    monkeypatch.setitem(compatibility.TENSORFLOW, "math", ["sin", "sinister"])
    monkeypatch.setitem(compatibility.TENSORFLOW, "sinister", ["left"])
    assert compatibility.unexplained()[-2:] == ["math.sinister", "sinister"]
    monkeypatch.setitem(REASONS, "math.sin", "Not there yet.")
    assert "math.sin" in compatibility.stale()


def test_names_of_tensorflow_1_are_where_the_reason_says():
    for sentence, module in (("write tf.compat.v1 in", "compat.v1"), ("it is in tf.math", "math")):
        names = [name for name, reason in REASONS.items() if sentence in reason]
        assert names and all(compatibility.exists(f"{module}.{name}") for name in names)


@pytest.mark.parametrize(
    "name, message",
    [
        ("fingerprint", r"gradtape has no tf\.fingerprint\. Out of scope: tf.strings.to_hash_bucket_fast"),
        ("raw_ops.RpcCall", r"gradtape has no tf\.raw_ops\.RpcCall\. Out of scope: use the function"),
        ("image.decode_jxl", r"gradtape has no tf\.image\.decode_jxl\. Out of scope: of pictures there are"),
        ("sparse.cross", r"gradtape has no tf\.sparse\.cross\. Out of scope: sparse tensors have products"),
        ("sparse.to_dence", r"gradtape has no tf\.sparse\.to_dence\. Did you mean tf\.sparse\.to_dense\?"),
        (
            "graph_util.import_graph_def",
            r"gradtape has no tf\.graph_util\.import_graph_def\. Out of scope: files for other runtimes",
        ),
        ("Session", r"gradtape has no tf\.Session\. It is TensorFlow 1's: write tf\.compat\.v1 in the place of tf\."),
        ("log", r"gradtape has no tf\.log\. Since TensorFlow 2 it is in tf\.math\."),
        ("math.zzz", r"gradtape has no tf\.math\.zzz\.$"),
    ],
)
def test_the_error_gives_the_reason(name, message):
    with pytest.raises(AttributeError, match=message):
        compatibility.find(name)
    assert not hasattr(tf, "fingerprint")
