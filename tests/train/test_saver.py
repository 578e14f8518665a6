"""`compat.v1.train.Saver`: variables of a session, saved and restored by name."""

import os

import numpy as np
import pytest

import gradtape.compat.v1 as tf


def _model():
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(w**2))
    return w, step, tf.train.Saver()


def test_training_goes_on_where_it_was(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        w, step, saver = _model()
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = saver.save(session, tmp_path / "model", global_step=1)
        session.run(step)
        expected = session.run(w)
    assert os.path.basename(path) == "model-1"
    assert [name for name, _ in tf.train.list_variables(path)] == ["beta1_power", "beta2_power", "w", "w/Adam", "w/Adam_1"]
    with tf.Graph().as_default(), tf.Session() as session:
        w, step, saver = _model()
        saver.restore(session, tf.train.latest_checkpoint(tmp_path))
        session.run(step)
        np.testing.assert_array_equal(session.run(w), expected)


def test_the_last_ones_are_kept(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0, name="v")
        saver = tf.train.Saver(max_to_keep=2)
        session.run(v.initializer)
        paths = [saver.save(session, tmp_path / "model", global_step=i) for i in range(3)]
        assert saver.last_checkpoints == paths[1:]
        again = tf.train.Saver(max_to_keep=3)
        again.recover_last_checkpoints(paths)
        assert again.last_checkpoints == paths[1:]
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, True, True]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert (state.model_checkpoint_path, state.all_model_checkpoint_paths) == (paths[2], paths[1:])


def test_other_names_and_some_variables(tmp_path):
    path = tmp_path / "model"
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
        session.run(tf.global_variables_initializer())
        tf.train.Saver({"old/a": a, "old/b": b}).save(session, path)
    with tf.Graph().as_default(), tf.Session() as session:
        c = tf.Variable(0.0, name="c")
        tf.train.Saver({"old/b": c}).restore(session, path)
        assert session.run(c) == 2.0
        with tf.variable_scope("new"):
            a = tf.get_variable("a", [])
        tf.train.init_from_checkpoint(path, {"old/": "new/"})
        session.run(a.initializer)
        assert session.run(a) == 1.0
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"old/a": [], "old/b": []} and reader.get_tensor("old/a") == 1.0


def test_eager_code(tmp_path):
    v = tf.Variable([1.0, 2.0], name="v")
    saver = tf.train.Saver([v])
    saver.save(None, tmp_path / "model")
    v.assign([0.0, 0.0])
    saver.restore(None, tmp_path / "model")
    assert v.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="var_list"):
        tf.train.Saver()


def test_errors(tmp_path):
    path = tmp_path / "model"
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="No variables to save"):
            tf.train.Saver()
        v = tf.Variable(1.0, name="v")
        saver = tf.train.Saver()
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            saver.save(session, path)
        for missing in (path, None):
            with pytest.raises(ValueError, match="save_path"):
                saver.restore(session, missing)
        for wrong, error in [([tf.constant(1.0)], TypeError), ([v, v], ValueError)]:
            with pytest.raises(error):
                tf.train.Saver(wrong)
        session.run(v.initializer)
        saver.save(session, path)
        with pytest.raises(tf.errors.NotFoundError, match="Key w not found"):
            tf.train.Saver({"w": v}).restore(session, path)
        with pytest.raises(tf.errors.InvalidArgumentError, match="shapes of both tensors to match"):
            tf.train.Saver({"v": tf.Variable([1.0])}).restore(session, path)


def test_savers_and_checkpoints_read_each_others(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        w, b = tf.get_variable("w", initializer=[1.0, 2.0]), tf.Variable(3.0, name="d/b")
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, tmp_path / "model")
        objects = tf.train.Checkpoint(x=w, y=b).write(tmp_path / "objects")
        session.run([w.assign([0.0, 0.0]), b.assign(0.0)])
        tf.train.Saver().restore(session, objects)
        assert session.run([w, b])[0].tolist() == [1.0, 2.0] and session.run(b) == 3.0
    w, b, other = tf.Variable([0.0, 0.0], name="w"), tf.Variable(0.0, name="d/b"), tf.Variable(7.0, name="other")
    tf.train.Checkpoint(any=w).restore(path).assert_consumed().assert_nontrivial_match()
    status = tf.train.Checkpoint(x=b, y=other).restore(path)
    assert (w.numpy().tolist(), b.numpy(), other.numpy()) == ([1.0, 2.0], 3.0, 7.0)
    with pytest.raises(AssertionError, match=r"\(root\)\.y"):
        status.assert_consumed()


def test_checkpoints_of_a_graph(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0])).save(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable([0.0, 0.0]), tf.Variable(7.0)
        checkpoint = tf.train.Checkpoint(a=a, b=b)
        checkpoint.restore(path).initialize_or_restore(session)
        assert session.run(a).tolist() == [1.0, 2.0] and session.run(b) == 7.0
        again = checkpoint.save(tmp_path / "again")
    c = tf.Variable([0.0, 0.0])
    tf.train.Checkpoint(a=c).restore(again).expect_partial()
    assert c.numpy().tolist() == [1.0, 2.0]


def test_an_optimizers_slots_are_restored_when_they_are_made(tmp_path):
    def trained(w, optimizer):
        optimizer.minimize(lambda: tf.reduce_sum(w**2))
        return w

    w, optimizer = tf.Variable([1.0, 2.0]), tf.train.AdamOptimizer(0.1)
    path = tf.train.Checkpoint(w=trained(w, optimizer), optimizer=optimizer).save(tmp_path / "model")
    other, restored = tf.Variable([0.0, 0.0]), tf.train.AdamOptimizer(0.1)
    tf.train.Checkpoint(w=other, optimizer=restored).restore(path)
    np.testing.assert_array_equal(trained(other, restored).numpy(), trained(w, optimizer).numpy())
