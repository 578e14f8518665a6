"""Conversion between text and bytes: `tf.compat.as_bytes` and the like."""

from __future__ import annotations

import codecs
from typing import Any

from gradtape._src.core.base.public import public


@public
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Convert text or bytes to bytes; TypeError for anything else."""
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(codecs.lookup(encoding).name)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@public
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Convert text or bytes to text; TypeError for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(codecs.lookup(encoding).name)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


@public
def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Convert bytes to text, anything else by `str`."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)
