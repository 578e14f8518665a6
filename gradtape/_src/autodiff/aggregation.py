"""The values of `aggregation_method`."""


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
