"""Each row of the op test table, and its gradient, as a Program that is written as JSON and read again: it is the same."""

import json

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.train.saved_model.reading import Programs
from gradtape._src.train.saved_model.writing import Writer
from tests.ops.test_table import ROWS

SOME = 20  # one row in so many is run in the default suite
NOT_TRACED = "rows that run as eager code in a function"


def gradient_of(call):
    def function(*arguments):
        floating = [x for x in arguments if x.dtype.is_floating or x.dtype.is_complex]
        with tf.GradientTape() as tape:
            tape.watch(floating)
            result = call(*arguments)
        return tape.gradient(result, floating)

    return function


def read_again(program):
    writer = Writer()
    number = writer.program(program, {})
    entries = json.loads(json.dumps(writer.programs, allow_nan=False))
    return Programs(entries, writer.arrays).make(number, (), check=True)


def same(mine, theirs):
    """Whether two Programs are equal, those among the attributes too."""
    if isinstance(mine, tuple) and isinstance(theirs, tuple):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    if type(mine) is not type(theirs):
        return bool(mine == theirs)
    if not hasattr(mine, "keys") or not hasattr(mine, "constants"):
        return mine is theirs or mine == theirs or (mine != mine and theirs != theirs)
    return (
        all(same(getattr(mine, part), getattr(theirs, part)) for part in ("keys", "avals", "parameters", "outputs"))
        and len(mine.constants) == len(theirs.constants)
        and all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(mine.constants, theirs.constants, strict=True))
    )


def program_of(function, row):
    """The Program of a function of the row's arguments; None where it has none."""
    traced = tf.function(function, autograph=False)
    specs = [tf.TensorSpec(np.shape(a), a.dtype) for a in (row.arguments(row.dtypes[0]) if row.dtypes else row.args)]
    try:
        concrete = traced.get_concrete_function(*specs)
    except (LookupError, NotImplementedError, TypeError, ValueError, InvalidArgumentError):  # it wants values, or has no gradient
        return None
    return None if concrete.strategy.reason is not None else concrete.program


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=name, marks=() if i % SOME == 0 else pytest.mark.long) for i, (name, row) in enumerate(ROWS.items())],
)
def test_a_program_is_read_as_it_was_written(row, count):
    for function in (row.call, gradient_of(row.call)):
        program = program_of(function, row)
        if program is None:
            count(NOT_TRACED)
        else:
            assert same(read_again(program), program)
            count("programs written and read")
