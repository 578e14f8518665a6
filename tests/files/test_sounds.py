"""WAV files: TensorFlow's samples, bytes and errors."""

import struct

import numpy as np
import pytest

import gradtape as tf

SAMPLES = np.array([0, 1, -1, 32767, -32768, 16384])
FLOATS = [0.0, 2**-15, -(2**-15), 1 - 2**-15, -1.0, 0.5]


def wav(channels=1, bits=16, kind=1, extra=b"", rate=8000):
    data, frame = SAMPLES.astype("<i2").tobytes(), channels * bits // 8
    head = struct.pack("<IHHIIHH", 16, kind, channels, rate, rate * frame, frame, bits)
    return b"RIFF" + bytes(4) + b"WAVEfmt " + head + extra + b"data" + struct.pack("<I", len(data)) + data


def test_samples_and_rate():
    audio, rate = decoded = tf.audio.decode_wav(wav())
    assert audio.numpy().ravel().tolist() == FLOATS and int(rate) == 8000
    assert decoded.sample_rate is rate and (audio.dtype, rate.dtype, audio.shape) == (tf.float32, tf.int32, (6, 1))
    assert tf.audio.decode_wav(wav(extra=b"LIST\4\0\0\0abcd")).audio.shape == (6, 1)


@pytest.mark.parametrize(
    "channels, options, expected",
    [
        (2, {}, [FLOATS[0:2], FLOATS[2:4], FLOATS[4:6]]),
        (2, {"desired_channels": 1}, [[FLOATS[0]], [FLOATS[2]], [FLOATS[4]]]),
        (2, {"desired_channels": 3, "desired_samples": 1}, [[FLOATS[0], FLOATS[1], FLOATS[1]]]),
        (1, {"desired_channels": 2, "desired_samples": 2}, [[FLOATS[0]] * 2, [FLOATS[1]] * 2]),
        (1, {"desired_samples": 8}, [[x] for x in (*FLOATS, 0.0, 0.0)]),
        (1, {"desired_samples": 0}, []),
    ],
)
def test_other_channels_and_samples(channels, options, expected):
    assert tf.audio.decode_wav(wav(channels), **options).audio.numpy().tolist() == expected


def test_encoding():
    written = tf.audio.encode_wav([[0.0], [0.5], [-1.0], [1.0], [2.0], [-2.0], [0.00002]], 8000).numpy()
    assert written[:44] == (b"RIFF2\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\x0e\0\0\0")
    assert written[44:] == b"\0\0\0@\0\x80\xff\x7f\xff\x7f\0\x80\1\0"
    assert tf.audio.encode_wav(tf.audio.decode_wav(wav()).audio, 8000).numpy()[44:] == SAMPLES.astype("<i2").tobytes()


@pytest.mark.parametrize(
    "contents, message",
    [
        (wav(bits=8), "Can only read 16-bit WAV files, but received 8"),
        (wav(kind=3), r"Bad audio format for WAV: Expected 1 \(PCM\), but got3"),
        (b"hello", "Header mismatch: Expected RIFF but found hell"),
        (b"", "Data too short when trying to read string"),
        (wav()[:-4], "Data too short when trying to read string"),
        (wav()[:36], "No data chunk found in WAV"),
        ([wav()], r"contents must be scalar, got shape \[1\]"),
    ],
)
def test_errors(contents, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.audio.decode_wav(contents)


def test_shapes_in_functions_and_datasets():
    dataset = tf.data.Dataset.from_tensors(wav())
    spec = dataset.map(lambda x: tf.squeeze(tf.audio.decode_wav(x, desired_channels=1, desired_samples=4).audio, -1)).element_spec
    assert spec == tf.TensorSpec([4], tf.float32)
    head = tf.function(lambda x: tf.audio.decode_wav(x, desired_channels=1, desired_samples=2).audio * 2.0)
    assert head(tf.constant(wav())).numpy().tolist() == [[0.0], [2**-14]]
