"""Shared parts of the image formats: recognition, limits, numbers of channels, dtypes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from gradtape._src.core.base.errors import OpError, invalid
from gradtape._src.core.base.extras import package

MAGIC = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF", b"BM": "BMP"}
UNKNOWN = "Unknown image file format. One of JPEG, PNG, GIF, BMP, WebP required."


def format_of(data: bytes) -> str:
    """Return the format of an image by its first bytes; InvalidArgumentError for an unknown one."""
    if not data:
        raise invalid("Input is empty.")
    for beginning, name in MAGIC.items():
        if data.startswith(beginning):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    raise invalid(UNKNOWN)


def pillow() -> Any:
    """Return Pillow's module `Image`."""
    return package("PIL.Image", "Pictures")


def check_size(height: int, width: int, frames: int = 1) -> None:
    """Raise InvalidArgumentError if the size in a header is so large that decoding could exhaust the memory."""
    usual = pillow().MAX_IMAGE_PIXELS
    if usual is not None and height * width * frames > 2 * usual:
        raise invalid(
            f"The picture is too large: {height} by {width}{f' in {frames} frames' if frames > 1 else ''} is more than "
            f"{2 * usual} pixels, which may be an attack (a decompression bomb). If not: PIL.Image.MAX_IMAGE_PIXELS = None."
        )


@contextlib.contextmanager
def damaged(message: str) -> Iterator[None]:
    """Convert errors of Pillow about undecodable bytes to InvalidArgumentError with TensorFlow's text."""
    try:
        yield
    except (OpError, MemoryError, ImportError):
        raise
    except Exception as error:
        if isinstance(error, pillow().DecompressionBombError):
            raise invalid(f"The picture is too large: {error}") from error
        raise invalid(f"{message} ({type(error).__name__}: {error})") from error


def opened(data: bytes) -> Any:
    """Open an image with Pillow, without reading its pixels, and check its size."""
    picture = pillow().open(io.BytesIO(data))
    check_size(picture.height, picture.width)
    return picture
