"""`compat.v1.metrics`: metrics over all batches, kept in local variables of the graph, each with the op that adds a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, zeros_like
from gradtape._src.ops.array.extents import size
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import reshape, squeeze, zeros
from gradtape._src.ops.linalg.diagonals import diag_part
from gradtape._src.ops.math.arithmetic import abs as absolute, divide_no_nan, sqrt, square
from gradtape._src.ops.math.compare import equal, greater, less, not_equal
from gradtape._src.ops.math.counting import confusion_matrix
from gradtape._src.ops.math.reduction import reduce_mean, reduce_sum
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.v1.graphs.collections import GraphKeys
from gradtape._src.v1.graphs.get_variable import VariableV1
from gradtape._src.v1.graphs.graph import in_graph
from gradtape._src.v1.graphs.variable_scope import variable_scope
from gradtape._src.v1.ops.nn import that_fit, with_axes_of
from gradtape._src.v1.ops.respelled import arguments, extended, signed

Pair = tuple[Any, Any]
COMMON = dict.fromkeys(("metrics_collections", "updates_collections", "name"))  # parameters of all metrics


def metric(scope: str, order: str = "") -> Callable[[Callable[..., Pair]], Callable[..., Pair]]:
    """Return a decorator of metrics `(value, update)`: only in graphs, in a name scope, added to collections.

    It adds the parameters `COMMON`, as the last ones unless `order` names all parameters.
    """

    def decorate(function: Callable[..., Pair]) -> Callable[..., Pair]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Pair:
            given = arguments(call, args, kwargs)
            into, into_updates, name = [given.pop(common, None) for common in COMMON]
            graph = in_graph()
            if graph is None:
                raise RuntimeError(
                    f"tf.metrics.{function.__name__} is not supported when eager execution is enabled. Use tf.keras.metrics."
                )
            with variable_scope(name, scope):
                value, update = function(**given)
            graph.add_to_collections(into or (), value)
            graph.add_to_collections(into_updates or (), update)
            return value, update

        call.makes_variables = True  # type: ignore[attr-defined]
        return public(signed(call, extended(function, COMMON, order)))

    return decorate


def variable(name: str, shape: Sequence[int] = (), dtype: Any = dtypes.float32) -> Any:
    collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    make: Any = VariableV1
    return make(lambda: zeros(shape, dtype), trainable=False, collections=collections, name=name)


@public
def aligned(labels: Any, predictions: Any, weights: Any = None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Align the shapes of all three by removing a last axis of extent 1; ValueError unless they agree."""
    labels, predictions = tensor(labels), tensor(predictions)
    if predictions.ndim - labels.ndim == 1 and extents_of(predictions)[-1] == 1:
        predictions = squeeze(predictions, [-1])
    elif labels.ndim - predictions.ndim == 1 and extents_of(labels)[-1] == 1:
        labels = squeeze(labels, [-1])
    predictions.node.aval.tensor_shape.assert_is_compatible_with(extents_of(labels))
    return labels, predictions, None if weights is None else with_axes_of(tensor(weights), predictions)


def spread(weights: Any, values: Any) -> Tensor:
    """Return `weights` as float32 broadcast to `values`; ValueError unless it is a scalar, or has the same axes or 1 for them."""
    found: Tensor = that_fit(cast(weights, dtypes.float32), values) * ones_like(values, dtypes.float32)
    return found


def _averaged(values: Any, weights: Any, shape: Sequence[int] | None = None) -> Pair:
    """Return the mean of all batches: over all elements, or with `shape` element by element."""
    values = cast(values, dtypes.float32)
    each = shape is not None
    total, count = (variable(name + "_tensor" * each, shape or ()) for name in ("total", "count"))
    if weights is None:
        number = ones_like(values) if each else cast(size(values), dtypes.float32)
    else:
        weights = spread(weights, values)
        values = values * weights
        number = weights if each else reduce_sum(weights)
    added = total.assign_add(values if each else reduce_sum(values))
    with control_dependencies([values]):
        counted = count.assign_add(number)
    return divide_no_nan(total.read_value(), count.read_value(), name="value"), divide_no_nan(added, counted, name="update_op")


# ---------------------------------------------------------------------------------------------------------------------
# Means


@metric("mean")
def mean(values: Any, weights: Any = None) -> Pair:
    """Return the weighted mean of all elements."""
    return _averaged(tensor(values), weights)


@metric("mean")
def mean_tensor(values: Any, weights: Any = None) -> Pair:
    """Return the mean of tensors of the same shape, element by element."""
    values = tensor(values)
    return _averaged(values, weights, list(extents_of(values)))


