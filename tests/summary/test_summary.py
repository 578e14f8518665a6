"""`tf.summary`: the files that TensorBoard reads hold what TensorFlow writes."""

import io
import os

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

import gradtape as tf

DTYPES = {1: np.float32, 2: np.float64, 3: np.int32, 9: np.int64}


def written(folder):
    """What the files of a folder hold: `(step, tag, plugin, value)`."""
    found = []
    for path in sorted(folder.iterdir()):
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            for value in event.summary.value:
                shape = [d.size for d in value.tensor.tensor_shape.dim]
                if value.tensor.dtype == 7:
                    content = list(value.tensor.string_val)
                else:
                    content = np.frombuffer(value.tensor.tensor_content, DTYPES[value.tensor.dtype]).reshape(shape).tolist()
                found.append((event.step, value.tag, value.metadata.plugin_data.plugin_name, content))
    return found


def test_what_is_written_in_eager_code(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)
    assert not tf.summary.scalar("nobody", 1.0, step=0)
    with writer.as_default():
        assert tf.summary.scalar("loss", 0.5, step=1)
        with tf.name_scope("a"):
            tf.summary.scalar("b", tf.constant(3), step=tf.constant(2, tf.int64))
        tf.summary.histogram("h", tf.constant([0.0, 1.0, 2.0, 3.0]), step=1, buckets=2)
        tf.summary.histogram("one", tf.constant([2.0, 2.0]), step=1, buckets=2)
        tf.summary.text("t", ["x", "y"], step=1)
        tf.summary.write("w", tf.constant([1, 2]), step=5)
        with tf.summary.record_if(False):
            assert not tf.summary.scalar("no", 1.0, step=1)
    writer.close()
    assert written(tmp_path) == [
        (1, "loss", "scalars", 0.5),
        (2, "a/b", "scalars", 3.0),
        (1, "h", "histograms", [[0.0, 1.5, 2.0], [1.5, 3.0, 2.0]]),
        (1, "one", "histograms", [[2.0, 2.0, 0.0], [2.0, 2.0, 2.0]]),
        (1, "t", "text", [b"x", b"y"]),
        (5, "w", "", [1, 2]),
    ]


def test_a_function_writes_in_each_call(tmp_path):
    writer, step = tf.summary.create_file_writer(tmp_path), tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train(x):
        with writer.as_default(step=step), tf.summary.record_if(tf.equal(step % 2, 0)):
            tf.summary.scalar("x", x * 2.0)
            tf.summary.text("note", tf.strings.format("step {}", step))
        step.assign_add(1)
        return x + 1.0

    assert [train(tf.constant(float(i))).numpy() for i in range(3)] == [1.0, 2.0, 3.0]
    writer.flush()
    notes = [(step, "note", "text", [f"step {step}".encode()]) for step in (0, 2)]
    assert written(tmp_path) == [(0, "x", "scalars", 0.0), notes[0], (2, "x", "scalars", 4.0), notes[1]]


