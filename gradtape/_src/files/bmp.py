"""BMP with TensorFlow's restrictions: pixels of 8, 24 or 32 bits, no palettes, no compression."""

from __future__ import annotations

import struct

import numpy as np

from gradtape._src.core.base.errors import invalid


def decode(data: bytes, channels: int) -> np.ndarray:
    """Decode a BMP to uint8 [height, width, channels]. Channels 0 keeps those of the file."""
    if len(data) < 32:
        raise invalid(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, got "
            f"{len(data)} bytes"
        )
    (begin,) = struct.unpack_from("<i", data, 10)
    width, height = struct.unpack_from("<ii", data, 18)
    (bits,) = struct.unpack_from("<h", data, 28)
    stored = bits // 8
    if stored not in (1, 3, 4):
        raise invalid(f"Number of channels inherent in the image must be 1, 3 or 4, was {stored}")
    if width <= 0:
        raise invalid("Width must be positive")
    if not height:
        raise invalid("Height must be nonzero")
    rows, row_size = abs(height), (stored * width + 3) // 4 * 4
    if rows * width * max(stored, channels) >= 1 << 30:
        raise invalid("Total possible pixel bytes must be less than 2^30")
    missing = len(data) - (begin + row_size * rows)
    if begin < 0 or missing < 0:
        raise invalid(f"Input size should match (header_size + row_size * abs_height) but they differ by {missing}")
    grid = np.frombuffer(data, np.uint8, row_size * rows, begin).reshape(rows, row_size)[:, : stored * width]
    pixels = grid.reshape(rows, width, stored)[:: -1 if height > 0 else 1]
    colour = pixels[..., 2::-1] if stored > 1 else pixels
    wanted = channels or stored
    if wanted >= 3 and stored == 1:
        colour = np.repeat(colour, 3, axis=-1)
    if wanted < 4:
        return np.ascontiguousarray(colour)
    alpha = pixels[..., 3:] if stored == 4 else np.full((rows, width, 1), 255, np.uint8)
    return np.concatenate([colour, alpha], axis=-1)
