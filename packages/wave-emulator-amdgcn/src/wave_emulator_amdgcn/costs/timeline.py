"""Replays the path of one workgroup for all that fit on a compute unit.

Waves issue in order, at most one instruction in an issue slot. An instruction starts
when its wave is ready, its unit is free (or has little to do, where units queue) and
results of matrix instructions that it needs are there; waits look at the times when
operations in flight end; barriers wait for the workgroup. A matrix instruction takes an
issue slot of the vector unit and then keeps the matrix unit busy. Waves are served
oldest first.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.costs.meter import LINE_BYTES, Sample
from wave_emulator_amdgcn.costs.rates import matrix_cycles
from wave_emulator_amdgcn.hazards.counters import waits_of
from wave_isa_amdgcn.registers import rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.program import Bound
    from wave_isa_amdgcn.costs import Cost

_SLOW = ("V_MUL_LO_", "V_MUL_HI_", "V_MAD_U64", "V_MAD_I64")
_CURVED = ("V_EXP", "V_LOG", "V_RCP", "V_RSQ", "V_SQRT", "V_SIN", "V_COS")


@dataclass
class Event:
    """One instruction of one wave: when it started and why not earlier."""

    wave: int
    simd: int
    start: float
    end: float
    pc: int
    unit: str
    stall: float
    reason: str


@dataclass(frozen=True)
class Price:
    """Units and cycles that an instruction needs.

    Attributes:
        needs: units with the cycles of work that may still be before it.
        work: units with the cycles that it keeps them busy, one after the other.
        latency: cycles from the last unit's work to the result.
        landing: cycles that LDS takes for what a copy brings, once it arrives.
    """

    needs: tuple[tuple[str, int], ...]
    work: tuple[tuple[str, float], ...]
    latency: int
    landing: float = 0.0


@dataclass
class _Wave:
    number: int
    group: int
    simd: int
    path: list[Bound]
    at: int = 0
    ready: float = 0.0
    flights: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    results: dict[int, float] = field(default_factory=dict[int, float])


class Timeline:
    """The replay.

    Attributes:
        events: in order of issue; only where asked for.
        stalls: cycles lost, by (address, reason).
        busy: cycles that units worked.
        ends: when each workgroup ended and its last operation in flight was done.
    """

    def __init__(
        self, architecture: Architecture, cost: Cost, paths: list[list[Bound]],
        samples: dict[int, Sample], *, share: float = 0.0, keep: bool = False,
    ) -> None:  # fmt: skip
        """``paths`` are those of the waves of one workgroup.

        ``share`` is the part of what L2 is asked for that comes from memory.
        """
        self.share = share
        self._prices: dict[int, Price] = {}
        self.architecture = architecture
        self.cost = cost
        self.paths = paths
        self.samples = samples
        self.keep = keep
        self.events: list[Event] = []
        self.stalls: dict[tuple[int, str], float] = defaultdict(float)
        self.busy: dict[str, float] = defaultdict(float)
        self.ends: list[float] = []
        self._free: dict[str, float] = defaultdict(float)
        self._landings: list[tuple[float, float]] = []
        self._heap: list[tuple[float, int]] = []
        self._waves: dict[int, _Wave] = {}
        self._barrier: dict[int, list[_Wave]] = defaultdict(list)
        self._alive: dict[int, int] = {}
        self._done: dict[int, float] = defaultdict(float)

    def run(self, resident: int, groups: int) -> float:
        """Run ``groups`` workgroups, ``resident`` at a time; the cycles it took."""
        self._left = groups
        self._groups = 0
        for _ in range(min(resident, groups)):
            self._start(0.0)
        while self._heap:
            _, number = heapq.heappop(self._heap)
            self._issue(self._waves[number])
        return max(self.ends, default=0.0)

    def _start(self, now: float) -> None:
        if self._groups >= self._left:
            return
        group = self._groups
        self._groups += 1
        self._alive[group] = len(self.paths)
        for k, path in enumerate(self.paths):
            number = group * len(self.paths) + k
            wave = _Wave(number, group, number % self.cost.simds, path, ready=now)
            self._waves[number] = wave
            heapq.heappush(self._heap, (now, number))

    def _land(self, now: float) -> None:
        """Let LDS take what has arrived; until then it does other work."""
        while self._landings and self._landings[0][0] <= now:
            arrival, cycles = heapq.heappop(self._landings)
            self._free["lds"] = max(self._free["lds"], arrival) + cycles

    def _issue(self, wave: _Wave) -> None:
        self._land(wave.ready)
        bound = wave.path[wave.at]
        start, reason = wave.ready, "issue"
        if bound.kind == "wait":
            done = self._waited(wave, bound.instruction)
            if done > start:
                start, reason = done, "wait"
        needed = max(
            (wave.results.get(r, 0) for r in _matrix_rows(bound, wave)), default=0
        )
        if needed > start:
            start, reason = needed, "matrix result"
        price = self._price(bound)
        for unit, slack in price.needs:
            free = self._free[self._unit(unit, wave)] - slack
            if free > start:
                start, reason = free, unit
        self._finish(wave, bound, (start, self._work(wave, price, start)), reason)

    def _work(self, wave: _Wave, price: Price, start: float) -> float:
        """Keep units busy, one after the other; when the result is there."""
        begun = start
        for unit, cycles in price.work:
            name = self._unit(unit, wave)
            at = max(self._free[name], begun)
            self._free[name] = at + cycles
            self.busy[unit] += cycles
            begun = at
        end = max((self._free[self._unit(u, wave)] for u, _ in price.work), default=0.0)
        arrival = max(start, end) + price.latency
        if price.landing:
            heapq.heappush(self._landings, (arrival, price.landing))
            self.busy["lds"] += price.landing
        return arrival + price.landing

    def _finish(
        self, wave: _Wave, bound: Bound, times: tuple[float, float], reason: str
    ) -> None:
        start, done = times
        self._done[wave.group] = max(self._done[wave.group], done)
        stall = start - wave.ready
        if stall > 0:
            self.stalls[bound.instruction.pc, reason] += stall
        if bound.usage.counter:
            wave.flights[bound.usage.counter].append(done)
        if bound.usage.unit == "mfma":
            for row in rows_of(bound.usage.writes):
                wave.results[row] = done
        following = wave.path[wave.at + 1] if wave.at + 1 < len(wave.path) else None
        wave.ready = start + step_cycles(bound, following, self.cost)
        if self.keep:
            end = done if bound.usage.unit == "mfma" else wave.ready
            self.events.append(
                Event(wave.number, wave.simd, start, end, bound.instruction.pc,
                      bound.usage.unit, stall, reason)
            )  # fmt: skip
        wave.at += 1
        self._go_on(wave, bound)

    def _go_on(self, wave: _Wave, bound: Bound) -> None:
        if wave.at >= len(wave.path) or bound.kind == "end":
            self._alive[wave.group] -= 1
            if not self._alive[wave.group]:
                self.ends.append(max(wave.ready, self._done[wave.group]))
                self._start(wave.ready)
            self._release(wave.group, wave.ready)
            return
        if bound.kind != "barrier":
            heapq.heappush(self._heap, (wave.ready, wave.number))
            return
        self._barrier[wave.group].append(wave)
        self._release(wave.group, wave.ready)

    def _release(self, group: int, now: float) -> None:
        """Let waves go on when the last one that they wait for came, or has ended."""
        waiting = self._barrier[group]
        if not waiting or len(waiting) < self._alive[group]:
            return
        now = max(now, *(wave.ready for wave in waiting))
        for wave in waiting:
            if now > wave.ready:
                pc = wave.path[wave.at - 1].instruction.pc
                self.stalls[pc, "barrier"] += now - wave.ready
                self._keep_barrier(wave, pc, now)
            wave.ready = now
            heapq.heappush(self._heap, (now, wave.number))
        waiting.clear()

    def _keep_barrier(self, wave: _Wave, pc: int, now: float) -> None:
        """An event without length, when a wave goes on that waited for others."""
        if self.keep:
            stall = now - wave.ready
            self.events.append(
                Event(wave.number, wave.simd, now, now, pc, "sync", stall, "barrier")
            )

    def _waited(self, wave: _Wave, ins: Instruction) -> float:
        done = 0.0
        for counter, allowed in waits_of(ins).items():
            flights = wave.flights[counter]
            over = len(flights) - allowed
            if over > 0:
                done = max(done, *flights[:over]) if over > 1 else max(done, flights[0])
                del flights[:over]
        return done

    def _unit(self, unit: str, wave: _Wave) -> str:
        return f"{unit}{wave.simd}" if unit in ("valu", "mfma", "salu") else unit

    def _price(self, bound: Bound) -> Price:
        price = self._prices.get(bound.instruction.pc)
        if price is None:
            price = self._prices[bound.instruction.pc] = self._new_price(bound)
        return price

    def _new_price(self, bound: Bound) -> Price:
        cost, ins, unit = self.cost, bound.instruction, bound.usage.unit
        if unit == "mfma":
            cycles = matrix_cycles(ins, cost)
            needs = (("mfma", 0), ("valu", 0))
            work = (("valu", cost.valu), ("mfma", cycles))
            return Price(needs, work, cost.matrix_extra)
        if unit == "valu":
            return Price((("valu", 0),), (("valu", vector_cycles(ins, cost)),), 0)
        sample = self.samples.get(ins.pc, Sample())
        count = max(1, sample.executions)
        if unit == "lds":
            cycles = max(sample.lds_cycles / count, 64 / cost.lds_bytes * 4)
            needs = (("lds", cost.backlog),)
            return Price(needs, (("lds", cycles),), cost.lds_latency)
        if unit == "vmem":
            return self._memory_price(sample, count)
        if unit == "smem":
            return Price((("smem", 0),), (("smem", cost.issue),), cost.scalar_latency)
        if unit == "salu":
            return Price((("salu", 0),), (("salu", cost.issue),), 0)
        return Price((), (), 0)

    def _memory_price(self, sample: Sample, count: int) -> Price:
        """Addresses and data of L1, lines from L2, lines from memory."""
        cost = self.cost
        lanes, moved = self.architecture.lanes, sample.bytes / count
        looked_up = sample.l1_cycles / count
        l1 = max(lanes / cost.lanes_addressed, looked_up, moved / cost.l1_bytes)
        missed = sample.missed * LINE_BYTES
        work = [("l1", l1)]
        latency = cost.l1_latency
        if missed:
            work.append(("l2", missed / cost.l2_bytes))
            streamed = cost.hbm_bytes * cost.hbm_share
            work.append(("hbm", missed * self.share / streamed))
            latency += cost.l2_latency + round(cost.hbm_latency * self.share)
        # What waits for memory is held, and so are as many lines as its latency hides.
        needs = (("l1", cost.backlog), ("hbm", cost.hbm_latency))
        return Price(needs, tuple(work), latency, sample.lds_cycles / count)


def step_cycles(bound: Bound, following: Bound | None, cost: Cost) -> int:
    """Cycles until a wave may issue what follows, if anything does."""
    ins = bound.instruction
    if ins.name == "S_NOP":
        return cost.issue * (ins.get("simm16") + 1)
    if bound.usage.unit == "branch":
        taken = following and following.instruction.pc != bound.following
        return cost.branch if taken else cost.issue
    return cost.issue


def _matrix_rows(bound: Bound, wave: _Wave) -> list[int]:
    """Registers that it reads or writes and that a matrix instruction fills.

    An accumulator chained into the next matrix instruction of the same shape is
    forwarded, so that it costs no more than the unit's time.
    """
    if not wave.results:
        return []
    if bound.usage.unit == "mfma":
        sources = 0
        for slot in range(2):
            code = bound.instruction.fields.get(f"src{slot}", 0)
            if code >= 256:
                sources |= 1 << (code - 256)
        return rows_of(sources)
    mask = (1 << 512) - 1
    return rows_of((bound.usage.reads | bound.usage.writes) & mask)


def vector_cycles(ins: Instruction, cost: Cost) -> int:
    """Cycles that a SIMD is busy with a vector instruction."""
    if ins.name.startswith(_CURVED):
        return cost.curved
    return cost.slow if ins.name.startswith(_SLOW) else cost.valu
