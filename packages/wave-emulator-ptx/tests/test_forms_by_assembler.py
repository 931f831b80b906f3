"""Does the assembler take the arithmetic and conversions that the emulator does?"""

from __future__ import annotations

import re
from itertools import product

import numpy as np
from assembler import complaints
from elementwise import HEAD
from test_every_conversion import FLOATS, PACKED, SINGLE, WHOLE, forms_of
from test_instructions_by_model import (
    OPCODES,
    body_of,
    operands_of,
    register_bytes,
    result_of,
    words_of,
)

BYTES = {name: np.dtype(dtype).itemsize for name, dtype in FLOATS.items()}


def conversion_bytes(name: str) -> int:
    """Bytes of the register that a conversion has for a type."""
    whole = BYTES.get(name) or 2 * BYTES.get(PACKED.get(name, ""), 0)
    return whole or (4 if name == "tf32" else int(name[1:]) // 8)


def named(text: str, sizes: dict[str, int]) -> str:
    """A text whose registers have the sizes of their values in their names."""
    return re.sub(r"%([rxyz])\b", lambda m: f"%{m[1]}{8 * sizes[m[1]]}", text)


def arithmetic() -> list[str]:
    """Every form of every instruction that the models know."""
    found: list[str] = []
    for opcode, words in ((o, w) for o in OPCODES for w in words_of(o)):
        sizes = zip(
            "xyz", map(register_bytes, operands_of(opcode, words)), strict=False
        )
        known = {"r": register_bytes(result_of(opcode, words)), **dict(sizes)}
        found.append(named(body_of(opcode, words, 1), known))
    return found


def conversions() -> list[str]:
    """Every form of every conversion."""
    pairs = [(to, source, 2) for to, source in product([*WHOLE, *SINGLE], repeat=2)]
    pairs += [(to, "f32", 3) for to in PACKED] + [("tf32", "f32", 2)]
    small = [each for each in PACKED if each[0] == "e"]
    pairs += [
        pair for each in small for pair in ((each, "f16x2", 2), ("f16x2", each, 2))
    ]
    found: list[str] = []
    for to, source, operands in pairs:
        known = dict.fromkeys("xy", conversion_bytes(source))
        known["r"] = conversion_bytes(to)
        names = ", ".join(["%r", "%x", "%y"][:operands])
        texts = [".".join(each) for each in forms_of(to, source, operands)]
        found += [named(f"cvt.{each} {names};", known) for each in texts]
    return found


def test_the_assembler_takes_every_form(tmp_path):
    lines = [*arithmetic(), *conversions()]
    registers = [f".reg .b{w} %{r}{w};" for r in "rxyz" for w in (8, 16, 32, 64)]
    head = [HEAD.strip(), ".visible .entry kernel()", "{", *registers]
    head += [".reg .pred %p, %q;", ".reg .b32 %t;"]
    text = "\n".join([*head, *lines, "ret;", "}"])
    said = complaints(text, tmp_path)
    everything = text.splitlines()
    wrong = {everything[int(n) - 1] for n in re.findall(r"line (\d+); error", said)}
    assert not wrong
