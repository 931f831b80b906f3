"""``wave kernels``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from wave_core.cli.load import find_case, open_session, with_options
from wave_core.cli.output import notes, print_json, print_table
from wave_core.cli.passes import TargetHere
from wave_core.compile.devices import AUTO
from wave_core.diagnostics import WaveError

if TYPE_CHECKING:
    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.session import Session

app = typer.Typer(add_completion=False)


@app.command()
def kernels(
    names: list[str] | None = typer.Argument(None, help="Only these."),  # noqa: B008 - typer's form
    target: TargetHere = AUTO,
    device: str | None = typer.Option(
        None, help="What runs them: sim, sim-logical, emulator, cuda, hip."
    ),
    run: bool = typer.Option(False, "--run", help="Run each, and compare."),  # noqa: FBT001 - a flag
    seed: int | None = typer.Option(None, min=0, help="Seed of the inputs."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """List the kernels at their usual sizes, with the error that is allowed.

    With ``--run`` exits with 1 where a kernel does not compile, or is wrong.
    """
    session = open_session()
    rows: list[dict[str, Any]] = []
    for name in names or session.plugins.kernels:
        case = find_case(session, name, (), (), target, device)
        row = _described(session, name, case)
        if run:
            notes().print(f"{name} ...", style="dim", markup=False)
            row |= _outcome(session, with_options(case, {"device": device}), seed)
        rows.append(row)
    if json:
        print_json({"kernels": rows})
    else:
        _show(rows, ran=run)
    if run and not all(row["passed"] for row in rows):
        raise typer.Exit(1)


def _described(session: Session, name: str, case: KernelCase) -> dict[str, Any]:
    found = session.plugins.kernels[name]
    return {
        "name": name,
        "provider": found.provider.name,
        "summary": found.value.summary,
        "shape": dict(case.shape),
        "settings": dict(case.settings),
        "target": case.options.target_name,
        "tolerance": case.tolerance,
    }


def _outcome(session: Session, case: KernelCase, seed: int | None) -> dict[str, Any]:
    """What came of one case: how far off it is, or why it does not run."""
    # The compiler loads torch and numpy; listing does with less.
    from wave_core.compile.check_case import run_case  # noqa: PLC0415

    try:
        report = run_case(case, session=session, seed=seed).to_json()
    except WaveError as error:
        problem = {"code": error.code, "message": error.diagnostics[0].message}
        return {"passed": False, "error": problem}
    kept = ("device", "preset", "max_rel_error", "passed", "compile_s", "run_s")
    return {name: report[name] for name in kept}


def _show(rows: list[dict[str, Any]], *, ran: bool) -> None:
    columns = ("kernel", "sizes", "tolerance", *(("error", "result") if ran else ()))
    shown: list[tuple[str, ...]] = []
    for row in rows:
        sizes = " ".join(f"{name}={size}" for name, size in row["shape"].items())
        cells = (row["name"], sizes, f"{row['tolerance']:g}")
        shown.append((*cells, *(_result(row) if ran else (row["summary"],))))
    print_table(columns if ran else (*columns, "what it computes"), shown)


def _result(row: dict[str, Any]) -> tuple[str, str]:
    if "error" in row:
        return "", f"{row['error']['code']}: {row['error']['message']}"
    error = row["max_rel_error"]
    return "" if error is None else f"{error:.3g}", "ok" if row["passed"] else "WRONG"
