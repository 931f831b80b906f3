"""``wave build-kernels``."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from wave_core.cli.output import print_json
from wave_core.compile import default_session
from wave_core.compile.backends import backend_of
from wave_kernels.building.library import NAME, Built, Wanted, build_library
from wave_runtime import ArtifactError

if TYPE_CHECKING:
    from wave_kernels.building.workers import Outcome

FAILED = 1


def build_kernels(
    targets: str = typer.Option(help="Machines, by commas: gfx942,sm_90a."),
    output: Path = typer.Option(  # noqa: B008 - typer's form
        Path(), "-o", "--output", help="A folder for the wheel."
    ),
    only: list[str] = typer.Option([], help="Only calls with such names: softmax-*."),  # noqa: B008 - typer's form
    processes: int = typer.Option(
        min(2, os.cpu_count() or 1), min=1, help="Kernels compiled at once."
    ),
    limit: float = typer.Option(300.0, min=1.0, help="Seconds that one may take."),
    name: str = typer.Option(NAME, help="Of the wheel."),
    key: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="A file with an Ed25519 key in PEM, to sign the index by."
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Compile the kernels of the functions into a wheel; no GPU is needed.

    Equal sources give equal bytes. Exits with 1 where a kernel could not be built: the
    wheel has the others.
    """
    wanted = Wanted(_split(targets), tuple(only), processes, limit, name, key)
    session = default_session()
    for target in wanted.targets:
        backend_of(session, session.target(target).name)
    started = time.perf_counter()
    try:
        built = _build_showing_progress(wanted, output)
    except (ArtifactError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    _report(built, wanted, time.perf_counter() - started, as_json=json)
    if built.failed:
        raise typer.Exit(FAILED)


def _split(targets: str) -> tuple[str, ...]:
    """The names, each once."""
    names = [each.strip() for each in targets.split(",")]
    return tuple(dict.fromkeys(filter(None, names)))


def _build_showing_progress(wanted: Wanted, output: Path) -> Built:
    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("compiling", total=len(wanted.pieces()))

        def tell(what: str, outcome: Outcome) -> None:
            progress.update(task, advance=1, description=what)
            if outcome.problem:
                first, *_ = outcome.problem.splitlines()
                console.print(f"{what}: {first}", markup=False, soft_wrap=True)

        return build_library(wanted, output, tell)


def _report(built: Built, wanted: Wanted, seconds: float, *, as_json: bool) -> None:
    count = len(built.outcomes) - len(built.failed)
    if as_json:
        pieces = wanted.pieces()
        slowest = sorted(built.outcomes, key=lambda each: -each.seconds)
        print_json(
            {
                "wheel": str(built.wheel),
                "bytes": built.wheel.stat().st_size,
                "seconds": seconds,
                "cpu_seconds": _cpu_seconds_of_workers(),
                "built": count,
                "failed": [[*pieces[e.number], e.problem] for e in built.failed],
                "kernels": [[*pieces[e.number], round(e.seconds, 3)] for e in slowest],
            }
        )
        return
    size = built.wheel.stat().st_size / 1e6
    note = f"{count} kernels, {size:.1f} MB, {seconds:.0f} s"
    Console(stderr=True, highlight=False).print(note)
    print(built.wheel)  # noqa: T201 - the result of the command


def _cpu_seconds_of_workers() -> float:
    """Of processes that ended, and of the compilers that they started."""
    times = os.times()
    return times.children_user + times.children_system
