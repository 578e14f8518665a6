"""The test for tensors of any kind: dense, sparse and ragged."""

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import convert
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.sparse.tensor import SparseTensor


@public
def is_tensor(x: object) -> bool:
    """Return whether `x` is a Tensor, Variable, IndexedSlices, SparseTensor or RaggedTensor.

    As in TensorFlow, an object with an attribute `is_tensor_like` counts, too.

    >>> tf.is_tensor(tf.constant(1.0)), tf.is_tensor(1.0)
    (True, False)
    """
    return convert.is_tensor(x) or isinstance(x, (SparseTensor, RaggedTensor)) or hasattr(x, "is_tensor_like")
