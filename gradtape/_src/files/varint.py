"""Variable-length integers, with 7 bits per byte."""

from __future__ import annotations

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
