"""Sparse tensors: `tf.sparse`, as far as gradients need it."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.sparse.counting import bincount as bincount
from gradtape._src.ops.sparse.parts import (
    fill_empty_rows as fill_empty_rows,
    mask as mask,
    maximum as maximum,
    minimum as minimum,
    reduce_max as reduce_max,
    reset_shape as reset_shape,
    slice as slice,
    softmax as softmax,
    split as split,
    to_indicator as to_indicator,
)
from gradtape._src.ops.sparse.places import (
    add as add,
    concat as concat,
    expand_dims as expand_dims,
    eye as eye,
    map_values as map_values,
    reorder as reorder,
    reshape as reshape,
    retain as retain,
    transpose as transpose,
)
from gradtape._src.ops.sparse.segment import (
    segment_mean as segment_mean,
    segment_sqrt_n as segment_sqrt_n,
    segment_sum as segment_sum,
)
from gradtape._src.ops.sparse.tensor import (
    SparseTensor as SparseTensor,
    from_dense as from_dense,
    reduce_sum as reduce_sum,
    sparse_dense_matmul as sparse_dense_matmul,
    to_dense as to_dense,
)
from gradtape._src.ops.strings.crosses import cross_hashed as cross_hashed

__getattr__ = _missing(__name__)
