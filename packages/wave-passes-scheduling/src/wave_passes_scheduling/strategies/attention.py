"""Stages of the attention loop: two products in a row, with a softmax between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.loops import OpKind
from wave_passes_scheduling.strategies.staged import StageError
from wave_passes_scheduling.strategies.stages import settle_stages

if TYPE_CHECKING:
    from wave_passes_scheduling.loops import ScheduledLoop

_FETCH = frozenset(
    {
        OpKind.READ_GLOBAL,
        OpKind.GLOBAL_TO_SHARED,
        OpKind.WRITE_SHARED,
    }
)


def attention_stages(analysed: ScheduledLoop) -> list[int]:
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
