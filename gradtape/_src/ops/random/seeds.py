"""Seeds of random ops: the global seed, the op's own, and what was drawn before. They are TensorFlow's.

The state that an op draws from (see `philox`) is int64[3]: the key is the global seed, the upper word of the counter the op's
own seed, and the lower one moves on with each draw. It is a leaf of the program, so every step of a training loop is the same
program. A draw computed again gives the same numbers.

The global seed is the process's, as TensorFlow's is; threads that draw at the same time share its count, so their
numbers depend on their order. For numbers that do not, use a `Generator` or the stateless functions in each thread.
"""

import contextlib
import itertools
import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradtape._src.core.base import ambient, locks
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, tiers
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import leaf
from gradtape._src.core.tensors.tensor import EagerTensor, emit
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.ops.random import philox

DEFAULT = 87654321  # the global seed of an op that has a seed of its own, where none was set
LARGEST = 2**31 - 1  # seeds are taken modulo this
STATE = aval((3,), np.dtype(np.int64))
MIX = 6364136223846793005  # the multiplier of Knuth's MMIX generator


def pair(seed, own):
    """Return the two seeds of an op, of the global one and its own; they may be None, but not both."""
    found = (DEFAULT if seed is None else _integer(seed) % LARGEST), _integer(own) % LARGEST
    return (0, LARGEST) if found == (0, 0) else found


def _integer(seed):
    try:
        if not isinstance(seed, str):
            return int(seed)
    except TypeError:  # such as a pair of seeds, which stateless ops take
        pass
    raise TypeError(f"Expected int for argument 'seed' not {seed!r}.")


class Stream:
    """The states that one random op draws from, one after the other: the same ones for the same two seeds (see `pair`).

    Each draw moves on by a number of `blocks`. `set_seed` starts it from its beginning, as it does the ops of functions that
    were traced before; not if there is no seed, so that its states are random.

    An op that is `repeated` in a loop moves on with the trips; its draws are told apart by the upper bits of its own seed.
    """

    def __init__(self, seed, own, blocks=0, repeated=False):
        self.seed, self.own, self.blocks, self.repeated = seed, own, blocks, repeated
        self.is_random = seed is None and own is None
        self.words = tuple(np.frombuffer(os.urandom(16), np.int64).tolist()) if self.is_random else pair(seed, own)
        self.position, self.begun_under = 0, _global

    @property
    def stream(self):
        """The stream that it draws from: itself."""
        return self

    def again(self):
        """Return the same stream from its beginning; another one if no seed was set."""
        return Stream(self.seed, self.own, self.blocks, self.repeated)

    def shared(self, blocks):
        """Return a source that draws from this stream, another number of `blocks` each time."""
        return self if blocks == self.blocks else Shared(self, blocks)

    def draw(self, blocks=None):
        """Return the next state, from which `blocks` are set aside."""
        key, own = self.words
        with _lock:
            if self.begun_under is not _global:
                self.begun_under = _global
                self.position = self.position if self.is_random else 0
            position = self.position
            self.position += 1 if self.repeated else self.blocks if blocks is None else blocks
        if self.repeated:
            own, position = own + (position << 32), 0
        return np.array([position, own, key], np.int64)

    def skip(self, blocks):
        """Set aside `blocks` more for the last draw."""
        with _lock:
            self.position += blocks


class Shared:
    """A stream that another trace of a function draws from, too, a number of `blocks` each time."""

    def __init__(self, stream, blocks):
        self.stream, self.blocks = stream, blocks

    def again(self):
        """Draw again, like the stream."""
        return Shared(self.stream.again(), self.blocks)

    def shared(self, blocks):
        """Return a source that draws from the same stream, another number of `blocks` each time."""
        return self.stream.shared(blocks)

    def draw(self, blocks=None):
        """Return the next state of the stream."""
        return self.stream.draw(self.blocks if blocks is None else blocks)


