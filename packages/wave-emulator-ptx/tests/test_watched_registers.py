"""Registers of asynchronous products, and those to which these are moved on."""

from __future__ import annotations

from time import process_time

import pytest
from group_products import HEAD

from wave_emulator_ptx import UnknownInstructionError, load
from wave_emulator_ptx.program import program_of
from wave_emulator_ptx.scope import used_by_products

PRODUCT = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
    " {%r0, %r1, %r2, %r3}, %d, %d, 1, 1, 1, 0, 0;\n"
)


def module(body, registers=16):
    """A kernel whose product uses the first four registers."""
    declared = f".reg .b32 %r<{registers}>; .reg .b64 %d;\n"
    text = f"{HEAD}.visible .entry kernel()\n{{\n{declared}{PRODUCT}{body}\n}}\n"
    return load(text)


def test_moves_are_followed_wherever_they_stand():
    body = (
        "mov.b32 %r7, %r6;\nmov.f32 %r6, %r5;\nmov.u32 %r5, %r3;\nmov.b32 %r8, %r3;\n"
        "mov.b32 %r3, %r7;\nmov.b32 %r10, %r9;\nadd.u32 %r11, %r3, %r3;"
    )
    found = used_by_products(module(body).kernels["kernel"])
    assert found == [f"%r{number}" for number in (0, 1, 2, 3, 5, 8, 6, 7)]


def test_thousands_of_moves_from_the_last_to_the_first_are_followed_at_once():
    count = 30_000
    body = "".join(f"mov.b32 %r{i}, %r{i - 1};\n" for i in range(count - 1, 3, -1))
    read = module(body, count)
    began = process_time()
    assert len(program_of(read).scope.watched) == count
    assert process_time() - began < 20


def test_what_is_known_of_registers_counts_for_how_many_threads_run_together():
    program = program_of(module("mov.b32 %r4, %r3;"))
    assert program.state == 16 * 4 + 8 + 5 * (8 + 1 + 1)


@pytest.mark.parametrize("move", ["mov.b32 %r4;", "mov.b32;", "mov.b32 %r4, %r5, %r6;"])
def test_moves_of_other_operands_are_refused(move):
    with pytest.raises(UnknownInstructionError, match="it takes a register"):
        program_of(module(move))
