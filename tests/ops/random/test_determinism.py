"""`enable_op_determinism`: which random ops ask for a seed. The table is TensorFlow 2.21's, with its words."""

import jax
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution, tiers
from gradtape._src.core.platform import lowerings
from gradtape._src.ops.random import generator

REQUIRED = "Random ops require a seed to be set when determinism is enabled. Please set a seed before running the op"
ROUNDING, DETERMINISTIC = [lowerings.compiling[name].flags for name in ("rounding", "deterministic")]
UNSEEDED = {
    "uniform": lambda: tf.random.uniform([2]),
    "in a function": lambda: tf.function(tf.random.normal)([2]),
    "dropout": lambda: tf.nn.dropout(tf.ones([4]), 0.5),
    "shuffle": lambda: tf.random.shuffle(tf.range(4)),
    "categorical": lambda: tf.random.categorical([[0.0, 0.0]], 3),
    "gamma": lambda: tf.random.gamma([2], 1.0),
    "dataset": lambda: list(tf.data.Dataset.range(5).shuffle(5)),
}
SEEDED = {
    "own seed": lambda: tf.random.uniform([2], seed=3),
    "stateless": lambda: tf.random.stateless_uniform([2], seed=[1, 2]),
    "generator": lambda: tf.random.Generator.from_seed(1).normal([2]),
    "dataset": lambda: list(tf.data.Dataset.range(5).shuffle(5, seed=1)),
    "Keras": lambda: tf.keras.layers.Dropout(0.5)(tf.keras.layers.Dense(2)(tf.ones([1, 2])), training=True),
}


@pytest.fixture(autouse=True)
def deterministic(monkeypatch):
    """No seed is set, and determinism is on."""
    monkeypatch.setattr(generator, "_global", None)
    tf.random.set_seed(None)
    tf.config.experimental.enable_op_determinism()
    yield
    tiers.compute_deterministically(False)


@pytest.mark.parametrize("call", UNSEEDED.values(), ids=UNSEEDED)
def test_a_random_op_without_a_seed_is_an_error(call):
    with pytest.raises(RuntimeError, match=REQUIRED):
        call()


@pytest.mark.parametrize("call", UNSEEDED.values(), ids=UNSEEDED)
def test_the_global_seed_is_one(call):
    tf.random.set_seed(1)
    call()


@pytest.mark.parametrize("call", SEEDED.values(), ids=SEEDED)
def test_what_has_a_seed_goes_on(call):
    call()


def test_generators_without_a_seed_are_errors():
    with pytest.raises(RuntimeError, match='"from_non_deterministic_state" cannot be called when determinism is enabled'):
        tf.random.Generator.from_non_deterministic_state()
    with pytest.raises(RuntimeError, match='Please call "set_global_generator" first'):
        tf.random.get_global_generator()
    tf.random.set_global_generator(tf.random.Generator.from_seed(1))
    assert tf.random.get_global_generator().normal([1]).shape == [1]


def test_a_gpus_programs_are_compiled_with_deterministic_ops(monkeypatch):
    program = tf.function(tf.sin).get_concrete_function(tf.ones([2])).program
    assert tiers.options(program, "gpu") == ROUNDING | DETERMINISTIC
    assert tiers.options(program, "cpu") is None
    assert tiers.options_of_kernel([jax.numpy.ones(2)]) is None
    monkeypatch.setattr(tiers, "place_of", lambda values: "gpu")
    assert tiers.options_of_kernel([jax.numpy.ones(2)]) == ROUNDING | DETERMINISTIC
    assert jax.jit(lambda x: x + 1, compiler_options=DETERMINISTIC)(1.0) == 2.0  # a jaxlib knows the flag, on any device


def test_what_was_compiled_before_is_compiled_again():
    tiers.compute_deterministically(False)
    tf.sin(tf.ones([2])).numpy()
    assert execution.counters.runs
    tf.config.experimental.enable_op_determinism()
    assert not execution.counters.runs
