"""`tf.random.Generator`: random numbers whose state is a variable."""

import math
import os

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import UnimplementedError
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import Tracked
from gradtape._src.core.engine import tiers
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import zeros_like
from gradtape._src.ops.array.joining import concat, stack, unstack
from gradtape._src.ops.array.shape import host_constant, reshape
from gradtape._src.ops.random.distributions import binomials, draw_binomial
from gradtape._src.ops.random.draws import (
    BITS,
    Algorithm,
    _normal,
    _truncated_normal,
    algorithm,
    any_integers,
    draw_normal,
    draw_uniform,
    static_shape,
)
from gradtape._src.ops.random.philox import RESERVED
from gradtape._src.ops.random.seeds import advanced
from gradtape._src.ops.shapes import FLOATING, broadcast_shapes

WORDS = {Algorithm.PHILOX: 3, Algorithm.THREEFRY: 2}


@public
def create_rng_state(seed, alg):
    """Return the initial state of a generator for `seed` (an integer, or a few): a vector of int64.

    >>> print(tf.random.create_rng_state(7, "philox").numpy())
    [7 0 0]
    """
    words = WORDS[algorithm(alg)]
    if isinstance(seed, (int, np.integer)):
        array = np.array([(int(seed) >> 64 * i) & (2**64 - 1) for i in range(words)], np.uint64).astype(np.int64)
    else:
        given = reshape(cast(tensor(seed), dtypes.int64), [-1])
        (count,) = extents_of(given)
        if count > words:
            raise ValueError(f"A seed may have at most {words} integers for this algorithm, received {count}.")
        return concat([host_constant(np.zeros(words - count, np.int64)), given], 0)
    return host_constant(array)


def _joined(key, counter, alg):
    counter, words = cast(tensor(counter), dtypes.int64), WORDS[algorithm(alg)] - 1
    if extents_of(counter) != (words,):
        raise ValueError(f"Shapes {counter.shape} and [{words}] are incompatible: the counter has {words} words.")
    return concat([counter, cast(tensor([key]), dtypes.int64)], 0)


