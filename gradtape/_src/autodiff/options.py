"""The values of options of gradient calls: `unconnected_gradients` and `aggregation_method`."""

from __future__ import annotations

import enum

from gradtape._src.core.base.public import public


class UnconnectedGradients(enum.Enum):
    """The gradient of an unconnected source: `None`, or zeros of the source's shape.

    >>> print(tf.UnconnectedGradients.ZERO.value)
    zero
    """

    NONE = "none"
    ZERO = "zero"

    @classmethod
    @public
    def _missing_(cls, value: object) -> None:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}. Give tf.UnconnectedGradients.NONE or .ZERO ('none', 'zero')."
        )


NONE = UnconnectedGradients.NONE


class AggregationMethod:
    """The values of `aggregation_method` arguments. They have no effect, as XLA schedules the sums.

    >>> with tf.Graph().as_default():
    ...     x = tf.constant(3.0)
    ...     dx = tf.gradients(x * x, x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)
    ...     print(tf.compat.v1.Session().run(dx))
    [np.float32(6.0)]
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2
