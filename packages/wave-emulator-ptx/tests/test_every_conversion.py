"""Every conversion that is executed, against fractions, at limits, halves and ties."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from elementwise import elementwise
from exact_rounding import FORMATS, STEPS, on_grid

from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa import forms
from wave_emulator_ptx.syntax import Instruction, Name

FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
WHOLE = [f"{sign}{width}" for sign in "us" for width in (8, 16, 32, 64)]
SINGLE = ["f16", "bf16", "f32", "f64"]
PACKED = {"f16x2": "f16", "bf16x2": "bf16", "e4m3x2": "e4m3", "e5m2x2": "e5m2"}
DIRECTIONS = ["rn", "rz", "rm", "rp"]
INTEGRAL = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
RANDOM = 24

# ------------------------------------------------------------------ operands


def near_powers() -> list[Fraction]:
    """Where a format or a type ends, halves, and ties of each format."""
    ends = {7, 8, 15, 16, 31, 32, 62, 63, 64, -126, -127}
    ends |= {form.least for form in FORMATS.values()}
    ends |= {form.least - 1 for form in FORMATS.values()}
    found = [Fraction(2) ** each for each in ends]
    found += [Fraction(each, 2) for each in (1, 2, 3, 5, 7)]
    for form in FORMATS.values():
        ulp = Fraction(2) ** -form.digits
        found += [1 + ulp, 1 + 3 * ulp, (1 + ulp) / 4, (1 + ulp) * 2**30]
        found += [(1 + ulp) * 2**62, form.top, form.top * (1 + ulp / 2)]
        found += [form.top * (1 + ulp)]
    return found


@cache
def operands(name: str) -> np.ndarray:
    """Values of a type, as bits."""
    width = 8 * np.dtype(FLOATS[name]).itemsize if name in FLOATS else int(name[1:])
    source = np.random.default_rng(width)
    words = source.integers(0, 256, (RANDOM, width // 8), dtype=np.uint8)
    kind = np.dtype(f"u{width // 8}")
    special = float_bits(name) if name in FLOATS else integer_bits(name)
    bits = {each % (1 << width) for each in special}
    return np.concatenate([np.array(sorted(bits), kind), words.view(kind)[:, 0]])


def integer_bits(name: str) -> set[int]:
    """Limits of integers and floats, one beside them, and ties."""
    sizes = [int(each) for each in near_powers() if each < 2**64]
    near = {each + beside for each in sizes for beside in (-1, 0, 1)}
    return near | {-each for each in near} if name[0] == "s" else near


def float_bits(name: str) -> set[int]:
    """The same of floats, one place beside them, and what is no number."""
    form, dtype = FORMATS[name], np.dtype(FLOATS[name])
    found = [on_grid(each, form) for each in near_powers()] + [0.0, math.inf, math.nan]
    with np.errstate(all="ignore"):
        bits = np.array(found).astype(dtype).view(f"u{dtype.itemsize}")
    near = {int(each) + beside for each in bits for beside in (-1, 0, 1)}
    return near | {each + (1 << 8 * dtype.itemsize - 1) for each in near}


def decoded(bits: np.ndarray, name: str) -> list[float] | list[int]:
    """What bits of a type mean."""
    if name in FLOATS:
        with np.errstate(invalid="ignore"):  # of NaN that signal
            return bits.view(FLOATS[name]).astype(np.float64).tolist()
    return bits.view(f"{'i' if name[0] == 's' else 'u'}{bits.dtype.itemsize}").tolist()


# ------------------------------------------------------------------ the model


def converted(x: float, to: str, source: str, words: tuple[str, ...]) -> float:
    """What section 9.7.9.22 of the PTX ISA has for a value.

    An H200 gave the same but for ``.rm.ftz`` and ``.rp.ftz`` from f32 to f16: there it
    flushes no operand.
    """
    if "ftz" in words and source == "f32" and abs(x) < 2.0**-126:
        x = math.copysign(0.0, x)
    if to in FLOATS:
        return to_float(x, to, words)
    return to_integer(x, to, source, words)


def to_integer(x: float, to: str, source: str, words: tuple[str, ...]) -> int:
    width = int(to[1:])
    least = -(1 << width - 1) if to[0] == "s" else 0
    top = least + (1 << width) - 1
    if isinstance(x, int) and "sat" not in words:
        return (x - least) % (1 << width) + least
    if math.isnan(x):
        wide = source == "f64" or width == 64
        return (least or 1 << width - 1) if wide else 0
    if math.isinf(x):
        return top if x > 0 else least
    (mode,) = [INTEGRAL[each] for each in words if each in INTEGRAL] or ["rn"]
    return min(max(STEPS[mode](Fraction(x)), least), top)


def to_float(x: float, to: str, words: tuple[str, ...]) -> float:
    if "sat" in words:
        x = 0.0 if math.isnan(x) or x <= 0 else min(x, 1.0)
    if "relu" in words and x <= 0:
        x = 0.0
    (mode,) = [each for each in words if each in DIRECTIONS] or ["rn"]
    found = x
    if math.isfinite(x):
        value = Fraction(x)
        for each in set(words) & set(INTEGRAL):
            value = Fraction(STEPS[INTEGRAL[each]](value))
        found = math.copysign(on_grid(value, FORMATS[to], mode), x)
    if "satfinite" in words and abs(found) > FORMATS[to].top:
        return math.copysign(FORMATS[to].top, x)
    tiny = "ftz" in words and to == "f32" and abs(found) < 2.0**-126
    return math.copysign(0.0, found) if tiny else found


# ------------------------------------------------------------------ tests


def known(words: tuple[str, ...], operands: int) -> bool:
    """Whether a conversion is executed."""
    names = tuple(Name(f"%{each}") for each in range(operands))
    try:
        forms.check(Instruction("cvt", words, names, None, 0))
    except UnknownInstructionError:
        return False
    return True


def forms_of(to: str, source: str, operands: int) -> list[tuple[str, ...]]:
    """The words of conversions of a pair of types."""
    first = ["", *DIRECTIONS, *INTEGRAL]
    tried = product(first, ["", "ftz"], ["", "relu"], ["", "sat", "satfinite"])
    texts = [(*filter(None, each), to, source) for each in tried]
    return [each for each in texts if known(each, operands)]


def same(found: list[float], wanted: list[float]) -> list[bool]:
    """Whether numbers are equal, zeros with their sign, and what is none is none."""
    return [
        (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
        for a, b in zip(found, wanted, strict=True)
    ]


def check(found: np.ndarray, given: np.ndarray, words: tuple[str, ...]) -> None:
    """Compare results of a conversion with the model."""
    to, source = (PACKED.get(each, each) for each in words[-2:])
    values = decoded(given, source)
    wanted = [converted(x, to, source, words) for x in values]
    good = same(decoded(found, to), wanted)
    wrong = [
        (f"{int(bits):#x}", x, r, w)
        for bits, x, r, w, fine in zip(
            given, values, decoded(found, to), wanted, good, strict=True
        )
        if not fine
    ]
    assert not wrong, (words, wrong[:4])


@pytest.mark.parametrize("source", [*WHOLE, *SINGLE])
def test_single_values(source):
    given = operands(source)
    for to in [*WHOLE, *SINGLE]:
        width = 8 * np.dtype(FLOATS[to]).itemsize if to in FLOATS else int(to[1:])
        for words in forms_of(to, source, 2):
            body = f"cvt.{'.'.join(words)} %r, %x;"
            check(elementwise(body, [given], f"u{width // 8}"), given, words)


@pytest.mark.parametrize("to", PACKED)
def test_two_values_of_single(to):
    given, one = operands("f32"), f"u{np.dtype(FLOATS[PACKED[to]]).itemsize}"
    for words in forms_of(to, "f32", 3):
        body = f"cvt.{'.'.join(words)} %r, %x, %y;"
        found = elementwise(body, [given, given[::-1].copy()], f"u{2 * int(one[1])}")
        lower, upper = found.view(one).reshape(-1, 2).T
        check(upper.copy(), given, words)
        check(lower[::-1].copy(), given, words)


@pytest.mark.parametrize("small", ["e4m3x2", "e5m2x2"])
@pytest.mark.parametrize("widens", [False, True])
def test_two_values_of_one_register(small, widens):
    to, source = ("f16x2", small) if widens else (small, "f16x2")
    given = operands(PACKED[source])
    given = given[: len(given) // 2 * 2]
    one = f"u{np.dtype(FLOATS[PACKED[to]]).itemsize}"
    for words in forms_of(to, source, 2):
        packed = given.view(f"u{2 * given.itemsize}")
        body = f"cvt.{'.'.join(words)} %r, %x;"
        found = elementwise(body, [packed], f"u{2 * int(one[1])}")
        check(found.view(one), given, words)


@pytest.mark.parametrize(
    ("words", "given", "wanted"),
    [
        ("rn.f16.f32", "u4", 0x7FFF),
        ("f32.f16", "u2", 0x7FFFFFFF),
        ("rzi.f32.f32", "u4", 0x7FFFFFFF),
        ("ftz.f32.bf16", "u2", 0x7FFFFFFF),
        ("rn.satfinite.e4m3x2.f16x2", "u4", 0x7F7F),
        ("rn.satfinite.e5m2x2.f16x2", "u4", 0x7F7F),
        ("rn.f16x2.e4m3x2", "u2", 0x7FFF7FFF),
    ],
)
def test_what_is_no_number_has_the_bits_that_a_card_gives(words, given, wanted):
    size = {0x7F7F: 2, 0x7FFF: 2}.get(wanted, 4)
    nothing = np.full(32, -1).astype(given)
    found = elementwise(f"cvt.{words} %r, %x;", [nothing], f"u{size}")
    assert {*found.tolist()} == {wanted}
