"""`Checkpoint`: saving and restoring of the variables in a graph of objects, by attribute names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import Stateful, Tracked
from gradtape._src.core.tensors.scopes import init_scope
from gradtape._src.core.tensors.tensor import Tensor, graph_of, to_numpy
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.dtypes import int64, spoken_name
from gradtape._src.train import parts, sources, storage
from gradtape._src.train.containers import awaiting, hang, hanging
from gradtape._src.train.graph import Hung, Match, Slot, children, is_trackable, saved_graph
from gradtape._src.train.options import CheckpointOptions
from gradtape._src.train.reader import some
from gradtape._src.train.state import update_state
from gradtape._src.train.values import array_of, begin, held, hold, layout_of


@hides("written counting")
class Checkpoint(Tracked):
    """A group of objects whose variables are saved and restored together.

    Each keyword is an object to track: a `tf.Module`, variable, optimizer, another Checkpoint, or a list, tuple or dict of
    such. A variable is identified by the path of attributes to it (`model/layers/0/kernel`), not by its own name. The
    attributes of `root` are tracked like the checkpoint's own.

    >>> step = tf.Variable(3)
    >>> path = tf.train.Checkpoint(step=step).save("checkpoints/example")
    >>> step = tf.Variable(0)
    >>> status = tf.train.Checkpoint(step=step).restore(path).assert_consumed()
    >>> int(step)
    3
    """

    _root: Any = None  # also of a subclass that does not call this `__init__`
    _save_counter: Variable | None = None

    @public
    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        for name, value in (({} if root is None else {"root": root}) | kwargs).items():
            if not is_trackable(value):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (a tf.Variable, tf.Module, tf.train.Checkpoint, "
                    f"an object with `variables`, or a list, tuple or dict of such), got {value!r}."
                )
        self._root = root
        for name, value in sorted(kwargs.items()):  # a variable with several names is saved under the first
            setattr(self, name, value)
        self._tracked_children()  # raises if root and the keywords contradict each other

    @property
    def save_counter(self) -> Variable:
        """The number of calls of `save`, an int64 variable; it is saved, too."""
        counter = self._save_counter
        if counter is None:
            self._save_counter = counter = Variable(0, name="save_counter", dtype=int64, trainable=False)
        return counter

    def _tracked_children(self) -> dict[str, Any]:
        """Return the saved objects by name."""
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        if self._save_counter is not None:
            own["save_counter"] = self._save_counter
        if self._root is None:
            return own
        inner = children(self._root)
        for name in own.keys() & inner.keys():
            if own[name] is not inner[name]:
                raise ValueError(
                    f"`Checkpoint` has two objects called {name!r}: an attribute of `root`, and one of its own. Rename one."
                )
        return inner | own

    def _await_children(self, restore: Restore, numbers: dict[str, int]) -> None:
        """Keep the values to be restored later, also for the attributes of the root."""
        super()._await_children(restore, numbers)
        if isinstance(self._root, Tracked):
            self._root._await_children(restore, numbers)

    # -- saving

    @public
    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Write a checkpoint called `file_prefix`, and return that name. It adds no number and does not count."""
        return self.written(_path(file_prefix), options, lambda: None)

    def written(self, prefix: str, options: CheckpointOptions | None, then: Callable[[], None]) -> str:
        """Write a checkpoint as `write` does. When it is complete, call the callbacks of the options, and `then`."""
        nodes, variables, states = saved_graph(self)
        options = CheckpointOptions() if options is None else options

        def complete() -> None:
            options.wrote(prefix)
            then()

        if options.in_parts:
            arrays = {key: array_of(variable) for key, variable in variables.items()} | states
            parts.save(prefix, nodes, arrays, options.background, complete)
        else:
            sources.save(prefix, nodes, {key: held(variable) for key, variable in variables.items()} | states)
            complete()
        return prefix

    @public
    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Write a checkpoint called `file_prefix-<number>`, and return that name. It is noted as the latest in its folder."""
        with self.counting() as number:
            prefix = f"{_path(file_prefix)}-{number}"
            return self.written(prefix, options, lambda: update_state(os.path.dirname(prefix), [(prefix, None)]))

    @contextlib.contextmanager
    def counting(self) -> Iterator[int]:
        """Open a context with the number of a save, which is not counted if it fails."""
        counter = self.save_counter
        before = held(counter, initial=0)
        hold(counter, before + 1)
        try:
            yield int(before) + 1
        except BaseException:
            hold(counter, before)
            raise

    def sync(self) -> None:
        """Wait until checkpoints that are saved in the background (`CheckpointOptions(enable_async=True)`) are on the disk."""
        parts.sync()

    # -- restoring

    @public
    def read(self, save_path: Any, options: Any = None) -> CheckpointLoadStatus:
        """Restore the variables from a checkpoint of `write`; return a status to make assertions with.

        In a checkpoint of `tf.compat.v1.train.Saver`, variables are identified by their own names. Everything is read and
        checked first, so that an error changes no variable. ValueError or InvalidArgumentError for a wrong shape or dtype,
        DataLossError for a damaged file, NotFoundError for a missing one. Attributes that are set later are restored then.
        """
        restore = Restore(self, sources.opened(os.fspath(save_path)))
        restore.run(self, 0)
        return CheckpointLoadStatus(restore)

    @public
    def restore(self, save_path: Any, options: Any = None) -> CheckpointLoadStatus | NothingRestored:
        """Restore like `read`, from a checkpoint of `save`; `save_path` may be None, a result of `latest_checkpoint`."""
        if save_path is None:
            return NothingRestored(self)
        created = self._save_counter is None
        _ = self.save_counter  # made now, so that it is restored, too
        try:
            return self.read(save_path)
        except BaseException:
            if created:
                self._save_counter = None
            raise


def _path(file_prefix: Any) -> str:
    """Return the prefix of a checkpoint's files, which may be a string tensor."""
    return os.fsdecode(to_numpy(file_prefix.node).item() if isinstance(file_prefix, Tensor) else file_prefix)


