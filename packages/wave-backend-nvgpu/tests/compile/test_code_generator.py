"""LLVM IR to PTX: whatever LLVM does, the caller lives and is told."""

from __future__ import annotations

import re
from pathlib import Path

import llvm_texts
import pytest

from wave_backend_nvgpu.compile.ask import ask_llvm
from wave_backend_nvgpu.compile.request import Request
from wave_backend_nvgpu.compile.versions import PTX, PTX_FLOAT8, ptx_version
from wave_core.diagnostics import UserError

WAIT_S = 60


def request(text, target="sm_90a", **options):
    return Request(text, target, PTX, **options)


def refusal(given, worker, graph, limit_s=WAIT_S):
    with pytest.raises(UserError) as caught:
        ask_llvm(given, worker, limit_s, graph)
    return caught.value


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
def test_a_kernel_becomes_ptx_of_its_target(worker, graph, target):
    text = ask_llvm(request(llvm_texts.DOUBLED, target), worker, WAIT_S, graph)
    assert f".version 8.3\n.target {target}\n" in text
    assert ".visible .entry mapped(" in text
    assert ".maxntid 128" in text
    assert re.search(r"add\.(rn\.)?f32", text)


def test_the_same_within_this_process(worker, graph):
    given = request(llvm_texts.DOUBLED)
    assert ask_llvm(given, None, WAIT_S, graph) == ask_llvm(
        given, worker, WAIT_S, graph
    )


@pytest.mark.parametrize("where", ["worker", "process"])
def test_malformed_text_is_shown_with_its_line(worker, graph, where):
    given = request(llvm_texts.MALFORMED, verified=True)
    error = refusal(given, worker if where == "worker" else None, graph)
    (found,) = error.diagnostics
    assert found.code == "WV0604"
    assert found.message == "the LLVM IR of `mapped` is malformed: expected type"
    line = llvm_texts.MALFORMED.splitlines().index("  %y = fadd flot %x, %x") + 1
    assert f"line {line}, column 13: %y = fadd flot %x, %x" in found.notes
    assert (found.data["line"], found.data["column"]) == (line, 13)


def test_text_by_hand_is_verified(worker, graph):
    error = refusal(request(llvm_texts.UNVERIFIED, verified=True), worker, graph)
    assert error.code == "WV0604"
    assert "Instruction does not dominate all uses!" in str(error)


ENDINGS = {
    "abort": (llvm_texts.ABORTING, WAIT_S, 8192, "crashed (signal 6): LLVM ERROR:"),
    "hang": (llvm_texts.endless(200_000), 1, 8192, "took more than 1 s"),
    "memory": (llvm_texts.endless(200_000), WAIT_S, 100, "ran out of memory"),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_the_caller_lives_and_compiles_on(worker, graph, how):
    text, limit_s, mib, expected = ENDINGS[how]
    error = refusal(request(text, memory_limit_mib=mib), worker, graph, limit_s)
    assert error.code == "WV0606"
    assert f"the code generator of `mapped` {expected}" in str(error)
    saved = re.search(r"saved as (\S+)", str(error))[1]
    assert Path(saved).name == "mapped.ll"
    assert Path(saved).read_text() == text
    assert ask_llvm(request(llvm_texts.DOUBLED), worker, WAIT_S, graph)


@pytest.mark.parametrize(
    ("call", "version"),
    [
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {$0}", PTX_FLOAT8),
        ("@llvm.nvvm.mma.m16n8k32.row.col.e5m2", PTX_FLOAT8),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0}", PTX),
        ("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", PTX),
    ],
)
def test_products_of_8_bit_floats_ask_for_a_later_version(call, version):
    assert ptx_version(llvm_texts.DOUBLED + f"; {call}") == version
