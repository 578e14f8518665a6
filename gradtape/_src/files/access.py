"""`tf.io.read_file`, `write_file`, `matching_files`: reading and writing of whole files as strings."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import printed
from gradtape._src.files.ops import a_string, host_op, of_bytes, strings
from gradtape._src.files.systems import matching, name_of, open_bytes, told, write_whole


def _name(array: np.ndarray, what: str) -> str:
    if array.ndim:
        raise invalid(f"{what} must be scalar, but had shape: {printed(array.shape)}")
    return name_of(array[()])


def path_tensor(value: Any) -> Tensor:
    """Convert a file name, which may be a PathLike, to a tensor of strings."""
    return strings(os.fspath(value) if isinstance(value, os.PathLike) else value)


@host_op("ReadFile", gives=a_string, effect=True)
def _read_file(filename: np.ndarray) -> np.ndarray:
    path = _name(filename, "Input filename tensor")
    with open_bytes(path) as file, told(path):
        return of_bytes([file.read()], ())


@public
def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Read a file as a scalar string. NotFoundError if there is none.

    >>> tf.io.write_file("ram://greeting", "hello")
    >>> tf.io.read_file("ram://greeting").numpy()
    b'hello'
    """
    return _read_file(path_tensor(filename))


@host_op("WriteFile", gives=lambda *_: [], effect=True)
def _write_file(filename: np.ndarray, contents: np.ndarray) -> None:
    path = _name(filename, "Input filename tensor")
    if contents.ndim:
        raise invalid(f"Contents tensor must be scalar, but had shape: {printed(contents.shape)}")
    write_whole(path, bytes(contents[()]), parents=True)


@public
def write_file(filename: Any, contents: Any, name: str | None = None) -> Any:
    """Write a scalar string to a file, and create its directories; return the operation in a graph, else None.

    The write is atomic: a temporary file is written first, and renamed.

    >>> tf.io.write_file("written.txt", "text")
    >>> print(tf.io.read_file("written.txt").numpy())
    b'text'
    """
    return _write_file(path_tensor(filename), strings(contents))


def names_matching(pattern: np.ndarray) -> np.ndarray:
    """Return the names of files that match any of the patterns, sorted."""
    found = sorted([os.fsencode(path) for one in pattern.ravel() for path in matching(name_of(one))])
    return of_bytes(found, (len(found),))


@host_op("MatchingFiles", gives=lambda pattern: [([None], dtypes.string)], effect=True)
def _matching_files(pattern: np.ndarray) -> np.ndarray:
    if pattern.ndim > 1:
        raise invalid("Input pattern tensor must be scalar or vector, but had shape: " + str(list(pattern.shape)))
    return names_matching(pattern)


@public
def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return the names of files that match a pattern, or any of a vector of patterns: strings, sorted.

    `*` and `?` match any characters but `/`, `[abc]` one of these characters. Matches of a pattern without a directory begin
    with `./`.

    >>> tf.io.write_file("matching.txt", "text")
    >>> print(tf.io.matching_files("matching.*").numpy())
    [b'./matching.txt']
    """
    return _matching_files(path_tensor(pattern))
