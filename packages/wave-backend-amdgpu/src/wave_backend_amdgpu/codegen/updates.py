"""An element of a memory that is updated in one step, and ways to do it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_backend_amdgpu.codegen.builder import Block
    from wave_backend_amdgpu.codegen.emitter import Emitter


@dataclass(frozen=True)
class Place:
    """One element, or a pair of halves of a word.

    Attributes:
        name: Its pointer.
        kind: The pointer's type.
        item: Its own type.
        scope: Who sees updates as one step, as a clause.
        notes: What else the compiler may know of an update.
    """

    name: str
    kind: str
    item: str
    scope: str
    notes: str

    def combine(self, emit: Emitter, word: str, value: str) -> str:
        """The instruction that updates it; what it was."""
        return emit.builder.op(
            f"llvm.atomicrmw {word} {self.name}, {value} {self.scope} monotonic "
            f"{self.notes} : {self.kind}, {self.item}"
        )

    def exchange(self, emit: Emitter, expected: str, new: str) -> tuple[str, str]:
        """Put in what is new if it is what is expected: what it was, and if so."""
        builder, item = emit.builder, self.item
        pair = builder.op(
            f"llvm.cmpxchg {self.name}, {expected}, {new} {self.scope} monotonic "
            f"monotonic : {self.kind}, {item}"
        )
        kind = f"!llvm.struct<({item}, i1)>"
        old, done = (
            builder.op(f"llvm.extractvalue {pair}[{i}] : {kind}") for i in (0, 1)
        )
        return old, done


def add_by_exchange(emit: Emitter, place: Place, value: str) -> str:
    """A sum where the machine has none; what was there before."""
    builder, item = emit.builder, place.item
    bits = f"i{item[1:]}"

    def add(old: str) -> str:
        number = builder.op(f"arith.bitcast {old} : {bits} to {item}")
        total = builder.op(f"arith.addf {number}, {value} : {item}")
        return builder.op(f"arith.bitcast {total} : {item} to {bits}")

    old = _exchanged(emit, replace(place, item=bits), add)
    return builder.op(f"arith.bitcast {old} : {bits} to {item}")


def add_to_half(emit: Emitter, place: Place, value: str) -> str:
    """A sum in one half of a word, whose other half stays; what was there before."""
    builder, item = emit.builder, place.item
    number = builder.op(f"llvm.ptrtoint {place.name} : {place.kind} to i32")
    two, eight = (builder.constant(str(n), "i32") for n in (2, 8))
    high = builder.op(f"arith.andi {number}, {two} : i32")
    shift = builder.op(f"arith.muli {high}, {eight} : i32")
    down = builder.op(f"llvm.getelementptr {place.name}[-1] : ({place.kind}) -> "
                      f"{place.kind}, i16")  # fmt: skip
    zero = builder.constant("0", "i32")
    odd = builder.op(f"arith.cmpi ne, {high}, {zero} : i32")
    start = builder.op(f"llvm.select {odd}, {down}, {place.name} : i1, {place.kind}")
    word = replace(place, name=start, item="i32")
    ones = builder.constant("65535", "i32")
    own = builder.op(f"arith.shli {ones}, {shift} : i32")
    all_ = builder.constant("-1", "i32")
    others = builder.op(f"arith.xori {own}, {all_} : i32")

    def half(old: str) -> str:
        moved = builder.op(f"arith.shrui {old}, {shift} : i32")
        short = builder.op(f"arith.trunci {moved} : i32 to i16")
        return builder.op(f"arith.bitcast {short} : i16 to {item}")

    def add(old: str) -> str:
        total = builder.op(f"arith.addf {half(old)}, {value} : {item}")
        short = builder.op(f"arith.bitcast {total} : {item} to i16")
        wide = builder.op(f"arith.extui {short} : i16 to i32")
        mine = builder.op(f"arith.shli {wide}, {shift} : i32")
        kept = builder.op(f"arith.andi {old}, {others} : i32")
        return builder.op(f"arith.ori {kept}, {mine} : i32")

    return half(_exchanged(emit, word, add))


def _exchanged(emit: Emitter, place: Place, make: Callable[[str], str]) -> str:
    """Exchange until nobody came between; what was there before.

    The first guess is 0: a read of the element would have to be atomic too.
    """
    builder, bits = emit.builder, place.item
    zero = builder.constant("0", bits)
    guess, result, last = builder.fresh(), builder.fresh(), builder.fresh()
    with builder.region() as block:
        old, done = place.exchange(emit, guess, make(guess))
        true = builder.constant("true", "i1")
        again = builder.op(f"arith.xori {done}, {true} : i1")
        builder.line(f"scf.condition({again}) {old} : {bits}")
    block.lines += ["} do {", f"^bb0({last}: {bits}):", f"scf.yield {last} : {bits}"]
    head = f"{result} = scf.while ({guess} = {zero}) : ({bits}) -> {bits} {{"
    builder.splice(head, block, "}")
    return result


def extreme_by_bits(emit: Emitter, place: Place, value: str, *, least: bool) -> str:
    """The smaller or larger float, as integers; what was there before.

    Floats without a sign are ordered like their bits, those with one the other way
    round, as numbers without sign. So the sign of the register's element decides
    which extreme of integers finds that of the floats, whatever the memory holds. A
    NaN becomes the number that changes nothing.
    """
    builder, item = emit.builder, place.item
    bits = f"i{item[1:]}"
    words = replace(place, item=bits)
    infinity = emit.constant(inf if least else -inf, DTYPES[item])
    number = builder.op(f"arith.cmpf ord, {value}, {value} : {item}")
    value = builder.op(f"arith.select {number}, {value}, {infinity} : {item}")
    word = builder.op(f"arith.bitcast {value} : {item} to {bits}")
    zero = builder.constant("0", bits)
    positive = builder.op(f"arith.cmpi sge, {word}, {zero} : {bits}")
    blocks: list[Block[str]] = []
    for name in ("min", "umax") if least else ("max", "umin"):
        with builder.region() as block:
            old = words.combine(emit, name, word)
            builder.line(f"scf.yield {old} : {bits}")
        blocks.append(block)
    first, second = blocks
    first.lines += ["} else {", *second.lines]
    result = builder.fresh()
    builder.splice(f"{result} = scf.if {positive} -> ({bits}) {{", first, "}")
    return builder.op(f"arith.bitcast {result} : {bits} to {item}")
