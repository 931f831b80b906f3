"""Which of several kernels that compute the same a case is run with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.compile.attempts import Attempt
from wave_core.compile.backends import backend_of
from wave_core.compile.choosing import TRIED, choices, first_that_fits, settled_by
from wave_core.compile.compiler import lower_front
from wave_core.compile.front import front_of
from wave_core.diagnostics import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile.compiled import Traced
    from wave_core.compile.front import Traces
    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.plugin.results import Choice

CYCLES = "cycles"
"""The figure of a choice by which kernels are compared."""

GAIN = 1.5
"""How much faster another kernel has to be: that workgroups wait for each other costs
time that no estimate counts."""

Row = tuple["KernelCase", "Choice"]
"""A kernel, and one way to compile it."""


def all_choices(case: KernelCase, session: Session) -> list[Row]:
    """What the preset finds for a case and for its others, the fastest first.

    Raises:
        UserError: as `choices` for the case itself; others that cannot be compiled
            are left out.
        PluginError: WV0819 where the chooser fails.
    """
    found = [(case, each) for each in choices(case.options, case.kernel, session)]
    for other in case.others if found else ():
        try:
            rows = choices(other.options, other.kernel, session)
        except UserError:
            continue
        found += [(other, each) for each in rows]
    return sorted(found, key=_order) if case.others else found


def _order(row: Row) -> tuple[bool, float]:
    choice = row[1]
    return bool(choice.refused), choice.figures.get(CYCLES, 0.0)


def estimated_cycles(
    options: WaveCompileOptions, kernel: LaunchableWave, session: Session
) -> float | None:
    """The cycles of a launch by the estimate of the preset; ``None`` without one.

    Raises:
        PluginError: WV0819 where the chooser fails.
        UserError: for mistakes in the kernel, its constraints or the bindings.
    """
    if not session.plugins.choosers_for(options.preset):
        return None
    if session.target(options.target, options.location).peaks is None:
        return None
    found = choices(options, kernel, session)
    fitting = (row.figures.get(CYCLES) for row in found if not row.refused)
    return next((cycles for cycles in fitting if cycles is not None), None)


def as_tried(rows: Sequence[Row], session: Session) -> list[Row]:
    """The rows with the one first that passes let through.

    As in a compilation, what they refuse gives way to the next, and comes last here;
    behind `TRIED` of them nothing is chosen.
    """
    refused: list[Row] = []
    for case, choice in rows[:TRIED]:
        why = choice.refused or _refusal(case, choice, session)
        if not why:
            return [*rows[len(refused) :], *refused]
        refused.append((case, replace(choice, refused=why)))
    left = f"the {TRIED} before it are refused, and no more are tried"
    rest = rows[TRIED:]
    return [*refused, *((k, replace(c, refused=c.refused or left)) for k, c in rest)]


def _refusal(case: KernelCase, choice: Choice, session: Session) -> str:
    """What passes refuse a choice for; empty where they let it through."""
    try:
        options = settled_by(choice, case.options, case.kernel, session)
        front = front_of(options, case.kernel, session)
        _lowered(front, case.kernel, Attempt.of_choice(1))
    except UserError as error:
        first = error.diagnostics[0]
        return f"{first.code}: {first.message}"
    return ""


def without_choice(case: KernelCase, session: Session) -> WaveCompileOptions:
    """The options by which a case is compiled for which nothing is chosen.

    Raises:
        UserError: where passes refuse the kernel in every way, as its compilation does.
    """
    kernel = case.kernel

    def compiled(
        settled: WaveCompileOptions, traces: Traces, attempt: Attempt
    ) -> WaveCompileOptions:
        front = front_of(settled, kernel, session, traces=traces)
        _lowered(front, kernel, attempt)
        return settled

    return first_that_fits(case.options, kernel, session, compiled)


def _lowered(front: Traced, kernel: LaunchableWave, attempt: Attempt) -> None:
    """Run the passes, and what a backend looks at before it makes code.

    Raises:
        UserError: for what they refuse.
    """
    lowered = lower_front(front, kernel, machine_code=True, attempt=attempt)
    session, options = front.session, front.options
    if any(
        front.target.name in each.value.targets
        for each in session.plugins.backends.values()
    ):
        spec = backend_of(session, front.target.name, options.backend)
        session.plugins.load_backend(spec.name).check(lowered.graph, front.target)


def fastest(case: KernelCase, session: Session) -> KernelCase:
    """The case, or the one of its others that the preset finds faster.

    Presets that do not choose keep the case. Where another is taken the user is told,
    for it has other arguments.

    Raises:
        UserError: for mistakes in the kernel, its constraints or the bindings.
        PluginError: WV0819 where the chooser fails.
    """
    if not case.others or not session.plugins.choosers_for(case.options.preset):
        return case
    rows = [row for row in all_choices(case, session) if not row[1].refused]
    own = next((each for owner, each in rows if owner is case), None)
    # What was measured has no estimate: the user has looked at this kernel.
    if own is None or CYCLES not in own.figures:
        return case
    best, choice = next(row for row in rows if CYCLES in row[1].figures)
    if own.figures[CYCLES] < GAIN * choice.figures[CYCLES]:
        return case
    before, after = (f"{each.figures[CYCLES]:,.0f}" for each in (own, choice))
    told = (
        f"`{case.kernel.name}` is compiled as `{best.kernel.name}`: about {after} "
        f"cycles in place of {before}; preset `default` keeps the kernel"
    )
    session.announce(told, told)
    return best
