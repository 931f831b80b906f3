"""Products that feed each other keep their elements in the lanes that need them."""

from __future__ import annotations

import numpy as np
import pytest
from staged import GLOBAL, K, M, N, ops, simulate

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile

L = tkl.sym.L


def attention(*, transposed):
    """``c = exp2(q k^T / 8) v / rowsum``; the scores as written, or transposed."""
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WaveConstraint(M, 32),
        tkw.TilingConstraint(L, 32),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def kernel(
        q: tkl.Memory[M, K, GLOBAL, tkl.f16],
        k: tkl.Memory[L, K, GLOBAL, tkl.f16],
        v: tkl.Memory[N, L, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        total = tkl.Register[M, tkl.f32](0.0)
        acc = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(L, init_args=[total, acc])
        def loop(total, acc):
            one, other = tkw.read(q), tkw.read(k)
            if transposed:
                zero = tkl.Register[L, M, tkl.f32](0.0)
                scores = tkw.permute(tkw.mma(other, one, zero), [M, L])
            else:
                zero = tkl.Register[M, L, tkl.f32](0.0)
                scores = tkw.mma(one, other, zero)
            exists = tkw.apply_expr(tkw.self_index(L, tkl.i64), lambda x: x < L)
            exists = tkw.cast(tkw.broadcast(exists, [M, L]), tkl.i1)
            powers = tkw.exp2(scores * 0.125)
            powers = tkw.select(exists, powers, tkl.Register[M, L, tkl.f32](0.0))
            total = tkw.sum(powers, total, dim=L)
            half = tkw.cast(powers, tkl.f16)
            if transposed:
                turned = tkw.permute(acc, [N, M])
                acc = tkw.permute(tkw.mma(tkw.read(v), half, turned), [M, N])
            else:
                acc = tkw.mma(half, tkw.read(v), acc)
            return total, acc

        total, acc = loop
        tkw.write(acc / tkw.broadcast(total, [M, N]), c)

    return kernel


def compiled(sizes, *, transposed=False, **options):
    """The kernel at M, N, K and L."""
    subs = dict(zip((M, N, K, L), sizes, strict=True))
    options = tkl.WaveCompileOptions(subs=subs, device="sim", **options)
    return wave_compile(options, attention(transposed=transposed))


def exchanged(kernel):
    """How many products the pass has exchanged."""
    (run,) = [r for r in kernel.timings.passes if r.name == "chain-matrix-products"]
    return run.statistics["exchanged_products"]


def launched(kernel, sizes):
    """The largest error of a launch."""
    m, n, k, l = sizes
    rng = np.random.default_rng(3)
    q, keys, v = (
        rng.standard_normal(shape).astype("float16")
        for shape in ((m, k), (l, k), (n, l))
    )
    c = np.full((m, n), np.nan, "float32")
    result = simulate(kernel, (q, keys, v, c))
    powers = np.exp2(q.astype("float64") @ keys.astype("float64").T / 8)
    wanted = powers @ v.astype("float64").T / powers.sum(1, keepdims=True)
    assert result.reports == ()
    return np.abs(c - wanted).max(initial=0)


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "generic"])
@pytest.mark.parametrize("sizes", [(32, 32, 32, 64), (33, 31, 17, 40), (1, 1, 1, 1)])
def test_scores_as_written_need_no_exchange_through_lds(target, sizes):
    kernel = compiled(sizes, target=target)
    assert launched(kernel, sizes) < 2e-3
    assert exchanged(kernel) == 2
    assert not ops(kernel.graph, "allocate")


def test_without_the_pass_lds_is_needed():
    sizes = (32, 32, 32, 64)
    off = ("chain-matrix-products",)
    kernel = compiled(sizes, target="gfx942", disable_passes=off)
    assert launched(kernel, sizes) < 2e-3
    assert ops(kernel.graph, "allocate")


def test_what_an_author_has_transposed_stays():
    sizes = (32, 32, 32, 64)
    kernel = compiled(sizes, target="gfx942", transposed=True)
    assert launched(kernel, sizes) < 2e-3
    assert exchanged(kernel) == 0
    assert not ops(kernel.graph, "allocate")
