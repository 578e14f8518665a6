"""Neural networks with TensorFlow 1's arguments; the rest is `tf.nn`."""

from gradtape._src.compat.v1.names import falls_back as _falls_back
from gradtape._src.compat.v1.nn import (
    avg_pool as avg_pool,
    conv2d as conv2d,
    convolution as convolution,
    dropout as dropout,
    embedding_lookup as embedding_lookup,
    in_top_k as in_top_k,
    log_softmax as log_softmax,
    max_pool as max_pool,
    moments as moments,
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
    softmax as softmax,
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)

__getattr__ = _falls_back(__name__, "nn", ("math",))
