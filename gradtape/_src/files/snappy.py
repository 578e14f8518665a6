"""Decompression of snappy blocks, which some releases of TensorFlow wrote in the index of a checkpoint."""

from __future__ import annotations

from gradtape._src.files.varint import varint


def uncompressed(data: bytes) -> bytes:
    """Uncompress `data`; ValueError if it is damaged. The result has at most 32 times its bytes, whatever the header claims."""
    length, at = varint(data, 0)
    found = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        kind, count = tag & 3, (tag >> 2) + 1
        if kind == 0:  # a literal, whose length follows if it is larger than 60
            extra = max(count - 60, 0)
            if extra:
                count = int.from_bytes(data[at : at + extra], "little") + 1
            at += extra + count
            if at > len(data):
                raise ValueError("compressed bytes end too early")
            found += data[at - count : at]
            continue
        extra = (0, 1, 2, 4)[kind]  # a copy of earlier bytes: offset and length
        back, at = int.from_bytes(data[at : at + extra], "little"), at + extra
        if kind == 1:
            back, count = back | tag >> 5 << 8, (tag >> 2 & 7) + 4
        if not 0 < back <= len(found):
            raise ValueError(f"compressed bytes refer {back} bytes back after {len(found)}")
        piece = found[len(found) - back :][:count]
        found += (piece * (count // len(piece) + 1))[:count]  # the copy may overlap itself
    if len(found) != length:
        raise ValueError(f"compressed bytes are {len(found)}, not {length}")
    return bytes(found)
