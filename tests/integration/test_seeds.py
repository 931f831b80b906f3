"""The code of the seed documents, as printed, with other imports.

Copied line by line. Only the slips are corrected that the documents' scans and slides
have: `tk1` for `tkl`, `f161` for `f16`, `32` and `£321` for `f32`, `g_reg` for
`q_reg`, `loop` for `repeat`. `examples/` has the same for people to read.
"""

# ruff: noqa: RET504, RUF059
from __future__ import annotations

import math

import pytest
import torch
from programs import distance

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.lang import (
    GLOBAL_ADDRESS_SPACE,
    GLOBAL_MEMORY,
    WORKGROUP_3,
    MMAType,
    WaveCompileOptions,
    wave_compile,
)

DEVICES = ("sim", "sim-logical")
F32_16x16x16_F16 = MMAType.F32_16x16x16_F16
F32_32x32x8_F16 = MMAType.F32_32x32x8_F16

sym = tkl.sym
B, H, M, N, K, K1, K2 = (getattr(sym, x) for x in ["B", "H", "M", "N", "K", "K1", "K2"])
W, C, HF, WF, NF, H_OUT, W_OUT = (
    getattr(sym, x) for x in ["W", "C", "HF", "WF", "NF", "H_OUT", "W_OUT"]
)
BLOCK_M, BLOCK_N, BLOCK_K = sym.BLOCK_M, sym.BLOCK_N, sym.BLOCK_K
BLOCK_B, BLOCK_H, BLOCK_K2 = sym.BLOCK_B, sym.BLOCK_H, sym.BLOCK_K2
ADDRESS_SPACE = sym.ADDRESS_SPACE
SZ_OUT = H_OUT * W_OUT


def half(*shape):
    return torch.randn(*shape, dtype=torch.float16)


def poisoned(*shape):
    return torch.full(shape, torch.nan)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(64, 128), (129, 100), (1, 1)])
def test_copy(shape, device):
    constraints = [tkw.HardwareConstraint(threads_per_wave=64)]
    constraints += [tkw.WorkgroupConstraint(M, BLOCK_M, 1)]
    constraints += [tkw.WorkgroupConstraint(N, BLOCK_N, 0)]
    constraints += [tkw.WaveConstraint(M, BLOCK_M)]
    constraints += [tkw.WaveConstraint(N, BLOCK_N)]

    @tkw.wave(constraints)
    def test(
        a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16],
    ):
        res = tkw.read(a)
        tkw.write(res, b)

    options = WaveCompileOptions(
        subs={
            M: shape[0],
            N: shape[1],
            BLOCK_M: 16,
            BLOCK_N: 64,
            ADDRESS_SPACE: GLOBAL_MEMORY,
        },
        device=device,
    )

    test = wave_compile(options, test)
    a, b = half(*shape), half(*shape)
    test(a, b)
    assert torch.equal(a, b)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dynamic_dims", [False, True])
