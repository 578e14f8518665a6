"""Element-wise functions and operators for RaggedTensors, which apply to the innermost values of broadcast operands."""

import inspect

from gradtape._src.core.base.hooks import attach
from gradtape._src.core.tensors import nest
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array import cast, creation, select, shape
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.debugging import checks
from gradtape._src.ops.dispatch import holds, version
from gradtape._src.ops.image import adjust, augment, colour
from gradtape._src.ops.math import arithmetic, bessel, clip, compare, complex, elementary, incomplete, rounding, special
from gradtape._src.ops.nn import activation, dropout, embedding, losses
from gradtape._src.ops.ragged.broadcasting import broadcast, operand
from gradtape._src.ops.ragged.conversions import coordinates
from gradtape._src.ops.strings import elements, numbers, parts

# The number of leading arguments of a function that are operands; the others are options.
_OPERANDS = {
    1: {
        activation: "relu relu6 leaky_relu gelu elu selu softsign silu",
        adjust: "adjust_brightness adjust_gamma",
        arithmetic: "abs sign reciprocal_no_nan sqrt rsqrt negative reciprocal square",
        augment: "random_brightness stateless_random_brightness",
        bessel: """
            bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_j0 bessel_j1 bessel_y0
            bessel_y1
        """,
        cast: "cast_unless_variable bitcast",
        checks: "check_numerics",
        clip: "saturate_cast",
        colour: "convert_image_dtype",
        compare: "invert is_finite is_inf is_nan logical_not",
        complex: "real imag angle conj",
        creation: "zeros_like ones_like",
        dropout: "dropout stateless_dropout",
        elementary: "exp acos acosh asin asinh atan atanh cos cosh expm1 log log1p sin sinh tan tanh",
        elements: "regex_full_match regex_replace length substr lower upper strip",
        numbers: "to_number to_hash_bucket as_string to_hash_bucket_fast to_hash_bucket_strong",
        parts: """
            unicode_transcode split bytes_split unicode_split unicode_decode unicode_split_with_offsets
            unicode_decode_with_offsets
        """,
        rounding: "round ceil floor rint",
        shape: "identity stop_gradient",
        special: """
            softplus sigmoid log_sigmoid erfinv ndtri erfcinv digamma erf erfc lgamma dawsn expint fresnel_cos fresnel_sin spence
        """,
    },
    2: {
        arithmetic: """
            divide multiply subtract scalar_mul truediv divide_no_nan multiply_no_nan add maximum minimum realdiv
            squared_difference nextafter
        """,
        checks: """
            assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near assert_none_equal
        """,
        compare: """
            logical_xor equal not_equal bitwise_and bitwise_or bitwise_xor left_shift right_shift greater greater_equal less
            less_equal logical_and logical_or
        """,
        complex: "complex",
        elementary: "pow atan2",
        incomplete: "igamma igammac",
        losses: "sigmoid_cross_entropy_with_logits",
        rounding: "floordiv floormod truncatediv truncatemod",
        special: "xdivy xlog1py xlogy zeta",
    },
    3: {clip: "clip_by_value"},
}


def _on_values(function, count):
    """Create the version of an element-wise function whose first `count` arguments are its operands."""
    names = list(inspect.signature(function).parameters)[:count]

    def call(*args, **kwargs):
        named = [name for name in names[len(args) :] if name in kwargs]
        given = [*args[:count], *[kwargs.pop(name) for name in named]]
        if not holds(RaggedTensor, given):
            return NotImplemented
        flats, rows = broadcast(given)
        placed = len(given) - len(named)
        result = function(*flats[:placed], *args[count:], **dict(zip(named, flats[placed:], strict=True)), **kwargs)
        return nest.map_structure(lambda x: None if x is None else rows.wrapped(x), result)

    return call


for _count, _functions in _OPERANDS.items():
    for _module, _names in _functions.items():
        for _name in _names.split():
            _function = getattr(_module, _name)
            version(RaggedTensor, _function)(_on_values(_function, _count))


@version(RaggedTensor, select.where)
def _where(condition, x=None, y=None):
    if x is None and y is None:
        places, flags = coordinates(condition)
        return select.boolean_mask(places, flags)
    dtype = next((v.dtype for v in (x, y) if isinstance(v, RaggedTensor)), None)
    (condition, x, y), rows = broadcast([operand(condition, dtypes.bool), operand(x, dtype), operand(y, dtype)])
    return rows.wrapped(select.where(condition, x, y))


@version(RaggedTensor, creation.one_hot)
def _one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None):
    inner = -1 if axis is None or axis < 0 else axis - indices.ragged_rank
    if not inner or inner < -1:
        raise ValueError(f"axis ({axis}) must be greater than indices.ragged_rank ({indices.ragged_rank}).")
    return indices.with_flat_values(creation.one_hot(indices.flat_values, depth, on_value, off_value, inner, dtype))


@version(RaggedTensor, elements.join)
def _join(inputs, separator=""):
    flats, rows = broadcast(list(inputs))
    return rows.wrapped(elements.join(flats, separator))


@version(RaggedTensor, arithmetic.add_n)
def _add_n(inputs):
    flats, rows = broadcast(list(inputs))
    return rows.wrapped(arithmetic.add_n(flats))


@version(RaggedTensor, embedding.embedding_lookup)
def _embedding_lookup(params, ids, *args, **kwargs):
    return ids.with_flat_values(embedding.embedding_lookup(params, ids.flat_values, *args, **kwargs))


# ---------------------------------------------------------------------------------------------------------------------
# Operators


def _by_kind(of_bools, of_integers):
    return lambda x, y: (of_bools if (x if isinstance(x, RaggedTensor) else y).dtype.is_bool else of_integers)(x, y)


_BINARY = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.truediv,
    "floordiv": rounding.floordiv,
    "mod": rounding.floormod,
    "pow": elementary.pow,
    "and": _by_kind(compare.logical_and, compare.bitwise_and),
    "or": _by_kind(compare.logical_or, compare.bitwise_or),
    "xor": _by_kind(compare.logical_xor, compare.bitwise_xor),
}
_COMPARISONS = {
    "lt": compare.less,
    "le": compare.less_equal,
    "gt": compare.greater,
    "ge": compare.greater_equal,
    "eq": lambda x, y: False if y is None else compare.equal(x, y),
    "ne": lambda x, y: True if y is None else compare.not_equal(x, y),
}
_UNARY = {
    "neg": arithmetic.negative,
    "abs": arithmetic.abs,
    "invert": lambda x: (compare.logical_not if x.dtype.is_bool else compare.invert)(x),
}


def _operator(function):
    return lambda self, other: function(self, other)


def _reflected(function):
    return lambda self, other: function(other, self)


for _name, _function in _BINARY.items():
    attach(RaggedTensor, **{f"__{_name}__": _operator(_function), f"__r{_name}__": _reflected(_function)})
for _name, _function in _COMPARISONS.items():
    attach(RaggedTensor, **{f"__{_name}__": _operator(_function)})
for _name, _function in _UNARY.items():
    attach(RaggedTensor, **{f"__{_name}__": _function})
