"""The functions of `keras.ops.numpy` that are gradtape's NumPy under Keras's policy, with Keras's signatures."""

import functools
import inspect
from types import SimpleNamespace

import gradtape as tf
from gradtape._src.ops.numpy import elements, pairs, products, search, shapes, statistics
from gradtape._src.ops.numpy.policy import under
from gradtape.experimental import numpy
from keras_gradtape.src.ops._numpy.promotion import KERAS

_NAMES = (
    (
        lambda x: ...,
        "abs absolute angle arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil conj conjugate copy cos "
        "cosh deg2rad exp exp2 expm1 fliplr flipud floor imag isfinite isinf isnan isneginf isposinf isreal log log10 "
        "log1p log2 logical_not ndim negative rad2deg ravel real sign sin sinc sinh sqrt square tan tanh",
    ),
    (
        lambda x1, x2: ...,
        "add arctan2 divide dot equal floor_divide gcd greater greater_equal heaviside hypot inner kron lcm less "
        "less_equal logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal outer power "
        "subtract true_divide vdot",
    ),
    (lambda x, y: ..., "bitwise_and bitwise_or bitwise_xor"),
    (
        lambda x, axis=None, keepdims=False: ...,
        "all amax amin any argmax argmin mean median nanargmax nanargmin nanmax nanmean nanmedian "
        "nanmin nanprod nanstd nansum nanvar ptp sum",
    ),
    (lambda x, axis=None, keepdims=False, initial=None: ..., "max min"),
    (lambda x, axis=None, keepdims=False, dtype=None: ..., "prod"),
    (lambda x, axis=None, dtype=None: ..., "cumprod cumsum nancumprod nancumsum"),
    (lambda x: ..., "nonzero"),
    (lambda x, axis=None: ..., "count_nonzero flip"),
    (lambda x, axis=-1: ..., "argsort sort"),
    (lambda x, axis=0: ..., "stack"),
    (lambda xs, axis=0: ..., "concatenate"),
    (lambda xs: ..., "dstack hstack vstack"),
    (lambda x1, x2, axis=None: ..., "append"),
    (lambda x1, x2, axes=2: ..., "tensordot"),
    (lambda x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None: ..., "cross"),
    (lambda x, shape: ..., "broadcast_to"),
    (lambda x, axis: ..., "expand_dims"),
    (lambda x, repeats: ..., "tile"),
    (lambda x, axis1, axis2: ..., "swapaxes"),
    (lambda x, source, destination: ..., "moveaxis"),
    (lambda x, indices_or_sections, axis=0: ..., "split"),
    (lambda x, indices_or_sections: ..., "dsplit hsplit vsplit"),
    (lambda x, repeats, axis=None: ..., "repeat"),
    (lambda x, shift, axis=None: ..., "roll"),
    (lambda array, k=1, axes=(0, 1): ..., "rot90"),
    (lambda x, pad_width, mode="constant", constant_values=0: ..., "pad"),
    (lambda x, x_min, x_max: ..., "clip"),
    (lambda a, n=1, axis=-1: ..., "diff"),
    (lambda x, decimals=0: ..., "round"),
    (lambda x, dtype=None: ..., "array empty_like ones_like zeros_like"),
    (lambda shape, dtype=None: ..., "empty ones zeros"),
    (lambda start, stop=None, step=None, dtype=None: ..., "arange"),
    (lambda N, M=None, k=0, dtype=None: ..., "eye tri"),
    (lambda n, dtype=None: ..., "identity"),
    (lambda x, k=0: ..., "diag diagflat tril triu"),
    (lambda x, offset=0, axis1=0, axis2=1: ..., "diagonal"),
    (lambda x, N=None, increasing=False: ..., "vander"),
    (lambda condition, x, y: ..., "where"),
    (lambda condlist, choicelist, default=0: ..., "select"),
)


_FUNCTIONS = vars(elements) | vars(pairs) | vars(products) | vars(shapes) | vars(statistics) | vars(search) | vars(numpy)


# These have Keras's signatures already.
_THE_SAME = """
    array_split corrcoef correlate digitize fmax fmin fmod histogram isin ldexp nan_to_num nanpercentile
    nanquantile percentile quantile searchsorted trapezoid unique unravel_index
""".split()
_SIGNATURES = {name: inspect.signature(like) for like, names in _NAMES for name in names.split()}
_SIGNATURES |= {name: inspect.signature(_FUNCTIONS[name]) for name in _THE_SAME}


def _bound(name, signature):
    """Return a NumPy function under Keras's policy, with Keras's signature."""
    function = under(KERAS, _FUNCTIONS[name])
    code, defaults = function.func.__code__, function.func.__defaults__ or ()
    ours = dict.fromkeys(code.co_varnames[: code.co_argcount], inspect.Parameter.empty)
    ours.update(zip(list(ours)[len(ours) - len(defaults) :], defaults, strict=True))
    rest = list(signature.parameters.values())
    for known, default in ours.items():
        if not rest or rest[0].default != default or not (default is inspect.Parameter.empty or rest[0].name == known):
            break
        del rest[0]
    if rest:
        function = _by_name(
            functools.partial(function, **{p.name: p.default for p in rest}), [p.name for p in rest], len(signature.parameters)
        )
    function.__signature__ = signature
    return function


def _by_name(function, rest, count):
    """Adapt a function of at most `count` arguments, so that the last ones, `rest`, are passed by name."""
    first = count - len(rest)

    def call(*args, **named):
        if len(args) > count:
            raise TypeError(f"There are at most {count} arguments. Received: {len(args)}")
        return function(*args[:first], **dict(zip(rest, args[first:], strict=False)), **named)

    return call


# The functions of IndexedSlices: how many operands can be some.
_OF_SLICES = {**dict.fromkeys("abs absolute clip divide negative sqrt square".split(), 1), "multiply": 2}


def _by_rows(function, count):
    """Apply `function` to tensors, or to the rows of IndexedSlices and the same rows of the other operands.

    One of the first `count` operands is IndexedSlices. As on TensorFlow, repeated rows are added afterwards.
    """

    @functools.wraps(function)
    def call(*args, **named):
        found = [x for x in args[:count] if isinstance(x, tf.IndexedSlices)]
        if len(found) != 1:
            return function(*args, **named)
        slices = found[0]
        rows = [x.values if x is slices else _rows(x, slices) for x in args]
        return tf.IndexedSlices(function(*rows, **named), slices.indices, slices.dense_shape)

    return call


def _rows(x, slices):
    """Return the rows of `x` at the indices of IndexedSlices, or `x`, if it has fewer axes."""
    return x if len(getattr(x, "shape", ())) < slices.values.ndim else tf.gather(tf.convert_to_tensor(x), slices.indices)


bound = SimpleNamespace(**{name: _bound(name, signature) for name, signature in _SIGNATURES.items()})
vars(bound).update({name: _by_rows(getattr(bound, name), count) for name, count in _OF_SLICES.items()})