class Global:
    """The global seed, and the streams that it has begun.

    Ops without a seed of their own get one: the next of a generator of integers; or, where the source is that of a pass over a
    dataset (`numbered`), the number of earlier draws in the called function.
    """

    def __init__(self, seed=None, numbered=False):
        self.seed, self.numbered, self.streams, self._generator = seed, numbered, {}, None

    def stream(self, kind, seed):
        """Return the stream of ops of type `kind` with a `seed` of their own, or with none."""
        with _lock:
            if seed is None and self.seed is not None:
                if not self.numbered:
                    return Stream(self.seed, self._next())
                kind, seed = "numbered", next(_local.unseeded)
            # A device of TensorFlow's has its own.
            key = None if seed is None else (kind, _integer(seed), ambient.local.replica)
            found = self.streams.get(key)
            if found is None:
                found = self.streams[key] = Stream(self.seed, seed)
            return found

    def _next(self):
        if self._generator is None:
            self._generator = random.Random(self.seed)
        return self._generator.randint(0, LARGEST)


class Draws(list):
    """The draws in a function or graph, as `(leaf, stream)`.

    The leaf is int64[3] without a value, to be made a parameter; each call of the function gives it `stream.draw()`. `kept` are
    the streams of other traces of the function, if they go on in this one.
    """

    kept: list[Stream] | None = None
    begun = 0  # how many of the draws began a stream: others go on with that of a function that is called

    def stream(self, *of):
        """Return the stream for the next draw: a new one, or that of the same op in other traces."""
        stream = Stream(*of)
        if self.kept is None:
            return stream
        place = self.begun
        self.begun += 1
        if place == len(self.kept):
            self.kept.append(stream)
        found = self.kept[place]
        return found.shared(stream.blocks) if (found.own, found.repeated) == (stream.own, stream.repeated) else stream


class _Fields:
    """The sources of a thread's seeds: Globals, and what gives states in their place.

    `seeds_of_graph`: of the graph that is being built. `seeds_of_pass`: of the pass over a dataset whose function runs, and
    `unseeded`, the numbers of ops without a seed in this call of the function. `asked`: what gives states for a call that a graph
    keeps. `drawn_at_once`: the states that were drawn where a graph runs op by op, with their streams. `stands_for`: the
    parameters of branches and loop bodies that are recorded again, with the nodes of the caller.
    """

    seeds_of_graph: Any = field(None, per_replica=True)
    seeds_of_pass: Any = field(None, per_replica=True)
    unseeded: Iterator[int] = field(itertools.count, per_replica=True)
    asked: Any = field(None, per_replica=True)
    drawn_at_once: dict[Any, Any] | None = field(None, per_replica=False)
    stands_for: dict[Any, Any] = field(dict, per_replica=True)


_lock = locks.RLock()
_global = Global()
_local = declare(_Fields)


def plain(seed):
    """Return a seed of Python's own types."""
    return seed if seed is None or isinstance(seed, (int, float, str, bytes)) else int(seed)


@public
def set_seed(seed):
    """Set the global seed, on which depends what random ops give from here on: TensorFlow's numbers.

    Ops with a seed of their own go on where those of the same type, seed and dtype stopped; this starts them all again. None:
    ops without a seed of their own give other numbers each time the program runs. A function that was traced before keeps the
    seeds that its ops had then, and starts them again, too.

    >>> tf.random.set_seed(3)
    >>> a = tf.random.normal([])
    >>> tf.random.set_seed(3)
    >>> bool(a == tf.random.normal([]))
    True
    """
    global _global
    if _local.seeds_of_graph is not None:
        _local.seeds_of_graph.seed = plain(seed)
        return
    _global = Global(plain(seed))


def global_seed():
    """Return the global seed of eager code, None before one is set."""
    return _global.seed


def share(seed):
    """Set the global seed if none is set: that of a group of processes, which draw the same numbers."""
    if _global.seed is None:
        set_seed(seed)


