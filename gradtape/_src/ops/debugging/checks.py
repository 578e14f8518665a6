"""Checks of values, shapes and dtypes: `tf.debugging`.

Shapes and dtypes are checked at once. In eager code values are checked at once, too, and raise at the user's line.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import finfo

from gradtape._src.core.base.errors import InvalidArgumentError, invalid, of_op
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.engine import constant_folding, engine
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs.op import data
from gradtape._src.core.tensors.convert import is_tensor, static, tensor, tensor as as_tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.ops.array import extents as sizes, shape as array
from gradtape._src.ops.debugging.printing import strings_of
from gradtape._src.ops.grouping import no_op
from gradtape._src.ops.math import compare
from gradtape._src.ops.math.arithmetic import abs as absolute
from gradtape._src.ops.math.reduction import reduce_any
from gradtape._src.ops.shapes import FLOATING, only, same

# ---------------------------------------------------------------------------------------------------------------------
# Numerics


def _not_finite(tensor, message):
    """Return the message for an array with NaN or infinities."""
    nan, inf = np.isnan(tensor).any(), np.isinf(tensor).any()  # host-side: the check reads the values
    return f"{message} : Tensor had {'Inf and NaN' if nan and inf else 'NaN' if nan else 'Inf'} values"


@op(
    "CheckNumerics", infer=only(FLOATING, same), cheap=True, traits="demanded", flops=0,
    refuses=lambda tensor, message: [(~jnp.isfinite(tensor), lambda: _not_finite(tensor, message))],
)  # fmt: skip
def check_numerics(tensor, *, message):
    """Return `tensor`; InvalidArgumentError, beginning with `message`, if an element is NaN or infinite. Floating dtypes.

    The gradient is checked, too.

    >>> tf.debugging.check_numerics([1.0, 2.0], "loss").numpy()
    array([1., 2.], dtype=float32)
    """
    return tensor


def _checked_on_host(dy, *, message):
    if not np.isfinite(dy).all():  # host-side: the check reads the values
        raise InvalidArgumentError(None, None, of_op(_not_finite(dy, message), "CheckNumerics"))
    return dy


@op("CheckNumericsGradient", infer=same, host=_checked_on_host, effect=True, traits="own", flops=0)
def _checked_gradient(dy, *, message):
    """Return `dy` with a check at run time: a gradient's values are not known while it is recorded."""
    return dy


@gradient(check_numerics)
@gradient(_checked_gradient)
def _(dy, *, message):
    prefix = "Not a number (NaN) or infinity (Inf) values detected in gradient. "
    return _checked_gradient(dy, message=message if message.startswith(prefix) else f"{prefix}{message.encode()!r}")


@public
def assert_all_finite(x, message, name=None):
    """Check `x` like `check_numerics`, but not its gradient.

    >>> print(tf.debugging.assert_all_finite(tf.constant([1.0, 2.0]), "weights").numpy())
    [1. 2.]
    """
    x = tensor(x)
    with control_dependencies([check_numerics(x, message)]):
        return array.identity(x)


# ---------------------------------------------------------------------------------------------------------------------
# Conditions


def _false(*inputs, explain):
    yield ~inputs[0], lambda: f"{explain(*inputs)} [Op:Assert]"  # the user's text may have many lines


def _condition(*inputs, explain):
    return inputs[0]


_assert = op(
    "Assert", infer=_condition, refuses=_false, mixed=True, strings=True, traits="demanded",
)(_condition)  # fmt: skip


not_differentiable(_assert, because="it gives a bool")


def _demand(condition, tensors, explain, fold=True):
    """Raise InvalidArgumentError with the text of `explain(condition, *tensors)` unless all of `condition` holds.

    `explain` takes NumPy arrays. While a function is traced values are unknown, so its calls check. In a graph the result is
    an Operation that checks when it is run; with `fold`, a condition that is false for any feed raises at once.
    """
    if engine.local.trace.parent is not None:
        known = constant_folding.folded(condition.node) if fold and engine.current_graph() is not None else None
        if known is not None and not known.all():
            raise InvalidArgumentError(None, None, explain(*[constant_folding.folded(t.node) for t in (condition, *tensors)]))
        asserted: Any = _assert(condition, *tensors, explain=explain)
        return None if engine.current_graph() is None else asserted.op
    if not to_numpy(condition.node).all():
        raise invalid(explain(*[to_numpy(t.node) for t in (condition, *tensors)]))
    return None


