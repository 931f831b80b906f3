"""What each memory instruction does to bytes, on Python integers.

Tables go from the part of a mnemonic behind its encoding (``LOAD_UBYTE``) to a `Load`,
`Store` or `Atomic`. Source: CDNA3, RDNA3 and RDNA4 ISA.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan

import codec
import numpy as np


@dataclass(frozen=True)
class Load:
    """``half`` 0 or 1 fills that half of the register and keeps the other."""

    size: int
    signed: bool = False
    half: int | None = None

    def result(self, raw, old):
        """Words of the result, from the bytes and the old first register."""
        count = max(1, self.size // 4)
        if self.signed and raw >> (8 * self.size - 1):
            raw -= 1 << (8 * self.size)
        if self.half is None:
            return [raw >> (32 * k) & 0xFFFFFFFF for k in range(count)]
        shift = 16 * self.half
        return [old & ~(0xFFFF << shift) | (raw & 0xFFFF) << shift]


@dataclass(frozen=True)
class Store:
    size: int
    shift: int = 0

    def value(self, data):
        """The bytes that are stored, as an integer."""
        return data >> self.shift & ((1 << 8 * self.size) - 1)


@dataclass(frozen=True)
class Atomic:
    """``form`` is the float in which results are compared, ``count`` of a cell."""

    size: int
    function: Callable[[int, list[int]], int]
    operands: int = 1
    form: codec.Format | None = None
    count: int = 1

    def new(self, old, data):
        """The new value of a cell; data are the operands, first register first."""
        return self.function(old, data) & ((1 << 8 * self.size) - 1)

    def agrees(self, got, want):
        """Equal, but for the payload of NaNs."""
        if self.form is None:
            return got == want
        bits = self.form.bits
        mask = (1 << bits) - 1
        return all(
            codec.same(self.form, got >> k * bits & mask, want >> k * bits & mask)
            for k in range(self.count)
        )


def _signed(size, value):
    return value - (1 << 8 * size) if value >> (8 * size - 1) else value


def _integers(size):
    order = lambda v: _signed(size, v)  # noqa: E731
    return {
        "SWAP": lambda o, d: d[0],
        "ADD": lambda o, d: o + d[0],
        "SUB": lambda o, d: o - d[0],
        "RSUB": lambda o, d: d[0] - o,
        "SMIN": lambda o, d: min(o, d[0], key=order),
        "SMAX": lambda o, d: max(o, d[0], key=order),
        "UMIN": lambda o, d: min(o, d[0]),
        "UMAX": lambda o, d: max(o, d[0]),
        "AND": lambda o, d: o & d[0],
        "OR": lambda o, d: o | d[0],
        "XOR": lambda o, d: o ^ d[0],
        "INC": lambda o, d: 0 if o >= d[0] else o + 1,
        "DEC": lambda o, d: d[0] if o == 0 or o > d[0] else o - 1,
    }


def _less(form):
    """gfx9 and gfx11: the operand where it compares less, else what was there."""
    value = lambda v: codec.decode(form, v)  # noqa: E731
    return lambda o, d: d[0] if value(d[0]) < value(o) else o


def _more(form):
    value = lambda v: codec.decode(form, v)  # noqa: E731
    return lambda o, d: d[0] if value(d[0]) > value(o) else o


def _number(form, *, most):
    """gfx12: of a number and a NaN the number; zeros in the order of their signs."""

    def call(o, d):
        x, y = codec.decode(form, d[0]), codec.decode(form, o)
        if isnan(x) or isnan(y):
            return o if isnan(x) and not isnan(y) else d[0]
        if x == y == 0:
            negative = d[0] if d[0] & form.sign else o
            positive = d[0] if not d[0] & form.sign else o
            return positive if most else negative
        return d[0] if (x > y) == most and x != y else o

    return call


def _sum(form):
    return lambda o, d: codec.add(form, o, d[0])


def _pair(form):
    def call(o, d):
        low = codec.add(form, o & 0xFFFF, d[0] & 0xFFFF)
        return low | codec.add(form, o >> 16, d[0] >> 16) << 16

    return call


def _compare(new, old):
    """Operand numbers of the new value, and of what the cell must hold."""
    return lambda o, d: d[new] if o == d[old] else o


FLOATS = {4: codec.F32, 8: codec.F64}


def floating(size, verb, *, numbers=False):
    form = FLOATS[size]
    if verb == "ADD":
        return Atomic(size, _sum(form), form=form)
    if numbers:
        return Atomic(size, _number(form, most=verb == "MAX"), form=form)
    return Atomic(size, (_less if verb == "MIN" else _more)(form), form=form)


PACKED = {
    "PK_ADD_F16": Atomic(4, _pair(codec.F16), form=codec.F16, count=2),
    "PK_ADD_BF16": Atomic(4, _pair(codec.BF16), form=codec.BF16, count=2),
}

WORDS9 = {4: "DWORD", 8: "DWORDX2", 12: "DWORDX3", 16: "DWORDX4"}
WORDS11 = {4: "B32", 8: "B64", 12: "B96", 16: "B128"}


def _loads9():
    found = {
        "LOAD_UBYTE": Load(1), "LOAD_SBYTE": Load(1, signed=True),
        "LOAD_USHORT": Load(2), "LOAD_SSHORT": Load(2, signed=True),
    }  # fmt: skip
    found |= {f"LOAD_{name}": Load(size) for size, name in WORDS9.items()}
    for half, tail in enumerate(("_D16", "_D16_HI")):
        found[f"LOAD_UBYTE{tail}"] = Load(1, half=half)
        found[f"LOAD_SBYTE{tail}"] = Load(1, signed=True, half=half)
        found[f"LOAD_SHORT{tail}"] = Load(2, half=half)
    return found


def _loads11():
    found = {
        "LOAD_U8": Load(1), "LOAD_I8": Load(1, signed=True),
        "LOAD_U16": Load(2), "LOAD_I16": Load(2, signed=True),
    }  # fmt: skip
    found |= {f"LOAD_{name}": Load(size) for size, name in WORDS11.items()}
    for half, part in enumerate(("D16", "D16_HI")):
        found[f"LOAD_{part}_U8"] = Load(1, half=half)
        found[f"LOAD_{part}_I8"] = Load(1, signed=True, half=half)
        found[f"LOAD_{part}_B16"] = Load(2, half=half)
    return found


def _stores9():
    found = {f"STORE_{name}": Store(size) for size, name in WORDS9.items()}
    for size, name in ((1, "BYTE"), (2, "SHORT")):
        found[f"STORE_{name}"] = Store(size)
        found[f"STORE_{name}_D16_HI"] = Store(size, 16)
    return found


def _stores11():
    found = {f"STORE_{name}": Store(size) for size, name in WORDS11.items()}
    for size, name in ((1, "B8"), (2, "B16")):
        found[f"STORE_{name}"] = Store(size)
        found[f"STORE_D16_HI_{name}"] = Store(size, 16)
    return found


def _atomics9():
    found = {}
    for size, tail in ((4, ""), (8, "_X2")):
        for verb, function in _integers(size).items():
            if verb != "RSUB":
                found[f"ATOMIC_{verb}{tail}"] = Atomic(size, function)
        found[f"ATOMIC_CMPSWAP{tail}"] = Atomic(size, _compare(0, 1), 2)
    found["ATOMIC_ADD_F32"] = floating(4, "ADD")
    for verb in ("ADD", "MIN", "MAX"):
        found[f"ATOMIC_{verb}_F64"] = floating(8, verb)
    return found | {f"ATOMIC_{name}": row for name, row in PACKED.items()}


#: Names of gfx11 and later: verb and letter of the type.
NEW_VERBS = {
    "SWAP": ("SWAP", "B"), "ADD": ("ADD", "U"), "SUB": ("SUB", "U"),
    "SMIN": ("MIN", "I"), "SMAX": ("MAX", "I"), "UMIN": ("MIN", "U"),
    "UMAX": ("MAX", "U"), "AND": ("AND", "B"), "OR": ("OR", "B"), "XOR": ("XOR", "B"),
    "INC": ("INC", "U"), "DEC": ("DEC", "U"),
}  # fmt: skip


def _atomics11(*, gfx12):
    found = {}
    for size in (4, 8):
        functions = _integers(size)
        for verb, (name, letter) in NEW_VERBS.items():
            row = Atomic(size, functions[verb])
            found[f"ATOMIC_{name}_{letter}{8 * size}"] = row
        found[f"ATOMIC_CMPSWAP_B{8 * size}"] = Atomic(size, _compare(0, 1), 2)
    found["ATOMIC_ADD_F32"] = floating(4, "ADD")
    for verb in ("MIN", "MAX"):
        tail = "_NUM_F32" if gfx12 else "_F32"
        found[f"ATOMIC_{verb}{tail}"] = floating(4, verb, numbers=gfx12)
    packed = {f"ATOMIC_{name}": row for name, row in PACKED.items()}
    return found | (packed if gfx12 else {})


def _lds_atomics(*, new, numbers):
    """All of LDS: with and without a result; gfx9 compares with the first operand."""
    found = {}
    for size in (4, 8):
        bits = 8 * size
        for verb, function in _integers(size).items():
            name, letter = NEW_VERBS.get(verb, (verb, "U"))
            if verb != "SWAP":
                found[f"{name}{{}}_{letter}{bits}"] = Atomic(size, function)
        swap = Atomic(size, _integers(size)["SWAP"])
        found[f"{'STOREXCHG' if new else 'WRXCHG'}_RTN_B{bits}"] = swap
        compare = Atomic(size, _compare(0, 1) if new else _compare(1, 0), 2)
        found[f"{'CMPSTORE' if new else 'CMPST'}{{}}_B{bits}"] = compare
        for verb in ("MIN", "MAX"):
            part = "_NUM" if numbers else ""
            row = floating(size, verb, numbers=numbers)
            found[f"{verb}{part}{{}}_F{bits}"] = row
        found[f"ADD{{}}_F{bits}"] = floating(size, "ADD")
    found |= {n.replace("ADD_", "ADD{}_"): row for n, row in PACKED.items()}
    return {
        "DS_" + name.format(tail): row
        for name, row in found.items()
        for tail in ("", "_RTN")
    }


def _lds_moves(new):
    """Reads and writes with one address."""
    get, put = ("LOAD", "STORE") if new else ("READ", "WRITE")
    found = {
        f"DS_{get}_U8": Load(1), f"DS_{get}_I8": Load(1, signed=True),
        f"DS_{get}_U16": Load(2), f"DS_{get}_I16": Load(2, signed=True),
    }  # fmt: skip
    for size, name in WORDS11.items():
        found[f"DS_{get}_{name}"] = Load(size)
        found[f"DS_{put}_{name}"] = Store(size)
    for half, tail in enumerate(("_D16", "_D16_HI")):
        found[f"DS_{get}_U8{tail}"] = Load(1, half=half)
        found[f"DS_{get}_I8{tail}"] = Load(1, signed=True, half=half)
        found[f"DS_{get}_U16{tail}"] = Load(2, half=half)
    for size, name in ((1, "B8"), (2, "B16")):
        found[f"DS_{put}_{name}"] = Store(size)
        found[f"DS_{put}_{name}_D16_HI"] = Store(size, 16)
    return found


GFX9 = {**_loads9(), **_stores9(), **_atomics9()}
GFX11 = {**_loads11(), **_stores11(), **_atomics11(gfx12=False)}
GFX12 = {**_loads11(), **_stores11(), **_atomics11(gfx12=True)}
VECTOR = {"gfx90a": GFX9, "gfx942": GFX9, "gfx950": GFX9, "gfx1100": GFX11,
          "gfx1201": GFX12}  # fmt: skip

_LDS9 = {**_lds_moves(new=False), **_lds_atomics(new=False, numbers=False)}
LDS = {
    "gfx90a": _LDS9, "gfx942": _LDS9, "gfx950": _LDS9,
    "gfx1100": {**_lds_moves(new=True), **_lds_atomics(new=True, numbers=False)},
    "gfx1201": {**_lds_moves(new=True), **_lds_atomics(new=True, numbers=True)},
}  # fmt: skip


def special(row, rng, shape):
    """Random operands of an access, special floats among them, as integers."""
    size = max(4, row.size)
    bits = 8 * size
    value = rng.integers(0, 1 << 32, (*shape, size // 4), dtype=np.uint64)
    whole = sum(value[..., k].astype(object) << 32 * k for k in range(size // 4))
    form = getattr(row, "form", None)
    if form is None:
        return whole
    table = codec.special(form)
    for index in np.ndindex(*shape):
        if rng.random() < 0.6:
            picks = [int(table[i]) for i in rng.integers(0, len(table), row.count)]
            whole[index] = sum(p << form.bits * k for k, p in enumerate(picks))
        assert whole[index] >> bits == 0
    return whole
