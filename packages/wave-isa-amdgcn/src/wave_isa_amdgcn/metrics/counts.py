"""Instructions by kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_isa_amdgcn.metrics.listing import Instruction

TRANSCENDENTAL = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_")

_PREFIXES = (
    ("matrix", ("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")),
    ("lds_read", ("ds_read", "ds_load")),
    ("lds_write", ("ds_write", "ds_store")),
    ("lane_move", ("ds_bpermute", "ds_permute", "ds_swizzle")),
    ("lds_other", ("ds_",)),
    ("global_read", ("global_load", "buffer_load", "flat_load")),
    ("global_write", ("global_store", "buffer_store", "flat_store")),
    ("atomic", ("global_atomic", "buffer_atomic", "flat_atomic")),
    ("scratch", ("scratch_",)),
    ("scalar_memory", ("s_load", "s_buffer_load")),
    ("wait", ("s_waitcnt", "s_wait_")),
    ("barrier", ("s_barrier",)),
    ("branch", ("s_branch", "s_cbranch")),
    ("nop", ("s_nop", "s_delay_alu", "v_nop")),
    ("move_accumulator", ("v_accvgpr_",)),
    ("transcendental", TRANSCENDENTAL),
    ("vector", ("v_",)),
    ("scalar", ("s_",)),
)
"""The first prefix that fits decides."""

_SHAPE = re.compile(r"_(\d+)x(\d+)x(\d+)")


def kind_of(instruction: Instruction) -> str:
    """The kind of the instruction."""
    name = instruction.name
    to_lds = "lds" in instruction.operands.split() or "_lds" in name
    if name.startswith(("buffer_load", "global_load")) and to_lds:
        return "copy_to_lds"
    for kind, prefixes in _PREFIXES:
        if name.startswith(prefixes):
            return kind
    return "other"


def count(instructions: Iterable[Instruction]) -> dict[str, int]:
    """Instructions by kind, kinds that occur, and all of them as ``total``."""
    found = Counter(map(kind_of, instructions))
    return {"total": found.total(), **found}


def flops(instructions: Iterable[Instruction]) -> int:
    """Floating-point operations of the matrix instructions, for one wave."""
    total = 0
    for instruction in instructions:
        match = _SHAPE.search(instruction.name)
        if match and kind_of(instruction) == "matrix":
            m, n, k = (int(number) for number in match.groups())
            total += 2 * m * n * k
    return total
