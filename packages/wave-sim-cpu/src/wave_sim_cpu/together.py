"""Workgroups that wait for one another: one runs at a time, until it looks at a lock.

Each has a thread of its own, which keeps where it stands. A workgroup that comes around
a loop that reads what others write hands over to them. It goes on once the memory has
changed, or where its loop counts as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from hashlib import blake2b
from threading import Semaphore, Thread
from typing import TYPE_CHECKING

from wave_core.diagnostics import simulation_error
from wave_core.executors import advice
from wave_sim_cpu import codes
from wave_sim_cpu.launch import coordinates

if TYPE_CHECKING:
    from wave_core.ops.control import While
    from wave_sim_cpu.arrays import Array
    from wave_sim_cpu.launch import Launch, Units
    from wave_sim_cpu.memory import Buffer

_SHOWN = 8
"""Most workgroups that a message names."""


class _Abandoned(BaseException):
    """The launch has failed: the workgroup ends where it stands."""


class Strand:
    """A workgroup under way, and the loop in which it waits.

    Attributes:
        units: Its waves.
        loop: The loop in which it handed over last.
        idle: Whether another iteration would change nothing but for what others do.
        ended: Whether it has.
    """

    def __init__(self, units: Units, run: Callable[[Units, Strand], None]) -> None:
        self.units = units
        self.loop: While | None = None
        self.idle = self.ended = False
        self._state: tuple[object, ...] = ()
        self._visits = 0
        self._abandoned = False
        self._error: BaseException | None = None
        self._go, self._stopped = Semaphore(0), Semaphore(0)
        arguments = (self._run, run)
        Thread(target=copy_context().run, args=arguments, daemon=True).start()

    def _run(self, run: Callable[[Units, Strand], None]) -> None:
        self._go.acquire()
        try:
            if not self._abandoned:
                run(self.units, self)
        except _Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by `proceed`
            self._error = error
        self.ended = True
        self._stopped.release()

    def proceed(self) -> None:
        """Let it run until it hands over or ends; raises what it raises."""
        self._go.release()
        self._stopped.acquire()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """End it where it stands."""
        if not self.ended:
            self._abandoned = True
            self.proceed()

    def enter(self) -> int:
        """A number for one execution of a loop."""
        self._visits += 1
        return self._visits

    def hand_over(self, loop: While, state: tuple[object, ...]) -> None:
        """Let others run before the next iteration, which follows from ``state``."""
        self.loop, self.idle, self._state = loop, state == self._state, state
        self._stopped.release()
        self._go.acquire()
        if self._abandoned:
            raise _Abandoned


def stay(
    strand: Strand | None, loop: While, buffers: Mapping[int, Buffer]
) -> Callable[[Iterable[Array]], None]:
    """A function to call with the carried values before each iteration of a loop.

    It lets others run, which without a strand nobody has to.
    """
    if strand is None:
        return lambda _values: None
    visit = strand.enter()
    lds = [buffer.cells for buffer in buffers.values() if buffer.is_lds]

    def hand_over(values: Iterable[Array]) -> None:
        strand.hand_over(loop, (visit, *(v.tobytes() for v in (*values, *lds))))

    return hand_over


class _Watch:
    """Tells whether memories have changed: a look costs nothing where nobody wrote."""

    def __init__(self, buffers: Iterable[Buffer]) -> None:
        self._buffers = list(buffers)
        self._writes = [buffer.writes for buffer in self._buffers]
        self._held: list[bytes | None] = [None] * len(self._buffers)

    def changed(self) -> bool:
        """Whether they hold something else than at the last look, as far as known."""
        changed = False
        for position in self._written():
            held = _digest(self._buffers[position])
            changed = changed or held != self._held[position]
            self._held[position] = held
        return changed

    def look_away(self) -> None:
        """Let nobody know what they hold: the next write is taken for a change."""
        for position in self._written():
            self._held[position] = None

    def _written(self) -> list[int]:
        """Which of them were written since it was asked last."""
        writes = [buffer.writes for buffer in self._buffers]
        before, self._writes = self._writes, writes
        return [i for i, count in enumerate(writes) if count != before[i]]


def _digest(buffer: Buffer) -> bytes:
    return blake2b(buffer.cells.tobytes()).digest()


Run = Callable[["Units", Strand | None], None]
"""Executes workgroups; one that others may wait for hands over through its strand."""


def run_parts(launch: Launch, limit: int, run: Run) -> None:
    """Run a launch in parts of at most ``limit`` lanes, or workgroup by workgroup.

    Raises:
        SimulationError: WV0916 where all that are left wait for ever; what ``run``
            raises.
    """
    if launch.waits:
        _run_together(launch, run)
        return
    for units in launch.chunks(limit):
        run(units, None)


def _run_together(launch: Launch, run: Run) -> None:
    """Start one workgroup after the other; then those go on that wait."""
    waiting: list[Strand] = []
    watch, total = _Watch(launch.shared), 0
    try:
        for units in launch.chunks(1):
            total += 1
            waiting.append(Strand(units, run))
            _proceed(waiting[-1], waiting, watch)
        while waiting:
            ready = [strand for strand in waiting if not strand.idle]
            if not ready:
                raise _stuck(waiting, total)
            for strand in ready:
                _proceed(strand, waiting, watch)
    finally:
        for strand in waiting:
            strand.abandon()


def _proceed(strand: Strand, waiting: list[Strand], watch: _Watch) -> None:
    """Run one; what it wrote wakes the others, and itself."""
    strand.proceed()
    # A look takes longer the larger the memories are, and here nobody needs one.
    if not any(other.idle for other in waiting):
        watch.look_away()
    elif watch.changed():
        for other in waiting:
            other.idle = False
    if strand.ended:
        waiting.remove(strand)


def _stuck(waiting: list[Strand], total: int) -> Exception:
    """The error that nobody can go on."""
    loops = {strand.loop.ident: strand.loop for strand in waiting if strand.loop}
    first, *others = loops.values()
    grid = waiting[0].units.grid
    names = [str(coordinates(strand.units.first, grid)) for strand in waiting]
    if len(names) > _SHOWN:
        names[_SHOWN:] = ["..."]
    return simulation_error(
        codes.STUCK,
        "a while loop waits for what nobody writes any more",
        at=first.location,
        label="goes around for ever",
        secondary=tuple((loop.location, "and so does this") for loop in others),
        notes=(
            f"{len(waiting)} of {total} workgroups wait: {', '.join(names)}",
            "the others have ended",
        ),
        help=advice.STUCK,
    )
