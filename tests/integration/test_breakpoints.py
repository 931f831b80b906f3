"""`breakpoint_here` shows the same registers in simulators and of machine code."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkw
from wave_core.compile import wave_compile

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.TilingConstraint(K, 16),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]
)
def product(
    a: tkw.Memory[M, K, GLOBAL, tkw.f16],
    b: tkw.Memory[N, K, GLOBAL, tkw.f16],
    c: tkw.Memory[M, N, GLOBAL, tkw.f32],
):
    @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)], start=1)
    def total(acc):
        left = tkw.read(a)
        acc = tkw.mma(left, tkw.read(b), acc)
        tkw.breakpoint_here(acc=acc, left=left, flag=acc > 0.0)
        return acc

    @tkw.conditional(tkw.WORKGROUP_0 > 0)
    def _():
        tkw.breakpoint_here(total)

    @tkw.conditional(tkw.WORKGROUP_0 > 5)
    def _():
        tkw.breakpoint_here(never=total)

    tkw.write(total, c)


def arguments(kind):
    rng = np.random.default_rng(8)
    shapes = (20, 50), (24, 50)
    a, b = (rng.standard_normal(shape).astype("f2") for shape in shapes)
    c = np.full((20, 24), np.nan, "f4")
    return [torch.from_numpy(x) for x in (a, b, c)] if kind == "torch" else [a, b, c]


def run(device, target, kind="numpy"):
    given = arguments(kind)
    sizes = {M: 20, N: 24, K: 50}
    options = tkw.WaveCompileOptions(subs=sizes, device=device, target=target)
    kernel = wave_compile(options, product)
    kernel(*given)
    return np.asarray(given[-1]), kernel.last_run


def _is_there(row):
    return any(present.any() for present in row.present.values())


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_machine_code_stops_where_lanes_stop(target, kind):
    expected, lanes = run("sim", "generic")
    result, code = run("emulator", target, kind)
    np.testing.assert_allclose(result, expected, atol=1e-4)
    # No workgroup comes to the last one; the lane simulator says so by an empty one.
    wanted = [row for row in lanes.snapshots if _is_there(row)]
    assert len(code.snapshots) == len(wanted) == 4
    for one, other in zip(code.snapshots, wanted, strict=True):
        assert one.location.line == other.location.line
        assert (one.loops, one.dims) == (other.loops, other.dims)
        assert one.workgroups == other.workgroups
        for label, tensor in other.tensors.items():
            there = other.present[label]
            np.testing.assert_array_equal(one.present[label], there)
            assert one.tensors[label].dtype == tensor.dtype
            want, got = (np.where(there, x, 0) for x in (tensor, one.tensors[label]))
            np.testing.assert_allclose(got, want, atol=1e-4)


def test_tiles_and_lanes_stop_in_the_same_iterations():
    tiles, lanes = (run(device, "generic")[1] for device in ("sim-logical", "sim"))
    assert [row.loops for row in tiles.snapshots] == [
        row.loops for row in lanes.snapshots
    ]


def test_breakpoints_are_no_logs():
    _, record = run("emulator", "gfx942")
    assert record.logs == {}
    assert [sorted(row.tensors) for row in record.snapshots] == [
        ["acc", "flag", "left"],
        ["acc", "flag", "left"],
        ["acc", "flag", "left"],
        ["value0"],
    ]
    assert [row.loops for row in record.snapshots] == [
        {"$IV:K": 1},
        {"$IV:K": 2},
        {"$IV:K": 3},
        {},
    ]
