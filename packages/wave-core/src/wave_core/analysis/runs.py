"""Runs of registers that touch consecutive elements of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints.machine import REGISTER
from wave_core.symbols import constant

if TYPE_CHECKING:
    from wave_core.ir import Access
    from wave_core.symbols import Expr


def contiguous_run(access: Access) -> int:
    """The longest power of two of registers that always lie side by side."""
    *outer, inner = access.coordinates
    if REGISTER not in inner.free_symbols:
        return 1
    moving = [c for c in outer if REGISTER in c.free_symbols]
    if not moving and REGISTER not in (inner - REGISTER).free_symbols:
        # The largest power of two that divides the number.
        return access.registers & -access.registers
    registers = range(access.registers)
    columns = [
        [c.subs({REGISTER: constant(r)}) for c in (*moving, inner)] for r in registers
    ]
    run = 1
    while access.registers % (run * 2) == 0 and _adjacent(columns, run * 2):
        run *= 2
    return run


def access_count(access: Access, widest: int) -> int:
    """How many instructions of at most ``widest`` elements a lane an access takes.

    One for each register where its condition differs between them.
    """
    if access.mask is not None and REGISTER in access.mask.free_symbols:
        return access.registers
    return -(-access.registers // min(contiguous_run(access), max(1, widest)))


def _adjacent(columns: list[list[Expr]], run: int) -> bool:
    """Whether every run of this length is consecutive in the innermost dimension."""
    for register in range(len(columns)):
        if register % run == 0:
            continue
        before, after = columns[register - 1], columns[register]
        *outer, inner = (b - a for a, b in zip(before, after, strict=True))
        if inner is not constant(1) or any(step is not constant(0) for step in outer):
            return False
    return True
