"""The kernel descriptor: 64 bytes that say how a wave starts.

Layout: LLVM, User Guide for AMDGPU Backend, "Kernel Descriptor".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

DESCRIPTOR_BYTES = 64

#: Bit of kernel_code_properties, name, SGPRs it takes, in order.
_USER_SGPRS = (
    (0, "private_segment_buffer", 4), (1, "dispatch_ptr", 2), (2, "queue_ptr", 2),
    (3, "kernarg_segment_ptr", 2), (4, "dispatch_id", 2), (5, "flat_scratch_init", 2),
    (6, "private_segment_size", 1),
)  # fmt: skip


@dataclass(frozen=True)
class Descriptor:
    """The fields of a descriptor.

    Attributes:
        lds_bytes: fixed LDS; the metadata has the same number.
        private_bytes: scratch of one lane.
        kernarg_bytes: size of the kernel arguments.
        entry_offset: from the descriptor to the first instruction.
        user_sgprs: name and first SGPR of each user register group.
        user_sgpr_count: SGPRs before the system registers.
        preload_dwords: kernel arguments that arrive in SGPRs.
        preload_offset: first of them, in dwords.
        workgroup_ids: which of x, y, z come in SGPRs.
        float_mode: the FP_ROUND and FP_DENORM bits of MODE.
        ieee: NaNs are quieted and min, max follow IEEE 754-2008.
        dx10_clamp: clamping turns NaN into zero.
        wave32: waves have 32 lanes.
        vector_granules: vector registers, in units of the machine, less one.
        scalar_granules: scalar registers likewise, where the machine counts them.
        accumulators_begin: VGPRs in front of the AGPRs, where these are apart.
    """

    lds_bytes: int
    private_bytes: int
    kernarg_bytes: int
    entry_offset: int
    user_sgprs: dict[str, int]
    user_sgpr_count: int
    preload_dwords: int
    preload_offset: int
    workgroup_ids: tuple[bool, bool, bool]
    float_mode: int
    ieee: bool
    dx10_clamp: bool
    wave32: bool
    vector_granules: int
    scalar_granules: int
    accumulators_begin: int


def parse_descriptor(data: bytes) -> Descriptor:
    """Read a descriptor.

    Raises:
        struct.error: there are fewer than 64 bytes.
    """
    lds, private, kernarg = struct.unpack_from("<III", data, 0)
    (entry,) = struct.unpack_from("<q", data, 16)
    rsrc3, rsrc1, rsrc2 = struct.unpack_from("<III", data, 44)
    properties, preload = struct.unpack_from("<HH", data, 56)
    groups: dict[str, int] = {}
    first = 0
    for bit, name, size in _USER_SGPRS:
        if properties >> bit & 1:
            groups[name] = first
            first += size
    groups["preload"] = first
    ids = [bool(rsrc2 >> bit & 1) for bit in (7, 8, 9)]
    return Descriptor(
        lds_bytes=lds,
        private_bytes=private,
        kernarg_bytes=kernarg,
        entry_offset=entry,
        user_sgprs=groups,
        user_sgpr_count=rsrc2 >> 1 & 0x1F,
        preload_dwords=preload & 0x7F,
        preload_offset=preload >> 7,
        workgroup_ids=(ids[0], ids[1], ids[2]),
        float_mode=rsrc1 >> 12 & 0xFF,
        ieee=bool(rsrc1 >> 23 & 1),
        dx10_clamp=bool(rsrc1 >> 21 & 1),
        wave32=bool(properties >> 10 & 1),
        vector_granules=rsrc1 & 0x3F,
        scalar_granules=rsrc1 >> 6 & 0xF,
        accumulators_begin=4 * ((rsrc3 & 0x3F) + 1),
    )
