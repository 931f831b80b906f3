"""Texts of PTX with words taken out, doubled, swapped or made others."""

from __future__ import annotations

import re

import numpy as np

WORD = re.compile(r"\s+|\"[^\"]*\"|[%$.\w]+(?:::\w+)*(?:\.[\w:]+)*|.", re.DOTALL)

NUMBERS = [
    "0", "1", "3", "09", "017", "0b11", "0x", "33", "64", "255", "999", "65537",
    "-1", "-2147483648", "4294967295", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "1" * 5000, "0f7FC00000", "0d7FF8000000000000", "1.5",
    "200000000",
]  # fmt: skip
MODIFIERS = [
    "u8", "s8", "b8", "u16", "s16", "b16", "f16", "bf16", "u32", "s32", "b32", "f32",
    "u64", "s64", "b64", "f64", "f16x2", "bf16x2", "u16x2", "e4m3x2", "tf32", "pred",
    "v2", "v3", "v4", "v8", "x1", "x2", "x4", "lo", "hi", "wide", "cc", "sat", "ftz",
    "rn", "rz", "rni", "rpi", "relu", "NaN", "approx", "full", "sync", "aligned",
    "arrive", "warp", "and", "or", "xor", "add", "min", "inc", "exch", "cas", "global",
    "shared", "shared::cta", "shared::cluster", "local", "param", "const", "nc",
    "volatile", "relaxed", "gpu", "cta", "async", "bulk", "tensor", "1d", "2d", "3d",
    "trans", "row", "col", "satfinite", "L2::cache_hint", "parity", "expect_tx",
    "m16n8k16", "m64n64k16", "uni", "idx", "up", "ballot", "to", "sp", "wrap",
]  # fmt: skip
OPCODES = [
    "add", "mul", "mad", "fma", "div", "rem", "shl", "shr", "bfe", "bfi", "lop3",
    "prmt",
    "setp", "set", "selp", "slct", "mov", "cvt", "cvta", "ld", "st", "atom", "red",
    "shfl", "vote", "redux", "elect", "activemask", "ldmatrix", "stmatrix", "mma",
    "wgmma", "cp", "mbarrier", "setmaxnreg", "mapa", "fence", "membar", "bra", "ret",
    "bar", "barrier", "call", "tex", "popc", "clz", "sad", "min", "abs", "sqrt", "ex2",
]  # fmt: skip

Words = list[str]
Choice = np.random.Generator


def cut(text: str) -> Words:
    """Words and the space between them, which joined give the text."""
    return WORD.findall(text)


def _at(words: Words, source: Choice) -> int:
    """One that is no space."""
    return int(source.choice([i for i, each in enumerate(words) if each.strip()]))


def _like(words: Words, source: Choice, form: str) -> int | None:
    found = [i for i, each in enumerate(words) if re.fullmatch(form, each)]
    return int(source.choice(found)) if found else None


def _delete(words: Words, source: Choice) -> None:
    del words[_at(words, source)]


def _double(words: Words, source: Choice) -> None:
    at = _at(words, source)
    words[at:at] = [words[at], " "]


def _swap(words: Words, source: Choice) -> None:
    a, b = _at(words, source), _at(words, source)
    words[a], words[b] = words[b], words[a]


def _copy(words: Words, source: Choice) -> None:
    words[_at(words, source)] = words[_at(words, source)]


def _number(words: Words, source: Choice) -> None:
    at = _like(words, source, r"\d\w*")
    if at is not None:
        words[at] = str(source.choice(NUMBERS))


def _operand(words: Words, source: Choice) -> None:
    """A number for a register, or another register."""
    at = _like(words, source, r"%\w+")
    other = _like(words, source, r"%\w+")
    if at is not None and other is not None:
        words[at] = [words[other], str(source.choice(NUMBERS))][source.integers(2)]


def _modifier(words: Words, source: Choice) -> None:
    """One more, one less or another one."""
    at = _like(words, source, r"[a-z]\w*(?:\.[\w:]+)+")
    if at is None:
        return
    parts = words[at].split(".")
    place = int(source.integers(1, len(parts) + 1))
    new = [str(source.choice(MODIFIERS))]
    replaced = int(source.integers(3))
    parts[place : place + (replaced > 0)] = new if replaced < 2 else []
    words[at] = ".".join(parts)


def _opcode(words: Words, source: Choice) -> None:
    at = _like(words, source, r"[a-z]\w*(?:\.[\w:]+)+")
    if at is not None:
        _, point, rest = words[at].partition(".")
        words[at] = str(source.choice(OPCODES)) + point + rest


SPELLING = [_delete, _double, _swap, _copy]
MEANING = [_number, _operand, _modifier, _opcode]
"""These leave most texts readable."""


def mutated(text: str, source: Choice) -> str:
    """A text with one to three changes."""
    words = cut(text)
    changes = MEANING if source.random() < 0.8 else SPELLING
    for _ in range(int(source.integers(1, 4))):
        changes[int(source.integers(len(changes)))](words, source)
    return "".join(words)
