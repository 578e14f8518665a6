"""`recompute_grad` with a policy for the values of a function that are kept for the backward pass, not recomputed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any

from gradtape._src.autodiff.custom import recompute_grad as recompute_everything
from gradtape._src.control.arguments import Arguments
from gradtape._src.control.scope import Scope, assigned, trace
from gradtape._src.core.base.errors import LOOKS_AT_VALUES
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.program import leaf
from gradtape._src.derivatives.budget import within
from gradtape._src.derivatives.recomputed import recorded

Policy = str | int | Collection[str]


@public
def recompute_grad(f: Callable[..., Any], policy: Policy | None = None, *, memory: int | str | None = None) -> Callable[..., Any]:
    """Wrap `f` so that only some intermediate values are kept for the backward pass; the others are computed again.

    `memory` is a budget in bytes (600_000_000, "600MB", "0.5 GiB") for all that `f` and its gradient hold at once besides the
    arguments: kept values, results, and the gradients themselves. The fastest plan within it is made when `f` is traced: which
    parts run a second time, or more often. Beaumont et al., "Optimal checkpointing for heterogeneous chains" (2019).

    `policy` chooses the values by hand: "nothing" keeps only the arguments, as `tf.recompute_grad` (the default); "everything"
    all values that the gradient reads; a collection of op types ("MatMul", "Conv2D"…) the results of these; an int that number
    of bytes, products and convolutions first, small values first. Chen et al., "Training deep nets with sublinear memory cost"
    (2016), section 3.

    Arguments may be nests; variables that `f` reads are differentiated, too, and those that it assigns are assigned once. The
    gradient is the same, to rounding, and can be differentiated. ValueError for another policy and for an unknown
    op type. It is raised for a budget that is no size or too small, and where `f` looks at values, too.

    >>> x = tf.Variable([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.autodiff.recompute_grad(lambda x: tf.sin(tf.exp(x)), memory="1MB")(x * 1.0)
    >>> bool(tf.reduce_all(tf.abs(tape.gradient(y, x) - tf.cos(tf.exp(x)) * tf.exp(x)) < 1e-6))
    True
    """
    if not callable(f):
        raise TypeError(f"recompute_grad takes a function, received {f!r} of type {type(f).__name__}.")
    if policy is not None and memory is not None:
        raise ValueError("recompute_grad takes a policy or memory=, not both: the budget says which values are kept.")
    checked, budget = _checked("nothing" if policy is None else policy), None if memory is None else _bytes(memory)

    @functools.wraps(f)
    @public
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        arguments = Arguments((args, kwargs))
        parameters = [leaf(n.aval, None) for n in arguments.nodes]

        def traced() -> Any:
            given, named = arguments.pack(parameters)
            return f(*given, **named)

        try:
            body = trace(traced, parameters, Scope(True, creates=False))
        except LOOKS_AT_VALUES as error:
            if engine.local.trace.scope is not None:
                raise
            if budget is not None:
                raise ValueError(
                    f"memory= plans from the ops of a function before it runs, and this one looks at values: {error} Leave the "
                    "value a tensor (tf.cond, tf.where, tf.function), or wrap smaller functions in tf.recompute_grad."
                ) from error
            return recompute_everything(f)(*args, **kwargs)  # it needs concrete values: recompute all of it eagerly
        inputs = body.inputs(arguments.nodes)
        program, kept = (body.program, checked) if budget is None else (within(body.program, budget)[0], "everything")
        return body.structure.pack(assigned(body, recorded(program, inputs, kept)))

    return checkpointed


_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?)(I?)B\s*", re.IGNORECASE)


def _bytes(memory: Any) -> int:
    """Return a memory budget as a number of bytes."""
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    found = _SIZE.fullmatch(memory) if isinstance(memory, str) else None
    size = 0.0
    if found is not None:
        number, prefix, binary = found.groups()
        size = float(number) * (1024 if binary else 1000) ** " KMGT".index(prefix.upper() or " ")
    if size < 1:
        raise ValueError(
            f"memory must be a number of bytes above 0, or a text such as '512MB' or '1.5 GiB'; received {memory!r}."
        )
    return int(size)


def _checked(policy: Policy) -> str | int | frozenset[str]:
    if isinstance(policy, str) and policy in ("nothing", "everything"):
        return policy
    if isinstance(policy, int) and not isinstance(policy, bool) and policy >= 0:
        return policy
    if isinstance(policy, (set, frozenset, list, tuple)) and all(isinstance(name, str) for name in policy):
        unknown = sorted(set(policy) - set(ops))
        if unknown:
            raise ValueError(
                f"policy names op types that do not exist: {', '.join(unknown)}. They are TensorFlow's: MatMul, Conv2D…"
            )
        return frozenset(policy)
    raise ValueError(
        f"policy must be 'nothing', 'everything', a collection of op types, or a number of bytes; received {policy!r}."
    )
