"""The work of a kernel, counted on its trace: nothing is laid out, nothing compiled.

Units: cycles of one SIMD, bytes, registers of 32 bits a lane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, gcd, log2, prod
from typing import TYPE_CHECKING

from wave_core.analysis.matrix import instruction_of, matrix_roles
from wave_core.constraints import FastMath
from wave_core.ir import region_of, resolve
from wave_core.ops.compare import Cast
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, Read
from wave_core.ops.reduce import Reduce
from wave_core.symbols import constant
from wave_core.targets import SHARED
from wave_core.types import AddressSpace, RegisterType, dim_name, iterator_symbol
from wave_passes_scheduling.loops.analysis import innermost_loops
from wave_passes_scheduling.loops.costs import FREE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.targets import MatrixInstruction, Target

WIDE = 16
"""Bytes that a lane moves at a time, and of whose multiples boxes are."""

WORD = 32
"""Bits of a register of a lane; narrower elements share it."""

UNKNOWN = 4096
"""A size that comes with the launch is reckoned with as this."""

CURVED = frozenset(
    {"exp", "exp2", "log", "log2", "log10", "reciprocal", "sqrt", "rsqrt"}
)
"""Transcendental ops, which take longer. Source: AMD CDNA3 ISA."""

PAIRED = frozenset({"add", "sub", "mul", "fma"})
"""Ops that one instruction does for two registers. Source: AMD CDNA3 ISA, V_PK_ADD_F32
and V_PK_MUL_F32; reductions are counted likewise (V_PK_ADD_F32, V_MAX3_F32)."""

CAREFUL = 1.9
"""How much longer elementwise work takes that keeps to subnormals, NaN and infinities;
of the softmax in attention, compiled for gfx942."""


@dataclass(frozen=True)
class Fetched:
    """What a loop reads anew in each iteration.

    Attributes:
        of_wave: Bytes that a wave works on.
        of_group: Bytes that the workgroup has of the memory, each counted once.
        lines: Bytes of the cache lines that hold these.
        staged: Whether it goes through LDS.
        in_place: Whether products read it where it is in LDS.
        turning: Whether products want it in another order than it comes in, and each
            wave turns its part in registers; what is read in place it keeps beside.
        piece: Bytes that rows are a multiple of, as far as sizes are known: no lane can
            move more than that at a time, wherever it begins.
        boxed: Whether its tiles are boxes of memory, as far as sizes are known.
        evenly: Whether rows of its tile have a power of two of elements: of others
            lanes bring pieces that no direct copy has.
        masked: For each piece that a lane moves, the registers for its condition where
            lanes keep such: one, and two where it changes with the iteration.
        turned: Transposed reads of a wave: rows of LDS are not those of the operand,
            and each read has an address of its own.
        packed: Vector instructions and writes to LDS of a wave that turn it on its way
            there: registers are put together anew, and written one by one.
        repeated: How many lanes hold each of its elements.
        whole: Whether it is blocks of bytes that are made to be read as they are.
    """

    of_wave: float
    of_group: float
    lines: float
    staged: bool
    in_place: bool = False
    turning: bool = False
    piece: int = 0
    boxed: bool = False
    evenly: bool = True
    masked: int = 0
    turned: float = 0.0
    packed: float = 0.0
    repeated: float = 1.0
    whole: bool = False


@dataclass(frozen=True)
class Work:
    """One iteration of the loop that counts, for one wave.

    Attributes:
        matrix: Cycles that its products take.
        issue: Cycles in which products begin, and nothing elementwise can.
        vector: Cycles that everything elementwise takes.
        exchanges: How often lanes exchange values, one after the other.
        fetched: The memories that it reads.
        carried: Registers of values that go from iteration to iteration.
        between: Registers of values that products leave for what is no sum of theirs.
        chained: Whether products multiply what others made.
        kept: Bytes of LDS of what products read there in every iteration.
        compared: Registers that hold the conditions of an iteration, one for a wave.
        lanes: Lanes of a wave.
        in_step: How many neighbours of them run in step.
        waves: Waves of a workgroup.
        groups: Workgroups of the launch.
        trips: Iterations.
        sharers: Workgroups that each sum a part of one tile of the result.
        distinct: Bytes of memory that the launch reads, each counted once.
    """

    matrix: float
    issue: float
    vector: float
    exchanges: int
    fetched: tuple[Fetched, ...]
    carried: float
    between: float
    chained: bool
    compared: float
    kept: float
    lanes: int
    in_step: int
    waves: int
    groups: float
    trips: float
    sharers: float = 1.0
    distinct: float = 0.0

    @property
    def units(self) -> int:
        """Groups of lanes of a workgroup that run in step, which SIMDs share."""
        return self.waves * self.lanes // self.in_step

    @property
    def fragments(self) -> float:
        """Registers of what a wave reads in an iteration."""
        plain = (e for e in self.fetched if not e.in_place and not e.turning)
        return self._held(plain)

    @property
    def aside(self) -> float:
        """Bytes of LDS that a wave keeps in another order beside the tiles of all."""
        return sum(e.of_wave for e in self.fetched if e.turning and e.in_place)

    @property
    def through(self) -> float:
        """Bytes that a wave moves between LDS and its registers or products.

        What lies in another order is read, written, and read again.
        """
        beside = 2 * self.aside
        return beside + sum(each.of_wave for each in self.staged)

    @property
    def turning(self) -> float:
        """Registers of what a wave turns."""
        return self._held(each for each in self.fetched if each.turning)

    @property
    def unstaged(self) -> float:
        """Registers of what each wave reads from memory for itself, among these."""
        return self._held(self.direct)

    def _held(self, read: Iterable[Fetched]) -> float:
        return sum(each.of_wave * each.repeated for each in read) / 4 / self.lanes

    @property
    def turned(self) -> float:
        """Transposed reads of a wave."""
        return sum(each.turned for each in self.staged)

    @property
    def packed(self) -> float:
        """Instructions of a wave that turn tiles on their way to LDS."""
        return sum(each.packed for each in self.staged)

    @property
    def product(self) -> float:
        """Matrix cycles for each cycle in which a product begins."""
        return self.matrix / self.issue

    @property
    def in_place(self) -> bool:
        """Whether products read an operand where it is in LDS."""
        return any(each.in_place for each in self.fetched)

    @property
    def staged(self) -> tuple[Fetched, ...]:
        """What goes through LDS."""
        return tuple(each for each in self.fetched if each.staged)

    @property
    def direct(self) -> tuple[Fetched, ...]:
        """What each wave reads from memory for itself."""
        return tuple(each for each in self.fetched if not each.staged)

    @property
    def lds(self) -> float:
        """Bytes of LDS that one copy of each staged tile takes."""
        return sum(each.of_group for each in self.staged)


def multiplies(graph: Graph) -> bool:
    """Whether a loop of the trace has a matrix product."""
    loops = innermost_loops(graph)
    return any(isinstance(op, Mma) for loop in loops for op in loop.body.ops)


def work_of(
    graph: Graph, geometry: Geometry, target: Target, *, fast_math: bool | None = None
) -> Work | None:
    """The work of the loop that multiplies most; nothing where no loop does.

    Args:
        graph: The trace, with constraints.
        geometry: How it spreads over the machine.
        target: The machine.
        fast_math: Whether it is asked for; the kernel's choice if left out.

    Raises:
        UserError: where an instruction does not fit the operands, or a tile an axis.
    """
    counted = [_Counting(loop, geometry, target) for loop in innermost_loops(graph)]
    found = [each.work() for each in counted]
    most = max(found, key=lambda each: each.matrix * each.trips, default=None)
    if fast_math is None:
        fast_math = any(isinstance(row, FastMath) for row in graph.constraints)
    if most is None or fast_math:
        return most
    return replace(most, vector=CAREFUL * most.vector)


class _Counting:
    """One loop with what is asked about it."""

    def __init__(self, loop: Iterate, geometry: Geometry, target: Target) -> None:
        self.loop, self.geometry, self.target = loop, geometry, target
        around = (op for op in region_of(loop).around if isinstance(op, Iterate))
        # Sizes of tiles do not depend on which iteration it is.
        self.loops = {dim_name(op.axis): constant(0) for op in (loop, *around)}
        self.tiles: dict[str, int] = {}
        self.sizes: dict[Op, float] = {}
        self.rows: dict[Op, MatrixInstruction] = {}

    def work(self) -> Work:
        """The counts."""
        ops = list(self.loop.body.ops)
        products = [op for op in ops if isinstance(op, Mma)]
        reads = [op for op in ops if isinstance(op, Read)]
        moving = [op for op in reads if self._moves(op)]
        still = [op for op in reads if not self._moves(op)]
        kept = [op for op in still if self._kept(op, products)]
        held = [op for op in still if op not in kept]
        settled = self._settled(ops)
        counts = [self._instructions(op) for op in products]
        groups = prod(map(_size, self.geometry.grid))
        trips = prod(_size(self.geometry.trip_count(axis)) for axis in self.loops)
        fetched = tuple(self._fetched(op, products) for op in moving)
        return Work(
            matrix=sum(count * cycles for count, cycles in counts),
            issue=self.target.costs.valu_cycles * sum(count for count, _ in counts),
            vector=sum(self._vector_cycles(op) for op in ops if op not in settled),
            exchanges=sum(self._exchanges(op, products) for op in ops),
            fetched=fetched,
            carried=sum(map(self._registers, (*self.loop.inits, *held))),
            between=sum(self._registers(op) for op in products if self._leaves(op)),
            chained=_chained(ops),
            compared=max(map(self._conditions, ops), default=0.0),
            kept=sum(self._fetched(op, products).of_group for op in kept),
            lanes=self.geometry.lanes,
            in_step=self.geometry.in_step,
            waves=self.geometry.waves_per_workgroup,
            groups=groups,
            trips=trips,
            sharers=prod(map(self._sharers, self.loops)),
            distinct=sum(
                min(self._bytes(op), each.of_group * groups * trips)
                for op, each in zip(moving, fetched, strict=True)
            ),
        )

    def _leaves(self, product: Mma) -> bool:
        """Whether something takes its result as it is, before the iteration ends.

        What the next iteration, or another product, goes on adding to is in the
        registers of what is carried.
        """
        end = self.loop.body.terminator
        return end not in product.users and not all(
            isinstance(user, Mma) and product not in (user.lhs, user.rhs)
            for user in product.users
        )

    def _bytes(self, op: Read) -> float:
        """Bytes of the memory that is read."""
        stored = op.memory.memory_type
        extents = map(self.geometry.bind, stored.storage_shape)
        return prod(map(_size, extents)) * stored.dtype.bits / 8

    def _sharers(self, axis: str) -> int:
        """Workgroups that divide the iterations over ``axis`` among themselves."""
        own = _size(self.geometry.trip_count(axis)) * self._tile(axis)
        return max(1, -(-_size(self.geometry.extent(axis)) // own)) if own else 1

    def _moves(self, read: Read) -> bool:
        """Whether each iteration of the loop reads something else."""
        axis = dim_name(self.loop.axis)
        dims = {*read.memory.memory_type.dims, *read.register_type.dims}
        return any(self.geometry.loop_axis(dim) == axis for dim in dims)

    def _settled(self, ops: Sequence[Op]) -> set[Op]:
        """What is computed of constants and indices.

        It is the same in each iteration, or proved away where tiles divide the sizes.
        """
        found: set[Op] = set()
        for op in ops:
            grows = isinstance(op, Mma | Read) or op.type is None
            if not grows and found.issuperset(op.operands):
                found.add(op)
        return found

    def _row(self, op: Mma) -> MatrixInstruction:
        if op not in self.rows:
            self.rows[op] = instruction_of(op, self.geometry, self.target)
        return self.rows[op]

    def _instructions(self, op: Mma) -> tuple[int, float]:
        """Matrix instructions of a wave, and the cycles of each."""
        row = self._row(op)
        roles = matrix_roles(op)
        sizes = dict(zip((roles.m, roles.n, roles.k), row.shape, strict=True))
        dims = {*op.lhs.register_type.dims, *op.rhs.register_type.dims}
        tiles = prod(-(-self._tile(dim) // sizes.get(dim, 1)) for dim in dims)
        return tiles * row.issues, self._cycles(op, row)

    def _cycles(self, op: Mma, row: MatrixInstruction) -> float:
        """Cycles of an instruction: published, or by the peak of the chip."""
        peaks, file = self.target.peaks, self.target.registers
        if row.cycles is not None or peaks is None or file is None:
            return row.cycles or self.target.costs.mma_cycles
        rate = dict(peaks.matrix).get(str(op.lhs.register_type.dtype))
        flops = 2 * prod(row.shape) / row.issues
        return flops * file.simds / rate if rate else self.target.costs.mma_cycles

    def _vector_cycles(self, op: Op) -> float:
        if isinstance(op, Mma | Read) or op.op_name in FREE or op.type is None:
            return 0.0
        elements = max(map(self._elements, (op, *op.operands)), default=0.0)
        # Lanes compute what they share each for itself.
        registers = max(1.0, elements / self.geometry.lanes)
        return self._cycles_of(op) * registers

    def _exchanges(self, op: Op, products: Sequence[Mma]) -> int:
        """Steps in which lanes that share a result of a reduction combine theirs."""
        if not isinstance(op, Reduce):
            return 0
        apart = [self._elements(op)]
        for product in products:
            roles = matrix_roles(product)
            row = self._row(product)
            across = {str(roles.m): row.shape[1], str(roles.n): row.shape[0]}
            if set(product.register_type.dims) >= {str(op.dim), *op.register_type.dims}:
                apart.append(across.get(str(op.dim), apart[0]))
        return max(0, ceil(log2(self.geometry.lanes / max(1.0, min(apart)))))

    def _cycles_of(self, op: Op) -> float:
        """Cycles of an op for each register of its operands."""
        costs = self.target.costs
        if op.op_name in CURVED:
            return costs.curved_cycles
        if isinstance(op, Cast) and op.register_type.dtype.bits < 32:
            return costs.narrow_cycles
        paired = op.op_name in PAIRED or isinstance(op, Reduce)
        return costs.valu_cycles * (0.5 if paired else 1)

    def _fetched(self, op: Read, products: Sequence[Mma]) -> Fetched:
        dims = op.register_type.dims
        split = (self.geometry.split_among_waves(dim) for dim in dims)
        sharing = prod(self.geometry.waves[axis] for axis in split if axis is not None)
        of_wave = self._elements(op) * op.register_type.dtype.bits / 8
        in_place = any(self._stays(op, product) for product in products)
        repeated = max((self._repeated(op, each) for each in products), default=1.0)
        if isinstance(resolve(op.memory), Allocate):
            return Fetched(
                of_wave, 0.0, 0.0, staged=True, in_place=in_place, repeated=repeated
            )
        of_group = of_wave * sharing
        lines = of_group * self._unused(op, products)
        staged = op.memory.memory_type.space is AddressSpace.SHARED
        return Fetched(
            of_wave,
            of_group,
            lines,
            staged,
            in_place,
            any(self._turning(op, product) for product in products),
            self._piece(op),
            op.mapping is None and self._piece(op) % WIDE == 0,
            self._evenly(op),
            self._masked(op),
            self._turned(op, products, of_wave) if staged else 0.0,
            self._packed(op, products, of_group) if staged else 0.0,
            repeated,
            _in_blocks(op),
        )

    def _repeated(self, op: Read, product: Mma) -> float:
        """Lanes that hold each element of an operand: two in RDNA3's layout."""
        if op is not product.lhs and op is not product.rhs:
            return 1.0
        row = self._row(product)
        m, n, k = row.shape
        layout, rows = (row.lhs, m) if op is product.lhs else (row.rhs, n)
        return layout.lanes * layout.registers / (rows * k)

    def _turned(self, op: Read, products: Sequence[Mma], of_wave: float) -> float:
        """Transposed reads of an operand whose rows are not along what is summed."""
        bits = dict(self.target.transposed_read_bits).get(self._bits(op))
        if bits is None or not self._across(op, products):
            return 0.0
        return of_wave * 8 / bits / self.geometry.lanes

    def _packed(self, op: Read, products: Sequence[Mma], of_group: float) -> float:
        """Instructions that turn such an operand where reads of LDS turn none.

        Compared with compiled loops of machines whose products have a unit of their
        own, and counted for these alone.
        """
        other = self.target.transposed_read_bits or not self.target.costs.mma_beside
        if other or self._bits(op) >= WORD or not self._across(op, products):
            return 0.0
        return 2 * of_group * 8 / WORD / self.geometry.threads

    def _bits(self, op: Read) -> int:
        return op.memory.memory_type.dtype.bits

    def _across(self, op: Read, products: Sequence[Mma]) -> bool:
        """Whether products take it, and its rows are not along what they sum."""
        summed = {str(matrix_roles(each).k) for each in products if op in each.operands}
        return bool(summed) and _along(op) not in (None, *summed)

    def _kept(self, op: Read, products: Sequence[Mma]) -> bool:
        """Whether it is read where LDS has it, once and for all iterations."""
        staged = op.memory.memory_type.space is AddressSpace.SHARED
        return staged and any(self._stays(op, product) for product in products)

    def _stays(self, read: Read, product: Mma) -> bool:
        """Whether a product takes an operand where LDS has it."""
        row = self._row(product)
        ends = (product.lhs, row.lhs_in), (product.rhs, row.rhs_in)
        return any(operand is read and SHARED in place for operand, place in ends)

    def _turning(self, read: Read, product: Mma) -> bool:
        """Whether what is summed is not along its rows, and would have to be.

        Elements that share a register are then put together one by one, unless a read
        of LDS or the instruction turns them.
        """
        stored, turned = read.memory.memory_type, self.target.transposed_read_bits
        if read not in product.operands or not turned or stored.dtype.bits >= 32:
            return False
        row = self._row(product)
        if stored.dims[-1] == str(matrix_roles(product).k):
            return False
        if self._stays(read, product):
            return not row.columns_first
        return stored.dtype.bits not in dict(turned)

    def _piece(self, op: Read) -> int:
        """Bytes that divide all rows of a memory."""
        stored = op.memory.memory_type
        inner = self.geometry.bind(stored.storage_shape[-1])
        elements = inner.constant_value if inner.is_constant else 1
        return elements * stored.dtype.bits // 8

    def _masked(self, op: Read) -> int:
        """Registers for a condition: none where tiles divide all sizes."""
        dims = op.register_type.dims
        uneven = [dim for dim in dims if not self._divides(dim)]
        axis = dim_name(self.loop.axis)
        return bool(uneven) + any(self.geometry.loop_axis(d) == axis for d in uneven)

    def _divides(self, dim: str) -> bool:
        extent = self.geometry.extent(dim)
        return extent.is_constant and extent.constant_value % self._group(dim) == 0

    def _group(self, dim: str) -> int:
        """Elements of a workgroup's tile."""
        axis = self.geometry.split_among_waves(dim)
        waves = 1 if axis is None else self.geometry.waves[axis]
        return max(1, self._tile(dim) * waves)

    def _unused(self, op: Read, products: Sequence[Mma]) -> float:
        """How much larger cache lines are than what is read of each, at least 1.

        What is read together of a row touches a line more where it does not begin with
        one: on an H100 a product of 4104, whose rows begin at any multiple of 16 bytes,
        takes 1.23 times as long as one of 4104x4104x4096 in tiles of 192x192x64.
        """
        stored = op.memory.memory_type
        inner = stored.dims[-1] if stored.dims else ""
        if inner not in op.register_type.dims:
            return 1.0
        line = self.target.memory.cache_line_bytes
        run = self._tile(inner) * stored.dtype.bits // 8
        panels = [panel for each in products if (panel := self._panel(op, each))]
        run = max(1, min(run, *panels)) if panels else max(1, run)
        step = gcd(run, line, self._pitch(op))
        return (run + line - step) / run

    def _evenly(self, op: Read) -> bool:
        row = self._group(op.memory.memory_type.dims[-1])
        return row & (row - 1) == 0

    def _panel(self, op: Read, product: Mma) -> int:
        """Bytes of a row that are copied together for a product; 0 where all are."""
        row = self._row(product)
        stays = self._stays(op, product)
        return max((each.panel for each in row.layouts), default=0) if stays else 0

    def _pitch(self, op: Read) -> int:
        """Bytes from row to row of a memory."""
        stored = op.memory.memory_type
        inner = self.geometry.bind(stored.storage_shape[-1])
        return _size(inner) * stored.dtype.bits // 8

    def _registers(self, op: Op) -> float:
        if not isinstance(op.type, RegisterType):
            return 0.0
        return self._elements(op) * op.type.dtype.bits / 32 / self.geometry.lanes

    def _conditions(self, op: Op) -> float:
        """Registers of what a comparison finds: a bit for each lane."""
        held = isinstance(op.type, RegisterType) and op.type.dtype.is_bool
        return self._elements(op) / 32 if held else 0.0

    def _elements(self, op: Op) -> float:
        """Elements of a value that a wave holds."""
        if op not in self.sizes:
            held = isinstance(op.type, RegisterType)
            dims = op.register_type.dims if held else ()
            self.sizes[op] = prod(map(self._tile, dims)) if held else 0.0
        return self.sizes[op]

    def _tile(self, dim: str) -> int:
        if dim not in self.tiles:
            self.tiles[dim] = _size(self.geometry.tile(dim, self.loops))
        return self.tiles[dim]


