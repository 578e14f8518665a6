"""Error, gamma, beta and Bessel functions, sigmoids, special integrals."""

import jax
import jax.numpy as jnp
import jax.scipy.special as js
import numpy as np
import scipy.special as ss
from jax import lax

import gradtape as tf
from gradtape._src.ops.math import bessel, special as special_functions
from tests.ops.table import Row, complexes, positive, real, unit

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError

FLOATS = ("float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex64")
special = tf.math.special

x, p, row = real(2, 3), positive(2, 3), positive(3)
z, w = complexes(2, 3), complexes(3, seed=1)
probability = positive(2, 3) / 2.5


def differences(function, x, step=0.01):
    """The derivative of an element-wise function, to eighth order in the step."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum([w * (function(x + i * step) - function(x - i * step)) / step for i, w in enumerate(weights, 1)])


# Where the special values of functions of one argument are taken, TensorFlow's values there, and its gradients.
POINTS = np.array([-2.5, -1.0, 0.0, 0.5, 1.0, 2.0, 30.0, NAN])
SPECIAL = {
    "erf": (
        [-0.99959305, -0.84270079, 0.0, 0.52049988, 0.84270079, 0.99532227, 1.0, NAN],
        [0.0021782842, 0.4151075, 1.1283792, 0.87878258, 0.4151075, 0.020666985, 0.0, NAN],
    ),
    "erfc": (
        [1.999593, 1.8427008, 1.0, 0.47950012, 0.15729921, 0.004677735, 0.0, NAN],
        [-0.0021782842, -0.4151075, -1.1283792, -0.87878258, -0.4151075, -0.020666985, 0.0, NAN],
    ),
    "erfinv": ([NAN, -INF, 0.0, 0.47693628, INF, NAN, NAN, NAN], [NAN, INF, 0.88622693, 1.1125848, INF, NAN, NAN, NAN]),
    "erfcinv": (
        [NAN, NAN, INF, 0.47693628, 0.0, -INF, NAN, NAN],
        [NAN, NAN, -INF, -1.1125848, -0.88622693, -INF, NAN, NAN],
    ),
    "ndtri": ([NAN, NAN, -INF, 0.0, INF, NAN, NAN, NAN], [NAN, NAN, INF, 2.5066283, INF, NAN, NAN, NAN]),
    "lgamma": (
        [-0.056243716, INF, INF, 0.57236494, 0.0, 0.0, 71.257039, NAN],
        [1.1031566, NAN, NAN, -1.96351, -0.57721566, 0.42278434, 3.3844381, NAN],
    ),
    "digamma": (
        [1.1031566, NAN, NAN, -1.96351, -0.57721566, 0.42278434, 3.3844381, NAN],
        [9.5392466, INF, INF, 4.9348022, 1.6449341, 0.64493407, 0.03389506, NAN],
    ),
    "sigmoid": (
        [0.07585818, 0.26894142, 0.5, 0.62245933, 0.73105858, 0.88079708, 1.0, NAN],
        [0.070103717, 0.19661193, 0.25, 0.23500371, 0.19661193, 0.10499359, 9.3591801e-14, NAN],
    ),
    "log_sigmoid": (
        [-2.5788897, -1.3132617, -0.69314718, -0.47407698, -0.31326169, -0.12692801, -9.357623e-14, NAN],
        [0.92414182, 0.73105858, 0.5, 0.37754067, 0.26894142, 0.11920292, 9.357623e-14, NAN],
    ),
    "softplus": (
        [0.078889734, 0.31326169, 0.69314718, 0.97407698, 1.3132617, 2.126928, 30.0, NAN],
        [0.07585818, 0.26894142, 0.5, 0.62245933, 0.73105858, 0.88079708, 1.0, NAN],
    ),
    "bessel_j0": (
        [-0.048383776, 0.76519769, 1.0, 0.93846981, 0.76519769, 0.22389078, -0.086367984, NAN],
        [0.4970941, 0.44005059, 0.0, -0.24226846, -0.44005059, -0.57672481, 0.11875106, NAN],
    ),
    "bessel_j1": (
        [-0.4970941, -0.44005059, 0.0, 0.24226846, 0.44005059, 0.57672481, -0.11875106, NAN],
        [-0.24722142, 0.3251471, 0.5, 0.45393289, 0.3251471, -0.064471625, -0.082409615, NAN],
    ),
    "bessel_y0": (
        [-INF, -INF, -INF, -0.44451873, 0.088256964, 0.51037567, -0.11729573, NAN],
        [INF, INF, INF, 1.4714724, 0.78121282, 0.10703243, -0.084425571, NAN],
    ),
    "bessel_y1": (
        [-INF, -INF, -INF, -1.4714724, -0.78121282, -0.10703243, 0.084425571, NAN],
        [-INF, -INF, NAN, 2.4984261, 0.86946979, 0.56389189, -0.12010992, NAN],
    ),
    "bessel_k0": (
        [INF, INF, INF, 0.92441907, 0.42102444, 0.11389387, 2.1324775e-14, NAN],
        [-INF, -INF, -INF, -1.6564411, -0.60190723, -0.13986588, -2.167732e-14, NAN],
    ),
    "bessel_k0e": (
        [INF, INF, INF, 1.5241094, 1.1444631, 0.84156822, 0.22788667, NAN],
        [NAN, NAN, NAN, -1.2069003, -0.49169041, -0.19190863, -0.0037674638, NAN],
    ),
    "bessel_k1": (
        [INF, INF, INF, 1.6564411, 0.60190723, 0.13986588, 2.167732e-14, NAN],
        [NAN, NAN, -INF, -4.2373013, -1.0229317, -0.18382681, -2.2047352e-14, NAN],
    ),
    "bessel_k1e": (
        [INF, INF, INF, 2.7310097, 1.6361535, 1.0334768, 0.23165413, NAN],
        [NAN, NAN, -INF, -4.2551191, -1.1444631, -0.32482979, -0.0039543406, NAN],
    ),
    "bessel_i0": (
        [3.2898391, 1.2660659, 1.0, 1.0634834, 1.2660659, 2.2795853, 781672300000.0, NAN],
        [-2.5167162, -0.5651591, 0.0, 0.25789431, 0.5651591, 1.5906369, 768532040000.0, NAN],
    ),
    "bessel_i0e": (
        [0.27004644, 0.46575961, 1.0, 0.64503527, 0.46575961, 0.30850832, 0.073145946, NAN],
        [0.063461792, 0.25784919, 0.0, -0.48861447, -0.25784919, -0.093239033, -0.0012296159, NAN],
    ),
    "bessel_i1": (
        [-2.5167162, -0.5651591, 0.0, 0.25789431, 0.5651591, 1.5906369, 768532040000.0, NAN],
        [2.2831526, 0.70090677, 0.5, 0.54769476, 0.70090677, 1.4842669, 756054560000.0, NAN],
    ),
    "bessel_i1e": (
        [-0.20658465, -0.20791042, 0.0, 0.1564208, 0.20791042, 0.21526929, 0.071916331, NAN],
        [-0.019172068, 0.049938777, 0.5, 0.17577286, 0.049938777, -0.014395611, -0.0011675951, NAN],
    ),
    "dawsn": (
        [-0.22308372, -0.53807951, 0.0, 0.42443638, 0.53807951, 0.30134039, 0.016675941, NAN],
        [-0.11541861, -0.076159014, 1.0, 0.57556362, -0.076159014, -0.20536156, -0.00055648406, NAN],
    ),
    "expint": (
        [NAN, NAN, -INF, 0.4542199, 1.8951178, 4.9542344, 368973210000.0, NAN],
        [-0.032833999, -0.36787944, INF, 3.2974425, 2.7182818, 3.694528, 356215820000.0, NAN],
    ),
    "fresnel_cos": (
        [-0.45741301, -0.7798934, 0.0, 0.49234423, 0.7798934, 0.48825341, 0.49999625, NAN],
        [-0.92387953, 0.0, 1.0, 0.92387953, 0.0, 1.0, 1.0, NAN],
    ),
    "fresnel_sin": (
        [-0.61918176, -0.43825915, 0.0, 0.064732433, 0.43825915, 0.34341568, 0.48938967, NAN],
        [-0.38268343, 1.0, 0.0, 0.38268343, 1.0, 0.0, 0.0, NAN],
    ),
    "spence": (
        [NAN, NAN, 1.6449341, 0.58224053, 0.0, -0.82246703, -7.2800847, NAN],
        [NAN, NAN, -INF, -1.3862944, -1.0, -0.69314718, -0.11728267, NAN],
    ),
}  # fmt: skip

# name: (function, reference, op type, domain). A reference of SciPy has no JAX gradient.
FUNCTIONS = {
    "erf": (tf.math.erf, js.erf, "Erf", x),
    "erfc": (tf.math.erfc, js.erfc, "Erfc", x),
    "erfinv": (tf.math.erfinv, js.erfinv, "Erfinv", unit(2, 3)),
    "erfcinv": (tf.math.erfcinv, lambda x: js.erfinv(1.0 - x), "Ndtri", 1.0 + unit(2, 3)),
    "ndtri": (tf.math.ndtri, js.ndtri, "Ndtri", probability),
    "lgamma": (tf.math.lgamma, js.gammaln, "Lgamma", p),
    "sigmoid": (tf.sigmoid, jax.nn.sigmoid, "Sigmoid", x),
    "log_sigmoid": (tf.math.log_sigmoid, jax.nn.log_sigmoid, "Softplus", x),
    "softplus": (tf.math.softplus, jax.nn.softplus, "Softplus", x),
    "bessel_j0": (special.bessel_j0, ss.j0, "BesselJ0", 10 * x),
    "bessel_j1": (special.bessel_j1, ss.j1, "BesselJ1", 20 * x),
    "bessel_y0": (special.bessel_y0, ss.y0, "BesselY0", 10 * p),
    "bessel_y1": (special.bessel_y1, ss.y1, "BesselY1", 20 * p),
    "bessel_k0": (special.bessel_k0, ss.k0, "BesselK0", 2 * p),
    "bessel_k0e": (special.bessel_k0e, ss.k0e, "BesselK0e", 2 * p),
    "bessel_k1": (special.bessel_k1, ss.k1, "BesselK1", 2 * p),
    "bessel_k1e": (special.bessel_k1e, ss.k1e, "BesselK1e", 2 * p),
    "bessel_i0": (tf.math.bessel_i0, ss.i0, "BesselI0", x),
    "bessel_i0e": (special.bessel_i0e, ss.i0e, "BesselI0e", 5 * x),
    "bessel_i1": (special.bessel_i1, ss.i1, "BesselI1", x),
    "bessel_i1e": (tf.math.bessel_i1e, ss.i1e, "BesselI1e", 5 * x),
    "dawsn": (special.dawsn, ss.dawsn, "Dawsn", x),
    "expint": (special.expint, ss.expi, "Expint", p),
    "fresnel_cos": (special.fresnel_cos, lambda x: ss.fresnel(x)[1], "FresnelCos", x),
    "fresnel_sin": (special.fresnel_sin, lambda x: ss.fresnel(x)[0], "FresnelSin", x),
    "spence": (special.spence, ss.spence, "Spence", p),
}
SCIPY = [name for name in FUNCTIONS if name.startswith(("bessel", "dawsn", "expint", "fresnel", "spence"))]


def not_for_integers(function):
    return (
        (
            lambda: function(tf.constant([1])),
            Invalid,
            "attr 'T' of int32 is not in the list of allowed values: bfloat16",
        ),
    )


def of_whole(function):
    """`function` of an integer tensor and a float one, in the float's dtype."""
    return lambda a, x: function(tf.cast(a, x.dtype), x)


