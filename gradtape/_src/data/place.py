"""The position of an iterator, as a checkpoint saves it: the number of elements so far, and the states of shuffles."""

from __future__ import annotations

import json

import numpy as np

from gradtape._src.control.given import of_calls
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.errors import DataLossError


class Seeds:
    """The seeds of one random op of a dataset, one for each pass if it draws `again`."""

    def __init__(self, own: str, again: bool) -> None:
        self._own, self._again, self._passes = own, again, 0

    def __call__(self) -> str:
        around = _local.place
        own, number = self.fresh() if around is None else around.drawn_by(self)
        return f"{own} {number}"

    def fresh(self) -> tuple[str, int]:
        """Return the seed of a new pass."""
        number = self._passes
        self._passes += self._again
        return self._own, number

    def coming(self) -> tuple[str, int]:
        """Return the seed of the next pass without advancing to it."""
        return self._own, self._passes

    def after(self, own: str, number: int) -> tuple[str, int]:
        """Return the seed of the pass after the one with that seed, in a restored iterator."""
        number += self._again
        self._passes = max(self._passes, number + self._again)
        return own, number


class Place:
    """The state from which an iteration continues. It notes the seeds that are drawn while it is `open`."""

    def __init__(self) -> None:
        self.given = 0
        self._arguments = of_calls()
        self._drawn: list[tuple[str, int]] = []
        self._saved: list[tuple[str, int]] = []  # seeds of a restored place, which are used first
        self._latest: dict[int, tuple[str, int]] = {}  # by the drawing op, in a restored place

    def open(self) -> setting:
        """Open a context for the next element, with the arguments of the calls in which the iteration began."""
        return setting(place=self, call_arguments={**self._arguments, **of_calls()})

    def drawn_by(self, seeds: Seeds) -> tuple[str, int]:
        """Return the seed of the beginning pass."""
        if len(self._drawn) < len(self._saved):
            seed = self._latest[id(seeds)] = self._saved[len(self._drawn)]
        elif id(seeds) in self._latest:
            seed = self._latest[id(seeds)] = seeds.after(*self._latest[id(seeds)])
        else:
            seed = seeds.fresh()
        self._drawn.append(seed)
        return seed

    def state(self, back: int = 0) -> np.ndarray:
        """Return the place before the last `back` elements as a scalar string."""
        return np.array(json.dumps({"given": self.given - back, "seeds": self._drawn}).encode(), object)

    @staticmethod
    def restored(state: np.ndarray) -> tuple[int, Place]:
        """Return the number of elements to skip, and the initial place."""
        place = Place()
        try:
            saved = json.loads(bytes(state[()]))
            place._saved = [(str(own), int(number)) for own, number in saved["seeds"]]
            return int(saved["given"]), place
        except (ValueError, KeyError, TypeError) as error:
            raise DataLossError.saying(f"What a checkpoint has for an iterator is not the place of one: {error}.") from error


class Glance(Place):
    """The place of a look at the first element, for its structure. It does not change the random numbers of the next pass."""

    def drawn_by(self, seeds: Seeds) -> tuple[str, int]:
        """Return the seed of the coming pass."""
        return seeds.coming()


class RankGlance(Glance):
    """The place of a look at the first element for its rank alone, for which no generator runs."""


class RandomAccess(Place):
    """The place of an element taken by its index: a shuffle has one order of all elements, the same for each index."""

    def drawn_by(self, seeds: Seeds) -> tuple[str, int]:
        """Return the seed of the first pass."""
        return seeds.coming()[0], 0


class _Fields:
    """The place of the iterator that requests an element, in this thread or the one for which it works."""

    place: Place | None = field(None, per_replica=True, handed=True)


_local = declare(_Fields)


def by_index() -> bool:
    """Return whether the element is taken by its index."""
    return isinstance(_local.place, RandomAccess)


def only_for_rank() -> bool:
    """Return whether elements are looked at for their ranks alone."""
    return isinstance(_local.place, RankGlance)


def first() -> Place:
    """Return the place of a new iterator."""
    return RandomAccess() if by_index() else Place()
