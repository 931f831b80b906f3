"""Division of 64-bit integers: one bit of the quotient after the other.

A loop of 64 turns over registers of lanes, for indices whose bounds are not known to
fit 32 bits; nothing that is computed often has such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.machine.instruction import Label
from wave_backend_asm.machine.operands import SCALARS, Operand, Virtual
from wave_backend_asm.select.basics import lane_test

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder
    from wave_backend_asm.select.pairs import Pair

_TURNS = 64


def divided(b: Builder, above: Pair, below: Pair) -> tuple[Pair, Pair]:
    """The quotient and the remainder of numbers without a sign."""
    quotient, rest, count = Virtual(2), Virtual(2), Virtual(1, SCALARS, "a counter")
    divisor = b.moved([*map(b.in_vector, below)], Virtual(2))
    b.moved([*map(b.in_vector, above)], quotient)
    b.moved((0, 0), rest)
    b.say("s_mov_b32", (count.all,), (_TURNS,))
    again, lines = b.label("divide"), b.blocks[b.here].lines
    b.depth += 1
    lines.append(Label(again, b.depth))
    _turn(b, quotient, rest, divisor)
    b.say("s_sub_i32", (count.all,), (count.all, 1))
    b.say("s_cmp_lg_u32", (), (count.all, 0))
    b.say("s_cbranch_scc1", target=again)
    b.depth -= 1
    lines.append(Label(b.label("divided"), b.depth))
    (low, high), (first, last) = quotient.parts(), rest.parts()
    return (low, high), (first, last)


def _turn(b: Builder, quotient: Virtual, rest: Virtual, divisor: Operand) -> None:
    """Shift a bit of the dividend into the rest; take the divisor out if it fits."""
    low, high = quotient.parts()
    bit = b.valu("v_lshrrev_b32", 31, high)
    b.say("v_lshlrev_b64", (rest.all,), (1, rest.all))
    first, last = rest.parts()
    b.say("v_or_b32", (first,), (first, bit))
    b.say("v_lshlrev_b64", (quotient.all,), (1, quotient.all))
    fits = lane_test(b, "v_cmp_ge_u64_e64", rest.all, divisor)
    assert not isinstance(divisor, int | str), "in registers"
    one, two = (divisor._replace(first=at, width=1) for at in (0, 1))
    carry, less, more = Virtual(2, SCALARS).all, Virtual().all, Virtual().all
    b.say("v_sub_co_u32_e64", (less, carry), (first, one))
    b.say("v_subb_co_u32_e64", (more, Virtual(2, SCALARS).all), (last, two, carry))
    b.say("v_cndmask_b32_e64", (first,), (first, less, fits))
    b.say("v_cndmask_b32_e64", (last,), (last, more, fits))
    b.say("v_or_b32", (low,), (low, b.valu("v_cndmask_b32_e64", 0, 1, fits)))