def test_gemm(dynamic_dims, device):
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0)]
    constraints += [tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
    constraints += [tkw.TilingConstraint(K, BLOCK_K)]
    constraints += [tkw.WaveConstraint(M, BLOCK_M / 2)]
    constraints += [tkw.WaveConstraint(N, BLOCK_N / 2)]

    constraints += [
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=F32_16x16x16_F16)
    ]

    if dynamic_dims:
        constraints += [tkw.Assumption(K > BLOCK_K * 4)]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.reduction(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            a_reg = tkw.read(a)
            b_reg = tkw.read(b)
            acc = tkw.mma(a_reg, b_reg, acc)
            return acc

        tkw.write(repeat, c)

    m, n, k = 130, 65, 100
    subs = {BLOCK_M: 64, BLOCK_N: 32, BLOCK_K: 16, ADDRESS_SPACE: GLOBAL_MEMORY}
    dynamic = (M, N, K) if dynamic_dims else ()
    sizes = {} if dynamic_dims else {M: m, N: n, K: k}
    options = WaveCompileOptions(
        subs=subs | sizes, dynamic_symbols=dynamic, device=device
    )
    a, b, c = half(m, k), half(n, k), poisoned(m, n)
    wave_compile(options, gemm)(a, b, c)
    assert distance(c, a.float() @ b.float().T) < 1e-3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("stride", [1, 2])
def test_conv2d_of_squares(stride, device):
    i = tkw.IndexMapping.iterator(0)
    j = tkw.IndexMapping.iterator(1)
    x_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={
            N: i // SZ_OUT,
            C: j % C,
            H: (i % SZ_OUT) % W_OUT * stride + (j // C) % WF,
            W: (i % SZ_OUT) // W_OUT * stride + (j // C) // WF,
        },
        outputs={M: i, K: j},
    )
    w_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={NF: i % NF, C: j % C, HF: (j // C) % WF, WF: (j // C) // WF},
        outputs={NF: i, K: j},
    )
    out_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: i, NF: j},
        outputs={
            N: i // SZ_OUT,
            H_OUT: (i % SZ_OUT) % W_OUT,
            W_OUT: (i % SZ_OUT) // W_OUT,
            NF: j,
        },
    )
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0)]
    constraints += [tkw.WorkgroupConstraint(NF, BLOCK_N, 1)]
    constraints += [tkw.TilingConstraint(K, BLOCK_K)]
    constraints += [tkw.WaveConstraint(M, BLOCK_M / 2)]
    constraints += [tkw.WaveConstraint(NF, BLOCK_N / 2)]
    constraints += [
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=F32_16x16x16_F16)
    ]

    @tkw.wave(constraints)
    def conv(
        x: tkl.Memory[N, H, W, C, ADDRESS_SPACE, tkl.f16],
        we: tkl.Memory[HF, WF, C, NF, ADDRESS_SPACE, tkl.f16],
        out: tkl.Memory[N, H_OUT, W_OUT, NF, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, NF, tkl.f32](0.0)

        @tkw.reduction(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, NF, tkl.f32]) -> tkl.Register[M, NF, tkl.f32]:
            a_reg = tkw.read(x, mapping=x_mapping)
            b_reg = tkw.read(we, mapping=w_mapping)
            acc = tkw.mma(a_reg, b_reg, acc)
            return acc

        tkw.write(repeat, out, mapping=out_mapping)

    n, size, c, f, nf = 2, 9, 5, 3, 20
    o = (size - f) // stride + 1
    sizes = {N: n, H: size, W: size, C: c, HF: f, WF: f, NF: nf, H_OUT: o, W_OUT: o}
    product = {M: n * o * o, K: f * f * c}
    tiles = {BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 16, ADDRESS_SPACE: GLOBAL_MEMORY}
    options = WaveCompileOptions(subs=sizes | product | tiles, device=device)
    x, we, out = half(n, size, size, c), half(f, f, c, nf), poisoned(n, o, o, nf)
    wave_compile(options, conv)(x, we, out)
    wanted = torch.nn.functional.conv2d(
        x.float().permute(0, 3, 1, 2), we.float().permute(3, 2, 0, 1), stride=stride
    )
    assert distance(out, wanted.permute(0, 2, 3, 1)) < 1e-3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "mfma_variant",
    [(F32_16x16x16_F16,) * 2, (F32_32x32x8_F16, F32_16x16x16_F16)],
    ids=["16", "32-16"],
)
def test_attention_of_the_slides(mfma_variant, device):
    i, j, k = (tkw.IndexMapping.iterator(n) for n in range(3))
    v_mapping = tkw.IndexMapping(
        num_iterators=3, inputs={B: i, N: j, K2: k}, outputs={B: i, N: j, K2: k}
    )
    mapping = tkw.IndexMapping(
        num_iterators=3, inputs={B: i, N: j, M: k}, outputs={B: i, M: k, N: j}
    )
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0)]
    constraints += [tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
    constraints += [tkw.WorkgroupConstraint(B, BLOCK_B, 2)]
    constraints += [tkw.TilingConstraint(K2, BLOCK_K2)]
    constraints += [tkw.WaveConstraint(M, BLOCK_M / 4)]
    constraints += [tkw.WaveConstraint(N, BLOCK_N / 1)]
    constraints += [
        tkw.HardwareConstraint(
            threads_per_wave=64, mma_type=mfma_variant[1], vector_shapes={B: 0}
        )
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
        MIN_INF = tkl.Register[M, K2, tkl.f32](-1e6)

        @tkw.reduction(K2, init_args=[init_max, init_sum, c_reg])
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
            k2_index = tkw.self_index(K2, tkl.i64)
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
        tkw.write(res, c, mapping=mapping)

    shape = dict(zip((B, M, N, K1, K2), (2, 70, 40, 20, 50), strict=True))
    tiles = {BLOCK_B: 1, BLOCK_M: 128, BLOCK_N: 32, BLOCK_K2: 32}
    options = WaveCompileOptions(
        subs=shape | tiles | {ADDRESS_SPACE: GLOBAL_MEMORY}, device=device
    )
    q, k, v, c = half(2, 70, 20), half(2, 50, 20), half(2, 50, 40), poisoned(2, 70, 40)
    wave_compile(options, attention)(q, k, v, c)
    scores = q.double() @ k.double().transpose(1, 2) * math.log(2)
    assert distance(c, torch.softmax(scores, 2) @ v.double()) < 1e-3


@pytest.mark.parametrize("device", DEVICES)
def test_attention_of_four_dimensions(device):
    from attention_heads import attention_kernel, build

    kernel, (q, k, v, c), expected = build(form=attention_kernel, device=device)
    registers = {
        str(op.type) for op in kernel.trace_graph.walk() if op.op_name == "mma"
    }
    assert registers == {"reg<B, K2, M, f32>", "reg<B, N, M, f32>"}
    kernel(q, k, v, c)
    assert distance(c, expected) < 1e-3
    assert WORKGROUP_3 is not None
