"""Loads from LDS that nothing orders with a write of another wave.

What such a load gives is what was there before or after, and that is no error as long
as nobody uses it: compilers load before they know whether they need to. A launch that
has such loads is therefore run twice. Runs of a launch are the same step by step, so
the second one knows at each load whether a write comes that nothing orders after it; it
follows what those loads give, and reports where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.hazards.following import Following
from wave_emulator_amdgcn.hazards.poison import registers
from wave_emulator_amdgcn.memory import Cells

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Bools, Ints, Selection, Words
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.hazards.races import Access, Conflict, Order
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.program import Bound

_MOST = 1 << 21
"""Bytes of other waves' loads that are remembered; more are reported at once."""

_STAMPS = 40
"""Bits of a time."""


@dataclass(frozen=True)
class _Write:
    """A write after loads that nothing orders with it.

    Attributes:
        at: positions of the bytes in all LDS.
        writers: the number of the wave that writes each.
        readers: for each, the numbers of the waves of its workgroup.
        marks: times up to which loads of these waves are ordered before it.
        stamp: its time.
        ins: the instruction.
    """

    at: Ints
    writers: Ints
    readers: Ints
    marks: Ints
    stamp: int
    ins: Instruction


class _Coming:
    """The writes that come after loads, by reader and byte.

    Of the writes of a byte that come after a load, the next one is ordered after it
    only if all others are: what is ordered once stays so.
    """

    def __init__(self, writes: list[_Write]) -> None:
        self.writes = writes
        parts: list[tuple[Ints, Ints, Ints]] = []
        for number, write in enumerate(writes):
            others = write.readers != write.writers[:, None]
            keys = (write.readers << 32 | write.at[:, None])[others]
            parts.append((keys, write.marks[others], np.full(len(keys), number)))
        columns = zip(*parts, strict=True)
        keys, marks, numbers = (np.concatenate(column) for column in columns)
        stamps = np.array([write.stamp for write in writes], np.int64)[numbers]
        self.keys, ranks = np.unique(keys, return_inverse=True)
        order = np.argsort(ranks << _STAMPS | stamps, kind="stable")
        self.times: Ints = (ranks << _STAMPS | stamps)[order]
        self.marks, self.numbers = marks[order], numbers[order]

    def after(self, waves: Ints, at: Ints, stamp: int) -> Ints:
        """The unordered write that comes after loads of bytes, or -1."""
        keys = waves << 32 | at
        rank = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        wanted = rank << _STAMPS | stamp
        place = np.searchsorted(self.times, wanted, side="right")
        place = np.minimum(place, len(self.times) - 1)
        found = (self.keys[rank] == keys) & (self.times[place] > wanted)
        found &= self.times[place] >> _STAMPS == rank
        found &= self.marks[place] < stamp
        return np.where(found, self.numbers[place], -1)


@dataclass(frozen=True)
class Lanes:
    """The lanes of one access of LDS.

    Attributes:
        ins: the instruction.
        flat: positions in all LDS, of each lane that accesses.
        wave: ordinals in the batch of the waves of these.
        lane: their lanes.
        size: bytes of each.
    """

    ins: Instruction
    flat: Ints
    wave: Ints
    lane: Ints
    size: int


@dataclass(frozen=True)
class _Doubt:
    """A load and the first write that it was found to race with."""

    ins: Instruction
    wave: int
    lane: int
    address: int
    message: str
    write: Instruction


