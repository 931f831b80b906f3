"""Registers that machine code spills: told, or refused where there is another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis import capacity

if TYPE_CHECKING:
    from wave_backend_nvgpu.compile.remarks import Remarks
    from wave_core.ir import Graph
    from wave_core.targets import Target

_BYTES = 4
"""Of a register."""


def check_spills(remarks: Remarks, graph: Graph, target: Target) -> None:
    """Refuse code that spills where another tile or schedule takes fewer registers.

    Raises:
        UserError: WV0605, with what is ``spilled``.
    """
    if not remarks.spilled_bytes:
        return
    most = max(remarks.spill_store_bytes, remarks.spill_load_bytes)
    spilled, limit = -(-most // _BYTES), remarks.registers
    if spilled > graph.spills_allowed:
        raise capacity.too_many_spilled(graph, target, limit, spilled)


def tell_spills(remarks: Remarks, graph: Graph, target: Target) -> None:
    """Warn where registers go to memory and back."""
    if remarks.spilled_bytes:
        moved = (
            f"{remarks.spill_store_bytes} bytes are written to local memory and"
            f" {remarks.spill_load_bytes} read back, with {remarks.registers}"
            " registers of a thread in use"
        )
        capacity.tell_spills(graph, target, moved)
