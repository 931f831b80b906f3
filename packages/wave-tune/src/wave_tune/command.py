"""``wave tune KERNEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from wave_core.cli.load import open_session
from wave_core.cli.output import announce, print_json, print_table
from wave_core.compile.devices import AUTO

if TYPE_CHECKING:
    from wave_tune.tuner import Result


WORDS = 60
"""Characters of a reason that a table shows."""


def tune_kernel(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option(  # noqa: B008 - typer's form
        [], "--set", help="Settings that are not tuned: BLOCK_M=128."
    ),
    target: str = typer.Option(
        AUTO, help="The machine to compile for; auto: that of a GPU here."
    ),
    preset: str | None = typer.Option(
        None, help="The preset; one that does not choose is kept."
    ),
    option: list[str] = typer.Option(  # noqa: B008 - typer's form
        [], "--option", help="Another compile option: use_fast_math=true."
    ),
    trials: int | None = typer.Option(
        None, min=1, help="Trials in the store in the end; a quarter of the candidates."
    ),
    seconds: float | None = typer.Option(None, min=0, help="How long this may take."),
    limit: float = typer.Option(60.0, min=1, help="Seconds that a trial may take."),
    workers: str = typer.Option("1", help="Processes of this machine, or: ray."),
    store: str | None = typer.Option(
        None, help="A file, or a URL; by default WAVE_TUNE_STORE, or the platform's."
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Measure ways to compile a kernel; the best is used from then on."""
    # The compiler loads torch; other commands go without.
    from wave_tune.spread import spread  # noqa: PLC0415
    from wave_tune.subject import Subject  # noqa: PLC0415
    from wave_tune.tuner import (  # noqa: PLC0415
        Asked,
        needed_store,
        prepared,
        result_of,
    )

    subject = Subject(
        kernel, tuple(shape), tuple(settings), target, preset, tuple(option)
    )
    asked = Asked(subject, needed_store(store), trials, seconds, limit)
    job = prepared(asked, open_session())
    spread(job, workers, announce)
    found = result_of(job)
    if json:
        print_json({**found.to_json(), "store": asked.store.shown})
    else:
        _show(found, asked.store.shown)


def _show(found: Result, store: str) -> None:
    rows = [
        ("kernel", found.kernel),
        ("target", found.target),
        ("measured on", found.on),
        ("best", str(found.best)),
        ("takes", f"{found.value:,.6g} {found.unit}"),
        *_gain(found),
        ("measured", f"{found.measured} of {found.candidates}"),
        ("left out by the estimate", str(found.left_out)),
        *(("failed", f"{point}: {_short(why)}") for point, why in found.failed.items()),
        ("kept in", store),
    ]
    print_table(("", ""), rows)


def _short(why: str) -> str:
    """The first words of a reason; ``--json`` has all of it."""
    return why if len(why) <= WORDS else f"{why[:WORDS]}..."


def _gain(found: Result) -> list[tuple[str, str]]:
    if not found.first:
        return []
    share = found.first / found.value
    return [
        ("first by the estimate", f"{found.first:,.6g} {found.unit} ({share:.2f}x)")
    ]
