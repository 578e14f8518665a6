"""Write `pictures.npz`: small pictures, and the pixels that TensorFlow decodes of them. A script, run by hand on TensorFlow.

Each name is `file/how`: `file` is one of the pictures, `how` empty for its bytes, else the arguments of the decoder.
"""

import struct
import zlib
from pathlib import Path

import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
found = {}


def keep(name, data, **decoded):
    data = data.numpy() if hasattr(data, "numpy") else data
    found[f"{name}/"] = np.frombuffer(data, np.uint8)
    for how, pixels in decoded.items():
        found[f"{name}/{how}"] = pixels(data).numpy()


def jpegs():
    rows, columns = np.mgrid[0:17, 0:22]
    smooth = np.stack([columns * 11 % 256, rows * 15 % 256, (rows + columns) * 6 % 256], -1).astype(np.uint8)
    noise = random.randint(0, 256, (17, 22, 3)).astype(np.uint8)
    how = {
        "decode_jpeg channels=0": lambda data: tf.io.decode_jpeg(data),
        "decode_jpeg channels=1": lambda data: tf.io.decode_jpeg(data, channels=1),
        "decode_jpeg ratio=2": lambda data: tf.io.decode_jpeg(data, ratio=2),
        "decode_jpeg fancy_upscaling=False": lambda data: tf.io.decode_jpeg(data, fancy_upscaling=False),
        "decode_jpeg dct_method=INTEGER_ACCURATE": lambda data: tf.io.decode_jpeg(data, dct_method="INTEGER_ACCURATE"),
        "decode_and_crop_jpeg crop_window=3,5,10,12": lambda data: tf.io.decode_and_crop_jpeg(data, [3, 5, 10, 12]),
    }
    keep("smooth95.jpg", tf.io.encode_jpeg(smooth), **how)
    keep("noise60.jpg", tf.io.encode_jpeg(noise, quality=60), **how)
    keep("noise100.jpg", tf.io.encode_jpeg(noise, quality=100, chroma_downsampling=False, progressive=True), **how)
    keep("grey.jpg", tf.io.encode_jpeg(smooth[..., :1]), **how)
    found["smooth/"] = smooth
    for name, options in {
        "a": {"quality": 50},
        "b": {"optimize_size": True},
        "c": {"density_unit": "cm", "x_density": 9},
    }.items():
        found[f"smooth/encode_jpeg {name}"] = np.frombuffer(tf.io.encode_jpeg(smooth, **options).numpy(), np.uint8)
    found["smooth/adjust_jpeg_quality"] = tf.image.adjust_jpeg_quality(smooth, 40).numpy()
    found["smooth/adjust_jpeg_quality float"] = tf.image.adjust_jpeg_quality(
        tf.image.convert_image_dtype(smooth, tf.float32), 40
    ).numpy()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, bits, kind, rows, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    begin = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
    return begin + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pngs():
    how = {f"decode_png channels={c}": lambda data, c=c: tf.io.decode_png(data, channels=c) for c in (0, 1, 3, 4)}
    how |= {
        f"decode_png channels={c} dtype=uint16": lambda data, c=c: tf.io.decode_png(data, channels=c, dtype=tf.uint16)
        for c in (0, 1, 3, 4)
    }
    how["decode_image dtype=float32"] = lambda data: tf.io.decode_image(data, dtype=tf.float32)
    how["decode_image dtype=int32"] = lambda data: tf.io.decode_image(data, dtype=tf.int32)
    for channels in (1, 2, 3, 4):
        narrow, wide = [random.randint(0, most, (3, 4, channels)) for most in (256, 65536)]
        keep(f"{channels}.png", tf.io.encode_png(tf.constant(narrow, tf.uint8)), **how)
        keep(f"{channels}x16.png", tf.io.encode_png(tf.constant(wide, tf.uint16)), **how)
    opaque = {
        name: function for name, function in how.items() if "channels=4" not in name
    }  # of few bits TensorFlow's alpha is wrong
    colours = chunk(b"PLTE", bytes(range(0, 120, 10)))
    keep("palette.png", png(4, 2, 8, 3, b"\0\0\1\2\3\0\3\2\1\0", colours), **how)
    keep("palette_alpha.png", png(4, 2, 8, 3, b"\0\0\1\2\3\0\3\2\1\0", colours + chunk(b"tRNS", bytes([0, 128]))), **how)
    keep("palette2.png", png(4, 2, 2, 3, b"\0\x1b\0\xe4", colours), **opaque)
    keep("grey1.png", png(10, 2, 1, 0, b"\0\xaa\x80\0\x55\x40"), **opaque)
    keep("grey4.png", png(3, 1, 4, 0, b"\0\x1f\x80"), **opaque)
    keep("grey_alpha.png", png(3, 1, 8, 0, b"\0\1\2\3", chunk(b"tRNS", b"\0\2")), **how)
    keep("colour_alpha.png", png(2, 1, 8, 2, b"\0\1\2\3\4\5\6", chunk(b"tRNS", b"\0\1\0\2\0\3")), **how)


