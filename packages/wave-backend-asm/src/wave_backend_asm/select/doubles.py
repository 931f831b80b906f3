"""Floats of 64 bits: two registers each, of lanes; constants lie in those of the wave.

Source of the sequences for quotients and roots: those that LLVM's AMDGPU backend has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import SCALARS, Operand, Virtual
from wave_backend_asm.select.basics import lane_test

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder
    from wave_backend_asm.select.pairs import Pair

_SIGN, _SIZE = 0x80000000, 0x7FFFFFFF

_SMALL = (0, 0x10000000)
"""2 to the power of -767: the roots of smaller numbers are those of larger ones."""

_INLINE: Mapping[Pair, str] = {
    (0, 0): "0",
    (0, 0x3FE00000): "0.5",
    (0, 0x3FF00000): "1.0",
    (0, 0xBFF00000): "-1.0",
}
"""Numbers that take no register. Source: CDNA3 ISA, "Scalar operands"."""

ONE, HALF = (0, 0x3FF00000), (0, 0x3FE00000)


def said(b: Builder, name: str, *numbers: Pair) -> Pair:
    """One instruction of lanes."""
    result = Virtual(2)
    b.say(name, (result.all,), _readable(b, numbers))
    low, high = result.parts()
    return low, high


def _readable(b: Builder, numbers: tuple[Pair, ...]) -> list[Operand]:
    """Operands, of which one may be in registers of the wave, and that several times.

    A constant is moved there each time: those of a polynomial would fill all of them.
    """
    found: list[Operand] = []
    held: dict[Pair, Operand] = {}
    for each in numbers:
        inline = _INLINE.get(each)
        if inline is not None:
            found.append(inline)
            continue
        if not held and all(isinstance(word, int) for word in each):
            held[each] = b.moved(each, Virtual(2, SCALARS))
        found.append(held.get(each) or b.together([*map(b.in_vector, each)]))
    return found


def compared_doubles(b: Builder, asks: str, one: Pair, two: Pair) -> Operand:
    """A relation, by its name in comparisons of floats."""
    operands = _readable(b, (one, two))
    return lane_test(b, f"v_cmp_{asks}_f64_e64", *operands)


def negated(b: Builder, one: Pair) -> Pair:
    """The number with the other sign."""
    return one[0], b.valu("v_xor_b32", _SIGN, one[1])


def _magnitude(b: Builder, one: Pair) -> Pair:
    return one[0], b.valu("v_and_b32", _SIZE, one[1])


def _with_sign_of(b: Builder, one: Pair, two: Pair) -> Pair:
    return one[0], b.valu("v_bfi_b32", _SIZE, one[1], two[1])


def _subtract(b: Builder, one: Pair, two: Pair) -> Pair:
    return said(b, "v_fma_f64", two, (0, 0xBFF00000), one)


def fused(b: Builder, one: Pair, two: Pair, three: Pair) -> Pair:
    """The product and the sum, rounded once."""
    return said(b, "v_fma_f64", one, two, three)


def chosen_double(b: Builder, test: Operand, one: Pair, other: Pair) -> Pair:
    """One of two numbers in each lane."""
    low, high = (
        b.valu("v_cndmask_b32_e64", y, x, test) for x, y in zip(one, other, strict=True)
    )
    return low, high


def _divide(b: Builder, above: Pair, below: Pair) -> Pair:
    """The quotient, rounded correctly."""
    top, bottom = (b.together([*map(b.in_vector, each)]) for each in (above, below))
    scaled, upper = Virtual(2), Virtual(2)
    unused = Virtual(2, SCALARS).all
    b.say("v_div_scale_f64", (scaled.all, unused), (bottom, bottom, top))
    b.say("v_div_scale_f64", (upper.all, "vcc"), (top, bottom, top))
    under, over = _words(scaled), _words(upper)
    minus = negated(b, under)
    guess = said(b, "v_rcp_f64", under)
    for _ in range(2):
        guess = fused(b, guess, fused(b, minus, guess, ONE), guess)
    quotient = said(b, "v_mul_f64", over, guess)
    rest = fused(b, minus, quotient, over)
    joined = said(b, "v_div_fmas_f64", rest, guess, quotient)
    return said(b, "v_div_fixup_f64", joined, below, above)


def _words(value: Virtual) -> Pair:
    low, high = value.parts()
    return low, high


def _root(b: Builder, one: Pair) -> Pair:
    """The root, off by a unit at the most, by Goldschmidt's steps."""
    small = compared_doubles(b, "gt", _SMALL, one)
    given = _scaled(b, one, b.valu("v_cndmask_b32_e64", 0, b.in_vector(256), small))
    guess = said(b, "v_rsq_f64", given)
    root, half = (said(b, "v_mul_f64", guess, each) for each in (given, HALF))
    rest = fused(b, negated(b, half), root, HALF)
    half, root = fused(b, half, rest, half), fused(b, root, rest, root)
    for _ in range(2):
        error = fused(b, negated(b, root), root, given)
        root = fused(b, error, half, root)
    back = b.in_vector(-128 & 0xFFFFFFFF)
    root = _scaled(b, root, b.valu("v_cndmask_b32_e64", 0, back, small))
    # Zeros and infinity are their own roots.
    part = b.together([*map(b.in_vector, given)])
    kept = lane_test(b, "v_cmp_class_f64_e64", part, b.in_vector(0x260))
    return chosen_double(b, kept, given, root)


def _scaled(b: Builder, one: Pair, power: Operand) -> Pair:
    result = Virtual(2)
    part = b.together([*map(b.in_vector, one)])
    b.say("v_ldexp_f64", (result.all,), (part, power))
    return _words(result)


def _extreme(name: str) -> Callable[[Builder, Pair, Pair], Pair]:
    """NaN where one is NaN, which the sum of both is."""

    def made(b: Builder, one: Pair, two: Pair) -> Pair:
        found = said(b, name, one, two)
        test = compared_doubles(b, "u", one, two)
        return chosen_double(b, test, said(b, "v_add_f64", one, two), found)

    return made


def _plain(name: str) -> Callable[..., Pair]:
    def made(b: Builder, *numbers: Pair) -> Pair:
        return said(b, name, *numbers)

    return made


def _inverse_root(b: Builder, one: Pair) -> Pair:
    return _divide(b, ONE, _root(b, one))


DOUBLES: Mapping[str, Callable[..., Pair]] = {
    "addf": _plain("v_add_f64"),
    "subf": _subtract,
    "mulf": _plain("v_mul_f64"),
    "divf": _divide,
    "negf": negated,
    "absf": _magnitude,
    "copysign": _with_sign_of,
    "maximumf": _extreme("v_max_f64"),
    "minimumf": _extreme("v_min_f64"),
    "floor": _plain("v_floor_f64"),
    "ceil": _plain("v_ceil_f64"),
    "roundeven": _plain("v_rndne_f64"),
    "sqrt": _root,
    "rsqrt": _inverse_root,
}
"""f64 by the word of `Instructions`."""
