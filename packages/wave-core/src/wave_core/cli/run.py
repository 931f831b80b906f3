"""``wave run KERNEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from wave_core.cli.load import find_case, open_session, settled_case
from wave_core.cli.output import out, print_json, print_table, progress
from wave_core.cli.passes import (
    CompileOptions,
    Disabled,
    Passes,
    Settings,
    TargetHere,
    Via,
    option_changes,
    pass_changes,
)
from wave_core.compile.devices import AUTO

if TYPE_CHECKING:
    from wave_core.compile.check_case import CaseReport

app = typer.Typer(add_completion=False)


@app.command()
def run(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    target: TargetHere = AUTO,
    device: str | None = typer.Option(
        None, help="What runs it: sim, sim-logical, emulator, cuda, hip, iree."
    ),
    via: Via = "",
    preset: str | None = typer.Option(None, help="A named configuration."),
    passes: Passes = "",
    disable: Disabled = "",
    set_pass: Settings = [],  # noqa: B006 - typer's form
    option: CompileOptions = [],  # noqa: B006 - typer's form
    seed: int | None = typer.Option(
        None, min=0, help="Seed of the inputs; fresh by default."
    ),
    print_ir_after: str | None = typer.Option(
        None, help="Passes or phases after which to print the IR, by commas; or all."
    ),
    print_ir_before: str | None = typer.Option(
        None, help="Passes or phases before which to print the IR, by commas."
    ),
    timing: bool = typer.Option(False, "--timing", help="Time every pass."),  # noqa: FBT001 - a flag
    checks: bool = typer.Option(True, help="Look for races, bounds, hazards."),  # noqa: FBT001 - a flag
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Run a kernel on random inputs and compare with its reference."""
    # The compiler loads torch and numpy; other commands go without.
    from wave_core.compile.check_case import run_case  # noqa: PLC0415

    session = open_session()
    case = find_case(session, kernel, shape, settings, target, device, checked=True)
    case = settled_case(
        session,
        case,
        {
            "device": device,
            "preset": preset,
            "backend": via or None,
            "print_ir_after": print_ir_after,
            "print_ir_before": print_ir_before,
            "checks": None if checks else False,
            **option_changes(option, case.options, session.plugins),
            **pass_changes(case.options, passes, disable, set_pass),
        },
    )
    with progress() as told:
        report = run_case(case, session=session, seed=seed, progress=told)
    if json:
        print_json(report.to_json())
    else:
        _show(report)
        if timing:
            _show_timing(report)
    if not report.passed:
        raise typer.Exit(1)


def _show(report: CaseReport) -> None:
    verdict = "ok" if report.passed else f"WRONG: {report.wrong} elements"
    sizes_text = " ".join(f"{name}={value}" for name, value in report.shape.items())
    rows = [
        ("kernel", f"{report.kernel.signature}"),
        ("shape", sizes_text),
        ("target", report.kernel.compiled.target.name),
        ("device", report.record.device),
        ("compiled as", _chosen(report)),
        ("grid", " x ".join(map(str, report.record.grid))),
        ("max abs error", f"{report.max_abs_error:.3g}"),
        (
            "max rel error",
            f"{report.max_rel_error:.3g} (allowed: {report.tolerance:g})",
        ),
        ("compile", f"{report.compile_s:.3f} s"),
        ("run", f"{report.record.run_s:.3f} s"),
        *_counter_rows(report),
        ("result", verdict),
    ]
    print_table(("", ""), rows)


def _chosen(report: CaseReport) -> str:
    """Preset and waves, and the symbols that the author leaves open."""
    kernel = report.kernel
    waves = kernel.compiled.geometry.waves_per_workgroup
    values = " ".join(f"{name}={value}" for name, value in kernel.settled.items())
    each = (
        f"preset {kernel.options.preset}, {waves} wave{'s' * (waves != 1)} a workgroup"
    )
    return f"{each}, {values}" if values else each


def _counter_rows(report: CaseReport) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in report.record.counters.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{key} {count}" for key, count in value.items())  # pyright: ignore[reportUnknownVariableType] - JSON values
            rows.append((name, inner or "none"))
        else:
            rows.append((name, str(value)))
    return rows


def _show_timing(report: CaseReport) -> None:
    out().print()
    timings = report.kernel.timings
    rows = [("trace", "", f"{timings.trace_s * 1e3:.1f}", "")]
    rows += [
        (
            each.name,
            "yes" if each.changed else "skipped" if each.skipped else "no",
            f"{each.wall_s * 1e3:.1f}",
            ", ".join(f"{k} {v}" for k, v in each.statistics.items()),
        )
        for each in timings.passes
    ]
    rows.append(("total", "", f"{timings.total_s * 1e3:.1f}", ""))
    print_table(("pass", "changed", "ms", "counts"), rows)
