"""The op and the pass in a kernel, on both simulators."""

from __future__ import annotations

import pytest
import torch
from wave_example_pass.lang import relu6

import wave_core.lang as tkw
from wave_core.compile import WaveCompileOptions, wave_compile

M, N, BLOCK_M, BLOCK_N, ADDRESS_SPACE = (
    *(tkw.sym.M, tkw.sym.N, tkw.sym.BLOCK_M, tkw.sym.BLOCK_N),
    tkw.sym.ADDRESS_SPACE,
)

CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.WaveConstraint(M, BLOCK_M),
    tkw.WaveConstraint(N, BLOCK_N),
    tkw.HardwareConstraint(threads_per_wave=64),
]

SUBS = {
    M: 37,
    N: 65,
    BLOCK_M: 16,
    BLOCK_N: 32,
    ADDRESS_SPACE: tkw.GLOBAL_ADDRESS_SPACE,
}


@tkw.wave(CONSTRAINTS)
def activation(
    a: tkw.Memory[M, N, ADDRESS_SPACE, tkw.f32],
    b: tkw.Memory[M, N, ADDRESS_SPACE, tkw.f32],
):
    """``b = relu6(- - - -a)``."""
    value = tkw.read(a)
    for _ in range(4):
        value = -value
    tkw.write(relu6(value, cap=4.0), b)


def compiled(device="sim", **options):
    return wave_compile(
        WaveCompileOptions(subs=SUBS, device=device, **options), activation
    )


@pytest.mark.parametrize("device", ["sim", "sim-logical"])
@pytest.mark.parametrize("disabled", [(), ("fold-double-negation",)])
def test_the_kernel_computes_what_torch_computes(device, disabled):
    a = torch.randn(37, 65) * 5
    b = torch.full_like(a, torch.nan)
    compiled(device, disable_passes=disabled)(a, b)
    assert torch.equal(b, a.clamp(0, 4))


def negations(kernel):
    return sum(op.op_name == "neg" for op in kernel.snapshots("canonicalize").walk())


def test_the_pass_folds_and_counts():
    kernel = compiled()
    assert negations(kernel) == 0
    (row,) = [r for r in kernel.timings.passes if r.name == "fold-double-negation"]
    assert row.statistics == {"folded_negations": 2}


def test_its_option_has_a_text_form():
    kernel = compiled(passes="fold-double-negation{max-folds=1}")
    assert negations(kernel) == 2
    (row,) = [r for r in kernel.timings.passes if r.name == "fold-double-negation"]
    assert row.text == "fold-double-negation{max-folds=1}"


def test_without_the_pass_nothing_folds():
    kernel = compiled(disable_passes=("fold-double-negation",))
    assert negations(kernel) == 4