def required(seed):
    """Raise RuntimeError for an op without a seed, its own or a global one, where results are to be deterministic."""
    if seed is not None or not tiers.deterministic:
        return
    source = (_local.seeds_of_pass if _around()[0] is None else _local.seeds_of_graph) or _global
    if source.seed is None:
        raise RuntimeError(
            "Random ops require a seed to be set when determinism is enabled. Please set a seed before running the op, e.g. by "
            "calling tf.random.set_seed(1)."
        )


def draw(kind, seed, blocks):
    """Return the state for one run of an op of type `kind` that uses up to `blocks`; its own seed is `seed` (or None). A
    Tensor.
    """
    required(seed)
    draws, trips = _around()
    if _local.asked is not None and not trips:
        return _local.asked(kind, seed, blocks)
    if draws is None:
        return _of_trips(_taken((_local.seeds_of_pass or _global).stream(kind, seed), blocks), trips)
    state = _begun(draws, trips, seed, blocks)
    return advanced(state, EagerTensor(trips[-1]), blocks) if trips else state


def draw_later(kind, seed, blocks):
    """Return what `given` takes for one draw of a call that is made later: the state and, in a loop, the number of the trip.

    Tensors. The number of blocks that the call uses is known when it is made.
    """
    required(seed)
    draws, trips = _around()
    if draws is None or (_local.asked is not None and not trips):
        return [draw(kind, seed, blocks)]
    return [_begun(draws, trips, seed, blocks), *map(EagerTensor, trips[-1:])]


def _begun(draws, trips, seed, blocks):
    """Return the state of a new draw in a function or graph, for the innermost loop's first trip."""
    source = _local.seeds_of_graph or _global
    if seed is None and source.seed is not None:
        scope: Any = engine.local.trace.scope
        seed = scope.unseeded
        scope.unseeded += 1
    return _of_trips(_taken(draws.stream(source.seed, seed, blocks, bool(trips))), trips[:-1])


def _around():
    """Return the Draws of the function or graph under trace, and the numbers of the trips in it, outermost first.

    The Draws are None in eager code. Each branch and loop body has a scope of its own, inside of the function's.
    """
    scope: Any = None
    trace: Any = engine.local.trace
    trips: list[Any] = []
    while trace is not None and trace.scope is not None:
        if trace.scope is not scope:
            scope = trace.scope
            if scope.trip is not None:
                scope.counted = True
                trips.insert(0, scope.trip)
            if scope.draws is not None:
                return scope.draws, trips
        trace = trace.parent
    return None, trips


@contextlib.contextmanager
def noted():
    """Open a context for an example of a call: yields a list of its draws, the arguments of `draw`. Nothing is drawn."""
    wishes = []

    def note(kind, seed, blocks):
        wishes.append((kind, seed, 0 if is_unknown(blocks) else blocks))
        return EagerTensor(leaf(STATE, np.zeros(3, np.int64)))

    with asking(note):
        yield wishes


def given(states):
    """Open a context for a call whose draws were begun before by `draw_later`: it takes one after the other."""
    remaining = iter(states)

    def take(kind, seed, blocks):
        state, *trip = next(remaining)
        outermost = _outermost(state.node)
        draws = drawn()
        for place, (node, stream) in enumerate(draws):
            if node is outermost:  # how much it draws is known now
                draws[place] = node, stream.shared(blocks)
        stream = None if _local.drawn_at_once is None else _local.drawn_at_once.pop(outermost, None)
        if stream is not None:
            stream.skip(blocks)
        return advanced(state, trip[0], blocks) if trip else state

    return asking(take)


def at_once():
    """Open a context for a graph that runs op by op: a call that it keeps is made when its state was drawn already."""
    return setting(drawn_at_once={})


def standing_for(outer):
    """Open a context in which a Program is recorded again: `outer` has for each of its parameters the node of the caller."""
    return setting(stands_for={**_local.stands_for, **outer})


