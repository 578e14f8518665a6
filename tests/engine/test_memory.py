"""Memory that a program does not need, by what the compiler says and by what the garbage collector finds."""

import gc

import numpy as np
import pytest

import gradtape as tf
from gradtape import config as gradtape_config
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import memory
from gradtape._src.core.programs.program import Node, Trace


@pytest.mark.parametrize("as_function", [False, True], ids=["eager", "function"])
def test_recompute_saves_memory(monkeypatch, as_function):
    """The bytes that XLA says the programs of a step need: temporary ones, and results that the next program takes."""
    programs = []

    def note(compiled):
        needs = compiled.memory_analysis()
        programs.append((needs.temp_size_in_bytes, needs.output_size_in_bytes))
        return 0

    monkeypatch.setattr(memory, "CHECKED", 0)  # so that every program is asked
    monkeypatch.setattr(memory, "needed", note)
    w = tf.Variable(tf.eye(64))

    def block(x):
        for _ in range(4):
            x = tf.sin(x @ w)
        return x

    def peak_of(block):
        def step(x):
            with tf.GradientTape() as tape:
                for _ in range(4):
                    x = block(x)
                loss = tf.reduce_sum(x)
            return tape.gradient(loss, w)

        programs.clear()
        gradient = tf.function(step)(tf.ones([256, 64])) if as_function else step(tf.ones([256, 64]))
        total = float(tf.reduce_sum(gradient))
        peak = held = 0
        for temporary, results in programs:
            peak, held = max(peak, held + temporary + results), held + results
        return total, peak

    total, peak = peak_of(block)
    total_again, peak_again = peak_of(tf.recompute_grad(block))
    assert total_again == pytest.approx(total, rel=1e-5)
    assert 0 < peak_again < 0.6 * peak


def test_without_compiling_more_memory_than_there_is_is_an_error_too():
    gradtape_config.run_eagerly(True)
    try:
        for ask in (
            lambda: np.asarray(tf.ones([1 << 20, 1]) * tf.ones([1, 1 << 20])),
            lambda: tf.sequence_mask([3], 10**13).numpy(),
            lambda: tf.reduce_sum(tf.ones([1 << 20, 1]) * tf.ones([1, 1 << 20])).numpy(),
        ):
            with pytest.raises(tf.errors.ResourceExhaustedError, match=r"this needs .* GiB, and .* GiB are available"):
                ask()
        assert tf.reduce_sum(tf.ones([3])).numpy() == 3.0
    finally:
        gradtape_config.run_eagerly(False)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: tf.range(10**13),
        lambda: tf.range(0.0, 1e13, 1.0),
        lambda: tf.linspace(0.0, 1.0, 10**13),
        lambda: tf.repeat(tf.ones([2]), [10**12, 10**12]),
        lambda: tf.constant(1.0, shape=[10**13]),
        lambda: tf.constant(np.broadcast_to(np.float32(1), (10**13,))),
        lambda: tf.convert_to_tensor(np.broadcast_to(np.float32(1), (10**13,))),
    ],
    ids=["range", "float range", "linspace", "repeat", "shape", "constant", "convert"],
)
def test_an_array_that_the_host_has_no_room_for(ask):
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory") as caught:
        ask()
    assert caught.traceback[-1].path.name == "test_memory.py"


@pytest.mark.parametrize("mode", ["recorded", "eagerly", "function", "graph"])
def test_a_step_without_memory_changes_no_variable(mode):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)

    def step(size):
        v.assign_add([1.0, 1.0])
        product = tf.ones([size, 1]) * v[0] * tf.ones([1, size])
        w.assign(tf.reduce_sum(product))
        return product

    def in_graph(size):
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            made = v1.get_variable("made", initializer=[1.0, 2.0])
            session.run(v1.global_variables_initializer())
            updated = made.assign_add([1.0, 1.0])
            product = tf.ones([size, 1]) * updated[0] * tf.ones([1, size])
            try:
                session.run(product)
            finally:
                assert session.run(made).tolist() == ([1.0, 2.0] if size > 8 else [2.0, 3.0])

    if mode == "graph":
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory"):
            in_graph(1 << 21)
        in_graph(8)
        return
    gradtape_config.run_eagerly(mode == "eagerly")
    try:
        run = tf.function(step) if mode == "function" else step
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory"):
            run(1 << 21).numpy()
        if mode != "eagerly":  # op by op, the assignments before it were done
            assert v.numpy().tolist() == [1.0, 2.0]
        assert float(w) == 3.0
        before = v.numpy()[0]
        run(4)
        assert float(w) == 16 * (before + 1)
    finally:
        gradtape_config.run_eagerly(False)


