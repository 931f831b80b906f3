"""Flash attention over [batch, sequence, head, channel] tensors, in two forms.

    python examples/attention_heads.py

A workgroup handles one head of one batch entry; batch and head are the grid's axes 2
and 3. Machines have three axes: the fourth is carried in the third.

`attention` keeps the head out of the registers, although q, k and v have it: the first
product then contracts it along with K1. That is the one head of the workgroup, so the
sum has one term. Where the head must be named, it is the workgroup's own,
`WORKGROUP_3`. `attention_with_heads` carries the head in every register instead.

Keys beyond the last one get the score 0 here and not minus infinity. They still weigh
nothing: `max` and `sum` skip elements that do not exist.
"""

from __future__ import annotations

import math

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.lang import (
    GLOBAL_ADDRESS_SPACE,
    SHARED_ADDRESS_SPACE,
    HardwareConstraint,
    IndexMapping,
    Memory,
    Register,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
    cast,
    exp2,
    f16,
    f32,
    iterate,
    max,  # noqa: A004 - the language's own name
    mma,
    permute,
    read,
    reciprocal,
    sum,  # noqa: A004 - the language's own name
    wave,
    write,
)

B, M, H, N = tkl.sym.B, tkl.sym.M, tkl.sym.H, tkl.sym.N
K1, K2 = tkl.sym.K1, tkl.sym.K2
BLOCK_B, BLOCK_H, BLOCK_M = tkl.sym.BLOCK_B, tkl.sym.BLOCK_H, tkl.sym.BLOCK_M
BLOCK_N, BLOCK_K2 = tkl.sym.BLOCK_N, tkl.sym.BLOCK_K2

num_waves = 4

constraints = [
    WorkgroupConstraint(M, BLOCK_M, 0),
    WorkgroupConstraint(N, BLOCK_N, 1),
    WorkgroupConstraint(B, BLOCK_B, 2),
    WorkgroupConstraint(H, BLOCK_H, 3),
    TilingConstraint(K2, BLOCK_K2),
    WaveConstraint(M, BLOCK_M / num_waves),
    WaveConstraint(N, BLOCK_N / 1),
    HardwareConstraint(vector_shapes={B: 0, H: 0}),
]


# ------------------------------------------------------ the head in memory only


def attention_kernel(scale):
    b, s, t = (IndexMapping.iterator(position) for position in range(3))
    v_mapping = IndexMapping(
        num_iterators=3,
        inputs={B: b, K2: t, H: tkw.WORKGROUP_3, N: s},
        outputs={B: b, N: s, K2: t},
    )
    mapping = IndexMapping(
        num_iterators=3,
        inputs={B: b, N: s, M: t},
        outputs={B: b, M: t, H: tkw.WORKGROUP_3, N: s},
    )

    @wave(constraints)
    def attention(
        q: Memory[B, M, H, K1, GLOBAL_ADDRESS_SPACE, f16],
        k: Memory[B, K2, H, K1, SHARED_ADDRESS_SPACE, f16],
        v: Memory[B, K2, H, N, SHARED_ADDRESS_SPACE, f16],
        c: Memory[B, M, H, N, GLOBAL_ADDRESS_SPACE, f32],
    ):
        c_reg = Register[B, N, M, f32](0.0)
        init_sum = Register[B, M, f32](0.0)
        init_max = Register[B, M, f32](-1e6)
        qk_scaling = Register[B, M, K2, f32](scale)

        @iterate(K2, init_args=[init_max, init_sum, c_reg])
        def repeat(
            partial_max: Register[B, M, f32],
            partial_sum: Register[B, M, f32],
            acc: Register[B, N, M, f32],
        ):
            imm_reg = Register[B, K2, M, f32](0.0)
            q_reg = read(q)
            k_reg = read(k)
            inner_acc = mma(k_reg, q_reg, imm_reg)
            x_j = permute(inner_acc, target_shape=[B, M, K2])
            x_j *= qk_scaling
            m_j = max(x_j, partial_max, dim=K2)
            e_delta_max = exp2(partial_max - m_j)
            e_delta = exp2(x_j - m_j)
            e_init = partial_sum * e_delta_max
            d_j = sum(e_delta, e_init, dim=K2)
            imm_f16 = cast(e_delta, f16)
            v_reg = read(v, mapping=v_mapping)
            new_acc = acc * e_delta_max
            acc = mma(v_reg, imm_f16, new_acc)
            return m_j, d_j, acc

        res_max, res_sum, res_mm = repeat
        reciprocal_sum = reciprocal(res_sum)
        res = res_mm * reciprocal_sum
        write(res, c, mapping=mapping)

    return attention


