"""The aggregation of gradients that meet."""


class AggregationMethod:
    """The values that `aggregation_method` arguments take. They make no difference: XLA plans the sums."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2