def _outermost(node):
    while (found := _local.stands_for.get(node)) is not None:
        node = found
    return node


def pair_of(seed):
    """Return the two seeds of what draws on the host, as a dataset does; its own is `seed` (or None)."""
    source = _local.seeds_of_graph or _local.seeds_of_pass or _global
    required(seed)
    if seed is None and source.seed is None:
        return Stream(None, None).words
    return pair(source.seed, seed) if seed is not None else source.stream("host", None).words


def begun():
    """Return the source of a pass over a dataset: it gives the same numbers each time to ops that have a seed, or all if one
    is set.
    """
    return Global(_global.seed, numbered=True)


def drawn_from(source):
    """Open a context for a function call in eager code: the seeds come from the Global `source`."""
    return setting(seeds_of_pass=source, unseeded=itertools.count())


def asking(ask):
    """Open a context in which `ask(kind, seed, blocks)` gives the state of a draw, but for those in loops under trace."""
    return setting(asked=ask)


@contextlib.contextmanager
def drawn_ahead(source, wishes, count):
    """Open a context for `count` calls at once: yields what each draws from the Global `source`, an int64 array for each wish.

    `wishes` are the arguments of `draw` in one call. If the context ends in an error, nothing was drawn.
    """
    with _lock:
        before = {key: stream.position for key, stream in source.streams.items()}
    states = []
    for _ in range(count):
        with drawn_from(source):
            states.append([source.stream(kind, seed).draw(blocks) for kind, seed, blocks in wishes])
    try:
        yield list(map(np.stack, zip(*states, strict=True)))
    except Exception:
        for key, stream in source.streams.items():
            stream.position = before.get(key, 0)
        raise


def drawn_by_function(source):
    """Open a context for a function as eager code: its ops draw from `source`; in a pass over a dataset, from the pass's."""
    return drawn_from(_local.seeds_of_pass or source)


def drawn():
    """Return the draws of the function under trace so far, as `(leaf, stream)`."""
    return _around()[0] or []


def go_on(streams):
    """Continue the streams of other traces of the function under trace, which the list holds."""
    draws, _ = _around()
    if draws is not None:
        draws.kept = streams


def again(stream):
    """Return the next state of a stream that a traced function draws from, a Tensor; in another function that one's caller
    draws.
    """
    return _of_trips(_taken(stream), _around()[1])


def _taken(stream, blocks=None):
    draws, _ = _around()
    if draws is None:
        state = leaf(STATE, stream.draw(blocks))
        if _local.drawn_at_once is not None and blocks is None and not stream.blocks and not stream.stream.repeated:
            _local.drawn_at_once[state] = stream.stream
        return EagerTensor(state)
    node = leaf(STATE, None)
    draws.append((node, stream))
    return EagerTensor(node)


def _of_trips(state, numbers):
    for number in numbers:
        state = of_trip(state, EagerTensor(number))
    return state


def _of_trip(state, number):
    lower, upper, key = state
    return jnp.stack([lower, upper, key * MIX + number + 1])


REASON = "a seed has no derivative"
_OF_TRIP = define(Op("SeedOfTrip", _of_trip, infer=lambda state, number: state, reason=REASON, traits="own"))
_ADVANCED = define(Op("RngSkip", philox.advanced, infer=lambda state, count, blocks: state, reason=REASON))


def of_trip(state, number):
    """Return the state for trip `number` (int64) of a loop, a Tensor: another stream for each."""
    return emit(_OF_TRIP, (state.node, number.node))


def advanced(state, count, blocks):
    """Return the state after `count` (int64) draws of `blocks` each, a Tensor."""
    return emit(_ADVANCED, (state.node, count.node), (blocks,))


def seeded_by(source):
    """Open a context for a graph: the seeds of its random ops come from `source`, a Global."""
    return setting(seeds_of_graph=source)
