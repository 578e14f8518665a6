"""Neural networks with TensorFlow 1's arguments; the rest is `tf.nn`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.ops.nn.candidates import (
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from gradtape._src.ops.nn.losses import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v1 as _softmax_cross_entropy_with_logits_v1,
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from gradtape._src.ops.nn.normalization import fused_batch_norm as fused_batch_norm
from gradtape._src.v1.ops.arrays import (
    depth_to_space as depth_to_space,
    space_to_batch as space_to_batch,
    space_to_depth as space_to_depth,
)
from gradtape._src.v1.ops.convolutions import (
    avg_pool as avg_pool,
    avg_pool2d as avg_pool2d,
    avg_pool_v2 as avg_pool_v2,
    conv1d as conv1d,
    conv2d as conv2d,
    conv2d_backprop_filter as conv2d_backprop_filter,
    conv2d_backprop_input as conv2d_backprop_input,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    conv3d_backprop_filter as conv3d_backprop_filter,
    conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2,
    conv3d_transpose as conv3d_transpose,
    convolution as convolution,
    depthwise_conv2d as depthwise_conv2d,
    depthwise_conv2d_native as depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input,
    dilation2d as dilation2d,
    erosion2d as erosion2d,
    max_pool as max_pool,
    max_pool_v2 as max_pool_v2,
    max_pool_with_argmax as max_pool_with_argmax,
    pool as pool,
    separable_conv2d as separable_conv2d,
)
from gradtape._src.v1.ops.nn import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
    crelu as crelu,
    ctc_beam_search_decoder as ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2,
    ctc_loss as ctc_loss,
    ctc_loss_v2 as ctc_loss_v2,
    dropout as dropout,
    embedding_lookup as embedding_lookup,
    embedding_lookup_sparse as embedding_lookup_sparse,
    in_top_k as in_top_k,
    log_softmax as log_softmax,
    moments as moments,
    nce_loss as nce_loss,
    relu_layer as relu_layer,
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
    sampled_softmax_loss as sampled_softmax_loss,
    softmax as softmax,
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
    sufficient_statistics as sufficient_statistics,
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
    weighted_moments as weighted_moments,
    xw_plus_b as xw_plus_b,
)

softmax_cross_entropy_with_logits = _softmax_cross_entropy_with_logits_v1
__getattr__ = _falls_back(__name__, "nn", ("math",))
