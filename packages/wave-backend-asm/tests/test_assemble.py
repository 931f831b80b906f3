"""Assembly becomes a code object that runs; what is refused is refused with a line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_backend_asm.assemble.document import Argument, Kernel, document
from wave_backend_asm.assemble.messages import AssemblerError
from wave_backend_asm.bindings import assemble
from wave_emulator_amdgcn import emulate, load

ADDED = Kernel(
    name="added",
    chip="gfx942",
    arguments=(Argument(pointer=False), Argument(pointer=True), Argument(pointer=True)),
    code=(
        ".loc 1 7 3",
        "s_load_dword s5, s[0:1], 0x0",
        "s_load_dwordx4 s[8:11], s[0:1], 0x8",
        "s_lshl_b32 s6, s2, 8",
        "v_lshl_add_u32 v1, v0, 2, s6",
        "s_waitcnt lgkmcnt(0)",
        ".loc 1 9 3",
        "global_load_dword v2, v1, s[8:9]",
        "s_waitcnt vmcnt(0)",
        "v_accvgpr_write_b32 a0, v2",
        "s_nop 1",
        "v_accvgpr_read_b32 v3, a0",
        "v_add_u32_e32 v3, s5, v3",
        "global_store_dword v1, v3, s[10:11]",
        "s_endpgm",
    ),
    used={"v": 4, "a": 1, "s": 12},
    threads=64,
    files={1: "kernel.py"},
)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_kernel_runs(chip):
    code = load(assemble(document(replace(ADDED, chip=chip)), chip))
    given = np.random.default_rng().integers(0, 1 << 30, 128, dtype=np.int32)
    found = np.full_like(given, -1)
    result = emulate(code, (given, found), grid=(2, 1, 1), constants=(5,))
    assert result.reports == ()
    assert np.array_equal(found, given + 5)


def test_descriptor_and_metadata_say_what_the_kernel_has():
    chip, lds = "gfx942", 4096
    code = load(assemble(document(replace(ADDED, lds_bytes=lds)), chip))
    kernel = code.kernel()
    assert kernel.block == (64, 1, 1)
    assert (kernel.lds_bytes, kernel.descriptor.lds_bytes) == (lds, lds)
    assert [(row.offset, row.size) for row in kernel.arguments] == [
        (0, 4), (8, 8), (16, 8),
    ]  # fmt: skip
    assert kernel.kernarg_bytes == ADDED.argument_bytes == 24
    assert kernel.vgprs == ADDED.vectors == 5


def test_code_has_the_lines_of_the_author():
    places = load(assemble(document(ADDED), "gfx942")).lines.places
    assert [place for place in places if place] == ["kernel.py:7", "kernel.py:9"]


def test_missing_wait_is_reported():
    code = tuple(line for line in ADDED.code if line != "s_waitcnt vmcnt(0)")
    loaded = load(assemble(document(replace(ADDED, code=code)), "gfx942"))
    buffers = np.zeros(64, np.int32), np.zeros(64, np.int32)
    reports = emulate(loaded, buffers, grid=(1, 1, 1), constants=(5,)).reports
    assert {report.code for report in reports} == {"EM0504"}


def test_refusal_has_line_and_reason(capfd):
    text = document(replace(ADDED, code=("s_nop 0", "v_wrong_b32 v0, v1")))
    with pytest.raises(AssemblerError) as caught:
        assemble(text, "gfx942")
    (message,) = caught.value.messages
    assert text.splitlines()[message.line - 1] == "v_wrong_b32 v0, v1"
    assert message.column == 1
    assert "invalid instruction" in message.why
    assert capfd.readouterr().err == ""
    assert load(assemble(document(ADDED), "gfx942")).kernel().name == "added"


def test_instruction_of_another_chip_is_refused():
    line = "v_mfma_f32_16x16x32_f16 v[0:3], v[0:3], v[0:3], v[0:3]"
    text = document(replace(ADDED, code=(line, "s_endpgm"), used={"v": 4, "s": 5}))
    assert load(assemble(text, "gfx950")).kernel().name == "added"
    with pytest.raises(AssemblerError, match="not supported on this GPU"):
        assemble(text, "gfx942")
