"""The cycles that a kernel takes in one configuration, estimated within milliseconds.

A compute unit runs as many workgroups at once as registers, LDS and waves allow. Each
needs the matrix units, the vector units, LDS and the path to memory for some time; how
long they wait for each other follows from a model of queues.

Units: cycles of one SIMD, bytes, registers of 32 bits a lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from wave_passes_scheduling.auto.ways import LONG
from wave_passes_scheduling.auto.work import WIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.targets import RegisterFile, Target
    from wave_passes_scheduling.auto.ways import Way
    from wave_passes_scheduling.auto.work import Work

OTHERS = 1.1
"""Vector instructions by those that are counted: addresses and moves come on top."""

SHORT = 1.3
"""Registers for each result between two products: itself, and in part what is computed
of it."""

SPARE = 17
"""Registers for addresses and whatever else the code needs."""

UNDER_WAY = 40
"""Registers beside, where products go on that multiply what others made: operands stay
until they are done, and compilers hold what describes tiles in LDS. Counted for `LONG`
loops, where it decides; the shares of ways are fitted without."""

TURNING = 3
"""Registers for each of an operand that is turned: as it was, on the way, and after."""

SCATTERED = 4.0
"""How much more of the path to memory a matrix operand takes that is not staged: lanes
read short pieces of many rows, unless memory has them in the order of lanes."""

PACKED = 0.75
"""The share that begins between products of another wave of instructions that turn
tiles on their way to LDS; of products with one and with two such tiles on gfx942."""

AT_ONCE = 4
"""Sums of other workgroups that are fetched without waiting in between."""

BUNCHED = 0.12
"""The share that is waited for of fetches that take longer than products: those of all
iterations of a trip are issued together."""


SHARE = 2.0
"""What a compute unit takes from memory, at most, by the even share of all of them:
about half of them take all that there is."""


@dataclass(frozen=True)
class Need:
    """The resources of a workgroup.

    Attributes:
        registers: Of each lane.
        lds: Bytes.
        resident: Workgroups that a compute unit runs at once; 0 where none fits.
    """

    registers: int
    lds: float
    resident: int


def need_of(work: Work, way: Way, target: Target) -> Need:
    """The resources that a workgroup takes."""
    assert target.registers is not None, "who asks has looked"
    fetched = work.lds / (work.lanes * work.waves) / 4
    live = way.late if target.transposed_read_bits else way.live
    registers = work.carried + SHORT * work.between + live * work.fragments
    registers += way.ahead * fetched + way.turned * work.turned
    # What goes through no LDS is on its way in the registers of who works on it.
    registers += max(0.0, way.ahead - live) * work.unstaged
    registers += TURNING * work.turning
    if work.chained and work.in_place and is_long(work):
        registers += UNDER_WAY
    if not work.chained:
        # What is turned on its way is there twice, beside the operands of products;
        # most registers are taken elsewhere where products make what others take.
        registers += work.packed / 2
    registers = round(registers + SPARE)
    if target.registers.conditions:
        registers += _conditions(work, way)
    lds = work.lds * way.copies + work.kept
    # A schedule that overlaps iterations has two copies of what is kept aside.
    lds += work.aside * work.waves * min(2, way.copies)
    resident = _resident(work.units, registers, lds, target, target.registers)
    return Need(registers, lds, resident)


def is_long(work: Work) -> bool:
    """Whether the products of a loop take so long that some can run beside the rest."""
    return work.matrix * work.trips >= LONG


def _conditions(work: Work, way: Way) -> int:
    """Registers for the conditions of what a lane brings to LDS; boxes have none."""
    lanes = work.lanes * work.waves
    brought = [each for each in work.staged if not (way.boxes and each.boxed)]
    pieces = [(ceil(each.of_group / lanes / WIDE), each.masked) for each in brought]
    return sum(count * masked for count, masked in pieces)


def _resident(
    waves: int, registers: int, lds: float, target: Target, file: RegisterFile
) -> int:
    """Workgroups that fit on a compute unit at once."""
    taken = -(-registers // file.granule) * file.granule
    on_simd = min(file.max_waves, file.total // taken)
    if registers > file.per_wave:
        return 0
    by_waves = on_simd * file.simds // waves
    return by_waves if not lds else min(by_waves, int(target.memory.lds_bytes // lds))


def cycles_of(work: Work, way: Way, need: Need, target: Target) -> float:
    """Cycles of the whole launch."""
    assert target.peaks is not None, "who asks has looked"
    # The compute unit that has most of them is the last to end. Where one ends, the
    # next begins, so that it is as full as before.
    each = max(1, ceil(work.groups / target.peaks.compute_units))
    together = min(each, need.resident)
    busy = iteration(work, way, together, target)
    time = max(busy, streaming(work, way, together, target)) * each / together
    fill = target.costs.global_latency * (2.0 - way.memory)
    return time * work.trips + fill * ceil(each / together) + handed_on(work, target)


def streaming(work: Work, way: Way, resident: int, target: Target) -> float:
    """Cycles of one iteration of ``resident`` workgroups, if memory is what limits.

    Nothing where products take longer. A tile that is on its way takes the latency and
    two turns: at the path of its compute unit, and at the memory that all share, of
    which each byte is fetched once in the launch. So time is short where the bytes that
    are on their way fill the latency.
    """
    assert target.peaks is not None, "who asks has looked"
    assert target.registers is not None, "who asks has looked"
    peaks = target.peaks
    rate = peaks.memory_bytes_per_ns / peaks.clock_ghz
    turns = max(1, ceil(work.groups / peaks.compute_units))
    units = max(work.groups / turns, peaks.compute_units / SHARE)
    tiles = max(1, work.groups * work.trips)
    shared = work.distinct / tiles * units / rate
    if shared <= work.matrix * work.units / target.registers.simds:
        return 0.0
    path = sum(each.lines for each in work.fetched) / peaks.l2_bytes
    under_way = max(1, round(resident * way.flight))
    wait = target.costs.global_latency
    if not way.fewest:
        # Nothing is on its way while it multiplies what has come.
        wait += work.matrix + work.lds / _lds_rate(target)
    return queued((shared, path), wait, under_way) * resident / under_way


def handed_on(work: Work, target: Target) -> float:
    """Cycles in which sums of one tile come together that workgroups share.

    They are written, counted and seen, then fetched `AT_ONCE` at a time.
    """
    if work.sharers <= 1:
        return 0.0
    assert target.peaks is not None, "who asks has looked"
    tile = 4 * work.carried * work.lanes * work.waves
    steps = 3 + ceil((work.sharers - 1) / AT_ONCE)
    moved = work.sharers * tile / target.peaks.l2_bytes
    return steps * target.costs.global_latency + moved


def iteration(work: Work, way: Way, resident: int, target: Target) -> float:
    """Cycles of one iteration of ``resident`` workgroups on a compute unit."""
    assert target.registers is not None, "who asks has looked"
    on_simd = work.units / target.registers.simds
    if on_simd <= 1 or way.waves > 1:
        return _of_sets(work, way, (resident * on_simd, 1.0), target)
    # Waves of a workgroup that share a SIMD leave a barrier together and want the same
    # unit; by the next one they have drifted apart.
    together = _of_sets(work, way, (resident, on_simd), target)
    apart = _of_sets(work, way, (resident * on_simd, 1.0), target)
    return (together + apart) / 2


def _of_sets(work: Work, way: Way, sets: tuple[float, float], target: Target) -> float:
    """The cycles where so many sets of so many waves take their turns on a SIMD."""
    costs, peaks, file = target.costs, target.peaks, target.registers
    assert peaks is not None, "who asks has looked"
    assert file is not None, "who asks has looked"
    pieces = sum(e.of_wave * (1.0 if e.whole else SCATTERED) for e in work.direct)
    lines = sum(each.lines for each in work.staged)
    lds = (work.waves * work.through + work.kept + work.lds) / _lds_rate(target)
    memory = (lines + work.waves * pieces) / peaks.l2_bytes
    count, size = max(1, round(sets[0])), sets[1]
    groups = sets[0] * size * file.simds / work.units / count
    vector = OTHERS * work.vector + _placing(work, way, target)
    of_simd = size * work.matrix, size * (vector + work.issue)
    shared = groups * lds, groups * memory
    waits = way.lds * shared[0], way.memory * shared[1]
    wait = way.memory * costs.global_latency
    wait += work.exchanges * costs.exchange_latency
    if way.unroll > 1:
        wait += BUNCHED * max(0.0, count * (way.unroll * shared[1] - of_simd[0]))
    demands = (*of_simd, *waits)
    if way.beside:
        # Each wave is at two units at a time: it is two, with half of the work each,
        # and what one of them waits for the other one needs.
        time = queued([each / 2 for each in demands], wait, 2 * count)
    else:
        time = queued(demands, wait, count)
    return max(time, count * max(*of_simd, *shared), _alternating(work, way, target))


def _alternating(work: Work, way: Way, target: Target) -> float:
    """The least cycles of an iteration in which waves of a SIMD take turns.

    One accesses LDS and memory while another multiplies, then they wait for each
    other. A vector instruction of the one begins between products of the other.
    Compared with compiled loops that read or write transposed, and used for these.
    """
    if way.waves == 1 or not (work.turned or work.packed):
        return 0.0
    assert target.registers is not None, "who asks has looked"
    assert target.peaks is not None, "who asks has looked"
    turns = work.units / target.registers.simds
    lds = (work.waves * work.through + work.lds) / _lds_rate(target)
    memory = sum(each.lines for each in work.staged) / target.peaks.l2_bytes
    begun = way.behind * work.turned + PACKED * work.packed
    behind = begun * work.product * target.costs.valu_cycles
    return max(lds + memory + turns * behind, turns * work.matrix)


def _placing(work: Work, way: Way, target: Target) -> float:
    """Cycles in which a wave computes where in LDS it reads and writes."""
    moved = sum(each.of_wave for each in work.staged) + work.lds / work.waves
    accesses = moved / (WIDE * work.lanes)
    return way.placed * accesses * target.costs.valu_cycles


def queued(demands: Sequence[float], wait: float, count: int) -> float:
    """Cycles in which each of ``count`` takes its turn at every unit once.

    What comes to a unit finds there what it would find with one fewer: mean value
    analysis of a closed network of queues. Source: Reiser and Lavenberg, Mean-Value
    Analysis of Closed Multichain Queuing Networks, 1980.

    Args:
        demands: Cycles that each of them needs of each unit.
        wait: Cycles that it waits for what is no unit.
        count: How many there are.
    """
    lengths, time = [0.0] * len(demands), 0.0
    for others in range(count):
        each = [
            need * (1 + ahead) for need, ahead in zip(demands, lengths, strict=True)
        ]
        time = wait + sum(each)
        lengths = [(others + 1) * spent / time for spent in each]
    return time


def _lds_rate(target: Target) -> float:
    """Bytes of LDS in a cycle where nothing collides."""
    phases = target.memory.phases(WIDE, reads=True)
    assert target.peaks is not None, "who asks has looked"
    if phases is None:
        return target.peaks.lds_bytes
    return phases.banks * target.memory.bank_bytes
