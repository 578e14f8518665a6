"""`compat.v1.debugging`: assertions that accept `data`, which TensorFlow 1 prints with the message, without using it."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import convert
from gradtape._src.ops.debugging import checks as debugging
from gradtape._src.ops.grouping import group, no_op
from gradtape._src.v1.ops.respelled import respelled

_PAIR = "x y data summarize message name"
_ONE = "x data summarize message name"


@public
def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """Return `tensor`; ValueError unless it is a scalar."""
    debugging.assert_scalar(tensor, message)
    return convert.tensor(tensor)


@public
def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raise TypeError unless `tensor` has dtype `tf_type`; in a graph return an Operation without effect."""
    debugging.assert_type(tensor, tf_type, message)
    return no_op()


@public
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raise TypeError unless `x` has an integer dtype; in a graph return an Operation without effect."""
    debugging.assert_integer(x, message)
    return no_op()


@public
def assert_shapes(
    shapes: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> Any:
    """Check shapes like `tf.debugging.assert_shapes`; in a graph return an Operation that checks extents at session time."""
    return group(*debugging.matched(shapes, message))


assert_equal = respelled(debugging.assert_equal, _PAIR, data="")
assert_none_equal = respelled(debugging.assert_none_equal, _PAIR, data="")
assert_less = respelled(debugging.assert_less, _PAIR, data="")
assert_less_equal = respelled(debugging.assert_less_equal, _PAIR, data="")
assert_greater = respelled(debugging.assert_greater, _PAIR, data="")
assert_greater_equal = respelled(debugging.assert_greater_equal, _PAIR, data="")
assert_near = respelled(debugging.assert_near, "x y rtol atol data summarize message name", data="")
assert_negative = respelled(debugging.assert_negative, _ONE, data="")
assert_positive = respelled(debugging.assert_positive, _ONE, data="")
assert_non_negative = respelled(debugging.assert_non_negative, _ONE, data="")
assert_non_positive = respelled(debugging.assert_non_positive, _ONE, data="")
assert_rank = respelled(debugging.assert_rank, "x rank data summarize message name", data="", summarize="")
assert_rank_at_least = respelled(debugging.assert_rank_at_least, "x rank data summarize message name", data="", summarize="")
assert_rank_in = respelled(debugging.assert_rank_in, "x ranks data summarize message name", data="", summarize="")
assert_all_finite = respelled(debugging.assert_all_finite, "t msg name x message", t="x", msg="message")
