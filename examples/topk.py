"""The greatest elements of each row and where they are, as a router of experts asks.

    python examples/topk.py

`K` is a symbol: its value, known when the kernel is compiled, says how many, and it
names the new dimension. Of equal elements the first comes first.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(M, 4, 0),
    tkw.HardwareConstraint(),
]


@tkw.wave(constraints)
def topk(
    a: tkl.Memory[M, N, GLOBAL, tkl.f32],
    places: tkl.Memory[M, K, GLOBAL, tkl.i32],
    values: tkl.Memory[M, K, GLOBAL, tkl.f32],
):
    greatest, where = tkw.topk(tkw.read(a), K, dim=N)
    tkw.write(where, places)
    tkw.write(greatest, values)


def build(m=9, n=100, k=4, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    options = {"subs": {M: m, N: n, K: k}, "device": "sim", **options}
    kernel = tkw.wave_compile(tkw.WaveCompileOptions(**options), topk)
    a = torch.randn(m, n)
    places = torch.full((m, k), -1, dtype=torch.int32)
    values = torch.full((m, k), torch.nan)
    return kernel, (a, places, values), torch.topk(a, k, dim=1).values


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    a, places, values = arguments
    assert torch.equal(values, expected)
    assert torch.equal(a.gather(1, places.long()), values)
    print(f"{kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
