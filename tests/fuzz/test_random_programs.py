"""Random programs of ops give the same values, gradients and variables recorded, op by op, as functions, in graphs and on JAX."""

import pytest

from tests.fuzz.op_programs import CHUNK, Pool, draw, holding
from tests.fuzz.table import ROWS, USABLE
from tests.fuzz.ways import by_jax_at_once, differences, reduced, run

FEW = 120  # programs of few kernels, of which the first OTHER run in other ways, too: each of those takes twice as long
OTHER = 36
LONG = 100  # tests of CHUNK programs in a long run: 10,000 in all
PART = 40  # programs in a test; the last of these tests belongs to the long ones
TOGETHER = 20  # programs that are one for JAX
OTHERS = ("op by op", "function", "graph", "compiled")
SMALL = {"rows": 3, "free": 2, "shapes": 2}  # what the programs of a default run draw from: few kernels are compiled


def compare(seeds, ways, count, pool=None):
    """Run the programs of some seeds, recorded, on JAX and in `ways(seed)`; what differs is reduced and shown."""
    programs = {seed: draw(seed, pool) for seed in seeds}
    for (seed, program), by_jax in zip(programs.items(), by_jax_at_once(list(programs.values())), strict=True):
        found = run(program, ("recorded", *ways(seed))) | {"JAX": by_jax}
        if told := differences(program, found):
            raise AssertionError(f"seed {seed}: {told[0][2]}\n\n{reduced(program, told)}")
        count("random programs of ops")
        for way, results in found.items():
            count(f"random programs of ops: {'refused by all' if isinstance(results, Exception) else way}")


def one_other(seed):
    """Every third time another way, each in turn."""
    return (OTHERS[seed // 3 % len(OTHERS)],) if seed < OTHER and seed % 3 == 0 else ()


@pytest.mark.parametrize("first", [*range(0, FEW - PART, PART), pytest.param(FEW - PART, marks=pytest.mark.long)])
def test_recorded_programs_and_jax_agree(first, count):
    pool = Pool.of(0, **SMALL)
    for begin in range(first, first + PART, TOGETHER):
        compare(range(begin, begin + TOGETHER), one_other, count, pool)


def test_rows_are_drawn_in_dtypes_that_hold_their_arguments():
    assert "uint16" in ROWS["indexing-integer"].dtypes and "uint16" not in holding(ROWS["indexing-integer"])
    assert all(holding(ROWS[name]) for name in USABLE)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(LONG))
def test_six_ways_agree(chunk, count):
    """Compiling takes longest: each third program is compiled."""
    for begin in range(chunk * CHUNK, (chunk + 1) * CHUNK, TOGETHER):
        compare(range(begin, begin + TOGETHER), lambda seed: OTHERS if seed % 3 == 0 else OTHERS[:3], count)
