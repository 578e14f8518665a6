"""Normal and uniform numbers, and shuffling. Stateful functions draw new numbers at each call; a seed determines stateless
ones.

Both use the same kernels of a state (see `philox`). A stateless seed is scrambled to a state; stateful functions get theirs
from `seeds`. The numbers are TensorFlow's, and for one seed the same on every device.
"""

import enum
import math
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.shape import extents
from gradtape._src.ops.random import philox, seeds
from gradtape._src.ops.shapes import FLOATING, require

DRAWN = "its numbers are drawn, not computed: to make them depend on a tensor, scale and shift them (mean=, stddev=)"
WHOLE = "it gives integers"
INDEX = ("int32", "int64")
BITS = ("int32", "int64", "uint32", "uint64")


class Sampler(NamedTuple):
    """The two ops of one kernel: TensorFlow has a type for stateless and one for stateful use."""

    stateless: Any
    stateful: Any

    def __call__(self, source, *inputs, **attributes):
        """Record the op for `source`, which is a state (a Tensor) or an `Own` seed."""
        if isinstance(source, Own):
            return self.stateful(source.state(self.stateful, attributes), *inputs, **attributes)
        return self.stateless(source, *inputs, **attributes)


class Own(NamedTuple):
    """The `seed` argument of a stateful function: an integer, or None.

    Ops with the same type, seed and `dtype` continue one stream. `blocks` are reserved by a call; None reserves TensorFlow's
    number of blocks for the shape.
    """

    seed: object
    dtype: object = None
    blocks: int | None = None

    def state(self, function, attributes):
        """Return the state to draw from, for the op `function`."""
        blocks = reserved(attributes["shape"]) if self.blocks is None else self.blocks
        return seeds.draw((function.op.type, attributes.get("dtype"), self.dtype), self.seed, blocks)


def reserved(shape):
    """Return the number of blocks that TensorFlow reserves for the numbers of a shape."""
    return philox.RESERVED * math.prod(shape)


def sampler(stateless, stateful, default_name=None, **declared):
    """Declare the two ops of a kernel whose first input is the state; `default_name` is that of the stateful op."""

    def decorate(kernel):
        return Sampler(
            op(stateless, mixed=True, **declared)(kernel), op(stateful, mixed=True, default_name=default_name, **declared)(kernel)
        )

    return decorate


def _state_aval(seed):
    require(seed, INDEX, "Tseed")
    return seeds.STATE


@op("StatelessRandomGetKeyCounter", infer=_state_aval)
def seed_state(seed):
    """Convert a seed of two int32 or int64 to a state, int64[3]."""
    return philox.state_of(seed.astype(jnp.int64))


not_differentiable(seed_state, because="a seed is made of integers")


