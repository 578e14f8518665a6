"""Lists and dicts that grow after a checkpoint was restored. The values are TensorFlow's, unless marked."""

import collections
import copy
import pickle

import pytest

import gradtape as tf


def restored(tmp_path, saved, **attributes):
    """A fresh object with these attributes, after the restore of one that had `saved`; and the status of the restore."""
    before = tf.train.Checkpoint()
    for name, value in saved.items():
        setattr(before, name, value)
    path = before.save(tmp_path / "it")
    after = tf.train.Checkpoint()
    for name, value in attributes.items():
        setattr(after, name, value)
    return after, after.restore(path)


def zeros(count):
    return [tf.Variable(0.0) for _ in range(count)]


def values(variables):
    return [float(v) for v in variables]


GROWING = {
    "append": lambda of, new: [of.listed.append(v) for v in new],
    "extend": lambda of, new: of.listed.extend(iter(new)),
    "add": lambda of, new: of.listed.__iadd__(new),
    "assign": lambda of, new: setattr(of, "listed", of.listed + new),
}


@pytest.mark.parametrize("grow", GROWING.values(), ids=GROWING)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_list_that_grows(tmp_path, grow, when):
    saved = {"listed": [tf.Variable(1.0), tf.Variable(2.0)]}
    of, status = restored(tmp_path, saved, **({"listed": []} if when == "before" else {}))
    if when == "after":
        of.listed = []
    assert repr(of.listed) == "ListWrapper([])"
    new = zeros(2)
    grow(of, new)
    assert values(new) == [1.0, 2.0]
    status.assert_consumed()
    assert isinstance(of.listed, list) and of.listed == of.listed[:] and len(of.listed) == 2
    of.listed.append(tf.Variable(5.0))
    assert values(of.listed) == [1.0, 2.0, 5.0]


def test_a_module_and_what_it_has_already(tmp_path):
    def made(count, value):
        module = tf.Module()
        module.layers = [tf.Variable(value + i) for i in range(count)]
        return module

    path = tf.train.Checkpoint(root=made(3, 1.0)).save(tmp_path / "it")
    module = made(1, 0.0)
    tf.train.Checkpoint(root=module).restore(path)
    module.layers.append(tf.Variable(0.0))
    module.layers.append(tf.Variable(0.0))
    assert values(module.layers) == values(module.variables) == [1.0, 2.0, 3.0]
    path = tf.train.Checkpoint(root=module).save(tmp_path / "again")
    tf.train.Checkpoint(root=made(3, 7.0)).restore(path).assert_consumed()


def test_dicts_and_what_is_nested(tmp_path):
    saved = {"d": {"x": tf.Variable(1.0), "l": [tf.Variable(2.0)], "m": {"n": tf.Variable(3.0)}, 4: tf.Variable(4.0)}}
    of, status = restored(tmp_path, saved, d={})
    x, w, n, four = new = zeros(4)
    of.d["x"] = x
    of.d["l"] = []
    of.d["l"].append(w)
    of.d.setdefault("m", {})
    of.d["m"].update(n=n)
    of.d |= {4: four}
    assert values(new) == [1.0, 2.0, 3.0, 4.0]
    status.assert_consumed()
    assert isinstance(of.d, dict) and list(of.d) == ["x", "l", "m", 4]


def test_lists_in_tuples(tmp_path):
    Pair = collections.namedtuple("Pair", "one several")
    saved = {"t": (tf.Variable(1.0), [tf.Variable(2.0)]), "p": Pair(tf.Variable(3.0), [tf.Variable(4.0)])}
    of, _ = restored(tmp_path, saved)
    v, w, x, y = zeros(4)
    of.t, of.p = (v, []), Pair(x, [])
    of.t[1].append(w)
    of.p.several.append(y)
    assert values([v, w, x, y]) == [1.0, 2.0, 3.0, 4.0]
    assert type(of.p) is Pair


def test_what_does_not_fit_is_refused_and_stays_as_it_was(tmp_path):
    of, _ = restored(tmp_path, {"listed": [tf.Variable(1.0), tf.Variable(2.0)]}, listed=[])
    of.listed.append(tf.Variable(0.0))
    wrong = tf.Variable([0.0, 0.0])
    with pytest.raises(ValueError, match="incompatible tensor with shape"):
        of.listed.append(wrong)
    assert wrong.numpy().tolist() == [0.0, 0.0]


def test_another_reference_sees_what_is_appended_and_must_not_append(tmp_path):
    listed, named = [], {}
    of, _ = restored(tmp_path, {"l": [tf.Variable(1.0)], "d": {"x": tf.Variable(2.0)}}, l=listed, d=named)
    of.l.append(tf.Variable(0.0))
    of.d["x"] = tf.Variable(0.0)
    assert values(listed) == [1.0] and values(named.values()) == [2.0]
    of.save(tmp_path / "fine")
    for change in (lambda: listed.append(tf.Variable(3.0)), lambda: listed.pop() and named.update(y=tf.Variable(3.0))):
        change()
        with pytest.raises(ValueError, match="changed by another name than the attribute"):
            of.save(tmp_path / "not")


def test_copies_are_plain(tmp_path):
    of, _ = restored(tmp_path, {"l": [tf.Variable(1.0)], "d": {"x": tf.Variable(2.0)}}, l=[], d={})
    of.l.append(3)
    of.d["y"] = 4
    for plain in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert [(type(x), x) for x in map(plain, (of.l, of.d))] == [(list, [3]), (dict, {"y": 4})]


@pytest.mark.better  # TensorFlow calls every list a ListWrapper, and after `pop` or `insert` does not save it
def test_a_list_that_lacks_nothing_stays_what_it_was(tmp_path):
    listed = [tf.Variable(0.0), tf.Variable(0.0)]
    of, status = restored(tmp_path, {"listed": [tf.Variable(1.0), tf.Variable(2.0)]}, listed=listed)
    status.assert_consumed()
    assert of.listed is listed and values(listed) == [1.0, 2.0]
    listed.insert(0, listed.pop())
    of.save(tmp_path / "again")