def frame(left, top, width, height, pixels, control=b"", colours=b""):
    bits = []
    for pixel in pixels:  # a code that clears the table before each pixel
        bits += [4 >> i & 1 for i in range(3)] + [pixel >> i & 1 for i in range(3)]
    bits += [5 >> i & 1 for i in range(3)]
    packed = bytes(sum(bit << i for i, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8))
    place = struct.pack("<HHHHB", left, top, width, height, 0x81 if colours else 0)
    return control + b"," + place + colours + b"\x02" + bytes([len(packed)]) + packed + b"\0"


def control(disposal, transparent=None):
    return b"\x21\xf9\x04" + bytes([disposal << 2 | (transparent is not None), 0, 0, transparent or 0]) + b"\0"


def gif(*frames):
    colours = bytes([1, 2, 3, 100, 0, 0, 0, 100, 0, 0, 0, 100])
    return b"GIF89a" + struct.pack("<HHBBB", 4, 3, 0x81, 1, 0) + colours + b"".join(frames) + b";"


def gifs():
    how = {
        "decode_gif": tf.io.decode_gif,
        "decode_image": tf.io.decode_image,
        "decode_image expand_animations=False": lambda data: tf.io.decode_image(data, expand_animations=False),
        "decode_image dtype=uint16": lambda data: tf.io.decode_image(data, dtype=tf.uint16),
    }
    keep("still.gif", gif(frame(0, 0, 4, 3, [0, 1, 2, 3] * 3)), **how, decode_png=tf.io.decode_png)
    keep("inside.gif", gif(frame(1, 1, 2, 2, [1, 2, 3, 0])), **how)
    second = frame(1, 0, 2, 2, [1, 2, 3, 0], control(2, 3), bytes(range(12)))
    keep("colours.gif", gif(frame(0, 0, 4, 3, [0, 1, 2, 3] * 3), second, frame(0, 1, 2, 1, [3, 3], control(3))), **how)
    frames = (
        frame(1, 1, 2, 1, [2, 2], control(3)),
        frame(0, 0, 1, 1, [3], control(0, 2)),
        frame(2, 0, 2, 2, [0, 2, 2, 1], control(1, 2)),
    )
    keep("disposal.gif", gif(frame(0, 0, 4, 3, [1] * 12, control(2)), *frames), **how)


def bmp(width, height, bits, data):
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, len(data), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(data), 0, 0, 54) + header + data


def bmps():
    how = {"decode_bmp": tf.io.decode_bmp, "decode_image dtype=float32": lambda data: tf.io.decode_image(data, dtype=tf.float32)}
    how |= {f"decode_bmp channels={c}": lambda data, c=c: tf.io.decode_bmp(data, channels=c) for c in (3, 4)}
    rows = [random.bytes(5 * size).ljust((5 * size + 3) // 4 * 4, b"\0") for size in (1, 3, 4)]
    keep("grey.bmp", bmp(5, 2, 8, rows[0] * 2), **how)
    keep("colour.bmp", bmp(5, 2, 24, rows[1] * 2), **how)
    keep("alpha.bmp", bmp(5, 2, 32, rows[2] * 2), **how)
    keep("downwards.bmp", bmp(5, -2, 24, rows[1] + bytes(16)), decode_bmp=tf.io.decode_bmp)


for make in (jpegs, pngs, gifs, bmps):
    make()
np.savez_compressed(Path(__file__).with_name("pictures.npz"), **found)
