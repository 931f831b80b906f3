"""A plugin with a chip of so few registers that small loops do not fit them."""

from __future__ import annotations

from dataclasses import replace

from wave_backend_amdgpu.targets.chips import gfx942
from wave_core.plugin import TargetSpec, hookimpl

REQUIRES_API = (1, 0)


@hookimpl
def wave_register_targets():
    yield TargetSpec("crowded", "crowded:crowded", "gfx942 with 32 registers")


def crowded():
    """The chip."""
    chip = gfx942()
    assert chip.registers is not None
    return replace(chip, name="crowded", registers=replace(chip.registers, per_wave=32))
