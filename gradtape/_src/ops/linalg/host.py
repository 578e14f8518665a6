"""Calls of NumPy functions from compiled programs, for functions of SciPy that XLA lacks."""

import jax
import numpy as np

from gradtape._src.core.platform.arrays import jnp, lax


def by_numpy(function, shape, *inputs):
    """Apply a NumPy function of float64 arrays on the host. The result has shape `shape`; a batch is processed row by row.

    Numbers pass as 32-bit words: the callback runs in a thread of XLA's, where JAX may narrow 64-bit ones.
    """

    def on_host(*words):
        given = [np.ascontiguousarray(w).view(np.float64)[..., 0] for w in words]
        return np.ascontiguousarray(function(*given), np.float64)[..., None].view(np.uint32)

    words = [lax.bitcast_convert_type(x.astype(jnp.float64), jnp.uint32) for x in inputs]
    result = jax.ShapeDtypeStruct((*shape, 2), np.uint32)
    return lax.bitcast_convert_type(jax.pure_callback(on_host, result, *words, vmap_method="sequential"), jnp.float64)
