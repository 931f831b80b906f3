"""Flash attention: softmax(q k^T) v without storing the scores."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

B = tkl.sym.B
H = tkl.sym.H
M = tkl.sym.M
N = tkl.sym.N
K1 = tkl.sym.K1
K2 = tkl.sym.K2
BLOCK_B = tkl.sym.BLOCK_B
BLOCK_H = tkl.sym.BLOCK_H
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K2 = tkl.sym.BLOCK_K2
WAVES_M = tkl.sym.WAVES_M
MMA_ROWS = tkl.sym.MMA_ROWS
QUERY_SPACE = tkl.sym.QUERY_SPACE
"""Queries stay the same: in registers, unless products read them in LDS."""

_HELD, _IN_LDS = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_N, BLOCK_K2, WAVES_M, MMA_ROWS, QUERY_SPACE),
    (
        (128, 64, 32, 4, 16, _HELD),
        (128, 64, 32, 4, 32, _HELD),
        (128, 128, 32, 4, 32, _HELD),
        (128, 64, 64, 4, 32, _HELD),
        (128, 128, 64, 4, 32, _HELD),
        (256, 64, 32, 8, 32, _HELD),
        (64, 64, 32, 2, 32, _HELD),
    ),
    narrow=(
        (128, 64, 64, 4, 16, _HELD),
        (128, 128, 64, 8, 16, _HELD),
        (64, 128, 64, 4, 16, _HELD),
        (128, 64, 32, 4, 16, _HELD),
        (64, 64, 32, 2, 16, _HELD),
        (128, 64, 64, 2, 64, _IN_LDS),
        (128, 128, 64, 2, 64, _IN_LDS),
    ),
)

MIN_INF = float("-inf")


def mapping(*dims: Any, to: tuple[Any, ...], written: bool = False) -> tkw.IndexMapping:
    """A memory with dims ``to`` read, or ``written``, as a register with ``dims``."""
    register = {d: tkw.IndexMapping.iterator(i) for i, d in enumerate(dims)}
    memory = {d: register[d] for d in to}
    sides = (register, memory) if written else (memory, register)
    return tkw.IndexMapping(len(dims), *sides)


def _tiles_seen() -> Any:
    """How many tiles of keys some query of a workgroup may see."""
    last = (tkw.WORKGROUP_0 + 1) * BLOCK_M
    return sympy.Min(sympy.ceiling(K2 / BLOCK_K2), sympy.ceiling(last / BLOCK_K2))


def masked(scores: Any, *, causal: bool = False) -> Any:
    """Scores, and minus infinity where there is no key.

    A causal query sees the keys up to its own number.
    """
    k2_index = tkw.self_index(K2, tkl.i32)
    mask = tkw.apply_expr(k2_index, lambda x: x < K2)
    mask = tkw.broadcast(mask, target_shape=[M, K2])
    mask = tkw.cast(mask, tkw.i1)
    if causal:
        m_index = tkw.broadcast(tkw.self_index(M, tkl.i32), target_shape=[M, K2])
        mask = mask & (m_index >= tkw.broadcast(k2_index, target_shape=[M, K2]))
    min_inf = tkl.Register[M, K2, tkl.f32](MIN_INF)
    return tkw.select(mask, scores, min_inf)


def attention_kernel(
    mma_types: tuple[tkl.MMAType | None, tkl.MMAType | None] = (None, None),
    *,
    causal: bool = False,
) -> Any:
    """``c[b, m, n] = softmax_2(q k^T)[m, :] v`` in base 2, with a mask at the end.

    ``q`` is expected scaled by log2(e) / sqrt(K1), so that base 2 is base e.
    ``causal`` hides keys from queries of smaller number, as torch does; what no row of
    a workgroup sees, it neither reads nor multiplies.

    Shapes: ``q: [B, M, K1]``, ``k: [B, K2, K1]``, ``v: [B, K2, N]``,
    ``c: [B, M, N]``. Dtypes: f16, ``c`` f32. Accuracy: 1e-3 for values of the size of
    1, with fast math too, which is therefore the default.
    """
    seen = {"iters": _tiles_seen()} if causal else {}
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.TilingConstraint(K2, BLOCK_K2, **seen),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / 1),
        tkw.HardwareConstraint(
            mma_type=mma_types[1],
            mma_rows=MMA_ROWS,
            vector_shapes={B: 0},
        ),
        tkw.DieOrder(),
        TILES,
        STAGING,
        tkw.FastMath(),
    ]
    v_mapping = mapping(B, N, K2, to=(B, K2, N))
    out = mapping(B, N, M, to=(B, M, N), written=True)

    @tkw.wave(constraints)
    def attention(
        q: tkl.Memory[B, M, K1, QUERY_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[B, N, M, tkl.f32](0.0)
        init_sum = tkl.Register[B, M, tkl.f32](0.0)
        init_max = tkl.Register[B, M, tkl.f32](-1e6)

        @tkw.iterate(K2, init_args=[init_max, init_sum, c_reg])
        def repeat(
            partial_max: tkl.Register[B, M, tkl.f32],
            partial_sum: tkl.Register[B, M, tkl.f32],
            acc: tkl.Register[B, N, M, tkl.f32],
        ):
            imm_reg = tkl.Register[B, K2, M, tkl.f32](0.0)
            q_reg = tkw.read(q)
            k_reg = tkw.read(k)
            inner_acc = tkw.mma(k_reg, q_reg, imm_reg, mma_types[0])
            x_j = tkw.permute(inner_acc, target_shape=[B, M, K2])
            x_j = masked(x_j, causal=causal)
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

        _, res_sum, res_mm = repeat
        reciprocal_sum = tkw.reciprocal(res_sum)
        res = res_mm * reciprocal_sum
        tkw.write(res, c, mapping=out)

    return attention


def head_attention_kernel(
    scale: float,
    mma_types: tuple[tkl.MMAType | None, tkl.MMAType | None] = (None, None),
) -> Any:
    """Attention over heads: batch and head are workgroup axes 2 and 3.

    ``scale`` multiplies the scores; it includes log2(e), for base 2.

    Shapes: ``query: [B, M, H, K1]``, ``key: [B, K2, H, K1]``,
    ``value: [B, K2, H, N]``, ``output: [B, M, H, N]``. Dtypes: f16, output f32.
    Accuracy: as `attention_kernel`.
    """
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.WorkgroupConstraint(H, BLOCK_H, 3),
        tkw.TilingConstraint(K2, BLOCK_K2),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / 1),
        tkw.HardwareConstraint(
            mma_type=mma_types[1],
            mma_rows=MMA_ROWS,
            vector_shapes={B: 0, H: 0},
        ),
        tkw.DieOrder(),
        TILES,
        tkw.FastMath(),
    ]
    v_mapping = mapping(B, H, N, K2, to=(B, K2, H, N))
    q_mapping = mapping(B, H, M, K1, to=(B, M, H, K1))
    k_mapping = mapping(B, H, K2, K1, to=(B, K2, H, K1))
    out = mapping(B, H, N, M, to=(B, M, H, N), written=True)

    @tkw.wave(constraints)
    def attention(
        query: tkl.Memory[B, M, H, K1, QUERY_SPACE, tkl.f16],
        key: tkl.Memory[B, K2, H, K1, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        value: tkl.Memory[B, K2, H, N, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        output: tkl.Memory[B, M, H, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[B, H, N, M, tkl.f32](0.0)
        init_sum = tkl.Register[B, H, M, tkl.f32](0.0)
        init_max = tkl.Register[B, H, M, tkl.f32](-1e6)
        gk_scaling = tkl.Register[B, H, M, K2, tkl.f32](scale)

        @tkw.iterate(K2, init_args=[init_max, init_sum, c_reg])
        def repeat(
            partial_max: tkl.Register[B, H, M, tkl.f32],
            partial_sum: tkl.Register[B, H, M, tkl.f32],
            acc: tkl.Register[B, H, N, M, tkl.f32],
        ):
            imm_reg = tkl.Register[B, H, K2, M, tkl.f32](0.0)
            q_reg = tkw.read(query, mapping=q_mapping)
            k_reg = tkw.read(key, mapping=k_mapping)
            inner_acc = tkw.mma(k_reg, q_reg, imm_reg, mma_types[0])
            x_j = tkw.permute(inner_acc, target_shape=[B, H, M, K2])
            x_j *= gk_scaling
            m_j = tkw.max(x_j, partial_max, dim=K2)
            e_delta_max = tkw.exp2(partial_max - m_j)
            e_delta = tkw.exp2(x_j - m_j)
            e_init = partial_sum * e_delta_max
            d_j = tkw.sum(e_delta, e_init, dim=K2)
            imm_f16 = tkw.cast(e_delta, tkl.f16)
            v_reg = tkw.read(value, mapping=v_mapping)
            new_acc = acc * e_delta_max
            acc = tkw.mma(v_reg, imm_f16, new_acc)
            return m_j, d_j, acc

        _, res_sum, res_mm = repeat
        reciprocal_sum = tkw.reciprocal(res_sum)
        res = res_mm * reciprocal_sum
        tkw.write(res, output, mapping=out)

    return attention
