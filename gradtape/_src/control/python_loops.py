"""Loops of transformed code that run as Python.

In a function that runs as eager code they follow the rules of TensorFlow's loops, which are ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.control.bound_names import UNDEFINED, Bound, can_be_tensor, returned, symbolic, tensor_dtype
from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor


class Rules:
    """Checks that a Python loop follows the rules of a compiled one: the names that it binds keep their dtypes and structures.

    Before a loop over a Dataset the names must be bound. A loop on tensors may bind a name first, but must make a trip then.
    """

    def __init__(self, bound: Bound, dataset: bool) -> None:
        self._bound, self._before, self._dataset = bound, bound.get(), dataset
        self._trips = 0
        for name, value in zip(bound.names, self._before, strict=True) if dataset else ():
            if returned(name, value):
                continue
            if isinstance(value, UNDEFINED):
                raise ValueError(
                    f"'{name}' must be defined before the loop: in a function, a loop over a Dataset keeps what it binds."
                )
            if value is None:
                raise ValueError(f"'{name}' is not allowed to be None before the loop: give it a tensor, or a number.")

    def made_a_trip(self) -> None:
        """Check the names after a trip; the first trip sets their dtypes and structures."""
        self._trips += 1
        if self._trips == 1:
            for name, before, after in zip(self._bound.names, self._before, self._bound.get(), strict=True):
                _check_kept(name, before, after)

    def ended(self) -> None:
        """Restore the names' dtypes after the last trip."""
        if self._trips or self._dataset:
            return
        for name, value in zip(self._bound.names, self._bound.get(), strict=True):
            if isinstance(value, UNDEFINED) and not returned(name, value):
                raise InvalidArgumentError.saying(f"loop must iterate at least once to initialize {name}")


def rules_of(decides: Any, bound: Bound) -> Rules | None:
    """Return the Rules for a loop over `decides`, or with that condition; None if TensorFlow runs it in Python, too."""
    if not tracing.local.functions or engine.local.trace.scope is not None:
        return None
    dataset = hasattr(decides, "element_spec")
    return Rules(bound, dataset) if dataset or is_tensor(decides) else None


def _check_kept(name: str, before: Any, after: Any) -> None:
    if before is None or after is None or isinstance(before, UNDEFINED) or isinstance(after, UNDEFINED):
        return
    (old, spec), (new, other) = nest.flatten_with_spec(before), nest.flatten_with_spec(after)
    if spec != other:
        raise TypeError(
            f"'{name}' does not have the same nested structure after one iteration of the loop: a loop on tensors keeps the "
            f"structure of what it binds. It was {before!r} and is {after!r}."
        )
    for x, y in zip(old, new, strict=True):
        if can_be_tensor(x) and can_be_tensor(y) and tensor_dtype(x) != tensor_dtype(y):
            raise TypeError(
                f"'{name}' has dtype {tensor_dtype(x).name} before the loop, but dtype {tensor_dtype(y).name} after one "
                f"iteration. A loop variable keeps its dtype: use tf.cast in the loop, or start from tf.constant(…, "
                f"tf.{tensor_dtype(y).name})."
            )


def for_in_python(
    iterated: Any, extra_test: Callable[[], Any] | None, body: Callable[[Any], None], rules: Rules | None = None
) -> None:
    """Run a `for` loop in Python while `extra_test` holds."""
    if extra_test is None or _plain(extra_test()):
        for item in iterated:
            body(item)
            if rules is not None:
                rules.made_a_trip()
            if extra_test is not None and not _plain(extra_test()):
                break
    if rules is not None:
        rules.ended()


def _plain(holds: Any) -> bool:
    if symbolic(holds):
        raise NotImplementedError(
            "break and return statements which depend on a TF condition are not supported in Python for loops: it goes over "
            "Python values, and a tensor is to end it. Loop over a tensor instead: `for i in tf.range(n)`."
        )
    return bool(holds)
