"""PNG: decoded by Pillow, with all 16 bits; encoded here, as Pillow cannot write 16-bit colours."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.files.pictures import check_size, damaged, pillow

HEADER = struct.Struct(">IIBBBBB")
BEGINNING = b"\x89PNG\r\n\x1a\n"
LARGEST_SIDE = 1 << 27
COLOURS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}  # channels by PNG's colour type
KINDS = {1: 0, 2: 4, 3: 2, 4: 6}
PALETTE = 3
RED, GREEN, BLUE = 9797, 19234, 3737  # libpng's weights for the conversion to grey, in units of 1/32768


def decode(data: bytes, channels: int, wide: bool) -> np.ndarray:
    """Decode a PNG to [height, width, channels], uint8, or uint16 if `wide`. Channels 0 keeps those of the file."""
    if len(data) < 33 or data[12:16] != b"IHDR":
        raise invalid("Invalid PNG. Failed to initialize decoder.")
    width, height, bits, kind, *_ = HEADER.unpack_from(data, 16)
    if not 0 < width < LARGEST_SIDE or not 0 < height < LARGEST_SIDE or width * height >= 1 << 29:
        raise invalid(f"PNG size too large for int: {width} by {height}")
    check_size(height, width)
    if kind not in COLOURS:
        raise invalid("Invalid PNG. Failed to initialize decoder.")
    if not _whole(data):
        raise invalid(f"Invalid PNG data, size {len(data)}: it is truncated")
    with damaged(f"Invalid PNG data, size {len(data)}"):
        pixels, transparent = _pixels(data, bits, kind)
    wanted = channels or (COLOURS[kind] + (kind == PALETTE and transparent is not None))
    pixels = _with_channels(pixels, transparent, wanted)
    if bits == 16:
        return pixels if wide else (pixels >> 8).astype(np.uint8)
    return pixels.astype(np.uint16) * np.uint16(257) if wide else pixels


def _whole(data: bytes) -> bool:
    """Return whether the data end after a complete chunk."""
    at = len(BEGINNING)
    while at + 12 <= len(data) and data[at + 4 : at + 8] != b"IEND":
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return at <= len(data)


def _pixels(data: bytes, bits: int, kind: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the stored channels, and the alpha channel of a chunk tRNS."""
    picture = pillow().open(io.BytesIO(data))
    if bits == 16 and kind != 0:
        array = _wide(data, picture, COLOURS[kind])
        return array, _transparent(array, picture.info.get("transparency"), 65535)
    picture.load()
    named = picture.info.get("transparency")
    if kind == PALETTE:
        colours = np.asarray(picture.convert("RGBA"))
        return colours[..., :3], None if named is None else colours[..., 3]
    array = np.asarray(picture)
    if array.dtype == bool:
        array = array.astype(np.uint8) * np.uint8(255)
        named = None if named is None else 255 * (named > 0)
    array = array[..., None] if array.ndim == 2 else array
    return array, _transparent(array, named, 65535 if bits == 16 else 255)


def _transparent(array: np.ndarray, colour: Any, opaque: int) -> np.ndarray | None:
    if colour is None:
        return None
    return np.where((array == np.asarray(colour, array.dtype)).all(axis=-1), 0, opaque).astype(array.dtype)


def _wide(data: bytes, picture: Any, channels: int) -> np.ndarray:
    """Return 16-bit samples. Pillow returns the upper 8 bits, and with the other byte order the lower 8."""
    if channels == 2:  # grey and alpha are read as four channels of 8 bits
        bytes_ = _unpacked(picture, "RGBA").astype(np.uint16)
        return bytes_[..., 0::2] << 8 | bytes_[..., 1::2]
    mode = "RGB" if channels == 3 else "RGBA"
    upper = _unpacked(picture, f"{mode};16B").astype(np.uint16)
    return upper << 8 | _unpacked(pillow().open(io.BytesIO(data)), f"{mode};16L")


def _unpacked(picture: Any, raw: str) -> np.ndarray:
    picture.tile = [tile._replace(args=raw) for tile in picture.tile]
    return np.asarray(picture)


def _with_channels(pixels: np.ndarray, transparent: np.ndarray | None, wanted: int) -> np.ndarray:
    """Convert pixels to another number of channels: grey by libpng's weights, opaque unless there is an alpha channel."""
    given = pixels.shape[-1]
    colour, alpha = (pixels[..., :-1], pixels[..., -1]) if given % 2 == 0 else (pixels, transparent)
    if wanted >= 3 and colour.shape[-1] == 1:
        colour = np.repeat(colour, 3, axis=-1)
    elif wanted < 3 and colour.shape[-1] == 3:
        red, green, blue = np.moveaxis(colour.astype(np.uint32), -1, 0)
        half = 1 << 14 if pixels.dtype == np.uint16 else 0  # for 8 bits libpng does not round
        mixed = (red * RED + green * GREEN + blue * BLUE + half) >> 15
        colour = mixed.astype(pixels.dtype)[..., None]
    if wanted % 2:
        return np.ascontiguousarray(colour)
    if alpha is None:
        alpha = np.full(colour.shape[:-1], np.iinfo(pixels.dtype).max, pixels.dtype)
    return np.concatenate([colour, alpha[..., None]], axis=-1)


def encode(pixels: np.ndarray, compression: int) -> bytes:
    """Encode pixels [height, width, channels], uint8 or uint16, as a PNG. Each row gets its best filter."""
    height, width, channels = pixels.shape
    size = pixels.dtype.itemsize
    rows = pixels.astype(pixels.dtype.newbyteorder(">"), copy=False).reshape(height, -1).view(np.uint8)
    header = HEADER.pack(width, height, 8 * size, KINDS[channels], 0, 0, 0)
    data = zlib.compress(_filtered(rows, channels * size), compression)
    return BEGINNING + b"".join([_chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b"")])


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _filtered(rows: np.ndarray, apart: int) -> bytes:
    """Filter rows of bytes by the difference to the pixel on the left (`apart` bytes), above, or none, whichever is smallest."""
    left, above = np.zeros_like(rows), np.zeros_like(rows)
    left[:, apart:], above[1:] = rows[:, :-apart], rows[:-1]
    choices = np.stack([rows, rows - left, rows - above])
    costs = np.abs(choices.view(np.int8).astype(np.int16)).sum(axis=2)
    best = costs.argmin(axis=0)
    chosen = choices[best, np.arange(len(rows))]
    return np.concatenate([best.astype(np.uint8)[:, None], chosen], axis=1).tobytes()
