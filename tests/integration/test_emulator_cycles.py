"""Cycles of kernels written in Wave, compiled by our backend, run by the emulator."""

from __future__ import annotations

import json
from functools import partial

import pytest
from typer.testing import CliRunner

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.targets import chips
from wave_core.cli import inspect as inspect_command
from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.diagnostics import UserError
from wave_core.plugin import ViewRequest
from wave_emulator_amdgcn import LaunchOptions
from wave_emulator_amdgcn.views import cycles
from wave_isa_amdgcn.matrix import MATRIX_FLOPS, matrix_cycles

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
SIZE = 256


WORDS = {"f8e4m3fn": "FP8", "f8e4m3fnuz": "FP8", "f8e5m2": "BF8", "f8e5m2fnuz": "BF8"}
"""Element types that instructions call otherwise."""

ROWS = [
    pytest.param(chip, row, dtype, id=f"{chip}-{row.name}-{dtype}")
    for chip in MATRIX_FLOPS
    for row in getattr(chips, chip)().matrix_instructions
    for dtype in row.operand_dtypes
    if row.unit == "mfma"
]


@pytest.mark.parametrize(("chip", "row", "dtype"), ROWS)
def test_schedulers_count_matrix_instructions_as_the_emulator_does(chip, row, dtype):
    m, n, k = row.shape
    word = WORDS.get(str(dtype), str(dtype).upper())
    shape = f"{m}X{n}X{k // row.issues}"
    name = f"V_MFMA_{str(row.result_dtype).upper()}_{shape}_{word}"
    assert row.cycles == matrix_cycles(name, MATRIX_FLOPS[chip])


def staged(padding):
    """``c = a b^T`` through LDS by hand, with rows so many elements longer."""
    constraints = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 16),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[M, N, tkl.f32](0.0)
        a_shared = tkw.allocate((M, K), (64, 16), tkl.f16, padding=padding)
        b_shared = tkw.allocate((N, K), (64, 16), tkl.f16, padding=padding)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            tkw.write(tkw.read(a), a_shared)
            tkw.write(tkw.read(b), b_shared)
            tkw.shared_memory_barrier()
            acc = tkw.mma(tkw.read(a_shared), tkw.read(b_shared), acc)
            tkw.shared_memory_barrier()
            return acc

        tkw.write(repeat, c)

    return gemm


def direct():
    """The same from memory."""
    constraints = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 16),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


MEMORY_PASSES = "passes_memory"


@pytest.fixture(scope="module")
def estimated():
    """What a GEMM kernel costs, by its author's means: a number of the document."""

    def run(kernel, part="cycles", name="per_workgroup", *, passes=False):
        import numpy as np

        disabled = () if passes else (MEMORY_PASSES,)
        config = Config(cache=False, disabled_plugins=disabled)
        session = Session(config=config, announce=lambda _: None)
        # One schedule for all, of which LDS is the limit.
        options = tkl.WaveCompileOptions(
            subs={M: SIZE, N: SIZE, K: SIZE}, target="gfx942", preset="fetch-ahead"
        )
        files = emit(options, kernel, "hsaco", session).files
        half = np.ones((SIZE, SIZE), np.float16)
        arguments = [half, half, np.zeros((SIZE, SIZE), np.float32)]
        view = cycles(ViewRequest("gemm", "gfx942", files, {}, lambda: arguments))
        return view.document[part][name]

    return run


def test_staging_and_padding_by_hand_cost_fewer_cycles(estimated):
    found = [estimated(kernel) for kernel in (direct(), staged(0), staged(4))]
    assert found[0] > 1.05 * found[1] > 1.05 * 1.05 * found[2], found


def test_the_compiler_lays_rows_out_as_well_as_padding_does(estimated):
    lds = ("counters", "lds_cycles")
    best = estimated(staged(4), *lds, passes=True)
    plain, laid_out = (estimated(staged(0), *lds, passes=p) for p in (False, True))
    assert laid_out < 1.02 * best < plain, (laid_out, best, plain)


def test_inspect_shows_cycles_by_source_line():
    arguments = ["gemm-staged", "--target", "gfx942", "--what", "cycles", "--json"]
    sizes = ["--shape", "M=64,N=64,K=64", "--set", "BLOCK_M=64", "--set", "BLOCK_N=64"]
    done = CliRunner().invoke(inspect_command.app, [*arguments, *sizes])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["cycles"]["per_workgroup"] > 0
    assert 0 < document["cycles"]["mfma_utilisation"] < 1
    assert any("staged_gemm.py:" in line["source"] for line in document["lines"])
    check_timeline(document["timeline"])


@pytest.mark.parametrize("kernel", ["attention-decode", "attention-merge"])
def test_sizes_that_come_with_the_launch_are_those_of_arguments(kernel):
    """A kernel's own names for them are none of the case's: it ended in a KeyError."""
    asked = [kernel, "--target", "gfx942", "--what", "cycles", "--json"]
    done = CliRunner().invoke(inspect_command.app, asked)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["cycles"]["total"] > 0


def check_timeline(found):
    """Events of a wave follow each other, and the last ends when the unit is done."""
    ready = dict.fromkeys((wave["wave"] for wave in found["waves"]), 0.0)
    for wave, at, start, end, stall, reason in found["events"]:
        assert end >= start >= ready[wave] + stall - 0.2
        ready[wave] = start
        assert found["instructions"][at]["text"]
        assert found["reasons"][reason]
    assert max(ready.values()) <= found["cycles"]
    assert found["events_left_out"] == 0


def test_of_a_long_launch_one_workgroup_is_executed_and_the_view_says_so(monkeypatch):
    """At ordinary sizes it ended in the step limit, or an estimate of cut paths."""
    monkeypatch.setattr("wave_emulator_amdgcn.costs.sample._SHORT", 0)
    arguments = ["gemm-staged", "--target", "gfx942", "--what", "cycles"]
    arguments += ["--preset", "default"]
    done = CliRunner().invoke(
        inspect_command.app, [*arguments, "--shape", "M=256,N=256,K=4096"]
    )
    assert done.exit_code == 0, done.output
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "workgroups executed 1 of 4" in rows
    assert "turns of the loop replayed 32 of 64" in rows
    assert any(row.startswith("time at 2.1 GHz ") for row in rows)
    assert any(row.endswith(" TFLOP/s") for row in rows)


def test_a_kernel_that_takes_too_long_says_what_to_do(monkeypatch):
    """Attention at its usual sizes ended in an error of the emulator without a code."""
    few = partial(LaunchOptions, step_limit=1000)
    monkeypatch.setattr("wave_emulator_amdgcn.costs.sample.LaunchOptions", few)
    arguments = ["softmax", "--target", "gfx942", "--what", "cycles"]
    with pytest.raises(UserError) as caught:
        CliRunner().invoke(inspect_command.app, arguments, catch_exceptions=False)
    assert str(caught.value) == (
        "error[WV0829]: view `cycles` of kernel `softmax`: EM0303: the kernel does not "
        "end in 1,000 wave-instructions\n  = help: choose smaller sizes, as --shape "
        "M=256,N=256: the estimate is of one workgroup"
    )


def test_an_unknown_view_is_refused():
    done = CliRunner().invoke(
        inspect_command.app, ["copy", "--target", "gfx942", "--what", "nothing"]
    )
    assert done.exit_code != 0
    assert "WV0801" in done.output or "WV0801" in str(done.exception)
