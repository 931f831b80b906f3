"""The rows: one for each function of `wave_kernels.functions`."""

from __future__ import annotations

from wave_torch.ops.attention import (
    ATTENTION,
    ATTENTION_BACKWARD,
    ATTENTION_DECODE,
    ATTENTION_WITH_LSE,
)
from wave_torch.ops.columns import COLUMN_SUMS
from wave_torch.ops.convolutions import CONVOLUTIONS
from wave_torch.ops.cross_entropy import CROSS_ENTROPY
from wave_torch.ops.elementwise import ELEMENTWISE
from wave_torch.ops.experts import COMBINE_TOKENS, GROUP_TOKENS, MOE, ROUTE_TOKENS
from wave_torch.ops.gated import GATED_ACTIVATION
from wave_torch.ops.gather import GATHER_ROWS
from wave_torch.ops.groups import (
    GROUPED_MATMUL,
    GROUPED_MATMUL_WEIGHT,
    GROUPED_SWIGLU,
)
from wave_torch.ops.nbits import MATMUL_NBITS
from wave_torch.ops.ordered import CUMSUM, TOPK
from wave_torch.ops.products import MATMUL
from wave_torch.ops.quantize import QUANTIZE_ROWS
from wave_torch.ops.ragged_attention import (
    ATTENTION_VARLEN,
    ATTENTION_VARLEN_BACKWARD,
    ATTENTION_VARLEN_WITH_LSE,
)
from wave_torch.ops.rotary import ROTARY_EMBEDDING
from wave_torch.ops.rows import LAYER_NORM, RMS_NORM, SOFTMAX
from wave_torch.ops.scatter import SCATTER_ADD_ROWS, SCATTER_ROWS
from wave_torch.ops.swiglu import SWIGLU
from wave_torch.ops.transpose import TRANSPOSE

TABLE = (
    ATTENTION,
    ATTENTION_BACKWARD,
    ATTENTION_DECODE,
    ATTENTION_VARLEN,
    ATTENTION_VARLEN_BACKWARD,
    ATTENTION_VARLEN_WITH_LSE,
    ATTENTION_WITH_LSE,
    COLUMN_SUMS,
    COMBINE_TOKENS,
    *CONVOLUTIONS,
    CROSS_ENTROPY,
    CUMSUM,
    ELEMENTWISE,
    GATED_ACTIVATION,
    GATHER_ROWS,
    GROUPED_MATMUL,
    GROUPED_MATMUL_WEIGHT,
    GROUPED_SWIGLU,
    GROUP_TOKENS,
    LAYER_NORM,
    MATMUL,
    MATMUL_NBITS,
    MOE,
    QUANTIZE_ROWS,
    RMS_NORM,
    ROTARY_EMBEDDING,
    ROUTE_TOKENS,
    SCATTER_ADD_ROWS,
    SCATTER_ROWS,
    SOFTMAX,
    SWIGLU,
    TOPK,
    TRANSPOSE,
)
"""Whoever adds a function adds its row here, from the module of its family."""
