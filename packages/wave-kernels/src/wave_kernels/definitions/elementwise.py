"""What programs of elements compute, as one kernel."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.operands import declared
from wave_kernels.definitions.rows import M, N, row_constraints

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_core.types import DType

B = tkl.sym.B

LANES = 256
"""Elements side by side in memory that a wave has: four for each lane."""

LINES = 4
"""Lines of such elements, a wave each."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": tkw.abs,
    "add": operator.add,
    "and": operator.and_,
    "ceil": tkw.ceil,
    "cos": tkw.cos,
    "div": operator.truediv,
    "eq": tkw.eq,
    "erf": tkw.erf,
    "exp": tkw.exp,
    "exp2": tkw.exp2,
    "floor": tkw.floor,
    "ge": tkw.ge,
    "gelu": tkw.gelu,
    "gt": tkw.gt,
    "le": tkw.le,
    "log": tkw.log,
    "log2": tkw.log2,
    "lt": tkw.lt,
    "maximum": tkw.maximum,
    "minimum": tkw.minimum,
    "mul": operator.mul,
    "ne": tkw.ne,
    "neg": operator.neg,
    "not": operator.invert,
    "or": operator.or_,
    "pow": tkw.powf,
    "reciprocal": tkw.reciprocal,
    "round": tkw.roundeven,
    "rsqrt": tkw.rsqrt,
    "sigmoid": tkw.sigmoid,
    "silu": tkw.silu,
    "sin": tkw.sin,
    "sqrt": tkw.sqrt,
    "sub": operator.sub,
    "tanh": tkw.tanh,
    "where": tkw.where,
}
"""Of each element, as torch has them; ``round`` to even."""

FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "amax": lambda row, dim: tkw.max(row, dim=dim),
    "amin": lambda row, dim: tkw.min(row, dim=dim),
    "mean": lambda row, dim: tkw.sum(row, dim=dim) / tkw.scalar(dim, tkl.f32),
    "sum": lambda row, dim: tkw.sum(row, dim=dim),
}
"""Of each row: one number, for all of its elements."""

ROUNDED: dict[str, DType] = {"bf16": tkl.bf16, "f16": tkl.f16}
"""Steps that round to a type, and go on in f32."""

TURNED = "turned"
"""A step on an operand, which is read: the second half of each row, negated, and then
the first, as models write rotary embedding."""

SYMBOLS = {"b": B, "m": M, "n": N}
"""Dims by letters."""


@dataclass(frozen=True)
class Number:
    """A number in a program.

    Attributes:
        text: As Python writes it: zeros of both signs are two, and NaN is itself.
    """

    text: str


@dataclass(frozen=True)
class Step:
    """One operation on elements.

    Attributes:
        name: Of `FUNCTIONS`, `FOLDS` or `ROUNDED`, or `TURNED`.
        operands: Numbers, and earlier values by their places: operands of the program
            first, then steps.
    """

    name: str
    operands: tuple[int | Number, ...]


@dataclass(frozen=True)
class Program:
    """What is computed of elements of tensors; values are f32, or true or false.

    Attributes:
        operands: How many tensors it has.
        steps: In order.
        results: Values that are stored, each with its type; truths as i8.
    """

    operands: int
    steps: tuple[Step, ...]
    results: tuple[tuple[int, DType], ...]

    @cached_property
    def folds(self) -> bool:
        """Whether it needs whole rows."""
        return any(step.name in FOLDS for step in self.steps)

    @cached_property
    def turns(self) -> bool:
        """Whether it reads elements of a row in another order."""
        return any(step.name == TURNED for step in self.steps)

    @cached_property
    def of_rows(self) -> frozenset[int]:
        """The values of which there is one a row: of folds, and what comes of these."""
        found: set[int] = set()
        for at, step in enumerate(self.steps, self.operands):
            places = [each for each in step.operands if isinstance(each, int)]
            if step.name in FOLDS or found.issuperset(places):
                found.add(at)
        return frozenset(found)


