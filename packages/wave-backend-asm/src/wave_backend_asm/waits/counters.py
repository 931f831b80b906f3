"""Where a wave has to wait for memory, and for how much.

For each register that an operation fills, it is followed how many operations of the
same counter were issued behind it, at the least. An instruction that touches it waits
until no more than these are in flight, which lets all of them go on. The numbers go
around loops until they no longer change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wave_backend_asm.waits.issued import (
    GROUP,
    GROUPS,
    MOST,
    Issued,
    Run,
    preceding,
)
from wave_isa_amdgcn.registers import SCALAR, rows_of


@dataclass
class Flight:
    """Operations of one counter that may be in flight.

    Attributes:
        behind: operations issued behind the one that fills a register, at the least.
        held: the registers among its keys, as bits.
        most: operations in flight, at the most.
        scalar: one of them may complete before those in front of it.
    """

    behind: dict[int, int] = field(default_factory=dict[int, int])
    held: int = 0
    most: int = 0
    scalar: bool = False

    def copy(self) -> Flight:
        """An equal one."""
        return Flight(dict(self.behind), self.held, self.most, self.scalar)

    def meet(self, other: Flight) -> None:
        """Take note of what may be in flight on another way to the same point."""
        for row, count in other.behind.items():
            self.behind[row] = min(count, self.behind.get(row, count))
        self.held |= other.held
        self.most = max(self.most, other.most)
        self.scalar |= other.scalar

    def wait(self, allowed: int) -> None:
        """All but so many are done."""
        if self.scalar and allowed:
            return
        self.scalar &= bool(allowed)
        self.most = min(self.most, allowed)
        for row in [row for row, n in self.behind.items() if n >= allowed]:
            del self.behind[row]
            self.held &= ~(1 << row)

    def issue(self, operation: Issued, limit: int) -> None:
        """One more, which may be the last of so many that a counter can tell."""
        self.behind = {row: min(n + 1, limit) for row, n in self.behind.items()}
        self.behind |= dict.fromkeys(rows_of(operation.pending), 0)
        self.held |= operation.pending
        if operation.groups.joins:
            self.behind[GROUP] = 0
        self.most = min(self.most + 1, limit + 1)
        self.scalar |= operation.scalar

    def close(self) -> None:
        """The open group of copies is the latest of those that are closed."""
        found: dict[int, int] = {}
        for row, count in self.behind.items():
            after = min(row + 1, GROUP + GROUPS) if row >= GROUP else row
            found[after] = min(count, found.get(after, count))
        self.behind = found

    def landed(self, left: int) -> int | None:
        """How many may be in flight when all groups but so many have landed."""
        return self._least([row for row in self.behind if row >= GROUP + left])

    def needed(self, registers: int) -> int | None:
        """How many may be in flight when registers are touched; ``None``: any."""
        held = registers & self.held
        return self._least(rows_of(held)) if held else None

    def _least(self, rows: Iterable[int]) -> int | None:
        counts = [self.behind[row] for row in rows]
        if not counts:
            return None
        return 0 if self.scalar else min(counts)


State = dict[str, Flight]


def waits(runs: Sequence[Run]) -> list[list[dict[str, int]]]:
    """By run and instruction: what each counter may have in flight in front of it.

    An empty one means that there is nothing to wait for.
    """
    before = preceding(runs)
    out: list[State] = [_nothing() for _ in runs]
    known: list[State | None] = [None] * len(runs)
    found: list[list[dict[str, int]]] = [[] for _ in runs]
    changed = True
    while changed:
        changed = False
        for number, run in enumerate(runs):
            state = _met(out, before[number])
            if state == known[number]:
                continue  # and so is what comes of it
            known[number] = {
                counter: flight.copy() for counter, flight in state.items()
            }
            found[number] = [_pass(state, issued) for issued in run.code]
            changed |= state != out[number]
            out[number] = state
    return found


def _nothing() -> State:
    return {counter: Flight() for counter in MOST}


def _met(out: Sequence[State], before: Sequence[int]) -> State:
    state = _nothing()
    for number in before:
        for counter, flight in state.items():
            flight.meet(out[number][counter])
    return state


def _pass(state: State, issued: Issued) -> dict[str, int]:
    """Go over one instruction; what it waits for."""
    found: dict[str, int] = {}
    for counter, flight in state.items():
        if not flight.behind and not flight.most:
            continue  # nothing is in flight
        needed = _needed(flight, issued, counter)
        if needed is not None:
            found[counter] = needed
            flight.wait(needed)
        if issued.groups.closes:
            flight.close()
    if issued.counter:
        state[issued.counter].issue(issued, MOST[issued.counter])
    return found


def _needed(flight: Flight, issued: Issued, counter: str) -> int | None:
    step = issued.step
    touched = step.reads | step.writes
    if issued.counter == counter and not (issued.scalar or flight.scalar):
        # One counter fills registers in the order of issue, but for scalar loads.
        touched &= ~(issued.pending & ((1 << SCALAR) - 1)) | step.reads
    if not issued.demands and issued.groups.left is None:
        return flight.needed(touched)
    wanted = [flight.needed(touched), _demanded(flight, issued, counter)]
    if issued.groups.left is not None:
        wanted.append(flight.landed(issued.groups.left))
    numbers = [number for number in wanted if number is not None]
    return min(numbers) if numbers else None


def _demanded(flight: Flight, issued: Issued, counter: str) -> int | None:
    """What it demands, if that may be less than what is in flight."""
    allowed = issued.demands.get(counter)
    if allowed is None or flight.most <= allowed:
        return None
    return 0 if flight.scalar else allowed
