"""Single instructions, each with all of its words, against Python's numbers."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import float_model
import integer_model
import ml_dtypes
import numpy as np
import pytest
from elementwise import elementwise
from integer_model import as_type, holds, width_of
from operand_samples import integers

from wave_emulator_ptx.isa import forms

FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
COUNTS = {"popc", "clz", "bfind"}
COMPARING = {"set", "setp"}
OPCODES = [
    "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "neg",
    "abs", "sad", "sqrt", "rcp", "copysign", "and", "or", "xor", "not", "cnot",
    "popc", "clz", "brev", "shl", "shr", "shf", "bfind", "bfe", "bfi", "prmt",
    "lop3", "set", "setp", "selp", "slct",
]  # fmt: skip
NOT_EXACT = {"approx", "full", "pred"}
COUNT = 96

# ------------------------------------------------------------------ forms


def words_of(opcode: str) -> list[tuple[str, ...]]:
    """All that may stand behind an opcode, but for what is not exact."""
    found: dict[tuple[str, ...], None] = {}
    for form in forms.FORMS[opcode]:
        choices = [
            [*word.known.pattern.split("|"), *([""] if word.optional else [])]
            for group in form.words
            for word in group
        ]
        for each in product(*choices):
            words = tuple(filter(None, each))
            if NOT_EXACT.isdisjoint(words):
                found[words] = None
    return list(found)


def single(name: str) -> str:
    """The type of a lane."""
    return name.removesuffix("x2")


def is_float(name: str) -> bool:
    return single(name) in FLOATS


def types_in(words: tuple[str, ...]) -> list[str]:
    """The types that words name."""
    return [each for each in words if is_float(each) or single(each)[1:].isdigit()]


def operands_of(opcode: str, words: tuple[str, ...]) -> list[str]:
    """The types of an instruction's operands."""
    kinds = types_in(words)
    kind = kinds[-1]
    if opcode in {"shl", "shr"}:
        return [kind, "u32"]
    if opcode == "bfe":
        return [kind, "u32", "u32"]
    if opcode == "bfi":
        return [kind, kind, "u32"]
    if opcode == "mad" and "wide" in words:
        return [kind, kind, result_of(opcode, words)]
    if opcode == "slct":
        return [kinds[0], kinds[0], kind]
    if opcode == "selp" or (opcode == "setp" and joined(words)):
        return [kind, kind, "u32"]
    if opcode in {"lop3", "prmt"}:
        return ["b32"] * 3
    (form,) = {each.operands for each in forms.FORMS[opcode] if matches(each, words)}
    return [kind] * sum(each == "v" for each in form)


def matches(form: Any, words: tuple[str, ...]) -> bool:
    return form.taken(words) == (len(words), True)


def result_of(opcode: str, words: tuple[str, ...]) -> str:
    """The type of an instruction's result."""
    kinds = types_in(words)
    if opcode in COUNTS or opcode == "setp":
        return "u32"
    if "wide" in words:
        return f"{kinds[-1][0]}{2 * width_of(kinds[-1])}"
    return kinds[0]


def joined(words: tuple[str, ...]) -> str:
    """The word that joins a comparison with a predicate."""
    return next((each for each in words if each in {"and", "or", "xor"}), "")


def body_of(opcode: str, words: tuple[str, ...], table: int) -> str:
    """A text that computes ``%r``."""
    name = f"{opcode}.{'.'.join(words)}"
    names = ", ".join(["%x", "%y", "%z"][: len(operands_of(opcode, words))])
    if opcode == "lop3":
        return f"{name} %r, {names}, {table};"
    if opcode == "bfi":
        return f"shr.u32 %t, %z, 8; {name} %r, %x, %y, %z, %t;"
    if opcode == "selp":
        return f"setp.ne.u32 %p, %z, 0; {name} %r, %x, %y, %p;"
    if opcode == "setp":
        join = "setp.ne.u32 %p, %z, 0;" if joined(words) else ""
        operands = "%x, %y, %p" if join else "%x, %y"
        if types_in(words)[-1] in {"f16", "bf16"}:  # they have one result
            return f"{join} {name} %p, {operands}; selp.u32 %r, 1, 0, %p;"
        return (
            f"{join} {name} %p|%q, {operands}; selp.u32 %r, 1, 0, %p;"
            "selp.u32 %t, 2, 0, %q; or.b32 %r, %r, %t;"
        )
    return f"{name} %r, {names};"


