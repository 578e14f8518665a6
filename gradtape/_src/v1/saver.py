"""`Saver`: TensorFlow 1's checkpoints, with variables by name."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, NotFoundError
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import variable_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.dtypes import spoken_name
from gradtape._src.train import sources, storage
from gradtape._src.train.reader import CheckpointReader, load_checkpoint, some
from gradtape._src.train.state import FILE, Saved, update_state
from gradtape._src.train.values import held, hold
from gradtape._src.v1.graphs.collections import global_variables
from gradtape._src.v1.graphs.graph import in_graph


class Saver:
    """Saves the values of variables in a session under their names, and restores them.

    `var_list` is a list of variables, or a dict from saved names to variables; by default all of the graph. The last
    `max_to_keep` checkpoints are kept (0 or None: all), and one per `keep_checkpoint_every_n_hours`.

    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     w = tf.compat.v1.get_variable("w", initializer=[1.0, 2.0])
    ...     saver = tf.compat.v1.train.Saver()
    ...     session.run(w.initializer)
    ...     path = saver.save(session, "checkpoints/by_name", global_step=7)
    ...     session.run(w.assign([0.0, 0.0]).op)
    ...     saver.restore(session, path)
    ...     session.run(w)
    array([1., 2.], dtype=float32)
    """

    @public
    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if var_list is None and in_graph() is None:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of variables to save: there is no "
                "graph to take them from. Or use tf.train.Checkpoint."
            )
        self._max_to_keep, self._hours = max_to_keep or None, keep_checkpoint_every_n_hours
        self._reshape, self._pad, self._given, self._empty = reshape, pad_step_number, var_list, allow_empty
        self._saved: list[Saved] = []
        self._kept_until = time.time()
        self._variables: dict[str, Variable] | None = None
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Select the variables to save; called by the constructor unless `defer_build` is set."""
        self._variables = _named(global_variables() if self._given is None else self._given)
        if not self._variables and not self._empty:
            raise ValueError("No variables to save")

    def _known(self) -> dict[str, Variable]:
        if self._variables is None:
            raise RuntimeError("Saver not built: call build(), or leave defer_build out.")
        return self._variables

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the kept checkpoints, oldest first."""
        return [path for path, _ in self._saved]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Set the list of earlier checkpoints."""
        self._saved = [(path, None) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[Saved]) -> None:
        """Set the list of earlier checkpoints, as pairs of a path and the time when it was saved."""
        self._saved = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Set the list of earlier checkpoints to those of these that exist."""
        files = {path: sources.file_of(os.fspath(path)) for path in checkpoint_paths}
        self._saved = [(path, os.path.getmtime(file)) for path, file in files.items() if os.path.isfile(file)]

    @public
    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Write the values of the variables in `sess` (None in eager code), and return the path.

        The path is `save_path`, with `-<global_step>` appended if that is given: a number, tensor or variable. The folder records
        it as the latest. FailedPreconditionError if a variable is uninitialized.
        """
        prefix = os.fspath(save_path)
        if global_step is not None:
            number = int(_plain(global_step, sess))
            prefix = f"{prefix}-{number:08d}" if self._pad else f"{prefix}-{number}"
        sources.save(prefix, None, {name: held(variable, sess) for name, variable in self._known().items()})
        if write_state:
            self._note(prefix, latest_filename or FILE)
        return prefix

    def _note(self, prefix: str, filename: str) -> None:
        """Note a checkpoint, and delete surplus ones."""
        self._saved = [entry for entry in self._saved if entry[0] != prefix] + [(prefix, time.time())]
        over = [] if self._max_to_keep is None else self._saved[: -self._max_to_keep]
        self._saved = self._saved[len(over) :]
        update_state(os.path.dirname(prefix), self._saved, filename=filename)
        for path, saved_at in over:
            if saved_at is not None and saved_at - self._hours * 3600 >= self._kept_until:
                self._kept_until = saved_at
                continue
            sources.remove(path)

    @public
    def restore(self, sess: Any, save_path: Any) -> None:
        """Assign a checkpoint's values to the variables in `sess` (None in eager code), which need not be initialized.

        NotFoundError if it lacks a variable's name, InvalidArgumentError if a shape or dtype differs: then no variable has
        changed. ValueError if the checkpoint does not exist.
        """
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix, variables = os.fspath(save_path), self._known()
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        reader = sources.opened(prefix)
        keys = {name: _key(name, reader) for name in variables}
        self._check(variables, keys, reader)
        arrays = reader.arrays(list(dict.fromkeys(keys.values())))
        for name, variable in variables.items():
            hold(variable, arrays[keys[name]].reshape(variable.aval.shape), sess)

    def _check(self, variables: Mapping[str, Variable], keys: Mapping[str, str], reader: storage.CheckpointSource) -> None:
        wrong = []
        for name, variable in variables.items():
            entry = reader.entries[keys[name]]
            fits = variable.shape.is_compatible_with(entry.shape)
            if self._reshape:
                fits = int(np.prod(entry.shape)) == variable.aval.size
            if not fits:
                wrong.append(f"Assign requires shapes of both tensors to match. {name}: {variable.shape} is not {entry.shape}.")
            elif variable.dtype.numpy != entry.dtype:
                wrong.append(
                    f"{name}: expected dtype {spoken_name(variable.dtype)}, the checkpoint has {spoken_name(entry.dtype)}."
                )
        if wrong:
            raise InvalidArgumentError.saying("\n".join([*wrong, f"The checkpoint is {reader.path}."]))


