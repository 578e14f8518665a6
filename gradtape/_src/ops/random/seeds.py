"""Seeds of random ops: the global seed, the op's own seed, and the position in the stream. They are TensorFlow's.

The state of a draw (see `philox`) is int64[3]. The key is the global seed, the upper word of the counter the op's own seed,
and the lower word advances with each draw. It is a leaf of the program, so every step of a training loop runs the same
program. A draw that is computed again gives the same numbers.

As in TensorFlow, the global seed belongs to the process. Threads that draw at the same time share its stream, so their numbers
depend on their order. A `Generator` or the stateless functions in each thread avoid this.
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

DEFAULT = 87654321  # the global seed of an op with its own seed, if none is set
LARGEST = 2**31 - 1  # seeds are taken modulo this
STATE = aval((3,), np.dtype(np.int64))
MIX = 6364136223846793005  # the multiplier of Knuth's MMIX generator


def pair(seed, own):
    """Return the two seeds of an op, from the global one and its own. One of them may be None."""
    found = (DEFAULT if seed is None else _integer(seed) % LARGEST), _integer(own) % LARGEST
    return (0, LARGEST) if found == (0, 0) else found


def _integer(seed):
    try:
        if not isinstance(seed, str):
            return int(seed)
    except TypeError:  # not an integer, perhaps a pair of seeds for stateless ops
        pass
    raise TypeError(f"Expected int for argument 'seed' not {seed!r}.")


class Stream:
    """The sequence of states of one random op, determined by its two seeds (see `pair`).

    Each draw advances it by a number of `blocks`. `set_seed` restarts it, also for the ops of functions that were traced
    before; but a stream without a seed is random.

    An op that is `repeated` in a loop advances with the trips; their draws differ in the upper bits of the op's own seed.
    """

    def __init__(self, seed, own, blocks=0, repeated=False):
        self.seed, self.own, self.blocks, self.repeated = seed, own, blocks, repeated
        self.is_random = seed is None and own is None
        self.words = tuple(np.frombuffer(os.urandom(16), np.int64).tolist()) if self.is_random else pair(seed, own)
        self.position, self.begun_under = 0, _global

    @property
    def stream(self):
        """The stream to draw from: itself."""
        return self

    def again(self):
        """Return the same stream from its beginning; a random one if no seed was set."""
        return Stream(self.seed, self.own, self.blocks, self.repeated)

    def shared(self, blocks):
        """Return a source that shares this stream, and advances it by another number of `blocks`."""
        return self if blocks == self.blocks else Shared(self, blocks)

    def draw(self, blocks=None):
        """Return the next state, and reserve `blocks` for it."""
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
        """Reserve `blocks` more for the last draw."""
        with _lock:
            self.position += blocks


class Shared:
    """A stream that is shared with another trace of a function, with its own number of `blocks` per draw."""

    def __init__(self, stream, blocks):
        self.stream, self.blocks = stream, blocks

    def again(self):
        return Shared(self.stream.again(), self.blocks)

    def shared(self, blocks):
        """Return a source that shares the same stream, and advances it by another number of `blocks`."""
        return self.stream.shared(blocks)

    def draw(self, blocks=None):
        """Return the next state of the stream."""
        return self.stream.draw(self.blocks if blocks is None else blocks)


class Global:
    """The global seed, and the streams started with it.

    Ops without their own seed get one. It is the next number of an integer generator. In a pass over a dataset (`numbered`) it
    is the number of earlier draws in the called function.
    """

    def __init__(self, seed=None, numbered=False):
        self.seed, self.numbered, self.streams, self._generator = seed, numbered, {}, None

    def stream(self, kind, seed):
        """Return the stream of ops of type `kind` with the op seed `seed` (or None)."""
        with _lock:
            if seed is None and self.seed is not None:
                if not self.numbered:
                    return Stream(self.seed, self._next())
                kind, seed = "numbered", next(_local.unseeded)
            # As in TensorFlow, each device has its own stream.
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

    The leaf is int64[3] without a value, and becomes a parameter; each call of the function passes `stream.draw()` for it.
    `kept` are the streams of other traces of the function, if this trace continues them.
    """

    kept: list[Stream] | None = None
    begun = 0  # the number of draws that started a stream; others continue that of a called function

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
    """The sources of a thread's seeds: Globals, and their substitutes.

    `seeds_of_graph` is the source of the graph under construction. `seeds_of_pass` is that of a running pass over a dataset,
    and `unseeded` numbers the ops without a seed in this call of the function. `asked` supplies states for a deferred call in
    a graph. `drawn_at_once` maps seed states drawn so far in an op-by-op run to their streams. `stands_for` maps parameters of
    bodies being re-recorded to nodes of the caller.
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
    """Convert a seed to one of Python's own types."""
    return seed if seed is None or isinstance(seed, (int, float, str, bytes)) else int(seed)