def test_images(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default(step=1):
        tf.summary.image("grey", tf.constant([0.0, 0.5, 1.0, 2.0], shape=[1, 2, 2, 1]))
        tf.summary.image("many", tf.zeros([5, 1, 3, 3], tf.uint8), max_outputs=2)
    writer.close()
    (_, _, plugin, (width, height, png)), (_, _, _, many) = written(tmp_path)
    assert (plugin, width, height) == ("images", b"2", b"2")
    assert np.asarray(Image.open(io.BytesIO(png))).tolist() == [[0, 127], [255, 255]]
    assert many[:2] == [b"3", b"1"] and len(many) == 4


def test_steps(tmp_path):
    with tf.summary.create_file_writer(tmp_path).as_default():
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.scalar("x", 1.0)
        tf.summary.experimental.set_step(9)
        try:
            tf.summary.scalar("x", 1.0)
            assert tf.summary.experimental.get_step() == 9
        finally:
            tf.summary.experimental.set_step(None)
    assert written(tmp_path) == [(9, "x", "scalars", 1.0)]


@pytest.mark.parametrize("folder", ["", b"", b"logs"])
def test_folders_that_are_bytes_or_the_current_one(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tf.summary.create_file_writer(folder).close()
    assert [path.name.startswith("events.out.tfevents") for path in (tmp_path / os.fsdecode(folder)).iterdir()] == [True]


def test_what_cannot_be_written(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default(step=0):
        with pytest.raises(ValueError, match=r"Expected scalar shape, saw \(2,\)"):
            tf.summary.scalar("x", [1.0, 2.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="dtype complex64 cannot be written: cast it"):
            tf.summary.write("x", tf.constant(1j, tf.complex64))
    writer.close()
    with pytest.raises(RuntimeError, match="SummaryWriter is already closed"), writer.as_default():
        pass
    with tf.summary.create_noop_writer().as_default():
        assert not tf.summary.should_record_summaries() and not tf.summary.scalar("x", 1.0)


def graphs(folder):
    """The nodes of the graphs in the files of a folder: name → (type, inputs, shapes of results)."""
    found = []
    for path in sorted(folder.iterdir()):
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            if event.graph_def:
                nodes = GraphDef.FromString(event.graph_def).node
                found.append({n.name: (n.op, list(n.input), shapes(n)) for n in nodes})
    return found


def shapes(node):
    return [[d.size for d in shape.dim] for shape in node.attr["_output_shapes"].list.shape]


def test_graphs(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("layer"):
            y = tf.nn.relu(x)
        with tf.control_dependencies([y]):
            tf.split(x, 2, axis=1, name="parts")[1] + 1.0
    w = tf.Variable([[1.0], [2.0]])
    concrete = tf.function(lambda v: (v @ w, tf.math.top_k(v, 1))).get_concrete_function(tf.TensorSpec([3, 2], name="v"))
    assert not tf.summary.graph(graph)
    with tf.summary.create_file_writer(tmp_path).as_default():
        assert tf.summary.graph(graph)
        assert tf.summary.graph(concrete.graph)
        with pytest.raises(ValueError, match="is not tf"):
            tf.summary.graph(graph.get_operations())
    drawn, traced = graphs(tmp_path)
    assert drawn["layer/Relu"] == ("Relu", ["x"], [[-1, 2]])
    assert drawn["parts"][1:] == (["x", "^layer/Relu"], [[-1, 1], [-1, 1]])
    assert drawn["add"] == ("AddV2", ["parts:1", "add/y"], [[-1, 1]])
    assert traced["matmul"] == ("MatMul", ["v", "ReadVariableOp"], [[3, 1]])
    assert traced["Identity_2"] == ("Identity", ["TopKV2:1"], [[3, 1]])
    tf.compat.v1.summary.FileWriter(tmp_path / "one", graph).close()
    assert graphs(tmp_path / "one") == [drawn]


def test_audio_is_what_tensorflow_writes(tmp_path):
    with tf.summary.create_file_writer(tmp_path).as_default(step=1):
        assert tf.summary.audio("a", [[[0.5, -0.5], [1.5, 0.25 / 2**14]]] * 4, 8000, max_outputs=2)
        with pytest.raises(ValueError, match=r"Unknown encoding: 'mp3'. Expected 'wav'"):
            tf.summary.audio("a", [[[0.5]]], 8000, encoding="mp3")
        with pytest.raises(ValueError, match=r"shape \[n, frames, channels\], received \[1\]"):
            tf.summary.audio("a", [0.5], 8000)
    ((_, _, plugin, (clip, label, again, _)),) = written(tmp_path)
    assert plugin == "audio" and label == b"" and clip == again
    # tf.audio.encode_wav of TensorFlow 2.21
    assert clip.hex() == (
        "524946462c00000057415645666d74201000000001000200401f0000007d0000040010006461746108000000004000c0ff7f0100"
    )


def test_messages_of_ones_own(tmp_path):
    v1 = tf.compat.v1
    metadata = v1.SummaryMetadata(plugin_data=v1.SummaryMetadata.PluginData(plugin_name="mine", content=b"x\0"))
    written_by_hand = v1.Summary(value=[v1.Summary.Value(tag="hand", metadata=metadata)])
    written_by_hand.value[0].tensor.dtype = 1
    written_by_hand.value[0].tensor.tensor_content = np.float32(2).tobytes()
    with tf.summary.create_file_writer(tmp_path).as_default(step=3), tf.name_scope("not_in_tags"):
        assert tf.summary.write("w", lambda: tf.constant([1.0]), metadata=metadata)
        assert tf.summary.write("s", b"ends\0", metadata=metadata.SerializeToString())
        assert tf.summary.experimental.write_raw_pb(written_by_hand.SerializeToString())
        with pytest.raises(TypeError, match="Expected a string, or a tensor of strings"):
            tf.summary.experimental.write_raw_pb(tf.constant(1.0))
    assert written(tmp_path) == [
        (3, "w", "mine", [1.0]),
        (3, "s", "mine", [b"ends\0"]),
        (3, "hand", "mine", 2.0),
    ]


def test_traces_of_functions(tmp_path, caplog):
    square, cube = tf.function(lambda x: x * x), tf.function(lambda x: x * x * x)
    with pytest.raises(ValueError, match=r"Must enable trace before export through tf.summary.trace_on"):
        tf.summary.trace_export("t", step=0)
    with tf.summary.create_file_writer(tmp_path / "events").as_default():
        tf.summary.trace_on()
        tf.summary.trace_on()
        square(tf.constant(2.0))
        square(tf.constant(3.0))
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.trace_export("t")
        tf.summary.trace_export("graphs", step=4)
        cube(tf.constant(2.0))
        tf.summary.trace_on(profiler=True, profiler_outdir=str(tmp_path / "profile"))
        tf.function(lambda x: tf.summary.trace_on() or x)(1.0)
        cube(tf.constant(2.0))
        tf.summary.trace_export("both", step=5)
        tf.summary.trace_on(profiler=True)
        tf.summary.trace_off()
        tf.summary.trace_off()
    assert [record.message for record in caplog.records] == [
        "Trace already enabled",
        "Cannot enable trace inside a tf.function.",
        "No `profiler_outdir` passed to trace_on(). Profiler won't be enabled.",
    ]
    found = [(step, tag, plugin, RunMetadata.FromString(data)) for step, tag, plugin, (data,) in written(tmp_path / "events")]
    assert [(step, tag, plugin, len(run.function_graphs)) for step, tag, plugin, run in found] == [
        (4, "graphs", "graph_run_metadata_graph", 1),
        (5, "both", "graph_run_metadata", 2),
    ]
    assert [node.op for node in found[0][3].function_graphs[0].pre_optimization_graph.node] == ["Placeholder", "Mul", "Identity"]
    assert list((tmp_path / "profile").glob("plugins/profile/*/*.xplane.pb"))


def test_profiles_of_devices(tmp_path):
    experimental = tf.profiler.experimental
    with pytest.raises(tf.errors.UnavailableError, match=r"Cannot export profiling results\. No profiler is running"):
        experimental.stop()
    with experimental.Profile(tmp_path, experimental.ProfilerOptions(host_tracer_level=3)):
        with pytest.raises(tf.errors.AlreadyExistsError, match="Another profiler is running"):
            experimental.start(tmp_path)
        for step in range(2):
            with experimental.Trace("train", step_num=step) as event:
                tf.square(2.0).numpy()
                event.set_metadata(cached="yes")
    (page,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    assert b"train" in page.read_bytes()
    experimental.start(tmp_path / "dropped")
    experimental.stop(save=False)
    assert not (tmp_path / "dropped").exists()


def test_the_events_of_a_file_are_read_again(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default():
        for step in range(2):
            tf.summary.scalar("loss", 0.5**step, step=step)
    writer.close()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session, tf.compat.v1.summary.FileWriter(str(tmp_path)) as first:
        first.add_summary(session.run(tf.compat.v1.summary.scalar("accuracy", 0.25)), 7)
    found = set()
    for path in tmp_path.iterdir():
        events = tf.compat.v1.train.summary_iterator(str(path))
        assert next(events).file_version.startswith("brain.Event")
        for event in events:
            for value in event.summary.value:
                number = tf.make_ndarray(value.tensor) if value.HasField("tensor") else value.simple_value
                found.add((event.step, value.tag, float(number)))
    assert found == {(0, "loss", 1.0), (1, "loss", 0.5), (7, "accuracy", 0.25)}
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        next(tf.compat.v1.train.summary_iterator(str(tmp_path / "nowhere")))
