"""Running sums of the rows of a matrix, each row shared by four waves.

    python examples/block_cumsum.py

Each wave sums its part of a row: the registers of a lane, then the lanes. Then each
takes in the totals of the waves before it, which pass through LDS. The layout is free:
elements are combined in the order of their indices, whoever holds them.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(M, 2, 0),
    tkw.WorkgroupConstraint(N, 1024, 1),
    tkw.WaveConstraint(N, 256),
    tkw.HardwareConstraint(),
]


@tkw.wave(constraints)
def block_cumsum(
    a: tkl.Memory[M, N, GLOBAL, tkl.f32],
    b: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    tkw.write(tkw.cumsum(tkw.read(a), dim=N, block=True), b)


def build(m=5, n=1000, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    options = {"subs": {M: m, N: n}, "device": "sim", **options}
    kernel = tkw.wave_compile(tkw.WaveCompileOptions(**options), block_cumsum)
    a = torch.randn(m, n)
    expected = a.double().cumsum(1).float()
    return kernel, (a, torch.full_like(a, torch.nan)), expected


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-4, atol=1e-4)
    print(f"{kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