@public
def set_seed(seed):
    """Set the global seed of random ops. The numbers are TensorFlow's.

    It restarts the streams of all ops. Without it, ops of the same type, seed and dtype continue one stream. With None, ops
    without their own seed give different numbers in each run of the program. A function that was traced before keeps the seeds
    of its ops, and restarts their streams, too.

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
    """Set the global seed if none is set, so that a group of processes draws the same numbers."""
    if _global.seed is None:
        set_seed(seed)


def required(seed):
    """Raise RuntimeError for an op without any seed if op determinism is enabled."""
    if seed is not None or not tiers.deterministic:
        return
    source = (_local.seeds_of_pass if _around()[0] is None else _local.seeds_of_graph) or _global
    if source.seed is None:
        raise RuntimeError(
            "Random ops require a seed to be set when determinism is enabled. Please set a seed before running the op, e.g. by "
            "calling tf.random.set_seed(1)."
        )


def draw(kind, seed, blocks):
    """Return the state, a Tensor, for one run of an op of type `kind` that uses up to `blocks`, with the op seed `seed`."""
    required(seed)
    draws, trips = _around()
    if _local.asked is not None and not trips:
        return _local.asked(kind, seed, blocks)
    if draws is None:
        return _of_trips(_taken((_local.seeds_of_pass or _global).stream(kind, seed), blocks), trips)
    state = _begun(draws, trips, seed, blocks)
    return advanced(state, EagerTensor(trips[-1]), blocks) if trips else state


def draw_later(kind, seed, blocks):
    """Return the arguments of `given` for one draw of a deferred call: the state and, in a loop, the trip number, as Tensors.

    The number of blocks is not known until the call is made.
    """
    required(seed)
    draws, trips = _around()
    if draws is None or (_local.asked is not None and not trips):
        return [draw(kind, seed, blocks)]
    return [_begun(draws, trips, seed, blocks), *map(EagerTensor, trips[-1:])]


def _begun(draws, trips, seed, blocks):
    """Return the state of a new draw in a function or graph, for the first trip of the innermost loop."""
    source = _local.seeds_of_graph or _global
    if seed is None and source.seed is not None:
        scope: Any = engine.local.trace.scope
        seed = scope.unseeded
        scope.unseeded += 1
    return _of_trips(_taken(draws.stream(source.seed, seed, blocks, bool(trips))), trips[:-1])


def _around():
    """Return the Draws of the function or graph under trace, and the trip numbers of the loops around, outermost first.

    The Draws are None in eager code. Each branch and loop body has its own scope, inside of the function's.
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
    """Open a context for a trial call. It yields a list of the call's draws, as arguments of `draw`, and draws nothing."""
    wishes = []

    def note(kind, seed, blocks):
        wishes.append((kind, seed, 0 if is_unknown(blocks) else blocks))
        return EagerTensor(leaf(STATE, np.zeros(3, np.int64)))

    with asking(note):
        yield wishes


