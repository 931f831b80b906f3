"""LDS instructions: reads, writes, atomics, and moves between lanes through it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa import access
from wave_emulator_amdgcn.isa.access import Locate, Part, Place
from wave_emulator_amdgcn.isa.transpose import TRANSPOSES, transpose

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine

_ATOMICS = "ADD|SUB|RSUB|INC|DEC|MIN|MAX|MIN_NUM|MAX_NUM|AND|OR|XOR|WRXCHG|CMPST|PK_ADD"


def bind(ins: Instruction) -> Run:
    """The closure that executes a DS instruction."""
    for form, binder in _FORMS:
        if found := form.fullmatch(ins.name):
            return binder(ins, found)
    raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")


def row_of(ins: Instruction, field: str) -> int:
    """The row of a data register; the acc bit means AGPRs."""
    return ins.fields[field] - 256 + (256 if ins.get("acc") else 0)


def offset_of(ins: Instruction) -> int:
    """The 16-bit offset of instructions with one address."""
    return ins.get("offset0") | ins.get("offset1") << 8


def _locate(ins: Instruction, size: int, *offsets: int) -> Locate:
    """The same bytes at some offsets from the address."""

    def locate(m: Machine, g: Selection) -> Place:
        return Place("lds", m.lds, [_part(m, ins, g, o, size) for o in offsets])

    return locate


def _part(m: Machine, ins: Instruction, g: Selection, offset: int, size: int) -> Part:
    """Positions in the array of all LDS, and the lanes that stay in bounds.

    The sum has 32 bits: a register may hold a negative number that the offset makes
    up for. Source: LLVM, `isDSOffsetLegal`; only Southern Islands differs.
    """
    base = m.V[ins.fields["addr"] - 256, g]
    part = Part((base + np.uint32(offset)).astype(np.int64), size, m.mask(g))
    # As in buffers, all but a write of words may end in the word of the last byte.
    step = 4 if "WRITE" not in ins.name and size >= 4 else 1
    last = -(-m.shape.lds_bytes // step) * step - size
    return place_in_lds(m, ins, g, part, part.at > last)


def place_in_lds(
    m: Machine, ins: Instruction, g: Selection, part: Part, bad: Bools
) -> Part:
    """Addresses of workgroups as positions in all LDS; bad ones are reported."""
    at, mask = part.at, part.mask
    if bad.any():
        mask = access.lanes_inside(m, ins, g, part, bad, "the workgroup's LDS")
        at = np.where(bad, 0, at)
    return Part(at + m.lds_base[g][:, None], part.size, mask)


def _bind_words(ins: Instruction, found: re.Match[str]) -> Run:
    """Words at one address, or at two."""
    size, offsets = int(found[4]) // 8, [offset_of(ins)]
    if found[2]:
        step = size * (64 if found[3] else 1)
        offsets = [ins.get(f"offset{k}") * step for k in range(2)]
    locate = _locate(ins, size, *offsets)
    if found[1] == "READ":
        return access.bind_load(ins, row_of(ins, "vdst"), locate)
    first = [row_of(ins, f"data{k}") for k in range(len(offsets))]
    rows = [row + k for row in first for k in range(size // 4)]
    return access.bind_store(ins, rows, locate, high=False)


def _bind_small(ins: Instruction, found: re.Match[str]) -> Run:
    """A byte or short."""
    bits, high = int(found[3]), bool(found[5])
    locate = _locate(ins, bits // 8, offset_of(ins))
    if found[1] == "WRITE":
        return access.bind_store(ins, [row_of(ins, "data0")], locate, high=high)
    half = int(high) if found[4] else None
    convert = access.small(bits, signed=found[2] == "I", half=half)
    return access.bind_load(ins, row_of(ins, "vdst"), locate, convert)


def _bind_atomic(ins: Instruction, found: re.Match[str]) -> Run:
    name, bits = _atomic_name(found)
    fields = ["data0"]
    if name == "CMPSWAP":
        fields = ["data1", "data0"] if ins.chip.compares_first else ["data0", "data1"]
    rows = [row_of(ins, field) + k for field in fields for k in range(bits // 32)]
    returns = bool(found[2]) or found[1] == "WRXCHG"
    result = row_of(ins, "vdst") if returns else None
    locate = _locate(ins, bits // 8, offset_of(ins))
    return access.bind_atomic(ins, name, rows, locate, result)


def _atomic_name(found: re.Match[str]) -> tuple[str, int]:
    verb, kind, bits = found[1], found[3], int(found[4])
    if verb == "PK_ADD":
        return f"PK_ADD_{kind}16", 32
    if kind == "F":
        return f"{verb}_F", bits
    if verb in ("MIN", "MAX"):
        return ("S" if kind == "I" else "U") + verb, bits
    return {"WRXCHG": "SWAP", "CMPST": "CMPSWAP"}.get(verb, verb), bits


def swizzle(offset: int, lanes: int) -> Ints:
    """Source lane of DS_SWIZZLE (CDNA3 ISA, "Data share ... swizzle")."""
    lane = np.arange(lanes)
    if offset & 0x8000:
        if offset & 0x4000:
            raise UnknownInstructionError("EM0301", f"ds_swizzle offset {offset:#x}")
        return lane & ~3 | (offset >> 2 * (lane & 3) & 3)
    conjunct, disjunct, exclusive = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return lane & ~31 | ((lane & 31 & conjunct) | disjunct) ^ exclusive


def _lanes_named(ins: Instruction) -> Callable[[Machine, Selection], Ints]:
    """The lane that each lane names by its address in bytes."""
    row, offset = ins.fields["addr"] - 256, np.uint32(offset_of(ins))

    def lanes(m: Machine, g: Selection) -> Ints:
        named = (m.V[row, g] + offset) >> np.uint32(2)
        return (named % np.uint32(m.lanes)).astype(np.int64)

    return lanes


def _bind_gather(ins: Instruction, found: re.Match[str]) -> Run:
    """Each lane reads a register of another lane; of one that is off, zero."""
    row, inactive = row_of(ins, "vdst"), "_FI_" in ins.name
    swizzles = found[1] == "SWIZZLE"
    data = ins.fields["addr"] - 256 if swizzles else row_of(ins, "data0")

    def swizzled(m: Machine, _g: Selection) -> Ints:
        return swizzle(offset_of(ins), m.lanes)[None]

    sources = swizzled if swizzles else _lanes_named(ins)

    def run(m: Machine, g: Selection) -> None:
        source = sources(m, g)
        value = np.take_along_axis(m.V[data, g], source, axis=1)
        if not m.full and not inactive:
            live = np.take_along_axis(m.active[g], source, axis=1)
            value = np.where(live, value, np.uint32(0))
        m.write(row, g, value)

    return run


def _bind_permute(ins: Instruction, _found: re.Match[str]) -> Run:
    """Each lane writes a register of another lane."""
    row, data, targets = row_of(ins, "vdst"), row_of(ins, "data0"), _lanes_named(ins)

    def run(m: Machine, g: Selection) -> None:
        lanes = targets(m, g)
        value = np.zeros((m.count(g), m.lanes), np.uint32)
        wave, lane = np.nonzero(m.active[g])
        value[wave, lanes[wave, lane]] = m.V[data, g][wave, lane]
        m.write(row, g, value)

    return run


def _bind_transpose(ins: Instruction, found: re.Match[str]) -> Run:
    bits, size = TRANSPOSES[found[0]]
    locate = _locate(ins, size, offset_of(ins))
    return access.bind_load(
        ins, row_of(ins, "vdst"), locate, lambda words, _old: transpose(words, bits)
    )


#: The first row whose expression matches a canonical name says how it is bound.
_FORMS = tuple(
    (re.compile(expression), binder)
    for expression, binder in (
        (r"DS_(SWIZZLE|BPERMUTE)_(FI_)?B32", _bind_gather),
        (r"DS_PERMUTE_B32", _bind_permute),
        ("|".join(TRANSPOSES), _bind_transpose),
        (r"DS_(READ|WRITE)()()_B(32|64|96|128)", _bind_words),
        (r"DS_(READ|WRITE)(2)(ST64)?_B(32|64)", _bind_words),
        (r"DS_(READ|WRITE)_([UIB])(8|16)(_D16)?(_HI)?", _bind_small),
        (rf"DS_({_ATOMICS})(_RTN)?_(U|I|B|F|BF)(16|32|64)", _bind_atomic),
    )
)
