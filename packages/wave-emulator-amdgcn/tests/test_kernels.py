"""Whole kernels, compiled by IREE, on every architecture: right results, no alarms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_emulator_amdgcn.launch import LaunchOptions, emulate

CDNA = ["gfx90a", "gfx942", "gfx950"]
RDNA = ["gfx1100", "gfx1201"]
ALL = CDNA + RDNA


@pytest.fixture(params=[True, False], ids=["hazards", "fast"])
def launch(request, code_object):
    def run(name, arch, buffers, grid, **more):
        options = LaunchOptions(hazards=request.param)
        result = emulate(
            code_object(name, arch), buffers, grid=grid, options=options, **more
        )
        assert result.reports == ()
        return result

    return run


@pytest.mark.parametrize("arch", ALL)
def test_copy(launch, rng, arch):
    a = rng.standard_normal(4096).astype(np.float32)
    b = np.zeros_like(a)
    launch("copy", arch, [a, b], (16, 1, 1))
    assert (a == b).all()


@pytest.mark.parametrize("arch", ALL)
def test_saxpy_with_a_bound(launch, rng, arch):
    a, b = rng.standard_normal((2, 4096)).astype(np.float32)
    c = np.zeros_like(a)
    launch("saxpy", arch, [a, b, c], (16, 1, 1), constants=[3000])
    want = a * b + a
    want[3000:] = 0
    assert np.allclose(c, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("arch", ALL)
def test_softmax(launch, rng, arch):
    lanes = 64 if arch in CDNA else 32
    x = rng.standard_normal((64, 4 * lanes)).astype(np.float32)
    y = np.zeros_like(x)
    launch("softmax", arch, [x, y], (64, 1, 1))
    e = np.exp2(x - x.max(1, keepdims=True))
    assert np.allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("arch", ALL)
def test_exchange_through_lds(launch, rng, arch):
    a = rng.standard_normal(4096).astype(np.float32)
    b = np.zeros_like(a)
    launch("exchange", arch, [a, b], (16, 1, 1))
    assert (b.reshape(16, 256) == a.reshape(16, 256)[:, ::-1]).all()


def test_lds_that_the_launch_adds(code_object, rng):
    """Code that declares no LDS has what its launch gives, as that of Triton."""
    known = code_object("exchange", "gfx942")
    kernel = replace(known.kernel(), lds_bytes=0)
    bare = replace(known, kernels={kernel.name: kernel})
    a = rng.standard_normal(4096).astype(np.float32)
    given = bare.with_dynamic_lds(known.kernel().lds_bytes)
    found = [emulate(code, [a, a.copy()], grid=(16, 1, 1)) for code in (bare, given)]
    assert [{each.code for each in result.reports} for result in found] == [
        {"EM0503"}, set()
    ]  # fmt: skip


@pytest.mark.parametrize("arch", ALL)
def test_atomics(launch, rng, arch):
    a = rng.integers(0, 1000, 4096).astype(np.int32)
    b = np.zeros(16, np.int32)
    launch("histogram", arch, [a, b], (16, 1, 1))
    assert (b == np.bincount(a & 15, minlength=16)).all()


@pytest.mark.parametrize("arch", ALL)
def test_loops_that_differ_between_lanes(launch, rng, arch):
    a = rng.integers(0, 1000, 256).astype(np.int32)
    b = np.zeros(256, np.int32)
    launch("triangle", arch, [a, b], (1, 1, 1))
    assert (b == np.concatenate([[0], np.cumsum(a * a)[:-1]])).all()


@pytest.mark.parametrize("arch", CDNA)
def test_gemm_by_mfma(launch, rng, arch):
    a, b = rng.standard_normal((2, 128, 128)).astype(np.float16)
    c = np.zeros((128, 128), np.float32)
    launch("gemm", arch, [a, b, c], (2, 2, 1))
    assert np.allclose(c, a.astype(np.float64) @ b.T.astype(np.float64), atol=1e-4)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_mfma_of_bytes(launch, rng, arch):
    a, b = rng.integers(-128, 128, (2, 64, 8)).astype(np.int8)
    c = rng.integers(-9999, 9999, (64, 4)).astype(np.int32)
    old = c.copy()
    launch("mfma_i8", arch, [a, b, c], (1, 1, 1))
    wide = [
        v.reshape(4, 16, 8).swapaxes(0, 1).reshape(16, 32).astype(int) for v in (a, b)
    ]
    product = wide[0] @ wide[1].T
    lane, register = np.ogrid[:64, :4]
    assert (c == product[4 * (lane // 16) + register, lane % 16] + old).all()


@pytest.mark.parametrize("arch", RDNA)
def test_wmma(launch, rng, arch):
    per_lane = 16 if arch == "gfx1100" else 8
    a, b = rng.standard_normal((2, 32, per_lane)).astype(np.float16)
    c = rng.standard_normal((32, 8)).astype(np.float32)
    old = c.copy()
    launch("wmma_f16", arch, [a, b, c], (1, 1, 1))
    lane, register = np.ogrid[:32, :8]
    if arch == "gfx1100":
        rows, full = 2 * register + lane // 16, [a[:16], b[:16]]
    else:
        rows = register + 8 * (lane // 16)
        full = [np.concatenate([v[:16], v[16:]], axis=1) for v in (a, b)]
    product = full[0].astype(np.float64) @ full[1].T.astype(np.float64)
    assert np.allclose(c, product[rows, lane % 16] + old, atol=1e-4)


def test_batches_of_workgroups_give_the_same(code_object, rng):
    a, b = rng.standard_normal((2, 128, 128)).astype(np.float16)
    results = []
    for waves in (4, 8, 1024):
        c = np.zeros((128, 128), np.float32)
        options = LaunchOptions(waves_at_once=waves)
        result = emulate(
            code_object("gemm", "gfx942"), [a, b, c], grid=(2, 2, 1), options=options
        )
        results.append((c.tobytes(), result.instructions, result.reports))
    assert results[0] == results[1] == results[2]
