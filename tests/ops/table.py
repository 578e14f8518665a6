"""What a row of the op test table says, and the arrays that rows are made of.

Rows stand in `<folder>/rows_<family>.py` as a tuple `ROWS`; `test_table.py` runs every row, `test_coverage.py` asks that every
op has one. A row gives a call, the same on NumPy or JAX arrays, and where to try it:

    Row("tanh", tf.tanh, (real(2, 3),), jnp.tanh, ops=("Tanh",), special=(([0.0, INF], [0.0, 1.0], [1.0, 0.0]),))
"""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True, eq=False)
class Row:
    """One op (or a function made of ops), how to call it, and what is known of its results.

    - `name`: the test's id, behind the family's.
    - `call(*tensors)`: a tensor, or a tuple of them.
    - `args`: NumPy arrays. float64 and complex128 ones are differentiated. They take each of `dtypes` in turn; where
      there are none, the integer ones do. No two may be equal: give the generators a `seed=`.
    - `reference(*arrays)`: the same on NumPy or JAX arrays, always at full precision. Traceable by JAX if `oracle`.
    - `ops`: the op types that the row covers.
    - `order`: how often it can be differentiated (tested to 2). 0: the gradient is `None`. -1: asking for the gradient
      is a `LookupError`, as TensorFlow has none either.
    - `result(dtype)`: the name of the result's dtype for a dtype of `dtypes` (a tuple of names for several results),
      where it is not the one that follows from the reference's.
    - `oracle`: compare the gradients with `jax.grad` of the reference, besides the numeric ones.
    - `special`: `(arguments, value)` or `(arguments, value, gradient)`, TensorFlow's numbers as literals. `arguments`
      is a tuple, or the only argument; lists of Python numbers become float32 and int32. `gradient` is that of the
      result's sum: a tuple with an entry for every argument, or the only argument's.
    - `errors`: `(function without arguments, exception, regular expression)`.
    - `tolerance`: of the numeric gradient, relative and absolute; exact comparisons in float64 take a thousandth.
    """

    name: str
    call: Callable
    args: tuple
    reference: Callable
    ops: tuple = ()
    order: int = 2
    dtypes: tuple = ("float64", "float32")
    result: Callable | None = None
    oracle: bool = True
    special: tuple = ()
    errors: tuple = ()
    tolerance: float = 1e-6

    def __post_init__(self):
        for i, first in enumerate(self.args):
            for j, second in enumerate(self.args[:i]):
                alike = first.size > 1 and first.shape == second.shape and first.dtype == second.dtype
                assert not (alike and np.array_equal(first, second)), (
                    f"{self.name}: arguments {j} and {i} are equal; give a seed="
                )

    @property
    def differentiated(self):
        """The positions of the arguments that gradients are asked for."""
        return tuple([i for i, array in enumerate(self.args) if array.dtype.kind in "fc"])

    def arguments(self, dtype):
        """The arguments, those that take part in `dtypes` cast to `dtype` (a name)."""
        main = self.differentiated or [i for i, array in enumerate(self.args) if array.dtype.kind in "iu"]
        return [cast(array, dtype) if i in main else array for i, array in enumerate(self.args)]


def cast(array, dtype):
    """`array` in the dtype named; whole numbers for integer dtypes, none below 0 for unsigned ones."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype.kind == "u":
        array = np.abs(array)
    if array.dtype.kind == "c" and dtype.kind != "c":
        return array.astype(dtype.name.replace("float64", "complex128").replace("float32", "complex64"))
    return array.astype(dtype)


def generator(what, shape, seed):
    """Random numbers that depend on the arguments alone."""
    return np.random.default_rng(zlib.crc32(f"{what} {shape} {seed}".encode()))


def real(*shape, seed=0):
    """float64 in (-2, 2), none within 0.1 of a multiple of 1/2: away from kinks and steps."""
    random = generator("real", shape, seed)
    return random.integers(-4, 4, shape) / 2 + random.uniform(0.1, 0.4, shape)


def positive(*shape, seed=0):
    """float64 in (0.1, 2.4), none within 0.1 of a multiple of 1/2."""
    random = generator("positive", shape, seed)
    return random.integers(0, 5, shape) / 2 + random.uniform(0.1, 0.4, shape)


def unit(*shape, seed=0):
    """float64 in (-0.9, 0.9), none within 0.1 of 0."""
    random = generator("unit", shape, seed)
    return random.choice([-1.0, 1.0], shape) * random.uniform(0.1, 0.9, shape)


def distinct(*shape, seed=0):
    """float64 around 0 in random order, each 0.25 away from the next: for maxima and sorting."""
    size = math.prod(shape)
    values = 0.25 * (np.arange(size) - size // 2) + 0.1
    return generator("distinct", shape, seed).permutation(values).reshape(shape)


def complexes(*shape, seed=0):
    """complex128 whose parts are as those of `real`."""
    return real(*shape, seed=("real part", seed)) + 1j * real(*shape, seed=("imaginary part", seed))


def integers(low, high, *shape, seed=0):
    """int32 in [low, high)."""
    return generator("integers", (low, high, *shape), seed).integers(low, high, shape).astype("int32")


def boolean(*shape, seed=0):
    """bool, of both kinds where there is room."""
    values = generator("boolean", shape, seed).permutation(np.arange(math.prod(shape)) % 2 == 0)
    return values.reshape(shape)