def _prefix(message):
    return f"{message}.  " if message else ""


def _entries(array, summarize):
    """Format the first `summarize` entries of an array (3 for None, all for -1)."""
    flat = array.ravel()
    shown = flat[: _count(summarize, flat.size)]
    return [str(v) for v in shown] + ["..."] * (len(shown) < flat.size)


def _row(array, summarize):
    """Format the first entries of an array in one row."""
    return ", ".join(_entries(array, summarize))


def _count(summarize, size):
    summarize = 3 if summarize is None else summarize
    return size if summarize < 0 else min(summarize, size)


def _described(x):
    return f"shape={x.shape} dtype={x.dtype.name}"


@data
@dataclass(frozen=True)
class Summary:
    """The text of a failed `Assert`: a row for each value. `rows` has the texts of strings, and None for tensors.

    `condition` is the source text of a condition that is no tensor.
    """

    rows: tuple
    summarize: int | None
    condition: str | None = None

    def __call__(self, holds, *arrays):
        remaining = iter(arrays)
        rows = [_row(next(remaining), self.summarize) if row is None else row for row in self.rows]
        shown = self.condition or f"tf.Tensor({holds}, shape={holds.shape}, dtype=bool)"
        return f"Expected '{shown}' to be true. Summarized data: " + "\n".join(rows)


@data
@dataclass(frozen=True)
class Comparison:
    """The text of a failed comparison of two tensors: their differences, and their first elements."""

    message: str | None
    headline: str
    summarize: int | None

    def __call__(self, holds, xs, ys):
        lines = [self.message, self.headline] if self.message else [self.headline]
        if extents_of(xs) == extents_of(ys) and extents_of(xs):
            where = np.argwhere(~holds)
            where = where[: _count(self.summarize, len(where))]
            lines += [f"Indices of first {len(where)} different values:", str(where)]
            for name, values in (("x", xs), ("y", ys)):
                lines += [f"Corresponding {name} values:", str(values[tuple(where.T)])]
        for name, values in (("x", xs), ("y", ys)):
            count = _count(self.summarize, values.size)
            lines += [f"First {count} elements of {name}:", str(values.ravel()[:count])]
        return "\n".join(lines)


@data
@dataclass(frozen=True)
class Elements:
    """The text of a failed condition on the tensors `names`: shape, dtype and first elements of each."""

    headline: str
    names: str
    summarize: int | None

    def __call__(self, holds, *arrays):
        rows = [f"{n} ({_described(a)}) = \n{_entries(a, self.summarize)}" for n, a in zip(self.names, arrays, strict=True)]
        return self.headline + "\n".join(rows)


@data
@dataclass(frozen=True)
class Rank:
    """The text of a failed condition on a rank."""

    headline: str

    def __call__(self, holds, known):
        return f"{self.headline}rank {known}"


@public
def Assert(condition, data, summarize=None, name=None):
    """Raise InvalidArgumentError, with the values of the list `data` in its message, unless the bool `condition` holds.

    `summarize` is the number of entries shown of each: 3 for None, all for -1.

    >>> x = tf.constant([1.0, -2.0])
    >>> try:
    ...     tf.Assert(tf.reduce_all(x > 0), ["not positive:", x])
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(error.message.splitlines()[-2:])
    ["Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b'not positive:'", '1.0, -2.0']
    """
    written = None if is_tensor(condition) else str(condition)
    condition = tensor(condition if is_tensor(condition) or np.ndim(condition) else bool(condition), dtypes.bool)

    items = [np.array(item.encode(), object) if isinstance(item, str) else tensor(item) for item in data]
    items = [item if (known := strings_of(item)) is None else known for item in items]
    rows = tuple([None if isinstance(item, Tensor) else _row(item, summarize) for item in items])
    return _demand(condition, [item for item in items if isinstance(item, Tensor)], Summary(rows, summarize, written), fold=False)


