"""TensorBoard's messages, made from arrays by the classes of TensorBoard's own package."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.files import png, sounds
from gradtape._src.files.protocol import package, protocol
from gradtape._src.files.tensors import encoded

BUCKETS = 30
ZLIB = -1  # the compression of pictures: zlib's default
PROTOCOL = ("summary", "event", "tensor")
SHOWN = ("scalar", "histogram", "image", "text", "audio")


@functools.cache
def tensorboard() -> Any:
    """Return the module of TensorBoard's package that writes summaries."""
    found = {name: protocol(name) for name in PROTOCOL}
    return SimpleNamespace(
        Summary=found["summary"].Summary,
        Metadata=found["summary"].SummaryMetadata,
        Histogram=found["summary"].HistogramProto,
        Event=found["event"].Event,
        Tensor=found["tensor"].TensorProto,
        metadata={name: package(f"plugins.{name}.metadata").create_summary_metadata for name in SHOWN},
        Writer=package("summary.writer.event_file_writer").EventFileWriter,
    )


# ---------------------------------------------------------------------------------------------------------------------
# TensorFlow 1


def scalar(tag: str, value: np.ndarray) -> Any:
    """Return the message of a number."""
    if value.ndim:
        raise invalid(f"tags and values are not the same shape: [] != {list(value.shape)} (tag '{tag}'). Give a scalar.")
    return _of(tag, simple_value=float(value))


def histogram(tag: str, values: np.ndarray) -> Any:
    """Return the message of a histogram with 30 buckets."""
    flat = values.astype(np.float64).ravel()
    if not np.isfinite(flat).all():
        raise invalid(f"Nan in summary histogram for: {tag}")
    counts, edges = np.histogram(flat, BUCKETS)
    low, high = (flat.min(), flat.max()) if flat.size else (0.0, 0.0)
    message = tensorboard().Histogram(min=low, max=high, num=flat.size, sum=flat.sum(), sum_squares=np.square(flat).sum())
    message.bucket_limit.extend(edges[1:])
    message.bucket.extend(counts)
    return _of(tag, histo=message)


def images(tag: str, batch: np.ndarray, *, most: int) -> Any:
    """Return the first images of a batch. Floats are scaled so that the largest is 255; if some are negative, 0 is grey."""
    shown = batch[:most]
    names = [f"{tag}/image"] if most == 1 else [f"{tag}/image/{k}" for k in range(len(shown))]
    summary = tensorboard().Summary
    values = []
    for name, one in zip(names, shown, strict=True):
        if one.dtype != np.uint8:
            low, high = float(one.min(initial=0)), float(one.max(initial=0))
            one = one * (127 / max(-low, high)) + 128 if low < 0 else one * (255 / high if high else 0)
        height, width, depth = one.shape
        picture = summary.Image(
            height=height, width=width, colorspace=depth, encoded_image_string=png.encode(one.astype(np.uint8), ZLIB)
        )
        values.append(summary.Value(tag=name, image=picture))
    return summary(value=values)


def text(tag: str, texts: np.ndarray) -> Any:
    """Return the message of strings."""
    return tensor(tag, texts, "text")


# ---------------------------------------------------------------------------------------------------------------------
# TensorFlow 2


def tensor(tag: str, value: np.ndarray, kind: str | bytes | None, description: str | None = None) -> Any:
    """Return the message of a tensor for the plugin `kind`; bytes are the metadata themselves."""
    if isinstance(kind, bytes):
        metadata = tensorboard().Metadata.FromString(kind)
    elif kind is None:
        metadata = None
    else:
        encoding = {"encoding": WAV} if kind == "audio" else {}
        metadata = tensorboard().metadata[kind](display_name=None, description=description, **encoding)
    return _of(tag, tensor=_tensor(value), metadata=metadata)


def scalar_tensor(value: np.ndarray) -> np.ndarray:
    """Return a number as a float32 array; ValueError unless it is a scalar."""
    if value.ndim:
        raise ValueError(f"Expected scalar shape, saw {value.shape}: a scalar summary is of one number.")
    return value.astype(np.float32)


def histogram_tensor(values: np.ndarray, buckets: int) -> np.ndarray:
    """Return a histogram [buckets, 3]: left edge, right edge, count."""
    flat = values.astype(np.float64).ravel()
    if not flat.size or not buckets:
        return np.zeros((buckets, 3))
    low, high = flat.min(), flat.max()
    if low == high:  # as in TensorFlow, all are in the last bucket, of width 0
        rows = np.full((buckets, 3), low)
        rows[:, 2] = [0.0] * (buckets - 1) + [float(flat.size)]
        return rows
    counts, edges = np.histogram(flat, buckets, (low, high))
    return np.stack([edges[:-1], edges[1:], counts], 1)


def image_tensor(batch: np.ndarray, most: int) -> np.ndarray:
    """Return strings: width, height, and the first images of a batch [n, height, width, channels] as PNG; floats from 0 to 1."""
    if batch.ndim != 4:
        raise ValueError(f"Images have shape [n, height, width, channels], received {list(batch.shape)}.")
    if batch.dtype.kind == "f":
        batch = np.clip(batch, 0, 1) * 255.5
    shown = batch[:most].astype(np.uint8)
    sizes = [str(batch.shape[2]).encode(), str(batch.shape[1]).encode()]
    return np.array([*sizes, *[png.encode(one, ZLIB) for one in shown]], object)


def audio_tensor(batch: np.ndarray, sample_rate: np.ndarray, most: int) -> np.ndarray:
    """Return strings [n, 2]: the first clips of a batch [n, frames, channels] as WAV, and empty labels; floats from -1 to 1."""
    if batch.ndim != 3:
        raise ValueError(f"Sounds have shape [n, frames, channels], received {list(batch.shape)}.")
    rows = [[sounds.encode(one, int(sample_rate)), b""] for one in batch[:most]]
    return np.array(rows, object).reshape(len(rows), 2)


# ---------------------------------------------------------------------------------------------------------------------
# Graphs


def run_metadata(graphs: Iterable[Any]) -> Any:
    """Return a RunMetadata with the graphs of functions as traced; the optimized ones, which XLA makes, are the same."""
    found = protocol("config").RunMetadata()
    for one in graphs:
        definition = one.as_graph_def(add_shapes=True)
        function = found.function_graphs.add(pre_optimization_graph=definition, post_optimization_graph=definition)
        function.partition_graphs.append(definition)
    found.partition_graphs.extend([function.pre_optimization_graph for function in found.function_graphs])
    return found


# ---------------------------------------------------------------------------------------------------------------------


def _of(tag: str, **content: Any) -> Any:
    summary = tensorboard().Summary
    return summary(value=[summary.Value(tag=tag, **content)])


WAV = 11  # TensorBoard's enum value of the encoding


def _tensor(value: np.ndarray) -> Any:
    if value.dtype.kind == "c":
        raise invalid(f"A summary of dtype {value.dtype.name} cannot be written: cast it to float32.")
    return tensorboard().Tensor.FromString(encoded(value))
