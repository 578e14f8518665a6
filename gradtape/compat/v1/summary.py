"""Summaries of a graph's values for TensorBoard, and the file that they are written to."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.v1.summary import (
    FileWriter as FileWriter,
    FileWriterCache as FileWriterCache,
    histogram as histogram,
    image as image,
    merge as merge,
    merge_all as merge_all,
    scalar as scalar,
    text as text,
)

__getattr__ = _missing(__name__)
