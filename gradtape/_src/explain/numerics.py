"""`tf.debugging.enable_check_numerics`: the first op with an infinity or a NaN raises an error with its line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.values.aval import aval
from gradtape._src.explain import source
from gradtape._src.ops.nn.normalization import batch_norm_op

if TYPE_CHECKING:
    from gradtape._src.core.programs.program import Program


@public
def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Raise InvalidArgumentError from now on at the first op whose result has an infinity or a NaN.

    It applies to eager code, functions, graphs and gradients, in all threads. The message has the op, the user's line, shapes and
    values. Ops run one by one meanwhile, which is slow. For loops and branches only the results are checked. A NaN that is masked
    later raises, too: `tf.autodiff.explain_nan` finds the one that reaches a gradient. `stack_height_limit` and
    `path_length_limit` are accepted and not needed.

    >>> tf.debugging.enable_check_numerics()
    >>> try:
    ...     tf.sqrt(tf.constant([4.0, -1.0]))
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(str(error).splitlines()[2])
    !!! Detected Infinity or NaN in output 0 of eagerly-executing op "Sqrt" (# of outputs: 1) !!!
    >>> tf.debugging.disable_check_numerics()
    """
    engine.flush_if_outermost()
    execution.check_each(_look)


@public
def disable_check_numerics() -> None:
    """Turn off the checks of `enable_check_numerics`.

    >>> tf.debugging.enable_check_numerics()
    >>> tf.debugging.disable_check_numerics()
    >>> print(tf.math.log(-1.0).numpy())
    nan
    """
    engine.flush_if_outermost()
    execution.check_each(None)


def _look(program: Program, index: int, inputs: Sequence[Any], value: Any) -> None:
    op = program.keys[index][0]
    if Trait.HANDS_ON in op.traits:
        return
    outputs = value if isinstance(value, tuple) else (value,)
    # only the first result of batch_norm is checked: the moments of an empty batch are NaN
    for slot, output in enumerate(outputs[:1] if op.plain is batch_norm_op.op else outputs):
        array = np.asarray(output)
        if aval(array.shape, array.dtype).inexact and not np.isfinite(array).all():
            raise InvalidArgumentError.saying(_text(program, index, inputs, array, slot, len(outputs)))


def _text(program: Program, index: int, inputs: Sequence[Any], array: np.ndarray, slot: int, count: int) -> str:
    """Return TensorFlow's message, with the user's line added."""
    nan, infinite = int(np.isnan(array).sum()), array[np.isinf(array)]
    negative, positive = int((infinite.real < 0).sum()), int((infinite.real > 0).sum())
    found = {"-Inf": negative, "+Inf": positive, "+NaN": nan}
    op = program.keys[index][0]
    where = "eagerly-executing" if engine.local.trace.parent is None and len(program.keys) == 1 else "graph"
    lines = [f'\n\n!!! Detected Infinity or NaN in output {slot} of {where} op "{op.type}" (# of outputs: {count}) !!!']
    if program.lines:
        at = program.lines[index]
        lines.append(f"  line: {place(source.file(at), source.number(at))}, in {at[0].co_name}\n        {source.text(at)}")
    lines.append(f"  dtype: {array.dtype.name}\n  shape: {array.shape}")
    lines += [f"  # of {kind} elements: {number}" for kind, number in found.items() if number]
    given = [str(constant(np.asarray(i))) for i in inputs]
    if len(given) == 1:
        lines.append(f"\n  Input tensor: {given[0]}")
    elif given:
        lines.append(f"\n  Input tensors ({len(given)}):")
        lines += [f"         {i}: {text}" for i, text in enumerate(given)]
    kinds = [kind.removeprefix("+") if kind == "+NaN" else kind for kind, number in found.items() if number]
    return "\n".join(lines) + f"\n\n : Tensor had {' and '.join(kinds)} values [Op:{op.type}]"
