"""Conversion, shapes, control flow and other functions of `keras.ops` outside of the families."""

import functools
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, global_state, standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.name_scope import name_scope as KerasNameScope
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope
from keras.src.backend.config import floatx

import gradtape as tf
from gradtape._src.control.mapping import carry_rows
from gradtape._src.control.scope import Scope
from gradtape._src.core.base.errors import NeedsValues
from gradtape._src.core.engine import tracing
from gradtape._src.core.programs.program import leaf
from gradtape._src.core.tensors.tensor import EagerTensor, extents_of
from gradtape._src.core.values import aval
from gradtape._src.ops.random import seeds

__all__ = [
    "associative_scan",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "custom_gradient",
    "device_scope",
    "fori_loop",
    "is_tensor",
    "map",
    "name_scope",
    "random_seed_dtype",
    "remat",
    "scan",
    "scatter",
    "scatter_update",
    "shape",
    "slice",
    "slice_update",
    "stop_gradient",
    "switch",
    "unstack",
    "vectorized_map",
    "while_loop",
]

COMPOSITE = (tf.SparseTensor, tf.RaggedTensor)

# Two values of an unknown extent: an extent of the result that differs between them is unknown, too. Where these fail, as a
# layer splits the extent into parts, two with many divisors are tried.
OPEN_EXTENTS = ((83, 89), (3360, 6720))
STORED = 7  # number of stored elements that represents any number in a sparse tensor


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    """Convert `x` to a Tensor (a gradtape Variable is unchanged); Python floats become `floatx()`, ints int32.

    `sparse=False` converts a SparseTensor to a dense one; as on TensorFlow, True changes nothing.
    """
    if ragged:
        raise ValueError(f"gradtape makes no ragged tensor of a dense one. Received: ragged={ragged}")
    kind = type(x)
    if kind is not EagerTensor:
        if isinstance(x, KerasVariable):
            x = x.value
        elif isinstance(x, COMPOSITE):
            if sparse is False and isinstance(x, tf.SparseTensor):
                x = tf.sparse.to_dense(x)
        elif isinstance(x, tf.IndexedSlices) or not tf.is_tensor(x):
            return _converted(x, dtype)
    if dtype is None:
        return x
    dtype = tf.as_dtype(standardize_dtype(dtype))
    return x if x.dtype is dtype else tf.cast(x, dtype)


def _converted(x, dtype):
    """Convert a value that is no Tensor to one."""
    if dtype is None and isinstance(x, (float, complex)) and not isinstance(x, np.generic):
        dtype = floatx() if isinstance(x, float) else "complex64"
    elif dtype is None and isinstance(x, (list, tuple)):
        dtype = _common_dtype(x)
    if dtype is None:
        return tf.convert_to_tensor(x)
    dtype = tf.as_dtype(standardize_dtype(dtype))
    if isinstance(x, (int, float)) and dtype.is_floating:
        return tf.convert_to_tensor(x, dtype)
    x = tf.convert_to_tensor(x)
    return x if x.dtype is dtype else tf.cast(x, dtype)


def _common_dtype(values):
    """Return `floatx()` for a nest of Python numbers that contains a float; None for anything else."""
    flat = tree.flatten(values)
    if any(isinstance(v, (tf.Tensor, KerasVariable, tf.Variable)) for v in flat):
        return None
    return floatx() if any(type(v) is float for v in flat) and all(type(v) in (int, float, bool) for v in flat) else None


def of_tensor(function):
    """Wrap a function of one tensor, so that it converts its argument to one."""
    return lambda x: function(convert_to_tensor(x))


def convert_to_numpy(x):
    """Convert `x` to a NumPy array."""
    if isinstance(x, tf.IndexedSlices):
        x = tf.convert_to_tensor(x)
    if isinstance(x, COMPOSITE):
        x = tf.sparse.to_dense(x) if isinstance(x, tf.SparseTensor) else x.to_tensor()
    if isinstance(x, (list, tuple)):
        return np.array([convert_to_numpy(item) for item in x])
    return np.array(x)


