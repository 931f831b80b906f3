"""Reductions become vector ops, shuffles, and an exchange between waves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from wave_core.builtin.legalize.late_sums import late_sum
from wave_core.builtin.legalize.slots import Slots
from wave_core.constraints.machine import LANE
from wave_core.ir import PLACEMENT, Placement, erase, insert_before, replace_uses
from wave_core.ops.arithmetic import Add, Maximum, Minimum
from wave_core.ops.compare import Cast
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.shape import Assemble
from wave_core.ops.structure import GetResult
from wave_core.passes import Pass
from wave_core.symbols import Layout, constant
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.builtin.legalize.late_sums import LateSum
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Digit, Expr

    _Column = list[tuple[Op, int]]
    """For each register of the result a register of a value that counts into it."""

_COMBINE: dict[str, type[Op]] = {"sum": Add, "max": Maximum, "min": Minimum}

_TOGETHER = {"sum": 2, "max": 3, "min": 3}
"""Vectors that are combined at a time: machines add pairs of registers by one
instruction, and have one for the extreme of three numbers."""


FEW_WAVES = 4
"""Waves whose parts each lane reads itself: an LDS access for each wave occupies the
memory for all lanes, a shuffle for each doubling of the waves takes its latency."""


@dataclass(frozen=True)
class DecomposeReductions(Pass):
    """Lower every reduction to registers, then lanes, then waves.

    Needs expanded tiles whose nonexistent elements already hold the identity.
    First the vectors of all pieces are combined, then halves of the vector that is
    left (thirds for extremes), then lanes by a butterfly of shuffles over the lane
    digits of the reduced dimension, then through LDS the waves that share it, and
    the lanes of a wave that a shuffle does not reach. More than four waves are read by
    as many lanes, one each, which then combine them by another butterfly. The
    initial value comes last and counts once. Sums of narrow floats add up in f32.
    A sum that a loop carries along stays in parts, one for each lane, and lanes combine
    theirs behind the loop, where `late_sum` proves that nothing in it needs the whole.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = N, tile_size = `4`, workgroup_dim = 0)
            %a = argument parameter "a" : mem<N, global, f32>
            %b = argument parameter "b" : mem<global, f32>
            %x = read %a, [] : reg<N, f32>
                @access(coordinates = [$LANE % 4], registers = 1)
                @placement(layout = #layout(64x1 {N: (lane/1%4)}))
        -   %s = reduce [%x], none {kind = "sum", dim = N} : reg<f32>
        -       @placement(layout = #layout(64x1 {}))
        -   write %s, %b, [] @access(coordinates = [], registers = 1, mask = $LANE == 0)
        +   %0 = assemble [%x] {picks = [[0, 0]], shape = [N]} : reg<N, f32>
        +       @placement(layout = #layout(64x1 {}))
        +   %1 = shuffle %0 {offset = 1, width = 64} : reg<N, f32>
        +       @placement(layout = #layout(64x1 {}))
        +   %2 = add %0, %1 : reg<N, f32> @placement(layout = #layout(64x1 {}))
        +   %3 = shuffle %2 {offset = 2, width = 64} : reg<N, f32>
        +       @placement(layout = #layout(64x1 {}))
        +   %4 = add %2, %3 : reg<N, f32> @placement(layout = #layout(64x1 {}))
        +   %5 = assemble [%4] {picks = [[0, 0]], shape = []} : reg<f32>
        +       @placement(layout = #layout(64x1 {}))
        +   write %5, %b, [] @access(coordinates = [], registers = 1, mask = $LANE == 0)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Replace the reductions of ``graph``.

        Raises:
            UserError: WV0412 where waves share a dim, and may not all come along.
        """
        geometry = context.geometry(graph)
        ops = [op for op in graph.walk() if isinstance(op, Reduce)]
        found = [_Decomposition(graph, op, geometry) for op in ops]
        for each in found:
            each.run()
            context.count("reductions")
            context.count("late_sums", each.late is not None)
        return bool(found)


class _Decomposition:
    """The lowering of one reduction."""

    def __init__(self, graph: Graph, op: Reduce, geometry: Geometry) -> None:
        self._facts = graph.facts
        self._graph = graph
        self._op = op
        self._place: Op = op
        self._geometry = geometry
        self._combine = _COMBINE[op.kind]
        self._together = _TOGETHER[op.kind]
        self._dim = str(op.dim)
        self._source = self._row(op.sources[0])
        self._result = self._row(op)
        self._kind = op.register_type
        self.late = self._late()

    def run(self) -> None:
        """Insert the lowered ops before the reduction and drop it."""
        op = self._op
        wide = self._accumulator()
        values = [
            self._cast(self._like_first(v), wide, self._source) for v in op.sources
        ]
        value = self._registers(self._fewer(values, self._source))
        near, far = self._digits()
        value = self._lanes(value, () if self.late else near)
        value = self._waves(value, far)
        if op.init is not None:
            init = self._cast(op.init, wide, self._result)
            value = self._emit(self._combine(value, init), self._result)
        value = self._cast(value, self._kind.dtype.name, self._result)
        replace_uses(op, value)
        if self.late is not None:
            self._behind(self.late, near)
        erase(op)

    def _late(self) -> LateSum | None:
        """The carried value whose lanes are combined behind its loop."""
        near, far = self._digits()
        shared = self._geometry.split_among_waves(self._dim) is not None
        if far or shared or self._accumulator() != self._kind.dtype.name:
            return None
        distances = [offset for digit in near for offset in _butterfly(digit)]
        return late_sum(self._op, distances, self._facts)

    def _behind(self, late: LateSum, digits: Sequence[Digit]) -> None:
        """Combine the lanes of what the loop leaves."""
        for result in late.loop.users:
            if isinstance(result, GetResult) and result.position == late.position:
                self._place = result
                parts = GetResult(late.loop, late.position)
                whole = self._lanes(self._emit(parts, self._result), digits)
                replace_uses(result, whole)
                erase(result)

    def _row(self, op: Op) -> Placement:
        row = self._facts.get(PLACEMENT, op)
        assert row is not None, "expansion places every value"
        return row

    def _emit(self, op: Op, row: Placement) -> Op:
        op.tags |= self._place.tags
        insert_before(self._place, op)
        self._facts.put(PLACEMENT, op, row)
        return op

    def _accumulator(self) -> str:
        dtype = self._kind.dtype
        narrow = dtype.is_float and dtype.bits < DTYPES["f32"].bits
        return "f32" if narrow and self._op.kind == "sum" else dtype.name

    def _like_first(self, value: Op) -> Op:
        """A source with its dims in the order of the first one's."""
        shape = self._op.sources[0].register_type.shape
        if value.register_type.shape == shape:
            return value
        return self._renamed(value, shape, self._source)

    def _cast(self, value: Op, dtype: str, row: Placement) -> Op:
        if value.register_type.dtype.name == dtype:
            return value
        return self._emit(Cast(value, DTYPES[dtype]), row)

    def _fewer(self, values: Sequence[Op], row: Placement) -> list[Op]:
        """Combine level by level, so that rounding grows with the depth only.

        What is left is fewer than are combined at a time.
        """
        level, ways = list(values), self._together
        while len(level) >= ways:
            rows = zip(*(level[at::ways] for at in range(ways)), strict=False)
            combined = [self._combined(row, values) for values in rows]
            level = [*combined, *level[len(combined) * ways :]]
        return level

    def _combined(self, row: Placement, values: Sequence[Op]) -> Op:
        """One after the other."""
        found, *others = values
        for other in others:
            found = self._emit(self._combine(found, other), row)
        return found

    def _registers(self, values: Sequence[Op]) -> Op:
        """Combine the registers that differ in the reduced index only.

        Each step does so with vectors of neighbours, as wide as they come.
        """
        groups = register_groups(self._source, self._result)
        columns: list[_Column] = [
            [(value, group[at]) for group in groups]
            for value in values
            for at in range(len(groups[0]))
        ]
        while len(columns) > 1:
            ways = min(self._together, len(columns))
            width = len(columns) // ways
            parts = [columns[at * width : (at + 1) * width] for at in range(ways)]
            row = self._wide(width)
            found = self._combined(row, [self._vector(part, row) for part in parts])
            made = [
                [(found, at + width * r) for r in range(len(groups))]
                for at in range(width)
            ]
            columns = made + columns[ways * width :]
        return self._vector(columns, self._result)

    def _vector(self, columns: Sequence[_Column], row: Placement) -> Op:
        """The columns as registers, those of one register of the result together."""
        picked = [item for group in zip(*columns, strict=True) for item in group]
        sources = tuple(dict.fromkeys(value for value, _ in picked))
        picks = tuple((sources.index(value), register) for value, register in picked)
        shape = self._op.sources[0].register_type.shape
        return self._emit(Assemble(sources, picks, shape), row)

    def _wide(self, width: int) -> Placement:
        """Of a vector with ``width`` registers for each of the result."""
        layout = self._result.layout
        count = width * layout.registers
        return Placement(Layout.make(layout.lanes, count, {}))

    def _digits(self) -> tuple[list[Digit], list[Digit]]:
        """The lane digits of the dimension: those that shuffles reach, and others."""
        reach = self._geometry.in_reach
        digits = [
            part
            for digit in self._source.layout.lane_digits(self._dim)
            for part in digit.cut(reach)
        ]
        near = [digit for digit in digits if digit.div < reach]
        return near, [digit for digit in digits if digit.div >= reach]

    def _lanes(self, value: Op, digits: Sequence[Digit]) -> Op:
        """A butterfly over each of some lane digits of the reduced dimension."""
        width = self._geometry.in_reach
        for offset in _mirrored([o for digit in digits for o in _butterfly(digit)]):
            other = self._emit(Shuffle(value, offset, width, "xor"), self._result)
            value = self._emit(self._combine(value, other), self._result)
        return self._renamed(value, self._kind.shape, self._result)

    def _renamed(self, value: Op, shape: tuple[Expr, ...], row: Placement) -> Op:
        """The same registers under other dimensions."""
        picks = tuple((0, r) for r in range(row.layout.registers))
        return self._emit(Assemble((value,), picks, shape), row)

    def _waves(self, value: Op, far: Sequence[Digit]) -> Op:
        """Combine through LDS what waves, and lanes far apart, have of the dim."""
        axis = self._geometry.split_among_waves(self._dim)
        if axis is None and not far:
            return value
        slots = Slots(self._graph, self._geometry, self._op, value)
        readers = () if axis is None or far else self._readers(axis)
        if axis is not None and readers:
            return self._lanes(slots.read({axis: _value(readers)}, LANE), readers)
        waves = range(1 if axis is None else self._geometry.waves[axis])
        parts = [
            slots.read({} if axis is None else {axis: constant(wave)}, lane)
            for wave, *places in product(waves, *(range(d.mod) for d in far))
            for lane in [_lane_at(far, places)]
        ]
        return self._combined(self._result, self._fewer(parts, self._result))

    def _readers(self, axis: int) -> list[Digit]:
        """Lane digits that count the waves of an axis; none where each lane reads all.

        Lanes that differ in a digit of the reduced dim hold the same, so that each of
        them may read another wave's.
        """
        waves = self._geometry.waves[axis]
        if waves <= FEW_WAVES or waves & (waves - 1):
            return []
        near, _ = self._digits()
        found: list[Digit] = []
        for digit in near:
            first, *_ = digit.cut(digit.div * waves)
            found.append(first)
            waves //= first.mod
            if waves == 1:
                return found
        return []


def _value(digits: Sequence[Digit]) -> Expr:
    """The number that some digits of the own lane's make, the first one lowest."""
    number, weight = constant(0), 1
    for digit in digits:
        number = number + LANE // digit.div % digit.mod * weight
        weight *= digit.mod
    return number


def _lane_at(digits: Sequence[Digit], places: Sequence[int]) -> Expr:
    """The own lane, but with other values of some digits of its number."""
    lane = LANE
    for digit, place in zip(digits, places, strict=True):
        lane = lane + (place - LANE // digit.div % digit.mod) * digit.div
    return lane


def _butterfly(digit: Digit) -> list[int]:
    """The lane distances that visit all values of a digit (a power of two)."""
    distances: list[int] = []
    distance = 1
    while distance < digit.mod:
        distances.append(distance * digit.div)
        distance *= 2
    return distances


def _mirrored(distances: Sequence[int]) -> list[int]:
    """Distances that combine the same lanes, by moves that machines have.

    Lanes of a quad that hold the same already may each have any lane of the next quad
    as partner: the one that lies as far from the middle of all eight. Some machines
    mirror eight lanes at once, where an exchange of quads takes two moves.
    """
    quad, found = {1, 2}, list[int]()
    for distance in distances:
        found.append(7 if distance == 4 and quad <= {*found} else distance)
    return found


def register_groups(source: Placement, result: Placement) -> list[list[int]]:
    """For each register of the result the registers of the source it combines."""
    have, want = source.layout, result.layout

    def key(layout: Layout, register: int) -> tuple[int, ...]:
        return tuple(layout.offset(dim, 0, register) for dim in want.dims)

    groups: dict[tuple[int, ...], list[int]] = {}
    for register in range(have.registers):
        groups.setdefault(key(have, register), []).append(register)
    return [groups[key(want, register)] for register in range(want.registers)]
