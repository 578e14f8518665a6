"""What the reverse pass does to cotangents: sums over broadcast axes, and IndexedSlices."""
from gradtape._src.ops.reduction import _sum
from gradtape._src.ops.array import _reshape


def unbroadcast(dy, shape):
    """The sum of `dy` over the axes along which a tensor of `shape` was broadcast to dy's shape."""
    have = dy.node.aval.shape
    if have == shape:
        return dy
    extra = len(have) - len(shape)
    axes = tuple([a for a in range(len(have)) if a < extra or (shape[a - extra] == 1 and have[a] != 1)])
    return _reshape(_sum(dy, axis=axes, keepdims=False), shape=shape)


def concatenate_slices(parts):
    raise NotImplementedError
