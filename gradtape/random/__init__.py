"""Random numbers: `tf.random`. Reproducible for a seed: they are TensorFlow's."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.nn.candidates import (
    all_candidate_sampler as all_candidate_sampler,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from gradtape._src.ops.random.distributions import (
    categorical as categorical,
    gamma as gamma,
    poisson as poisson,
    stateless_binomial as stateless_binomial,
    stateless_categorical as stateless_categorical,
    stateless_gamma as stateless_gamma,
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
    stateless_poisson as stateless_poisson,
)
from gradtape._src.ops.random.generator import (
    Generator as Generator,
    create_rng_state as create_rng_state,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
)
from gradtape._src.ops.random.draws import (
    Algorithm as Algorithm,
    fold_in as fold_in,
    normal as normal,
    shuffle as shuffle,
    split as split,
    stateless_normal as stateless_normal,
    stateless_truncated_normal as stateless_truncated_normal,
    stateless_uniform as stateless_uniform,
    truncated_normal as truncated_normal,
    uniform as uniform,
)
from gradtape._src.ops.random.seeds import set_seed as set_seed
from gradtape.random import experimental as experimental

__getattr__ = _missing(__name__)
