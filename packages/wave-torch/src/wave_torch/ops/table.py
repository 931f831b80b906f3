"""The rows: one for each function of `wave_kernels.functions`."""

from __future__ import annotations

from wave_torch.ops.attention import ATTENTION, ATTENTION_VARLEN
from wave_torch.ops.convolutions import CONVOLUTIONS
from wave_torch.ops.groups import GROUPED_MATMUL
from wave_torch.ops.products import MATMUL
from wave_torch.ops.rows import LAYER_NORM, RMS_NORM, SOFTMAX

TABLE = (
    ATTENTION,
    ATTENTION_VARLEN,
    *CONVOLUTIONS,
    GROUPED_MATMUL,
    LAYER_NORM,
    MATMUL,
    RMS_NORM,
    SOFTMAX,
)
"""Whoever adds a function adds its row here, from the module of its family."""
