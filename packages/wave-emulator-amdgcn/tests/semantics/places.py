"""Where instructions of each encoding go, worked out lane by lane.

Each function sets the registers of an address at random and returns `Spot`: the fields
of the instruction, the memory, where each lane's bytes lie in it, and how many of them
a lane may touch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import rig

ADDRESS, INDEX, BASE, RESOURCE, OFFSET = 10, 12, 20, 24, 28
"""Registers that hold addresses: vector, vector, scalar, scalar, scalar."""


@dataclass
class Spot:
    fields: dict
    memory: np.ndarray
    at: np.ndarray
    whole: np.ndarray | None = None


def slots(rng, m, size, align, *, unique, room):
    """Byte positions of all lanes below ``room``."""
    shape = (m.shape.waves, m.lanes)
    if unique:
        most = room // 16
        at = rng.permutation(most)[: shape[0] * shape[1]].reshape(shape) * 16
        return at + rng.integers(0, (16 - size) // align + 1, shape) * align
    return rng.integers(0, (room - size) // align + 1, shape) * align


def signed(rng, bits):
    return int(rng.integers(-(1 << bits - 1), 1 << (bits - 1)))


def _set64(m, row, value, lanes=True):
    target = m.V if lanes else m.S
    target[row] = value & 0xFFFFFFFF
    target[row + 1] = value >> 32


def _offset_field(arch):
    return ("ioffset", 24) if arch == "gfx1201" else ("offset", 13)


def _vector_name(arch):
    return "vaddr" if arch == "gfx1201" else "addr"


def off(arch):
    """The number of no scalar register."""
    return 127 if arch in ("gfx90a", "gfx942", "gfx950") else 124


def global_pointer(arch, m, rng, at):
    """64 bits in each lane."""
    data, address = rig.region(m)
    name, bits = _offset_field(arch)
    offset = signed(rng, bits)
    _set64(m, ADDRESS, at + address - offset)
    fields = {_vector_name(arch): rig.VGPR + ADDRESS, name: offset, "saddr": off(arch)}
    return Spot(fields, data, at)


def global_scalar(arch, m, rng, at):
    """A scalar pointer and 32 unsigned bits in each lane; VCC may hold the pointer."""
    data, address = rig.region(m)
    name, bits = _offset_field(arch)
    offset, extra = signed(rng, bits), int(rng.integers(0, 1 << 20))
    row = 106 if rng.random() < 0.3 else BASE
    _set64(m, row, np.int64(address - extra - offset), lanes=False)
    m.V[ADDRESS] = at + extra
    fields = {_vector_name(arch): rig.VGPR + ADDRESS, name: offset, "saddr": row}
    return Spot(fields, data, at)


def flat(arch, m, rng, at):
    """64 bits in each lane, and an offset that is not negative before gfx12."""
    data, address = rig.region(m)
    name, bits = _offset_field(arch)
    offset = signed(rng, 24) if bits == 24 else int(rng.integers(0, 4096))
    _set64(m, ADDRESS, at + address - offset)
    return Spot({_vector_name(arch): rig.VGPR + ADDRESS, name: offset}, data, at)


def scratch(arch, m, rng, at, *, vector, scalar):
    """Bytes of one lane; from a register of the lane, of the wave, of both or none."""
    name, _ = _offset_field(arch)
    offset = int(rng.integers(-64, 64)) if vector or scalar else int(at.flat[0])
    lane = at - offset
    start = np.zeros(at.shape[0], np.int64)
    if scalar:
        start = lane.min(axis=1) if vector else lane[:, 0]
        m.S[BASE] = start & 0xFFFFFFFF
    if not vector:
        at = np.broadcast_to((start + offset)[:, None], at.shape)
    m.V[ADDRESS] = (lane - start[:, None]) & 0xFFFFFFFF
    fields = {_vector_name(arch): rig.VGPR + ADDRESS, name: offset}
    fields["saddr"] = BASE if scalar else off(arch)
    if arch != "gfx90a":
        fields["sve"] = int(vector)
    position = np.arange(at.size).reshape(at.shape) * m.shape.private_bytes
    return Spot(fields, m.private.data, at + position)


@dataclass
class Buffer:
    """A resource: what the descriptor and the instruction say."""

    stride: int = 0
    records: int = 1 << 20
    select: int = 3
    idxen: int = 0
    offen: int = 0
    offset: int = 0
    scalar: int = 0


def buffer(arch, m, rng, buffer, index, within, align=1):
    """A buffer resource; positions follow from the index and offset of each lane."""
    data, address = rig.region(m)
    new = arch == "gfx1201"
    base = address + int(rng.integers(0, 64)) // align * align
    words = [base & 0xFFFFFFFF, base >> 32 | buffer.stride << 16, buffer.records]
    cdna = arch in ("gfx90a", "gfx942", "gfx950")
    words.append(0x27000 if cdna else buffer.select << 28 | 0x14FAC)
    for k, word in enumerate(words):
        m.S[RESOURCE + k] = word
    m.S[OFFSET] = buffer.scalar
    if buffer.idxen:
        m.V[ADDRESS] = index
    m.V[ADDRESS + buffer.idxen] = within
    fields = {
        "vaddr": rig.VGPR + ADDRESS, "soffset": OFFSET,
        "rsrc" if new else "srsrc": RESOURCE,
        "idxen": buffer.idxen, "offen": buffer.offen,
        "ioffset" if new else "offset": buffer.offset,
    }  # fmt: skip
    index = index if buffer.idxen else np.zeros_like(index)
    inner = buffer.offset + (within if buffer.offen else np.zeros_like(within))
    linear = inner + index * buffer.stride
    at = base - address + linear + buffer.scalar
    room = _room(cdna, buffer, index, inner, linear)
    return Spot(fields, data, at, room)


def _room(cdna, buffer, index, inner, linear):
    """Bytes of the resource from where a lane starts (CDNA3, RDNA3 ISA)."""
    inside = np.where(index < buffer.records, 1 << 30, 0)
    if cdna:
        counted = buffer.stride and buffer.idxen
        return inside if counted else buffer.records - linear - buffer.scalar
    if buffer.select == 0:
        return np.minimum(inside, buffer.stride - inner)
    if buffer.select == 1:
        return inside
    if buffer.select == 2:
        return np.full_like(index, 1 << 30 if buffer.records else 0)
    return buffer.records - linear
