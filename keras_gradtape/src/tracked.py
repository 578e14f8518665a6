"""The children of Keras's layers and optimizers in a checkpoint: attributes, under TensorFlow's names."""

from typing import Any

from keras.src.backend.common import KerasVariable
from keras.src.metrics.metric import Metric
from keras.src.random.seed_generator import SeedGenerator
from keras.src.utils.tracking import TrackedDict, TrackedList, TrackedSet

from gradtape._src.core.declarations.module import Tracked
from gradtape._src.train.graph import is_trackable

# Keras's collections, whose members are also attributes.
COLLECTED = frozenset({"_trainable_variables", "_non_trainable_variables", "_layers", "_metrics", "_seed_generators"})


class KerasTracked(Tracked):
    """A Keras object with variables, or containers of variables, in its attributes.

    As with TensorFlow, metrics are not saved. Members of lists and dicts, and the states of random numbers, are saved, unlike
    in TensorFlow.
    """

    _COLLECTED = COLLECTED
    _awaits_entries = False  # Keras has its own lists and dicts, and reports the creation of variables

    def _tracked_children(self):
        """Return the attributes that have something to save."""
        found = {name: _saved(value) for name, value in super()._tracked_children().items() if name not in self._COLLECTED}
        return {name: value for name, value in found.items() if _has_state(value)}

    def _children_only_here(self):
        """Return the names of attributes that TensorFlow does not save: lists and dicts, and the states of random numbers."""
        kinds = (SeedGenerator, TrackedList, TrackedDict, TrackedSet)
        return frozenset(name for name, value in vars(self).items() if isinstance(value, kinds))

    def _child_set(self, name: str, value: Any) -> None:
        """Note a new child. A variable that is not initialized yet notifies when it is."""
        if "_awaited" not in self.__dict__:
            return
        if isinstance(value, KerasVariable) and value._value is None:
            value._when_initialized = lambda: self._child_set(name, value)
            return
        super()._child_set(name, _saved(value))


def _saved(value):
    return value.state if isinstance(value, SeedGenerator) else value


def _has_state(value):
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, (list, tuple)):
        return any(_has_state(item) for item in value)
    return is_trackable(value) and not isinstance(value, Metric)
