"""Products of rows that a table picks, added to rows that it names: experts at work.

    python examples/gather_gemm_scatter.py

Each expert multiplies the tokens that chose it. A table has a row of slots for each
expert, with the number of a token in each slot, or -1 where a slot is free. A token
may have several experts, whose products add up in its row of the result.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

E, S, M, N, K = (getattr(tkl.sym, name) for name in ("E", "S", "M", "N", "K"))
BLOCK_S, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_S, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(S, BLOCK_S, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.WorkgroupConstraint(E, 1, 2),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WaveConstraint(S, BLOCK_S / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(),
]

i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
token = tkw.IndexMapping.dynamic_val(0)
rows_of_tokens = tkw.IndexMapping(
    2,
    inputs={M: token, K: j},
    outputs={S: i, K: j},
    dynamic_val_mappings={S: i},
)


@tkw.wave(constraints)
def experts(
    a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
    slots: tkl.Memory[E, S, GLOBAL, tkl.i32],
    w: tkl.Memory[E, N, K, ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    tokens = tkw.read(slots)

    @tkw.iterate(K, init_args=[tkl.Register[E, S, N, tkl.f32](0.0)])
    def product(acc):
        # Free slots lie outside of the tokens: their rows are zeros.
        rows = tkw.read(
            a, mapping=rows_of_tokens, mapping_dynamic_vals=(tokens,), bounds={M: M}
        )
        return tkw.mma(rows, tkw.read(w), acc)

    tkw.scatter_add(product, tokens, M, c, bounds={M: M})


def table(m, experts, slots):
    """Slots filled from the first on, each expert's tokens all different."""
    found = torch.full((experts, slots), -1, dtype=torch.int32)
    for row in found:
        count = min(m, int(torch.randint(0, slots + 1, ())))
        row[:count] = torch.randperm(m)[:count].sort().values
    return found


def build(
    m=40,
    n=48,
    k=64,
    experts_=3,
    slots=32,
    block=32,
    space=tkl.GLOBAL_MEMORY,
    session=None,
    **options,
):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    tiles = {BLOCK_S: block, BLOCK_N: block, BLOCK_K: 16, ADDRESS_SPACE: space}
    sizes = {M: m, N: n, K: k, E: experts_, S: slots}
    # Sums of small integers are exact, in whatever order experts add.
    a = torch.randint(-8, 9, (m, k)).half()
    w = torch.randint(-8, 9, (experts_, n, k)).half()
    picked = table(m, experts_, slots)
    expected = torch.zeros(m, n)
    for expert, tokens in enumerate(picked):
        kept = tokens[tokens >= 0].long()
        expected[kept] += a[kept].float() @ w[expert].float().T
    given = tkw.WaveCompileOptions(subs=sizes | tiles, **options)
    compiled = tkw.wave_compile(given, experts, session=session)
    return compiled, (a, picked, w, torch.zeros(m, n)), expected


def main(**options):
    kernel, (a, slots, w, c), expected = build(**options)
    kernel(a, slots, w, c)
    torch.testing.assert_close(c, expected, rtol=0, atol=0)
    print(f"{kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
