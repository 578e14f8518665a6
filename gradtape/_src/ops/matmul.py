import jax.numpy as jnp
from gradtape._src.core.aval import aval
from gradtape._src.core.define import gradient, op
from gradtape._src.core.errors import public


def _shape(a, b, transpose_a, transpose_b):
    m = a.shape[1] if transpose_a else a.shape[0]
    n = b.shape[0] if transpose_b else b.shape[1]
    return aval((m, n), a.dtype)


@op("MatMul", infer=_shape, saves="a b")
def matmul(a, b, *, transpose_a=False, transpose_b=False):
    a = a.T if transpose_a else a
    b = b.T if transpose_b else b
    return jnp.matmul(a, b, preferred_element_type=a.dtype)


@gradient(matmul)
def _(op, dy):
    a, b = op.inputs
    na, nb = op.needed
    return matmul(dy, b, False, True) if na else None, matmul(a, dy, True, False) if nb else None
