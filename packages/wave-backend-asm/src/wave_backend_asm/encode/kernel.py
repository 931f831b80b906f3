"""A whole kernel as a code object, where all of its lines are known."""

from __future__ import annotations

import struct

import msgspec

from wave_backend_asm.assemble.document import LANES, Kernel, body
from wave_backend_asm.encode.line_table import line_table
from wave_backend_asm.encode.operands import UnknownError
from wave_backend_asm.encode.stream import Stream
from wave_backend_asm.machine.chips import CHIPS
from wave_isa_amdgcn.link.read import KernelObject
from wave_isa_amdgcn.link.write import write_code

_IDENTITY = b"\x7fELF\2\1\1\x40\3".ljust(16, b"\0")
"""Little-endian, of 64 bits, for AMDHSA, its fifth version."""

_EXTRA_SCALARS = 6
"""Scalar registers that the machine keeps behind those of a program."""

_FLOATS = 0xF << 16 | 1 << 21 | 1 << 23
"""Denormals are kept; NaNs are clamped to zero, and quieted."""

_GROUPS = 0b111 << 7
_HAS_ARGUMENTS = 1 << 3
_METADATA = 32


def encoded(kernel: Kernel) -> bytes | None:
    """The code object, as LLVM and IREE's linker make it of the kernel's text.

    ``None`` where something in it is not encoded here.
    """
    try:
        stream = Stream.of(body(kernel))
        code, files = stream.padded, kernel.files or {}
        lines, origin = (
            line_table(files, stream.rows, len(code)) if files else (None, 0)
        )
    except UnknownError:
        return None
    if bool(files) != bool(stream.rows):
        return None
    return write_code(
        KernelObject(
            _IDENTITY, CHIPS[kernel.chip].machine, kernel.name.encode(),
            len(stream.code), code, _descriptor(kernel), _notes(kernel), lines, origin,
        )
    )  # fmt: skip


def _descriptor(kernel: Kernel) -> bytes:
    """Source: LLVM, User Guide for AMDGPU Backend, "Kernel Descriptor"."""
    start = kernel.start
    scalars = max(start.first_group + 3, kernel.used.get("s", 0)) + _EXTRA_SCALARS
    groups = -(-kernel.vectors // 8) - 1 | -(-scalars // 8) - 1 << 6
    return struct.pack(
        "<III4xq20xIIIHHI",
        kernel.lds_bytes, 0, kernel.argument_bytes, 0,
        kernel.accumulators_begin // 4 - 1, groups | _FLOATS,
        start.first_group << 1 | _GROUPS, _HAS_ARGUMENTS, start.preloaded, 0,
    )  # fmt: skip


def _notes(kernel: Kernel) -> bytes:
    """What the kernel is, and which machine IREE compiled for."""
    version = [1, 2]
    target = (
        f"amdgpu{kernel.chip[3]}.{kernel.chip[4:]}-amd-amdhsa-unknown-{kernel.chip}"
    )
    return _note(
        {"amdhsa.kernels": [_metadata(kernel)], "amdhsa.version": version}
    ) + _note(
        {"amdhsa.kernels": [], "amdhsa.target": target, "amdhsa.version": version}
    )


def _note(content: object) -> bytes:
    data = msgspec.msgpack.encode(content)
    head = struct.pack("<III8s", 7, len(data), _METADATA, b"AMDGPU")
    return head + data + bytes(-len(data) % 4)


def _metadata(kernel: Kernel) -> dict[str, object]:
    """Its row, in the order of the keys."""
    rows = [
        _argument(argument.pointer, argument.size, offset)
        for argument, offset in zip(kernel.arguments, kernel.offsets, strict=True)
    ]
    return {
        ".agpr_count": kernel.used.get("a", 0),
        ".args": rows,
        ".group_segment_fixed_size": kernel.lds_bytes,
        ".kernarg_segment_align": 8,
        ".kernarg_segment_size": kernel.argument_bytes,
        ".max_flat_workgroup_size": kernel.threads,
        ".name": kernel.name,
        ".private_segment_fixed_size": 0,
        ".reqd_workgroup_size": [kernel.threads, 1, 1],
        ".sgpr_count": kernel.used.get("s", 0),
        ".symbol": f"{kernel.name}.kd",
        ".vgpr_count": kernel.vectors,
        ".wavefront_size": LANES,
    }


def _argument(
    pointer: bool, size: int, offset: int  # noqa: FBT001 - a row
) -> dict[str, object]:  # fmt: skip
    row: dict[str, object] = {".address_space": "global"} if pointer else {}
    kind = "global_buffer" if pointer else "by_value"
    return row | {".offset": offset, ".size": size, ".value_kind": kind}
