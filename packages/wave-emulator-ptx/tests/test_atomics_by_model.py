"""Atomic operations of single threads, against Python's numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import float_model
import numpy as np
import pytest
from elementwise import elementwise
from integer_model import as_type
from test_instructions_by_model import is_float, numbers, register_bytes, same, samples

COUNT = 192
OPERATIONS = [
    *product(["add"], ["u32", "s32", "u64", "f32", "f64"]),
    *product(["add.noftz"], ["f16", "f16x2", "bf16", "bf16x2"]),
    *product(["min", "max"], ["u32", "s32", "u64", "s64"]),
    *product(["and", "or", "xor", "exch"], ["b32", "b64"]),
    *product(["inc", "dec"], ["u32"]),
    *product(["cas"], ["b16", "b32", "b64"]),
]
PLACES = {
    "global": "mov.b64 %o, %a;",
    "shared": (
        ".shared .align 8 .b8 here[512]; mov.b64 %o, here; mul.wide.u32 %c, %t, 8;"
        "add.s64 %o, %o, %c; st.shared.b{bits} [%o], %x;"
    ),
}


def body_of(space: str, operation: str, kind: str, what: str) -> str:
    """A text that computes ``%r``: what was there, or what is there then."""
    operands = "%y, %z" if operation == "cas" else "%y"
    bits = 8 * register_bytes(kind)
    head = "{ " + PLACES[space].format(bits=bits)
    given = "_" if what == "new" and operation != "exch" else "%r"
    tail = f"ld.{space}.b{bits} %r, [%o];" if what == "new" else ""
    return (
        f"{head} atom.{space}.{operation}.{kind} {given}, [%o], {operands}; {tail} }}"
    )


def updated(operation: str, kind: str, space: str, a: Any, b: Any, c: Any) -> Any:
    """What section 9.7.13.5 of the PTX ISA puts there."""
    if is_float(kind):
        words = ("ftz",) if (kind, space) == ("f32", "global") else ()
        return float_model.computed("add", words, kind.removesuffix("x2"), a, b)
    return as_type(
        {
            "add": a + b,
            "min": min(a, b),
            "max": max(a, b),
            "and": a & b,
            "or": a | b,
            "xor": a ^ b,
            "exch": b,
            "inc": 0 if a >= b else a + 1,
            "dec": b if not 0 < a <= b else a - 1,
            "cas": c if a == b else a,
        }[operation],
        kind,
    )


@pytest.mark.parametrize("space", PLACES)
@pytest.mark.parametrize(("operation", "kind"), OPERATIONS)
def test_atomic_operations(operation, kind, space):
    source = np.random.default_rng(len(operation))
    given = [samples(kind, COUNT, source) for _ in range(3)]
    given[1][::5] = given[0][::5]
    result = f"u{register_bytes(kind)}"
    old, new = (
        elementwise(body_of(space, operation, kind, what), given, result)
        for what in ("old", "new")
    )
    assert old.tolist() == given[0].tolist()
    name = operation.partition(".")[0]
    lanes = [numbers(each, kind) for each in given]
    rows = list(zip(*lanes, strict=True))
    wanted = [updated(name, kind, space, *row) for row in rows]
    found = numbers(new, kind)
    wrong = [
        each for each in zip(rows, found, wanted, strict=True) if not same(*each[1:])
    ]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_sums_of_what_is_no_number_have_the_bits_that_a_card_gives(kind):
    size = register_bytes(kind)
    given = [np.full(8, -1).astype(f"u{size}")] * 2
    operation = "add" if kind == "f32" else "add.noftz"
    body = body_of("global", operation, kind, "new")
    found = elementwise(body, given, f"u{size}")
    assert {*found.tolist()} == {(1 << 8 * size - 1) - 1}
