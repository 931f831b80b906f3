"""What loops add to addresses stands in scalar registers, where that is proved."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
import wave_emulator_amdgcn.launch as launch
from wave_core.compile.kernels import make_case
from wave_emulator_amdgcn import load
from wave_emulator_amdgcn.isa import resource

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROWS, TURNS = 32, 40
SCALED = '"amdgpu.raw_buffer_load"'


def sums(dtype=tkl.f16, columns=64):
    """The sum of each column, a few rows in each turn."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(N, columns, 0),
            tkw.TilingConstraint(M, ROWS),
            tkw.HardwareConstraint(),
        ]
    )
    def sums(a: tkl.Memory[M, N, GLOBAL, dtype], b: tkl.Memory[N, GLOBAL, dtype]):
        @tkw.iterate(M, init_args=[tkl.Register[N, dtype](0.0)])
        def total(partial: tkl.Register[N, dtype]) -> tkl.Register[N, dtype]:
            return tkw.sum(tkw.read(a), partial, dim=M)

        tkw.write(total, b)

    return sums


def loop_of(text):
    """The instructions between the first label that is jumped back to and the jump."""
    lines = text.splitlines()
    jump = next(i for i, line in enumerate(lines) if "s_cbranch_scc" in line)
    label = lines[jump].split()[-1] + ":"
    return lines[next(i for i, line in enumerate(lines) if line.startswith(label)) :]


@pytest.mark.parametrize("dtype", [tkl.f16, tkl.f32, tkl.bf16])
def test_a_loop_adds_to_a_scalar_offset(emitted, dtype):
    assert SCALED in emitted(sums(dtype), "mlir", subs={M: ROWS * TURNS, N: 64})


@pytest.mark.covering(1)
@pytest.mark.parametrize("rows", [ROWS, ROWS * TURNS, ROWS * TURNS - 5])
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_it_is_the_same_memory(emitted, target, rows):
    files = emitted.files(sums(tkl.f32), "hsaco", target, {M: rows, N: 64})
    # Small whole numbers: sums in any order are exact. Beyond the end lie others.
    backing = np.random.default_rng(rows).integers(-8, 9, ((rows + 8) * 64,))
    given = backing.astype(np.float32)
    found = np.zeros(64, np.float32)
    launch.emulate(load(files["code.hsaco"]), [given, found], grid=(1, 1, 1))
    assert np.array_equal(found, given[: rows * 64].reshape(rows, 64).sum(axis=0))


READINGS = {
    "summed": lambda records, within, extra: records - within - extra,
    "summed in 32 bits": lambda records, within, extra: (
        records - (within + extra & 0xFFFFFFFF)
    ),
    "room in 32 bits": lambda records, within, extra: (
        (records - extra & 0xFFFFFFFF) - within
    ),
    "not counted": lambda records, within, extra: records - within,
}
"""Bytes in range, by what a chip may make of the scalar offset."""


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_masks_hold_whatever_a_chip_makes_of_the_scalar_offset(
    emitted, monkeypatch, target, reading
):
    """MLIR leaves it open; the last turn of the loop has rows that do not exist."""
    rows, asked = ROWS * TURNS - 5, []

    def left(record, _index, within, extra, **_kind):
        asked.append(int(extra.max()))
        return READINGS[reading](record.records, within, extra)

    monkeypatch.setattr(resource, "_left_gfx9", left)
    files = emitted.files(sums(tkl.f32), "hsaco", target, {M: rows, N: 64})
    backing = np.ones((rows + ROWS) * 64, np.float32)
    found = np.zeros(64, np.float32)
    code = load(files["code.hsaco"])
    result = launch.emulate(code, [backing, found], grid=(1, 1, 1))
    assert result.reports == ()  # an access far behind the buffer reads zeros, too
    assert np.array_equal(found, np.full(64, rows))
    assert max(asked) >= (TURNS - 1) * ROWS * 64 * 4


def test_wide_elements_are_indexed(emitted):
    text = emitted(sums(tkl.f64), "mlir", subs={M: ROWS * TURNS, N: 64})
    assert SCALED not in text
    assert "#amdgpu.address_space<fat_raw_buffer>" in text


def test_memories_that_buffers_do_not_reach_are_indexed(emitted):
    text = emitted(sums(), "mlir", subs={M: ROWS << 20, N: 64})
    assert SCALED not in text
    assert f"memref<{(ROWS << 20) * 64}xf16, #amdgpu" not in text


def test_lanes_that_are_left_out_need_a_size_to_be_sure(emitted):
    assert SCALED not in emitted(sums(), "mlir", subs={N: 64}, dynamic=(M,))
    assert SCALED in emitted(sums(), "mlir", subs={M: ROWS * TURNS - 5, N: 64})


def test_the_loop_of_the_matrix_product_computes_no_addresses(emitted, session):
    shape = {"M": 128, "N": 128, "K": 2048}
    case = make_case(session.plugins.load_kernel("gemm"), "gemm", shape, {}, "gfx942")
    text = emitted(case.kernel, "asm", subs=case.options.subs)
    body = loop_of(text)
    loads = [line for line in body if "buffer_load" in line]
    assert loads
    before = [line for line in body[: body.index(loads[0])] if "\tv_" in line]
    assert not [line for line in before if "\tv_mfma" not in line]


def test_a_memory_that_is_read_at_its_start_before_the_loop_has_one_form(emitted):
    """The compiler dies of a buffer in two forms, one of them used at its start."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(N, 64, 0),
            tkw.TilingConstraint(M, ROWS),
            tkw.HardwareConstraint(),
        ]
    )
    def kernel(a: tkl.Memory[M, GLOBAL, tkl.f32], b: tkl.Memory[N, GLOBAL, tkl.f32]):
        first = tkw.read(a, mapping=FIRST)

        @tkw.iterate(M, init_args=[first])
        def total(partial: tkl.Register[N, tkl.f32]) -> tkl.Register[N, tkl.f32]:
            return tkw.sum(tkw.read(a), dim=M) + partial

        tkw.write(total, b)

    sizes = {M: ROWS * TURNS, N: 64}
    files = emitted.files(kernel, "hsaco", subs=sizes)
    given = np.arange(ROWS * TURNS, dtype=np.float32) + 5
    found = np.zeros(64, np.float32)
    launch.emulate(load(files["code.hsaco"]), [given, found], grid=(1, 1, 1))
    assert np.array_equal(found, np.full(64, given.sum() + given[0]))


FIRST = tkw.IndexMapping(1, inputs={M: 0}, outputs={N: tkw.IndexMapping.iterator(0)})
