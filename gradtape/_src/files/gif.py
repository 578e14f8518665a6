"""GIF. Its blocks are parsed here, because TensorFlow has its own rule for combining frames; Pillow unpacks the pixels."""

from __future__ import annotations

import io
import struct
from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.files.pictures import check_size, damaged, pillow

SCREEN, PLACE = struct.Struct("<HHBBB"), struct.Struct("<HHHHB")
EXTENSION, IMAGE, END = 0x21, 0x2C, 0x3B
CONTROL = 0xF9
HAS_COLOURS, INTERLACED = 0x80, 0x40
GREYS = bytes([shade for shade in range(256) for _ in range(3)])


class Frame(NamedTuple):
    """A frame: position, colours, the index of the transparent colour (-1: none), and packed pixels."""

    left: int
    top: int
    width: int
    height: int
    colours: bytes
    transparent: int
    interlaced: bool
    packed: bytes


def decode(data: bytes) -> np.ndarray:
    """Return the frames of a GIF, uint8 [frames, height, width, 3].

    As in TensorFlow, height and width are the largest of all frames. Free and transparent pixels are those of the frame
    before, or black.
    """
    frames = _frames(data)
    if not frames:
        raise invalid(f"Invalid GIF data (size {len(data)}), gif file does not contain any image")
    height, width = max(frame.height for frame in frames), max(frame.width for frame in frames)
    check_size(height, width, len(frames))
    result = np.zeros((len(frames), height, width, 3), np.uint8)
    for number, frame in enumerate(frames):
        if number:
            result[number] = result[number - 1]
        _draw(result[number], frame, number, len(data))
    return result


def _draw(canvas: np.ndarray, frame: Frame, number: int, size: int) -> None:
    if not frame.colours:
        raise invalid(f"Invalid GIF data (size {size}), missing color map for frame {number}")
    bottom, right = min(frame.top + frame.height, canvas.shape[0]), min(frame.left + frame.width, canvas.shape[1])
    if bottom <= frame.top or right <= frame.left:
        return
    indices = _indices(frame, size)[: bottom - frame.top, : right - frame.left]
    shown = indices != frame.transparent
    colours = np.frombuffer(frame.colours, np.uint8).reshape(-1, 3)
    if shown.any() and indices[shown].max() >= len(colours):
        raise invalid(
            f"Invalid GIF data (size {size}), found color index {indices[shown].max()} outside of color map range {len(colours)}"
        )
    canvas[frame.top : bottom, frame.left : right][shown] = colours[indices[shown]]


def _indices(frame: Frame, size: int) -> np.ndarray:
    """Return a frame's colour indices, unpacked by Pillow from a grey-scale GIF of this frame alone."""
    check_size(frame.height, frame.width)
    file = [b"GIF89a", SCREEN.pack(frame.width, frame.height, HAS_COLOURS | 7, 0, 0), GREYS]
    file.append(bytes([IMAGE]) + PLACE.pack(0, 0, frame.width, frame.height, INTERLACED if frame.interlaced else 0))
    with damaged(f"Invalid GIF data (size {size})"):
        return np.asarray(pillow().open(io.BytesIO(b"".join([*file, frame.packed, bytes([END])]))))


def _frames(data: bytes) -> list[Frame]:
    """Return the frames up to the end of the data, or up to an invalid block, as in TensorFlow."""
    if len(data) < 13:
        raise invalid(f"Invalid GIF data (size {len(data)}), it ends in its header")
    _, _, flags, _, _ = SCREEN.unpack_from(data, 6)
    at = 13
    common, at = _colours(data, at, flags)
    found: list[Frame] = []
    transparent = -1
    while at < len(data) and data[at] != END:
        if data[at] == EXTENSION and at + 2 < len(data):
            if data[at + 1] == CONTROL and at + 7 < len(data):
                transparent = data[at + 6] if data[at + 3] & 1 else -1
            at = _behind_blocks(data, at + 2)
        elif data[at] == IMAGE and at + 1 + PLACE.size < len(data):
            left, top, width, height, flags = PLACE.unpack_from(data, at + 1)
            own, begin = _colours(data, at + 1 + PLACE.size, flags)
            at = _behind_blocks(data, begin + 1)
            if at <= len(data) and width and height:
                packed = data[begin:at]
                found.append(Frame(left, top, width, height, own or common, transparent, bool(flags & INTERLACED), packed))
            transparent = -1
        else:
            break
    return found


def _colours(data: bytes, at: int, flags: int) -> tuple[bytes, int]:
    """Return the colour table at an offset, if there is one, and its end."""
    if not flags & HAS_COLOURS:
        return b"", at
    end = at + 3 * (2 << (flags & 7))
    return data[at:end] if end <= len(data) else b"", end


def _behind_blocks(data: bytes, at: int) -> int:
    """Return the offset behind a sequence of blocks with lengths; it is past the end if the data are truncated."""
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return at + 1