def is_tensor(x):
    """Return whether `x` is a Tensor or variable of gradtape, a SparseTensor or RaggedTensor."""
    return tf.is_tensor(x) or isinstance(x, COMPOSITE)


def shape(x):
    """Return the shape as a tuple; in a graph an unknown extent is a scalar tensor. ValueError for an unknown rank."""
    if isinstance(x, KerasTensor):
        return x.shape
    if not hasattr(x, "shape"):  # Keras's preprocessing also passes tensors of other libraries
        x = convert_to_tensor(x)
    if not isinstance(x, tf.Tensor):
        return tuple(x.shape)
    known = x.get_shape()
    if known.rank is None:
        raise ValueError(f"All tensors passed to `ops.shape` must have a statically known rank. Received: x={x}")
    if known.is_fully_defined():
        return tuple(known)
    asked = tf.shape(x)
    return tuple([asked[axis] if extent is None else extent for axis, extent in enumerate(known)])


def cast(x, dtype):
    """Convert `x` to another dtype. Of a KerasVariable the result is the value that it has now, also for its own dtype."""
    dtype = tf.as_dtype(standardize_dtype(dtype))
    if isinstance(x, KerasVariable):
        x = tf.convert_to_tensor(x.value)
    elif not is_tensor(x):
        return convert_to_tensor(x, dtype)
    return x if x.dtype is dtype else tf.cast(x, dtype)


def compute_output_spec(fn, *args, **kwargs):
    """Infer the results of `fn` for KerasTensors, as KerasTensors: `fn` is traced, but not run."""
    flat = tree.flatten((args, kwargs))
    is_open = any(isinstance(x, KerasTensor) and None in x.shape for x in flat)
    errors = []
    for extents in OPEN_EXTENTS if is_open else ((None,),):
        try:
            results = [_traced(fn, args, kwargs, extent) for extent in extents]
        except NeedsValues:
            return tree.map_structure(_spec, _in_graph(fn, args, kwargs))
        except Exception as error:
            errors.append(error)
        else:
            return tree.map_structure(_spec, *results)
    raise errors[0]


class GraphScope(StatelessScope):
    """The scope of a graph in which Keras infers shapes. Variables, which belong to no graph, are replaced by zeros."""

    def get_current_value(self, variable):
        value = super().get_current_value(variable)
        return tf.zeros(variable.shape, variable.dtype) if value is None else value


def _in_graph(fn, args, kwargs):
    """Return the results of `fn` on placeholders. In a graph an extent that depends on values, as of a mask, may be open."""

    def placeholder(x):
        if not isinstance(x, KerasTensor):
            return x
        make = tf.compat.v1.sparse_placeholder if x.sparse else tf.compat.v1.placeholder
        return make(standardize_dtype(x.dtype), x.shape)

    with tf.Graph().as_default(), GraphScope(), SymbolicScope():
        args, kwargs = tree.map_structure(placeholder, (args, kwargs))
        return fn(*args, **kwargs)


class Scratch(Scope):
    """The scope of a function in which Keras infers the shapes of results. A model may be built in it, but not from symbols."""

    def initial(self, node):
        """Refuse an initial value that is computed in the function: Keras builds the layer in its next eager call.

        As on TensorFlow, random numbers are then those of eager code.
        """
        raise ValueError(
            "Tensor-typed variable initializers must either be wrapped in an init_scope or callable when building functions. "
            "Give the variable a value that exists, or make it with `self.add_weight(initializer=...)`."
        )


def _unknown(shape, dtype):
    """Return a symbol for any value of this shape."""
    return EagerTensor(leaf(aval.aval(shape, tf.as_dtype(dtype).numpy), None))