def _compare(function, symbol, x, y, message, summarize):
    """Raise InvalidArgumentError with the differing elements unless function(x, y) holds for all elements."""
    x, y = tensor(x), tensor(y, hint=getattr(x, "dtype", None))
    condition = function(x, y)
    headline = f"Condition x {symbol} y did not hold."
    return _demand(condition, (x, y), Comparison(message, headline, summarize))


def _compare_with_zero(function, symbol, x, message, summarize):
    x = tensor(x)
    headline = f"{_prefix(message)}\nCondition x {symbol} 0 did not hold element-wise"
    return _demand(function(x, 0), (x,), Elements(f"{headline}:\n", "x", summarize))


@public
def assert_equal(x, y, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x = y, element-wise, with broadcasting; the message shows `summarize` (3) elements.

    >>> tf.debugging.assert_equal(tf.constant([1, 2]), [1, 2])
    """
    return _compare(compare.equal, "==", x, y, message, summarize)


@public
def assert_none_equal(x, y, summarize=None, message=None, name=None):
    """Raise InvalidArgumentError unless x ≠ y, element-wise, with broadcasting; the message shows `summarize` (3) elements.

    >>> tf.debugging.assert_none_equal(tf.constant([1, 2]), 3)
    """
    return _compare(compare.not_equal, "!=", x, y, message, summarize)


@public
def assert_less(x, y, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x < y, element-wise, with broadcasting; the message shows `summarize` (3) elements.

    >>> tf.debugging.assert_less(tf.constant([1.0]), 2.0)
    """
    return _compare(compare.less, "<", x, y, message, summarize)


@public
def assert_less_equal(x, y, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x ≤ y, element-wise, with broadcasting; the message shows `summarize` (3) elements.

    >>> tf.debugging.assert_less_equal(tf.constant([1, 2]), 2)
    """
    return _compare(compare.less_equal, "<=", x, y, message, summarize)


@public
def assert_greater(x, y, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x > y, element-wise, with broadcasting; the message shows `summarize` (3) elements.

    >>> tf.debugging.assert_greater(tf.constant([3.0]), 2.0)
    """
    return _compare(compare.greater, ">", x, y, message, summarize)


@public
def assert_greater_equal(x, y, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x ≥ y, element-wise, with broadcasting; the message shows `summarize` (3) elements.

    >>> tf.debugging.assert_greater_equal(tf.constant([1.0, 2.0]), 1.0)
    >>> try:
    ...     tf.debugging.assert_greater_equal(tf.constant([1.0, 2.0]), 2.0)
    ... except tf.errors.InvalidArgumentError:
    ...     print("1.0 is below 2.0")
    1.0 is below 2.0
    """
    return _compare(compare.greater_equal, ">=", x, y, message, summarize)


@public
def assert_positive(x, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x > 0, element-wise.

    >>> tf.debugging.assert_positive(tf.constant([1.0, 2.0]))
    """
    return _compare_with_zero(compare.greater, ">", x, message, summarize)


@public
def assert_negative(x, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x < 0, element-wise.

    >>> tf.debugging.assert_negative(tf.constant([-1.0, -2.0]))
    """
    return _compare_with_zero(compare.less, "<", x, message, summarize)


@public
def assert_non_negative(x, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x ≥ 0, element-wise.

    >>> tf.debugging.assert_non_negative(tf.constant([0.0, 2.0]))
    """
    return _compare_with_zero(compare.greater_equal, ">=", x, message, summarize)


@public
def assert_non_positive(x, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless x ≤ 0, element-wise.

    >>> tf.debugging.assert_non_positive(tf.constant([0.0, -2.0]))
    """
    return _compare_with_zero(compare.less_equal, "<=", x, message, summarize)


@public
def assert_near(x, y, rtol=None, atol=None, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless |x − y| ≤ atol + rtol·|y|, element-wise; both are 10 ε of the dtype by default.

    >>> tf.debugging.assert_near(tf.constant([1.0]), 1.0 + 1e-7)
    """
    x = tensor(x)
    y = tensor(y, x.dtype)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise ValueError(f"data type {x.dtype.name} not inexact: assert_near compares floating numbers. Use assert_equal.")
    tolerance = 10 * float(finfo(x.dtype.real_dtype.numpy).eps)
    rtol, atol = [tolerance if given is None else given for given in (rtol, atol)]
    near = compare.less_equal(absolute(x - y), atol + rtol * absolute(y))
    headline = f"{_prefix(message)}x and y not equal to tolerance rtol = {rtol}, atol = {atol}"
    return _demand(near, (x, y), Elements(f"{headline}\n", "xy", summarize))


# ---------------------------------------------------------------------------------------------------------------------
# Shapes


MOST_AXES = 255  # TensorFlow's limit on the number of axes


def _rank(rank):
    assert_type(rank, dtypes.int32)
    rank = tensor(rank)
    if rank.ndim:
        raise ValueError("Rank must be a scalar.")
    return static(rank, "rank")


def _check_rank(x, allowed, wanted, message):
    """Raise ValueError unless `allowed` has the rank of `x`. In a graph with unknown ranks, return an Operation that checks."""
    x = tensor(x)
    headline = f"{_prefix(message)}Tensor  must have rank {wanted}.  Received "
    if not x.node.aval.ranked:
        rank = sizes.rank(x)
        return _demand(reduce_any(compare.equal(rank, list(allowed))), (rank,), Rank(headline))
    if x.ndim not in allowed:
        raise ValueError(f"{headline}rank {x.ndim}, shape {x.shape}")
    return no_op()


@public
def assert_rank(x, rank, message=None, name=None):
    """Raise ValueError unless `x` has `rank` axes.

    >>> tf.debugging.assert_rank(tf.zeros([2, 3]), 2)
    """
    rank = _rank(rank)
    return _check_rank(x, (rank,), rank, message)


@public
def assert_rank_at_least(x, rank, message=None, name=None):
    """Raise ValueError unless `x` has at least `rank` axes.

    >>> tf.debugging.assert_rank_at_least(tf.zeros([2, 3]), 1)
    """
    rank = _rank(rank)
    return _check_rank(x, range(rank, MOST_AXES), f"at least {rank}", message)


@public
def assert_rank_in(x, ranks, message=None, name=None):
    """Raise ValueError unless the number of axes of `x` is one of `ranks`.

    >>> tf.debugging.assert_rank_in(tf.zeros([2, 3]), [2, 3])
    """
    ranks = tuple([_rank(rank) for rank in ranks])
    return _check_rank(x, ranks, f"in {ranks}", message)


@public
def assert_scalar(tensor, message=None, name=None):
    """Raise ValueError if `tensor` has axes.

    >>> tf.debugging.assert_scalar(tf.constant(3.0))
    """
    x = as_tensor(tensor)
    if x.ndim:
        raise ValueError(f"{message or ''}Expected scalar shape, saw shape: {x.shape}.")


ANY = (None, ".")
REST = (Ellipsis, "*")


@public
def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Raise ValueError unless tensors have shapes of a common pattern: a list of `(tensor, pattern)`.

    A pattern has an entry for each axis: an extent, a name for one extent in all patterns, or None for any extent. `...` or
    "*" as its first entry stands for any number of axes. A scalar counts as one axis of extent 1.

    >>> x, y = tf.zeros([8, 3]), tf.zeros([8])
    >>> tf.debugging.assert_shapes([(x, ("rows", 3)), (y, ("rows",))])
    """
    matched(shapes, message)


def matched(shapes, message):
    """Check shapes like `assert_shapes`; return the Operations that check the remaining extents when a graph runs."""
    known, late = {}, []
    for x, pattern in shapes.items() if isinstance(shapes, dict) else shapes:
        if pattern is not None:
            late += _match(tensor(x), pattern, known, message)
    return late


def _match(x, pattern, known, message):
    """Check one tensor against its pattern; `known` maps names to their extents and the tensors that determined them."""
    if not hasattr(pattern, "__iter__"):
        raise ValueError(
            f"{_prefix(message)}Tensor {_described(x)}.  Specified shape must be an iterable.  Received specified "
            f"shape: {pattern}"
        )
    pattern = tuple(pattern)
    for i, entry in enumerate(pattern):
        if entry in REST and i:
            raise ValueError(
                f"{_prefix(message)}Tensor {_described(x)} specified shape index {i}.  Symbol `...` or `*` for a "
                "variable number of unspecified dimensions is only allowed as the first entry"
            )
    if not x.node.aval.ranked:
        return []
    extents, late = x.node.aval.shape or (1,), []
    if pattern and pattern[0] in REST:
        pattern = pattern[1:]
        if len(pattern) > 1:
            assert_rank_at_least(x, len(pattern), message)
        axes = range(-len(pattern), 0)
    else:
        pattern = pattern or (1,)
        if len(pattern) > 1:
            assert_rank(x, len(pattern), message)
        else:
            assert_rank_in(x, (0, 1), message)
        axes = range(len(pattern))
    for entry, axis in zip(pattern, axes, strict=True):
        if entry in ANY:
            continue
        extent = sizes.shape(x)[axis] if is_unknown(extents[axis]) else extents[axis]
        if str(entry).isdecimal():
            wanted, source = int(entry), "Specified explicitly"
        else:
            wanted, source = known.setdefault(entry, (extent, f"Specified by tensor {_described(x)} dimension {axis}"))
        if isinstance(extent, Tensor) or isinstance(wanted, Tensor):
            late.append(assert_equal(extent, wanted, message))
        elif extent != wanted:
            raise ValueError(
                f"{_prefix(message)}{source}.  Tensor {_described(x)} dimension {axis} must have size {wanted}.  "
                f"Received size {extent}, shape {x.shape}"
            )
    return late


# ---------------------------------------------------------------------------------------------------------------------
# Types


@public
def assert_type(tensor, tf_type, message=None, name=None):
    """Raise TypeError unless `tensor`, which may be sparse or ragged, is of dtype `tf_type`.

    >>> tf.debugging.assert_type(tf.constant(1), tf.int32)
    """
    wanted = dtypes.as_dtype(tf_type)
    x = tensor if isinstance(getattr(tensor, "dtype", None), dtypes.DType) else as_tensor(tensor)
    if x.dtype != wanted:
        raise TypeError(f"{_prefix(message)}tensor must be of type {wanted!r}; got {x.dtype!r}")


@public
def assert_integer(x, message=None, name=None):
    """Raise TypeError unless `x` is of an integer dtype.

    >>> tf.debugging.assert_integer(tf.constant([1, 2]))
    """
    x = tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f'{_prefix(message)}Expected "x" to be integer type.  Found: tensor of dtype {x.dtype}')


@public
def assert_same_float_dtype(tensors=None, dtype=None):
    """Return the floating dtype of all `tensors`; ValueError if they differ, or differ from `dtype`.

    Entries that are None are skipped. Without any tensor and `dtype` it is float32.

    >>> print(tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant([2.0])]))
    <dtype: 'float32'>
    """
    expected, first = None if dtype is None else dtypes.as_dtype(dtype), None
    for item in tensors or ():
        if item is None:
            continue
        # Composite tensors have a dtype, too.
        x = item if isinstance(getattr(item, "dtype", None), dtypes.DType) else tensor(item)
        if expected is None:
            expected, first = x.dtype, x
        elif x.dtype != expected:
            like = "" if first is None else f" as {first!s}"
            raise ValueError(f"{x!s}, type={x.dtype}, must be of the same type ({expected}){like}.")
    expected = expected or dtypes.float32
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected}.")
    return expected


@public
def assert_proper_iterable(values):
    """Raise TypeError unless `values` is an iterable that is not a tensor, an array or a string.

    >>> tf.debugging.assert_proper_iterable([tf.constant(1.0), tf.constant(2.0)])
    """
    if isinstance(values, (Tensor, Stored, IndexedSlices, np.ndarray, str, bytes)):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@public
def is_numeric_tensor(tensor):
    """Return whether `tensor` is a Tensor of numbers: floating, complex or integer, not bool or string.

    >>> tf.debugging.is_numeric_tensor(tf.constant(1.0)), tf.debugging.is_numeric_tensor(tf.constant("a"))
    (True, False)
    """
    return isinstance(tensor, Tensor) and (tensor.dtype.is_integer or tensor.node.aval.inexact)
