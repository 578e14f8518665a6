"""Scopes that eager code enters: names, devices, dependencies."""

import pytest

import gradtape as tf


def test_names_of_variables_stand_under_the_open_scopes():
    with tf.name_scope("a") as prefix:
        assert prefix == "a/"
        assert tf.Variable(1.0, name="w").name == "a/w:0"
        assert tf.Variable(1.0).name == "a/Variable:0"
        with tf.name_scope("b") as inner:
            assert inner == "a/b/"
            assert tf.Variable(1.0, name="w").name == "a/b/w:0"
        with tf.name_scope("c/") as absolute:
            assert absolute == "c/"
    assert tf.Variable(1.0, name="w").name == "w:0"
    assert tf.name_scope("x").name == "x"


def test_a_scope_is_left_when_its_body_raises():
    with pytest.raises(RuntimeError, match="inside"), tf.name_scope("a"):
        raise RuntimeError("inside")
    assert tf.Variable(1.0, name="w").name == "w:0"


@pytest.mark.parametrize("name", [None, 1])
def test_a_scope_needs_a_string(name):
    with pytest.raises(ValueError, match="name for name_scope must be a string"):
        tf.name_scope(name)


def test_contexts_that_eager_code_may_enter():
    with tf.device(None), tf.device(""), tf.device("/CPU:0"), tf.init_scope(), tf.control_dependencies([tf.constant(1.0)]):
        assert tf.constant(1.0).numpy() == 1.0
    with pytest.raises(ValueError, match="'nope'"):
        tf.device("nope")
    assert tf.executing_eagerly() is True


def test_a_device_knows_its_name():
    """As programs of "Dive into Deep Learning" read it."""
    assert tf.device("/CPU:0")._device_name == "/CPU:0" and tf.device(None)._device_name is None
    with tf.distribute.OneDeviceStrategy(tf.device("/CPU:0")._device_name).scope():
        assert tf.Variable(1.0).numpy() == 1.0


def test_static_values():
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(3) == 3
    assert tf.get_static_value(None) is None


def test_devices_are_listed_by_type():
    cpus = tf.config.list_physical_devices("CPU")
    assert cpus and {device.device_type for device in cpus} == {"CPU"}
    assert cpus[0].name == "/physical_device:CPU:0"
    assert [device for device in tf.config.list_physical_devices() if device.device_type == "CPU"] == cpus
    assert [(d.name, d.device_type) for d in tf.config.list_logical_devices("CPU")] == [("/device:CPU:0", "CPU")]
