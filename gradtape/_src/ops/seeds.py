"""Seeds of random ops: the global seed, the op's own, and how often it was drawn.

A seed is int64[2]: which stream of numbers, and the how-manieth draw from it. It is a leaf of the program, so that
every step of a training loop is the same program, and computing a draw again gives the same numbers.

The global seed is the process's, as TensorFlow's is; threads that draw at the same time share its count, so their
numbers depend on their order. For numbers that do not, use a `Generator` or the stateless functions in each thread.
"""

import contextlib
import hashlib
import itertools
import os
import threading

import jax.numpy as jnp
import numpy as np

from gradtape._src.core.aval import aval
from gradtape._src.core.errors import public
from gradtape._src.core.op import Op, define
from gradtape._src.core.program import leaf
from gradtape._src.core.tensor import EagerTensor, emit

DEFAULT = 87654321  # the global seed of an op that has a seed of its own, where none was set
SEED = aval((2,), np.dtype(np.int64))
MIX = 6364136223846793005  # the multiplier of Knuth's MMIX generator


class Stream:
    """Seeds one after the other, the same ones for the same `origin` (anything that prints the same everywhere).

    `set_seed` starts it from its beginning, as it does the ops of functions that were traced before; not if its origin
    is random, as no seed was set when it was made.
    """

    def __init__(self, *origin):
        digest = hashlib.blake2b(repr(origin).encode(), digest_size=8).digest()
        self.origin, self.base, self.count = origin, int.from_bytes(digest, "little", signed=True), 0
        self.begun_under = _global

    @property
    def is_random(self):
        """Whether no seed was set."""
        return isinstance(self.origin[0], bytes)

    def again(self):
        """The same stream from its beginning; another one if no seed was set."""
        first, *rest = self.origin
        return Stream(os.urandom(16) if self.is_random else first, *rest)

    def draw(self):
        """The next seed."""
        with _lock:
            if self.begun_under is not _global:
                self.begun_under = _global
                self.count = self.count if self.is_random else 0
            self.count += 1
            return np.array([self.base, self.count], np.int64)


class Global:
    """The global seed, and the streams that it has begun. `place` tells ops apart that draw from a source of their own."""

    def __init__(self, seed=None, place=None):
        self.seed, self.place, self.streams, self.places = seed, place, {}, itertools.count()

    def stream(self, kind, seed):
        """The stream of ops of type `kind` with a `seed` of their own; for None the one that all ops without share."""
        key = None if seed is None else (kind, seed)
        with _lock:
            found = self.streams.get(key)
            if found is None:
                found = self.streams[key] = Stream(*self.origin(kind, seed, self.place))
            return found

    def origin(self, kind, seed, position=None):
        """Where the numbers of an op come from; `position` is its place in a function."""
        if seed is not None:
            return (DEFAULT if self.seed is None else self.seed, kind, plain(seed))
        return (os.urandom(16) if self.seed is None else self.seed, position)


class Drawing(threading.local):
    """What a thread that traces a function has met of draws, as `(leaf, stream)`; None outside of a function."""

    draws: list | None = None
    source = None  # the Global of the graph that is being built
    own = None  # the Global of the pass over a dataset whose function runs

    def __init__(self):
        self.trips = []  # the nodes that number the trips of the loops that are being traced


_lock = threading.RLock()
_global = Global()
_drawing = Drawing()


def plain(seed):
    """A seed that prints the same whatever type of integer it is."""
    return int(seed) if isinstance(seed, np.integer) else seed


@public
def set_seed(seed):
    """Set the global seed, on which depends what random ops give from here on.

    An op with its own seed has a count of its own, ops without one share one; this starts them all again. None: ops
    without a seed of their own give other numbers each time the program runs. A function that was traced before keeps the
    seeds that its ops had then, and starts them again, too.
    """
    global _global
    if _drawing.source is not None:
        _drawing.source.seed = plain(seed)
        return
    _global = Global(plain(seed))


def draw(kind, seed):
    """The seed for one run of an op of type `kind` whose own seed is `seed` (or None), a Tensor."""
    draws = _drawing.draws
    if draws is None:
        return _taken((_drawing.own or _global).stream(kind, seed))
    source = _drawing.source or _global
    return _taken(Stream(*source.origin(kind, seed, len(draws))))


def place():
    """A number for a function that draws from a source of its own, one after the other from where the global seed was set."""
    return next(_global.places)


def begun(place):
    """A source that gives each time the same numbers to the ops that have a seed, or all ops if the global one is set."""
    return Global(_global.seed, ("place", place))


@contextlib.contextmanager
def drawn_from(source):
    """For calling a function in eager code: the seeds come from the Global `source`."""
    outer = _drawing.own, _drawing.draws
    _drawing.own, _drawing.draws = source, None
    try:
        yield
    finally:
        _drawing.own, _drawing.draws = outer


def drawn():
    """What the function that is being traced has drawn so far, as `(leaf, stream)`."""
    return _drawing.draws or []


def again(stream):
    """The next seed of a stream that a traced function draws from, a Tensor; in another function that one's caller draws."""
    return _taken(stream)


def _taken(stream):
    draws = _drawing.draws
    if draws is None:
        node = leaf(SEED, stream.draw())
    else:
        node = leaf(SEED, None)
        draws.append((node, stream))
    seed = EagerTensor(node)
    for number in _drawing.trips:
        seed = of_trip(seed, EagerTensor(number))
    return seed


def _of_trip(seed, number):
    base = seed[0] * MIX + number + 1
    return jnp.stack([base, seed[1]])


_OF_TRIP = define(Op("SeedOfTrip", _of_trip, infer=lambda seed, number: seed))
_OF_TRIP.reason = "a seed has no derivative"


def of_trip(seed, number):
    """The seed for trip `number` (int64) of a loop, a Tensor: another stream for each."""
    return emit(_OF_TRIP, (seed.node, number.node))


@contextlib.contextmanager
def drawn_by(source, draws):
    """For building a graph: each random op adds `(leaf, stream)` to the list `draws`; the seeds come from the Global `source`."""
    outer = _drawing.draws, _drawing.source, _drawing.trips
    _drawing.draws, _drawing.source, _drawing.trips = draws, source, []
    try:
        yield
    finally:
        _drawing.draws, _drawing.source, _drawing.trips = outer


@contextlib.contextmanager
def in_trip(number):
    """For tracing the body of a loop: what is drawn in it differs from trip to trip; `number` is the node of the trip's."""
    _drawing.trips.append(number)
    try:
        yield
    finally:
        _drawing.trips.pop()


@contextlib.contextmanager
def drawn_by_caller():
    """For tracing a function: yields a list, to which each random op in its body adds `(leaf, stream)`.

    The leaf is int64[2] without a value, to be made a parameter; each call of the function gives it `stream.draw()`.
    """
    outer, _drawing.draws = _drawing.draws, []
    trips, _drawing.trips = _drawing.trips, []
    try:
        yield _drawing.draws
    finally:
        _drawing.draws, _drawing.trips = outer, trips