def test_a_large_program_is_asked_in_each_run(monkeypatch):
    monkeypatch.setattr(memory, "CHECKED", 0)
    double = tf.function(lambda x: x * 2.0)
    x = tf.ones([64])
    assert double(x).numpy()[0] == 2.0
    monkeypatch.setattr(memory, "available", lambda: 100)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory"):
        double(x)


V1 = {"memory.limit_in_bytes": "4000", "memory.usage_in_bytes": "1500", "memory.stat": "cache 7\ntotal_inactive_file 500\n"}
V2 = {"memory.max": "4000", "memory.current": "1500", "memory.stat": "anon 7\ninactive_file 500\n"}
OPEN = {"memory.max": "max", "memory.current": "1500", "memory.stat": ""}


@pytest.mark.parametrize(
    "cgroup, files, expected",
    [
        ("0::/", {"": V2}, (4000, 3000)),
        ("0::/a/b", {"a/b": OPEN, "a": V2}, (4000, 3000)),
        ("9:name=systemd:/\n4:memory:/box/1\n0::/", {"memory/box/1": V1}, (4000, 3000)),
        ("4:cpu,memory:/elsewhere", {"memory": V1}, (4000, 3000)),
        ("0::/", {"": OPEN}, (None, 20 << 10)),
        ("", {}, (None, 20 << 10)),
    ],
    ids=["v2", "v2 around", "v1", "v1 in a namespace", "no limit", "no groups"],
)
def test_a_container_has_less_than_the_machine(tmp_path, monkeypatch, cgroup, files, expected):
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(cgroup)
    (proc / "meminfo").write_text("MemTotal:  100 kB\nMemAvailable:    20 kB\n")
    for folder, contents in files.items():
        (groups / folder).mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (groups / folder / name).write_text(text)
    monkeypatch.setattr(memory, "PROC", proc)
    monkeypatch.setattr(memory, "CGROUPS", groups)
    limit, available = expected
    assert memory.available() == available
    assert memory.limit() == (memory._of_machine() if limit is None else limit)


class TestGarbage:
    """Steps leave nothing that only the garbage collector finds: it would stop the program, each time longer."""

    def mlp(self):
        x, w = tf.ones([4, 8]), [tf.Variable(tf.ones([8, 8]) * 0.1) for _ in range(3)]

        def step():
            with tf.GradientTape() as tape:
                y = x
                for one in w:
                    y = tf.tanh(y @ one)
                loss = tf.reduce_mean(y * y)
            for one, gradient in zip(w, tape.gradient(loss, w), strict=True):
                one.assign_sub(0.1 * gradient)
            return loss.numpy()

        return step

    def no_two_shapes(self):
        w, sizes = tf.Variable(tf.ones([8, 8]) * 0.1), iter(range(431, 1000))  # of no other test: nothing is to be compiled

        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.tanh(tf.ones([next(sizes), 8]) @ w))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return w.numpy()

        return step

    def a_long_tape(self):
        w = tf.Variable([0.5, 0.7])

        def step():
            with tf.GradientTape() as tape:
                x = w
                for _ in range(2 * engine.LIMIT):
                    x = tf.sin(x)
            w.assign_sub(0.1 * tape.gradient(x, w))
            return w.numpy()

        return step

    def a_tape_that_nobody_asks(self):
        x = tf.Variable([1.0, 2.0])

        def step():
            with tf.GradientTape():
                y = tf.sin(x) * x
            return y.numpy()

        return step

    def without_a_tape(self):
        x = tf.constant([1.0, 2.0])
        return lambda: (tf.sin(x) * x + 1.0).numpy()

    @pytest.mark.parametrize("of", [mlp, no_two_shapes, a_long_tape, a_tape_that_nobody_asks, without_a_tape])
    def test_steps_leave_none(self, of):
        step = of(self)
        for _ in range(4):
            step()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            for _ in range(3):
                step()
            gc.collect()
            assert [x for x in gc.garbage if isinstance(x, (Node, Trace))] == []  # the compiler leaves some of its own
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
