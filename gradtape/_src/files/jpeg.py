"""JPEG: decoded by libjpeg-turbo, with exactly TensorFlow's pixels; encoded by Pillow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.extras import package
from gradtape._src.files.pictures import check_size, pillow

FAILED = "jpeg::Uncompress failed. Invalid JPEG data or crop window."
SUBSAMPLED, WHOLE = 2, 0  # Pillow's numbers for 4:2:0 and 4:4:4
SPACES = {"Gray": 1, "CMYK": 4, "YCCK": 4}


def shape(data: bytes) -> tuple[int, int, int]:
    """Return height, width and number of channels from the header of a JPEG."""
    try:
        height, width, space, _ = package("simplejpeg", "JPEG pictures").decode_jpeg_header(data, strict=False)
    except ValueError as error:
        raise invalid(f"Invalid JPEG data, size {len(data)} ({error})") from error
    return height, width, SPACES.get(space, 3)


def decode(
    data: bytes,
    channels: int,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    accurate: bool = False,
) -> np.ndarray:
    """Decode a JPEG to uint8 [height, width, channels], at 1 / `ratio` of its size."""
    if channels == 4:
        raise invalid("JPEG does not support 4 channels")
    try:
        height, width, stored = shape(data)
    except ImportError:
        raise
    except Exception as error:
        raise invalid(FAILED) from error
    check_size(height, width)
    how: dict[str, Any] = {
        "colorspace": "CMYK" if stored == 4 else "GRAY" if (channels or stored) == 1 else "RGB",
        "fastdct": not accurate,
        "fastupsample": not fancy_upscaling,
    }
    if ratio > 1:
        how.update(min_height=-(-height // ratio), min_width=-(-width // ratio))
    if stored == 4 and channels == 1:
        raise invalid(FAILED)
    pixels = _decoded(data, how, try_recover_truncated)
    return _from_inks(pixels, data) if stored == 4 else pixels


def _decoded(data: bytes, how: dict[str, Any], recover: bool) -> np.ndarray:
    decoder = package("simplejpeg", "JPEG pictures").decode_jpeg
    try:
        result: np.ndarray = decoder(data, strict=True, **how)
        return result
    except ValueError as error:
        if not recover and "remature end" in str(error):
            raise invalid(f"{FAILED} ({error})") from error
    try:
        result = decoder(data, strict=False, **how)  # not strict, as libjpeg also warns about decodable data
    except ValueError as error:
        raise invalid(f"{FAILED} ({error})") from error
    return result


def _from_inks(pixels: np.ndarray, data: bytes) -> np.ndarray:
    """Convert CMYK to RGB as TensorFlow does. Adobe's files have it inverted."""
    inks = pixels.astype(np.int32)
    if b"Adobe" not in data[:4096]:
        inks = 255 - inks
    return (inks[..., :3] * inks[..., 3:] // 255).astype(np.uint8)


def encode(
    pixels: np.ndarray,
    quality: int,
    progressive: bool = False,
    optimize: bool = False,
    chroma_downsampling: bool = True,
    density: tuple[int, int] = (300, 300),
    metric: bool = False,
    xmp: bytes = b"",
) -> bytes:
    """Encode pixels, uint8 [height, width, 1 or 3], as a JPEG. `density` is in dots per inch, or per centimetre if `metric`."""
    stream = io.BytesIO()
    picture = pillow().fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    more = {"xmp": xmp} if xmp else {}
    subsampling = SUBSAMPLED if chroma_downsampling else WHOLE
    if quality == 0:  # Pillow takes 0 for "not given"
        quality = 1
    picture.save(
        stream, "JPEG", quality=quality, progressive=progressive, optimize=optimize, subsampling=subsampling, dpi=density, **more
    )
    data = bytearray(stream.getvalue())
    if metric:
        data[13] = 2  # the unit of density, in the first header
    return bytes(data)
