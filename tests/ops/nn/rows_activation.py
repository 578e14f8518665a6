"""Rows of the activation functions and of the bias."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.nn import activation
from tests.ops.table import Row, complexes, positive, real, unit

INF, NAN = np.inf, np.nan
ALL = ("float64", "float32", "float16", "bfloat16")
REAL = (*ALL, "int32", "int64", "uint8")
EDGES = [-INF, -2.0, 0.0, 1.0, 6.0, 7.0, INF, NAN]


def takes_no(function, *dtypes):
    """Errors: the function of integers, strings and so on."""
    return tuple(
        (
            lambda dtype=dtype: function(tf.zeros([3], dtype)),
            tf.errors.InvalidArgumentError,
            f"Value for attr 'T' of {dtype}",
        )
        for dtype in dtypes
    )


def gelu_by_erf(x):
    return x * 0.5 * (1 + jax.scipy.special.erf(x / np.sqrt(2)))


def selu(x):
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * jnp.where(x < 0, alpha * jnp.expm1(x), x)


ROWS = (
    Row(
        "relu",
        tf.nn.relu,
        (real(2, 3),),
        lambda x: jnp.where(x > 0, x, 0),
        ops=("Relu",),
        dtypes=ALL,
        special=((EDGES, [0, 0, 0, 1, 6, 7, INF, NAN], [0, 0, 0, 1, 1, 1, 1, 0]), ([1, -2], [1, 0], None)),
        errors=takes_no(tf.nn.relu, "bool", "complex64"),
    ),
    Row(
        "relu of integers",
        tf.nn.relu,
        (np.array([-2, 0, 3], "int32"),),
        lambda x: x * (x > 0),
        order=0,
        dtypes=("int32", "int64", "uint8"),
    ),
    Row(
        "ReluGrad",
        activation._relu_grad,
        (real(2, 3), real(2, 3, seed=1)),
        lambda dy, x: jnp.where(x > 0, dy, 0),
        ops=("ReluGrad",),
        special=((([1.0, INF, NAN, INF], [0.0, -1.0, 2.0, 3.0]), [0, NAN, NAN, INF], ([0, 0, 1, 1], [0, 0, 0, 0])),),
    ),
    Row(
        "relu6",
        tf.nn.relu6,
        (real(2, 3) * 4,),
        lambda x: jnp.clip(x, 0, 6),
        ops=("Relu6",),
        dtypes=ALL,
        special=((EDGES, [0, 0, 0, 1, 6, 6, 6, NAN], [0, 0, 0, 1, 0, 0, 0, 0]),),
        errors=takes_no(tf.nn.relu6, "bool", "complex64"),
    ),
    Row(
        "Relu6Grad",
        activation._relu6_grad,
        (real(2, 3), real(2, 3, seed=1) * 4),
        lambda dy, x: jnp.where((x > 0) & (x < 6), dy, 0),
        ops=("Relu6Grad",),
        special=((([1.0, INF, INF], [6.0, 7.0, 5.0]), [0, NAN, INF], ([0, 0, 1], [0, 0, 0])),),
    ),
    Row(
        "leaky_relu",
        lambda x: tf.nn.leaky_relu(x, 0.3),
        (real(2, 3),),
        lambda x: jnp.where(x > 0, x, 0.3 * x),
        ops=("LeakyRelu",),
        dtypes=ALL,
        special=((EDGES, [-INF, -0.6, 0, 1, 6, 7, INF, NAN], [0.3, 0.3, 0.3, 1, 1, 1, 1, 0.3]),),
        errors=(
            *takes_no(tf.nn.leaky_relu, "complex64"),
            (lambda: tf.nn.leaky_relu(1.0, tf.constant(0.3)), TypeError, "Expected float for argument 'alpha'"),
            (lambda: tf.nn.leaky_relu(1.0, "a"), TypeError, "Expected float for argument 'alpha' not 'a'"),
        ),
    ),
    Row(
        "leaky_relu of integers",
        tf.nn.leaky_relu,
        (np.array([-5, 0, 5], "int32"),),
        lambda x: jnp.where(x > 0, x, 0.2 * x),
        order=0,
        dtypes=("int32", "int8"),
        result=lambda dtype: "float32",
        tolerance=1e-3,
    ),
    Row(
        "LeakyReluGrad",
        lambda dy, x: activation._leaky_relu_grad(dy, x, alpha=0.3),
        (real(2, 3), real(2, 3, seed=1)),
        lambda dy, x: jnp.where(x > 0, dy, 0.3 * dy),
        ops=("LeakyReluGrad",),
    ),
    Row(
        "crelu",
        tf.nn.crelu,
        (real(2, 3),),
        lambda x: jnp.concatenate([jnp.where(x > 0, x, 0), jnp.where(x < 0, -x, 0)], -1),
        special=(([[-1.0, 2.0]], [[0, 2, 1, 0]], [[-1, 1]]),),
        errors=(
            (
                lambda: tf.nn.crelu(tf.zeros([3, 2]), axis=2),
                tf.errors.InvalidArgumentError,
                r"range \[-2, 2\), but got 2",
            ),
        ),
    ),
    Row(
        "elu",
        tf.nn.elu,
        (real(2, 3),),
        lambda x: jnp.where(x < 0, jnp.expm1(x), x),
        ops=("Elu",),
        dtypes=ALL,
        special=(
            (EDGES, [-1, -0.86466473, 0, 1, 6, 7, INF, NAN], [0, 0.13533527, 1, 1, 1, 1, 1, 1]),
            ([-1000.0, 1000.0], [-1, 1000], [0, 1]),
        ),
        errors=takes_no(tf.nn.elu, "int32"),
    ),
    Row(
        "EluGrad",
        activation._elu_grad,
        (real(2, 3), unit(2, 3)),
        lambda dy, y: jnp.where(y < 0, (y + 1) * dy, dy),
        ops=("EluGrad",),
    ),
    Row(
        "selu",
        tf.nn.selu,
        (real(2, 3),),
        selu,
        ops=("Selu",),
        dtypes=ALL,
        special=(
            (
                EDGES,
                [-1.7580993, -1.5201665, 0, 1.050701, 6.304206, 7.354907, INF, NAN],
                [0, 0.2379328, *[1.050701] * 6],
            ),
        ),
        errors=takes_no(tf.nn.selu, "int32"),
    ),
    Row(
        "SeluGrad",
        activation._selu_grad,
        (real(2, 3), unit(2, 3)),
        lambda dy, y: jnp.where(y < 0, (y + 1.7580993408473766) * dy, 1.0507009873554805 * dy),
        ops=("SeluGrad",),
    ),
    Row(
        "softsign",
        tf.nn.softsign,
        (real(2, 3),),
        lambda x: x / (1 + jnp.abs(x)),
        ops=("Softsign",),
        dtypes=ALL,
        special=(
            (
                [-INF, -2.0, 0.0, 3.0, INF, NAN],
                [NAN, -0.6666667, 0, 0.75, NAN, NAN],
                [0, 0.11111111, 1, 0.0625, 0, NAN],
            ),
        ),
        errors=takes_no(tf.nn.softsign, "int32"),
    ),
    Row(
        "gelu",
        tf.nn.gelu,
        (real(2, 3),),
        gelu_by_erf,
        ops=("Gelu",),
        dtypes=ALL,
        special=(
            (
                [-INF, -2.0, 0.0, 1.0, INF, NAN],
                [NAN, -0.0455002673, 0, 0.8413447, INF, NAN],
                [NAN, -0.08523181, 0.5, 1.0833155, NAN, NAN],
            ),
            ([-10.0, -5.0, 1000.0], [-7.61985e-23, -1.4332578e-06, 1000], [-7.6184e-22, -7.1469467e-06, 1]),
        ),
        errors=(
            (lambda: tf.nn.gelu(1), ValueError, "must be a floating point tensor"),
            (lambda: tf.nn.gelu(tf.zeros([3], "complex64")), ValueError, "must be a floating point tensor"),
        ),
    ),
    Row(
        "gelu, approximate",
        lambda x: tf.nn.gelu(x, approximate=True),
        (real(2, 3),),
        lambda x: jax.nn.gelu(x, approximate=True),
        ops=("Gelu",),
        dtypes=ALL,
        special=(
            (
                [-INF, -2.0, 0.0, 1.0, INF, NAN],
                [NAN, -0.0454023, 0, 0.841192, INF, NAN],
                [NAN, -0.0860993, 0.5, 1.082964, NAN, NAN],
            ),
        ),
    ),
    Row(
        "silu",
        tf.nn.silu,
        (real(2, 3), positive(1)[0]),
        lambda x, beta: x * jax.nn.sigmoid(beta * x),
        ops=("Silu",),
        dtypes=ALL,
        special=(
            (([-2.0, 0.0, 1.0], 0.5), [-0.53788286, 0, 0.62245935], ([0.07232948, 0.5, 0.7399612], 1.0214515)),
            (([-INF, -1000.0, 1000.0, INF, NAN], 1.0), [NAN, 0, 1000, INF, NAN], ([NAN, 0, 1, NAN, NAN], NAN)),
        ),
        errors=takes_no(tf.nn.silu, "int32", "bool"),
    ),
    Row(
        "swish of complex numbers",
        lambda x: tf.nn.swish(x, beta=2),
        (complexes(3),),
        lambda x: x / (1 + jnp.exp(-2 * x)),
        ops=("Silu",),
        tolerance=1e-5,
    ),
    Row(
        "bias_add",
        tf.nn.bias_add,
        (real(2, 2, 3), real(3)),
        lambda value, bias: value + bias,
        ops=("BiasAdd",),
        dtypes=(*ALL, "int32"),
        special=(((np.zeros([0, 2], "float32"), [1.0, 2.0]), np.zeros([0, 2]), (np.zeros([0, 2]), [0, 0])),),
        errors=(
            (
                lambda: tf.nn.bias_add(tf.zeros([2, 3]), tf.zeros([2])),
                tf.errors.InvalidArgumentError,
                r"as many biases as the last dimension of the input tensor: \[2\] vs. \[2,3\]",
            ),
            (
                lambda: tf.nn.bias_add(tf.zeros([3]), tf.zeros([3])),
                tf.errors.InvalidArgumentError,
                r"at least 2D: \[3\]",
            ),
            (
                lambda: tf.nn.bias_add(tf.zeros([2, 3]), tf.zeros([3, 1])),
                tf.errors.InvalidArgumentError,
                r"Biases must be 1D: \[3,1\]",
            ),
            (
                lambda: tf.nn.bias_add(tf.zeros([2, 3]), tf.zeros([3]), "X"),
                ValueError,
                "`data_format` must be of the form",
            ),
            (
                lambda: tf.nn.bias_add(tf.zeros([2, 3]), tf.zeros([3], "float64")),
                tf.errors.InvalidArgumentError,
                "cannot compute BiasAdd as input #1",
            ),
        ),
    ),
    Row(
        "bias_add, channels first",
        lambda value, bias: tf.nn.bias_add(value, bias, data_format="NCW"),
        (real(2, 3, 2), real(3)),
        lambda value, bias: value + bias[:, None],
        ops=("BiasAdd",),
    ),
    Row(
        "BiasAddGrad",
        lambda dy: activation._bias_add_grad(dy, data_format="NCHW"),
        (real(2, 3, 2),),
        lambda dy: dy.sum((0, 2)),
        ops=("BiasAddGrad",),
    ),
)
