"""A code object: its kernels, their arguments, and the machine they are for."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace

import msgspec

from wave_emulator_amdgcn.architectures import Architecture, architecture_of_flags
from wave_emulator_amdgcn.descriptor import (
    DESCRIPTOR_BYTES,
    Descriptor,
    parse_descriptor,
)
from wave_emulator_amdgcn.dwarf import LineTable, read_line_table
from wave_emulator_amdgcn.elf import ElfFile, read_elf
from wave_emulator_amdgcn.errors import CodeObjectError
from wave_isa_amdgcn.registers import VCC

_MOST_ITEMS = 1024
_MOST_ARGUMENTS = 4096
_MOST_SCRATCH = 1 << 20

_FILLS_BYTES = 256
"""Bytes at the entry for hardware that fills no SGPRs with arguments."""

_METADATA_NOTE = 32
"""NT_AMDGPU_METADATA (LLVM AMDGPU usage, note records)."""


class Argument(msgspec.Struct, frozen=True, rename=lambda name: f".{name}"):
    """One kernel argument: where it lies and what it is; a row of ``.args``."""

    offset: int
    size: int
    kind: str = msgspec.field(name=".value_kind")
    name: str = ""


@dataclass(frozen=True)
class Kernel:
    """One kernel of a code object.

    Attributes:
        name: the function's symbol.
        descriptor: how its waves start.
        arguments: in order; empty where the metadata lists none.
        kernarg_bytes: size of the argument block.
        lds_bytes: static LDS.
        block_limit: most work-items of a workgroup.
        block: work-items per axis, where fixed at compile time.
        vgprs: arch VGPRs and AGPRs together.
        agprs: of these, AGPRs; 0 where the metadata does not say.
        sgprs: scalar registers, where the metadata says.
        spilled: vector registers, and scalar ones, that were kept in memory.
        entry: virtual address of the first instruction.
        end: virtual address after the last one.
    """

    name: str
    descriptor: Descriptor
    arguments: tuple[Argument, ...]
    kernarg_bytes: int
    lds_bytes: int
    block_limit: int
    block: tuple[int, int, int] | None
    vgprs: int
    agprs: int
    sgprs: int
    spilled: tuple[int, int]
    entry: int
    end: int

    @property
    def start(self) -> int:
        """Where waves begin: hardware that has filled SGPRs skips the code that would.

        Source: LLVM, User Guide for AMDGPU Backend, "Preloaded Kernel Arguments".
        """
        return self.entry + (_FILLS_BYTES if self.descriptor.preload_dwords else 0)


@dataclass(frozen=True)
class CodeObject:
    """A code object that `load` read."""

    architecture: Architecture
    elf: ElfFile
    kernels: dict[str, Kernel]
    lines: LineTable

    def kernel(self, name: str | None = None) -> Kernel:
        """A kernel by name; without one, the only kernel.

        Raises:
            CodeObjectError: EM0102, there is no such kernel.
        """
        if name is None and len(self.kernels) == 1:
            return next(iter(self.kernels.values()))
        if name is None or name not in self.kernels:
            known = ", ".join(sorted(self.kernels)) or "none"
            which = "no kernel is named" if name is None else f"no kernel {name!r}"
            raise CodeObjectError("EM0102", f"{which}; there are: {known}")
        return self.kernels[name]

    def with_dynamic_lds(self, more: int, name: str | None = None) -> CodeObject:
        """The same with ``more`` bytes of LDS, which some launchers give a kernel.

        Raises:
            CodeObjectError: EM0102, there is no such kernel.
        """
        kernel = self.kernel(name)
        larger = replace(kernel, lds_bytes=kernel.lds_bytes + more)
        return replace(self, kernels=self.kernels | {kernel.name: larger})


class _KernelRow(msgspec.Struct, rename=lambda name: f".{name}"):
    """One row of ``amdhsa.kernels`` in the metadata."""

    symbol: str
    args: list[Argument] = []
    kernarg_segment_size: int = 0
    group_segment_fixed_size: int = 0
    max_flat_workgroup_size: int = 1024
    reqd_workgroup_size: tuple[int, int, int] | None = None
    vgpr_count: int = 512
    agpr_count: int = 0
    sgpr_count: int = 0
    vgpr_spill_count: int = 0
    sgpr_spill_count: int = 0


class _Metadata(msgspec.Struct):
    kernels: list[_KernelRow] = msgspec.field(
        name="amdhsa.kernels", default_factory=list[_KernelRow]
    )


def load(data: bytes) -> CodeObject:
    """Read an AMDGCN code object.

    Raises:
        CodeObjectError: EM0101, EM0103, EM0104.
    """
    elf = read_elf(data)
    architecture = architecture_of_flags(elf.flags)
    rows = _metadata(elf)
    kernels: dict[str, Kernel] = {}
    for name in [s for s in elf.symbols if s.endswith(".kd")]:
        kernel = _kernel(elf, name.removesuffix(".kd"), rows)
        _check_limits(kernel, architecture)
        kernels[kernel.name] = kernel
    lines = read_line_table(elf.section(".debug_line"), elf.section(".debug_line_str"))
    return CodeObject(architecture, elf, kernels, lines)


def _metadata(elf: ElfFile) -> dict[str, _KernelRow]:
    """Rows of ``amdhsa.kernels`` by descriptor symbol."""
    try:
        for name, kind, content in elf.notes():
            if name == "AMDGPU" and kind == _METADATA_NOTE:
                decoded = msgspec.msgpack.decode(content, type=_Metadata)
                return {row.symbol: row for row in decoded.kernels}
    except (msgspec.DecodeError, ValueError, struct.error) as error:
        raise CodeObjectError("EM0104", f"metadata: {error}") from error
    return {}


def _check_limits(kernel: Kernel, architecture: Architecture) -> None:
    """Sizes that no kernel of the architecture can have mean a damaged file."""
    start = kernel.descriptor
    words = start.preload_offset + start.preload_dwords
    # Filled before the wave starts; workgroup ids follow the count.
    preloaded = start.user_sgprs["preload"] + start.preload_dwords
    registers = max(preloaded, start.user_sgpr_count + 3)
    limits = (
        ("LDS", kernel.lds_bytes, architecture.lds_bytes),
        ("scratch", start.private_bytes, _MOST_SCRATCH),
        ("arguments", kernel.kernarg_bytes, _MOST_ARGUMENTS),
        ("preloaded words", words, max(256, kernel.kernarg_bytes) // 4),
        ("user SGPRs", registers, VCC),
        ("work-items", kernel.block_limit, _MOST_ITEMS),
        ("work-items", math.prod(kernel.block or (1,)), _MOST_ITEMS),
    )
    for what, value, most in limits:
        if not 0 <= value <= most:
            raise CodeObjectError(
                "EM0104", f"{kernel.name}: {value} {what}, at most {most}"
            )
    if kernel.block is not None and min(kernel.block) < 1:
        raise CodeObjectError("EM0104", f"{kernel.name}: block {kernel.block}")
    for argument in kernel.arguments:
        end = argument.offset + argument.size
        if not 0 <= argument.offset <= end <= kernel.kernarg_bytes:
            raise CodeObjectError("EM0104", f"{kernel.name}: argument {argument}")


def _kernel(elf: ElfFile, name: str, rows: dict[str, _KernelRow]) -> Kernel:
    symbol = elf.symbols[f"{name}.kd"]
    try:
        descriptor = parse_descriptor(elf.read(symbol.value, DESCRIPTOR_BYTES))
    except struct.error as error:
        raise CodeObjectError("EM0104", f"descriptor of {name}: {error}") from error
    row = rows.get(f"{name}.kd") or _KernelRow(
        "", kernarg_segment_size=descriptor.kernarg_bytes,
        group_segment_fixed_size=descriptor.lds_bytes,
    )  # fmt: skip
    entry = symbol.value + descriptor.entry_offset
    size = elf.symbols[name].size if name in elf.symbols else 0
    return Kernel(
        name=name,
        descriptor=descriptor,
        arguments=tuple(row.args),
        kernarg_bytes=row.kernarg_segment_size,
        lds_bytes=row.group_segment_fixed_size,
        block_limit=row.max_flat_workgroup_size,
        block=row.reqd_workgroup_size,
        vgprs=row.vgpr_count,
        agprs=row.agpr_count,
        sgprs=row.sgpr_count,
        spilled=(row.vgpr_spill_count, row.sgpr_spill_count),
        entry=entry,
        end=entry + size if size else _end_of_text(elf, entry),
    )


def _end_of_text(elf: ElfFile, entry: int) -> int:
    found = elf.part(entry)
    if found is None:
        raise CodeObjectError("EM0104", f"the entry {entry:#x} is not in the file")
    return found[0] + len(found[1])
