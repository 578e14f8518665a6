"""A checkpoint's variables by name, without objects to restore them into."""

from __future__ import annotations

import os
from typing import Any

from gradtape._src.core.base.errors import NotFoundError
from gradtape._src.core.base.public import public
from gradtape._src.core.values.dtypes import as_dtype, string
from gradtape._src.train.bundle import GRAPH, VALUE
from gradtape._src.train.sources import opened
from gradtape._src.train.state import latest_checkpoint
from gradtape._src.train.storage import ATTRIBUTES


def some(names: list[Any]) -> str:
    """Format the first of `names` for a message."""
    return ", ".join(map(str, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


class CheckpointReader:
    """A reader of the variables of a checkpoint by name, without objects to restore them into."""

    @public
    def __init__(self, filename: Any) -> None:
        self._reader = opened(os.fspath(filename))
        self._suffix = "" if self._reader.by_name else VALUE

    def _name(self, key: str) -> str:
        return key if ATTRIBUTES in key else key + self._suffix

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return a dict from names to shapes."""
        graph: dict[str, list[int]] = {} if self._reader.by_name else {GRAPH: []}
        return graph | {self._name(key): list(entry.shape) for key, entry in self._reader.entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Return a dict from names to dtypes."""
        graph = {} if self._reader.by_name else {GRAPH: string}
        return graph | {self._name(key): as_dtype(entry.dtype) for key, entry in self._reader.entries.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether there is a variable of that name."""
        if tensor_str == GRAPH:
            return not self._reader.by_name
        return tensor_str.removesuffix(VALUE) in self._reader.entries

    @public
    def get_tensor(self, tensor_str: str) -> Any:
        """Return the value of a variable, a NumPy array or scalar; NotFoundError if there is none of that name."""
        if tensor_str == GRAPH and not self._reader.by_name:
            return self._reader.graph()
        key = tensor_str.removesuffix(VALUE)
        if key not in self._reader.entries:
            names = some(sorted(self._reader.entries))
            raise NotFoundError.saying(f"Key {tensor_str} not found in checkpoint\n{self._reader.path} has {names}.")
        return self._reader.arrays([key])[key][()]


NewCheckpointReader = CheckpointReader  # TensorFlow 1's name


@public
def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """Return a reader of a checkpoint, or of the latest one in a folder. NotFoundError if there is none.

    >>> path = tf.train.Checkpoint(w=tf.Variable([1.0, 2.0])).write("to read")
    >>> reader = tf.train.load_checkpoint(path)
    >>> reader.get_variable_to_shape_map()["w/.ATTRIBUTES/VARIABLE_VALUE"]
    [2]
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}.")
        path = latest
    return CheckpointReader(path)


@public
def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """Return the value of one variable of a checkpoint, a NumPy array or scalar. `name` is one from `list_variables`.

    NotFoundError if there is no such checkpoint or variable.

    >>> path = tf.train.Checkpoint(w=tf.Variable([1.0, 2.0])).write("of one")
    >>> print(tf.train.load_variable(path, "w/.ATTRIBUTES/VARIABLE_VALUE"))
    [1. 2.]
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


@public
def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Return `(name, shape)` of the variables of a checkpoint, by name.

    >>> path = tf.train.Checkpoint(w=tf.Variable([1.0, 2.0])).write("listing")
    >>> print([entry for entry in tf.train.list_variables(path) if entry[0].startswith("w")])
    [('w/.ATTRIBUTES/VARIABLE_VALUE', [2])]
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
