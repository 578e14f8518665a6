"""Normal and uniform numbers, shuffling. Stateful functions draw anew at each call; a seed determines stateless ones.

Both are the same kernels of a key, which is made of a seed of two integers (see `seeds`, `threefry`). Reproducible for
a seed, on every device; the numbers are not TensorFlow's.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from gradtape._src.core import dtypes
from gradtape._src.core.aval import aval
from gradtape._src.core.convert import static, tensor
from gradtape._src.core.define import not_differentiable, op
from gradtape._src.core.errors import invalid, public
from gradtape._src.ops import seeds, threefry
from gradtape._src.ops.array import extents
from gradtape._src.ops.gather import gather
from gradtape._src.ops.joining import stack
from gradtape._src.ops.shapes import FLOATING, require

DRAWN = "its numbers are drawn, not computed: to make them depend on a tensor, scale and shift them (mean=, stddev=)"
WHOLE = "it gives integers"
INDEX = ("int32", "int64")
BITS = ("int32", "int64", "uint32", "uint64")
KEY = aval((2,), np.dtype(np.uint32))


class Sampler(NamedTuple):
    """The two ops of one kernel: TensorFlow has a type for stateless and one for stateful use."""

    stateless: Any
    stateful: Any

    def __call__(self, source, *inputs, **attributes):
        """Record the op that fits `source`: a stateless seed (a Tensor), or an `Own` seed."""
        if isinstance(source, Own):
            key = seed_key(seeds.draw(self.stateful.op.type, source.seed))
            return self.stateful(key, *inputs, **attributes)
        return self.stateless(seed_key(source), *inputs, **attributes)


class Own(NamedTuple):
    """The `seed` argument of a stateful function: an integer, or None."""

    seed: object


def sampler(stateless, stateful, **declared):
    """Declare the two ops of a kernel whose first input is the key."""

    def decorate(kernel):
        return Sampler(op(stateless, mixed=True, **declared)(kernel), op(stateful, mixed=True, **declared)(kernel))

    return decorate


def _key_aval(seed):
    require(seed, INDEX, "Tseed")
    return KEY


@op("StatelessRandomGetKeyCounter", infer=_key_aval)
def seed_key(seed):
    """The key, uint32[2], that a seed (or a generator's state) of int32 or int64 stands for."""
    return threefry.key_of(seed.astype(jnp.int64))


not_differentiable(seed_key, because="a seed is made of integers")


def stateless_seed(seed):
    """The seed of a stateless function: two integers, as a Tensor."""
    seed = tensor(seed)
    if seed.shape != (2,):
        raise invalid(f"seed must have shape [2], not {list(seed.shape)}: give two integers.")
    return seed


def static_shape(shape):
    """The `shape` argument of a random function as a tuple; a tensor's value is taken."""
    if isinstance(shape, (int, np.integer)) or getattr(shape, "shape", None) == ():
        raise invalid("shape must be a vector of {int32,int64}, got shape []: give [n] for n numbers, [] for a scalar.")
    return extents(shape)


def drawn(allowed):
    """The aval rule of ops that make numbers of `shape` and `dtype`, one of `allowed`."""

    def infer(*inputs, shape, dtype):
        result = aval(shape, dtype)
        require(result, allowed, "dtype")
        return result

    return infer


# ---------------------------------------------------------------------------------------------------------------------
# Normal and uniform numbers


@sampler("StatelessRandomNormalV2", "RandomStandardNormal", infer=drawn(FLOATING))
def _normal(key, *, shape, dtype):
    return threefry.normal(key, shape, dtype)


@sampler("StatelessTruncatedNormalV2", "TruncatedNormal", infer=drawn(FLOATING))
def _truncated_normal(key, *, shape, dtype):
    return threefry.truncated_normal(key, shape, dtype)


@sampler("StatelessRandomUniformV2", "RandomUniform", infer=drawn(FLOATING))
def uniform_numbers(key, *, shape, dtype):
    """Uniform in [0, 1)."""
    return threefry.uniform(key, shape, dtype)


@op("StatelessRandomUniformFullIntV2", infer=drawn(BITS))
def _any_integers(key, *, shape, dtype):
    bits = (threefry.bits64 if dtype.itemsize == 8 else threefry.bits32)(key, shape)
    return lax.bitcast_convert_type(bits, dtype)


def _integers_bounds(minval, maxval, shape):
    if minval < maxval or 0 in shape:
        return None
    return f"Need minval < maxval, got {minval} >= {maxval}: maxval itself is not drawn."


@sampler(
    "StatelessRandomUniformIntV2",
    "RandomUniformInt",
    infer=lambda key, minval, maxval, shape: aval(shape, minval.dtype),
    status=_integers_bounds,
    checked="minval maxval",
)
def _integers(key, minval, maxval, *, shape):
    bits = threefry.bits64(key, shape)
    if minval.dtype.itemsize == 4:  # the upper part of the product of the span and a fraction of 64 bits
        half, span = np.uint64(32), (maxval - minval).astype(jnp.uint32).astype(jnp.uint64)
        offset = ((bits >> half) * span + ((bits & np.uint64(2**32 - 1)) * span >> half)) >> half
    else:
        offset = lax.rem(bits, jnp.broadcast_to((maxval - minval).astype(jnp.uint64), shape))
    return minval + offset.astype(minval.dtype)


not_differentiable(*_normal, *_truncated_normal, *uniform_numbers, because=DRAWN)
not_differentiable(_any_integers, *_integers, because=WHOLE)


def affine(numbers, factor, shift):
    """numbers·factor + shift; nothing is recorded for the Python numbers 1 and 0."""
    if type(factor) not in (int, float) or factor != 1:
        numbers = numbers * factor
    if type(shift) not in (int, float) or shift != 0:
        numbers = numbers + shift
    return numbers


def parameter(value, dtype):
    """A number as it is, anything else as a Tensor of `dtype`, a ValueError for a tensor of another."""
    return value if type(value) in (int, float) else tensor(value, dtype)


def draw_normal(sampler, source, shape, mean, stddev, dtype):
    """Numbers of one of the normal samplers, from a seed, with this mean and standard deviation."""
    dtype = dtypes.as_dtype(dtype)
    if dtype.is_integer:
        raise TypeError(f"Cannot convert {mean!r} to EagerTensor of dtype {dtype.name}: normal numbers are floating.")
    numbers = sampler(source, shape=static_shape(shape), dtype=dtype.numpy)
    return affine(numbers, parameter(stddev, dtype), parameter(mean, dtype))


def draw_uniform(source, shape, minval, maxval, dtype, accepted):
    """Uniform numbers in [minval, maxval) from a seed, floating or integers."""
    dtype, shape = dtypes.as_dtype(dtype), static_shape(shape)
    if dtype.name not in accepted:
        names = ", ".join([f"tf.{name}" for name in accepted])
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are ({names}).")
    if dtype.is_integer:
        return _draw_integers(source, shape, minval, maxval, dtype)
    numbers = uniform_numbers(source, shape=shape, dtype=dtype.numpy)
    minval, maxval = parameter(minval, dtype), parameter(1 if maxval is None else maxval, dtype)
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
        return _any_integers(seed_key(source), shape=shape, dtype=dtype.numpy)
    if dtype.is_unsigned:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!r} when argument `minval` is not None. Please don't use "
            "unsigned integers in this case: cast signed ones, or give None for both bounds."
        )
    bounds = tensor(minval, dtype), tensor(maxval, dtype)
    for name, bound in zip(("minval", "maxval"), bounds, strict=True):
        if bound.ndim:
            raise invalid(f"{name} must be 0-D, got shape {list(bound.shape)}: integers of all places have one range.")
    return _integers(source, *bounds, shape=shape)


