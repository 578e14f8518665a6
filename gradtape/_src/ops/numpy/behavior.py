"""NumPy's methods, operators and indexing for tensors, enabled by `experimental_enable_numpy_behavior`."""

import functools

from gradtape._src.core.base.errors import UnimplementedError
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.numpy import dtypes, elements, pairs, products, reductions, selection, shapes
from gradtape._src.ops.numpy.policy import promoted
from gradtape._src.ops.operators import COMPARISONS, OPERATORS

_basic = Tensor.__getitem__


@public
def _item(self, key):
    return selection.item(self, key, _basic)


@public
def _reshaped(self, *newshape, **kwargs):
    order = kwargs.pop("order", "C")
    if kwargs:
        raise ValueError(f"Unsupported arguments: {list(kwargs)}; `order` is the only one.")
    single = len(newshape) == 1 and not isinstance(newshape[0], int)
    return shapes.reshape(self, newshape[0] if single else newshape, order)


def _transposed(self):
    return shapes.transpose(self)


# Products that treat a vector as a row on the left and as a column on the right.
VECTORS = {"matmul": (products.matmul, lambda self, other: products.matmul(other, self))}
ARRAY_METHODS = {
    "T": property(_transposed),
    "size": property(lambda self: self.shape.num_elements()),
    "data": property(lambda self: self),
    "tolist": public(lambda self: self.numpy().tolist()),
    "transpose": shapes.transpose,
    "flatten": shapes.flatten,
    "reshape": _reshaped,
    "ravel": shapes.ravel,
    "clip": pairs.clip,
    "astype": cast,
    "max": reductions.amax,
    "mean": reductions.mean,
    "min": reductions.amin,
    "__round__": elements.around,
}


def _promoting(operator):
    """Wrap an operator so that it promotes both operands to their common dtype."""

    @functools.wraps(operator)
    def promoted_operator(self, other):
        if self.__class__ is not other.__class__ or self.dtype != other.dtype:
            try:
                self, other = promoted(self, other)
            except (TypeError, ValueError):
                return NotImplemented
        return operator(self, other)

    return promoted_operator


@public
def experimental_enable_numpy_behavior(prefer_float32=False, dtype_conversion_mode="legacy"):
    """Give tensors NumPy's methods (`T`, `reshape`, `astype`, …), indexing by arrays, and operators that promote dtypes.

    As in TensorFlow, it affects the whole process, and cannot be undone. `dtype_conversion_mode="off"` leaves the operators
    unchanged. With `prefer_float32`, Python's floats become float32. UnimplementedError for the modes "safe" and "all".

    >>> tf.experimental.numpy.experimental_enable_numpy_behavior()  # doctest: +SKIP
    """
    if dtype_conversion_mode not in ("off", "legacy"):
        raise UnimplementedError(
            None, None, f"dtype_conversion_mode {dtype_conversion_mode!r} is not there: it is 'legacy', NumPy's rules, or 'off'."
        )
    promotes = dtype_conversion_mode == "legacy"
    for kind in (Tensor, Variable):
        for name, pair in (OPERATORS | VECTORS).items():
            forward, reflected = map(_promoting, pair) if promotes else pair
            attach(kind, **{f"__{name}__": forward, f"__r{name}__": reflected})
        for name, comparison in COMPARISONS.items():
            if name not in ("eq", "ne"):
                attach(kind, **{f"__{name}__": _promoting(comparison) if promotes else comparison})
    attach(Tensor, __getitem__=_item, **ARRAY_METHODS)
    dtypes.prefer_float32(prefer_float32)