def _traced(fn, args, kwargs, extent):
    """Return the results of `fn` on symbols whose unknown extents are `extent`."""

    def symbol(x):
        if not isinstance(x, KerasTensor):
            return x
        known = tuple([extent if d is None else d for d in x.shape])
        if x.sparse:
            places = _unknown((STORED, len(known)), tf.int64)
            return tf.SparseTensor(places, _unknown((STORED,), x.dtype), known)
        return _unknown(known, x.dtype)

    scope = Scratch()
    scope.draws = seeds.Draws()
    with StatelessScope(), SymbolicScope(), tracing.inner(scope):
        args, kwargs = tree.map_structure(symbol, (args, kwargs))
        return fn(*args, **kwargs)


def _spec(x, other=None):
    if not tf.is_tensor(x):
        return x
    extents = tuple(x.shape)
    if other is not None:
        extents = tuple([d if d == e else None for d, e in zip(extents, other.shape, strict=True)])
    return KerasTensor(extents, standardize_dtype(x.dtype), sparse=isinstance(x, tf.SparseTensor))


# Control flow


def cond(pred, true_fn, false_fn):
    """Call one of two functions, selected by a scalar bool."""
    if isinstance(pred, KerasVariable):
        pred = pred.value
    if not tf.is_tensor(pred):
        return true_fn() if pred else false_fn()
    if pred.dtype is not tf.bool:
        pred = tf.cast(pred, tf.bool)
    return tf.cond(tf.reshape(pred, ()), true_fn, false_fn)


def switch(index, branches, *operands):
    """Call one of several functions, selected by a clamped index."""
    index = tf.clip_by_value(convert_to_tensor(index, "int32"), 0, len(branches) - 1)
    return tf.switch_case(index, [functools.partial(branch, *operands) for branch in branches])


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    """Repeat `body` while `cond` holds."""
    is_tuple = isinstance(loop_vars, (tuple, list))
    loop_vars = tuple(loop_vars) if is_tuple else (loop_vars,)

    def step(*values):
        results = body(*values)
        return tuple(results) if is_tuple else (results,)

    loop_vars = tree.map_structure(convert_to_tensor, loop_vars)
    results = tf.while_loop(cond, step, loop_vars, maximum_iterations=maximum_iterations)
    return results if is_tuple else results[0]


def fori_loop(lower, upper, body_fun, init_val):
    """Repeat `body_fun(i, value)` for each i from `lower` to `upper`."""
    if tf.executing_eagerly() and not (tf.is_tensor(lower) or tf.is_tensor(upper)):
        for i in range(lower, upper):  # a Python number adopts the dtype of tensors that it is combined with
            init_val = body_fun(i, init_val)
        return tree.map_structure(convert_to_tensor, init_val)
    lower = convert_to_tensor(lower)
    upper = cast(upper, lower.dtype)

    def step(i, value):
        return i + 1, body_fun(i, value)

    return tf.while_loop(lambda i, value: i < upper, step, (lower, tree.map_structure(convert_to_tensor, init_val)))[1]


def vectorized_map(function, elements):
    """Apply `function` to each element along the first axis, in one vectorised call."""
    return tf.vectorized_map(function, tree.map_structure(convert_to_tensor, elements))


