"""Instructions that change where or when execution goes on."""

from __future__ import annotations

import families
import numpy as np
import pytest
from assemble import encode, execute, machine

CONDITIONS = {
    "S_CBRANCH_SCC0": lambda m: ~m.scc,
    "S_CBRANCH_SCC1": lambda m: m.scc,
    "S_CBRANCH_VCCZ": lambda m: _zero(m, 106),
    "S_CBRANCH_VCCNZ": lambda m: ~_zero(m, 106),
    "S_CBRANCH_EXECZ": lambda m: _zero(m, 126),
    "S_CBRANCH_EXECNZ": lambda m: ~_zero(m, 126),
    "S_BRANCH": lambda m: np.ones(len(m.scc), bool),
}
CALLS = {"S_GETPC_B64", "S_SETPC_B64", "S_SWAPPC_B64", "S_CALL_B64"}
MODES = {"S_GETREG_B32", "S_SETREG_B32", "S_SETREG_IMM32_B32", "S_DENORM_MODE",
         "S_ROUND_MODE"}  # fmt: skip
ENDS = {"S_ENDPGM", "S_ENDPGM_SAVED"}
#: Their effect is that of the memory model, which other tests show.
WAITING = {"S_BARRIER", "S_BARRIER_WAIT", "S_BARRIER_SIGNAL",
           "S_BARRIER_SIGNAL_ISFIRST"}  # fmt: skip
NOTHING = {
    "S_NOP", "S_SLEEP", "S_SETPRIO", "S_CLAUSE", "S_DELAY_ALU", "S_SETHALT",
    "S_ICACHE_INV", "S_CODE_END", "S_SET_INST_PREFETCH_DISTANCE", "S_TTRACEDATA",
    "S_TTRACEDATA_IMM", "S_SENDMSG", "S_WAKEUP", "S_INCPERFLEVEL", "S_DECPERFLEVEL",
    "S_SET_VALU_COEXEC_MODE", "V_NOP", "V_CLREXCP", "V_PIPEFLUSH", "S_VERSION",
    "S_SLEEP_VAR",
}  # fmt: skip


def _zero(m, row):
    return (m.S[row] == 0) & ((m.S[row + 1] == 0) | (m.lanes == 32))


def named(arch, name):
    found = (
        (c, o) for c, o in families.implemented(arch) if families.plain(o.name) == name
    )
    cls, op = next(found)
    return families.encoding_class(arch, cls), op


def waits(name):
    return name.startswith(("S_WAIT_", "S_WAITCNT"))


@pytest.mark.parametrize("arch", families.ARCHES)
def test_every_control_instruction_has_a_test(arch):
    known = {*CONDITIONS, *CALLS, *MODES, *ENDS, *WAITING, *NOTHING}
    left = families.without(arch, "control", [known])
    assert [name for name in left if not waits(name)] == []


@pytest.mark.parametrize("arch", families.ARCHES)
def test_what_takes_only_time_changes_no_register(arch):
    for cls, op in families.implemented(arch):
        name = families.plain(op.name)
        if name in NOTHING or waits(name):
            m = machine(arch, 4)
            values, scalars, scc = m.V.copy(), m.S.copy(), m.scc.copy()
            execute(m, encode(families.encoding_class(arch, cls), op))
            assert (values == m.V).all(), name
            assert (scalars == m.S).all(), name
            assert (m.scc == scc).all(), name


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("arch", families.ARCHES)
def test_branches_split_waves(arch, name):
    """The branch skips a move."""
    m = machine(arch, 8)
    m.S[106:108, :4] = 0
    m.S[126:128, 2:6] = 0
    if m.lanes == 32:
        m.S[107] = m.S[127] = 5
    m.refresh_exec(slice(None))
    m.S[10] = 1
    taken = CONDITIONS[name](m).copy()
    execute(m, encode(*named(arch, name), simm16=1),
            encode(*named(arch, "S_MOV_B32"), sdst=10, ssrc0=128 + 9))  # fmt: skip
    assert (m.S[10] == np.where(taken, 1, 9)).all()


@pytest.mark.parametrize("arch", families.ARCHES)
def test_backward_branches_loop(arch):
    m = machine(arch, 4)
    m.S[10], m.S[11] = [3, 1, 7, 2], 0
    execute(m, encode(*named(arch, "S_ADDK_I32" if arch != "gfx1201" else
                             "S_ADDK_CO_I32"), sdst=11, simm16=2),
            encode(*named(arch, "S_ADDK_I32" if arch != "gfx1201" else
                          "S_ADDK_CO_I32"), sdst=10, simm16=0xFFFF),
            encode(*named(arch, "S_CMP_LG_U32"), ssrc0=10, ssrc1=128),
            encode(*named(arch, "S_CBRANCH_SCC1"), simm16=0xFFFC))  # fmt: skip
    assert m.S[11].tolist() == [6, 2, 14, 4]


@pytest.mark.parametrize("arch", families.ARCHES)
def test_calls_and_returns(arch):
    """A call skips one move; what it calls returns to it by the saved address."""
    m = machine(arch, 2)
    m.S[10] = m.S[11] = 0
    one, two = (
        encode(*named(arch, "S_MOV_B32"), sdst=10 + k, ssrc0=129 + k) for k in range(2)
    )
    call = encode(*named(arch, "S_CALL_B64"), sdst=4, simm16=2)
    end = encode(*named(arch, "S_ENDPGM"))
    back = encode(*named(arch, "S_SETPC_B64"), ssrc0=4)
    execute(m, call, one, end, two, back)
    assert m.S[10].tolist() == [1, 1]
    assert m.S[11].tolist() == [2, 2]
    assert (m.S[4] == 0x1004).all()


@pytest.mark.parametrize("arch", families.ARCHES)
def test_swapping_the_program_counter(arch):
    m = machine(arch, 2)
    m.S[10] = 0
    m.S[6], m.S[7] = 0x1008, 0
    execute(m, encode(*named(arch, "S_SWAPPC_B64"), sdst=4, ssrc0=6),
            encode(*named(arch, "S_MOV_B32"), sdst=10, ssrc0=129),
            encode(*named(arch, "S_GETPC_B64"), sdst=8))  # fmt: skip
    assert (m.S[4] == 0x1004).all()
    assert (m.S[10] == 0).all()
    assert (m.S[8] == 0x100C).all()


@pytest.mark.parametrize("arch", families.ARCHES)
def test_mode_is_written_and_read(arch):
    """HWREG 1 is MODE; a field of it, and all of it."""
    m = machine(arch, 2)
    field = 1 | 4 << 6 | 3 << 11
    m.S[12] = 0x5
    execute(
        m,
        encode(*named(arch, "S_SETREG_B32"), sdst=12, simm16=field),
        encode(*named(arch, "S_GETREG_B32"), sdst=13, simm16=field),
        encode(*named(arch, "S_GETREG_B32"), sdst=14, simm16=1 | 31 << 11),
    )
    assert (m.S[13] == 5).all()
    assert (m.S[14] == 0x50).all()
    assert (m.flush32, m.flush32_results) == (False, True)
    assert (m.flush16, m.flush16_results) == (False, True)


@pytest.mark.parametrize("arch", families.ARCHES)
def test_mode_from_a_literal(arch):
    m = machine(arch, 2)
    field = 1 | 4 << 6 | 3 << 11
    execute(m, encode(*named(arch, "S_SETREG_IMM32_B32"), simm16=field, literal=0xA))
    assert m.mode == 0xA0
    assert (m.flush32, m.flush32_results) == (True, False)
