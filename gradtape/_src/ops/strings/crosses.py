"""Crosses of features: the hash buckets of all combinations of one value from each feature, row by row."""

from itertools import product
from math import prod

import numpy as np

from gradtape._src.core.base.errors import UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import emit
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.sparse.tensor import SparseTensor
from gradtape._src.ops.strings.elements import NO_NUMBER, each
from gradtape._src.ops.strings.hashing import SEED, WORD, combined, fingerprint

INT64 = np.dtype(np.int64)


def _crosses(*inputs, buckets, key):
    if any(x.ndim != 2 or x.shape[0] != inputs[0].shape[0] for x in inputs):
        raise invalid(f"Features are [rows, values] with the same number of rows; received {[list(x.shape) for x in inputs]}.")
    return aval((inputs[0].shape[0], prod([x.shape[1] for x in inputs])), INT64)


@op("SparseCrossHashed", infer=_crosses, mixed=True, on_host=True)
def _crossed(*inputs, buckets, key):
    features = [each(_hashed, x) for x in inputs]
    result = np.empty((len(features[0]), prod([x.shape[1] for x in features])), np.int64)
    for row, values in enumerate(zip(*features, strict=True)):
        for column, chosen in enumerate(product(*values)):
            whole = key
            for value in chosen:
                whole = combined(whole, value)
            result[row, column] = whole % (buckets or np.iinfo(np.int64).max)
    return result


not_differentiable(_crossed, because=NO_NUMBER)


def _hashed(value):
    return fingerprint(value) if isinstance(value, bytes) else int(value) & WORD


@public
def cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """Return the hash buckets of all combinations in each row of the features `inputs`, [rows, values]: an int64 SparseTensor.

    With `num_buckets` 0 the hash is not reduced modulo a number of buckets. `hash_key` is the initial value of the hash.
    Features are strings or integers.

    >>> crosses = tf.sparse.cross_hashed([tf.constant([["a", "b"]]), tf.constant([[1]])], num_buckets=100)
    >>> tf.sparse.to_dense(crosses).shape
    TensorShape([1, 2])
    """
    if any(isinstance(x, SparseTensor) for x in inputs):
        raise UnimplementedError.saying("Crosses are of dense features here: give tf.sparse.to_dense of each.")
    features = [tensor(x) for x in inputs]
    nodes = tuple([x.node for x in features])
    if any(x.dtype != dtypes.string and not x.dtype.is_integer for x in features):
        raise TypeError(f"Features must be strings or integers, received {[x.dtype.name for x in features]}.")
    found = emit(_crossed.op, nodes, (int(num_buckets), SEED if hash_key is None else int(hash_key)))
    rows, columns = found.shape
    places = np.indices((rows, columns)).reshape(2, -1).T
    return SparseTensor(places, reshape(found, [-1]), [rows, columns])
