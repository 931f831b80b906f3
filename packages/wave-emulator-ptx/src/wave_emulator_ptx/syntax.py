"""A module of PTX as data: what the parser makes and the binder reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Name:
    """A register, a special register, a variable or a label."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A literal.

    Attributes:
        value: the integer, or the bits of a float.
        width: bits of a float, 0 for integers.
    """

    value: int
    width: int = 0


@dataclass(frozen=True, slots=True)
class Tuple:
    """Operands in braces, for vectors and fragments."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """What stands in brackets: a name or a number, and bytes added to it.

    Attributes:
        base: a name or a number.
        offset: bytes added to it.
        coordinates: those of a tensor, the innermost first.
    """

    base: Name | Number
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    """A name and a number added to it, outside of brackets."""

    base: Name
    offset: int


@dataclass(frozen=True, slots=True)
class Not:
    """A predicate, negated."""

    name: Name


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results, ``d|p``."""

    first: Name
    second: Name


Operand: TypeAlias = "Name | Number | Tuple | Address | Sum | Not | Pair"

SINK = Name("_")
"""Where results go that nobody wants."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        opcode: its first word, such as ``ld``.
        modifiers: the words after it, such as ``global``, ``v4``, ``f32``.
        operands: in the order of the text.
        guard: the predicate, and whether it has to hold (else to fail).
        line: in the text, counted from 1.
        source: ``file:line`` of the user's program.
        used_bytes: of a load, as bits from the first byte; None where all are used.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: tuple[Name, bool] | None
    line: int
    source: str | None = None
    used_bytes: int | None = None

    def __str__(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared parameter or piece of memory.

    Attributes:
        name: of the variable.
        space: param, shared, global, const or local.
        type: of an element, such as ``b8``.
        align: in bytes.
        count: elements; 0 where the launch says how many.
        external: declared with ``.extern``.
        values: of the elements, from the first; the others are zero.
        line: in the text, counted from 1.
    """

    name: str
    space: str
    type: str
    align: int
    count: int = 1
    external: bool = False
    values: tuple[Number, ...] = ()
    line: int = 0


@dataclass
class Kernel:
    """An entry.

    Attributes:
        name: of the entry.
        parameters: in order.
        threads: the largest block it is compiled for, where it says so.
        exact: whether its block is no smaller either.
        cluster: workgroups of a cluster.
        residents: workgroups that a multiprocessor is to hold.
        most_registers: that a thread may have at the beginning, where it says so.
        registers: declared type by name.
        variables: memory declared inside.
        body: instructions.
        labels: index into the body by name.
    """

    name: str
    parameters: tuple[Variable, ...]
    threads: int | None = None
    exact: bool = False
    cluster: int = 1
    residents: int = 1
    most_registers: int | None = None
    registers: dict[str, str] = field(default_factory=dict[str, str])
    variables: list[Variable] = field(default_factory=list[Variable])
    body: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])


@dataclass
class Module:
    """A text of PTX.

    Attributes:
        version: of the language.
        target: the architecture that it names, such as ``sm_90a``.
        variables: memory declared outside of entries.
        kernels: entries by name.
    """

    version: str
    target: str
    variables: list[Variable] = field(default_factory=list[Variable])
    kernels: dict[str, Kernel] = field(default_factory=dict[str, Kernel])