def elementwise_kernel(
    program: Program, dims: str, operands: tuple[tuple[str, DType], ...]
) -> Any:
    """A program of elements as one kernel.

    Shapes: ``dims`` is ``n``, ``mn`` or ``bmn``; operands have some of them and are the
    same along the others. With folds it is ``mn``, and a workgroup has a row; with
    turns ``n`` is a row, of an even number. Results have all dims, values of rows all
    but ``n``. Dtypes: f32, f16, bf16, and i8 for truths. Symbols to bind: ``B``, ``M``,
    ``N``. Accuracy: each step is f32, and results are rounded once.
    """
    whole = [SYMBOLS[letter] for letter in dims]
    rows, letters = program.of_rows, [each for each, _ in operands]
    memories = {f"x{i}": _memory(*each) for i, each in enumerate(operands)}
    for i, (value, dtype) in enumerate(program.results):
        memories[f"y{i}"] = _memory(dims[:-1] if value in rows else dims, dtype)

    @tkw.wave(row_constraints() if program.folds else _constraints(dims))
    @declared(memories)
    def elementwise(*tensors: Any) -> None:
        inputs, outputs = tensors[: program.operands], tensors[program.operands :]
        read = [
            _read(memory, dtype, whole)
            for memory, (_, dtype) in zip(inputs, operands, strict=True)
        ]
        tile = _Tile(whole, rows, read, tuple(zip(inputs, letters, strict=True)))
        for step in program.steps:
            tile.compute(step)
        for (value, dtype), memory in zip(program.results, outputs, strict=True):
            tkw.write(tile.stored(value, dtype), memory)

    return elementwise


def _memory(dims: str, dtype: DType) -> Any:
    symbols = [SYMBOLS[letter] for letter in dims]
    return tkl.Memory[*symbols, tkl.GLOBAL_ADDRESS_SPACE, dtype]


def _turned(memory: Any, dims: str, whole: list[Any]) -> Any:
    """An operand with halves of rows exchanged, and the first one negated."""
    half = N // 2
    every = [SYMBOLS[letter] for letter in dims]
    places = {dim: tkw.IndexMapping.iterator(i) for i, dim in enumerate(every)}
    taken = {**places, N: (places[N] + half) % N}
    found = tkw.IndexMapping(len(dims), taken, places)
    wide = tkw.cast(tkw.read(memory, mapping=found), tkl.f32)
    first = tkw.apply_expr(tkw.self_index(N, tkl.i32), lambda n: n < half)
    first, wide = (tkw.broadcast(each, target_shape=whole) for each in (first, wide))
    return tkw.where(first, -wide, wide)


def _read(memory: Any, dtype: DType, whole: list[Any]) -> Any:
    """An operand for each element, in f32, or true or false."""
    wide = tkw.cast(tkw.read(memory), tkl.f32)
    found = tkw.ne(wide, 0.0) if dtype == tkl.i8 else wide
    return tkw.broadcast(found, target_shape=whole)


@dataclass(frozen=True)
class _Tile:
    """The values of a program, as registers.

    Attributes:
        whole: The dims of an element.
        rows: The values that lack the last one of these.
        values: So far.
        memories: Of the operands, and their dims.
    """

    whole: list[Any]
    rows: frozenset[int]
    values: list[Any]
    memories: Sequence[tuple[Any, str]]

    def compute(self, step: Step) -> None:
        """Append the value of a step."""
        narrow = len(self.values) in self.rows and step.name not in FOLDS
        operands = [self._operand(each, narrow=narrow) for each in step.operands]
        if step.name in FOLDS:
            found = FOLDS[step.name](*operands, self.whole[-1])
        elif step.name == TURNED:
            found = _turned(*self.memories[step.operands[0]], self.whole)
        elif step.name in ROUNDED:
            found = tkw.cast(tkw.cast(*operands, ROUNDED[step.name]), tkl.f32)
        else:
            found = FUNCTIONS[step.name](*operands)
        self.values.append(found)

    def _operand(self, each: int | Number, *, narrow: bool) -> Any:
        if isinstance(each, Number):
            dims = self.whole[:-1] if narrow else self.whole
            return tkl.Register[*dims, tkl.f32](float(each.text))
        found = self.values[each]
        if each not in self.rows or narrow:
            return found
        return tkw.broadcast(found, target_shape=self.whole)

    def stored(self, value: int, dtype: DType) -> Any:
        """A value in the type in which it is stored."""
        found = self.values[value]
        if dtype == tkl.i8:
            narrow = value in self.rows
            one, zero = (self._operand(Number(x), narrow=narrow) for x in "10")
            found = tkw.where(found, one, zero)
        return tkw.cast(found, dtype)


def _constraints(dims: str) -> list[Any]:
    """`LINES` waves a workgroup, with `LANES` neighbours in memory each.

    Lines go along the first axis of the grid, which has room for most workgroups.
    """
    if dims == "n":
        return [
            tkw.HardwareConstraint(vector_shapes={N: LANES}),
            tkw.WorkgroupConstraint(N, LANES * LINES, 0),
            tkw.WaveConstraint(N, LANES),
        ]
    batch = [tkw.WorkgroupConstraint(B, 1, 2)] if "b" in dims else []
    return [
        tkw.HardwareConstraint(vector_shapes={M: 1, N: LANES}),
        tkw.WorkgroupConstraint(M, LINES, 0),
        tkw.WorkgroupConstraint(N, LANES, 1),
        *batch,
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, LANES),
    ]
