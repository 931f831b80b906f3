"""Integer and float arithmetic, logic, comparison and selection (sections 9.7.1-8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_ptx import floats
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.scope import PENDING, carried
from wave_emulator_ptx.syntax import Instruction, Number, Operand, Pair
from wave_emulator_ptx.types import TYPES, Type, in_modifiers

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, One, Selection, Three, Two
    from wave_emulator_ptx.batch import Batch, Reader, Step
    from wave_emulator_ptx.scope import Scope

Function = Callable[..., Any]


def kind_of(instruction: Instruction) -> Type:
    """The type of an instruction: the last that it names.

    Raises:
        UnknownInstructionError: EP0301, it names none.
    """
    kinds = in_modifiers(instruction.modifiers)
    if not kinds:
        raise UnknownInstructionError(
            f"{instruction}: a type is missing", instruction.line
        )
    return kinds[-1]


def computed(
    instruction: Instruction,
    scope: Scope,
    function: Function,
    result: Type,
    kinds: list[Type],
) -> Step:
    """A step that applies a function to decoded operands and stores what it gives."""
    operands = instruction.operands
    if len(operands) != len(kinds) + 1:
        raise UnknownInstructionError(
            f"{instruction} with {len(operands)} operands", instruction.line
        )
    write = scope.write(operands[0], result, instruction)
    readers = [
        values(scope, each, kind, instruction)
        for each, kind in zip(operands[1:], kinds, strict=True)
    ]

    def step(batch: Batch, chosen: Selection) -> None:
        given = function(*(read(batch, chosen) for read in readers))
        write(batch, chosen, result.encode(np.asarray(given)))

    return step


def values(scope: Scope, operand: Operand, kind: Type, at: Instruction) -> Reader:
    """Decoded values of an operand."""
    read = scope.read(operand, kind, at)
    return lambda batch, chosen: kind.decode(read(batch, chosen))


# ------------------------------------------------------------------ by operation


def _quotient(a: Array, b: Array) -> Array:
    """Towards zero; by zero it gives all ones, as the hardware does."""
    safe = np.where(b == 0, np.ones_like(b), b)
    if a.dtype.kind == "u":
        return np.where(b == 0, ~np.zeros_like(a), a // safe)
    with np.errstate(over="ignore"):  # of the least number by -1
        found = a // safe
    found = found + ((found * safe != a) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, -np.ones_like(a), found)


def _remainder(a: Array, b: Array) -> Array:
    """What the quotient leaves; all ones by zero too."""
    return np.where(b == 0, ~np.zeros_like(a), a - _quotient(a, b) * b)


def _shift_left(a: Array, b: Array) -> Array:
    width = a.dtype.itemsize * 8
    count = np.minimum(b, width - 1).astype(a.dtype)
    return np.where(b >= width, np.zeros_like(a), a << count)


def _shift_right(a: Array, b: Array) -> Array:
    width = a.dtype.itemsize * 8
    count = np.minimum(b, width - 1).astype(a.dtype)
    if a.dtype.kind == "i":
        return a >> count
    return np.where(b >= width, np.zeros_like(a), a >> count)


def high_part(a: Array, b: Array) -> Array:
    """The upper half of a product."""
    width = a.dtype.itemsize * 8
    if width < 64:
        wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(width)).astype(a.dtype)
    product = a.astype(object) * b.astype(object)
    mask = (1 << 64) - 1
    bits = [(int(each) >> 64) & mask for each in np.ravel(product)]
    return np.array(bits, np.uint64).view(a.dtype)


def _leading_zeros(a: Array) -> Array:
    width = a.dtype.itemsize * 8
    found = np.full(a.shape, width, np.uint32)
    for bit in range(width):
        one = (a >> a.dtype.type(bit)) & a.dtype.type(1)
        found = np.where(one, width - 1 - bit, found)
    return found


def _reversed_bits(a: Array) -> Array:
    width = a.dtype.itemsize * 8
    found = np.zeros_like(a)
    for bit in range(width):
        one = (a >> a.dtype.type(bit)) & a.dtype.type(1)
        found |= one << a.dtype.type(width - 1 - bit)
    return found


def _saturated(function: Function) -> Function:
    """``.sat`` of s32: results stay within 32 bits."""

    def limited(*operands: Array) -> Array:
        wide = function(*(each.astype(np.int64) for each in operands))
        return np.clip(wide, -(2**31), 2**31 - 1)

    return limited


def _in_double(function: One) -> One:
    """A function computed in f64 and rounded once."""
    return lambda a: floats.narrowed(function(a.astype(np.float64)), a.dtype)


INTEGER_ONE: dict[str, One] = {
    "neg": np.negative,
    "abs": np.abs,
    "not": np.invert,
    "cnot": lambda a: (a == 0).astype(a.dtype),
    "popc": np.bitwise_count,
    "clz": _leading_zeros,
    "brev": _reversed_bits,
}

INTEGER_TWO: dict[str, Two] = {
    "add": np.add,
    "sub": np.subtract,
    "div": _quotient,
    "rem": _remainder,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}

INTEGER_THREE: dict[str, Three] = {
    "sad": lambda a, b, c: np.where(a < b, b - a, a - b) + c,
}

FLOAT_ONE: dict[str, One] = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rcp": _in_double(lambda a: 1 / a),
    "rsqrt": _in_double(lambda a: 1 / np.sqrt(a)),
    "ex2": _in_double(np.exp2),
    "lg2": _in_double(np.log2),
    "sin": _in_double(np.sin),
    "cos": _in_double(np.cos),
    "tanh": _in_double(np.tanh),
}

FLOAT_TWO: dict[str, Two] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": floats.lesser,
    "max": floats.greater,
    "copysign": lambda a, b: np.copysign(b, a),
}

FLOAT_THREE: dict[str, Three] = {"fma": floats.fused, "mad": floats.fused}

INTEGER: dict[str, Function] = {**INTEGER_ONE, **INTEGER_TWO, **INTEGER_THREE}
"""Of values of one type; ``popc`` and ``clz`` give u32."""

FLOAT: dict[str, Function] = {**FLOAT_ONE, **FLOAT_TWO, **FLOAT_THREE}
"""Of values of one type. ``.approx`` forms give the exact value, rounded."""


def _arity(opcode: str) -> int:
    """How many values an operation takes."""
    if opcode in INTEGER_ONE or opcode in FLOAT_ONE:
        return 1
    return 2 if opcode in INTEGER_TWO or opcode in FLOAT_TWO else 3


COUNTS = frozenset({"popc", "clz", "bfind"})
DIRECTED = frozenset({"rz", "rm", "rp"})


def bind(instruction: Instruction, scope: Scope) -> Step:
    """Instructions whose operands and result have one type."""
    kind = kind_of(instruction)
    function = (FLOAT if kind.kind == "f" else INTEGER)[instruction.opcode]
    if kind.kind == "f":
        function = _as_asked(function, instruction, kind)
    elif "sat" in instruction.modifiers:
        function = _saturated(function)
    count = _arity(instruction.opcode)
    result = TYPES["u32"] if instruction.opcode in COUNTS else kind
    return computed(instruction, scope, function, result, [kind] * count)


def _directed(mode: str) -> Two:
    """Sums of f32, which alone have directions here."""
    return lambda a, b: floats.directed_sum(a, b, mode)


def _times_reciprocal(a: Array, b: Array) -> Array:
    """``div.approx`` of f32: reciprocals of what is beyond 2**126 are zero.

    Source: section 9.7.3.8 of the PTX ISA.
    """
    beyond = (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)
    return np.where(beyond, a * np.copysign(np.float32(0), b), a / b)


def _as_asked(function: Function, instruction: Instruction, kind: Type) -> Function:
    """A float operation with the flushes, limits and roundings of its modifiers."""
    asked = set(instruction.modifiers)
    ftz = "ftz" in asked and kind.values == np.float32
    for mode in asked & DIRECTED:
        function = _directed(mode)
    if instruction.opcode == "div" and "approx" in asked:
        function = _times_reciprocal

    def run(*operands: Array) -> Array:
        if ftz:
            operands = tuple(floats.flush(each) for each in operands)
        with np.errstate(all="ignore"):
            found = function(*operands)
            if "NaN" in asked:
                found = floats.or_nan(found, *operands)
            if "sat" in asked:
                found = floats.limited(found)
            if "relu" in asked:
                found = np.where(found <= 0, np.zeros_like(found), found)
        if instruction.opcode != "copysign":  # it is no arithmetic
            found = floats.one_nan(np.asarray(found))
        return floats.flush(found) if ftz else found

    return run


def bind_shift(instruction: Instruction, scope: Scope) -> Step:
    """``shl``, ``shr``: the count is 32 bits wide, and stops at the width."""
    kind = kind_of(instruction)
    function = _shift_left if instruction.opcode == "shl" else _shift_right
    return computed(instruction, scope, function, kind, [kind, TYPES["u32"]])


def bind_multiply(instruction: Instruction, scope: Scope) -> Step:
    """``mul`` and ``mad`` of integers: lo, hi and wide; floats as the others."""
    kind = kind_of(instruction)
    if kind.kind == "f":
        return bind(instruction, scope)
    added = instruction.opcode == "mad"
    result, times = kind, _product(instruction)
    if "wide" in instruction.modifiers:
        result = TYPES[f"{kind.kind}{kind.width * 2}"]

    def run(a: Array, b: Array, *c: Array) -> Array:
        found = times(a.astype(result.values), b.astype(result.values))
        return found + c[0] if c else found

    kinds = [kind, kind, result] if added else [kind, kind]
    return computed(instruction, scope, run, result, kinds)


def _product(instruction: Instruction) -> Two:
    return high_part if "hi" in instruction.modifiers else np.multiply


def bind_find(instruction: Instruction, scope: Scope) -> Step:
    """``bfind``: the place of the highest bit that differs from the sign."""
    kind = kind_of(instruction)
    words = TYPES[f"u{kind.width}"]
    amount = "shiftamt" in instruction.modifiers

    def find(a: Array) -> Array:
        bits = np.where(a < 0, ~a, a).astype(words.values)
        zeros = _leading_zeros(bits)
        place = zeros if amount else kind.width - 1 - zeros
        return np.where(bits == 0, np.uint32(0xFFFFFFFF), place.astype(np.uint32))

    return computed(instruction, scope, find, TYPES["u32"], [kind])


# ------------------------------------------------------------------ bits


def bind_extract(instruction: Instruction, scope: Scope) -> Step:
    """``bfe``: bits from a place on, with zeros or the highest one of them above."""
    kind = kind_of(instruction)
    u32 = TYPES["u32"]

    def extract(a: Array, place: Array, count: Array) -> Array:
        a, place, count = np.broadcast_arrays(a, place & 0xFF, count & 0xFF)
        top = np.minimum(place.astype(np.int64) + count - 1, kind.width - 1)
        signed = a.astype(np.int64) if kind.kind == "s" else a.astype(np.uint64)
        found = _shift_right(signed, place)
        mask = (np.uint64(1) << np.minimum(count, 63).astype(np.uint64)) - np.uint64(1)
        low = found.astype(np.uint64) & np.where(count >= 64, ~np.uint64(0), mask)
        if kind.kind == "s":
            sign = (_shift_right(signed, top.astype(np.uint32)) & 1).astype(np.bool_)
            low = np.where(sign, low | ~mask, low)
        bits = np.where(count == 0, 0, low).astype(np.uint64)
        return bits.astype(kind.words).view(kind.values)

    return computed(instruction, scope, extract, kind, [kind, u32, u32])


def bind_insert(instruction: Instruction, scope: Scope) -> Step:
    """``bfi d, a, b, place, count``: the low bits of a, put into b."""
    kind = kind_of(instruction)
    u32 = TYPES["u32"]

    def insert(a: Array, b: Array, place: Array, count: Array) -> Array:
        place, count = place & 0xFF, np.minimum(count & 0xFF, kind.width)
        ones = ~np.zeros_like(a)
        low = ~_shift_left(ones, count)
        mask = _shift_left(low, place)
        return (b & ~mask) | (_shift_left(a, place) & mask)

    return computed(instruction, scope, insert, kind, [kind, kind, u32, u32])


def bind_funnel(instruction: Instruction, scope: Scope) -> Step:
    """``shf``: 32 bits of a pair of registers, shifted."""
    u32 = TYPES["u32"]
    left = "l" in instruction.modifiers
    wraps = "wrap" in instruction.modifiers

    def shift(low: Array, high: Array, count: Array) -> Array:
        count = (count & 31) if wraps else np.minimum(count, 32)
        pair = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
        if left:
            return (pair << count.astype(np.uint64)) >> np.uint64(32)
        return (pair >> count.astype(np.uint64)) & np.uint64(0xFFFFFFFF)

    return computed(instruction, scope, shift, u32, [u32, u32, u32])


def bind_permute(instruction: Instruction, scope: Scope) -> Step:
    """``prmt``: four bytes chosen from eight; bit 3 of a choice spreads the sign."""
    u32 = TYPES["u32"]

    def permute(a: Array, b: Array, choice: Array) -> Array:
        pair = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
        found = np.zeros(np.broadcast_shapes(pair.shape, choice.shape), np.uint64)
        for place in range(4):
            nibble = (choice >> np.uint32(4 * place)) & 15
            byte = (pair >> ((nibble & 7) * 8).astype(np.uint64)) & np.uint64(255)
            spread = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
            byte = np.where(nibble & 8, spread, byte)
            found |= byte << np.uint64(8 * place)
        return found

    return computed(instruction, scope, permute, u32, [u32, u32, u32])


def bind_table(instruction: Instruction, scope: Scope) -> Step:
    """``lop3``: any function of three bits, by its table of eight.

    Raises:
        UnknownInstructionError: EP0301, the table has more.
    """
    u32 = TYPES["u32"]
    table = instruction.operands[-1]
    if not isinstance(table, Number) or table.value not in range(256):
        reason = "its table has eight bits"
        raise UnknownInstructionError(str(instruction), instruction.line, reason)
    rows = [row for row in range(8) if table.value >> row & 1]

    def look_up(a: Array, b: Array, c: Array, _: Array) -> Array:
        found = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for row in rows:
            parts = [x if row & bit else ~x for x, bit in ((a, 4), (b, 2), (c, 1))]
            found = found | (parts[0] & parts[1] & parts[2])
        return found

    return computed(instruction, scope, look_up, u32, [u32, u32, u32, u32])


# ------------------------------------------------------------------ comparing

COMPARISONS: dict[str, Two] = {
    "eq": np.equal,
    "ne": lambda a, b: (a < b) | (a > b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
"""Relations; those that end in u hold too where an operand is NaN."""

JOINS: dict[str, Two] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def bind_compare(instruction: Instruction, scope: Scope) -> Step:
    """``setp``: one predicate, or it and its opposite, joined with another.

    Of packed operands the second predicate is that of the upper halves.
    """
    kind = kind_of(instruction)
    relation = _relation(instruction)
    join = JOINS.get(instruction.modifiers[1])
    pred = TYPES["pred"]
    result, *operands = instruction.operands
    first, second = (
        (result.first, result.second) if isinstance(result, Pair) else (result, None)
    )
    write = scope.write(first, pred, instruction)
    write_not = scope.write(second, pred, instruction) if second else None
    a, b = (values(scope, each, kind, instruction) for each in operands[:2])
    other = values(scope, operands[2], pred, instruction) if join else None

    def step(batch: Batch, chosen: Selection) -> None:
        with np.errstate(invalid="ignore"):  # of NaN of 16 bits
            held = relation(a(batch, chosen), b(batch, chosen))
        held, opposite = held.T if held.ndim > 1 else (held, ~held)
        if join and other:
            joined = other(batch, chosen)
            held, opposite = join(held, joined), join(opposite, joined)
        write(batch, chosen, held)
        if write_not:
            write_not(batch, chosen, opposite)

    return step


def _relation(instruction: Instruction) -> Two:
    plain = COMPARISONS[instruction.modifiers[0]]
    if "ftz" not in instruction.modifiers:
        return plain
    return lambda a, b: plain(floats.flush(a), floats.flush(b))


def bind_set(instruction: Instruction, scope: Scope) -> Step:
    """``set``: 1.0 for floats and all ones for integers where a relation holds."""
    *_, result, kind = in_modifiers(instruction.modifiers)
    relation = _relation(instruction)
    true = 1.0 if result.kind == "f" else -1

    def compare(a: Array, b: Array) -> Array:
        with np.errstate(invalid="ignore"):  # of NaN of 16 bits
            return np.where(relation(a, b), true, 0)

    if result.kind == "f":
        return computed(instruction, scope, compare, result, [kind, kind])
    words = TYPES[f"s{result.width}"]
    return computed(instruction, scope, compare, words, [kind, kind])


def _by_predicate(a: Array, b: Array, held: Array) -> Array:
    return np.where(held, a, b)


def _by_sign(a: Array, b: Array, value: Array) -> Array:
    return np.where(value >= 0, a, b)


def bind_select(instruction: Instruction, scope: Scope) -> Step:
    """``selp``: one of two values by a predicate."""
    kind = TYPES[f"b{kind_of(instruction).width}"]
    return computed(
        instruction, scope, _by_predicate, kind, [kind, kind, TYPES["pred"]]
    )


def bind_select_by_sign(instruction: Instruction, scope: Scope) -> Step:
    """``slct``: the first value where the third is not negative."""
    kinds = in_modifiers(instruction.modifiers)
    kind = TYPES[f"b{kinds[0].width}"]
    return computed(instruction, scope, _by_sign, kind, [kind, kind, kinds[1]])


def bind_move(instruction: Instruction, scope: Scope) -> Step:
    """``mov``: bits as they are; tuples are taken apart or put together."""
    kind = kind_of(instruction)
    rows = carried(instruction, scope)
    if rows is not None:
        return _bind_carried(instruction, rows)
    write = scope.write(instruction.operands[0], kind, instruction)
    read = scope.read(instruction.operands[1], kind, instruction)
    return lambda batch, chosen: write(batch, chosen, read(batch, chosen))


def _bind_carried(instruction: Instruction, rows: tuple[int, int]) -> Step:
    """A copy of a register that a product may be using, as its row of the bank.

    Assemblers give both one place where they can, so that a result which is still to
    come is so under its new name. Any other use of it is reported.
    """
    to, source = rows

    def step(batch: Batch, chosen: Selection) -> None:
        products = batch.products
        bits = products.bank[source, chosen]
        if batch.checks:
            lost = products.pending(to, chosen) & (products.bank[to, chosen] != bits)
            batch.report(instruction, "EP0504", PENDING, batch.ordinals(chosen)[lost])
            products.carry(source, to, chosen)
        products.bank[to, chosen] = bits

    return step
