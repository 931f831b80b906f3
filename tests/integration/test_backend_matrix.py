"""Every matrix instruction of every target: its machine code, executed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from machine_code import TARGETS, compiled, instructions, open_session

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_emulator_amdgcn import emulate, load

SESSION = open_session()
M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
NOT_EMULATED = {"gfx1250"}

TORCH = {
    "f8e4m3fn": torch.float8_e4m3fn,
    "f8e4m3fnuz": torch.float8_e4m3fnuz,
    "f8e5m2": torch.float8_e5m2,
    "f8e5m2fnuz": torch.float8_e5m2fnuz,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i32": torch.int32,
}
RESULTS = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
CASES = [
    pytest.param(target, row, dtype, id=f"{target}-{row.name}-{dtype}")
    for target in TARGETS
    for row in SESSION.target(target).matrix_instructions
    for dtype in row.operand_dtypes
    if not dtype.is_packed  # test_small_types.py
]


def product(row, dtype):
    """One tile of the instruction's size."""
    m, n, _ = row.shape
    result = row.result_dtype
    rows = [
        tkw.WorkgroupConstraint(M, m, 0),
        tkw.WorkgroupConstraint(N, n, 1),
        tkw.HardwareConstraint(mma_type=row.name),
    ]

    @tkw.wave(rows)
    def product(
        a: tkl.Memory[M, K, GLOBAL, dtype],
        b: tkl.Memory[N, K, GLOBAL, dtype],
        c: tkl.Memory[M, N, GLOBAL, result],
    ):
        zero = tkl.Register[M, N, result](0)
        tkw.write(tkw.mma(tkw.read(a), tkw.read(b), zero), c)

    return product


def sizes(row):
    return dict(zip((M, N, K), row.shape, strict=True))


@pytest.mark.parametrize(("target", "row", "dtype"), CASES)
def test_one_tile(target, row, dtype):
    kernel, subs = product(row, dtype), sizes(row)
    if target in NOT_EMULATED:
        found = instructions(compiled(SESSION, kernel, target, "asm", subs))
    else:
        found = executed(kernel, target, row, dtype)
    issued = [op for op in found if op.startswith(("v_mfma", "v_wmma"))]
    assert len(issued) == row.issues
    k = row.shape[2] // row.issues
    assert all(f"x{k}" in op for op in issued)


def executed(kernel, target, row, dtype):
    """The mnemonics that ran, after a check of the product."""
    m, n, k = row.shape
    a, b = (torch.randint(-4, 5, (size, k)).to(TORCH[str(dtype)]) for size in (m, n))
    c = np.full((m, n), 77, RESULTS[str(row.result_dtype)])
    code = compiled(SESSION, kernel, target, "hsaco", sizes(row))
    result = emulate(load(code), [as_bytes(a), as_bytes(b), c], grid=(1, 1, 1))
    assert result.reports == ()
    assert np.array_equal(c, (a.double() @ b.double().T).numpy())
    return [bound.instruction.name.lower() for bound in result.program.executed()]


def as_bytes(tensor):
    return tensor.contiguous().view(torch.uint8).numpy()


def test_all_kinds_of_operands_occur():
    kinds = {str(case.values[2]) for case in CASES}
    assert kinds == set(TORCH) - {"i32"}
    assert {row.issues for _, row, _ in (case.values for case in CASES)} == {1, 2}


@pytest.mark.parametrize(
    ("target", "instruction", "elsewhere"),
    [
        ("gfx90a", "F32_16x16x32_F16", "gfx950"),
        ("gfx942", "RDNA4_WAVE32_F32_16x16x16_F8", "gfx1201"),
        ("gfx1100", "F32_16x16x32_F8", "gfx942, gfx950"),
    ],
)
def test_an_instruction_that_the_target_lacks(target, instruction, elsewhere):
    (home,) = {elsewhere.partition(",")[0]}
    row = SESSION.target(home).matrix_instruction(instruction)
    with pytest.raises(UserError) as caught:
        compiled(
            SESSION, product(row, row.operand_dtypes[0]), target, "asm", sizes(row)
        )
    text = str(caught.value)
    assert caught.value.code == "WV0702"
    assert f"target `{target}` has no matrix instruction `{instruction}`" in text
    assert "this `mma` asks for it" in text
    assert f"targets with it: {elsewhere}" in text


def test_operands_that_the_target_cannot_multiply():
    row = SESSION.target("gfx942").matrix_instruction("F32_16x16x32_F8")
    kernel = product(row, tkl.f8e4m3fn)
    with pytest.raises(UserError) as caught:
        compiled(SESSION, kernel, "gfx942", "asm", sizes(row))
    assert caught.value.code == "WV0205"
    assert "takes f8e4m3fnuz, f8e5m2fnuz, not f8e4m3fn" in str(caught.value)