# ------------------------------------------------------ the head in registers too


def attention_with_heads_kernel(scale):
    b, h, s, t = (IndexMapping.iterator(position) for position in range(4))

    def moved(register_dims, memory_dims):
        """Read ``memory_dims`` as a register of ``register_dims``."""
        names = dict(zip(register_dims, (b, h, s, t), strict=True))
        memory = {dim: names[dim] for dim in memory_dims}
        return IndexMapping(num_iterators=4, inputs=memory, outputs=names)

    q_mapping = moved((B, H, M, K1), (B, M, H, K1))
    k_mapping = moved((B, H, K2, K1), (B, K2, H, K1))
    v_mapping = moved((B, H, N, K2), (B, K2, H, N))
    mapping = IndexMapping(
        num_iterators=4,
        inputs={B: b, H: h, N: s, M: t},
        outputs={B: b, M: t, H: h, N: s},
    )

    @wave(constraints)
    def attention_with_heads(
        q: Memory[B, M, H, K1, GLOBAL_ADDRESS_SPACE, f16],
        k: Memory[B, K2, H, K1, SHARED_ADDRESS_SPACE, f16],
        v: Memory[B, K2, H, N, SHARED_ADDRESS_SPACE, f16],
        c: Memory[B, M, H, N, GLOBAL_ADDRESS_SPACE, f32],
    ):
        c_reg = Register[B, H, N, M, f32](0.0)
        init_sum = Register[B, H, M, f32](0.0)
        init_max = Register[B, H, M, f32](-1e6)
        qk_scaling = Register[B, H, M, K2, f32](scale)

        @iterate(K2, init_args=[init_max, init_sum, c_reg])
        def repeat(
            partial_max: Register[B, H, M, f32],
            partial_sum: Register[B, H, M, f32],
            acc: Register[B, H, N, M, f32],
        ):
            imm_reg = Register[B, H, K2, M, f32](0.0)
            q_reg = read(q, mapping=q_mapping)
            k_reg = read(k, mapping=k_mapping)
            inner_acc = mma(k_reg, q_reg, imm_reg)
            x_j = permute(inner_acc, target_shape=[B, H, M, K2])
            x_j *= qk_scaling
            m_j = max(x_j, partial_max, dim=K2)
            e_delta_max = exp2(partial_max - m_j)
            e_delta = exp2(x_j - m_j)
            e_init = partial_sum * e_delta_max
            d_j = sum(e_delta, e_init, dim=K2)
            imm_f16 = cast(e_delta, f16)
            v_reg = read(v, mapping=v_mapping)
            new_acc = acc * e_delta_max
            acc = mma(v_reg, imm_f16, new_acc)
            return m_j, d_j, acc

        res_max, res_sum, res_mm = repeat
        reciprocal_sum = reciprocal(res_sum)
        res = res_mm * reciprocal_sum
        write(res, c, mapping=mapping)

    return attention_with_heads


def build(shape=(2, 65, 3, 64, 32, 70), form=attention_kernel, **options):
    """The compiled kernel, arguments for it, and what the last of them must become.

    ``shape`` is batch, queries, heads, channels of a value, channels of a key, keys.
    """
    batch, queries, heads, channels, key_channels, keys = shape
    sizes = dict(zip((B, M, H, N, K1, K2), shape, strict=True))
    tiles = {BLOCK_B: 1, BLOCK_H: 1, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K2: 32}
    options = tkw.WaveCompileOptions(subs=sizes | tiles, **{"device": "sim", **options})
    q = torch.randn(batch, queries, heads, key_channels, dtype=torch.float16)
    k = torch.randn(batch, keys, heads, key_channels, dtype=torch.float16)
    v = torch.randn(batch, keys, heads, channels, dtype=torch.float16)
    c = torch.full((batch, queries, heads, channels), torch.nan)
    scale = 1 / key_channels**0.5
    by_head = (x.float().transpose(1, 2) for x in (q, k, v))
    expected = torch.nn.functional.scaled_dot_product_attention(*by_head, scale=scale)
    kernel = tkw.wave_compile(options, form(scale * math.log2(math.e)))
    return kernel, (q, k, v, c), expected.transpose(1, 2)


def main(**options):
    for form in (attention_kernel, attention_with_heads_kernel):
        kernel, arguments, expected = build(form=form, **options)
        kernel(*arguments)
        torch.testing.assert_close(arguments[-1], expected, rtol=1e-3, atol=1e-3)
        print(f"{kernel.name}: agrees with torch")


if __name__ == "__main__":
    main()