class Restore:
    """A restore in progress: which parts of the checkpoint are matched with variables."""

    def __init__(self, root: Tracked, reader: storage.CheckpointSource) -> None:
        self.root, self.reader = root, reader
        self.used: set[int] = set()
        self.done: set[int] = set()  # variables that have their values, and do not get them again
        self.kept: list[Variable | Stateful] = []
        self.slots: list[Slot] = []  # of optimizers whose variables are not found yet
        # The graph variables, with the values that `initialize_or_restore` assigns in a session.
        self.later: list[tuple[Variable, Any]] = []

    def run(self, value: Any, number: int, hung: Hung | None = None) -> None:
        """Restore the object `value` from node `number` and below; all of it or nothing."""
        match = self.match(value, number, hung)
        new = [(variable, node) for _, variable, node in match.bound if id(variable) not in self.done]
        wanted = [(variable, key) for variable, node in new if isinstance(variable, Variable) and (key := node.key) is not None]
        states = [(variable, node.keys) for variable, node in new if isinstance(variable, Stateful)]
        _check(wanted, self.reader)
        layouts = {key: layout for variable, key in wanted if (layout := layout_of(variable)) is not None}
        keys = [key for _, node in new for key in node.keys.values()]
        arrays = self.reader.arrays(list(dict.fromkeys(keys)), layouts)
        become = [value.restored({ending: arrays[key] for ending, key in keys.items()}) for value, keys in states]
        changed: list[tuple[Variable, Any]] = []
        try:
            for variable, key in wanted:
                if graph_of(variable._tensor.node) is not None:
                    self.later.append((variable, arrays[key]))
                    continue
                before = variable._tensor
                changed.append((variable, before))
                variable.assign(arrays[key])
            for restore in become:
                restore()
        except BaseException:
            for variable, before in changed:
                variable._restore(before)
            raise
        self.used |= match.used
        self.kept += [variable for variable, _ in new]
        self.done |= {id(variable) for variable, _ in new}
        self._await(match)
        self._later_slots(match)

    def _later_slots(self, match: Match) -> None:
        """Let optimizers await the slots of existing variables; other slots wait for their variables."""
        pending, self.slots = [*self.slots, *match.slots], []
        for owner, name, variable, number in pending:
            of = match.objects.get(variable)
            slot = None if of is None else owner.slot_to_restore(of, name)
            if slot is not None:
                self.run(slot, number)
            elif of is not None:
                owner._await_children(self, {owner.slot_place(of, name): number})
            else:
                self.slots.append((owner, name, variable, number))

    def _await(self, match: Match) -> None:
        """Let objects await their values. Lists and dicts that lack items are replaced by ones that await them."""
        for owner, name, node in match.waiting:
            owner._await_children(self, {name: node})
            value = hanging(owner, name) if owner._awaits_entries and name in children(owner) else None
            if type(value) in (list, dict) or isinstance(value, tuple):
                changed = awaiting(value)
                if changed is not value:
                    hang(owner, name, changed)
                    self._await(self.match(changed, node))

    def match(self, value: Any, number: int = 0, hung: Hung | None = None) -> Match:
        """Match the checkpoint with the objects under `value`: by the graph, or by names for a Saver's checkpoint."""
        if self.reader.by_name:
            return Match([], value, None).by_name(self.reader.entries)
        return Match(self.reader.nodes, value, number, hung, self.reader.foreign)

    def attribute_set(self, owner: Tracked, name: str, number: int, value: Any) -> None:
        """Restore node `number` to an attribute of `owner` that was just set, perhaps in a function under trace."""
        if not is_trackable(value):
            owner._await_children(self, {name: number})
            return
        with init_scope():
            self.run(value, number, (owner, name, number))


