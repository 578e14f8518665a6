"""`compat.v1.losses`: losses that are added to a collection of the graph."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.scopes import name_scope
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, range_, zeros_like
from gradtape._src.ops.array.extents import rank, shape
from gradtape._src.ops.array.shape import stop_gradient
from gradtape._src.ops.math import arithmetic, elementary
from gradtape._src.ops.math.arithmetic import add_n, divide_no_nan
from gradtape._src.ops.math.compare import not_equal
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.nn import losses
from gradtape._src.ops.nn.activation import relu
from gradtape._src.v1.graphs.collections import GraphKeys, get_collection
from gradtape._src.v1.graphs.graph import in_graph
from gradtape._src.v1.ops.maths import _either
from gradtape._src.v1.ops.nn import that_fit, with_axes_of, without_last_axis
from gradtape._src.v1.ops.respelled import arguments, extended, signed


class Reduction:
    """The reductions of elementwise losses."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return all reductions in TensorFlow's order."""
        ways = cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS
        return ways

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise ValueError unless `key` is a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Give one of tf.losses.Reduction.")


DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS
# Parameters of most losses, with their defaults.
COMMON = {"weights": 1.0, "scope": None, "loss_collection": GraphKeys.LOSSES, "reduction": DEFAULT}


def _scoped(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: the function's ops are in the name scope `name/`, or in that of its argument `scope`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = arguments(call, args, kwargs)
            with name_scope(given.get("scope") or name) as scope:
                return function(**{**given, "scope": scope})

        return call

    return decorate


def _loss(name: str, order: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of a function that returns the loss of each element: it makes the weighted loss, in a name scope.

    It adds the parameters `COMMON`: `weights` as the third, the others as the last, unless `order` names all parameters.
    """

    def decorate(each: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(each)
        def weighted(**given: Any) -> Any:
            common = [given.pop(option, default) for option, default in COMMON.items()]
            return compute_weighted_loss(each(**given), *common)

        own = list(inspect.signature(each).parameters)
        rows = order or " ".join([*own[:2], "weights", *own[2:], "scope", "loss_collection", "reduction"])
        return public(_scoped(name)(signed(weighted, extended(each, COMMON, rows))))

    return decorate


@public
@_scoped("weighted_loss")
def compute_weighted_loss(
    losses: Any, weights: Any = 1.0, scope: Any = None, loss_collection: Any = GraphKeys.LOSSES, reduction: str = DEFAULT
) -> Any:
    """Return the reduced losses times `weights`; by default their sum, divided by the number of nonzero weights.

    `weights` is a scalar, or has the axes of the losses, with their extents or 1. It is computed in float32, and returned in the
    dtype of the losses.
    """
    Reduction.validate(reduction)
    given = tensor(losses)
    each = cast(given, dtypes.float32)
    weight = that_fit(cast(tensor(weights), dtypes.float32), each)
    weighted = each * weight
    every = weight + zeros_like(each)
    counts: dict[str, Callable[[], Any]] = {
        Reduction.MEAN: lambda: reduce_sum(every),
        Reduction.SUM_OVER_BATCH_SIZE: lambda: reduce_sum(ones_like(each)),
        Reduction.SUM_BY_NONZERO_WEIGHTS: lambda: reduce_sum(_present(every)),
    }
    if reduction in counts:
        result = divide_no_nan(reduce_sum(weighted), counts[reduction](), name="value")
    else:
        result = weighted if reduction == Reduction.NONE else reduce_sum(weighted)
    loss = cast(result, given.dtype)
    add_loss(loss, loss_collection)
    return loss


def _present(weights: Any) -> Any:
    return cast(not_equal(weights, 0.0), dtypes.float32)  # in a graph != compares identities


def _alike(labels: Any, predictions: Any) -> tuple[Any, Any]:
    wanted, predicted = cast(labels, dtypes.float32), cast(predictions, dtypes.float32)
    predicted.node.aval.tensor_shape.assert_is_compatible_with(extents_of(wanted))
    return wanted, predicted


@_loss("mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any) -> Any:
    """Return (predictions − labels)²."""
    wanted, predicted = _alike(labels, predictions)
    return arithmetic.square(predicted - wanted)


@_loss("absolute_difference")
def absolute_difference(labels: Any, predictions: Any) -> Any:
    """Return |predictions − labels|."""
    wanted, predicted = _alike(labels, predictions)
    return arithmetic.abs(predicted - wanted)


@_loss("log_loss")
def log_loss(labels: Any, predictions: Any, epsilon: float = 1e-7) -> Any:
    """Return −labels·log(predictions + epsilon) − (1 − labels)·log(1 − predictions + epsilon)."""
    wanted, predicted = _alike(labels, predictions)
    return -wanted * elementary.log(predicted + epsilon) - (1 - wanted) * elementary.log(1 - predicted + epsilon)


@_loss("huber_loss")
def huber_loss(labels: Any, predictions: Any, delta: float = 1.0) -> Any:
    """Return half the squared error up to `delta`, linear beyond."""
    wanted, predicted = _alike(labels, predictions)
    error = arithmetic.abs(predicted - wanted)
    near = arithmetic.minimum(error, delta)
    return 0.5 * near * near + delta * (error - near)


@_loss("hinge_loss")
def hinge_loss(labels: Any, logits: Any) -> Any:
    """Return max(0, 1 − y·logits), with y = −1 for label 0 and y = 1 for label 1."""
    wanted, scores = _alike(labels, logits)
    return relu(1 - (2 * wanted - 1) * scores)


@_loss("cosine_distance_loss", "labels predictions axis weights scope loss_collection reduction dim")
def cosine_distance(labels: Any, predictions: Any, axis: Any = None, dim: Any = None) -> Any:
    """Return 1 − Σ labels·predictions along `axis`, for unit vectors along this axis."""
    axis = _either(axis, dim, ("axis", "dim"))
    if axis is None:
        raise ValueError("You must specify argument `axis`: that of the vectors.")
    wanted, predicted = _alike(labels, predictions)
    return 1 - reduce_sum(wanted * predicted, axis, keepdims=True)


@public
@_scoped("mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: Any = None, loss_collection: Any = GraphKeys.LOSSES
) -> Any:
    """Return the mean of (eᵢ − eⱼ)² over pairs of each example's n elements, e = predictions − labels; summed over examples.

    Computed as 2 · (Σ e² / (n − 1) − (Σ e)² / (n · (n − 1))).
    """
    wanted, predicted = _alike(labels, predictions)
    error = predicted - wanted
    weight = that_fit(cast(tensor(weights), dtypes.float32), error)
    axes = range_(1, rank(error)) if error.get_shape().rank is None else list(range(1, error.ndim))
    count = reduce_sum(_present(weight + zeros_like(error)), axes, keepdims=True)
    squares, total = reduce_sum(error * error, axes, keepdims=True), reduce_sum(error, axes, keepdims=True)
    others = arithmetic.maximum(count - 1, 0.0)
    parts = divide_no_nan(squares, others, name="value"), divide_no_nan(total * total, count * others, name="value")
    each = 2 * (parts[0] - parts[1])
    loss = reduce_sum(each * weight, name="value")
    add_loss(loss, loss_collection)
    return loss


@_loss("softmax_cross_entropy_loss")
def softmax_cross_entropy(onehot_labels: Any, logits: Any, label_smoothing: float = 0) -> Any:
    """Return the cross-entropy of softmax(logits) for probabilities as labels."""
    scores = tensor(logits)
    wanted = cast(onehot_labels, scores.dtype)
    scores.node.aval.tensor_shape.assert_is_compatible_with(extents_of(wanted))
    if label_smoothing:
        wanted = wanted * (1 - label_smoothing) + label_smoothing / cast(shape(wanted)[-1], scores.dtype)
    return losses.softmax_cross_entropy_with_logits(stop_gradient(wanted), scores)


@public
@_scoped("sparse_softmax_cross_entropy_loss")
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the cross-entropy of softmax(logits) for class numbers as labels."""
    wanted, scores, weight = tensor(labels), tensor(logits), tensor(weights)
    wanted = without_last_axis(wanted, scores)
    weight = with_axes_of(weight, wanted)
    each = losses.sparse_softmax_cross_entropy_with_logits(wanted, scores)
    return compute_weighted_loss(each, weight, scope, loss_collection, reduction)


@_loss("sigmoid_cross_entropy_loss")
def sigmoid_cross_entropy(multi_class_labels: Any, logits: Any, label_smoothing: float = 0) -> Any:
    """Return the sigmoid cross-entropy of independent classes."""
    scores = tensor(logits)
    wanted = cast(multi_class_labels, scores.dtype)
    scores.node.aval.tensor_shape.assert_is_compatible_with(extents_of(wanted))
    if label_smoothing:
        wanted = wanted * (1 - label_smoothing) + 0.5 * label_smoothing
    return losses.sigmoid_cross_entropy_with_logits(wanted, scores)


@public
def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Add a loss to the graph's collection."""
    graph = in_graph()
    if graph is not None and loss_collection:
        graph.add_to_collection(loss_collection, loss)


@public
def get_losses(scope: Any = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses in a collection."""
    return get_collection(loss_collection, scope)


@public
def get_regularization_losses(scope: Any = None) -> list[Any]:
    """Return the penalties of variables with a regularizer."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@public
def get_regularization_loss(scope: Any = None, name: str = "total_regularization_loss") -> Any:
    """Return the sum of the penalties."""
    found = get_regularization_losses(scope)
    return add_n(found) if found else tensor(0.0)


@public
def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: Any = None) -> Any:
    """Return the sum of all losses in the collection, with penalties by default."""
    found = get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else [])
    return add_n(found)
