"""A target is data: rows that passes, executors and backends read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.targets.exchange import SIXTEEN, Exchange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.diagnostics import Location
    from wave_core.symbols import Layout
    from wave_core.types import BufferLayout, DType


REGISTER, SHARED = "register", "shared"
"""Where an operand of a matrix instruction may lie: in registers, or in LDS."""


@dataclass(frozen=True, slots=True)
class MatrixInstruction:
    """One matrix instruction: ``acc[M, N] += lhs[M, K] * rhs[N, K]``.

    The layouts name their dimensions ``M``, ``N`` and ``K`` and say which element
    each lane and register of an operand holds.

    Attributes:
        name: The instruction's name (a value of ``MMAType``).
        shape: M, N and K in elements.
        operand_dtypes: The element types that lhs and rhs may have (both the same);
            rows of one name have types of their own.
        result_dtype: The element type of the accumulator.
        lhs, rhs, acc: The lane layouts.
        source: Where the layouts are documented.
        issues: Hardware instructions that it takes: each handles an equal piece of
            the registers of lhs and rhs, in order, and the same accumulator.
        scale_block: Elements of K that share one scale; 0 without scales.
        scales: Which scale each lane and register holds, over ``M`` (or ``N``) and
            ``K`` counted in blocks.
        unit: What the backend issues for it; a name between target and backend.
        cycles: Cycles that one hardware instruction occupies the matrix unit;
            ``None`` where nobody has published them.
        lhs_in, rhs_in: Where that operand may lie, `REGISTER` or `SHARED`. The layout
            of one that stays in LDS says in which registers it would be gathered.
        layouts: The orders that a buffer may have whose tiles are operands.
        columns_first: Whether a tile in LDS may have K outermost as well.
        counter: The counter of products under way; empty where a product is done
            before the next instruction sees its accumulator.
    """

    name: str
    shape: tuple[int, int, int]
    operand_dtypes: tuple[DType, ...]
    result_dtype: DType
    lhs: Layout
    rhs: Layout
    acc: Layout
    source: str
    issues: int = 1
    scale_block: int = 0
    scales: Layout | None = None
    unit: str = "mfma"
    cycles: int | None = None
    lhs_in: tuple[str, ...] = (REGISTER,)
    rhs_in: tuple[str, ...] = (REGISTER,)
    layouts: tuple[BufferLayout, ...] = ()
    columns_first: bool = False
    counter: str = ""

    @property
    def lanes(self) -> int:
        """Lanes of the wave that it takes."""
        return self.acc.lanes


@dataclass(frozen=True, slots=True)
class BankPhases:
    """Which lanes one LDS access serves at a time.

    Attributes:
        banks: Number of banks.
        phases: Lanes that access together; conflicts arise only within a phase. They
            are those of one access: a wave with more lanes makes several.
    """

    banks: int
    phases: tuple[tuple[int, ...], ...]

    @property
    def lanes(self) -> int:
        """Lanes that one access serves."""
        return sum(map(len, self.phases))


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
    sector_bytes: int = 0
    """Bytes of global memory of which a store should fill all; 0 where it is no
    matter."""

    def phases(self, width: int, *, reads: bool) -> BankPhases | None:
        """The phases of an access of LDS of ``width`` bytes a lane."""
        table = self.read_phases if reads else self.write_phases
        fitting = [row for row in table if row[0] >= width] or table[-1:]
        return min(fitting, key=lambda row: row[0])[1] if fitting else None


class BarrierKind(StrEnum):
    """How the waves of a workgroup meet."""

    WHOLE = "whole"
    """One instruction arrives and waits."""
    SPLIT = "split"
    """A wave signals, goes on, and waits later."""


class BufferBounds(StrEnum):
    """How buffer instructions treat what lies out of bounds."""

    NONE = "none"
    """There are no buffer instructions."""
    RAW = "raw"
    """An access at or beyond ``num_records`` bytes reads 0 and writes nothing."""


class Float8(StrEnum):
    """Which 8-bit floats the matrix unit takes."""

    NONE = "none"
    FNUZ = "fnuz"
    """``f8e4m3fnuz`` and ``f8e5m2fnuz``."""
    OCP = "ocp"
    """``f8e4m3fn`` and ``f8e5m2``."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter of memory operations under way, which a wave can wait for.

    Attributes:
        name: As in ``memory_counter_wait``: load, store, ds, exp.
        counts: What it counts.
        in_order: Whether operations finish in the order of their issue.
        limit: The greatest number that a wait can name.
    """

    name: str
    counts: tuple[str, ...]
    in_order: bool
    limit: int


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """The vector registers of one SIMD.

    Attributes:
        total: Registers that the waves of a SIMD share, of 32 bits a lane.
        per_wave: The most that one wave can have.
        granule: They are given out in multiples of this.
        max_waves: The most waves of a SIMD, whatever they use.
        simds: SIMDs of a compute unit.
        conditions: Whether what lanes remember of a comparison takes a register of
            each, too; not where masks of a wave have registers of their own.
        scalars: Registers of a wave, of 32 bits, where such masks are; 0 where there
            are none.
    """

    total: int
    per_wave: int
    granule: int
    max_waves: int
    simds: int
    conditions: bool = False
    scalars: int = 0

    def limit(self, waves: int) -> int:
        """The most registers of a lane with which a workgroup of ``waves`` can run."""
        on_simd = -(-waves // self.simds)
        return min(self.per_wave, self._share(on_simd))

    def shared_by(self, on_simd: int) -> RegisterFile:
        """The file, of which a wave has no more than lets as many run on a SIMD."""
        return replace(self, per_wave=min(self.per_wave, self._share(on_simd)))

    def _share(self, on_simd: int) -> int:
        return self.total // on_simd // self.granule * self.granule


@dataclass(frozen=True, slots=True)
class CostTable:
    """Costs that a scheduler reckons with. Units: cycles of one SIMD.

    An occupancy is the share of one SIMD: a unit that four SIMDs use in turn is
    taken four times as long as it works. The defaults are those of CDNA3 where
    published, and otherwise assumed: 64 lanes on 16 ALUs; 128 bytes of LDS and 64
    bytes of L2 a cycle and compute unit (CDNA3 white paper); latencies of LDS and
    memory are assumed.

    Attributes:
        valu_cycles: A vector instruction, from issue to its result.
        curved_cycles: One that computes exp, log, a reciprocal or a root.
        narrow_cycles: Vector instructions that narrow an f32 of each lane to 16 bits.
        exchange_latency: From a value of one lane to its use in another.
        lds_latency: From the issue of an LDS access to its result.
        lds_issue: How long a 128-bit access of LDS holds it.
        global_latency: From the issue of a global read to its result.
        global_issue: How long a 128-bit access holds the path to L2.
        mma_forward: From the last pass of a matrix instruction to its result.
        mma_cycles: Passes of a matrix instruction whose row has none.
        mma_beside: Whether matrix instructions run beside those of other waves, which
            begin between two of them; not where the vector unit multiplies.
    """

    valu_cycles: int = 4
    curved_cycles: int = 16
    narrow_cycles: int = 6
    exchange_latency: int = 128
    lds_latency: int = 64
    lds_issue: int = 32
    global_latency: int = 500
    global_issue: int = 64
    mma_forward: int = 16
    mma_cycles: int = 32
    mma_beside: bool = True


@dataclass(frozen=True, slots=True)
class Peaks:
    """The published limits of a chip, which no kernel exceeds.

    Units: ``clock_ghz`` cycles a nanosecond, the highest; ``memory_bytes_per_ns`` of
    the whole chip (GB/s); all others per compute unit and cycle.

    Attributes:
        compute_units: Compute units of the chip.
        clock_ghz: The clock at which the vendor gives peaks.
        memory_bytes_per_ns: Bandwidth of the memory.
        matrix: FLOPs of dense matrix instructions, by element type of the operands.
        vector: FLOPs of vector instructions on f32, a fused one counted as two.
        l2_bytes: Bytes from L2.
        lds_bytes: Bytes of LDS.
    """

    compute_units: int
    clock_ghz: float
    memory_bytes_per_ns: float
    matrix: tuple[tuple[str, int], ...]
    vector: int
    l2_bytes: int = 64
    lds_bytes: int = 128


@dataclass(frozen=True, slots=True)
class Target:
    """A machine, as far as the compiler needs to know it.

    Units: ``wave_size`` lanes; ``max_workgroup_threads`` threads. ``dies`` are handed
    workgroups in turn, and each has an L2 of its own. ``band_rows`` tiles of axis 0
    make a band in which a `DieOrder` counts tiles; 0 where one die is better off in
    the order of the hardware, and several with what is usual.
    A kernel that does not say otherwise has waves of ``wave_size`` lanes; it may ask
    for one of ``wave_sizes``, which are that one alone if left out. Of a wave
    ``lockstep_lanes`` neighbours run in step, and ``shuffle_lanes`` neighbours get at
    each other's registers; 0 means all of them.
    With ``priorities`` waves may say which of them goes first, so that halves of a
    workgroup can take turns. ``direct_to_lds_bits`` are the widths, a lane, of copies
    from global memory to LDS that go through no register. Where they are
    ``direct_by_pointer``, they take pointers and no buffers, aligned to that width, and
    fill in zeros themselves for what does not exist. ``most_box`` is the most elements
    of a box along each dimension, where boxes are copied at once; 0 where they are not.
    ``float_atomics`` are the updates
    of floats that are one instruction: ``lds`` or ``global``, ``add`` or ``extreme``
    (min and max), and the element type. ``transposed_read_bits`` are pairs: for
    elements of so many bits there is a `TransposedRead`, which gives a lane so many;
    ``exchange`` says what of it which lane gets. ``row_exchanges``, by bits of an
    element, are those of reads whose lanes fetch parts of rows and get parts of rows.
    ``lane_swaps`` are the distances at which lanes of two registers change places by
    one instruction: those whose number has the bit in the first register go to the
    second, the others of the second to the first.
    """

    name: str
    wave_size: int
    max_workgroup_threads: int
    memory: MemorySpec
    matrix_instructions: tuple[MatrixInstruction, ...]
    summary: str = ""
    barrier: BarrierKind = BarrierKind.WHOLE
    counters: tuple[Counter, ...] = ()
    buffer_bounds: BufferBounds = BufferBounds.NONE
    float8: Float8 = Float8.NONE
    priorities: bool = True
    direct_to_lds_bits: tuple[int, ...] = ()
    direct_by_pointer: bool = False
    most_box: int = 0
    transposed_read_bits: tuple[tuple[int, int], ...] = ()
    exchange: Exchange = SIXTEEN
    row_exchanges: tuple[tuple[int, Exchange], ...] = ()
    lane_swaps: tuple[int, ...] = ()
    float_atomics: tuple[tuple[str, str, str], ...] = ()
    registers: RegisterFile | None = None
    lds_granule: int = 512
    dies: int = 1
    band_rows: int = 0
    costs: CostTable = CostTable()
    peaks: Peaks | None = None
    wave_sizes: tuple[int, ...] = ()
    lockstep_lanes: int = 0
    shuffle_lanes: int = 0

    def in_step(self, lanes: int) -> int:
        """How many neighbours of a wave of so many lanes run in step."""
        return min(lanes, self.lockstep_lanes or lanes)

    def in_reach(self, lanes: int) -> int:
        """How many neighbours of a wave of so many lanes can shuffle."""
        return min(lanes, self.shuffle_lanes or lanes)

    def occupancy(
        self, registers: int, lds_bytes: int, threads: int
    ) -> tuple[int | None, str]:
        """Waves of a SIMD at a time, and what limits them: registers, lds or waves.

        Args:
            registers: Of a lane.
            lds_bytes: Of a workgroup.
            threads: Of a workgroup.
        """
        file = self.registers
        if file is None:
            return None, ""
        taken = -(-max(registers, 1) // file.granule) * file.granule
        by_registers = min(file.max_waves, file.total // taken)
        waves = max(1, threads // self.in_step(self.wave_size))
        groups = by_registers * file.simds // waves
        limit = "waves" if by_registers == file.max_waves else "registers"
        if lds_bytes:
            held = -(-lds_bytes // self.lds_granule) * self.lds_granule
            fit = self.memory.lds_bytes // held
            if fit < groups:
                groups, limit = fit, "lds"
        return min(file.max_waves, groups * waves // file.simds), limit

    def shared_by(self, on_simd: int | None) -> Target:
        """The same, where so many waves are to run on a SIMD at once; or any number."""
        if on_simd is None or on_simd < 1 or self.registers is None:
            return self  # What is no count is refused with the options.
        return replace(self, registers=self.registers.shared_by(on_simd))

    def default_mma(
        self,
        dtype: DType,
        at: Location | None = None,
        *,
        scaled: bool = False,
        rows: int | None = None,
        tile: tuple[int, int, int] | None = None,
        lanes: int | None = None,
    ) -> MatrixInstruction:
        """The matrix instruction for operands of ``dtype``: the first that fits.

        One fits whose rows and columns divide the tile of a wave; one of several
        issues has to divide all of it. Where none does, the first of one issue is
        taken, or one like it with columns that leave less of it unused.

        Args:
            dtype: The element type of both operands.
            at: The line of the product.
            scaled: Whether it takes scales.
            rows: Rows of the product; as many as the first has, if left out.
            tile: M, N and K of the tile of a wave, where it is known.
            lanes: Lanes of the wave; whatever the first takes, if left out.

        Raises:
            UserError: WV0702 if the target has none.
        """
        able = [
            row
            for row in self.matrix_instructions
            if dtype in row.operand_dtypes and bool(row.scale_block) == scaled
        ]
        found = [row for row in able if lanes in {None, row.lanes}]
        tall = [row for row in found if rows in {None, row.shape[0]}]
        if tall:
            whole = [row for row in tall if tile is None or _fits(row, tile)]
            single = [row for row in tall if row.issues == 1]
            return (*whole, *_tightest(single, tile), *tall)[0]
        if found:
            raise self._no_rows(found, dtype, rows, at)
        if able:
            raise self._no_lanes(able, dtype, lanes, at)
        kind = "scaled matrix instruction" if scaled else "matrix instruction"
        raise user_error(
            "WV0702",
            f"target `{self.name}` has no {kind} for `{dtype}` operands",
            at=at,
            label=f"this `{'scaled_mma' if scaled else 'mma'}` asks for one",
            help=_WITH_SCALES if scaled else _WITHOUT_SCALES,
            target=self.name,
            operands=str(dtype),
            scaled=scaled,
        )

    def _no_rows(
        self,
        found: Sequence[MatrixInstruction],
        dtype: DType,
        rows: int | None,
        at: Location | None,
    ) -> Exception:
        counts = ", ".join(map(str, sorted({row.shape[0] for row in found})))
        return user_error(
            "WV0702",
            f"target `{self.name}` has no matrix instruction of {rows} rows for"
            f" `{dtype}` operands",
            at=at,
            label="this `mma` asks for one",
            help=f"`mma_rows` may be: {counts}; left out, the target chooses",
            target=self.name,
            operands=str(dtype),
        )

    def _no_lanes(
        self,
        able: Sequence[MatrixInstruction],
        dtype: DType,
        lanes: int | None,
        at: Location | None,
    ) -> Exception:
        sizes = sorted({row.lanes for row in able})
        return user_error(
            "WV0702",
            f"target `{self.name}` has no matrix instruction for waves of {lanes} lanes"
            f" with `{dtype}` operands",
            at=at,
            label="this `mma` asks for one",
            help="`threads_per_wave` of the hardware constraint may be: "
            + ", ".join(map(str, sizes)),
            target=self.name,
            operands=str(dtype),
        )

    def matrix_instruction(
        self, name: str, at: Location | None = None, dtype: DType | None = None
    ) -> MatrixInstruction:
        """The instruction called ``name``: the row for ``dtype``, or else the first.

        Raises:
            UserError: WV0702 if the target has no such instruction.
        """
        rows = [row for row in self.matrix_instructions if row.name == name]
        for row in rows:
            if dtype in row.operand_dtypes:
                return row
        if rows:
            return rows[0]
        names = ", ".join(row.name for row in self.matrix_instructions) or "none"
        raise user_error(
            "WV0702",
            f"target `{self.name}` has no matrix instruction `{name}`",
            at=at,
            label="this `mma` asks for it",
            help=(f"`{self.name}` has: {names}",),
            target=self.name,
            instruction=name,
        )


def _tightest(
    rows: Sequence[MatrixInstruction], tile: tuple[int, int, int] | None
) -> Sequence[MatrixInstruction]:
    """The first, or one with as many rows and as large a K, if its columns fit better.

    Sums of columns beside the tile take registers, too.
    """
    if tile is None or not rows:
        return rows
    (m, _, k), columns = rows[0].shape, tile[1]
    like = [row for row in rows if (row.shape[0], row.shape[2]) == (m, k)]
    return [min(like, key=lambda row: -(-columns // row.shape[1]) * row.shape[1])]


_WITH_SCALES = ("compile for a target that has one; others multiply floats of 16 bits",)
_WITHOUT_SCALES = (
    "cast the operands to an element type that it has",
    "or let lanes multiply and sum: `mma(a, b, acc, mma_type=GenericDot())`",
)


def _fits(row: MatrixInstruction, tile: tuple[int, int, int]) -> bool:
    """Whether a tile is so many instructions, and no part of one."""
    m, n, k = (extent % size == 0 for extent, size in zip(tile, row.shape, strict=True))
    return m and n and (k or row.issues == 1)
