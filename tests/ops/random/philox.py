"""Philox-4x32 in Python's integers, and numbers made of it one after the other: what random ops are compared with."""

import itertools
import random

import numpy as np

WORD = 2**32
LARGEST = 2**31 - 1


def block(counter, key):
    """Four words of a counter of 128 bits and a key of 64."""
    c = [counter >> 32 * i & (WORD - 1) for i in range(4)]
    k = [key & (WORD - 1), key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second // WORD ^ c[1] ^ k[0], second % WORD, first // WORD ^ c[3] ^ k[1], first % WORD]
        k = [(k[0] + 0x9E3779B9) % WORD, (k[1] + 0xBB67AE85) % WORD]
    return c


def state_of(seed):
    """The state of a stateless seed: a counter and a key."""
    first, second = [int(word) % 2**64 for word in seed]
    w = block(second << 64 | first, 0x02461E29 << 32 | 0x3EC8F720)
    return (w[3] << 32 | w[2]) << 64, w[1] << 32 | w[0]


def own_state(seed, own=None):
    """The state of the first draw after `tf.random.set_seed(seed)` of an op whose seed is `own`."""
    own = random.Random(seed).randint(0, LARGEST) if own is None else own
    return own % LARGEST << 64, seed % LARGEST


def words(state, skipped=0):
    """The words, one after the other, after a number of blocks."""
    counter, key = state
    for i in itertools.count(skipped):
        yield from block((counter + i) % 2**128, key)


def doubles(state, skipped=0):
    """Numbers in [0, 1) of 52 bits, one after the other."""
    source = words(state, skipped)
    for first, second in zip(source, source, strict=True):
        yield ((first % 2**20) * WORD + second) / 2**52


def normals(state, skipped=0):
    """By Box and Muller's transformation of two numbers in [0, 1)."""
    source = doubles(state, skipped)
    for u, v in zip(source, source, strict=True):
        radius, angle = np.sqrt(-2 * np.log(max(u, 1e-7))), 2 * np.pi * v
        yield radius * np.sin(angle)
        yield radius * np.cos(angle)


def truncated(state):
    """Normal numbers between -2 and 2, two from each stretch of 128 blocks."""
    for begin in itertools.count(0, 128):
        yield from itertools.islice((x for x in normals(state, begin) if abs(x) < 2), 2)


def take(numbers, *shape):
    """The first numbers as an array."""
    return np.array(list(itertools.islice(numbers, int(np.prod(shape))))).reshape(shape)


def integers(state, low, high, count, is_wide):
    """Integers in [low, high): words, or two of them with the lower one first, modulo the span."""
    source = words(state)
    if is_wide:
        source = (first + second * WORD for first, second in zip(source, source, strict=True))
    return [low + bits % (high - low) for bits in itertools.islice(source, count)]


def order(state, size):
    """A permutation: number i changes places with one of those from i on."""
    result = list(range(size))
    for i, word in zip(range(size - 1), words(state), strict=False):
        other = i + word % (size - i)
        result[i], result[other] = result[other], result[i]
    return result
