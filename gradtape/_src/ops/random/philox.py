"""Random bits, and uniform and normal numbers from them: Philox-4x32 with 10 rounds, with TensorFlow's numbers.

(Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.3.) A block of the cipher is four words of 32
bits. The state is that of `tf.random.Generator`, int64[3]: a counter of two words, lower one first, and the key. Word i is in
block i // 4 from the counter on. Each number is a function of its index alone, so some blocks are computed several times. But
XLA can then fuse it into the loop that reads the numbers, without a block in memory. The host computes each once.
"""

import math

import numpy as np

from gradtape._src.core.platform.arrays import at, jnp, lax, traced_once
from gradtape._src.core.platform.lowerings import HOST, lowered, lowering

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
INCREMENTS = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
SEEDING = 0x3EC8F720, 0x02461E29  # TensorFlow's key for deriving states from seeds
MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
RESERVED = 256  # blocks that TensorFlow reserves for each number
LEAST = 1e-7  # lower bound of the uniform numbers from which normal ones are computed
EDGE = 2.0  # the bound of truncated normal numbers


def halves(words):
    """Split uint64 into the lower and the upper 32 bits."""
    return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)


def whole(lower, upper):
    """Combine lower and upper halves to uint64."""
    return lower.astype(np.uint64) | (upper.astype(np.uint64) << np.uint64(32))


def philox(key, counter):
    """Apply the block cipher to a counter of four arrays of uint32, under a key of two."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        low0, high0 = halves(c0.astype(np.uint64) * MULTIPLIERS[0])
        low1, high1 = halves(c2.astype(np.uint64) * MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + INCREMENTS[0], k1 + INCREMENTS[1]
    return c0, c1, c2, c3


cipher = traced_once(philox)  # programs may use it many times, and trace it once


def state_of(seed):
    """Return the state of a stateless seed, int64[2], computed once and not in each loop that draws from it."""
    first, second = lax.bitcast_convert_type(seed, np.uint64)
    w0, w1, w2, w3 = cipher(jnp.array(SEEDING, np.uint32), (*halves(first), *halves(second)))
    words = jnp.stack([jnp.zeros((), np.uint64), whole(w2, w3), whole(w0, w1)])
    return lax.optimization_barrier(lax.bitcast_convert_type(words, jnp.int64))


def advanced(state, count, *, blocks):
    """Return the state after `count` draws of `blocks` each."""
    lower, upper, key = lax.bitcast_convert_type(state, np.uint64)
    at = lower + count.astype(np.uint64) * np.uint64(blocks)
    return lax.bitcast_convert_type(jnp.stack([at, upper + (at < lower).astype(np.uint64), key]), jnp.int64)


def blocks(state, index):
    """Return the four words of the blocks with the numbers `index`, uint64."""
    lower, upper, key = lax.bitcast_convert_type(state, np.uint64)
    at = lower + index
    upper = upper + (at < lower).astype(np.uint64)
    return cipher(halves(key), (*halves(at), *halves(upper)))


def words(state):
    """Yield the words of a state in order, as Python's integers, for shuffling on the host."""
    begin, count = 0, 64
    while True:
        yield from words_on_host(state, begin, count).tolist()
        begin, count = begin + count, min(4 * count, 16384)