class Generator(Tracked):
    """A source of random numbers whose state is a variable: the same state gives the same numbers.

    It is created by `Generator.from_seed(1)`, `from_non_deterministic_state()`, `from_state(state, alg)`, or as a copy of
    another. A state that is a Variable is shared, any other is copied. A draw advances the state; draws from one state are the
    same on every device and in every thread. Threads that draw at the same time should each have their own generator: see
    `split`.

    >>> g = tf.random.Generator.from_seed(1)
    >>> g.normal([2, 3]).shape
    TensorShape([2, 3])
    """

    @public
    def __init__(self, copy_from=None, state=None, alg=None):
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("Give either copy_from, or state and alg.")
            state, alg = copy_from.state, copy_from.algorithm
        elif state is None:
            raise ValueError("A Generator needs a state. Call tf.random.Generator.from_seed(seed) to make one.")
        found = algorithm(alg)
        shared = isinstance(state, Variable) and copy_from is None
        if not shared:
            state = cast(tensor(state), dtypes.int64)
        elif state.dtype != dtypes.int64:
            raise TypeError(f"A Variable that holds the state of a Generator has dtype int64, received {state.dtype.name}.")
        if extents_of(state) != (WORDS[found],):
            raise ValueError(
                f"Shapes {state.shape} and [{WORDS[found]}] are incompatible: the state of {found.name.lower()} has "
                f"{WORDS[found]} words."
            )
        self._alg = found.value
        self._state = state if shared else Variable(state, dtype=dtypes.int64, name="StateVar", trainable=False)
        self._in_replicas = hooks.clients.has_strategy()

    def _tracked_children(self):
        """Return the part that a checkpoint saves: the state, under TensorFlow's name."""
        return {"_state_var": self._state}

    # -- creation

    @classmethod
    @public
    def from_state(cls, state, alg):
        """Create a generator that continues from `state`."""
        return cls(state=state, alg=alg)

    @classmethod
    @public
    def from_seed(cls, seed, alg=None):
        """Create a generator from `seed`, an integer or a few of them."""
        return cls(state=create_rng_state(seed, algorithm(alg)), alg=alg)

    @classmethod
    @public
    def from_non_deterministic_state(cls, alg=None):
        """Create a generator whose state comes from the operating system, so that the numbers differ each time.

        RuntimeError under `enable_op_determinism`.
        """
        if tiers.deterministic:
            raise RuntimeError('"from_non_deterministic_state" cannot be called when determinism is enabled.')
        words = WORDS[algorithm(alg)]
        return cls(state=np.frombuffer(os.urandom(8 * words), np.int64).copy(), alg=alg)

    @classmethod
    @public
    def from_key_counter(cls, key, counter, alg):
        """Create a generator with this key and counter: an integer, and a vector of two (for threefry, of one)."""
        return cls(state=_joined(key, counter, alg), alg=alg)

    # -- the state

    @property
    def state(self):
        """The state, a Variable of int64."""
        return self._state

    @property
    def algorithm(self):
        """The number of the algorithm, see `tf.random.Algorithm`."""
        return self._alg

    @property
    def key(self):
        """The key, the last word of the state, which never changes."""
        return self._state[-1]

    @public
    def reset(self, state):
        """Replace the state by `state`."""
        self._state.assign(cast(tensor(state), dtypes.int64))

    @public
    def reset_from_seed(self, seed):
        """Replace the state by the initial one of `seed`."""
        self.reset(create_rng_state(seed, self._alg))

    @public
    def reset_from_key_counter(self, key, counter):
        """Replace the state by this key and counter."""
        self.reset(_joined(key, counter, self._alg))

    @public
    def skip(self, delta):
        """Advance the state as if `delta` numbers had been drawn. Returns the state before, as a Tensor."""
        if self._alg == Algorithm.THREEFRY.value:
            raise UnimplementedError.saying("gradtape has no Threefry, as TensorFlow has none on CPUs: use philox.")
        before = self._state.read_value()
        self._state.assign(advanced(before, cast(tensor(delta), dtypes.int64), RESERVED))
        return before

    def _draw(self, shape):
        """Return the state to draw numbers of `shape` from."""
        return self._own(self.skip(math.prod(static_shape(shape))))

    def _own(self, state):
        """Return the state for the replica that draws. As in TensorFlow, its key is drawn from the generator's."""
        number = hooks.clients.replica() if self._in_replicas else None
        if number is None:
            return state
        source = concat([tensor([number, 0], dtypes.int64), state[-1:]], 0)
        return concat([state[:-1], any_integers(source, shape=(1,), dtype=np.dtype("int64"))], 0)

    def __deepcopy__(self, memo):
        memo[id(self)] = copy = Generator(copy_from=self)
        return copy

    # -- drawing

    @public
    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Draw normally distributed numbers. `mean` and `stddev` broadcast with `shape`, and gradients flow to them."""
        return draw_normal(_normal, self._draw(shape), shape, mean, stddev, dtype)

    @public
    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Draw truncated normal numbers: those more than two `stddev` from `mean` are drawn again."""
        return draw_normal(_truncated_normal, self._draw(shape), shape, mean, stddev, dtype)

    @public
    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """Draw numbers uniform in [minval, maxval). None means 1; for integers it is invalid, unless both bounds are None."""
        return draw_uniform(self._draw(shape), shape, minval, maxval, dtype, FLOATING + BITS)

    @public
    def uniform_full_int(self, shape, dtype=dtypes.uint64, name=None):
        """Draw integers uniformly from all values of `dtype` (int32, int64, uint32, uint64)."""
        return any_integers(self._draw(shape), shape=static_shape(shape), dtype=dtypes.as_dtype(dtype).numpy)

    @public
    def binomial(self, shape, counts, probs, dtype=dtypes.int32, name=None):
        """Draw binomial numbers, the successes in `counts` trials of probability `probs`. `shape` is that of the result."""
        probs = tensor(probs, hint=dtypes.float32)
        counts = tensor(counts, hint=probs.dtype)
        batch = math.prod(broadcast_shapes(extents_of(counts), extents_of(probs)))
        samples = math.prod(static_shape(shape)) // max(batch, 1)
        state = self._own(self.skip(batch * 200 * (samples + 3) // 4))  # the number of blocks that TensorFlow reserves
        return draw_binomial(binomials.stateful, state, shape, counts, probs, dtype)

    @public
    def make_seeds(self, count=1):
        """Return `count` seeds for stateless functions, int64 [2, count], one in each column."""
        keys = self._keys(count)
        return stack([keys, zeros_like(keys)])

    @public
    def split(self, count=1):
        """Return a list of `count` generators, statistically independent of each other and of this one."""
        counter = tensor([0, 0], dtypes.int64)
        return [Generator(state=concat([counter, key[None]], 0), alg=self._alg) for key in unstack(self._keys(count))]

    def _keys(self, count):
        return self.uniform_full_int([static(count, "count")], dtypes.int64)


_global = None


@public
def get_global_generator():
    """Return the process's shared generator. It is created from a non-deterministic state at the first call.

    >>> print(tf.random.experimental.get_global_generator().normal([2]).shape)
    (2,)
    """
    global _global
    if _global is None and tiers.deterministic:
        raise RuntimeError(
            '"get_global_generator" cannot be called if determinism is enabled, unless "set_global_generator" has already been '
            'called. Please call "set_global_generator" first.'
        )
    if _global is None:
        _global = Generator.from_non_deterministic_state()
    return _global


@public
def set_global_generator(generator):
    """Set the generator that `get_global_generator` returns.

    >>> generator = tf.random.Generator.from_seed(7)
    >>> tf.random.set_global_generator(generator)
    >>> print(tf.random.get_global_generator() is generator)
    True
    """
    global _global
    _global = generator
