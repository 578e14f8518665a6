"""Training loops with hooks, as TensorFlow 1 has them; the numbers and the order of calls are TensorFlow 2.21's."""

import logging
import math
import threading

import pytest

import gradtape.compat.v1 as tf

train = tf.train


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def model(rate=0.25):
    step, w = train.get_or_create_global_step(), tf.get_variable("w", initializer=4.0)
    loss = w**2
    return w, loss, train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)


class Logged(train.SessionRunHook):
    """Notes its calls."""

    def __init__(self, calls, name, loss, w):
        self.calls, self.name, self.loss, self.w = calls, name, loss, w

    def begin(self):
        self.calls.append((self.name, "begin"))

    def after_create_session(self, session, coord):
        self.calls.append((self.name, "created", session.run(self.w), coord.should_stop()))

    def before_run(self, run_context):
        self.calls.append((self.name, "before", run_context.original_args.feed_dict))
        return train.SessionRunArgs({"loss": self.loss})

    def after_run(self, run_context, run_values):
        self.calls.append((self.name, "after", run_values.results["loss"]))

    def end(self, session):
        self.calls.append((self.name, "end", session.run(self.w)))


def test_hooks_are_called_in_order():
    w, loss, step = model()
    calls = []
    with train.MonitoredSession(hooks=[Logged(calls, "a", loss, w), Logged(calls, "b", loss, w)]) as session:
        assert session.run([step, loss]) == [None, 16.0]
    assert calls == [
        ("a", "begin"), ("b", "begin"), ("a", "created", 4.0, False), ("b", "created", 4.0, False), ("a", "before", None),
        ("b", "before", None), ("a", "after", 16.0), ("b", "after", 16.0), ("a", "end", 2.0), ("b", "end", 2.0),
    ]  # fmt: skip


def test_training_goes_on_from_its_checkpoint(tmp_path):
    _, loss, step = model()
    losses = []
    for _ in range(2):
        hooks = [train.StopAtStepHook(num_steps=2)]
        with train.MonitoredTrainingSession(checkpoint_dir=tmp_path, hooks=hooks, save_summaries_steps=None) as session:
            while not session.should_stop():
                losses.append(session.run([step, loss])[1])
    assert losses == [16.0, 4.0, 1.0, 0.25]
    assert train.latest_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-4")
    assert [name for name, _ in train.list_variables(tmp_path)] == ["global_step", "w"]


