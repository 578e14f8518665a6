"""Tables of sorted keys and values in LevelDB's format, such as the index of TensorFlow's checkpoints.

A table is a sequence of blocks, the last of which lists the others. Within a block, a key is stored without the prefix that it
shares with the key before. Every block has a checksum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from gradtape._src.files.records import CHECKSUM, masked_checksum
from gradtape._src.files.snappy import uncompressed
from gradtape._src.files.varint import packed, varint

FOOTER = 48
MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
TRAILER = 1 + CHECKSUM.size  # of a block: kind of compression, and checksum
PLAIN, SNAPPY = 0, 1
BLOCK = 4096  # a written block ends after this number of bytes
# The limit on the size of all keys, in multiples of the block. Shared prefixes could make a small file expand endlessly.
MOST_KEYS = 64


def table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a table, in order. ValueError if it is damaged or no table."""
    footer = data[-FOOTER:]
    if len(footer) < FOOTER or not footer.endswith(MAGIC):
        raise ValueError("it does not end as a table ends")
    more, at = _handle(footer, 0)
    _block(data, more)  # empty in a checkpoint, and only checked
    listed, _ = _handle(footer, at)
    before = None
    for _, value in _entries(_block(data, listed)):
        for key, found in _entries(_block(data, _handle(value, 0)[0])):
            if before is not None and key <= before:
                raise ValueError(f"the key {key!r} is out of order")
            before = key
            yield key, found


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Parse the handle of a block: return the block's offset and length, and the end of the handle."""
    begin, at = varint(data, at)
    length, at = varint(data, at)
    return (begin, length), at


def _block(data: bytes, handle: tuple[int, int]) -> bytes:
    begin, length = handle
    if begin + length + TRAILER > len(data):
        raise ValueError(f"a block ends at byte {begin + length + TRAILER} of {len(data)}")
    checked = data[begin : begin + length + 1]
    if CHECKSUM.unpack_from(data, begin + length + 1)[0] != masked_checksum(checked):
        raise ValueError(f"the checksum of the block at byte {begin} is wrong")
    if checked[-1] not in (PLAIN, SNAPPY):
        raise ValueError(f"the block at byte {begin} is compressed in the way number {checked[-1]}, which no table is")
    return uncompressed(checked[:-1]) if checked[-1] == SNAPPY else checked[:-1]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise ValueError("a block is too short")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise ValueError(f"a block of {len(block)} bytes begins {restarts} times")
    at, key, spelled = 0, b"", 0
    while at < end:
        shared, at = varint(block, at)
        own, at = varint(block, at)
        length, at = varint(block, at)
        if shared > len(key) or at + own + length > end:
            raise ValueError("an entry is longer than its block")
        spelled += shared + own
        if spelled > MOST_KEYS * len(block):
            raise ValueError("its keys are longer than a table's are")
        key = key[:shared] + block[at : at + own]
        at += own + length
        yield key, block[at - length : at]


def written(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Write keys and values, sorted by key, as an uncompressed table."""
    data, listed, block = bytearray(), [], []
    for pair in pairs:
        block.append(pair)
        if sum(len(key) + len(value) for key, value in block) >= BLOCK:
            listed.append((block[-1][0], _append(data, block)))
            block = []
    if block:
        listed.append((block[-1][0], _append(data, block)))
    handles = _append(data, []) + _append(data, listed)
    return bytes(data) + handles.ljust(FOOTER - len(MAGIC), b"\0") + MAGIC


def _append(data: bytearray, pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Append a block to a table, and return its handle."""
    block, begins = bytearray(), []
    for key, value in pairs:
        begins.append(len(block))
        block += packed(0) + packed(len(key)) + packed(len(value)) + key + value
    begins = begins or [0]
    block += struct.pack(f"<{len(begins) + 1}I", *begins, len(begins)) + bytes([PLAIN])
    handle = packed(len(data)) + packed(len(block) - 1)
    data += block + CHECKSUM.pack(masked_checksum(bytes(block)))
    return handle
