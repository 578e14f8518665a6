"""Random numbers: their distributions, on fixed seeds; what seeds do; gradients through samples."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import gradtape as tf
from gradtape._src.control.scope import Scope, trace
from gradtape._src.core.engine import execution
from gradtape._src.ops.random import philox, seeds
from tests.ops.random import philox as reference

random = tf.random
MANY = 20_000
ALIKE = 1e-3  # seeds are fixed: a p-value below this is a mistake, not bad luck


def stateless(function, *args, seed=(3, 4), **named):
    return function([MANY], seed, *args, **named).numpy()


# ---------------------------------------------------------------------------------------------------------------------
# Bits


@pytest.mark.parametrize(
    "counter, key, expected",
    [
        (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**128 - 1, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x0370734413198A2E85A308D3243F6A88,
            0x299F31D0A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_authors_numbers(counter, key, expected):
    assert tuple(reference.block(counter, key)) == expected
    state = np.array([counter % 2**64, counter >> 64, key], "uint64").view("int64")
    words = philox.blocks(jnp.array(state), jnp.zeros((), jnp.uint64))
    assert tuple(int(word) for word in words) == expected


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_bits_and_numbers_of_a_state(shape):
    state = 2**128 - 2, 123 << 32 | 456  # the counter runs over
    array = jnp.array(np.array([2**64 - 2, 2**64 - 1, state[1]], "uint64").view("int64"))
    words = reference.take(reference.words(state), *shape, 2).astype("uint64")
    np.testing.assert_array_equal(philox.bits32(array, shape), reference.take(reference.words(state), *shape))
    np.testing.assert_array_equal(philox.bits64(array, shape), words[..., 0] | words[..., 1] << np.uint64(32))
    double = np.dtype("float64")
    np.testing.assert_array_equal(philox.uniform(array, shape, double), reference.take(reference.doubles(state), *shape))
    np.testing.assert_allclose(philox.normal(array, shape, double), reference.take(reference.normals(state), *shape), 1e-14)


@pytest.mark.parametrize("seed", [(0, 0), (1, -1), (-(2**63), 2**62)])
def test_states_of_seeds(seed):
    counter, key = reference.state_of(seed)
    state = np.asarray(philox.state_of(jnp.array(seed))).view("uint64").tolist()
    assert state == [counter % 2**64, counter >> 64, key]


# ---------------------------------------------------------------------------------------------------------------------
# Distributions


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_normal_numbers(dtype):
    x = stateless(random.stateless_normal, dtype=dtype)
    assert x.dtype.name == dtype
    x = x.astype("float64")
    assert stats.kstest(x + np.random.default_rng(0).normal(0, 1e-2, MANY), "norm").pvalue > ALIKE
    assert abs(np.mean(x)) < 4 / np.sqrt(MANY)
    assert abs(np.var(x) - 1) < 4 * np.sqrt(2 / MANY)
    assert abs(stats.kurtosis(x)) < 4 * np.sqrt(24 / MANY)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers(dtype):
    x = stateless(random.stateless_uniform, dtype=dtype)
    assert x.dtype.name == dtype
    step = 2.0 ** -philox.MANTISSA[dtype]
    x = x.astype("float64")
    assert x.min() >= 0
    assert x.max() <= 1 - step
    x += np.random.default_rng(0).uniform(0, step, MANY)
    assert stats.kstest(x, "uniform").pvalue > ALIKE


def test_uniform_numbers_between_bounds():
    x = stateless(random.stateless_uniform, -3, 5.0)
    assert stats.kstest(x, "uniform", (-3, 8)).pvalue > ALIKE


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_truncated_normal_numbers(dtype):
    x = stateless(random.stateless_truncated_normal, 1.0, 3.0, dtype=dtype).astype("float64")
    assert x.min() >= -5
    assert x.max() <= 7
    x += np.random.default_rng(0).normal(0, 1e-2, MANY)
    assert stats.kstest(x, "truncnorm", (-2, 2, 1, 3)).pvalue > ALIKE


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("low, high", [(-1.0, 2.0), (5.0, 7.0), (-np.inf, -6.0), (0.5, np.inf)])
def test_normal_numbers_between_bounds(dtype, low, high):
    bounds = tf.constant([low], dtype) + 1, tf.constant([high], dtype) + 1
    draw = random.stateless_parameterized_truncated_normal
    x = draw([MANY, 1], (3, 4), tf.constant([1.0], dtype), 1.0, *bounds).numpy().astype("float64").ravel() - 1
    assert low <= x.min()
    assert x.max() <= high
    assert stats.kstest(x, "truncnorm", (low, high)).pvalue > ALIKE


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("low, high", [(0, 6), (-3, 4)])
def test_integers_are_equally_frequent(dtype, low, high):
    x = stateless(random.stateless_uniform, low, high, dtype=dtype)
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == list(range(low, high))
    assert stats.chisquare(counts).pvalue > ALIKE


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_integers_of_the_whole_range(dtype):
    x = stateless(random.stateless_uniform, None, None, dtype=dtype)
    assert x.dtype.name == dtype
    limits = np.iinfo(dtype)
    unit = (x.astype("float64") - limits.min) / (float(limits.max) - limits.min)
    assert stats.kstest(unit, "uniform").pvalue > ALIKE
    bits = np.unpackbits(x.view("uint8")).reshape(MANY, -1).mean(0)
    assert np.abs(bits - 0.5).max() < 5 * 0.5 / np.sqrt(MANY)


@pytest.mark.parametrize("alpha, beta", [(0.3, 1.0), (4.0, 2.0)])
def test_gamma_numbers(alpha, beta):
    x = stateless(random.stateless_gamma, alpha, beta)
    assert stats.kstest(x, "gamma", (alpha, 0, 1 / beta)).pvalue > ALIKE


def test_gamma_numbers_are_never_0_and_nan_where_there_is_no_distribution():
    x = random.stateless_gamma([3], (1, 2), [1e-30, 0.0, -1.0]).numpy()
    tiny = np.finfo("float32").tiny
    assert x[:2].tolist() == [tiny, tiny]
    assert np.isnan(x[2])


@pytest.mark.parametrize("rate", [0.7, 30.0])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_poisson_numbers(rate, dtype):
    x = stateless(random.stateless_poisson, rate, dtype=dtype)
    assert x.dtype.name == dtype
    assert _fits(x, stats.poisson(rate)) > ALIKE


def test_poisson_numbers_of_odd_rates_are_tensorflows():
    x = random.poisson([2], [0.0, -1.0, np.inf]).numpy()
    assert x.tolist() == [[0.0, 0.0, np.inf]] * 2


def test_binomial_numbers():
    x = stateless(random.stateless_binomial, 12, 0.3)
    assert x.dtype == np.int32
    assert _fits(x, stats.binom(12, 0.3)) > ALIKE


def _fits(x, distribution):
    """The p-value of counted against expected frequencies, the rare ones together."""
    values = np.arange(int(distribution.ppf(0.005)), int(distribution.ppf(0.995)) + 1)
    counts = [np.sum(x == value) for value in values]
    expected = MANY * distribution.pmf(values)
    rest = MANY - np.sum(counts), MANY - np.sum(expected)
    return stats.chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue


def test_categorical_frequencies():
    p = np.array([[0.1, 0.0, 0.6, 0.3], [0.25, 0.25, 0.25, 0.25]])
    with np.errstate(divide="ignore"):
        x = random.stateless_categorical(np.log(p) + 7, MANY, (3, 4)).numpy()
    assert x.dtype == np.int64
    assert x.shape == (2, MANY)
    for row, expected in zip(x, p, strict=True):
        counts = np.bincount(row, minlength=4)
        assert counts[expected == 0].sum() == 0
        assert stats.chisquare(counts[expected > 0], MANY * expected[expected > 0]).pvalue > ALIKE


def test_shuffles_are_equally_frequent():
    counts = {}
    for i in range(600):
        order = tuple(random.experimental.stateless_shuffle(tf.range(3), (5, i)).numpy().tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > ALIKE


def test_a_shuffle_holds_every_row_once():
    x = tf.reshape(tf.range(2000), [1000, 2])
    shuffled = random.shuffle(x, seed=1).numpy()
    assert shuffled[:, 0].tolist() != x.numpy()[:, 0].tolist()
    np.testing.assert_array_equal(shuffled[np.argsort(shuffled[:, 0])], x.numpy())


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dropout_drops_at_its_rate(rate, dtype):
    kept = tf.nn.experimental.stateless_dropout(tf.ones([MANY], dtype), rate, seed=(1, 2)).numpy()
    assert kept.dtype.name == dtype
    assert abs(np.mean(kept == 0) - rate) < 4 * np.sqrt(rate * (1 - rate) / MANY)
    np.testing.assert_allclose(np.unique(kept), [0, 1 / (1 - rate)], rtol=1e-3 if dtype == "float16" else 1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Seeds


def test_the_global_seed_decides_what_ops_without_a_seed_give():
    random.set_seed(5)
    first = [random.normal([3]).numpy(), random.uniform([3]).numpy(), random.normal([3]).numpy()]
    random.set_seed(5)
    again = [random.normal([3]).numpy(), random.uniform([3]).numpy(), random.normal([3]).numpy()]
    random.set_seed(6)
    other = random.normal([3]).numpy()
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[2])
    assert not np.array_equal(first[0], other)


def test_ops_with_a_seed_count_by_themselves():
    random.set_seed(5)
    first = [random.normal([2], seed=1).numpy() for _ in range(2)]
    random.set_seed(5)
    random.uniform([2])
    random.normal([2], seed=2)
    random.uniform([2], seed=1)
    again = [random.normal([2], seed=1).numpy() for _ in range(2)]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(*first)


def test_a_seeded_op_is_the_same_in_each_process_though_no_global_seed_is_set():
    random.set_seed(None)
    first = random.normal([2], seed=1).numpy()
    random.set_seed(None)
    np.testing.assert_array_equal(first, random.normal([2], seed=1).numpy())
    random.set_seed(seeds.DEFAULT)
    np.testing.assert_array_equal(first, random.normal([2], seed=1).numpy())


def test_without_any_seed_numbers_are_new_each_time():
    random.set_seed(None)
    first = random.normal([2]).numpy()
    random.set_seed(None)
    assert not np.array_equal(first, random.normal([2]).numpy())


def test_a_dropout_of_nothing_counts_as_a_draw():
    random.set_seed(5)
    tf.nn.dropout(tf.ones([2]), 0.5)
    expected = random.normal([2]).numpy()
    random.set_seed(5)
    tf.nn.dropout(tf.ones([2]), 0)
    np.testing.assert_array_equal(random.normal([2]).numpy(), expected)


@pytest.mark.parametrize("where", ["global", "own"])
def test_a_text_is_no_seed(where):
    random.set_seed("text" if where == "global" else 1)
    try:
        with pytest.raises(TypeError, match="Expected int for argument 'seed' not 'text'"):
            random.normal([2], seed="text" if where == "own" else None)
    finally:
        random.set_seed(None)


@pytest.mark.parametrize("run", [lambda f: f, tf.function])
def test_the_seeds_of_a_stateless_op_are_no_seed(run):
    with pytest.raises(TypeError, match=r"Expected int for argument 'seed' not <tf\.Tensor"):
        run(lambda: random.normal([2], seed=tf.constant([1, 2])))()


def test_draws_of_threads_are_all_different():
    random.set_seed(5)
    drawn = []

    def draw():
        drawn.extend([float(random.uniform([], dtype="float64")) for _ in range(20)])

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 80
    random.set_seed(5)
    assert set(drawn) == {float(random.uniform([], dtype="float64")) for _ in range(80)}


def test_every_step_is_one_program():
    """The numbers change, the compiled program does not."""
    random.set_seed(5)
    x = tf.constant([1.0, 2.0, 3.0])
    results = set()
    for step in range(6):
        results.add(float(tf.reduce_sum(tf.nn.dropout(x, 0.1 + 0.1 * step) * random.normal([3]))))
        if step == 2:
            before = execution.counters.programs, execution.counters.kernels
    assert (execution.counters.programs, execution.counters.kernels) == before
    assert len(results) > 3


def test_what_is_computed_again_is_the_same():
    random.set_seed(5)
    noise = random.normal([4])
    first = (noise * 2.0).numpy()
    np.testing.assert_array_equal((noise * 2.0).numpy(), first)
    np.testing.assert_array_equal(noise.numpy() * 2, first)


def test_seeds_of_both_integer_types_give_the_same_numbers():
    narrow = random.stateless_normal([3], np.array([-1, 2], "int32")).numpy()
    np.testing.assert_array_equal(random.stateless_normal([3], np.array([-1, 2], "int64")).numpy(), narrow)
    assert not np.array_equal(random.stateless_normal([3], (2, -1)).numpy(), narrow)


def test_split_seeds_give_unrelated_numbers():
    rows = [random.stateless_normal([MANY], seed).numpy() for seed in random.split((1, 2), 3)]
    rows.append(random.stateless_normal([MANY], random.fold_in((1, 2), 7)).numpy())
    rows.append(random.stateless_normal([MANY], (1, 2)).numpy())
    correlations = np.corrcoef(rows)[np.triu_indices(5, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(MANY)


def test_draws_in_a_traced_function_are_its_callers():
    random.set_seed(5)
    body = trace(lambda: [random.normal([2]), random.normal([2], seed=1)], (), Scope())
    assert len(body.draws) == 2
    first, second = [np.asarray(execution.execute(body.program, [stream.draw() for stream in body.draws])) for _ in range(2)]
    assert len(np.unique([first, second])) == 8
    again = trace(lambda: [random.uniform([2]), random.uniform([2], seed=1)], (), Scope())
    assert [stream.words for stream in again.draws] == [(5, 0), (5, 1)] == [stream.words for stream in body.draws]


def test_under_init_scope_a_traced_function_draws_as_eager_code_does():
    random.set_seed(3)
    kept = []

    @tf.function
    def drawn(x):
        with tf.init_scope():
            kept.append(random.uniform([2]))
        return x + random.uniform([2])

    np.testing.assert_allclose(drawn(tf.zeros([2])), [0.12736404, 0.8146913], rtol=1e-6)  # TensorFlow's numbers
    np.testing.assert_allclose(kept[0], [0.13366318, 0.5678531], rtol=1e-6)


@pytest.mark.parametrize("own", [None, 3])
def test_the_global_seed_starts_a_traced_function_again(own):
    random.set_seed(5)
    numbers = tf.function(lambda: tf.random.uniform([4], seed=own))
    first = [numbers().numpy().tolist() for _ in range(3)]
    random.set_seed(6)  # what was traced keeps its seeds
    assert [numbers().numpy().tolist() for _ in range(3)] == first
    assert first[0] != first[1]


def test_a_function_traced_without_a_seed_stays_random():
    random.set_seed(None)
    numbers = tf.function(lambda: tf.random.uniform([4]))
    first = numbers().numpy().tolist()
    random.set_seed(5)
    assert numbers().numpy().tolist() != first


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


def test_gradients_flow_to_the_parameters_of_normal_numbers():
    mean, stddev = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        x = random.normal([4, 2], mean, stddev, seed=1)
        noise = (x - mean) / stddev
        y = tf.reduce_sum(x)
    dmean, dstddev = tape.gradient(y, [mean, stddev])
    np.testing.assert_allclose(dmean.numpy(), [4.0, 4.0])
    np.testing.assert_allclose(dstddev.numpy(), noise.numpy().sum(), rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.3, 2.0, 40.0])
def test_the_gradient_of_gamma_numbers_keeps_their_quantile(alpha):
    """∂x/∂α = −∂F(x; α)/∂α / f(x; α), for the distribution function F and the density f."""
    parameter = tf.constant([alpha], "float64")
    with tf.GradientTape() as tape:
        tape.watch(parameter)
        x = random.stateless_gamma([5, 1], (1, 2), parameter, beta=2.0, dtype="float64")
    slope = tape.jacobian(x, parameter).numpy().ravel()
    samples, h = x.numpy().ravel() * 2, 1e-5
    change = (stats.gamma.cdf(samples, alpha + h) - stats.gamma.cdf(samples, alpha - h)) / (2 * h)
    np.testing.assert_allclose(slope * 2, -change / stats.gamma.pdf(samples, alpha), rtol=2e-4)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda p: random.gamma([4], p), "a gradient"),
        (lambda p: random.stateless_poisson([4], [1, 2], p), None),
        (lambda p: random.poisson([4], p), "RandomPoissonV2"),
        (lambda p: random.Generator.from_seed(1).binomial([4], 5.0, p / 9, tf.float32), "StatefulRandomBinomial"),
    ],
)
def test_parameters_of_a_drawn_sample_have_a_gradient_or_none_or_are_not_in_the_registry(function, expected):
    parameter = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(parameter)
        x = function(parameter)
    if expected is None or expected == "a gradient":
        assert (tape.gradient(x, parameter) is None) == (expected is None)
    else:
        with pytest.raises(LookupError, match=f"gradient registry has no entry for: {expected}"):
            tape.gradient(x, parameter)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_fold_in_gives_a_seed_of_the_dtype_of_what_is_folded_in(dtype):
    seed = random.fold_in([1, 2], tf.cast(3, dtype))
    assert seed.dtype == dtype and seed.numpy()[1] == 3
    with pytest.raises(ValueError, match="must be an integer"):
        random.fold_in([1, 2], 1.5)


def test_the_gradient_of_a_shuffle_goes_back_to_the_rows():
    x = tf.Variable([1.0, 2.0, 3.0, 4.0])
    weights = tf.constant([1.0, 2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        shuffled = random.shuffle(x, seed=2)
        y = tf.reduce_sum(shuffled * weights)
    gradient = tf.convert_to_tensor(tape.gradient(y, x)).numpy()
    np.testing.assert_array_equal(gradient[shuffled.numpy().astype(int) - 1], weights.numpy())


def test_draws_from_one_seed_compute_its_state_once():
    f = tf.function(lambda seed: random.stateless_normal([64], seed) + tf.exp(random.stateless_uniform([64], seed)))
    program = f.get_concrete_function(tf.TensorSpec([2], tf.int32))._traced.program
    text = jax.jit(program.evaluate).lower(jax.ShapeDtypeStruct([2], "int32")).compile().as_text()
    assert text.count(" xor(") == 2 * 4 * 10  # the state's block and that of the draws: four in each of ten rounds


def test_single_numbers_are_drawn_once_and_not_for_each_element_that_they_change():
    @tf.function
    def changed(image, seed):
        image = tf.image.stateless_random_brightness(tf.image.stateless_random_flip_left_right(image, seed), 0.3, seed + 1)
        image = tf.image.stateless_random_hue(tf.image.stateless_random_contrast(image, 0.3, 0.5, seed + 2), 0.1, seed + 3)
        return tf.image.stateless_random_saturation(image, 0.4, 0.6, seed + 4)

    shapes = jax.ShapeDtypeStruct([8, 9, 3], "float32"), jax.ShapeDtypeStruct([2], "int32")
    concrete = changed.get_concrete_function(*[tf.TensorSpec(shape.shape, shape.dtype.name) for shape in shapes])
    text = jax.jit(concrete._traced.program.evaluate).lower(*shapes).compile().as_text()
    assert text.count(" xor(") == 10 * 4 * 10  # for each of five draws its state's block and its own: four in each of ten rounds
