"""PTX to machine code: what the assembler says is read, and what it refuses told."""

from __future__ import annotations

import re
import stat
from dataclasses import replace
from pathlib import Path

import llvm_texts
import pytest

from wave_backend_nvgpu.compile.ask import ask_assembler, ask_llvm
from wave_backend_nvgpu.compile.assemble import Limits, assemble, disassemble
from wave_backend_nvgpu.compile.remarks import read_remarks
from wave_backend_nvgpu.compile.request import Request
from wave_backend_nvgpu.compile.tools import Tool, find_disassembler
from wave_backend_nvgpu.compile.versions import PTX
from wave_core.diagnostics import UserError

TARGET = "sm_90a"


@pytest.fixture(scope="module")
def ptx(worker):
    found = worker.run(Request(llvm_texts.DOUBLED, TARGET, PTX), 60)
    assert not found.errors
    return found.ptx


def refusal(text, tool, limits, graph):
    with pytest.raises(UserError) as caught:
        ask_assembler(text, TARGET, tool, limits, graph, lines=False)
    return caught.value


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a"])
def test_a_cubin_with_what_it_takes(worker, assembler, limits, graph, target):
    text = ask_llvm(Request(llvm_texts.DOUBLED, target, PTX), worker, 60, graph)
    done = assemble(text, target, assembler, limits)
    assert done.cubin[:4] == b"\x7fELF"
    assert b"mapped" in done.cubin
    assert 0 < done.remarks.registers <= 32
    assert done.remarks.spilled_bytes == 0


def test_the_same_text_gives_the_same_bytes(ptx, assembler, limits):
    first = assemble(ptx, TARGET, assembler, limits).cubin
    assert assemble(ptx, TARGET, assembler, limits).cubin == first


def test_machine_code_is_printed(ptx, assembler, limits):
    tool = find_disassembler()
    assert tool is not None, "`nvdisasm` comes with the extra `assembler`"
    text, failure = disassemble(
        assemble(ptx, TARGET, assembler, limits).cubin, tool, limits
    )
    assert not failure
    assert re.search(r"\bLDG\.E\b", text)
    assert "FADD" in text


def test_no_machine_code_is_no_crash(assembler, limits):
    tool = find_disassembler()
    assert disassemble(b"not an ELF", tool, limits)[1].startswith("ended with status")


def test_malformed_text_is_shown_with_its_line(ptx, assembler, limits, graph):
    text = re.sub(r"\badd\.", "plus.", ptx)
    (found,) = refusal(text, assembler, limits, graph).diagnostics
    assert found.code == "WV0604"
    assert "the PTX of `mapped` is malformed: Not a name of any known" in found.message
    line = found.data["line"]
    row = text.splitlines()[line - 1].strip()
    assert "plus." in row
    assert f"line {line}: {row}" in found.notes


def test_what_is_no_ptx_at_all(assembler, limits, graph):
    assert refusal("", assembler, limits, graph).code == "WV0604"
    assert refusal("\x00\xff{}", assembler, limits, graph).code == "WV0604"


def test_spills_are_counted(worker, assembler, limits):
    text = worker.run(Request(llvm_texts.spilling(400), TARGET, PTX), 60).ptx
    remarks = assemble(text, TARGET, assembler, limits).remarks
    assert remarks.spill_store_bytes > 100
    assert remarks.spill_load_bytes > 100
    assert remarks.stack_bytes > 100


SETMAXNREG = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry mapped()
{
  setmaxnreg.dec.sync.aligned.u32 24;
  ret;
}
"""


def test_lost_speed_is_an_error(assembler, limits, graph):
    """`setmaxnreg` is ignored where nothing says how many threads there are."""
    (found,) = refusal(SETMAXNREG, assembler, limits, graph).diagnostics
    assert found.code == "WV0604"
    assert "gives up what makes `mapped` fast" in found.message
    assert re.search(r"\(C75\d\d\)", found.message)
    assert "setmaxnreg" in found.message
    assert found.data["lost"] in found.message


def test_a_time_limit(ptx, assembler, graph):
    error = refusal(ptx, assembler, Limits(0.001, 8192), graph)
    assert error.code == "WV0606"
    assert "the assembler of `mapped` took more than 0.001 s" in str(error)


def test_memory_that_is_not_enough_is_no_fault_of_the_text(ptx, graph, tmp_path):
    tool = tmp_path / "ptxas"
    lines = "ptxas fatal   : Memory allocation failure", "ptxas fatal   : Ptx assembly"
    said = "".join(f"echo '{line} aborted'\n" for line in lines)
    tool.write_text(f"#!/bin/sh\n{said}exit 255\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    error = refusal(ptx, Tool(tool, "13.5"), Limits(60, 8192), graph)
    assert error.code == "WV0606"
    assert "ran out of memory" in str(error)


def test_a_memory_limit(worker, assembler, graph):
    text = worker.run(Request(llvm_texts.spilling(2000), TARGET, PTX), 60).ptx
    error = refusal(text, assembler, Limits(60, 20), graph)
    assert error.code == "WV0606"
    assert "the assembler of `mapped`" in str(error)


def program(folder: Path, text: str) -> Tool:
    path = folder / "ptxas"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Tool(path, "1.2.3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kill -SEGV $$", "crashed (signal 11: SIGSEGV)"),
        ("exit 3", "ended with status 3"),
    ],
)
def test_however_the_assembler_ends(ptx, limits, graph, tmp_path, text, expected):
    error = refusal(ptx, program(tmp_path, text), limits, graph)
    assert error.code == "WV0606"
    assert expected in str(error)
    saved = re.search(r"saved as (\S+)", str(error))[1]
    assert Path(saved).read_text() == ptx


def test_an_assembler_that_is_gone(ptx, assembler, limits, graph, tmp_path):
    gone = replace(assembler, path=tmp_path / "gone")
    error = refusal(ptx, gone, limits, graph)
    assert error.code == "WV0606"
    assert "cannot be started: No such file" in str(error)


def test_remarks_are_read():
    found = read_remarks(
        "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n"
        "ptxas warning : Value of threads per SM for entry k is out of range\n"
        "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
        "ptxas info    : Used 168 registers, used 3 barriers, 8 bytes stack, 512 bytes"
        " smem\n"
    )
    assert len(found.lost) == 1
    assert found.warnings == ("Value of threads per SM for entry k is out of range",)
    assert (found.stack_bytes, found.spill_store_bytes) == (8, 12)
    assert (found.spill_load_bytes, found.spilled_bytes) == (16, 28)
    assert (found.registers, found.barriers) == (168, 3)
    assert found.static_shared_bytes == 512
