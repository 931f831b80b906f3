"""Shared memory of a batch of workgroups, and who touched which byte when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.arrays import every, some

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Bytes, Ints
    from wave_emulator_ptx.clocks import Clocks

SEVERAL = -2
"""A byte that several lanes of a warp read at one clock."""
CHUNK = 16
"""Bytes that asynchronous work reads together."""


NEVER = np.iinfo(np.int32).max
"""The clock at which what was written becomes visible, where no fence made it so."""


@dataclass(frozen=True)
class Found:
    """A conflict of an access: the threads that are part of it, as a mask over it.

    Attributes:
        code: the hazard.
        threads: of the access.
        lines: for each thread the line of the other access, 0 where there is none.
    """

    code: str
    threads: Bools
    lines: Ints


class SharedMemory:
    """Bytes by workgroup and offset.

    Attributes:
        size: bytes of a workgroup.
        data: uint8[workgroups * size].
        written: which of them anybody wrote.
    """

    def __init__(self, workgroups: int, size: int, clocks: Clocks) -> None:
        """Nothing is written."""
        total = workgroups * size
        self.size = size
        self.data = np.zeros(total, np.uint8)
        self.written = np.zeros(total, np.bool_)
        self._clocks = clocks
        self._writer: Array = np.full(total, -1, np.int32)
        self._written_at: Array = np.zeros(total, np.int32)
        self._write_line: Array = np.zeros(total, np.int32)
        self._atomic = np.zeros(total, np.bool_)
        self._reader: Array = np.full((clocks.warps, total), -1, np.int32)
        self._read_at: Array = np.zeros((clocks.warps, total), np.int32)
        self._read_line: Array = np.zeros(total, np.int32)
        self._copier: Array = np.full(total, -1, np.int32)
        self._copy_line: Array = np.zeros(total, np.int32)
        self._proxied_at: Array = np.full(total, NEVER, np.int32)
        self._taken = np.zeros((clocks.warps, total), np.uint16)
        self._taken_line: Array = np.zeros(total, np.int32)
        self._reads_ahead = 0
        self._barrier = np.zeros(total, np.bool_)
        self._has_barriers = False

    def hold(self, where: slice, *, held: bool) -> None:
        """A barrier is in these bytes from now on, or is there no more."""
        self._barrier[where] = held
        self._has_barriers = True

    def read(self, threads: Ints, where: Ints, line: int) -> list[Found]:
        """Note a read of ``where[thread, byte]``, and say what it conflicts with."""
        found = [
            self._in_flight(where),
            self._after_write(threads, where),
            self._unwritten(where),
            self._in_barrier(where),
        ]
        self._note_read(threads, where, line)
        return [each for each in found if each.threads.any()]

    def write(
        self, threads: Ints, where: Ints, line: int, values: Bytes
    ) -> list[Found]:
        """Note a write, and say what it conflicts with.

        Threads may write the same to one place by one instruction, whenever they come
        to it.
        """
        same = (self.data[where] == values) & (self._write_line[where] == line)
        found = self._before_write(threads, where, same)
        self._note_write(threads, where, line)
        return found

    def update(self, threads: Ints, where: Ints, line: int) -> list[Found]:
        """Note an atomic access: it conflicts with those that are not, only."""
        after = self._after_write(threads, where, self._atomic[where])
        found = [
            self._in_flight(where),
            self._being_read(where),
            after,
            self._after_read(threads, where),
            self._unwritten(where),
            self._in_barrier(where),
        ]
        self._note_write(threads, where, line)
        self._atomic[where] = True
        return [each for each in found if each.threads.any()]

    def begin_copy(self, threads: Ints, where: Ints, line: int) -> list[Found]:
        """An asynchronous copy into these bytes begins, and may write from now on."""
        found = self._before_write(threads, where)
        self._copier[where] = threads[:, None]
        self._copy_line[where] = line
        return found

    def end_copy(self, threads: Ints, where: Ints, line: int) -> None:
        """The thread that began a copy knows that it is done."""
        self._copier[where] = -1
        self._note_write(threads, where, line)

    def _before_write(
        self, threads: Ints, where: Ints, harmless: Bools | None = None
    ) -> list[Found]:
        found = [
            self._in_flight(where),
            self._being_read(where),
            self._after_write(threads, where, harmless),
            self._after_read(threads, where),
            self._in_barrier(where),
        ]
        return [each for each in found if each.threads.any()]

    def _note_write(self, threads: Ints, where: Ints, line: int) -> None:
        self._writer[where] = threads[:, None]
        self._written_at[where] = self._clock(threads)[:, None]
        self._write_line[where] = line
        self._atomic[where] = False
        self._proxied_at[where] = NEVER
        self.written[where] = True

    # ------------------------------------------------------------------ asynchronous

    def begin_reading(
        self, warps: Ints, chunks: Ints, line: int, threads: Ints | None = None
    ) -> list[Found]:
        """Asynchronous work of warps begins to read, and does so until `end_reading`.

        Args:
            warps: whose work it is, [works, warps].
            chunks: what each reads, [works, chunks].
            line: of the instruction.
            threads: who began each work, where single threads did.

        Returns:
            Conflicts, by work.
        """
        found = self._before_reading(warps, chunks, threads)
        rows = (warps % self._clocks.warps)[:, :, None], chunks[:, None]
        _chunked(self._taken)[rows] += 1
        _chunked(self._taken_line)[chunks] = line
        self._reads_ahead += warps.size
        return [each for each in found if each.threads.any()]

    def end_bulk(self, chunks: Ints, column: int, clock: int, line: int) -> None:
        """A bulk copy has written; who has seen a clock of a column may know."""
        _chunked(self._copier)[chunks] = -1
        _chunked(self._writer)[chunks] = -2 - column
        _chunked(self._written_at)[chunks] = clock
        _chunked(self._write_line)[chunks] = line
        _chunked(self._atomic)[chunks] = False
        _chunked(self.written)[chunks] = True

    def begin_bulk(self, thread: int, chunks: Ints, line: int) -> list[Found]:
        """A bulk copy of a thread begins, and may write from now on."""
        threads = np.array([thread])
        where = (chunks[:, None] * CHUNK + np.arange(CHUNK)).reshape(1, -1)
        found = self.begin_copy(threads, where, line)
        visible = self._clocks.visible[thread // 32]
        writer, at = self._writer[where], self._written_at[where]
        hidden = (writer >= 0) & (self._proxied_at[where] == NEVER)
        hidden &= at > visible[self._columns(writer)]
        by = np.where(hidden, self._write_line[where], 0).max(axis=1)
        if hidden.any() and not found:
            found = [Found("EP0510", some(hidden), by)]
        return found

    def end_reading(self, warps: Ints, chunks: Ints, line: int) -> None:
        """Warps know that their work has read ``chunks[warp, chunk]``."""
        rows = (warps % self._clocks.warps)[:, None], chunks
        _chunked(self._taken)[rows] -= 1
        _chunked(self._reader)[rows] = SEVERAL
        _chunked(self._read_at)[rows] = self._clocks.clock[warps][:, None, None]
        _chunked(self._read_line)[chunks] = line
        self._reads_ahead -= warps.size

    def proxy_fence(self, threads: Ints) -> None:
        """What these threads wrote is visible to asynchronous work from now on."""
        here = np.zeros(len(self._clocks.clock) * 32, np.bool_)
        here[threads] = True
        places = np.flatnonzero((self._proxied_at == NEVER) & (self._writer >= 0))
        places = places[here[self._writer[places]]]
        self._proxied_at[places] = self._clock(self._writer[places])
        self._clocks.fence(np.unique(threads // 32))

    def _before_reading(
        self, warps: Ints, chunks: Ints, threads: Ints | None
    ) -> list[Found]:
        seen = self._clocks.seen[warps].min(axis=1)
        visible = self._clocks.visible[warps].min(axis=1)
        at = _chunked(self._written_at)[chunks].reshape(len(chunks), -1)
        writer = _chunked(self._writer)[chunks].reshape(at.shape)
        proxied = _chunked(self._proxied_at)[chunks].reshape(at.shape)
        columns = self._columns(writer)
        known = np.take_along_axis(seen, columns, axis=1)
        shown = np.take_along_axis(visible, columns, axis=1)
        own = np.zeros(writer.shape, np.bool_)
        if threads is not None:
            own = writer == threads[:, None]
        by = _chunked(self._write_line)[chunks].reshape(at.shape)
        race = (writer != -1) & (at > known) & ~own
        hidden = (writer >= 0) & ~race & (at > shown)
        hidden &= np.where(own, proxied == NEVER, proxied > known)
        flying = _chunked(self._copier)[chunks].reshape(at.shape) >= 0
        copied_by = _chunked(self._copy_line)[chunks].reshape(at.shape)
        nobody = ~_chunked(self.written)[chunks].reshape(at.shape) & ~flying
        return [
            _of_works("EP0506", flying, copied_by),
            _of_works("EP0501", race, by),
            _of_works("EP0510", hidden, by),
            _of_works("EP0505", nobody, np.zeros_like(by)),
        ]

    def _being_read(self, where: Ints) -> Found:
        bad = np.zeros(where.shape, np.bool_)
        if self._reads_ahead:
            bad = np.logical_or.reduce(self._taken[:, where] > 0, axis=0)
        lines = np.where(bad, self._taken_line[where], 0).max(axis=1)
        return Found("EP0507", some(bad), lines)

    # ------------------------------------------------------------------ conflicts

    def _clock(self, threads: Ints) -> Ints:
        return self._clocks.clock[threads // 32]

    def _unordered(self, threads: Ints, warp: Array, clock: Array) -> Bools:
        """Whether what was done in a column at a clock is not yet seen."""
        seen = self._clocks.seen[threads[:, None] // 32, warp]
        return clock > seen

    def _columns(self, writer: Ints) -> Ints:
        """The columns of the clocks in which writers are."""
        return np.where(writer >= 0, writer // 32 % self._clocks.warps, -2 - writer)

    def _unwritten(self, where: Ints) -> Found:
        nobody = np.zeros(len(where), np.int64)
        return Found("EP0505", ~every(self.written[where]), nobody)

    def _in_barrier(self, where: Ints) -> Found:
        bad = np.zeros(len(where), np.bool_)
        if self._has_barriers:
            bad = some(self._barrier[where])
        return Found("EP0514", bad, np.zeros(len(where), np.int64))

    def _in_flight(self, where: Ints) -> Found:
        flying = self._copier[where] >= 0
        lines = np.where(flying, self._copy_line[where], 0).max(axis=1)
        return Found("EP0506", some(flying), lines)

    def _after_write(
        self, threads: Ints, where: Ints, harmless: Bools | None = None
    ) -> Found:
        writer = self._writer[where]
        bad = (writer != -1) & (writer != threads[:, None])
        columns = self._columns(writer)
        bad &= self._unordered(threads, columns, self._written_at[where])
        if harmless is not None:
            bad &= ~harmless
        lines = np.where(bad, self._write_line[where], 0).max(axis=1)
        return Found("EP0501", some(bad), lines)

    def _after_read(self, threads: Ints, where: Ints) -> Found:
        bad = np.zeros(where.shape, np.bool_)
        for warp in range(self._clocks.warps):
            reader = self._reader[warp][where]
            other = (reader != -1) & (reader != threads[:, None])
            at = self._read_at[warp][where]
            bad |= other & self._unordered(threads, np.array(warp), at)
        lines = np.where(bad, self._read_line[where], 0).max(axis=1)
        return Found("EP0501", some(bad), lines)

    def _note_read(self, threads: Ints, where: Ints, line: int) -> None:
        """Of each byte and warp the last reader, or that there were several.

        Threads of one instruction may read a byte together, so each lane is noted
        after those before it.
        """
        warp = threads // 32 % self._clocks.warps
        now = self._clock(threads)
        flat = where.ravel()
        rows = np.repeat(warp, where.shape[1])
        who = np.repeat(threads, where.shape[1])
        when = np.repeat(now, where.shape[1])
        before, at = self._reader[rows, flat], self._read_at[rows, flat]
        several = (before != -1) & (before != who) & (at == when)
        self._reader[rows, flat] = np.where(several, SEVERAL, who)
        again = self._reader[rows, flat]
        mixed = (again != who) & (again != SEVERAL)
        self._reader[rows[mixed], flat[mixed]] = SEVERAL
        self._read_at[rows, flat] = when
        self._read_line[flat] = line


def _chunked(state: Array) -> Array:
    """A view of what is known of bytes, by chunk."""
    return state.reshape(*state.shape[:-1], -1, CHUNK)


def _of_works(code: str, bad: Bools, lines: Ints) -> Found:
    return Found(code, some(bad), np.where(bad, lines, 0).max(axis=1))