@public
def normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed numbers. `mean` and `stddev` broadcast with `shape`, and gradients flow to them."""
    return draw_normal(_normal, Own(seed), shape, mean, stddev, dtype)


@public
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed numbers, drawn again where they are more than two `stddev` from `mean`."""
    return draw_normal(_truncated_normal, Own(seed), shape, mean, stddev, dtype)


@public
def uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Numbers uniform in [minval, maxval), where None stands for 1: floating, or integers, which need a `maxval`."""
    return draw_uniform(Own(seed), shape, minval, maxval, dtype, FLOATING + INDEX)


@public
def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As `normal`: the same numbers for the same `seed` of two integers."""
    return draw_normal(_normal, stateless_seed(seed), shape, mean, stddev, dtype)


@public
def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As `truncated_normal`: the same numbers for the same `seed` of two integers."""
    return draw_normal(_truncated_normal, stateless_seed(seed), shape, mean, stddev, dtype)


@public
def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As `uniform`: the same numbers for the same `seed` of two integers.

    Integers (also uint32 and uint64) take all values that there are if `minval` and `maxval` are None.
    """
    return draw_uniform(stateless_seed(seed), shape, minval, maxval, dtype, FLOATING + BITS)


# ---------------------------------------------------------------------------------------------------------------------
# Shuffling, splitting of seeds


@sampler("StatelessShuffle", "RandomShuffle", infer=lambda key, size: aval((size,), np.dtype(np.int32)))
def _permutation(key, *, size):
    """The numbers 0 to size − 1 in random order: random words, with the number in the lowest bits, sorted."""
    mask = np.uint64(2 ** size.bit_length() - 1)
    words = (threefry.bits64(key, (size,)) & ~mask) | lax.iota(jnp.uint64, size)
    return (lax.sort(words) & mask).astype(jnp.int32)


not_differentiable(*_permutation, because=WHOLE)


def _shuffled(source, value):
    value = tensor(value)
    return gather(value, _permutation(source, size=value.shape[0])) if value.ndim else value


@public
def shuffle(value, seed=None, name=None):
    """`value` with its rows (along the first axis) in random order. Gradients go back to where the rows came from."""
    return _shuffled(Own(seed), value)


@public
def stateless_shuffle(value, seed, alg="auto_select", name=None):
    """As `shuffle`: the same order for the same `seed` of two integers."""
    return _shuffled(stateless_seed(seed), value)


@public
def split(seed, num=2, alg="auto_select"):
    """`num` new seeds made of one, [num, 2] in its dtype; the numbers of one tell nothing of those of another."""
    seed = stateless_seed(seed)
    return _any_integers(seed_key(seed), shape=(static(num, "num"), 2), dtype=seed.dtype.numpy)


@public
def fold_in(seed, data, alg="auto_select"):
    """A new seed made of a seed and an integer, in the integer's dtype (int32, int64, uint32 or uint64)."""
    seed, data = stateless_seed(seed), tensor(data)
    if data.dtype.name not in BITS:
        raise ValueError(f"data must be an integer, received dtype {data.dtype.name}. Use tf.cast, or int().")
    return stack([_any_integers(seed_key(seed), shape=(), dtype=data.dtype.numpy), data])


stateless_fold_in, stateless_split = fold_in, split