def gradient(function, a, *others):
    """The gradient of `function(a, *others)` to `a`."""
    a = a + tf.zeros_like(function(a, *others))  # of the shape of the result
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = function(a, *others)
    return tape.gradient(y, a)


ROWS = (
    *[
        Row(
            name,
            function,
            (domain,),
            reference,
            ops=(op_type,),
            dtypes=FLOATS,
            oracle=name not in SCIPY,
            special=((POINTS, *SPECIAL[name]),),
            tolerance=2e-6,
            errors=() if name == "erfcinv" else not_for_integers(function),
        )
        for name, (function, reference, op_type, domain) in FUNCTIONS.items()
    ],
    Row("sigmoid complex", tf.sigmoid, (z,), lambda x: 1 / (1 + jnp.exp(-x)), ops=("Sigmoid",), dtypes=COMPLEX),
    Row(
        "digamma",
        tf.math.digamma,
        (p,),
        js.digamma,
        ops=("Digamma",),
        special=((POINTS, *SPECIAL["digamma"]), (INF, INF, 0.0)),
    ),
    Row(
        "bessel ratio",
        lambda x: (bessel._ratio(x, order=2, modified=False), bessel._ratio(x, order=2, modified=True)),
        (np.array([-0.5, 0.5, 3.0, 8.0, 35.0]),),
        lambda x: (ss.jv(2, x) / x**2, ss.iv(2, x) / x**2),
        ops=("BesselRatio",),
        oracle=False,
        dtypes=("float64",),
    ),
    Row(
        "spence slope",
        lambda x: (special_functions._spence_slope(x, order=0), special_functions._spence_slope(x, order=1)),
        (np.array([0.2, 0.9, 1.2, 3.0]),),
        lambda x: (np.log(x) / (x - 1.0), (np.log(x) / (x - 1.0) - 1.0 / x) / (x - 1.0)),
        ops=("SpenceSlope",),
        oracle=False,
        dtypes=("float64",),
    ),
    # These have a gradient to one argument only: the others are given as integers.
    Row(
        "polygamma",
        of_whole(tf.math.polygamma),
        (np.array([0, 1, 2]), p),
        lambda a, x: js.polygamma(a, x),
        ops=("Polygamma",),
        special=(
            (
                ([0, 1, 2], np.array([1.0, 2.0, -1.5])),
                np.array([-0.57721566, 0.64493407, -0.23620405]),
                (None, np.array([1.6449341, -0.40411381, 194.59428])),
            ),
            (([-1, 0], [0.5, NAN]), [NAN, NAN], (None, [-1.96351, NAN])),
        ),
        errors=(
            (
                lambda: tf.math.polygamma(tf.constant([1.0], tf.float16), 1.0),
                Invalid,
                "attr 'T' of half is not in the list of allowed values: float, double",
            ),
        ),
    ),
    Row(
        "zeta",
        of_whole(tf.math.zeta),
        (np.array([2, 3, 4]), p),
        lambda s, q: js.zeta(s, q),
        ops=("Zeta",),
        oracle=False,
        special=(
            (
                ([2, 1, 2, 3], np.array([1.0, 2.0, -1.0, 0.5])),
                np.array([1.6449341, INF, INF, 8.4143983]),
                (None, np.array([-2.4041138, -0.64493407, NAN, -48.704546])),
            ),
        ),
    ),
    Row(
        "zeta to x",
        lambda s, q: gradient(lambda s: tf.math.zeta(s, q), s),
        (1.5 + p, positive(3, seed=3)),
        lambda s, q: differences(lambda s: ss.zeta(s, q), s),
        ops=("ZetaDerivative",),
        oracle=False,
        dtypes=("float64",),
        special=(  # by mpmath; where powers of negative numbers need not be real, NaN
            (
                (np.array([2.5, 1.1, 40.0]), np.array([1.5, 0.2, 3.0])),
                np.array([-0.464812348139, -90.5656552377, -9.0364900721e-20]),
            ),
            ((np.array([0.5, 2.0, NAN]), np.array([1.0, -0.5, 1.0])), [NAN, NAN, NAN]),
        ),
    ),
    Row(
        "igamma",
        tf.math.igamma,
        (p, row),
        js.gammainc,
        ops=("Igamma",),
        dtypes=FLOATS[:3],
        special=(
            (
                (np.array([1.0, 2.0, 0.5]), np.array([1.0, INF, 3.0])),
                np.array([0.63212056, 1.0, 0.98569412]),
                (np.array([-0.43172971, 0.0, -0.047240326]), np.array([0.36787944, NAN, 0.016217391])),
            ),
            (([-1.0, 1.0], [1.0, -1.0]), [NAN, NAN]),
            (([INF, 0.0, NAN, 0.0, INF, 0.0], [1.0, 1.0, 0.0, 0.0, INF, INF]), [0.0, NAN, 0.0, 0.0, 0.0, NAN]),
        ),
    ),
    Row("igamma to x", of_whole(tf.math.igamma), (np.array([1, 2, 3]), p), js.gammainc, ops=("Igamma",)),
    Row(
        "igamma to a",
        lambda a, x: gradient(tf.math.igamma, a, x),
        (p, row),
        lambda a, x: lax.igamma_grad_a(*jnp.broadcast_arrays(a, x)),
        ops=("IgammaGradA",),
        oracle=False,
        special=((([NAN, INF, -1.0, 2.0, 0.0], [INF, 1.0, 0.0, INF, INF]), [NAN, 0.0, 0.0, 0.0, NAN]),),
    ),
    Row(
        "igamma to a twice",
        lambda a, x: gradient(lambda a: gradient(tf.math.igamma, a, x), a),
        (p, row),
        lambda a, x: differences(lambda a: np.asarray(lax.igamma_grad_a(*jnp.broadcast_arrays(a, x))), a),
        ops=("IgammaDerivative",),
        oracle=False,
        dtypes=("float64",),
        special=(  # by mpmath; at the ends 0, and NaN beyond them
            (
                (np.array([2.5, 0.3, 0.001, 100.0]), np.array([1.5, 0.02, 0.001, 105.0])),
                np.array([0.136554033455, 4.45251725220, 38.2258147753, -0.00168543534979]),
            ),
            ((np.array([2.0, 2.0, -1.0, 2.0, NAN]), np.array([0.0, INF, 1.0, -1.0, 1.0])), [0.0, 0.0, NAN, NAN, NAN]),
        ),
    ),
    Row(
        "igammac",
        tf.math.igammac,
        (p, row),
        js.gammaincc,
        ops=("Igammac",),
        dtypes=FLOATS[:3],
        special=(
            (
                (np.array([1.0, 2.0, 0.5]), np.array([1.0, INF, 3.0])),
                np.array([0.36787944, 0.0, 0.014305878]),
                (np.array([0.43172971, 0.0, 0.047240326]), np.array([-0.36787944, NAN, -0.016217391])),
            ),
            (([INF, 0.0, 0.0, INF], [1.0, 1.0, INF, 0.4]), [1.0, NAN, NAN, 1.0]),
        ),
    ),
    Row("igammac to x", of_whole(tf.math.igammac), (np.array([1, 2, 3]), p), js.gammaincc, ops=("Igammac",)),
    Row(
        "betainc",
        lambda a, b, x: tf.math.betainc(tf.cast(a, x.dtype), tf.cast(b, x.dtype), x),
        (np.array([[1, 2, 3]] * 2), np.array([[3, 1, 2], [1, 1, 4]]), probability),
        js.betainc,
        ops=("Betainc",),
        tolerance=2e-6,
        special=((([1, 2, 2, 0, 2], [1, 3, 3, 1, 2], [0.5, 0.0, 1.0, 0.5, 1.5]), [0.5, 0.0, 1.0, NAN, NAN]),),
        errors=(
            (
                lambda: tf.math.betainc([[1.0], [2.0]], [1.0, 3.0], [0.5, 0.3]),
                Invalid,
                "Shapes of a, b and x are inconsistent",
            ),
        ),
    ),
    Row(
        "betainc to a",
        lambda a, b, x: gradient(lambda a: tf.math.betainc(a, b, x), a),
        (p, positive(2, 3, seed=2), probability),
        lambda a, b, x: differences(lambda a: ss.betainc(a, b, x), a),
        ops=("BetaincDerivative",),
        oracle=False,
        dtypes=("float64",),
        special=(  # by mpmath; at the ends 0, and NaN beyond them
            (
                (np.array([2.0, 0.5, 300.0]), np.array([3.0, 3.0, 2.0]), np.array([0.4, 0.9, 0.99])),
                np.array([-0.24086937608756, -9.71113372486e-4, -0.00148110088318]),
            ),
            ((np.array([2.0, 2.0, -1.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.5, 2.0])), [0, 0, NAN, NAN]),
        ),
    ),
    Row(
        "betainc to b",
        lambda a, b, x: gradient(lambda b: tf.math.betainc(a, b, x), b),
        (p, positive(2, 3, seed=2), probability),
        lambda a, b, x: differences(lambda b: ss.betainc(a, b, x), b),
        ops=("BetaincDerivative",),
        oracle=False,
        dtypes=("float64",),
    ),
    Row(
        "betainc of scalars",
        lambda x: tf.math.betainc(1.5, 2.5, x),
        (probability,),
        lambda x: js.betainc(1.5, 2.5, x),
        ops=("Betainc",),
        dtypes=("float64",),
    ),
    Row(
        "lbeta",
        tf.math.lbeta,
        (p,),
        lambda x: jnp.sum(js.gammaln(x), axis=-1) - js.gammaln(jnp.sum(x, axis=-1)),
        ops=("Lgamma",),
        special=(([[1.0, 2.0], [3.0, 4.0]], [-0.6931472, -4.0943446]), ((np.zeros((3, 0), "f4"),), [-INF] * 3)),
    ),
    # -- products that are 0 where the first factor is
    Row(
        "xlogy",
        tf.math.xlogy,
        (x, row),
        js.xlogy,
        ops=("Xlogy",),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 0.0, 1.0, 2.0, 0.0, INF, NAN], [0.0, NAN, 0.0, 3.0, -1.0, 0.0, 0.0]),
                [0.0, 0.0, -INF, 2.1972246, 0.0, -INF, NAN],
                ([0.0, 0.0, -INF, 1.0986123, 0.0, -INF, -INF], [0.0, 0.0, INF, 2 / 3, 0.0, INF, NAN]),
            ),
        ),
    ),
    Row("xlogy complex", tf.math.xlogy, (z, w), lambda x, y: x * jnp.log(y), ops=("Xlogy",), dtypes=COMPLEX),
    Row(
        "xlog1py",
        tf.math.xlog1py,
        (x, row),
        js.xlog1py,
        ops=("Xlog1py",),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 0.0, 1.0, 2.0, 0.0, INF, NAN], [0.0, NAN, 0.0, 3.0, -1.0, 0.0, 0.0]),
                [0.0, 0.0, 0.0, 2.7725887, 0.0, NAN, NAN],
                ([0.0, 0.0, 0.0, 1.3862944, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5, 0.0, INF, NAN]),
            ),
        ),
    ),
    Row("xlog1py complex", tf.math.xlog1py, (z, w), lambda x, y: x * jnp.log1p(y), ops=("Xlog1py",), dtypes=COMPLEX),
    Row(
        "xdivy",
        tf.math.xdivy,
        (x, row),
        lambda x, y: x / y,
        ops=("Xdivy",),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 0.0, 1.0, 2.0, 0.0, INF, NAN], [0.0, NAN, 0.0, 3.0, -1.0, 0.0, 0.0]),
                [0.0, 0.0, INF, 2 / 3, 0.0, INF, NAN],
                ([0.0, 0.0, INF, 1 / 3, -1.0, INF, INF], [0.0, 0.0, -INF, -2 / 9, 0.0, -INF, NAN]),
            ),
        ),
    ),
    Row("xdivy complex", tf.math.xdivy, (z, w), lambda x, y: x / y, ops=("Xdivy",), dtypes=COMPLEX),
)
