"""Encoding and decoding of images: `tf.io.decode_image` and its kin, `encode_png`, `encode_jpeg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import InternalError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.files import bmp, gif, jpeg, png
from gradtape._src.files.ops import Known, a_string, host_op, of_bytes, single, strings
from gradtape._src.files.pictures import check_size, damaged, format_of, opened
from gradtape._src.ops.image.colour import convert_image_dtype
from gradtape._src.ops.random.draws import stateless_uniform, uniform

METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")
DECODED = ("uint8", "uint16", "float32")  # dtypes of decoders; others are converted from uint16


def _checked_channels(channels: Any) -> int:
    count = 0 if channels is None else int(channels)
    if count not in (0, 1, 3, 4):
        raise invalid(f"`channels` must be 0, 1, 3 or 4 but got {count}")
    return count


def _bytes_of(contents: np.ndarray) -> bytes:
    return single(contents, "`contents`")


# ---------------------------------------------------------------------------------------------------------------------
# Each format


def _jpeg(data: bytes, channels: int, dtype: str, **how: Any) -> np.ndarray:
    return _from_bytes(jpeg.decode(data, channels, **how), dtype)


def _png(data: bytes, channels: int, dtype: str) -> np.ndarray:
    pixels = png.decode(data, channels, wide=dtype != "uint8")
    return pixels.astype(np.float32) * np.float32(1 / 65535) if dtype == "float32" else pixels


def _gif(data: bytes, channels: int, dtype: str) -> np.ndarray:
    if channels not in (0, 3):
        raise invalid(f"channels must be 0 or 3 for GIF, got {channels}")
    return _from_bytes(gif.decode(data), dtype)


def _bmp(data: bytes, channels: int, dtype: str) -> np.ndarray:
    if channels == 1:
        raise invalid("`channels` must be 0, 3 or 4 for BMP, but got 1")
    return _from_bytes(bmp.decode(data, channels), dtype)


def _webp(data: bytes, channels: int, dtype: str) -> np.ndarray:
    if dtype != "uint8":
        raise invalid("WebP only supports uint8 for dtype")
    if channels == 1:
        raise invalid("WebP only supports 3 or 4 channels")
    with damaged("Failed to decode WebP image."):
        picture = opened(data)
        count = getattr(picture, "n_frames", 1)
        stored = 4 if picture.has_transparency_data else 3
        if channels not in (0, stored):
            raise invalid("Number of channels requested does not match input")
        check_size(picture.height, picture.width, count)
        frames = []
        for number in range(count):
            picture.seek(number)
            frames.append(np.asarray(picture.convert("RGBA" if stored == 4 else "RGB")))
    return np.stack(frames)


def _from_bytes(pixels: np.ndarray, dtype: str) -> np.ndarray:
    """Convert 8-bit pixels to another dtype of the decoders."""
    if dtype == "float32":
        return pixels.astype(np.float32) * np.float32(1 / 255)
    return pixels if dtype == "uint8" else pixels.astype(np.uint16) << 8


READERS: dict[str, Callable[..., np.ndarray]] = {"JPEG": _jpeg, "PNG": _png, "GIF": _gif, "BMP": _bmp, "WebP": _webp}


def _still(data: bytes, channels: int, dtype: str, op: str, **how: Any) -> np.ndarray:
    """Decode an image for decode_png or decode_jpeg, [height, width, channels]; a GIF must have one frame."""
    kind = format_of(data)
    if kind == "BMP":
        raise invalid(f"Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` instead. Op used: {op}")
    pixels = READERS[kind](data, channels, dtype, **(how if kind == "JPEG" else {}))
    if kind == "GIF" and len(pixels) > 1:
        raise invalid(
            f"Got {len(pixels)} frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image"
        )
    return pixels[0] if kind == "GIF" else pixels


# ---------------------------------------------------------------------------------------------------------------------
# The ops


def _picture(*_: Any, channels: int = 0, dtype: str = "uint8", expand_animations: bool = False, **__: Any) -> list[Known]:
    """Infer the shape of an image; that of an image that may have frames is unknown."""
    return [(None if expand_animations else (None, None, channels or None), dtype)]


def _frames(*_: Any, channels: int = 3, dtype: str = "uint8") -> list[Known]:
    return [((None, None, None, channels or None), dtype)]


@host_op("DecodeJpeg", gives=_picture)
def _decode_jpeg(contents: np.ndarray, *, channels: int, **how: Any) -> np.ndarray:
    return _still(_bytes_of(contents), channels, "uint8", "DecodeJpeg", **how)


def _how(ratio: Any, fancy_upscaling: Any, try_recover_truncated: Any, dct_method: str) -> dict[str, Any]:
    if ratio not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    if dct_method not in METHODS:
        raise invalid(f"dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}, got {dct_method!r}")
    return {
        "ratio": int(ratio),
        "fancy_upscaling": bool(fancy_upscaling),
        "try_recover_truncated": bool(try_recover_truncated),
        "accurate": dct_method == "INTEGER_ACCURATE",
    }


@public
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode a JPEG to uint8 [height, width, channels]; `contents` are the bytes of the file, a scalar string.

    `channels` is 1 (grey), 3 (RGB) or 0, the number in the file. `ratio` is the factor of downscaling: 1, 2, 4 or 8. The
    pixels equal TensorFlow's, as both use libjpeg-turbo's fast transform ("INTEGER_FAST") by default. InvalidArgumentError for
    invalid bytes, and for truncated ones unless `try_recover_truncated`. PNG, WebP and GIF of one frame are decoded, too.

    >>> picture = tf.io.encode_jpeg(tf.fill([2, 3, 3], tf.constant(200, tf.uint8)))
    >>> print(tf.io.decode_jpeg(picture, channels=1).numpy()[:, :, 0])
    [[200 200 200]
     [200 200 200]]
    """
    how = _how(ratio, fancy_upscaling, try_recover_truncated, dct_method)
    return _decode_jpeg(strings(contents), channels=_checked_channels(channels), **how)


