"""Functions whose operands are spread over the processes of a group.

Every process calls the same function with its part, on the CPU by gloo or on its own
GPU by NCCL, and gets its part of the result. Parts travel around a ring while kernels
work on those that are there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wave_distributed.attention import (
        ring_attention as ring_attention,
        zigzag_part as zigzag_part,
    )
    from wave_distributed.products import (
        all_gather_matmul as all_gather_matmul,
        matmul_all_reduce as matmul_all_reduce,
        matmul_reduce_scatter as matmul_reduce_scatter,
    )

__version__ = "0.1.0"

_WHERE = {
    "all_gather_matmul": "wave_distributed.products",
    "matmul_all_reduce": "wave_distributed.products",
    "matmul_reduce_scatter": "wave_distributed.products",
    "ring_attention": "wave_distributed.attention",
    "zigzag_part": "wave_distributed.attention",
}


def __getattr__(name: str) -> Any:
    """The functions; torch and the compiler are loaded with the first of them."""
    if name not in _WHERE:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_WHERE[name]), name)