@metric("percentage_below_threshold")
def percentage_below(values: Any, threshold: Any, weights: Any = None) -> Pair:
    """Return the fraction of elements below `threshold`."""
    return _averaged(less(values, threshold), weights)


@metric("mean_relative_error")
def mean_relative_error(labels: Any, predictions: Any, normalizer: Any, weights: Any = None) -> Pair:
    """Return the mean of |labels − predictions| / normalizer, with 0 for a zero `normalizer`."""
    labels, predictions, weights = aligned(labels, predictions, weights)
    normalizer = tensor(normalizer)
    relative = where(equal(normalizer, 0.0), zeros_like(labels), absolute(labels - predictions) / normalizer)
    return _averaged(relative, weights)


@metric("mean_cosine_distance")
def mean_cosine_distance(labels: Any, predictions: Any, dim: int, weights: Any = None) -> Pair:
    """Return 1 minus the mean of labels·predictions summed along the axis `dim`."""
    labels, predictions, weights = aligned(labels, predictions, weights)
    value, update = _averaged(reduce_sum(predictions * labels, [dim], keepdims=True), weights)
    return 1.0 - value, 1.0 - update


def of_two(name: str, doc: str, result: Callable[[Any, Any, Any], Pair]) -> Any:
    """Return a function with this name for the metric `result(labels, predictions, weights)`."""

    @known_as(name)
    def compared(labels: Any, predictions: Any, weights: Any = None) -> Pair:
        return result(labels, predictions, weights)

    compared.__doc__ = doc
    return metric(name)(compared)


def _mean_of(name: str, each: Callable[[Any, Any], Any], doc: str, after: Callable[[Any], Any] | None = None) -> Any:
    """Return the metric that is the mean of `each(labels, predictions)`, or a function of this mean."""

    def mean_of(labels: Any, predictions: Any, weights: Any) -> Pair:
        labels, predictions, weights = aligned(labels, predictions, weights)
        value, update = _averaged(each(labels, predictions), weights)
        return (value, update) if after is None else (after(value), after(update))

    return of_two(name, doc, mean_of)


accuracy = _mean_of("accuracy", lambda y, p: equal(cast(p, y.dtype), y), "How often `predictions` are `labels`.")
mean_squared_error = _mean_of("mean_squared_error", lambda y, p: square(y - p), "The mean of (labels − predictions)².")
mean_absolute_error = _mean_of("mean_absolute_error", lambda y, p: absolute(p - y), "The mean of |labels − predictions|.")
root_mean_squared_error = _mean_of(
    "root_mean_squared_error", lambda y, p: square(y - p), "The square root of the mean of (labels − predictions)².", sqrt
)


@metric("mean_accuracy")
def mean_per_class_accuracy(labels: Any, predictions: Any, num_classes: int, weights: Any = None) -> Pair:
    """Return the mean of the classes' accuracies; the update returns each accuracy."""
    labels, predictions, weights = aligned(labels, predictions, weights)
    labels, predictions = reshape(labels, [-1]), reshape(predictions, [-1])
    weights = ones_like(labels, dtypes.float32) if weights is None else cast(reshape(weights, [-1]), dtypes.float32)
    right = cast(equal(cast(predictions, labels.dtype), labels), dtypes.float32) * weights
    total, count = variable("total", [num_classes]), variable("count", [num_classes])
    all_, hits = (unsorted_segment_sum(x, labels, num_classes) for x in (weights, right))
    added, counted = total.assign_add(all_), count.assign_add(hits)
    value = reduce_mean(divide_no_nan(count.read_value(), total.read_value()), name="mean_accuracy")
    return value, divide_no_nan(counted, added, name="update_op")


@metric("mean_iou")
def mean_iou(labels: Any, predictions: Any, num_classes: int, weights: Any = None) -> Pair:
    """Return the mean over classes of intersection over union; the update returns the confusion matrix."""
    labels, predictions, weights = aligned(labels, predictions, weights)
    flat = None if weights is None else reshape(weights, [-1])
    total = variable("total_confusion_matrix", [num_classes, num_classes], dtypes.float64)
    matrix = confusion_matrix(reshape(labels, [-1]), reshape(predictions, [-1]), num_classes, flat, dtypes.float64)
    update = total.assign_add(matrix)
    whole = cast(total.read_value(), dtypes.float32)
    hits = diag_part(whole)
    union = reduce_sum(whole, 0) + reduce_sum(whole, 1) - hits
    seen = reduce_sum(cast(not_equal(union, 0.0), dtypes.float32))
    shares = hits / where(greater(union, 0.0), union, ones_like(union))
    return where(greater(seen, 0.0), reduce_sum(shares) / seen, 0.0, name="mean_iou"), update
