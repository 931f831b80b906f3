"""Products of four warps as inline assembly: LLVM has no intrinsics for them.

What assembly changes in place is tied: given as an operand, and a result in the same
registers. So whoever reads an accumulator behind a wait names the wait's result, and
nothing is read too early.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.types import scalar
from wave_core.backends.emission import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_backend_nvgpu.codegen.instructions import LlvmInstructions
    from wave_core.types import DType

FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"

NEXT_LINE = r"\0A"
"""The end of a line as LLVM writes it in a text."""

TYPES = {
    "f16": "f16",
    "bf16": "bf16",
    "i8": "s8",
    "f8e4m3fn": "e4m3",
    "f8e5m2": "e5m2",
}
"""PTX's words for element types of operands."""

SUMS = {"f32": ("f32", "f"), "i32": ("s32", "r")}
"""By item of the accumulator: PTX's word, and the constraint of its registers."""

CONSTRAINTS = {"f32": "f", "i32": "r"}


@dataclass(frozen=True)
class Operand:
    """Of a product: words in registers, or the descriptor of shared memory.

    Attributes:
        names: The registers, of 32 bits each, or the one descriptor.
        stays: Whether it is in shared memory.
        across: Whether it lies there with K outermost.
    """

    names: tuple[str, ...]
    stays: bool
    across: bool = False

    @property
    def inputs(self) -> list[tuple[str, str, str]]:
        """The constraint, LLVM's type and the name of each."""
        letter, kind = ("l", "i64") if self.stays else ("r", "i32")
        return [(letter, kind, name) for name in self.names]


def fence(make: LlvmInstructions, values: Sequence[Value]) -> list[Value]:
    """What was done to these registers comes before the products that follow."""
    return tied(make, FENCE, values)


def commit(make: LlvmInstructions) -> None:
    """End a group of products."""
    make.assembly(COMMIT, (), ())


def wait(
    make: LlvmInstructions, left: int, values: Sequence[Value], words: Sequence[str]
) -> list[Value]:
    """Until so many groups are under way; the values come out of it.

    Words that products read from registers stay there until then.
    """
    text = f"wgmma.wait_group.sync.aligned {left};"
    inputs = [("r", "i32", name) for name in words]
    return _assembly(make, text, [value.kind for value in values], values, inputs)


@dataclass(frozen=True)
class Product:
    """One of the products of a piece of assembly.

    Attributes:
        sides: The operands.
        acc: Which of the accumulators it adds to.
        adds: Whether it does; else the accumulator becomes the product alone.
    """

    sides: tuple[Operand, Operand]
    acc: int
    adds: bool


@dataclass(frozen=True)
class Sum:
    """An accumulator of a piece of assembly.

    Attributes:
        kind: Its registers.
        start: What is in them before; nothing where the first product sets them.
    """

    kind: Kind
    start: Value | None


def products(
    make: LlvmInstructions,
    shape: tuple[int, int, int],
    dtype: DType,
    rows: Sequence[Product],
    sums: Sequence[Sum],
) -> list[Value]:
    """What the accumulators become when all of ``left * right^T`` are added, in order.

    Registers are named once for all of them: LLVM takes time for each name.
    """
    starts = [each.start for each in sums if each.start is not None]
    sizes = [each.kind.registers for each in sums]
    firsts = list(accumulate(sizes, initial=0))
    taken = firsts.pop() + sum(start.registers for start in starts)
    texts, inputs = list[str](), list[tuple[str, str, str]]()
    for row in rows:
        kind, first = sums[row.acc].kind, firsts[row.acc]
        registers = ", ".join(f"${first + at}" for at in range(kind.registers))
        sides = [_side(side, taken, inputs) for side in row.sides]
        options = _options(dtype, row.sides, adds=row.adds)
        operands = ", ".join([f"{{{registers}}}", *sides, *options])
        texts.append(f"{_instruction(shape, kind, dtype)} {operands};")
    text = NEXT_LINE.join(texts)
    return _assembly(make, text, [each.kind for each in sums], starts, inputs)


def _instruction(shape: tuple[int, int, int], sums: Kind, dtype: DType) -> str:
    m, n, k = shape
    word = TYPES[dtype.name]
    head = f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{SUMS[sums.item][0]}"
    return f"{head}.{word}.{word}"


def _side(side: Operand, taken: int, inputs: list[tuple[str, str, str]]) -> str:
    """An operand's text; its names become further inputs."""
    first = taken + len(inputs)
    inputs += side.inputs
    places = [f"${first + at}" for at in range(len(side.names))]
    return places[0] if side.stays else f"{{{', '.join(places)}}}"


def _options(
    dtype: DType, operands: tuple[Operand, Operand], *, adds: bool
) -> list[str]:
    """Whether it adds; signs; which operands in shared memory lie across."""
    found = [str(int(adds))]
    if dtype.is_float:
        found += ["1", "1"]
    if dtype.bits == 16:
        found += [str(int(side.across)) for side in operands if side.stays]
    return found


def tied(make: LlvmInstructions, text: str, values: Sequence[Value]) -> list[Value]:
    """Assembly that all of these go through."""
    return _assembly(make, text, [value.kind for value in values], values, ())


def _assembly(
    make: LlvmInstructions,
    text: str,
    results: Sequence[Kind],
    values: Sequence[Value],
    inputs: Sequence[tuple[str, str, str]],
) -> list[Value]:
    """Assembly with results, values in their registers, and further operands."""
    kinds = [scalar(kind.item) for kind in results for _ in range(kind.registers)]
    letters = [
        CONSTRAINTS[kind.item] for kind in results for _ in range(kind.registers)
    ]
    given = [
        f"{scalar(value.item)} {make.extract(value.kind, value.name, at)}"
        for value in values
        for at in range(value.registers)
    ]
    rules = [f"={letter}" for letter in letters]
    rules += [str(at) for at in range(len(given))]
    rules += [letter for letter, _, _ in inputs]
    given += [f"{kind} {name}" for _, kind, name in inputs]
    if not kinds:
        make.assembly(text, rules, given)
        return []
    type_ = make.structure(kinds)
    whole = make.assembly(text, rules, given, type_)
    parts = (make.op(f"extractvalue {type_} {whole}, {at}") for at in range(len(kinds)))
    return [
        Value(
            make.from_elements(kind, *[next(parts) for _ in range(kind.registers)]),
            kind.item,
            kind.registers,
        )
        for kind in results
    ]
