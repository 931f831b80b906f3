"""Flash attention: softmax(q k^T) v without storing the scores."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention_scores import LOG2_E, PLAIN, Scoring
from wave_kernels.definitions.attention_tiles import (
    K1,
    K2,
    KVH,
    QUERY_SPACE,
    TILES,
    B,
    H,
    M,
    N,
    mapping,
    spread,
)
from wave_kernels.definitions.operands import declared
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.types import DType

MMATypes = tuple[tkl.MMAType | None, tkl.MMAType | None]


def attended(
    lead: tuple[Any, ...],
    scores: Callable[[], Any],
    values: Callable[[], Any],
    scoring: Scoring = PLAIN,
    dtype: DType = tkl.f16,
) -> tuple[Any, Any, Any]:
    """What a row has seen when all keys have passed by, tile after tile.

    Args:
        lead: The dims of every result before its rows.
        scores: Gives those of a tile, ``[*lead, M, K2]``, f32, for base 2.
        values: Reads those of a tile, ``[*lead, N, K2]``, of ``dtype``.
        scoring: What was done to the scores.
        dtype: What powers are rounded to, which are at most 1.

    Returns:
        Of each row the greatest score, the sum of powers of 2 of how far scores are
        below it, both ``[*lead, M]``, and the sum of such powers times values,
        ``[*lead, N, M]``; all f32.
    """
    row, sums = (*lead, M), (*lead, N, M)
    c_reg = tkl.Register[*sums, tkl.f32](0.0)
    init_sum = tkl.Register[*row, tkl.f32](0.0)
    init_max = tkl.Register[*row, tkl.f32](scoring.least)

    @tkw.iterate(K2, init_args=[init_max, init_sum, c_reg])
    def repeat(
        partial_max: tkl.Register[*row, tkl.f32],
        partial_sum: tkl.Register[*row, tkl.f32],
        acc: tkl.Register[*sums, tkl.f32],
    ):
        x_j = scores()
        m_j = tkw.max(x_j, partial_max, dim=K2)
        e_delta_max = tkw.exp2(partial_max - m_j)
        e_delta = tkw.exp2(x_j - m_j)
        e_init = partial_sum * e_delta_max
        d_j = tkw.sum(e_delta, e_init, dim=K2)
        powers = tkw.cast(e_delta, dtype)
        v_reg = values()
        new_acc = acc * e_delta_max
        acc = tkw.mma(v_reg, powers, new_acc)
        return m_j, d_j, acc

    return repeat


def products(
    keys: Any, queries: Any, lead: tuple[Any, ...], mma_type: tkl.MMAType | None
) -> Any:
    """Those of each query and key of a tile, ``[*lead, M, K2]``, f32."""
    imm_reg = tkl.Register[*lead, K2, M, tkl.f32](0.0)
    inner_acc = tkw.mma(keys, queries, imm_reg, mma_type)
    return tkw.permute(inner_acc, target_shape=[*lead, M, K2])


def weighted(total: Any, sums: Any, lead: tuple[Any, ...], scoring: Scoring) -> Any:
    """The mean of values of each row, zero where a row has seen no key."""
    if scoring.complete:
        none = tkl.Register[*lead, M, tkl.f32](0.0)
        one = tkl.Register[*lead, M, tkl.f32](1.0)
        total = tkw.select(total == none, one, total)
    return sums * tkw.reciprocal(total)


def attention_kernel(
    mma_types: MMATypes = (None, None),
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
    scoring = Scoring(causal=causal)
    v_mapping = mapping(B, N, K2, to=(B, K2, N))
    out = mapping(B, N, M, to=(B, M, N), written=True)

    @tkw.wave(
        spread((B,), mma_types[1], TILES, STAGING, growing=causal, **scoring.seen())
    )
    def attention(
        q: tkl.Memory[B, M, K1, QUERY_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        def scores() -> Any:
            q_reg, k_reg = tkw.read(q), tkw.read(k)
            return scoring.hidden(products(k_reg, q_reg, (B,), mma_types[0]))

        def values() -> Any:
            return tkw.read(v, mapping=v_mapping)

        _, total, sums = attended((B,), scores, values, scoring)
        tkw.write(weighted(total, sums, (B,), scoring), c, mapping=out)

    return attention


@dataclass(frozen=True)
class Heads:
    """How the operands of attention over heads lie in memory.

    Attributes:
        layout: ``bshd``: batch, sequence, head, channel; or ``bhsd``.
        group: How many heads of queries share one of keys and values.
        dtype: Of queries, keys, values and bias: f16 or bf16.
        result: Of the output.
    """

    layout: str = "bshd"
    group: int = 1
    dtype: DType = tkl.f16
    result: DType = tkl.f32

    def dims(self, *each: Any) -> tuple[Any, ...]:
        """Those of a memory, slowest first, of batch, head, row and channel."""
        batch, head, row, channel = each
        middle = (head, row) if self.layout == "bhsd" else (row, head)
        return (batch, *middle, channel)

    @property
    def query(self) -> tuple[Any, ...]:
        """The dims of the queries."""
        return self.dims(B, H, M, K1)

    @property
    def key(self) -> tuple[Any, ...]:
        """The dims of the keys."""
        return self.dims(B, self.shared, K2, K1)

    @property
    def value(self) -> tuple[Any, ...]:
        """The dims of the values."""
        return self.dims(B, self.shared, K2, N)

    @property
    def output(self) -> tuple[Any, ...]:
        """The dims of the output."""
        return self.dims(B, H, M, N)

    @property
    def shared(self) -> Any:
        """The dim of heads of keys and values."""
        return KVH if self.group > 1 else H


def head_attention_kernel(
    scale: float,
    mma_types: MMATypes = (None, None),
    *,
    heads: Heads = Heads(),
    scoring: Scoring = PLAIN,
    lse: bool = False,
) -> Any:
    """Attention over heads: batch and head are workgroup axes 2 and 3.

    ``scale`` multiplies the scores; it includes log2(e), for base 2. ``scoring`` says
    what else is done to them. The operands are ``query``, ``key``, ``value``, then
    ``bias`` and ``slopes`` where scores have them, ``output``, and ``lse`` where it is
    asked for: the logarithm of the sum of the powers of e of a row's scores.

    Shapes: as ``heads`` says, by default ``query: [B, M, H, K1]``,
    ``key: [B, K2, H, K1]``, ``value: [B, K2, H, N]``, ``output: [B, M, H, N]``, with
    `KVH` for heads that are shared; ``bias`` as ``scoring`` says, ``slopes: [H]``,
    ``lse: [B, H, M]``. Dtypes: as ``heads`` says, ``slopes`` and ``lse`` f32.
    Accuracy: as `attention_kernel`; of bf16 8e-3.
    """
    lead, scored = (B, H), (B, H, M, K2)
    v_mapping = mapping(B, H, N, K2, to=heads.value, group=heads.group)
    q_mapping = mapping(B, H, M, K1, to=heads.query)
    k_mapping = mapping(B, H, K2, K1, to=heads.key, group=heads.group)
    out = mapping(B, H, N, M, to=heads.output, written=True)
    operands = _operands(heads, scoring, lse=lse)

    @tkw.wave(
        spread(lead, mma_types[1], TILES, growing=scoring.growing, **scoring.seen())
    )
    @declared(operands)
    def attention(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        gk_scaling = tkl.Register[B, H, M, K2, tkl.f32](scale)
        slopes = slopes_of(given["slopes"]) if scoring.alibi else None

        def added() -> Any:
            return tkw.read(given["bias"])

        def scores() -> Any:
            q_reg = tkw.read(given["query"], mapping=q_mapping)
            k_reg = tkw.read(given["key"], mapping=k_mapping)
            x_j = products(k_reg, q_reg, lead, mma_types[0]) * gk_scaling
            return scoring.hidden(scoring.finished(x_j, scored, slopes, added))

        def values() -> Any:
            return tkw.read(given["value"], mapping=v_mapping)

        greatest, total, sums = attended(lead, scores, values, scoring, heads.dtype)
        found = weighted(total, sums, lead, scoring)
        tkw.write(tkw.cast(found, heads.result), given["output"], mapping=out)
        if lse:
            sums = log_sum(greatest, total)
            once(lambda: tkw.write(sums, given["lse"]))

    return attention


def once(write: Callable[[], None]) -> None:
    """Let the workgroup of the first channels write: those of others have the same."""

    @tkw.conditional(tkw.WORKGROUP_1 < 1)
    def first() -> None:
        write()


def _operands(heads: Heads, scoring: Scoring, *, lse: bool) -> dict[str, Any]:
    """The memories of `head_attention_kernel`, in order."""
    dtype, whole = heads.dtype, tkl.GLOBAL_ADDRESS_SPACE
    found = {
        "query": tkl.Memory[*heads.query, QUERY_SPACE, dtype],
        "key": tkl.Memory[*heads.key, tkl.SHARED_ADDRESS_SPACE, dtype],
        "value": tkl.Memory[*heads.value, tkl.SHARED_ADDRESS_SPACE, dtype],
    }
    if scoring.bias:
        found["bias"] = tkl.Memory[*scoring.bias, whole, dtype]
    if scoring.alibi:
        found["slopes"] = tkl.Memory[H, whole, tkl.f32]
    found["output"] = tkl.Memory[*heads.output, whole, heads.result]
    if lse:
        found["lse"] = tkl.Memory[B, H, M, whole, tkl.f32]
    return found


def slopes_of(memory: Any) -> Any:
    """Those of the heads, for base 2."""
    return base_2(tkw.read(memory), H)


def base_2(numbers: Any, *dims: Any) -> Any:
    """Logarithms, which have these dims, for base 2."""
    return numbers * tkl.Register[*dims, tkl.f32](LOG2_E)


def log_sum(greatest: Any, total: Any) -> Any:
    """The natural logarithm of the sum of all powers of a row."""
    return (greatest + tkw.log2(total)) * tkl.Register[B, H, M, tkl.f32](log(2))