def map(f, xs):
    """Apply `f` to each element along the first axis, sequentially."""
    return scan(lambda _, x: ((), f(x)), (), tree.map_structure(convert_to_tensor, xs))[1]


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """Carry a value along the first axis of `xs`: `f(carry, x)` returns the next carry and an output."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    init = tree.map_structure(convert_to_tensor, init)
    xs = None if xs is None else tree.map_structure(convert_to_tensor, xs)
    count = int(length) if length is not None else extents_of(tree.flatten(xs)[0])[0]
    if unroll is True and count:
        return _unrolled(f, init, xs, count, reverse)
    likeness = []

    def step(carry, x):
        carry, outputs = f(carry, None if xs is None else x)
        likeness.append(outputs)
        return carry, [y for y in tree.flatten(outputs) if y is not None]

    carry, outputs = carry_rows(step, init, tf.range(count) if xs is None else xs, reverse)
    return carry, _filled(likeness[-1], outputs)


def _filled(likeness, outputs):
    """Replace the leaves of `likeness` that are not None by `outputs`."""
    remaining = iter(outputs)
    return tree.map_structure(lambda y: None if y is None else next(remaining), likeness)


def _unrolled(f, carry, xs, count, reverse):
    outputs = []
    for i in range(count - 1, -1, -1) if reverse else range(count):
        carry, output = f(carry, None if xs is None else tree.map_structure(lambda x, i=i: x[i], xs))
        outputs.append(output)
    rows = outputs[::-1] if reverse else outputs
    return carry, tree.map_structure(lambda *ys: None if ys[0] is None else tf.stack(ys), *rows)


def associative_scan(f, elems, reverse=False, axis=0):
    """Combine all prefixes by the associative `f`, in a logarithmic number of steps (Blelloch 1990, section 1.3)."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    flat = [convert_to_tensor(x) for x in tree.flatten(elems)]
    axis = axis % len(flat[0].shape)
    count = extents_of(flat[0])[axis]
    if any(extents_of(x)[axis] != count for x in flat):
        raise ValueError(f"Array inputs to associative_scan must have the same first dimension. (saw: {[x.shape for x in flat]})")

    def combined(a, b):
        return [convert_to_tensor(c) for c in tree.flatten(f(tree.pack_sequence_as(elems, a), tree.pack_sequence_as(elems, b)))]

    if reverse:
        flat = [tf.reverse(x, [axis]) for x in flat]
    flat = _prefixes(combined, flat, axis)
    if reverse:
        flat = [tf.reverse(x, [axis]) for x in flat]
    return tree.pack_sequence_as(elems, flat)


