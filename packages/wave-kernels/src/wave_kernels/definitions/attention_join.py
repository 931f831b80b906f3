"""What queries found among some keys, joined with what they found among others."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention_scores import LOWEST
from wave_kernels.definitions.operands import declared

if TYPE_CHECKING:
    from wave_core.types import DType

HEADS, M, N = tkl.sym.HEADS, tkl.sym.M, tkl.sym.N
"""Heads of all sequences, rows of each that are joined, channels."""

ROWS, PART = tkl.sym.ROWS, tkl.sym.PART
"""All rows of a head, and those that a further part has."""

WAVES = 4

ROWS_OF_WAVE = 4
"""All of them are fetched at once, since memory is what takes the time."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
_H, _M, _N = (tkw.IndexMapping.iterator(i) for i in range(3))


@dataclass(frozen=True)
class Joining:
    """Which rows are joined, and what they are stored as.

    Attributes:
        first: The first of the kept rows that is joined.
        of_part: Which one of the part that is.
        kept: The type of kept rows.
        part: Of those of the part.
        result: Of the joined ones; ``None`` where they take the place of kept rows.
    """

    first: int = 0
    of_part: int = 0
    kept: DType = tkl.f32
    part: DType = tkl.f32
    result: DType | None = None


def join_kernel(joining: Joining = Joining()) -> Any:
    """Attention to two sets of keys, of what it is to each of them.

    Rows are means of values by ``exp(scores)``, and ``lse`` has logarithms of the sums
    of these. From row ``joining.first`` on, M are joined, and others are neither read
    nor written. A row that has seen no key, of a logarithm of minus infinity, adds
    nothing; of two of them the joined one is zeros and has minus infinity.

    Shapes: ``rows: [HEADS, ROWS, N]``, ``lse: [HEADS, ROWS]``,
    ``more: [HEADS, PART, N]``, ``more_lse: [HEADS, PART]``, then ``joined_lse`` as
    ``lse`` and, unless rows take it, ``joined`` as ``rows``. Dtypes: of rows as
    ``joining`` says, computed in f32; of logarithms f32. Symbols to bind: ``M``
    and ``N``; the others may be dynamic. Accuracy: 1e-5 of the larger one of both rows,
    and half a unit in the last place of the result's type.
    """
    kept, part = {ROWS: _M + joining.first}, {PART: _M + joining.of_part}
    operands = _operands(joining)

    @tkw.wave(_constraints())
    @declared(operands)
    def join(*memories: Any) -> None:
        rows, lse, more, more_lse, joined_lse, *joined = memories
        log, other_log = _read(lse, kept), _read(more_lse, part)
        least = tkl.Register[HEADS, M, tkl.f32](LOWEST)
        above = tkw.maximum(tkw.maximum(log, other_log), least)
        share, other_share = tkw.exp(log - above), tkw.exp(other_log - above)
        total = share + other_share
        nothing = tkl.Register[HEADS, M, tkl.f32](0.0)
        one = tkl.Register[HEADS, M, tkl.f32](1.0)
        weight = _each(tkw.reciprocal(tkw.select(total == nothing, one, total)))
        sums = _read(rows, kept) * _each(share) + _read(more, part) * _each(other_share)
        mean = tkw.cast(sums * weight, joining.result or joining.kept)
        _write(mean, joined[0] if joined else rows, kept)
        _write(above + tkw.log(total), joined_lse, kept)

    return join


def _operands(joining: Joining) -> dict[str, Any]:
    """The memories of `join_kernel`, in order."""
    found = {
        "rows": tkl.Memory[HEADS, ROWS, N, _GLOBAL, joining.kept],
        "lse": tkl.Memory[HEADS, ROWS, _GLOBAL, tkl.f32],
        "more": tkl.Memory[HEADS, PART, N, _GLOBAL, joining.part],
        "more_lse": tkl.Memory[HEADS, PART, _GLOBAL, tkl.f32],
        "joined_lse": tkl.Memory[HEADS, ROWS, _GLOBAL, tkl.f32],
    }
    if joining.result is not None:
        found["joined"] = tkl.Memory[HEADS, ROWS, N, _GLOBAL, joining.result]
    return found


def _each(numbers: Any) -> Any:
    """One number a row, for all of its channels."""
    return tkw.broadcast(numbers, target_shape=[HEADS, M, N])


def _places(memory: Any, rows: dict[Any, Any]) -> tuple[Any, Any]:
    """Where elements lie, and which ones of a register they are."""
    wide = len(memory.type.shape) == 3
    channel = {N: _N} if wide else {}
    return {HEADS: _H, **rows, **channel}, {HEADS: _H, M: _M, **channel}


def _read(memory: Any, rows: dict[Any, Any]) -> Any:
    """What is joined of a memory, in f32."""
    there, here = _places(memory, rows)
    found = tkw.IndexMapping(len(here), there, here)
    return tkw.cast(tkw.read(memory, mapping=found), tkl.f32)


def _write(values: Any, memory: Any, rows: dict[Any, Any]) -> None:
    there, here = _places(memory, rows)
    tkw.write(values, memory, mapping=tkw.IndexMapping(len(here), here, there))


def _constraints() -> list[Any]:
    """A wave goes over the channels of a few rows, which lie behind each other."""
    return [
        tkw.HardwareConstraint(vector_shapes={HEADS: 1, M: 1, N: N}),
        tkw.WorkgroupConstraint(M, WAVES * ROWS_OF_WAVE, 0),
        tkw.WorkgroupConstraint(N, N, 1),
        tkw.WorkgroupConstraint(HEADS, 1, 2),
        tkw.WaveConstraint(M, ROWS_OF_WAVE),
        tkw.WaveConstraint(N, N),
        tkw.FastMath(maxima_drop_nan=True),
    ]
