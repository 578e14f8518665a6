"""Comparisons and logic, with dtypes promoted by NumPy's rules."""

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.math import arithmetic, compare
from gradtape._src.ops.math.reduction import reduce_all
from gradtape._src.ops.numpy.policy import TENSORFLOW, numpy_function, promoted


@numpy_function
def equal(x1, x2, *, policy=TENSORFLOW):
    """Return whether two elements are equal.

    >>> tf.experimental.numpy.equal([1, 2], 2.0).numpy()
    array([False,  True])
    """
    return compare.equal(*policy.operands(x1, x2)[:2])


@numpy_function
def not_equal(x1, x2, *, policy=TENSORFLOW):
    """Return whether two elements differ.

    >>> tf.experimental.numpy.not_equal([1, 2], 2.0).numpy()
    array([ True, False])
    """
    return compare.not_equal(*policy.operands(x1, x2)[:2])


@numpy_function
def greater(x1, x2, *, policy=TENSORFLOW):
    """Return whether the first element is larger; False counts as 0, True as 1.

    >>> tf.experimental.numpy.greater([1, 3], 2.0).numpy()
    array([False,  True])
    """
    return compare.greater(*policy.counted(x1, x2)[:2])


@numpy_function
def greater_equal(x1, x2, *, policy=TENSORFLOW):
    """Return whether the first element is not smaller; False counts as 0, True as 1.

    >>> tf.experimental.numpy.greater_equal([1, 3], 3).numpy()
    array([False,  True])
    """
    return compare.greater_equal(*policy.counted(x1, x2)[:2])


@numpy_function
def less(x1, x2, *, policy=TENSORFLOW):
    """Return whether the first element is smaller; False counts as 0, True as 1.

    >>> tf.experimental.numpy.less([1, 3], 2.0).numpy()
    array([ True, False])
    """
    return compare.less(*policy.counted(x1, x2)[:2])


@numpy_function
def less_equal(x1, x2, *, policy=TENSORFLOW):
    """Return whether the first element is not larger; False counts as 0, True as 1.

    >>> tf.experimental.numpy.less_equal([1, 3], 1).numpy()
    array([ True, False])
    """
    return compare.less_equal(*policy.counted(x1, x2)[:2])


@numpy_function
def logical_and(x1, x2, *, policy=TENSORFLOW):
    """Return whether both elements are not 0.

    >>> tf.experimental.numpy.logical_and([0, 2], True).numpy()
    array([False,  True])
    """
    return compare.logical_and(policy.truth(x1), policy.truth(x2))


@numpy_function
def logical_or(x1, x2, *, policy=TENSORFLOW):
    """Return whether at least one of two elements is not 0.

    >>> tf.experimental.numpy.logical_or([0, 2], False).numpy()
    array([False,  True])
    """
    return compare.logical_or(policy.truth(x1), policy.truth(x2))


@numpy_function
def logical_xor(x1, x2, *, policy=TENSORFLOW):
    """Return whether exactly one of two elements is not 0.

    >>> tf.experimental.numpy.logical_xor([0, 2], True).numpy()
    array([ True, False])
    """
    return compare.logical_xor(policy.truth(x1), policy.truth(x2))


@numpy_function
def logical_not(x, *, policy=TENSORFLOW):
    """Return whether an element is 0 or False.

    >>> tf.experimental.numpy.logical_not([0, 2]).numpy()
    array([ True, False])
    """
    return compare.logical_not(policy.truth(x))


@public
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return whether |a - b| ≤ atol + rtol · |b|, element-wise. Integers and bools must be equal.

    >>> tf.experimental.numpy.isclose([1.0, 2.0], [1.0, 2.1]).numpy()
    array([ True, False])
    """
    a, b = promoted(a, b)
    if not (a.dtype.is_floating or a.dtype.is_complex):
        return compare.equal(a, b)
    tolerance = atol + rtol * arithmetic.abs(b)
    close = arithmetic.abs(a - b) <= tolerance
    return compare.logical_or(close, compare.logical_and(compare.is_nan(a), compare.is_nan(b))) if equal_nan else close


@public
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return whether all elements are close, as `isclose`: a bool tensor.

    >>> tf.experimental.numpy.allclose([1.0, 2.0], [1.0, 2.1]).numpy()
    np.False_
    """
    return reduce_all(isclose(a, b, rtol, atol, equal_nan))


@public
def array_equal(a1, a2):
    """Return whether two arrays have one shape and equal elements, a bool tensor.

    >>> tf.experimental.numpy.array_equal([1, 2], [1, 2]).numpy()
    np.True_
    """
    x1, x2 = promoted(a1, a2)
    return reduce_all(compare.equal(x1, x2)) if extents_of(x1) == extents_of(x2) else cast(False, "bool")
