"""VOPD: two vector instructions in one, which read before either writes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.vector import Row, Run, bind
from wave_emulator_amdgcn.names import canonical

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine


def halves(ins: Instruction) -> list[Instruction]:
    """The two instructions as VOP2 or VOP1."""
    found: list[Instruction] = []
    for axis, name in zip("xy", ins.name.split(" :: "), strict=True):
        fields = {
            "vdst": ins.fields[f"vdst{axis}"], "src0": ins.fields[f"src{axis}0"],
            "vsrc1": ins.fields[f"vsrc{axis}1"], "literal": ins.get("literal"),
        }  # fmt: skip
        plain = canonical(name.replace("V_DUAL_", "V_"))
        variant = "LIT" if "literal" in ins.fields else ""
        counts = {"vdst": 1, "src0": 1, "vsrc1": int(plain != "V_MOV_B32")}
        half = replace(ins, name=plain, encoding="VOP2", variant=variant)
        found.append(replace(half, fields=fields, registers=counts))
    return found


def bind_dual(ins: Instruction, table: dict[str, Row]) -> Run:
    """The closure of both."""
    parts = halves(ins)
    for part in parts:
        if part.name not in table:
            raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")
    first, second = (bind(part, table[part.name]) for part in parts)
    row = parts[0].fields["vdst"] - 256

    def run(m: Machine, g: Selection) -> None:
        before = m.V[row, g].copy()
        first(m, g)
        result = m.V[row, g].copy()
        m.V[row, g] = before
        second(m, g)
        m.V[row, g] = result

    return run
