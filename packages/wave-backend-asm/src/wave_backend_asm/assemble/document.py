"""A whole kernel as assembly: its code, its descriptor, its metadata.

Directives and keys: LLVM, User Guide for AMDGPU Backend, "Assembler Directives", "Code
Object V4 Metadata" (later versions take the same keys).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from wave_backend_asm.assemble.start import Start

LANES = 64
"""Lanes of a wave of the chips that are assembled for."""

_AGPRS_BEGIN = 4
"""AGPRs begin behind a multiple of so many VGPRs. Source: `.amdhsa_accum_offset`."""

_KEPT = 3
"""Denormals, of operands and of results: those of f32 are flushed by default."""

_AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a kernel.

    Attributes:
        pointer: whether it is the address of a buffer, of 8 bytes; otherwise it is a
            word of 4.
    """

    pointer: bool

    @property
    def size(self) -> int:
        """Its bytes."""
        return 8 if self.pointer else 4


@dataclass(frozen=True)
class Kernel:
    """A kernel whose registers are known.

    A wave starts with the address of its arguments in ``s[0:1]``, the numbers of the
    workgroup in three registers from `Start.first_group` on, that of the work-item in
    ``v0``.

    Attributes:
        name: the symbol.
        chip: a key of `CHIPS`.
        arguments: in order.
        code: its lines, with labels and `.loc`.
        used: registers of each file (``"v"``, ``"a"``, ``"s"``), as an `Allocation`
            has them.
        threads: work-items of a workgroup, on one axis.
        lds_bytes: LDS of a workgroup.
        files: names of the author's files, by the numbers that `.loc` has for them.
        start: the words of the arguments that are in registers from the start.
        begins: the `.loc` of the kernel itself, which what fills them is of.
    """

    name: str
    chip: str
    arguments: tuple[Argument, ...]
    code: tuple[str, ...]
    used: Mapping[str, int]
    threads: int
    lds_bytes: int = 0
    files: Mapping[int, str] | None = None
    start: Start = Start(0)  # noqa: RUF009 - it is frozen
    begins: tuple[str, ...] = ()

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each argument begins, in bytes."""
        ends = accumulate(
            (argument.size for argument in self.arguments),
            lambda end, size: -(-end // size) * size + size,
            initial=0,
        )
        return tuple(
            end - argument.size
            for end, argument in zip([*ends][1:], self.arguments, strict=True)
        )

    @property
    def argument_bytes(self) -> int:
        """Bytes of all arguments."""
        if not self.arguments:
            return 0
        return self.offsets[-1] + self.arguments[-1].size

    @property
    def accumulators_begin(self) -> int:
        """VGPRs in front of the first AGPR."""
        return max(_AGPRS_BEGIN, -(-self.used.get("v", 0) // _AGPRS_BEGIN) * 4)

    @property
    def vectors(self) -> int:
        """VGPRs and AGPRs together."""
        accumulators = self.used.get("a", 0)
        if accumulators:
            return self.accumulators_begin + accumulators
        return max(1, self.used.get("v", 0))


def document(kernel: Kernel) -> str:
    """The text that the assembler takes."""
    name, end = kernel.name, f".Lfunc_end_{kernel.name}"
    lines = [
        *_files(kernel.files or {}),
        ".text", f".globl {name}", ".p2align 8", f".type {name},@function", f"{name}:",
        *body(kernel),
        f"{end}:", f".size {name}, {end}-{name}",
        *_descriptor(kernel),
        *_metadata(kernel),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def body(kernel: Kernel) -> Sequence[str]:
    """All lines of its code, from the first on."""
    return (*kernel.begins, *kernel.start.prologue(), *kernel.code)


def _files(files: Mapping[int, str]) -> list[str]:
    return [f'.file {number} "{name}"' for number, name in sorted(files.items())]


def _descriptor(kernel: Kernel) -> list[str]:
    fields = {
        "group_segment_fixed_size": kernel.lds_bytes,
        "kernarg_size": kernel.argument_bytes,
        "user_sgpr_kernarg_segment_ptr": 1,
        "user_sgpr_kernarg_preload_length": kernel.start.preloaded,
        **{f"system_sgpr_workgroup_id_{axis}": 1 for axis in _AXES},
        "next_free_vgpr": kernel.vectors,
        "next_free_sgpr": max(kernel.start.first_group + 3, kernel.used.get("s", 0)),
        "float_denorm_mode_32": _KEPT,
        "accum_offset": kernel.accumulators_begin,
    }
    return [
        '.section .rodata,"a",@progbits',
        ".p2align 6",
        f".amdhsa_kernel {kernel.name}",
        *(f".amdhsa_{field} {value}" for field, value in fields.items()),
        ".end_amdhsa_kernel",
    ]


def _metadata(kernel: Kernel) -> list[str]:
    fields: dict[str, object] = {
        "name": kernel.name,
        "symbol": f"{kernel.name}.kd",
        "kernarg_segment_size": kernel.argument_bytes,
        "kernarg_segment_align": 8,
        "group_segment_fixed_size": kernel.lds_bytes,
        "private_segment_fixed_size": 0,
        "wavefront_size": LANES,
        "sgpr_count": kernel.used.get("s", 0),
        "vgpr_count": kernel.vectors,
        "agpr_count": kernel.used.get("a", 0),
        "max_flat_workgroup_size": kernel.threads,
        "reqd_workgroup_size": f"[{kernel.threads}, 1, 1]",
        "args": f"[{', '.join(_rows(kernel))}]",
    }
    return [
        ".amdgpu_metadata",
        "---",
        "amdhsa.version: [1, 2]",
        "amdhsa.kernels:",
        "  -",
        *(f"    .{field}: {value}" for field, value in fields.items()),
        "...",
        ".end_amdgpu_metadata",
    ]


def _rows(kernel: Kernel) -> Sequence[str]:
    pointer = ".value_kind: global_buffer, .address_space: global"
    return [
        f"{{.size: {argument.size}, .offset: {offset}, "
        f"{pointer if argument.pointer else '.value_kind: by_value'}}}"
        for argument, offset in zip(kernel.arguments, kernel.offsets, strict=True)
    ]
