"""`tf.saved_model.load`: the objects of a saved model, with variables and differentiable functions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.core.base.errors import DataLossError
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import State, Stateful, Tracked
from gradtape._src.core.tensors.scopes import init_scope
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.creators import VariableAggregation, VariableSynchronization
from gradtape._src.train import storage
from gradtape._src.train.saved_model import folder as folders
from gradtape._src.train.saved_model.encoding import named_tuple, restored
from gradtape._src.train.saved_model.reading import Programs
from gradtape._src.train.saved_model.restored import RestoredFunction, RestoredTrace
from gradtape._src.train.saved_model.signatures import SignatureMap

SERVE = ["serve"]
MOST_HOLES = 1 << 16  # limit of list items that are no objects, and become None


class LoadedObject(Tracked):
    """A loaded object, with the saved variables, objects and functions as attributes."""

    signatures: SignatureMap

    def _tracked_children(self) -> dict[str, Any]:
        """Return the children of this object by name, without the signatures, which a save derives from functions."""
        return {name: value for name, value in super()._tracked_children().items() if name != "signatures"}


class LoadedCallable(LoadedObject):
    """A loaded object that was saved with a tf.function `__call__`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return vars(self)["__call__"](*args, **kwargs)


class LoadedState(Stateful):
    """The saved state of a table, an iterator or the like, without the object. A save writes the state unchanged."""

    def __init__(self, saved_as: str, state: State) -> None:
        self.saved_as, self._state = saved_as, state

    def saved_state(self) -> State:
        """Return the arrays that were loaded."""
        return self._state

    def restored(self, state: State) -> Callable[[], None]:
        """Return a function that takes the arrays of a checkpoint."""
        return lambda: setattr(self, "_state", state)


@public
def contains_saved_model(export_dir: Any) -> bool:
    """Return whether a folder has a saved model that `tf.saved_model.load` may load.

    >>> print(tf.saved_model.contains_saved_model("."))
    False
    """
    return os.path.isfile(os.path.join(os.fspath(export_dir), folders.FILE))


@public
def load(export_dir: Any, tags: Any = None, options: Any = None) -> Any:
    """Load a model of `tf.saved_model.save`: an object with the same variables, objects and functions as attributes.

    Its functions accept the saved signatures, and can be differentiated; `signatures` are the named ones. No code in the
    folder is run, and all of it is checked. An error leaves no partial object.

    OSError if there is no saved model, DataLossError if it is damaged, UnimplementedError for one of TensorFlow's, ValueError
    for other `tags` than "serve".

    >>> module = tf.Module()
    >>> module.double = tf.function(lambda x: 2.0 * x, input_signature=[tf.TensorSpec([None])])
    >>> tf.saved_model.save(module, "doubling")
    >>> print(tf.saved_model.load("doubling").double(tf.constant([1.0, 2.0])).numpy())
    [2. 4.]
    """
    folder = os.fspath(export_dir)
    if not contains_saved_model(folder):
        folders.refuse(folder)
    if tags is not None and sorted([tags] if isinstance(tags, str) else tags) != SERVE:
        raise ValueError(
            f"Got an incompatible argument to `tags`: {tags}. The SavedModel at {folder} has one MetaGraph with tags {SERVE}. "
            "You may omit the argument, pass 'None', or pass matching tags."
        )
    with init_scope(), _damage(folder):
        paths, model = folders.read(folder)
        constants, values = storage.Reader(paths.constants), storage.Reader(paths.variables)
        programs = Programs(model["programs"], constants.arrays(list(constants.entries)))
        return Loader(model, programs, values.arrays(list(values.entries))).root