def _chained(ops: Sequence[Op]) -> bool:
    """Whether a product has a factor that comes of another one.

    Products that only add to the sums of others are independent of each other.
    """
    made: set[Op] = set()
    for op in ops:
        if isinstance(op, Mma) and not made.isdisjoint((op.lhs, op.rhs)):
            return True
        if isinstance(op, Mma) or not made.isdisjoint(op.operands):
            made.add(op)
    return False


def _size(expr: Expr) -> int:
    """A size; what comes with the launch is taken for large."""
    found = expr.subs(dict.fromkeys(expr.free_symbols, UNKNOWN))
    return found.constant_value if found.is_constant else UNKNOWN


def _along(op: Read) -> str | None:
    """The dimension that walks along the rows of memory; nothing where several do."""
    if op.mapping is None:
        return op.memory.memory_type.dims[-1]
    places = {iterator_symbol(n): d for n, d in enumerate(op.mapping.register_dims)}
    return places.get(op.mapping.coordinates[-1])


def _in_blocks(op: Read) -> bool:
    """Whether memory is blocks of so many elements, which a mapping takes apart.

    Whoever declares a number where others have a dimension has stored the elements in
    the order in which they are wanted.
    """
    return op.mapping is not None and op.memory.memory_type.shape[-1].is_constant
