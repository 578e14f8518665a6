"""The names of random programs besides `tf`, for gradtape and for JAX: calls of rows of the op table, and what joins them.

Values that flow from statement to statement are vectors of `WIDTH` float64 numbers. `fit` makes a tensor of any shape of one,
`fold` a vector of any tensor; both are products with a constant matrix, so every element counts. `call` calls a row near to
the arguments that its row has, so within its domain; `free` calls an element-wise row on any tensors.
"""

import math

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import gradtape as tf
from tests.fuzz import unrolled
from tests.ops.oracle import full_precision
from tests.ops.rows import ROWS
from tests.ops.spy import several
from tests.ops.table import cast

WIDTH = 3
NEAR = 0.04  # rows stay 0.1 away from kinks and steps
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 30.0)


def mixing(rows, columns):
    """A constant matrix without zeros; its columns are the same however many there are."""
    return np.cos(1.0 + np.arange(rows * columns, dtype="f8")).reshape(columns, rows).T / 2.0


def specials(shape, first):
    """`(places, values)`: where a tensor of this shape gets special values, and those values."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return (numbers + first) % 3 > 0, np.array(SPECIAL)[(numbers + first) % len(SPECIAL)]


def is_real(dtype):
    return np.dtype(getattr(ml_dtypes, dtype, dtype)).kind == "f" or dtype == "bfloat16"


class Ours:
    """The names on gradtape; `tape` is the tape that `paused` pauses, if there is one."""

    def __init__(self):
        self.tape = None

    @property
    def names(self):
        found = {"tf": tf, "call": self.call, "free": self.free, "fit": self.fit, "fold": self.fold}
        found |= {"spice": self.spice, "slope": self.slope, "curve": self.curve, "paused": self.paused, "own": self.own}
        return {name: value if name == "tf" else tf.autograph.experimental.do_not_convert(value) for name, value in found.items()}

    @staticmethod
    def fit(vector, shape):
        return tf.reshape(tf.linalg.matvec(tf.constant(mixing(math.prod(shape), WIDTH)), vector), shape)

    @staticmethod
    def fold(result):
        total = tf.zeros([WIDTH], tf.float64)
        for part in several(result):
            part = tf.convert_to_tensor(part)
            if part.dtype.is_complex:
                part = tf.math.real(part) + 0.5 * tf.math.imag(part)
            flat = tf.reshape(tf.cast(part, tf.float64), [-1])
            if flat.shape[0] is None:  # it depends on values, in a graph
                weights = tf.cos(1.0 + tf.cast(tf.range(WIDTH * tf.size(flat)), tf.float64)) / 2.0
                weights = tf.transpose(tf.reshape(weights, [-1, WIDTH]))
            else:
                weights = tf.constant(mixing(WIDTH, flat.shape[0]))
            total += tf.linalg.matvec(weights, flat)
        return tf.tanh(total)

    def call(self, name, dtype, *vectors):
        row = ROWS[name]
        near = [array if i not in row.differentiated else self.near(array, vectors[i % len(vectors)])
                for i, array in enumerate(row.args)]  # fmt: skip
        main = row.differentiated or [i for i, array in enumerate(row.args) if array.dtype.kind in "iu"]
        arguments = [self.cast(x, dtype) if i in main else tf.constant(x) for i, x in enumerate(near)]
        if row.order < 0:
            arguments = [tf.stop_gradient(x) for x in arguments]
        return self.fold(row.call(*arguments))

    def near(self, array, vector):
        change = NEAR * tf.tanh(self.fit(vector, array.shape))
        if array.dtype.kind == "c":
            change = tf.complex(change, NEAR * tf.tanh(self.fit(-vector, array.shape)))
        return change + array

    @staticmethod
    def cast(x, dtype):
        if not tf.is_tensor(x):
            return tf.constant(cast(x, dtype))
        if x.dtype.is_complex and not dtype.startswith("complex"):
            dtype = {"float32": "complex64", "float64": "complex128"}[dtype]
        return tf.cast(x, dtype)

    @staticmethod
    def free(name, dtype, *tensors):
        return several(ROWS[name].call(*[tf.cast(x, dtype) for x in tensors]))[0]

    @staticmethod
    def spice(x, first):
        places, values = specials(tuple(x.shape), first)
        return tf.where(places, tf.constant(values), x)

    @staticmethod
    def slope(function, x, persistent=False):
        """The gradient of the sum of a function; by a persistent tape, half of what it gives twice.

        What the function reads besides its argument is another tensor, even if it is `x`.
        """
        x = tf.identity(x)
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = function(x)
        first, *second = [tf.convert_to_tensor(tape.gradient(y, x, unconnected_gradients="zero")) for _ in range(1 + persistent)]
        return 0.5 * (first + second[0]) if persistent else first

    @classmethod
    def curve(cls, function, x):
        """The gradient of the sum of the gradient, by a tape in a tape."""
        return cls.slope(lambda x: cls.slope(function, x), x)

    @staticmethod
    def own(value):
        """What only our own ways compare."""
        return value

    def paused(self, function):
        with self.tape.stop_recording():
            return function()


def _on_host(row, arguments):
    """The reference's results where it is written in NumPy; they have the dtypes of those for the row's own arguments."""

    def call(*arrays):
        return [np.asarray(value) for value in several(row.reference(*map(np.asarray, arrays)))]

    like = call(*[full_precision(array).astype(x.dtype) for x, array in zip(arguments, row.args, strict=True)])
    shapes = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in like]

    def same(*arrays):
        return [value.astype(of.dtype) for value, of in zip(call(*arrays), shapes, strict=True)]

    return jax.pure_callback(same, shapes, *arguments)


class Theirs:
    """The same names on JAX, in plain Python, where nothing is compiled as a whole."""

    @property
    def names(self):
        found = {"tf": unrolled, "call": self.call, "free": self.free, "fit": self.fit, "fold": self.fold}
        return found | {"spice": self.spice, "slope": self.slope, "curve": self.curve, "paused": self.paused, "own": self.own}

    @staticmethod
    def fit(vector, shape):
        return jnp.reshape(mixing(math.prod(shape), WIDTH) @ vector, shape)

    @staticmethod
    def fold(result):
        total = jnp.zeros(WIDTH)
        for part in several(result):
            part = jnp.asarray(part)
            if part.dtype.kind == "c":
                part = part.real + 0.5 * part.imag
            flat = jnp.reshape(part.astype("f8"), -1)
            total += mixing(WIDTH, flat.size) @ flat
        return jnp.tanh(total)

    def call(self, name, dtype, *vectors):
        row = ROWS[name]
        constants = row.arguments(dtype)
        arguments = []
        for i, array in enumerate(row.args):
            if i in row.differentiated:
                arguments.append(self.rounded(self.near(array, vectors[i % len(vectors)]), dtype))
            else:
                arguments.append(jnp.asarray(full_precision(constants[i])) if constants[i].dtype.kind != "S" else constants[i])
        if row.order < 1 or not row.oracle:
            arguments = [jax.lax.stop_gradient(x) for x in arguments]
        return self.fold(self.reference(row, arguments))

    @staticmethod
    def reference(row, arguments):
        """The reference's results, from the host where JAX cannot trace it."""
        with jax.numpy_dtype_promotion("standard"), np.errstate(all="ignore"):
            try:
                return row.reference(*arguments)
            except (jax.errors.TracerArrayConversionError, jax.errors.NonConcreteBooleanIndexError, TypeError):
                return tuple(_on_host(row, [jax.lax.stop_gradient(x) for x in arguments]))

    def near(self, array, vector):
        change = NEAR * jnp.tanh(self.fit(vector, array.shape))
        if array.dtype.kind == "c":
            change = change + 1j * NEAR * jnp.tanh(self.fit(-vector, array.shape))
        return change + array

    @staticmethod
    def rounded(x, dtype):
        """The value that a cast to `dtype` leaves, at full precision."""
        if x.dtype.kind == "c":
            dtype = {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)
            return x.astype(dtype).astype("complex128")
        x = x.astype(getattr(ml_dtypes, dtype, dtype))
        return x.astype("complex128") if x.dtype.kind == "c" else x.astype("float64") if is_real(dtype) else x

    def free(self, name, dtype, *tensors):
        return several(self.reference(ROWS[name], [self.rounded(x, dtype) for x in tensors]))[0]

    @staticmethod
    def spice(x, first):
        places, values = specials(x.shape, first)
        return jnp.where(places, values, x)

    @staticmethod
    def slope(function, x, persistent=False):
        return jax.grad(lambda x: jnp.sum(function(x)))(x)

    @classmethod
    def curve(cls, function, x):
        return cls.slope(lambda x: cls.slope(function, x), x)

    @staticmethod
    def own(value):
        return None

    @staticmethod
    def paused(function):
        return jax.lax.stop_gradient(function())
