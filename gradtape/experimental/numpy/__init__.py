"""NumPy's functions on tensors: `tf.experimental.numpy`. `ndarray` is `tf.Tensor`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.tensors.tensor import Tensor as _Tensor
from gradtape.experimental.numpy import random as random

# Dtypes
from gradtape._src.ops.numpy.dtypes import (
    finfo as finfo,
    issubdtype as issubdtype,
    promote_types as promote_types,
    result_type as result_type,
)

# Arrays of values, filled, spaced, of diagonals
from gradtape._src.ops.numpy.arrays import (
    arange as arange,
    array as array,
    asanyarray as asanyarray,
    asarray as asarray,
    ascontiguousarray as ascontiguousarray,
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
    copy as copy,
    diag as diag,
    diag_indices as diag_indices,
    diagflat as diagflat,
    diagonal as diagonal,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    full as full,
    full_like as full_like,
    geomspace as geomspace,
    identity as identity,
    ix_ as ix_,
    linspace as linspace,
    logspace as logspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tri as tri,
    tril as tril,
    triu as triu,
    vander as vander,
    zeros as zeros,
    zeros_like as zeros_like,
)

# Shapes and axes, joining and splitting
from gradtape._src.ops.numpy.shapes import (
    append as append,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    concatenate as concatenate,
    dsplit as dsplit,
    dstack as dstack,
    expand_dims as expand_dims,
    flatten as flatten,
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    hsplit as hsplit,
    hstack as hstack,
    isscalar as isscalar,
    moveaxis as moveaxis,
    ndim as ndim,
    pad as pad,
    ravel as ravel,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    rot90 as rot90,
    shape as shape,
    size as size,
    split as split,
    squeeze as squeeze,
    stack as stack,
    swapaxes as swapaxes,
    tile as tile,
    transpose as transpose,
    vsplit as vsplit,
    vstack as vstack,
)

# Functions of each element
from gradtape._src.ops.numpy.elements import (
    abs as abs,
    absolute as absolute,
    angle as angle,
    arccos as arccos,
    arccosh as arccosh,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctanh as arctanh,
    around as around,
    cbrt as cbrt,
    ceil as ceil,
    conj as conj,
    conjugate as conjugate,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    fabs as fabs,
    fix as fix,
    floor as floor,
    imag as imag,
    iscomplex as iscomplex,
    iscomplexobj as iscomplexobj,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    isneginf as isneginf,
    isposinf as isposinf,
    isreal as isreal,
    isrealobj as isrealobj,
    log as log,
    log10 as log10,
    log1p as log1p,
    log2 as log2,
    negative as negative,
    positive as positive,
    rad2deg as rad2deg,
    real as real,
    reciprocal as reciprocal,
    round as round,
    sign as sign,
    signbit as signbit,
    sin as sin,
    sinc as sinc,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    tan as tan,
    tanh as tanh,
)

# Arithmetic of two arrays
from gradtape._src.ops.numpy.pairs import (
    add as add,
    arctan2 as arctan2,
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    clip as clip,
    divide as divide,
    divmod as divmod,
    float_power as float_power,
    floor_divide as floor_divide,
    gcd as gcd,
    heaviside as heaviside,
    hypot as hypot,
    lcm as lcm,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    nextafter as nextafter,
    polyval as polyval,
    power as power,
    remainder as remainder,
    subtract as subtract,
    true_divide as true_divide,
)

# Comparisons and logic
from gradtape._src.ops.numpy.logic import (
    allclose as allclose,
    array_equal as array_equal,
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    isclose as isclose,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    not_equal as not_equal,
)

# Sums, means, extrema, running sums
from gradtape._src.ops.numpy.reductions import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    average as average,
    count_nonzero as count_nonzero,
    cumprod as cumprod,
    cumsum as cumsum,
    max as max,
    mean as mean,
    min as min,
    nanmean as nanmean,
    nanprod as nanprod,
    nansum as nansum,
    prod as prod,
    ptp as ptp,
    std as std,
    sum as sum,
    var as var,
)

# Products of vectors and matrices
from gradtape._src.ops.numpy.products import (
    cross as cross,
    diff as diff,
    dot as dot,
    einsum as einsum,
    inner as inner,
    kron as kron,
    matmul as matmul,
    outer as outer,
    tensordot as tensordot,
    trace as trace,
    vdot as vdot,
)

# Elements by indices, masks and order
from gradtape._src.ops.numpy.selection import (
    argsort as argsort,
    compress as compress,
    nonzero as nonzero,
    select as select,
    sort as sort,
    take as take,
    take_along_axis as take_along_axis,
    where as where,
)

# NumPy's methods, operators and indexing on tensors
from gradtape._src.ops.numpy.behavior import (
    experimental_enable_numpy_behavior as experimental_enable_numpy_behavior,
)

# NumPy's own dtypes, limits and constants
from numpy import (
    bool_ as bool_,
    bytes_ as _bytes,
    complex64 as complex64,
    complex128 as complex128,
    e as e,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    iinfo as iinfo,
    inexact as inexact,
    inf as inf,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int_ as int_,
    newaxis as newaxis,
    object_ as object_,
    pi as pi,
    str_ as _str,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)

complex_ = complex128
float_ = float64
string_ = _bytes
unicode_ = _str
ndarray = _Tensor

__getattr__ = _missing(__name__)
