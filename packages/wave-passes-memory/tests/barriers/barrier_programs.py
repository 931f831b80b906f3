"""Small programs on LDS: made at random, built as graphs, and solved exhaustively.

The solution knows nothing of the compiler: it walks every execution, notes which
accesses of different waves meet, and tries all sets of places for barriers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from wave_core.constraints import (
    HardwareConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.ir import ACCESS, PLACEMENT, Access, Graph, Placement, capture
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.structure import Yield
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.symbols import constant, ge, parse_layout, symbol
from wave_core.types import AddressSpace, MemoryType
from wave_core.types.dtype import f32

LANES = 64
LANE, WAVE = symbol("$LANE"), symbol("$WV0")
M, K = symbol("M"), symbol("K")


@dataclass(frozen=True)
class Touch:
    """A wave reads or writes the part of one wave, ``turn`` waves further.

    With ``twin`` it alternates between two halves of the buffer, turn by turn.
    """

    buffer: int
    writes: bool
    turn: int = 0
    twin: bool = False


@dataclass(frozen=True)
class Loop:
    """``count`` is a number, or the name of a symbol of the launch."""

    body: tuple
    count: int | str


@dataclass(frozen=True)
class Branch:
    """Runs in turns that ``symbol`` says; or in all waves but the last."""

    body: tuple
    symbol: str
    divergent: bool = False


@dataclass(frozen=True)
class Meeting:
    """A barrier of the author."""


@dataclass(frozen=True)
class Small:
    """A program with ``waves`` waves and ``buffers`` buffers."""

    waves: int
    buffers: int
    body: tuple


# ---- random programs


MOST_TOUCHES = 6
"""Larger programs have more sets of places than a search can try."""

MOST_LAUNCHES = 100
"""Programs with more ways to run have more executions than a search can walk."""


def random_small(rng, *, divergent=False) -> Small:
    """A program with 2 to 6 accesses in loops and branches."""
    waves = int(rng.integers(2, 4))
    while True:
        maker = _Maker(rng, waves, divergent)
        body = maker.block(int(rng.integers(2, 5)), depth=0, branch=True)
        small = Small(waves, 2, body)
        few = len(launches(small, most=10_000)) <= MOST_LAUNCHES
        if few and 2 <= _touches(body) <= MOST_TOUCHES:
            return small


def _touches(body) -> int:
    return sum(
        1 if isinstance(item, Touch) else _touches(getattr(item, "body", ()))
        for item in body
    )


class _Maker:
    def __init__(self, rng, waves, divergent):
        self.rng, self.waves, self.divergent, self.names = rng, waves, divergent, 0

    def block(self, length, depth, *, branch):
        return tuple(self.item(depth, branch) for _ in range(length))

    def item(self, depth, branch):
        kind = self.rng.random()
        if kind < 0.25 and depth < 2:
            count = int(self.rng.integers(1, 4))
            count = count if self.rng.random() < 0.5 else self.name("C")
            body = self.block(int(self.rng.integers(1, 4)), depth + 1, branch=branch)
            return Loop(body, count)
        if kind < 0.37 and branch:
            divergent = self.divergent and self.rng.random() < 0.5
            inner = self.block(int(self.rng.integers(1, 3)), 2, branch=False)
            body = tuple(x for x in inner if not (divergent and x == Meeting()))
            return Branch(body, self.name("P"), divergent)
        if kind < 0.4:
            return Meeting()
        return self.touch(depth)

    def touch(self, depth):
        turn = int(self.rng.integers(self.waves)) if self.rng.random() < 0.8 else 0
        twin = bool(depth and self.rng.random() < 0.3)
        return Touch(
            int(self.rng.integers(2)), bool(self.rng.random() < 0.5), turn, twin
        )

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"


def symbols_of(program) -> list[str]:
    found = []

    def visit(body):
        for item in body:
            if isinstance(item, Loop) and isinstance(item.count, str):
                found.append(item.count)
            if isinstance(item, Branch) and not item.divergent:
                found.append(item.symbol)
            visit(getattr(item, "body", ()))

    visit(program.body)
    return found


# ---- graphs


class Builder:
    """Builds the graph; every touch has a tag that says which one it is."""

    def __init__(self, program: Small, *, offsets: tuple = ()) -> None:
        waves = program.waves
        rows = LANES * waves
        self.waves, self.loops = waves, 0
        self.graph = Graph("k", "generic", {M: rows})
        self.graph.constraints = (
            WorkgroupConstraint(M, constant(rows), 0),
            WaveConstraint(M, constant(LANES)),
            TilingConstraint(K, constant(1)),
            HardwareConstraint(threads_per_wave=LANES),
        )
        self.graph.facts_present = {"typed", "indexed", "expanded", "bounded"}
        region = self.graph.body
        memory = MemoryType((M,), AddressSpace.GLOBAL, f32)
        self.source = region.add_argument("parameter", "a", memory, None)
        self.buffers = [
            region.append(Allocate((M,), (constant(2 * rows),), f32, offset=offset))
            for offset in offsets or (None,) * program.buffers
        ]
        self.value = region.append(Read(self.source, shape=(M,)))
        self.place(self.value, LANE + LANES * WAVE)
        self.fill(region, program.body, None)
        region.append(Yield(()))

    def place(self, op, coordinate):
        self.graph.facts.put(ACCESS, op, Access((coordinate,), 1))
        if isinstance(op, Read):
            layout = parse_layout("64x1 {M: (lane/1%64)}")
            row = Placement(layout, origin=(("M", constant(0)),))
            self.graph.facts.put(PLACEMENT, op, row)

    def fill(self, region, body, turn):
        for item in body:
            if isinstance(item, Touch):
                self.touch(region, item, turn)
            elif isinstance(item, Meeting):
                region.append(SharedMemoryBarrier())
            else:
                self.nest(region, item, turn)

    def touch(self, region, item, turn):
        memory = capture(region, self.buffers[item.buffer])
        part = (WAVE + item.turn) % self.waves
        place = LANE + LANES * part
        if item.twin and turn is not None:
            place = place + LANES * self.waves * (turn % 2)
        if item.writes:
            op = region.append(Write(capture(region, self.value), memory))
        else:
            op = region.append(Read(memory, shape=(M,)))
        self.place(op, place)

    def nest(self, region, item, turn):
        inner = self.graph.region()
        if isinstance(item, Loop):
            count = constant(item.count) if isinstance(item.count, int) else None
            name = symbol(f"$IV:K.{self.loops}")
            self.loops += 1
            op = Iterate(
                (),
                (),
                axis=K,
                induction=name,
                count=symbol(item.count) if count is None else count,
                body=inner,
            )
            turn = name
        else:
            # Over several turns: always, never, and some of the ways between.
            share = symbol(item.symbol) // (1 if turn is None else turn + 1)
            expr = ge(share % 2, 1)
            expr = ge(self.waves - 2 - WAVE, 0) if item.divergent else expr
            op = Conditional(None, (), (), expr=expr, body=inner)
        region.append(op)
        self.fill(inner, item.body, turn)
        inner.append(Yield(()))


def build(program: Small, **kwargs) -> Graph:
    return Builder(program, **kwargs).graph


# ---- exhaustive solution


@dataclass(frozen=True)
class Gap:
    """The place before item ``at`` of a block; ``depth`` loops are around it."""

    block: tuple
    at: int
    depth: int
    legal: bool


def cheapest(program: Small, most: int = 6):
    """The least cost over all sets of places: (barriers by depth, deepest first).

    ``None`` where no set of places will do.
    """
    gaps: list[Gap] = []
    _number(program.body, (), 0, True, gaps)
    index = {(gap.block, gap.at): i for i, gap in enumerate(gaps)}
    needs: set[int] = set()
    for way in _ways(program, program.body, (), index, ()):
        _note_needs(way, gaps, needs)
    if 0 in needs:
        return None
    minimal = [n for n in needs if not any(o != n and o & n == o for o in needs)]
    best = None
    for size in range(most + 1):
        for chosen in combinations([i for i, g in enumerate(gaps) if g.legal], size):
            bits = sum(1 << i for i in chosen)
            if all(bits & need for need in minimal):
                cost = tuple(sum(gaps[i].depth == d for i in chosen) for d in (2, 1, 0))
                best = cost if best is None else min(best, cost)
    return best


def _number(body, path, depth, legal, gaps):
    for at, item in enumerate((*body, None)):
        gaps.append(Gap(path, at, depth, legal))
        if isinstance(item, Loop):
            _number(item.body, (*path, at), depth + 1, legal, gaps)
        if isinstance(item, Branch):
            inside = legal and not item.divergent
            _number(item.body, (*path, at), depth, inside, gaps)


def _ways(program, body, path, index, turns):
    """All executions of a block: tuples of events (a gap, a touch, a meeting)."""
    ways = [()]
    for at, item in enumerate((*body, None)):
        step = [(("gap", index[path, at]),)]
        if isinstance(item, Touch):
            step = [(*step[0], ("touch", item, _cells(program, item, turns, path)))]
        elif isinstance(item, Meeting):
            step = [(*step[0], ("meet",))]
        elif item is not None:
            step = [
                step[0] + w for w in _nested(program, item, (*path, at), index, turns)
            ]
        ways = [a + b for a, b in product(ways, step)]
    return ways


def _nested(program, item, path, index, turns):
    if isinstance(item, Branch):
        ways = _ways(program, item.body, path, index, turns)
        if item.divergent:
            return [tuple(_but_last(event) for event in way) for way in ways]
        return [(), *ways]
    counts = [item.count] if isinstance(item.count, int) else [0, 1, 2, 3]
    found = []
    for count in counts:
        runs = [()]
        for turn in range(count):
            inner = _ways(program, item.body, path, index, (*turns, turn))
            runs = [a + b for a, b in product(runs, inner)]
        found.extend(runs)
    return list(dict.fromkeys(found))[:400]


def _but_last(event):
    """The event without the last wave."""
    if event[0] != "touch":
        return event
    return ("touch", event[1], (*event[2][:-1], 0))


def _cells(program, item, turns, path):
    """For each wave the parts it touches, as bits."""
    half = turns[-1] % 2 if item.twin and turns else 0
    return tuple(
        1 << ((w + item.turn) % program.waves + program.waves * half)
        for w in range(program.waves)
    )


def _note_needs(way, gaps, needs):
    last = []
    for event in way:
        if event[0] == "meet":
            last = []
        elif event[0] == "gap":
            bit = 1 << event[1] if gaps[event[1]].legal else 0
            last = [(touch, cells, passed | bit) for touch, cells, passed in last]
        else:
            _, touch, cells = event
            for other, others, passed in last:
                if _meet(touch, cells, other, others):
                    needs.add(passed)
            last.append((touch, cells, 0))


def _meet(one, cells, other, others):
    if one.buffer != other.buffer or not (one.writes or other.writes):
        return False
    return any(
        a & b for i, a in enumerate(cells) for j, b in enumerate(others) if i != j
    )


# ---- simulation


def launches(program: Small, most: int = 4):
    """Values of the symbols: each loop 0 to 3 turns, each branch in several ways.

    The last one has all loops and branches; of many others some are left out.
    """
    names = symbols_of(program)
    every = {"C": (0, 1, 2, 3), "P": (0, 1, 2, 7, 3)}
    choices = [every[name[0]] for name in names]
    rows = [dict(zip(names, values, strict=True)) for values in product(*choices)]
    step = -(-len(rows) // most)
    return rows[::-1][::step][::-1]


def races(graph, program: Small, values, target) -> bool:
    """Whether the lane simulator reports anything."""
    from wave_sim_cpu import lanes

    source = np.zeros(LANES * program.waves, np.float32)
    known = {symbol(name): value for name, value in values.items()}
    return not lanes.run(graph, {"a": source}, known, target).ok
