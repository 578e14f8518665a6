"""Pictures are decoded to TensorFlow's pixels, to the bit; `record.py` has asked it."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gradtape as tf

ARRAYS = np.load(Path(__file__).with_name("pictures.npz"))
EXPECTED = {name: ARRAYS[name] for name in ARRAYS.files}
DECODED = [name for name in EXPECTED if not name.endswith("/") and not name.startswith("smooth/")]


def data_of(name):
    return EXPECTED[f"{name}/"].tobytes()


def option(text):
    name, _, value = text.partition("=")
    if "," in value:
        return name, [int(v) for v in value.split(",")]
    if value in ("True", "False"):
        return name, value == "True"
    return name, int(value) if value.isdigit() else value


@pytest.mark.parametrize("name", DECODED)
def test_pixels_are_tensorflows(name):
    file, _, how = name.partition("/")
    function, *options = how.split()
    decoded = getattr(tf.io, function)(np.array(data_of(file), object), **dict(map(option, options)))
    assert decoded.dtype == EXPECTED[name].dtype
    np.testing.assert_array_equal(decoded, EXPECTED[name], strict=True)


@pytest.mark.parametrize(
    "name, options", [("a", {"quality": 50}), ("b", {"optimize_size": True}), ("c", {"density_unit": "cm", "x_density": 9})]
)
def test_jpegs_are_encoded_to_tensorflows_bytes(name, options):
    assert tf.io.encode_jpeg(EXPECTED["smooth/"], **options).numpy() == EXPECTED[f"smooth/encode_jpeg {name}"].tobytes()


def test_adjust_jpeg_quality_is_tensorflows():
    picture = tf.constant(EXPECTED["smooth/"])
    np.testing.assert_array_equal(tf.image.adjust_jpeg_quality(picture, 40), EXPECTED["smooth/adjust_jpeg_quality"], strict=True)
    floats = tf.image.adjust_jpeg_quality(tf.image.convert_image_dtype(picture, tf.float32), tf.constant(40))
    np.testing.assert_array_equal(floats, EXPECTED["smooth/adjust_jpeg_quality float"], strict=True)


def test_random_jpeg_quality_draws_from_its_range():
    picture = EXPECTED["smooth/"]
    drawn = tf.image.random_jpeg_quality(picture, 40, 41, seed=1)
    np.testing.assert_array_equal(drawn, EXPECTED["smooth/adjust_jpeg_quality"])
    np.testing.assert_array_equal(tf.image.stateless_random_jpeg_quality(picture, 40, 41, seed=(1, 2)), drawn)
    with pytest.raises(ValueError, match="`min_jpeg_quality` must be less than `max_jpeg_quality`"):
        tf.image.random_jpeg_quality(picture, 41, 40)
    with pytest.raises(ValueError, match="jpeg encoding range must be between 0 and 100"):
        tf.image.random_jpeg_quality(picture, -1, 40)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_gives_back_what_was_encoded(channels, dtype):
    pixels = np.random.RandomState(0).randint(0, np.iinfo(dtype).max, (2, 6, 5, channels)).astype(dtype)
    encoded = tf.io.encode_png(pixels, compression=9)
    assert encoded.shape == [2]
    for one, expected in zip(encoded, pixels, strict=True):
        np.testing.assert_array_equal(tf.io.decode_image(one, dtype=dtype), expected, strict=True)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_webp_without_loss(mode):
    pixels = np.random.RandomState(1).randint(0, 256, (5, 7, len(mode))).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels, mode).save(stream, "WEBP", lossless=True, exact=True)
    contents = np.array(stream.getvalue(), object)
    np.testing.assert_array_equal(tf.io.decode_webp(contents), pixels[None], strict=True)
    np.testing.assert_array_equal(tf.io.decode_image(contents, expand_animations=False), pixels, strict=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Number of channels requested does not match input"):
        tf.io.decode_webp(contents, channels=7 - len(mode))


def test_inks_become_colours():
    """As TensorFlow has it for a CMYK picture: [241, 248, 215] is the first pixel."""
    stream = io.BytesIO()
    Image.new("CMYK", (9, 9), (14, 7, 40, 0)).save(stream, "JPEG", quality=95)
    pixels = tf.io.decode_jpeg(stream.getvalue())
    assert pixels.shape == (9, 9, 3)
    np.testing.assert_allclose(pixels[4, 4], [241, 248, 215], atol=2)
    assert tf.io.extract_jpeg_shape(stream.getvalue()).numpy().tolist() == [9, 9, 4]


def test_what_stands_in_a_header():
    jpeg = data_of("grey.jpg")
    assert tf.io.extract_jpeg_shape(jpeg, tf.int64).numpy().tolist() == [17, 22, 1]
    assert tf.io.is_jpeg([jpeg, data_of("1.png")]).numpy().tolist() == [True, False]


JPEG, PNG, GIF = data_of("smooth95.jpg"), data_of("3.png"), data_of("colours.gif")
INVALID = tf.errors.InvalidArgumentError


def png_of(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def gif_of(width, height):
    return GIF[:6] + struct.pack("<HH", 4, 3) + GIF[10:26] + struct.pack("<HHHH", 0, 0, width, height) + GIF[34:]


BAD = [
    ("decode_jpeg", b"", {}, "Input is empty"),
    ("decode_jpeg", b"junk", {}, "Unknown image file format"),
    ("decode_jpeg", JPEG[:200], {}, r"jpeg::Uncompress failed. Invalid JPEG data or crop window.*\[Op:DecodeJpeg\]"),
    ("decode_jpeg", JPEG[:-50], {}, "jpeg::Uncompress failed"),
    ("decode_jpeg", JPEG, {"channels": 2}, "`channels` must be 0, 1, 3 or 4 but got 2"),
    ("decode_jpeg", JPEG, {"channels": 4}, "JPEG does not support 4 channels"),
    ("decode_jpeg", JPEG, {"ratio": 3}, "ratio must be 1, 2, 4, or 8, got 3"),
    ("decode_jpeg", JPEG, {"dct_method": "X"}, "dct_method must be one of"),
    ("decode_jpeg", [JPEG], {}, r"`contents` must be scalar but got shape\[1\]"),
    ("decode_jpeg", JPEG[:163] + b"\xff\xff\xff\xff" + JPEG[167:], {}, "too large|Uncompress failed"),
    ("decode_and_crop_jpeg", JPEG, {"crop_window": [0, 0, 18, 2]}, "Invalid JPEG data or crop window"),
    ("decode_and_crop_jpeg", JPEG, {"crop_window": [-1, 0, 2, 2]}, "Invalid JPEG data or crop window"),
    ("decode_and_crop_jpeg", JPEG, {"crop_window": [0, 0, 2]}, "crop_size must have four elements"),
    ("extract_jpeg_shape", PNG, {}, "Invalid JPEG data, size"),
    ("decode_png", PNG[:-20], {}, "Invalid PNG data, size"),
    ("decode_png", PNG[:30], {}, "Invalid PNG. Failed to initialize decoder"),
    ("decode_png", PNG[:45] + b"\xff\xff" + PNG[47:], {}, "Invalid PNG data, size"),
    ("decode_png", PNG, {"channels": 2}, "`channels` must be 0, 1, 3 or 4 but got 2"),
    ("decode_png", PNG, {"dtype": tf.float32}, "float32 is not in the list of allowed values: uint8, uint16"),
    ("decode_png", png_of(100000, 100000), {}, "PNG size too large for int: 100000 by 100000"),
    ("decode_png", png_of(20000, 20000), {}, "too large: 20000 by 20000 .* decompression bomb"),
    ("decode_png", GIF, {}, "Got 3 frames, but animated gifs can only be decoded by tf.io.decode_gif"),
    ("decode_png", data_of("grey.bmp"), {}, "Trying to decode BMP format using a wrong op"),
    ("decode_image", GIF, {"channels": 1}, "channels must be 0 or 3 for GIF, got 1"),
    ("decode_gif", GIF[:10], {}, r"Invalid GIF data \(size 10\)"),
    ("decode_gif", GIF[:40], {}, "Invalid GIF data"),
    ("decode_gif", gif_of(65535, 65535), {}, "too large: 65535 by 65535 in 3 frames"),
    ("decode_bmp", b"BM1234", {}, "requires at least 32 bytes to find the header size.* got 6 bytes"),
    (
        "decode_bmp",
        data_of("colour.bmp")[:-8],
        {},
        r"match \(header_size \+ row_size \* abs_height\) but they differ by -8",
    ),
    ("decode_bmp", data_of("colour.bmp"), {"channels": 1}, "`channels` must be 0, 3 or 4 for BMP, but got 1"),
    ("decode_bmp", PNG, {}, "Trying to decode PNG format using DecodeBmp op. Use `decode_png`"),
    ("decode_webp", b"RIFF\x10\0\0\0WEBPVP8L\0\0", {}, "Failed to decode WebP"),
]


@pytest.mark.parametrize("function, contents, options, message", BAD)
def test_bad_bytes_are_invalid_arguments(function, contents, options, message):
    contents = contents if isinstance(contents, list) else np.array(contents, object)
    with pytest.raises(INVALID, match=message):
        getattr(tf.io, function)(contents, **options)


@pytest.mark.parametrize("name", ["smooth95.jpg", "3x16.png", "palette_alpha.png", "disposal.gif", "alpha.bmp"])
def test_damaged_pictures_never_end_the_process(name):
    data, random = data_of(name), np.random.RandomState(0)
    outcomes = []
    for _ in range(40):
        damaged = bytearray(data[: random.randint(1, len(data) + 1)])
        for place in random.randint(0, len(damaged), 3):
            damaged[place] = random.randint(256)
        try:
            outcomes.append(tf.io.decode_image(np.array(bytes(damaged), object)).shape.rank in (3, 4))
        except INVALID as error:
            outcomes.append(str(error) != "")
    assert all(outcomes) and len(outcomes) == 40


def test_truncated_pictures_are_recovered_where_that_is_asked_for():
    assert tf.io.decode_jpeg(JPEG[:-50], try_recover_truncated=True).shape == (17, 22, 3)
    assert tf.io.decode_gif(np.array(GIF[:-10], object)).shape[0] == 2  # the frames that are whole, as in TensorFlow


ENCODED = [
    ("encode_png", np.zeros((2, 2, 3), np.float32), {}, "float32 is not in the list of allowed values: uint8, uint16"),
    ("encode_png", np.zeros((2, 2), np.uint8), {}, "images must be at least rank 3"),
    ("encode_png", np.zeros((2, 2, 5), np.uint8), {}, "image must have 1, 2, 3, or 4 channels, got 5"),
    ("encode_png", np.zeros((2, 2, 3), np.uint8), {"compression": 10}, r"compression should be in \[-1,9\], got 10"),
    ("encode_jpeg", np.zeros((2, 2, 2), np.uint8), {}, "image must have 1 or 3 channels"),
    ("encode_jpeg", np.zeros((2, 2), np.uint8), {}, "image must be 3-dimensional"),
    ("encode_jpeg", np.zeros((2, 2, 3), np.uint8), {"quality": 101}, r"quality must be in \[0,100\], got 101"),
    ("encode_jpeg", np.zeros((2, 2, 3), np.uint8), {"format": "grayscale"}, "format grayscale expects 1 channels"),
    ("encode_jpeg", np.zeros((2, 2, 3), np.uint8), {"density_unit": "x"}, "allowed values: 'in', 'cm'"),
]


@pytest.mark.parametrize("function, image, options, message", ENCODED)
def test_what_cannot_be_encoded(function, image, options, message):
    with pytest.raises(INVALID, match=message):
        getattr(tf.io, function)(image, **options)


def test_an_empty_picture_cannot_be_encoded():
    with pytest.raises(tf.errors.InternalError, match="JPEG encoding failed"):
        tf.io.encode_jpeg(np.zeros((0, 2, 3), np.uint8))
    with pytest.raises(tf.errors.InternalError, match="PNG encoding failed"):
        tf.io.encode_png(np.zeros((0, 2, 3), np.uint8))


def test_pictures_are_loaded_as_the_tutorials_do_it(tmp_path):
    for number in range(3):
        tf.io.write_file(str(tmp_path / f"{number}.jpg"), tf.io.encode_jpeg(np.full((6, 4, 3), 80 * number, np.uint8)))

    def load(path):
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(picture, [2, 2]) / 255.0

    dataset = tf.data.Dataset.list_files(str(tmp_path / "*.jpg"), shuffle=False).map(load).batch(3)
    assert dataset.element_spec == tf.TensorSpec([None, 2, 2, 3])
    (batch,) = dataset
    assert batch.shape == (3, 2, 2, 3)
    np.testing.assert_allclose(batch[:, 0, 0, 0], [0, 80 / 255, 160 / 255], atol=0.01)
    in_function = tf.function(load)(tf.constant(str(tmp_path / "2.jpg")))
    np.testing.assert_allclose(in_function, batch[2])


SPECS = [  # TensorFlow's
    (lambda path: tf.io.read_file(path), tf.TensorSpec([], tf.string)),
    (lambda path: tf.io.decode_jpeg(tf.io.read_file(path)), tf.TensorSpec([None, None, None], tf.uint8)),
    (lambda path: tf.io.decode_png(tf.io.read_file(path), 1, tf.uint16), tf.TensorSpec([None, None, 1], tf.uint16)),
    (lambda path: tf.io.decode_gif(tf.io.read_file(path)), tf.TensorSpec([None, None, None, 3], tf.uint8)),
    (
        lambda path: tf.io.decode_image(tf.io.read_file(path), 3, tf.float32, expand_animations=False),
        tf.TensorSpec([None, None, 3], tf.float32),
    ),
    (lambda path: tf.io.decode_raw(path, tf.int16), tf.TensorSpec([None], tf.int16)),
    (lambda path: tf.io.decode_csv(path, [0, ""]), (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.string))),
    (
        lambda path: tf.io.parse_single_example(path, {"a": tf.io.FixedLenFeature([2], tf.float32)}),
        {"a": tf.TensorSpec([2], tf.float32)},
    ),
]


@pytest.mark.parametrize("function, spec", SPECS)
def test_datasets_know_the_shapes_without_a_file(function, spec):
    assert tf.data.Dataset.from_tensors("no file").map(function).element_spec == spec


def test_a_function_in_a_dataset_keeps_nothing_of_what_was_assumed(tmp_path):
    path = str(tmp_path / "picture.png")
    tf.io.write_file(path, tf.io.encode_png(np.ones((4, 5, 3), np.uint8)))
    load = tf.function(lambda path: tf.io.decode_png(tf.io.read_file(path)))
    (picture,) = tf.data.Dataset.from_tensors(path).map(load)
    assert picture.shape == (4, 5, 3) and load(tf.constant(path)).shape == (4, 5, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"width must be <= image width - offset|must be"):
        list(tf.data.Dataset.from_tensors(path).map(load).map(lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 9, 9)))
