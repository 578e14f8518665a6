"""Random numbers: stateful functions, which draw anew at each call, and stateless ones, whose numbers a seed determines.

Both are the same kernels of a key, which is made of a seed of two integers (see `seeds`, `threefry`). Reproducible for a
seed, on every device; the numbers are not TensorFlow's.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from gradtape._src.core import convert, dtypes
from gradtape._src.core.aval import aval
from gradtape._src.core.convert import tensor
from gradtape._src.core.define import not_differentiable, op
from gradtape._src.core.errors import invalid, public
from gradtape._src.ops import array, seeds, threefry
from gradtape._src.ops.floats import FLOATS, INDICES, require

DRAWN = "its numbers are drawn, not computed from a tensor: scale and shift them by tensors (mean=, stddev=, minval=, maxval=)"
WHOLE = "it gives integers"
KEY = aval((2,), np.dtype(np.uint32))
UNSIGNED = (np.dtype(np.uint32), np.dtype(np.uint64))


class Sampler(NamedTuple):
    """The two ops of one kernel: TensorFlow has a type for stateful and one for stateless use."""

    stateless: object
    stateful: object

    def __call__(self, source, *inputs, **attributes):
        """Record the op that fits `source`, a Tensor (a stateless seed) or an `Own` seed."""
        if isinstance(source, Own):
            kind = self.stateful.op.type
            seed = seeds.draw(kind, attributes.get("dtype"), source.seed)
            return self.stateful(_key(seed), *inputs, **attributes)
        return self.stateless(_key(source), *inputs, **attributes)


class Own(NamedTuple):
    """The `seed` argument of a stateful function: an integer or None."""

    seed: object


def sampler(stateless, stateful, **declared):
    """Declare the two ops of a kernel whose first input is the key."""

    def decorate(kernel):
        return Sampler(op(stateless, mixed=True, **declared)(kernel), op(stateful, mixed=True, **declared)(kernel))

    return decorate


def _key_aval(seed):
    require(seed, INDICES, "Tseed")
    if seed.ndim != 1 or not seed.size:
        raise invalid(f"seed must have shape [2], not {list(seed.shape)}")
    return KEY


@op("StatelessRandomGetKeyCounter", infer=_key_aval)
def _key(seed):
    return threefry.hashed(seed.astype(jnp.int64))


not_differentiable(_key, because="a seed is made of integers")


def static_shape(shape):
    """The `shape` argument of a random function as a tuple; a tensor's value is taken."""
    if isinstance(shape, (int, np.integer)) or getattr(shape, "shape", None) == ():
        raise invalid("shape must be a vector of {int32,int64}, got shape []: give [n] for n numbers, [] for a scalar.")
    extents = convert.static_list(shape, "shape")
    for extent in extents:
        if extent < 0:
            raise invalid(f"Dimension {extent} must be >= 0: shape is {list(extents)}.")
    return extents


def numpy_dtype(dtype):
    return dtypes.as_dtype(dtype).numpy


def stateless_seed(seed):
    """The seed of a stateless function: two integers, as a Tensor."""
    seed = tensor(seed)
    if tuple(seed.shape) != (2,):
        raise invalid(f"seed must have shape [2], not {list(seed.shape)}: give two integers.")
    return seed


def _drawn(allowed):
    """The aval rule of ops that have no inputs but the key."""

    def infer(key, shape, dtype):
        require(aval((), dtype), allowed, "dtype")
        return aval(shape, dtype)

    return infer


# ---------------------------------------------------------------------------------------------------------------------
# Normal and uniform numbers


@sampler("StatelessRandomNormalV2", "RandomStandardNormal", infer=_drawn(FLOATS))
def _normal(key, *, shape, dtype):
    return threefry.normal(key, shape, dtype)


@sampler("StatelessTruncatedNormalV2", "TruncatedNormal", infer=_drawn(FLOATS))
def _truncated_normal(key, *, shape, dtype):
    return threefry.truncated_normal(key, shape, dtype)


@sampler("StatelessRandomUniformV2", "RandomUniform", infer=_drawn(FLOATS))
def _uniform(key, *, shape, dtype):
    return threefry.uniform(key, shape, dtype)


@op("StatelessRandomUniformFullIntV2", infer=_drawn((*INDICES, *UNSIGNED)))
def _any_integers(key, *, shape, dtype):
    bits = (threefry.bits64 if dtype.itemsize == 8 else threefry.bits32)(key, shape)
    return lax.bitcast_convert_type(bits, dtype)


def _integers_aval(key, minval, maxval, shape):
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if bound.ndim:
            raise invalid(f"{name} must be 0-D, got shape {list(bound.shape)}")
    return aval(shape, minval.dtype)


def _integers_bounds(minval, maxval, shape):
    if minval < maxval or 0 in shape:
        return None
    return f"Need minval < maxval, got {minval} >= {maxval}: maxval itself is not drawn."


@sampler(
    "StatelessRandomUniformIntV2",
    "RandomUniformInt",
    infer=_integers_aval,
    status=_integers_bounds,
    checked="minval maxval",
)
def _integers(key, minval, maxval, *, shape):
    bits = threefry.bits64(key, shape)
    span = (maxval - minval).astype(jnp.uint32 if minval.dtype.itemsize == 4 else jnp.uint64).astype(jnp.uint64)
    if minval.dtype.itemsize == 4:  # the upper bits of the product of span and a 64-bit fraction
        half = np.uint64(32)
        drawn = ((bits >> half) * span + ((bits & np.uint64(2**32 - 1)) * span >> half)) >> half
    else:
        drawn = lax.rem(bits, jnp.broadcast_to(span, shape))
    return minval + drawn.astype(minval.dtype)


