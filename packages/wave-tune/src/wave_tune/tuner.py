"""Tunes a kernel: what is asked, the loop over trials, the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import optuna

from wave_core.compile.choosing import choice_request
from wave_core.compile.front import Traces
from wave_core.compile.session import Session
from wave_core.diagnostics import user_error
from wave_tune.key import key_of
from wave_tune.measure import meter_for
from wave_tune.points import Point, Space, space_of
from wave_tune.process import TrialFailed, TrialProcess
from wave_tune.progress import REASON, Progress, is_taken
from wave_tune.sampler import EstimateSampler
from wave_tune.store import Store, drop_lost, store_of
from wave_tune.subject import Subject, subject_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

    from wave_core.compile.launchable import LaunchableWave
    from wave_tune.measure import Measured

SHARE = 4
"""By default one of so many candidates that fit is measured."""

FEWEST = 8
"""The fewest trials by default."""

LIMIT_S = 60.0
"""Seconds that a trial may take by default."""

LOOK_S = 0.5
"""Seconds between two looks at what other workers do."""


@dataclass(frozen=True)
class Asked:
    """What is to be tuned, and how much.

    Attributes:
        subject: The kernel, its sizes and its target.
        store: Where measurements are kept.
        trials: How many the store should hold in the end; by default a quarter of the
            candidates that fit the machine.
        seconds: How long this may take; no limit by default.
        limit_s: How long a trial may take.
    """

    subject: Subject
    store: Store
    trials: int | None = None
    seconds: float | None = None
    limit_s: float = LIMIT_S


@dataclass(frozen=True)
class Result:
    """What was found.

    Attributes:
        kernel: The name of the kernel.
        target: The machine.
        on: What measured: a GPU, or an emulator.
        unit: Of values: ``us`` or ``cycles``.
        best: The fastest point.
        value: Its time.
        first: The time of what ``auto`` takes by its estimate, if that was measured.
        measured: How many points have a time.
        failed: Why others have none.
        left_out: How many were not tried for the compiler's estimate.
        candidates: How many there are.
        key: What the measurements hold for.
    """

    kernel: str
    target: str
    on: str
    unit: str
    best: Point
    value: float
    first: float | None
    measured: int
    failed: dict[str, str]
    left_out: int
    candidates: int
    key: str

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        best = {"subs": dict(self.best.subs), "options": dict(self.best.options)}
        return {**vars(self), "best": best}


@dataclass(frozen=True)
class Job:
    """A kernel whose candidates are known, and where its measurements are.

    Attributes:
        asked: What was asked.
        space: The candidates.
        study: The measurements.
        target: The name of the machine.
        kernel: The name of the kernel.
        key: What the measurements hold for.
    """

    asked: Asked
    space: Space
    study: Study
    target: str
    kernel: str
    key: str

    @property
    def wanted(self) -> int:
        """How many trials there are to be."""
        fitting = sum(each.fits for each in self.space.candidates)
        usual = max(FEWEST, fitting // SHARE)
        return min(len(self.space.tried), self.asked.trials or usual)


def prepared(asked: Asked, session: Session | None = None) -> Job:
    """The candidates of a kernel and the study that measures them.

    Raises:
        UserError: for mistakes in the kernel; WV0830 for the store, WV0831 where
            nothing measures, WV0832 where there is nothing to tune.
    """
    session = session or Session()
    case = asked.subject.case(session)
    options = case.options
    space = space_of(case, session)
    traces = Traces(case.kernel, session)
    key = key_of(choice_request(options, case.kernel, session, traces))
    on = meter_for(session, options.target_name).on
    study = asked.store.study(key.text(), on, space)
    with asked.store.failures():
        study.set_user_attr("on", on)
        study.set_user_attr("key", vars(key))
    study.sampler = EstimateSampler(space)
    return Job(asked, space, study, options.target_name, case.kernel.name, key.text())


Told = Callable[[str], None]
"""Takes what begins or went wrong."""


def work(job: Job, tell: Told = lambda _: None, process: Any = None) -> None:
    """Measure until there are as many trials as wanted, or no time is left.

    Several processes may do that on one store at a time, on any machine.

    Args:
        job: What to measure.
        tell: Told each measurement.
        process: What measures points; a `TrialProcess` by default.

    Raises:
        UserError: WV0830 where the store is gone.
    """
    asked = job.asked
    until = time.monotonic() + (
        float("inf") if asked.seconds is None else asked.seconds
    )
    with asked.store.failures(), process or _process(asked) as trials:
        while time.monotonic() < until:
            progress = Progress.of(job.study, job.space)
            if progress.done >= job.wanted:
                return
            if progress.done + len(progress.running) >= job.wanted:
                # Others are at the last ones; those of whom nothing is heard are lost.
                drop_lost(job.study)
                time.sleep(LOOK_S)
                continue
            job.study.optimize(
                lambda trial: _measured(job, trial, trials.measure, tell),
                n_trials=1,
                catch=(TrialFailed,),
            )


def _process(asked: Asked) -> TrialProcess:
    return TrialProcess(asked.subject, asked.limit_s)


def _measured(
    job: Job, trial: Trial, measure: Callable[[Point], Measured], tell: Told
) -> float:
    """One trial, as Optuna runs it.

    Raises:
        TrialPruned: where another worker is at the same point.
        TrialFailed: where it has no result; the store says why.
    """
    params = {
        name: trial.suggest_categorical(name, axis)
        for name, axis in job.space.axes.items()
    }
    found = job.space.find(params)
    if found is None or is_taken(job.study, trial.number):
        raise optuna.TrialPruned
    trial.set_user_attr("point", found.point.text())
    try:
        result = measure(found.point)
    except TrialFailed as failed:
        trial.set_user_attr(REASON, str(failed))
        tell(f"{found.point}: {failed}")
        raise
    trial.set_user_attr("unit", result.unit)
    trial.set_user_attr("us", result.us)
    tell(f"{found.point}: {result.value:,.6g} {result.unit}")
    return result.value


def result_of(job: Job) -> Result:
    """What the study knows so far.

    Raises:
        UserError: WV0832 where nothing was measured.
    """
    space = job.space
    with job.asked.store.failures():
        progress = Progress.of(job.study, space)
        if not progress.measured:
            raise _nothing(job, progress)
        trial = job.study.best_trial
        on = str(job.study.user_attrs["on"])
    return Result(
        kernel=job.kernel,
        target=job.target,
        on=on,
        unit=str(trial.user_attrs["unit"]),
        best=Point.of_text(trial.user_attrs["point"]),
        value=float(trial.value or 0.0),
        first=progress.measured.get(space.tried[0].point.text()),
        measured=len(progress.measured),
        failed={str(Point.of_text(k)): why for k, why in progress.failed.items()},
        left_out=len(space.candidates) - len(space.tried),
        candidates=len(space.candidates),
        key=job.key,
    )


def tune(
    kernel: str | LaunchableWave,
    *,
    shape: dict[str, int],
    target: str = "auto",
    settings: dict[str, int | str] | None = None,
    store: str | None = None,
    trials: int | None = None,
    seconds: float | None = None,
    limit_s: float = LIMIT_S,
) -> Result:
    """Measure ways to compile a kernel, and keep the best for all who compile it.

    Trials run in a process of their own, which imports the kernel by its name: a script
    calls this under ``if __name__ == "__main__":``.

    Args:
        kernel: Its name, ``FILE.py:NAME``, or a kernel at the top of a file.
        shape: Sizes by name.
        target: The machine; ``auto`` is that of a GPU here.
        settings: Values by name that are not tuned.
        store: A URL or a file; by default what ``WAVE_TUNE_STORE`` says.
        trials: How many trials the store should hold; a quarter of the candidates.
        seconds: How long this may take.
        limit_s: How long a trial may take.

    Raises:
        UserError: WV0830 to WV0832, and for mistakes in the kernel.
    """
    subject = subject_of(
        kernel,
        shape=tuple(f"{name}={size}" for name, size in shape.items()),
        settings=tuple(f"{name}={each}" for name, each in (settings or {}).items()),
        target=target,
    )
    found = needed_store(store)
    job = prepared(Asked(subject, found, trials, seconds, limit_s))
    work(job)
    return result_of(job)


def needed_store(text: str | None) -> Store:
    """The store that a tuner writes to.

    Raises:
        UserError: WV0830 where it is switched off.
    """
    found = store_of(text)
    if found is None:
        raise user_error(
            "WV0830",
            "the store of measurements is `off`, and tuning is for those that are kept",
            help="name one: `--store FILE`, or `--store postgresql://host/wave`",
        )
    return found


def _nothing(job: Job, progress: Progress) -> Exception:
    rows: Sequence[tuple[str, str]] = list(progress.failed.items())
    return user_error(
        "WV0832",
        f"no way to compile `{job.kernel}` could be measured",
        notes=[f"{Point.of_text(text)}: {why}" for text, why in rows[:3]],
        help="a trial may take longer: `--limit 300`",
    )