class Doubts:
    """What a run found out about doubtful loads, or what it knows from the run before.

    Attributes:
        found: whether there are any.
        many: whether they are too many to follow; all from there on are reported.
        writes: those to LDS after such loads.
    """

    def __init__(self, before: Doubts | None = None) -> None:
        """``before`` is what the first run found; without it, this is the first."""
        self.found = False
        self.many = False
        self.writes: list[_Write] = []
        self._room = _MOST
        self._second = before is not None
        self._coming = _Coming(before.writes) if before and before.writes else None
        self._writers: dict[int, Instruction] = {}

    def start(self, machine: Machine, order: Order) -> None:
        """Begin a batch of workgroups."""
        self.m, self.order = machine, order
        self._doubts: dict[int, _Doubt] = {}
        self.following: Following | None = None
        if self._second:
            self.following = Following(machine, self._report, everywhere=True)

    def before(self, bound: Bound, g: Selection) -> None:
        """An instruction is about to execute."""
        self._bytes: Cells | None = None
        if self.following is not None:
            self._bound = bound
            self.following.before(bound, g)

    def after(self, bound: Bound, g: Selection) -> None:
        """It has executed."""
        following = self.following
        if following is None:
            return
        if self._bytes is None:
            following.after(bound, g)
            return
        bases = np.arange(self.m.shape.waves) * self.m.lds_stride
        memories = [self._bytes, None]
        taint = following.taint
        found = taint.loaded(bound, g, memories, self._registers, bases)
        following.after(bound, g, found, frozenset({bound.instruction.pc}))

    def stores(
        self, ins: Instruction, g: Selection, size: int, mask: Bools | None
    ) -> None:
        """The next bytes of a store of any memory."""
        if self.following is not None:
            self.following.stores(ins, g, size, mask)

    def access(
        self, where: Lanes, access: Access, step: int, conflicts: list[Conflict]
    ) -> bool:
        """Take note of an access of LDS with its conflicts of loads and writes.

        ``step`` is the bytes of a cell. False if there are too many of them to follow.
        """
        self.found = self.found or bool(conflicts)
        reads = access.kind == "read"
        if self._second and reads:
            self._doubtful(where, access, step, conflicts)
        elif self._second:
            self._writers[access.stamp] = where.ins
        elif not reads:
            for conflict in conflicts:
                self._overwrites(conflict, access, step, where.ins)
        return not self.many

    @property
    def to_follow(self) -> bool:
        """Whether a second run has to find out if any is used."""
        return self.found and not self.many

    def _overwrites(
        self, conflict: Conflict, access: Access, step: int, ins: Instruction
    ) -> None:
        lane, cell = np.nonzero(conflict.bad)
        pairs = np.stack([access.at[lane, cell], access.me[lane]])
        cells, writers = np.unique(pairs, axis=1)
        per_group, first = self.order.per_group, self.order.first
        readers = (writers - 1) // per_group * per_group + 1
        readers = readers[:, None] + np.arange(per_group)
        self._room -= readers.size * step
        self.many = self._room < 0
        if self.many:
            return
        marks = self.order.reads[readers - first]
        for byte in range(step):
            at = cells * step + byte
            write = _Write(at, writers, readers, marks, access.stamp, ins)
            self.writes.append(write)

    def _doubtful(
        self, where: Lanes, access: Access, step: int, conflicts: list[Conflict]
    ) -> None:
        at = where.flat[:, None] + np.arange(where.size)
        bad = np.zeros(at.shape, np.bool_)
        for conflict in conflicts:
            bad |= np.repeat(conflict.bad, step, axis=1)
            self._remember(where, conflict.first[0], *self._earlier(conflict))
        if self._coming is not None:
            coming = self._coming.after(access.me[:, None], at, access.stamp)
            later = coming >= 0
            if later.any():
                bad |= later
                lane, byte = (int(v[0]) for v in np.nonzero(later))
                write = self._coming.writes[int(coming[lane, byte])]
                spot = int(np.flatnonzero(write.at == at[lane, byte])[0])
                wave = int(write.writers[spot]) - 1
                what = f"wave {wave} writes this LDS later"
                self._remember(where, lane, what, write.ins)
        if bad.any():
            self._taint(at, bad, where.wave)

    def _earlier(self, conflict: Conflict) -> tuple[str, Instruction]:
        stamp = int(conflict.stamps[conflict.first])
        return f"wave {conflict.other} wrote this LDS", self._writers[stamp]

    def _remember(self, where: Lanes, lane: int, what: str, write: Instruction) -> None:
        address = int(where.flat[lane]) % self.m.lds_stride
        wave, place = int(where.wave[lane]), int(where.lane[lane])
        doubt = _Doubt(where.ins, wave, place, address, what, write)
        self._doubts.setdefault(where.ins.pc, doubt)

    def _taint(self, at: Ints, bad: Bools, wave: Ints) -> None:
        """Each wave sees other bytes of the LDS that it shares as doubtful."""
        m = self.m
        if self._bytes is None:
            self._bytes = Cells(m.lds_stride * m.shape.waves)
            touched = self._bound.usage.reads | self._bound.usage.writes
            self._registers: dict[int, Words] = registers(m, touched)
        moved: Array = at + (wave * m.lds_stride - m.lds_base[wave])[:, None]
        self._bytes.data[moved[bad]] = 0xFF

    def _report(
        self, _ins: Instruction, _g: Selection, found: Bools, what: str,
        origins: frozenset[int],
    ) -> None:  # fmt: skip
        """A value of doubtful loads is used."""
        for pc in sorted(origins):
            doubt = self._doubts[pc]
            self.m.report(
                "EM0501",
                f"{doubt.message}, unordered, and what is loaded {what}",
                doubt.ins,
                wave=doubt.wave,
                lane=doubt.lane,
                address=doubt.address,
                count=int(found.sum()),
                other=doubt.write,
            )
