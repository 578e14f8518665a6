"""Random bits: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).

A key is uint32[2]. For one key the bits, and the numbers made of them, are those of `jax.random`; the rounds are
written out here, so that XLA puts them into the loop that uses the numbers.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def _rotated(x, by):
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def threefry(key, x0, x1):
    """The block cipher: two uint32 arrays, mixed under `key`."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for block in range(5):
        for by in ROTATIONS[block % 2]:
            x0 = x0 + x1
            x1 = x0 ^ _rotated(x1, by)
        x0 = x0 + schedule[(block + 1) % 3]
        x1 = x1 + schedule[(block + 2) % 3] + np.uint32(block + 1)
    return x0, x1


def _mixed(z):
    """A step of SplitMix64 (Steele, Lea and Flood, 2014): uint64 to uint64, one to one, each bit depends on all."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def key_of(words):
    """The key, uint32[2], of a few words, a vector of int64; those that differ in one word only have different keys."""
    words = lax.bitcast_convert_type(words, jnp.uint64)
    state = _mixed(words[0])
    for i in range(1, words.shape[0]):
        state = _mixed(state + words[i])
    return jnp.stack([state >> np.uint64(32), state & np.uint64(2**32 - 1)]).astype(jnp.uint32)


def _blocks(key, shape):
    size = math.prod(shape)
    if size < 2**32:
        low = lax.iota(jnp.uint32, size)
        high = jnp.zeros_like(low)
    else:
        index = lax.iota(jnp.uint64, size)
        low, high = index.astype(jnp.uint32), (index >> np.uint64(32)).astype(jnp.uint32)
    return [half.reshape(shape) for half in threefry(key, high, low)]


def bits32(key, shape):
    """Random uint32."""
    x0, x1 = _blocks(key, shape)
    return x0 ^ x1


def bits64(key, shape):
    """Random uint64."""
    x0, x1 = _blocks(key, shape)
    return (x0.astype(jnp.uint64) << np.uint64(32)) | x1.astype(jnp.uint64)


def uniform(key, shape, dtype):
    """Uniform in [0, 1), a multiple of 2^-m for the m bits of the floating type's mantissa."""
    mantissa = MANTISSA[dtype.name]
    if dtype.itemsize == 8:
        bits = bits64(key, shape) >> np.uint64(64 - mantissa)
    else:
        bits = bits32(key, shape) >> np.uint32(32 - mantissa)
    return bits.astype(dtype) * jnp.array(2.0**-mantissa, dtype)


def _normal_between(key, shape, dtype, low, high):
    """√2·erfinv(u) for u uniform in (`low`, `high`): standard normal numbers, between two quantiles."""
    low = np.nextafter(np.array(low, dtype), np.array(0, dtype))  # host-side: a bound, in the dtype of the numbers
    u = jnp.maximum(uniform(key, shape, dtype) * (np.array(high, dtype) - low) + low, low)
    return jnp.array(math.sqrt(2), dtype) * lax.erf_inv(u)


def normal(key, shape, dtype):
    """Standard normal; 16-bit types are rounded from float32."""
    wide = np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    return _normal_between(key, shape, wide, -1.0, 1.0).astype(dtype)


def truncated_normal(key, shape, dtype):
    """Standard normal, if between -2 and 2; else drawn again."""
    wide = np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    edge = math.erf(2 / math.sqrt(2))
    return jnp.clip(_normal_between(key, shape, wide, -edge, edge), -2.0, 2.0).astype(dtype)
