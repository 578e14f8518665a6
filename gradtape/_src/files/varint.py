"""Variable-length integers, with 7 bits per byte, and strings behind their lengths."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

LONGEST = 10  # maximum number of bytes


def packed(number: int) -> bytes:
    """Encode an integer ≥ 0."""
    result = bytearray()
    while number > 127:
        result.append(number & 127 | 128)
        number >>= 7
    result.append(number)
    return bytes(result)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode the integer at offset `at`, lower bits first; return it and its end. ValueError if it is truncated."""
    number = 0
    for place, byte in enumerate(data[at : at + LONGEST]):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number, at + place + 1
    raise ValueError(f"the number at byte {at} does not end")


def varints(data: bytes, count: int) -> tuple[list[int], int]:
    """Decode `count` integers from the beginning of `data`; return them and their end."""
    numbers, at = [], 0
    for _ in range(count):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers, at


def divided(data: bytes, lengths: Sequence[int]) -> list[bytes]:
    """Divide bytes into strings of these lengths; ValueError if they are not all of it."""
    if sum(lengths) != len(data):
        raise ValueError(f"{len(data)} bytes are no {len(lengths)} strings")
    return [data[end - length : end] for length, end in zip(lengths, itertools.accumulate(lengths), strict=True)]