class Algorithm(enum.Enum):
    """The generator of random bits. The default is Philox. Threefry is not implemented, and only determines the form of a
    state.

    A state of Philox has three words, a counter of two and a key; Threefry's has two.

    >>> print(tf.random.Algorithm.PHILOX, tf.random.Generator.from_seed(1, tf.random.Algorithm.PHILOX).algorithm)
    Algorithm.PHILOX 1
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def algorithm(alg):
    """Convert the argument `alg` (an Algorithm, its name or number, or None) to an Algorithm other than AUTO_SELECT."""
    try:
        if alg is None:
            return Algorithm.PHILOX
        found = Algorithm[alg.upper()] if isinstance(alg, str) else Algorithm(alg)
    except (KeyError, ValueError):
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are philox for the Philox algorithm, "
            "threefry for the ThreeFry algorithm, and auto_select for auto-selection."
        ) from None
    return Algorithm.PHILOX if found is Algorithm.AUTO_SELECT else found


def stateless_state(seed, alg=None):
    """Return the state for the seed of a stateless function, two integers."""
    seed = tensor(seed)
    if extents_of(seed) != (2,):
        raise invalid(f"seed must have shape [2], not {list(seed.shape)}: give two integers.")
    if algorithm(alg) is Algorithm.THREEFRY:
        raise invalid("Unsupported algorithm id: 2. Threefry is not implemented on the CPU: give alg='philox'.")
    return seed_state(seed)


def static_shape(shape):
    """Convert the `shape` argument of a random function to a tuple; a tensor is evaluated."""
    if isinstance(shape, (int, np.integer)) or getattr(shape, "shape", None) == ():
        raise invalid("shape must be a vector of {int32,int64}, got shape []: give [n] for n numbers, [] for a scalar.")
    return extents(shape)


def drawn(allowed):
    """Return the aval rule of ops that draw numbers of `shape` and `dtype`, one of `allowed`."""

    def infer(*inputs, shape, dtype):
        result = aval(shape, dtype)
        require(result, allowed, "dtype")
        return result

    return infer


# ---------------------------------------------------------------------------------------------------------------------
# Normal and uniform numbers


@sampler("StatelessRandomNormalV2", "RandomStandardNormal", default_name="random_normal", infer=drawn(FLOATING))
def _normal(state, *, shape, dtype):
    return philox.normal(state, shape, dtype)


@sampler("StatelessTruncatedNormalV2", "TruncatedNormal", infer=drawn(FLOATING))
def _truncated_normal(state, *, shape, dtype):
    return philox.truncated_normal(state, shape, dtype)


@sampler("StatelessRandomUniformV2", "RandomUniform", default_name="random_uniform/RandomUniform", infer=drawn(FLOATING))
def uniform_numbers(state, *, shape, dtype):
    """Draw uniform numbers in [0, 1)."""
    return philox.uniform(state, shape, dtype)


@op("StatelessRandomUniformFullIntV2", infer=drawn(BITS))
def any_integers(state, *, shape, dtype):
    """Draw integers uniformly from all values of `dtype`."""
    bits = (philox.bits64 if dtype.itemsize == 8 else philox.bits32)(state, shape)
    return lax.bitcast_convert_type(bits, dtype)


def _no_integers(minval, maxval, shape):
    wrong = (minval >= maxval) & (0 not in shape)
    yield wrong, lambda: f"Need minval < maxval, got {minval} >= {maxval}: maxval itself is not drawn."


@sampler(
    "StatelessRandomUniformIntV2",
    "RandomUniformInt",
    infer=lambda state, minval, maxval, shape: aval(shape, minval.dtype),
    refuses=_no_integers,
)
def _integers(state, minval, maxval, *, shape):
    return philox.integers(state, minval, maxval, shape)


not_differentiable(*_normal, *_truncated_normal, *uniform_numbers, because=DRAWN)
not_differentiable(any_integers, *_integers, because=WHOLE)


def affine(numbers, factor, shift):
    """Return numbers·factor + shift. No op is recorded for the Python numbers 1 and 0."""
    if type(factor) not in (int, float) or factor != 1:
        numbers = numbers * factor
    if type(shift) not in (int, float) or shift != 0:
        numbers = numbers + shift
    return numbers


def parameter(value, dtype):
    """Return a Python number unchanged; convert anything else to a Tensor of `dtype`, a ValueError for a tensor of another."""
    return value if type(value) in (int, float) else tensor(value, dtype)


def draw_normal(sampler, source, shape, mean, stddev, dtype):
    """Draw numbers with a mean and a standard deviation, from a seed by one of the normal samplers."""
    dtype = dtypes.as_dtype(dtype)
    if dtype.is_integer:
        raise TypeError(f"Cannot convert {mean!r} to EagerTensor of dtype {dtype.name}: normal numbers are floating.")
    numbers = sampler(source, shape=static_shape(shape), dtype=dtype.numpy)
    return affine(numbers, parameter(stddev, dtype), parameter(mean, dtype))


def draw_uniform(source, shape, minval, maxval, dtype, accepted):
    """Draw uniform numbers in [minval, maxval) from a seed, floating or integer."""
    dtype, shape = dtypes.as_dtype(dtype), static_shape(shape)
    if dtype.name not in accepted:
        names = ", ".join([f"tf.{name}" for name in accepted])
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are ({names}).")
    if dtype.is_integer:
        return _draw_integers(source, shape, minval, maxval, dtype)
    numbers = uniform_numbers(source, shape=shape, dtype=dtype.numpy)
    minval, maxval = parameter(minval, dtype), parameter(1 if maxval is None else maxval, dtype)
    if type(minval) in (int, float) and type(maxval) in (int, float):
        minval, maxval = [float(dtype.numpy.type(bound)) for bound in (minval, maxval)]  # rounded to the precision of the numbers
    return affine(numbers, maxval - minval, minval)


def _draw_integers(source, shape, minval, maxval, dtype):
    if isinstance(source, Own) and maxval is None:
        raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {dtype!r}, argument `minval` and `maxval` must be both None or not None. "
            f"Got `minval`={minval} and `maxval`={maxval}."
        )
    if minval is None:
        return any_integers(source, shape=shape, dtype=dtype.numpy)
    if dtype.is_unsigned:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!r} when argument `minval` is not None. Please don't use "
            "unsigned integers in this case: cast signed ones, or give None for both bounds."
        )
    bounds = tensor(minval, dtype), tensor(maxval, dtype)
    for name, bound in zip(("minval", "maxval"), bounds, strict=True):
        if bound.ndim:
            raise invalid(f"{name} must be 0-D, got shape {list(extents_of(bound))}: integers of all places have one range.")
    if isinstance(source, Own):
        source = source._replace(dtype=dtype.numpy)
    return _integers(source, *bounds, shape=shape)


@public
def normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None) -> Tensor:
    """Draw normally distributed numbers. `mean` and `stddev` broadcast with `shape`, and gradients flow to them.

    >>> tf.random.set_seed(1)
    >>> tf.random.normal([2, 3]).shape
    TensorShape([2, 3])
    """
    return draw_normal(_normal, Own(seed), shape, mean, stddev, dtype)


@public
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None) -> Tensor:
    """Draw truncated normal numbers: those more than two `stddev` from `mean` are drawn again.

    >>> bool(tf.reduce_all(tf.abs(tf.random.truncated_normal([100])) <= 2.0))
    True
    """
    return draw_normal(_truncated_normal, Own(seed), shape, mean, stddev, dtype)


@public
def uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None) -> Tensor:
    """Draw numbers uniform in [minval, maxval), of a floating or integer dtype. `maxval` is 1 by default; integers need it.

    >>> x = tf.random.uniform([100], minval=-1.0, maxval=1.0)
    >>> bool(tf.reduce_all((x >= -1.0) & (x < 1.0)))
    True
    """
    return draw_uniform(Own(seed), shape, minval, maxval, dtype, FLOATING + INDEX)


@public
def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select") -> Tensor:
    """Draw like `normal`: the same numbers for the same `seed` of two integers.

    >>> a, b = tf.random.stateless_normal([3], seed=[1, 2]), tf.random.stateless_normal([3], seed=[1, 2])
    >>> bool(tf.reduce_all(a == b))
    True
    """
    return draw_normal(_normal, stateless_state(seed, alg), shape, mean, stddev, dtype)


@public
def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select") -> Tensor:
    """Draw like `truncated_normal`: the same numbers for the same `seed` of two integers.

    >>> tf.random.stateless_truncated_normal([2, 3], seed=[1, 2]).shape
    TensorShape([2, 3])
    """
    return draw_normal(_truncated_normal, stateless_state(seed, alg), shape, mean, stddev, dtype)


@public
def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None, alg="auto_select") -> Tensor:
    """Draw like `uniform`: the same numbers for the same `seed` of two integers.

    If `minval` and `maxval` are None, integers (also uint32 and uint64) cover all values of the dtype.

    >>> a, b = (tf.random.stateless_uniform([3], seed=[1, 2]) for _ in range(2))
    >>> bool(tf.reduce_all(a == b))
    True
    """
    return draw_uniform(stateless_state(seed, alg), shape, minval, maxval, dtype, FLOATING + BITS)


# ---------------------------------------------------------------------------------------------------------------------
# Shuffling, splitting of seeds


@sampler("StatelessShuffle", "RandomShuffle", infer=lambda state, size: aval((size,), np.dtype(np.int32)), flops=0)
def _permutation(state, *, size):
    """Return the numbers 0 to size − 1 in random order."""
    return philox.permutation(state, size)


not_differentiable(*_permutation, because=WHOLE)


def _shuffled(source, value):
    return gather(value, _permutation(source, size=extents_of(value)[0])) if value.ndim else value


@public
def shuffle(value, seed=None, name=None) -> Tensor:
    """Return `value` with its rows (along the first axis) in random order. Gradients go back to the original rows.

    >>> sorted(tf.random.shuffle([1, 2, 3]).numpy().tolist())
    [1, 2, 3]
    """
    value = tensor(value)
    size = extents_of(value)[0] if value.ndim else 0
    return _shuffled(Own(seed, value.dtype.numpy, blocks=-(-max(size - 1, 0) // 4)), value)


@public
def stateless_shuffle(value, seed, alg="auto_select", name=None):
    """Shuffle like `shuffle`: the same order for the same `seed` of two integers.

    >>> print(sorted(tf.random.experimental.stateless_shuffle(tf.range(4), seed=[1, 2]).numpy().tolist()))
    [0, 1, 2, 3]
    """
    return _shuffled(stateless_state(seed, alg), tensor(value))


@public
def split(seed, num=2, alg="auto_select"):
    """Derive `num` new seeds from one, [num, 2] in its dtype. Their numbers are statistically independent.

    >>> tf.random.split([1, 2], num=3).shape
    TensorShape([3, 2])
    """
    seed = tensor(seed)
    return any_integers(stateless_state(seed, alg), shape=(static(num, "num"), 2), dtype=seed.dtype.numpy)


@public
def fold_in(seed, data, alg="auto_select"):
    """Derive a new seed from a seed and an integer, in the integer's dtype (int32, int64, uint32 or uint64).

    >>> print(tf.random.experimental.stateless_fold_in([1, 2], 3).shape)
    (2,)
    """
    data = tensor(data)
    if data.dtype.name not in BITS:
        raise ValueError(f"data must be an integer, received dtype {data.dtype.name}. Use tf.cast, or int().")
    return stack([any_integers(stateless_state(seed, alg), shape=(), dtype=data.dtype.numpy), data])


stateless_fold_in, stateless_split = fold_in, split
