"""`Instructions` that compute: a name stands for the numbers of one lane."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from wave_core.backends.emission import (
    Block,
    Emission,
    Kind,
    Regions,
    Value,
    element,
)
from wave_core.backends.emission.instructions import (
    CONVERSIONS,
    FLOAT_WORDS,
    INTEGER_WORDS,
    PREDICATES,
)
from wave_core.symbols import Facts
from wave_core.types import DTYPES

FLOATS = {element(dtype): dtype.numpy() for dtype in DTYPES.values() if dtype.is_float}
BITS = {element(dtype): dtype.bits for dtype in DTYPES.values() if dtype.is_float}


def bits_of(item):
    return BITS.get(item) or int(re.fullmatch(r"i(\d+)", item)[1])


def signed(number, bits):
    return number - (1 << bits) if number >> (bits - 1) else number


def truncated(one, other):
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def remainder(one, other):
    return one - other * truncated(one, other)


# Of numbers without sign, and of numbers with one.
PLAIN = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "divui": operator.floordiv,
    "remui": operator.mod,
    "shli": operator.lshift,
    "shrui": operator.rshift,
    "maxui": max,
    "minui": min,
}
SIGNED = {
    "floordivsi": operator.floordiv,
    "divsi": truncated,
    "remsi": remainder,
    "maxsi": max,
    "minsi": min,
    "shrsi": operator.rshift,
    "absi": abs,
}
FLOAT = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "negf": np.negative,
    "absf": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "roundeven": np.rint,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "powf": np.power,
    "cbrt": np.cbrt,
    "sin": np.sin,
    "cos": np.cos,
    "sinh": np.sinh,
    "tanh": np.tanh,
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "erf": math.erf,
    "erfc": math.erfc,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
TESTS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def integer_result(word, bits, row):
    """What an integer word gives; where it may not be asked, the test fails."""
    if word in SIGNED:
        row = [signed(each, bits) for each in row]
    if word[:3] in ("div", "rem", "flo"):
        assert row[1] != 0, f"{word} by 0"
        assert row != [-(1 << (bits - 1)), -1], f"{word} does not fit"
    if word[:3] in ("shl", "shr"):
        distance = row[1] % (1 << bits)
        assert distance < bits, f"{word} of {bits} bits by {distance}"
    return (SIGNED if word in SIGNED else PLAIN)[word](*row)


@dataclass(frozen=True)
class Known:
    """What a name stands for, and the region that it was computed in."""

    kind: Kind
    elements: tuple
    home: Block | None


class ComputedCode(Regions):
    """Computes each instruction where it stands; sees what a region cannot.

    Integers are kept without sign; of floats, those of the item's type.
    """

    def __init__(self):
        super().__init__()
        self.known = {}
        self.words = []

    def name(self, kind, elements, level=None, *, everywhere=False):
        """Put a value somewhere."""
        where = self.blocks[self.level if level is None else level]
        assert len(elements) == kind.registers
        made = tuple(self._element(kind.item, each) for each in elements)
        name = f"%{len(self.known)}"
        self.known[name] = Known(kind, made, None if everywhere else where)
        return name

    def _element(self, item, value):
        if item in FLOATS:
            with np.errstate(all="ignore"):
                return np.asarray(value).astype(FLOATS[item])[()]
        return int(value) % (1 << bits_of(item))

    def read(self, name, kind, level=None):
        """The elements of an operand, which the region that uses it has to see."""
        found = self.known[name]
        seen = self.blocks if level is None else self.blocks[: level + 1]
        assert found.kind == kind, f"{name} is {found.kind}, not {kind}"
        assert found.home is None or found.home in seen, f"{name} is not known there"
        return found.elements

    def signed(self, name):
        """The integers that a name stands for, with their sign."""
        found = self.known[name]
        return [signed(each, bits_of(found.kind.item)) for each in found.elements]

    def locate(self, location):
        del location

    def constant(self, value, dtype, count=1):
        item = element(dtype)
        given = value if item in FLOATS else int(value)
        return self.name(Kind(item, count), [given] * count, everywhere=True)

    def apply(self, word, kind, *names, fast=False, level=None):
        del fast
        assert word in (FLOAT_WORDS if kind.item in FLOATS else INTEGER_WORDS)
        self.words.append(word)
        rows = zip(*(self.read(name, kind, level) for name in names), strict=True)
        bits = bits_of(kind.item)
        if kind.item in FLOATS:
            with np.errstate(all="ignore"):
                found = [FLOAT[word](*row) for row in rows]
        else:
            found = [integer_result(word, bits, row) for row in rows]
        return self.name(kind, found, level)

    def compare(self, predicate, kind, one, other, level=None):
        assert predicate in PREDICATES
        sides = (self.read(name, kind, level) for name in (one, other))
        bits, test = bits_of(kind.item), TESTS[predicate[-2:]]
        rows = list(zip(*sides, strict=True))
        if predicate[0] == "s":
            rows = [tuple(signed(x, bits) for x in row) for row in rows]
        floats = predicate[0] == "o" or predicate == "une"
        assert floats == (kind.item in FLOATS)
        found = [bool(test(*row)) for row in rows]
        return self.name(Kind("i1", kind.registers), found, level)

    def select(self, test, kind, one, other, *, tests=None, level=None):
        count = kind.registers if tests is None else tests
        chosen = self.read(test, Kind("i1", count), level)
        chosen = chosen if count == kind.registers else chosen * kind.registers
        sides = (self.read(name, kind, level) for name in (one, other))
        found = [a if t else b for t, a, b in zip(chosen, *sides, strict=True)]
        return self.name(kind, found, level)

    def convert(self, word, kind, item, name, level=None):
        assert word in CONVERSIONS
        given = self.read(name, kind, level)
        bits, wanted = bits_of(kind.item), bits_of(item)
        if word == "bitcast":
            return self.recast(kind, Kind(item, kind.registers), name)
        if word in ("extsi", "sitofp"):
            given = [signed(each, bits) for each in given]
        if word.startswith("ext"):
            assert wanted > bits
        if word.startswith("trunc"):
            assert wanted < bits
        if word.startswith("fpto"):
            given = [int(each) for each in given]
        return self.name(Kind(item, kind.registers), given, level)

    def recast(self, kind, wanted, name):
        bits, other = bits_of(kind.item), bits_of(wanted.item)
        assert bits * kind.registers == other * wanted.registers
        whole = 0
        for at, each in enumerate(self.read(name, kind)):
            whole |= self._code(kind.item, each) << (at * bits)
        starts = range(0, other * wanted.registers, other)
        codes = [(whole >> start) % (1 << other) for start in starts]
        return self.name(wanted, [self._number(wanted.item, code) for code in codes])

    @staticmethod
    def _code(item, value):
        if item not in FLOATS:
            return value
        return int.from_bytes(value.tobytes(), "little") % (1 << bits_of(item))

    @staticmethod
    def _number(item, code):
        if item not in FLOATS:
            return code
        data = code.to_bytes(max(1, bits_of(item) // 8), "little")
        return np.frombuffer(data, FLOATS[item])[0]

    def broadcast(self, kind, name):
        return self.name(kind, self.read(name, Kind(kind.item)) * kind.registers)

    def extract(self, kind, name, at):
        return self.name(Kind(kind.item), [self.read(name, kind)[at]])

    def slice(self, kind, name, start, count):
        assert count > 1
        part = self.read(name, kind)[start : start + count]
        return self.name(Kind(kind.item, count), part)

    def insert(self, kind, into, name, at, count):
        whole = list(self.read(into, kind))
        whole[at : at + count] = self.read(name, Kind(kind.item, count))
        return self.name(kind, whole)

    def from_elements(self, kind, *names):
        found = [self.read(name, Kind(kind.item))[0] for name in names]
        return self.name(kind, found)


class ComputedEmission(Emission):
    """What rules work with, for values of so many registers in no graph."""

    def __init__(self, table, registers):
        graph = SimpleNamespace(bindings={})
        super().__init__(graph, None, Facts(), table, ComputedCode())
        self.count = registers

    def registers(self, op):
        del op
        return self.count

    def word(self, position):
        raise NotImplementedError(position)

    def thread(self, threads):
        raise NotImplementedError(threads)

    def workgroup(self, axis):
        raise NotImplementedError(axis)

    def uniform(self, name, kind):
        del kind
        return name

    def put(self, op, array):
        """Give a value its elements."""
        kind = Kind(element(self.dtype(op)), len(array))
        self.define(op, Value(self.instructions.name(kind, list(array)), *kind))

    def array(self, op):
        """The elements of a value, as numpy has them."""
        value, dtype = self.value(op), self.dtype(op)
        found = self.instructions.read(value.name, value.kind)
        if dtype.is_integer and not dtype.is_unsigned:
            found = self.instructions.signed(value.name)
        return np.array(found, dtype.numpy())
