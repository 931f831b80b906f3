"""Integer instructions against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import elementwise
from operand_samples import integers

COUNT = 600


def wrap(value, name):
    width = int(name[1:])
    value &= (1 << width) - 1
    return value - (1 << width) if name[0] == "s" and value >> (width - 1) else value


def bits(value, name):
    return value & ((1 << int(name[1:])) - 1)


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


TWO = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul.lo": lambda a, b, _: a * b,
    "mul.hi": lambda a, b, n: a * b >> int(n[1:]),
    "min": lambda a, b, _: min(a, b),
    "max": lambda a, b, _: max(a, b),
}
BITWISE = {
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
}
WIDTHS = ("16", "32", "64")
PLAIN = [(op, k + w) for op in TWO for k in "us" for w in WIDTHS]


@pytest.mark.parametrize(
    ("op", "name"), [*PLAIN, *((o, f"b{w}") for o in BITWISE for w in WIDTHS)]
)
def test_two_operands(op, name):
    a, b = integers(name, COUNT, 1), integers(name, COUNT, 2)
    found = elementwise(f"{op}.{name} %r, %x, %y;", [a, b], a.dtype)
    function = {**TWO, **BITWISE}[op]
    wanted = [
        wrap(function(int(x), int(y), name), name) for x, y in zip(a, b, strict=True)
    ]
    assert found.tolist() == wanted


@pytest.mark.parametrize("name", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_division(name):
    a, b = integers(name, COUNT, 3), integers(name, COUNT, 4)
    b[b == 0] = 1
    least = -(1 << int(name[1:]) - 1)
    keep = ~((name[0] == "s") & (a == least) & (b.astype(object) == -1))
    a, b = a[keep], b[keep]
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    div = elementwise(f"div.{name} %r, %x, %y;", [a, b], a.dtype)
    assert div.tolist() == [quotient(x, y) for x, y in pairs]
    rem = elementwise(f"rem.{name} %r, %x, %y;", [a, b], a.dtype)
    assert rem.tolist() == [x - quotient(x, y) * y for x, y in pairs]


@pytest.mark.parametrize("name", ["b16", "b32", "b64", "u32", "s16", "s32", "s64"])
def test_shifts(name):
    a, count = integers(name, COUNT, 5), integers("u32", COUNT, 6)
    width = int(name[1:])
    pairs = list(zip(a.tolist(), count.tolist(), strict=True))
    if name[0] == "b":
        left = elementwise(f"shl.{name} %r, %x, %y;", [a, count], a.dtype)
        assert left.tolist() == [wrap(x << min(n, width), name) for x, n in pairs]
    right = elementwise(f"shr.{name} %r, %x, %y;", [a, count], a.dtype)
    assert right.tolist() == [wrap(x >> min(n, width), name) for x, n in pairs]


@pytest.mark.parametrize("name", ["u16", "s16", "u32", "s32"])
def test_wide_products(name):
    wide = f"{name[0]}{int(name[1:]) * 2}"
    a, b, c = (
        integers(name, COUNT, 7),
        integers(name, COUNT, 8),
        integers(wide, COUNT, 9),
    )
    rows = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
    product = elementwise(f"mul.wide.{name} %r, %x, %y;", [a, b], c.dtype)
    assert product.tolist() == [x * y for x, y, _ in rows]
    total = elementwise(f"mad.wide.{name} %r, %x, %y, %z;", [a, b, c], c.dtype)
    assert total.tolist() == [wrap(x * y + z, wide) for x, y, z in rows]


@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("part", ["lo", "hi"])
def test_multiply_and_add(name, part):
    a, b, c = (integers(name, COUNT, seed) for seed in (10, 11, 12))
    found = elementwise(f"mad.{part}.{name} %r, %x, %y, %z;", [a, b, c], a.dtype)
    shift = int(name[1:]) if part == "hi" else 0
    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    assert found.tolist() == [wrap((x * y >> shift) + z, name) for x, y, z in rows]


@pytest.mark.parametrize("name", ["b32", "b64"])
def test_counting_bits(name):
    a = integers(name, COUNT, 13)
    width = int(name[1:])
    texts = [f"{int(x):0{width}b}" for x in a]
    for op, wanted in (
        ("popc", [t.count("1") for t in texts]),
        ("clz", [len(t) - len(t.lstrip("0")) for t in texts]),
    ):
        assert elementwise(f"{op}.{name} %r, %x;", [a], np.uint32).tolist() == wanted
    backwards = elementwise(f"brev.{name} %r, %x;", [a], a.dtype)
    assert backwards.tolist() == [int(t[::-1], 2) for t in texts]


@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
def test_bit_fields(name):
    a = integers(name, COUNT, 14)
    place, count = (integers("u32", COUNT, seed) % 80 for seed in (15, 16))
    found = elementwise(f"bfe.{name} %r, %x, %y, %z;", [a, place, count], a.dtype)
    rows = zip(a.tolist(), place.tolist(), count.tolist(), strict=True)
    assert found.tolist() == [field(x, p, n, name) for x, p, n in rows]


def field(value, place, count, name):
    """`bfe`, read bit by bit from its definition."""
    width = int(name[1:])
    top = min(place + count - 1, width - 1)
    sign = name[0] == "s" and count and bits(value, name) >> top & 1
    word = 0
    for bit in range(width):
        inside = bit < count and place + bit < width
        word |= (bits(value, name) >> (place + bit) & 1 if inside else sign) << bit
    return wrap(word, name)


def test_find_the_highest_bit():
    for name in ("u32", "s32", "u64", "s64"):
        a = integers(name, COUNT, 17)
        found = elementwise(f"bfind.{name} %r, %x;", [a], np.uint32)
        values = [~x if x < 0 else x for x in a.tolist()]
        assert found.tolist() == [x.bit_length() - 1 & 0xFFFFFFFF for x in values]


def test_funnel_shift():
    a, b, n = (integers("u32", COUNT, seed) for seed in (18, 19, 20))
    rows = list(zip(a.tolist(), b.tolist(), n.tolist(), strict=True))
    for side, mode, wanted in (
        ("l", "wrap", lambda p, n: p << (n & 31) >> 32),
        ("r", "wrap", lambda p, n: p >> (n & 31)),
        ("l", "clamp", lambda p, n: p << min(n, 32) >> 32),
        ("r", "clamp", lambda p, n: p >> min(n, 32)),
    ):
        found = elementwise(
            f"shf.{side}.{mode}.b32 %r, %x, %y, %z;", [a, b, n], a.dtype
        )
        assert found.tolist() == [
            wanted(y << 32 | x, z) & 0xFFFFFFFF for x, y, z in rows
        ]


def test_permute_bytes():
    a, b, choice = (integers("u32", COUNT, seed) for seed in (21, 22, 23))
    found = elementwise("prmt.b32 %r, %x, %y, %z;", [a, b, choice], a.dtype)
    for x, y, c, r in zip(
        a.tolist(), b.tolist(), choice.tolist(), found.tolist(), strict=True
    ):
        source = x.to_bytes(4, "little") + y.to_bytes(4, "little")
        picked = [c >> 4 * i & 15 for i in range(4)]
        wanted = [
            (255 if source[p & 7] >> 7 else 0) if p & 8 else source[p] for p in picked
        ]
        assert r == int.from_bytes(bytes(wanted), "little")


@pytest.mark.parametrize("table", [0x80, 0x96, 0xE8, 0x1D, 0xFE])
def test_table_of_three_bits(table):
    a, b, c = (integers("u32", 64, seed) for seed in (24, 25, 26))
    found = elementwise(f"lop3.b32 %r, %x, %y, %z, {table};", [a, b, c], a.dtype)
    for x, y, z, r in zip(
        a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True
    ):
        for bit in range(32):
            row = (x >> bit & 1) << 2 | (y >> bit & 1) << 1 | z >> bit & 1
            assert r >> bit & 1 == table >> row & 1


def test_limited_addition():
    a, b = integers("s32", COUNT, 27), integers("s32", COUNT, 28)
    found = elementwise("add.sat.s32 %r, %x, %y;", [a, b], a.dtype)
    assert found.tolist() == np.clip(a.astype(int) + b, -(2**31), 2**31 - 1).tolist()


@pytest.mark.parametrize("op", ["add", "min", "max"])
@pytest.mark.parametrize("kind", ["u16", "s16"])
def test_packed_halves(kind, op):
    dtype = np.uint16 if kind == "u16" else np.int16
    a, b = (integers("u32", COUNT, seed) for seed in (31, 32))
    found = elementwise(f"{op}.{kind}x2 %r, %x, %y;", [a, b], np.uint32)
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[op]
    np.testing.assert_array_equal(
        found.view(dtype), function(a.view(dtype), b.view(dtype))
    )
