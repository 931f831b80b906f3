"""How many waves of a kernel a machine holds at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.targets.base import Target


def occupancy(
    target: Target, vgprs: int, lds_bytes: int, threads: int
) -> tuple[int | None, str]:
    """Waves of a SIMD at a time, and what limits them."""
    file = target.registers
    if file is None:
        return None, ""
    taken = -(-max(vgprs, 1) // file.granule) * file.granule
    by_registers = min(file.max_waves, file.total // taken)
    waves = max(1, threads // target.in_step(target.wave_size))
    groups = by_registers * file.simds // waves
    limit = "waves" if by_registers == file.max_waves else "registers"
    if lds_bytes:
        held = -(-lds_bytes // target.lds_granule) * target.lds_granule
        fit = target.memory.lds_bytes // held
        if fit < groups:
            groups, limit = fit, "lds"
    return min(file.max_waves, groups * waves // file.simds), limit
