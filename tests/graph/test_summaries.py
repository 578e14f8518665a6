"""`compat.v1.summary`: the bytes that TensorFlow gives, and the file that it reads."""

import io

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import gradtape as tf

v1 = tf.compat.v1


def run(fetches, feeds=None):
    with v1.Session() as session:
        return session.run(fetches, feeds)


def test_scalars_and_their_names():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        loss = v1.summary.scalar("loss", x * 2.0)
        with tf.name_scope("sc"):
            inner, of_family = v1.summary.scalar("loss", x), v1.summary.scalar("loss", x, family="fam")
        odd, count = v1.summary.scalar("a b!", tf.constant(1.0), []), v1.summary.scalar("n", tf.constant(3), ["other"])
        assert [s.name for s in (loss, inner, odd)] == ["loss:0", "sc/loss:0", "a_b_:0"]
        assert loss.dtype == tf.string and loss.shape == []
        merged = v1.summary.merge_all()
        assert merged.name == "Merge/MergeSummary:0"
        parts = [b"\n\x0b\n\x04loss\x15\x00\x00\x80@", b"\n\x0e\n\x07sc/loss\x15\x00\x00\x00@"]
        parts.append(b"\n\x16\n\x0ffam/sc/fam/loss\x15\x00\x00\x00@")
        assert run([loss, inner, of_family, merged], {x: 2.0}) == [*parts, b"".join(parts)]
        assert run([odd, count]) == [b"\n\x0b\n\x04a_b_\x15\x00\x00\x80?", b"\n\x08\n\x01n\x15\x00\x00@@"]


def test_collections():
    with tf.Graph().as_default():
        assert v1.summary.merge_all() is None
        made = v1.summary.scalar("x", 1.0, collections=["mine"])
        assert v1.summary.merge_all() is None and v1.summary.merge_all(scope="other") is None
        assert v1.get_collection("mine") == [made] and v1.summary.merge_all("mine") is not None


def test_what_cannot_be_summarized():
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"not the same shape: \[\] != \[2\] \(tag 'x'\)"):
            run(v1.summary.scalar("x", tf.constant([1.0, 2.0])))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary histogram for: h"):
            run(v1.summary.histogram("h", tf.constant([float("nan")])))
        with pytest.raises(ValueError, match="to be of strings"):
            v1.summary.text("t", tf.constant(1.0))


def test_a_file(tmp_path):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None])
        v1.summary.scalar("loss", tf.reduce_sum(x))
        v1.summary.histogram("h", x)
        v1.summary.image("im", tf.reshape(x, [1, 2, 2, 1]))
        v1.summary.text("t", tf.strings.as_string(tf.cast(x[:2], tf.int32)))
        merged = v1.summary.merge_all()
        with v1.summary.FileWriter(tmp_path, graph) as writer, v1.Session() as session:
            writer.add_graph(session.graph)
            for step in range(2):
                writer.add_summary(session.run(merged, {x: np.arange(4.0)}), step)
            writer.flush()
    (path,) = tmp_path.iterdir()
    first, *events = EventFileLoader(str(path)).Load()
    steps = [event for event in events if event.summary.value and not event.summary.value[0].tag.startswith("__")]
    assert len(events) > len(steps)  # the graph
    assert path.name.startswith("events.out.tfevents.") and first.file_version == "brain.Event:2"
    assert [event.step for event in steps] == [0, 1]
    tags = [value.tag for value in steps[0].summary.value]
    assert tags == ["loss", "h", "im/image/0", "t"]
    png = next(value for value in steps[1].summary.value if value.tag == "im/image/0").tensor.string_val[2]
    assert np.asarray(Image.open(io.BytesIO(png))).tolist() == [[0, 85], [170, 255]]
