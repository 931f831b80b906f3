"""Functions of torch tensors: new results, or ``out=`` written in place.

They run where their tensors are: on the GPU, compiled when first called, and for
tensors of the CPU in the simulator. Needs torch and `wave-core`.
"""

from __future__ import annotations

from wave_kernels.functions.attention import attention
from wave_kernels.functions.attention_gradients import (
    attention_backward,
    attention_with_lse,
)
from wave_kernels.functions.columns import column_sums
from wave_kernels.functions.convolution_gradients import conv2d_input, conv2d_weight
from wave_kernels.functions.convolutions import conv1d, conv2d
from wave_kernels.functions.cross_entropy import cross_entropy
from wave_kernels.functions.decode_attention import attention_decode
from wave_kernels.functions.elementwise import elementwise
from wave_kernels.functions.experts import (
    combine_tokens,
    group_tokens,
    route_tokens,
)
from wave_kernels.functions.gated import gated_activation
from wave_kernels.functions.gather import gather_rows
from wave_kernels.functions.grouped_products import grouped_matmul, grouped_swiglu
from wave_kernels.functions.grouped_weights import grouped_matmul_weight
from wave_kernels.functions.moe import moe
from wave_kernels.functions.nbits import matmul_nbits
from wave_kernels.functions.ordered import cumsum, topk
from wave_kernels.functions.products import matmul
from wave_kernels.functions.quantize import quantize_rows
from wave_kernels.functions.ragged_attention import attention_varlen
from wave_kernels.functions.ragged_gradients import (
    attention_varlen_backward,
    attention_varlen_with_lse,
)
from wave_kernels.functions.rotary import rotary_embedding
from wave_kernels.functions.rows import layer_norm, rms_norm, softmax
from wave_kernels.functions.scatter import scatter_add_rows, scatter_rows
from wave_kernels.functions.shuffles import shuffle_scales, shuffle_weights
from wave_kernels.functions.swiglu import swiglu
from wave_kernels.functions.transpose import transpose

__all__ = [
    "attention",
    "attention_backward",
    "attention_decode",
    "attention_varlen",
    "attention_varlen_backward",
    "attention_varlen_with_lse",
    "attention_with_lse",
    "column_sums",
    "combine_tokens",
    "conv1d",
    "conv2d",
    "conv2d_input",
    "conv2d_weight",
    "cross_entropy",
    "cumsum",
    "elementwise",
    "gated_activation",
    "gather_rows",
    "group_tokens",
    "grouped_matmul",
    "grouped_matmul_weight",
    "grouped_swiglu",
    "layer_norm",
    "matmul",
    "matmul_nbits",
    "moe",
    "quantize_rows",
    "rms_norm",
    "rotary_embedding",
    "route_tokens",
    "scatter_add_rows",
    "scatter_rows",
    "shuffle_scales",
    "shuffle_weights",
    "softmax",
    "swiglu",
    "topk",
    "transpose",
]
