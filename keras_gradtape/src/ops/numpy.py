"""The functions of `keras.ops.numpy`, Keras's `backend.numpy`."""

from keras_gradtape.src.ops._numpy.arithmetic import (
    allclose as allclose,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_right_shift as bitwise_right_shift,
    divide_no_nan as divide_no_nan,
    isclose as isclose,
    left_shift as left_shift,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    right_shift as right_shift,
)
from keras_gradtape.src.ops._numpy.bound import bound
from keras_gradtape.src.ops._numpy.creation import (
    bartlett as bartlett,
    blackman as blackman,
    full as full,
    full_like as full_like,
    geomspace as geomspace,
    hamming as hamming,
    hanning as hanning,
    kaiser as kaiser,
    linspace as linspace,
    logspace as logspace,
    meshgrid as meshgrid,
)
from keras_gradtape.src.ops._numpy.elementwise import (
    fabs as fabs,
    i0 as i0,
    reciprocal as reciprocal,
    signbit as signbit,
    trunc as trunc,
    view as view,
)
from keras_gradtape.src.ops._numpy.products import (
    einsum as einsum,
    matmul as matmul,
    slogdet as slogdet,
    trace as trace,
)
from keras_gradtape.src.ops._numpy.rearrange import (
    pad as pad,
    reshape as reshape,
    size as size,
    squeeze as squeeze,
    transpose as transpose,
)
from keras_gradtape.src.ops._numpy.reduction import (
    average as average,
    bincount as bincount,
    std as std,
    sum as sum,
    var as var,
)
from keras_gradtape.src.ops._numpy.selection import (
    argpartition as argpartition,
    nonzero as nonzero,
    take as take,
    take_along_axis as take_along_axis,
    vectorize as vectorize,
    where as where,
)

globals().update(vars(bound) | globals())  # names defined above take precedence
