"""Attention: the first product of one iteration beside the second of the one before.

Where products go on after they are issued, an iteration of the loop issues the first
products, rescales the sums while these run, and issues the second ones behind them.
Copies follow, and what is computed between the products of an iteration: beside the
second products of the iteration before.
Source: J. Shah et al., FlashAttention-3, 2024, "Intra-warpgroup overlap".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.ops.matrix import Mma
from wave_passes_scheduling.loops.costs import OpKind
from wave_passes_scheduling.strategies.staged import StageError, staged_schedule
from wave_passes_scheduling.strategies.stages import buffers_of, settle_stages

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.modulo.schedule import Schedule
    from wave_passes_scheduling.problem import LoopProblem

_READ = 2
"""Buffers of a tile that suffice: one is read while the next one is filled."""

_FETCH = frozenset(
    {
        OpKind.READ_GLOBAL,
        OpKind.GLOBAL_TO_SHARED,
        OpKind.WRITE_SHARED,
    }
)


def attention_schedule(analysed: ScheduledLoop) -> Schedule:
    """Three stages; where products are queued, each in its place of the iteration.

    Raises:
        StageError: the loop has no two products in a row.
    """
    if not any(map(_goes_on, analysed.ops)):
        return staged_schedule(analysed.problem, _attention_stages(analysed))
    roles = _Roles.of(analysed)
    stages = _queued_stages(analysed, roles)
    ranks = [roles.rank(task) for task in range(analysed.problem.size)]
    return staged_schedule(_queued(analysed), stages, ranks, roles.behind())


def _goes_on(op: Op) -> bool:
    """Whether an op is a product that reads LDS, and goes on after it is issued."""
    return isinstance(op, Mma) and bool(op.shared_tiles)


def _queued(analysed: ScheduledLoop) -> LoopProblem:
    """The loop with products that are issued together where they have one sum."""
    tasks = tuple(
        replace(task, queued=_goes_on(op))
        for task, op in zip(analysed.problem.tasks, analysed.ops, strict=True)
    )
    return replace(analysed.problem, tasks=tasks)


@dataclass(frozen=True)
class _Roles:
    """What the tasks of a loop of attention are for.

    Attributes:
        first: The products of queries and keys.
        before: What these need.
        second: The products with values.
        between: What is computed of the first products, whatever was summed before.
        rescaled: What takes the sums of the iteration before, but the second products.
        copies: Those of tiles to LDS.
    """

    first: frozenset[int]
    before: frozenset[int]
    second: frozenset[int]
    between: frozenset[int]
    rescaled: frozenset[int]
    copies: frozenset[int]

    @classmethod
    def of(cls, analysed: ScheduledLoop) -> _Roles:
        """Those of a loop.

        Raises:
            StageError: the loop has no two products in a row.
        """
        kinds, rows = analysed.kinds, analysed.problem.dependences
        second = _second_products(analysed)
        first = {i for i, kind in enumerate(kinds) if kind is OpKind.MMA} - second
        sums = second | _descendants(analysed, second)
        again = {r.target for r in rows if r.reason == "carried" and r.source in sums}
        late = again | _descendants(analysed, again) | sums
        copies = {i for i, k in enumerate(kinds) if k is OpKind.GLOBAL_TO_SHARED}
        return cls(
            frozenset(first),
            frozenset(_ancestors(analysed, first)),
            frozenset(second),
            frozenset(_descendants(analysed, first) - first - late),
            frozenset(again - second),
            frozenset(copies),
        )

    def rank(self, task: int) -> int:
        """Which tasks are placed first: those that leave the matrix unit no gap."""
        if task in self.between:
            return 2
        return int(task not in self.first and task not in self.before)

    def behind(self) -> list[tuple[int, int]]:
        """What comes behind what though it does not need it.

        Sums are rescaled while the first products run. Copies come behind the barrier
        that the second products are issued in front of, and what is computed between
        the products waits for the first ones.
        """
        return [
            *((min(self.first), task) for task in self.rescaled),
            *((min(self.second), task) for task in self.copies),
            *((copy, task) for copy in self.copies for task in self.between),
        ]


def _queued_stages(analysed: ScheduledLoop, roles: _Roles) -> list[int]:
    """A fetch for the first products, for the second ones, and the stages of both.

    Of three buffers and more one is read, and copies to all others are under way.
    """
    more = max(0, buffers_of(analysed, OpKind.MMA) - _READ)
    wanted: dict[int, int] = {}
    for task, kind in enumerate(analysed.kinds):
        if kind in _FETCH:
            wanted[task] = int(task not in roles.before)
        elif task in roles.second or kind is OpKind.WRITE_GLOBAL:
            wanted[task] = 2 + more
        elif task in roles.first or task in roles.between:
            wanted[task] = 1 + more
    return settle_stages(analysed, wanted, last=2 + more)


def _attention_stages(analysed: ScheduledLoop) -> list[int]:
    """Three stages: fetch for the first product; that product and softmax; the second.

    The first products are the matrix ops that wait for no other matrix op of their
    iteration but through their accumulators' own chains. What only the second
    products use is fetched a stage later than what the first ones use.

    Raises:
        StageError: the loop has no two products in a row.
    """
    second = _second_products(analysed)
    before_first = _ancestors(
        analysed,
        {i for i, k in enumerate(analysed.kinds) if k is OpKind.MMA} - second,
    )
    wanted: dict[int, int] = {}
    for task, kind in enumerate(analysed.kinds):
        if kind in _FETCH:
            wanted[task] = 0 if task in before_first else 1
        elif task in second or kind is OpKind.WRITE_GLOBAL:
            wanted[task] = 2
        elif kind in {OpKind.MMA, OpKind.SHUFFLE, OpKind.READ_SHARED}:
            wanted[task] = 1
    return settle_stages(analysed, wanted, last=2)


def _second_products(analysed: ScheduledLoop) -> set[int]:
    """Matrix ops that use, as a factor, what comes of other matrix ops."""
    products = {i for i, k in enumerate(analysed.kinds) if k is OpKind.MMA}
    number = {op: i for i, op in enumerate(analysed.ops)}
    fed = _descendants(analysed, products)
    found: set[int] = set()
    for task in products:
        factors = [number.get(value) for value in analysed.ops[task].operands[:2]]
        if any(f in fed or f in products for f in factors if f is not None):
            found.add(task)
    if not found:
        raise StageError("no matrix op multiplies what another one of the loop made")
    return found


def _descendants(analysed: ScheduledLoop, tasks: set[int]) -> set[int]:
    rows = [r for r in analysed.problem.dependences if r.distance == 0]
    return _closure({(r.source, r.target) for r in rows if r.reason == "data"}, tasks)


def _ancestors(analysed: ScheduledLoop, tasks: set[int]) -> set[int]:
    rows = [r for r in analysed.problem.dependences if r.distance == 0]
    near = {(r.target, r.source) for r in rows if r.reason in {"data", "memory"}}
    return _closure(near, tasks)


def _closure(edges: set[tuple[int, int]], tasks: set[int]) -> set[int]:
    """The targets of edges from ``tasks``."""
    following: dict[int, list[int]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    found: set[int] = set()
    waiting = list(tasks)
    while waiting:
        for target in following.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found
