"""RMSNorm of f16 rows: read once, written once, sums in f32.

    python examples/rmsnorm.py

`y = x / sqrt(mean(x * x) + eps) * w`, where `mean` goes along a row. A workgroup has
four rows, one for each wave, whose number of elements is known at the launch only; a
wave walks along its row twice, in tiles of 256.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(M, 4, 0),
    tkw.WaveConstraint(M, 1),
    tkw.TilingConstraint(N, 256),
    tkw.HardwareConstraint(vector_shapes={M: 1, N: 256}),
]


@tkw.wave(constraints)
def rmsnorm(
    x: tkl.Memory[M, N, GLOBAL, tkl.f16],
    w: tkl.Memory[N, GLOBAL, tkl.f16],
    eps: tkl.f32,
    y: tkl.Memory[M, N, GLOBAL, tkl.f16],
):
    @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0.0)])
    def squares(total):
        part = tkw.cast(tkw.read(x), tkl.f32)
        return tkw.sum(part * part, total, dim=N)

    scale = tkw.rsqrt(squares / tkw.scalar(N, tkl.f32) + eps)

    @tkw.iterate(N, init_args=[])
    def normalise():
        part = tkw.cast(tkw.read(x), tkl.f32)
        weight = tkw.broadcast(tkw.cast(tkw.read(w), tkl.f32), [M, N])
        scaled = part * tkw.broadcast(scale, [M, N]) * weight
        tkw.write(tkw.cast(scaled, tkl.f16), y)


def build(m=10, n=1000, eps=1e-5, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    options = {"subs": {M: m}, "dynamic_symbols": [N], "device": "sim", **options}
    kernel = tkw.wave_compile(tkw.WaveCompileOptions(**options), rmsnorm)
    x, w = torch.randn(m, n).half(), torch.randn(n).half()
    y = torch.full_like(x, torch.nan)
    exact = x.double()
    mean = exact.square().sum(1, keepdim=True) / max(n, 1)
    expected = (exact * (mean + eps).rsqrt() * w.double()).half()
    return kernel, (x, w, eps, y), expected


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=2e-3, atol=1e-3)
    print(f"{kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