def words_on_host(state, begin, count):
    """Return `count` words of a state from word `begin`, a multiple of 4, on; NumPy's uint32."""
    lower, upper, key = np.asarray(state).astype(np.uint64)[:, None]
    at = lower + np.arange(begin // 4, (begin + count + 3) // 4, dtype=np.uint64)
    return np.stack(philox(halves(key), (*halves(at), *halves(upper + (at < lower)))), 1).ravel()[:count]


def in_loop(state, carry):
    """Keep a state and a loop's carry in the loop's body. XLA would compute the rounds' keys before it, in a kernel each."""
    return lax.optimization_barrier((state, carry))


@lowered("random words, of which several numbers have a block in common")
def _blocks_of(state, index, *, shift):
    """Return the words of each number's block, shared by 2^shift numbers. `index` is the result of `_indices`."""
    return blocks(state, index >> np.uint64(shift))


def _repeated_blocks(state, index, *, shift):
    count = index.size
    each = blocks(state, np.arange((count + 2**shift - 1) >> shift, dtype=np.uint64))
    return [np.repeat(word, 2**shift)[:count].reshape(index.shape) for word in each]


lowering(_blocks_of, platform=HOST, rule=_repeated_blocks, because="NumPy fuses nothing: each block is computed once")


def _stored_block(state, index, *, shift):
    return tuple(lax.optimization_barrier(jnp.stack(blocks(state, index >> np.uint64(shift)))))


lowering(
    _blocks_of, platform="cpu", when=lambda state, index, *, shift: index.size == 1, rule=_stored_block,
    because="XLA's compiler for CPUs draws a single number again for each element that it changes, but stores an array of words",
)  # fmt: skip


def _pairs(state, index, shift):
    """Return each number's pair of words, of which a block has two. A pair is shared by 2^shift numbers."""
    w0, w1, w2, w3 = _blocks_of(state, index, shift=shift + 1)
    second = _is_odd(index >> np.uint64(shift))
    return jnp.where(second, w2, w0), jnp.where(second, w3, w1)


def _is_odd(index):
    return index & np.uint64(1) != 0


def _indices(shape):
    return lax.iota(np.uint64, math.prod(shape)).reshape(shape)


def bits32(state, shape):
    """Draw random uint32."""
    index = _indices(shape)
    first, second = _pairs(state, index, 1)
    return jnp.where(_is_odd(index), second, first)


def bits64(state, shape):
    """Draw random uint64."""
    return whole(*_pairs(state, _indices(shape), 0))


def fraction(bits, dtype):
    """Return the numbers in [0, 1) whose mantissas are the lowest bits of unsigned integers of the size of `dtype`."""
    kept = bits.dtype.type(2 ** MANTISSA[dtype.name] - 1)
    one = np.ones((), dtype).view(bits.dtype)
    return lax.bitcast_convert_type((bits & kept) | one, dtype) - np.ones((), dtype)


def double(first, second):
    """Convert two words to float64 in [0, 1); the first has the upper bits."""
    return fraction(whole(second, first), np.dtype(np.float64))


def single(word):
    """Convert a word to float32 in [0, 1)."""
    return fraction(word, np.dtype(np.float32))


def uniform(state, shape, dtype):
    """Draw uniform numbers in [0, 1), multiples of 2^-m for the m bits of the floating type's mantissa."""
    if dtype.itemsize == 8:
        return double(*_pairs(state, _indices(shape), 0))
    bits = bits32(state, shape)
    return fraction(bits.astype(jnp.uint16) if dtype.itemsize == 2 else bits, dtype)


def _sine(angle, quarter):
    """Return sin(angle + quarter·π/2) for float32 in [0, 2π] and `quarter` 0 or 1: in float64, by series on [-π/4, π/4]."""
    angle = angle.astype(jnp.float64)
    turns = jnp.round(angle * (2 / math.pi))
    x = angle - turns * (math.pi / 2)
    quarter, s = quarter + turns.astype(jnp.int32), x * x
    value = jnp.where(quarter & 1 == 0, x * _series(s, 1), _series(s, 0))
    return jnp.where(quarter & 2 == 0, value, -value).astype(jnp.float32)


def _series(s, first):
    """Return Σ (-s)^k / (2k + first)! for the first six k."""
    value = jnp.zeros_like(s)
    for k in range(5, -1, -1):
        value = (-1) ** k / math.factorial(2 * k + first) + s * value
    return value


def _box_muller(u, v, quarter):
    """Return one of the two standard normal numbers of two uniform ones (Box and Muller, 1958): the first if `quarter` is 0."""
    radius = jnp.sqrt(-2 * jnp.log(jnp.maximum(u, u.dtype.type(LEAST))))
    angle = v.astype(jnp.float64) * (2 * math.pi)
    if u.dtype == jnp.float64:
        return radius * jnp.where(quarter == 0, jnp.sin(angle), jnp.cos(angle))
    return radius * _sine(angle.astype(jnp.float32), quarter)


def normals(words, is_double):
    """Return the standard normal numbers of a block: four float32, or two float64."""
    if is_double:
        uniforms = [(double(*words[:2]), double(*words[2:]))]
    else:
        uniforms = [(single(words[0]), single(words[1])), (single(words[2]), single(words[3]))]
    return [_box_muller(u, v, np.int32(quarter)) for u, v in uniforms for quarter in (0, 1)]


def normal(state, shape, dtype):
    """Draw standard normal numbers; 16-bit types are rounded from float32."""
    index = _indices(shape)
    quarter = (index & np.uint64(1)).astype(jnp.int32)
    if dtype.itemsize == 8:
        words = _blocks_of(state, index, shift=1)
        return _box_muller(double(*words[:2]), double(*words[2:]), quarter)
    first, second = _pairs(state, index, 1)
    return _box_muller(single(first), single(second), quarter).astype(dtype)


def truncated_normal(state, shape, dtype):
    """Draw standard normal numbers between -2 and 2.

    Numbers are drawn in groups, as many as fit a block. A group takes the first valid numbers of its own range of blocks.
    Until a number is found, its position holds 4 plus the count of numbers of its group that must be found before it.
    """
    is_double = dtype.itemsize == 8
    group = 2 if is_double else 4
    index = _indices(shape)
    begin = index // np.uint64(group) * np.uint64(RESERVED * group // 4)

    def is_missing(x):
        return x > EDGE

    def look_at_block(carry):
        here, (number, found) = in_loop(state, carry)
        for x in normals(blocks(here, begin + number), is_double):
            next_found = jnp.where(found == 4, x, found - 1)
            found = jnp.where(is_missing(found) & (jnp.abs(x) < EDGE), next_found, found)
        return number + np.uint64(1), found

    missing = 4 + (index % np.uint64(group)).astype(jnp.float64 if is_double else jnp.float32)
    start = jnp.zeros((), np.uint64), missing
    return lax.while_loop(lambda carry: jnp.any(is_missing(carry[1])), look_at_block, start)[1].astype(dtype)


def integers(state, low, high, shape):
    """Draw integers in [low, high), int32 or int64: random bits modulo the span."""
    wide = low.dtype.itemsize == 8
    bits = bits64(state, shape) if wide else bits32(state, shape)
    span = (high - low).astype(bits.dtype)
    return low + lax.rem(bits, jnp.broadcast_to(span, shape)).astype(low.dtype)


def permutation(state, size):
    """Return the numbers 0 to size − 1 in random order: number i is swapped with one from i on (Fisher and Yates, 1938).

    All swaps are computed at once. Sorting finds the last swap that moved a value to position p before time i. This value was
    at position t at its own time t, which is found by following such swaps back.
    """
    if size < 2:
        return jnp.arange(size, dtype=jnp.int32)
    time = lax.iota(jnp.int64, size)
    left = np.uint32(size) - lax.iota(np.uint32, size - 1)
    partner = at(time)[:-1].add(lax.rem(bits32(state, (size - 1,)), left).astype(jnp.int64))
    in_order = lax.sort((partner << 32) | time)
    place, when = in_order >> 32, in_order & (2**32 - 1)
    same = place[1:] == place[:-1]
    nothing = jnp.full((1,), -1, jnp.int64)
    before = jnp.concatenate([nothing, jnp.where(same, when[:-1], -1)])  # the previous swap with this position
    last = jnp.concatenate([jnp.where(same, size, place[:-1]), place[-1:]])  # the position, if this is the last swap with it
    origin = at(time)[last].set(jnp.where(place == when, before, when), mode="drop")
    origin = jnp.where(origin < 0, time, origin)

    def follow(carry):
        origin, _ = carry
        further = origin[origin]
        return further, jnp.any(further != origin)

    origin, _ = lax.while_loop(lambda carry: carry[1], follow, (origin, jnp.array(True, jnp.bool_)))
    brought = at(jnp.zeros_like(time))[when].set(before, unique_indices=True)
    stays = jnp.where(partner == time, origin, partner)
    return jnp.where(brought < 0, stays, origin[brought]).astype(jnp.int32)
