"""Plants defects in machine code, one at a time, to prove that they are found.

Each wait is weakened, each barrier removed and each bound raised. What is planted says
nothing about whether the result is wrong: a wait may be stricter than needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.codeobject import CodeObject, load
from wave_emulator_amdgcn.generations import read
from wave_emulator_amdgcn.hazards.counters import WAIT_FIELDS, Parts, joined

if TYPE_CHECKING:
    from wave_emulator_amdgcn.decode import Instruction

_NOP = 0xBF800000
_SINGLE = {"S_WAITCNT_VSCNT", "S_WAITCNT_VMCNT", "S_WAITCNT_LGKMCNT"}
_FIRST, _SECOND = {"LT": -1, "LE": -1, "GT": 1, "GE": 1}, {"LT": 1, "LE": 1}


@dataclass(frozen=True)
class Defect:
    """One planted defect.

    Attributes:
        kind: ``wait``, ``barrier`` or ``bound``.
        what: the change, in words.
        instruction: the one that was changed.
        code: the whole changed file.
    """

    kind: str
    what: str
    instruction: Instruction
    code: bytes


def instructions_of(code: CodeObject, kernel: str | None = None) -> list[Instruction]:
    """The instructions of a kernel from its entry, in the order of their addresses."""
    chosen = code.kernel(kernel)
    at = chosen.entry + (256 if chosen.descriptor.preload_dwords else 0)
    base, image = _part(code, at)
    found: list[Instruction] = []
    while at < min(chosen.end, base + len(image)):
        ins = read(image, at - base, at, code.architecture)
        if ins is not None:
            found.append(ins)
        at += 4 if ins is None else ins.size
    return found


def _part(code: CodeObject, pc: int) -> tuple[int, bytes]:
    """The loaded part of the file that holds an instruction, with its address."""
    found = code.elf.part(pc)
    assert found is not None, "an instruction of the file"
    return found


def _raw(code: CodeObject, ins: Instruction) -> int:
    base, image = _part(code, ins.pc)
    at = ins.pc - base
    return int.from_bytes(image[at : at + ins.size], "little")


def planted(data: bytes, kernel: str | None = None) -> Iterator[Defect]:
    """All defects that can be planted in a kernel, each file once."""
    seen = {data}
    for defect in _planted(data, kernel):
        if defect.code not in seen:
            seen.add(defect.code)
            yield defect


def _planted(data: bytes, kernel: str | None) -> Iterator[Defect]:
    code = load(data)
    instructions = instructions_of(code, kernel)
    for position, ins in enumerate(instructions):
        raw = _raw(code, ins)
        changes = [("wait", *c) for c in _waits(ins, raw)]
        if ins.name.startswith("S_BARRIER"):
            changes.append(("barrier", "removed", _NOP))
        changes += [("bound", *c) for c in _compares(ins, raw)]
        if ins.encoding in ("MUBUF", "VBUFFER"):
            yield from _records(data, code, instructions[:position], ins)
        for kind, what, word in changes:
            yield Defect(kind, what, ins, _changed(data, code, ins, word))


def _changed(data: bytes, code: CodeObject, ins: Instruction, raw: int) -> bytes:
    base, image = _part(code, ins.pc)
    at = data.find(image) - base + ins.pc
    changed = bytearray(data)
    changed[at : at + ins.size] = raw.to_bytes(ins.size, "little")
    return bytes(changed)


def _waits(ins: Instruction, raw: int) -> Iterable[tuple[str, int]]:
    """Each counter raised by one, and to its most."""
    if ins.name == "S_WAITCNT":
        for name, parts in WAIT_FIELDS[ins.chip.family].items():
            yield from _raised(raw, name, parts)
    elif ins.name in _SINGLE or (ins.name.startswith("S_WAIT_") and "CNT" in ins.name):
        yield from _raised(raw, "count", ((0, 6),))
        if ins.name.endswith("CNT_DSCNT"):
            yield from _raised(raw, "first count", ((8, 6),))


def _raised(raw: int, name: str, parts: Parts) -> Iterable[tuple[str, int]]:
    old, most = joined(raw, parts), joined(-1, parts)
    for new in sorted({min(old + 1, most), most} - {old}):
        word, left = raw, new
        for first, bits in parts:
            mask = (1 << bits) - 1
            word = word & ~(mask << first) | (left & mask) << first
            left >>= bits
        yield f"{name} {old} to {new}", word


def _compares(ins: Instruction, raw: int) -> Iterable[tuple[str, int]]:
    """Comparisons of integers with a limit that lets one more pass, or all."""
    parts = ins.name.split("_")
    if parts[1][:3] != "CMP" or parts[-1] not in ("I32", "U32", "I64", "U64"):
        return
    relation = parts[2]
    step = _FIRST.get(relation, 1), _SECOND.get(relation, -1)
    if relation in ("EQ", "NE", "LG"):
        step = 1, 1
    if parts[1] == "CMPK":
        limit = raw + step[1] & 0xFFFF
        yield f"limit by {step[1]}", raw & ~0xFFFF | limit
        return
    for slot, delta in enumerate(step):
        new = _constant(ins, raw, slot, delta)
        if new is not None:
            yield f"limit by {delta}", new
    if parts[0] == "V" and relation in _FIRST and ins.chip.always_compares:
        # Opcodes of one type are eight in a row, and the last of them is always true.
        yield "limit away", raw | 7 << (16 if ins.encoding == "VOP3" else 17)


_PLACES = {"VOPC": (0,), "VOP3": (32, 41), "SOPC": (0, 8)}
_NAMES = (("src0", "ssrc0"), ("src1", "vsrc1", "ssrc1"))


def _constant(ins: Instruction, raw: int, slot: int, delta: int) -> int | None:
    """The instruction with the constant of a slot changed; None where it has none."""
    code = next((ins.fields[n] for n in _NAMES[slot] if n in ins.fields), 256)
    places = _PLACES.get(ins.encoding, ())
    if code == 255 and ins.size == 4 * (2 if ins.encoding != "VOP3" else 3):
        shift = 8 * (ins.size - 4)
        value = (raw >> shift) + delta & 0xFFFFFFFF
        return raw & ((1 << shift) - 1) | value << shift
    if slot >= len(places) or not 128 <= code <= 208:
        return None
    value = (code - 128 if code <= 192 else 192 - code) + delta
    if not -16 <= value <= 64:
        return None
    new = 128 + value if value >= 0 else 192 - value
    return raw - (code << places[slot]) + (new << places[slot])


def _records(
    data: bytes, code: CodeObject, before: list[Instruction], user: Instruction
) -> Iterable[Defect]:
    """The number of bytes of a buffer resource, raised by 4 and away."""
    first = user.fields.get("srsrc", user.fields.get("rsrc", 0))
    setter = _setter(before, first + 2)
    if setter is None:
        return
    raw = _raw(code, setter)
    for what, value in (("by 4", 4), ("away", None)):
        new = _set_value(setter, raw, value)
        if new is not None:
            what_ = f"size of the buffer of {user.text} {what}"
            yield Defect("bound", what_, setter, _changed(data, code, setter, new))


def _setter(before: list[Instruction], register: int) -> Instruction | None:
    """The instruction that last set a scalar register, if to a constant."""
    for position in range(len(before) - 1, -1, -1):
        ins = before[position]
        first = ins.fields.get("sdst", ins.fields.get("sdata"))
        words = ins.registers.get("sdst", ins.registers.get("sdata", 1))
        if first is None or not 0 <= register - first < words:
            continue
        if ins.name == "S_MOV_B32" and ins.fields["ssrc0"] < 106:
            return _setter(before[:position], ins.fields["ssrc0"])
        return ins if ins.name in ("S_MOV_B32", "S_MOVK_I32") else None
    return None


def _set_value(setter: Instruction, raw: int, delta: int | None) -> int | None:
    if setter.name == "S_MOVK_I32":
        low = 0xFFFF if delta is None else (raw & 0xFFFF) + delta
        return raw & ~0xFFFF | low if low <= 0xFFFF else None
    if setter.size == 8:
        value = 0xFFFFFFFF if delta is None else (raw >> 32) + delta & 0xFFFFFFFF
        return raw & 0xFFFFFFFF | value << 32
    if setter.fields["ssrc0"] >= 128:
        return _constant(setter, raw, 0, delta) if delta else raw & ~0xFF | 193
    return None
