"""Hashes of bytes as integers below 2**64, which TensorFlow uses for buckets of strings.

`fingerprint` is FarmHash's Fingerprint64 (Pike and Alakuijala, https://github.com/google/farmhash, "farmhashna"), `murmur` is
MurmurHash64A (Appleby) with TensorFlow's seed, `keyed` is SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input
PRF", 2012).
"""

WORD = (1 << 64) - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
MURMUR, SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE


def _word(data, place, size=8):
    return int.from_bytes(data[place : place + size], "little")


def _rotated(x, bits):
    x &= WORD
    return (x >> bits | x << (64 - bits)) & WORD


def _mixed(x):
    x &= WORD
    return x ^ x >> 47


def _pair(u, v, factor):
    a = _mixed((u ^ v) * factor)
    return _mixed((v ^ a) * factor) * factor & WORD


def _short(data):
    """Hash up to 16 bytes."""
    size = len(data)
    factor = K2 + size * 2
    if size >= 8:
        a, b = _word(data, 0) + K2, _word(data, size - 8)
        return _pair((_rotated(b, 37) * factor + a) & WORD, (_rotated(a, 25) + b) * factor & WORD, factor)
    if size >= 4:
        return _pair(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4), factor)
    if size:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _mixed(y * K2 & WORD ^ z * K0 & WORD) * K2 & WORD
    return K2


def _sums(a, b, c, d, before):
    """Return two words from four, the shared last step of both middle sizes."""
    return (_rotated(a + b, 43) + _rotated(c, 30) + d) & WORD, (a + _rotated(b + before, 18) + c) & WORD


def _middle(data):
    """Hash 17 to 64 bytes."""
    size = len(data)
    factor = K2 + size * 2
    a = _word(data, 0) * (K1 if size <= 32 else K2) & WORD
    y, z = _sums(a, _word(data, 8), _word(data, size - 8) * factor & WORD, _word(data, size - 16) * K2, K2)
    z = _pair(y, z, factor)
    if size <= 32:
        return z
    e, f = _word(data, 16) * factor & WORD, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * factor & WORD, (z + _word(data, size - 24)) * factor
    e, f = _sums(e, f, g, h, a)
    return _pair(e, f, factor)


def _of_32_bytes(data, place, a, b):
    w, x, y, z = [_word(data, place + 8 * i) for i in range(4)]
    a += w
    total = a + x + y
    return (total + z) & WORD, (_rotated(b + a + z, 21) + _rotated(total, 44) + a) & WORD


def _round(data, place, state, factor, last):
    """Run one round over 64 bytes; the last round has another weight."""
    x, y, z, v, w = state
    weight = 9 if last else 1
    x = _rotated(x + y + v[0] + _word(data, place + 8), 37) * factor & WORD
    y = _rotated(y + v[1] + _word(data, place + 48), 42) * factor & WORD
    x ^= w[1] * weight & WORD
    y = (y + v[0] * weight + _word(data, place + 40)) & WORD
    z = _rotated(z + w[0], 33) * factor & WORD
    v = _of_32_bytes(data, place, v[1] * factor, x + w[0])
    w = _of_32_bytes(data, place + 32, z + w[1], y + _word(data, place + 16))
    return z, y, x, v, w


def fingerprint(data):
    """Return FarmHash's Fingerprint64."""
    size = len(data)
    if size <= 64:
        return _short(data) if size <= 16 else _middle(data)
    y = (81 * K1 + 113) & WORD
    state = (81 * K2 + _word(data, 0)) & WORD, y, _mixed(y * K2 + 113) * K2 & WORD, (0, 0), (0, 0)
    end = (size - 1) // 64 * 64
    for place in range(0, end, 64):
        state = _round(data, place, state, K1, False)
    x, y, z, v, w = state
    factor = K1 + ((z & 0xFF) << 1)
    first = w[0] + (size - 1 & 63)
    second = v[0] + first
    state = x, y, z, (second, v[1]), (first + second, w[1])
    x, y, z, v, w = _round(data, size - 64, state, factor, True)
    # The round has swapped x and z.
    return _pair(
        (_pair(v[0], w[0], factor) + _mixed(y) * K0 + z) & WORD, (_pair(v[1], w[1], factor) + x) & WORD, factor
    )  # fmt: skip


def murmur(data):
    """Return MurmurHash64A, seeded as TensorFlow's Hash64."""
    whole = len(data) // 8 * 8
    result = SEED ^ (len(data) * MURMUR & WORD)
    for place in range(0, whole, 8):
        result = (result ^ _mixed(_word(data, place) * MURMUR) * MURMUR & WORD) * MURMUR & WORD
    if whole < len(data):
        result = (result ^ _word(data, whole)) * MURMUR & WORD
    return _mixed(_mixed(result) * MURMUR)


def _sip_round(a, b, c, d):
    a, c = a + b & WORD, c + d & WORD
    b, d = _rotated(b, 51) ^ a, _rotated(d, 48) ^ c
    a, c = _rotated(a, 32) + d & WORD, c + b & WORD
    return a, _rotated(b, 47) ^ c, _rotated(c, 32), _rotated(d, 43) ^ a


def keyed(data, key):
    """Return SipHash-2-4 under a key of two words."""
    first, second = [part & WORD for part in key]
    constants = [int.from_bytes(text, "big") for text in (b"somepseu", b"dorandom", b"lygenera", b"tedbytes")]
    state = [part ^ constant for part, constant in zip((first, second, first, second), constants, strict=True)]
    whole = len(data) // 8 * 8
    blocks = [_word(data, place) for place in range(0, whole, 8)]
    for block in [*blocks, _word(data, whole) | (len(data) & 0xFF) << 56]:
        state[3] ^= block
        state = list(_sip_round(*_sip_round(*state)))
        state[0] ^= block
    state[2] ^= 0xFF
    for _ in range(4):
        state = list(_sip_round(*state))
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def combined(first, second):
    """Combine two fingerprints into one, depending on their order (TensorFlow's FingerprintCat64)."""
    whole = (first ^ MURMUR ^ _mixed(second * MURMUR) * MURMUR) * MURMUR & WORD
    return _mixed(_mixed(whole) * MURMUR)
