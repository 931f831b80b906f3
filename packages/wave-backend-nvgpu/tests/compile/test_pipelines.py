"""What the assembler makes of products: no spills, and operands by matrices."""

from __future__ import annotations

import re

import pytest
from emulated_kernels import compiled
from product_kernels import K, M, N, product

from wave_backend_nvgpu.compile.assemble import assemble, disassemble
from wave_backend_nvgpu.compile.tools import find_disassembler


@pytest.mark.covering(1)
@pytest.mark.parametrize("across", [False, True], ids=["nt", "nn"])
@pytest.mark.parametrize("preset", ["default", "prefetch", "fetch-ahead", "four-stage"])
def test_products_of_128_by_128(assembler, limits, preset, across):
    """A wave of 64 by 64 by 32 fetches sixteen times for 64 products."""
    kernel = product("f16", across=across, tile=(128, 128, 32))
    sizes = {M: 4096, N: 4096, K: 4096}
    made = compiled(kernel, sizes, preset=preset, use_global_to_shared=True)
    done = assemble(made.ptx, "sm_90", assembler, limits)
    assert done.remarks.spilled_bytes == 0
    assert done.remarks.registers < 255
    tool = find_disassembler()
    assert tool is not None
    text, failure = disassemble(done.cubin, tool, limits)
    assert not failure
    products = len(re.findall(r"\bHMMA\.", text))
    assert products > 0
    assert len(re.findall(r"\bLDSM\.", text)) == products // 4
    # What fetches operands piece by piece, and what moves them together.
    assert not re.findall(r"\bLDS\.(?:64|128)\b|\bSTL\b|\bLDL\b", text)
    assert len(re.findall(r"\bMOV\b|\bIMAD\.MOV\b", text)) < products // 4
