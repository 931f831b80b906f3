"""A target is data: rows that passes, executors and backends read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.symbols import Layout
    from wave_core.types import DType


@dataclass(frozen=True, slots=True)
class MatrixInstruction:
    """One matrix instruction: ``acc[M, N] += lhs[M, K] * rhs[N, K]``.

    The layouts name their dimensions ``M``, ``N`` and ``K`` and say which element
    each lane and register of an operand holds.

    Attributes:
        name: The instruction's name (a value of ``MMAType``).
        shape: M, N and K in elements.
        operand_dtypes: The element types that lhs and rhs may have (both the same).
        result_dtype: The element type of the accumulator.
        lhs, rhs, acc: The lane layouts.
        source: Where the layouts are documented.
    """

    name: str
    shape: tuple[int, int, int]
    operand_dtypes: tuple[DType, ...]
    result_dtype: DType
    lhs: Layout
    rhs: Layout
    acc: Layout
    source: str


@dataclass(frozen=True, slots=True)
class BankPhases:
    """Which lanes one LDS access serves at a time.

    Attributes:
        banks: Number of banks.
        phases: Lanes that access together; conflicts arise only within a phase.
    """

    banks: int
    phases: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class MemorySpec:
    """LDS and global memory of a compute unit.

    Units: ``lds_bytes`` bytes a workgroup; ``bank_bytes`` bytes a bank and cycle;
    ``max_access_bits`` bits one lane moves in one access; ``cache_line_bytes``
    bytes of a global-memory line, for counting coalescing.
    """

    lds_bytes: int
    bank_bytes: int
    max_access_bits: int
    cache_line_bytes: int
    read_phases: tuple[tuple[int, BankPhases], ...]
    """By access width in bytes a lane, for reads of LDS."""
    write_phases: tuple[tuple[int, BankPhases], ...]
    """By access width in bytes a lane, for writes to LDS."""


@dataclass(frozen=True, slots=True)
class Target:
    """A machine, as far as the compiler needs to know it.

    Units: ``wave_size`` lanes; ``max_workgroup_threads`` threads.
    """

    name: str
    wave_size: int
    max_workgroup_threads: int
    memory: MemorySpec
    matrix_instructions: tuple[MatrixInstruction, ...]
    summary: str = ""

    def matrix_instruction(
        self, name: str, at: Location | None = None
    ) -> MatrixInstruction:
        """The instruction called ``name``.

        Raises:
            UserError: WV0702 if the target has no such instruction.
        """
        for row in self.matrix_instructions:
            if row.name == name:
                return row
        names = ", ".join(row.name for row in self.matrix_instructions) or "none"
        raise user_error(
            "WV0702",
            f"target `{self.name}` has no matrix instruction `{name}`",
            at=at,
            label="asks for it",
            help=(f"`{self.name}` has: {names}",),
        )
