"""Blocks that snappy compressed: some releases of TensorFlow wrote the index of a checkpoint so."""

from __future__ import annotations

from gradtape._src.files.varint import varint


def uncompressed(data: bytes) -> bytes:
    """Uncompress `data`; ValueError if it is damaged. It has at most 32 times the bytes, whatever `data` claims."""
    length, at = varint(data, 0)
    found = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        kind, count = tag & 3, (tag >> 2) + 1
        if kind == 0:  # the bytes themselves, behind their count if that is larger than 60
            extra = max(count - 60, 0)
            if extra:
                count = int.from_bytes(data[at : at + extra], "little") + 1
            at += extra + count
            if at > len(data):
                raise ValueError("compressed bytes end too early")
            found += data[at - count : at]
            continue
        extra = (0, 1, 2, 4)[kind]  # of those bytes that were there before, how far back and how many
        back, at = int.from_bytes(data[at : at + extra], "little"), at + extra
        if kind == 1:
            back, count = back | tag >> 5 << 8, (tag >> 2 & 7) + 4
        if not 0 < back <= len(found):
            raise ValueError(f"compressed bytes refer {back} bytes back after {len(found)}")
        piece = found[len(found) - back :][:count]
        found += (piece * (count // len(piece) + 1))[:count]  # a copy may repeat itself
    if len(found) != length:
        raise ValueError(f"compressed bytes are {len(found)}, not {length}")
    return bytes(found)
