"""The kernels of the seed documents trace as they are written there."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.ir import first_difference, parse_graph, print_graph, verify
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read, Write
from wave_core.ops.reduce import Reduce
from wave_core.symbols import symbol
from wave_core.trace import parameter_usage
from wave_core.types import AddressSpace, Usage

sym = tkl.sym
M, N, K, B, H = sym.M, sym.N, sym.K, sym.B, sym.H
K1, K2 = sym.K1, sym.K2
BLOCK_M, BLOCK_N, BLOCK_K = sym.BLOCK_M, sym.BLOCK_N, sym.BLOCK_K
BLOCK_B, BLOCK_H, BLOCK_K2 = sym.BLOCK_B, sym.BLOCK_H, sym.BLOCK_K2
ADDRESS_SPACE = sym.ADDRESS_SPACE
GLOBAL_ADDRESS_SPACE = tkl.GLOBAL_ADDRESS_SPACE
F32_16x16x16_F16 = tkw.MMAType.F32_16x16x16_F16


def ops_of(graph, cls):
    return [op for op in graph.walk() if isinstance(op, cls)]


def types_of(graph, cls):
    return [str(op.type) for op in ops_of(graph, cls)]


def copy_kernel():
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

    return test


def test_copy():
    graph = copy_kernel().trace({M: 100, N: 65, ADDRESS_SPACE: tkl.GLOBAL_MEMORY})
    assert [op.op_name for op in graph.walk()] == ["read", "write", "yield"]
    assert parameter_usage(graph) == {"a": Usage.INPUT, "b": Usage.OUTPUT}
    assert graph.bindings == {symbol("M"): 100, symbol("N"): 65}
    assert graph.parameters[0].type.space is AddressSpace.GLOBAL


def gemm_kernel(*, dynamic_dims: bool):
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
            return acc  # noqa: RET504 - as the seed has it

        tkw.write(repeat, c)

    return gemm


@pytest.mark.parametrize("dynamic_dims", [False, True])
def test_gemm(dynamic_dims):
    graph = gemm_kernel(dynamic_dims=dynamic_dims).trace(
        {} if dynamic_dims else {M: 128, N: 128, K: 64}
    )
    assert [op.op_name for op in graph.walk()] == [
        *("register", "iterate", "read", "read", "mma", "yield"),
        *("get_result", "write", "yield"),
    ]
    (loop,) = ops_of(graph, Iterate)
    roles = [argument.role for argument in loop.body.arguments]
    assert roles == ["carried", "capture", "capture"]
    assert loop.axis == symbol("K")
    assert types_of(graph, Read) == ["reg<M, K, f16>", "reg<N, K, f16>"]
    assert parameter_usage(graph)["c"] is Usage.OUTPUT


def test_address_space_stays_a_symbol_until_it_is_bound():
    gemm = gemm_kernel(dynamic_dims=False)
    assert gemm.trace().parameters[0].type.space == symbol("ADDRESS_SPACE")
    bound = gemm.trace({ADDRESS_SPACE: tkl.SHARED_ADDRESS_SPACE})
    assert bound.parameters[0].type.space is AddressSpace.SHARED


def conv_kernel():
    C, W, NF, HF, WF = sym.C, sym.W, sym.NF, sym.HF, sym.WF
    H_OUT, W_OUT = sym.H_OUT, sym.W_OUT
    SZ_OUT = H_OUT * W_OUT
    stride = 2
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(NF, BLOCK_N, 0),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M),
        tkw.WaveConstraint(NF, BLOCK_N),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=F32_16x16x16_F16),
    ]
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
            H_OUT: (i % SZ_OUT) // W_OUT,
            W_OUT: (i % SZ_OUT) % W_OUT,
            NF: j,
        },
    )

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
            return acc  # noqa: RET504 - as the seed has it

        tkw.write(repeat, out, mapping=out_mapping)

    return conv


def test_conv():
    graph = conv_kernel().trace()
    assert types_of(graph, Read) == ["reg<M, K, f16>", "reg<NF, K, f16>"]
    x_read = ops_of(graph, Read)[0]
    assert x_read.mapping.register_dims == ("M", "K")
    index = {"M": symbol("m"), "K": symbol("k")}
    n, _h, _w, c = x_read.mapping.apply(index)
    assert n == symbol("m") // (symbol("H_OUT") * symbol("W_OUT"))
    assert c == symbol("k") % symbol("C")
    (write,) = ops_of(graph, Write)
    assert write.mapping.register_dims == ("M", "NF")
    assert len(write.mapping.coordinates) == 4


def attention_constraints(*more):
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        *more,
        tkw.TilingConstraint(K2, BLOCK_K2),
        tkw.WaveConstraint(M, BLOCK_M / 4),
        tkw.WaveConstraint(N, BLOCK_N / 1),
    ]


def attention_kernel():
    constraints = attention_constraints(
        tkw.HardwareConstraint(
            threads_per_wave=64,
            mma_type=tkw.MMAType.F32_16x16x16_F16,
            vector_shapes={B: 0, M: 16, N: 16},
        )
    )
    mfma_variant = (tkw.MMAType.F32_16x16x32_K8_F16, tkw.MMAType.F32_16x16x16_F16)
    i, j, k = (tkw.IndexMapping.iterator(n) for n in range(3))
    v_mapping = tkw.IndexMapping(
        num_iterators=3,
        inputs={B: i, K2: k, N: j},
        outputs={B: i, N: j, K2: k},
    )
    mapping = tkw.IndexMapping(
        num_iterators=3, inputs={B: i, N: j, M: k}, outputs={B: i, M: k, N: j}
    )

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

        _res_max, res_sum, res_mm = repeat
        reciprocal_sum = tkw.reciprocal(res_sum)
        res = res_mm * reciprocal_sum
        tkw.write(res, c, mapping=mapping)

    return attention


def test_attention():
    graph = attention_kernel().trace()
    assert types_of(graph, Mma) == ["reg<B, K2, M, f32>", "reg<B, N, M, f32>"]
    assert [op.mma_type for op in ops_of(graph, Mma)] == ["F32_16x16x32_K8_F16", None]
    assert types_of(graph, Reduce) == ["reg<B, M, f32>"] * 2
    (loop,) = ops_of(graph, Iterate)
    assert [str(op.type) for op in loop.inits] == [
        *("reg<B, M, f32>", "reg<B, M, f32>", "reg<B, N, M, f32>")
    ]
    assert [op.kind for op in ops_of(graph, Reduce)] == ["max", "sum"]


def head_attention_kernel(*, heads_in_registers: bool):
    constraints = attention_constraints(
        tkw.WorkgroupConstraint(H, BLOCK_H, 3),
        tkw.HardwareConstraint(
            threads_per_wave=64,
            mma_type=tkw.MMAType.F32_16x16x16_F16,
            vector_shapes={B: 0, H: 0},
        ),
    )
    mfma_variant = (tkw.MMAType.F32_16x16x16_F16,) * 2
    BH = (B, H) if heads_in_registers else (B,)
    scale = 0.125
    i, j, k, h = (tkw.IndexMapping.iterator(n) for n in range(4))
    heads = {H: h} if heads_in_registers else {}
    head = h if heads_in_registers else tkw.WORKGROUP_3 * BLOCK_H
    count = 3 + len(heads)
    v_mapping = tkw.IndexMapping(
        num_iterators=count,
        inputs={B: i, K2: k, H: head, N: j},
        outputs={B: i, **heads, N: j, K2: k},
    )
    mapping = tkw.IndexMapping(
        num_iterators=count,
        inputs={B: i, N: j, M: k, **heads},
        outputs={B: i, M: k, H: head, N: j},
    )

    @tkw.wave(constraints)
    def attention(
        q: tkl.Memory[B, M, H, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, H, K1, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, H, N, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, H, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[BH, N, M, tkl.f32](0.0)
        init_sum = tkl.Register[BH, M, tkl.f32](0.0)
        init_max = tkl.Register[BH, M, tkl.f32](-1e6)
        qk_scaling = tkl.Register[BH, M, K2, tkl.f32](scale)

        @tkw.iterate(K2, init_args=[init_max, init_sum, c_reg])
        def repeat(
            partial_max: tkl.Register[BH, M, tkl.f32],
            partial_sum: tkl.Register[BH, M, tkl.f32],
            acc: tkl.Register[BH, N, M, tkl.f32],
        ):
            imm_reg = tkl.Register[BH, K2, M, tkl.f32](0.0)
            q_reg = tkw.read(q)
            k_reg = tkw.read(k)
            inner_acc = tkw.mma(k_reg, q_reg, imm_reg, mfma_variant[0])
            x_j = tkw.permute(inner_acc, target_shape=[*BH, M, K2])
            x_j *= qk_scaling
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

        _res_max, res_sum, res_mm = repeat
        reciprocal_sum = tkw.reciprocal(res_sum)
        res = res_mm * reciprocal_sum
        tkw.write(res, c, mapping=mapping)

    return attention


def test_head_attention():
    graph = head_attention_kernel(heads_in_registers=True).trace()
    roles = [op.contraction() for op in ops_of(graph, Mma)]
    assert [str(role.k[0]) for role in roles] == ["K1", "K2"]
    assert [len(role.batch) for role in roles] == [2, 2]


def test_head_attention_with_registers_as_the_seed_prints_them():
    graph = head_attention_kernel(heads_in_registers=False).trace()
    roles = [op.contraction() for op in ops_of(graph, Mma)]
    assert [str(dim) for dim in roles[0].k] == ["H", "K1"]
    (write,) = ops_of(graph, Write)
    assert write.mapping.coordinates[2] == symbol("$WG3") * symbol("BLOCK_H")


KERNELS = {
    "copy": copy_kernel,
    "gemm": lambda: gemm_kernel(dynamic_dims=True),
    "conv": conv_kernel,
    "attention": attention_kernel,
    "head attention": lambda: head_attention_kernel(heads_in_registers=True),
    "head attention as printed": (
        lambda: head_attention_kernel(heads_in_registers=False)
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_traced_graphs_are_well_formed_text(name):
    graph = KERNELS[name]().trace()
    verify(graph)
    again = parse_graph(print_graph(graph))
    assert first_difference(graph, again) is None
