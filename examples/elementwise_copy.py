"""Copy a matrix of any shape: the smallest kernel that distributes a tensor.

    python examples/elementwise_copy.py

A workgroup copies a tile of BLOCK_M x BLOCK_N elements. No tile divides 129 x 100; the
compiler masks what hangs over the edge. How many elements a lane moves at a time, and
which lane moves which, is not said anywhere: the compiler chooses.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

# Sizes and tiles are symbols. They get values when the kernel is compiled.
M, N = tkl.sym.M, tkl.sym.N
BLOCK_M, BLOCK_N = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

# How the dimensions spread: tiles over the grid's axes, one wave a tile.
constraints = [
    tkw.HardwareConstraint(),
    tkw.WorkgroupConstraint(M, BLOCK_M, 1),
    tkw.WorkgroupConstraint(N, BLOCK_N, 0),
    tkw.WaveConstraint(M, BLOCK_M),
    tkw.WaveConstraint(N, BLOCK_N),
]


@tkw.wave(constraints)
def copy(
    a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
):
    res = tkw.read(a)
    tkw.write(res, b)


def build(m=129, n=100, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    options = tkw.WaveCompileOptions(
        subs={
            M: m,
            N: n,
            BLOCK_M: 16,
            BLOCK_N: 64,
            ADDRESS_SPACE: tkl.GLOBAL_MEMORY,
        },
        **{"device": "sim", **options},
    )
    a = torch.randn(m, n, dtype=torch.float16)
    b = torch.full_like(a, torch.nan)
    return tkw.wave_compile(options, copy), (a, b), a


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    assert torch.equal(arguments[-1], expected), "every bit"
    print(f"{kernel.signature}: equal bit by bit")


if __name__ == "__main__":
    main()