@host_op("DecodeAndCropJpeg", gives=_picture)
def _decode_and_crop_jpeg(contents: np.ndarray, crop_window: np.ndarray, *, channels: int, **how: Any) -> np.ndarray:
    if crop_window.shape != (4,):
        raise invalid(f"crop_size must have four elements {list(crop_window.shape)}")
    top, left, height, width = map(int, crop_window)
    pixels = jpeg.decode(_bytes_of(contents), channels, **how)
    fits = top + height <= pixels.shape[0] and left + width <= pixels.shape[1]
    if min(top, left) < 0 or min(height, width) <= 0 or not fits:
        raise invalid(f"{jpeg.FAILED} The picture has shape {list(pixels.shape)}, the window is {crop_window.tolist()}.")
    return np.ascontiguousarray(pixels[top : top + height, left : left + width])


@public
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode the part `crop_window` ([top, left, height, width], int32) of a JPEG; see `decode_jpeg`.

    >>> picture = tf.io.encode_jpeg(tf.zeros([8, 8, 3], tf.uint8))
    >>> print(tf.io.decode_and_crop_jpeg(picture, [0, 2, 4, 5]).shape)
    (4, 5, 3)
    """
    how = _how(ratio, fancy_upscaling, try_recover_truncated, dct_method)
    window = tensor(crop_window, None if is_tensor(crop_window) else dtypes.int32)
    return _decode_and_crop_jpeg(strings(contents), window, channels=_checked_channels(channels), **how)


@host_op("DecodePng", gives=_picture)
def _decode_png(contents: np.ndarray, *, channels: int, dtype: str) -> np.ndarray:
    return _still(_bytes_of(contents), channels, dtype, "DecodePng")


@public
def decode_png(contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None) -> Tensor:
    """Decode a PNG to [height, width, channels] of `dtype` uint8 or uint16.

    `channels` is 1 (grey), 3 (RGB), 4 (RGBA) or 0, the number in the file; a palette counts as RGB. InvalidArgumentError for
    invalid bytes. JPEG, WebP and GIF of one frame are decoded, too.

    >>> picture = tf.io.encode_png(tf.constant([[[255, 0, 0], [0, 0, 255]]], tf.uint8))
    >>> print(tf.io.decode_png(picture).numpy().tolist())
    [[[255, 0, 0], [0, 0, 255]]]
    """
    kind = dtypes.as_dtype(dtype).name
    if kind not in ("uint8", "uint16"):
        raise invalid(f"Value for attr 'dtype' of {kind} is not in the list of allowed values: uint8, uint16")
    return _decode_png(strings(contents), channels=_checked_channels(channels), dtype=kind)


@host_op("DecodeGif", gives=_frames)
def _decode_gif(contents: np.ndarray) -> np.ndarray:
    data = _bytes_of(contents)
    if format_of(data) == "GIF":
        return _gif(data, 0, "uint8")
    pixels = _still(data, 0, "uint8", "DecodeGif")
    return pixels[None] if pixels.ndim == 3 else pixels


@public
def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Decode a GIF to uint8 [frames, height, width, 3]. A PNG or JPEG is decoded as one frame.

    >>> red = bytes.fromhex("47494638396101000100800000ff00000000002c00000000010001000002024401003b")
    >>> print(tf.io.decode_gif(red).numpy().tolist())
    [[[[255, 0, 0]]]]
    """
    return _decode_gif(strings(contents))


