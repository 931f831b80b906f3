"""The plugin: loop scheduling. Imports nothing expensive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import (
    ChooserSpec,
    Fact,
    PassSpec,
    Phase,
    Preset,
    StrategySpec,
    ViewSpec,
    hookimpl,
)
from wave_passes_scheduling.codes_schedule import SCHEDULE_CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Code

REQUIRES_API = (1, 5)

LOOP_SCHEDULER = "schedule-loops"

LOOP_REORDERER = "reorder-loops"

_STRATEGIES = (
    ("prefetch", "PREFETCHING", "the next iteration is fetched while one computes"),
    ("four-stage", "FOUR_STAGES", "global read, LDS write, LDS read, compute"),
    ("prefetch-attention", "ATTENTION", "both products of attention side by side"),
    ("modulo", "MODULO", "the shortest interval that the machine allows"),
    (
        "fetch-ahead",
        "FETCHING_AHEAD",
        "global read, LDS write, and the rest, an iteration apart",
    ),
)


@hookimpl
def wave_register_passes() -> Iterable[PassSpec]:
    """Loops are pipelined between legalisation and synchronisation."""
    yield PassSpec(
        LOOP_SCHEDULER,
        Phase.SCHEDULE,
        "wave_passes_scheduling.passes:ScheduleLoops",
        requires={Fact.EXPANDED},
        provides={Fact.SCHEDULED},
        summary="iterations of loops overlap",
    )
    yield PassSpec(
        LOOP_REORDERER,
        Phase.SCHEDULE,
        "wave_passes_scheduling.reorder.passes:ReorderLoops",
        after=(LOOP_SCHEDULER,),
        requires={Fact.EXPANDED},
        summary="clusters of memory and matrix work, groups of instructions",
    )
    yield PassSpec(
        "stagger-waves",
        Phase.SYNCHRONIZE,
        "wave_passes_scheduling.reorder.passes:StaggerWaves",
        before=("await-products?",),
        requires={Fact.SYNCHRONIZED},
        summary="halves of the waves alternate between clusters",
    )


@hookimpl
def wave_register_strategies() -> Iterable[StrategySpec]:
    """The strategies of this package."""
    module = "wave_passes_scheduling.strategies.strategy"
    for name, constant, summary in _STRATEGIES:
        yield StrategySpec(name, f"{module}:{constant}", summary)


@hookimpl
def wave_register_presets() -> Iterable[Preset]:
    """A preset for each strategy, under its name."""
    for name, _, summary in _STRATEGIES:
        yield Preset(name, summary, options={LOOP_SCHEDULER: {"strategy": name}})
    yield Preset(
        "pingpong",
        "halves of the waves alternate between fetching and computing",
        options={
            LOOP_SCHEDULER: {"strategy": "fetch-ahead"},
            LOOP_REORDERER: {"order": "pingpong"},
        },
    )


@hookimpl
def wave_register_choosers() -> Iterable[ChooserSpec]:
    """``auto``: strategy and open symbols by an estimate."""
    yield ChooserSpec(
        "auto",
        "wave_passes_scheduling.auto.choose:choose",
        "the fastest by an estimate of cycles, registers and LDS",
    )


@hookimpl
def wave_register_views() -> Iterable[ViewSpec]:
    """``wave inspect --what schedule``."""
    yield ViewSpec(
        "schedule",
        "wave_passes_scheduling.views.view:schedule",
        summary="reservation tables and charts of pipelined loops",
    )


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """Diagnostics about loops and schedules that only this package raises."""
    return SCHEDULE_CODES