def _named(variables: Any) -> dict[str, Variable]:
    """Return variables by the names under which they are saved."""
    if isinstance(variables, Mapping):
        pairs = list(variables.items())
    else:
        pairs = [(str(getattr(v, "name", "")).removesuffix(":0"), v) for v in variables]
    named: dict[str, Variable] = {}
    for name, variable in pairs:
        variable = variable_of(variable)
        if not isinstance(variable, Variable):
            raise TypeError(f"A Saver saves variables, received {variable!r}. Give a list of them, or a dict by names.")
        if name in named or any(variable is other for other in named.values()):
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = variable
    return named


def _key(name: str, reader: storage.CheckpointSource) -> str:
    """Return a variable's key; an object-based checkpoint also has the names of its variables."""
    if name not in reader.entries:
        for node in reader.nodes:
            if node.name == name and node.key is not None:
                return node.key
        raise NotFoundError.saying(f"Key {name} not found in checkpoint\n{reader.path} has {some(sorted(reader.entries))}.")
    return name


def _plain(step: Any, session: Any) -> Any:
    if isinstance(step := variable_of(step), Variable) and session is not None:
        return held(step, session)
    return session.run(step) if hasattr(step, "op") and session is not None else step


@public
def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Return whether a checkpoint of that path exists."""
    return sources.is_there(os.fspath(checkpoint_prefix))


@public
def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    """Initialize variables of the graph from a checkpoint.

    `assignment_map` maps names in the checkpoint to variables or their names. A name that ends in "/" stands for a scope, and is
    mapped to a scope. The variables' initializers assign these values from now on.
    """
    reader, named = load_checkpoint(ckpt_dir_or_file), {v.name.removesuffix(":0"): v for v in global_variables()}
    for source, target in assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map:
        if isinstance(target := variable_of(target), Variable):
            _begin(target, source, reader)
        elif source.endswith("/"):
            scope = target if target.endswith("/") or not target else f"{target}/"
            begun = [(name, variable) for name, variable in named.items() if name.startswith("" if scope == "/" else scope)]
            for name, variable in begun:
                _begin(variable, (source + name.removeprefix(scope)).removeprefix("/"), reader)
        elif target in named:
            _begin(named[target], source, reader)
        else:
            raise ValueError(f"Variable {target} not found in the graph; it has {some(sorted(named))}.")


def _begin(variable: Variable, source: str, reader: CheckpointReader) -> None:
    if not reader.has_tensor(source):
        raise ValueError(
            f"Tensor {source} is not found in the checkpoint; it has {some(sorted(reader.get_variable_to_shape_map()))}."
        )
    value = np.asarray(reader.get_tensor(source))
    if not variable.shape.is_compatible_with(value.shape):
        raise ValueError(
            f"Shape of variable {variable.name} {variable.shape} doesn't match with shape of tensor {source} {value.shape}."
        )
    graph = in_graph()
    if graph is None:
        variable.assign(value)
    else:
        graph.begin_with(variable, value)