not_differentiable(*_normal, *_truncated_normal, *_uniform, because=DRAWN)
not_differentiable(_any_integers, *_integers, because=WHOLE)


def affine(numbers, factor, shift, dtype):
    """numbers·factor + shift, in `dtype`; nothing is recorded for the Python numbers 1 and 0."""
    factor, shift = [v if type(v) in (int, float) and dtype.is_floating else tensor(v, dtype) for v in (factor, shift)]
    if not (type(factor) in (int, float) and factor == 1):
        numbers = numbers * factor
    if not (type(shift) in (int, float) and shift == 0):
        numbers = numbers + shift
    return numbers


def draw_normal(source, shape, mean, stddev, dtype, which=_normal):
    """Normal numbers (`which` may be the truncated ones) from a seed."""
    dtype = dtypes.as_dtype(dtype)
    if dtype.is_integer:
        raise TypeError(f"Cannot convert {mean!r} to EagerTensor of dtype {dtype.name}: normal numbers are floating.")
    return affine(which(source, shape=static_shape(shape), dtype=dtype.numpy), stddev, mean, dtype)


def draw_uniform(source, shape, minval, maxval, dtype, accepted):
    """Uniform numbers in [minval, maxval) from a seed, floating or integers."""
    dtype = dtypes.as_dtype(dtype)
    if dtype.numpy not in accepted:
        names = ", ".join(repr(dtypes.as_dtype(d)) for d in accepted)
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are ({names}).")
    shape = static_shape(shape)
    if dtype.is_integer:
        if isinstance(source, Own) and maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {dtype!r}, argument `minval` and `maxval` must be both None or not None. "
                f"Got `minval`={minval} and `maxval`={maxval}."
            )
        if minval is None:
            return _any_integers(_key(source), shape=shape, dtype=dtype.numpy)
        if dtype.is_unsigned:
            raise ValueError(
                f"Argument `dtype` got invalid value {dtype!r} when argument `minval` is not None. Please don't use unsigned "
                "integers in this case."
            )
        return _integers(source, tensor(minval, dtype), tensor(maxval, dtype), shape=shape)
    numbers = _uniform(source, shape=shape, dtype=dtype.numpy)
    maxval = 1 if maxval is None else maxval
    if type(minval) in (int, float) and type(maxval) in (int, float):
        return affine(numbers, maxval - minval, minval, dtype)
    minval = tensor(minval, dtype)
    return affine(numbers, tensor(maxval, dtype) - minval, minval, dtype)


@public
def normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed numbers. `mean` and `stddev` broadcast with `shape`, and gradients flow to them."""
    return draw_normal(Own(seed), shape, mean, stddev, dtype)


@public
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed numbers, drawn again where they are more than two `stddev` from `mean`."""
    return draw_normal(Own(seed), shape, mean, stddev, dtype, _truncated_normal)


@public
def uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Numbers uniform in [minval, maxval), 1 if `maxval` is None. Floating, or int32 or int64, which need a `maxval`."""
    return draw_uniform(Own(seed), shape, minval, maxval, dtype, (*FLOATS, *INDICES))


@public
def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """Normally distributed numbers: the same ones for the same `seed` of two integers."""
    return draw_normal(stateless_seed(seed), shape, mean, stddev, dtype)


@public
def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As `truncated_normal`: the same numbers for the same `seed` of two integers."""
    return draw_normal(stateless_seed(seed), shape, mean, stddev, dtype, _truncated_normal)


@public
def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As `uniform`: the same numbers for the same `seed` of two integers.

    Integers (also uint32 and uint64) take all values that there are if `minval` and `maxval` are None.
    """
    return draw_uniform(stateless_seed(seed), shape, minval, maxval, dtype, (*FLOATS, *INDICES, *UNSIGNED))


# ---------------------------------------------------------------------------------------------------------------------
# Shuffling, splitting of seeds


def _permutation_aval(key, size):
    return aval((size,), np.dtype(np.int32))


@sampler("StatelessShuffle", "RandomShuffle", infer=_permutation_aval)
def _permutation(key, *, size):
    return jnp.argsort(threefry.bits64(key, (size,))).astype(jnp.int32)


not_differentiable(*_permutation, because=WHOLE)


def draw_shuffled(source, value):
    """`value` with its rows in an order drawn from a seed."""
    value = tensor(value)
    if value.ndim == 0:
        return value
    return array.gather(value, _permutation(source, size=int(value.shape[0])))


@public
def shuffle(value, seed=None, name=None):
    """`value` with its rows (along the first axis) in random order. Gradients go back to where the rows came from."""
    return draw_shuffled(Own(seed), value)


@public
def stateless_shuffle(value, seed, alg="auto_select", name=None):
    """As `shuffle`: the same order for the same `seed` of two integers."""
    return draw_shuffled(stateless_seed(seed), value)


@public
def split(seed, num=2, alg="auto_select"):
    """`num` new seeds made of one, [num, 2], in its dtype: the numbers they give are independent of each other's."""
    seed = stateless_seed(seed)
    return _any_integers(_key(seed), shape=(convert.static(num, "num"), 2), dtype=seed.dtype.numpy)


@public
def fold_in(seed, data, alg="auto_select"):
    """A new seed made of a seed and an integer, in the seed's dtype; other integers give independent seeds."""
    seed = stateless_seed(seed)
    first = split(seed, 1)[0, 0]
    return array.stack([first, array.cast(data, seed.dtype)])
