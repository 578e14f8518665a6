"""Whole numbers of 7 bits a byte."""

from __future__ import annotations

LONGEST = 10  # bytes


def packed(number: int) -> bytes:
    """Return the bytes of a whole number that is not negative."""
    result = bytearray()
    while number > 127:
        result.append(number & 127 | 128)
        number >>= 7
    result.append(number)
    return bytes(result)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that stands at `at`, the lower bits first, and where it ends; ValueError if it does not end."""
    number = 0
    for place, byte in enumerate(data[at : at + LONGEST]):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number, at + place + 1
    raise ValueError(f"the number at byte {at} does not end")
