"""Flash attention, softmax(q k^T) v, in one kernel that stores no scores.

    python examples/attention.py

The kernel walks over the keys in tiles of BLOCK_K2. For each query it keeps the largest
score so far, the sum of powers so far and the weighted sum of values so far; when a
larger score turns up, what was summed before is scaled down. Powers are of base 2:
log2(e) is multiplied into the queries.

The result of the first matrix product is an operand of the second. Where their
instructions want its elements in other lanes, the compiler moves them.
"""

from __future__ import annotations

import math

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

B, M, N, K1, K2 = tkl.sym.B, tkl.sym.M, tkl.sym.N, tkl.sym.K1, tkl.sym.K2
BLOCK_B, BLOCK_M = tkl.sym.BLOCK_B, tkl.sym.BLOCK_M
BLOCK_N, BLOCK_K2 = tkl.sym.BLOCK_N, tkl.sym.BLOCK_K2
GLOBAL_ADDRESS_SPACE = tkl.GLOBAL_ADDRESS_SPACE
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

NUM_WAVES = 4
SMALL, LARGE = tkw.MMAType.F32_16x16x16_F16, tkw.MMAType.F32_32x32x8_F16
VARIANTS = (None, None), (SMALL, SMALL), (LARGE, LARGE), (LARGE, SMALL)

b, s, t = (tkw.IndexMapping.iterator(position) for position in range(3))
v_mapping = tkw.IndexMapping(
    num_iterators=3, inputs={B: b, K2: t, N: s}, outputs={B: b, N: s, K2: t}
)
output_mapping = tkw.IndexMapping(
    num_iterators=3, inputs={B: b, N: s, M: t}, outputs={B: b, M: t, N: s}
)


def attention_kernel(mfma_variant):
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.TilingConstraint(K2, BLOCK_K2),
        tkw.WaveConstraint(M, BLOCK_M / NUM_WAVES),
        tkw.WaveConstraint(N, BLOCK_N / 1),
        # 0 marks a batch dimension: one index at a time, no part of a vector. K1 has
        # no constraint at all: every wave holds it whole.
        tkw.HardwareConstraint(mma_type=mfma_variant[1], vector_shapes={B: 0}),
    ]

    @tkw.wave(constraints)
    def attention(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[B, N, M, tkl.f32](0.0)
        init_sum = tkl.Register[B, M, tkl.f32](0.0)
        init_max = tkl.Register[B, M, tkl.f32](-1e6)
        ZERO = tkl.Register[M, K2, tkl.f32](0.0)
        MIN_INF = tkl.Register[M, K2, tkl.f32](float("-inf"))

        @tkw.iterate(K2, init_args=[init_max, init_sum, c_reg])
        def repeat(
            partial_max: tkl.Register[B, M, tkl.f32],
            partial_sum: tkl.Register[B, M, tkl.f32],
            acc: tkl.Register[B, N, M, tkl.f32],
        ):
            imm_reg = tkl.Register[B, K2, M, tkl.f32](0.0)
            q_reg = tkw.read(q)
            k_reg = tkw.read(k)
            inner_acc = tkw.mma(k_reg, q_reg, imm_reg, mfma_variant[0])
            x_j = tkw.permute(inner_acc, target_shape=[B, M, K2])
            # Keys beyond the last one must weigh nothing.
            k2_index = tkw.self_index(K2, tkl.i32)
            mask = tkw.apply_expr(k2_index, lambda x: x < K2)
            mask = tkw.broadcast(mask, target_shape=[M, K2])
            mask = tkw.cast(mask, tkw.i1)
            bias = tkw.select(mask, ZERO, MIN_INF)
            x_j = x_j + bias
            m_j = tkw.max(x_j, partial_max, dim=K2)
            e_delta_max = tkw.exp2(partial_max - m_j)
            e_delta = tkw.exp2(x_j - m_j)
            e_init = partial_sum * e_delta_max
            d_j = tkw.sum(e_delta, e_init, dim=K2)
            imm_f16 = tkw.cast(e_delta, tkl.f16)
            v_reg = tkw.read(v, mapping=v_mapping)
            new_acc = acc * e_delta_max
            acc = tkw.mma(v_reg, imm_f16, new_acc)
            return m_j, d_j, acc

        res_max, res_sum, res_mm = repeat
        reciprocal_sum = tkw.reciprocal(res_sum)
        res = res_mm * reciprocal_sum
        tkw.write(res, c, mapping=output_mapping)

    return attention


def build(shape=(2, 100, 72, 40, 150), mfma_variant=(None, None), **options):
    """The compiled kernel, arguments for it, and what the last of them must become.

    ``shape`` is batch, queries, channels of a value, channels of a key, keys.
    """
    batch, queries, channels, key_channels, keys = shape
    sizes = dict(zip((B, M, N, K1, K2), shape, strict=True))
    tiles = {BLOCK_B: 1, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K2: 32}
    if LARGE in mfma_variant:
        tiles[BLOCK_M] = 128
    options = tkw.WaveCompileOptions(
        subs=sizes | tiles | {ADDRESS_SPACE: tkl.GLOBAL_MEMORY},
        **{"device": "sim", **options},
    )
    scale = math.log2(math.e) / max(key_channels, 1) ** 0.5
    q = (torch.randn(batch, queries, key_channels) * scale).half()
    k = torch.randn(batch, keys, key_channels, dtype=torch.float16)
    v = torch.randn(batch, keys, channels, dtype=torch.float16)
    c = torch.full((batch, queries, channels), torch.nan)
    scores = q.float() @ k.float().transpose(1, 2) / math.log2(math.e)
    expected = torch.softmax(scores, dim=2) @ v.float()
    kernel = tkw.wave_compile(options, attention_kernel(mfma_variant))
    return kernel, (q, k, v, c), expected


def main(variants=VARIANTS, **options):
    for variant in variants:
        kernel, arguments, expected = build(mfma_variant=variant, **options)
        kernel(*arguments)
        torch.testing.assert_close(arguments[-1], expected, rtol=1e-3, atol=1e-3)
        names = " then ".join(each.value if each else "any" for each in variant)
        print(f"{kernel.name} with {names}: agrees with torch")


if __name__ == "__main__":
    main()
