"""Division of 64-bit integers: of words where all are, else bit by bit.

Indices whose bounds are not known to fit 32 bits mostly do. Where those of a wave do
not, a loop of 64 turns over registers of lanes finds one bit of the quotient after the
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.machine.instruction import Label
from wave_backend_asm.machine.operands import SCALARS, Operand, Virtual, is_scalar
from wave_backend_asm.select.basics import basic, lane_test
from wave_backend_asm.select.divisions import divide

if TYPE_CHECKING:
    from wave_backend_asm.code import Part
    from wave_backend_asm.select.builder import Builder
    from wave_backend_asm.select.pairs import Pair

_TURNS = 64


def divided(b: Builder, above: Pair, below: Pair) -> tuple[Pair, Pair]:
    """The quotient and the remainder of numbers without a sign."""
    quotient, rest = Virtual(2), Virtual(2)
    long, done, lines = b.label("divide"), b.label("divided"), b.blocks[b.here].lines
    divisor = b.moved([*map(b.in_vector, below)], Virtual(2))
    b.moved([*map(b.in_vector, above)], quotient)
    b.moved((0, 0), rest)
    _ask(b, above[1], below[1])
    b.say("s_cbranch_scc1", target=long)
    with b.region() as words, b.at(b.level):
        by = below[0] if isinstance(below[0], int) else divisor._replace(width=1)
        _divide_words(b, quotient, rest, by)
    lines += words.lines
    b.say("s_branch", target=done)
    _divide_bits(b, quotient, rest, divisor, long)
    lines.append(Label(done, b.depth))
    (low, high), (first, last) = quotient.parts(), rest.parts()
    return (low, high), (first, last)


def _ask(b: Builder, one: Operand, two: Operand) -> None:
    """Whether some lane has an upper word that is not 0, as the wave's condition."""
    both = basic(b, "ori", one, two)
    if is_scalar(both):
        b.say("s_cmp_lg_u32", (), (both, 0))
        return
    test = lane_test(b, "v_cmp_ne_u32_e64", 0, b.in_vector(both))
    b.say("s_cmp_lg_u64", (), (test, 0))


def _divide_words(b: Builder, quotient: Virtual, rest: Virtual, below: Operand) -> None:
    """All that is there are lower words, and what is found are."""
    low, *_ = quotient.parts()
    found = divide(b, low, below)
    left = basic(b, "subi", low, basic(b, "muli", found, below))
    b.copy(rest.parts()[0], b.in_vector(left))
    b.copy(low, b.in_vector(found))


def _divide_bits(
    b: Builder, quotient: Virtual, rest: Virtual, divisor: Part, name: str
) -> None:
    """One turn for each bit of the quotient."""
    count, lines = Virtual(1, SCALARS, "a counter"), b.blocks[b.here].lines
    again = b.label("bit")
    lines.append(Label(name, b.depth))
    b.say("s_mov_b32", (count.all,), (_TURNS,))
    b.depth += 1
    lines.append(Label(again, b.depth))
    _turn(b, quotient, rest, divisor)
    b.say("s_sub_i32", (count.all,), (count.all, 1))
    b.say("s_cmp_lg_u32", (), (count.all, 0))
    b.say("s_cbranch_scc1", target=again)
    b.depth -= 1


def _turn(b: Builder, quotient: Virtual, rest: Virtual, divisor: Part) -> None:
    """Shift a bit of the dividend into the rest; take the divisor out if it fits."""
    low, high = quotient.parts()
    bit = b.valu("v_lshrrev_b32", 31, high)
    b.say("v_lshlrev_b64", (rest.all,), (1, rest.all))
    first, last = rest.parts()
    b.say("v_or_b32", (first,), (first, bit))
    b.say("v_lshlrev_b64", (quotient.all,), (1, quotient.all))
    fits = lane_test(b, "v_cmp_ge_u64_e64", rest.all, divisor)
    one, two = (divisor._replace(first=at, width=1) for at in (0, 1))
    carry, less, more = Virtual(2, SCALARS).all, Virtual().all, Virtual().all
    b.say("v_sub_co_u32_e64", (less, carry), (first, one))
    b.say("v_subb_co_u32_e64", (more, Virtual(2, SCALARS).all), (last, two, carry))
    b.say("v_cndmask_b32_e64", (first,), (first, less, fits))
    b.say("v_cndmask_b32_e64", (last,), (last, more, fits))
    b.say("v_or_b32", (low,), (low, b.valu("v_cndmask_b32_e64", 0, 1, fits)))
