"""Tokens sorted by the expert that they go to, each expert's share padded to blocks.

    python examples/moe_align.py

A block of the product that follows works for one expert, so the tokens of an expert
come together and start at a multiple of the block. Token by token: how many before it
go to the same expert (a scan along the tokens), where that expert starts (a scan along
the experts), and their sum is its place. Nothing needs an atomic, so the order of the
tokens of an expert is that of the input.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

TOKENS, EXPERTS, SLOTS = tkl.sym.TOKENS, tkl.sym.EXPERTS, tkl.sym.SLOTS
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
BLOCK = 16

constraints = [
    tkw.WorkgroupConstraint(TOKENS, 256, 0),
    tkw.WaveConstraint(TOKENS, 64),
    tkw.HardwareConstraint(),
]
i = tkw.IndexMapping.iterator(0)
d = tkw.IndexMapping.dynamic_val(0)
to_place = tkw.IndexMapping(
    1, {TOKENS: i}, {SLOTS: d}, dynamic_val_mappings=({TOKENS: i},)
)


@tkw.wave(constraints)
def align(
    experts: tkl.Memory[TOKENS, GLOBAL, tkl.i32],
    starts: tkl.Memory[EXPERTS, GLOBAL, tkl.i32],
    order: tkl.Memory[SLOTS, GLOBAL, tkl.i32],
):
    chosen = tkw.broadcast(tkw.read(experts), [EXPERTS, TOKENS])
    mine = chosen == tkw.broadcast(tkw.self_index(EXPERTS, tkl.i32), [EXPERTS, TOKENS])
    one = tkw.cast(mine, tkl.i32)
    rank = tkw.cumsum(one, dim=TOKENS, exclusive=True)
    blocks = (tkw.sum(one, dim=TOKENS) + (BLOCK - 1)) // BLOCK
    start = tkw.cumsum(blocks * BLOCK, dim=EXPERTS, exclusive=True)
    place = tkw.sum(tkw.where(mine, rank + start, 0), dim=EXPERTS)
    tkw.write(start, starts)
    token = tkw.self_index(TOKENS, tkl.i32)
    tkw.write(token, order, mapping=to_place, mapping_dynamic_vals=(place,))


def aligned(experts, count, slots):
    """What `align` computes, in Python: a list of tokens for each expert."""
    order = torch.full((slots,), len(experts), dtype=torch.int32)
    starts = torch.zeros(count, dtype=torch.int32)
    place = 0
    for expert in range(count):
        tokens = (experts == expert).nonzero().flatten().int()
        starts[expert] = place
        order[place : place + len(tokens)] = tokens
        place += -(-len(tokens) // BLOCK) * BLOCK
    return starts, order


def build(tokens=200, experts=8, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    chosen = torch.randint(experts, (tokens,), dtype=torch.int32)
    slots = tokens + experts * BLOCK
    subs = {TOKENS: tokens, EXPERTS: experts, SLOTS: slots}
    kernel = tkw.wave_compile(
        tkw.WaveCompileOptions(subs=subs, **{"device": "sim", **options}), align
    )
    starts = torch.full((experts,), -1, dtype=torch.int32)
    # Slots that no token takes keep what the caller put there.
    order = torch.full((slots,), tokens, dtype=torch.int32)
    return kernel, (chosen, starts, order), aligned(chosen, experts, slots)


def main(**options):
    kernel, arguments, (starts, order) = build(**options)
    kernel(*arguments)
    assert torch.equal(arguments[1], starts)
    assert torch.equal(arguments[2], order)
    print(f"{kernel.signature}: agrees with Python's lists")


if __name__ == "__main__":
    main()
