"""Resources that a kernel takes, and how many warps of it fit a multiprocessor."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_nvgpu.compile.remarks import Remarks
    from wave_core.targets import Target
    from wave_runtime.manifest import Manifest


@dataclass(frozen=True)
class Resources:
    """Of one kernel.

    Attributes:
        registers: Of a thread.
        spill_store_bytes: Written to local memory in the text of the machine code.
        spill_load_bytes: Read back.
        stack_bytes: Local memory of a thread.
        lds_bytes: Shared memory of a workgroup.
        barriers: That the code uses.
        threads: Of a workgroup.
        waves_per_simd: Warps of a scheduler at a time; ``None`` where the target does
            not say how large its register file is.
        limited_by: What keeps more warps away: registers, lds or waves.
    """

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    lds_bytes: int
    barriers: int
    threads: int
    waves_per_simd: int | None
    limited_by: str


@dataclass(frozen=True)
class Metrics:
    """Measures of a kernel's machine code."""

    kernel: str
    target: str
    resources: Resources

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        return asdict(self)


def measure(remarks: Remarks, manifest: Manifest, target: Target) -> Metrics:
    """The metrics of a kernel from what the assembler says."""
    lds = manifest.lds_bytes + remarks.static_shared_bytes
    waves, why = target.occupancy(remarks.registers, lds, manifest.threads)
    found = Resources(
        registers=remarks.registers,
        spill_store_bytes=remarks.spill_store_bytes,
        spill_load_bytes=remarks.spill_load_bytes,
        stack_bytes=remarks.stack_bytes,
        lds_bytes=lds,
        barriers=remarks.barriers,
        threads=manifest.threads,
        waves_per_simd=waves,
        limited_by=why,
    )
    return Metrics(manifest.name, target.name, found)
