"""Unknown extents: their arithmetic is exact, and a question about them is answered on each path."""

import numpy as np
import pytest

from gradtape._src.core.values.aval import aval, common
from gradtape._src.core.values.dim import Dim, UnknownExtent, dims, now, unknown
from gradtape._src.core.values.ways import Path, agreed, explored, following

a, b = unknown(), unknown()
SAME = [
    (a + b, b + a),
    ((a + 1) * (a - 1), a * a - 1),
    ((4 * a + 2) // 4, a),
    (a * b // b, a),
    (6 * a * b // (2 * a), 3 * b),
    (-(-a // 1), a),
    (a // 2 * 2 + a % 2, a),
    (a - a, 0),
    (a**0 + 2 * a**2 - a * a, a * a + 1),
    (np.int64(2) * a, a + a),
]


@pytest.mark.parametrize("one, other", SAME)
def test_equal_extents_are_one_object(one, other):
    assert one is other or (type(one) is int and one == other)


@pytest.mark.parametrize(
    "expression", [lambda x: x // 2 * 2, lambda x: (x + 5) // 3 - x % 4, lambda x: -(-x // 2) * x, lambda x: 7 % (x + 1)]
)
def test_numbers_put_in_give_what_they_give(expression):
    for n in range(9):
        assert expression(a).substituted({a.symbol: n}) == expression(n)


def ways(function):
    found, refused = explored(function, (ValueError,))
    return sorted([x for x, _ in found]), len(refused)


def broadcast(m, n):
    if m != n and m != 1 and n != 1:
        raise ValueError
    return n if m == 1 else m


def test_each_question_is_answered_both_ways():
    assert ways(lambda: (a < 3) + 10 * (a <= 5) + 100 * (a >= 2)) == ([11, 100, 110, 111], 0)
    assert ways(lambda: (a == 0) + 2 * (a * b == 0)) == ([0, 2, 3], 0)  # never 1
    assert ways(lambda: [2 * a == 7, a + 1 > 0, a * b >= 0]) == ([[False, True, True]], 0)
    assert ways(lambda: int(a) if a < 4 else -1) == ([-1, 0, 1, 2, 3], 0)
    assert ways(lambda: len(range(a)) - int(a)) == ([0] * 6, 0)


@pytest.mark.parametrize("n, known, errors", [(3, 3, 1), (1, a, 0), (a, a, 0), (b, None, 1)])
def test_what_an_answer_implies_holds_for_the_result(n, known, errors):
    found, refused = explored(lambda: broadcast(a, n), (ValueError,))
    assert agreed(found) is known
    assert len(refused) == errors


def test_ways_that_are_refused_lead_to_others():
    def function():
        if [x >= 4 for x in (a, b, a + b)] != [False, False, True]:
            raise ValueError
        return 1

    assert explored(function, (ValueError,), enough=1)[0]


def test_outside_of_an_exploration_extents_are_large_and_alike():
    assert a == b
    assert a != 3
    assert a > 1 << 20
    assert (str(a + 1), dims(((a, 2), b))) == ("?", [a, b])
    with pytest.raises(UnknownExtent, match="has to be a number"):
        range(a)


def test_avals_are_one_object_as_long_as_they_are_used():
    kind = np.dtype(np.float32)
    one = aval((a, 3), kind)
    assert one is aval((a, 3), kind)
    assert (one.open, one.size, str(one.open_shape)) == (True, 3 * a, "(None, 3)")
    found = common([one, aval((a, 4), kind), aval((a, 5), kind)])
    assert found.shape[0] is a
    assert type(found.shape[1]) is Dim
    assert common([one, aval((a,), kind)]) == kind


def test_a_path_ends_with_its_context():
    with following(Path((True,))):
        assert a == b
        assert now(a + b) in (2 * a, 2 * b)
    assert now(a + b) is a + b