@contextlib.contextmanager
def _damage(folder: str) -> Iterator[None]:
    """Convert any error of a damaged folder's reader to one error that names the folder."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        said = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise DataLossError.saying(f"The saved model {folder} is damaged, or is none: {said} Nothing was loaded.") from error


class Loader:
    """A builder of the objects of a saved model; `root` is the first of them."""

    def __init__(self, model: Any, programs: Programs, values: Any) -> None:
        self._entries, self._values = model["objects"], values
        self._made: list[Any] = [self._object(entry) for entry in self._entries]
        self._functions = [self._function(given, programs) for given in model["functions"]]
        self._begun: set[int] = set()
        for number in range(len(self._entries)):
            self._fill(number)
        self.root = self._made[0]
        if not isinstance(self.root, LoadedObject):
            raise ValueError("its first object is none.")
        self.root.signatures = SignatureMap({name: self._signature(number) for name, number in model["signatures"].items()})

    def _object(self, entry: Any) -> Any:
        """Return an object before its children are set; None for a tuple, which is built from its items."""
        match entry["kind"]:
            case "object":
                named = [name for name, _ in (*entry["children"], *entry["functions"])]
                return LoadedCallable() if "__call__" in named else LoadedObject()
            case "list":
                return [None] * _length(entry)
            case "dict":
                return {}
            case "tuple" | "namedtuple":
                return None
            case "state":
                return LoadedState(str(entry["saved_as"]), {end: self._values[key] for end, key in entry["keys"].items()})
            case "variable":
                return self._variable(entry)
        raise ValueError(f"{entry['kind']!r} is no kind of object.")

    def _variable(self, entry: Any) -> Variable:
        return Variable(
            self._values[entry["key"]],
            trainable=bool(entry["trainable"]),
            name=entry["name"],
            synchronization=VariableSynchronization[entry["synchronization"]],
            aggregation=VariableAggregation[entry["aggregation"]],
            shape=restored(entry["shape"]),
        )

    def _function(self, given: Any, programs: Programs) -> Any:
        function = RestoredFunction(given, [RestoredTrace(trace, programs, self._variable_of) for trace in given["traces"]])
        return function.concrete_functions[0] if given["concrete"] else function

    def _variable_of(self, number: Any) -> Variable:
        made = self._made[_position(number, self._made)]
        if not isinstance(made, Variable):
            raise ValueError(f"object {number!r} is no variable.")
        return made

    def _signature(self, number: Any) -> ConcreteFunction:
        found = self._functions[_position(number, self._functions)]
        if not isinstance(found, ConcreteFunction):
            raise ValueError("a signature is no concrete function.")
        if isinstance(results := found.structured_outputs, dict):
            # A dict is flattened in this order; the parts of a composite tensor have no names.
            found.result_names = sorted(results) if len(results) == len(found.outputs) else None
        return found

    def _fill(self, number: int) -> None:
        """Set the saved attributes, items or values of an object."""
        entry, made = self._entries[number], self._made[number]
        if entry["kind"] in ("variable", "state") or number in self._begun:
            return
        self._begun.add(number)
        named = {name: self._child(n) for name, n in entry["children"]}
        named |= {name: self._functions[_position(n, self._functions)] for name, n in entry["functions"]}
        match entry["kind"]:
            case "object":
                if not all(map(_is_attribute, named)) or (number == 0 and "signatures" in named):
                    raise ValueError(f"{list(named)} are no attributes.")
                vars(made).update(named)
            case "dict":
                made.update({restored(key): named[name] for name, key in entry["keys"] if name in named})
            case "list":
                made[:] = [named.get(str(i)) for i in range(len(made))]
            case "tuple":
                self._made[number] = tuple([named.get(str(i)) for i in range(_length(entry))])
            case "namedtuple":
                self._made[number] = named_tuple(entry["name"], entry["fields"])(*map(named.get, entry["fields"]))

    def _child(self, number: Any) -> Any:
        position = _position(number, self._made)
        if self._made[position] is None:
            self._fill(position)
        if self._made[position] is None:
            raise ValueError(f"object {position} is a tuple that holds itself.")
        return self._made[position]


def _is_attribute(name: Any) -> bool:
    return type(name) is str and (name == "__call__" or not name.startswith("__"))


def _position(number: Any, items: Any) -> int:
    if type(number) is not int or not 0 <= number < len(items):
        raise ValueError(f"there is no number {number!r} among {len(items)}.")
    return number


def _length(entry: Any) -> int:
    length = entry["length"]
    if type(length) is not int or not 0 <= length <= len(entry["children"]) + len(entry["functions"]) + MOST_HOLES:
        raise ValueError(f"a list has {length!r} items.")
    return length
