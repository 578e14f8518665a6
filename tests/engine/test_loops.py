"""Rules 2 to 7 of the engine, seen from outside: how many programs a loop compiles, and how much it leaves pending."""

import pytest

import gradtape as tf
from tests.engine.loops import LOOPS


@pytest.mark.parametrize("name", LOOPS)
def test_programs_and_pending_nodes_are_bounded(name, count):
    make, programs, pending, warm_up = LOOPS[name]
    tf.config.clear_cache()
    step = make()
    for i in range(warm_up):
        step(i)
    warm = tf.config.cache_info()
    assert warm["programs"] <= programs, warm
    for i in range(warm_up, warm_up + 2 * max(warm_up, 12)):
        step(i)
    after = tf.config.cache_info()
    assert (after["programs"], after["kernels"], after["plans"]) == (warm["programs"], warm["kernels"], warm["plans"])
    assert after["most_pending"] <= pending, after
    count("loop shapes run")
