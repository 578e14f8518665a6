"""Floats rounded as by a quantization, for networks that are trained for it."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.nn.quantization import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from gradtape._src.ops.nn.rounded_steps import (
    quantize_and_dequantize as quantize_and_dequantize,
    quantize_and_dequantize_v2 as quantize_and_dequantize_v2,
)

__getattr__ = _missing(__name__)
