"""Counts how often each number occurs, with atomics.

    python examples/histogram.py

`scattered` adds ones to the bins in global memory. `privatised` lets each workgroup
count in LDS first, where updates are cheap, and adds what it found at the end: one
update of global memory for each bin and workgroup.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

N, B, BLOCK_N, BINS = tkl.sym.N, tkl.sym.B, tkl.sym.BLOCK_N, tkl.sym.BINS
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(N, BLOCK_N, 0),
    tkw.WaveConstraint(N, BLOCK_N // 2),
    tkw.HardwareConstraint(),
]

i = tkw.IndexMapping.iterator(0)
to_bins = tkw.IndexMapping(
    1,
    inputs={N: i},
    outputs={B: tkw.IndexMapping.dynamic_val(0)},
    dynamic_val_mappings={N: i},
)


@tkw.wave(constraints)
def scattered(
    a: tkl.Memory[N, GLOBAL, tkl.i32],
    counts: tkl.Memory[B, GLOBAL, tkl.i32],
):
    ones = tkl.Register[N, tkl.i32](1)
    tkw.atomic_add(ones, counts, mapping=to_bins, mapping_dynamic_vals=(tkw.read(a),))


@tkw.wave(constraints)
def privatised(
    a: tkl.Memory[N, GLOBAL, tkl.i32],
    counts: tkl.Memory[B, GLOBAL, tkl.i32],
):
    own = tkw.allocate((B,), (BINS,), tkl.i32)
    tkw.write(tkl.Register[B, tkl.i32](0), own)
    ones = tkl.Register[N, tkl.i32](1)
    tkw.scatter_add(ones, tkw.read(a), B, own)
    tkw.atomic_add(tkw.read(own), counts)


def build(kernel=privatised, n=1000, bins=37, block=128, session=None, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    subs = {N: n, B: bins, BINS: bins, BLOCK_N: block}
    a = torch.randint(0, bins, (n,), dtype=torch.int32)
    counts = torch.zeros(bins, dtype=torch.int32)
    expected = torch.bincount(a, minlength=bins).int()
    options = tkw.WaveCompileOptions(subs=subs, **options)
    return tkw.wave_compile(options, kernel, session=session), (a, counts), expected


def main(**options):
    for kernel in (scattered, privatised):
        compiled, arguments, expected = build(kernel, **options)
        compiled(*arguments)
        torch.testing.assert_close(arguments[-1], expected)
        print(f"{compiled.signature}: agrees with torch")


if __name__ == "__main__":
    main()
