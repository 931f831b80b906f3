"""Integer instructions in Python's integers, as section 9.7 of the ISA describes them.

Operands are numbers of their type, or bits as numbers from zero on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def width_of(name: str) -> int:
    """Bits of a type such as ``s32``."""
    return int(name[1:])


def as_type(value: int, name: str) -> int:
    """The number that the lowest bits of a value are."""
    width = width_of(name)
    least = -(1 << width - 1) if name[0] == "s" else 0
    return (value - least) % (1 << width) + least


def limited(value: int, name: str) -> int:
    """The nearest number of a type."""
    width = width_of(name)
    least = -(1 << width - 1) if name[0] == "s" else 0
    return min(max(value, least), least + (1 << width) - 1)


def quotient(a: int, b: int) -> int:
    """Towards zero; all ones by zero, as a card has it."""
    if not b:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """What the quotient leaves; all ones by zero, as a card has it."""
    return a - quotient(a, b) * b if b else -1


def bit(a: int, place: int) -> int:
    """A bit of a number."""
    return a >> place & 1


def shifted(opcode: str, name: str, a: int, count: int) -> int:
    """``shl`` and ``shr``: counts beyond the width are the width."""
    count = min(count, width_of(name))
    return a << count if opcode == "shl" else a >> count


def extracted(name: str, a: int, place: int, count: int) -> int:
    """``bfe``, bit by bit."""
    top, place, count = width_of(name) - 1, place & 255, count & 255
    sign = bit(a, min(place + count - 1, top)) if name[0] == "s" and count else 0
    bits = [
        bit(a, place + i) if i < count and place + i <= top else sign
        for i in range(top + 1)
    ]
    return sum(each << i for i, each in enumerate(bits))


def inserted(name: str, a: int, b: int, packed: int) -> int:
    """``bfi``, bit by bit; place and count are the bytes of a number."""
    place, count = packed & 255, packed >> 8 & 255
    for i in range(count):
        if place + i < width_of(name):
            b = b & ~(1 << place + i) | bit(a, i) << place + i
    return b


def found(words: tuple[str, ...], a: int) -> int:
    """``bfind``."""
    if a < 0:
        a = ~a
    if not a:
        return 0xFFFFFFFF
    place = a.bit_length() - 1
    return width_of(words[-1]) - 1 - place if "shiftamt" in words else place


def funnel(words: tuple[str, ...], low: int, high: int, count: int) -> int:
    """``shf``."""
    count = count & 31 if "wrap" in words else min(count, 32)
    pair = high << 32 | low
    return pair << count >> 32 if "l" in words else pair >> count


def permuted(a: int, b: int, choice: int) -> int:
    """``prmt``."""
    result = 0
    for place in range(4):
        nibble = choice >> 4 * place & 15
        byte = (b << 32 | a) >> 8 * (nibble & 7) & 255
        if nibble & 8:
            byte = 255 * (byte >> 7)
        result |= byte << 8 * place
    return result


def looked_up(table: int, *operands: int) -> int:
    """``lop3``."""
    rows = [
        sum(bit(each, i) << 2 - n for n, each in enumerate(operands)) for i in range(32)
    ]
    return sum(bit(table, row) << i for i, row in enumerate(rows))


PLAIN: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "div": quotient,
    "rem": remainder,
    "min": min,
    "max": max,
    "neg": lambda a: -a,
    "abs": abs,
    "sad": lambda a, b, c: c + abs(a - b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "cnot": lambda a: int(a == 0),
    "prmt": permuted,
}


def computed(opcode: str, words: tuple[str, ...], *args: int) -> int:
    """What an instruction gives, before it is cut to its type."""
    name = words[-1]
    width = width_of(name)
    if opcode in {"mul", "mad"}:
        product = args[0] * args[1] >> (width if "hi" in words else 0)
        return product + sum(args[2:])
    special: dict[str, Callable[..., Any]] = {
        "popc": lambda a: a.bit_count(),
        "clz": lambda a: width - a.bit_length(),
        "brev": lambda a: int(f"{a:0{width}b}"[::-1], 2),
        "shl": lambda a, b: shifted(opcode, name, a, b),
        "shr": lambda a, b: shifted(opcode, name, a, b),
        "bfe": lambda a, b, c: extracted(name, a, b, c),
        "bfi": lambda a, b, c: inserted(name, a, b, c),
        "bfind": lambda a: found(words, a),
        "shf": lambda a, b, c: funnel(words, a, b, c),
    }
    result = (special | PLAIN)[opcode](*args)
    return limited(result, name) if "sat" in words else result


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b and not unordered(a, b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
SAME = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def unordered(a: float, b: float) -> bool:
    """Whether one is no number."""
    return math.isnan(a) or math.isnan(b)


def holds(relation: str, a: float, b: float) -> bool:
    """Whether two numbers are in a relation."""
    if relation in {"num", "nan"}:
        return unordered(a, b) == (relation == "nan")
    if relation[-1] == "u":
        return unordered(a, b) or RELATIONS[relation[:-1]](a, b)
    return RELATIONS[SAME.get(relation, relation)](a, b)
