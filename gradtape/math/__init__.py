"""Mathematics on tensors: `tf.math`."""

from gradtape._src.compat.names import missing as _missing
from gradtape.math import special as special

# Element-wise mathematics
from gradtape._src.ops.nn.activation import softsign as softsign
from gradtape._src.ops.math.arithmetic import (
    abs as abs,
    accumulate_n as accumulate_n,
    add as add,
    add_n as add_n,
    divide as divide,
    divide_no_nan as divide_no_nan,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    multiply_no_nan as multiply_no_nan,
    negative as negative,
    nextafter as nextafter,
    polyval as polyval,
    reciprocal as reciprocal,
    reciprocal_no_nan as reciprocal_no_nan,
    rsqrt as rsqrt,
    scalar_mul as scalar_mul,
    sign as sign,
    sqrt as sqrt,
    square as square,
    squared_difference as squared_difference,
    subtract as subtract,
    truediv as truediv,
)
from gradtape._src.ops.math.bessel import (
    bessel_i0 as bessel_i0,
    bessel_i0e as bessel_i0e,
    bessel_i1 as bessel_i1,
    bessel_i1e as bessel_i1e,
)
from gradtape._src.ops.math.compare import (
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    not_equal as not_equal,
)
from gradtape._src.ops.math.complex import angle as angle, conj as conj, imag as imag, real as real
from gradtape._src.ops.math.elementary import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    exp as exp,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    pow as pow,
    sin as sin,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)
from gradtape._src.ops.math.order import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
)
from gradtape._src.ops.math.rounding import (
    ceil as ceil,
    floor as floor,
    floordiv as floordiv,
    floormod as floormod,
    mod as mod,
    rint as rint,
    round as round,
)
from gradtape._src.ops.math.incomplete import betainc as betainc, igamma as igamma, igammac as igammac
from gradtape._src.ops.random.sobol import sobol_sample as sobol_sample
from gradtape._src.ops.math.special import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfcinv as erfcinv,
    erfinv as erfinv,
    lbeta as lbeta,
    lgamma as lgamma,
    log_sigmoid as log_sigmoid,
    ndtri as ndtri,
    polygamma as polygamma,
    sigmoid as sigmoid,
    softplus as softplus,
    xdivy as xdivy,
    xlog1py as xlog1py,
    xlogy as xlogy,
    zeta as zeta,
)

# Reductions, scans, segments, sorting, counting
from gradtape._src.ops.math.counting import bincount as bincount, confusion_matrix as confusion_matrix
from gradtape._src.ops.math.cumulative import (
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_logsumexp as cumulative_logsumexp,
)
from gradtape._src.ops.math.reduction import (
    count_nonzero as count_nonzero,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_euclidean_norm as reduce_euclidean_norm,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_std as reduce_std,
    reduce_sum as reduce_sum,
    reduce_variance as reduce_variance,
    zero_fraction as zero_fraction,
)
from gradtape._src.ops.math.segment import (
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from gradtape._src.ops.array.sort import (
    argmax as argmax,
    argmin as argmin,
    in_top_k as in_top_k,
    invert_permutation as invert_permutation,
    top_k as top_k,
)
from gradtape._src.ops.nn.normalization import l2_normalize as l2_normalize
from gradtape._src.ops.nn.softmax import log_softmax as log_softmax, softmax as softmax

__getattr__ = _missing(__name__)