def _check(wanted: list[tuple[Variable, str]], reader: storage.CheckpointSource) -> None:
    """Raise one error for all variables whose saved values do not fit."""
    shapes, types = [], []
    for variable, key in wanted:
        entry = reader.entries[key]
        if not variable.shape.is_compatible_with(entry.shape):
            shapes.append(
                f"Received incompatible tensor with shape {entry.shape} when attempting to restore variable with shape "
                f"{variable.shape} and name {variable.name} ({key})."
            )
        if variable.dtype.numpy != entry.dtype:
            types.append(
                f"tensor_name = {key}; expected dtype {spoken_name(variable.dtype)} does not equal original dtype "
                f"{spoken_name(entry.dtype)} (variable {variable.name})."
            )
    if shapes or types:
        message = "\n".join([*shapes, *types, f"No variable was changed. The checkpoint is {reader.path}."])
        raise ValueError(message) if shapes else invalid(message)


class CheckpointLoadStatus:
    """The status of a restore, with assertions that return the status."""

    def __init__(self, restore: Restore) -> None:
        self._restore = restore

    @public
    def assert_consumed(self) -> CheckpointLoadStatus:
        """Raise AssertionError unless every saved object is matched, and every variable has its value."""
        self.assert_existing_objects_matched()
        nodes = self._restore.reader.nodes
        left = [node.key for number, node in enumerate(nodes) if node.key is not None and number not in self._restore.used]
        if left:
            raise AssertionError(
                f"Unresolved object in checkpoint {self._restore.reader.path}: {some(left)}. Nothing of that name hangs on the "
                "objects that are being restored. Build the model first, or use expect_partial()."
            )
        return self

    @public
    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Raise AssertionError unless every existing variable is restored."""
        match = self._restore.match(self._restore.root)
        unrestored = [(path, variable) for path, variable, _ in match.bound if id(variable) not in self._restore.done]
        if match.unbound or unrestored:
            names = [f"{path} {variable!r}" for path, variable in match.unbound + unrestored]
            raise AssertionError(
                f"Found {len(names)} Python objects that were not bound to checkpointed values, likely due to changes in the "
                f"Python program. Showing {min(len(names), 10)} of {len(names)} unmatched objects: {some(names)}"
            )
        return self

    @public
    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Raise AssertionError if only the root is matched."""
        if self._restore.reader.by_name:
            return self.assert_existing_objects_matched()
        if self._restore.used <= {0} and len(self._restore.reader.nodes) > 1:
            raise AssertionError(
                f"Nothing except the root object matched a checkpointed value. The checkpoint {self._restore.reader.path} has "
                f"{some([node.key for node in self._restore.reader.nodes if node.key is not None])}."
            )
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Declare that a partial restore is intended."""
        return self

    @public
    def run_restore_ops(self, session: Any = None) -> None:
        """Assign the values of graph variables in `session`, or the default one. Eager variables have them already."""
        for variable, value in self._restore.later:
            hold(variable, value, session)

    @public
    def initialize_or_restore(self, session: Any = None) -> None:
        """Restore like `run_restore_ops`; graph variables that are not in the checkpoint get their initial values."""
        match = self._restore.match(self._restore.root)
        begin([variable for _, variable in match.unbound if isinstance(variable, Variable)], session)
        self.run_restore_ops(session)


class NothingRestored:
    """The status of `restore(None)`: there was no checkpoint."""

    def __init__(self, root: Tracked) -> None:
        self._root = root

    @public
    def assert_consumed(self) -> NothingRestored:
        """Raise AssertionError: there was nothing to restore."""
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = run_restore_ops = assert_consumed

    @public
    def initialize_or_restore(self, session: Any = None) -> None:
        """Assign the initial values of graph variables in `session`, or the default one."""
        unbound = [variable for _, variable in Match([], self._root, None).unbound]
        begin([variable for variable in unbound if isinstance(variable, Variable)], session)

    def expect_partial(self) -> NothingRestored:
        """Declare that a partial restore is intended."""
        return self
