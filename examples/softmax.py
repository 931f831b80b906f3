"""Softmax of the rows of a matrix in one kernel: read once, written once.

    python examples/softmax.py

One wave holds a whole row in its registers. `max` and `sum` reduce over N: first in the
registers of each lane, then among the lanes of the wave. `vector_shapes` says that one
step handles one row of N elements; elements beyond N take no part.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.HardwareConstraint(vector_shapes={M: 1, N: N}),
    tkw.WorkgroupConstraint(M, 1, 0),
    tkw.WaveConstraint(M, 1),
]


@tkw.wave(constraints)
def softmax(
    a: tkl.Memory[M, N, GLOBAL, tkl.f32],
    b: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    row = tkw.read(a)
    # The largest element goes first, so that no exponential overflows.
    largest = tkw.broadcast(tkw.max(row, dim=N), target_shape=[M, N])
    power = tkw.exp(row - largest)
    total = tkw.broadcast(tkw.sum(power, dim=N), target_shape=[M, N])
    tkw.write(power / total, b)


def build(m=50, n=300, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    options = tkw.WaveCompileOptions(subs={M: m, N: n}, **{"device": "sim", **options})
    a = torch.randn(m, n) * 5
    b = torch.full_like(a, torch.nan)
    return tkw.wave_compile(options, softmax), (a, b), torch.softmax(a, dim=1)


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-3, atol=1e-6)
    print(f"{kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