# ------------------------------------------------------------------ numbers


def edges(name: str) -> list[float]:
    """Floats where a format changes, and where products and sums of it do."""
    form = float_model.FORMATS[name]
    low, top = form.least + form.digits - 1, math.frexp(float(form.top))[1]
    places = {form.least, form.least + 1, low - 1, low, low + 1, low // 2, -1, 0, 1}
    places |= {form.digits - 1, form.digits, top // 2, top - 2, top - 1}
    ulp = 2.0 ** (1 - form.digits)
    sizes = [math.ldexp(f, p) for p in places for f in (1, 1 + ulp, 2 - ulp, 1.5)]
    sizes += [0.0, math.inf, float(form.top)]
    return [*sizes, *(-each for each in sizes), math.nan]


def floats(name: str, count: int, source: np.random.Generator) -> np.ndarray:
    """Bits of numbers of a format: edges, any bits, and those near one."""
    dtype = np.dtype(FLOATS[name])
    kind = f"u{dtype.itemsize}"
    with np.errstate(all="ignore"):
        pool = np.array(edges(name)).astype(dtype).view(kind)
        near = (source.standard_normal(count) * 3).astype(dtype).view(kind)
    words = source.integers(0, 256, (count, dtype.itemsize), dtype=np.uint8)
    drawn = [source.choice(pool, count), words.view(kind)[:, 0], near]
    return np.stack(drawn)[source.choice(3, count, p=[0.6, 0.2, 0.2]), np.arange(count)]


def samples(name: str, count: int, source: np.random.Generator) -> np.ndarray:
    """Bits of operands of a type."""
    one = single(name)
    if one != name:
        lanes = samples(one, 2 * count, source)
        return lanes.view(f"u{2 * lanes.itemsize}")
    if one in FLOATS:
        return floats(one, count, source)
    found = integers(one.replace("b", "u"), count, int(source.integers(1 << 30)))
    return found.view(f"u{found.itemsize}")


def numbers(bits: np.ndarray, name: str) -> list[Any]:
    """What bits of a type mean, lane by lane."""
    one = single(name)
    if one in FLOATS:
        with np.errstate(invalid="ignore"):  # of NaN that signal
            return bits.view(FLOATS[one]).astype(np.float64).tolist()
    kind = "i" if one[0] == "s" else "u"
    return bits.view(f"{kind}{width_of(one) // 8}").tolist()


# ------------------------------------------------------------------ the model


def wanted_of(
    opcode: str, words: tuple[str, ...], args: tuple[Any, ...], table: int
) -> Any:
    """What an instruction gives for one lane."""
    kind = single(types_in(words)[-1])
    if opcode == "selp":
        return args[0] if args[2] else args[1]
    if opcode == "slct":
        return args[0] if args[2] >= 0 else args[1]
    if opcode == "lop3":
        return integer_model.looked_up(table, *args)
    if opcode in COMPARING:
        return compared(opcode, words, args)
    if is_float(kind):
        return float_model.computed(opcode, words, kind, *args)
    name = single(result_of(opcode, words))
    lane = tuple(map(single, words))
    return as_type(integer_model.computed(opcode, lane, *args), name)


def compared(opcode: str, words: tuple[str, ...], args: tuple[Any, ...]) -> Any:
    """``set`` and one lane of ``setp``."""
    a, b = map(float_model.flushed, args[:2]) if "ftz" in words else args[:2]
    held = holds(words[0], a, b)
    if opcode == "set":
        result = single(types_in(words)[0])
        true = 1.0 if is_float(result) else as_type(-1, result)
        return true if held else 0
    if types_in(words)[-1].endswith("x2"):
        return both(joined(words), held, held, args[2:])
    return both(joined(words), held, not held, args[2:])


def both(
    join: str, held: bool, other: bool, rest: tuple[Any, ...]
) -> tuple[bool, bool]:
    """Two predicates, each joined with a third."""
    if not join:
        return held, other
    third = bool(rest[0])
    join_one = {
        "and": lambda a: a and third,
        "or": lambda a: a or third,
        "xor": lambda a: a != third,
    }[join]
    return join_one(held), join_one(other)


def as_mask(opcode: str, words: tuple[str, ...], lanes: list[Any]) -> list[Any]:
    """Results of ``setp`` as its kernel packs them; others as they are."""
    if opcode != "setp":
        return lanes
    if types_in(words)[-1].endswith("x2"):
        pairs = zip(lanes[::2], lanes[1::2], strict=True)
        return [low[0] + 2 * high[1] for low, high in pairs]
    if types_in(words)[-1] in {"f16", "bf16"}:
        return [first for first, _ in lanes]
    return [first + 2 * second for first, second in lanes]


def same(a: Any, b: Any) -> bool:
    """Whether results are equal: zeros with their sign, what is none is none."""
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def check(opcode: str, words: tuple[str, ...], seed: int, count: int) -> None:
    """Compare an instruction with the model."""
    source = np.random.default_rng([seed, len(opcode)])
    kinds, result = operands_of(opcode, words), result_of(opcode, words)
    given = [samples(each, count, source) for each in kinds]
    related(opcode, kinds, given)
    table = int(source.integers(256))
    body = body_of(opcode, words, table)
    found = elementwise(body, given, f"u{register_bytes(result)}")
    lanes = [numbers(each, kind) for each, kind in zip(given, kinds, strict=True)]
    if "x2" in words[-1] and len(lanes) > 2 and opcode == "setp":
        lanes[2] = np.repeat(lanes[2], 2).tolist()
    rows = list(zip(*lanes, strict=True))
    wanted = [wanted_of(opcode, words, row, table) for row in rows]
    wanted = as_mask(opcode, words, wanted)
    got = numbers(found, result)
    wrong = [
        (row, r, w)
        for row, r, w in zip(rows, got, wanted, strict=False)
        if not same(r, w)
    ]
    assert not wrong, (body, wrong[:3])
    assert len(got) == len(wanted)


def register_bytes(name: str) -> int:
    one = single(name)
    size = np.dtype(FLOATS[one]).itemsize if one in FLOATS else width_of(one) // 8
    return size * (1 if one == name else 2)


def related(opcode: str, kinds: list[str], given: list[np.ndarray]) -> None:
    """Make a few operands equal, opposite, or what is left of a product."""
    if len(given) < 2 or kinds[1] != kinds[0]:
        return
    given[1][::7] = given[0][::7]
    if not is_float(kinds[0]):
        return
    one = single(kinds[0])
    top = 1 << 8 * np.dtype(FLOATS[one]).itemsize - 1
    lanes = [each.view(f"u{np.dtype(FLOATS[one]).itemsize}") for each in given]
    lanes[1][3::7] = lanes[0][3::7] ^ np.array(top, lanes[0].dtype)
    if opcode in {"fma", "mad"}:
        a, b = (each.view(FLOATS[one]) for each in lanes[:2])
        with np.errstate(all="ignore"):
            lanes[2][::3] = (-(a * b)).view(lanes[2].dtype)[::3]


# ------------------------------------------------------------------ tests


@pytest.mark.parametrize("opcode", OPCODES)
def test_each_form_of_an_instruction(opcode):
    every = words_of(opcode)
    left_out = 3 if opcode == "setp" else 1  # it has 600; all are for fuzz
    for number, words in enumerate(every[::left_out]):
        check(opcode, words, number, COUNT)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 1008))
@pytest.mark.parametrize("opcode", OPCODES)
def test_many_operands_of_an_instruction(opcode, seed):
    for number, words in enumerate(words_of(opcode)):
        check(opcode, words, 1000 * seed + number, 2000)