def _prefixes(combined, xs, axis):
    count = extents_of(xs[0])[axis]
    if count < 2:
        return xs
    at = functools.partial(_strided, axis=axis)
    pairs = combined([at(x, 0, count - 1, 2) for x in xs], [at(x, 1, count, 2) for x in xs])
    odd = _prefixes(combined, pairs, axis)
    reached = odd if count % 2 else [at(x, 0, extents_of(x)[axis] - 1, 1) for x in odd]
    even = combined(reached, [at(x, 2, count, 2) for x in xs]) if count > 2 else []
    even = [tf.concat([at(x, 0, 1, 1), e], axis) for x, e in zip(xs, even, strict=True)] if even else [at(x, 0, 1, 1) for x in xs]
    return [_interleaved(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _strided(x, begin, end, step, axis):
    return x[(*[np.s_[:]] * axis, np.s_[begin:end:step])]


def _interleaved(even, odd, axis):
    """Return e0 o0 e1 o1 …; `even` may have one more element."""
    count = extents_of(odd)[axis]
    both = tf.stack([_strided(even, 0, count, 1, axis), odd], axis + 1)
    extents = list(extents_of(odd))
    extents[axis] = 2 * count
    both = tf.reshape(both, extents)
    return both if extents_of(even)[axis] == count else tf.concat([both, _strided(even, count, count + 1, 1, axis)], axis)


# Slices and updates


def scatter(indices, values, shape):
    """Add `values` at `indices` to zeros of `shape`."""
    return tf.scatter_nd(convert_to_tensor(indices), convert_to_tensor(values), shape)


_UPDATES: dict[str | None, Any] = {
    None: tf.tensor_scatter_nd_update,
    "add": tf.tensor_scatter_nd_add,
    "max": tf.tensor_scatter_nd_max,
    "min": tf.tensor_scatter_nd_min,
}


def scatter_update(inputs, indices, updates, reduction=None):
    """Replace elements of `inputs` at `indices` by `updates`, or combine them."""
    inputs = tf.convert_to_tensor(convert_to_tensor(inputs))
    indices, updates = convert_to_tensor(indices), convert_to_tensor(updates, inputs.dtype)
    if reduction == "mul":
        return _multiplied(inputs, indices, updates)
    if reduction not in _UPDATES:
        raise ValueError(f"Unsupported reduction: {reduction}")
    return _UPDATES[reduction](inputs, indices, updates)


def _multiplied(inputs, indices, updates):
    """Multiply repeated indices sequentially: each factor uses its own gather and scatter."""
    if len(indices.shape) != 2:
        updates = tf.reshape(updates, (-1, *extents_of(updates)[len(indices.shape) - 1 :]))
        indices = tf.reshape(indices, (-1, indices.shape[-1]))

    def step(values, row):
        index, update = row[0][None], row[1][None]
        return tf.tensor_scatter_nd_update(values, index, tf.gather_nd(values, index) * update)

    return tf.foldl(step, (indices, updates), initializer=inputs) if indices.shape[0] else inputs


def slice(inputs, start_indices, shape):
    """Return the block of `shape` that begins at `start_indices`; -1 in `shape` means the rest."""
    return tf.slice(convert_to_tensor(inputs), _starts(start_indices), shape)


def slice_update(inputs, start_indices, updates):
    """Replace the block of `inputs` that begins at `start_indices` by `updates`."""
    inputs, updates = convert_to_tensor(inputs), convert_to_tensor(updates)
    starts = _starts(start_indices)
    axes = [tf.range(count) + start for count, start in zip(extents_of(updates), tf.unstack(starts), strict=True)]
    if not axes:
        return tf.cast(updates, inputs.dtype)
    indices = tf.stack(tf.meshgrid(*axes, indexing="ij"), -1)
    return tf.tensor_scatter_nd_update(tf.convert_to_tensor(inputs), indices, tf.cast(updates, inputs.dtype))


def _starts(start_indices):
    if isinstance(start_indices, (list, tuple)):
        start_indices = [cast(start, "int32") if tf.is_tensor(start) else int(start) for start in start_indices]
    return cast(start_indices, "int32") if tf.is_tensor(start_indices) else tf.convert_to_tensor(start_indices, tf.int32)


def unstack(x, num=None, axis=0):
    """Return the slices along an axis."""
    return tf.unstack(convert_to_tensor(x), num, axis)


# Gradients


def stop_gradient(variable):
    """Return the value, without gradients."""
    return tf.stop_gradient(convert_to_tensor(variable))


def custom_gradient(fun):
    """Decorate `fun`, which returns a value and the function of its gradients."""

    @functools.wraps(fun)
    def with_tensors(*args, **kwargs):
        return tf.custom_gradient(fun)(
            *tree.map_structure(lambda x: x.value if isinstance(x, KerasVariable) else x, args), **kwargs
        )

    return with_tensors


def remat(f):
    """Wrap `f` so that its values are recomputed for the gradient instead of stored."""
    return tf.recompute_grad(f)


# Scopes


def random_seed_dtype():
    return "int64"


class name_scope(KerasNameScope):
    """A prefix of names, for Keras's paths and for gradtape's names."""

    def __init__(self, name, **kwargs):
        super().__init__(name, **kwargs)
        self._scope = tf.name_scope(name)

    def __enter__(self):
        stack = global_state.get_global_attribute("name_scope_stack", default=[], set_to_default=True)
        depth = len(stack)
        super().__enter__()
        self._opened = len(stack) > depth
        if self._opened:
            self._scope.__enter__()
        return self

    def __exit__(self, *args, **kwargs):
        super().__exit__(*args, **kwargs)
        if self._opened:
            self._scope.__exit__(*args, **kwargs)


def device_scope(device_name):
    """Open a scope for a device, such as "cpu:0" or "gpu:0"."""
    return tf.device(device_name)
