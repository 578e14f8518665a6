"""Rules 2 to 7 of the engine, seen from outside: how many programs a loop compiles, and when, and how much it leaves pending."""

import pytest

import gradtape as tf
from tests.engine.loops import LOOPS


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_runs_on_the_host_until_each_of_its_programs_is_compiled_once(name, count):
    make, programs, pending, on_host, steps = LOOPS[name]
    tf.config.clear_cache()
    step = make()
    for i in range(steps - 1):
        step(i)
    before = tf.config.cache_info()
    step(steps - 1)
    warm = tf.config.cache_info()
    assert before["node_by_node"] < warm["node_by_node"] == on_host, warm
    for i in range(steps, steps + max(steps // 2, 36)):
        step(i)
    after = tf.config.cache_info()
    assert (after["programs"], after["kernels"], after["node_by_node"]) == (programs, 0, on_host), after
    assert (after["plans"], after["went_over"]) == (warm["plans"], 0)
    assert after["runs"] > warm["runs"]
    assert after["most_pending"] <= pending, after
    count("loop shapes run")
