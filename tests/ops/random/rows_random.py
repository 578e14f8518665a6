"""Rows of the random ops: for a seed the numbers are those of `philox`, beside this file, or TensorFlow's own."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.random import distributions, seeds
from gradtape._src.ops.random.draws import seed_state
from tests.ops.random import philox
from tests.ops.table import Row, positive, real, unit

Invalid = tf.errors.InvalidArgumentError
normal_between = tf.random.stateless_parameterized_truncated_normal
NOT_ALLOWED = "is not in the list of allowed values"
SEED = np.array([1, 2])
GLOBAL = 7
STATE = philox.state_of(SEED)


def own_state(seed=None):
    """The state of the first draw after `tf.random.set_seed(GLOBAL)`, for an op with this seed of its own."""
    return philox.own_state(GLOBAL, seed)


def after_set_seed(function):
    """`function`, called as the first that draws."""

    def call(*args):
        tf.random.set_seed(GLOBAL)
        return function(*args)

    return call


def state_words(state):
    counter, key = state
    return np.array([counter % 2**64, counter >> 64, key], "uint64").view("int64")


@functools.cache
def normal(state=STATE):
    return philox.take(philox.normals(state), 2, 3)


@functools.cache
def truncated(state=STATE):
    return philox.take(philox.truncated(state), 2, 3)


@functools.cache
def uniform(state=STATE):
    return philox.take(philox.doubles(state), 2, 3)


def integers_between(low, high, state=STATE):
    return np.array(philox.integers(state, int(low), int(high), 4, low.dtype == "int64"), low.dtype)


def all_integers(dtype, count):
    bits = philox.integers(STATE, 0, 2**64 if "64" in dtype else 2**32, count, "64" in dtype)
    return np.array(bits, "uint64").astype(dtype)


NORMAL = (
    Row(
        "state",
        seed_state,
        (SEED.astype("int32"),),
        lambda seed: state_words(STATE),
        ops=("StatelessRandomGetKeyCounter",),
        dtypes=("int32", "int64"),
        result=lambda dtype: "int64",
        errors=(
            (lambda: tf.random.stateless_normal([2], [1, 2, 3]), Invalid, r"seed must have shape \[2\], not \[3\]"),
            (lambda: tf.random.stateless_normal([2], [1.0, 2.0]), Invalid, f"attr 'Tseed' of float {NOT_ALLOWED}"),
            (
                lambda: tf.random.stateless_normal([2], np.array([1, 2], "uint32")),
                Invalid,
                f"'Tseed' of uint32 {NOT_ALLOWED}",
            ),
        ),
    ),
    Row(
        "stateless-normal",
        lambda m, s: tf.random.stateless_normal([2, 3], SEED, m, s, m.dtype),
        (real(3), positive(2, 1)),
        lambda m, s: m + s * normal(),
        ops=("StatelessRandomNormalV2",),
        dtypes=("float64",),
        errors=(
            (lambda: tf.random.stateless_normal([-1], SEED), Invalid, r"Dimension -1 must be >= 0: shape is \[-1\]"),
            (lambda: tf.random.stateless_normal(3, SEED), Invalid, r"shape must be a vector of .* got shape \[\]"),
            (lambda: tf.random.stateless_normal([2.0], SEED), TypeError, "shape must be an integer, received 2.0"),
            (lambda: tf.random.stateless_normal([2], SEED, dtype="int32"), TypeError, "Cannot convert 0.0 to .* int32"),
            (lambda: tf.random.stateless_normal([2], SEED, dtype="complex64"), Invalid, f"of complex64 {NOT_ALLOWED}"),
            (
                lambda: tf.random.stateless_normal([2], SEED, mean=tf.constant(1.0, "float64")),
                ValueError,
                "conversion requested dtype float32 for Tensor with dtype float64",
            ),
        ),
    ),
    Row(
        "normal",
        after_set_seed(lambda m, s: tf.random.normal([2, 3], m, s, m.dtype)),
        (real(3), positive(2, 1)),
        lambda m, s: m + s * normal(own_state()),
        ops=("RandomStandardNormal",),
        dtypes=("float64",),
    ),
    Row(
        "stateless-truncated-normal",
        lambda m, s: tf.random.stateless_truncated_normal([2, 3], SEED, m, s, m.dtype),
        (real(3), positive(2, 1)),
        lambda m, s: m + s * truncated(),
        ops=("StatelessTruncatedNormalV2",),
        dtypes=("float64",),
    ),
    Row(
        "truncated-normal",
        after_set_seed(lambda m: tf.random.truncated_normal(tf.constant([2, 3]), m, dtype=m.dtype, seed=5)),
        (real(3),),
        lambda m: m + truncated(own_state(5)),
        ops=("TruncatedNormal",),
        dtypes=("float64",),
    ),
)

UNIFORM = (
    Row(
        "stateless-uniform",
        lambda a, b: tf.random.stateless_uniform([2, 3], SEED, a, b, a.dtype),
        (real(3), positive(2, 1)),
        lambda a, b: a + (b - a) * uniform(),
        ops=("StatelessRandomUniformV2",),
        dtypes=("float64",),
        errors=(
            (
                lambda: tf.random.stateless_uniform([2], SEED, 0, 3, "uint8"),
                ValueError,
                "`dtype` got invalid value tf.uint8",
            ),
            (
                lambda: tf.random.stateless_uniform([2], SEED, 0, None, "int32"),
                ValueError,
                "must be both None or not None",
            ),
            (lambda: tf.random.stateless_uniform([2], SEED, 0, 3, "uint32"), ValueError, "don't use unsigned"),
        ),
    ),
    Row(
        "uniform",
        after_set_seed(lambda a: tf.random.uniform([2, 3], a, dtype=a.dtype, seed=np.int64(5))),
        (real(3),),
        lambda a: a + (1 - a) * uniform(own_state(5)),
        ops=("RandomUniform",),
        dtypes=("float64",),
        errors=(
            (lambda: tf.random.uniform([2], dtype="uint32", maxval=3), ValueError, "Accepted dtypes are .*tf.int64"),
            (
                lambda: tf.random.uniform([2], dtype="int32"),
                ValueError,
                "Must specify maxval for integer dtype tf.int32",
            ),
        ),
    ),
    Row(
        "stateless-integers",
        lambda low, high: tf.random.stateless_uniform([4], SEED, low, high, low.dtype),
        (np.array(-3, "int32"), np.array(9, "int32")),
        integers_between,
        ops=("StatelessRandomUniformIntV2",),
        dtypes=("int32", "int64"),
        errors=(
            (
                lambda: tf.random.stateless_uniform([2], SEED, 5, 3, "int32"),
                Invalid,
                "Need minval < maxval, got 5 >= 3: maxval itself is not drawn",
            ),
            (
                lambda: tf.random.stateless_uniform([2], SEED, 0, [1, 2], "int32"),
                Invalid,
                r"maxval must be 0-D, got shape \[2\]",
            ),
        ),
    ),
    Row(
        "integers",
        after_set_seed(lambda low, high: tf.random.uniform([4], low, high, "int32")),
        (np.array(-(2**31), "int32"), np.array(2**31 - 1, "int32")),
        lambda low, high: integers_between(low, high, own_state()),
        ops=("RandomUniformInt",),
        dtypes=("int32",),
        errors=((lambda: tf.random.uniform([2], 5, 5, "int64"), Invalid, "Need minval < maxval, got 5 >= 5"),),
    ),
    Row(
        "all-integers",
        lambda: tuple(tf.random.stateless_uniform([2], SEED, None, None, d) for d in ("int32", "int64", "uint32", "uint64")),
        (),
        lambda: tuple(all_integers(d, 2) for d in ("int32", "int64", "uint32", "uint64")),
        ops=("StatelessRandomUniformFullIntV2",),
        dtypes=("int32",),
    ),
    Row(
        "split",
        lambda seed: tf.random.split(seed, 3),
        (SEED.astype("int32"),),
        lambda seed: all_integers(seed.dtype.name, 6).reshape(3, 2),
        dtypes=("int32", "int64"),
    ),
    Row(
        "fold-in",
        lambda seed, data: tf.random.fold_in(seed, data),
        (SEED.astype("int32"), np.array(5, "int32")),
        lambda seed, data: np.array([all_integers(seed.dtype.name, 1)[0], 5]),
        dtypes=("int32", "int64"),
        result=lambda dtype: dtype,
    ),
    Row(
        "stateless-shuffle",
        lambda x: tf.random.experimental.stateless_shuffle(x, SEED),
        (real(5, 2),),
        lambda x: x[np.array(philox.order(STATE, 5))],
        ops=("StatelessShuffle",),
    ),
    Row(
        "shuffle",
        after_set_seed(tf.random.shuffle),
        (real(5),),
        lambda x: x[np.array(philox.order(own_state(), 5))],
        ops=("RandomShuffle",),
        special=((3.0, 3.0, 1.0),),
    ),
)

ALPHA, BETA, RATES = np.array([0.5, 3.0]), np.array([[1.0], [4.0]]), np.array([0.3, 20.0])
LOGITS = np.log([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0001]])


def classes(state):
    """By counting the cumulative probabilities below a uniform number."""
    u = philox.take(philox.doubles(state), 2, 4)
    cumulative = jnp.cumsum(jnp.exp(LOGITS - LOGITS.max(1, keepdims=True)), 1)
    return jnp.sum(cumulative[:, None] <= u[..., None] * cumulative[:, None, -1:], -1)


def between(mean, stddev, low, high):
    """By the quantile function of the normal distribution, in the lower tail."""
    cdf = jax.scipy.special.ndtr
    low, high = (low - mean) / stddev, (high - mean) / stddev
    return mean + stddev * jax.scipy.special.ndtri(cdf(low) + uniform() * (cdf(high) - cdf(low)))


DISTRIBUTIONS = (
    Row(
        "normal-between",
        lambda m, s, a, b: normal_between([2, 3], SEED, m, s, a - 3, b + 3),
        (real(3), positive(3), unit(1), unit(3)),
        lambda m, s, a, b: between(m, s, a - 3, b + 3),
        dtypes=("float64",),
        errors=(
            (
                lambda: normal_between([2], SEED, 0.0, 1.0, 1.0, -1.0),
                Invalid,
                "Invalid par",
            ),
            (
                lambda: normal_between([2], SEED, 0.0, 0.0),
                Invalid,
                "Invalid parameters",
            ),
            (
                lambda: normal_between([2], SEED, [0.0, 1.0, 2.0]),
                Invalid,
                "Shape passed in must end with broadcasted shape",
            ),
        ),
    ),
    Row(
        "stateless-gamma",
        lambda: tf.random.stateless_gamma([3, 2, 2], SEED, ALPHA, BETA, "float64"),
        (),
        lambda: np.array(
            [
                [[0.06695361383821083, 3.3503754927825242], [0.20713638438716805, 0.7317705261844785]],
                [[0.62823544551181, 3.40351477562984], [0.08533497903879345, 0.5873029832666898]],
                [[0.18136731678689116, 2.447971215673901], [0.428342817397136, 0.2917740472115288]],
            ]
        ),
        ops=("StatelessRandomGammaV3",),
        dtypes=("float64",),
        errors=(
            (
                lambda: tf.random.stateless_gamma([2], SEED, [1.0, 2.0, 3.0]),
                Invalid,
                r"Shape passed in must end with broadcasted shape. shape is \[2\], the parameters broadcast to \[3\]",
            ),
            (lambda: tf.random.stateless_gamma([2], SEED, 1, dtype="bfloat16"), Invalid, f"of bfloat16 {NOT_ALLOWED}"),
            (lambda: tf.random.stateless_gamma([2], SEED, 1.5, dtype="int32"), TypeError, "Cannot convert 1.5"),
        ),
    ),
    Row(
        "gamma",
        after_set_seed(lambda: tf.random.gamma([3], ALPHA, BETA, "float64")),
        (),
        lambda: np.array(
            [
                [[0.43344406828103804, 6.2364173793530835], [0.027046263541423355, 0.45065347557154434]],
                [[1.572863166563658, 0.7112795928125349], [0.5141238635218207, 0.7242720265879249]],
                [[0.06118883276149186, 2.507439009945517], [0.08859894825327216, 0.8777410833118063]],
            ]
        ),
        ops=("RandomGamma",),
        dtypes=("float64",),
    ),
    Row(
        "gamma-slope",
        distributions._gamma_slope,
        (positive(2), positive(3, 2)),
        lambda alpha, sample: jax.lax.random_gamma_grad(*np.broadcast_arrays(alpha, sample)),
        ops=("RandomGammaGrad",),
        order=-1,
        dtypes=("float64", "float32"),
        special=(
            (
                (np.array([0.1, 1.5, 10.0, 1.0]), np.array([0.01, 1.0, 12.0, 0.5])),
                [0.4227934381, 0.9026336669, 1.112329443, 0.8069791168],
            ),
        ),
        tolerance=1e-5,
    ),
    Row(
        "stateless-poisson",
        lambda: tf.random.stateless_poisson([3, 2], SEED, RATES),
        (),
        lambda: np.array([[1, 25], [2, 16], [1, 24]], "int32"),
        ops=("StatelessRandomPoisson",),
        dtypes=("float64",),
        errors=((lambda: tf.random.stateless_poisson([2], SEED, 1.0, "uint8"), Invalid, f"of uint8 {NOT_ALLOWED}"),),
    ),
    Row(
        "poisson",
        after_set_seed(lambda: tf.random.poisson([3], RATES)),
        (),
        lambda: np.array([[0, 13], [0, 19], [0, 17]], "float32"),
        ops=("RandomPoissonV2",),
        dtypes=("float64",),
        result=lambda dtype: "float32",
    ),
    Row(
        "stateless-binomial",
        lambda: tf.random.stateless_binomial([3, 2], SEED, [4, 30], [0.5, 0.1]),
        (),
        lambda: np.array([[3, 4], [2, 4], [3, 2]], "int32"),
        ops=("StatelessRandomBinomial",),
        dtypes=("float64",),
    ),
    Row(
        "generator-binomial",
        lambda: tf.random.Generator.from_seed(GLOBAL).binomial([3, 2], [4, 30], [0.5, 0.1]),
        (),
        lambda: np.array([[1, 3], [1, 1], [3, 2]], "int32"),
        ops=("StatefulRandomBinomial",),
        dtypes=("float64",),
    ),
    Row(
        "stateless-categorical",
        lambda: tf.random.stateless_categorical(LOGITS, 4, SEED),
        (),
        lambda: classes(STATE),
        ops=("StatelessMultinomial",),
        dtypes=("float64",),
    ),
    Row(
        "categorical",
        after_set_seed(lambda: tf.random.categorical(LOGITS, 4, "int32")),
        (),
        lambda: classes(own_state()).astype("int32"),
        ops=("Multinomial",),
        dtypes=("float64",),
        errors=(
            (lambda: tf.random.categorical([1.0, 2.0], 3), Invalid, r"logits should be a matrix, got shape \[2\]"),
            (lambda: tf.random.categorical(tf.zeros([2, 0]), 1), Invalid, "num_classes should be positive, got 0"),
            (lambda: tf.random.categorical(tf.zeros([2, 2]), -1), Invalid, "num_samples should be non-negative, got -1"),
            (
                lambda: tf.random.categorical([[1.0]], 1, "uint8"),
                ValueError,
                r"Accepted dtypes are \(tf.int32, tf.int64\)",
            ),
        ),
    ),
)

LOOPS = (
    Row(
        "seed-of-trip",
        lambda state, number: seeds.of_trip(state, number),
        (np.array([1, 2, 5]), np.array(3)),
        lambda state, number: jnp.stack([state[0], state[1], state[2] * seeds.MIX + number + 1]),
        ops=("SeedOfTrip",),
        dtypes=("float64",),
        order=0,
    ),
    Row(
        "state-after-draws",
        lambda state, count: seeds.advanced(state, count, 256),
        (np.array([-700, 2, 5]), np.array(3)),
        lambda state, count: np.array([68, 3, 5]),
        ops=("RngSkip",),
        dtypes=("int64",),
        order=0,
    ),
)

ROWS = NORMAL + UNIFORM + DISTRIBUTIONS + LOOPS
