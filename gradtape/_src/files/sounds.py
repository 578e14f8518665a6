"""`tf.audio`: encoding and decoding of 16-bit WAV files."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, printed
from gradtape._src.files.ops import Known, host_op, of_bytes, strings

HEADER = struct.Struct("<4sI4s4sIHHIIHH")  # the bytes before the chunk of samples
SCALE = 32768.0  # the 16-bit sample for 1.0, which is just out of range


class DecodeWav(NamedTuple):
    """The samples of a sound, float32 [samples, channels] in [-1, 1], and the sample rate."""

    audio: Tensor
    sample_rate: Tensor


def _samples(contents: Aval, *, channels: int, samples: int) -> list[Known]:
    return [((None if samples < 0 else samples, None if channels < 0 else channels), dtypes.float32), ((), dtypes.int32)]


def _taken(data: bytes, place: int, count: int) -> bytes:
    if place + count > len(data):
        raise invalid("Data too short when trying to read string")
    return data[place : place + count]


def _expect(data: bytes, place: int, wanted: bytes) -> None:
    found = _taken(data, place, len(wanted))
    if found != wanted:
        raise invalid(f"Header mismatch: Expected {wanted.decode()} but found {found.decode('latin1')}")


def _format(data: bytes) -> tuple[int, int, int]:
    """Return `(channels, sample rate, offset behind the header)`; InvalidArgumentError unless it is 16-bit PCM."""
    for place, wanted in ((0, b"RIFF"), (8, b"WAVE"), (12, b"fmt ")):
        _expect(data, place, wanted)
    size, kind, channels, rate, in_second, in_frame, bits = struct.unpack("<IHHIIHH", _taken(data, 16, 20))
    if size not in (16, 18):
        raise invalid(f"Bad file size for WAV: Expected 16 or 18, but got{size}")
    if kind != 1:
        raise invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got{kind}")
    if bits != 16:
        raise invalid(f"Can only read 16-bit WAV files, but received {bits}")
    if in_frame != channels * 2 or in_second != rate * in_frame or not channels:
        raise invalid(f"Bad bytes per sample or second in a WAV header: {in_frame} and {in_second}")
    return channels, rate, 20 + size


@host_op("DecodeWav", gives=_samples)
def _decode_wav(contents: np.ndarray, *, channels: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    if contents.ndim:
        raise invalid(f"contents must be scalar, got shape {printed(contents.shape)}")
    data = bytes(contents[()])
    there, rate, place = _format(data)
    while place < len(data):
        name, size = _taken(data, place, 4), struct.unpack("<I", _taken(data, place + 4, 4))[0]
        place += 8
        if name == b"data":
            count = size // 2 // there
            found = np.frombuffer(_taken(data, place, count * there * 2), "<i2").reshape(count, there)
            return _shaped(found.astype(np.float32) / np.float32(SCALE), channels, samples), np.array(rate, np.int32)
        place += size
    raise invalid("No data chunk found in WAV")


def _shaped(found: np.ndarray, channels: int, samples: int) -> np.ndarray:
    """Cut or pad samples: the last channel is repeated, missing samples are 0; −1 keeps all."""
    wanted = found.shape[1] if channels < 0 else channels
    found = found[:, np.arange(wanted).clip(max=found.shape[1] - 1)]
    if 0 <= samples <= len(found) or samples < 0:
        return found if samples < 0 else found[:samples]
    return np.concatenate([found, np.zeros((samples - len(found), wanted), np.float32)])


@public
def decode_wav(contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> DecodeWav:
    """Decode a 16-bit WAV file to `(audio, sample_rate)`: float32 [samples, channels] in [-1, 1], and an int32.

    `desired_channels` and `desired_samples` cut or pad: missing channels repeat the last one, missing samples are 0.
    InvalidArgumentError for other files.

    >>> sound = tf.audio.encode_wav(tf.constant([[0.5], [-0.25]]), 8000)
    >>> audio, rate = tf.audio.decode_wav(sound, desired_samples=3)
    >>> print(audio.numpy().ravel(), int(rate))
    [ 0.5  -0.25  0.  ] 8000
    """
    channels, samples = static(desired_channels, "desired_channels"), static(desired_samples, "desired_samples")
    return DecodeWav(*_decode_wav(strings(contents), channels=channels, samples=samples))


def encode(audio: np.ndarray, rate: int) -> bytes:
    """Encode floats [samples, channels] in [-1, 1] as a WAV file of 16 bits; halves are rounded away from 0."""
    channels = audio.shape[1]
    scaled = audio.astype(np.float64) * SCALE
    whole = np.trunc(scaled + np.copysign(0.5, scaled)).clip(-SCALE, SCALE - 1).astype("<i2").tobytes()
    head = HEADER.pack(b"RIFF", 36 + len(whole), b"WAVE", b"fmt ", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    return head + b"data" + struct.pack("<I", len(whole)) + whole


@host_op("EncodeWav", gives=lambda audio, sample_rate: [((), dtypes.string)], traits="writes_bytes")
def _encode_wav(audio: np.ndarray, sample_rate: np.ndarray) -> np.ndarray:
    if audio.ndim != 2:
        raise invalid(f"audio must be 2-dimensional{printed(audio.shape)}")
    if sample_rate.ndim:
        raise invalid(f"sample_rate should be scalar, not shape {printed(sample_rate.shape)}")
    return of_bytes([encode(audio, int(sample_rate))], ())


@public
def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """Encode `audio`, float32 [samples, channels] in [-1, 1], as a 16-bit WAV file, a scalar string.

    Samples out of range are clipped. `sample_rate` is the number of samples per second.

    >>> len(tf.audio.encode_wav(tf.zeros([4, 1]), 8000).numpy())
    52
    """
    encoded: Tensor = _encode_wav(tensor(audio, dtypes.float32), tensor(sample_rate, dtypes.int32))
    return encoded