@host_op("DecodeBmp", gives=_picture)
def _decode_bmp(contents: np.ndarray, *, channels: int) -> np.ndarray:
    data = _bytes_of(contents)
    kind = format_of(data)
    if kind != "BMP":
        raise invalid(
            f"Trying to decode {kind} format using DecodeBmp op. Use `decode_{kind.lower()}` or `decode_image` instead."
        )
    return _bmp(data, channels, "uint8")


@public
def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Decode a BMP of 8, 24 or 32 bits to uint8 [height, width, channels]; `channels` is 3, 4 or 0, the number in the file.

    >>> sizes = np.array([62, 0, 54, 40, 2, 1, 24 << 16 | 1, 0, 8, 0, 0, 0, 0], "<u4")  # of a row of two pixels
    >>> picture = b"BM" + sizes.tobytes() + bytes([0, 0, 255, 255, 0, 0, 0, 0])
    >>> print(tf.io.decode_bmp(picture).numpy().tolist())
    [[[255, 0, 0], [0, 0, 255]]]
    """
    return _decode_bmp(strings(contents), channels=_checked_channels(channels))


@host_op("DecodeWebP", gives=_frames)
def _decode_webp(contents: np.ndarray, *, channels: int, dtype: str) -> np.ndarray:
    return _still(_bytes_of(contents), channels, dtype, "DecodeWebP")


@public
def decode_webp(contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None) -> Tensor:
    """Decode a WebP to uint8 [frames, height, width, channels]; `channels` is 3, 4 or 0, the number in the file.

    `dtype` must be uint8.

    >>> red = "524946461c000000574542505650384c0f0000002f000000000710fd8ffe0722a2ff0100"
    >>> print(tf.io.decode_webp(bytes.fromhex(red)).numpy().tolist())
    [[[[255, 0, 0]]]]
    """
    return _decode_webp(strings(contents), channels=_checked_channels(channels), dtype=dtypes.as_dtype(dtype).name)


@host_op("DecodeImage", gives=_picture)
def _decode_image(contents: np.ndarray, *, channels: int, dtype: str, expand_animations: bool) -> np.ndarray:
    data = _bytes_of(contents)
    pixels = READERS[format_of(data)](data, channels, dtype)
    return pixels[0] if pixels.ndim == 4 and not expand_animations else pixels


@public
def decode_image(
    contents: Any,
    channels: Any = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decode a JPEG, PNG, GIF, BMP or WebP to [height, width, channels], or [frames, height, width, channels].

    GIF and WebP have frames; with `expand_animations=False` only the first one is returned. For a float `dtype` pixels are
    from 0 to 1; wider integers are scaled to their range.

    >>> picture = tf.io.encode_png(tf.zeros([2, 3, 3], tf.uint8))
    >>> tf.io.decode_image(picture).shape
    TensorShape([2, 3, 3])
    """
    wanted = dtypes.as_dtype(dtype)
    given = wanted.name if wanted.name in DECODED else "uint16"
    pixels = _decode_image(
        strings(contents), channels=_checked_channels(channels), dtype=given, expand_animations=bool(expand_animations)
    )
    return pixels if wanted.name == given else convert_image_dtype(pixels, wanted)


