"""Resources of the chip that a wave takes, from the metadata of the assembly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol


class Chip(Protocol):
    """What is asked of a machine."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def occupancy(
        self, registers: int, lds_bytes: int, threads: int
    ) -> tuple[int | None, str]:
        """Waves of a SIMD at a time, and what keeps more away: registers, lds or waves.

        Of registers of a lane, and of bytes of LDS and threads of a workgroup; ``None``
        waves where it is not known how large the register file is.
        """
        ...


_ROW = re.compile(r"^\s*(?:- )?\.(\w+):\s*(-?\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Resources:
    """Registers, LDS and scratch of one kernel, and how many waves fit.

    Units: ``lds_bytes`` a workgroup, ``scratch_bytes`` a lane; ``vgprs`` counts
    accumulation registers too.

    Attributes:
        waves_per_simd: As `Chip.occupancy` says.
        limited_by: As `Chip.occupancy` says.
    """

    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    vgpr_spills: int
    sgpr_spills: int
    threads: int
    waves_per_simd: int | None
    limited_by: str


def resources_of(text: str, chip: Chip) -> Resources:
    """Read the metadata of a listing with one kernel."""
    rows = {name: int(value) for name, value in _ROW.findall(_metadata(text))}
    vgprs, lds = rows.get("vgpr_count", 0), rows.get("group_segment_fixed_size", 0)
    threads = rows.get("max_flat_workgroup_size", 1)
    waves, why = chip.occupancy(vgprs, lds, threads)
    return Resources(
        vgprs=vgprs,
        agprs=rows.get("agpr_count", 0),
        sgprs=rows.get("sgpr_count", 0),
        lds_bytes=lds,
        scratch_bytes=rows.get("private_segment_fixed_size", 0),
        vgpr_spills=rows.get("vgpr_spill_count", 0),
        sgpr_spills=rows.get("sgpr_spill_count", 0),
        threads=threads,
        waves_per_simd=waves,
        limited_by=why,
    )


def _metadata(text: str) -> str:
    start = text.find("amdhsa.kernels:")
    return text[start : text.find(".end_amdgpu_metadata", start)] if start >= 0 else ""
