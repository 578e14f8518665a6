"""`tf.random.Generator` and initial values."""

import copy

import numpy as np
import pytest
from scipy import stats

import gradtape as tf

Generator = tf.random.Generator


def state(generator):
    return generator.state.numpy().tolist()


# ---------------------------------------------------------------------------------------------------------------------
# The state: TensorFlow's numbers


def test_the_state_advances_as_tensorflows():
    generator = Generator.from_seed(7)
    steps = [state(generator)]
    for advance in (
        lambda: generator.normal([3]),
        lambda: generator.uniform([2, 3]),
        lambda: generator.skip(2),
        lambda: generator.make_seeds(2),
        lambda: generator.split(2),
        lambda: generator.binomial([], 3.0, 0.5),
    ):
        advance()
        steps.append(state(generator))
    assert steps == [[n, 0, 0] for n in (7, 775, 2311, 2823, 3335, 3847, 55047)]


@pytest.mark.parametrize(
    "make, expected, algorithm",
    [
        (lambda: Generator.from_seed(-5), [-5, -1, -1], 1),
        (lambda: Generator.from_seed(2**64 + 3), [3, 1, 0], 1),
        (lambda: Generator.from_seed([5, 6]), [0, 5, 6], 1),
        (lambda: Generator.from_seed(5, alg="auto_select"), [5, 0, 0], 1),
        (lambda: Generator.from_seed(5, alg="threefry"), [5, 0], 2),
        (lambda: Generator.from_seed(5, tf.random.Algorithm.THREEFRY), [5, 0], 2),
        (lambda: Generator.from_state([1, 2, 3], 1), [1, 2, 3], 1),
        (lambda: Generator.from_state(tf.constant([1, 2]), "threefry"), [1, 2], 2),
        (lambda: Generator.from_key_counter(5, [1, 2], "philox"), [1, 2, 5], 1),
        (lambda: Generator(copy_from=Generator.from_seed(9)), [9, 0, 0], 1),
        (lambda: copy.deepcopy(Generator.from_seed(9)), [9, 0, 0], 1),
    ],
)
def test_making(make, expected, algorithm):
    generator = make()
    assert state(generator) == expected
    assert generator.algorithm == algorithm
    assert int(generator.key) == expected[-1]
    assert (generator.state.dtype, generator.state.trainable) == (tf.int64, False)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Generator(), "A Generator needs a state. Call tf.random.Generator.from_seed"),
        (lambda: Generator(copy_from=Generator.from_seed(1), alg=1), "either copy_from, or state and alg"),
        (
            lambda: Generator.from_seed(5, "mersenne"),
            "`alg` got unsupported value mersenne. Supported values are philox",
        ),
        (lambda: Generator.from_seed(5, 9), "`alg` got unsupported value 9"),
        (
            lambda: Generator.from_state([1, 2], "philox"),
            r"Shapes \(2,\) and \[3\] are incompatible: the state of philox",
        ),
        (lambda: Generator.from_key_counter(5, 1, "philox"), r"Shapes \(\) and \[2\] are incompatible: the counter"),
        (lambda: tf.random.create_rng_state([1, 2, 3, 4], 1), "at most 3 integers for this algorithm, received 4"),
        (lambda: Generator.from_seed(1).uniform([2], dtype="int32"), "must be both None or not None"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_resetting():
    generator = Generator.from_seed(7)
    generator.reset_from_seed(9)
    assert state(generator) == [9, 0, 0]
    generator.reset([1, 2, 3])
    assert state(generator) == [1, 2, 3]
    generator.reset_from_key_counter(4, [7, 8])
    assert state(generator) == [7, 8, 4]


def test_the_global_generator():
    mine = Generator.from_seed(3)
    before = tf.random.get_global_generator()
    assert tf.random.get_global_generator() is before
    tf.random.set_global_generator(mine)
    try:
        assert tf.random.get_global_generator() is mine
    finally:
        tf.random.set_global_generator(before)


def test_non_deterministic_generators_differ():
    assert state(Generator.from_non_deterministic_state()) != state(Generator.from_non_deterministic_state())


# ---------------------------------------------------------------------------------------------------------------------
# The numbers


def test_unsigned_integers_as_tensorflow():
    generator = tf.random.Generator.from_seed(5, alg="philox")
    assert generator.uniform([3], None, dtype="uint32").numpy().tolist() == [1934136315, 119182898, 2878821274]
    assert generator.uniform([2], None, dtype="uint64").numpy().tolist() == [10010071395642637399, 2211887210307065606]


def test_a_function_makes_a_generator_from_a_seed_that_is_its_argument():
    made = []

    @tf.function
    def drawn(seed):
        if not made:
            made.append(tf.random.Generator.from_seed(seed))
        return made[0].normal([2])

    np.testing.assert_allclose(drawn(tf.constant(3)), [-1.8647180, 0.8026450], rtol=1e-5)


def test_a_function_resets_a_generator_by_a_key_and_a_counter():
    generator = tf.random.Generator.from_seed(7)

    @tf.function
    def drawn():
        generator.reset_from_key_counter(key=1, counter=[2, 3])
        return generator.normal([2])

    for _ in range(2):
        np.testing.assert_allclose(drawn(), [-0.5093819, 0.9748641], rtol=1e-5)


def all_kinds(generator):
    return [
        generator.normal([3], 1.0, 2.0).numpy(),
        generator.truncated_normal([3]).numpy(),
        generator.uniform([3], 1, 5, tf.int32).numpy(),
        generator.uniform([3]).numpy(),
        generator.uniform_full_int([3]).numpy(),
        generator.binomial([3], [40.0, 50.0, 60.0], 0.5).numpy(),
        generator.make_seeds(3).numpy(),
        generator.split(1)[0].normal([3]).numpy(),
    ]


def test_one_state_gives_the_same_numbers():
    first, again, other = [all_kinds(Generator.from_seed(seed)) for seed in (7, 7, 8)]
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_skipping_is_drawing():
    skipped, drawn = Generator.from_seed(7), Generator.from_seed(7)
    skipped.skip(6)
    drawn.normal([2, 3])
    np.testing.assert_array_equal(skipped.normal([2]).numpy(), drawn.normal([2]).numpy())


def test_draws_and_splits_are_unrelated():
    generator = Generator.from_seed(7)
    parts = generator.split(2)
    rows = [source.normal([20_000]).numpy() for source in (generator, generator, *parts)]
    correlations = np.corrcoef(rows)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(20_000)
    assert all(stats.kstest(row, "norm").pvalue > 1e-3 for row in rows)


def test_gradients_flow_through_drawn_numbers():
    mean = tf.Variable(1.0)
    generator = Generator.from_seed(7)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(generator.normal([4], mean))
    assert tape.watched_variables() == (mean,)
    assert float(tape.gradient(y, mean)) == 4.0


# ---------------------------------------------------------------------------------------------------------------------
# Initial values


@pytest.mark.parametrize(
    "initializer, arguments, expected",
    [
        (tf.zeros_initializer(), ([2],), [0.0, 0.0]),
        (tf.zeros_initializer(), ([2], "int32"), [0, 0]),
        (tf.ones_initializer(), ((1, 2), tf.bool), [[True, True]]),
        (tf.constant_initializer(2), ([2, 2], tf.float64), [[2.0, 2.0], [2.0, 2.0]]),
        (tf.constant_initializer([1, 2, 3, 4]), ([2, 2],), [[1, 2], [3, 4]]),
    ],
)
def test_constant_initializers(initializer, arguments, expected):
    value = initializer(*arguments)
    assert value.numpy().tolist() == expected
    assert value.dtype == (arguments[1] if len(arguments) > 1 else tf.constant(expected).dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_random_initializers(dtype):
    x = tf.random_normal_initializer(1.0, 2.0, seed=1)([20_000], dtype).numpy().astype("float64")
    assert abs(x.mean() - 1) < 0.06
    assert abs(x.std() - 2) < 0.04
    x = tf.random_uniform_initializer(seed=1)([20_000], dtype).numpy()
    assert (x.min() >= np.array(-0.05, dtype), x.max() <= np.array(0.05, dtype)) == (True, True)
    assert abs(x.astype("float64").std() - 0.1 / 12**0.5) < 1e-3


def test_integers_of_an_initializer():
    x = tf.random_uniform_initializer(0, 3)([100], tf.int64)
    assert x.dtype == tf.int64
    assert set(x.numpy().tolist()) == {0, 1, 2}


@pytest.mark.parametrize("kind", [tf.random_normal_initializer, tf.random_uniform_initializer])
def test_an_initializer_with_a_seed_repeats_itself(kind):
    seeded, free = kind(seed=1), kind()
    np.testing.assert_array_equal(seeded([3]).numpy(), seeded([3]).numpy())
    assert not np.array_equal(free([3]).numpy(), free([3]).numpy())


@pytest.mark.parametrize(
    "made, config",
    [
        (tf.random_normal_initializer(stddev=2.0), {"mean": 0.0, "stddev": 2.0, "seed": None}),
        (tf.random_uniform_initializer(seed=3), {"minval": -0.05, "maxval": 0.05, "seed": 3}),
        (tf.zeros_initializer(), {}),
        (tf.ones_initializer(), {}),
        (tf.constant_initializer(5), {"value": 5}),
    ],
)
def test_a_config_makes_the_same_initializer(made, config):
    assert made.get_config() == config
    assert type(made).from_config(config | {"dtype": "float32"}).get_config() == config


def test_a_part_of_a_value():
    assert tf.zeros_initializer()([4, 2], partition_shape=[1, 2]).shape == (1, 2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: tf.zeros_initializer()([2], "string"), ValueError, "expected to be numeric or boolean"),
        (lambda: tf.ones_initializer()([2], dtpye="int32"), TypeError, "Keyword argument should be one of .* Received: dtpye"),
        (
            lambda: tf.constant_initializer(3.0)([4], partition_shape=[2]),
            ValueError,
            "doesn't support partition-related arguments",
        ),
        (lambda: tf.random_normal_initializer()([2], "int32"), ValueError, "expected to be floating point. Received"),
        (lambda: tf.random_uniform_initializer()([2], "bool"), ValueError, "floating point or integer. Received"),
        (
            lambda: tf.constant_initializer([1, 2, 3])([2]),
            TypeError,
            "has 3 elements, but got `shape`.*with 2 elements",
        ),
    ],
)
def test_initializer_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_initializer_of_ones_own():
    class Sevens(type(tf.zeros_initializer()).__mro__[1]):
        pass

    with pytest.raises(NotImplementedError, match="says in __call__"):
        Sevens()([2])


def test_a_variable_as_state_is_shared():
    state = tf.Variable([1, 2, 3], dtype=tf.int64)
    first, second = Generator(state=state, alg="philox"), Generator.from_state(state, "philox")
    assert first.state is state and second.state is state
    alone = Generator.from_state([1, 2, 3], "philox")
    drawn = [first.normal([1]), second.normal([1])]
    assert [float(d[0]) for d in drawn] == [float(alone.normal([1])[0]) for _ in range(2)]
    assert state.numpy().tolist() == [513, 2, 3] == alone.state.numpy().tolist()
    assert Generator(copy_from=first).state is not state
    with pytest.raises(TypeError, match="has dtype int64, received int32"):
        Generator(state=tf.Variable([1, 2, 3]), alg="philox")
