"""The part of `tf` that random programs use, on JAX in plain Python: loops unroll, branches are taken, functions called."""

import jax
import jax.numpy as jnp

float64, int32, newaxis, exp = jnp.float64, jnp.int32, None, jnp.exp
tanh, sin, cos, sqrt, abs, where, cumsum, stack = jnp.tanh, jnp.sin, jnp.cos, jnp.sqrt, jnp.abs, jnp.where, jnp.cumsum, jnp.stack
reduce_sum, reduce_mean, reduce_prod = jnp.sum, jnp.mean, jnp.prod
sigmoid, nn, stop_gradient = jax.nn.sigmoid, jax.nn, jax.lax.stop_gradient
constant = jnp.asarray


def reduce_max(x, axis=None):
    return jnp.max(x, axis, initial=-jnp.inf)


def reduce_min(x, axis=None):
    return jnp.min(x, axis, initial=jnp.inf)


def gather(x, indices):
    return x[jnp.asarray(indices)]


def cast(x, dtype):
    return jnp.asarray(x).astype(dtype)


def range(limit):
    return jnp.arange(int(limit))


def function(python_function):
    return python_function


def cond(predicate, then, orelse):
    return then() if predicate else orelse()


def while_loop(condition, body, state, maximum_iterations=None):
    trips = 0
    while condition(*state) and (maximum_iterations is None or trips < maximum_iterations):
        state = body(*state)
        trips += 1
    return state


def map_fn(function, rows):
    return jnp.stack([function(row) for row in rows])


vectorized_map = map_fn


def scan(function, rows, initializer=None):
    rows = list(rows)
    states = [rows.pop(0)] if initializer is None else []
    for row in rows:
        states.append(function(states[-1] if states else initializer, row))
    return jnp.stack(states)


def foldl(function, rows, initializer=None):
    return scan(function, rows, initializer)[-1]


def custom_gradient(function):
    """With a rule that holds for the outer gradient of a nested pair, too: the forward pass is a call of what is made here."""
    made = jax.custom_vjp(lambda *args: function(*args)[0])
    made.defvjp(lambda *args: (made(*args), args), lambda args, dy: function(*args)[1](dy))
    return made


class TensorArray:
    """An array of rows that is written once each."""

    def __init__(self, dtype, size):
        self.rows = [None] * size

    def write(self, index, row):
        self.rows[int(index)] = row
        return self

    def stack(self):
        return jnp.stack(self.rows)


class Variable:
    """State stops gradients, and every read counts as a read of `parameter`, whatever the value is by then."""

    def __init__(self, parameter):
        self.parameter, self.held = parameter, jax.lax.stop_gradient(parameter)

    def value(self):
        return self.held + (self.parameter - jax.lax.stop_gradient(self.parameter))

    def assign(self, value):
        self.held = jax.lax.stop_gradient(jnp.asarray(value))

    def assign_add(self, value):
        self.assign(self.held + value)