def given(states):
    """Open a context for a deferred call, which takes the states from `draw_later` one after the other."""
    remaining = iter(states)

    def take(kind, seed, blocks):
        state, *trip = next(remaining)
        outermost = _outermost(state.node)
        draws = drawn()
        for place, (node, stream) in enumerate(draws):
            if node is outermost:  # the number of its blocks is known now
                draws[place] = node, stream.shared(blocks)
        stream = None if _local.drawn_at_once is None else _local.drawn_at_once.pop(outermost, None)
        if stream is not None:
            stream.skip(blocks)
        return advanced(state, trip[0], blocks) if trip else state

    return asking(take)


def at_once():
    """Open a context for a graph that runs op by op: states for a deferred call were drawn before."""
    return setting(drawn_at_once={})


def standing_for(outer):
    """Open a context in which a Program is recorded again; `outer` maps its parameters to nodes of the caller."""
    return setting(stands_for={**_local.stands_for, **outer})


def _outermost(node):
    while (found := _local.stands_for.get(node)) is not None:
        node = found
    return node


def pair_of(seed):
    """Return the two seeds for draws on the host, as in a dataset; the op seed is `seed` (or None)."""
    source = _local.seeds_of_graph or _local.seeds_of_pass or _global
    required(seed)
    if seed is None and source.seed is None:
        return Stream(None, None).words
    return pair(source.seed, seed) if seed is not None else source.stream("host", None).words


def begun():
    """Return the source of a pass over a dataset, which repeats the numbers of seeded ops, or of all under a global seed."""
    return Global(_global.seed, numbered=True)


def drawn_from(source):
    """Open a context for a function call in eager code, with seeds from the Global `source`."""
    return setting(seeds_of_pass=source, unseeded=itertools.count())


def asking(ask):
    """Open a context in which `ask(kind, seed, blocks)` supplies the state of a draw, except for draws in loops under trace."""
    return setting(asked=ask)


@contextlib.contextmanager
def drawn_ahead(source, wishes, count):
    """Open a context for `count` calls at once. It yields their draws from the Global `source`, an int64 array per wish.

    `wishes` are the arguments of `draw` in one call. If the context ends in an error, the draws are undone.
    """
    before = positions(source)
    states = []
    for _ in range(count):
        with drawn_from(source):
            states.append([source.stream(kind, seed).draw(blocks) for kind, seed, blocks in wishes])
    try:
        yield list(map(np.stack, zip(*states, strict=True)))
    except Exception:
        rewind(source, before)
        raise


def positions(source):
    """Return the positions of the streams of `source` (None: of the global seed), for `rewind`."""
    with _lock:
        return {key: stream.position for key, stream in (source or _global).streams.items()}


def rewind(source, before):
    """Undo the draws from `source` (None: from the global seed) since its streams had the positions `before`."""
    for key, stream in (source or _global).streams.items():
        stream.position = before.get(key, 0)


def of_function(source):
    """Return the source of seeds for a function in eager code: that of a pass over a dataset, or else `source`."""
    return _local.seeds_of_pass or source


def drawn():
    """Return the draws of the function under trace so far, as `(leaf, stream)`."""
    return _around()[0] or []


def go_on(streams):
    """Continue the streams of other traces of the function under trace, which the list holds."""
    draws, _ = _around()
    if draws is not None:
        draws.kept = streams


def again(stream):
    """Return the next state, a Tensor, of a traced function's stream. In another function its caller draws."""
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
    """Return the state, a Tensor, for trip `number` (int64) of a loop: each trip has its own stream."""
    return emit(_OF_TRIP, (state.node, number.node))


def advanced(state, count, blocks):
    """Return the state after `count` (int64) draws of `blocks` each, a Tensor."""
    return emit(_ADVANCED, (state.node, count.node), (blocks,))


def seeded_by(source):
    """Open a context for a graph whose random ops get their seeds from `source`, a Global."""
    return setting(seeds_of_graph=source)
