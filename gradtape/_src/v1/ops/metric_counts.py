"""Metrics of `compat.v1.metrics` that count right and wrong predictions: precision, recall, the area under a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import identity, reshape
from gradtape._src.ops.debugging.checks import assert_greater_equal, assert_less_equal
from gradtape._src.ops.math.arithmetic import divide_no_nan, maximum, minimum
from gradtape._src.ops.math.compare import greater, logical_and, logical_not
from gradtape._src.ops.math.elementary import log
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.v1.ops.metrics import Pair, aligned, metric, of_two, spread, variable

RIGHT = {  # kind → (label, prediction) counted
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}


def _counted(kind: str, labels: Any, predictions: Any, weights: Any) -> Pair:
    labels, predictions, weights = aligned(cast(labels, dtypes.bool), cast(predictions, dtypes.bool), weights)
    labelled, predicted = (x if wanted else logical_not(x) for x, wanted in zip((labels, predictions), RIGHT[kind], strict=True))
    values = cast(logical_and(labelled, predicted), dtypes.float32)
    if weights is not None:
        values = values * spread(weights, values)
    count = variable("count")
    return identity(count.read_value()), count.assign_add(reduce_sum(values))


def _counted_at(
    kinds: Sequence[str], labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any
) -> dict[str, Pair]:
    """Return for each kind its counts with predictions above each threshold, and their updates."""
    labels, predictions, weights = aligned(cast(labels, dtypes.bool), cast(predictions, dtypes.float32), weights)
    checks = [
        assert_greater_equal(predictions, 0.0, message="predictions must be in [0, 1]"),
        assert_less_equal(predictions, 1.0, message="predictions must be in [0, 1]"),
    ]
    with control_dependencies([check for check in checks if check is not None]):
        flat = reshape(predictions, [1, -1])
    above = greater(flat, reshape(tensor(list(thresholds), dtypes.float32), [-1, 1]))
    labels = logical_and(reshape(labels, [1, -1]), ones_like(above))
    if weights is not None:
        weights = reshape(spread(weights, predictions), [1, -1])
    found = {}
    for kind in kinds:
        labelled, predicted = (x if wanted else logical_not(x) for x, wanted in zip((labels, above), RIGHT[kind], strict=True))
        values = cast(logical_and(labelled, predicted), dtypes.float32)
        count = variable(kind, [len(thresholds)])
        update = count.assign_add(reduce_sum(values if weights is None else values * weights, 1))
        found[kind] = count.read_value(), update
    return found


def _counter(kind: str) -> Any:
    doc = f"The number of {kind.replace('_', ' ')}; labels and predictions are cast to bool."
    return of_two(kind, doc, lambda labels, predictions, weights: _counted(kind, labels, predictions, weights))


def _at_thresholds(name: str, doc: str, kinds: list[str], result: Callable[..., Pair]) -> Any:
    """Return a function with this name for the metric `result` of these counts."""

    @known_as(f"{name}_at_thresholds")
    def counted(labels: Any, predictions: Any, thresholds: Any, weights: Any = None) -> Pair:
        found = _counted_at(kinds, labels, predictions, thresholds, weights)
        return result(*[found[kind] for kind in kinds])

    counted.__doc__ = doc
    return metric(f"{name}_at_thresholds")(counted)


def _counter_at_thresholds(kind: str) -> Any:
    doc = f"The number of {kind.replace('_', ' ')} where what is above a threshold is predicted, for each of them."
    return _at_thresholds(kind, doc, [kind], lambda counts: counts)


COUNTERS = {kind: _counter(kind) for kind in RIGHT}
true_positives, false_negatives, true_negatives, false_positives = COUNTERS.values()
true_positives_at_thresholds, false_negatives_at_thresholds, true_negatives_at_thresholds, false_positives_at_thresholds = map(
    _counter_at_thresholds, RIGHT
)


def _ratio(hits: Any, rest: Any, name: str) -> Any:
    return where(greater(hits + rest, 0), hits / (hits + rest), 0.0, name=name)


def _share(name: str, other: str, doc: str) -> Any:
    """Return the metric true_positives / (true_positives + other)."""

    def shared(labels: Any, predictions: Any, weights: Any) -> Pair:
        counts = [COUNTERS[kind](labels, predictions, weights) for kind in ("true_positives", other)]
        (hits, more_hits), (rest, more_rest) = counts
        return _ratio(hits, rest, "value"), _ratio(more_hits, more_rest, "update_op")

    return of_two(name, doc, shared)


def _share_at_thresholds(name: str, other: str, doc: str) -> Any:
    def shared(hits: Pair, rest: Pair) -> Pair:
        value, update = (h / (1e-7 + h + r) for h, r in zip(hits, rest, strict=True))
        return value, update

    return _at_thresholds(name, f"{doc} For each threshold, above which it is predicted.", ["true_positives", other], shared)


PRECISION, RECALL = "Which share of what is predicted is labelled.", "Which share of what is labelled is predicted."
precision, recall = _share("precision", "false_positives", PRECISION), _share("recall", "false_negatives", RECALL)
precision_at_thresholds = _share_at_thresholds("precision", "false_positives", PRECISION)
recall_at_thresholds = _share_at_thresholds("recall", "false_negatives", RECALL)


@metric(
    "auc",
    "labels predictions weights num_thresholds metrics_collections updates_collections curve name summation_method thresholds",
)
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    curve: str = "ROC",
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Pair:
    """Return the area under the ROC or PR `curve`, a Riemann sum over the thresholds.

    `summation_method` is "trapezoidal", "minoring" or "majoring", for PR also "careful_interpolation" (Davis and Goadrich,
    "The Relationship Between Precision-Recall and ROC Curves", 2006).
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if thresholds is None:
        thresholds = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    found = _counted_at(list(RIGHT), labels, predictions, [-1e-7, *sorted(thresholds), 1 + 1e-7], weights)
    value, update = (_area(curve, summation_method, *counts) for counts in zip(*found.values(), strict=True))
    return value, update


def _area(curve: str, method: str, hits: Any, missed: Any, rejected: Any, alarms: Any) -> Any:
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(hits, alarms, missed)
    recalled = (hits + 1e-6) / (hits + missed + 1e-6)
    x, y = recalled, (hits + 1e-6) / (hits + alarms + 1e-6)
    if curve == "ROC":
        x, y = alarms / (alarms + rejected + 1e-6), recalled
    left, right = y[:-1], y[1:]
    heights = {"minoring": minimum(left, right), "majoring": maximum(left, right)}
    if method not in (*heights, "trapezoidal", "careful_interpolation"):
        raise ValueError(f"Invalid summation_method: {method}. Give 'trapezoidal', 'minoring', 'majoring' or, for PR, another.")
    return reduce_sum((x[:-1] - x[1:]) * heights.get(method, (left + right) / 2.0))


def _interpolated(hits: Any, alarms: Any, missed: Any) -> Any:
    """Return the area under the PR curve, with true positives interpolated linearly between thresholds."""
    between, predicted = hits[:-1] - hits[1:], hits + alarms
    more, fewer = predicted[:-1], predicted[1:]
    slope = divide_no_nan(between, maximum(more - fewer, 0.0))
    offset = hits[1:] - slope * fewer
    ratio = where(logical_and(greater(more, 0.0), greater(fewer, 0.0)), divide_no_nan(more, maximum(fewer, 0.0)), 1.0)
    return reduce_sum(divide_no_nan(slope * (between + offset * log(ratio)), maximum(hits[1:] + missed[1:], 0.0)))