@host_op("ExtractJpegShape", gives=lambda contents, output_type: [((3,), output_type)])
def _extract_jpeg_shape(contents: np.ndarray, *, output_type: Any) -> np.ndarray:
    return np.array(jpeg.shape(_bytes_of(contents)), output_type.numpy)


@public
def extract_jpeg_shape(contents: Any, output_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """Return `[height, width, channels]` of a JPEG without decoding it, int32 or int64.

    >>> print(tf.io.extract_jpeg_shape(tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))).numpy())
    [4 6 3]
    """
    return _extract_jpeg_shape(strings(contents), output_type=dtypes.as_dtype(output_type))


@host_op("IsJpeg", gives=lambda contents: [(contents.shape, dtypes.bool)], traits="own")
def _is_jpeg(contents: np.ndarray) -> np.ndarray:
    return np.array([bytes(item).startswith(b"\xff\xd8\xff") for item in contents.flat], bool).reshape(contents.shape)


@public
def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return whether strings begin with the signature of a JPEG, bool of the same shape.

    >>> print(tf.image.is_jpeg(tf.io.encode_jpeg(tf.zeros([4, 4, 3], tf.uint8))).numpy())
    True
    """
    return _is_jpeg(strings(contents))


# ---------------------------------------------------------------------------------------------------------------------
# Encoding


def _pixels(image: Any, allowed: tuple[str, ...], preferred: Any) -> Tensor:
    x: Tensor = tensor(image, None if is_tensor(image) or hasattr(image, "dtype") else preferred)
    if x.dtype.name not in allowed:
        raise invalid(f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values: {', '.join(allowed)}")
    return x


@host_op("EncodePng", gives=lambda image, compression: [(image.shape[:-3], dtypes.string)], traits="writes_bytes")
def _encode_png(image: np.ndarray, *, compression: int) -> np.ndarray:
    if image.ndim < 3:
        raise invalid(f"images must be at least rank 3, received shape {list(image.shape)}")
    *batch, height, width, channels = image.shape
    if channels not in (1, 2, 3, 4):
        raise invalid(f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if not height or not width:
        raise InternalError.saying(f"PNG encoding failed: a picture of shape {list(image.shape)} is empty")
    pictures = image.reshape(-1, height, width, channels)
    return of_bytes([png.encode(picture, compression) for picture in pictures], tuple(batch))


@public
def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Encode images [..., height, width, channels], uint8 or uint16, as PNGs, strings [...].

    1 to 4 channels are grey, grey and alpha, RGB, RGBA. `compression` is zlib's level: 0 to 9, or -1 for its default.

    >>> picture = tf.constant([[[0, 1, 2], [3, 4, 5]]], tf.uint8)
    >>> print(tf.io.encode_png(picture).numpy()[1:4], tf.io.decode_png(tf.io.encode_png(picture)).numpy().tolist())
    b'PNG' [[[0, 1, 2], [3, 4, 5]]]
    """
    if not -1 <= compression <= 9:
        raise invalid(f"compression should be in [-1,9], got {compression}")
    return _encode_png(_pixels(image, ("uint8", "uint16"), dtypes.uint8), compression=int(compression))


def _check_jpeg(image: np.ndarray, quality: int, wanted: str = "") -> None:
    if image.ndim != 3:
        raise invalid(f"image must be 3-dimensional, received shape {list(image.shape)}")
    channels = image.shape[2]
    if wanted and channels != (3 if wanted == "rgb" else 1):
        raise invalid(f"format {wanted} expects {3 if wanted == 'rgb' else 1} channels, got {list(image.shape)}")
    if channels not in (1, 3):
        raise invalid(f"image must have 1 or 3 channels, got {list(image.shape)}")
    if not 0 <= quality <= 100:
        raise invalid(f"quality must be in [0,100], got {quality}")
    if not image.size or max(image.shape) > 65535:
        raise InternalError.saying(f"JPEG encoding failed: no JPEG has the shape {list(image.shape)}")


@host_op("EncodeJpeg", gives=a_string, traits="writes_bytes")
def _encode_jpeg(image: np.ndarray, *, format: str, quality: int, **how: Any) -> np.ndarray:
    _check_jpeg(image, quality, format)
    return of_bytes([jpeg.encode(image, quality, **how)], ())


@public
def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Encode an image, uint8 [height, width, 1 or 3], as a JPEG, a scalar string. `quality` is from 0 to 100.

    `chroma_downsampling` stores colours at half the resolution. The densities (per "in" or "cm") and `xmp_metadata` are stored
    in the file.

    >>> picture = tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8), quality=80)
    >>> print(picture.numpy()[:2].hex(), tf.io.decode_jpeg(picture).shape)
    ffd8 (4, 6, 3)
    """
    if format not in ("", "grayscale", "rgb"):
        raise invalid(f"Value for attr 'format' of {format!r} is not in the list of allowed values: '', 'grayscale', 'rgb'")
    if density_unit not in ("in", "cm"):
        raise invalid(f"Value for attr 'density_unit' of {density_unit!r} is not in the list of allowed values: 'in', 'cm'")
    return _encode_jpeg(
        _pixels(image, ("uint8",), dtypes.uint8),
        format=format,
        quality=int(quality),
        progressive=bool(progressive),
        optimize=bool(optimize_size),
        chroma_downsampling=bool(chroma_downsampling),
        density=tuple(static_list([x_density, y_density], "density")),
        metric=density_unit == "cm",
        xmp=xmp_metadata.encode() if isinstance(xmp_metadata, str) else bytes(xmp_metadata),
    )


@host_op(
    "AdjustJpegQuality", gives=lambda image, quality, dct_method: [(image.shape, image.type)], traits="own",
    instead="pass the gradient straight through: `x + tf.stop_gradient(tf.image.adjust_jpeg_quality(x, y) - x)`",
)  # fmt: skip
def _through_jpeg(image: np.ndarray, jpeg_quality: np.ndarray, *, dct_method: str) -> np.ndarray:
    quality = int(jpeg_quality)
    _check_jpeg(image, quality)
    return jpeg.decode(jpeg.encode(image, quality), image.shape[2], accurate=dct_method == "INTEGER_ACCURATE")


@public
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None) -> Tensor:
    """Encode an image [height, width, channels] as a JPEG of a quality from 0 to 100, and decode it again. The dtype is kept.

    >>> edge = tf.constant([[0.0] * 4 + [1.0] * 4] * 8)[..., None]
    >>> for quality in (100, 5):
    ...     print(tf.image.adjust_jpeg_quality(edge, quality).numpy()[0, :, 0].round(2))
    [0. 0. 0. 0. 1. 1. 1. 1.]
    [0.02 0.02 0.05 0.   1.   0.95 0.98 0.98]
    """
    x: Tensor = tensor(image)
    pixels = x if x.dtype == dtypes.uint8 else convert_image_dtype(x, dtypes.uint8, saturate=True)
    quality = tensor(jpeg_quality, None if is_tensor(jpeg_quality) else dtypes.int32)
    result = _through_jpeg(pixels, quality, dct_method=dct_method)
    return result if x.dtype == dtypes.uint8 else convert_image_dtype(result, x.dtype, saturate=True)


def _quality_range(least: Any, most: Any) -> None:
    if not (0 <= least <= 100 and 0 <= most <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if least >= most:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")


@public
def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any = None) -> Tensor:
    """Apply `adjust_jpeg_quality` with a quality drawn from [min_jpeg_quality, max_jpeg_quality).

    >>> print(tf.image.random_jpeg_quality(tf.zeros([8, 8, 3]), 20, 80).shape)
    (8, 8, 3)
    """
    _quality_range(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, uniform([], min_jpeg_quality, max_jpeg_quality, dtypes.int32, seed))


@public
def stateless_random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any) -> Tensor:
    """Change the quality like `random_jpeg_quality`: the same result for the same `seed` of two integers.

    >>> photo = tf.random.stateless_uniform([8, 8, 3], [1, 2])
    >>> first, again = [tf.image.stateless_random_jpeg_quality(photo, 20, 80, seed=[3, 4]) for _ in range(2)]
    >>> print(np.all(first == again), np.all(first == photo))
    True False
    """
    _quality_range(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, stateless_uniform([], seed, min_jpeg_quality, max_jpeg_quality, dtypes.int32))
