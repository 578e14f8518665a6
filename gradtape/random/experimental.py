"""Older names, and shuffling by a seed: `tf.random.experimental`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.random.draws import (
    Algorithm as Algorithm,
    stateless_fold_in as stateless_fold_in,
    stateless_shuffle as stateless_shuffle,
    stateless_split as stateless_split,
)
from gradtape._src.ops.random.generator import (
    Generator as Generator,
    create_rng_state as create_rng_state,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
)

__getattr__ = _missing(__name__)