def test_checkpoints_every_few_steps_and_what_listens(tmp_path):
    _, _, step = model(0.1)
    calls, told = [], []

    class Told(train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            told.append(global_step_value)

    class Listener(train.CheckpointSaverListener):
        def before_save(self, session, global_step_value):
            calls.append(("before", global_step_value))

        def after_save(self, session, global_step_value):
            calls.append(("after", global_step_value))
            return global_step_value >= 4

        def end(self, session, global_step_value):
            calls.append(("end", global_step_value))

    hook = train.CheckpointSaverHook(tmp_path, save_steps=2, saver=train.Saver(), listeners=[Listener(), Told()])
    with train.SingularMonitoredSession(hooks=[hook], checkpoint_dir=tmp_path) as session:
        while not session.should_stop():
            session.run(step)
        assert session.raw_session().run("global_step:0") == 4
    steps = [0, 2, 4]
    assert told == steps  # also of the one at which another ended the training
    assert calls == [call for step in steps for call in (("before", step), ("after", step))] + [("end", 4)]
    state = train.get_checkpoint_state(tmp_path)
    assert state.all_model_checkpoint_paths == [str(tmp_path / f"model.ckpt-{step}") for step in steps]


def test_the_end_of_the_data_ends_the_training():
    element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
    seen = []
    with train.MonitoredSession() as session:
        while not session.should_stop():
            seen.append(session.run(element))
    assert seen == [0, 1, 2] and session.should_stop()


def test_an_error_is_raised_and_no_hook_ends(graph):
    calls = []
    w, loss, step = model()
    with pytest.raises(KeyError, match="reason"), train.MonitoredSession(hooks=[Logged(calls, "a", loss, w)]) as session:
        assert graph.finalized
        with pytest.raises(RuntimeError, match="finalized"):
            tf.constant(1.0)
        raise KeyError("reason")
    assert not graph.finalized and [call[1] for call in calls] == ["begin", "created"]
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(step)
    with pytest.raises(RuntimeError, match="already closed"):
        session.close()


def test_what_hooks_feed():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder_with_default(1.0, [])
    feed = train.FeedFnHook(lambda: {x: 3.0})
    with train.MonitoredSession(hooks=[feed]) as session:
        assert (session.run(x), session.run([x, y], {y: 5.0})) == (3.0, [3.0, 5.0])
        with pytest.raises(RuntimeError, match="SessionRunHook and user"):
            session.run(x, {x: 1.0})
    with train.MonitoredSession(hooks=[feed, feed]) as session, pytest.raises(RuntimeError, match="two hooks"):
        session.run(x)


def test_a_scaffold_initializes():
    x = tf.placeholder(tf.float32, [])
    w, local = tf.get_variable("w", initializer=x), tf.get_local_variable("local", initializer=3.0)
    seen = []
    scaffold = train.Scaffold(init_feed_dict={x: 5.0}, init_fn=lambda given, session: seen.append((given, session.run(w))))
    with train.MonitoredTrainingSession(scaffold=scaffold) as session:
        assert session.run([w, local]) == [5.0, 3.0] and seen == [(scaffold, 5.0)] and scaffold.summary_op is None
    with pytest.raises(RuntimeError, match=r"did not make model ready.*Variables not initialized: w"):
        train.MonitoredSession(train.ChiefSessionCreator(train.Scaffold(init_op=tf.no_op())))


def test_hooks_that_look(caplog):
    x = tf.placeholder(tf.float32, [], name="x")
    final = train.FinalOpsHook([x], {x: 9.0})
    values = train.LoggingTensorHook({"loss": x}, every_n_iter=2)
    with (
        caplog.at_level(logging.INFO, "gradtape"),
        train.MonitoredSession(hooks=[values, train.NanTensorHook(x, fail_on_nan_loss=False), final]) as session,
    ):
        for value in (1.0, 2.0, 3.0, math.nan):
            session.run(x, {x: value})
        assert session.should_stop()
        with pytest.raises(RuntimeError, match="after should_stop requested"):
            session.run(x, {x: 1.0})
    messages = [record.getMessage().split(" (")[0] for record in caplog.records]
    assert messages == ["loss = 1.0", "loss = 3.0", "Model diverged with loss = NaN."] and final.final_ops_values == [9.0]
    with (
        pytest.raises(train.NanLossDuringTrainingError, match="NaN loss during training"),
        train.MonitoredSession(hooks=[train.NanTensorHook("x:0")]) as session,
    ):
        session.run(x, {x: math.nan})


def test_functions_of_a_step():
    w, loss, _ = model()
    seen = []

    def stepped(step_context):
        seen.append(step_context.session.run(w))
        return step_context.run_with_hooks(loss)

    with train.MonitoredSession() as session:
        seen.append(session.run_step_fn(stepped))
        with pytest.raises(ValueError, match="step_context"):
            session.run_step_fn(lambda x: x)
        session.run_step_fn(lambda step_context: step_context.request_stop())
        seen.append("not reached")
    assert seen == [4.0, 16.0]


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: train.LoggingTensorHook([]), ValueError),
        (lambda: train.LoggingTensorHook([], 1, 1), ValueError),
        (lambda: train.LoggingTensorHook([], 0), ValueError),
        (lambda: train.StopAtStepHook(), ValueError),
        (lambda: train.StopAtStepHook(1, 1), ValueError),
        (lambda: train.SecondOrStepTimer(), ValueError),
        (lambda: train.SecondOrStepTimer(1, 1), ValueError),
        (lambda: train.CheckpointSaverHook("x", 1, saver=1, scaffold=1), ValueError),
        (lambda: train.StepCounterHook(None), ValueError),
        (lambda: train.SummarySaverHook(1), ValueError),
        (lambda: train.Scaffold(copy_from_scaffold=3), TypeError),
        (lambda: train.MonitoredSession(hooks=[train.StopAtStepHook(1)]), RuntimeError),
        (lambda: train.MonitoredTrainingSession(is_chief=False), ValueError),
    ],
)
def test_errors(make, error):
    with pytest.raises(error):
        make()


def test_a_timer_of_steps():
    timer = train.SecondOrStepTimer(every_steps=3)
    triggered = [timer.update_last_triggered_step(step)[1] for step in range(8) if timer.should_trigger_for_step(step)]
    assert triggered == [None, 3, 3] and timer.last_triggered_step() == 6


def test_a_coordinator():
    coord, count = train.Coordinator(), []

    def work():
        while not coord.should_stop():
            count.append(1)
            if len(count) > 3:
                coord.request_stop()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    coord.join(threads)
    assert coord.joined and coord.should_stop() and len(count) > 3
    coord.clear_stop()
    with coord.stop_on_exception():
        raise tf.errors.OutOfRangeError(None, None, "the end")
    coord.join([])
    coord.clear_stop()
    with coord.stop_on_exception():
        raise KeyError("reason")
    with pytest.raises(KeyError, match="reason"):
        coord.join([])
