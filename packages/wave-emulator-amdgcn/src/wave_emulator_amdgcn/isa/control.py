"""Instructions that change the order of execution: branches, barriers, waits, ends."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.scalar import LOGIC
from wave_emulator_amdgcn.operands import is_zero, scalar
from wave_isa_amdgcn.registers import EXEC, VCC

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine

#: They change nothing that the emulator models beyond time.
NOTHING = {
    "S_NOP", "S_SLEEP", "S_SETPRIO", "S_CLAUSE", "S_DELAY_ALU", "S_SETHALT",
    "S_ICACHE_INV", "S_WAIT_IDLE", "S_WAITCNT_DEPCTR", "S_WAIT_ALU", "S_CODE_END",
    "S_SET_INST_PREFETCH_DISTANCE", "S_INST_PREFETCH", "S_TTRACEDATA",
    "S_TTRACEDATA_IMM", "S_SENDMSG", "S_WAKEUP", "S_INCPERFLEVEL", "S_DECPERFLEVEL",
    "S_SET_VALU_COEXEC_MODE", "V_NOP", "V_CLREXCP", "V_PIPEFLUSH",
    "S_VERSION", "S_SLEEP_VAR", "S_MONITOR_SLEEP", "DS_NOP",
    "S_DCACHE_INV", "S_DCACHE_WB", "S_GL1_INV", "S_DCACHE_INV_VOL", "S_DCACHE_WB_VOL",
    "S_PREFETCH_INST", "S_PREFETCH_DATA", "S_PREFETCH_INST_PC_REL",
    "S_PREFETCH_DATA_PC_REL", "S_BUFFER_PREFETCH_DATA", "BUFFER_WBL2", "BUFFER_INV",
    "BUFFER_GL0_INV", "BUFFER_GL1_INV", "GLOBAL_INV", "GLOBAL_WB", "GLOBAL_WBINV",
    "BUFFER_WBINVL1", "BUFFER_WBINVL1_VOL", "BUFFER_INVL2",
}  # fmt: skip

BARRIERS = {"S_BARRIER", "S_BARRIER_WAIT"}
FIRST = "S_BARRIER_SIGNAL_ISFIRST"
"""A signal that tells the first wave of a workgroup, in SCC, that it was first."""
SIGNALS = {"S_BARRIER_SIGNAL", FIRST}
ENDS = {"S_ENDPGM", "S_ENDPGM_SAVED"}
FAR_JUMPS = {"S_SETPC_B64", "S_SWAPPC_B64", "S_CALL_B64"}


@dataclass(frozen=True)
class Jump:
    """Where waves go: ``taken`` is None for all of them.

    Attributes:
        target: byte address, or one for each wave.
        taken: which waves jump; the others go on.
    """

    target: int | Ints
    taken: Bools | None


def _not(test: Callable[[Machine, Selection], Bools]) -> Callable[..., Bools]:
    return lambda m, g: ~test(m, g)


BRANCHES: dict[str, Callable[[Machine, Selection], Bools] | None] = {
    "S_BRANCH": None,
    "S_CBRANCH_SCC0": lambda m, g: ~m.scc[g],
    "S_CBRANCH_SCC1": lambda m, g: m.scc[g].copy(),
    "S_CBRANCH_VCCZ": is_zero(VCC),
    "S_CBRANCH_VCCNZ": _not(is_zero(VCC)),
    "S_CBRANCH_EXECZ": is_zero(EXEC),
    "S_CBRANCH_EXECNZ": _not(is_zero(EXEC)),
}


def bind_barrier(ins: Instruction) -> Run | None:
    """Barriers of a workgroup: the loop makes waves wait, so they do nothing here.

    Raises:
        UnknownInstructionError: EM0302, a barrier other than the workgroup's (-1).
    """
    if ins.name not in BARRIERS | SIGNALS:
        return None
    minus_one = {"S_BARRIER_WAIT": ("simm16", 0xFFFF)}.get(ins.name, ("ssrc0", 193))
    if ins.name != "S_BARRIER" and ins.fields[minus_one[0]] != minus_one[1]:
        raise UnknownInstructionError("EM0302", f"a named barrier: {ins.text}")
    return lambda _m, _g: None


def branch_target(ins: Instruction) -> int:
    """SIMM16 counts words from the next instruction."""
    words = ins.fields["simm16"]
    return ins.pc + 4 + 4 * (words - ((words & 0x8000) << 1))


def bind_jump(ins: Instruction) -> Run | None:
    """Branches, calls and returns; None for other instructions."""
    if ins.name in BRANCHES:
        return _branch(ins)
    if ins.name in FAR_JUMPS or ins.name == "S_GETPC_B64":
        return _program_counter(ins)
    return None


def _branch(ins: Instruction) -> Run:
    target = branch_target(ins)
    test = BRANCHES[ins.name]
    if test is None:
        return lambda _m, _g: Jump(target, None)
    return lambda m, g: Jump(target, test(m, g))


def _program_counter(ins: Instruction) -> Run:
    """Keep the next address, jump to one in registers or far away, or both."""
    following = np.array(ins.pc + ins.size, np.uint64)
    source = None
    if "ssrc0" in ins.fields and ins.name != "S_GETPC_B64":
        source = scalar(ins.fields["ssrc0"], "u64", 0)

    def run(m: Machine, g: Selection) -> Jump | None:
        target = branch_target(ins) if ins.name == "S_CALL_B64" else None
        if source is not None:
            target = source(m, g).astype(np.int64)
        if ins.name != "S_SETPC_B64":
            m.write_scalar_pair(ins.fields["sdst"], g, following)
        return None if target is None else Jump(target, None)

    return run


def bind_saveexec(ins: Instruction) -> Run | None:
    """S_x_SAVEEXEC and S_x_WREXEC; None for other instructions."""
    parts = ins.name.split("_")
    if len(parts) != 4 or parts[2] not in ("SAVEEXEC", "WREXEC"):
        return None
    function = LOGIC[parts[1]]
    kind, row = parts[3].lower(), ins.fields["sdst"]
    source = scalar(ins.fields["ssrc0"], kind, ins.get("literal"))
    current = scalar(EXEC, kind, 0)
    saves = parts[2] == "SAVEEXEC"

    def put(m: Machine, g: Selection, at: int, value: Any) -> None:
        if kind == "b64":
            m.write_scalar_pair(at, g, value)
        else:
            m.write_scalar(at, g, value)

    def run(m: Machine, g: Selection) -> None:
        old = current(m, g).copy()
        new = function(source(m, g), old)
        put(m, g, row, old if saves else new)
        put(m, g, EXEC, new)
        m.scc[g] = new != 0

    return run


def bind_mode(ins: Instruction) -> Run | None:
    """S_SETREG and S_GETREG of MODE; other registers read zero and keep nothing."""
    names = ("S_SETREG_B32", "S_SETREG_IMM32_B32", "S_GETREG_B32", "S_DENORM_MODE",
             "S_ROUND_MODE")  # fmt: skip
    if ins.name not in names:
        return None
    if ins.name in ("S_DENORM_MODE", "S_ROUND_MODE"):
        value = ins.fields["simm16"] & 15
        low = 4 if ins.name == "S_DENORM_MODE" else 0
        return lambda m, g: _set_mode(ins, m, g, low, 4, value)
    field = ins.fields["simm16"]
    register, offset, size = field & 63, field >> 6 & 31, (field >> 11 & 31) + 1
    row = ins.fields["sdst"]
    if ins.name == "S_GETREG_B32":

        def get(m: Machine, g: Selection) -> None:
            bits = m.mode if register == 1 else 0
            m.write_scalar(
                row, g, np.array(bits >> offset & (1 << size) - 1, np.uint32)
            )

        return get

    def put(m: Machine, g: Selection) -> None:
        value = ins.get("literal")
        if ins.name == "S_SETREG_B32":
            given = m.S[row, g]
            value = int(given[0])
            if (given != value).any():
                raise UnknownInstructionError("EM0302", f"modes differ: {ins.text}")
        if register == 1:
            _set_mode(ins, m, g, offset, size, value)

    return put


def _set_mode(
    ins: Instruction, m: Machine, g: Selection, offset: int, size: int, value: int
) -> None:  # fmt: skip
    mask = ((1 << size) - 1) << offset
    mode = m.mode & ~mask | value << offset & mask
    if mode & 15:
        raise UnknownInstructionError(
            "EM0302", f"rounding other than nearest: {ins.text}"
        )
    if mode == m.mode:
        return
    if m.count(g) != m.shape.waves:
        raise UnknownInstructionError("EM0302", f"modes of waves differ: {ins.text}")
    m.set_mode(mode)
